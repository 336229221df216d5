"""What may be changed or removed although it is protected: only what the stack file allows, and says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from berth.diagnostics import closest, quoted, shown
from berth.plan.allowances import AllowancesPlan
from berth.planner.context import Draft

CLUSTER, FLEET = "cluster", "fleet"


def protected(draft: Draft, key: str) -> bool:
    """Whether a thing is protected: it is, unless the fleet is not, or an allowance names it.

    `key` is one of those that AllowancesPlan knows.
    """
    spec = draft.spec
    return spec.protect and key not in spec.allow_replacement and key not in spec.allow_deletion


def allowances(draft: Draft, queues: list[str]) -> AllowancesPlan:
    """What may be lost. Report the allowances that name nothing: they are typing errors, or were forgotten here.

    `queues` are Kueue's names of all cluster queues, as they were written.
    """
    spec = draft.spec
    if CLUSTER in spec.pools:
        message = f"'{CLUSTER}' is what allowances call the cluster itself; name the pool otherwise"
        draft.drop("pools", CLUSTER, "duplicate-name", ("pools", CLUSTER), message)
    named = {"reservations": spec.reservations, "clusterQueues": queues}
    known = [
        *sorted(spec.pools),
        *(f"{kind}.{name}" for kind, names in named.items() for name in sorted(names)),
        CLUSTER,
    ]
    remedy = "write a pool's name, reservations.<name>, clusterQueues.<name> or cluster"
    return _settled(draft, known, remedy, lambda _, key: _lost(draft, key))


def ack_allowances(draft: Draft, members: Mapping[str, Iterable[str]], queues: list[str]) -> AllowancesPlan:
    """The same of a fleet on Alibaba Cloud, of its `members` with their node pools.

    The deletion of a queue is allowed by the change that takes it out, so its name need not be there any more.
    """
    known = [
        *(f"{member}/{pool}" for member in sorted(members) for pool in sorted(members[member])),
        *(f"clusters.{member}" for member in sorted(members)),
        *(f"clusterQueues.{name}" for name in sorted(queues)),
        FLEET,
    ]
    remedy = "write <member>/<node pool>, clusters.<member>, clusterQueues.<name> or fleet"

    def lost(section: str, key: str) -> bool:
        return bool(draft.set_aside) or (section == "allowDeletion" and key.startswith("clusterQueues."))

    return _settled(draft, known, remedy, lost)


def _settled(draft: Draft, known: list[str], remedy: str, lost: Callable[[str, str], bool]) -> AllowancesPlan:
    """The allowances, with a fault for each that names nothing `known`, unless what it names is `lost`."""
    spec = draft.spec
    for section, keys in (("allowReplacement", spec.allow_replacement), ("allowDeletion", spec.allow_deletion)):
        for key in sorted(keys):
            if key not in known and not lost(section, key):
                message = f"nothing protected is called '{shown(key)}'; {_meant(key, known) or remedy}"
                draft.problems.fault("unknown-reference", (section, key), message)
    return AllowancesPlan(protect=spec.protect, replacement=spec.allow_replacement, deletion=spec.allow_deletion)


def _lost(draft: Draft, key: str) -> bool:
    section, dot, name = key.partition(".")
    if section == "clusterQueues" and dot:
        return any(each in ("teams", section) for each, _ in draft.set_aside)
    return draft.lost("reservations", name) if section == "reservations" and dot else draft.lost("pools", key)


def _meant(key: str, known: list[str]) -> str:
    inside = next((each for each in known if each.endswith((f".{key}", f"/{key}"))), None)
    close = inside or closest(key, known)
    return f"did you mean {quoted([close])}?" if close else ""
