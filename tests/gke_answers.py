"""What Google's and Kubernetes' APIs would answer of a fleet that stands: REST as gcloud prints it, kubectl's JSON.

Written from the plan and from the field names of GKE's and Compute Engine's REST references (v1), by itself: nothing of
the product's reader is used, so that one is held against the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from berth.manifests.fleet import all_manifests
from berth.manifests.helm_values import configuration
from berth.manifests.serving.webhooks import PATCH
from berth.names import MAX_COMPUTE_NAME, shorten
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, ExistingNetworkPlan, GpuPlan, MaintenancePlan, NodePoolPlan, ReservationPlan
from berth.plan.kueue import ChartPlan
from berth.spec.machines.pools import NodeSettings
from tests import google_answers

JSON = dict[str, Any]
_DRIVERS = {"default": "DEFAULT", "latest": "LATEST", "disabled": "INSTALLATION_DISABLED"}
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
DEFAULT_ZONES = "abc"
"""The zones that GKE picks where none are named."""


def _is_patch(manifest: Mapping[str, object]) -> bool:
    """Whether the object is one of Kueue's chart, which no answer has."""
    return str(manifest["kind"]).endswith(PATCH)


def files(plan: FleetPlan, *, noise: bool = False) -> dict[str, str]:
    """Every answer by the name of its file."""
    node_pools = [n for pool in plan.own_pools for n in pool.node_pools] + (
        [plan.system_pool] if plan.system_pool else []
    )
    answers: dict[str, object] = {
        "cluster.json": cluster(plan),
        "node-pools.json": [node_pool(plan, each) for each in node_pools],
        "reservations.json": [
            *(reservation(plan, each) for each in plan.reservations),
            *google_answers.delivered_reservations(plan),
        ],
        "subnets.json": [*subnetworks(plan), *accelerator_subnetworks(plan)],
        "firewalls.json": firewalls(plan),
        "services.json": services(plan),
        "objects.json": {
            "apiVersion": "v1",
            "kind": "List",
            "items": [*objects(plan, noise=noise), *deployments(plan), *kueue_configuration(plan)],
        },
        **google_answers.files(plan),
    }
    if noise:
        add_noise(answers)
    return {name: json.dumps(answer) for name, answer in answers.items()}


def _path(plan: FleetPlan) -> str:
    return f"https://container.googleapis.com/v1/projects/{plan.project}/locations/{plan.region}/clusters/{own_cluster(plan).name}"


def own_cluster(plan: FleetPlan) -> ClusterPlan:
    """The cluster of a fleet that makes it."""
    assert isinstance(plan.cluster, ClusterPlan)
    return plan.cluster


def zones_of(plan: FleetPlan, zones: tuple[str, ...]) -> list[str]:
    """Those that are named, or those of the cluster."""
    return list(zones or own_cluster(plan).zones or (f"{plan.region}-{letter}" for letter in DEFAULT_ZONES))


