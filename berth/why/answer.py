"""Why a workload does not run: from Kueue's conditions, the queues, the nodes and the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from berth.diagnostics import join_words
from berth.jobs.quantities import format_quantity, parse_quantity
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.kueue import PODS
from berth.simulator.scheduler.model import STRICT_FIFO, FlavorResource
from berth.text import capacity_source, format_range, pluralize
from berth.why.cluster import LiveWorkload, SeenCluster, live_objects
from berth.why.until import Forecast, Holder, Until, forecast, latest_end, until_when
from berth.why.words import Reading, read_check, read_message

_NODE_POOL = "cloud.google.com/gke-nodepool"
_MAX_NAMED = 3
_RUNS, _STARTS, _WAITS, _STOPPED, _FINISHED = "runs", "admitted, its pods are not ready", "waits", "stopped", "finished"


class WhyAnswer(Struct, frozen=True):
    """Why one workload does not run. `amounts` say how much it needs and is free, `helps` who could do what.

    `before` is why it lost its quota the last time. `notes` say what the state does not show.
    """

    job: str
    namespace: str
    queue: str
    status: str
    obstacles: tuple[Reading, ...] = ()
    amounts: tuple[str, ...] = ()
    until: Until | None = None
    helps: tuple[str, ...] = ()
    before: tuple[Reading, ...] = ()
    notes: tuple[str, ...] = ()


def explain_workload(cluster: SeenCluster, workload: LiveWorkload) -> WhyAnswer:
    """Return why a workload does not run, or that it does."""
    simulated = next((each for each in cluster.state.workloads if each.job.name == workload.key), None)
    local_queue = str(get_nested(workload.value, "spec", "queueName") or "")
    cluster_queue = (
        simulated.job.queue if simulated else cluster.fleet.local_queues.get((workload.namespace, local_queue), "")
    )
    queue = cluster.fleet.queue_display_names.get(cluster_queue, f"{workload.namespace}/{local_queue}")
    answer = WhyAnswer(workload.job, workload.namespace, queue, _status(workload))
    if answer.status in (_RUNS, _FINISHED):
        return answer
    obstacles = tuple(_obstacles(workload))
    if answer.status == _WAITS:
        obstacles = (*_of_queue(cluster, cluster_queue, obstacles), *_behind(cluster, workload, cluster_queue))
    past = () if any(each.words.condition == "Evicted" for each in obstacles) else tuple(_evictions(workload))
    if answer.status != _WAITS:
        return WhyAnswer(
            *(answer.job, answer.namespace, answer.queue, answer.status),
            obstacles=obstacles,
            amounts=tuple(_nodes(cluster, workload)) if answer.status == _STARTS else (),
            until=until_when(cluster, workload, obstacles, None),
            helps=_helps(obstacles, ()),
            before=past,
        )
    needs = _needs(cluster, workload) if simulated else {}
    lacking = [
        (each.names["flavor"], each.names["resource"])
        for each in obstacles
        if {"flavor", "resource"} <= each.names.keys() and each.words.code == "quota-in-use"
    ]
    flavors = [
        entry.flavor for each in cluster.plan.cluster_queues if each.name == cluster_queue for entry in each.flavors
    ]
    lacking = lacking or [(flavor, resource) for resource in needs for flavor in flavors]
    counted = [stock for stock in lacking if stock in cluster.fleet.accelerator_nouns] or lacking
    ends = {each.key: end for each in cluster.workloads if (end := latest_end(each)) is not None}
    guess = (
        forecast(cluster.fleet, cluster.state, workload.key, counted, ends)
        if simulated is not None and simulated.reserved_at is None
        else None
    )
    return WhyAnswer(
        *(answer.job, answer.namespace, answer.queue, answer.status),
        obstacles=obstacles,
        amounts=tuple(_amounts(cluster, obstacles, needs, counted, guess)),
        until=until_when(cluster, workload, obstacles, guess),
        helps=_helps(obstacles, () if guess is None else _who(cluster, guess, cluster_queue)),
        before=past,
        notes=tuple(_notes(cluster, workload, simulated is not None, guess, obstacles)),
    )


def _status(workload: LiveWorkload) -> str:
    if workload.is_true("Finished"):
        return _FINISHED
    if get_nested(workload.value, "spec", "active") is False:
        return _STOPPED
    if not workload.is_true("Admitted") or workload.is_true("Evicted"):
        return _WAITS
    return _RUNS if (ready := workload.condition("PodsReady")) is None or ready[0] == "True" else _STARTS


def _obstacles(workload: LiveWorkload) -> Iterator[Reading]:
    """Yield what is in the way now, by Kueue's own conditions."""
    if get_nested(workload.value, "spec", "active") is False:
        yield from (
            _evictions(workload)
            if workload.condition("Evicted")
            else read_message("Evicted", "The workload is deactivated")
        )
        return
    for check in workload.checks:
        reading = read_check(str(check.get("state")), f"{check.get('name')}: {check.get('message') or 'no message'}")
        if reading is not None:
            yield reading
    for kind in ("QuotaReserved", "PodsReady"):
        found = workload.condition(kind)
        # Before admission, PodsReady says that pods which do not exist are not ready.
        if found is not None and found[0] == "False" and (kind != "PodsReady" or workload.is_true("Admitted")):
            yield from read_message(kind, found[2])
    if workload.is_true("Evicted"):
        yield from _evictions(workload)


