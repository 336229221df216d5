"""Components of the package, constructed over the wire: what they register, what they refuse, what they return."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import grpc
import pytest
from msgspec.structs import asdict

from berth.cli.preview.live_cluster import answer_function
from berth.engine import SECRET, RecordedResource
from berth.engine.values import SIGNATURE, UNKNOWN_ON_WIRE
from berth.evaluate import evaluate_values
from berth.outputs import PLACEHOLDER_KUBECONFIG
from tests.engine import PREFIXED_TYPES, UNKNOWN, Run, both_modes, broken_rules, is_consistent
from tests.packages.plugin import output_value, shared_plugin
from tests.stack_files import ACK_STACKS, ALL_STACKS, TEAM_STACKS, evaluation, fleet_values, run_stack

REACHED = {"kubeconfig": PLACEHOLDER_KUBECONFIG}
GOOGLE = "urn:pulumi:dev::mine::pulumi:providers:gcp::mine"
CLUSTER = "urn:pulumi:dev::mine::pulumi:providers:kubernetes::mine"
FLEETS = sorted(ALL_STACKS.keys() - ACK_STACKS.keys() - TEAM_STACKS.keys())
POOL = {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 3.0, "zone": "us-central1-a"}
SMALL: Mapping[str, Any] = {
    "project": "acme-ml-dev",
    "region": "us-central1",
    "pools": {"v5e": POOL},
    "teams": {"vision": {"queues": {"train": {"flavors": [{"pool": "v5e", "guaranteed": "all"}]}}}},
}


def component(kind: str, args: Mapping[str, Any], preview: bool = True, name: str = "lab", **options: Any) -> Run:
    """Construct one component over the wire: its resources, and its outputs as exports."""
    made = shared_plugin().construct(kind, args, preview=preview, name=name, **options)
    return Run(made.resources, made.exports)


def refused(kind: str, args: Mapping[str, Any], preview: bool = True) -> list[str]:
    """The lines of the fault that a component ends in, without the first one and without codes."""
    with pytest.raises(grpc.RpcError) as caught:
        component(kind, args, preview)
    error: Any = caught.value
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    first, *lines = error.details().splitlines()
    assert first == f"{kind} 'lab' is refused:"
    return without_codes(lines)


def without_codes(lines: list[str]) -> list[str]:
    """The lines of faults without the codes in which they end."""
    assert [line for line in lines if not re.search(r" \[[a-z-]+\]$|^… and \d+ more faults$", line)] == []
    return [re.sub(r" \[[a-z-]+\]$", "", line) for line in lines]


def custom(result: Run) -> dict[str, str]:
    """The resources of providers, by name."""
    return {each.name: each.type.rpartition(":")[2] for each in result.resources if each.custom}


# --- the whole fleet --------------------------------------------------------------------------------------------------


def at_root(resource: RecordedResource, name: str) -> Mapping[str, Any]:
    """A resource below a fleet as it would be at the root, without its place in the source."""
    text = json.dumps({**asdict(resource), "place": ""}, default=repr)
    text = text.replace("berth:index:Fleet$", "").replace(f"::{name}-", "::")
    # The component of accelerator networks leaves its own name out of a device's, if that starts with it.
    values = json.loads(re.sub("(rdma-b-|falcon-a-){2}", r"\1", text))
    by_property = {key: sorted(urns) for key, urns in values["property_dependencies"].items()}
    order = {"dependencies": sorted(values["dependencies"]), "property_dependencies": by_property}
    return {**values, **order, "name": values["name"].removeprefix(f"{name}-")}


@pytest.mark.parametrize("stack", FLEETS)
def test_a_fleet_registers_the_resources_of_a_stack_as_its_children(stack: str) -> None:
    """Types, names, inputs, options and dependencies are equal except for the parent and the prefix of names."""
    args = {key: each for key, each in fleet_values(stack).items() if key != "teamFiles"}
    at_root_of = run_stack(stack, True)
    root, *at_top = at_root_of.resources
    fleet, *below = component(
        "Fleet",
        args,
        name=stack,
        place=(at_root_of.project, stack),
        invoke=partial(answer_function, evaluation(stack).fleet_plan),
    ).resources
    assert (fleet.type, fleet.parent, fleet.custom) == ("berth:index:Fleet", None, False)
    ours = {str(each["urn"]): each for each in (at_root(each, stack) for each in below)}
    theirs = {each.urn: at_root(each, "nothing") for each in at_top}
    assert ours.keys() == theirs.keys()
    for urn, each in theirs.items():
        parent = fleet.urn if each["parent"] == root.urn else each["parent"]
        assert {**ours[urn], "parent": at_parent(ours[urn]["parent"])} == {**each, "parent": at_parent(parent)}


def at_parent(urn: str | None) -> str:
    """The parent's URN, where a fleet and a stack are the same."""
    text = str(urn)
    return "" if "pulumi:pulumi:Stack" in text or "berth:index:Fleet::" in text else text