def cluster(plan: FleetPlan) -> JSON:
    """`gcloud container clusters describe --format json`, without its node pools."""
    cluster_plan = own_cluster(plan)
    answer: JSON = {
        "name": cluster_plan.name,
        "selfLink": _path(plan),
        "location": plan.region,
        "locations": zones_of(plan, ()),
        "status": "RUNNING",
        "currentMasterVersion": f"{'.'.join((cluster_plan.version or '1.34').split('.')[:2])}.3-gke.1000",
        "releaseChannel": {"channel": cluster_plan.release_channel},
        "resourceLabels": dict(cluster_plan.labels),
        "ipAllocationPolicy": {"useIpAliases": True, **_ranges(cluster_plan)},
        "networkConfig": {"datapathProvider": "ADVANCED_DATAPATH", **_network(plan)},
        "workloadIdentityConfig": {"workloadPool": cluster_plan.workload_pool},
        "monitoringConfig": {
            "componentConfig": {"enableComponents": list(cluster_plan.monitoring_components)},
            "managedPrometheusConfig": {"enabled": True},
        },
        "loggingConfig": {"componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]}},
        "securityPostureConfig": {"mode": "BASIC"},
        "privateClusterConfig": {
            "enablePrivateNodes": cluster_plan.control_plane.private_nodes,
            "enablePrivateEndpoint": not cluster_plan.control_plane.public_endpoint,
            "masterIpv4CidrBlock": cluster_plan.control_plane.ip_range,
        },
        "addonsConfig": {"gcePersistentDiskCsiDriverConfig": {"enabled": True}, **_addons(cluster_plan)},
    }
    answer |= _switches(cluster_plan)
    control = cluster_plan.control_plane
    if control.dns_endpoint is not None or not control.ip_endpoint:
        answer["controlPlaneEndpointsConfig"] = {
            "dnsEndpointConfig": {"allowExternalTraffic": control.dns_endpoint},
            "ipEndpointsConfig": {"enabled": control.ip_endpoint},
        }
    if cluster_plan.mode == "autopilot":
        answer["autopilot"] = {"enabled": True}
    if (networks := cluster_plan.control_plane.authorized_networks) is not None:
        blocks = [{"displayName": n.name, "cidrBlock": n.cidr} for n in networks]
        google = {"gcpPublicCidrsAccessEnabled": True} if cluster_plan.control_plane.google_ranges else {}
        answer["masterAuthorizedNetworksConfig"] = {"enabled": True, "cidrBlocks": blocks, **google}
    if cluster_plan.maintenance:
        answer["maintenancePolicy"] = {"window": _maintenance(cluster_plan.maintenance)}
    if cluster_plan.auto_provisioning:
        answer["autoscaling"] = _auto_provisioning(plan)
    return answer


def _switches(cluster_plan: ClusterPlan) -> JSON:
    answer: JSON = {}
    for field, on in (
        ("shieldedNodes", cluster_plan.settings.shielded_nodes),
        ("costManagementConfig", cluster_plan.cost_management),
        ("secretManagerConfig", cluster_plan.secret_manager),
    ):
        answer |= {field: {"enabled": True}} if on else {}
    if cluster_plan.image_streaming:
        answer["nodePoolDefaults"] = {"nodeConfigDefaults": {"gcfsConfig": {"enabled": True}}}
    if cluster_plan.security_group:
        answer["authenticatorGroupsConfig"] = {"enabled": True, "securityGroup": cluster_plan.security_group}
    if cluster_plan.confidential_nodes:
        kind = cluster_plan.confidential_nodes
        answer["confidentialNodes"] = {"enabled": True, "confidentialInstanceType": kind}
    return answer


def _ranges(cluster_plan: ClusterPlan) -> JSON:
    network = cluster_plan.network
    named = {
        "clusterSecondaryRangeName": network.pod_range_name,
        "servicesSecondaryRangeName": network.service_range_name,
    }
    if isinstance(network, ExistingNetworkPlan):
        return named
    return named | {"clusterIpv4CidrBlock": network.pod_range, "servicesIpv4CidrBlock": network.service_range}


def _network(plan: FleetPlan) -> JSON:
    network = own_cluster(plan).network
    if isinstance(network, ExistingNetworkPlan):
        return {"network": network.network, "subnetwork": network.subnetwork}
    path = f"projects/{plan.project}"
    more = {"enableMultiNetworking": True} if own_cluster(plan).multi_networking else {}
    gateway = {"channel": "CHANNEL_STANDARD" if own_cluster(plan).settings.gateway_api else "CHANNEL_DISABLED"}
    return {
        "network": f"{path}/global/networks/{network.name}",
        "subnetwork": f"{path}/regions/{network.region}/subnetworks/{network.name}",
        "gatewayApiConfig": gateway,
        **more,
    }


def subnetworks(plan: FleetPlan) -> list[JSON]:
    """`gcloud compute networks subnets list --format json`, of the cluster's own network."""
    network = own_cluster(plan).network
    if isinstance(network, ExistingNetworkPlan):
        return []
    ranges = {network.pod_range_name: network.pod_range, network.service_range_name: network.service_range}
    secondary = [{"rangeName": name, "ipCidrRange": block} for name, block in ranges.items()]
    link = f"https://www.googleapis.com/compute/v1/projects/{plan.project}/regions/{network.region}/subnetworks/{network.name}"
    return [{"name": network.name, "ipCidrRange": network.node_range, "secondaryIpRanges": secondary, "selfLink": link}]


def accelerator_subnetworks(plan: FleetPlan) -> list[JSON]:
    """The subnetworks of GPUDirect's networks, with the network that each belongs to."""
    base = f"https://www.googleapis.com/compute/v1/projects/{plan.project}"
    return [
        {
            "name": subnet.name,
            "ipCidrRange": subnet.ip_range,
            "network": f"{base}/global/networks/{vpc.name}",
            "selfLink": f"{base}/regions/{networks.region}/subnetworks/{subnet.name}",
        }
        for networks in plan.accelerator_networks
        for vpc in networks.vpcs
        for subnet in vpc.subnets
    ]


def firewalls(plan: FleetPlan) -> list[JSON]:
    """`gcloud compute firewall-rules list --format json`."""
    rule = own_cluster(plan).webhook_firewall
    networks = [vpc.name for each in plan.accelerator_networks for vpc in each.vpcs if vpc.allowed_ranges]
    names = [*([rule.name] if rule else []), *(shorten(f"{name}-internal", MAX_COMPUTE_NAME) for name in networks)]
    base = f"https://www.googleapis.com/compute/v1/projects/{plan.project}/global/firewalls"
    return [{"kind": "compute#firewall", "name": name, "selfLink": f"{base}/{name}"} for name in names]


def services(plan: FleetPlan) -> list[JSON]:
    """`gcloud services list --enabled --format json`."""
    number = google_answers.NUMBER
    return [
        {
            "config": {"name": api},
            "name": f"projects/{number}/services/{api}",
            "parent": f"projects/{number}",
            "state": "ENABLED",
        }
        for api in plan.services
    ]


def _addons(cluster_plan: ClusterPlan) -> JSON:
    names = {
        "gcs-fuse": "gcsFuseCsiDriverConfig",
        "filestore": "gcpFilestoreCsiDriverConfig",
        "parallelstore": "parallelstoreCsiDriverConfig",
        "lustre": "lustreCsiDriverConfig",
    }
    slices = ["sliceControllerConfig"] if cluster_plan.slice_controller else []
    slices += ["highScaleCheckpointingConfig"] if cluster_plan.checkpointing is not None else []
    return {
        addon: {"enabled": True} for addon in [*(names[driver] for driver in cluster_plan.storage_drivers), *slices]
    }


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
    settings = own_cluster(plan).auto_provisioning
    assert settings is not None
    return {
        "enableNodeAutoprovisioning": True,
        "autoscalingProfile": settings.profile,
        "resourceLimits": [
            {"resourceType": each.resource, "minimum": str(each.minimum), "maximum": str(each.maximum)}
            for each in settings.limits
        ],
        "autoprovisioningLocations": zones_of(plan, settings.zones),
        "autoprovisioningNodePoolDefaults": {
            "diskType": settings.disk_type,
            "diskSizeGb": settings.disk_size_gb or 100,
            "management": {k: True for k, on in (("autoRepair", settings.auto_repair), ("autoUpgrade", True)) if on},
            "shieldedInstanceConfig": {"enableSecureBoot": settings.secure_boot, "enableIntegrityMonitoring": True},
        },
    }


# --- node pools -------------------------------------------------------------------------------------------------------


def node_pool(plan: FleetPlan, pool: NodePoolPlan) -> JSON:
    """One of `gcloud container node-pools list --format json`."""
    answer: JSON = {
        "name": pool.name,
        "selfLink": f"{_path(plan)}/nodePools/{pool.name}",
        "locations": zones_of(plan, pool.zones),
        "initialNodeCount": _first_nodes(plan, pool),
        "status": "RUNNING",
        "config": _config(plan, pool),
        "management": {k: True for k, on in (("autoRepair", pool.auto_repair), ("autoUpgrade", True)) if on},
        "maxPodsConstraint": {"maxPodsPerNode": str(pool.settings.max_pods_per_node or 110)},
    }
    if scaled := pool.zone_nodes or (pool.total_nodes if pool.slice_topology else None):
        limits = {"minNodeCount": scaled.min, "maxNodeCount": scaled.max}
        answer["autoscaling"] = {"enabled": True, **{k: v for k, v in limits.items() if v}}
    elif pool.total_nodes:
        limits = {"totalMinNodeCount": pool.total_nodes.min, "totalMaxNodeCount": pool.total_nodes.max}
        answer["autoscaling"] = {"enabled": True, **{k: v for k, v in limits.items() if v}}
    if "autoscaling" in answer:
        answer["autoscaling"]["locationPolicy"] = pool.location_policy
    if pool.settings.exclusion_until_end_of_support:
        answer["maintenancePolicy"] = {"exclusionUntilEndOfSupport": {"enabled": True}}
    return answer | _placement(pool) | _upgrades(pool) | _networks(pool)


def _first_nodes(plan: FleetPlan, pool: NodePoolPlan) -> int:
    """The nodes in each zone that the pool was created with: of one that scales, what its minimum needs."""
    if pool.zone_nodes is not None:
        return pool.zone_nodes.min
    if pool.total_nodes is None:
        return pool.nodes_per_zone or 0
    zones = len(zones_of(plan, pool.zones))
    for_all = (pool.total_nodes.min + zones - 1) // zones
    return min(for_all, pool.total_nodes.max // zones)


def _config(plan: FleetPlan, pool: NodePoolPlan) -> JSON:
    settings, ssd = pool.settings, pool.settings.local_ssd
    config: JSON = {
        "machineType": pool.machine_type,
        "diskType": settings.disk_type,
        "diskSizeGb": settings.disk_size_gb,
        "imageType": settings.image_type or "COS_CONTAINERD",
        "labels": dict(pool.labels),
        "taints": [
            {"key": t.key, "value": t.value, "effect": _EFFECTS[t.effect]} for t in pool.taints
        ],
        "serviceAccount": settings.service_account or own_cluster(plan).node_service_account.email,
        "oauthScopes": ["https://www.googleapis.com/auth/cloud-platform"],
        "workloadMetadataConfig": {"mode": "GKE_METADATA"},
        "shieldedInstanceConfig": {
            k: True for k, on in (("enableSecureBoot", settings.secure_boot), ("enableIntegrityMonitoring", True)) if on
        },
        "reservationAffinity": _affinity(pool),
    }  # fmt: skip
    switches = {
        "spot": pool.spot,
        "flexStart": pool.flex_start,
        "maxRunDuration": f"{pool.max_run_seconds}s" if pool.max_run_seconds else None,
    }
    config |= {key: value for key, value in switches.items() if value}
    config |= {"gvnic": {"enabled": True}}
    config |= {"gcfsConfig": {"enabled": True}} if pool.image_streaming else {}
    config |= {"accelerators": [_gpu(pool.gpu, settings)]} if pool.gpu else {}
    if ssd and ssd.ephemeral:
        config["ephemeralStorageLocalSsdConfig"] = {"localSsdCount": ssd.ephemeral}
    if ssd and ssd.block:
        config["localNvmeSsdBlockConfig"] = {"localSsdCount": ssd.block}
    config |= {"bootDiskKmsKey": settings.boot_disk_kms_key} if settings.boot_disk_kms_key else {}
    config |= {"tags": [*settings.tags]} if settings.tags else {}
    config |= {"sandboxConfig": {"type": "GVISOR"}} if settings.sandbox else {}
    if disks := settings.secondary_boot_disks:
        modes = [{"mode": each.mode} if each.mode else {} for each in disks]
        config["secondaryBootDisks"] = [
            {"diskImage": disk.disk_image, **mode} for disk, mode in zip(disks, modes, strict=True)
        ]
    if threads := settings.threads_per_core:
        config["advancedMachineFeatures"] = {"threadsPerCore": str(threads)}
    if interval := settings.maintenance_interval:
        config["hostMaintenancePolicy"] = {"maintenanceInterval": interval}
    if kind := settings.confidential_nodes:
        config["confidentialNodes"] = {"enabled": True, "confidentialInstanceType": kind}
    return config


def _gpu(gpu: GpuPlan, settings: NodeSettings) -> JSON:
    answer: JSON = {
        "acceleratorType": gpu.type,
        "acceleratorCount": str(gpu.count),
        "gpuDriverInstallationConfig": {"gpuDriverVersion": _DRIVERS[settings.driver_version]},
    }
    answer |= {"gpuPartitionSize": settings.gpu_partition} if settings.gpu_partition else {}
    if sharing := settings.gpu_sharing:
        answer["gpuSharingConfig"] = {
            "gpuSharingStrategy": {"time-sharing": "TIME_SHARING", "mps": "MPS"}[sharing.strategy],
            "maxSharedClientsPerGpu": str(sharing.max_shared_clients),
        }
    return answer


def _affinity(pool: NodePoolPlan) -> JSON:
    if pool.reservation is None:
        return {"consumeReservationType": pool.affinity or "NO_RESERVATION"}
    return {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [pool.reservation],
    }


def _placement(pool: NodePoolPlan) -> JSON:
    queued = {"queuedProvisioning": {"enabled": True}} if pool.queued else {}
    if pool.placement:
        is_untyped = pool.placement.policy and pool.placement.tpu_topology  # vllm-project/ci-infra#547
        placement = {
            "type": None if is_untyped else pool.placement.type,
            "policyName": pool.placement.policy,
            "tpuTopology": pool.placement.tpu_topology,
        }
        return queued | {"placementPolicy": {k: v for k, v in placement.items() if v}}
    return queued | (
        {"placementPolicy": {"type": "COMPACT", "tpuTopology": pool.slice_topology}} if pool.slice_topology else {}
    )


def _upgrades(pool: NodePoolPlan) -> JSON:
    if pool.flex_start or pool.queued:
        return {"upgradeSettings": {"strategy": "SHORT_LIVED"}}
    if blue_green := pool.settings.blue_green:
        batches = {"batchNodeCount": blue_green.batch_node_count}
        batches |= {"batchSoakDuration": f"{blue_green.batch_soak_duration or 0}s"}
        soak = f"{blue_green.node_pool_soak_duration or 3600}s"
        rollout = {"standardRolloutPolicy": batches, "nodePoolSoakDuration": soak}
        return {"upgradeSettings": {"strategy": "BLUE_GREEN", "blueGreenSettings": rollout}}
    surge = pool.settings.surge
    assert surge is not None
    counts = {k: v for k, v in (("maxSurge", surge.max_surge), ("maxUnavailable", surge.max_unavailable)) if v}
    return {"upgradeSettings": {"strategy": "SURGE", **counts}}


def _networks(pool: NodePoolPlan) -> JSON:
    config: JSON = {"enablePrivateNodes": pool.network.private_nodes is not False}
    if pool.network.interfaces:
        config["additionalNodeNetworkConfigs"] = [
            {"network": each.network, "subnetwork": each.subnetwork} for each in pool.network.interfaces
        ]
    if pool.network.accelerator_profile:
        config["acceleratorNetworkProfile"] = pool.network.accelerator_profile
    return {"networkConfig": config}


def reservation(plan: FleetPlan, plan_entry: ReservationPlan) -> JSON:
    """One of `gcloud compute reservations list --format json`; links and counts as Compute Engine prints them."""
    zone = f"https://www.googleapis.com/compute/v1/projects/{plan.project}/zones/{plan_entry.zone}"
    machine: JSON = {"machineType": plan_entry.machine_type}
    if plan_entry.gpu_type:
        machine["guestAccelerators"] = [
            {"acceleratorType": plan_entry.gpu_type, "acceleratorCount": plan_entry.gpu_count}
        ]
    if plan_entry.local_ssds:
        machine["localSsds"] = [{"diskSizeGb": "375", "interface": "NVME"}] * plan_entry.local_ssds
    answer: JSON = {
        "kind": "compute#reservation",
        "name": plan_entry.name,
        "zone": zone,
        "selfLink": f"{zone}/reservations/{plan_entry.name}",
        "specificReservationRequired": True,
        "specificReservation": {"count": str(plan_entry.count), "inUseCount": "0", "instanceProperties": machine},
        "status": "READY",
    }
    if plan_entry.share_with:
        shared = {project: {"projectId": project} for project in plan_entry.share_with}
        answer["shareSettings"] = {"shareType": "SPECIFIC_PROJECTS", "projectMap": shared}
    return answer


# --- inside -----------------------------------------------------------------------------------------------------------


def objects(plan: FleetPlan, *, noise: bool = False) -> list[JSON]:
    """`kubectl get … -A -o json`: what the fleet keeps in its cluster; with `noise` as an API server gives it back."""
    manifests: list[JSON] = [json.loads(json.dumps(each)) for each in all_manifests(plan) if not _is_patch(each)]
    for manifest in manifests if noise else ():
        manifest["metadata"] |= {
            "uid": "0c5f2a56-77d3-4d5c-8f0b-1f4c8d7e9a10",
            "resourceVersion": "4711",
            "generation": 3,
            "creationTimestamp": "2026-05-01T08:00:00Z",
            "managedFields": [{"manager": "pulumi-kubernetes", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
        }
        if manifest["kind"] == "Namespace":
            manifest["metadata"]["labels"]["kubernetes.io/metadata.name"] = manifest["metadata"]["name"]
            manifest |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        if manifest["kind"] == "ClusterQueue":
            manifest["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
            manifest["spec"] = {
                "stopPolicy": "None",
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
                **manifest["spec"],
            }
            preemption = manifest["spec"].get("preemption", {})
            manifest["spec"]["preemption"] = {"borrowWithinCohort": {"policy": "Never"}, **preemption}
            manifest["status"] = {"pendingWorkloads": 0, "conditions": [{"type": "Active", "status": "True"}]}
        if manifest["kind"] == "LocalQueue":
            manifest["spec"] = {"stopPolicy": "None", **manifest["spec"]}
            manifest["status"] = {"admittedWorkloads": 1}
        if manifest["kind"] == "PriorityClass":
            manifest.setdefault("globalDefault", False)
        if manifest["kind"] == "ValidatingAdmissionPolicy":
            selectors = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
            manifest["spec"]["matchConstraints"] = selectors | manifest["spec"]["matchConstraints"]
            for rule in manifest["spec"]["matchConstraints"]["resourceRules"]:
                rule["scope"] = "*"
    return manifests


def deployments(plan: FleetPlan) -> list[JSON]:
    """The controllers that Helm installed."""
    names = {
        "kueue": "kueue-controller-manager",
        "jobset": "jobset-controller",
        "kube-prometheus-stack": "kube-prometheus-stack-operator",
        "nvidia-dra-driver-gpu": "nvidia-dra-driver-gpu-controller",
    }
    driver = plan.installers.dra if plan.installers else None
    charts = [*plan.charts, *(plan.monitoring.charts if plan.monitoring else ()), *([driver.chart] if driver else ())]
    return [_deployment(chart, names[chart.name]) for chart in charts if chart.name in names]


def kueue_configuration(plan: FleetPlan) -> list[JSON]:
    """The ConfigMap of Kueue's chart, with durations as Kueue's own documentation writes them."""
    if plan.kueue is None or not any(chart.name == "kueue" for chart in plan.charts):
        return []
    text = json.dumps(configuration(plan.kueue)).replace('"3600s"', '"1h0m0s"')
    metadata = {"name": "kueue-manager-config", "namespace": "kueue-system"}
    data = {"controller_manager_config.yaml": text}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}]


def _deployment(chart: ChartPlan, name: str) -> JSON:
    labels = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/version": f"v{chart.version}"}
    metadata = {"name": name, "namespace": chart.namespace, "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": 1}}


def add_noise(answers: dict[str, Any]) -> None:
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
    endpoints = answers["cluster.json"].setdefault("controlPlaneEndpointsConfig", {})
    endpoints["dnsEndpointConfig"] = {
        "allowExternalTraffic": False,
        **endpoints.get("dnsEndpointConfig", {}),
        "endpoint": "gke-1.us-central1.gke.goog",
    }  # fmt: skip
    endpoints["ipEndpointsConfig"] = {
        "enabled": True, **endpoints.get("ipEndpointsConfig", {}), "enablePublicEndpoint": True,
        "publicEndpoint": "203.0.113.7",
    }  # fmt: skip
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
