"""The rules of placement, one at a time: Kueue's look at a flavor, the scheduler's look at nodes, and topologies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from berth.jobs.pod_set import (
    EACH_CHILD,
    EACH_POD,
    SAME,
    HostPort,
    NodeSelectorRequirement,
    PodAffinityTerm,
    PodSet,
    SpreadConstraint,
    TopologyRequest,
)
from berth.nodes.model import FleetNodes, NodeGroup
from berth.placement.arrangement import arrange
from berth.placement.kueue import Refusal, ResourceFlavor, flavor_refusal
from berth.placement.node_classes import NodeClass, node_classes
from berth.placement.own_pods import OwnPods, own_scope
from berth.placement.reasons import AssignedPods
from berth.placement.room import ALL_RULES, Demand, most_pods
from berth.placement.scheduler import unplaceable_reasons
from berth.placement.topology import Leaf, assign_topology, topology_leaves
from berth.plan.node_settings import Bounds, Taint, Toleration

BLOCK, HOST = "cloud.google.com/gce-topology-block", "kubernetes.io/hostname"
ZONE, POOL = "topology.kubernetes.io/zone", "cloud.google.com/gke-nodepool"
APP = (NodeSelectorRequirement("app", "In", ("a",)),)


def nodes(count: int = 4, *, zone: str = "a", pool: str = "p", gpus: int = 2, **changes: Any) -> NodeClass:
    """Return alike nodes with GPUs."""
    group = NodeGroup(
        pool=pool,
        flavor="f",
        maker="berth",
        capacity="on-demand",
        machine_type="m",
        node_pools=(pool,),
        slices=0,
        nodes=Bounds(min=count, max=count),
        pool_nodes=Bounds(min=count, max=count),
        zone=zone,
        labels={ZONE: zone, "f": "yes"},
        unknown_labels={HOST: "chosen later"},
        allocatable={"gpu": gpus, "cpu": 8000, "pods": 110},
    )
    group = replace(group, **changes)
    return NodeClass(group, pool, count, group.allocatable)


def pods(count: int = 1, **facts: Any) -> PodSet:
    defaults = {"name": "main", "requests": {"gpu": 1}, "labels": {"app": "a"}, "tolerations": ()}
    return PodSet(count=count, **{**defaults, **facts})


def term(key: str) -> PodAffinityTerm:
    return PodAffinityTerm(topology_key=key, selector=APP)


# --- Kueue ------------------------------------------------------------------------------------------------------------

PLAIN = ResourceFlavor(node_labels={"f": "yes"})
PLACED = ResourceFlavor(node_labels={"f": "yes"}, levels=(BLOCK, HOST))


@pytest.mark.parametrize(
    ("request_", "flavor", "only", "refusal"),
    [
        (None, PLAIN, False, None),
        (None, PLACED, False, Refusal.ONLY_TOPOLOGY),
        (None, PLACED, True, None),
        (TopologyRequest(preferred=BLOCK), PLACED, False, None),
        (TopologyRequest(preferred=BLOCK), PLAIN, False, Refusal.NO_TOPOLOGY),
        (TopologyRequest(required=ZONE), PLACED, True, Refusal.NO_LEVEL),
        (TopologyRequest(unconstrained=True), PLACED, False, None),
        (TopologyRequest(unconstrained=False), PLACED, False, Refusal.NO_LEVEL),
        (TopologyRequest(slice_level=HOST, slice_size=2), PLACED, False, None),
        (TopologyRequest(preferred=BLOCK, slice_level=ZONE, slice_size=2), PLACED, False, Refusal.NO_LEVEL),
    ],
)
def test_a_topology_request_and_a_topology_belong_together(
    request_: TopologyRequest | None, flavor: ResourceFlavor, only: bool, refusal: Refusal | None
) -> None:
    """The reserved flavor with a topology and the plain one behind it take different jobs."""
    assert flavor_refusal(pods(topology=request_), flavor, only_topologies=only, covered=("gpu",)) == refusal


def test_a_plain_flavor_for_other_resources_takes_pods_with_a_topology_request() -> None:
    asking = pods(topology=TopologyRequest(preferred=BLOCK))
    assert flavor_refusal(asking, PLAIN, only_topologies=False, covered=("credits",)) is None


def test_kueue_looks_at_a_flavors_own_labels_only() -> None:
    def refusal(**facts: Any) -> Refusal | None:
        return flavor_refusal(pods(**facts), PLAIN, only_topologies=False)

    no = (NodeSelectorRequirement("f", "In", ("no",)),)
    other = (NodeSelectorRequirement("other", "In", ("x",)),)
    name = (NodeSelectorRequirement("metadata.name", "In", ("n",), is_field=True),)
    assert refusal(node_selector={"f": "no"}) == Refusal.LABELS
    assert refusal(node_selector={"other": "x"}) is None
    assert refusal(affinity_terms=(no,)) == Refusal.LABELS
    assert refusal(affinity_terms=(no, other)) is None, "a term without a key of the flavor accepts it"
    assert refusal(affinity_terms=((*no, *other),)) == Refusal.LABELS
    assert refusal(affinity_terms=(no, name)) is None
    assert refusal(affinity_terms=((),)) is None


def test_a_taint_of_a_flavor_needs_a_toleration_of_the_pods_or_the_flavor() -> None:
    taint = Taint(key="k", value="v", effect="NoSchedule")
    tainted = ResourceFlavor(node_taints=(taint, Taint(key="soft", value="", effect="PreferNoSchedule")))
    assert flavor_refusal(pods(), tainted, only_topologies=False) == Refusal.TAINT
    own = Toleration(key="k", operator="Exists")
    assert flavor_refusal(pods(tolerations=(own,)), tainted, only_topologies=False) is None
    given_ = replace(tainted, tolerations=(taint.tolerated,))
    assert flavor_refusal(pods(), given_, only_topologies=False) is None


# --- the scheduler ----------------------------------------------------------------------------------------------------


def reasons(*pod_sets: PodSet, classes: tuple[NodeClass, ...]) -> list[tuple[str, bool]]:
    found = unplaceable_reasons([AssignedPods(each, "f", PLAIN) for each in pod_sets], classes)
    return [(each.code, each.is_unknown) for each in found]


def test_each_constraint_of_a_pod_is_a_reason_of_its_own() -> None:
    asking = pods(node_selector={"arch": "arm64", ZONE: "b"}, requests={"gpu": 3, "cpu": 1})
    assert reasons(asking, classes=(nodes(),)) == [("no-nodes", False), ("no-nodes", False), ("no-shape", False)]


def test_constraints_that_no_node_satisfies_together_are_one_reason() -> None:
    apart = nodes(zone="a", pool="small"), nodes(zone="b", pool="large", labels={ZONE: "b", "f": "yes", "big": "yes"})
    assert reasons(pods(node_selector={ZONE: "a", "big": "yes"}), classes=apart) == [("no-nodes", False)]
    assert reasons(pods(node_selector={ZONE: "b", "big": "yes"}), classes=apart) == []


def test_what_the_nodes_do_not_tell_is_unknown_and_what_they_lack_is_never() -> None:
    assert reasons(pods(node_selector={HOST: "gke-a-l4-1f2e-x5kz"}), classes=(nodes(),)) == [
        ("placement-unknown", True)
    ]
    assert reasons(pods(node_selector={HOST: "n"}), classes=(nodes(),)) == [("no-nodes", False)]
    assert reasons(pods(node_selector={"cloud.google.com/mistyped": "x"}), classes=(nodes(),)) == [("no-nodes", False)]
    described = nodes(open_reason="the nodes are described")
    assert reasons(pods(node_selector={"disk": "x"}), classes=(described,)) == [("placement-unknown", True)]
    assert reasons(pods(node_selector={ZONE: "b"}), classes=(described,)) == [("no-nodes", False)]


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ("n", "m"), [("no-nodes", False)]),
        ("In", ("n", "gk3-a"), [("placement-unknown", True)]),
        ("NotIn", ("n",), []),
        ("NotIn", ("gke-a",), [("placement-unknown", True)]),
        ("Gt", ("3",), [("no-nodes", False)]),
        ("Exists", (), []),
    ],
)
def test_names_of_nodes_begin_as_gke_writes_them(
    operator: str, values: tuple[str, ...], expected: list[tuple[str, bool]]
) -> None:
    wanted = ((NodeSelectorRequirement(HOST, operator, values),),)
    assert reasons(pods(affinity_terms=wanted), classes=(nodes(),)) == expected
    of_others = reasons(pods(affinity_terms=wanted), classes=(nodes(maker="described"),))
    assert of_others == ([] if operator == "Exists" else [("placement-unknown", True)])


def test_a_pod_leaves_room_for_what_gke_runs_on_every_node() -> None:
    """Between what is certain and what GKE's own pods leave at most, it is unknown."""
    group = nodes().group
    sized = replace(group, allocatable={"cpu": 8000, "pods": 10}, least={"cpu": 7500}, taken={"cpu": 100})
    (node,) = node_classes(FleetNodes(groups=(sized,)))
    for cpu, expected in ((7500, []), (7600, [("placement-unknown", True)]), (7901, [("no-shape", False)])):
        assert reasons(pods(count=1, requests={"cpu": cpu}), classes=(node,)) == expected


