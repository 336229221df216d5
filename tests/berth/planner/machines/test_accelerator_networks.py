"""Networks of accelerators, drivers and disks, from a stack file to what Google and the cluster are asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from ipaddress import ip_network
from itertools import combinations
from typing import Any, cast

import pulumi_kubernetes as kubernetes
import pytest
from jsonschema import Draft202012Validator

from berth import catalog
from berth.google import node_pool as google
from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from berth.plan.gke import NodePoolPlan
from berth.plan.installers import RDMA_ARM64_IMAGE, RDMA_IMAGE
from berth.plan.node_settings import SURGE_ONE, Bounds, NodeNetworkPlan
from berth.spec.machines.pools import LocalSsdSpec
from stacks.platform import build_platform
from tests.engine import PREFIXED_TYPES, Run, both_modes, broken_rules, run
from tests.small_fleets import (
    REMOVED,
    ZONE,
    faults,
    fleet_of_pools,
    fleet_with,
    own_cluster,
    own_network,
    plan,
    warnings,
)

HELD = {"existing": True, "name": "held", "zone": ZONE}


def gpus(machine: str, **more: Any) -> dict[str, Any]:
    """A GPU pool of two nodes in one zone."""
    return {"machineType": machine, "nodes": 2, "zone": ZONE, **more}


MEGA = fleet_of_pools({"mega": gpus("a3-megagpu-8g", networking="gpudirect", localSsd={"block": 16})})
HIGH = fleet_of_pools({"high": gpus("a3-highgpu-8g", networking="gpudirect", compactPlacement=True)})
DRANET = fleet_of_pools(
    {
        "b200": gpus("a4-highgpu-8g", networking="dranet", capacity="spot"),
        "v6e": {
            "machineType": "ct6e-standard-4t",
            "topology": "4x4",
            "slices": 1,
            "zone": ZONE,
            "networking": "dranet",
        },
    }
)
RDMA = fleet_of_pools(
    {
        "a": gpus("a3-ultragpu-8g", networking="gpudirect", capacity="spot"),
        "b": gpus("a4-highgpu-8g", networking="gpudirect", capacity="spot", zone="us-central1-b"),
    }
)
DOMAIN = fleet_of_pools(
    {"gb200": gpus("a4x-highgpu-4g", capacity={"reservation": "r"}, networking="dranet")},
    reservations={"r": {"machineType": "a4x-highgpu-4g", "count": 2, **HELD}},
)
FALCON = fleet_of_pools(
    {
        "h4d": gpus("h4d-standard-192", networking="rdma", acceptZone=True),
        "h200": gpus("a3-ultragpu-8g", networking="gpudirect", capacity="spot"),
    }
)
DRIVERS = fleet_of_pools({"l4": gpus("g2-standard-24", driverVersion="disabled")})
FLEETS = {
    "tcpx": HIGH,
    "tcpxo": MEGA,
    "rdma": RDMA,
    "falcon": FALCON,
    "dranet": DRANET,
    "domain": DOMAIN,
    "drivers": DRIVERS,
}

every_fleet = pytest.mark.parametrize("fleet", FLEETS.values(), ids=list(FLEETS))


def only(fleet: dict[str, Any]) -> NodePoolPlan:
    """The one node pool of a fleet of one pool."""
    ((each,),) = (pool.node_pools for pool in plan(fleet).pools)
    return each


def registered(fleet: dict[str, Any], preview: bool = False) -> Run:
    """The whole program of a fleet, run once for all tests that read it."""
    return _registered(json.dumps(fleet), preview)


@cache
def _registered(fleet: str, preview: bool) -> Run:
    document = plan(json.loads(fleet))
    return run(lambda: build_platform(document), preview)


def node_pool(done: Run, name: str) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", done.only_resource("container/nodePool:NodePool", f"{name}-pool").inputs)


def interfaces(result: FleetPlan) -> list[tuple[str, str, str]]:
    """Network, subnetwork and device of every interface."""
    return [
        (vpc.name, subnet.name, subnet.device)
        for networks in result.accelerator_networks
        for vpc in networks.vpcs
        for subnet in vpc.subnets
    ]


# --- whole programs ---------------------------------------------------------------------------------------------------


@both_modes
@every_fleet
def test_a_fleet_with_networks_or_drivers_keeps_the_rules_of_every_component(
    fleet: dict[str, Any], preview: bool
) -> None:
    done = registered(fleet, preview)
    assert broken_rules(done, PREFIXED_TYPES) == []
    cluster = done.only_resource("container/cluster:Cluster").inputs
    assert cluster["datapathProvider"] == "ADVANCED_DATAPATH"
    assert cluster.get("enableMultiNetworking") == (True if interfaces(plan(fleet)) else None)


@both_modes
@pytest.mark.parametrize(("fleet", "kind", "count"), [(HIGH, "tcpx", 4), (MEGA, "tcpxo", 8)], ids=["tcpx", "tcpxo"])
def test_tcpx_is_4_networks_and_tcpxo_8(fleet: dict[str, Any], kind: str, count: int, preview: bool) -> None:
    """Each a VPC of its own; the pool waits for all of them, and pods find them by their names."""
    done = registered(fleet, preview)
    (pool,) = (p for p in done.resources_of("container/nodePool:NodePool") if p.name != "system-pool")
    named = [f"test-{kind}-{number}" for number in range(1, count + 1)]
    assert cast(Any, pool.inputs["networkConfig"])["additionalNodeNetworkConfigs"] == [
        {"network": name, "subnetwork": name} for name in named
    ]
    subnets = [one for one in done.resources_of("compute/subnetwork:Subnetwork") if one.inputs["name"] in named]
    assert {one.urn for one in subnets} <= set(pool.property_dependencies["networkConfig"])
    assert (
        len(done.resources_of("GKENetworkParamSet")) == len(done.resources_of("networking.gke.io/v1:Network")) == count
    )
    daemon_sets = {cast(Any, one.inputs["metadata"])["name"] for one in done.resources_of("apps/v1:DaemonSet")}
    assert daemon_sets == {f"nccl-{kind}-installer", "device-injector"}


def test_rdma_is_one_gvnic_network_and_eight_of_the_zone_s_profile() -> None:
    """A set for each zone; a flavor selects the zone, because pods name networks of one."""
    fleet_plan = plan(RDMA)
    for networks, zone in zip(fleet_plan.accelerator_networks, ("us-central1-a", "us-central1-b"), strict=True):
        gvnic, rdma = networks.vpcs
        assert (gvnic.profile, len(gvnic.subnets), len(rdma.subnets)) == (None, 1, 8)
        assert rdma.profile == f"projects/acme-ml-dev/global/networkProfiles/{zone}-vpc-roce"
        assert {subnet.device_mode for subnet in rdma.subnets} == {"RDMA"}
    zones = {flavor.name: flavor.node_labels["topology.kubernetes.io/zone"] for flavor in fleet_plan.flavors}
    assert zones == {"a": "us-central1-a", "b": "us-central1-b"}


@both_modes
def test_falcon_is_one_network_of_the_zone_s_profile(preview: bool) -> None:
    """It has no gVNIC of its own and no plugin of NCCL, and its range is none of the zone's GPUs."""
    done = registered(FALCON, preview)
    assert node_pool(done, "h4d")["networkConfig"]["additionalNodeNetworkConfigs"] == [
        {"network": "test-falcon-a", "subnetwork": "test-falcon-a-0"}
    ]
    profiles = {
        one.inputs["name"]: (one.inputs.get("networkProfile"), one.inputs.get("mtu"))
        for one in done.resources_of("compute/network:Network")
    }
    assert profiles["test-falcon-a"] == (f"projects/acme-ml-dev/global/networkProfiles/{ZONE}-vpc-falcon", 8896)
    networks = {networks.key: networks for networks in plan(FALCON).accelerator_networks}
    alone = plan(fleet_of_pools({"h4d": gpus("h4d-standard-192", networking="rdma", acceptZone=True)}))
    assert alone.accelerator_networks == (networks["falcon-a"],)
    assert alone.installers is None
    ranges = [ip_network(s.ip_range) for n in networks.values() for v in n.vpcs for s in v.subnets]
    assert len(ranges) == 1 + 9
    assert not [pair for pair in combinations(ranges, 2) if pair[0].overlaps(pair[1])]


