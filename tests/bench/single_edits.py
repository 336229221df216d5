"""Make single edits of every key of every example, and judge each.

`python -m tests.bench.single_edits [MINUTES [FIRST [STEP]]]` tries every STEP-th edit from FIRST on.

An edit is wrong if its headline is calm where the programs differ outside of the list of harmless kinds, or if it is
not calm where all differences are in the list. Edits that raise a fault are counted, and edits after which a plan is
equal are not compared further. The order is mixed by a constant, so a run that ends early has edits of all stacks.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from hashlib import sha256

from tests.berth.diff.edits.judged import judge, plans
from tests.berth.diff.edits.one_key import evaluate_values
from tests.berth.diff.edits.schema_edits import generated_edits, root_schema
from tests.berth.diff.edits.sound_edits import after, before
from tests.berth.diff.test_calm import CALM, judgement
from tests.stack_files import ALL_STACKS

_EVERY = 500


def main(minutes: float, first: int, step: int) -> int:
    """Judge edits for so long, print those that are calm and those that are wrong, and return 1 if one is wrong."""
    edits = [(stack, edit) for stack in ALL_STACKS for edit in generated_edits(root_schema(stack), before(stack)[0])]
    edits = [(stack, edit) for stack, edit in edits if not any("." in str(step) for step in edit.path)]
    edits.sort(key=lambda pair: sha256(f"{pair[0]} {pair[1].dotted} {pair[1].value!r}".encode()).digest())
    classes: Counter[str] = Counter()
    wrong, ends = 0, time.monotonic() + 60 * minutes
    for number in range(first, len(edits), step):
        stack, edit = edits[number]
        if classes.total() % _EVERY == _EVERY - 1:
            print(f"... before edit {number}: {dict(classes)}, {wrong} wrong", flush=True)
        if time.monotonic() > ends:
            break
        values = after(stack, edit)
        if evaluate_values(stack, values).faults:
            classes["fault"] += 1
            continue
        old, new = plans(stack, before(stack)[0], values)
        kind, found = ("nothing", "") if old == new else judgement(judge(old, new))
        classes[kind] += 1
        wrong += bool(found)
        if found or kind in CALM:
            print(
                f"{'WRONG ' if found else ''}{kind:7} {stack} {edit.dotted} {edit.value!r}: {found}"[:200], flush=True
            )
    print(f"{classes.total()} of {len(edits)} edits of {len(ALL_STACKS)} stacks: {dict(classes)}, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    minutes, *numbers = [float(each) for each in sys.argv[1:]] or [600.0]
    sys.exit(main(minutes, *(*map(int, numbers), *(0, 1)[len(numbers) :])))
