"""What Google's and Kubernetes' APIs would answer of a fleet that stands: REST as gcloud prints it, kubectl's JSON.

Written from the plan and from the field names of GKE's and Compute Engine's REST references (v1), by itself: nothing of
the product's reader is used, so that one is held against the other.
"""

from __future__ import annotations

import json
from typing import Any

from berth.manifests.fleet import all_manifests
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, ExistingNetworkPlan, GpuPlan, MaintenancePlan, NodePoolPlan, ReservationPlan
from berth.plan.kueue import ChartPlan

JSON = dict[str, Any]
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
CHOSEN = "abc"
"""The zones that GKE picks where none are named."""


def files(plan: FleetPlan, *, noise: bool = False) -> dict[str, str]:
    """Every answer by the name of its file."""
    here = [n for pool in plan.own_pools for n in pool.node_pools] + ([plan.system_pool] if plan.system_pool else [])
    answers: dict[str, object] = {
        "cluster.json": cluster(plan),
        "node-pools.json": [node_pool(plan, each) for each in here],
        "reservations.json": [reservation(plan, each) for each in plan.reservations],
        "subnets.json": subnetworks(plan),
        "objects.json": {
            "apiVersion": "v1",
            "kind": "List",
            "items": [*objects(plan, noise=noise), *deployments(plan)],
        },
    }
    if noise:
        noisy(answers)
    return {name: json.dumps(answer) for name, answer in answers.items()}


def _path(plan: FleetPlan) -> str:
    return f"https://container.googleapis.com/v1/projects/{plan.project}/locations/{plan.region}/clusters/{home(plan).name}"


def home(plan: FleetPlan) -> ClusterPlan:
    """The cluster of a fleet that makes it."""
    assert isinstance(plan.cluster, ClusterPlan)
    return plan.cluster


def zones_of(plan: FleetPlan, zones: tuple[str, ...]) -> list[str]:
    """Those that are named, or those of the cluster."""
    return list(zones or home(plan).zones or (f"{plan.region}-{letter}" for letter in CHOSEN))


def cluster(plan: FleetPlan) -> JSON:
    """`gcloud container clusters describe --format json`, without its node pools."""
    one = home(plan)
    answer: JSON = {
        "name": one.name,
        "selfLink": _path(plan),
        "location": plan.region,
        "locations": zones_of(plan, ()),
        "status": "RUNNING",
        "currentMasterVersion": f"{'.'.join((one.version or '1.34').split('.')[:2])}.3-gke.1000",
        "releaseChannel": {"channel": one.release_channel},
        "resourceLabels": dict(one.labels),
        "ipAllocationPolicy": {"useIpAliases": True, **_ranges(one)},
        "networkConfig": {"datapathProvider": "ADVANCED_DATAPATH", **_network(plan)},
        "workloadIdentityConfig": {"workloadPool": one.workload_pool},
        "monitoringConfig": {
            "componentConfig": {"enableComponents": list(one.monitoring_components)},
            "managedPrometheusConfig": {"enabled": True},
        },
        "loggingConfig": {"componentConfig": {"enableComponents": list(one.logging_components)}},
        "securityPostureConfig": {"mode": "BASIC"},
        "privateClusterConfig": {
            "enablePrivateNodes": one.control_plane.private_nodes,
            "enablePrivateEndpoint": not one.control_plane.public_endpoint,
            "masterIpv4CidrBlock": one.control_plane.ip_range,
        },
        "addonsConfig": {"gcePersistentDiskCsiDriverConfig": {"enabled": True}, **_drivers(one)},
    }
    answer |= _switches(one)
    if one.mode == "autopilot":
        answer["autopilot"] = {"enabled": True}
    if (networks := one.control_plane.authorized_networks) is not None:
        blocks = [{"displayName": n.name, "cidrBlock": n.cidr} for n in networks]
        google = {"gcpPublicCidrsAccessEnabled": True} if one.control_plane.google_ranges else {}
        answer["masterAuthorizedNetworksConfig"] = {"enabled": True, "cidrBlocks": blocks, **google}
    if one.maintenance:
        answer["maintenancePolicy"] = {"window": _maintenance(one.maintenance)}
    if one.auto_provisioning:
        answer["autoscaling"] = _auto_provisioning(plan)
    return answer


