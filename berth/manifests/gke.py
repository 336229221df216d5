"""Objects of GKE's own controllers, as plain dicts: additional networks of pods, compute classes, checkpointing.

`networking.gke.io/v1` as in GKE's networking API 34c617f, `cloud.google.com/v1` as in its compute-class API 8067eae,
`checkpointing.gke.io/v1` as in GKE's page on multi-tier checkpointing and its driver's source.
"""

from __future__ import annotations

from typing import Final

from berth.manifests.kueue import toleration
from berth.manifests.quantities import quantity
from berth.names import berth_labels
from berth.plan.compute_classes import (
    ClassPriorityPlan,
    ComputeClassPlan,
)
from berth.plan.gke import CheckpointingPlan
from berth.plan.node_settings import AcceleratorSubnetPlan

Manifest = dict[str, object]

NETWORKING_API: Final = "networking.gke.io/v1"

# --- networks ---------------------------------------------------------------------------------------------------------


def pod_network(plan: AcceleratorSubnetPlan) -> Manifest:
    """Return a network that pods request by name (annotation `networking.gke.io/interfaces`)."""
    parameters = {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": plan.device}
    return _object(NETWORKING_API, "Network", plan.device) | {"spec": {"type": "Device", "parametersRef": parameters}}


def network_parameters(plan: AcceleratorSubnetPlan, vpc: str) -> Manifest:
    """Return the parameters of a network: VPC and subnet by name, and the device of a pod."""
    spec = {"vpc": vpc, "vpcSubnet": plan.name, "deviceMode": plan.device_mode}
    return _object(NETWORKING_API, "GKENetworkParamSet", plan.device) | {"spec": spec}


# --- compute classes --------------------------------------------------------------------------------------------------


def compute_class(plan: ComputeClassPlan) -> Manifest:
    """Return a compute class: ways to get nodes in order of preference, and settings of all its nodes."""
    auto_creation: Manifest = {"enabled": True}
    if plan.secure_boot is not None:
        auto_creation["shieldedInstanceConfig"] = {"enableSecureBoot": plan.secure_boot}
    spec: Manifest = {
        "whenUnsatisfiable": plan.when_unsatisfiable,
        "nodePoolAutoCreation": auto_creation,
        "priorities": [_priority(each) for each in plan.priorities],
    }
    spec |= _set_fields(
        activeMigration=None if plan.migrate_up is None else {"optimizeRulePriority": plan.migrate_up},
        autoscalingPolicy=_set_fields(consolidationDelayMinutes=plan.consolidation_minutes),
        nodePoolConfig=_set_fields(serviceAccount=plan.service_account, imageStreaming=_switch(plan.image_streaming)),
    )
    return _object("cloud.google.com/v1", "ComputeClass", plan.name) | {"spec": spec}


def _priority(plan: ClassPriorityPlan) -> Manifest:
    gpu, tpu = plan.gpu, plan.tpu
    return _set_fields(
        machineType=plan.machine_type,
        gpu=gpu and {"type": gpu.type, "count": gpu.count, "driverVersion": gpu.driver},
        tpu=tpu and {"type": tpu.type, "count": tpu.count, "topology": tpu.topology},
        spot=plan.spot,
        flexStart=_switch(plan.flex_start or None),
        maxRunDurationSeconds=plan.max_run_seconds,
        reservations=_reservations(plan),
        location=_set_fields(zones=sorted(plan.zones)),
    )


def _reservations(plan: ClassPriorityPlan) -> Manifest:
    if plan.affinity is None:
        return {}
    specific: list[Manifest] = []
    for each in plan.reservations:
        block: Manifest = {}
        if each.block is not None:
            block = {"name": each.block} | _set_fields(reservationSubBlock=_set_fields(name=each.sub_block))
        zones = sorted(each.zones)
        specific.append({"name": each.name} | _set_fields(project=each.project, reservationBlock=block, zones=zones))
    return {"affinity": plan.affinity} | _set_fields(specific=specific)


# --- checkpointing ----------------------------------------------------------------------------------------------------


def checkpoint_configuration(plan: CheckpointingPlan) -> Manifest:
    """Return the settings of GKE's driver for multi-tier checkpointing; a cluster has one."""
    spec: Manifest = {
        "cloudStorageBucketName": plan.bucket,
        "nodeSelector": {"node.kubernetes.io/instance-type": plan.machine_type},
        "inMemoryVolumeSize": quantity("memory", plan.memory),
    }
    spec |= _set_fields(tolerations=[toleration(each) for each in plan.tolerations])
    return _object("checkpointing.gke.io/v1", "CheckpointConfiguration", "checkpointing") | {"spec": spec}


# --- shared -----------------------------------------------------------------------------------------------------------


def _object(api_version: str, kind: str, name: str) -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": berth_labels()}}


def _switch(on: bool | None) -> Manifest:
    return {} if on is None else {"enabled": on}


def _set_fields(**fields: object) -> Manifest:
    """Return the fields that are set, without None, empty lists and empty mappings, which GKE defaults."""
    return {key: value for key, value in fields.items() if value not in (None, [], {})}
