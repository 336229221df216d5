"""The controllers that serve the queueing APIs: one Helm release each for Kueue and JobSet."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from berth.manifests.releases import release
from berth.manifests.serving.webhooks import webhook_patches
from berth.parts.queues import plan_controllers
from berth.plan.kueue import ChartPlan

from ..arguments.controllers import ControllersArgs
from ..kubernetes import KubernetesObject, cluster_options
from ..options import resource_options


class Controllers(pulumi.ComponentResource):
    """Controllers with pinned versions, installed sequentially in the order of the plan.

    Sequentially, because Kueue's webhooks may fail closed while its manager starts, and would then reject the next
    chart's Deployment. `runs_on` are the node pools of their pods, which always have nodes; never accelerator pools. A
    release is created when its Deployment is available, which for Kueue means that its webhooks work: so resources that
    depend on `releases` can create queues at once. A failed install is removed, and a failed upgrade is rolled back.

    Releases are never uninstalled: Kueue's CRDs are templates of its chart, so that would delete every queue and
    workload. A chart that is removed from the plan keeps running outside of Pulumi's state; to manage it again, import
    it or run `helm uninstall`. JobSet's CRD is in its chart's `crds` folder, which Helm never upgrades.

    `serving` are the only namespaces in which Kueue's webhooks for pods and services are called; None leaves them as in
    the chart. A fleet passes the plans of its charts in the place of arguments.
    """

    releases: dict[str, Release]
    """Name of the chart plan → release. Resources that depend on one wait for the controller and its webhooks."""

    def __init__(
        self,
        name: str,
        args: ControllersArgs | Sequence[ChartPlan],
        *,
        cluster: pulumi.Resource | None = None,
        runs_on: Sequence[pulumi.Resource] = (),
        serving: Sequence[str] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Controllers", name, None, opts)
        args = ControllersArgs.of(args, name)
        if isinstance(args, ControllersArgs):
            _, part = args.planned(self, name, plan_controllers)
            plan = part.plan
        else:
            plan = args
        self.releases = {}
        for chart in plan:
            waits_for = list(self.releases.values())[-1:] or runs_on
            made = release(chart)
            options = resource_options(made, self, waits_for)
            options.deleted_with = cluster
            self.releases[chart.name] = Release(f"{name}-{chart.name}", **made.arguments, opts=options)
        for role, manifest in webhook_patches(serving) if serving is not None else ():
            options = cluster_options(self, cluster=cluster, served_by=[self.releases["kueue"]])
            KubernetesObject(f"{name}-{role}", manifest, opts=options)
        self.register_outputs({"versions": {chart.name: chart.version for chart in plan}})
