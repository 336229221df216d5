"""GKE's provisioning matrix, every machine × capacity × placement, against a second encoding of it.

The matrix of the fact sheet is kept here word for word and read by rules of this file's own. The product reads neither.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import Any

import pytest

from berth import catalog
from berth.rules.gke.capacity import pool_violations
from berth.rules.gke.pool_request import PoolRequest, ReservationRequest
from tests.berth.rules.gke.pool_requests import NAMED, pool
from tests.small_fleets import fleet_of_pools, fleet_with, run_planner

FROZEN = """
| Family | on-demand | spot | any reservation | specific reservation | flex-start | queued provisioning | COMPACT placement |
|---|---|---|---|---|---|---|---|
| n1+GPU | y | y | y | y | y | y | no |
| g2, a2 | y | y | y | y | y | y | y (not with DWS) |
| g4 | y | y | y | y | y | y | y (not with DWS) |
| a3-high 1g/2g/4g | only spot/flex/DWS in public docs **[R]** | y | – | – | y | y | y (not with DWS) |
| a3-high 8g, mega | y | y | y | y | y | y | y (not with DWS) |
| a3-edge | y | y | y | y | no | no | y |
| a3-ultra, a4 | usually reservation/spot/flex | y | – | y (dense, block/sub-block) | y, **COMPACT allowed with flex-start** | y | y |
| a4x | reservation | – | – | y (required in practice) | – | – | workload policy |
| TPU v5e/v5p/v6e/7x | y | y | no (ANY unsupported) | y | y | y (multi-host by parameter) | slice topology |
| TPU v4 | y | y | no | y | no | no | slice topology |
"""  # noqa: E501

ROWS = {
    r"n1": "n1+GPU",
    r"(g2|a2)-.*": "g2, a2",
    r"g4-.*": "g4",
    r"a3-highgpu-[124]g.*": "a3-high 1g/2g/4g",
    r"a3-(highgpu-8g|megagpu-8g).*": "a3-high 8g, mega",
    r"a3-edgegpu.*": "a3-edge",
    r"(a3-ultragpu|a4-highgpu).*": "a3-ultra, a4",
    r"a4x-.*": "a4x",
    r"(ct5lp|ct5p|ct6e|tpu7x)-.*": "TPU v5e/v5p/v6e/7x",
    r"ct4p-.*": "TPU v4",
}
"""Which row is a machine's, by its name: the product may not do this, a second encoding must."""

WAYS = ("on-demand", "spot", "any reservation", "specific reservation", "flex-start", "queued provisioning")
MACHINES = ["n1", *(m.name for m in catalog.machines().values() if m.status != "unsupported")]


def table(text: str) -> dict[str, dict[str, str]]:
    """Family to column to cell, of the matrix within a text."""
    lines = text[text.index("| Family | on-demand |") :].split("\n\n")[0].strip().splitlines()
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}


@cache
def row(name: str) -> dict[str, str]:
    """The row of a machine."""
    (family,) = [family for pattern, family in ROWS.items() if re.fullmatch(pattern, name)]
    return table(FROZEN)[family]


def expected(name: str, way: str, compact: bool) -> str:
    """accept, reject or warn, for the facts' y, no, and every other value, which is uncertain."""
    cells = row(name)
    verdict = {"y": "accept", "no": "reject"}.get(re.split(r"[ ,]", cells[way])[0], "warn")
    return "reject" if compact and not goes_with_compact(cells, way) else verdict


def goes_with_compact(cells: dict[str, str], way: str) -> bool:
    """Return whether COMPACT is allowed with a capacity type: DWS only as in the cell, or for slices and domains."""
    compact = cells["COMPACT placement"]
    if compact == "no":
        return False
    if way in ("flex-start", "queued provisioning"):
        return "COMPACT allowed" in cells[way] or compact in ("slice topology", "workload policy")
    return True


def pool_request(name: str, way: str, compact: bool) -> PoolRequest:
    """A pool whose only possible fault is one of the matrix; slices have the smallest size above one host."""
    capacities = {
        "any reservation": "reservation",
        "specific reservation": "reservation",
        "queued provisioning": "queued",
    }
    forms = {"any reservation": ReservationRequest(form="any"), "specific reservation": NAMED}
    wide = [t for t in catalog.slice_topologies(pool(name).machine) if t != pool(name).machine.single_host_topology]
    return pool(
        name,
        wide[0] if compact and wide else None,
        capacity=capacities.get(way, way),
        reservation=forms.get(way),
        compact_placement=compact,
    )