@both_modes
def test_dranet_excludes_additional_networks(preview: bool) -> None:
    """GKE makes the networks: no VPC, no object, no multi-networking; GPUs and TPUs alike."""
    done = registered(DRANET, preview)
    for name in ("b200", "v6e-1"):
        config = node_pool(done, name)["networkConfig"]
        assert config == {"acceleratorNetworkProfile": "auto", "enablePrivateNodes": True}
        assert node_pool(done, name)["nodeConfig"]["labels"]["cloud.google.com/gke-networking-dra-driver"] == "true"
    assert [one.name for one in done.resources_of("compute/network:Network")] == ["network-vpc"]
    assert done.resources_of("GKENetworkParamSet") == []
    labels = [flavor.node_labels for flavor in plan(DRANET).flavors]
    assert all(each["cloud.google.com/gke-networking-dra-driver"] == "true" for each in labels)


def test_pools_of_one_kind_and_zone_share_networks() -> None:
    shared = fleet_of_pools(
        {n: gpus("a3-megagpu-8g", networking="gpudirect", capacity=n) for n in ("on-demand", "spot")}
    )
    fleet_plan = plan(shared)
    (networks,) = fleet_plan.accelerator_networks
    assert fleet_plan.pools_on(networks.key) == ("on-demand", "spot")