def _of_queue(cluster: SeenCluster, queue: str, obstacles: Sequence[Reading]) -> Iterator[Reading]:
    """Yield the obstacles; where Kueue only says that the queue is inactive, why the queue is."""
    conditions = (
        condition
        for each in live_objects(cluster.documents, "ClusterQueue")
        if get_nested(each, "metadata", "name") == queue
        for condition in as_list(get_nested(each, "status", "conditions"))
        if (get_nested(condition, "type"), get_nested(condition, "status")) == ("Active", "False")
    )
    reasons = [r for each in conditions for r in read_message("ClusterQueue", str(get_nested(each, "message")))]
    is_inactive = any(each.words.code == "held" for each in obstacles)
    yield from reasons if is_inactive and reasons else ()
    yield from (each for each in obstacles if not (reasons and each.words.code == "held"))


def _behind(cluster: SeenCluster, workload: LiveWorkload, queue: str) -> Iterator[Reading]:
    """Yield the job that a StrictFIFO queue tries before this one, which Kueue has not tried yet.

    Times have whole seconds. Of jobs of one second Kueue has written about the one that it tried.
    """
    if workload.condition("QuotaReserved") is not None or not any(
        each.name == queue and each.queueing_strategy == STRICT_FIFO for each in cluster.plan.cluster_queues
    ):
        return
    by_key = {each.job.name: each for each in cluster.state.workloads if each.job.queue == queue}
    own = by_key.get(workload.key)
    live = {each.key: each for each in cluster.workloads}
    earlier = [
        each
        for key, each in by_key.items()
        if own is not None
        and each is not own
        and each.reserved_at is None
        and (-each.job.priority, each.created_at) <= (-own.job.priority, own.created_at)
        and live[key].condition("QuotaReserved") is not None
    ]
    for each in sorted(earlier, key=lambda each: (-each.job.priority, each.created_at))[:1]:
        yield from read_message("StrictFIFO", f"{each.display_name} is before it")


def _evictions(workload: LiveWorkload) -> Iterator[Reading]:
    """Yield why it lost its quota, now or the last time."""
    found = workload.condition("Evicted")
    if found is not None:
        yield from read_message("Evicted", found[2])


def _needs(cluster: SeenCluster, workload: LiveWorkload) -> dict[str, int]:
    """Return what all pods of a pending workload request, by resource."""
    job = next(each.job for each in cluster.state.workloads if each.job.name == workload.key)
    totals: dict[str, int] = {}
    for pods in job.pod_sets:
        for resource, amount in {**pods.requests, PODS: 1}.items():
            totals[resource] = totals.get(resource, 0) + pods.count * amount
    return totals


def _amounts(
    cluster: SeenCluster,
    obstacles: Iterable[Reading],
    needs: Mapping[str, int],
    counted: Iterable[FlavorResource],
    guess: Forecast | None,
) -> Iterator[str]:
    """Yield how much it needs, what is free and the ceiling, for each flavor that it lacks."""
    said = {
        (each.names["flavor"], each.names["resource"]): each.names["more"] for each in obstacles if "more" in each.names
    }
    for stock in dict.fromkeys(counted):
        if guess is None or stock not in guess.ceilings or stock[1] not in needs:
            continue
        free, ceiling, needed = guess.free[stock], guess.ceilings[stock], needs[stock[1]]
        missing = f"; Kueue counts {said[stock]} more needed" if stock in said else ""
        own = max(0, needed - free)
        agrees = stock in said and parse_quantity(stock[1], said[stock]) == own
        differs = "" if agrees or not missing else f", the stack file {format_quantity(stock[1], own)}"
        yield (
            f"{stock[0]}: it asks {cluster.amount(stock, needed)}; {format_quantity(stock[1], free)} of at most "
            f"{format_quantity(stock[1], ceiling)} are free to its queue{missing}{differs}"
        )


