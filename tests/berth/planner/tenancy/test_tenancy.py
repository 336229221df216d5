"""Tenancy from the stack file to the plan: states, local queues, isolation, people; and the owner of each object."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

from berth.catalog import machines
from berth.engine import RecordedResource
from berth.names import TEAM_LABEL
from berth.plan.configuration import ExpressionPlan
from berth.plan.fleet import FleetPlan
from berth.plan.teams import HostAccessPlan
from tests.small_fleets import (
    REMOVED,
    TRAIN,
    URGENT,
    faults,
    fleet_with,
    message,
    own_cluster,
    plan,
    queue,
    run_planner,
    team,
    warnings,
)
from tests.stack_files import clusters, every_stack, in_cluster, resources
from tests.stack_files import plan as stack_plan

STATE = "teams.vision.state"


# --- state ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "policy"), [("active", None), ("held", "Hold"), ("drained", "HoldAndDrain")])
def test_the_queues_of_a_team_follow_its_state(state: str, policy: str | None) -> None:
    """A shared cluster queue stays active for the other teams; only the team's local queue is stopped."""
    shared = {"clusterQueues.common": {"teams": ["vision", "speech"], "flavors": [{"pool": "l4", "guaranteed": 0}]}}
    result = plan_of({STATE: state, **shared})
    assert team(result, "vision").settings.state == state
    own = [q for q in result.cluster_queues if q.teams == ("vision",)]
    assert len(own) == 2
    assert {(q.stop_policy, *(d.stop_policy for d in q.local_queues)) for q in own} == {(policy, None)}
    assert [q.stop_policy for q in result.cluster_queues if "vision" not in q.teams] == [None, None]
    common = queue(result, "common")
    assert common.stop_policy is None
    assert {d.team: d.stop_policy for d in common.local_queues} == {"vision": policy, "speech": None}


def plan_of(changes: dict[str, Any]) -> FleetPlan:
    """The plan, with or without faults."""
    return run_planner(fleet_with(changes)).plan


@pytest.mark.parametrize(
    ("state", "own", "sound"),
    [
        ("held", "None", False),
        ("held", "Hold", True),
        ("held", "HoldAndDrain", True),
        ("drained", "Hold", False),
        ("drained", "HoldAndDrain", True),
        ("active", "Hold", True),
        ("active", "None", True),
    ],
)
def test_a_queue_may_be_stricter_than_its_team_and_not_the_contrary(state: str, own: str, sound: bool) -> None:
    fleet = fleet_with({STATE: state, f"{URGENT}.stopPolicy": own})
    assert faults(fleet) == ([] if sound else [f"contradiction {URGENT}.stopPolicy"])
    if sound:
        assert queue(plan(fleet), "vision-urgent").stop_policy == own
    else:
        assert f"contradicts the team, which is {state}" in message(fleet, "contradiction")


@pytest.mark.parametrize(("state", "protect"), [("active", True), ("held", True), ("drained", False)])
def test_a_team_with_live_quota_is_protected_until_it_is_drained(state: str, protect: bool) -> None:
    """Removing it from the file is refused by the engine in one step, and allowed after a drain."""
    fleet_plan = plan(fleet_with({STATE: state}))
    assert {q.protect for q in fleet_plan.cluster_queues if q.teams == ("vision",)} == {protect}
    assert {q.protect for q in fleet_plan.cluster_queues if q.teams == ("speech",)} == {True}


# --- namespaces and doors ---------------------------------------------------------------------------------------------


def test_a_team_has_a_local_queue_in_each_of_its_namespaces() -> None:
    fleet_plan = plan(fleet_with({"teams.vision.namespaces": ["vision", {"name": "lab", "existing": True}]}))
    assert [(n.name, n.owned) for n in team(fleet_plan, "vision").namespaces] == [("vision", True), ("lab", False)]
    train = queue(fleet_plan, "vision-train")
    assert train.namespaces == ("lab", "vision")
    assert {(d.namespace, d.name) for d in train.local_queues} == {("vision", "train"), ("lab", "train")}


def test_each_namespaces_account_is_a_member_of_its_own() -> None:
    fleet = fleet_with({"teams.vision.namespaces": ["vision", "lab"], "projectNumber": "123456789012",
                     "teams.vision.identity": {"buckets": {"acme-data": "roles/storage.objectUser"}}})  # fmt: skip
    result = team(plan(fleet), "vision").identity
    assert result is not None
    assert [member.rpartition("/subject/")[2] for member in result.members] == [
        "ns/vision/sa/vision",
        "ns/lab/sa/vision",
    ]


