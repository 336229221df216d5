"""Spell a resource of Terraform's Google provider as GKE's REST API answers it, so that one reader serves both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from berth.adopt.api_objects import ApiObject
from berth.adopt.sources.source_fleet import Resource, Unresolved, unresolved_in
from berth.names import to_camel

_NODE_POOL: Final[Mapping[str, str]] = {
    "nodeConfig": "config",
    "nodeConfig.guestAccelerator": "config.accelerators",
    "nodeConfig.guestAccelerator.type": "acceleratorType",
    "nodeConfig.guestAccelerator.count": "acceleratorCount",
    "nodeConfig.taint": "config.taints",
    "nodeConfig.linuxNodeConfig.hugepagesConfig": "config.linuxNodeConfig.hugepages",
    "nodeConfig.confidentialNodes": "config.confidentialNodes",
    "nodeLocations": "locations",
    "nodeCount": "initialNodeCount",
    "maxPodsPerNode": "maxPodsConstraint.maxPodsPerNode",
}
_CLUSTER: Final[Mapping[str, str]] = {
    "clusterAutoscaling": "autoscaling",
    "clusterAutoscaling.enabled": "autoscaling.enableNodeAutoprovisioning",
    "clusterAutoscaling.autoProvisioningDefaults": "autoscaling.autoprovisioningNodePoolDefaults",
    "clusterAutoscaling.autoProvisioningDefaults.diskSize": "autoscaling.autoprovisioningNodePoolDefaults.diskSizeGb",
    "clusterAutoscaling.autoProvisioningLocations": "autoscaling.autoprovisioningLocations",
    "datapathProvider": "networkConfig.datapathProvider",
    "enableMultiNetworking": "networkConfig.enableMultiNetworking",
    "enableShieldedNodes": "shieldedNodes.enabled",
    "gatewayApiConfig": "networkConfig.gatewayApiConfig",
    "loggingConfig.enableComponents": "loggingConfig.componentConfig.enableComponents",
    "maintenancePolicy.dailyMaintenanceWindow": "maintenancePolicy.window.dailyMaintenanceWindow",
    "maintenancePolicy.recurringWindow": "maintenancePolicy.window.recurringWindow",
    "monitoringConfig.enableComponents": "monitoringConfig.componentConfig.enableComponents",
    "monitoringConfig.managedPrometheus": "monitoringConfig.managedPrometheusConfig",
    "nodeLocations": "locations",
}
"""Where the REST API (v1) has an argument elsewhere than its name in camel case says (provider google-beta 7.45)."""
_KEPT_KEYS: Final = ("labels", "resource_labels", "resourceLabels", "metadata", "sysctls")
"""Maps whose keys are the owner's."""


def node_pool_answer(resource: Resource) -> tuple[ApiObject, list[str]]:
    """Return a node pool as the API would answer it, and a sentence for each argument whose value is unresolved."""
    known, unknown = _known(resource)
    answer = _renamed(known, _NODE_POOL)
    scaling = answer.get("autoscaling")
    if scaling:
        answer["autoscaling"] = {"enabled": True, **scaling}
    seconds = answer.get("config", {}).get("maxRunDuration")
    if isinstance(seconds, (int, float)):
        answer["config"]["maxRunDuration"] = f"{int(seconds)}s"
    return answer, unknown


def cluster_answer(resource: Resource) -> tuple[ApiObject, list[str]]:
    """Return a cluster as the API would answer it, and a sentence for each argument whose value is unresolved."""
    known, unknown = _known(resource)
    answer = _renamed(known, _CLUSTER)
    if "masterAuthorizedNetworksConfig" in answer:
        answer["masterAuthorizedNetworksConfig"] = {"enabled": True, **answer["masterAuthorizedNetworksConfig"]}
    return answer, unknown


def _known(resource: Resource) -> tuple[Resource, list[str]]:
    """Return a resource without the arguments that are unresolved, and a sentence for each of them."""
    unknown: list[str] = []
    return cast("Resource", _without_unresolved(resource, "", unknown)), unknown


def _without_unresolved(value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, Mapping):
        entries: dict[str, Any] = {}
        for key, inner in cast("Mapping[str, Any]", value).items():
            below = f"{path}.{key}" if path else key
            if isinstance(inner, Unresolved):
                unknown.append(f"{below} is {inner}, which is unknown here")
            elif inner is not None:
                entries[key] = _without_unresolved(inner, below, unknown)
        return entries
    if isinstance(value, list):
        items = cast("list[Any]", value)
        unresolved = {at: text for at, each in enumerate(items) for text in unresolved_in(each)}
        unknown += [f"{path} has {text}, which is unknown here" for text in dict.fromkeys(unresolved.values())]
        return [_without_unresolved(each, path, unknown) for at, each in enumerate(items) if at not in unresolved]
    return value


def _renamed(resource: Resource, names: Mapping[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for path, value in _leaves(resource, "", "", names):
        *parents, last = path.split("\0")
        target = answer
        for step in parents:
            target = target.setdefault(step, {})
        target[last] = value
    return answer


def _leaves(value: Mapping[str, Any], place: str, spelled: str, names: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the path and value of each argument in the API's spelling; steps are separated by NUL."""
    for key, inner in value.items():
        name = to_camel(key)
        at = f"{place}.{name}" if place else name
        path = names[at].replace(".", "\0") if at in names else f"{spelled}\0{name}" if spelled else name
        if isinstance(inner, Mapping) and key not in _KEPT_KEYS:
            if inner:
                yield from _leaves(cast("Mapping[str, Any]", inner), at, path, names)
            else:
                yield path, {}
        elif isinstance(inner, list) and any(isinstance(each, Mapping) for each in cast("list[Any]", inner)):
            local = {key.removeprefix(f"{at}."): name for key, name in names.items() if key.startswith(f"{at}.")}
            yield path, [_renamed(dict(each), local) for each in cast("list[Mapping[str, Any]]", inner)]
        else:
            yield path, inner
