"""Components with arguments of their own, as a program without a stack file uses them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pulumi
import pulumi_gcp as gcp
import pulumi_kubernetes as kubernetes
import pytest
from pulumi.output import Unknown

from berth.engine import Preview, ProgramError
from berth.engine import record_program as run_offline
from berth.evaluate import evaluate_values
from berth.google.cluster import cluster as google_cluster
from berth.google.monitoring import alert_policy, dashboard
from berth.google.node_pool import node_pool
from berth.manifests.monitoring import monitoring_manifests
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.plan.monitoring import MonitoringPlan
from berth.registration import provider_inputs
from components.arguments.base import ComponentArguments
from components.arguments.cluster import ClusterArgs
from components.arguments.controllers import ControllersArgs
from components.arguments.flavors import FlavorsArgs
from components.arguments.network import NetworkArgs
from components.arguments.node_pool import NodePoolArgs
from components.arguments.priorities import PrioritiesArgs
from components.arguments.reservation import ReservationArgs
from components.arguments.team import TeamArgs
from components.arguments.team_queues import TeamQueuesArgs
from components.arguments.views import ViewsArgs
from components.gke.cluster import Cluster
from components.gke.network import Network
from components.gke.node_pool import NodePool
from components.gke.reservation import Reservation
from components.kueue.controllers import Controllers
from components.kueue.flavors import Flavors
from components.kueue.priorities import Priorities
from components.kueue.team_queues import TeamQueues
from components.monitoring.collection import Collection
from components.monitoring.views import Views
from components.tenancy.team import Team
from tests.engine import UNKNOWN

ZONE = "us-central1-a"
SLICES: Mapping[str, Any] = {"machine_type": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 3, "zone": ZONE}
GPUS: Mapping[str, Any] = {"machine_type": "g2-standard-24", "nodes": 4, "zone": ZONE}


def registered(build: Callable[[pulumi.ResourceOptions], object], preview: bool = False) -> Preview:
    """What a program registers, with a Google provider in the options of its components."""

    def program() -> None:
        build(pulumi.ResourceOptions(providers=[gcp.Provider("google", project="acme-ml")]))

    return run_offline(program, project="mine", stack="dev", config={}, preview=preview)


def refused(build: Callable[[pulumi.ResourceOptions], object]) -> list[str]:
    """The lines of the error in which a program ends."""
    with pytest.raises(ProgramError) as caught:
        registered(build)
    assert isinstance(caught.value.__cause__, pulumi.RunError)
    return str(caught.value.__cause__).splitlines()


def pools(result: Preview) -> dict[str, Mapping[str, Any]]:
    return {each.name: each.inputs for each in result.resources if each.type == "gcp:container/nodePool:NodePool"}


def test_the_slices_of_a_pool_are_node_pools_below_one_component() -> None:
    result = registered(lambda opts: NodePool("v5e", NodePoolArgs(**SLICES, cluster="theirs"), opts=opts))
    (component,) = [each for each in result.resources if each.type == "berth:gke:NodePool"]
    children = [each for each in result.resources if each.parent == component.urn]
    assert sorted(each.name for each in children) == ["v5e-1-pool", "v5e-2-pool", "v5e-3-pool"]
    assert {(each.inputs["cluster"], each.inputs["location"]) for each in children} == {("theirs", "us-central1")}
    assert all(each.protect for each in children)


@pytest.mark.parametrize(
    "pool",
    [
        GPUS,
        SLICES,
        {**GPUS, "capacity": "spot"},
        {"machine_type": "a3-highgpu-8g", "nodes": {"max": 8}, "zone": ZONE, "compact_placement": True},
        {**GPUS, "gpu_sharing": {"max_shared_clients": 4}, "taints": [{"key": "a.example/b", "value": "c"}]},
        {**GPUS, "node_system_config": {"kubelet": {"pod_pids_limit": 4096}, "hugepages": {"size_2m": 1024}}},
    ],
    ids=["gpus", "slices", "spot", "policy", "sharing", "system"],
)
def test_everything_is_derived_as_in_a_stack_file(pool: Mapping[str, Any]) -> None:
    """The same pool of a fleet is registered with the same inputs, but for its cluster and its account."""
    mine = pools(registered(lambda opts: NodePool("lab", NodePoolArgs(**pool, cluster="lab"), opts=opts)))
    written = NodePoolArgs(**pool, cluster="lab").given("lab").plain
    fleet = {"project": "acme-ml", "region": "us-central1", "pools": {"lab": written}}
    plan = evaluate_values("lab", fleet).fleet_plan
    assert plan is not None
    theirs = [
        provider_inputs(node_pool(each, cluster="lab", location="us-central1", service_account=None).arguments)
        for each in plan.pools[0].node_pools
    ]
    assert [*mine.values()] == theirs


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
def test_a_reservation_of_which_only_an_output_is_known_is_consumed(preview: bool) -> None:
    """Nobody knows how many machines it has, so that no count is checked."""

    def build(opts: pulumi.ResourceOptions) -> None:
        held = Reservation(
            "held",
            ReservationArgs(project="acme-ml", machine_type="g2-standard-24", zone=ZONE, count=1),
            opts=opts,
        )
        pool = NodePool("l4", NodePoolArgs(**GPUS, cluster="theirs", reservation=held.reservation_name), opts=opts)
        pulumi.export("labels", pool.node_labels)

    result = registered(build, preview)
    held = next(each for each in result.resources if each.type == "gcp:compute/reservation:Reservation")
    pool = next(each for each in result.resources if each.type == "gcp:container/nodePool:NodePool")
    assert (held.name, held.inputs["name"], held.inputs["project"]) == ("held-reservation", "held", "acme-ml")
    assert held.urn in pool.dependencies
    affinity = cast("Mapping[str, Any]", pool.inputs["nodeConfig"])["reservationAffinity"]
    assert affinity["consumeReservationType"] == "SPECIFIC_RESERVATION"
    assert affinity["values"] == ["held"] or affinity["values"] == [UNKNOWN]
    # A surge node would wait forever for a machine of the reservation.
    assert pool.inputs["upgradeSettings"] == {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}
    labels = cast("Mapping[str, Any]", result.exports["labels"])
    assert labels["cloud.google.com/reservation-name"] in ("held", UNKNOWN)


def test_a_reservation_that_begins_later_is_requested() -> None:
    future = {"start": "2027-01-10T00:00:00Z", "end": "2027-03-01T00:00:00Z"}
    machines = {"machine_type": "a3-highgpu-8g", "zone": ZONE, "count": 4}
    result = registered(
        lambda opts: Reservation("h", ReservationArgs(project="acme-ml", **machines, future=future), opts=opts)
    )
    assert result.resources[-1].type == "gcp:compute/futureReservation:FutureReservation"


def test_a_component_in_the_place_of_its_output_is_a_fault() -> None:
    def build(opts: pulumi.ResourceOptions) -> None:
        machines: dict[str, Any] = {"machine_type": "g2-standard-24", "zone": ZONE}
        held: Any = Reservation("held", ReservationArgs(project="acme-ml", **machines, count=1), opts=opts)
        number: Any = 7
        NodePool("l4", NodePoolArgs(**GPUS, cluster=number, reservation=held), opts=opts)

    assert refused(build) == [
        "NodePool 'l4' is refused:",
        "cluster: '7' has another type; write text, or an output [bad-type]",
        "reservation: is a Reservation; write one of its outputs [bad-type]",
    ]


_LIVE = [
    ("cluster", "Big Cluster", "'Big Cluster' is something else; write the name of a GKE cluster"),
    ("cluster", "", "is empty; write the name of a GKE cluster"),
    ("location", "eu", "'eu' is something else; write a region such as us-central1"),
    ("location", "europe-west4", "the cluster is in europe-west4, and zone is 'us-central1-a'; write a zone of europe"),
    (
        "cluster",
        "projects/acme-ml/locations/us-east1/clusters/lab",
        "the cluster is in us-east1, and zone is 'us-central1-a'; write a zone of us-east1",
    ),
    ("node_service_account", "nodes", "'nodes' is something else; write the e-mail address of a Google service"),
    ("reservation", "[held]", "'[held]' is something else; write the name of a reservation"),
]


@pytest.mark.parametrize("as_output", [False, True], ids=["plain", "output"])
@pytest.mark.parametrize(("key", "value", "told"), _LIVE)
def test_an_argument_that_may_be_an_output_is_checked_when_it_is_known(
    key: str, value: str, told: str, *, as_output: bool
) -> None:
    """An output is checked in the moment in which it is known, and nothing is made of a wrong one."""

    def build(opts: pulumi.ResourceOptions) -> None:
        given: Any = pulumi.Output.from_input(value) if as_output else value
        NodePool("l4", NodePoolArgs(**{**GPUS, "cluster": "lab", key: given}), opts=opts)

    first, line, *_ = refused(build)
    assert first == "NodePool 'l4' is refused:"
    assert line.startswith(f"{key}: {told}")


def test_a_number_that_an_output_becomes_is_refused() -> None:
    number: Any = 3

    def build(opts: pulumi.ResourceOptions) -> None:
        NodePool("l4", NodePoolArgs(**GPUS, cluster=pulumi.Output.from_input(number)), opts=opts)

    assert refused(build)[1].startswith("cluster: '3' is something else; write the name of a GKE cluster")


def test_a_namespace_of_queues_is_checked_when_it_is_known() -> None:
    queues: dict[str, Any] = {"q": {"flavors": [{"pool": "l4", "guaranteed": "all"}]}}

    def build(opts: pulumi.ResourceOptions) -> None:
        namespace = pulumi.Output.from_input("Vision")
        args = TeamQueuesArgs(team="vision", queues=queues, pools={"l4": dict(GPUS)}, namespace=namespace)
        TeamQueues("vision", args, opts=opts)

    assert refused(build)[1].startswith("namespace: 'Vision' is something else; write the name of a namespace")


def test_a_zonal_cluster_has_its_nodes_in_its_zone() -> None:
    pool = {key: value for key, value in GPUS.items() if key != "zone"}
    result = pools(registered(lambda opts: NodePool("l4", NodePoolArgs(**pool, cluster="c", location=ZONE), opts=opts)))
    assert (result["l4-pool"]["location"], result["l4-pool"]["nodeLocations"]) == (ZONE, [ZONE])


def test_a_transform_of_the_options_sets_what_berth_does_not_know() -> None:
    """The engine calls those of `transforms`, and the SDK those of `transformations`; both get every child."""

    def with_version(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if args.type_ != "gcp:container/nodePool:NodePool":
            return None
        return pulumi.ResourceTransformationResult({**args.props, "version": "1.35.1-gke.1"}, args.opts)

    def build(opts: pulumi.ResourceOptions) -> None:
        opts.transformations = [with_version]
        NodePool("l4", NodePoolArgs(**GPUS, cluster="c"), opts=opts)

    assert pools(registered(build))["l4-pool"]["version"] == "1.35.1-gke.1"


def test_faults_are_one_error_with_every_line_as_python_spells_the_arguments() -> None:
    arguments: dict[str, Any] = {
        "machine_typ": "ct5lp-hightpu-4t",
        "slices": "3",
        "zone": Unknown(),
        "gpu_sharing": {"max_shared_client": 2},
        "compactPlacement": True,
        "protect": "yes",
    }
    assert refused(lambda opts: NodePool("v5e", NodePoolArgs(**arguments), opts=opts)) == [
        "NodePool 'v5e' is refused:",
        "machine_typ: unknown argument; did you mean 'machine_type'? [unknown-key]",
        "compactPlacement: unknown argument; did you mean 'compact_placement'? [unknown-key]",
        "zone: is an output of a resource or a secret, and the plan is made before either is known; "
        "write a plain value [bad-type]",
        "protect: 'yes' has another type; write True or False [bad-type]",
        "cluster: is missing; NodePool needs it [missing-key]",
        "slices: '3' is text; write 3 without quotes [bad-type]",
        "gpu_sharing.max_shared_client: unknown key 'max_shared_client'; did you mean 'max_shared_clients'? "
        "[unknown-key]",
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({**SLICES, "topology": "3x3"}, "topology: '3x3' is not a v5e slice of ct5lp-hightpu-4t; write one of "),
        (
            {"machine_type": "g2-standard-24", "nodes": {"max": 4}},
            "location: is missing; write the region of the cluster, or its zone",
        ),
        (
            {**GPUS, "capacity": "spot", "reservation": "held"},
            "capacity: a reservation is given too, and is where the machines come from; remove one of the two",
        ),
        ({**GPUS, "driver_version": "disabled"}, "driver_version: 'disabled' needs objects inside the cluster, "),
    ],
)
def test_a_fault_of_the_plan_is_a_line(arguments: Mapping[str, Any], line: str) -> None:
    _, *lines = refused(lambda opts: NodePool("lab", NodePoolArgs(**arguments, cluster="c"), opts=opts))
    assert any(each.startswith(line) for each in lines), lines


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({**GPUS, "zone": "us-central1"}, "zone: 'us-central1' is not a zone such as us-central1-a [bad-value]"),
        ({**GPUS, "zone": "us-central-1a"}, "zone: 'us-central-1a' is not a zone such as us-central1-a [bad-value]"),
        (
            {**SLICES, "zone": None},
            "zones: a slice of 2 hosts is in exactly one zone, but none is named; write one zone [slice-zone]",
        ),
        (
            {**GPUS, "location": "US"},
            "location: 'US' is something else; write a region such as us-central1, or a zone of it [bad-type]",
        ),
        (
            {**GPUS, "zone": None, "location": pulumi.Output.from_input("us-central1")},
            "zones: a fixed number of nodes needs zones; write the zones of the nodes, or nodes: {max: 4} [bad-zone]",
        ),
        (
            {**GPUS, "gpu_sharing": ["x"]},
            "gpu_sharing: '[x]' is a list, but must be a mapping; write {max_shared_clients: 4} [bad-type]",
        ),
        ({**GPUS, "nodes": None, "node_count": 4}, "node_count: unknown argument; write nodes: 4 (a total over all z"),
        ({**GPUS, "spot": True}, "spot: unknown argument; write capacity: spot [unknown-key]"),
        (
            {**GPUS, "machine_type": None, "instance_type": "g2-standard-24"},
            "instance_type: unknown argument; write machine_type: g2-standard-24 [unknown-key]",
        ),
    ],
)
def test_one_mistake_is_one_line(arguments: Mapping[str, Any], line: str) -> None:
    first, *lines = refused(lambda opts: NodePool("lab", NodePoolArgs(**arguments, cluster="c"), opts=opts))
    assert (first, len(lines)) == ("NodePool 'lab' is refused:", 1), lines
    assert lines[0].startswith(line)


def test_the_name_of_an_argument_stands_in_place_of_the_key_of_a_stack_file() -> None:
    queues: dict[str, Any] = {"q": {"flavors": [{"pool": "l4", "guaranteed": "all"}]}}
    args = TeamQueuesArgs(team="Vision", cohort="", queues=queues, pools={"l4": dict(GPUS)})
    _, *lines = refused(lambda opts: TeamQueues("vision", args, opts=opts))
    assert [line.partition(":")[0] for line in lines] == ["cohort", "team"]
    network = NetworkArgs(region="us-central1", name="", pod_cidr_block="10.40.0.0/13")
    _, *lines = refused(lambda opts: Network("net", network, opts=opts))
    assert lines[0].startswith("name: '' is not a name of a VPC: lower-case letters")
    assert lines[1].startswith("pod_cidr_block: '10.40.0.0/13' overlaps 10.40.0.0/22 of node_cidr_block; write ")


@pytest.mark.parametrize("slices", [0, [], {"min": 0, "max": 2}])
def test_a_pool_may_have_no_slices(slices: Any) -> None:
    """A number that comes from config may be 0: there is no node pool, and no crash."""

    def build(opts: pulumi.ResourceOptions) -> None:
        pool = NodePool("v5e", NodePoolArgs(**{**SLICES, "slices": slices}, cluster="c"), opts=opts)
        pulumi.export("first", pool.pool_name)
        pulumi.export("names", pool.pool_names)

    made = registered(build)
    names = cast("list[str]", made.exports["names"])
    assert len(pools(made)) == len(names) == (2 if isinstance(slices, dict) else 0)
    assert made.exports.get("first") == (names[0] if names else None)


def test_a_reservation_of_any_owner_may_be_written_as_the_capacity() -> None:
    named = {**GPUS, "capacity": {"reservation": "held"}}
    mine = pools(registered(lambda opts: NodePool("l4", NodePoolArgs(**named, cluster="c"), opts=opts)))
    other = {**GPUS, "reservation": "held"}
    assert mine == pools(registered(lambda opts: NodePool("l4", NodePoolArgs(**other, cluster="c"), opts=opts)))


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
def test_a_key_and_a_project_may_be_outputs(preview: bool) -> None:
    """As they are known, they are what the stack file's rules say; in a preview nothing is decided of them."""
    key, project = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/disks", "acme-ml"

    def build(opts: pulumi.ResourceOptions) -> None:
        made = gcp.storage.Bucket("made", location="US")
        live: Any = {name: made.url.apply(lambda _, value=value: value) for name, value in values.items()}
        NodePool("l4", NodePoolArgs(**GPUS, cluster="c", **live), opts=opts)
        live.pop("project")
        arguments = ClusterArgs(
            project=project, region="us-central1", network="n", subnetwork="s", node_service_account="default", **live
        )
        Cluster("lab", arguments, opts=opts)

    values = {"boot_disk_kms_key": key, "project": project}
    made = {each.name: each.inputs for each in registered(build, preview).resources}
    shown = [UNKNOWN, UNKNOWN] if preview else [key, project]
    of_pool = made["l4-pool"]
    assert [cast("Any", of_pool["nodeConfig"])["bootDiskKmsKey"], of_pool["project"]] == shown
    assert cast("Any", made["lab-cluster"]["nodeConfig"])["bootDiskKmsKey"] == shown[0]
    if not preview:
        values["boot_disk_kms_key"] = "disks"
        _, line = refused(build)
        assert line.startswith("boot_disk_kms_key: 'disks' is something else; write the name of a key of Cloud KMS")