@pytest.mark.parametrize(("children", "expected"), [(4, []), (2, [("no-place", False)])])
def test_rules_between_pods_of_a_child_job_hold_on_the_nodes_that_kueue_names(
    children: int, expected: list[tuple[str, bool]]
) -> None:
    apart = PodAffinityTerm(topology_key=ZONE, selector=(NodeSelectorRequirement("child", SAME),))
    pod_set = pods(count=4, child_jobs=children, pod_anti_affinity=(apart,), added_labels={"child": EACH_CHILD})
    node = nodes()
    found = unplaceable_reasons([AssignedPods(pod_set, "f", PLAIN, [(Leaf(node, 0, {}), 4)])], (node,))
    assert [(each.code, each.is_unknown) for each in found] == expected


@pytest.mark.parametrize(
    "facts", [{"scheduler_name": "volcano"}, {"node_name": "n"}, {"has_gates": True}, {"pod_affinity": (term(ZONE),)}]
)
def test_what_decides_elsewhere_is_unknown(facts: dict[str, Any]) -> None:
    assert reasons(pods(labels={"app": "other"}, **facts), classes=(nodes(),)) == [("placement-unknown", True)]


def most(pod_set: PodSet, *classes: NodeClass) -> int:
    """Return how many of the pods get a node."""
    return arrange([Demand(pod_set, classes, classes)])[0]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, 8),
        ({"requests": {"gpu": 2}}, 4),
        ({"host_ports": (HostPort(80),)}, 4),
        ({"pod_anti_affinity": (term(HOST),)}, 4),
        ({"pod_anti_affinity": (term(ZONE),)}, 2),
        ({"pod_anti_affinity": (term("rack"),)}, 8),
        ({"pod_affinity": (term(POOL),)}, 4),
        ({"pod_affinity": (term(HOST),)}, 2),
        ({"pod_affinity": (term("rack"),)}, 0),
        ({"spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=APP),)}, 8),
        ({"spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=APP, min_domains=3),)}, 2),
        ({"spread": (SpreadConstraint(topology_key="rack", max_skew=1, selector=APP),)}, 0),
        ({"exclusive_topology": POOL, "child_jobs": 10, "added_labels": {"job-key": EACH_CHILD}}, 2),
        ({"exclusive_topology": POOL, "child_jobs": 5, "added_labels": {"job-key": EACH_CHILD}}, 4),
    ],
)
def test_two_zones_of_two_nodes_hold_so_many_pods(facts: dict[str, Any], expected: int) -> None:
    """10 pods of 1 GPU; each zone is a node pool of 2 nodes with 2 GPUs. Both ways of computing agree."""
    zones = nodes(2, zone="a", pool="p"), nodes(2, zone="b", pool="q")
    assert most(pods(10, **facts), *zones) == expected
    assert min(10, most_pods(Demand(pods(10, **facts), zones, zones), ALL_RULES)) == expected


@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4), st.sampled_from("ab")), min_size=1, max_size=3),
    st.sampled_from(["", "ports", "hosts", "zones", "spread"]),
)
def test_placing_pods_one_by_one_and_computing_their_number_agree(
    count: int, shapes: list[tuple[int, int, str]], rule: str
) -> None:
    """For one pod set with at most one rule; the two ways share no code but the nodes."""
    facts: dict[str, Any] = {
        "ports": {"host_ports": (HostPort(80),)},
        "hosts": {"pod_anti_affinity": (term(HOST),)},
        "zones": {"pod_anti_affinity": (term(ZONE),)},
        "spread": {"spread": (SpreadConstraint(topology_key=ZONE, max_skew=1, selector=APP),)},
    }.get(rule, {})
    classes = tuple(
        nodes(number, gpus=gpus, zone=zone, pool=f"p{index}") for index, (number, gpus, zone) in enumerate(shapes)
    )
    asking = pods(count, **facts)
    assert most(asking, *classes) == min(count, most_pods(Demand(asking, classes, classes), ALL_RULES))


