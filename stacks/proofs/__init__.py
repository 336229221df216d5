"""Proofs over a plan: what was promised exists, what is allowed can be reached, and what nobody uses is said.

Each proof reads the finished plan and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from stacks.planner import Planned
from stacks.planner.ack import AckPlanned
from stacks.problems import Problem, Problems
from stacks.proofs import advice, capacity, reach
from stacks.proofs.kueue import kueue_accepts
from stacks.proofs.ledger import Accounts, Ledger, Promises, ledger_of
from stacks.proofs.networks import accelerator_addresses_suffice

Proof = Callable[[Ledger, Problems], None]

WITH_MACHINES: tuple[Proof, ...] = (
    capacity.promises_are_kept,
    capacity.auto_provisioning_allows,
    capacity.auto_provisioning_has_room,
    capacity.addresses_suffice,
    accelerator_addresses_suffice,
)
"""Proofs that argue from the machines that there are: skipped where some of those were set aside."""

WHEN_COMPLETE: tuple[Proof, ...] = (
    reach.limits_can_be_reached,
    reach.queues_can_admit,
    advice.idle_capacity,
    advice.sharing,
    advice.teams_without_queues,
    advice.exposure,
)
"""Proofs that argue from what is missing: skipped where a part of the stack file was set aside, for that may be it."""


def prove(planned: Planned) -> tuple[Problem, ...]:
    """Every problem of the plan as a whole."""
    found, ledger = Problems(), ledger_of(planned.plan, planned.origins)
    proofs = (WITH_MACHINES if planned.machines_complete else ()) + (WHEN_COMPLETE if planned.complete else ())
    for proof in proofs:
        proof(ledger, found)
    if not found.refused() and not any(p.severity == "fault" for p in planned.problems):
        found.found.extend(kueue_accepts(planned))
    return tuple(found.found)


ON_ACK: tuple[Callable[[Accounts[Promises], Problems], None], ...] = (
    reach.limits_can_be_reached,
    reach.queues_can_admit,
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