# --- clusters, queues and teams ---------------------------------------------------------------------------------------


def test_a_cluster_in_a_network_is_that_of_a_stack_file() -> None:
    """But for the account of its nodes and the labels, all inputs are those that a fleet registers."""

    def build(opts: pulumi.ResourceOptions) -> None:
        network = Network("lab", NetworkArgs(region="us-central1", pod_cidr_block="10.64.0.0/16"), opts=opts)
        cluster = Cluster(
            "lab",
            ClusterArgs(
                project="acme-ml",
                region="us-central1",
                network=network.network,
                subnetwork=network.subnetwork,
                node_service_account="nodes@acme-ml.iam.gserviceaccount.com",
                release_channel="rapid",
                control_plane={"gcp_public_cidrs_access": True, "cidr_block": "172.16.0.32/28"},
            ),
            opts=opts,
        )
        pulumi.export("kubeconfig", cluster.kubeconfig)

    result = registered(build)
    made = {each.name: each for each in result.resources if each.type.startswith("gcp:")}
    assert made.keys() == {"lab-vpc", "lab-subnet", "lab-router", "lab-nat", "lab-cluster"}
    control_plane = {"gcpPublicCidrsAccess": True, "cidrBlock": "172.16.0.32/28"}
    settings = {"releaseChannel": "rapid", "controlPlane": control_plane}
    written = {"project": "acme-ml", "region": "us-central1", "cluster": settings}
    plan = evaluate_values("lab", written).fleet_plan
    assert plan is not None and isinstance(plan.cluster, ClusterPlan)
    theirs = provider_inputs(
        google_cluster(
            plan.cluster,
            network="of the Network",
            subnetwork="of the Network",
            node_service_account="nodes@acme-ml.iam.gserviceaccount.com",
        ).arguments
    )
    mine = made["lab-cluster"].inputs
    assert {key: mine[key] for key in mine if key not in ("network", "subnetwork")} == {
        key: theirs[key] for key in theirs if key not in ("network", "subnetwork")
    }
    assert made["lab-subnet"].inputs["secondaryIpRanges"] == [
        {"rangeName": "pods", "ipCidrRange": "10.64.0.0/16"},
        {"rangeName": "services", "ipCidrRange": "10.44.0.0/20"},
    ]
    assert [each.text for each in result.messages] == [
        "control_plane: the control plane is open to every address; write authorized_networks, or "
        "public_endpoint: false [open-control-plane]"
    ]