def _switches(one: ClusterPlan) -> JSON:
    answer: JSON = {}
    for field, on in (
        ("shieldedNodes", one.shielded_nodes),
        ("costManagementConfig", one.cost_management),
        ("secretManagerConfig", one.secret_manager),
    ):
        answer |= {field: {"enabled": True}} if on else {}
    if one.image_streaming:
        answer["nodePoolDefaults"] = {"nodeConfigDefaults": {"gcfsConfig": {"enabled": True}}}
    if one.security_group:
        answer["authenticatorGroupsConfig"] = {"enabled": True, "securityGroup": one.security_group}
    if one.confidential_nodes:
        kind = one.confidential_nodes
        answer["confidentialNodes"] = {"enabled": True, "confidentialInstanceType": kind}
    return answer


def _ranges(one: ClusterPlan) -> JSON:
    network = one.network
    named = {
        "clusterSecondaryRangeName": network.pod_range_name,
        "servicesSecondaryRangeName": network.service_range_name,
    }
    if isinstance(network, ExistingNetworkPlan):
        return named
    return named | {"clusterIpv4CidrBlock": network.pod_range, "servicesIpv4CidrBlock": network.service_range}


def _network(plan: FleetPlan) -> JSON:
    one = home(plan).network
    if isinstance(one, ExistingNetworkPlan):
        return {"network": one.network, "subnetwork": one.subnetwork}
    path = f"projects/{plan.project}"
    more = {"enableMultiNetworking": True} if home(plan).multi_networking else {}
    gateway = {"channel": "CHANNEL_STANDARD" if home(plan).gateway_api else "CHANNEL_DISABLED"}
    return {
        "network": f"{path}/global/networks/{one.name}",
        "subnetwork": f"{path}/regions/{one.region}/subnetworks/{one.name}",
        "gatewayApiConfig": gateway,
        **more,
    }


def subnetworks(plan: FleetPlan) -> list[JSON]:
    """`gcloud compute networks subnets list --format json`, of the cluster's own network."""
    one = home(plan).network
    if isinstance(one, ExistingNetworkPlan):
        return []
    ranges = {one.pod_range_name: one.pod_range, one.service_range_name: one.service_range}
    secondary = [{"rangeName": name, "ipCidrRange": block} for name, block in ranges.items()]
    link = f"https://www.googleapis.com/compute/v1/projects/{plan.project}/regions/{one.region}/subnetworks/{one.name}"
    return [{"name": one.name, "ipCidrRange": one.node_range, "secondaryIpRanges": secondary, "selfLink": link}]


def _drivers(one: ClusterPlan) -> JSON:
    names = {
        "gcs-fuse": "gcsFuseCsiDriverConfig",
        "filestore": "gcpFilestoreCsiDriverConfig",
        "parallelstore": "parallelstoreCsiDriverConfig",
        "lustre": "lustreCsiDriverConfig",
    }
    return {names[driver]: {"enabled": True} for driver in one.storage_drivers}


def _maintenance(plan: MaintenancePlan) -> JSON:
    window: JSON = {}
    if plan.daily_start:
        window["dailyMaintenanceWindow"] = {"startTime": plan.daily_start, "duration": "PT4H0M0S"}
    else:
        any_time = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "FREQ=DAILY")
        start, end, rule = (plan.start, plan.end, plan.recurrence) if plan.start else any_time
        window["recurringWindow"] = {"window": {"startTime": start, "endTime": end}, "recurrence": rule}
    window["maintenanceExclusions"] = {
        e.name: {
            "startTime": e.start,
            **({"endTime": e.end} if e.end else {}),
            "maintenanceExclusionOptions": {
                "scope": e.scope,
                **({} if e.end else {"endTimeBehavior": "UNTIL_END_OF_SUPPORT"}),
            },
        }
        for e in plan.exclusions
    }
    return window


