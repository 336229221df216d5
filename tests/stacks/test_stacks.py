"""Every stack file as a whole: without faults, equal in every way of reading it, and run as a program twice."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from berth.backends.interface import backend_of
from berth.cli.render import output
from berth.diagnostics import Problem
from berth.diagnostics.acceptance import ACCEPTED_WARNINGS, accept_warnings
from berth.engine import Preview, RecordedResource
from berth.evaluate import evaluate_config, evaluate_stack
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.yaml_loader import LOADER
from tests.engine import both_modes, identity, is_consistent
from tests.stack_files import (
    ACK_STACKS,
    ALL_STACKS,
    FLEET_STACKS,
    GKE_STACKS,
    GOLDEN,
    ROOT,
    assert_golden,
    clusters,
    evaluation,
    every_fleet,
    every_stack,
    fleet_values,
    in_cluster,
    rendered,
    resources,
    run_stack,
)


def sorted_json(value: Any) -> Any:
    """The value as the engine hands it over: JSON with sorted keys."""
    return json.loads(json.dumps(value, sort_keys=True))


# --- soundness, and one plan by every way -----------------------------------------------------------------------------


def test_there_are_stack_files() -> None:
    """What is marked `every_stack` would otherwise pass by testing nothing."""
    assert {"dev", "multislice", "multislice-autopilot", "batch-platform"} <= GKE_STACKS.keys()
    assert "ack-fleet" in FLEET_STACKS.keys() - GKE_STACKS.keys()


@every_fleet
def test_a_stack_file_is_sound(stack: str) -> None:
    assert [problem.line() for problem in evaluation(stack).faults] == []


@every_fleet
def test_the_plan_does_not_depend_on_the_order_of_keys(stack: str) -> None:
    """The engine sorts the keys of the file whenever it writes a config value."""
    file = evaluation(stack).file
    assert file is not None
    in_order = replace(file, fleet=sorted_json(fleet_values(stack)))
    planned = backend_of(evaluation(stack)).plan_stack(in_order, (), ROOT)
    assert planned.plan == evaluation(stack).plan
    reported = accept_warnings(planned.problems, fleet_values(stack).get(ACCEPTED_WARNINGS))
    lines = {replace(p, path=file.source_map.written_path(p.path)).line() for p in reported}
    of_a_backend = [p for p in evaluation(stack).problems if p.code != "placeholder"]  # that is of any stack file
    assert lines == {p.with_place("").line() for p in of_a_backend}


@every_fleet
def test_the_engine_and_the_command_see_one_fleet(stack: str) -> None:
    """Config through the engine, team files and all, gives the plan and the problems that the file gives."""
    file = evaluation(stack).file
    assert file is not None
    handed_over = evaluate_config(stack, sorted_json(file.config["berth:fleet"]), ROOT)
    assert handed_over.plan == evaluation(stack).plan
    assert {p.with_place("").line() for p in handed_over.problems} == {
        p.with_place("").line() for p in evaluation(stack).problems
    }


@every_fleet
def test_no_default_provider_is_ever_used(stack: str) -> None:
    """It would deploy into the default project of the user's credentials."""
    text = yaml.load(FLEET_STACKS[stack].read_text(encoding="utf-8"), LOADER)
    assert text["config"]["pulumi:disable-default-providers"] == ["*"]


@every_fleet
def test_a_stack_file_points_editors_at_the_schema(stack: str) -> None:
    first = FLEET_STACKS[stack].read_text(encoding="utf-8").splitlines()[0]
    schema = FLEET_STACKS[stack].parent / first.removeprefix("# yaml-language-server: $schema=")
    assert schema.resolve() == ROOT / "docs" / "stack.schema.json"


# --- the whole program ------------------------------------------------------------------------------------------------


@every_fleet
@both_modes
def test_the_program_runs(stack: str, preview: bool) -> None:
    """As an update, and as a first preview in which no id is known; what is said on the way are the plan's warnings."""
    done: Preview = run_stack(stack, preview)
    assert {m.text for m in done.messages} == {as_message(problem, stack) for problem in evaluation(stack).warnings}
    assert len({r.urn for r in done.resources}) == len(done.resources)


