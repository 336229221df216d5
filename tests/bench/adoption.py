"""Adopt random clusters with random variations, and print what each loses: `python -m tests.bench.adoption 500 10`.

Arguments: fleets, variations of each, and the first seed. Exits 1 if anything is lost.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.berth.adopt.conservation.losses import losses


def main(fleets: int, variations: int, first: int = 0) -> int:
    """Run them, print a line for each loss and the totals, and return the number of clusters with losses."""
    start, found, used = time.monotonic(), 0, Counter[str]()
    for seed in range(first, first + fleets):
        for variation in range(variations):
            names, lost = losses(seed, variation)
            used.update(names)
            found += bool(lost)
            for line in lost:
                print(f"seed {seed}, variation {variation} ({', '.join(names)}): {line}", flush=True)
    print(f"{fleets} fleets × {variations} variations: {found} with losses, {time.monotonic() - start:.0f} s")
    print(", ".join(f"{name} {count}" for name, count in used.most_common()))
    return found


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