def test_a_cluster_in_a_subnet_of_others_names_its_ranges() -> None:
    arguments = ClusterArgs(
        project="acme-ml",
        region="us-central1",
        network="projects/net/global/networks/shared",
        subnetwork="projects/net/regions/us-central1/subnetworks/ml",
        node_service_account="nodes@acme-ml.iam.gserviceaccount.com",
        pod_range_name="ml-pods",
        service_range_name="ml-services",
    )
    result = registered(lambda opts: Cluster("lab", arguments, opts=opts))
    (cluster,) = [each.inputs for each in result.resources if each.type == "gcp:container/cluster:Cluster"]
    # With a range of its own the control plane would need a firewall rule in the network of others.
    assert "masterIpv4CidrBlock" not in cast("Mapping[str, Any]", cluster["privateClusterConfig"])
    assert cluster["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "ml-pods",
        "servicesSecondaryRangeName": "ml-services",
    }


DESCRIBED: Mapping[str, Any] = {
    "v5e": {"machine_type": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 3, "capacity": {"reservation": "held"}}
}


def inside(build: Callable[[pulumi.ResourceOptions], object]) -> dict[str, Any]:
    """The Kubernetes objects that a program registers in a cluster, by name."""

    def program() -> None:
        build(pulumi.ResourceOptions(providers=[kubernetes.Provider("theirs"), gcp.Provider("google")]))

    resources = run_offline(program, project="mine", stack="dev", config={}, preview=False).resources
    return {each.name: each.inputs for each in resources if each.custom and not each.type.startswith("pulumi:")}


