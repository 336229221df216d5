"""Types of the fields that Berth reads of Google's answers: a problem is named by its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from berth.adopt.api_objects import ApiObject, value_at

Shape = tuple[str, Callable[[Any], bool]]
"""What a value is, in words, and whether it is."""


def _all(values: object, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(each, kind) for each in cast("list[object]", values))


def _is_number(value: object) -> bool:
    is_text = isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value) is not None
    return is_text or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _has_texts(*fields: str) -> Callable[[Any], bool]:
    """Return whether a value is an object with a text at each of the paths."""
    return lambda value: (
        isinstance(value, dict) and all(TEXT[1](value_at(cast("ApiObject", value), each)) for each in fields)
    )


OBJECT: Shape = ("an object", lambda value: isinstance(value, dict))
OBJECTS: Shape = ("a list of objects", lambda value: _all(value, dict))
TEXT: Shape = ("a text", lambda value: isinstance(value, str) and value != "")
NAME: Shape = ("a text", lambda value: isinstance(value, str))
"""A text that an API may leave empty."""
TEXTS: Shape = ("a list of texts", lambda value: _all(value, str))
_NUMBER: Shape = ("a number", _is_number)
LABELS: Shape = (
    "an object of texts",
    lambda value: isinstance(value, dict) and _all([*cast("ApiObject", value).values()], str),
)
_TAINTS: Shape = (
    "a list of taints with key and effect",
    lambda value: isinstance(value, list) and all(map(_has_texts("key", "effect"), cast("list[object]", value))),
)
_GPUS: Shape = (
    "a list of GPUs with their type and number",
    lambda value: (
        _all(value, dict)
        and all(TEXT[1](each.get("acceleratorType")) and _is_number(each.get("acceleratorCount")) for each in value)
    ),
)
_CHIPS: Shape = (
    "a list of accelerators with their number",
    lambda value: (
        _all(value, dict)
        and all(_is_number(value_at(each, "accelerator.acceleratorCount")) for each in value if "accelerator" in each)
    ),
)


def _are_exclusions(value: object) -> bool:
    if not isinstance(value, dict) or not _all(exclusions := [*cast("ApiObject", value).values()], dict):
        return False
    has_end = (
        value_at(each, "maintenanceExclusionOptions.endTimeBehavior") == "UNTIL_END_OF_SUPPORT"
        or TEXT[1](each.get("endTime"))
        for each in exclusions
    )
    return all(TEXT[1](each.get("startTime")) for each in exclusions) and all(has_end)


_LIMITS: Shape = (
    "a list of limits with their resource",
    lambda value: isinstance(value, list) and all(map(_has_texts("resourceType"), cast("list[object]", value))),
)
_DAILY: Shape = ("a window with its start", _has_texts("startTime"))
_RECURRING: Shape = (
    "a window with its recurrence, start and end",
    _has_texts("recurrence", "window.startTime", "window.endTime"),
)
_EXCLUDED: Shape = ("an object of exclusions with their start and end", _are_exclusions)


def _is_affinity(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    affinity = cast("ApiObject", value)
    named = affinity.get("values")
    return affinity.get("consumeReservationType") != "SPECIFIC_RESERVATION" or (bool(named) and TEXTS[1](named))


_AFFINITY: Shape = ("an affinity with the reservations that it names", _is_affinity)

NODE_POOL_SHAPES: Final[Mapping[str, Shape]] = {
    "config": OBJECT,
    "config.machineType": TEXT,
    "config.labels": LABELS,
    "config.taints": _TAINTS,
    "config.accelerators": _GPUS,
    **{f"config.accelerators[].{each}": OBJECT for each in ("gpuDriverInstallationConfig", "gpuSharingConfig")},
    "config.accelerators[].gpuDriverInstallationConfig.gpuDriverVersion": TEXT,
    "config.diskSizeGb": _NUMBER,
    "config.reservationAffinity": _AFFINITY,
    "config.ephemeralStorageLocalSsdConfig": OBJECT,
    "config.ephemeralStorageLocalSsdConfig.localSsdCount": _NUMBER,
    "config.localNvmeSsdBlockConfig": OBJECT,
    "config.localNvmeSsdBlockConfig.localSsdCount": _NUMBER,
    "locations": ("a list of zones", lambda value: bool(value) and TEXTS[1](value)),
    "initialNodeCount": _NUMBER,
    "autoscaling": OBJECT,
    **{f"autoscaling.{end}NodeCount": _NUMBER for end in ("min", "max", "totalMin", "totalMax")},
    "maxPodsConstraint": OBJECT,
    "maxPodsConstraint.maxPodsPerNode": _NUMBER,
    "placementPolicy": OBJECT,
    "placementPolicy.tpuTopology": NAME,
    "upgradeSettings": OBJECT,
    "upgradeSettings.maxSurge": _NUMBER,
    "upgradeSettings.maxUnavailable": _NUMBER,
    "networkConfig": OBJECT,
    "networkConfig.additionalNodeNetworkConfigs": OBJECTS,
    "queuedProvisioning": OBJECT,
}
NODE_POOL_REQUIRED: Final = frozenset({"config", "config.machineType", "locations"})

_CLUSTER_OBJECTS = (
    *("addonsConfig", "autopilot", "autoscaling", "ipAllocationPolicy", "maintenancePolicy", "networkConfig"),
    *("masterAuthorizedNetworksConfig", "privateClusterConfig", "releaseChannel"),
)
_WINDOW, _EXCLUSIONS = "maintenancePolicy.window", "maintenancePolicy.window.maintenanceExclusions"
CLUSTER_SHAPES: Final[Mapping[str, Shape]] = {
    "locations": TEXTS,
    "nodePools": OBJECTS,
    "resourceLabels": LABELS,
    "masterAuthorizedNetworksConfig.cidrBlocks": OBJECTS,
    "masterAuthorizedNetworksConfig.cidrBlocks[].cidrBlock": TEXT,
    **dict.fromkeys(_CLUSTER_OBJECTS, OBJECT),
    "autoscaling.resourceLimits": _LIMITS,
    **{f"autoscaling.resourceLimits[].{end}": _NUMBER for end in ("minimum", "maximum")},
    "autoscaling.autoprovisioningLocations": TEXTS,
    "autoscaling.autoprovisioningNodePoolDefaults": OBJECT,
    "autoscaling.autoprovisioningNodePoolDefaults.diskSizeGb": _NUMBER,
    _WINDOW: OBJECT,
    f"{_WINDOW}.dailyMaintenanceWindow": _DAILY,
    f"{_WINDOW}.recurringWindow": _RECURRING,
    _EXCLUSIONS: _EXCLUDED,
    f"{_EXCLUSIONS}{{}}.maintenanceExclusionOptions": OBJECT,
    f"{_EXCLUSIONS}{{}}.maintenanceExclusionOptions.scope": TEXT,
}


def _reserved(machines: str, count: str) -> Mapping[str, Shape]:
    """Return the shapes of what reservations and future ones have alike; only the fields of machines differ by name."""
    return {
        "zone": TEXT,
        machines: OBJECT,
        f"{machines}.{count}": _NUMBER,
        f"{machines}.instanceProperties": OBJECT,
        f"{machines}.instanceProperties.guestAccelerators": _GPUS,
        f"{machines}.instanceProperties.localSsds": OBJECTS,
        f"{machines}.instanceProperties.localSsds[].diskSizeGb": _NUMBER,
        "aggregateReservation": OBJECT,
        "aggregateReservation.reservedResources": _CHIPS,
        "shareSettings": OBJECT,
        "shareSettings.projectMap": OBJECT,
        "shareSettings.projects": TEXTS,
    }


RESERVATION_SHAPES: Final = _reserved("specificReservation", "count")
FUTURE_RESERVATION_SHAPES: Final[Mapping[str, Shape]] = {
    "timeWindow": OBJECT,
    "timeWindow.startTime": TEXT,
    "timeWindow.endTime": TEXT,
    **_reserved("specificSkuProperties", "totalCount"),
    "status": OBJECT,
    "status.autoCreatedReservations": TEXTS,
}
ALERT_POLICY_SHAPES: Final[Mapping[str, Shape]] = {
    "displayName": NAME,
    "conditions": OBJECTS,
    "conditions[].conditionPrometheusQueryLanguage": OBJECT,
    "notificationChannels": TEXTS,
    "userLabels": LABELS,
}


def shape_problem(answer: ApiObject, shapes: Mapping[str, Shape], required: frozenset[str] = frozenset()) -> str | None:
    """Return the first field that has another type, or that is missing although it is required.

    `a[].b` is the field of each object in a list, `a{}.b` that of each object by name; the shape of `a` stands before.
    """
    for path, (what, is_valid) in shapes.items():
        for shown, value in _values_at(answer, path):
            if (value is not None or path in required) and not is_valid(value):
                return f"{shown} is not {what}"
    return None


def _values_at(answer: ApiObject, path: str, above: str = "") -> Iterator[tuple[str, object]]:
    if (inner := re.search(r"(\[\]|\{\})\.", path)) is None:
        yield above + path, value_at(answer, path)
        return
    first, rest = path[: inner.start()], path[inner.end() :]
    values: Any = value_at(answer, first) or {}
    is_named = inner[1] == "{}"
    entries = cast("ApiObject", values).items() if is_named else enumerate(cast("list[ApiObject]", values))
    for name, each in entries:
        yield from _values_at(each, rest, f"{above}{first}[{name}].")