def as_message(problem: Problem, stack: str) -> str:
    """A warning as the engine gets it; without its place for an example, because the program knows no file."""
    of_the_project = FLEET_STACKS[stack].parent == ROOT
    return (problem if of_the_project else problem.with_place("")).line_without_severity()


@every_fleet
@both_modes
def test_every_component_registered_its_outputs(stack: str, preview: bool) -> None:
    assert [r.urn for r in resources(stack, preview) if not r.custom and not r.outputs_registered] == []


OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "ack:FleetInstance": ("fleetId",),
    "ack:FleetObjects": ("objects",),
    "ack:Member": ("clusterId",),
    "gke:AcceleratorNetworks": ("subnetworks",),
    "gke:Checkpointing": ("bucket",),
    "gke:Cluster": ("clusterName", "endpoint"),
    "gke:ClusterNetworks": ("networks",),
    "gke:ComputeClasses": ("computeClasses",),
    "gke:FutureReservation": ("reservationName",),
    "gke:Network": ("network", "subnetwork"),
    "gke:NodePool": ("poolName",),
    "gke:NodeServiceAccount": ("email",),
    "gke:Reservation": ("reservationName",),
    "gke:Services": ("services",),
    "gke:WebhookFirewall": ("rule",),
    "gke:WorkloadPolicy": ("policyName",),
    "gpu:Installers": ("daemonSets",),
    "kueue:AdmissionChecks": ("admissionChecks",),
    "kueue:Cohorts": ("cohorts",),
    "kueue:Controllers": ("versions",),
    "kueue:Flavors": ("flavors",),
    "kueue:Priorities": ("priorities",),
    "kueue:TeamQueues": ("clusterQueues",),
    "kueue:Topologies": ("topologies",),
    "kueue:WorkerAccess": (),
    "kueue:Workers": ("clusters",),
    "monitoring:Collection": ("objects",),
    "monitoring:Views": ("alerts", "dashboards"),
    "tenancy:Access": ("groups",),
    "tenancy:Policies": ("policies",),
    "tenancy:Team": ("namespaces",),
}
"""Type of a component → names of its outputs, as the engine shows them and keeps them in the state."""


@every_fleet
def test_the_outputs_of_components_keep_their_names(stack: str) -> None:
    components = [each for each in resources(stack, False) if not each.custom and each.type.startswith("berth:")]
    found = {(each.type.removeprefix("berth:"), tuple(sorted(each.outputs or ()))) for each in components}
    assert found - set(OUTPUTS.items()) == set()
    assert all(value is not None for each in components for value in (each.outputs or {}).values())


@every_fleet
@both_modes
def test_every_resource_has_an_explicit_provider_and_a_component_for_a_parent(stack: str, preview: bool) -> None:
    known = {r.urn: r for r in run_stack(stack, preview).resources}
    providers = ("alibaba-cloud", "fleet") if stack in ACK_STACKS else ("google", "kubernetes")
    for one in (r for r in resources(stack, preview) if r.custom):
        assert one.provider is not None
        assert known[one.provider].name.rpartition("/")[2] in providers
        assert not known[one.parent or ""].custom
        assert known[one.parent or ""].type.startswith("berth:")


@every_fleet
def test_a_preview_shows_the_resources_of_an_update(stack: str) -> None:
    """Nothing is registered, and no value chosen, only once an id is known: a preview that hides something is a lie."""
    shown, made = ({r.urn: r.inputs for r in resources(stack, preview)} for preview in (True, False))
    assert shown.keys() == made.keys()
    assert [urn for urn in shown if not is_consistent(shown[urn], made[urn])] == []


@every_stack
def test_protected_are_the_cluster_reservations_accelerators_and_guarantees(stack: str) -> None:
    """Exactly these: scarce capacity and guarantees. Everything else can be created again in minutes."""
    for prefix, planned in clusters(stack):
        resource = {
            r.name.removeprefix(prefix) for r in in_cluster(resources(stack, False), prefix, stack) if r.protect
        }
        cluster = {"cluster-cluster"} if isinstance(planned.cluster, ClusterPlan) else set[str]()
        assert resource == hard_to_get(planned) | cluster