def _auto_provisioning(plan: FleetPlan) -> JSON:
    one = home(plan).auto_provisioning
    assert one is not None
    return {
        "enableNodeAutoprovisioning": True,
        "autoscalingProfile": one.profile,
        "resourceLimits": [
            {"resourceType": each.resource, "minimum": str(each.minimum), "maximum": str(each.maximum)}
            for each in one.limits
        ],
        "autoprovisioningLocations": zones_of(plan, one.zones),
        "autoprovisioningNodePoolDefaults": {
            "diskType": one.disk_type,
            "diskSizeGb": one.disk_size_gb or 100,
            "management": {k: True for k, on in (("autoRepair", one.auto_repair), ("autoUpgrade", True)) if on},
            "shieldedInstanceConfig": {"enableSecureBoot": one.secure_boot, "enableIntegrityMonitoring": True},
        },
    }


# --- node pools -------------------------------------------------------------------------------------------------------


def node_pool(plan: FleetPlan, one: NodePoolPlan) -> JSON:
    """One of `gcloud container node-pools list --format json`."""
    answer: JSON = {
        "name": one.name,
        "selfLink": f"{_path(plan)}/nodePools/{one.name}",
        "locations": zones_of(plan, one.zones),
        "initialNodeCount": one.nodes_per_zone or 0,
        "status": "RUNNING",
        "config": _config(plan, one),
        "management": {k: True for k, on in (("autoRepair", _repaired(one)), ("autoUpgrade", one.auto_upgrade)) if on},
        "maxPodsConstraint": {"maxPodsPerNode": str(one.max_pods_per_node or 110)},
    }
    if scaled := one.zone_nodes or (one.total_nodes if one.slice_topology else None):
        limits = {"minNodeCount": scaled.min, "maxNodeCount": scaled.max}
        answer["autoscaling"] = {"enabled": True, **{k: v for k, v in limits.items() if v}}
    elif one.total_nodes:
        limits = {"totalMinNodeCount": one.total_nodes.min, "totalMaxNodeCount": one.total_nodes.max}
        answer["autoscaling"] = {"enabled": True, **{k: v for k, v in limits.items() if v}}
    if "autoscaling" in answer:
        answer["autoscaling"]["locationPolicy"] = one.location_policy
    return answer | _placement(one) | _upgrades(one) | _networks(one)


def _repaired(one: NodePoolPlan) -> bool:
    return one.auto_repair and not one.short_lived


def _config(plan: FleetPlan, one: NodePoolPlan) -> JSON:
    config: JSON = {
        "machineType": one.machine_type,
        "diskType": one.disk_type,
        "diskSizeGb": one.disk_size_gb,
        "imageType": one.image_type or "COS_CONTAINERD",
        "labels": dict(one.labels),
        "taints": [
            {"key": t.key, "value": t.value, "effect": _EFFECTS[t.effect]} for t in one.taints
        ],
        "serviceAccount": home(plan).node_service_account.email,
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "shieldedInstanceConfig": {
            k: True for k, on in (("enableSecureBoot", one.secure_boot), ("enableIntegrityMonitoring", True)) if on
        },
        "reservationAffinity": _affinity(one),
    }  # fmt: skip
    switches = {
        "spot": one.spot,
        "flexStart": one.flex_start,
        "maxRunDuration": f"{one.max_run_seconds}s" if one.max_run_seconds else None,
    }
    config |= {key: value for key, value in switches.items() if value}
    config |= {"gvnic": {"enabled": True}} if one.gvnic else {}
    config |= {"gcfsConfig": {"enabled": True}} if one.image_streaming else {}
    config |= {"accelerators": [_gpu(one.gpu)]} if one.gpu else {}
    if one.local_ssd and one.local_ssd.ephemeral:
        config["ephemeralStorageLocalSsdConfig"] = {"localSsdCount": one.local_ssd.ephemeral}
    if one.local_ssd and one.local_ssd.block:
        config["localNvmeSsdBlockConfig"] = {"localSsdCount": one.local_ssd.block}
    if one.confidential:
        config["confidentialNodes"] = {"enabled": True, "confidentialInstanceType": one.confidential}
    return config


