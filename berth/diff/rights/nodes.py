"""Rights that inputs of node pools and clusters give: network tags, the kubelet's port, accounts, unsigned software.

They are found in what is registered, for new pools as for old ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from berth.diff.kinds import ChangeKind
from berth.diff.rights.changes import CONTROL_PLANE, NODES, RightChange
from berth.google.fleet import google_resources
from berth.plan.fleet import FleetPlan
from berth.registration import provider_inputs
from berth.resource import IN_WORKER, FleetResource, ResourceKind

_KUBELET: Final = "nodeConfig.kubeletConfig."
_SECURE_BOOT: Final = "shieldedInstanceConfig.enableSecureBoot"
OPENING_INPUTS: Final[Mapping[str, tuple[str, str]]] = {
    "nodeConfig.tags": ("network tag", ""),
    "nodeConfig.serviceAccount": ("account of nodes", ""),
    f"{_KUBELET}allowedUnsafeSysctls": ("unsafe sysctl", ""),
    f"{_KUBELET}insecureKubeletReadonlyPortEnabled": ("kubelet port", "without authentication"),
    f"nodeConfig.{_SECURE_BOOT}": ("boot", "of unsigned software"),
    f"clusterAutoscaling.autoProvisioningDefaults.{_SECURE_BOOT}": ("boot", "of unsigned software"),
    "privateClusterConfig.masterGlobalAccessConfig.enabled": ("private endpoint", "from every region"),
}
"""Input → the right that it gives: with each text that it has, or the one value of a switch."""
_OPEN: Final = {
    f"nodeConfig.{_SECURE_BOOT}": False,
    f"clusterAutoscaling.autoProvisioningDefaults.{_SECURE_BOOT}": False,
}
"""Switches that give their right while they are off."""
_OWNERS: Final = {"private endpoint": CONTROL_PLANE, "boot": NODES}
"""Rights of a cluster's inputs → whose they are."""


def opened_nodes(old: FleetPlan, new: FleetPlan) -> Iterator[RightChange]:
    """Yield the rights of inputs that two plans give differently, in clusters that both have."""
    clusters = {"", *(f"{worker.name}{IN_WORKER}" for worker in old.workers)}
    made = {(each.kind, each.key): each for each in google_resources(old) if each.kind in _KINDS}
    before: dict[tuple[str, str, str], None] = {}
    after: dict[tuple[str, str, str], None] = {}
    for each in google_resources(new):
        was = made.pop((each.kind, each.key), None) if each.kind in _KINDS else None
        if each.kind not in _KINDS or (was is not None and each.is_made_like(was)):
            continue
        if "".join(each.key.rpartition(IN_WORKER)[:2]) in clusters:
            after |= dict.fromkeys(_rights_of(each))
            before |= dict.fromkeys(_rights_of(was) if was is not None else ())
    for gone in made.values():
        before |= dict.fromkeys(_rights_of(gone))
    yield from (RightChange(*each[:2], ChangeKind.ADDED, None, each[2]) for each in after if each not in before)
    yield from (RightChange(*each[:2], ChangeKind.REMOVED, each[2], None) for each in before if each not in after)


_KINDS: Final = (ResourceKind.NODE_POOL, ResourceKind.SYSTEM_POOL, ResourceKind.CLUSTER)


def _rights_of(resource: FleetResource) -> Iterator[tuple[str, str, str]]:
    """Yield owner, right and value of each right that the inputs of a resource give."""
    worker, slash, _ = resource.key.rpartition(IN_WORKER)
    for made in resource.registrations().values():
        inputs = provider_inputs(made.arguments)
        for path, (right, value) in OPENING_INPUTS.items():
            is_pool = resource.kind != ResourceKind.CLUSTER
            if is_pool != path.startswith("nodeConfig."):
                continue
            found = _at(inputs, path)
            name = (resource.pool or "").rpartition(IN_WORKER)[2]
            whose = f"pool {name}" if name else "system pool" if is_pool else _OWNERS[right]
            owner = f"{worker}{slash}{whose}"
            if value:
                switch = found if isinstance(found, bool) else found == "TRUE" if found is not None else None
                yield from ((owner, right, value),) if switch is _OPEN.get(path, True) else ()
            else:
                texts = cast("list[object]", found) if isinstance(found, list) else [found]
                yield from ((owner, right, each) for each in texts if isinstance(each, str))


def _at(inputs: Mapping[str, Any], path: str) -> object:
    """Return the input at a path, None if it is not set."""
    value: object = inputs
    for step in path.split("."):
        value = cast("Mapping[str, object]", value).get(step) if isinstance(value, Mapping) else None
    return value
