"""Which kinds of objects Kueue manages in a namespace: its integrations, and those of serving only where it is on."""

from __future__ import annotations

from msgspec import Struct

from berth.diagnostics import join_quoted
from berth.plan.configuration import JOB_FRAMEWORKS, SERVING_FRAMEWORKS
from berth.plan.fleet import FleetPlan

POD = "pod"
"""Kueue's name for the integration of pods."""
_KUEUE = "kueue"
_MAX_LISTED = 3


class Integrations(Struct, frozen=True):
    """The frameworks that Kueue manages; None if they are not known, because Berth does not configure Kueue.

    Those of serving apply only in `serving`, or wherever Kueue manages jobs if that is None.
    """

    frameworks: tuple[str, ...] | None = None
    serving: tuple[str, ...] | None = None

    def manages(self, framework: str, namespace: str) -> bool:
        """Return whether Kueue manages the kind of a framework in a namespace; true if it is not known."""
        if self.frameworks is None:
            return True
        is_off = framework in SERVING_FRAMEWORKS and self.serving is not None and namespace not in self.serving
        return framework in self.frameworks and not is_off

    def refusal(self, kind: str, framework: str, namespace: str) -> str:
        """Return the message for an object that Kueue does not manage in its namespace."""
        if framework not in SERVING_FRAMEWORKS or (
            self.serving is None and not set(SERVING_FRAMEWORKS).isdisjoint(self.frameworks or ())
        ):
            outside = "it would start at once, outside all quota"
            return f"Kueue in this fleet does not manage {kind} objects: {outside}; add {framework} to its integrations"
        outside = "its pods would start outside all quota, or be refused if they use accelerators"
        file = "the platform's stack file"
        remedy = "write a Job" if framework == POD else f"write serving: true for the namespace in {file}"
        if self.serving:
            remedy += f", or use {join_quoted(list(self.serving[:_MAX_LISTED]))}"
        elif framework == POD:
            remedy += f", or add pod to kueue.integrations.frameworks in {file}"
        return f"Kueue does not manage {kind} objects in namespace '{namespace}': {outside}; {remedy}"


def integrations(plan: FleetPlan) -> Integrations:
    """Return the integrations of a plan's Kueue."""
    if plan.kueue is not None:
        return Integrations(plan.kueue.frameworks, plan.kueue.serving_namespaces)
    is_installed = any(chart.name == _KUEUE for chart in plan.charts)
    return Integrations(JOB_FRAMEWORKS if is_installed else None)