def test_tpus_have_the_node_s_own_network_unless_they_ask_for_the_profile() -> None:
    """Their pods then run with hostNetwork."""
    pool = {"machineType": "ct6e-standard-4t", "topology": "2x2", "slices": 1, "zone": ZONE}
    assert only(fleet_of_pools({"v6e": pool})).network == NodeNetworkPlan()
    request = only(fleet_of_pools({"v6e": {**pool, "networking": "dranet"}})).network
    assert request == NodeNetworkPlan(private_nodes=True, accelerator_profile="auto")


# --- ranges -----------------------------------------------------------------------------------------------------------

EVERY_SET = fleet_of_pools(
    {
        "high": gpus("a3-highgpu-8g", networking="gpudirect"),
        "mega": gpus("a3-megagpu-8g", networking="gpudirect"),
        **{
            f"ultra-{letter}": gpus(
                "a3-ultragpu-8g", networking="gpudirect", capacity="spot", zone=f"us-central1-{letter}"
            )
            for letter in ("a", "b", "f", "ai1a")
        },
    }
)


def test_ranges_of_accelerators_overlap_neither_each_other_nor_the_cluster_s() -> None:
    fleet_plan = plan(EVERY_SET)
    network, control = own_network(own_cluster(fleet_plan)), own_cluster(fleet_plan).control_plane
    cluster = [network.node_range, network.pod_range, network.service_range, control.ip_range or ""]
    ranges = [s.ip_range for n in fleet_plan.accelerator_networks for v in n.vpcs for s in v.subnets]
    assert len(ranges) == 4 + 8 + 4 * 9
    assert not [pair for pair in combinations(cluster + ranges, 2) if ip_network(pair[0]).overlaps(ip_network(pair[1]))]
    devices = [device for *_, device in interfaces(fleet_plan)]
    assert len(set(devices)) == len(devices)


def test_adding_or_removing_a_set_renumbers_no_other() -> None:
    """Another range would be another subnet, and every pool in it would be replaced."""
    alone = {n.key: n for fleet in (HIGH, MEGA, RDMA) for n in plan(fleet).accelerator_networks}
    together = {n.key: n for n in plan(EVERY_SET).accelerator_networks}
    assert set(alone) <= set(together) and all(together[key] == networks for key, networks in alone.items())


