"""A PyTorchJob for a team's queue on an ACK One fleet: held by the fleet's own policy, placed as a whole on one member.

Nothing of Kueue's is written. Cpu and memory are left out unless asked for: ACK keeps a part of every node, and a pod
that asks for all of it never runs.
"""

from __future__ import annotations

from msgspec import Struct

from berth.diagnostics import Problem, Problems, near_miss, quoted
from berth.names import is_dns_1035_label, shorten
from berth.plan.ack import AckFleetPlan, AckNodePoolPlan, QuotaNodePlan
from berth.plan.kueue import ClusterQueuePlan
from berth.plan.teams import TeamPlan
from berth.plan.workloads import PodPlan, PyTorchJobPlan, SubmissionPlan
from berth.workloads import names
from berth.workloads.options import TRIAL, TRIAL_IMAGE, Asked

GPU = "nvidia.com/gpu"

_ELSEWHERE = (
    ("slices", "--slices"),
    ("max_run_seconds", "--max-run-duration"),
    ("restart_strategy", "--restart-strategy"),
    ("placement_group", "--placement-group"),
    ("flavor", "--flavor"),
)
"""What is asked of machines, of Kueue or of JobSet, none of which is there."""


class OnAck(Struct, frozen=True):
    """The job and what is to be said about it, or the faults that keep it from being one."""

    job: PyTorchJobPlan | None
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]


def on_ack(plan: AckFleetPlan, team: str, queue: str, asked: Asked) -> OnAck:
    """The job that is asked for; `queue` is a key of the team's queues, or the name of a leaf of the quota tree."""
    problems = Problems()
    teams = {each.name: each for each in plan.teams}
    if team not in teams:
        _unknown(problems, "TEAM", f"no team '{team}'", team, list(teams))
        return OnAck(None, (), tuple(problems.found))
    queues = {q.name: q for q in plan.cluster_queues if any(door.team == team for door in q.local_queues)}
    doors = {door.name: q for q in queues.values() for door in q.local_queues if door.team == team}
    behind = doors.get(queue) or queues.get(queue)
    if behind is None:
        _unknown(problems, "QUEUE", f"team '{team}' has no queue '{queue}'", queue, [*doors, *queues])
        return OnAck(None, (), tuple(problems.found))
    _refuse(plan, asked, problems)
    job = _job(plan, teams[team], behind, asked, problems)
    notes = () if job is None or problems.refused() else _notes(plan, job)
    return OnAck(None if problems.refused() else job, notes, tuple(problems.found))


def _refuse(plan: AckFleetPlan, asked: Asked, problems: Problems) -> None:
    if asked.kind not in (None, "pytorchjob"):
        problems.fault("wrong-kind", ("--kind",), f"'{asked.kind}': the fleet propagates PyTorchJobs; write pytorchjob")
    for field, option in _ELSEWHERE:
        if getattr(asked, field) is not None:
            problems.fault("wrong-kind", (option,), "a fleet on ACK has nothing of the kind; leave it out")
    known = [each.name for each in plan.priorities]
    if asked.priority is not None and asked.priority not in known:
        _unknown(problems, "--priority", f"no priority '{asked.priority}'", asked.priority, known)
    if asked.name is not None and not is_dns_1035_label(asked.name):
        message = f"'{asked.name}' is no name for a workload: lower-case letters, digits and '-', a letter first"
        problems.fault("bad-name", ("--name",), message)


