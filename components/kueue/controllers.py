"""The controllers that serve the queueing APIs: Kueue, JobSet, one Helm release each. Owns nothing that uses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi
from pulumi_kubernetes.helm.v3 import Release, ReleaseArgs

from berth.plan.kueue import ChartPlan
from components.kubernetes import cluster_options

_TIMEOUT_SECONDS: Final = 900
"""How long Helm waits for a controller to be ready, a first node for it included."""


class Controllers(pulumi.ComponentResource):
    """Controllers at pinned versions, installed one after the other in the order of the plan.

    One after the other, because Kueue's webhooks may fail closed while its manager starts, and would then refuse the
    next chart's Deployment. `runs_on` is what their pods need: nodes that are always there, never an accelerator pool.
    A release counts as made when its Deployment is available, which Kueue's is only once its webhooks listen: so what
    depends on `releases` may create queues at once. A failed install is taken back, a failed upgrade rolled back.

    Nothing is ever uninstalled: Kueue's CRDs are templates of its chart, so every queue and workload would go with it.
    A chart that leaves the plan, as when others manage it from then on, keeps running outside the state; to take it
    back, `helm uninstall` it or import it. JobSet's CRD lies in its chart's `crds` folder, which Helm never upgrades.
    """

    releases: dict[str, Release]
    """By the chart plan's name; what depends on one waits for that controller and its webhooks."""

    def __init__(
        self,
        name: str,
        plan: Sequence[ChartPlan],
        *,
        cluster: pulumi.Resource | None = None,
        runs_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Controllers", name, None, opts)
        self.releases = {}
        for chart in plan:
            waits_for = list(self.releases.values())[-1:] or runs_on
            options = cluster_options(self, cluster=cluster, served_by=waits_for)
            options.retain_on_delete = True
            self.releases[chart.name] = Release(f"{name}-{chart.name}", _arguments(chart), opts=options)
        self.register_outputs({"versions": {chart.name: chart.version for chart in plan}})


def _arguments(chart: ChartPlan) -> ReleaseArgs:
    return ReleaseArgs(
        name=chart.name,
        chart=chart.chart,
        version=chart.version,
        namespace=chart.namespace,
        create_namespace=True,
        values=chart.values,
        atomic=True,
        skip_await=False,
        timeout=_TIMEOUT_SECONDS,
    )
