"""How the components of a stack are wired: what waits for what, and that no two things are one."""

from __future__ import annotations

from functools import cache
from typing import Any

from berth.engine import RecordedResource
from berth.engine.answers import NAT_ADDRESS
from berth.plan.gke import ClusterPlan
from stacks.platform import build_platform
from tests.engine import run
from tests.small_fleets import REMOVED, fleet_with
from tests.small_fleets import plan as small_plan
from tests.stack_files import clusters, every_stack, in_cluster, plan, resources, run_stack


def name(urn: str) -> str:
    """The name at the end of a URN."""
    return urn.rsplit("::", 1)[1]


def waits_for(stack: str, one: RecordedResource) -> set[str]:
    """The names of all that is made before a resource, however many steps away."""
    return {name(urn) for urn in _before(stack, one.urn)}


@cache
def _by_urn(stack: str) -> dict[str, RecordedResource]:
    return {r.urn: r for r in run_stack(stack, True).resources}


@cache
def _before(stack: str, urn: str) -> frozenset[str]:
    """The URNs of all that is made before a resource; many resources wait for the same few, which are followed once."""
    here = _by_urn(stack)[urn]
    direct = {*here.dependencies, *(each for urns in here.property_dependencies.values() for each in urns)}
    direct |= {here.provider} if here.provider else set()
    return frozenset(direct).union(*(_before(stack, each) for each in direct))


@every_stack
def test_a_stockout_does_not_delay_queues(stack: str) -> None:
    """One TPU slice that Google cannot deliver today must not keep every team from its namespace and queue."""
    scarce = {f"{n.key}-pool" for p in plan(stack).pools for n in p.node_pools}
    inside = [r for r in resources(stack, True) if r.type.startswith("kubernetes:")]
    assert [r.name for r in inside if waits_for(stack, r) & scarce] == []


@every_stack
def test_gpu_pools_wait_for_the_system_pool_and_tpu_pools_do_not(stack: str) -> None:
    """GKE taints a GPU pool only if a pool without GPUs exists; otherwise kube-system runs on GPU nodes."""
    for prefix, each in clusters(stack):
        pools = {f"{prefix}{n.key}-pool": n for p in each.own_pools for n in p.node_pools}
        made = {r.name: r for r in resources(stack, True) if r.name in pools and r.type.startswith("gcp:")}
        assert made.keys() == pools.keys()
        for key, one in made.items():
            waits = f"{prefix}system-pool" in waits_for(stack, one)
            assert waits == (pools[key].gpu is not None and each.system_pool is not None)


@every_stack
def test_controllers_depend_on_the_webhook_firewall_rule(stack: str) -> None:
    for prefix, each in clusters(stack):
        if isinstance(each.cluster, ClusterPlan) and each.cluster.webhook_firewall is not None:
            (kueue,) = (r for r in resources(stack, True) if r.name == f"{prefix}controllers-kueue")
            assert f"{prefix}webhooks-rule" in waits_for(stack, kueue)


def test_workers_authorize_the_reserved_address_of_their_manager() -> None:
    """From the first update on: the address is an output of this stack, and no worker of an open endpoint needs it."""
    shown = {r.name: r for r in resources("multikueue", False)}
    assert shown["network-nat"].inputs["natIpAllocateOption"] == "MANUAL_ONLY"
    for name, expected in (
        ("central/cluster-cluster", True),
        ("east/cluster-cluster", True),
        ("cluster-cluster", False),
    ):
        config: Any = shown[name].inputs["masterAuthorizedNetworksConfig"]
        blocks = [(block["cidrBlock"], block["displayName"]) for block in config["cidrBlocks"]]
        assert blocks == [("203.0.113.0/24", "office"), *([(f"{NAT_ADDRESS}/32", "manager")] if expected else [])]


@every_stack
def test_kueue_objects_depend_on_kueue_and_local_queues_on_their_namespace(stack: str) -> None:
    for prefix, each in clusters(stack):
        owned = {t.namespace: f"{prefix}{t.name}-namespace" for t in each.teams if t.namespaces[0].owned}
        shown, made = (in_cluster(resources(stack, preview), prefix, stack) for preview in (True, False))
        for one in (r for r in shown if r.type.startswith("kubernetes:kueue.x-k8s.io")):
            is_installed = any(chart.name == "kueue" for chart in each.charts)
            assert not is_installed or f"{prefix}controllers-kueue" in waits_for(stack, one)
        for one in (r for r in made if r.type.endswith(":LocalQueue")):
            metadata: Any = one.inputs["metadata"]
            assert {owned[ns] for ns in owned if ns == metadata["namespace"]} <= waits_for(stack, one)


@every_stack
def test_referenced_kueue_objects_are_deleted_last(stack: str) -> None:
    """Flavors, checks and topologies in use stay until they are not; an engine that asks too early waits in vain."""
    for prefix, item in clusters(stack):
        made = {r.name: r for r in in_cluster(resources(stack, True), prefix, stack)}
        for queue in item.cluster_queues:
            before = waits_for(stack, made[f"{prefix}{queue.name}-cluster-queue"])
            assert {f"{prefix}flavors-{each.flavor}" for each in queue.flavors} <= before
            assert {f"{prefix}admission-checks-check-{each.name}" for each in queue.admission_checks} <= before
        for flavor in (each for each in item.flavors if each.topology):
            assert f"{prefix}topologies-{flavor.topology}" in waits_for(stack, made[f"{prefix}flavors-{flavor.name}"])


@every_stack
def test_a_token_waits_for_its_account(stack: str) -> None:
    """Kubernetes deletes a token's secret whose account is not there: an update that is quick on the secret fails."""
    made = {r.name: r for r in resources(stack, False)}
    for one in (r for r in made.values() if r.inputs.get("type") == "kubernetes.io/service-account-token"):
        metadata: Any = one.inputs["metadata"]
        account = metadata["annotations"]["kubernetes.io/service-account.name"]
        before = [
            made[each] for each in waits_for(stack, one) & made.keys() if made[each].type.endswith(":ServiceAccount")
        ]
        named: list[Any] = [each.inputs["metadata"] for each in before]
        assert account in [each["name"] for each in named]


@every_stack
def test_a_reserved_pool_is_made_after_its_reservation(stack: str) -> None:
    """And so deleted before it: Google refuses to delete a reservation in use."""
    made = {r.name: f"{r.key}-reservation" for r in plan(stack).reservations}
    made |= {r.reservation_name: f"{r.key}-request" for r in plan(stack).future_reservations}
    for pool in (p for p in plan(stack).pools if p.reservation in made):
        for node_pool in pool.node_pools:
            (one,) = (r for r in resources(stack, True) if r.name == f"{node_pool.key}-pool")
            assert made[pool.reservation or ""] in waits_for(stack, one)


def test_joined_names_stay_distinct() -> None:
    """Queue `research` in namespace `ml-vision` and queue `research-ml` in `vision`: one identity would be a crash."""
    queues = {
        name: {"teams": [team], "localQueue": "train", "flavors": [{"pool": "l4", "guaranteed": 4}]}
        for name, team in (("research", "ml-vision"), ("research-ml", "vision"))
    }
    result = small_plan(
        fleet_with({"teams": {"ml-vision": {}, "vision": {}}, "clusterQueues": queues, "cohorts": REMOVED})
    )
    done = run(lambda: build_platform(result))
    assert len(done.resources_of("LocalQueue")) == 2
