"""Plan allowances: which protected resources may be replaced or deleted, and why."""

from __future__ import annotations

from collections.abc import Callable

from berth.diagnostics import closest_match, format_value, join_quoted
from berth.plan.fleet import AllowancesPlan
from berth.planner.context import PlanningContext

CLUSTER, NETWORK, PROTECT = "cluster", "network", "protect"

OBJECT_PREFIXES = (
    *("namespaces.", "localQueues.", "controllers.", "policies.", "storageClasses.", "volumes.", "resources."),
)
"""How keys of allowDeletion begin that name Kubernetes objects (berth/diff/guard/protected_objects.yaml). The change
that deletes an object also allows it, so such an allowance may name what no longer exists."""


def is_protected(context: PlanningContext, key: str) -> bool:
    """Return whether a resource is protected: always, unless protection is off or an allowance names it.

    `key` is a key of AllowancesPlan.
    """
    spec = context.spec
    return spec.protect and key not in spec.allow_replacement and key not in spec.allow_deletion


def allowances(context: PlanningContext, queues: list[str]) -> AllowancesPlan:
    """Return the allowances; report those that name nothing, which are typing errors or no longer needed.

    `queues` are the names of all cluster queues in Kueue.
    """
    spec = context.spec
    if CLUSTER in spec.pools:
        message = f"'{CLUSTER}' means the cluster itself in allowances; write another pool name"
        context.reject("pools", CLUSTER, "duplicate-name", ("pools", CLUSTER), message)
    names_by_kind = {"reservations": spec.reservations, "clusterQueues": queues}
    known = [
        *sorted(spec.pools),
        *(f"{kind}.{name}" for kind, names in names_by_kind.items() for name in sorted(names)),
        CLUSTER,
    ]
    remedy = "write a pool's name, reservations.<name>, clusterQueues.<name> or cluster"
    return checked_allowances(context, known, remedy, lambda _, key: _is_set_aside(context, key))


def checked_allowances(
    context: PlanningContext, known: list[str], remedy: str, is_set_aside: Callable[[str, str], bool]
) -> AllowancesPlan:
    """Return the allowances; report each that names nothing `known`, unless it was omitted for another fault."""
    spec = context.spec
    for section, keys in (("allowReplacement", spec.allow_replacement), ("allowDeletion", spec.allow_deletion)):
        for key in sorted(keys):
            is_of_object = section == "allowDeletion" and key.startswith(OBJECT_PREFIXES)
            if key not in known and not is_of_object and not is_set_aside(section, key):
                message = f"no protected resource is named '{format_value(key)}'; {_suggestion(key, known) or remedy}"
                context.problems.fault("unknown-reference", (section, key), message)
    _check_changes(context, [key for key in known if "." in key])
    return AllowancesPlan(
        protect=spec.protect,
        replacement=spec.allow_replacement,
        deletion=spec.allow_deletion,
        change=spec.allow_change,
    )


def _check_changes(context: PlanningContext, others: list[str]) -> None:
    """Report allowances of in-place changes that name nothing: a pool, one of `others`, or a policy by any name."""
    known = [*sorted(context.spec.pools), CLUSTER, NETWORK, PROTECT, *others]
    for key in sorted(context.spec.allow_change):
        if key not in known and not key.startswith("policies.") and not _is_set_aside(context, key):
            remedy = _suggestion(key, known) or f"remove allowChange.{format_value(key)}"
            message = f"'{format_value(key)}' is not protect, cluster, network or the name of a pool; {remedy}"
            context.problems.fault("unknown-reference", ("allowChange", key), message)


def _is_set_aside(context: PlanningContext, key: str) -> bool:
    section, dot, name = key.partition(".")
    if section == "clusterQueues" and dot:
        return context.lacks_entries("teams", section)
    return (
        context.is_set_aside("reservations", name)
        if section == "reservations" and dot
        else context.is_set_aside("pools", key)
    )


def _suggestion(key: str, known: list[str]) -> str:
    suffix_match = next((candidate for candidate in known if candidate.endswith((f".{key}", f"/{key}"))), None)
    best_match = suffix_match or closest_match(key, known)
    return f"did you mean {join_quoted([best_match])}?" if best_match else ""
