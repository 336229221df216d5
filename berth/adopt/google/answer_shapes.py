"""Types of the fields that Berth reads of Google's answers: a problem is named by its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from berth.adopt.api_objects import ApiObject, value_at

_Shape = tuple[str, Callable[[Any], bool]]


def _all(values: object, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(each, kind) for each in cast("list[object]", values))


def _is_number(value: object) -> bool:
    is_text = isinstance(value, str) and re.fullmatch("[0-9]{1,18}", value) is not None
    return is_text or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


_OBJECT: _Shape = ("an object", lambda value: isinstance(value, dict))
_OBJECTS: _Shape = ("a list of objects", lambda value: _all(value, dict))
_TEXT: _Shape = ("a text", lambda value: isinstance(value, str) and value != "")
_TEXTS: _Shape = ("a list of texts", lambda value: _all(value, str))
_NUMBER: _Shape = ("a number", _is_number)
_LABELS: _Shape = (
    "an object of texts",
    lambda value: isinstance(value, dict) and _all([*cast("ApiObject", value).values()], str),
)
_TAINTS: _Shape = (
    "a list of taints with key and effect",
    lambda value: _all(value, dict) and all({"key", "effect"} <= each.keys() for each in value),
)
_GPUS: _Shape = (
    "a list of GPUs with their type and number",
    lambda value: (
        _all(value, dict)
        and all(_TEXT[1](each.get("acceleratorType")) and _is_number(each.get("acceleratorCount")) for each in value)
    ),
)
_CHIPS: _Shape = (
    "a list of accelerators with their number",
    lambda value: (
        _all(value, dict)
        and all(_is_number(value_at(each, "accelerator.acceleratorCount")) for each in value if "accelerator" in each)
    ),
)


def _is_affinity(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    affinity = cast("ApiObject", value)
    named = affinity.get("values")
    return affinity.get("consumeReservationType") != "SPECIFIC_RESERVATION" or (bool(named) and _TEXTS[1](named))


_AFFINITY: _Shape = ("an affinity with the reservations that it names", _is_affinity)

NODE_POOL_SHAPES: Final[Mapping[str, _Shape]] = {
    "config": _OBJECT,
    "config.machineType": _TEXT,
    "config.labels": _LABELS,
    "config.taints": _TAINTS,
    "config.accelerators": _GPUS,
    "config.reservationAffinity": _AFFINITY,
    "config.ephemeralStorageLocalSsdConfig": _OBJECT,
    "config.ephemeralStorageLocalSsdConfig.localSsdCount": _NUMBER,
    "config.localNvmeSsdBlockConfig": _OBJECT,
    "config.localNvmeSsdBlockConfig.localSsdCount": _NUMBER,
    "locations": ("a list of zones", lambda value: bool(value) and _TEXTS[1](value)),
    "initialNodeCount": _NUMBER,
    "autoscaling": _OBJECT,
    **{f"autoscaling.{end}NodeCount": _NUMBER for end in ("min", "max", "totalMin", "totalMax")},
    "placementPolicy": _OBJECT,
    "upgradeSettings": _OBJECT,
    "upgradeSettings.maxSurge": _NUMBER,
    "upgradeSettings.maxUnavailable": _NUMBER,
    "networkConfig": _OBJECT,
    "networkConfig.additionalNodeNetworkConfigs": _OBJECTS,
    "queuedProvisioning": _OBJECT,
}
NODE_POOL_REQUIRED: Final = frozenset({"config", "config.machineType", "locations"})

_CLUSTER_OBJECTS = (
    *("addonsConfig", "autopilot", "autoscaling", "ipAllocationPolicy", "maintenancePolicy", "networkConfig"),
    *("masterAuthorizedNetworksConfig", "privateClusterConfig", "releaseChannel"),
)
CLUSTER_SHAPES: Final[Mapping[str, _Shape]] = {
    "locations": _TEXTS,
    "nodePools": _OBJECTS,
    "resourceLabels": _LABELS,
    "autoscaling.resourceLimits": _OBJECTS,
    "masterAuthorizedNetworksConfig.cidrBlocks": _OBJECTS,
    **dict.fromkeys(_CLUSTER_OBJECTS, _OBJECT),
}
RESERVATION_SHAPES: Final[Mapping[str, _Shape]] = {
    "zone": _TEXT,
    "specificReservation": _OBJECT,
    "specificReservation.count": _NUMBER,
    "specificReservation.instanceProperties": _OBJECT,
    "specificReservation.instanceProperties.guestAccelerators": _GPUS,
    "specificReservation.instanceProperties.localSsds": _OBJECTS,
    "aggregateReservation": _OBJECT,
    "aggregateReservation.reservedResources": _CHIPS,
    "shareSettings": _OBJECT,
}


def shape_problem(
    answer: ApiObject, shapes: Mapping[str, _Shape], required: frozenset[str] = frozenset()
) -> str | None:
    """Return the first field that has another type, or that is missing although it is required."""
    for path, (what, is_valid) in shapes.items():
        value = value_at(answer, path)
        if (value is not None or path in required) and not is_valid(value):
            return f"{path} is not {what}"
    return None
