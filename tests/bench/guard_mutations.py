"""Change one thing of previews with a loss: none may become safe. `python -m tests.bench.guard_mutations`."""

from __future__ import annotations

import sys
import time

from tests.berth.diff.answers.test_guard_answers import BLOCKED, FORMS, false_safe


def main(count: int) -> int:
    """Try `count` mutations, print those that were called safe, and return 1 if there is one."""
    cases, forms, started = list(BLOCKED), list(FORMS), time.monotonic()
    found = 0
    for seed in range(count):
        case, form = cases[seed % len(cases)], forms[seed // len(cases) % len(forms)]
        if what := false_safe(case, form, seed):
            found += 1
            print(f"{case}, {form}, seed {seed}: safe after a change of {what}")
    print(f"{count} mutations in {time.monotonic() - started:.0f} s: {found} false safe")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