TRAIN = {"flavors": [{"pool": "v5e", "guaranteed": 8.0}]}
DEFAULTS: Mapping[str, Any] = {
    "namespaces": [{"name": "{team}-jobs"}],
    "queues": {
        "train": {**TRAIN, "queueingStrategy": "StrictFIFO"},
        "batch": {"flavors": [{"pool": "v5e", "borrow": "all"}]},
    },
}


def test_team_defaults_complete_every_team_of_a_fleet() -> None:
    """As in a stack file: the fleet is that whose teams write everything, with the name of the team in text."""
    teams = {"vision": {}, "speech": {"queues": {"train": {"queueingStrategy": "BestEffortFIFO"}}}}
    args = {**SMALL, "cohorts": {"all": {}}, "teamDefaults": {**DEFAULTS, "cohort": "all"}, "teams": teams}
    written = {
        team: {
            "cohort": "all",
            "namespaces": [{"name": f"{team}-jobs"}],
            "queues": {**DEFAULTS["queues"], "train": {**TRAIN, "queueingStrategy": strategy}},
        }
        for team, strategy in (("vision", "StrictFIFO"), ("speech", "BestEffortFIFO"))
    }
    ours = component("Fleet", args, preview=False)
    theirs = component("Fleet", {**SMALL, "cohorts": {"all": {}}, "teams": written}, preview=False)
    assert custom(ours) == custom(theirs)
    assert {each.urn: each.inputs for each in ours.resources} == {each.urn: each.inputs for each in theirs.resources}
    assert ours.exports["namespaces"] == {"vision": ["vision-jobs"], "speech": ["speech-jobs"]}


def test_a_team_is_without_a_default() -> None:
    teams = {"vision": {"without": ["queues.batch"]}}
    result = component("Fleet", {**SMALL, "cohorts": {"all": {}}, "teamDefaults": DEFAULTS, "teams": teams})
    assert result.exports["queues"] == {"vision": ["train"]}


@both_modes
def test_a_fleet_keeps_the_rules_of_components(preview: bool) -> None:
    assert broken_rules(component("Fleet", SMALL, preview), PREFIXED_TYPES) == []


def test_two_fleets_in_one_program_have_different_urns() -> None:
    component("Fleet", SMALL, name="east")
    resources = component("Fleet", SMALL, name="west", beside=True).resources
    names = [each.name for each in resources if each.type.endswith(":Cluster")]
    assert sorted(names) == ["east-cluster", "east-cluster-cluster", "west-cluster", "west-cluster-cluster"]


def test_a_preview_matches_the_update() -> None:
    before, after = component("Fleet", SMALL, True), component("Fleet", SMALL, False)
    assert {each.urn for each in before.resources} == {each.urn for each in after.resources}
    inputs = {each.urn: each.inputs for each in after.resources}
    assert all(is_consistent(each.inputs, inputs[each.urn]) for each in before.resources)


def test_the_outputs_of_a_fleet() -> None:
    exports = component("Fleet", SMALL, False).exports
    assert exports["queues"] == {"vision": ["train"]}
    assert exports["namespaces"] == {"vision": ["vision"]}
    assert exports["nodeServiceAccount"] == "lab-nodes@acme-ml-dev.iam.gserviceaccount.com"
    assert exports["clusters"] == {
        "lab": {
            "name": "lab",
            "project": "acme-ml-dev",
            "location": "us-central1",
            "server": "https://203.0.113.10",
        }
    }
    assert exports["kubeconfig"] is SECRET
    plan = cast("Mapping[str, Any]", exports["plan"])
    assert (plan["stack"], plan["pools"][0]["name"]) == ("lab", "v5e")


