"""Priorities and cohorts, and the controllers that queue by them."""

from __future__ import annotations

from components.kueue.configuration import jobset_values, kueue_values
from components.plan.kueue import ChartPlan, CohortPlan, PriorityPlan
from stacks.planner.draft import Draft

KUEUE = ("0.19.2", "oci://registry.k8s.io/kueue/charts/kueue", "kueue-system")
JOBSET = ("0.12.0", "oci://registry.k8s.io/jobset/charts/jobset", "jobset-system")
"""Release, chart and namespace (facts 3.1, 3.4, 3.8)."""


def priorities(draft: Draft) -> tuple[PriorityPlan, ...]:
    """Every priority, the lowest first."""
    found = sorted(draft.spec.priorities.items(), key=lambda item: (item[1].value, item[0]))
    defaults = [name for name, spec in found if spec.default]
    for name in defaults[1:]:
        message = f"'{defaults[0]}' is the default already, and a cluster has one; leave default out here"
        draft.problems.fault("two-defaults", ("priorities", name, "default"), message)
    for name, _ in found:
        if name.startswith("system-"):
            message = f"'{name}': Kubernetes keeps names that start with system- for itself; write another"
            draft.problems.fault("bad-value", ("priorities", name), message)
    return tuple(
        PriorityPlan(
            name=name, value=spec.value, default=spec.default, preempts=spec.preempts, description=spec.description
        )
        for name, spec in found
    )


def cohorts(draft: Draft) -> tuple[CohortPlan, ...]:
    """Every cohort, flat."""
    return tuple(CohortPlan(name=name, parent=None) for name in sorted(draft.spec.cohorts))


def charts(draft: Draft, cluster_queues: int) -> tuple[ChartPlan, ...]:
    """The controllers to install; none for those that exist. JobSet comes first: Kueue looks for its kind."""
    kueue, jobset = draft.spec.kueue, draft.spec.jobset
    seconds = kueue.wait_for_pods_ready_minutes * 60
    wanted = (
        ("jobset", jobset, JOBSET, jobset_values()),
        ("kueue", kueue, KUEUE, kueue_values(cluster_queues=cluster_queues, pods_ready_seconds=seconds)),
    )
    return tuple(
        ChartPlan(
            name=name,
            chart=spec.chart or chart,
            version=spec.version or version,
            namespace=namespace,
            values=values,
        )
        for name, spec, (version, chart, namespace), values in wanted
        if not spec.existing
    )