def _gpu(gpu: GpuPlan) -> JSON:
    answer: JSON = {
        "acceleratorType": gpu.type,
        "acceleratorCount": str(gpu.count),
        "gpuDriverInstallationConfig": {"gpuDriverVersion": gpu.driver_version},
    }
    answer |= {"gpuPartitionSize": gpu.partition_size} if gpu.partition_size else {}
    if gpu.sharing:
        clients = str(gpu.sharing.clients)
        answer["gpuSharingConfig"] = {
            "gpuSharingStrategy": gpu.sharing.strategy,
            "maxSharedClientsPerGpu": clients,
        }
    return answer


def _affinity(one: NodePoolPlan) -> JSON:
    if one.reservation is None:
        return {"consumeReservationType": one.affinity or "NO_RESERVATION"}
    return {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [one.reservation],
    }


def _placement(one: NodePoolPlan) -> JSON:
    queued = {"queuedProvisioning": {"enabled": True}} if one.queued else {}
    if one.placement:
        said = {
            "type": one.placement.type,
            "policyName": one.placement.policy,
            "tpuTopology": one.placement.tpu_topology,
        }
        return queued | {"placementPolicy": {k: v for k, v in said.items() if v}}
    return queued | (
        {"placementPolicy": {"type": "COMPACT", "tpuTopology": one.slice_topology}} if one.slice_topology else {}
    )


def _upgrades(one: NodePoolPlan) -> JSON:
    if one.short_lived and one.upgrade is None:
        return {"upgradeSettings": {"strategy": "SHORT_LIVED"}}
    in_place = one.slice_topology is not None or one.reservation is not None
    surge, away = (
        (one.upgrade.max_surge, one.upgrade.max_unavailable) if one.upgrade else (0, 1) if in_place else (1, 0)
    )
    counts = {k: v for k, v in (("maxSurge", surge), ("maxUnavailable", away)) if v}
    return {"upgradeSettings": {"strategy": "SURGE", **counts}}


def _networks(one: NodePoolPlan) -> JSON:
    config: JSON = {"enablePrivateNodes": one.network.private_nodes is not False}
    if one.network.interfaces:
        config["additionalNodeNetworkConfigs"] = [
            {"network": each.network, "subnetwork": each.subnetwork} for each in one.network.interfaces
        ]
    if one.network.accelerator_profile:
        config["acceleratorNetworkProfile"] = one.network.accelerator_profile
    return {"networkConfig": config}


def reservation(plan: FleetPlan, one: ReservationPlan) -> JSON:
    """One of `gcloud compute reservations list --format json`; links and counts as Compute Engine prints them."""
    zone = f"https://www.googleapis.com/compute/v1/projects/{plan.project}/zones/{one.zone}"
    machine: JSON = {"machineType": one.machine_type}
    if one.gpu_type:
        machine["guestAccelerators"] = [{"acceleratorType": one.gpu_type, "acceleratorCount": one.gpu_count}]
    if one.local_ssds:
        machine["localSsds"] = [{"diskSizeGb": str(d.size_gb), "interface": d.interface} for d in one.local_ssds]
    answer: JSON = {
        "kind": "compute#reservation",
        "name": one.name,
        "zone": zone,
        "selfLink": f"{zone}/reservations/{one.name}",
        "specificReservationRequired": True,
        "specificReservation": {"count": str(one.count), "inUseCount": "0", "instanceProperties": machine},
        "status": "READY",
    }
    if one.share_with:
        shared = {project: {"projectId": project} for project in one.share_with}
        answer["shareSettings"] = {"shareType": "SPECIFIC_PROJECTS", "projectMap": shared}
    return answer


# --- inside -----------------------------------------------------------------------------------------------------------


