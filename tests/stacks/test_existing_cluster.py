"""An existing cluster: only objects inside it are created, and no output has a secret of it."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
import yaml

from berth.cli.render.nodes import simulated_nodes
from berth.cli.render.output import yaml_document
from berth.engine import SECRET, Preview, RecordedResource, run_program
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from berth.planner import plan_fleet
from berth.spec.parse import parse_fleet
from berth.validation import validate
from berth.yaml_loader import LOADER
from tests.engine import both_modes
from tests.stack_files import ROOT, every_stack, fleet_values, plan, resources, run_stack

TOKEN = "hunter2-which-nobody-may-read"
IN_PLACE = {"enableConfigMapMutable": "true", "enableSecretMutable": "true"}
KUBECONFIG = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://lab.example"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    }
)


def local(**changes: Any) -> dict[str, Any]:
    """The local fleet with other keys at its top."""
    return {**fleet_values("local"), **changes}


def planned(value: dict[str, Any]) -> FleetPlan:
    """The plan of a fleet that has no fault."""
    result = plan_fleet("local", parse_fleet(value))
    assert result is not None
    assert [p.line() for p in result.problems if p.severity == "fault"] == []
    return result.plan


def ran(value: dict[str, Any], preview: bool, **config: str) -> Preview:
    """The program on a fleet; every key of `config`, under `berth:`, is a secret."""
    keys = {f"berth:{key}": text for key, text in config.items()}
    return run_program(ROOT, "local", value, keys, preview=preview, secrets=list(keys))


def provider(result: Preview) -> RecordedResource:
    """The one provider of a run."""
    (one,) = (r for r in result.resources if r.type.startswith("pulumi:providers:"))
    return one


# --- what is made -----------------------------------------------------------------------------------------------------


def test_nothing_is_made_outside_the_cluster() -> None:
    assert {r.type.split(":")[0] for r in resources("local", False)} == {"kubernetes", "berth"}
    assert provider(run_stack("local", False)).type == "pulumi:providers:kubernetes"
    fleet_plan = plan("local")
    assert (fleet_plan.services, fleet_plan.system_pool, fleet_plan.project, fleet_plan.region) == (
        (),
        None,
        None,
        None,
    )
    assert {(p.made_by, p.node_pools) for p in fleet_plan.pools} == {("others", ())}


def test_described_pools_count_for_promises() -> None:
    """v5e: 2 slices of 2x4, 8 chips each; L4: 2 nodes of g2-standard-24 with 2 each, and as many spot ones."""
    assert {f.name: (f.capacity.max, f.promised) for f in plan("local").flavors} == {
        "v5e": (16, 16),
        "l4": (4, 4),
        "l4-spot": (4, 4),
    }


def test_more_than_the_described_pools_hold_is_refused() -> None:
    pools = {**local()["pools"], "v5e": {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 1}}
    result = plan_fleet("local", parse_fleet(local(pools=pools)))
    assert result is not None
    assert "overcommitted" in {p.code for p in validate(result)}


def test_tenancy_is_the_same_as_in_a_cluster_of_our_own() -> None:
    """Namespaces with all that shuts them in, and rights of groups; only what Google would be asked for is missing."""
    inside = {"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "ServiceAccount", "RoleBinding"}
    kinds = {stack: {r.type.split(":")[-1] for r in resources(stack, False)} for stack in ("local", "batch-platform")}
    assert inside <= kinds["local"] & kinds["batch-platform"]


def test_labels_of_the_nodes_may_be_other_than_gkes() -> None:
    pools = {
        **local()["pools"],
        "l4": {"machineType": "g2-standard-24", "nodes": 2, "nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-L4"}},
    }
    (fleet_plan,) = (f for f in planned(local(pools=pools)).flavors if f.name == "l4")
    assert fleet_plan.node_labels == {"nvidia.com/gpu.product": "NVIDIA-L4"}


def test_pods_reach_the_dns_of_the_cluster() -> None:
    cluster = {"existing": {"context": "x", "serviceCidrBlock": "10.200.0.0/16"}}
    for value, expected in ((local(), "10.96.0.0/12"), (local(cluster=cluster), "10.200.0.0/16")):
        assert {team.isolation.service_range for team in planned(value).teams} == {expected}


# --- how it is reached, and what is told of that ----------------------------------------------------------------------


def test_a_kubeconfig_file_is_named_and_never_read() -> None:
    cluster = {"name": "lab", "existing": {"context": "kind-berth", "kubeconfig": "nowhere/to/be/found"}}
    assert planned(local(cluster=cluster)).cluster == ExistingClusterPlan(
        name="lab", context="kind-berth", kubeconfig="nowhere/to/be/found"
    )
    result = ran(local(cluster=cluster), preview=False)
    request = {"clusterIdentifier": "lab", "context": "kind-berth", "kubeconfig": "nowhere/to/be/found"}
    assert dict(provider(result).inputs) == request | IN_PLACE
    assert result.exports["kubeconfig"] == SECRET


def test_without_a_file_the_client_uses_its_default_kubeconfig() -> None:
    request = {"clusterIdentifier": "local", "context": "kind-berth"}
    assert dict(provider(run_stack("local", False)).inputs) == request | IN_PLACE


@both_modes
def test_a_kubeconfig_in_the_config_stays_a_secret(preview: bool) -> None:
    result = ran(local(cluster={"existing": {"secret": "kubeconfig"}}), preview, kubeconfig=KUBECONFIG)
    assert provider(result).inputs["kubeconfig"] == SECRET
    assert result.exports["kubeconfig"] == SECRET
    assert TOKEN not in "".join(map(str, result.resources)) + str(result.exports)


def test_a_missing_kubeconfig_secret_is_a_fault() -> None:
    with pytest.raises(Exception, match="pulumi config set --secret berth:kubeconfig"):
        ran(local(cluster={"existing": {"secret": "kubeconfig"}}), preview=True)


@pytest.mark.filterwarnings("ignore:coroutine 'Output")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("https://cluster.example", "has no clusters"),
        ("[]", "has no clusters"),
        ("clusters: [", "is not YAML"),
        ("clusters: []", "has no current-context"),
        ("clusters: []\ncurrent-context: a", "has no context that is its current-context"),
        (KUBECONFIG.replace('{"cluster": "c"', '{"cluster": "y"'), "has no cluster that its context names"),
    ],
)
def test_a_secret_without_a_cluster_never_reaches_the_client_s_own(text: str, reason: str) -> None:
    """A provider takes an empty kubeconfig for none, and deploys to the current context of whoever runs it."""
    with pytest.raises(Exception, match=f"the kubeconfig of berth:kubeconfig {reason}; store one") as refused:
        ran(local(cluster={"existing": {"secret": "kubeconfig"}}), preview=False, kubeconfig=text)
    assert text.strip() == "" or text not in str(refused.value)
    gc.collect(1)  # outputs that nobody waits for any more, here and not in the test after; they are young


# --- order ------------------------------------------------------------------------------------------------------------


def test_queues_wait_for_a_kueue_of_ours_and_for_no_other() -> None:
    def release(result: Preview) -> set[str]:
        served = [r for r in result.resources if r.type.startswith("kubernetes:kueue.x-k8s.io")]
        assert len(served) > 10
        return {urn.rsplit("::", 1)[1] for r in served for urn in r.dependencies if "helm.sh" in urn}

    assert release(run_stack("local", True)) == {"controllers-kueue"}
    there = ran(local(kueue={"existing": True}, jobset={"existing": True}), preview=True)
    assert release(there) == set()
    assert "kubernetes:helm.sh/v3:Release" not in {r.type for r in there.resources}


# --- the first run ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stack", ["dev", "local"])
def test_a_first_preview_shows_every_object(stack: str) -> None:
    """Where a cluster that is not made yet answers is unknown, in a secret kubeconfig; the objects are known."""
    shown, made = (
        {r.urn for r in resources(stack, preview) if r.type.startswith("kubernetes:")} for preview in (True, False)
    )
    assert len(shown) > 30
    assert shown == made
    (inside,) = (r for r in run_stack(stack, True).resources if r.type == "pulumi:providers:kubernetes")
    assert inside.inputs.get("kubeconfig") == {"dev": SECRET, "local": None}[stack]


# --- simulated nodes --------------------------------------------------------------------------------------------------


@every_stack
def test_simulated_nodes_have_the_labels_of_flavors(stack: str) -> None:
    """Counted from the nodes: what a job with a flavor's selector and tolerations finds is the flavor's capacity."""
    for cluster in [worker.plan for worker in plan(stack).workers] or [plan(stack)]:
        there: list[Any] = [yaml.load(yaml_document(each), LOADER) for each in simulated_nodes(cluster)]
        assert len({node["metadata"]["name"] for node in there}) == len(there)
        for flavor in cluster.flavors:
            tolerated = {(t.key or "", t.value) for t in flavor.tolerations}
            fit = [node for node in there if fits(node, flavor.node_labels, tolerated)]
            result = sum(_for_jobs(node["status"]["allocatable"].get(flavor.resource, "0")) for node in fit)
            assert result == flavor.capacity.max, flavor.name


def _for_jobs(amount: str) -> int:
    """Accelerators, or the whole cores of a node beside 0.5 core of system DaemonSets."""
    return (int(amount[:-1]) - 500) // 1000 if amount.endswith("m") else int(amount)


def fits(node: Any, selector: Any, tolerated: set[tuple[str, str | None]]) -> bool:
    """Whether a pod may land on a node; a toleration without a value takes any."""
    taints = node["spec"]["taints"]
    return selector.items() <= node["metadata"]["labels"].items() and all(
        {(taint["key"], taint["value"]), (taint["key"], None)} & tolerated for taint in taints
    )
