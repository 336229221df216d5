"""Report settings that a backend cannot express: as faults, or as warnings if `acceptLoss` lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from berth.diagnostics import FieldPath
from berth.planner.context import PlanningContext
from berth.rules.backends import DISPLAY_NAMES, Backend, concepts_by_loss
from berth.spec.fleet import AnyFleetSpec, FleetSpec
from berth.spec.teams import QueueSpec


class UnsupportedSetting(Struct, frozen=True):
    """A setting that the backend cannot express: its loss (value of acceptLoss), path and written value.

    `remedy` is what to do; without one, the key is removed.
    """

    loss: str
    path: FieldPath
    written: str
    remedy: str = ""


def report_losses(
    context: PlanningContext, backend: Backend, unsupported: Iterable[UnsupportedSetting], accepted: tuple[str, ...]
) -> None:
    """Report every loss, as a fault unless it is accepted, and warn of entries of acceptLoss without a loss."""
    seen: set[str] = set()
    for setting in unsupported:
        seen.add(setting.loss)
        because = concepts_by_loss()[setting.loss].because
        if setting.loss in accepted:
            context.problems.accepted_risk(
                "loss", setting.path, f"'{setting.written}' has no effect, because {because}; accepted by acceptLoss"
            )
        else:
            remedy = setting.remedy or f"remove {setting.path[-1]}"
            context.problems.fault(
                "not-expressible",
                setting.path,
                f"'{setting.written}' is not supported, because {because}; {remedy}, or add {setting.loss} to the "
                "top-level list acceptLoss",
            )
    for index, loss in enumerate(accepted):
        if loss not in seen and not context.set_aside:
            lost_on = concepts_by_loss()[loss].lost_on
            other = DISPLAY_NAMES[lost_on] if lost_on and lost_on != backend else None
            reason = f"only {other} does not support it" if other else "no setting needs it"
            context.problems.warning(
                "needless-loss", ("acceptLoss", index), f"'{loss}' is not needed: {reason}; remove it from acceptLoss"
            )


def kueue_losses(spec: FleetSpec) -> Iterator[UnsupportedSetting]:
    """Yield settings of queues that Kueue cannot express."""
    for path, queue in all_queues(spec):
        if queue.max_jobs is not None:
            yield UnsupportedSetting("max-jobs", (*path, "maxJobs"), str(queue.max_jobs))


def all_queues(spec: AnyFleetSpec) -> Iterator[tuple[FieldPath, QueueSpec]]:
    """Yield the queues of teams and the shared ones, each with its path."""
    for name, team in sorted(spec.teams.items()):
        for queue, queue_spec in sorted(team.queues.items()):
            yield ("teams", name, "queues", queue), queue_spec
    for name, queue in sorted(spec.cluster_queues.items()):
        yield ("clusterQueues", name), queue