def test_which_of_its_own_pods_a_selector_selects() -> None:
    owner = pods(labels={"app": "a"}, added_labels={"job": "j", "child": EACH_CHILD, "index": EACH_POD})

    def scope(key: str, operator: str = "In", *values: str) -> OwnPods:
        return own_scope((NodeSelectorRequirement(key, operator, values),), None, owner)

    assert scope("app", "In", "a") is scope("job", "In", "j") is scope("child", "Exists") is OwnPods.ALL
    assert scope("app", "In", "b") is scope("none", "Exists") is OwnPods.NONE
    assert scope("child", SAME) is OwnPods.CHILD
    assert scope("index", SAME) is OwnPods.POD
    assert scope("index", "In", "0") is OwnPods.UNKNOWN
    assert own_scope(None, None, owner) is OwnPods.NONE
    assert own_scope((), None, owner) is OwnPods.ALL


# --- topologies -------------------------------------------------------------------------------------------------------


def placed(pod_set: PodSet, *classes: NodeClass) -> tuple[list[int], str]:
    """Return the pods on each node that Kueue names, the most first, and why it names none."""
    flavor = ResourceFlavor(levels=(POOL, HOST))
    result = assign_topology([pod_set], flavor, topology_leaves(classes, flavor))
    return sorted((count for _, count in (result.nodes or [[]])[0]), reverse=True), result.failure


