"""The range from which the pods of a pool get addresses: in the plan, and as the provider gets it."""

from __future__ import annotations

from typing import Any

from berth.cli.preview import tree as preview
from berth.evaluate import evaluate_stack
from berth.plan.node_settings import NodeNetworkPlan
from tests.small_fleets import fleet_with, plan
from tests.stack_files import ALL_STACKS, ROOT, fleet_values

RANGE: dict[str, Any] = {"pools.v5e.podRangeName": "more-pods"}


def test_every_slice_of_a_pool_takes_its_range_and_says_that_its_nodes_are_private() -> None:
    """The provider sends false for private nodes as soon as anything of the network is set."""
    fleet = plan(fleet_with(RANGE, base=fleet_values("existing-gke")))
    networks = {pool.name: [each.network for each in pool.node_pools] for pool in fleet.own_pools}
    ranges = {each.settings.pod_range_name for each in fleet.own_pools[-1].node_pools}
    assert (fleet.own_pools[-1].name, ranges) == ("v5e", {"more-pods"})
    assert networks == {
        "dws": [NodeNetworkPlan()],
        "v5e": [NodeNetworkPlan(private_nodes=True)] * 3,
    }


def test_a_vpc_of_somebody_else_may_have_the_range_too() -> None:
    shared = {
        "existing": "shared",
        "project": "net-host",
        "subnetwork": "gke",
        "podRangeName": "p",
        "serviceRangeName": "s",
    }
    base = fleet_values("multislice")
    fleet = plan(fleet_with({"cluster.network": shared, "pools.nodepool.podRangeName": "more-pods"}, base=base))
    assert {each.settings.pod_range_name for pool in fleet.own_pools for each in pool.node_pools} == {"more-pods"}


def test_the_provider_gets_the_range_and_makes_none(tmp_path: Any) -> None:
    text = ALL_STACKS["existing-gke"].read_text(encoding="utf-8")
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(text.replace("        slices: 3\n", "        slices: 3\n        podRangeName: more-pods\n"))
    evaluation = evaluate_stack(str(file), tmp_path)
    assert [fault.line() for fault in evaluation.faults] == []
    registered = preview.run_stack_program(evaluation, ROOT, preview=False).resources
    networks = {
        r.inputs["name"]: r.inputs.get("networkConfig")
        for r in registered
        if r.type == "gcp:container/nodePool:NodePool"
    }
    own = {"podRange": "more-pods", "enablePrivateNodes": True}
    assert {name: networks[name] for name in ("nodepool1", "nodepool3", "dws")} == {
        "nodepool1": own,
        "nodepool3": own,
        "dws": None,
    }