def test_flavors_select_and_tolerate_the_nodes_of_a_pool_of_the_same_description() -> None:
    objects = inside(lambda opts: Flavors("flavors", FlavorsArgs(pools=DESCRIBED), opts=opts))
    arguments = NodePoolArgs(**SLICES, cluster="c", reservation="held")
    pool = pools(registered(lambda opts: NodePool("v5e", arguments, opts=opts)))
    (taint,) = pool["v5e-1-pool"]["nodeConfig"]["taints"]
    spec = objects["flavors-v5e"]["spec"]
    assert spec["nodeLabels"]["cloud.google.com/reservation-name"] == "held"
    assert (taint["key"], taint["value"]) in {(each["key"], each.get("value")) for each in spec["tolerations"]}


def test_queues_of_a_team() -> None:
    def build(opts: pulumi.ResourceOptions) -> None:
        flavors = Flavors("flavors", FlavorsArgs(pools=DESCRIBED), opts=opts)
        train = {"flavors": [{"pool": "v5e", "guaranteed": "2 slices"}], "queueing_strategy": "StrictFIFO"}
        arguments = TeamQueuesArgs(
            team="vision",
            cohort="research",
            namespace=pulumi.Output.from_input("theirs"),
            pools=DESCRIBED,
            queues={"train": train},
        )
        TeamQueues("queues", arguments, flavors=flavors.objects, opts=opts)

    objects = inside(build)
    queue = objects["queues-vision-train-cluster-queue"]["spec"]
    assert (queue["cohortName"], queue["queueingStrategy"]) == ("research", "StrictFIFO")
    assert queue["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": "theirs"}}
    assert objects["queues-vision-train-local-queue/vision/train"]["metadata"]["namespace"] == "theirs"


