"""Keys of other tools: each row of the table says what a stack file takes in that place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from berth.adopt.sources.xpk_flags import xpk_types
from berth.diagnostics import FieldPath
from berth.diagnostics.hints import ForeignKey, foreign_key_hint, foreign_keys, plain_key
from berth.spec.fleet import FleetSpec
from berth.spec.messages import allowed_keys
from berth.spec.messages.forms import mappings_with
from berth.spec.parse import parse_fleet
from berth.yaml_loader import load_yaml

ROWS = [(key, row) for key, rows in foreign_keys().items() for row in rows]
OF_ACK = {"instanceType"}
"""Keys of fleets on Alibaba Cloud, whose schema is another one."""
WRITTEN = {row.write: row for _, row in ROWS if row.write and row.own not in OF_ACK}


def nested(path: FieldPath, value: object) -> Any:
    """Return a fleet that has `value` at `path`."""
    for step in reversed(path):
        value = {step: value}
    return value


def faults_within(place: FieldPath, entry: dict[str, object]) -> Iterator[str]:
    """Yield the faults of a fleet with these keys at `place`, save those of what is missing beside them."""
    place = tuple("a" if step == "<name>" else step for step in place)
    for at_lists in (place, (*place, 0)):
        value = [entry] if at_lists != place else entry
        problems = parse_fleet(nested(place, value)).problems
        if not any(problem.path == place and problem.code == "bad-type" for problem in problems):
            key = next(iter(entry))
            yield from (p.line() for p in problems if p.path[: len(at_lists) + 1] == (*at_lists, key))
            return


@pytest.mark.parametrize("write", WRITTEN)
def test_what_a_row_says_to_write_is_valid_in_each_place_that_has_its_key(write: str) -> None:
    row = WRITTEN[write]
    entry = load_yaml(write)
    assert [*entry] == [row.own]
    found = {place: [*faults_within(place, entry)] for place in mappings_with(row.own)}
    assert [] in found.values(), found


def test_every_row_has_a_key_of_a_stack_file_and_says_what_to_do() -> None:
    own_keys = {key for _, row in ROWS for key in [row.own] if not mappings_with(row.own)}
    assert own_keys == OF_ACK
    assert all(row.write or row.say for _, row in ROWS)
    assert len(foreign_keys()) > 250


def test_a_number_and_a_list_are_carried_over() -> None:
    row = ForeignKey("nodes", "nodes: {max: 12}", "a total")
    assert row.remedy(7) == "; write nodes: {max: 7} (a total)"
    assert ForeignKey("zones", "zones: [us-central1-a]", "").remedy(["a", "b"]) == "; write zones: [a, b]"
    assert ForeignKey("zones", "zones: [us-central1-a]", "").remedy(3) == "; write zones: [us-central1-a]"
    assert ForeignKey("capacity", "capacity: spot", "").remedy("SPOT") == "; write capacity: spot"


@pytest.mark.parametrize(
    ("key", "own", "value", "remedy"),
    [
        ("minNodes", "nodes", 0, "nodes: {min: 0, max: 12} (a total over all zones)"),
        ("minNodeCount", "nodes", 20, "nodes: {min: 20, max: 20} (a total over all zones)"),
        ("hostProject", "project", "projects/acme-net", "project: acme-net"),
        ("subnet", "network", "projects/acme/subnetworks/gke", "network: {existing: my-network, subnetwork: gke}"),
        ("location", "zone", "europe-west4-b", "zone: europe-west4-b"),
        ("location", "zone", "europe-west4", "zone: us-central1-a"),
        ("clusterName", "cluster", "two words", "cluster: {name: training}"),
    ],
)  # fmt: skip
def test_a_message_writes_what_the_person_wrote(key: str, own: str, value: object, remedy: str) -> None:
    assert foreign_key_hint(key, [own], value) == f"; write {remedy}"


def test_what_a_row_takes_is_a_part_of_what_it_writes() -> None:
    assert [row for _, row in ROWS if row.takes not in row.write] == []


def test_the_topologies_of_tpu_types_are_those_that_adopting_xpk_reads() -> None:
    """xpk says v5litepod of slices with several hosts; the smaller ones have as many chips as their name says."""
    written = {name: text for _, row in ROWS for name, text in row.values.items()}
    assert len(written) > 30
    for name, text in written.items():
        known = xpk_types().get(name.replace("v5e-", "v5litepod-"))
        topology = known.topology if known else {"1": "1x1", "4": "2x2"}[name.rpartition("-")[2]]
        assert text == f"topology: {topology}", name


def test_a_key_that_exists_in_a_place_is_never_called_foreign_there() -> None:
    for path in ((), ("cluster",), ("pools", "a"), ("teams", "a"), ("reservations", "a")):
        for key in allowed_keys(path, FleetSpec):
            assert key not in [row.own for row in foreign_keys().get(plain_key(key), ()) if row.own == key]