def test_before_the_cluster_exists_its_address_is_unknown_and_the_queues_are_known() -> None:
    exports = component("Fleet", SMALL).exports
    assert cast("Mapping[str, Any]", exports["clusters"])["lab"]["server"] is UNKNOWN
    assert exports["queues"] == {"vision": ["train"]}


def test_the_name_of_a_fleet_is_the_clusters_and_not_its_resources() -> None:
    made = component("Fleet", {**SMALL, "name": "production"}, False)
    assert made.only_resource("container/cluster:Cluster", "lab-cluster-cluster").inputs["name"] == "production"


def test_a_google_provider_in_the_options_serves_the_fleet_in_its_project() -> None:
    """Without the transformation a reservation would be created and paid for in the provider's project."""

    made = component("Fleet", SMALL, providers={"gcp": f"{GOOGLE}::{UNKNOWN_ON_WIRE}"})
    google = [each for each in made.resources if each.custom and each.type.startswith("gcp:")]
    assert {each.provider for each in google} == {GOOGLE}
    in_project = [each for each in google if each.type.startswith(("gcp:compute/", "gcp:container/"))]
    assert {each.inputs["project"] for each in in_project} == {"acme-ml-dev"}
    composed = [each for each in component("Fleet", SMALL).resources if each.custom]
    assert len(in_project) == sum(each.type.startswith(("gcp:compute/", "gcp:container/")) for each in composed) > 5


def test_an_existing_cluster_is_reached_by_the_callers_kubeconfig_or_provider() -> None:
    """The stack file needs a context for it; a component does not."""
    fleet = {
        "cluster": {"existing": {}},
        "pools": {"v5e": {key: POOL[key] for key in ("machineType", "topology", "slices")}},
        "teams": SMALL["teams"],
    }
    by_kubeconfig = component("Fleet", {**fleet, "kubeconfig": UNKNOWN_ON_WIRE})
    assert by_kubeconfig.only_resource("pulumi:providers:kubernetes").inputs["kubeconfig"] is UNKNOWN
    by_provider = component("Fleet", fleet, providers={"kubernetes": f"{CLUSTER}::{UNKNOWN_ON_WIRE}"})
    assert {each.provider for each in by_provider.resources if each.custom} == {CLUSTER}
    assert refused("Fleet", fleet) == [
        "cluster.existing: context is missing, and the current context of the kubeconfig can change; "
        "write context: <name>, or name, location and project of a GKE cluster in which Berth creates node pools"
    ]


# --- the parts --------------------------------------------------------------------------------------------------------


def test_a_cluster_without_other_components() -> None:
    made = component("Cluster", {"project": "acme-ml", "region": "us-central1", "releaseChannel": "rapid"}, False)
    cluster = made.only_resource("container/cluster:Cluster").inputs
    assert cluster["releaseChannel"] == {"channel": "RAPID"}
    assert (cluster["name"], cluster["project"]) == ("lab", "acme-ml")
    assert "ResourceFlavor" not in custom(made).values()
    assert made.exports["nodeServiceAccount"] == "lab-nodes@acme-ml.iam.gserviceaccount.com"
    assert (made.exports["name"], made.exports["endpoint"]) == ("lab", "203.0.113.10")
    assert broken_rules(made, PREFIXED_TYPES) == []


POOL_ARGS: Mapping[str, Any] = {
    **POOL,
    "project": "acme-ml",
    "region": "us-central1",
    "cluster": "training",
    "nodeServiceAccount": "nodes@acme-ml.iam.gserviceaccount.com",
}


def test_a_node_pool_in_any_cluster() -> None:
    made = component("NodePool", {**POOL_ARGS, "topology": "4x4", "slices": 2.0}, False)
    pools = made.resources_of("container/nodePool:NodePool")
    assert sorted(each.name for each in pools) == ["lab-lab-1-pool", "lab-lab-2-pool"]  # registered side by side
    assert {(each.inputs["cluster"], each.inputs["nodeCount"]) for each in pools} == {("training", 4)}
    assert made.exports["nodePools"] == ["lab-4x4-1", "lab-4x4-2"]
    assert cast("Mapping[str, Any]", made.exports["nodeLabels"])["cloud.google.com/gke-tpu-topology"] == "4x4"
    assert broken_rules(made) == []


