"""Zones of pools: those that a pool gets where it names none, and the word of the zone table."""

from __future__ import annotations

from typing import Any

import pytest

from berth.catalog import Machine
from berth.planner.machines import capacity_rules
from tests.problem_lines import line_without_code
from tests.small_fleets import faults, fleet_of_pools, plan, pool, problems, warnings

L4: dict[str, Any] = {"machineType": "g2-standard-24", "nodes": {"max": 6}}
V5E: dict[str, Any] = {"machineType": "ct5lp-hightpu-4t", "topology": "2x2", "slices": {"max": 4}}


def zones_of(spec: dict[str, Any], **rest: Any) -> tuple[str, ...]:
    """The zones that each node pool of a pool is asked for in."""
    planned = pool(plan(fleet_of_pools({"p": spec}, **rest)), "p")
    assert all(node_pool.zones == planned.zones for node_pool in planned.node_pools)
    return planned.zones


@pytest.mark.parametrize("capacity", ["on-demand", "spot", "any-reservation", "flex-start", "queued"])
def test_a_pool_without_zones_gets_those_of_its_machine(capacity: str) -> None:
    """GKE takes three zones of the region, of which us-central1-f has no L4: it then refuses the pool."""
    assert zones_of({**L4, "capacity": capacity}) == ("us-central1-a", "us-central1-b", "us-central1-c")


def test_the_plan_notes_which_zones_were_chosen() -> None:
    (note,) = [each for each in problems(fleet_of_pools({"p": L4})) if each.code == "zones-derived"]
    assert line_without_code(note) == (
        "note: pools.p: has no zones; Berth uses us-central1-a, us-central1-b, us-central1-c, which list "
        "g2-standard-24 (table of 2026-11-29)"
    )


def test_single_host_slices_get_the_zones_of_their_machine_too() -> None:
    assert zones_of(V5E) == ("us-central1-a",)


def test_tpus_of_flex_start_get_one_zone_with_flex_start() -> None:
    """They have bounds per zone."""
    spec = {"machineType": "ct6e-standard-1t", "topology": "1x1", "slices": {"max": 3}, "capacity": "flex-start"}
    assert zones_of(spec, region="us-east5") == ("us-east5-a",)
    assert zones_of(spec, region="us-east1") == ()


@pytest.mark.parametrize(
    "written",
    [
        {"zone": "us-central1-b"},
        {"zones": ["us-central1-b"]},
        {"cluster": {"controlPlane": {"publicEndpoint": False}, "zones": ["us-central1-b"]}},
    ],
    ids=["zone", "zones", "zones of the cluster"],
)
def test_stated_zones_are_kept(written: dict[str, Any]) -> None:
    cluster = {key: written[key] for key in ("cluster",) if key in written}
    spec = {**L4, **{key: value for key, value in written.items() if key != "cluster"}}
    assert zones_of(spec, **cluster) == ("us-central1-b",)


def test_pools_that_gke_makes_get_no_zones() -> None:
    """Their zones are GKE's to choose: it knows where machines are free."""
    limits = {"cpu": {"max": 999}, "memory": {"max": 9999}, "accelerators": {"nvidia-l4": 64}}
    cluster = {"controlPlane": {"publicEndpoint": False}, "nodeAutoProvisioning": limits}
    assert zones_of({**L4, "autoProvisioned": True}, cluster=cluster) == ()


def test_a_fixed_number_still_needs_its_zones() -> None:
    """Five nodes cannot be spread over three default zones."""
    assert faults(fleet_of_pools({"p": {**L4, "nodes": 5}})) == ["bad-zone pools.p.zones"]


def test_an_accepted_zone_is_no_fault() -> None:
    spec = {**L4, "zone": "us-central1-f"}
    refused = fleet_of_pools({"p": {**spec, "acceptZone": False}})
    assert (faults(refused), warnings(refused)) == (["zone-not-listed pools.p.zone"], [])
    accepted = fleet_of_pools({"p": {**spec, "acceptZone": True}})
    assert (faults(accepted), warnings(accepted)) == ([], [])


def test_a_pool_without_accelerators_names_zones_where_some_of_the_region_have_its_machine() -> None:
    """GKE chooses three zones of the region for it, whatever machine it has; nodes that GKE makes need one zone."""
    pool = {"machineType": "h4d-standard-192", "nodes": {"max": 2}, "acceptZone": False}
    fleet = fleet_of_pools({"p": pool})
    assert (faults(fleet), warnings(fleet)) == ([], ["zone-not-listed pools.p.zones"])
    [warning] = [each.message for each in problems(fleet) if each.code == "zone-not-listed"]
    assert warning.endswith(
        "lists h4d-standard-192 only in us-central1-a, us-central1-b; write zones: [us-central1-a, us-central1-b]"
    )
    assert warnings(fleet_of_pools({"p": {**pool, "zones": ["us-central1-a", "us-central1-b"]}})) == []
    existing = fleet_of_pools({"p": pool}, cluster={"existing": {"context": "c"}})
    assert not [line for line in warnings(existing) if "zone" in line]


