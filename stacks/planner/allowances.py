"""What may be changed or removed although it is protected: only what the stack file allows, and says why."""

from __future__ import annotations

from components.plan.fleet import AllowancesPlan
from stacks.planner.draft import Draft
from stacks.problems import closest, quoted, shown

CLUSTER = "cluster"


def protected(draft: Draft, key: str) -> bool:
    """Whether a thing is protected: it is, unless the fleet is not, or an allowance names it.

    `key` is a pool's name, `reservations.<name>`, `clusterQueues.<Kueue's name>` or `cluster`.
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
    for section, keys in (("allowReplacement", spec.allow_replacement), ("allowDeletion", spec.allow_deletion)):
        for key in sorted(keys):
            if key not in known and not _lost(draft, key):
                message = f"nothing protected is called '{shown(key)}'; {_remedy(key, known)}"
                draft.problems.fault("unknown-reference", (section, key), message)
    return AllowancesPlan(protect=spec.protect, replacement=spec.allow_replacement, deletion=spec.allow_deletion)


def _lost(draft: Draft, key: str) -> bool:
    section, dot, name = key.partition(".")
    if section == "clusterQueues" and dot:
        return any(each in ("teams", section) for each, _ in draft.set_aside)
    return draft.lost("reservations", name) if section == "reservations" and dot else draft.lost("pools", key)


def _remedy(key: str, known: list[str]) -> str:
    inside = next((each for each in (f"reservations.{key}", f"clusterQueues.{key}") if each in known), None)
    if close := inside or closest(key, known):
        return f"did you mean {quoted([close])}?"
    return "write a pool's name, reservations.<name>, clusterQueues.<name> or cluster"