def test_jobs_that_name_no_queue_go_to_the_default_one() -> None:
    fleet_plan = plan(fleet_with({"teams.vision.defaultQueue": "train"}))
    assert {(d.name, d.cluster_queue) for d in team(fleet_plan, "vision").local_queues} == {
        ("train", "vision-train"), ("default", "vision-train"), ("urgent", "vision-urgent"),
    }  # fmt: skip


def test_a_teams_own_queue_precedes_a_shared_one_of_that_name() -> None:
    shared = {"teams": ["vision"], "localQueue": "common", "flavors": [{"pool": "l4", "guaranteed": 0}]}
    result = plan_of({"clusterQueues.train": shared, "teams.vision.defaultQueue": "train"})
    defaults = [d.cluster_queue for d in team(result, "vision").local_queues if d.name == "default"]
    assert defaults == ["vision-train"]


def test_a_shared_queue_may_be_the_default_one() -> None:
    shared = {"teams": ["vision", "speech"], "flavors": [{"pool": "l4", "guaranteed": 0}]}
    result = plan_of({"clusterQueues.common": shared, "teams.vision.defaultQueue": "common"})
    assert [d.cluster_queue for d in team(result, "vision").local_queues if d.name == "default"] == ["common"]
    assert [d.name for d in team(result, "speech").local_queues if d.cluster_queue == "common"] == ["common"]


@pytest.mark.parametrize(
    ("changes", "held", "expression"),
    [
        ({}, True, ExpressionPlan(key=TEAM_LABEL, operator="Exists")),
        (
            {"teams.vision.namespace": {"existing": True}},
            True,
            ExpressionPlan(key="kubernetes.io/metadata.name", operator="In", values=("speech", "vision")),
        ),
        ({f"{TRAIN}.namespaces": "all"}, False, None),
    ],
)
def test_kueue_holds_unlabelled_jobs_in_every_namespace_of_a_team(
    changes: dict[str, Any], held: bool, expression: ExpressionPlan | None
) -> None:
    """Kueue keeps jobs of other namespaces suspended forever, so the selector has each namespace with a queue."""
    fleet_plan = plan(fleet_with(changes)).kueue
    assert fleet_plan is not None
    assert fleet_plan.manage_jobs_without_queue_name is held
    assert (fleet_plan.managed_namespaces.expressions if fleet_plan.managed_namespaces else None) == (
        expression and (expression,)
    )


# --- walls ------------------------------------------------------------------------------------------------------------


@every_stack
def test_a_resource_quota_never_blocks_an_admitted_job(stack: str) -> None:
    """Counted the second way: each queue alone, with all that it may borrow, has room; and the quota is no larger than
    all machines of that kind together."""
    result = stack_plan(stack)
    resource_of = {f.name: f.resource for f in result.flavors}
    held = Counter[str]()
    for flavor in result.flavors:
        held[flavor.resource] += max(flavor.capacity.max, flavor.promised)
    for each in result.teams:
        most = each.isolation.accelerators
        assert most.keys() == {machine.resource for machine in machines().values()}
        assert all(most[resource] <= held[resource] for resource in most)
        for one in (q for q in result.cluster_queues if each.name in q.teams):
            request = Counter[str]()
            for entry in one.flavors:
                (quota,) = (q for q in entry.quotas if q.resource == resource_of[entry.flavor])
                request[quota.resource] += quota.nominal
            limits = each.isolation.limits
            assert limits is not None
            hard = {**most, "cpu": limits.cpu}  # of machines without accelerators
            assert all(hard[resource] >= amount for resource, amount in request.items())


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({}, "baseline"),
        ({"teams.vision.queues.train": REMOVED}, "baseline"),
        ({"cluster.mode": "autopilot"}, "baseline"),
        ({"teams.vision.podSecurity": "restricted", "teams.vision.queues.train": REMOVED}, "restricted"),
    ],
)
def test_pod_security_matches_the_needs_of_the_machines(changes: dict[str, Any], level: str) -> None:
    shut = team(plan_of(changes), "vision").isolation
    levels = ("privileged", "baseline", "restricted")
    assert shut.pod_security == level
    assert shut.pod_security_warning == levels[min(2, levels.index(level) + 1)]


def test_only_multislice_jobs_may_use_the_host_network() -> None:
    result = team(plan_of({}), "vision").isolation.host_access
    assert result == HostAccessPlan(network_for=("google.com/tpu",))
    assert team(plan_of({"teams.vision.queues.train": REMOVED}), "vision").isolation.host_access is None
    assert team(plan_of({"teams.vision.podSecurity": "baseline"}), "vision").isolation.host_access is None
    assert team(plan_of({"cluster.mode": "autopilot"}), "vision").isolation.host_access is None


