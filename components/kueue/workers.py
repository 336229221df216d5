"""Worker clusters as objects of their manager. Does not own objects in the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from berth.manifests.kueue import multikueue_cluster, multikueue_config
from berth.manifests.worker_access import kubeconfig_secret
from berth.plan.admission_checks import MultiKueueClusterPlan, MultiKueueConfigPlan, WorkerAccessPlan

from ..kubernetes import KubernetesObject, cluster_options


class Workers(pulumi.ComponentResource):
    """A MultiKueueCluster for each worker, and MultiKueueConfigs: sets of workers to which jobs are sent.

    The objects are in the manager. `kubeconfigs` maps worker → kubeconfig for workers that need one; each is stored in
    a Secret, created before the MultiKueueCluster that refers to it.
    """

    configs: list[pulumi.Resource]
    """MultiKueueConfigs by name; admission checks refer to them and depend on them."""

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
