"""Read Kueue's own Configuration into keys of `kueue`, and report what a stack file cannot keep of it.

Configuration: config.kueue.x-k8s.io/v1beta2 (Kueue 0.19.2), in the ConfigMap of the project's chart and manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

import yaml

from berth.adopt.api_objects import Fate, InvalidInventory, NotAdopted, StackEntry, mapping_at, name_of, namespace_of
from berth.adopt.inventory import ClusterInventory
from berth.diff.fields import compare_fields, format_change
from berth.manifests.helm_values import configuration
from berth.plan.fleet import FleetPlan
from berth.text import format_duration
from berth.yaml_loader import load_yaml

_CONFIG_MAP, _FILE = ("kueue-system", "kueue-manager-config"), "controller_manager_config.yaml"
_SECTIONS = (
    *("waitForPodsReady", "fairSharing", "admissionFairSharing", "resources", "integrations"),
    *("manageJobsWithoutQueueName", "managedJobsNamespaceSelector", "objectRetentionPolicies", "metrics"),
)
"""Sections of the Configuration that `kueue` has under the same name."""
_OFF: Mapping[str, object] = {
    "manageJobsWithoutQueueName": False,
    "metrics": {"enableClusterQueueResources": False},
}
"""Sections whose absence a stack file can express: their values in Kueue's default."""
_NOT_KEYS = {"metrics": ("bindAddress",), "waitForPodsReady": ("enable",), "fairSharing": ("enable",)}
"""Fields that a stack file does not have; `enable` is of v1beta1."""
_DURATIONS = {
    *("timeout", "recoveryTimeout", "usageHalfLifeTime", "usageSamplingInterval"),
    *("afterFinished", "afterDeactivatedByKueue", "gcInterval", "workerLostTimeout"),
}
_SORTED = {"frameworks", "externalFrameworks", "labelKeysToCopy", "excludeResourcePrefixes", "values"}
"""Lists without an order."""
_SET_BY_CHART = ("apiVersion", "kind", "internalCertManagement")
_UNIT_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def observed_configuration(inventory: ClusterInventory) -> StackEntry | None:
    """Return the Configuration of the cluster's Kueue, None without its ConfigMap. Raises InvalidInventory."""
    for resource in inventory.objects_of_kind("ConfigMap"):
        if (namespace_of(resource), name_of(resource)) != _CONFIG_MAP:
            continue
        where = f"ConfigMap {'/'.join(_CONFIG_MAP)}"
        text = mapping_at(resource, "data").get(_FILE)
        if text is None:
            raise InvalidInventory(f"{where} has no {_FILE}; give the answer of kubectl as it is")
        try:
            content: object = load_yaml(str(text))
        except yaml.YAMLError as error:
            cause = " ".join(str(error).split())
            raise InvalidInventory(f"{where}: {_FILE} is not YAML ({cause}); fix it in the cluster") from None
        if not isinstance(content, dict):
            raise InvalidInventory(f"{where}: {_FILE} is not an object; fix it in the cluster")
        return _normalized(cast("StackEntry", content))
    return None


def configuration_keys(inventory: ClusterInventory, plan: FleetPlan) -> StackEntry:
    """Return the keys of `kueue` for what differs from the Configuration of the plan; none for an existing Kueue."""
    observed, planned = observed_configuration(inventory), _planned(plan)
    if observed is None or planned is None:
        return {}
    entry: StackEntry = {}
    for section in _SECTIONS:
        value = _expressible(section, observed)
        if value is not None and value != _expressible(section, planned):
            entry[section] = _in_stack_form(value)
    gates = {**mapping_at(observed, "featureGates")}
    others = {gate: on for gate, on in gates.items() if mapping_at(planned, "featureGates").get(gate) != on}
    return entry | ({"featureGates": dict(sorted(others.items()))} if others else {})


def configuration_changes(inventory: ClusterInventory, plan: FleetPlan) -> Iterator[NotAdopted]:
    """Yield what the first update changes in the Configuration; a line if no answer has it."""
    planned = _planned(plan)
    if planned is None:
        return
    observed = observed_configuration(inventory)
    if observed is None:
        yield NotAdopted(
            "kueue", "its Configuration is in no answer: the first `pulumi up` sets Berth's (docs/adopt.md: kueue.json)"
        )
        return
    observed = {"manageJobsWithoutQueueName": False, **observed}
    keys = [key for key in {**observed, **planned} if key not in _SET_BY_CHART]
    before, after = ({key: _without_v1beta1(each).get(key) for key in keys} for each in (observed, planned))
    for change in compare_fields(before, after):
        yield NotAdopted(
            "kueue", f"its Configuration: {change.path} {format_change(change.before, change.after)}", Fate.CHANGED
        )


def _planned(plan: FleetPlan) -> StackEntry | None:
    """Return the Configuration that the plan's Helm release has, None if there is none."""
    if not any(chart.name == "kueue" for chart in plan.charts) or plan.kueue is None:
        return None
    return _normalized(configuration(plan.kueue))


def _without_v1beta1(content: StackEntry) -> StackEntry:
    """Return a Configuration in which a section that is switched off is absent, as in v1beta2."""
    result = dict(content)
    for section in ("waitForPodsReady", "fairSharing"):
        if isinstance(result.get(section), dict):
            fields: StackEntry = dict(result[section])
            if fields.pop("enable", True) is False:
                del result[section]
            else:
                result[section] = fields
    return result


def _expressible(section: str, content: StackEntry) -> object:
    """Return a section as keys of a stack file; None if it is absent and a stack file cannot say so."""
    value = _without_v1beta1(content).get(section, _OFF.get(section))
    if not isinstance(value, dict):
        return value
    fields = {key: each for key, each in cast("StackEntry", value).items() if key not in _NOT_KEYS.get(section, ())}
    default = _OFF.get(section)
    return {**cast("StackEntry", default), **fields} if isinstance(default, dict) else fields


# --- values -----------------------------------------------------------------------------------------------------------


def _normalized(content: Mapping[str, Any]) -> StackEntry:
    """Return a Configuration with durations in seconds (`3600s`) and sorted lists, without empty fields."""
    return {key: _value(key, each) for key, each in content.items() if each is not None}


def _value(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return _normalized(cast("StackEntry", value))
    if isinstance(value, list):
        listed = [_value("", each) for each in cast("list[Any]", value)]
        return sorted(listed) if key in _SORTED else listed
    seconds = _seconds(value) if key in _DURATIONS else None
    return value if seconds is None else f"{seconds}s"


def _seconds(value: object) -> int | None:
    match = _DURATION.fullmatch(str(value))
    if match is None or not any(match.groups()):
        return None
    return sum(int(number or 0) * _UNIT_SECONDS[unit] for number, unit in zip(match.groups(), "hms", strict=True))


def _in_stack_form(value: Any, key: str = "") -> Any:
    """Return a value as people write it: durations in their largest unit."""
    if isinstance(value, dict):
        return {name: _in_stack_form(each, name) for name, each in cast("StackEntry", value).items()}
    if isinstance(value, list):
        return [_in_stack_form(each) for each in cast("list[Any]", value)]
    if key in _DURATIONS and (seconds := _seconds(value)):
        return format_duration(seconds)
    return value
