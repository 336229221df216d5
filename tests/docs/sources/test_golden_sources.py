"""docs/sources.md is written from the comparison of the published systems with the examples and their jobs."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.docs.sources.published import (
    ABSENT,
    RECIPES,
    SHARED,
    SYSTEMS,
    Difference,
    Row,
    compare,
    created,
    differences,
    here_of,
    is_equal,
    registered,
    row_of,
    shown,
)
from tests.small_fleets import problems
from tests.stack_files import ROOT, fleet_values

PAGE = ROOT / "docs" / "sources.md"
EXAMPLES = {file.stem: file for file in sorted((ROOT / "stacks" / "examples").glob("*.yaml"))}
REASONS = {
    "contradiction": "the source contradicts itself",
    "newer": "a newer release",
    "safety": "safety",
    "scope": "another scope",
}
HEAD = """\
# Where the examples come from

Each field of the published systems' manifests and command lines is compared with what the examples create and what
`berth workload` writes. One row for each field that differs, in one of four kinds: *the source contradicts itself*;
*a newer release* has another field or value; *safety*, with the fault of `berth check` that the published value gives;
*another scope*, where the source leaves something out or Berth has no part in it. `none` is a field that one side does
not have. What has no row is as published. A value that the source leaves to the reader is no difference. Written by
`make golden` from `tests/vendored/published`; a test fails on a difference without a row, and on a row without one.
[audit.md](audit.md) has the sources item by item, with their commands and outputs.

"""
OTHERS = """
## The other examples

`cpu-batch`, `existing-gke`, `flex-start`, `gb200`, `gpu-rdma`, `hpc`, `inference`, `ironwood`, `multikueue`,
`quota-tree`, `reservations` and `team-a` follow no published system. They combine documented features of GKE and
Kueue. `inference` is a use case that the source of `hotswap` names without showing it: inference beside training that
may be interrupted.

The machines of `gb200`, `hpc` and `ironwood` are those of recipes of Cluster Toolkit, which the tables below compare
field by field. Beside them, NVIDIA's DRA driver of `gb200` is 25.8.0 as in `gke-a4x-max-bm` (in `gke-a4x` 25.3.0 with
beta APIs), a job requires `gke-nodepool`, which is one NVLink domain (there `gce-topology-subblock`), Kueue counts
the channels (its 0.17 there counts no claims), and pods claim four interfaces by `mrdma-4` (there `default-rdma`).
The job of `hpc` is that of Google's sample `hpc/mpi` (2b503651, 2026-07-30) with `IPC_LOCK` for its pods (there
privileged, with hostPID and hostIPC for the launcher) and 189 cores for a worker, which leaves one for the launcher
(there 192 without a request). The flavor of `ironwood` also selects `gke-accelerator-topology-mode` and the
reservation, so that fixed slices and other reservations stay apart, and its quotas are those of the teams, also for
cpu, memory and pods (there every chip, llm-d 999999); llm-d has its levels without 2x2x1 and the block. Its node
pools name the policy and the topology (gcloud sends the policy alone), and its channel is rapid, as GKE's page
requires. Kueue's slice controller is not installed: its published image has no release. What the slice controller,
the MPI operator and NVIDIA's driver decide was not run.
"""


def page() -> str:
    """Return the page: counts, what all systems share, and a table for each."""
    lines = ["| example | source | fields published | as published | with a row |", "| --- | --- | --- | --- | --- |"]
    for name, system in SYSTEMS.items():
        published = _published(name)
        changed = sum(each.published != ABSENT for each in differences(name))
        lines.append(
            f"| [{name}](#{name}) | {system.title} | {published} | {published - changed} | {len(differences(name))} |"
        )
    found = {name: [(each, row) for each in differences(name) if (row := row_of(name, each))] for name in SYSTEMS}
    shared = [(each, row) for pairs in found.values() for each, row in pairs if row in SHARED.rows]
    lines += ["", "## What differs in every example", "", *_heading(), *_folded(shared)]
    for name, system in SYSTEMS.items():
        lines += ["", f"## {name}", "", *_table(found[name], system.rows)]
        if system.contradictions:
            lines += ["", "Where the source contradicts itself:", "", "| it says | and | here |", "| --- | --- | --- |"]
            lines += [f"| {each.says} | {each.but} | {each.here} |" for each in system.contradictions]
    return HEAD + "\n".join(lines) + "\n" + OTHERS + _recipes()


def _recipes() -> str:
    """Return one table for each recipe: every field, with the example's value, and why it is another one."""
    lines: list[str] = []
    for name, recipe in RECIPES.items():
        lines += ["", f"### {name}: {recipe.title}", "", f"Version {recipe.read}.", ""]
        lines += ["| object | field | published | here | |", "| --- | --- | --- | --- | --- |"]
        for row in recipe.fields:
            says = "equal" if is_equal(name, row) else row.why
            here = _value(here_of(name, row))
            lines.append(f"| `{row.of}` | `{row.field}` | {_value(shown(row.value))} | {here} | {says} |")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", RECIPES)
def test_a_field_of_a_recipe_is_equal_or_has_a_reason(name: str) -> None:
    for row in RECIPES[name].fields:
        assert is_equal(name, row) is not bool(row.why), (row.of, row.field, here_of(name, row))


