"""The additional networks that pods ask for by an annotation (GKE docs: multi-network support for Pods).

A webhook of GKE adds a request for each of them to the pods themselves: a network of the type Device is one device of
its node. Kueue counts the pods of a job's template, which have no such requests yet.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from berth.jobs.values import SourceValue, describe_value, get_nested
from berth.manifests.workloads.values import as_mapping
from berth.plan.node_settings import INTERFACES, NETWORK_RESOURCE

_STEPS = ("metadata", "annotations", INTERFACES)
_OWN = ("", "default", "pod-network")
"""Names of the network that every pod has, which is no device of its node."""


def network_requests(template: SourceValue) -> dict[str, int]:
    """Return a request for each additional network that the pods of a template name; a fault if it cannot be read."""
    written = get_nested(template.value, *_STEPS)
    if written is None:
        return {}
    source = template
    for step in _STEPS:
        source = source.child(step, as_mapping(source.value)[step])
    interfaces = _read(written)
    if interfaces is None:
        example = '[{"interfaceName": "eth0", "network": "default"}]'
        source.fault(
            "bad-value", f"{describe_value(written)} is not a list of interfaces in JSON; write one: {example}"
        )
        return {}
    names = [str(each.get("network", "")) for each in interfaces]
    return {f"{NETWORK_RESOURCE}{name}": 1 for name in names if name not in _OWN}


def network_paths(requests: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return where a template asks for each network."""
    return dict.fromkeys(requests, _STEPS)


def _read(text: object) -> list[Mapping[str, Any]] | None:
    try:
        value: object = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if not isinstance(value, list):
        return None
    interfaces = [as_mapping(each) for each in value]
    return interfaces if all("interfaceName" in each for each in interfaces) else None