def _job(
    plan: AckFleetPlan, team: TeamPlan, queue: ClusterQueuePlan, asked: Asked, problems: Problems
) -> PyTorchJobPlan | None:
    pools = [
        (member.name, pool)
        for member in plan.members
        for pool in member.node_pools
        if pool.nodes.max and any(pool.flavor == entry.flavor for entry in queue.flavors)
    ]
    if not pools:
        problems.fault("no-nodes", ("QUEUE",), "none of its node pools ever has a node; give one of them nodes")
        return None
    gpus, pods = asked.gpus or min(pool.gpus for _, pool in pools), asked.pods or 1
    _fits(plan, queue, pools, gpus, pods, problems)
    longest = names.pytorch_job(pods - 1)
    if len(asked.name or "") > longest:
        problems.fault("long-name", ("--name",), f"'{asked.name}' is longer than {longest} characters; shorten it")
    door = next(each for each in queue.local_queues if each.team == team.name)
    said = {"cpu": asked.cpu, "memory": asked.memory}
    return PyTorchJobPlan(
        submission=SubmissionPlan(
            name=shorten(asked.name or f"{team.name}-{door.name}", longest),
            namespace=door.namespace,
            team=team.name,
            queue=queue.name,
            priority=asked.priority,
        ),
        pod=PodPlan(
            image=asked.image or TRIAL_IMAGE,
            command=asked.command or (() if asked.image else TRIAL),
            resources={**{key: amount for key, amount in said.items() if amount is not None}, GPU: gpus},
            ports=asked.ports,
            # The job's own: there is no flavor that adds them to its pods, as on Kueue.
            tolerations=tuple(dict.fromkeys(taint.tolerated for _, pool in pools for taint in pool.taints)),
            restart_policy="OnFailure",
            service_account=asked.service_account,
        ),
        workers=pods - 1,
        backoff_limit=asked.backoff_limit,
    )


def _fits(
    plan: AckFleetPlan,
    queue: ClusterQueuePlan,
    pools: list[tuple[str, AckNodePoolPlan]],
    gpus: int,
    pods: int,
    problems: Problems,
) -> None:
    """A pod fits on a node, the job below the maximum of its leaf, and as a gang on one member."""
    widest = max(pool.gpus for _, pool in pools)
    if gpus > widest:
        message = f"'{gpus}': a node has {widest} GPUs at the most; write more --pods instead"
        problems.fault("wrong-shape", ("--gpus",), message)
        return
    most = _leaf(plan.quotas, queue.name).maximum[GPU]
    if gpus * pods > most:
        message = f"{pods} × {gpus} GPUs are more than the {most} of '{queue.name}': it would never be dequeued"
        problems.fault("over-quota", ("--pods",), message)
    room: dict[str, int] = {}
    for member, pool in pools:
        room[member] = room.get(member, 0) + pool.nodes.max * (pool.gpus // gpus)
    together = plan.propagations[0].gang if plan.propagations else False
    held = max(room.values()) if together else sum(room.values())
    if pods > held:
        where = "on one member, as a gang," if together else "on all members together"
        problems.fault("no-room", ("--pods",), f"'{pods}': {where} {held} pods of {gpus} GPUs have room at the most")


def _leaf(root: QuotaNodePlan, name: str) -> QuotaNodePlan:
    return next(node for _, node in root.walk() if node.name == name)


def _notes(plan: AckFleetPlan, job: PyTorchJobPlan) -> tuple[str, ...]:
    pods = job.workers + 1
    leaf = _leaf(plan.quotas, job.submission.queue)
    jobs = "" if leaf.max_jobs is None else f", {leaf.max_jobs} at a time"
    gang = "one member, all pods or none" if plan.propagations[0].gang else "any members with room"
    return (
        f"Asks for {pods * job.pod.resources[GPU]} GPUs of '{leaf.name}' ({leaf.minimum[GPU]} guaranteed, "
        f"{leaf.maximum[GPU]} at the most{jobs}).",
        f"Submit it to the fleet: policy '{plan.propagations[0].name}' sends it to {gang}.",
        "Needs Kubeflow's training operator in each member (AI suite with Arena), which Berth does not install.",
    )


def _unknown(problems: Problems, what: str, message: str, word: str, known: list[str]) -> None:
    there = near_miss(word, known) or (f"; there is {quoted(sorted(set(known)))}" if known else "; the fleet has none")
    problems.fault("unknown-name", (what,), message + there)
