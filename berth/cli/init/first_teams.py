"""The teams of a new stack file, with equal shares of the fleet, as YAML text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import Any, cast

from berth.evaluate import Evaluation
from berth.plan.kueue import FlavorPlan


def teams_text(evaluation: Evaluation, teams: Sequence[str]) -> str:
    """Return `teams` as YAML: each has a share of the example's guarantees, in a queue for TPUs and one for GPUs."""
    return "".join(f"{line}\n" for line in _lines(evaluation, teams))


def _lines(evaluation: Evaluation, teams: Sequence[str]) -> Iterator[str]:
    flavors = _flavors_in_file_order(evaluation)
    kinds = {"tpu": [f for f in flavors if _is_tpu(f)], "gpu": [f for f in flavors if not _is_tpu(f)]}
    queues = {kind: kind_flavors for kind, kind_flavors in kinds.items() if kind_flavors}
    if len(teams) > 1:
        yield from ("cohorts:", "  all: {}                              # teams borrow each other's idle quota", "")
    yield "teams:"
    for index, team in enumerate(teams):
        yield f"  {team}:"
        if evaluation.ack_plan is None:
            yield f"    # groups: [{team}@example.com]         # a Google Group of its people"
        if len(teams) > 1:
            yield "    cohort: all"
        yield "    queues:"
        for kind, kind_flavors in queues.items():
            yield f"      {kind if len(queues) > 1 else 'train'}:"
            entries = [_entry(evaluation, flavor, index, len(teams)) for flavor in kind_flavors]
            if len(entries) == 1:
                yield f"        flavors: [{entries[0]}]"
            else:
                yield "        flavors:                       # a list: the order is the preference"
                yield from (f"          - {entry}" for entry in entries)


def _flavors_in_file_order(evaluation: Evaluation) -> list[FlavorPlan]:
    """Return the flavors with a guarantee, in the order of their pools in the file."""
    plan = evaluation.plan or evaluation.ack_plan
    assert plan is not None
    assert evaluation.file is not None
    fleet = cast("Mapping[str, Any]", evaluation.file.fleet)
    sections = [fleet, *cast("Mapping[str, Any]", fleet.get("workers") or {}).values()]
    pools = [pool for part in sections for pool in cast("Mapping[str, object]", part.get("pools") or {})]
    order = {pool: index for index, pool in reversed([*enumerate(pools)])}

    def file_position(flavor: FlavorPlan) -> int:
        return min((order.get(pool.rpartition("/")[2], 0) for pool in flavor.pools), default=0)

    return sorted((flavor for flavor in plan.flavors if _shareable(flavor)), key=file_position)


def _is_tpu(flavor: FlavorPlan) -> bool:
    return flavor.resource == "google.com/tpu"


def _shareable(flavor: FlavorPlan) -> int:
    """Return the example's guarantees of a flavor, at most its capacity; more could exceed the example's own limits."""
    return min(flavor.promised, flavor.capacity.max)


def _entry(evaluation: Evaluation, flavor: FlavorPlan, index: int, teams: int) -> str:
    """Return a team's share of a flavor in whole slices or nodes; the first teams get the remainder."""
    name = f"flavor: {flavor.name}"
    if evaluation.plan is not None and flavor.pools == (flavor.name,):
        name = f"pool: {flavor.name}"
    if teams == 1 and _shareable(flavor) == flavor.capacity.max:
        return f"{{{name}, guaranteed: all}}"
    unit, in_slices = _share_unit(evaluation, flavor)
    total_units = _shareable(flavor) // unit
    own_units = total_units // teams + (index < total_units % teams)

    def amount(units: int) -> str:
        return f"{units} slice{'s' if units > 1 else ''}" if in_slices else str(units * unit)

    shares = {"guaranteed": own_units, "borrow": total_units - own_units}
    return f"{{{', '.join([name, *(f'{key}: {amount(steps)}' for key, steps in shares.items() if steps)])}}}"


def _share_unit(evaluation: Evaluation, flavor: FlavorPlan) -> tuple[int, bool]:
    """Return the accelerators in one unit of a share, and whether the unit is a slice (True) or a node (False)."""
    if evaluation.ack_plan is not None:
        pools = [
            pool for member in evaluation.ack_plan.members for pool in member.node_pools if pool.flavor == flavor.name
        ]
        return gcd(_shareable(flavor), *(pool.gpus for pool in pools)), False
    assert evaluation.plan is not None
    pools = [pool for pool in evaluation.plan.pools if pool.flavor == flavor.name]
    if all(pool.slices for pool in pools):
        return flavor.unit, True
    nodes = (pool.accelerators.max // pool.nodes.max for pool in pools if pool.nodes.max)
    return gcd(_shareable(flavor), *nodes), False