def hard_to_get(planned: FleetPlan) -> set[str]:
    """The names of a cluster's accelerators, reservations and guarantees."""
    accelerators = {f"{n.key}-pool" for p in planned.pools for n in p.node_pools}
    asked_for = {f"{r.key}-request" for r in planned.future_reservations}
    reserved = asked_for | {f"{r.key}-reservation" for r in planned.reservations}
    promised = {f"{q.name}-cluster-queue" for q in planned.cluster_queues if q.protect}
    return accelerators | reserved | promised


@every_stack
def test_node_pools_of_the_program_are_those_of_the_plan(stack: str) -> None:
    """Counted the second way: nodes and accelerators from what the provider is sent."""
    for prefix, planned in clusters(stack):
        made = in_cluster(resources(stack, False), prefix, stack)
        node_pools_are_planned(
            {r.inputs["name"]: r.inputs for r in made if r.type == "gcp:container/nodePool:NodePool"}, planned
        )


def node_pools_are_planned(sent: dict[Any, Mapping[str, Any]], planned: FleetPlan) -> None:
    """Node pools as they are sent are those of a cluster's plan."""
    waiting = {name for held in planned.held if not held.delivered for name in held.pools}
    assert waiting == {pool.name for pool in planned.pools if pool.made_by == "berth" and not pool.node_pools}
    for pool in planned.pools:
        if pool.made_by == "berth" and pool.name not in waiting:
            nodes = sum(most_nodes(sent[n.name], len(pool.zones)) for n in pool.node_pools)
            assert nodes == pool.nodes.max
    ours = {n.name for p in planned.pools for n in p.node_pools} | ({"system"} if planned.system_pool else set())
    assert sent.keys() == ours


def most_nodes(inputs: Any, zones: int) -> int:
    """The most nodes that a node pool's inputs allow."""
    scaling = inputs.get("autoscaling")
    if scaling is None:
        return inputs["nodeCount"] * zones
    return scaling.get("totalMaxNodeCount") or scaling["maxNodeCount"] * zones


# --- one set of manifests ---------------------------------------------------------------------------------------------


@every_stack
def test_berth_render_prints_what_the_program_registers(stack: str) -> None:
    """Object by object, value by value: people who apply with kubectl get the same fleet."""
    for prefix, planned in clusters(stack):
        there = in_cluster(resources(stack, False), prefix, stack)
        printed = {identity(m): m for m in manifests_of(planned)}
        made = {identity(r.inputs): applied(r.inputs) for r in there if is_manifest(r) and "kubeconfig" not in r.name}
        assert printed.keys() == made.keys()
        assert [key for key in printed if printed[key] != made[key]] == []


def manifests_of(planned: FleetPlan) -> list[Any]:
    """What `berth render` prints of one cluster, without the manager's credentials, which only a deployed stack has."""
    stream = io.StringIO()
    output.write_objects(replace(planned, workers=()), stream)
    return list(yaml.load_all(stream.getvalue(), LOADER))