def test_a_node_pool_accepts_an_unknown_reservation_output() -> None:
    made = component("NodePool", {**POOL_ARGS, "reservation": UNKNOWN_ON_WIRE, "cluster": UNKNOWN_ON_WIRE})
    (first, *_) = made.resources_of("container/nodePool:NodePool")
    config = cast("Mapping[str, Any]", first.inputs["nodeConfig"])
    assert config["reservationAffinity"]["values"] == [UNKNOWN]
    assert first.inputs["cluster"] is UNKNOWN
    labels = cast("Mapping[str, Any]", made.exports["nodeLabels"])
    assert labels["cloud.google.com/reservation-name"] is UNKNOWN


def test_a_node_pool_depends_on_its_reservation() -> None:
    machines = {"project": "acme-ml", "machineType": "g2-standard-24", "zone": "us-central1-a"}
    held = shared_plugin().construct("Reservation", {**machines, "count": 4.0}, preview=False, name="held")
    (reservation,) = held.dependencies["name"]
    own = {key: value for key, value in POOL_ARGS.items() if key not in ("topology", "slices")}
    name = output_value(held.exports["name"], reservation)
    args = {**own, "machineType": "g2-standard-24", "nodes": 4.0, "reservation": name}
    resources = component("NodePool", args, False, beside=True, dependencies={"reservation": [reservation]}).resources
    made = next(each for each in resources if each.type == "gcp:compute/reservation:Reservation")
    pool = next(each for each in resources if each.type == "gcp:container/nodePool:NodePool")
    assert (made.urn, made.name, made.inputs["name"]) == (reservation, "held-reservation-reservation", "held")
    assert reservation in pool.dependencies


def test_a_reservation_that_begins_later() -> None:
    future = {"start": "2027-01-10T00:00:00Z", "end": "2027-03-01T00:00:00Z"}
    machines = {"project": "acme-ml", "machineType": "a3-highgpu-8g", "zone": "us-central1-a", "count": 4.0}
    made = component("Reservation", {**machines, "future": future}, False)
    assert custom(made)["lab-reservation-request"] == "FutureReservation"


QUEUES: Mapping[str, Any] = {
    "team": "vision",
    "cohort": "research",
    "pools": {"v5e": {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 3.0}},
    "queues": {"train": {"flavors": [{"pool": "v5e", "guaranteed": "2 slices", "borrow": 8.0}]}},
    **REACHED,
}


def test_queues_of_one_team() -> None:
    made = component("TeamQueues", {**QUEUES, "namespace": UNKNOWN_ON_WIRE}, False)
    assert custom(made) == {
        "lab-kubernetes": "kubernetes",
        "lab-flavors-v5e": "ResourceFlavor",
        "lab-queues-vision-train-cluster-queue": "ClusterQueue",
        "lab-queues-vision-train-local-queue/vision/train": "LocalQueue",
    }
    spec = cast("Mapping[str, Any]", made.only_resource("ClusterQueue").inputs["spec"])
    assert spec["cohortName"] == "research"
    (quota,) = [
        each for each in spec["resourceGroups"][0]["flavors"][0]["resources"] if each["name"] == "google.com/tpu"
    ]
    assert quota == {"name": "google.com/tpu", "nominalQuota": "16", "borrowingLimit": "8"}
    metadata = cast("Mapping[str, Any]", made.only_resource("LocalQueue").inputs["metadata"])
    assert metadata["namespace"] is UNKNOWN
    assert (made.exports["clusterQueues"], made.exports["localQueues"]) == (["vision-train"], ["train"])


def test_flavors_that_another_owner_creates() -> None:
    made = component("TeamQueues", {**QUEUES, "createFlavors": False})
    assert "ResourceFlavor" not in custom(made).values()


def test_a_team_without_queues() -> None:
    args = {
        "name": "vision",
        "project": "acme-ml",
        "groups": ["vision@acme.example"],
        **REACHED,
    }
    made = component("Team", args, False)
    kinds = custom(made)
    assert {"Namespace", "NetworkPolicy", "RoleBinding", "ClusterRole", "ServiceAccount"} <= set(kinds.values())
    assert made.exports["namespaces"] == ["vision"]
    bound = component("Team", {**args, "createRoles": False}, False)
    assert "ClusterRole" not in custom(bound).values() and "RoleBinding" in custom(bound).values()


