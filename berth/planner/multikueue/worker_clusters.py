"""Worker clusters as fleets of their own: what each holds, and the flavors that they have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Path, Problem
from berth.plan.nodes import Bounds
from berth.planner.cluster.gke import cluster_name
from berth.planner.cluster_fleet import Machines, machines
from berth.planner.context import Draft
from berth.planner.machines.pools import Pool
from berth.planner.multikueue.quota_shares import Held
from berth.planner.queueing.flavors import Flavor
from berth.rules.gke.gpu import gpu_labels
from berth.spec.workers import WorkerSpec

OF_MACHINES = frozenset(
    {"cluster", "pools", "computeClasses", "reservations", "allowReplacement", "allowDeletion", "region"}
)
"""Sections that a worker has of its own."""


class Site(Struct, frozen=True):
    """A worker being planned, as a fleet of its own with the sections that it shares with the manager."""

    name: str
    spec: WorkerSpec
    draft: Draft
    here: Machines


def sites(draft: Draft) -> list[Site]:
    """Every worker, by name, with its machines. What could not exist is missing in the fleet too."""
    found = [_site(draft, name, spec) for name, spec in sorted(draft.spec.workers.items())]
    for site in found:
        draft.set_aside |= {part for part in site.draft.set_aside if part[0] in ("pools", "flavors")}
    _clusters_apart(draft, found)
    _one_worker_each(draft, found)
    return found


def _site(draft: Draft, name: str, spec: WorkerSpec) -> Site:
    fleet = draft.spec
    project = spec.project or fleet.project
    own = fleet.model_copy(
        update={
            "project": project,
            "project_number": spec.project_number or (fleet.project_number if project == fleet.project else None),
            "region": spec.region or fleet.region,
            "cluster": spec.cluster or type(fleet.cluster).model_validate({}),
            "reservations": spec.reservations,
            "pools": spec.pools,
            "compute_classes": spec.compute_classes,
            "flavors": {},
            "workers": {},
            "kueue": fleet.kueue.model_copy(update={"multi_kueue": None}),
            "allow_replacement": spec.allow_replacement | _of_queues(fleet.allow_replacement),
            "allow_deletion": spec.allow_deletion | _of_queues(fleet.allow_deletion),
        }
    )
    shared = {part for part in draft.set_aside if part[0] not in OF_MACHINES | {"flavors"}}
    if spec.region is None:
        shared |= {part for part in draft.set_aside if part[0] == "region"}
    site = Draft(f"{draft.stack}-{name}", own, shared, elsewhere=not spec.made_here)
    return Site(name, spec, site, machines(site))


def _of_queues(allowed: Mapping[str, str]) -> dict[str, str]:
    return {key: why for key, why in allowed.items() if key.startswith("clusterQueues.")}


def placed(site: Site, path: Path) -> Path:
    """Where a path of a worker stands in the fleet."""
    return ("workers", site.name, *path) if path and path[0] in OF_MACHINES else path


def tell(draft: Draft, site: Site) -> None:
    """Report what was found in a worker. What it shares with the manager is reported there."""
    for problem in site.draft.problems.found:
        if problem.path and problem.path[0] in OF_MACHINES:
            draft.problems.found.append(_moved(site, problem))


def _moved(site: Site, problem: Problem) -> Problem:
    return replace(problem, path=placed(site, problem.path))


def _clusters_apart(draft: Draft, found: Sequence[Site]) -> None:
    """No two clusters of a project have one name: their networks would have it too."""
    taken = {(draft.spec.project, cluster_name(draft)): "the manager"}
    for site in found:
        name = cluster_name(site.draft)
        first = taken.setdefault((site.draft.spec.project, name), f"worker '{site.name}'")
        if first != f"worker '{site.name}'" and site.spec.made_here:
            message = f"'{name}' is already the cluster of {first} in project {site.draft.spec.project}"
            draft.problems.fault(
                "duplicate-name", ("workers", site.name, "cluster", "name"), f"{message}; name it otherwise"
            )


def _one_worker_each(draft: Draft, found: Sequence[Site]) -> None:
    """A cluster that exists is one worker: two would promise its machines twice."""
    for field, key in (("stack", "stack"), ("kubeconfig", "kubeconfig"), ("cluster_profile", "clusterProfile")):
        taken: dict[str, str] = {}
        for site in found:
            said: str | None = getattr(site.spec, field)
            if said is not None and (first := taken.setdefault(said, site.name)) != site.name:
                message = f"'{said}' is worker '{first}' already; a cluster is one worker: write all its pools there"
                draft.problems.fault("duplicate-name", ("workers", site.name, key), message)


# --- what they have in common -----------------------------------------------------------------------------------------


def common_pools(draft: Draft, found: Sequence[Site]) -> dict[str, Pool]:
    """Pools by name, those of one name as one: what a queue means by it."""
    together: dict[str, list[tuple[Site, Pool]]] = {}
    for site in found:
        for pool in site.here.pools.values():
            together.setdefault(pool.name, []).append((site, pool))
    known: dict[str, Pool] = {}
    for name, each in sorted(together.items()):
        (first, pool), *others = each
        flavor = _flavor_of(first, name)
        other = next((site for site, _ in others if _flavor_of(site, name) != flavor), None)
        if other is not None:
            message = (
                f"pool '{name}' is of flavor '{_flavor_of(other, name)}' here and of '{flavor}' in worker "
                f"'{first.name}'; a queue that names it must know which: name one of them otherwise"
            )
            draft.problems.fault("mixed-flavor", ("workers", other.name, "pools", name), message)
            draft.set_aside |= {("pools", name), ("flavors", flavor)}
        else:
            known[name] = _together(pool, [p for _, p in each])
    return known


def _flavor_of(site: Site, pool: str) -> str:
    return next((f.name for f in site.here.flavors.values() for p in f.pools if p.name == pool), pool)


def _together(first: Pool, pools: Sequence[Pool]) -> Pool:
    """All of them as one, with the accelerators of all; where their nodes differ, as of nodes with one each."""
    held = [p.hardware.accelerators for p in pools]
    each = _same([p.hardware.per_node for p in pools])
    nodes = Bounds(min=sum(h.min for h in held) // each, max=sum(h.max for h in held) // each)
    return replace(first, hardware=replace(first.hardware, nodes=nodes, per_node=each))


def _same(sizes: Iterable[int]) -> int:
    """The size of all nodes, or 1 where they have several."""
    several = set(sizes)
    return several.pop() if len(several) == 1 else 1


def common_flavors(draft: Draft, found: Sequence[Site], known: Mapping[str, Pool]) -> dict[str, Flavor]:
    """Flavors by name. One selects by what all its workers' flavors select by: no job runs on the manager."""
    together: dict[str, list[tuple[Site, Flavor]]] = {}
    for site in found:
        for flavor in site.here.flavors.values():
            together.setdefault(flavor.name, []).append((site, flavor))
    kinds = {name: _common(draft, each, known) for name, each in sorted(together.items())}
    for name in sorted(draft.spec.flavors):
        draft.find("flavors", name, kinds, ("flavors", name))
    return kinds


