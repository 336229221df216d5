"""A PyTorchJob for a team's queue on an ACK One fleet, which the fleet's policy queues and sends to one member.

The job has no fields of Kueue. It requests cpu and memory only if the options set them, because ACK reserves part of
every node and a pod that requests a whole node never runs.
"""

from __future__ import annotations

from msgspec import Struct

from berth.diagnostics import Problem, Problems, did_you_mean, join_quoted
from berth.names import shorten
from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, QuotaNodePlan
from berth.plan.kueue import ClusterQueuePlan
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


class DerivedAckWorkload(Struct, frozen=True):
    """The job and notes on it, or the faults that prevent it."""

    job: PyTorchJobPlan | None
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]


def derive_ack_workload(plan: AckFleetPlan, team: str, queue: str, options: WorkloadOptions) -> DerivedAckWorkload:
    """Derive the requested job; `queue` is a key of the team's queues, or the name of a leaf of the quota tree."""
    problems = Problems()
    teams = {each.name: each for each in plan.teams}
    if team not in teams:
        _report_unknown(problems, "TEAM", f"no team '{team}'", team, list(teams))
        return DerivedAckWorkload(None, (), tuple(problems.entries))
    queues = {q.name: q for q in plan.cluster_queues if any(door.team == team for door in q.local_queues)}
    queue_by_local_name = {door.name: q for q in queues.values() for door in q.local_queues if door.team == team}
    cluster_queue = queue_by_local_name.get(queue) or queues.get(queue)
    if cluster_queue is None:
        _report_unknown(
            problems, "QUEUE", f"team '{team}' has no queue '{queue}'", queue, [*queue_by_local_name, *queues]
        )
        return DerivedAckWorkload(None, (), tuple(problems.entries))
    _check_options(plan, options, problems)
    job = _build_job(plan, teams[team], cluster_queue, options, problems)
    notes = () if job is None or problems.has_faults() else _notes(plan, job)
    return DerivedAckWorkload(None if problems.has_faults() else job, notes, tuple(problems.entries))


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
    plan: AckFleetPlan, team: TeamPlan, queue: ClusterQueuePlan, options: WorkloadOptions, problems: Problems
) -> PyTorchJobPlan | None:
    pools = [
        (member.name, pool)
        for member in plan.members
        for pool in member.node_pools
        if pool.nodes.max and any(pool.flavor == entry.flavor for entry in queue.flavors)
    ]
    if not pools:
        problems.fault("no-nodes", ("QUEUE",), "none of its node pools can have nodes; set nodes in one of them")
        return None
    gpus, pods = options.gpus or min(pool.gpus for _, pool in pools), options.pods or 1
    _check_fits(plan, queue, pools, gpus, pods, problems)
    longest = names.pytorch_name_limit(pods - 1)
    if options.name is not None:
        check_workload_name(options.name, longest, problems)
    local_queue = next(each for each in queue.local_queues if each.team == team.name)
    requested = {"cpu": options.cpu, "memory": options.memory}
    return PyTorchJobPlan(
        submission=SubmissionPlan(
            name=shorten(options.name or f"{team.name}-{local_queue.name}", longest),
            namespace=local_queue.namespace,
            team=team.name,
            queue=queue.name,
            priority=options.priority,
        ),
        pod=PodPlan(
            image=options.image or TRIAL_IMAGE,
            command=options.command or (() if options.image else TRIAL_COMMAND),
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
    queue: ClusterQueuePlan,
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
    quota = _find_leaf(plan.quotas, queue.name).maximum[GPU]
    if gpus * pods > quota:
        message = (
            f"{pods} × {gpus} GPUs are more than the maximum of '{queue.name}', {quota}; the job would wait forever"
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


def _find_leaf(root: QuotaNodePlan, name: str) -> QuotaNodePlan:
    return next(node for _, node in root.walk() if node.name == name)


def _notes(plan: AckFleetPlan, job: PyTorchJobPlan) -> tuple[str, ...]:
    pods = job.workers + 1
    leaf = _find_leaf(plan.quotas, job.submission.queue)
    jobs = "" if leaf.max_jobs is None else f", {leaf.max_jobs} at a time"
    gang = "one member, with all pods or none" if plan.propagations[0].gang else "any members with room"
    return (
        f"Requests {pods * job.pod.resources[GPU]} GPUs of '{leaf.name}' ({leaf.minimum[GPU]} guaranteed, "
        f"at most {leaf.maximum[GPU]}{jobs}).",
        f"Submit it to the fleet: policy '{plan.propagations[0].name}' sends it to {gang}.",
        "Needs Kubeflow's training operator in each member (AI suite with Arena), which Berth does not install.",
    )


def _report_unknown(problems: Problems, argument: str, message: str, word: str, known: list[str]) -> None:
    suggestion = did_you_mean(word, known) or (
        f"; write one of {join_quoted(sorted(set(known)))}" if known else "; the fleet has none"
    )
    problems.fault("unknown-name", (argument,), message + suggestion)
