"""Objects that two stacks of the repository make in one cluster: a manager in a worker, and the worker's own stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from berth.diagnostics import FieldPath, Problem, Severity, format_path, join_words
from berth.plan.fleet import FleetPlan, WorkerPlan

ObjectName = tuple[str, str, str]
"""Kind, namespace and name."""

_SHOWN = 3
_QUEUE = "ClusterQueue"
_OF_POOLS = ("ResourceFlavor", "Topology")


def objects_made_twice(worker: WorkerPlan, other: FleetPlan, owner: str) -> Iterator[Problem]:
    """Yield what a manager makes in a worker and `owner` too: a fault where they differ, else one note for all.

    A queue that both make alike is a fault too, because its quota exists once and is promised twice.

    `other` is what the owner has in the same cluster: the plan of its stack, or of another manager's worker.
    """
    ours, theirs = _by_name(worker.plan), _by_name(other)
    access = [name for name in _access(worker.plan) if name in ours and name in theirs]
    if access:
        yield _account_of_both(worker, access[0], owner, is_alike=all(ours[name] == theirs[name] for name in access))
    twice = [name for name in ours if name in theirs and name not in access]
    different: dict[tuple[FieldPath, str], list[ObjectName]] = {}
    for name in twice:
        if ours[name] != theirs[name] or name[0] == _QUEUE:
            path = _place(worker.plan, name)
            is_of_worker = not path or path[0] == "pools"
            at = ("workers", worker.name, *path) if is_of_worker else path
            theirs_at = format_path(_place(other, name))
            different.setdefault((at, f"{theirs_at} of {owner}" if theirs_at else owner), []).append(name)
    for (path, their_place), names in different.items():
        is_otherwise = any(ours[name] != theirs[name] for name in names)
        effect = "each update undoes the other's" if is_otherwise else "one quota is promised twice"
        message = (
            f"makes {_listed(names)} on worker {worker.name} {'otherwise than' if is_otherwise else 'as does'} "
            f"{their_place} in the same cluster, so that {effect}; {_remedy(path)}"
        )
        # Rules for people's jobs differ with what a stack describes; the rest is a guarantee, a machine or a rank.
        is_rules = all(kind.startswith("ValidatingAdmissionPolicy") for kind, _, _ in names)
        yield Problem(Severity.WARNING if is_rules else Severity.FAULT, "worker-stack", path, message)
    alike = [name for name in twice if ours[name] == theirs[name] and name[0] != _QUEUE]
    if alike:
        message = (
            f"{_listed(alike)} on worker {worker.name} {'are' if len(alike) > 1 else 'is'} made by {owner} too, alike: "
            "what one of both deletes is gone until the other is updated with --refresh"
        )
        yield Problem(Severity.NOTE, "worker-stack", ("workers", worker.name), message)


def _account_of_both(worker: WorkerPlan, account: ObjectName, owner: str, *, is_alike: bool) -> Problem:
    """Return what becomes of the account on the worker that two managers have: they cannot be told apart there."""
    path, name = ("workers", worker.name), _listed([account])
    if not is_alike:
        message = (
            f"gives {name} on worker {worker.name} other rights than {owner}, so that each update undoes the other's; "
            "write the same kueue.integrations.frameworks in both"
        )
        return Problem(Severity.FAULT, "worker-stack", path, message)
    message = (
        f"{name} with its token on worker {worker.name} is that of {owner} too: when one of both leaves the worker, "
        "the other cannot reach it until it is updated with --refresh; have one manager of the worker"
    )
    return Problem(Severity.WARNING, "worker-stack", path, message)


def _access(plan: FleetPlan) -> tuple[ObjectName, ...]:
    """Return the objects by which a manager reaches a worker, the account first."""
    if (access := plan.manager_access) is None:
        return ()
    from berth.manifests.worker_access import access_manifests, token_secret

    manifests = [*(manifest for _, manifest in access_manifests(access)), token_secret(access)]
    return tuple(_name_of(each) for each in manifests)


def _by_name(plan: FleetPlan) -> dict[ObjectName, Mapping[str, object]]:
    from berth.manifests.fleet import all_manifests  # most fleets have no such worker, and loading takes 70 ms

    return {_name_of(cast("Mapping[str, Any]", each)): each for each in all_manifests(plan)}


def _name_of(manifest: Mapping[str, Any]) -> ObjectName:
    metadata = manifest["metadata"]
    return str(manifest["kind"]), str(metadata.get("namespace") or ""), str(metadata["name"])


def _place(plan: FleetPlan, name: ObjectName) -> FieldPath:
    """Return the entry that an object is made for: a pool or a team; empty for what a whole cluster has."""
    kind, namespace, own = name
    if kind in _OF_POOLS:
        flavors = {flavor.name for flavor in plan.flavors if own in (flavor.name, flavor.topology)}
        return next((("pools", pool.name) for pool in plan.own_pools if pool.flavor in flavors), ())
    if kind == _QUEUE:
        queue = next((each for each in plan.cluster_queues if each.name == own), None)
        return ("teams", queue.teams[0]) if queue and queue.teams else ()
    space = own if kind == "Namespace" else namespace
    return next((("teams", team.name) for team in plan.teams if space in {n.name for n in team.namespaces}), ())


def _listed(names: list[ObjectName]) -> str:
    titles = [f"{kind} {f'{namespace}/' if namespace else ''}{own}" for kind, namespace, own in names]
    shown = titles if len(titles) <= _SHOWN + 1 else titles[:_SHOWN]
    return join_words([*shown, *([f"{len(titles) - len(shown)} more"] if len(titles) > len(shown) else [])])


def _remedy(path: FieldPath) -> str:
    if path[0] == "teams":
        return "write another key for the team, or leave it to one of both"
    if path[-2] == "pools":
        return "write another flavor for the pool in one of both"
    return "have teams in one of both only"
