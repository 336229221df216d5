"""Renamed teams, pools and workers: an entry keeps its identity by the key under which it was created (`formerly`)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from berth.plan.fleet import FleetPlan, WorkerPlan
from berth.resource import IN_WORKER

BEFORE = " (before)"
"""Ends the name of a removed entry whose name is reused for another entry."""


class Renames(Struct, frozen=True):
    """Old name → new name, for renamed entries only."""

    teams: Mapping[str, str]
    pools: Mapping[str, str]


def find_renames(old: FleetPlan, new: FleetPlan) -> Renames:
    """Return the renamed teams and pools, matched by the keys under which they were created."""
    return Renames(
        _changed_names({t.key: t.name for t in old.teams}, {t.key: t.name for t in new.teams}),
        _changed_names({p.key: p.name for p in old.pools}, {p.key: p.name for p in new.pools}),
    )


def _changed_names(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    renamed = {name: after[key] for key, name in before.items() if after.get(key, name) != name}
    displaced = {
        name: f"{name}{BEFORE}" for key, name in before.items() if key not in after and name in renamed.values()
    }
    return {**renamed, **displaced}


def former_worker_names(old: FleetPlan, new: FleetPlan) -> dict[str, str]:
    """Return the new name of each renamed worker, and another one for a removed worker whose name is reused.

    A worker that only gets another first name is removed, and one of its name added.
    """
    after = {worker.key: worker.name for worker in new.workers}
    used = set(after.values())
    names = {w.name: after.get(w.key, f"{w.name}{BEFORE}" if w.name in used else w.name) for w in old.workers}
    return {name: new_name for name, new_name in names.items() if new_name != name}


def with_worker_names(plan: FleetPlan, names: Mapping[str, str]) -> FleetPlan:
    """Return a plan with its workers, and what is in them, under the new names."""
    if not names:
        return plan

    def translated(key: str) -> str:
        worker, slash, rest = key.partition(IN_WORKER)
        return f"{names.get(worker, worker)}{slash}{rest}" if slash else key

    return replace(
        plan,
        workers=tuple(
            replace(each, name=names[each.name], formerly=each.key) if each.name in names else each
            for each in plan.workers
        ),
        pools=tuple(
            replace(
                pool,
                name=translated(pool.name),
                worker=pool.worker and names.get(pool.worker, pool.worker),
                formerly=pool.formerly and translated(pool.formerly),
            )
            for pool in plan.pools
        ),
        flavors=tuple(replace(each, pools=tuple(map(translated, each.pools))) for each in plan.flavors),
        held=tuple(
            replace(each, key=translated(each.key), pools=tuple(map(translated, each.pools))) for each in plan.held
        ),
    )


def with_new_names(plan: FleetPlan, names: Renames) -> FleetPlan:
    """Return a plan with its teams and pools under their new names."""
    if not names.teams and not names.pools:
        return plan
    teams, pools, allowed = names.teams, names.pools, plan.allowances
    return replace(
        plan,
        teams=tuple(replace(t, name=teams[t.name], formerly=t.key) if t.name in teams else t for t in plan.teams),
        pools=tuple(replace(p, name=pools[p.name], formerly=p.key) if p.name in pools else p for p in plan.pools),
        flavors=tuple(replace(each, pools=_translate_names(each.pools, pools)) for each in plan.flavors),
        cluster_queues=tuple(
            replace(
                queue,
                teams=_translate_names(queue.teams, teams),
                local_queues=tuple(replace(each, team=teams.get(each.team, each.team)) for each in queue.local_queues),
            )
            for queue in plan.cluster_queues
        ),
        held=tuple(replace(each, pools=_translate_names(each.pools, pools)) for each in plan.held),
        allowances=replace(
            allowed,
            replacement=_translate_keys(allowed.replacement, pools),
            deletion=_translate_keys(allowed.deletion, pools),
            change=_translate_keys(allowed.change, pools),
        ),
        workers=tuple(
            replace(each, plan=with_new_names(each.plan, _renames_in_worker(each, names))) for each in plan.workers
        ),
    )


def _renames_in_worker(worker: WorkerPlan, names: Renames) -> Renames:
    """Return the renames that apply inside a worker's plan, with `worker/` removed from names of pools."""
    prefix = f"{worker.name}/"
    own_pools = {
        old.removeprefix(prefix): new.removeprefix(prefix) for old, new in names.pools.items() if prefix in old
    }
    return Renames(names.teams, own_pools)


def _translate_keys(reasons: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    return {new.get(key, key): reason for key, reason in reasons.items()}


def _translate_names(names: tuple[str, ...], new: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(new.get(name, name) for name in names)
