"""DaemonSets that prepare GPU nodes, and NVIDIA's DRA driver."""

from __future__ import annotations

from typing import Any, Final, cast

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from berth.manifests.gpu import driver_namespace, installers
from berth.manifests.releases import release
from berth.plan.installers import InstallersPlan

from ..kubernetes import KubernetesObject, cluster_options
from ..options import resource_options

_SKIP_AWAIT: Final = {"metadata": {"annotations": {"pulumi.com/skipAwait": "true"}}}
"""Annotation to not wait for a DaemonSet's pods, which start with the nodes of jobs. Otherwise one node that waits for
its driver would block the whole deployment."""


class Installers(pulumi.ComponentResource):
    """The DaemonSets that install GPU drivers and NCCL plugins, and inject devices; NVIDIA's DRA driver.

    Owns the DaemonSets. Does not own what they install, which stays on a node as long as the node exists, even if the
    DaemonSets are deleted. Only for Standard clusters: Autopilot installs drivers itself and rejects such pods.
    """

    def __init__(
        self,
        name: str,
        plan: InstallersPlan,
        *,
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gpu:Installers", name, None, opts)
        options = cluster_options(self, cluster=cluster)
        names: list[str] = []
        for manifest in installers(plan):
            object_name = str(cast("dict[str, Any]", manifest["metadata"])["name"])
            KubernetesObject(f"{name}-{object_name}", manifest, live=_SKIP_AWAIT, opts=options)
            names.append(object_name)
        if (driver := plan.dra) is not None:
            prepared = [
                KubernetesObject(f"{name}-{driver.chart.name}-{role}", manifest, opts=options)
                for role, manifest in driver_namespace(driver)
            ]
            made = release(driver.chart)
            of_release = resource_options(made, self, prepared)
            of_release.deleted_with = cluster
            Release(f"{name}-{driver.chart.name}", **made.arguments, opts=of_release)
        self.register_outputs({"daemonSets": names})
