"""Write berth/catalog/cpu_zones.yaml: in which regions and zones Google's API listed each machine without accelerators.

`python scripts/cpu_zones.py CLONE` reads a git clone of Cyclenerd/google-cloud-pricing-cost-calculator, whose files are
answers of `gcloud compute machine-types list`: tools/machinetyperegion.csv is rewritten every few weeks,
tools/machinetypezone.csv was last written in 2023.
"""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from berth import catalog

TABLE = Path(__file__).parents[1] / "berth" / "catalog" / "cpu_zones.yaml"
HEAD = """\
# In which regions and zones Google's API listed each machine without accelerators. Written by scripts/cpu_zones.py; do
# not edit.
#
# `regions` are those of the newer listing, each with the letters of its zones in the older one (us-central1:abcf); a
# region without letters has the machine in a zone that no listing names. A listed machine need not be free.
"""
WIDTH = 120


def git(clone: Path, *words: str) -> str:
    """Return what git prints in a clone."""
    return subprocess.run(["git", *words], cwd=clone, check=True, capture_output=True, text=True).stdout


def listing(clone: Path, file: str) -> dict[str, set[str]]:
    """Return the places of each machine without accelerators."""
    places: dict[str, set[str]] = defaultdict(set)
    for line in git(clone, "show", f"HEAD:{file}").splitlines()[1:]:
        name, *_, place = line.split(";")
        if catalog.cpu_machine(name) is not None:
            places[name].add(place)
    return places


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
    """Write the table."""
    files = ("tools/machinetyperegion.csv", "tools/machinetypezone.csv")
    by_region, by_zone = (listing(clone, file) for file in files)
    rows: dict[tuple[frozenset[str], frozenset[str]], list[str]] = defaultdict(list)
    for name, regions in by_region.items():
        zones = {zone for zone in by_zone.get(name, ()) if zone.rpartition("-")[0] in regions}
        rows[frozenset(regions), frozenset(zones)].append(name)
    lines = [HEAD + "listings:"]
    for key, file in zip(("regions", "zones"), files, strict=True):
        commit, day = git(clone, "log", "-1", "--format=%h %cs", "--", file).split()
        lines.append(f"  {key}: {{commit: {commit}, day: {day}}}")
    lines.append("rows:")
    for (regions, zones), names in sorted(rows.items(), key=lambda row: sorted(row[1])):
        letters: dict[str, str] = defaultdict(str)
        for zone in sorted(zones):
            region, _, letter = zone.rpartition("-")
            letters[region] += letter
        lines.append("  -")
        lines += folded("of", names)
        lines += folded(
            "regions", (f"{region}:{letters[region]}" if region in letters else region for region in regions)
        )
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