def test_the_range_of_accelerators_can_be_moved_and_a_fleet_without_any_does_not_mind_it() -> None:
    key = {"cluster.network.acceleratorCidrBlock": "192.168.0.0/16"}
    fleet_plan = plan(fleet_with(key, base=MEGA))
    assert {ip_network(v.subnets[0].ip_range).prefixlen for n in fleet_plan.accelerator_networks for v in n.vpcs} == {
        26
    }
    assert all(
        s.ip_range.startswith("192.168.") for n in fleet_plan.accelerator_networks for v in n.vpcs for s in v.subnets
    )
    over_pods = {"cluster.network.acceleratorCidrBlock": "10.64.0.0/11"}
    assert faults(fleet_with(over_pods, base=DRIVERS)) == []
    assert faults(fleet_with(over_pods, base=MEGA)) == ["overlapping-ranges cluster.network.acceleratorCidrBlock"]


def test_the_mtu_of_the_network_matches_the_stack_file() -> None:
    assert own_network(own_cluster(plan(MEGA))).mtu is None
    assert own_network(own_cluster(plan(fleet_with({"cluster.network.mtu": 8244}, base=MEGA)))).mtu == 8244


def test_multi_networking_stays_on_if_stated() -> None:
    """A cluster cannot be switched over: without this, the last such pool would take the cluster with it."""
    assert not own_cluster(plan(DRIVERS)).multi_networking
    assert own_cluster(plan(fleet_with({"cluster.multiNetworking": True}, base=DRIVERS))).multi_networking


# --- drivers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "driver_version"), [(None, "DEFAULT"), ("latest", "LATEST"), ("disabled", "INSTALLATION_DISABLED")]
)
def test_a_driver_is_gke_s_unless_it_is_disabled(written: str | None, driver_version: str) -> None:
    fleet = fleet_of_pools({"l4": gpus("g2-standard-24", **({"driverVersion": written} if written else {}))})
    made = google.node_pool(only(fleet), cluster="c", location="l", service_account="n")
    (gpu,) = made.arguments["node_config"]["guest_accelerators"]
    assert gpu["gpu_driver_installation_config"] == {"gpu_driver_version": driver_version}
    installers = plan(fleet).installers
    assert (installers is not None and installers.driver is not None) == (written == "disabled")


def test_installers_have_the_configured_images_and_driver() -> None:
    values = {"driverVersion": "580.65.06", "images": {"driver": "mirror/driver", "pause": "mirror/pause"}}
    installers = plan(fleet_with({"cluster.gpuInstallers": values}, base=DRIVERS)).installers
    assert installers is not None and installers.driver is not None
    driver = installers.driver
    assert (driver.version, driver.image, driver.pause_image) == ("580.65.06", "mirror/driver", "mirror/pause")


def test_nccl_s_plugin_is_of_the_machine_s_architecture_with_dranet_too() -> None:
    images = {name: [n.image for n in (plan(fleet).installers or pytest.fail()).nccl]
              for name, fleet in (("rdma", RDMA), ("dranet", DRANET), ("domain", DOMAIN))}  # fmt: skip
    assert images == {"rdma": [RDMA_IMAGE], "dranet": [RDMA_IMAGE], "domain": [RDMA_ARM64_IMAGE]}


# --- every machine ----------------------------------------------------------------------------------------------------

CURRENT = [m for m in catalog.machines().values() if m.kind == "gpu" and m.status != "unsupported"]
WITH_NETWORKS = [m for m in CURRENT if m.additional_networks]


def fleet_of(name: str, **more: Any) -> dict[str, Any]:
    """Two nodes of a machine: spot, or reserved if it is available only by reservation."""
    ways = catalog.machines()[name].provisioning.offered_models
    capacity = {"capacity": "spot"} if "spot" in ways else {"capacity": {"reservation": "r"}}
    held = (
        {} if "spot" in ways else {"reservations": {"r": {"machineType": name, "count": 2, "acceptZone": True, **HELD}}}
    )
    return fleet_of_pools({"p": gpus(name, **capacity, **more)}, **held)


