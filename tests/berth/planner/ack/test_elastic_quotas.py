"""The quota tree of ACK: its rules on random trees, against Kueue, and the published example corrected."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from berth.manifests.ack import quota_tree
from berth.plan.ack import QuotaNodePlan
from berth.plan.kueue import (
    ClusterQueuePlan,
    CohortPlan,
    FlavorQuotasPlan,
    LocalQueuePlan,
    QuotaPlan,
    ResourceGroupPlan,
)
from berth.planner.ack.elastic_quotas import ROOT_NAME, SHARED_SUFFIX, elastic_quota_tree
from berth.planner.ack.fleet import plan_ack
from berth.planner.queueing.quota_tree import QuotaTree
from berth.spec.ack import AckFleetSpec
from berth.spec.parse import parse_as
from berth.validation.ack import validate_ack
from tests.components.kueue.plans import queue

many = settings(deadline=None, max_examples=200)

GPU = "nvidia.com/gpu"
RESOURCES = ("cpu", "memory", GPU)
FLAVORS = ("a100", "a10")


@st.composite
def entries(draw: st.DrawFn, flavors: tuple[str, ...], alone: bool) -> tuple[FlavorQuotasPlan, ...]:
    """A quota of each flavor, with 2 cpu and 3 bytes a GPU; `alone` means without borrowing and lending."""
    values: list[FlavorQuotasPlan] = []
    for flavor in flavors:
        nominal = draw(st.integers(0, 5))
        borrow = 0 if alone else draw(st.none() | st.integers(0, 5))
        lend = 0 if alone else draw(st.none() | st.integers(0, nominal))
        quotas = tuple(
            QuotaPlan(
                resource=resource,
                nominal=nominal * rate,
                borrowing_limit=None if borrow is None else borrow * rate,
                lending_limit=None if lend is None else lend * rate,
            )
            for resource, rate in zip(RESOURCES, (2000, 3, 1), strict=True)
        )
        values.append(FlavorQuotasPlan(flavor=flavor, quotas=quotas))
    return tuple(values)


@st.composite
def forests(draw: st.DrawFn, flavors: tuple[str, ...] = FLAVORS) -> tuple[list[ClusterQueuePlan], list[CohortPlan]]:
    """Cohorts below cohorts, some of them roots, and queues on any of them or on none."""
    cohorts: list[CohortPlan] = []
    for index in range(draw(st.integers(0, 6))):
        above = draw(st.none() | st.sampled_from([c.name for c in cohorts])) if cohorts else None
        some = tuple(f for f in flavors if draw(st.booleans()))
        quotas = draw(entries(some, above is None))
        groups = (ResourceGroupPlan(covered_resources=RESOURCES, flavors=quotas),) if quotas else ()
        cohorts.append(CohortPlan(name=f"c{index}", parent=above, resource_groups=groups))
    queues: list[ClusterQueuePlan] = []
    for index in range(draw(st.integers(1, 6))):
        above = draw(st.none() | st.sampled_from([c.name for c in cohorts])) if cohorts else None
        some = tuple(f for f in flavors if draw(st.booleans())) or flavors[:1]
        door = LocalQueuePlan(name="train", namespace=f"team-{index}", cluster_queue=f"q{index}", team=f"t{index}")
        quotas = draw(entries(some, above is None))
        plain = queue(f"q{index}", cohort=above, flavors=quotas)
        queues.append(replace(plain, covered_resources=RESOURCES, local_queues=(door,)))
    return queues, cohorts


def nodes(root: QuotaNodePlan) -> list[QuotaNodePlan]:
    return [node for _, node in root.walk()]


def a_tree_keeps_the_rules_of_ack(root: QuotaNodePlan, queues: list[ClusterQueuePlan]) -> None:
    """Read off what is rendered, as ACK reads it: sums, limits, names, namespaces, one root."""
    assert root.minimum == root.maximum
    result = nodes(root)
    for node in result:
        assert list(node.minimum) == list(node.maximum) == list(RESOURCES)
        assert all(node.minimum[r] <= node.maximum[r] for r in RESOURCES)
        assert all((node.lend or {}).get(r, 0) <= node.minimum[r] for r in RESOURCES)
        for child in node.children:
            assert all(child.maximum[r] <= node.maximum[r] for r in RESOURCES)
        if node.children:
            assert node.namespaces == () and node.max_jobs is None
            assert node.minimum == {r: sum(child.minimum[r] for child in node.children) for r in RESOURCES}
    names = [node.name for node in result]
    assert len(names) == len(set(names))
    places = [place for node in result for place in node.namespaces]
    assert sorted(places) == sorted(door.namespace for each in queues for door in each.local_queues)


def the_minimum_of_the_root_is_the_sum_of_nominal_quotas(
    root: QuotaNodePlan, queues: list[ClusterQueuePlan], cohorts: list[CohortPlan]
) -> None:
    """The root's minimum is all nominal quota there is, and a queue's is its own."""
    everything = [q for each in queues for entry in each.flavors for q in entry.quotas]
    everything += [q for each in cohorts for g in each.resource_groups for e in g.flavors for q in e.quotas]
    for resource in RESOURCES:
        assert root.minimum[resource] == sum(q.nominal for q in everything if q.resource == resource)
    by_name = {node.name: node for node in nodes(root)}
    for each in queues:
        own = sum(q.nominal for entry in each.flavors for q in entry.quotas if q.resource == GPU)
        assert by_name[each.name].minimum[GPU] == own


@many
@given(forests())
def test_every_tree_keeps_the_rules_of_ack_and_has_all_quota_in_any_order(
    forest: tuple[list[ClusterQueuePlan], list[CohortPlan]],
) -> None:
    """Each tree is generated once for all of them."""
    queues, cohorts = forest
    root = elastic_quota_tree(queues, cohorts)
    a_tree_keeps_the_rules_of_ack(root, queues)
    the_minimum_of_the_root_is_the_sum_of_nominal_quotas(root, queues, cohorts)
    assert root == elastic_quota_tree(queues[::-1], cohorts[::-1])


@many
@given(forests(flavors=("a100",)))
def test_no_maximum_is_below_what_kueue_would_let_a_queue_use(
    forest: tuple[list[ClusterQueuePlan], list[CohortPlan]],
) -> None:
    """For one flavor: the use that Kueue allows is allowed on ACK, where lending limits do the rest."""
    queues, cohorts = forest
    ceilings = QuotaTree(queues, cohorts, {"a100": GPU})
    by_name = {node.name: node for node in nodes(elastic_quota_tree(queues, cohorts))}
    for each in queues:
        ceiling = ceilings.queue_nodes(each.name)["a100"].ceiling
        assert by_name[each.name].minimum[GPU] <= ceiling <= by_name[each.name].maximum[GPU]


# --- by hand ----------------------------------------------------------------------------------------------------------


def fleet(**changes: Any) -> dict[str, Any]:
    """One member of 104 GPUs."""
    pool = {"instanceType": "ecs.gn7e-c16g1.32xlarge", "nodes": 13}
    holds = {"gpu": "A100", "gpus": 8, "cpu": 128, "memory": "1000Gi"}
    ack = {
        "region": "cn-hangzhou",
        "network": {"vpc": "vpc-1", "vswitches": ["vsw-1"]},
        "instanceTypes": {"ecs.gn7e-c16g1.32xlarge": holds},
        "clusters": {"one": {"podCidrBlock": "10.64.0.0/16", "nodePools": {"a100": pool}}},
        "fleet": {"kubeconfig": "ack-one.kubeconfig"},
    }
    return {"ack": ack, **changes}


def tree(value: dict[str, Any]) -> Any:
    """The root as it is rendered, of a fleet without a fault."""
    planned = plan_ack("test", parse_as(AckFleetSpec, value))
    assert planned is not None
    assert [p.line() for p in (*planned.problems, *validate_ack(planned)) if p.severity == "fault"] == []
    assert planned.plan.quotas is not None
    spec: Any = quota_tree(planned.plan.quotas)["spec"]
    return spec["root"]


def test_the_published_example_with_its_root_corrected() -> None:
    """ACK One docs, PyTorchJobs with kube-queue: 10,000 of everything for one leaf, which runs one job at a time.

    There the root's min is neither its max nor the sum below it; here all of them are one.
    """
    team = {
        "namespace": {"name": "default", "existing": True, "acceptSharedNamespace": "as it is published"},
        "queues": {
            "child-2": {
                "name": "child-2",
                "maxJobs": 1,
                "perAccelerator": {"cpu": 1, "memory": "1Gi"},
                "flavors": [{"flavor": "a100", "guaranteed": 10000}],
            }
        },
    }
    accepted = {"a100": {"oversubscription": 100, "reason": "one job at a time is what holds jobs back"}}
    everything = {"cpu": "10k", "memory": "10000Gi", GPU: "10k"}
    leaf = {"name": "child-2", "min": everything, "namespaces": ["default"]}
    assert tree(fleet(teams={"examples": team}, flavors=accepted)) == {
        "name": ROOT_NAME,
        "min": everything,
        "max": everything,
        "children": [{**leaf, "max": {**everything, "kube-queue/max-jobs": "1"}}],
    }


def test_a_cohort_lends_its_own_guarantee_through_an_empty_leaf() -> None:
    """Research has 64 GPUs: 24 and 16 of its teams, 24 for either; it lends half, and borrows 8 at the most."""
    teams = {
        name: {"cohort": "research", "queues": {"train": {"flavors": [{"flavor": "a100", **quota}]}}}
        for name, quota in (("vision", {"guaranteed": 24, "borrow": 36}), ("speech", {"guaranteed": 16, "lend": 4}))
    }
    cohorts = {
        "company": {},
        "research": {"parent": "company", "flavors": [{"flavor": "a100", "guaranteed": 64, "borrow": 8, "lend": 32}]},
        "product": {"parent": "company", "flavors": [{"flavor": "a100", "guaranteed": 40}]},
    }
    root = tree(fleet(teams=teams, cohorts=cohorts))
    [company] = root["children"]
    values = {part["name"]: part for part in company["children"]} | {
        leaf["name"]: leaf for part in company["children"] for leaf in part["children"]
    }
    gpus = {name: (part["min"][GPU], part["max"][GPU]) for name, part in values.items()}
    assert (root["min"][GPU], company["max"][GPU]) == ("104", "104")
    assert gpus == {
        "research": ("64", "72"),
        "vision-train": ("24", "60"),
        "speech-train": ("16", "16"),
        f"research{SHARED_SUFFIX}": ("24", "24"),
        "product": ("40", "40"),
        f"product{SHARED_SUFFIX}": ("40", "40"),
    }
    lends = {name: part["attributes"] for name, part in values.items() if "attributes" in part}
    assert lends == {
        "research": {"alibabacloud.com/lendlimit": '{"cpu":"512","memory":"4000Gi","nvidia.com/gpu":"32"}'},
        "speech-train": {"alibabacloud.com/lendlimit": '{"cpu":"64","memory":"500Gi","nvidia.com/gpu":"4"}'},
    }
    assert "namespaces" not in values[f"research{SHARED_SUFFIX}"]