def _published(name: str) -> int:
    system = SYSTEMS[name]
    jobs = (objects for folder in system.jobs.values() for objects in folder.values())
    return sum(len(each) for group in (system.cloud.values(), system.objects.values(), jobs) for each in group)


def _table(pairs: Iterable[tuple[Difference, Row]], rows: Iterable[Row]) -> list[str]:
    """Return one line for each published value that is another here, and one for each row of what is added."""
    own = [(each, row) for each, row in pairs if row in rows]
    changed: defaultdict[tuple[Row, str, str, str], list[str]] = defaultdict(list)
    for each, row in own:
        if each.published != ABSENT:
            changed[row, each.field, each.published, each.here].append(each.of)
    return [
        *_heading(),
        *(
            f"| {_names(names)} | {_field(field)} | {_value(published)} | {_value(here)} | {_reason(row)} |"
            for (row, field, published, here), names in changed.items()
        ),
        *_folded((each, row) for each, row in own if each.published == ABSENT),
    ]


def _folded(pairs: Iterable[tuple[Difference, Row]]) -> list[str]:
    """Return one line for each row, with its fields; a value that is not the same everywhere is `several`."""
    of_row: defaultdict[Row, list[Difference]] = defaultdict(list)
    for each, row in pairs:
        of_row[row].append(each)
    lines: list[str] = []
    for row, found in of_row.items():
        fields = sorted({_field(re.sub(r"\[.*?\]", "[*]", each.field)) for each in found})
        sides = [
            sorted({_value(side) for side in sides})
            for sides in zip(*((e.published, e.here) for e in found), strict=True)
        ]
        shown = [side[0] if len(side) == 1 else "several" for side in sides]
        lines.append(
            f"| {_names([e.of for e in found])} | {', '.join(fields)} | {' | '.join(shown)} | {_reason(row)} |"
        )
    return lines


def _heading() -> list[str]:
    return ["| object | field | published | here | reason | why |", "| --- | --- | --- | --- | --- | --- |"]


def _reason(row: Row) -> str:
    return f"{REASONS[row.reason]}{f' (`{row.fault}`)' if row.fault else ''} | {row.why}"


def _field(field: str) -> str:
    return f"`{field}`" if field else "the object"


def _value(value: str) -> str:
    return value if value in (ABSENT, "created") else f"`{value}`"


def _names(names: list[str]) -> str:
    unique = sorted(set(names))
    if len(unique) <= 3:
        return ", ".join(f"`{each}`" for each in unique)
    counts = Counter(each.split("/")[0] for each in unique)
    return ", ".join(kind if count == 1 else f"{count} of {kind}" for kind, count in counts.items())


def test_the_page_is_the_golden_page() -> None:
    if os.environ.get("BERTH_GOLDEN") == "write":
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_field_differs_without_a_row(name: str) -> None:
    assert [each for each in differences(name) if row_of(name, each) is None] == []


def test_every_row_is_of_a_difference() -> None:
    used = {id(row_of(name, each)) for name in SYSTEMS for each in differences(name)}
    rows = [*SHARED.rows, *(row for system in SYSTEMS.values() for row in system.rows)]
    assert [row for row in rows if id(row) not in used] == []
    assert all((row.reason == "safety") == bool(row.fault) == bool(row.write) for row in rows)


def _written(value: Any, path: str, new: Any) -> None:
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    for step in steps:
        value = value[step]
    value[last] = new


@pytest.mark.parametrize(
    ("name", "row"), [(name, row) for name, system in SYSTEMS.items() for row in system.rows if row.fault]
)
def test_the_published_value_gives_the_fault_of_its_row(name: str, row: Row) -> None:
    values = fleet_values(name)
    assert row.fault not in {problem.code for problem in problems(values)}
    for path, new in row.write.items():
        _written(values, path, new)
    assert row.fault in {problem.code for problem in problems(values)}


def test_a_new_value_is_a_difference_without_a_row() -> None:
    """The comparison is not blind: each field that is equal today differs when one side changes."""
    for name, system in SYSTEMS.items():
        for published, here in ((system.cloud, registered(name)), (system.objects, created(name))):
            known = {(each.of, each.field) for each in compare(published, here)}
            for of, values in published.items():
                changed: Mapping[str, Any] = dict.fromkeys(values, "changed")
                found = {each.field for each in compare({of: changed}, here, whole=False)}
                assert {path for path in values if (of, path) not in known} <= found, (name, of)


def test_every_example_is_on_the_page() -> None:
    others = re.findall(r"`([a-z0-9-]+)`", OTHERS)
    assert sorted({*SYSTEMS, *(set(others) & EXAMPLES.keys())}) == sorted(EXAMPLES)
    assert not set(others) & SYSTEMS.keys() - {"hotswap"}


def test_the_counts_are_those_of_the_tables() -> None:
    """Counted again from the page: as published and with a row, of what the source has."""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\| \[([\w-]+)\]\(.*\) \| .* \| (\d+) \| (\d+) \| (\d+) \|", line):
            name, published, equal, rows = match[1], *map(int, match.groups()[1:])
            changed = [each for each in differences(name) if each.published != ABSENT]
            assert published == equal + len({(each.of, each.field) for each in changed})
            assert rows == len(differences(name))