@pytest.mark.parametrize("machine", CURRENT, ids=lambda m: m.name)
def test_the_boot_disk_is_of_the_family(machine: catalog.Machine) -> None:
    """Second way: what each family is known to need, by the beginning of its name."""
    newer = machine.name.startswith(("a3-ultragpu", "a4", "g4"))
    assert only(fleet_of(machine.name)).settings.disk_type == ("hyperdisk-balanced" if newer else "pd-balanced")


@pytest.mark.parametrize("name", ["ct5lp-hightpu-4t", "ct5p-hightpu-4t", "ct6e-standard-4t", "tpu7x-standard-4t"])
def test_the_boot_disk_of_a_tpu_is_of_its_generation(name: str) -> None:
    topology = catalog.machines()[name].single_host_topology
    pool = {"machineType": name, "topology": topology, "slices": 1, "zone": ZONE}
    newer = name.startswith(("ct6e", "tpu7x"))
    assert only(fleet_of_pools({"p": pool})).settings.disk_type == ("hyperdisk-balanced" if newer else "pd-balanced")


@pytest.mark.parametrize("machine", WITH_NETWORKS, ids=lambda m: m.name)
def test_networks_go_with_compact_placement_and_every_choice_of_local_ssds(machine: catalog.Machine) -> None:
    """SSDs that come with a machine are said to be raw or ephemeral, or not mentioned and then let be."""
    near = fleet_of(machine.name, networking="gpudirect", compactPlacement=True)
    result = only(near)
    assert result.placement is not None
    assert len(result.network.interfaces) == machine.additional_networks
    assert result.attached_ssds == bool(machine.ssd_automatic)
    count = machine.ssd_automatic
    for use in ("ephemeral", "block") if count else ():
        text = only(fleet_of(machine.name, networking="gpudirect", localSsd={use: count})).settings.local_ssd
        assert text == LocalSsdSpec.model_validate({use: count})


@pytest.mark.parametrize("machine", [m for m in CURRENT if m.ssd_options], ids=lambda m: m.name)
def test_chosen_local_ssds_are_requested_from_google(machine: catalog.Machine) -> None:
    for count in machine.ssd_options:
        result = only(fleet_of(machine.name, localSsd={"ephemeral": count}))
        assert (result.settings.local_ssd, result.attached_ssds) == (
            LocalSsdSpec.model_construct(ephemeral=count),
            False,
        )


@pytest.mark.parametrize("machine", CURRENT, ids=lambda m: m.name)
def test_compact_gpus_have_one_zone_and_the_maximum_of_their_family(
    machine: catalog.Machine,
) -> None:
    if not machine.compact_max_nodes:
        return
    near = fleet_of(machine.name, compactPlacement=True)
    result = only(near)
    assert (len(result.zones), result.settings.surge) == (1, SURGE_ONE)
    assert result.placement is not None
    assert "compact-zones pools.p.zones" in faults(
        fleet_with({"pools.p.zone": REMOVED, "pools.p.zones": [ZONE, "us-central1-b"]}, base=near)
    )
    assert "compact-nodes pools.p.nodes" in faults(
        fleet_with({"pools.p.nodes": machine.compact_max_nodes + 1}, base=near)
    )


@pytest.mark.parametrize("machine", [m for m in CURRENT if m.supports_dws], ids=lambda m: m.name)
@pytest.mark.parametrize("capacity", ["flex-start", "queued"])
def test_gpus_of_dws_scale_from_zero_in_any_zone_unrepaired_and_unreserved(
    machine: catalog.Machine, capacity: str
) -> None:
    more: dict[str, Any] = {"networking": "gpudirect"} if machine.additional_networks else {}
    result = only(fleet_of_pools({"p": gpus(machine.name, capacity=capacity, **more) | {"nodes": {"max": 4}}}))
    assert (result.total_nodes, result.nodes_per_zone, result.zone_nodes) == (Bounds(min=0, max=4), None, None)
    assert (result.location_policy, result.auto_repair, result.settings.surge) == ("ANY", False, None)
    assert (result.spot, result.reservation, result.affinity) == (False, None, None)
    assert (result.labels.get("cloud.google.com/gke-queued") == "true") == (capacity == "queued")


