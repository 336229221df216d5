"""Change one thing of previews with a loss: none may become safe.

`python -m tests.bench.guard_mutations [COUNT [FIRST]]` tries the seeds from FIRST on, and prints how far it came.
"""

from __future__ import annotations

import sys
import time

from tests.berth.diff.answers.test_guard_answers import BLOCKED, FORMS, false_safe

_EVERY = 500


def main(count: int, first: int) -> int:
    """Try `count` mutations, print those that were called safe, and return 1 if there is one."""
    cases, forms, started = list(BLOCKED), list(FORMS), time.process_time()
    found = 0
    for done, seed in enumerate(range(first, first + count), start=1):
        case, form = cases[seed % len(cases)], forms[seed // len(cases) % len(forms)]
        if what := false_safe(case, form, seed):
            found += 1
            print(f"{case}, {form}, seed {seed}: safe after a change of {what}")
        if done % _EVERY == 0 or done == count:
            seconds = time.process_time() - started
            print(f"{done} mutations in {seconds:.0f} s of CPU: {found} false safe; next seed {seed + 1}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    arguments = [int(each) for each in sys.argv[1:]]
    sys.exit(main(*(*arguments, *(10_000, 0)[len(arguments) :])))
