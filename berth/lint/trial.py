"""One job on the empty fleet: the flavor that Kueue assigns, the nodes of its topology, and where its pods run."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from berth.jobs.pod_set import PodSet
from berth.lint.fleet import LintContext
from berth.placement.kueue import ResourceFlavor, flavor_refusal
from berth.placement.node_names import names_of_nodes, one_of_each, with_names
from berth.placement.reasons import AssignedPods, Reason
from berth.placement.scheduler import unplaceable_reasons
from berth.placement.topology import Leaf, assign_topology, topology_leaves
from berth.plan.kueue import ClusterQueuePlan
from berth.simulator.arrivals import without_excluded
from berth.simulator.pending_reasons import PendingReason, find_pending_reason
from berth.simulator.scheduler.flavor_assignment import has_only_topologies
from berth.simulator.scheduler.model import Job
from berth.simulator.scheduler.state import JobState, SimulatedWorkload
from berth.text import pluralize


class Trial(Struct, frozen=True, kw_only=True):
    """What becomes of pod sets that are submitted to a queue of the empty fleet.

    `pending` is why Kueue does not admit them, `barred` the flavors on whose topology it finds no room for a pod set,
    with why. `flavors` has the flavor of each pod set (None where it gets none, or requests nothing that counts).
    `reasons` say why the scheduler leaves pods pending, or what of that is unknown.
    """

    workload: SimulatedWorkload
    pending: PendingReason | None
    flavors: tuple[str | None, ...] = ()
    barred: tuple[tuple[int, str, str], ...] = ()
    reasons: tuple[Reason, ...] = field(default_factory=tuple[Reason, ...])

    @property
    def barred_flavors(self) -> tuple[frozenset[str], ...]:
        """The barred flavors of each pod set, as the simulator takes them; empty if there are none."""
        if not self.barred:
            return ()
        count = len(self.workload.pod_sets)
        return tuple(frozenset(flavor for at, flavor, _ in self.barred if at == index) for index in range(count))


def try_pod_sets(context: LintContext, queue: str, pod_sets: tuple[PodSet, ...]) -> Trial:
    """Submit pod sets to a queue of the empty fleet; with the most pods that fit, if they may start with fewer.

    Which nodes have the names that pods want or avoid is not known. If the pods have no room even where all wanted
    names exist, or room even where all avoided ones do, that does not matter.
    """
    trial = _try_counts(context, queue, pod_sets)
    names, classes = names_of_nodes(pod_sets), context.node_classes
    is_named = names.wanted or names.avoided
    is_open = trial.pending is None and any(trial.reasons) and all(each.is_unknown for each in trial.reasons)
    if not is_named or not is_open or (names.in_topology and any(each.group.parts for each in classes)):
        return trial  # the topology of parts of a slice counts nodes by their place in it
    tried: list[Trial] = []
    for best in one_of_each(classes, names.wanted):
        tried.append(_try_counts(context.on_nodes(best), queue, pod_sets))
        if tried[-1].pending is None and all(each.is_unknown for each in tried[-1].reasons):
            break
    else:
        most = f"a name is one node, so they have {pluralize(len(names.wanted), 'node')} at most"
        full = next((each for each in tried if any(why.code == "no-place" for why in each.reasons)), tried[-1])
        return replace(full, reasons=tuple(replace(each, message=f"{each.message} ({most})") for each in full.reasons))
    worst = _try_counts(context.on_nodes(with_names(classes, names.avoided)), queue, pod_sets)
    return trial if worst.pending is not None or worst.reasons else worst


def _try_counts(context: LintContext, queue: str, pod_sets: tuple[PodSet, ...]) -> Trial:
    """Submit pod sets; with the most pods that fit, if they may start with fewer."""
    all_pods = tuple(replace(each, least=None) for each in pod_sets)
    trial = _try_all(context, queue, all_pods)
    if trial.pending is None or len(pod_sets) != 1 or not context.simulated.setup.partial_admission:
        return trial
    (pods,) = pod_sets
    counts = range(pods.count if pods.least is None else pods.least, pods.count)

    def fewer(count: int) -> Trial:
        return _try_all(context, queue, (all_pods[0].with_count(count),))

    refused = bisect.bisect_left(counts, True, key=lambda count: fewer(count).pending is not None)
    return fewer(counts[refused - 1]) if refused else trial


def _try_all(context: LintContext, queue: str, pod_sets: tuple[PodSet, ...]) -> Trial:
    """Submit pod sets; flavors without room in their topology make Kueue try the next."""
    barred: list[tuple[int, str, str]] = []
    while True:
        trial = admit_pod_sets(context, queue, pod_sets, barred)
        if trial.pending is not None:
            return trial
        nodes, failure, uncertain = _topology_nodes(context, trial)
        if failure is None:
            break
        barred.append(failure)
    if context.plan.workers:
        return replace(trial, reasons=tuple(_on_workers(context, queue, pod_sets)))
    flavors = context.simulated.setup.resource_flavors
    assigned = [
        AssignedPods(each, name, flavors[name] if name is not None else None, nodes.get(index))
        for index, (each, name) in enumerate(zip(pod_sets, trial.flavors, strict=True))
    ]
    if _waits_for_machines(context, queue, trial):
        assigned = [replace(each, nodes=None) for each in assigned]
    counted = [each if each.flavor else replace(each, pod_set=replace(each.pod_set, count=0)) for each in assigned]
    reasons = [*unplaceable_reasons(counted, context.node_classes), *_without_flavor(context, queue, assigned)]
    if all(each.is_unknown for each in reasons) and not _waits_for_machines(context, queue, trial):
        reasons += uncertain
    return replace(trial, reasons=tuple(reasons))


def _on_workers(context: LintContext, queue: str, pod_sets: tuple[PodSet, ...]) -> list[Reason]:
    """Return why no worker of a manager runs the pods, or what is not known of all others; empty if one runs them.

    Workers without the quota are left out: a job that no worker has quota for is not admitted.
    """
    by_worker: dict[str, list[Reason]] = {}
    for name, worker in context.worker_contexts.items():
        if queue not in worker.queues:
            continue
        trial = try_pod_sets(worker, queue, pod_sets)
        reasons = list(trial.reasons)
        if trial.pending is not None:
            reasons = [
                Reason(
                    pod_set=index,
                    path=("metadata", "annotations"),
                    code="no-place",
                    message=f"Kueue cannot place its pods on the empty nodes of flavor '{flavor}': {why}",
                )
                for index, flavor, why in trial.barred
            ]
            if not reasons:
                continue
        if not reasons:
            return []
        by_worker[name] = reasons
    open_ = {name: found for name, found in by_worker.items() if all(each.is_unknown for each in found)}
    start = "" if open_ else "no worker runs it: "
    for name, found in (open_ or by_worker).items():
        return [replace(each, message=f"{start}on worker '{name}', {each.message}") for each in found]
    return []


def _without_flavor(context: LintContext, queue: str, assigned: Sequence[AssignedPods]) -> Iterator[Reason]:
    """Yield that it is unknown where pods run that request nothing of the queue: Kueue sends them nowhere.

    Autopilot makes nodes for them; other clusters have nodes for the system, whose room is not known.
    """
    if context.plan.cluster.mode == "autopilot":
        return
    for index, each in enumerate(assigned):
        if each.flavor is None and each.pod_set.count and unplaceable_reasons([each], context.node_classes):
            message = (
                f"its pods request nothing that '{queue}' counts, so Kueue assigns no flavor; whether a node outside "
                "the fleet's pools takes them is not known; request cpu"
            )
            yield Reason(pod_set=index, path=("spec",), code="placement-unknown", message=message, is_unknown=True)
            return  # once for the job


def reasons_on_first_flavor(
    context: LintContext, queue: ClusterQueuePlan, pod_sets: tuple[PodSet, ...]
) -> list[Reason]:
    """Return why single pods get no node of the first flavor that Kueue may give them, if the job is not admitted."""
    setup = context.simulated.setup
    groups = next(each.resource_groups for each in setup.queues if each.name == queue.name)
    only = has_only_topologies(groups, setup.resource_flavors)
    assigned: list[AssignedPods] = []
    for pod_set in pod_sets:
        names = (
            each.flavor
            for each in queue.flavors
            if flavor_refusal(
                pod_set, setup.resource_flavors[each.flavor], only_topologies=only, covered=queue.covered_resources
            )
            is None
        )
        name = next(names, None)
        if name is not None:
            assigned.append(AssignedPods(replace(pod_set, count=1), name, setup.resource_flavors[name]))
        else:
            assigned.append(AssignedPods(replace(pod_set, count=0), None, None))
    return unplaceable_reasons(assigned, context.node_classes)


def admit_pod_sets(
    context: LintContext, queue: str, pod_sets: tuple[PodSet, ...], barred: Sequence[tuple[int, str, str]] = ()
) -> Trial:
    """Submit pod sets and take them away again; return their state in between."""
    simulator, name = context.simulator, "trial"
    sets = tuple(frozenset(flavor for at, flavor, _ in barred if at == index) for index in range(len(pod_sets)))
    counted = tuple(without_excluded(each) for each in pod_sets)
    simulator.submit(Job(name=name, queue=queue, priority=0, pod_sets=counted, barred=sets if barred else ()))
    workload = simulator.workloads[name]
    has_quota = workload.state in (JobState.ADMITTED, JobState.RESERVED)
    if has_quota:
        reason = context.workers.find_refusal(workload)
    else:
        reason = find_pending_reason(simulator.trees[queue], workload, simulator.setup.resource_flavors)
    copy = replace(workload)
    simulator.finish(name)
    own = {flavor.name: flavor.resource for flavor in context.plan.flavors}
    # Whose labels the pods of a set get: of several flavors, those of the one whose resource is counted.
    flavors = tuple(
        next(
            (flavor for resource, flavor in each.items() if own.get(flavor) == resource),
            next(iter(each.values()), None),
        )
        for each in (copy.flavors if has_quota else ())
    )
    return Trial(workload=copy, pending=reason, flavors=flavors, barred=tuple(barred))


def count_admitted(context: LintContext, queue: str, pod_sets: tuple[PodSet, ...], most: int) -> int:
    """Return how many workloads of these pod sets the empty fleet admits at a time: each has its own flavors.

    As many of them as possible are submitted as one, and it stays: what one flavor holds together, it holds one by one.
    """
    simulator, counted = context.simulator, tuple(without_excluded(each) for each in pod_sets)
    held: list[str] = []
    admitted: int = 0
    together: int = most
    while together:
        name = f"trial-{len(held)}"
        sets = tuple(each.with_count(each.count * together) for each in counted)
        simulator.submit(Job(name=name, queue=queue, priority=0, pod_sets=sets))
        if simulator.workloads[name].state in (JobState.ADMITTED, JobState.RESERVED):
            held.append(name)
            admitted += together
            together = min(together, most - admitted)
        else:
            simulator.finish(name)
            together //= 2
    for name in held:
        simulator.finish(name)
    return admitted


def _waits_for_machines(context: LintContext, queue: str, trial: Trial) -> bool:
    """Return whether an admission check makes the machines first, so that Kueue names nodes only later."""
    plan = next(each for each in context.plan.cluster_queues if each.name == queue)
    return any(not check.on_flavors or set(check.on_flavors) & set(trial.flavors) for check in plan.admission_checks)


def _topology_nodes(
    context: LintContext, trial: Trial
) -> tuple[dict[int, list[tuple[Leaf, int]]], tuple[int, str, str] | None, list[Reason]]:
    """Return the nodes that Kueue names for each pod set, or the pod set and flavor without any, with why.

    The third value says what is not known of the machines' places.
    """
    nodes: dict[int, list[tuple[Leaf, int]]] = {}
    unknown: list[Reason] = []
    for name, flavor in _topology_flavors(context, trial):
        indices = [index for index, each in enumerate(trial.flavors) if each == name]
        sets = [trial.workload.pod_sets[index] for index in indices]
        result = assign_topology(sets, flavor, topology_leaves(context.node_classes, flavor, sets))
        if result.failure:
            return {}, (indices[result.failed], name, result.failure), []
        certain = [each.certain for each in context.node_classes]
        near = assign_topology(sets, flavor, topology_leaves(certain, flavor, sets)).failure
        nodes |= dict(zip(indices, result.nodes, strict=True))
        if result.is_uncertain or near:
            message = (
                f"whether the machines of flavor '{name}' are close enough for its topology request is not known: "
                "Compute Engine tells where they are once they run"
            )
            path = ("metadata", "annotations")
            if near:
                message = (
                    f"whether Kueue finds nodes of flavor '{name}' beside the kernel and the pods of the system is not "
                    f"known: {near}"
                )
            unknown.append(
                Reason(pod_set=indices[0], path=path, code="placement-unknown", message=message, is_unknown=True)
            )
    return nodes, None, unknown


def _topology_flavors(context: LintContext, trial: Trial) -> Iterator[tuple[str, ResourceFlavor]]:
    for name in dict.fromkeys(trial.flavors):
        flavor = context.simulated.setup.resource_flavors.get(name or "")
        if name is not None and flavor is not None and flavor.levels is not None and not context.plan.workers:
            yield name, flavor