def test_queues_that_promise_more_than_the_pools_have_are_refused() -> None:
    queues = {"train": {"flavors": [{"pool": "v5e", "guaranteed": "4 slices"}]}}
    arguments = TeamQueuesArgs(team="vision", pools=DESCRIBED, queues=queues)
    _, line = refused(lambda opts: TeamQueues("queues", arguments, opts=opts))
    assert line.startswith("queues.train.flavors[0].guaranteed: ")


def releases(arguments: ControllersArgs, **options: Any) -> list[tuple[str, Mapping[str, Any], Sequence[str]]]:
    """Name, inputs and dependencies of the releases, in the order of their registration."""
    result = registered(lambda opts: Controllers("lab", arguments, opts=opts, **options))
    return [(each.name, each.inputs, each.dependencies) for each in result.resources if each.type.endswith(":Release")]


def configuration(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    return json.loads(inputs["values"]["managerConfig"]["controllerManagerConfigYaml"])


def test_kueue_is_installed_after_jobset_as_in_a_fleet_but_for_the_namespaces_of_teams() -> None:
    fleet = evaluate_values("lab", {"project": "acme-ml", "region": "us-central1", "pools": {"l4": GPUS}}).fleet_plan
    assert fleet is not None
    (jobset, jobset_inputs, _), (kueue, inputs, dependencies) = releases(ControllersArgs())
    assert (jobset, kueue) == ("lab-jobset", "lab-kueue")
    assert any(urn.endswith("::lab-jobset") for urn in dependencies)
    theirs = {each.name: each for each in fleet.charts}
    for each in (jobset_inputs, inputs):
        mine = theirs[each["name"]]
        assert (each["chart"], each["version"], each["namespace"]) == (mine.chart, mine.version, mine.namespace)
    own, of_fleet = configuration(inputs), configuration({"values": theirs["kueue"].values})
    assert {key for key in own.keys() | of_fleet.keys() if own.get(key) != of_fleet.get(key)} == {
        "manageJobsWithoutQueueName",
        "managedJobsNamespaceSelector",
    }
    # A selector by the label of Berth's teams would leave jobs of every other namespace suspended forever.
    assert (own["manageJobsWithoutQueueName"], own.get("managedJobsNamespaceSelector")) == (False, None)


def test_kueue_counts_the_devices_of_pools_that_name_a_reservation_and_is_sized_for_their_nodes() -> None:
    pool = {
        "machine_type": "a4-highgpu-8g",
        "nodes": 1000,
        "zone": "us-central1-b",
        "networking": "dranet",
        "capacity": {"reservation": "theirs"},
    }
    (_, inputs, _), (_, small, _) = (releases(ControllersArgs(pools=each))[1] for each in ({"b200": pool}, {}))
    assert configuration(inputs)["resources"]["deviceClassMappings"] == [
        {"name": "mrdma.google.com/devices", "deviceClassNames": ["mrdma.google.com"]}
    ]
    memory = [
        each["values"]["controllerManager"]["manager"]["resources"]["limits"]["memory"] for each in (inputs, small)
    ]
    assert memory == ["4Gi", "1Gi"]


def test_an_installed_controller_is_left_alone_and_a_mirror_is_used() -> None:
    (kueue,) = releases(ControllersArgs(kueue={"chart": "oci://mirror/kueue"}, jobset={"existing": True}))
    assert (kueue[0], kueue[1]["chart"]) == ("lab-kueue", "oci://mirror/kueue")
    (jobset,) = releases(ControllersArgs(kueue={"existing": True}))
    assert jobset[0] == "lab-jobset"


_HOLDS: Mapping[str, Any] = {"manage_jobs_without_queue_name": True}


@pytest.mark.parametrize(
    ("kueue", "line"),
    [
        (_HOLDS, "kueue.managed_jobs_namespace_selector: is missing; without it Kueue would hold the jobs of every "),
        ({"version": "0.9.1"}, "kueue.version: "),
        ({"feature_gates": {"TopologyAwareSchedulin": True}}, "kueue.feature_gates.TopologyAwareSchedulin: "),
        ({"version": "0.15.3", "feature_gates": {"KueueDRAIntegration": True}}, "kueue.feature_gates.KueueDRAInt"),
        ({"integrations": {"frameworks": ["batch/jobs"]}}, "kueue.integrations.frameworks[0]: "),
        ({"managed_jobs_namespace_selector": {"match_labels": {}}}, "kueue.managed_jobs_namespace_selector: "),
        ({"fair_sharin": {}}, "kueue.fair_sharin: unknown key 'fair_sharin'; did you mean 'fair_sharing'?"),
    ],
)
def test_what_kueue_would_refuse_is_a_fault_of_its_component(kueue: Mapping[str, Any], line: str) -> None:
    first, *lines = refused(lambda opts: Controllers("lab", ControllersArgs(kueue=kueue), opts=opts))
    assert (first, len(lines)) == ("Controllers 'lab' is refused:", 1)
    assert lines[0].startswith(line), lines


def test_jobs_without_a_queue_name_are_held_in_the_namespaces_of_a_selector() -> None:
    selected = {**_HOLDS, "managed_jobs_namespace_selector": {"match_labels": {"team": "vision"}}}
    _, (_, inputs, _) = releases(ControllersArgs(kueue=selected))
    assert configuration(inputs)["manageJobsWithoutQueueName"] is True
    assert configuration(inputs)["managedJobsNamespaceSelector"] == {"matchLabels": {"team": "vision"}}


def test_priorities_are_a_class_for_pods_and_one_for_workloads() -> None:
    arguments = PrioritiesArgs(priorities={"low": {"value": 10}, "high": {"value": 100, "preempts": False}})
    objects = inside(lambda opts: Priorities("lab", arguments, opts=opts))
    assert {name: (each["kind"], each["value"]) for name, each in objects.items()} == {
        "lab-pod-low": ("PriorityClass", 10),
        "lab-workload-low": ("WorkloadPriorityClass", 10),
        "lab-pod-high": ("PriorityClass", 100),
        "lab-workload-high": ("WorkloadPriorityClass", 100),
    }
    assert objects["lab-pod-high"]["preemptionPolicy"] == "Never"


def test_priorities_are_refused_with_every_fault() -> None:
    wrong = {"system-x": {"value": 1, "default": True}, "low": {"value": 2, "default": True}}
    _, *lines = refused(lambda opts: Priorities("lab", PrioritiesArgs(priorities=wrong), opts=opts))
    assert [line.partition(": ")[0] for line in lines] == ["priorities.low.default", "priorities.system-x"]


VIEWS: Mapping[str, Any] = {
    "cluster": "lab",
    "project": "acme-ml",
    "pools": {"v5e": SLICES, "l4": {**GPUS, "capacity": "spot"}},
    "kueue": {"metrics": {"enable_cluster_queue_resources": True}},
    "cohorts": {"research": {}},
    "teams": {
        "vision": {"cohort": "research", "queues": {"train": {"flavors": [{"pool": "v5e", "guaranteed": "2 slices"}]}}},
        "speech": {"cohort": "research", "queues": {"train": {"flavors": [{"pool": "l4", "guaranteed": "4 nodes"}]}}},
    },
    "alerts": {"slow-admission": {"limit": 3600}, "memory-full": False},
    "prices": {"currency": "USD", "hourly": {"v5e": 1.2}},
}
CHANNEL = "projects/acme-ml/notificationChannels/1"


def test_an_unknown_argument_has_the_name_that_is_written() -> None:
    """Also one that is called as the part of a fleet that the component is."""
    more: Any = {"monitoring": {"backend": "none"}}
    lines = refused(lambda opts: Views("mine", ViewsArgs(**VIEWS, **more), opts=opts))
    assert lines[1:] == ["monitoring: unknown argument; ViewsArgs lists what there is [unknown-key]"]
    where = {"project": "acme-ml", "region": "us-central1", "network": "theirs", "subnetwork": "theirs"}
    cluster: Any = {**where, "node_service_account": "nodes@acme-ml.iam.gserviceaccount.com", "cluster": "lab"}
    lines = refused(lambda opts: Cluster("mine", ClusterArgs(**cluster), opts=opts))
    assert lines[1:] == ["cluster: unknown argument; ClusterArgs lists what there is [unknown-key]"]


def fleet_of_views(**more: Any) -> tuple[FleetPlan, MonitoringPlan]:
    """The plan of a fleet with the same pools, teams and settings, and its monitoring."""
    written = dict(ViewsArgs(**VIEWS, **more).given("mine").plain)
    watched = {key: written.pop(key) for key in ("alerts", "prices")}
    fleet = {**written, "region": "us-central1", "cluster": {"name": written.pop("cluster")}, "monitoring": watched}
    plan = evaluate_values("lab", fleet).fleet_plan
    assert plan is not None
    assert plan.monitoring is not None
    return plan, plan.monitoring


@pytest.mark.parametrize("preview", [True, False], ids=["preview", "update"])
def test_views_are_those_of_a_fleet_and_notify_channels_that_are_outputs(preview: bool) -> None:
    def build(opts: pulumi.ResourceOptions) -> None:
        channels = [pulumi.Output.from_input(CHANNEL), CHANNEL[:-1] + "2"]
        Views("mine", ViewsArgs(**VIEWS, labels={"cost": "ml"}, notification_channels=channels), opts=opts)

    plan, monitoring = fleet_of_views(labels={"cost": "ml"})
    theirs = monitoring.managed
    assert theirs is not None
    channels = [CHANNEL, CHANNEL[:-1] + "2"]
    made = {
        **{f"mine-{each.key}-dashboard": dashboard(each, stack="lab", project="acme-ml") for each in theirs.dashboards},
        **{
            f"mine-{each.key}-alert": alert_policy(
                each, stack="lab", project="acme-ml", labels=plan.labels, channels=channels
            )
            for each in theirs.alerts
        },
    }
    registered_views = registered(build, preview).resources[3:]
    assert {each.name: each.inputs for each in registered_views} == {
        name: provider_inputs(each.arguments) for name, each in made.items()
    }
    assert "mine-memory-full-alert" not in made
    assert "mine-queues-dashboard" in made


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            {"machine_typ": "ct5lp-hightpu-4", "topology": "2x4", "zone": ZONE, "clustr": "theirs"},
            [
                "machine_typ: unknown argument; did you mean 'machine_type'?",
                "clustr: unknown argument; did you mean 'cluster'?",
                "machine_typ: no accelerator machine type 'ct5lp-hightpu-4'; did you mean 'ct5lp-hightpu-4t'?",
            ],
        ),
        (
            {**GPUS, "zone": "us-central1-x", "quickly": True},
            [
                "quickly: unknown argument; NodePoolArgs lists what there is",
                "cluster: is missing; NodePool needs it",
                "zone: 'us-central1-x' is not in Berth's table of regions and zones",
            ],
        ),
        (
            {**GPUS, "cluster": "theirs", "max_pods_per_node": "many", "disk_typ": "hyperdisk-balanced"},
            [
                "disk_typ: unknown argument; did you mean 'disk_type'?",
                "max_pods_per_node: 'many' has another type; write a whole number",
                "disk_typ: 'hyperdisk-balanced' is not a boot disk of g2-standard-24",
            ],
        ),
    ],
    ids=["misspelt", "unknown and missing", "bad value"],
)
def test_a_mistake_hides_no_other_one(arguments: Mapping[str, Any], lines: Sequence[str]) -> None:
    found = refused(lambda opts: NodePool("mine", NodePoolArgs(**arguments), opts=opts))[1:]
    assert [each[: len(line)] for each, line in zip(found, lines, strict=True)] == lines


