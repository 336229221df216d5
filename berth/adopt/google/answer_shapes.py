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


OBJECT: Shape = ("an object", lambda value: isinstance(value, dict))
OBJECTS: Shape = ("a list of objects", lambda value: _all(value, dict))
TEXT: Shape = ("a text", lambda value: isinstance(value, str) and value != "")
TEXTS: Shape = ("a list of texts", lambda value: _all(value, str))
_NUMBER: Shape = ("a number", _is_number)
LABELS: Shape = (
    "an object of texts",
    lambda value: isinstance(value, dict) and _all([*cast("ApiObject", value).values()], str),
)
_TAINTS: Shape = (
    "a list of taints with key and effect",
    lambda value: _all(value, dict) and all({"key", "effect"} <= each.keys() for each in value),
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
    "config.reservationAffinity": _AFFINITY,
    "config.ephemeralStorageLocalSsdConfig": OBJECT,
    "config.ephemeralStorageLocalSsdConfig.localSsdCount": _NUMBER,
    "config.localNvmeSsdBlockConfig": OBJECT,
    "config.localNvmeSsdBlockConfig.localSsdCount": _NUMBER,
    "locations": ("a list of zones", lambda value: bool(value) and TEXTS[1](value)),
    "initialNodeCount": _NUMBER,
    "autoscaling": OBJECT,
    **{f"autoscaling.{end}NodeCount": _NUMBER for end in ("min", "max", "totalMin", "totalMax")},
    "placementPolicy": OBJECT,
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
CLUSTER_SHAPES: Final[Mapping[str, Shape]] = {
    "locations": TEXTS,
    "nodePools": OBJECTS,
    "resourceLabels": LABELS,
    "autoscaling.resourceLimits": OBJECTS,
    "masterAuthorizedNetworksConfig.cidrBlocks": OBJECTS,
    **dict.fromkeys(_CLUSTER_OBJECTS, OBJECT),
}
RESERVATION_SHAPES: Final[Mapping[str, Shape]] = {
    "zone": TEXT,
    "specificReservation": OBJECT,
    "specificReservation.count": _NUMBER,
    "specificReservation.instanceProperties": OBJECT,
    "specificReservation.instanceProperties.guestAccelerators": _GPUS,
    "specificReservation.instanceProperties.localSsds": OBJECTS,
    "aggregateReservation": OBJECT,
    "aggregateReservation.reservedResources": _CHIPS,
    "shareSettings": OBJECT,
}


def shape_problem(answer: ApiObject, shapes: Mapping[str, Shape], required: frozenset[str] = frozenset()) -> str | None:
    """Return the first field that has another type, or that is missing although it is required.

    `a[].b` is the field of each object in a list, whose own shape stands before it.
    """
    for path, (what, is_valid) in shapes.items():
        for shown, value in _values_at(answer, path):
            if (value is not None or path in required) and not is_valid(value):
                return f"{shown} is not {what}"
    return None


def _values_at(answer: ApiObject, path: str, above: str = "") -> Iterator[tuple[str, object]]:
    first, is_list, rest = path.partition("[].")
    value = value_at(answer, first)
    if not is_list:
        yield above + first, value
        return
    for index, each in enumerate(cast("list[ApiObject]", value or [])):
        yield from _values_at(each, rest, f"{above}{first}[{index}].")