def test_workloads_of_a_team() -> None:
    args = {
        "fleet": {**SMALL, "name": "lab"},
        "team": "vision",
        "kubeconfig": UNKNOWN_ON_WIRE,
        "workloads": {"train": {"queue": "train", "image": "us-docker.pkg.dev/acme/train:1", "slices": 2.0}},
    }
    made = component("TeamWorkloads", args, name="jobs")
    job = made.only_resource("JobSet")
    assert (job.name, cast("Mapping[str, Any]", job.inputs["metadata"])["namespace"]) == ("jobs-train-jobset", "vision")
    assert made.exports == {"namespace": "vision", "workloads": ["train"]}


@pytest.mark.parametrize(
    ("live", "message"),
    [
        ({"version": 2, "teams": {}}, "was deployed without team 'vision'; update it first"),
        ({"version": 1.0}, "exports version 1 of its outputs for teams, but this Berth needs version 2"),
    ],
)
def test_workloads_wait_until_the_fleet_has_the_team(live: object, message: str) -> None:
    workloads = {"train": {"queue": "train", "image": "us-docker.pkg.dev/acme/train:1"}}
    args = {
        "fleet": {**SMALL, "name": "lab"},
        "team": "vision",
        **REACHED,
        "workloads": workloads,
    }
    (line,) = refused("TeamWorkloads", {**args, "platform": live})
    assert line.startswith("platform: ") and message in line


# --- bad input --------------------------------------------------------------------------------------------------------


def test_a_fault_is_the_line_of_a_stack_file_with_the_path_of_the_argument() -> None:
    bad = {
        **SMALL,
        "pools": {
            "v5e": {**POOL, "slices": 3, "topologie": "2x4"},
            "l4": {"machineType": "g2-standard-24", "nodes": 1.5},
        },
    }
    lines = refused("Fleet", bad)
    evaluation = evaluate_values("lab", bad)
    assert lines == without_codes([each.line_without_severity() for each in evaluation.faults])
    assert "pools.v5e.topologie: unknown key 'topologie'; did you mean 'topology'?" in lines
    assert "pools.l4.nodes: '1.5' is a number; write a whole number, or {min: 1, max: 24}" in lines