def test_an_existing_cluster_is_not_checked_against_the_table() -> None:
    """The zones of existing nodes are the decision of their owner."""
    fleet = fleet_of_pools({"p": {**L4, "nodes": 4, "zone": "us-central1-f"}}, cluster={"existing": {"context": "c"}})
    assert not [line for line in warnings(fleet) if "zone" in line]


@pytest.mark.parametrize(
    ("pool", "region", "expected"),
    [
        ({"machineType": "n2-standard-32"}, "us-central1", []),
        ({"machineType": "n2-standard-32", "zone": "us-central1-f"}, "us-central1", []),
        ({"machineType": "n2-standard-32", "zone": "africa-south1-a"}, "africa-south1", []),
        ({"machineType": "n4-standard-32"}, "us-central1", []),
        ({"machineType": "n2-custom-5-8192"}, "us-central1", []),
        ({"machineType": "n1-standard-8", "cpu": 8, "memory": "30Gi", "zone": "us-central1-a"}, "us-central1", []),
        (
            {"machineType": "n1-standard-8", "cpu": 8, "memory": "30Gi", "zone": "us-east5-a"},
            "us-east5",
            ["fault zone-not-listed pools.p.zone"],
        ),
        # The API has it in the region, and the page in no zone of it; the other way round, of this type only.
        ({"machineType": "c2d-standard-8"}, "australia-southeast1", ["warning zone-unknown pools.p.zones"]),
        ({"machineType": "c3-highcpu-22", "zone": "me-west1-a"}, "me-west1", ["warning zone-unknown pools.p.zone"]),
        (
            {"machineType": "n2-standard-8", "zone": "us-central1-ai1a"},
            "us-central1",
            ["warning zone-unknown pools.p.zone"],
        ),
        (
            {"machineType": "h4d-standard-192", "zone": "us-central1-c"},
            "us-central1",
            ["fault zone-not-listed pools.p.zone"],
        ),
        ({"machineType": "n4a-standard-8"}, "africa-south1", ["fault zone-not-listed pools.p.zones"]),
        (
            {"machineType": "n4a-standard-8", "zone": "africa-south1-b"},
            "africa-south1",
            ["fault zone-not-listed pools.p.zone"],
        ),
        ({"machineType": "n4a-standard-8", "acceptZone": True}, "africa-south1", []),
    ],
)
def test_tables_tell_where_machines_without_accelerators_are(
    pool: dict[str, object], region: str, expected: list[str]
) -> None:
    """Known in a zone that the page lists, unknown where the page and the API differ, refused elsewhere."""
    fleet = fleet_of_pools({"p": {"nodes": {"max": 2}, "acceptZone": False, **pool}}, region=region)
    answers = [*(f"fault {line}" for line in faults(fleet)), *(f"warning {line}" for line in warnings(fleet))]
    assert [line for line in answers if " zone-" in line] == expected


def test_the_machines_of_a_cluster_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pool in a wrong zone is told where all machines of the cluster are."""
    looked_up: list[str] = []
    find = capacity_rules.known_machine

    def counted(spec: Any) -> Machine | None:
        looked_up.append(spec.machine_type)
        return find(spec)

    monkeypatch.setattr(capacity_rules, "known_machine", counted)
    wrong = {f"p{n}": {**L4, "zone": "us-central1-f", "acceptZone": False} for n in range(20)}
    assert len(faults(fleet_of_pools(wrong))) == 20
    assert len(looked_up) == 20


# --- the system pool --------------------------------------------------------------------------------------------------

H4D: dict[str, Any] = {"controlPlane": {"publicEndpoint": False}, "systemPool": {"machineType": "h4d-standard-192"}}


def test_the_system_pool_is_warned_of_zones_that_lack_its_machine() -> None:
    fleet = fleet_of_pools({"p": {**L4, "zone": "us-central1-a"}}, cluster=H4D)
    assert "zone-not-listed cluster.systemPool.zones" in warnings(fleet)


def test_a_region_that_could_not_be_read_is_the_only_fault() -> None:
    """Another region stands for it until it is right."""
    fleet = fleet_of_pools({"p": {**L4, "zone": "us-central1-a"}}, cluster=H4D, region=7)
    assert faults(fleet) == ["bad-type region"]
    assert [each for each in warnings(fleet) if "zone" in each] == []


def test_the_system_pool_of_an_existing_worker_is_not_chosen_here() -> None:
    """No zone of this region lists the machine that a system pool has by default."""
    small = fleet_of_pools({"p": {**L4, "zone": "us-central1-a"}})
    pools = {"p": {**L4, "zone": "asia-southeast3-a", "acceptZone": True}}
    for place, expected in (({"kubeconfig": "elsewhere"}, False), ({"cluster": {"name": "w"}}, True)):
        worker = {"region": "asia-southeast3", "pools": pools, **place}
        found = warnings({**small, "pools": {}, "workers": {"w": worker}})
        assert ("zone-not-listed workers.w.cluster.systemPool.zones" in found) is expected, found