@pytest.mark.parametrize("name", ["a3-edgegpu-8g", "a3-edgegpu-8g-nolssd"])
@pytest.mark.parametrize("capacity", ["flex-start", "queued"])
def test_the_edge_machine_has_no_dws(name: str, capacity: str) -> None:
    fleet = fleet_of_pools({"p": gpus(name, capacity=capacity) | {"nodes": {"max": 4}}})
    assert "capacity-not-offered pools.p.capacity" in faults(fleet)


@pytest.mark.parametrize("machine", CURRENT, ids=lambda m: m.name)
@pytest.mark.parametrize("capacity", ["flex-start", "queued"])
def test_compact_dws_gpus_are_only_a3_ultra_and_a4(machine: catalog.Machine, capacity: str) -> None:
    """Of these only with flex-start: GPU queued provisioning with COMPACT is rejected."""
    if not (machine.supports_dws and machine.compact_max_nodes):
        return
    pool = gpus(machine.name, capacity=capacity, compactPlacement=True) | {"nodes": {"max": 4}}
    fine = machine.name.startswith(("a3-ultragpu", "a4-")) and capacity == "flex-start"
    assert (faults(fleet_of_pools({"p": pool})) == []) == fine


# --- objects ----------------------------------------------------------------------------------------------------------


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": list(required), "additionalProperties": False,
    }  # fmt: skip


TEXT = {"type": "string", "minLength": 1}
SPECS = {
    "Network": _object(
        ("type",),
        type={"enum": ["L2", "L3", "Device"]},
        parametersRef=_object(("group", "kind", "name"), group=TEXT, kind=TEXT, name=TEXT, namespace=TEXT),
    ),
    "GKENetworkParamSet": _object(
        ("vpc", "vpcSubnet"), vpc=TEXT, vpcSubnet=TEXT, deviceMode={"enum": ["DPDK-VFIO", "NetDevice", "RDMA"]}
    ),
}
"""What GKE's networking API (v1) takes of each kind that is rendered, strictly."""


@every_fleet
def test_network_objects_match_gkes_api(fleet: dict[str, Any]) -> None:
    values = [m for m in all_manifests(plan(fleet)) if m["apiVersion"] == "networking.gke.io/v1"]
    assert len(values) == 2 * len(interfaces(plan(fleet)))
    for manifest in values:
        assert list(Draft202012Validator(SPECS[str(manifest["kind"])]).iter_errors(cast(Any, manifest["spec"]))) == []


@every_fleet
def test_daemon_sets_have_no_field_that_kubernetes_does_not_know(fleet: dict[str, Any]) -> None:
    """By the provider's own types, which raise at a misspelt one."""
    for manifest in all_manifests(plan(fleet)):
        if manifest["kind"] != "DaemonSet":
            continue
        pod = cast(Any, manifest["spec"])["template"]["spec"]
        _known(kubernetes.core.v1.PodSpecArgs, pod)
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            _known(kubernetes.core.v1.ContainerArgs, container)
        for volume in pod["volumes"]:
            _known(kubernetes.core.v1.VolumeArgs, volume)


def _known(kind: type, value: Mapping[str, Any]) -> None:
    """Every key of the value is an argument of the provider's type."""
    fields = {name.replace("_", "").lower() for name in dir(kind)}
    assert {key for key in value if key.lower() not in fields} == set()


def test_rendered_network_parameters_precede_networks_and_queues() -> None:
    kinds = [str(m["kind"]) for m in all_manifests(plan(MEGA))]
    assert kinds[:2] == ["GKENetworkParamSet", "Network"]
    assert kinds.index("DaemonSet") < kinds.index("Namespace")


def test_pools_that_ask_for_none_bring_no_networks_and_no_installers() -> None:
    fleet_plan = plan(fleet_of_pools({"l4": gpus("g2-standard-24")}))
    assert (fleet_plan.accelerator_networks, fleet_plan.installers) == ((), None)


def test_an_own_gpu_driver_is_a_warning() -> None:
    """GKE's metrics of GPUs need GKE's driver."""
    assert "driver-dcgm pools.l4.driverVersion" in warnings(DRIVERS)