FAULTS: Mapping[str, tuple[str, Mapping[str, Any], list[str]]] = {
    "an output where the plan needs a value": (
        "Fleet",
        {**SMALL, "pools": {"v5e": {**POOL, "zone": UNKNOWN_ON_WIRE}}, "labels": output_value({})},
        [
            f"{path}: is an output of a resource or a secret, and the plan is made before either is known; "
            "write a plain value"
            for path in ("labels", "pools.v5e.zone")
        ],
    ),
    "an asset": (
        "Team",
        {"labels": {"a": {SIGNATURE: "c44067f5952c0a294b673a41bacd8c17", "text": "x"}}},
        ["labels.a: is a StringAsset; write a plain value"],
    ),
    "a misspelt argument": (
        "Cluster",
        {"project": "acme-ml", "region": "us-central1", "releasechannel": "rapid"},
        ["releasechannel: unknown key 'releasechannel'; did you mean 'releaseChannel'?"],
    ),
    "an argument of a fleet's pool": (
        "NodePool",
        {**POOL_ARGS, "computeClass": "x"},
        ["computeClass: unknown key 'computeClass'; docs/reference.md lists the arguments of NodePool"],
    ),
    "no argument at all": (
        "Reservation",
        {},
        [
            *(f"{key}: is missing; Reservation needs it" for key in ("machineType", "project", "zone")),
            "count: is missing; write count: 4",
        ],
    ),
    "another type": ("Team", {"name": 3.0}, ["name: '3' has another type; write text"]),
    "a topology that does not exist": (
        "NodePool",
        {**POOL_ARGS, "topology": "3x3"},
        ["topology: '3x3' is not a v5e slice of ct5lp-hightpu-4t; write one of 2x2, 2x4, 4x4, 4x8, 8x8, 8x16, 16x16"],
    ),
    "two sources of machines": (
        "NodePool",
        {**POOL_ARGS, "reservation": "held", "capacity": "spot"},
        ["capacity: a reservation is given too, and is where the machines come from; remove one of the two"],
    ),
    "what needs objects in the cluster": (
        "NodePool",
        {**{k: v for k, v in POOL_ARGS.items() if k not in ("topology", "slices")}}
        | {"machineType": "a3-highgpu-8g", "nodes": 2.0, "networking": "gpudirect"},
        [
            "networking: 'gpudirect' needs objects inside the cluster, which only a Fleet creates; "
            "remove it, or use a Fleet"
        ],
    ),
    "a pool that is not described": (
        "TeamQueues",
        {**QUEUES, "queues": {"train": {"flavors": [{"pool": "v5", "guaranteed": 8.0}]}}},
        ["queues.train.flavors[0].pool: no pool 'v5'; did you mean 'v5e'?"],
    ),
    "another backend": (
        "Fleet",
        {"ack": {"region": "cn-hangzhou"}},
        [
            "ack: unknown key 'ack'; docs/reference.md lists the arguments of Fleet",
            "project: is missing; write project: acme-ml-dev",
            "region: is missing; write region: us-central1",
        ],
    ),
    "a misspelt argument that is required": (
        "Reservation",
        {"project": "acme-ml", "machinetype": "g2-standard-24", "zone": "us-central1-a", "count": 4.0},
        ["machinetype: unknown key 'machinetype'; did you mean 'machineType'?"],
    ),
    "workloads of a fleet on another cloud": (
        "TeamWorkloads",
        {"fleet": {"name": "lab", "ack": {}}, "team": "vision"},
        ["fleet.ack: the package contains fleets on Google Cloud; deploy a fleet on Alibaba Cloud from a stack file"],
    ),
    "team files": (
        "Fleet",
        {**SMALL, "teamFiles": ["teams/*.yaml"]},
        ["teamFiles: unknown key 'teamFiles'; did you mean 'teams'?"],
    ),
    "a fault in the defaults of teams, once": (
        "Fleet",
        {**SMALL, "teamDefaults": {"chort": "research"}, "teams": {"vision": {}, "speech": {}}},
        [
            "teamDefaults.chort: no cohort 'research'; write it under cohorts",
            "teamDefaults.chort: unknown key 'chort'; did you mean 'cohort'?",
        ],
    ),
    "workloads of a faulty fleet": (
        "TeamWorkloads",
        {"fleet": {"name": "lab", "project": "acme-ml"}, "team": "Vision"},
        [
            "fleet.region: is missing; write region: us-central1",
            "team: 'Vision' is not a DNS label: lower-case letters, digits and '-', at most 63 characters; "
            "write 'vision'",
        ],
    ),
    "workloads of a fleet without a name": (
        "TeamWorkloads",
        {"fleet": {"project": "acme-ml", "region": "us-central1"}, "team": "vision"},
        ["fleet.name: is missing; write the name that the Fleet has"],
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_one_error_with_all_of_them(case: str) -> None:
    kind, args, lines = FAULTS[case]
    assert refused(kind, args) == lines


def test_numbers_without_a_fraction_are_integers_at_any_depth() -> None:
    """Protobuf has no integers: a toleration of 1.5 seconds arrives as it is, 8.0 slices as 8."""
    pool = {**POOL, "slices": {"max": 8.0}}
    (line,) = refused("Fleet", {**SMALL, "pools": {"v5e": {**pool, "maxPodsPerNode": 1.5}}})
    assert line == "pools.v5e.maxPodsPerNode: '1.5' is a number, but must be a whole number"
    plan = cast("Mapping[str, Any]", component("Fleet", {**SMALL, "pools": {"v5e": pool}}).exports["plan"])
    assert plan["pools"][0]["slices"] == 8


def test_nothing_is_registered_for_faulty_arguments() -> None:
    refused("Fleet", {"project": "acme-ml"})
    assert component("Reservation", RESERVED, beside=True).resources[0].type == "berth:index:Reservation"


RESERVED = {"project": "acme-ml", "machineType": "g2-standard-24", "zone": "us-central1-a", "count": 4.0}