def test_the_arguments_of_views_collect_what_a_fleet_collects() -> None:
    def build(opts: pulumi.ResourceOptions) -> None:
        del opts
        reached = kubernetes.Provider("kubernetes", kubeconfig="{}")
        Collection("mine", ViewsArgs(**VIEWS), opts=pulumi.ResourceOptions(provider=reached))

    _, monitoring = fleet_of_views()
    made = [cast("Any", each.inputs) for each in registered(build).resources if each.type.startswith("kubernetes:")]
    expected = [cast("Any", each) for each in monitoring_manifests(monitoring, "lab")]
    assert {(each["kind"], each["metadata"]["name"]) for each in made} == {
        (each["kind"], each["metadata"]["name"]) for each in expected
    }
    rules = [each["spec"] for each in made if each["kind"] == "ClusterRules"]
    assert rules == [each["spec"] for each in expected if each["kind"] == "ClusterRules"] != []


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"cluster": ""}, "cluster: '' is not the name of a cluster"),
        ({"cluster": 'lab" or true'}, "cluster: 'lab\" or true' is not the name of a cluster"),
        ({"pools": None}, "pools: is missing"),
        ({"pools": []}, "pools: '[]' is a list, but must be a mapping"),
        ({"pools": {**VIEWS["pools"], 7: GPUS}}, "pools[7]: '7' is a number, but must be a pool name"),
    ],
)
def test_views_are_refused_with_one_fault(changed: Mapping[str, Any], line: str) -> None:
    found = refused(lambda opts: Views("mine", ViewsArgs(**{**VIEWS, **changed}), opts=opts))[1:]
    assert [each[: len(line)] for each in found] == [line]