def test_pods_may_have_the_priorities_of_the_teams_queues_and_the_default() -> None:
    assert team(plan_of({}), "vision").isolation.priorities == ("low",)
    assert team(plan_of({f"{URGENT}.priority": "high"}), "vision").isolation.priorities == ("high", "low")
    assert team(plan_of({"teams.vision.podPriorities": ["high"]}), "vision").isolation.priorities == ("high", "low")


def test_services_are_refused_by_type_until_the_team_is_allowed_it() -> None:
    limits = team(plan_of({}), "vision").isolation.limits
    assert limits is not None
    assert (limits.objects["services.loadbalancers"], limits.objects["services.nodeports"]) == (0, 0)
    allowed = team(plan_of({"teams.vision.serviceTypes": ["LoadBalancer"]}), "vision").isolation
    assert allowed.service_types == ("LoadBalancer",)
    assert allowed.limits is not None and "services.loadbalancers" not in allowed.limits.objects


def test_the_quota_of_cpu_is_all_machines_of_the_teams_flavors_and_helpers() -> None:
    """Computed a second time from the pools: Kueue admits no more cpu than machines have, so no job is refused."""
    result = plan_of({})
    vision = team(result, "vision")
    flavors = {entry.flavor for q in result.cluster_queues if "vision" in q.teams for entry in q.flavors}
    vcpu = sum(pool.nodes.max * pool.vcpu for pool in result.pools if pool.flavor in flavors)
    assert vision.isolation.limits is not None
    assert vision.isolation.limits.cpu == (vcpu + 32) * 1000


def test_a_pod_security_level_that_blocks_multi_node_jobs_is_a_warning() -> None:
    assert "pod-security teams.vision.podSecurity" in warnings(fleet_with({"teams.vision.podSecurity": "baseline"}))


def test_public_means_none_of_the_clusters_own_addresses() -> None:
    """Pods may have addresses that are public elsewhere (privately used public ranges)."""
    result = team(plan(fleet_with({"cluster.network": {"podCidrBlock": "33.0.0.0/11"}})), "vision").isolation.egress
    assert result is not None
    assert (result[0].cidr, result[0].ports) == ("0.0.0.0/0", (443,))
    assert "33.0.0.0/11" in result[0].besides
    assert "10.40.0.0/22" not in result[0].besides


def test_without_internet_access_google_apis_use_private_addresses() -> None:
    policy = {"internet": False, "egress": [{"cidrBlock": "10.9.0.0/24", "ports": [6379, 5432]}]}
    result = team(plan(fleet_with({"teams.vision.networkPolicy": policy})), "vision").isolation.egress
    assert result is not None
    assert [(e.cidr, e.ports) for e in result] == [
        ("199.36.153.4/30", (443,)), ("199.36.153.8/30", (443,)), ("10.9.0.0/24", (5432, 6379)),
    ]  # fmt: skip
    assert team(plan(fleet_with({"teams.vision.networkPolicy": {"enabled": False}})), "vision").isolation.egress is None


# --- people -----------------------------------------------------------------------------------------------------------


def test_nobody_has_access_without_a_group() -> None:
    fleet_plan = plan(fleet_with())
    assert (fleet_plan.access, own_cluster(fleet_plan).security_group) == (None, None)


def test_groups_of_a_domain_are_looked_up_in_the_one_group_that_gke_knows() -> None:
    fleet_plan = plan(
        fleet_with({"teams.vision.groups": ["vision@acme.example"], "platform": {"owners": ["p@acme.example"]}})
    )
    assert fleet_plan.access is not None
    assert (fleet_plan.access.owners, fleet_plan.access.teams) == (("p@acme.example",), ("vision@acme.example",))
    assert fleet_plan.access.job_kinds["batch"] == ("jobs",)
    assert "pytorchjobs" in fleet_plan.access.job_kinds["kubeflow.org"]
    assert own_cluster(fleet_plan).security_group == "gke-security-groups@acme.example"


def test_groups_of_several_domains_need_the_one_that_counts() -> None:
    groups = {"teams.vision.groups": ["a@one.example"], "teams.speech.groups": ["b@two.example"]}
    assert faults(fleet_with(groups)) == ["several-domains teams.vision.groups[0]"]
    fleet_plan = plan(fleet_with({**groups, "platform": {"domain": "two.example"}}))
    assert own_cluster(fleet_plan).security_group == "gke-security-groups@two.example"


