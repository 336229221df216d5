"""Prepare a newer pin of Kueue or JobSet: CRDs, tables of facts, and the list of what must run again.

`python scripts/pin.py kueue 0.20.6 FOLDER` (`make pin PIN=kueue VERSION=0.20.6 CLONES=FOLDER`) reads git clones as
scripts/release_facts.py does. It writes the CRDs of tests/vendored/crds and the tables of berth/versions, and prints
the recordings to make again and the places that name the release that ran so far.

The pin itself moves last: `python scripts/pin.py kueue 0.20.6 --ran` writes it after the recordings name the release.
Until then Berth installs the release that ran, and accepts the new one with a warning.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

sys.path.insert(0, str(Path(__file__).parent))
import release_facts

ROOT: Final = Path(__file__).parents[1]
PINNED: Final = ("kueue", "jobset")
COMPONENTS: Final = Path("berth/versions/components.yaml")
CRDS: Final = Path("tests/vendored/crds")
RECORDINGS: Final = {
    "kueue": {
        "tests/berth/simulator/cases.yaml": "record the queue set-ups again, then make agreement CASES=FILE",
        "tests/vendored/metrics": "write kueue-VERSION.tsv from pkg/metrics/metrics.go",
        "docs/e2e.md": "make e2e with the release installed, and write what ran",
    },
    "jobset": {"docs/e2e.md": "make e2e with the release installed, and write what ran"},
}
"""Component → what names the release that it was made with, and how it is made again."""
_UNSEARCHED: Final = (
    "tests/golden/",
    "tests/vendored/",
    "tests/berth/bad_input/cases/",
    "tests/berth/versions/",
    "tests/berth/upgrade/",
    "berth/diagnostics/examples.yaml",
    "docs/faults.md",
    "docs/decisions.md",
    "CHANGELOG.md",
)
"""Files that name releases for reasons of their own."""
_MOST_LINES: Final = 5
"""Lines to list of one file: recordings name their release in every case."""


def without_descriptions(value: Any) -> Any:
    """Return a schema without its descriptions, as the vendored CRDs are kept."""
    if isinstance(value, dict):
        return {k: without_descriptions(v) for k, v in value.items() if k != "description" or not isinstance(v, str)}
    return [without_descriptions(each) for each in value] if isinstance(value, list) else value


def write_crds(clone: release_facts.Clone, tag: str, folder: str, root: Path) -> Iterator[str]:
    """Write each vendored CRD of a project as it is at a tag, and yield its name."""
    for path in clone.files(tag, folder):
        target = root / CRDS / Path(path).name
        if not target.is_file():
            continue
        crd = yaml.safe_load(clone.show(tag, path))
        kept = {
            "apiVersion": crd["apiVersion"],
            "kind": crd["kind"],
            "metadata": {"name": crd["metadata"]["name"]},
            "spec": without_descriptions(crd["spec"]),
        }
        target.write_text(yaml.safe_dump(kept, sort_keys=True, width=120), encoding="utf-8")
        yield target.name


def ran(component: str, root: Path) -> str:
    """Return the release of a component that ran so far."""
    return yaml.safe_load((root / COMPONENTS).read_text(encoding="utf-8"))[component]["ran"]


def naming(version: str, root: Path) -> Iterator[str]:
    """Yield FILE: LINES of each file with claims that name a release, to be read again."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    for name in listed:
        file = root / name
        if name.startswith(_UNSEARCHED) or file.suffix not in (".md", ".py", ".yaml") or not file.is_file():
            continue
        claims = [
            str(number)
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
            if re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.]*\d)", line)
        ]
        if claims:
            more = f" and {len(claims) - _MOST_LINES} more" if len(claims) > _MOST_LINES else ""
            yield f"{name}: {', '.join(claims[:_MOST_LINES])}{more}"


def unrecorded(component: str, version: str, root: Path) -> list[str]:
    """Return the recordings that do not name a release yet, with how to make them."""
    missing: list[str] = []
    for place, how in RECORDINGS[component].items():
        path = root / place
        if path.is_dir():
            is_named = any(f"-{version}." in file.name for file in path.iterdir())
        else:
            is_named = path.is_file() and version in path.read_text(encoding="utf-8")
        if not is_named:
            missing.append(f"{place}: {how.replace('VERSION', version)}")
    return missing


def prepare(component: str, version: str, folder: Path, root: Path) -> int:
    """Write CRDs and tables for a release, and print what is left to do."""
    old = ran(component, root)
    if [*map(int, version.split("."))] <= [*map(int, old.split("."))]:
        print(f"{component} {old} ran already, which is not older than {version}; write a newer release")
        return 2
    repository, crds, _ = release_facts.PROJECTS[component]
    owner, name = repository.split("/")
    place = next((each for each in (folder / owner / name, folder / f"{owner}+{name}") if each.is_dir()), None)
    if place is None:
        print(f"no clone of {repository} in {folder}; clone it with its tags to {folder / owner / name}")
        return 1
    clone, tag = release_facts.Clone(place), f"v{version}"
    if tag not in clone.run("tag").split():
        print(f"the clone of {repository} has no tag {tag}; fetch its tags")
        return 1
    print(f"wrote {', '.join(write_crds(clone, tag, crds, root))}")
    result = release_facts.main(folder)
    print(f"\n{component} {old} is the release that ran. Before {version} is the pin:")
    for number, task in enumerate(unrecorded(component, version, root), 1):
        print(f"  {number}. {task}")
    print(f"  then: python scripts/pin.py {component} {version} --ran, make golden, make check")
    print(f"\nPlaces that name {old}: read each claim again.")
    for each in naming(old, root):
        print(f"  {each}")
    return result


def move(component: str, version: str, root: Path) -> int:
    """Write the pin, if every recording names the release."""
    if missing := unrecorded(component, version, root):
        print(f"{component} {version} has not run here; before it is the pin:")
        print("\n".join(f"  {each}" for each in missing))
        return 1
    old, file = ran(component, root), root / COMPONENTS
    text = file.read_text(encoding="utf-8")
    start = text.index(f"\n{component}:\n") + 1
    body = text[start:].replace(f'ran: "{old}"', f'ran: "{version}"', 1)
    file.write_text(text[:start] + body, encoding="utf-8")
    keys = root / "berth" / "spec" / "controllers.py"
    names = {"kueue": "Kueue", "jobset": "JobSet"}
    words = (f"{old} of {names[component]}", f"{version} of {names[component]}")
    keys.write_text(keys.read_text(encoding="utf-8").replace(*words), encoding="utf-8")
    print(f"{component}: {old} → {version}; run make golden and read the difference")
    return 0


def main(words: list[str], root: Path = ROOT) -> int:
    """Prepare or move a pin; return 2 for wrong arguments."""
    if len(words) != 3 or words[0] not in PINNED or not re.fullmatch(r"\d+\.\d+\.\d+", words[1]):
        print("usage: python scripts/pin.py kueue|jobset VERSION FOLDER|--ran, such as kueue 0.20.6 ../clones")
        return 2
    component, version, third = words
    return move(component, version, root) if third == "--ran" else prepare(component, version, Path(third), root)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
