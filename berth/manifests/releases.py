"""Helm releases, and the provider of a cluster's objects, as registrations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from berth.plan.kueue import ChartPlan
from berth.registration import Registration, without_none

_TIMEOUT_SECONDS: Final = 900
"""How long Helm waits until a controller is ready, in seconds, including a first node for it."""


STAYS: Final = "berth.dev/stays"
"""Annotation of an object that is not deleted when it leaves the program."""


def release(plan: ChartPlan) -> Registration:
    """Return a release that is never uninstalled, because CRDs are templates of Kueue's chart.

    Uninstalling it would delete every queue and workload. A failed install is removed, and a failed upgrade is rolled
    back.
    """
    return Registration(
        type="kubernetes:helm.sh/v3:Release",
        arguments={
            "name": plan.name,
            "chart": plan.chart,
            "version": plan.version,
            "namespace": plan.namespace,
            "create_namespace": True,
            "values": plan.values,
            "atomic": plan.waits,
            "skip_await": not plan.waits,
            "timeout": _TIMEOUT_SECONDS,
        },
        retain_on_delete=True,
    )


def stays(manifest: Mapping[str, Any]) -> bool:
    """Return whether an object stays in the cluster when it leaves the program, because a release runs in it."""
    return STAYS in (manifest["metadata"].get("annotations") or {})


def kubernetes_provider(
    *, kubeconfig: object | None, cluster_identifier: str, context: str | None = None
) -> Registration:
    """Return the provider of one cluster, identified by `cluster_identifier` even if the kubeconfig changes.

    ConfigMaps and Secrets change in place. By default the provider would replace them, deleting the old one first
    because names are fixed: a manager would then temporarily have no kubeconfig of a worker.
    """
    arguments = {
        "kubeconfig": kubeconfig,
        "context": context,
        "cluster_identifier": cluster_identifier,
        "enable_config_map_mutable": True,
        "enable_secret_mutable": True,
    }
    return Registration(type="pulumi:providers:kubernetes", arguments=without_none(arguments))