def objects(plan: FleetPlan, *, noise: bool = False) -> list[JSON]:
    """`kubectl get … -A -o json`: what the fleet keeps in its cluster; with `noise` as an API server gives it back."""
    found: list[JSON] = [json.loads(json.dumps(each)) for each in all_manifests(plan)]
    for one in found if noise else ():
        one["metadata"] |= {
            "uid": "0c5f2a56-77d3-4d5c-8f0b-1f4c8d7e9a10",
            "resourceVersion": "4711",
            "generation": 3,
            "creationTimestamp": "2026-05-01T08:00:00Z",
            "managedFields": [{"manager": "pulumi-kubernetes", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
        }
        if one["kind"] == "Namespace":
            one["metadata"]["labels"]["kubernetes.io/metadata.name"] = one["metadata"]["name"]
            one |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        if one["kind"] == "ClusterQueue":
            one["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
            one["spec"] = {
                "stopPolicy": "None",
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
                **one["spec"],
            }
            one["status"] = {"pendingWorkloads": 0, "conditions": [{"type": "Active", "status": "True"}]}
        if one["kind"] == "LocalQueue":
            one["spec"] = {"stopPolicy": "None", **one["spec"]}
            one["status"] = {"admittedWorkloads": 1}
        if one["kind"] == "PriorityClass":
            one.setdefault("globalDefault", False)
    return found


def deployments(plan: FleetPlan) -> list[JSON]:
    """The controllers that Helm installed."""
    names = {"kueue": "kueue-controller-manager", "jobset": "jobset-controller"}
    return [_deployment(chart, names[chart.name]) for chart in plan.charts if chart.name in names]


def _deployment(chart: ChartPlan, name: str) -> JSON:
    labels = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/version": f"v{chart.version}"}
    metadata = {"name": name, "namespace": chart.namespace, "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1}}


def noisy(answers: dict[str, Any]) -> None:
    """What GKE adds of its own: labels, defaults, addresses, what it is doing."""
    answers["cluster.json"] |= {
        "id": "0123456789abcdef",
        "etag": "af1c",
        "zone": answers["cluster.json"]["location"],
        "createTime": "2026-05-01T08:00:00+00:00",
        "endpoint": "203.0.113.7",
        "masterAuth": {"clusterCaCertificate": "LS0t"},
        "currentNodeVersion": "1.34.3-gke.1000",
        "clusterIpv4Cidr": "10.64.0.0/13",
        "defaultMaxPodsConstraint": {"maxPodsPerNode": "110"},
        "databaseEncryption": {"state": "DECRYPTED"},
        "labelFingerprint": "a9dc16a7",
        "clusterTelemetry": {"type": "ENABLED"},
        "legacyAbac": {},
        "binaryAuthorization": {},
    }
    answers["cluster.json"]["networkConfig"]["defaultEnablePrivateNodes"] = True
    answers["cluster.json"]["resourceLabels"]["goog-gke-cost-management"] = ""
    answers["cluster.json"]["controlPlaneEndpointsConfig"] = {
        "dnsEndpointConfig": {"allowExternalTraffic": False, "endpoint": "gke-1.us-central1.gke.goog"},
        "ipEndpointsConfig": {"enabled": True, "enablePublicEndpoint": True, "publicEndpoint": "203.0.113.7"},
    }
    for pool in answers["node-pools.json"]:
        pool |= {"etag": "b2", "version": "1.34.3-gke.1000", "podIpv4CidrSize": 24, "instanceGroupUrls": ["https://x"]}
        pool["config"] |= {
            "metadata": {"disable-legacy-endpoints": "true"},
            "resourceLabels": {"goog-gke-node-pool-provisioning-model": "on-demand"},
            "effectiveCgroupMode": "EFFECTIVE_CGROUP_MODE_V2",
            "windowsNodeConfig": {},
            "kubeletConfig": {"insecureKubeletReadonlyPortEnabled": True, "maxParallelImagePulls": 2},
        }
        pool["networkConfig"] |= {"podIpv4CidrBlock": "10.64.0.0/13", "podRange": "pods", "network": "projects/p/x"}