def test_the_add_on_and_the_api_for_secrets_are_on_where_a_team_has_some() -> None:
    secret = {
        "secrets": {"token": {"secret": "hf", "version": "3", "project": "acme-shared"}},
        "impersonate": "wi-vision",
    }
    fleet_plan = plan(fleet_with({"teams.vision.identity": secret}))
    identity = team(fleet_plan, "vision").identity
    assert identity is not None
    assert [(s.file, s.project, s.secret, s.version) for s in identity.secrets] == [("token", "acme-shared", "hf", "3")]
    assert own_cluster(fleet_plan).secret_manager
    assert "secretmanager.googleapis.com" in fleet_plan.services
    assert not own_cluster(plan(fleet_with())).secret_manager


# --- who owns what ----------------------------------------------------------------------------------------------------


@every_stack
def test_labels_name_the_owning_team(stack: str) -> None:
    """Every object in a team's namespace, and every queue that is its alone, has its labels and lies under a component
    of its own; nothing under one team's component names another team."""
    for prefix, each in clusters(stack):
        _each_team_owns_its_own(each, in_cluster(objects(stack), prefix, stack), prefix)


def _each_team_owns_its_own(result: FleetPlan, there: list[RecordedResource], prefix: str) -> None:
    home = {place.name: each for each in result.teams for place in each.namespaces}
    queues = {q.name: q for q in result.cluster_queues}
    for one in there:
        metadata = metadata_of(one)
        parent = (one.parent or "").rpartition("::")[2]
        owner = home.get(metadata.get("namespace", "")) or (
            home.get(metadata["name"]) if one.type.endswith(":Namespace") else None
        )
        if one.type.endswith(":ClusterQueue") and len(queues[metadata["name"]].teams) == 1:
            owner = next(t for t in result.teams if t.name in queues[metadata["name"]].teams)
        if owner is None:
            assert TEAM_LABEL not in metadata.get("labels", {})
        elif owner.name not in metadata["labels"].get(TEAM_LABEL, ""):
            pytest.fail(f"{one.urn} is {owner.name}'s and does not say so")
        elif "Team$" in one.urn:
            assert parent == f"{prefix}{owner.name}"
            assert owner.labels.items() <= metadata["labels"].items()


def objects(stack: str) -> list[RecordedResource]:
    """What the program keeps inside the cluster; a Helm release is no object."""
    resource = (r for r in resources(stack, False) if r.type.startswith("kubernetes:"))
    return [r for r in resource if "helm.sh" not in r.type]


def metadata_of(one: RecordedResource) -> dict[str, Any]:
    return cast("dict[str, Any]", one.inputs["metadata"])


@every_stack
def test_every_created_namespace_has_its_policies_and_quotas(stack: str) -> None:
    kinds = {"LimitRange", "NetworkPolicy", "ResourceQuota", "ServiceAccount"}
    for prefix, each in ((prefix, one) for prefix, item in clusters(stack) for one in item.teams):
        there = in_cluster(objects(stack), prefix, stack)
        for place in (p for p in each.namespaces if p.owned):
            inside = [r for r in there if metadata_of(r).get("namespace") == place.name]
            made = {r.type.rpartition(":")[2] for r in inside}
            assert kinds <= made
            assert "LocalQueue" in made or not each.local_queues


# --- queues with and without accelerators -----------------------------------------------------------------------------

_PLAIN = {"pool": "n2", "guaranteed": "all"}


@pytest.mark.parametrize(
    ("queues", "labels"),
    [
        ({"urgent": {"flavors": [{"pool": "l4", "guaranteed": 4}]}, "cpu": {"flavors": [_PLAIN]}}, {}),
        (
            {"urgent": {"flavors": [{"pool": "l4", "guaranteed": 4}, _PLAIN]}},
            {
                "urgent": (
                    ("berth.dev/capacity", "on-demand"),
                    ("node.kubernetes.io/instance-type", "n2-standard-32"),
                )
            },
        ),
    ],
)
def test_a_queue_with_both_kinds_of_machines_has_the_labels_of_those_without_accelerators(
    queues: dict[str, Any], labels: dict[str, Any]
) -> None:
    n2 = {"machineType": "n2-standard-32", "nodes": 2, "zone": "us-central1-a", "acceptZone": True}
    result = plan_of({"pools.n2": n2, "teams.vision.queues": queues})
    assert team(result, "vision").namespaces[0].plain_machines == labels
    assert result.policies is not None
    assert result.policies.mixed_queues == tuple(labels)
