"""The first teams of a stack file: equal shares of what the fleet has, and the text that says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import Any, cast

from berth.evaluate import Verdict
from berth.plan.kueue import FlavorPlan


def teams_text(verdict: Verdict, teams: Sequence[str]) -> str:
    """Teams that share what a sound fleet promises now: each has a queue for TPUs and one for GPUs, as there are."""
    return "".join(f"{line}\n" for line in _lines(verdict, teams))


def _lines(verdict: Verdict, teams: Sequence[str]) -> Iterator[str]:
    flavors = _by_preference(verdict)
    kinds = {"tpu": [f for f in flavors if _tpu(f)], "gpu": [f for f in flavors if not _tpu(f)]}
    queues = {kind: found for kind, found in kinds.items() if found}
    if len(teams) > 1:
        yield from ("cohorts:", "  all: {}                              # what one team leaves idle, others borrow", "")
    yield "teams:"
    for at, team in enumerate(teams):
        yield f"  {team}:"
        if verdict.ack is None:
            yield f"    # groups: [{team}@example.com]         # its people, a Google Group"
        if len(teams) > 1:
            yield "    cohort: all"
        yield "    queues:"
        for kind, found in queues.items():
            yield f"      {kind if len(queues) > 1 else 'train'}:"
            entries = [_entry(verdict, flavor, at, len(teams)) for flavor in found]
            if len(entries) == 1:
                yield f"        flavors: [{entries[0]}]"
            else:
                yield "        flavors:                       # a list: the order is the preference"
                yield from (f"          - {entry}" for entry in entries)


def _by_preference(verdict: Verdict) -> list[FlavorPlan]:
    """What the fleet promises anything of, in the order in which its file describes the pools."""
    plan = verdict.plan or verdict.ack
    assert plan is not None
    assert verdict.file is not None
    fleet = cast("Mapping[str, Any]", verdict.file.fleet)
    parts = [fleet, *cast("Mapping[str, Any]", fleet.get("workers") or {}).values()]
    pools = [pool for part in parts for pool in cast("Mapping[str, object]", part.get("pools") or {})]
    order = {pool: at for at, pool in reversed([*enumerate(pools)])}

    def place(flavor: FlavorPlan) -> int:
        return min((order.get(pool.rpartition("/")[2], 0) for pool in flavor.pools), default=0)

    return sorted((flavor for flavor in plan.flavors if _promised(flavor)), key=place)


def _tpu(flavor: FlavorPlan) -> bool:
    return flavor.resource == "google.com/tpu"


def _promised(flavor: FlavorPlan) -> int:
    """What its own teams are promised and the pools hold: more might be beyond other limits of its."""
    return min(flavor.promised, flavor.capacity.max)


def _entry(verdict: Verdict, flavor: FlavorPlan, at: int, teams: int) -> str:
    """A team's share of a flavor, in whole slices or nodes where they divide it; the first teams get what is over."""
    name = f"flavor: {flavor.name}"
    if verdict.plan is not None and flavor.pools == (flavor.name,):
        name = f"pool: {flavor.name}"
    if teams == 1 and _promised(flavor) == flavor.capacity.max:
        return f"{{{name}, guaranteed: all}}"
    step, sliced = _step(verdict, flavor)
    most = _promised(flavor) // step
    own = most // teams + (at < most % teams)

    def amount(steps: int) -> str:
        return f"{steps} slice{'s' if steps > 1 else ''}" if sliced else str(steps * step)

    shares = {"guaranteed": own, "borrow": most - own}
    return f"{{{', '.join([name, *(f'{key}: {amount(steps)}' for key, steps in shares.items() if steps)])}}}"


def _step(verdict: Verdict, flavor: FlavorPlan) -> tuple[int, bool]:
    """The accelerators of a slice, or of a node; and whether these are slices."""
    if verdict.ack is not None:
        pools = [pool for member in verdict.ack.members for pool in member.node_pools if pool.flavor == flavor.name]
        return gcd(_promised(flavor), *(pool.gpus for pool in pools)), False
    assert verdict.plan is not None
    pools = [pool for pool in verdict.plan.pools if pool.flavor == flavor.name]
    if all(pool.slices for pool in pools):
        return flavor.unit, True
    nodes = (pool.accelerators.max // pool.nodes.max for pool in pools if pool.nodes.max)
    return gcd(_promised(flavor), *nodes), False