def _common(draft: Draft, each: Sequence[tuple[Site, Flavor]], known: Mapping[str, Pool]) -> Flavor:
    (first, flavor), *others = each
    for site, other in others:
        if differs := _differs(flavor.pools[0], other.pools[0]):
            message = (
                f"flavor '{flavor.name}' has another {differs} in worker '{first.name}'; a flavor is of one kind "
                "everywhere: name another flavor"
            )
            draft.problems.fault("mixed-flavor", ("workers", site.name, "pools", other.pools[0].name), message)
            draft.set_aside.add(("flavors", flavor.name))
    of_all = [f for _, f in each]
    names = dict.fromkeys(pool.name for f in of_all for pool in f.pools)
    tolerations = dict.fromkeys(toleration for f in of_all for toleration in f.tolerations)
    return replace(
        flavor,
        pools=tuple(known[name] for name in names if name in known) or flavor.pools,
        node_labels={k: v for k, v in flavor.node_labels.items() if all(f.node_labels.get(k) == v for f in of_all)},
        tolerations=tuple(tolerations),
        capacity=Bounds(min=sum(f.capacity.min for f in of_all), max=sum(f.capacity.max for f in of_all)),
        cpu_each=max(f.cpu_each for f in of_all),
        memory_each=max(f.memory_each for f in of_all),
    )


def held(draft: Draft, found: Sequence[Site], kinds: Iterable[Flavor]) -> dict[str, Held]:
    """What each worker holds of each flavor."""
    return {
        kind.name: Held(
            resource=kind.resource,
            capacity=tuple(
                site.here.flavors[kind.name].capacity.max if kind.name in site.here.flavors else 0 for site in found
            ),
            oversubscription=said.oversubscription if (said := draft.spec.flavors.get(kind.name)) else 1,
            unit=kind.unit,
            node=_same(pool.hardware.per_node for pool in kind.pools),
        )
        for kind in kinds
    }


def _differs(one: Pool, other: Pool) -> str | None:
    """What keeps two pools on different clusters from being of one flavor, in words; None where nothing does."""
    kinds = [(p.hardware.machine.accelerator, p.hardware.shape and p.hardware.shape.topology) for p in (one, other)]
    if kinds[0] != kinds[1]:
        return "accelerator or topology"
    divided = [gpu_labels(p.asked) for p in (one, other)]
    if divided[0] != divided[1]:
        return "way of sharing and partitioning GPUs"
    capacities = [(p.spec.capacity.kind, p.spec.compute_class) for p in (one, other)]
    if capacities[0] != capacities[1]:
        return "capacity"
    levels = [p.hardware.machine.topology_levels if p.spec.topology_aware else None for p in (one, other)]
    return None if levels[0] == levels[1] else "way of placing its jobs (topologyAware)"
