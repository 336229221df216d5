"""What the report shows of a fleet on Alibaba Cloud."""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import in_words
from berth.plan.ack import AckFleetPlan, QuotaNodePlan
from berth.planner.queueing.preemption import sentences, taken_back
from berth.report.bars import charts
from berth.report.fleet import accelerators, entitled, picture, queueing, tree_table
from berth.report.tree import COHORT, QUEUE, Box, Share
from berth.report.view import Body, Figure, Part
from berth.text import many, span

_BASIC = ("cpu", "memory")


def ack_body(plan: AckFleetPlan) -> Body:
    """Bars, the tree of quotas, who gets back what, node pools of the members."""
    drawn = ack_boxes(plan)
    return Body(
        subtitle=f"Alibaba Cloud · {plan.region} · ACK One fleet {plan.fleet.name}",
        figures=[*accelerators(plan), *queueing(plan), _members(plan)],
        charts=charts(plan),
        teams=entitled(plan),
        picture=picture(drawn, plan.stack),
        tree_says="The minimum of each node is guaranteed, its maximum is the most that it can use.",
        tree=tree_table(drawn),
        relations=Part("In words", lines=list(sentences(taken_back(plan.quotas), len(plan.cluster_queues)))),
        pools=[_pools(plan)],
    )


def ack_boxes(plan: AckFleetPlan) -> tuple[Box, ...]:
    """Every node of the quota tree right before those below it."""
    return tuple(_boxes(plan.quotas, None, 0, 0))


def _boxes(node: QuotaNodePlan, parent: int | None, depth: int, place: int) -> Iterator[Box]:
    """The box of a node, which stands at `place`, and those of all below it."""
    shares = tuple(
        Share(resource, least, node.maximum[resource], "GPUs")
        for resource, least in node.minimum.items()
        if resource not in _BASIC
    )
    jobs = () if node.max_jobs is None else (f"{many(node.max_jobs, 'job')} at once",)
    yield Box(COHORT if node.children else QUEUE, node.name, shares, parent, depth, jobs)
    below = place + 1
    for child in node.children:
        for box in _boxes(child, place, depth + 1, below):
            yield box
            below += 1


def _members(plan: AckFleetPlan) -> Figure:
    there = sum(member.existing is not None for member in plan.members)
    what = "member" if len(plan.members) == 1 else "members"
    return Figure(str(len(plan.members)), what, f"{there} there already" if there else "made here")


def _pools(plan: AckFleetPlan) -> Part:
    rows = [
        [
            f"{member.name}/{pool.name}",
            pool.instance_type,
            "there already" if member.existing else "spot" if pool.spot else "on-demand",
            span(pool.nodes),
            f"{span(pool.accelerators)} {pool.gpu}",
            pool.flavor,
            in_words(list(pool.vswitches)),
        ]
        for member in plan.members
        for pool in member.node_pools
    ]
    head = ("node pool", "instance type", "from", "nodes", "accelerators", "flavor", "vSwitches")
    return Part("Node pools and where their machines come from", head, rows, (3,))
