"""Proofs over a plan: what was promised exists, what is allowed can be reached, and what nobody uses is said.

Each proof reads the finished plan and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from berth.diagnostics import Problem, Problems
from berth.planner import Planned
from berth.validation import advice, capacity, reachability
from berth.validation.accelerator_networks import accelerator_addresses_suffice
from berth.validation.kueue import kueue_accepts
from berth.validation.multikueue import in_worker, one_job_runs_on_one_worker
from berth.validation.quota_claims import Ledger, ledger_of
from berth.validation.resource_rates import what_comes_along_suffices

Proof = Callable[[Ledger, Problems], None]

WITH_MACHINES: tuple[Proof, ...] = (
    capacity.promises_are_kept,
    capacity.auto_provisioning_allows,
    capacity.auto_provisioning_has_room,
    capacity.addresses_suffice,
    accelerator_addresses_suffice,
)
"""Proofs that argue from the machines that there are: skipped where some of those were set aside."""

ON_WORKERS: tuple[Proof, ...] = (
    capacity.auto_provisioning_allows,
    capacity.addresses_suffice,
    accelerator_addresses_suffice,
    advice.exposure,
)
"""Proofs that argue from the machines of one cluster: they hold for every worker that is made here, by itself."""

WHEN_COMPLETE: tuple[Proof, ...] = (
    reachability.limits_can_be_reached,
    reachability.queues_can_admit,
    what_comes_along_suffices,
    advice.idle_capacity,
    advice.sharing,
    advice.teams_without_queues,
    advice.exposure,
)
"""Proofs that argue from what is missing: skipped where a part of the stack file was set aside, for that may be it."""


def prove(planned: Planned) -> tuple[Problem, ...]:
    """Every problem of the plan as a whole, and of each worker's."""
    here = replace(planned, plan=replace(planned.plan, pools=planned.plan.own_pools))
    found, ledger = Problems(), ledger_of(here.plan, here.origins)
    proofs = (WITH_MACHINES if planned.machines_complete else ()) + (WHEN_COMPLETE if planned.complete else ())
    for proof in proofs:
        proof(ledger, found)
    there = {name: ledger_of(worker.plan, worker.origins) for name, worker in planned.workers.items()}
    for name, on_worker in there.items():
        inside = Problems()
        for proof in ON_WORKERS if planned.machines_complete and planned.workers[name].made_here else ():
            proof(on_worker, inside)
        found.found.extend(replace(problem, path=("workers", name, *problem.path)) for problem in inside.found)
    if planned.complete:
        one_job_runs_on_one_worker(ledger, there, found)
    if not found.refused() and not any(p.severity == "fault" for p in planned.problems):
        found.found.extend(kueue_accepts(here))
        for worker in planned.workers.values():
            found.found.extend(p for p in kueue_accepts(worker) if p not in found.found)
    return tuple(replace(problem, path=in_worker(problem.path)) for problem in found.found)