def verdict(pool: PoolRequest) -> str:
    """What the rules say of a pool."""
    severities = {violation.severity for violation in pool_violations(pool)}
    return "reject" if "fault" in severities else "warn" if "warning" in severities else "accept"


def combinations() -> list[tuple[str, str, bool]]:
    """Every machine × capacity × placement; a TPU host that cannot be in a slice of several has no placement."""
    every = product(MACHINES, WAYS, (False, True))
    return [(n, w, c) for n, w, c in every if not c or pool(n).machine.kind == "gpu" or pool(n).machine.multi_host]


@pytest.mark.parametrize(("name", "way", "compact"), combinations())
def test_a_machine_is_accepted_or_rejected_as_in_the_matrix(name: str, way: str, compact: bool) -> None:
    """For each machine × capacity × placement, accepted or refused as published; what is unsure is a warning."""
    assert verdict(pool_request(name, way, compact)) == expected(name, way, compact)


# --- the same through the stack file ----------------------------------------------------------------------------------

WORDS: dict[str, Any] = {
    "any reservation": "any-reservation",
    "specific reservation": {"reservation": "held"},
    "queued provisioning": "queued",
}
"""How an owner writes a column of the matrix, where not by its name."""


def fleet(name: str, way: str, compact: bool) -> dict[str, Any]:
    """A stack file with the pool of `asked`, in the words of its owner."""
    wanted = pool_request(name, way, compact)
    machine, zone = wanted.machine, wanted.zones[0]
    hardware: dict[str, Any] = {"machineType": machine.name}
    if name == "n1":
        hardware["accelerator"] = {"type": machine.accelerator, "count": machine.accelerators}
    if compact and machine.kind == "gpu":
        hardware["compactPlacement"] = True
    count: Any = {"max": 1} if wanted.uses_dws else 1
    size = {"topology": wanted.shape.topology, "slices": count} if wanted.shape else {"nodes": count}
    spec = {**hardware, **size, "zone": zone, "capacity": WORDS.get(way, way)}
    held = {k: v for k, v in hardware.items() if k != "compactPlacement"} | {"zone": zone, "count": wanted.nodes.max}
    reservations = {"held": {**held, "existing": True, "name": "held"}} if way == "specific reservation" else {}
    return fleet_with({"region": zone.rpartition("-")[0]}, fleet_of_pools({"p": spec}, reservations=reservations))


@pytest.mark.parametrize("name", MACHINES)
def test_a_stack_file_is_accepted_or_rejected_as_in_the_matrix(name: str) -> None:
    """The words of an owner lead to the cell that they mean; nothing is lost on the way from the file to the rules."""
    for machine, way, compact in (each for each in combinations() if each[0] == name):
        output = [p for p in run_planner(fleet(machine, way, compact)).problems if p.path[:2] == ("pools", "p")]
        severities = {p.severity for p in output if p.code not in BESIDE}
        text = "reject" if "fault" in severities else "warn" if "warning" in severities else "accept"
        assert text == expected(machine, way, compact), (way, compact, [p.line() for p in output])


BESIDE = {"resize-requests", "zone-not-listed", "zone-undocumented", "flex-start-zone", "zones-derived"}
"""What is reported beside a capacity that can be had: the matrix does not depend on zones."""


def test_every_machine_has_one_row_and_every_row_a_machine() -> None:
    used = {next(f for p, f in ROWS.items() if re.fullmatch(p, name)) for name in MACHINES}
    assert used == set(table(FROZEN))
    assert all(sum(bool(re.fullmatch(p, name)) for p in ROWS) == 1 for name in MACHINES)


def test_the_matrix_tests_reject_accept_and_warn() -> None:
    """A matrix that never rejects would agree with any table."""
    values = {expected(*each) for each in combinations()}
    assert values == {"accept", "warn", "reject"}
    assert len(combinations()) > 500


@pytest.mark.parametrize("name", [n for n in MACHINES if pool(n).machine.provisioning.confidence != "source"])
def test_values_known_only_from_examples_cause_no_fault(name: str) -> None:
    """A fault needs a source: a row that rests on a blueprint has no refused cell."""
    row = pool(name).machine.provisioning
    assert "refused" not in {
        row.availability(way) for way in ("on-demand", "spot", "reservation-any", "flex-start", "queued")
    }


def test_every_row_names_its_source_and_the_reason_of_its_doubts() -> None:
    for row in catalog.provisioning().values():
        assert row.source
        assert bool(row.doubts) == ("doubtful" in {row.availability(way) for way in ("on-demand", "spot", "queued")})