def test_views_are_refused_with_every_fault() -> None:
    wrong = {
        "cluser": "lab",
        "project": "acme-ml",
        "pools": {"v5e": {**SLICES, "machine_type": "ct5lp-hightpu-4"}},
        "alerts": {"slow-admissions": {"limit": 1}},
        "notification_channels": [CHANNEL, "on-call"],
    }
    lines = refused(lambda opts: Views("mine", ViewsArgs(**wrong), opts=opts))
    assert [line.partition(";")[0] for line in lines] == [
        "Views 'mine' is refused:",
        "cluser: unknown argument",
        "notification_channels[1]: 'on-call' is something else",
        "pools.v5e.machine_type: no accelerator machine type 'ct5lp-hightpu-4'",
        "alerts.slow-admissions: no alert 'slow-admissions'",
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_channels_are_checked_when_they_are_known(whole: bool) -> None:
    def build(opts: pulumi.ResourceOptions) -> object:
        output = pulumi.Output.from_input
        channels = output([CHANNEL, "on-call"]) if whole else [CHANNEL, output("on-call")]
        return Views("mine", ViewsArgs(**VIEWS, notification_channels=channels), opts=opts)

    with pytest.raises(ProgramError, match=r"notification_channels\[1\]: 'on-call' is something else"):
        registered(build)


@pytest.mark.parametrize(
    ("channels", "line"),
    [
        (CHANNEL, f"notification_channels: '{CHANNEL}' is no list; write a list, or an output"),
        (
            [CHANNEL, 3],
            "notification_channels[1]: '3' is something else; write the full name of a notification channel",
        ),
    ],
)
def test_channels_that_are_known_are_checked_with_the_other_arguments(channels: Any, line: str) -> None:
    lines = refused(lambda opts: Views("mine", ViewsArgs(**VIEWS, notification_channels=channels), opts=opts))
    assert [each[: len(line)] for each in lines[1:]] == [line]


def test_a_team_with_its_roles() -> None:
    arguments = TeamArgs(groups=["vision@acme.example"], namespace={"name": "vision-jobs"})
    objects = inside(lambda opts: Team("vision", arguments, opts=opts))
    assert objects["vision-namespace"]["metadata"]["name"] == "vision-jobs"
    assert any(name.startswith("vision-access-") for name in objects)
    without = TeamArgs(groups=["vision@acme.example"], create_roles=False)
    assert not any("-access-" in name for name in inside(lambda opts: Team("vision", without, opts=opts)))


def test_objects_of_a_team_start_with_the_name_of_its_component() -> None:
    """Whatever the team is called: another start would delete the namespaces of a deployed one."""
    arguments = TeamArgs(name="vision", namespaces=["vision", "models"])
    for component in ("lab-team", "vision", "revision-2"):
        objects = inside(lambda opts, component=component: Team(component, arguments, opts=opts))
        assert {f"{component}-namespace", f"{component}-namespace/models"} <= objects.keys()
        assert all(name.startswith(f"{component}-") for name in objects)


def test_grants_of_a_team_need_a_project() -> None:
    arguments = TeamArgs(identity={"roles": ["roles/storage.objectViewer"]})
    _, line = refused(lambda opts: Team("vision", arguments, opts=opts))
    assert line == "project: is missing; identity.roles grants permissions in a project [missing-key]"


@pytest.mark.parametrize(
    ("component", "arguments", "line"),
    [
        (Cluster, ClusterArgs, "release_chanel: unknown argument; did you mean 'release_channel'? [unknown-key]"),
        (Network, NetworkArgs, "pod_cidr_blok: unknown argument; did you mean 'pod_cidr_block'? [unknown-key]"),
        (Reservation, ReservationArgs, "machinetype: unknown argument; did you mean 'machine_type'? [unknown-key]"),
        (Flavors, FlavorsArgs, "pool: unknown argument; did you mean 'pools'? [unknown-key]"),
        (Controllers, ControllersArgs, "kueu: unknown argument; did you mean 'kueue'? [unknown-key]"),
        (Priorities, PrioritiesArgs, "prioritie: unknown argument; did you mean 'priorities'? [unknown-key]"),
        (TeamQueues, TeamQueuesArgs, "namespac: unknown argument; did you mean 'namespace'? [unknown-key]"),
        (Team, TeamArgs, "namespacs: unknown argument; did you mean 'namespaces'? [unknown-key]"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_misspelt_argument_is_one_line(component: Any, arguments: Any, line: str) -> None:
    given: dict[str, Any] = {line.partition(":")[0]: "x"}
    assert line in refused(lambda opts: component("lab", arguments(**given), opts=opts))


_COMPONENTS: Sequence[tuple[Any, type[ComponentArguments]]] = [
    (NodePool, NodePoolArgs),
    (Cluster, ClusterArgs),
    (Network, NetworkArgs),
    (Reservation, ReservationArgs),
    (Flavors, FlavorsArgs),
    (Controllers, ControllersArgs),
    (Priorities, PrioritiesArgs),
    (TeamQueues, TeamQueuesArgs),
    (Team, TeamArgs),
]


@pytest.mark.parametrize(("component", "arguments"), _COMPONENTS, ids=lambda each: each.__name__)
def test_a_mapping_is_taken_as_arguments_and_those_of_others_are_refused(
    component: Any, arguments: type[ComponentArguments]
) -> None:
    """Neither is silently a component without resources."""
    wrong = {"labelz": {"a": "b"}}
    as_class = refused(lambda opts: component("lab", arguments(**wrong), opts=opts))
    assert refused(lambda opts: component("lab", wrong, opts=opts)) == as_class
    other: Any = ReservationArgs if arguments is NodePoolArgs else NodePoolArgs
    assert refused(lambda opts: component("lab", other(), opts=opts)) == [
        f"{component.__name__} 'lab' takes {arguments.__name__}, and was given {other.__name__}"
    ]


def test_a_pool_of_a_mapping_is_that_of_its_class() -> None:
    given = {**GPUS, "cluster": "c"}
    mapping: Any = given
    as_class = pools(registered(lambda opts: NodePool("l4", NodePoolArgs(**given), opts=opts)))
    assert pools(registered(lambda opts: NodePool("l4", mapping, opts=opts))) == as_class != {}


CLASSES = (
    NodePoolArgs,
    ReservationArgs,
    ClusterArgs,
    NetworkArgs,
    FlavorsArgs,
    PrioritiesArgs,
    TeamQueuesArgs,
    TeamArgs,
)


def test_every_class_of_arguments_reads_its_fields() -> None:
    """A class without fields, or with types that are not read as live, would let an output into the plan."""
    for arguments in CLASSES:
        assert issubclass(arguments, ComponentArguments) and arguments.types()
    assert [key for key, kind in NodePoolArgs.types().items() if kind.startswith("pulumi.Input")] == [
        "cluster",
        "boot_disk_kms_key",
        "location",
        "node_service_account",
        "project",
        "reservation",
    ]
