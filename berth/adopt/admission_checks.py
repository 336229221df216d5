"""Read Kueue's admission checks for queued machines into options of a pool's capacity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from berth.adopt.api_objects import ApiObject, StackEntry, list_at, mapping_at, name_of, other_than, stated, value_at
from berth.adopt.inventory import ClusterInventory
from berth.adopt.queues import PoolsByFlavor
from berth.names import RUN_LIMIT_ANNOTATION
from berth.plan.admission_checks import RUN_DURATION_PARAMETER
from berth.text import format_duration

_DEFAULT_RETRY = {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
_DEFAULT_MERGE_POLICY = "IdenticalWorkloadSchedulingRequirements"


def set_queued_options(inventory: ClusterInventory, known: PoolsByFlavor) -> None:
    """Fill in the options of every queued pool."""
    checks = {name_of(resource): resource for resource in inventory.objects_of_kind("AdmissionCheck")}
    configs = {name_of(resource): resource for resource in inventory.objects_of_kind("ProvisioningRequestConfig")}
    for flavor, members in known.items():
        check = checks.get(_check_name(inventory, flavor) or f"dws-{flavor}")
        config = configs.get(str(value_at(check or {}, "spec.parameters.name")))
        if check is None or config is None:
            continue
        for pool in members:
            if isinstance(capacity := pool.entry.get("capacity"), dict) and "queued" in capacity:
                options = _queued_options(flavor, name_of(check), config, pool.machine.resource)
                pool.entry["capacity"] = {"queued": options} if options else "queued"


def _check_name(inventory: ClusterInventory, flavor: str) -> str | None:
    """Return the check that some queue has on a flavor."""
    for queue in inventory.objects_of_kind("ClusterQueue"):
        for check in list_at(queue["spec"], "admissionChecksStrategy.admissionChecks"):
            if flavor in list_at(check, "onFlavors"):
                return str(check["name"])
    return None


def _queued_options(flavor: str, check: str, config: ApiObject, resource: str) -> StackEntry:
    spec: Mapping[str, Any] = config["spec"]
    seconds = mapping_at(config["metadata"], "annotations").get(RUN_LIMIT_ANNOTATION)
    seconds = seconds or value_at(spec, f"parameters.{RUN_DURATION_PARAMETER}")
    return stated(
        {
            "maxRunDuration": format_duration(int(seconds)) if seconds else None,
            "admissionCheck": other_than(f"dws-{flavor}", check),
            "provisioningRequestConfig": other_than(check, name_of(config)),
            "retryStrategy": {k: v for k, v in mapping_at(spec, "retryStrategy").items() if _DEFAULT_RETRY.get(k) != v},
            "podSetMergePolicy": other_than(_DEFAULT_MERGE_POLICY, spec.get("podSetMergePolicy")),
            "managedResources": other_than([resource], list(list_at(spec, "managedResources"))),
        }
    )
