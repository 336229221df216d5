"""A fleet on Google Cloud as a document."""

from __future__ import annotations

from collections.abc import Iterator

from berth.cost.fleet import FleetCost
from berth.cost.text import cost_blocks
from berth.diagnostics import join_words
from berth.document import Block, Cell, Heading, Lines, Note, Share, Table
from berth.evaluate import Evaluation
from berth.overview.calendar import calendar_blocks
from berth.overview.cohorts import buffer_table, cohort_table
from berth.overview.dynamic_slices import shape_table
from berth.overview.forms import form_lines
from berth.overview.problems import all_problems, left_out_note
from berth.plan.compute_classes import ClassPriorityPlan
from berth.plan.fleet import FleetPlan, PoolPlan, WorkerPlan
from berth.plan.kueue import FlavorPlan
from berth.plan.teams import QueueingPlan, TeamPlan
from berth.planner.queueing.preemption import describe_rules, preemption_rules
from berth.planner.queueing.quota_tree import QuotaTree, accelerator_quotas, largest_jobs
from berth.quota.required import required_quotas
from berth.text import capacity_source, cluster_summary, format_range, format_slices, pluralize, worker_target

_DAY = len("2026-12-01")


def fleet_document(evaluation: Evaluation, cost: FleetCost | None = None) -> Iterator[Block]:
    """Yield a summary, capacity, pools, teams, who can preempt whom, cost, problems."""
    yield from left_out_note(evaluation)
    if evaluation.fleet_plan:
        yield from _plan_blocks(evaluation.fleet_plan)
    if cost:
        yield from cost_blocks(cost)
    yield from all_problems(evaluation)


def _plan_blocks(plan: FleetPlan) -> Iterator[Block]:
    counts = [
        *([pluralize(len(plan.workers), "worker")] if plan.workers else []),
        pluralize(len(plan.pools), "pool"),
        pluralize(len(plan.teams), "team"),
        pluralize(len(plan.cluster_queues), "cluster queue"),
    ]
    yield Heading(f"{plan.stack} · {cluster_summary(plan)}, {', '.join(counts)}")
    yield _capacity_table(plan)
    yield Lines("Spare machines", [spare_text(flavor) for flavor in plan.flavors if flavor.spare])
    yield pool_table(plan)
    yield shape_table(plan)
    yield buffer_table(plan)
    rows = [
        [each.name, str(number), provisioning_model(priority), priority_machine(priority)]
        for each in plan.compute_classes
        for number, priority in enumerate(each.priorities, 1)
    ]
    yield Table("Compute classes", ("class", "", "from", "machine"), rows, numbers=(1,), once=(0,))
    yield later_table(plan)
    yield from calendar_blocks(plan)
    yield from _quota_note(plan)
    yield worker_table(plan)
    yield _network_table(plan)
    yield team_table(plan)
    yield form_lines(plan)
    yield cohort_table(plan)
    if plan.cluster_queues:
        yield Lines("Who can preempt whom", preemption_lines(plan) or ["no queue can preempt jobs"])


def _capacity_table(plan: FleetPlan) -> Table:
    borrowed = most_borrowed(plan)
    rows: list[list[Cell]] = [
        [
            flavor.name,
            f"{format_range(flavor.capacity)} {flavor.noun}",
            guarantee_text(plan, flavor.name, flavor.promised),
            Share(flavor.promised, flavor.capacity.max),
            str(borrowed.get(flavor.name, 0) or "–"),
            "–" if flavor.pods is None else f"{flavor.pods:,}",
            join_words(list(flavor.pools)),
        ]
        for flavor in plan.flavors
    ]
    return Table(
        "Capacity", ("flavor", "accelerators", "guaranteed", "", "may borrow", "job pods", "pools"), rows, (2, 4, 5)
    )


def most_borrowed(plan: QueueingPlan) -> dict[str, int]:
    """Return the most that one queue can use of each flavor beyond its guarantee: no queue uses more than there is."""
    resources = {flavor.name: flavor.resource for flavor in plan.flavors}
    capacity = {flavor.name: flavor.capacity.max for flavor in plan.flavors}
    tree = QuotaTree.from_plan(plan)
    most: dict[str, int] = {}
    for queue in plan.cluster_queues:
        nodes = tree.queue_nodes(queue.name)
        for name, quota in accelerator_quotas(queue, resources):
            beyond = min(nodes[name].ceiling, capacity[name]) - quota.nominal
            most[name] = max(most.get(name, 0), beyond)
    return most


def spare_text(flavor: FlavorPlan) -> str:
    """Return what is kept spare of a flavor, and for whom."""
    return (
        f"{flavor.spare} {flavor.noun} of {flavor.name} are nobody's: pods of a failed machine start there before any "
        "other job is preempted"
    )


def spot_part(plan: FleetPlan, flavor: str, amount: int) -> int:
    """Return how many of a flavor's accelerators can only be spot machines: those beyond all of its other machines."""
    firm = sum(pool.accelerators.max for pool in plan.pools if pool.flavor == flavor and pool.capacity != "spot")
    return max(0, amount - firm) if any(p.capacity == "spot" for p in plan.pools if p.flavor == flavor) else 0


def guarantee_text(plan: FleetPlan, flavor: str, amount: int) -> str:
    """Return `96`, or with spot machines `96, of them 64 spot`: a guarantee against teams, not against Google Cloud."""
    spot = spot_part(plan, flavor, amount)
    if not spot:
        return str(amount)
    return f"{amount}, all spot" if spot == amount else f"{amount}, of them {spot} spot"


