"""Protected resources, and the allowances of a stack file: whether a change is allowed, and which are unused."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from msgspec import Struct

from berth.plan.fleet import AllowancesPlan
from berth.resource import ResourceKind


class GuardedAction(StrEnum):
    """What a guarded change does to its resource."""

    REPLACE = "replace"
    """The resource is deleted and created again."""
    DELETE = "delete"
    """The resource is deleted."""
    UNPROTECT = "unprotect"
    """An update in place switches off its protection."""
    REFUSE = "refuse"
    """Google Cloud refuses the update in place."""
    SHRINK = "shrink"
    """An update in place takes away machines, or all that a queue is guaranteed."""
    WEAKEN = "weaken"
    """An update in place takes a safeguard away."""
    REDIRECT = "redirect"
    """An update in place connects the stack in another way, which may be another cluster."""


ALLOWANCE_SECTION = {
    GuardedAction.REPLACE: "allowReplacement",
    GuardedAction.DELETE: "allowDeletion",
    GuardedAction.UNPROTECT: "allowChange",
    GuardedAction.REFUSE: "allowChange",
    GuardedAction.SHRINK: "allowChange",
    GuardedAction.WEAKEN: "allowChange",
    GuardedAction.REDIRECT: "allowChange",
}
IN_PLACE: Final = tuple(action for action, section in ALLOWANCE_SECTION.items() if section == "allowChange")
"""Actions that are updates, which `allowChange` allows."""
CLUSTER_KEY: Final = "cluster"
"""The key of the cluster's allowance, and the path of the cluster among the reasons of a change."""
UNPROTECTED = "nothing in this fleet is protected (protect: false)"


class IdleAllowance(Struct, frozen=True):
    """An allowance in a `section` of the stack file that the change does not need; a resource is left unprotected."""

    section: str
    key: str
    reason: str


def unused_allowances(
    section_prefix: str, old: AllowancesPlan | None, new: AllowancesPlan, used: set[tuple[str, str]]
) -> Iterator[IdleAllowance]:
    """Yield allowances that are not in `used` (action and key); `section_prefix` is what their sections begin with."""
    deletions = {key: why for key, why in new.deletion.items() if old is not None and key in old.deletion}
    for actions, reasons in (
        ((GuardedAction.REPLACE,), new.replacement),
        ((GuardedAction.DELETE,), deletions),
        (IN_PLACE, new.change),
    ):
        for key in sorted(reasons):
            if not used.intersection((action, key) for action in actions):
                yield IdleAllowance(section_prefix + ALLOWANCE_SECTION[actions[0]], key, reasons[key])


def allowance_reason(action: GuardedAction, key: str, allowances: AllowancesPlan) -> str | None:
    """Return the reason that the stack file gives for a loss; None if the loss is not allowed.

    A replacement is allowed by the new stack file. A deletion, and a replacement caused by a dependency, are allowed by
    the stack file that was deployed before.
    """
    if not allowances.protect:
        return UNPROTECTED
    return (allowances.replacement if action == GuardedAction.REPLACE else allowances.deletion).get(key)


# --- protected resources ----------------------------------------------------------------------------------------------


class ProtectedKind(Struct, frozen=True):
    """A kind of protected resource.

    Its Pulumi name is `name_prefix`, the key and `name_suffix`; `allowance_format` is its name in an allowance, made of
    its `key` or its `pool`.
    """

    kind: ResourceKind
    type_token: str
    name_suffix: str
    allowance_format: str
    name_prefix: str = ""

    def resource_key(self, name: str) -> str:
        """Return the key of a resource named `name`."""
        return name.removeprefix(self.name_prefix).removesuffix(self.name_suffix)

    def allowance_key(self, key: str, pool: str | None = None) -> str:
        """Return the name in an allowance: `cluster`, `v5e`, `reservations.l4`."""
        return self.allowance_format.format(key=key, pool=pool)


_GKE_KINDS: Final = (
    ProtectedKind(ResourceKind.CLUSTER, "gcp:container/cluster:Cluster", "-cluster", "{key}"),
    ProtectedKind(ResourceKind.NODE_POOL, "gcp:container/nodePool:NodePool", "-pool", "{pool}"),
    ProtectedKind(
        ResourceKind.RESERVATION, "gcp:compute/reservation:Reservation", "-reservation", "reservations.{key}"
    ),
    ProtectedKind(
        ResourceKind.FUTURE_RESERVATION,
        "gcp:compute/futureReservation:FutureReservation",
        "-request",
        "reservations.{key}",
    ),
)
PROTECTED_ON_GKE: Final = {each.kind: each for each in _GKE_KINDS}
PROTECTED_BY_TYPE: Final = {each.type_token: each for each in _GKE_KINDS}
