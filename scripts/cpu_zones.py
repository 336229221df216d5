"""Write the regions of berth/catalog/cpu_zones.yaml: where Google's API listed each machine without accelerators.

`python scripts/cpu_zones.py CLONE` reads a git clone of Cyclenerd/google-cloud-pricing-cost-calculator, whose file
tools/machinetyperegion.csv is an answer of `gcloud compute machine-types list`, rewritten every few weeks. The zones of
each series are copied by hand from Google's page, and stay as they are. It prints where both differ.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from berth import catalog

TABLE = Path(__file__).parents[1] / "berth" / "catalog" / "cpu_zones.yaml"
LISTING = "tools/machinetyperegion.csv"
WIDTH = 120


def git(clone: Path, *words: str) -> str:
    """Return what git prints in a clone."""
    return subprocess.run(["git", *words], cwd=clone, check=True, capture_output=True, text=True).stdout


def listing(clone: Path) -> dict[str, set[str]]:
    """Return the regions of each machine without accelerators."""
    regions: dict[str, set[str]] = defaultdict(set)
    for line in git(clone, "show", f"HEAD:{LISTING}").splitlines()[1:]:
        name, *_, region = line.split(";")
        if catalog.cpu_machine(name) is not None:
            regions[name].add(region)
    return regions


def folded(key: str, words: Iterable[str]) -> Iterator[str]:
    """Yield a key with words in lines of at most `WIDTH` columns."""
    line = f"    {key}: >-"
    for word in sorted(words):
        if len(line) + len(word) + 1 > WIDTH or line.endswith(">-"):
            yield line
            line = "     "
        line += f" {word}"
    yield line


def main(clone: Path) -> None:
    """Write the table, and print the regions that only one of its sources has."""
    rows: dict[frozenset[str], list[str]] = defaultdict(list)
    for name, regions in listing(clone).items():
        rows[frozenset(regions)].append(name)
    head, _, _ = TABLE.read_text(encoding="utf-8").partition("\nrows:\n")
    commit, day = git(clone, "log", "-1", "--format=%h %cs", "--", LISTING).split()
    lines = [re.sub(r"(?m)^listing: .*", f"listing: {{commit: {commit}, day: {day}}}", head), "rows:"]
    for regions, names in sorted(rows.items(), key=lambda row: sorted(row[1])):
        lines.append("  -")
        lines += folded("of", names)
        lines += folded("regions", regions)
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    by_series: dict[str, set[str]] = defaultdict(set)
    for regions, names in rows.items():
        for name in names:
            by_series[name.partition("-")[0]] |= regions
    for series, zones in catalog.cpu_series_zones().items():
        listed = by_series[series]
        if differing := sorted(listed ^ {catalog.region_of_zone(zone) for zone in zones}):
            print(f"{series}: only one source has {', '.join(differing)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
