"""Write what GKE's own autoscaler says of machines to tests/vendored/facts/gke_machines.txt, one machine a line.

    git clone https://github.com/GoogleCloudPlatform/cluster-autoscaler
    python scripts/gke_machines.py cluster-autoscaler

Tests compare Berth's tables with that file. The source is
pkg/cloudprovider/gke/machinetypes/deprecated_machine_types_config.go.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = "pkg/cloudprovider/gke/machinetypes"
FACTS = Path(__file__).parents[1] / "tests/vendored/facts/gke_machines.txt"
HEAD = """\
# Machines of GKE's autoscaler: vCPUs, GB of memory, local SSDs that the type includes (or, with ?, the counts to choose
# from), x for types that GKE creates only for a pool that names them. Above them is their series with its architecture,
# boot disks and nodes of a compact placement. Source: GoogleCloudPlatform/cluster-autoscaler {commit}. Written by
# scripts/gke_machines.py.
"""
_CALL = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_MACHINE = re.compile(
    rf'MachineTypeInfo\("([\w-]+)", ([\d.]+), ([\d.]+)(?:[^()]|\([^()]*\))*\)((?:\s*\.\s*\w+{_CALL})*)'
)


def lines(config: str, disks: str) -> Iterator[str]:
    """Yield the lines of the facts of the text of two Go files."""
    names = dict(re.findall(r'(DiskType\w+)\s*= "([\w-]+)"', disks))
    for family in re.sub(r"//[^\n]*", "", config).split("RegisterMachineFamily(MachineFamily{")[1:]:
        boot = re.search(r"supportedBootDiskTypes:\s*map\[string\]bool\{(.*?)\}", family, re.DOTALL)
        written = re.findall(r'([\w"-]+):\s*true', boot[1] if boot else "")
        placed = re.search(r"maxCompactPlacementNodes:\s*(?:int64\()?(\d+)", family)
        yield " ".join(
            (
                re.findall(r'name:\s+"(\w+)"', family)[0],
                re.findall(r"systemArchitecture:\s*gce\.(\w+)", family)[0].lower(),
                ",".join(sorted(names.get(each, each.strip('"')) for each in written)),
                placed[1] if placed else "0",
            )
        )
        for name, cores, gb, calls in _MACHINE.findall(family):
            automatic = re.search(r"withAutomaticEphemeralLocalSsdCount\((\d+)\)", calls)
            options = re.search(r"withAllowedEphemeralLocalSsdCounts\(([\d, ]+)\)", calls)
            ssd = automatic[1] if automatic else f"?{options[1].replace(' ', '')}" if options else "0"
            yield f"  {name} {cores} {gb} {ssd}{' x' if 'withExplicitReqOnly' in calls else ''}"


def main(checkout: str) -> None:
    """Read a checkout, or a bare repository, and write the file."""

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", checkout, *words], check=True, capture_output=True, text=True).stdout

    commit = git("log", "-1", "--format=%h of %cs").strip()
    files = (git("show", f"HEAD:{FOLDER}/{name}.go") for name in ("deprecated_machine_types_config", "disks"))
    FACTS.write_text(HEAD.format(commit=commit) + "\n".join(lines(*files)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
