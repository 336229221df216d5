"""What may be changed or removed although it is protected: only what the stack file allows, and says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from berth.diagnostics import closest_match, format_value, join_quoted
from berth.plan.allowances import AllowancesPlan
from berth.planner.context import PlanningContext

CLUSTER, FLEET, NETWORK, PROTECT = "cluster", "fleet", "network", "protect"


def is_protected(context: PlanningContext, key: str) -> bool:
    """Whether a thing is protected: it is, unless the fleet is not, or an allowance names it.

    `key` is one of those that AllowancesPlan knows.
    """
    spec = context.spec
    return spec.protect and key not in spec.allow_replacement and key not in spec.allow_deletion


def allowances(context: PlanningContext, queues: list[str]) -> AllowancesPlan:
    """What may be lost. Report the allowances that name nothing: they are typing errors, or were forgotten here.

    `queues` are Kueue's names of all cluster queues, as they were written.
    """
    spec = context.spec
    if CLUSTER in spec.pools:
        message = f"'{CLUSTER}' is what allowances call the cluster itself; name the pool otherwise"
        context.reject("pools", CLUSTER, "duplicate-name", ("pools", CLUSTER), message)
    names_by_kind = {"reservations": spec.reservations, "clusterQueues": queues}
    known = [
        *sorted(spec.pools),
        *(f"{kind}.{name}" for kind, names in names_by_kind.items() for name in sorted(names)),
        CLUSTER,
    ]
    remedy = "write a pool's name, reservations.<name>, clusterQueues.<name> or cluster"
    return _checked_allowances(context, known, remedy, lambda _, key: _is_set_aside(context, key))


def ack_allowances(context: PlanningContext, members: Mapping[str, Iterable[str]], queues: list[str]) -> AllowancesPlan:
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

    def is_set_aside(section: str, key: str) -> bool:
        return bool(context.set_aside) or (section == "allowDeletion" and key.startswith("clusterQueues."))

    return _checked_allowances(context, known, remedy, is_set_aside)


def _checked_allowances(
    context: PlanningContext, known: list[str], remedy: str, is_set_aside: Callable[[str, str], bool]
) -> AllowancesPlan:
    """The allowances, with a fault for each that names nothing `known`, unless what it names is `lost`."""
    spec = context.spec
    for section, keys in (("allowReplacement", spec.allow_replacement), ("allowDeletion", spec.allow_deletion)):
        for key in sorted(keys):
            if key not in known and not is_set_aside(section, key):
                message = f"nothing protected is called '{format_value(key)}'; {_suggestion(key, known) or remedy}"
                context.problems.fault("unknown-reference", (section, key), message)
    _check_changes(context)
    return AllowancesPlan(
        protect=spec.protect,
        replacement=spec.allow_replacement,
        deletion=spec.allow_deletion,
        change=spec.allow_change,
    )


def _check_changes(context: PlanningContext) -> None:
    """Report allowances of changes in place that name nothing: on Alibaba Cloud only `protect` is there."""
    known = [*sorted(context.spec.pools), CLUSTER, NETWORK, PROTECT]
    for key in sorted(context.spec.allow_change):
        if key not in known and not context.is_set_aside("pools", key):
            remedy = _suggestion(key, known) or "write protect, cluster, network or a pool's name"
            message = f"no change in place is guarded under '{format_value(key)}'; {remedy}"
            context.problems.fault("unknown-reference", ("allowChange", key), message)


def _is_set_aside(context: PlanningContext, key: str) -> bool:
    section, dot, name = key.partition(".")
    if section == "clusterQueues" and dot:
        return any(aside in ("teams", section) for aside, _ in context.set_aside)
    return (
        context.is_set_aside("reservations", name)
        if section == "reservations" and dot
        else context.is_set_aside("pools", key)
    )


def _suggestion(key: str, known: list[str]) -> str:
    suffix_match = next((candidate for candidate in known if candidate.endswith((f".{key}", f"/{key}"))), None)
    best_match = suffix_match or closest_match(key, known)
    return f"did you mean {join_quoted([best_match])}?" if best_match else ""