def test_kueue_packs_pods_on_few_nodes_of_one_domain() -> None:
    pools = nodes(2, pool="p"), nodes(4, pool="q")
    required = TopologyRequest(required=POOL)
    assert placed(pods(8, topology=required), *pools) == ([2, 2, 2, 2], "")
    assert placed(pods(9, topology=required), *pools)[1] == f"there is room for 8 of its 9 pods in one {POOL}"
    assert placed(pods(9, topology=TopologyRequest(preferred=POOL)), *pools)[1] == ""
    assert placed(pods(2, topology=TopologyRequest(required=HOST)), *pools) == ([2], "")
    assert placed(pods(13, topology=TopologyRequest(unconstrained=True)), *pools)[1] != ""


@pytest.mark.parametrize(("count", "is_uncertain"), [(4, False), (5, True)])
def test_pods_that_one_node_holds_are_in_one_domain_whatever_its_name(count: int, is_uncertain: bool) -> None:
    unknown: dict[str, Any] = {"unknown_labels": {HOST: "chosen later", BLOCK: "chosen later"}}
    classes = nodes(2, pool="p", gpus=4, **unknown), nodes(2, pool="q", gpus=1, **unknown)
    flavor = ResourceFlavor(levels=(BLOCK, HOST))
    together = pods(count, topology=TopologyRequest(required=BLOCK))
    result = assign_topology([together], flavor, topology_leaves(classes, flavor))
    assert (result.failure, result.is_uncertain) == ("", is_uncertain)


def test_a_slice_stays_in_its_level() -> None:
    pools = nodes(2, pool="p"), nodes(2, pool="q")
    both = TopologyRequest(slice_level=POOL, slice_size=4)
    assert placed(pods(8, topology=both), *pools) == ([2, 2, 2, 2], "")
    assert "slices of 4 pods" in placed(pods(12, topology=both), *pools)[1]
    wide = TopologyRequest(required=HOST, slice_level=POOL, slice_size=2)
    assert "wider" in placed(pods(2, topology=wide), *pools)[1]


def test_what_kueue_places_on_one_node_the_scheduler_may_refuse() -> None:
    classes = (nodes(2),)
    apart = pods(2, topology=TopologyRequest(preferred=POOL), pod_anti_affinity=(term(HOST),))
    flavor = ResourceFlavor(levels=(POOL, HOST))
    named = assign_topology([apart], flavor, topology_leaves(classes, flavor)).nodes[0]
    found = unplaceable_reasons([AssignedPods(apart, "f", flavor, named)], classes)
    assert [each.code for each in found] == ["no-place"]
    assert unplaceable_reasons([AssignedPods(apart, "f", flavor)], classes) == []


def test_the_scheduler_counts_a_pod_as_the_api_server_defaults_it() -> None:
    """Kueue counts a limit of the whole pod; the node holds what its containers request."""
    two_each = pods(4, requests={"cpu": 6000}, defaulted={"cpu": 4000})
    assert most_pods(Demand(two_each, [nodes(2)], [nodes(2)]), ALL_RULES) == 4
    assert most_pods(Demand(replace(two_each, defaulted={}), [nodes(2)], [nodes(2)]), ALL_RULES) == 2
