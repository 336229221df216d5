"""Plan serving: the namespaces in which Kueue queues Deployments, StatefulSets, LeaderWorkerSets and pods.

One list of integrations, and one namespace selector for the webhooks of all kinds, apply to a whole Kueue (chart of
Kueue 0.19.2, webhook/manifests.yaml). So the integrations are on, and conditions on their webhooks name the namespaces.
"""

from __future__ import annotations

from berth.diagnostics import FieldPath, join_quoted
from berth.plan.configuration import SERVING_FRAMEWORKS
from berth.planner.context import PlanningContext
from berth.planner.queueing.local_queues import serving_namespaces, serving_paths

_WRITTEN: FieldPath = ("kueue", "integrations", "frameworks")


def with_serving(context: PlanningContext, frameworks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the frameworks, and those of serving if a namespace has it."""
    if not serving_namespaces(context):
        return frameworks
    return (*frameworks, *(each for each in SERVING_FRAMEWORKS if each not in frameworks))


def check_serving(context: PlanningContext) -> None:
    """Report serving where it is not possible or says two things, and what an existing Kueue needs for it."""
    names = serving_namespaces(context)
    if not names:
        return
    for index, framework in enumerate(context.spec.kueue.integrations.frameworks or ()):
        if framework in SERVING_FRAMEWORKS:
            context.problems.fault(
                "contradiction",
                (*_WRITTEN, index),
                f"'{framework}' is on in every namespace of a team, but serving: true only in {join_quoted(names)}; "
                f"remove {framework}, or every serving",
            )
    if context.spec.workers:
        for path in serving_paths(context):
            message = "has no effect on a manager, which runs no pods and sends only jobs to workers; remove serving"
            context.problems.fault("contradiction", path, message)
    elif context.spec.kueue.existing:
        context.problems.note(
            "serving-existing-kueue",
            ("kueue", "existing"),
            f"Berth does not configure this Kueue: its integrations must include {join_quoted(SERVING_FRAMEWORKS)}, "
            f"and its managedJobsNamespaceSelector must match {join_quoted(names)}",
        )
