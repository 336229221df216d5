"""Proofs over the plan of a fleet on Alibaba Cloud: those that hold of queues on any backend."""

from __future__ import annotations

from collections.abc import Callable

from berth.diagnostics import Problem, Problems
from berth.planner.ack.fleet import AckPlanned
from berth.validation import advice, capacity, reachability
from berth.validation.quota_claims import Accounts, Promises, ledger_of
from berth.validation.resource_rates import what_comes_along_suffices

ON_ACK: tuple[Callable[[Accounts[Promises], Problems], None], ...] = (
    reachability.limits_can_be_reached,
    reachability.queues_can_admit,
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