def applied(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The object as it arrives in the cluster, without Pulumi's own annotation."""
    metadata = dict(inputs["metadata"])
    values = {key: value for key, value in metadata.pop("annotations", {}).items() if not key.startswith("pulumi.com/")}
    return {**inputs, "metadata": {**metadata, **({"annotations": values} if values else {})}}


def is_manifest(one: RecordedResource) -> bool:
    """Whether the resource is a Kubernetes object; a Helm release is none."""
    return one.type.startswith("kubernetes:") and not one.type.startswith("kubernetes:helm.sh")


@every_stack
def test_every_object_comes_after_what_it_refers_to(stack: str) -> None:
    """So that `berth render | kubectl apply -f -` succeeds at once."""
    there = ("default", "kube-system", "kueue-system", "monitoring")  # with the cluster, Kueue and Prometheus
    for _, planned in clusters(stack):
        seen: set[tuple[str, str]] = {("Namespace", name) for name in there}
        for manifest in manifests_of(planned):
            assert [r for r in references(manifest) if r not in seen] == []
            seen.add((manifest["kind"], manifest["metadata"]["name"]))


def references(manifest: Any) -> Iterator[tuple[str, str]]:
    """The objects a manifest names, by kind and name."""
    spec = manifest.get("spec", {})
    if namespace := manifest["metadata"].get("namespace"):
        yield "Namespace", namespace
    if queue := spec.get("clusterQueue"):
        yield "ClusterQueue", queue
    if cohort := spec.get("cohortName"):
        yield "Cohort", cohort
    yield from (("ResourceFlavor", f["name"]) for g in spec.get("resourceGroups", ()) for f in g["flavors"])


# --- goldens ----------------------------------------------------------------------------------------------------------


@every_fleet
def test_golden_manifests(stack: str) -> None:
    """What the fleet keeps in its cluster, reviewed like code."""
    assert_golden(rendered(stack), GOLDEN / stack / "manifests.yaml")


@every_fleet
def test_golden_tree(stack: str) -> None:
    """Every identity: a rename shows here, and must come with an alias."""
    assert_golden(tree(stack), GOLDEN / stack / "tree.txt")


@every_fleet
def test_golden_cloud(stack: str) -> None:
    """All inputs of cloud resources: only this golden shows a disk of another type."""
    ours = [r for r in run_stack(stack, True).resources if r.type.startswith(("gcp:", "alicloud:"))]
    request = {short(r.urn): plain(r.inputs) for r in ours}
    assert_golden(yaml.safe_dump(request, width=120), GOLDEN / stack / "cloud.yaml")


def plain(inputs: object) -> Any:
    """Inputs as JSON knows them; what is secret or unknown as its mark."""
    return json.loads(json.dumps(inputs, default=str))


def tree(stack: str) -> str:
    """One line a resource: its URN after stack and project, then what an update may do to it."""
    return "".join(f"{line}\n" for line in sorted(map(line_of, run_stack(stack, True).resources)))


def line_of(one: RecordedResource) -> str:
    """`berth:gke:NodePool$gcp:container/nodePool:NodePool::v5e-1-pool  protect  provider=google`."""
    flags = [
        *(["protect"] if one.protect else []),
        *(["delete-before-replace"] if one.delete_before_replace else []),
        *(["retain-on-delete"] if one.retain_on_delete else []),
        *(f"replace-on={change}" for change in one.replace_on_changes),
        *(f"ignore={change}" for change in one.ignore_changes),
        *([f"provider={name(one.provider)}"] if one.provider else []),
        *([f"deleted-with={name(one.deleted_with)}"] if one.deleted_with else []),
        *(f"alias={short(alias)}" for alias in one.aliases),
    ]
    return "  ".join([short(one.urn), *flags])


def short(urn: str) -> str:
    """A URN without stack and project."""
    return urn.split("::", 2)[2]


def name(urn: str) -> str:
    """The name at the end of a URN."""
    return urn.rsplit("::", 1)[1]


def test_a_missing_golden_says_how_to_write_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BERTH_GOLDEN", raising=False)
    with pytest.raises(pytest.fail.Exception, match=r"there is no tests/golden/nowhere/x\.txt: write it with `make"):
        assert_golden("", GOLDEN / "nowhere" / "x.txt")


def test_every_golden_belongs_to_a_stack() -> None:
    """One that is left over when a stack goes would be read as if it were true."""
    folders = {folder.name for folder in GOLDEN.iterdir()} if GOLDEN.is_dir() else set[str]()
    assert folders <= ALL_STACKS.keys() | {"README.md"}


def test_the_sample_gives_no_warning() -> None:
    """People copy it, and `berth init` does."""
    assert [problem.line() for problem in evaluate_stack("dev", ROOT).warnings] == []


@every_stack
def test_no_stack_names_a_zone_or_version_that_google_does_not_offer(stack: str) -> None:
    """Google would refuse it after a quarter of an hour."""
    codes = {problem.code for problem in evaluate_stack(str(ALL_STACKS[stack]), ROOT).problems}
    refused = {"zone-not-listed", "zone-undocumented", "flex-start-zone", "version-unsupported", "version-exact"}
    assert codes.isdisjoint(refused)
