"""Proofs over the plan of a fleet on Alibaba Cloud: those that hold of queues on any backend."""

from __future__ import annotations

from collections.abc import Callable

from stacks.planner.ack import AckPlanned
from stacks.problems import Problem, Problems
from stacks.proofs import advice, capacity, reach
from stacks.proofs.ledger import Accounts, Promises, ledger_of
from stacks.proofs.rates import what_comes_along_suffices

ON_ACK: tuple[Callable[[Accounts[Promises], Problems], None], ...] = (
    reach.limits_can_be_reached,
    reach.queues_can_admit,
    what_comes_along_suffices,
    advice.idle_capacity,
    advice.sharing,
    advice.teams_without_queues,
)
"""Proofs that hold of queues on any backend, where nothing was set aside."""


def prove_ack(planned: AckPlanned) -> tuple[Problem, ...]:
    """Every problem of a plan on Alibaba Cloud as a whole."""
    found, accounts = Problems(), ledger_of(planned.plan, planned.origins)
    if planned.machines_complete:
        capacity.promises_are_kept(accounts, found)
    if planned.complete:
        for proof in ON_ACK:
            proof(accounts, found)
    return tuple(map(planned.placed, found.found))
