"""A fleet on Alibaba Cloud as a document."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from berth.diagnostics import join_words
from berth.document import Block, Cell, Heading, Note, Share, Table
from berth.evaluate import Evaluation
from berth.manifests.quantities import quantity
from berth.overview.calendar import calendar_blocks
from berth.overview.fleet import team_table
from berth.overview.problems import all_problems, left_out_note
from berth.plan.ack import AckFleetPlan, QuotaNodePlan
from berth.plan.kueue import FlavorPlan
from berth.text import format_range, pluralize


def ack_document(evaluation: Evaluation) -> Iterator[Block]:
    """Yield a summary, capacity, members, teams, the quota tree, problems."""
    if isinstance(evaluation.plan, AckFleetPlan):
        yield from left_out_note(evaluation)
        yield from _fleet(evaluation.plan)
    yield from all_problems(evaluation)


def _fleet(plan: AckFleetPlan) -> Iterator[Block]:
    existing = [member.name for member in plan.members if member.existing]
    existing_text = f" ({join_words(existing)} existing)" if existing else ""
    yield Heading(
        f"{plan.stack} · Alibaba Cloud · {plan.region} · ACK One fleet {plan.fleet.name} "
        f"({'existing' if plan.fleet.existing else 'new'}), "
        f"{pluralize(len(plan.members), 'member')}{existing_text}, {pluralize(len(plan.teams), 'team')}, "
        f"{'no quota tree' if plan.quotas is None else pluralize(len(plan.cluster_queues), 'queue')}"
    )
    yield _capacity_table(plan)
    yield node_pool_table(plan)
    teams = team_table(plan)  # a fleet on ACK has one kind of accelerator in each flavor: namespaces say more
    yield replace(teams, wide=(4, 5), once=(0, 6))
    if plan.quotas is not None:
        yield _tree_table(plan.quotas)
    yield from calendar_blocks(plan)
    if jobs := list(job_placement(plan)):
        yield Note(jobs)


def _capacity_table(plan: AckFleetPlan) -> Table:
    rows: list[list[Cell]] = [
        [
            flavor.name,
            f"{format_range(flavor.capacity)} {flavor.noun}",
            str(flavor.promised),
            Share(flavor.promised, flavor.capacity.max),
            _per_member(plan, flavor),
        ]
        for flavor in plan.flavors
    ]
    head = ("flavor", "GPUs", "guaranteed", "", "largest job")
    unguaranteed = () if plan.quotas is not None else (2, 3)
    return Table("Capacity", head, rows, numbers=(2,), wide=unguaranteed)


def _per_member(plan: AckFleetPlan, flavor: FlavorPlan) -> str:
    """Return the maximum of one member, because a gang runs on a single member."""
    capacities = {
        member.name: sum(pool.accelerators.max for pool in member.node_pools if pool.flavor == flavor.name)
        for member in plan.members
    }
    largest = max(capacities.values(), default=0)
    return f"{largest}, on {join_words([name for name, each in capacities.items() if each == largest])}"


def node_pool_table(plan: AckFleetPlan) -> Table:
    """Return the node pools of the members, and where their machines come from."""
    rows = [
        [
            f"{member.name}/{pool.name}",
            pool.instance_type,
            format_range(pool.nodes),
            f"{format_range(pool.accelerators)} {pool.gpu}",
            "existing" if member.existing else "spot" if pool.spot else "on-demand",
            pool.flavor,
            join_words(list(pool.vswitches)),
        ]
        for member in plan.members
        for pool in member.node_pools
    ]
    head = ("node pool", "instance type", "nodes", "GPUs", "from", "flavor", "vSwitches")
    return Table("Node pools", head, rows, numbers=(2,), wide=(5, 6))


def _tree_table(root: QuotaNodePlan) -> Table:
    resources = list(root.minimum)
    rows: list[list[str]] = []
    for depth, node in root.walk():
        ends = [[quantity(each, bound[each]) for bound in (node.minimum, node.maximum)] for each in resources]
        rows.append(
            [
                "  " * depth + node.name,
                *(least if least == most else f"{least}–{most}" for least, most in ends),
                "–" if node.max_jobs is None else str(node.max_jobs),
                join_words(list(node.namespaces)) or "–",
            ]
        )
    return Table("Quota tree (min–max)", ("node", *resources, "max jobs", "namespaces"), rows)


def job_placement(plan: AckFleetPlan) -> Iterator[str]:
    """Yield when and where the fleet sends a job; nothing if no namespace is for jobs."""
    if not plan.propagations:
        return
    policy = plan.propagations[0]
    where = "with all pods of a job on one member" if policy.gang else "with pods on any member that has room"
    when = "when kube-queue admits them" if policy.suspension else "at once, without a queue"
    yield (
        f"PyTorchJobs are sent to a member {when}, {where}; a job that fails there is rescheduled after "
        f"{policy.toleration_seconds} s."
    )
    for is_reserving, effect in ((True, "reserves nodes for a job before it is sent"), (False, "reserves no nodes")):
        names = [each.name for each in plan.members if each.existing is None and each.reservation == is_reserving]
        if names:
            yield f"The scheduler of {join_words(names)} {effect}."
    if existing := [member.name for member in plan.members if member.existing is not None]:
        yield f"Berth does not configure the scheduler of {join_words(existing)}."
