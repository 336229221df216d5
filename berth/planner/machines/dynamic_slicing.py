"""What a fleet with dynamic slicing needs besides its pools: the controller that forms slices, nodes of their own."""

from __future__ import annotations

from collections.abc import Mapping

from berth.diagnostics import join_quoted
from berth.plan.configuration import SLICE_CONTROLLER
from berth.planner.context import PlanningContext
from berth.planner.machines.pools import EXTERNAL, PlannedPool
from berth.rules.gke.dynamic_slicing import connects_slices


def check_dynamic_slicing(context: PlanningContext, pools: Mapping[str, PlannedPool]) -> None:
    """Warn of a controller that nobody states, and of fixed slices whose jobs could get nodes of dynamic ones."""
    sliced = [pool for pool in pools.values() if connects_slices(pool.request)]
    if not sliced:
        return
    if SLICE_CONTROLLER not in (context.spec.operators or ()):
        context.problems.warning(
            "no-slice-controller",
            ("pools", sliced[0].name, "dynamicSlicing"),
            "no job starts without Kueue's slice controller, which Berth does not install; install it "
            f"(docs/dynamic-slicing.md), and write operators: [{SLICE_CONTROLLER}]",
        )
    for pool in sliced:
        reservation = pool.spec.capacity.reservation
        held = context.spec.reservations.get(reservation) if reservation else None
        blocks = pool.hardware.slices.max if pool.hardware.slices is not None else 0
        if held is not None and held.block is None and blocks > 1:
            context.problems.unknown(
                "slice-block-unknown",
                ("reservations", str(reservation)),
                f"no block says that the sub-blocks of pool '{pool.name}' are in one, so whether slices of several can "
                "be formed is unknown; write block: <name of the block>",
            )
        fixed = [
            each.name
            for each in pools.values()
            if each.hardware.machine.accelerator == pool.hardware.machine.accelerator
            and not connects_slices(each.request)
            and each.made_by != EXTERNAL
            and each.hardware.shape is not None
        ]
        if fixed and not pool.spec.taints:
            context.problems.warning(
                "mixed-slicing",
                ("pools", pool.name, "dynamicSlicing"),
                "GKE's slice controller labels its nodes with the topology of their slice, so jobs of "
                f"{join_quoted(fixed)} with that topology could get them; write taints for {pool.name}, which its jobs "
                "alone tolerate",
            )