def _nodes(cluster: SeenCluster, workload: LiveWorkload) -> Iterator[str]:
    """Yield how many nodes of its flavors the state has, beside those of the plan."""
    nodes = list(live_objects(cluster.documents, "Node"))
    assigned = as_list(get_nested(workload.value, "status", "admission", "podSetAssignments"))
    names = {str(flavor) for each in assigned for flavor in as_mapping(get_nested(each, "flavors")).values()}
    for flavor in (each for each in cluster.plan.flavors if each.name in names):
        pools = [pool for pool in cluster.plan.pools if pool.name in flavor.pools]
        # A queued pool of the same machines has the labels of a flavor without, and a taint that it does not tolerate.
        of_others = {made.name for pool in cluster.plan.pools if pool not in pools for made in pool.node_pools}
        planned = ", ".join(f"{pool.name} {format_range(pool.nodes)} ({capacity_source(pool)})" for pool in pools)
        own = [
            node
            for node in nodes
            if flavor.node_labels.items() <= (labels := as_mapping(get_nested(node, "metadata", "labels"))).items()
            and labels.get(_NODE_POOL) not in of_others
        ]
        ready = sum(
            get_nested(each, "type") == "Ready" and get_nested(each, "status") == "True"
            for node in own
            for each in as_list(get_nested(node, "status", "conditions"))
        )
        cordoned = sum(get_nested(node, "spec", "unschedulable") is True for node in own)
        seen = (
            f"{pluralize(len(own), 'node')} in the cluster, {ready} ready{f', {cordoned} cordoned' if cordoned else ''}"
            if nodes
            else "the state has no nodes, so how many there are is not known"
        )
        yield f"{flavor.name}: {seen}; nodes by the stack file: {planned}"


def _helps(obstacles: Iterable[Reading], others: Iterable[str]) -> tuple[str, ...]:
    """Return who could do what, without repetitions."""
    own = (f"you: {each.fill(each.words.helps)}" for each in obstacles)
    written = (each.replace("you: the platform owner ", "the platform owner: ") for each in own)
    return tuple(dict.fromkeys([*written, *others]))


def _who(cluster: SeenCluster, guess: Forecast, own_queue: str) -> Iterator[str]:
    """Yield whose jobs would have to end."""
    owner = cluster.fleet.queue_owners
    if guess.singles:
        for holder in guess.singles[:_MAX_NAMED]:
            who = "your team" if owner.get(holder.queue) == owner.get(own_queue) else owner.get(holder.queue)
            yield f"{who}: it starts if {_holder(cluster, holder)} ends"
        more = len(guess.singles) - _MAX_NAMED
        if more > 0:
            yield f"{pluralize(more, 'other job')} of which the end of one is enough"
    elif guess.together:
        names = join_words([_holder(cluster, holder) for holder in guess.together[:_MAX_NAMED]])
        more = len(guess.together) - _MAX_NAMED
        yield f"no job's end is enough alone; it starts if {names}{f' and {more} more' if more > 0 else ''} end"


def _holder(cluster: SeenCluster, holder: Holder) -> str:
    queue = cluster.fleet.queue_display_names.get(holder.queue, holder.queue)
    return f"{holder.display_name} ({queue}, {holder.amount})"


def _notes(
    cluster: SeenCluster,
    workload: LiveWorkload,
    is_simulated: bool,
    guess: Forecast | None,
    obstacles: Sequence[Reading],
) -> Iterator[str]:
    """Yield what the state does not show, and where it and the stack file differ."""
    is_behind = any(each.words.condition == "StrictFIFO" for each in obstacles)
    if not obstacles:
        said = workload.condition("QuotaReserved")
        text = f"Kueue writes: {said[2]}" if said else "Kueue has written no reason yet"
        yield f"{text}; {'what follows is' if guess else 'nothing more is known than'} what the stack file says"
    if not is_simulated:
        yield "its queue is not in the stack file, or it is switched off, so free quota is not known"
    if guess is None:
        return
    if guess.starts_now and not is_behind:
        yield (
            "by the stack file and this state Kueue would give it quota at its next attempt; if it still waits after a "
            f"minute, compare the cluster: berth verify {cluster.plan.stack} --live FILE"
        )
    if guess.ahead:
        yield (
            f"{pluralize(len(guess.ahead), 'job')} of its queue {'is' if len(guess.ahead) == 1 else 'are'} tried "
            f"first: {join_words([*guess.ahead[:_MAX_NAMED], *(['…'] if len(guess.ahead) > _MAX_NAMED else [])])}"
        )
    if guess.untried:
        yield f"of {len(guess.holders)} jobs that hold the quota only the largest were tried"
    if {each.namespace for each in cluster.workloads} == {workload.namespace} and len(cluster.plan.teams) > 1:
        yield "the state has workloads of one namespace only, so what other teams hold is not counted"
