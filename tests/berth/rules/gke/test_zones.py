"""Where Google lists a machine, by capacity and by who makes the nodes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from berth.catalog import machines, zone_table
from berth.rules.gke.pool_request import CapacityKind
from berth.rules.gke.zones import pool_zone_violation, zone_violation
from tests.berth.rules.gke.pool_requests import NAMED, ZONE, pool

B = "us-central1-b"


def code(machine: str, topology: str | None = None, *, region: str = "us-central1", **changes: Any) -> str | None:
    """The code of what is said about zones, None without it; what a page of Google leaves out is a fault."""
    violation = pool_zone_violation(pool(machine, topology, **changes), region)
    if violation is None:
        return None
    assert violation.key == "zones"
    assert violation.severity == ("fault" if violation.code == "zone-not-listed" else "warning")
    return violation.code


@pytest.mark.parametrize("capacity", ["on-demand", "spot", "flex-start", "queued"])
def test_every_capacity_is_checked_against_the_zones_of_its_machine(capacity: CapacityKind) -> None:
    """H200 in us-central1 exists only in us-central1-b."""
    assert code("a3-ultragpu-8g", capacity=capacity, zones=(ZONE,)) == "zone-not-listed"
    assert code("a3-ultragpu-8g", capacity=capacity, zones=(B,)) is None
    assert code("a3-ultragpu-8g", capacity=capacity, zones=()) is None
    assert code("a3-ultragpu-8g", capacity=capacity, zones=(), region="europe-west3") == "zone-not-listed"


def test_machines_of_a_reservation_are_checked_against_its_zone() -> None:
    """The reservation itself is checked: one cause, one warning."""
    assert code("a3-ultragpu-8g", capacity="reservation", zones=(ZONE,)) is None
    anyone = NAMED.__class__(form="any")
    assert code("a3-ultragpu-8g", capacity="reservation", reservation=anyone, zones=(ZONE,)) == "zone-not-listed"


@pytest.mark.parametrize("capacity", ["flex-start", "queued"])
def test_dws_tpus_are_checked_against_the_zones_with_flex_start(capacity: CapacityKind) -> None:
    assert code("ct6e-standard-4t", "4x4", capacity=capacity, zones=("us-east5-b",)) == "flex-start-zone"
    assert code("ct6e-standard-4t", "4x4", capacity=capacity, zones=("us-east5-a",)) is None
    assert code("ct6e-standard-4t", "4x4", capacity="on-demand", zones=("us-east5-b",)) is None


def test_one_zone_that_lists_the_machine_is_enough_where_gke_makes_the_nodes() -> None:
    assert code("a3-ultragpu-8g", zones=(ZONE, B)) == "zone-not-listed"
    assert code("a3-ultragpu-8g", zones=(ZONE, B), auto_provisioned=True) is None
    assert code("a3-ultragpu-8g", zones=(ZONE,), auto_provisioned=True) == "zone-not-listed"


def test_auto_provisioned_nodes_use_the_zones_of_the_cluster() -> None:
    made_by_gke = pool("a3-ultragpu-8g", zones=(), auto_provisioned=True)
    assert pool_zone_violation(made_by_gke, "us-central1", (ZONE, B)) is None
    violation = pool_zone_violation(made_by_gke, "us-central1", (ZONE,))
    assert violation is not None
    assert "in 'us-central1-a'" in violation.message


def test_an_undocumented_zone_has_its_own_code() -> None:
    assert code("ct6e-standard-4t", zones=(ZONE,)) == "zone-undocumented"
    assert code("ct6e-standard-4t", zones=(ZONE, B)) == "zone-undocumented"
    assert code("ct6e-standard-4t", zones=(ZONE, B), auto_provisioned=True) is None
    assert code("a3-highgpu-8g", zones=(), region="asia-south2") == "zone-undocumented"


def test_machines_without_a_sourced_zone_are_unknown_everywhere() -> None:
    """Those without accelerators have one warning for all pools, which the planner gives."""
    assert code("g4-standard-6", zones=("africa-south1-a",)) == "zone-unknown"
    assert code("g4-standard-6", zones=(ZONE,)) == "zone-unknown"


def test_a_region_that_a_newer_source_names_is_unknown_and_not_refused() -> None:
    """Of europe-west1 the source says no letter, so any of its zones may have B200; europe-west3 has none."""
    assert code("a4-highgpu-8g", zones=("europe-west1-b",)) == "zone-unknown"
    assert code("a4-highgpu-8g", zones=(), region="europe-west1") == "zone-unknown"
    assert code("a4-highgpu-8g", zones=("europe-west3-b",)) == "zone-not-listed"
    assert code("a3-highgpu-8g", zones=("asia-northeast3-a",)) == "zone-unknown"


def test_every_listed_zone_is_accepted_and_every_other_is_answered() -> None:
    """By the rows themselves: no zone of a region passes in silence that the row does not list."""
    for name, row in zone_table().listed.items():
        if name not in machines():
            continue
        for region, zones in zone_table().regions.items():
            for zone in zones:
                answer = zone_violation(machines()[name], (zone,), region)
                found = answer.code if answer else None
                listed = zone in (*row.documented, *row.later)
                other = "zone-unknown" if region in row.unlettered else "zone-not-listed"
                wanted = None if listed else "zone-undocumented" if zone in row.undocumented else other
                assert found == wanted, (name, zone)


def test_variants_without_local_ssd_are_where_their_machine_is() -> None:
    assert code("a3-ultragpu-8g-nolssd", zones=(ZONE,)) == "zone-not-listed"


def test_another_region_has_every_machine_of_the_cluster() -> None:
    """The whole change at once: made as written, no machine of the cluster has anything to be said about its zone."""
    names = ("a3-highgpu-8g", "a2-ultragpu-8g", "ct5lp-hightpu-4t")
    several = [machines()[name] for name in names]
    violation = zone_violation(machines()["a2-ultragpu-8g"], ("us-west4-a",), "us-west4", others=several)
    assert violation is not None
    change = violation.message.partition("write region: ")[2]
    region = change.partition(" ")[0]
    assert region.startswith("us-"), "of the same continent"
    zones: dict[str, str] = {name: zone for zone, name in re.findall(r"zone (\S+) for ([\w-]+)", change)}
    assert zones.keys() == set(names)
    assert all(zone_violation(machines()[name], (zone,), region) is None for name, zone in zones.items())


def test_a_region_that_lacks_one_machine_is_left_in_every_message() -> None:
    """A zone of the region would be right for one machine, and useless: another one has to move the cluster."""
    several = [machines()[name] for name in ("a3-highgpu-8g", "a2-ultragpu-8g", "ct5lp-hightpu-4t")]
    violations = [zone_violation(each, ("asia-east1-a",), "asia-east1", others=several) for each in several]
    changes = {each.message.partition("write region: ")[2] for each in violations if each is not None}
    assert None not in violations
    assert len(changes) == 1, changes
    alone = zone_violation(several[0], ("asia-east1-a",), "asia-east1")
    assert alone is not None
    assert "write that zone" in alone.message


def test_without_a_region_for_all_machines_the_message_says_so() -> None:
    others = [machines()["ct4p-hightpu-4t"]]
    violation = zone_violation(machines()["a3-highgpu-8g"], ("us-central2-b",), "us-central2", others=others)
    assert violation is not None
    assert "no region lists a3-highgpu-8g and ct4p-hightpu-4t: write it in another cluster" in violation.message
