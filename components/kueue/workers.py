"""Worker clusters as their manager knows them. Does not own what is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from berth.manifests.kueue import multikueue_cluster, multikueue_config
from berth.manifests.worker_access import kubeconfig_secret
from berth.plan.admission_checks import MultiKueueClusterPlan, MultiKueueConfigPlan, WorkerAccessPlan
from components.kubernetes import KubernetesObject, cluster_options


class Workers(pulumi.ComponentResource):
    """The workers as their manager's Kueue knows them: a MultiKueueCluster each, and sets of them to send jobs to.

    Stands in the manager. `kubeconfigs` are by worker, of those that are reached by one: each is kept in a Secret,
    which is there before Kueue looks for it.
    """

    configs: list[pulumi.Resource]
    """What admission checks name; they come after it."""

    def __init__(
        self,
        name: str,
        clusters: Sequence[MultiKueueClusterPlan],
        configs: Sequence[MultiKueueConfigPlan],
        kubeconfigs: Mapping[str, tuple[WorkerAccessPlan, pulumi.Output[str]]],
        *,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:Workers", name, None, opts)
        options = cluster_options(self, cluster=cluster, served_by=served_by)
        cluster_objects: list[pulumi.Resource] = []
        for each in clusters:
            object_options = options
            if each.name in kubeconfigs:
                secret = self._secret(f"{name}-kubeconfig-{each.name}", *kubeconfigs[each.name], options)
                object_options = cluster_options(self, cluster=cluster, served_by=[secret])
            cluster_objects.append(
                KubernetesObject(f"{name}-cluster-{each.name}", multikueue_cluster(each), opts=object_options)
            )
        config_options = cluster_options(self, cluster=cluster, served_by=cluster_objects)
        self.configs = [
            KubernetesObject(f"{name}-config-{each.name}", multikueue_config(each), opts=config_options)
            for each in configs
        ]
        self.register_outputs({"clusters": [each.name for each in clusters]})

    def _secret(
        self, name: str, plan: WorkerAccessPlan, text: pulumi.Output[str], options: pulumi.ResourceOptions
    ) -> kubernetes.core.v1.Secret:
        manifest: Any = kubeconfig_secret(plan)
        return kubernetes.core.v1.Secret(
            name,
            metadata=manifest["metadata"],
            type=manifest["type"],
            string_data={"kubeconfig": text},
            opts=options,
        )
