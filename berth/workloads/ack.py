"""A PyTorchJob for a team on an ACK One fleet, which the fleet's policy sends to a member, after a queue or at once.

The job has no fields of Kueue. It requests cpu and memory only if the options set them, because ACK reserves part of
every node and a pod that requests a whole node never runs.
"""

from __future__ import annotations

from msgspec import Struct

from berth.diagnostics import Problem, Problems, did_you_mean, join_quoted
from berth.names import shorten
from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, QuotaNodePlan
from berth.plan.teams import TeamPlan
from berth.plan.workloads import PodPlan, PyTorchJobPlan, SubmissionPlan
from berth.workloads import names
from berth.workloads.checks import check_workload_name
from berth.workloads.options import TRIAL_COMMAND, TRIAL_IMAGE, WorkloadOptions

GPU = "nvidia.com/gpu"

_UNSUPPORTED_OPTIONS = (
    ("slices", "--slices"),
    ("max_run_seconds", "--max-run-duration"),
    ("restart_strategy", "--restart-strategy"),
    ("placement_group", "--placement-group"),
    ("flavor", "--flavor"),
)
"""Options for GKE machines, Kueue or JobSet, which an ACK fleet does not have."""


class _Target(Struct, frozen=True):
    """Where a team's job goes: its namespace, the flavors of its queue, and the queue's leaf of the quota tree.

    `leaf` is None in a fleet without a quota tree. `default_name` names a job without a name.
    """

    namespace: str
    flavors: frozenset[str]
    leaf: QuotaNodePlan | None
    default_name: str


class DerivedAckWorkload(Struct, frozen=True):
    """The job and notes on it, or the faults that prevent it."""

    job: PyTorchJobPlan | None
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]


def derive_ack_workload(plan: AckFleetPlan, team: str, queue: str, options: WorkloadOptions) -> DerivedAckWorkload:
    """Derive the requested job.

    `queue` is a key of the team's queues, or the name of a leaf of the quota tree; in a fleet without a quota tree, it
    is a namespace of the team.
    """
    problems = Problems()
    teams = {each.name: each for each in plan.teams}
    if team not in teams:
        _report_unknown(problems, "TEAM", f"no team '{team}'", team, list(teams))
        return DerivedAckWorkload(None, (), tuple(problems.entries))
    find_target = _namespace_target if plan.quotas is None else _queue_target
    target = find_target(plan, teams[team], queue, problems)
    if target is None:
        return DerivedAckWorkload(None, (), tuple(problems.entries))
    _check_options(plan, options, problems)
    job = _build_job(plan, teams[team], target, options, problems)
    notes = () if job is None or problems.has_faults() else _notes(plan, target, job)
    return DerivedAckWorkload(None if problems.has_faults() else job, notes, tuple(problems.entries))


def _queue_target(plan: AckFleetPlan, team: TeamPlan, queue: str, problems: Problems) -> _Target | None:
    queues = {q.name: q for q in plan.cluster_queues if any(door.team == team.name for door in q.local_queues)}
    queue_by_local_name = {door.name: q for q in queues.values() for door in q.local_queues if door.team == team.name}
    cluster_queue = queue_by_local_name.get(queue) or queues.get(queue)
    if cluster_queue is None or plan.quotas is None:
        message = f"team '{team.name}' has no queue '{queue}'"
        _report_unknown(problems, "QUEUE", message, queue, [*queue_by_local_name, *queues])
        return None
    local_queue = next(each for each in cluster_queue.local_queues if each.team == team.name)
    return _Target(
        namespace=local_queue.namespace,
        flavors=frozenset(entry.flavor for entry in cluster_queue.flavors),
        leaf=next(node for _, node in plan.quotas.walk() if node.name == cluster_queue.name),
        default_name=f"{team.name}-{local_queue.name}",
    )


def _namespace_target(plan: AckFleetPlan, team: TeamPlan, queue: str, problems: Problems) -> _Target | None:
    namespaces = [each.name for each in team.namespaces]
    if queue not in namespaces:
        message = f"the fleet has no queues, and team '{team.name}' has no namespace '{queue}'"
        _report_unknown(problems, "QUEUE", message, queue, namespaces)
        return None
    return _Target(queue, frozenset(each.name for each in plan.flavors), None, team.name)


def _check_options(plan: AckFleetPlan, options: WorkloadOptions, problems: Problems) -> None:
    if options.kind not in (None, "pytorchjob"):
        problems.fault(
            "wrong-kind", ("--kind",), f"'{options.kind}': the fleet propagates only PyTorchJobs; write pytorchjob"
        )
    for field, option in _UNSUPPORTED_OPTIONS:
        if getattr(options, field) is not None:
            problems.fault("wrong-kind", (option,), f"is not supported on ACK; remove {option}")
    known = [each.name for each in plan.priorities]
    if options.priority is not None and options.priority not in known:
        _report_unknown(problems, "--priority", f"no priority '{options.priority}'", options.priority, known)