def pool_table(plan: FleetPlan) -> Table:
    """Return the machines of each pool, and where they come from."""
    nouns = {flavor.name: flavor.noun for flavor in plan.flavors}
    rows = [
        [
            _name_with_former(pool),
            pool.machine_type,
            format_range(pool.nodes),
            f"{format_range(pool.accelerators)} {nouns.get(pool.flavor, '')}",
            format_slices(pool),
            capacity_source(pool),
            pool.flavor,
            join_words(list(pool.zones)) or "any",
        ]
        for pool in plan.pools
    ]
    head = ("pool", "machine", "nodes", "accelerators", "shape", "from", "flavor", "zones")
    return Table("Pools", head, rows, numbers=(2,), wide=(6, 7))


def _name_with_former(entry: PoolPlan | TeamPlan | WorkerPlan) -> str:
    """Return the name, with the former one that its objects in the cluster still have."""
    return f"{entry.name} (formerly {entry.formerly})" if entry.formerly else entry.name


def priority_machine(priority: ClassPriorityPlan) -> str:
    """Return the machine or slice of one priority of a compute class."""
    return f"{priority.tpu.type} {priority.tpu.topology}" if priority.tpu else str(priority.machine_type)


def provisioning_model(priority: ClassPriorityPlan) -> str:
    """Return the provisioning model of one priority, as the stack file spells it."""
    if priority.reservations:
        return f"reservation {priority.reservations[0].name}"
    if priority.affinity == "AnyBestEffort":
        return "any-reservation"
    return "spot" if priority.spot else "flex-start" if priority.flex_start else "on-demand"


def later_table(plan: FleetPlan) -> Table:
    """Return the future reservations, with the state of their pools until they start."""
    rows = [
        [
            each.key,
            f"{each.count} × {each.machine_type}" if each.chips is None else f"{each.chips} chips",
            each.start[:_DAY],
            each.end[:_DAY],
            join_words([*each.pools]) or "–",
            "0 nodes" if each.delivered else "not delivered, no node pools",
        ]
        for each in plan.held
        if each.start and each.end
    ]
    return Table("Reserved for later", ("reservation", "machines", "from", "until", "pools", "until then"), rows)


def _quota_note(plan: FleetPlan) -> Iterator[Note]:
    """Yield the Google Cloud quotas of accelerators that the fleet needs at its maximum, and how to list all."""
    required = [quota for quota in required_quotas(plan) if not quota.is_optional]
    accelerators = [
        quota for quota in required if quota.metric.unit in ("GPUs", "chips") and quota.metric.scope == "region"
    ]
    several = len({quota.location for quota in accelerators}) > 1
    amounts = [
        f"{quota.maximum} {quota.metric.name}{f' in {quota.location}' if several else ''}" for quota in accelerators
    ]
    if amounts:
        rest = len(required) - len(accelerators)
        yield Note(
            [f"Google Cloud quotas, at most: {', '.join(amounts)} and {rest} more; see berth quota {plan.stack}"]
        )


def worker_table(plan: FleetPlan) -> Table:
    """Return the capacity of each worker, its share of the guarantees, and its largest job."""
    rows: list[list[str]] = []
    for worker in plan.workers:
        largest = largest_jobs(worker.plan)
        for flavor in worker.plan.flavors:
            figures = [f"{flavor.capacity.max} {flavor.noun}", str(flavor.promised)]
            rows.append(
                [
                    _name_with_former(worker),
                    worker_target(worker),
                    flavor.name,
                    *figures,
                    str(largest.get(flavor.name, 0) or "–"),
                ]
            )
    head = ("worker", "cluster", "flavor", "accelerators", "guaranteed", "largest job")
    return Table("Workers", head, rows, numbers=(4, 5), once=(0, 1))


def _network_table(plan: FleetPlan) -> Table:
    """Return the VPCs of accelerators, with the names by which pods request interfaces."""
    rows = [
        [
            networks.key,
            vpc.name,
            _first_to_last([subnet.device for subnet in vpc.subnets]),
            _first_to_last([subnet.ip_range for subnet in vpc.subnets]),
            join_words(list(plan.pools_on(networks.key))),
        ]
        for networks in plan.accelerator_networks
        for vpc in networks.vpcs
    ]
    return Table("Networks", ("networks", "VPC", "interfaces", "ranges", "pools"), rows)


def _first_to_last(names: list[str]) -> str:
    return " – ".join(dict.fromkeys((names[0], names[-1])))


def team_table(plan: QueueingPlan, only: str | None = None) -> Table:
    """Return each team's guarantee and ceiling; `only` selects one team."""
    nouns = {flavor.name: flavor.noun for flavor in plan.flavors}
    rows: list[list[str]] = []
    for team in plan.teams if only is None else [team for team in plan.teams if team.name == only]:
        name, places = _name_with_former(team), join_words([place.name for place in team.namespaces])
        rows += [
            [
                name,
                flavor,
                _team_guarantee(plan, flavor, team.guaranteed.get(flavor, 0)),
                str(ceiling),
                nouns[flavor],
                team.settings.state,
                places,
            ]
            for flavor, ceiling in team.ceiling.items()
        ] or [[name, "–", "–", "–", "no queues", team.settings.state, places]]
    head = ("team", "flavor", "guaranteed", "ceiling", "", "state", "namespaces")
    return Table("Teams", head, rows, numbers=(2, 3), once=(0,), wide=(5, 6))


def _team_guarantee(plan: QueueingPlan, flavor: str, amount: int) -> str:
    """Return a team's guarantee; which of a flavor's guarantees are on spot machines is said only where all are."""
    if isinstance(plan, FleetPlan) and amount and spot_part(plan, flavor, amount) == amount:
        return f"{amount}, all spot"
    return str(amount or "–")


def preemption_lines(plan: FleetPlan) -> list[str]:
    """Return a sentence for each rule by which queues can preempt jobs of others."""
    return list(describe_rules(preemption_rules(plan), len(plan.cluster_queues)))