def _build_job(
    plan: AckFleetPlan, team: TeamPlan, target: _Target, options: WorkloadOptions, problems: Problems
) -> PyTorchJobPlan | None:
    pools = [
        (member.name, pool)
        for member in plan.members
        for pool in member.node_pools
        if pool.nodes.max and pool.flavor in target.flavors
    ]
    if not pools:
        problems.fault("no-nodes", ("QUEUE",), "none of its node pools can have nodes; set nodes in one of them")
        return None
    gpus, pods = options.gpus or min(pool.gpus for _, pool in pools), options.pods or 1
    _check_fits(plan, target, pools, gpus, pods, problems)
    longest = names.pytorch_name_limit(pods - 1)
    if options.name is not None:
        check_workload_name(options.name, longest, problems)
    requested = {"cpu": options.cpu, "memory": options.memory}
    is_given = bool(options.image or options.template is not None)
    return PyTorchJobPlan(
        submission=SubmissionPlan(
            name=shorten(options.name or target.default_name, longest),
            namespace=target.namespace,
            team=team.name,
            queue=target.leaf.name if target.leaf else "",
            priority=options.priority,
        ),
        pod=PodPlan(
            template=options.template,
            image=options.image or ("" if is_given else TRIAL_IMAGE),
            command=options.command or (() if is_given else TRIAL_COMMAND),
            resources={**{key: amount for key, amount in requested.items() if amount is not None}, GPU: gpus},
            ports=options.ports,
            # On ACK no flavor adds these to the pods, so the job has them.
            tolerations=tuple(dict.fromkeys(taint.tolerated for _, pool in pools for taint in pool.taints)),
            restart_policy="OnFailure",
            service_account=options.service_account,
        ),
        workers=pods - 1,
        backoff_limit=options.backoff_limit,
    )


def _check_fits(
    plan: AckFleetPlan,
    target: _Target,
    pools: list[tuple[str, AckNodePoolPlan]],
    gpus: int,
    pods: int,
    problems: Problems,
) -> None:
    """Report a pod larger than a node, and a job above the maximum of its leaf or, as a gang, of every member."""
    largest_node = max(pool.gpus for _, pool in pools)
    if gpus > largest_node:
        message = f"'{gpus}': a node has at most {largest_node} GPUs; write more --pods instead"
        problems.fault("wrong-shape", ("--gpus",), message)
        return
    leaf, waits = target.leaf, plan.propagations[0].suspension if plan.propagations else False
    if leaf is not None and waits and gpus * pods > (quota := leaf.maximum[GPU]):
        message = (
            f"{pods} × {gpus} GPUs are more than the maximum of '{leaf.name}', {quota}; the job would wait forever"
        )
        problems.fault("over-quota", ("--pods",), message)
    pods_by_member: dict[str, int] = {}
    for member, pool in pools:
        pods_by_member[member] = pods_by_member.get(member, 0) + pool.nodes.max * (pool.gpus // gpus)
    is_gang = plan.propagations[0].gang if plan.propagations else False
    capacity = max(pods_by_member.values()) if is_gang else sum(pods_by_member.values())
    if pods > capacity:
        scope = "one member" if is_gang else "all members together"
        problems.fault("no-room", ("--pods",), f"'{pods}': {scope} can run at most {capacity} pods of {gpus} GPUs")


def _notes(plan: AckFleetPlan, target: _Target, job: PyTorchJobPlan) -> tuple[str, ...]:
    policy, requested = plan.propagations[0], (job.workers + 1) * job.pod.resources[GPU]
    gang = "one member, with all pods or none" if policy.gang else "any members with room"
    when = "when kube-queue admits it," if policy.suspension else "at once, without a queue,"
    leaf, quota = target.leaf, ""
    if not policy.suspension:
        quota = ", which no quota limits"
    elif leaf is not None:
        jobs = "" if leaf.max_jobs is None else f", {leaf.max_jobs} at a time"
        quota = f" of '{leaf.name}' ({leaf.minimum[GPU]} guaranteed, at most {leaf.maximum[GPU]}{jobs})"
    return (
        f"Requests {requested} GPUs{quota}.",
        f"Submit it to the fleet: policy '{policy.name}' sends it {when} to {gang}.",
        "Needs Kubeflow's training operator in each member (AI suite with Arena), which Berth does not install.",
    )


def _report_unknown(problems: Problems, argument: str, message: str, word: str, known: list[str]) -> None:
    suggestion = did_you_mean(word, known) or (
        f"; write one of {join_quoted(sorted(set(known)))}" if known else "; the fleet has none"
    )
    problems.fault("unknown-name", (argument,), message + suggestion)
