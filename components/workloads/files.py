"""Files of a team's pods: ConfigMaps, and references to secrets. Does not own the secrets, or grants on them."""

from __future__ import annotations

import pulumi

from berth.manifests.workloads.objects import config_map, mounted_secret_class
from berth.plan.team_stack import TeamStackPlan

from ..kubernetes import KubernetesObject, cluster_options


class Files(pulumi.ComponentResource):
    """The ConfigMaps and SecretProviderClasses of a team's stack; workloads depend on all `objects`."""

    def __init__(
        self,
        name: str,
        plan: TeamStackPlan,
        *,
        namespace: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:workloads:Files", name, None, opts)
        options = cluster_options(self, cluster=None)
        live = {"metadata": {"namespace": namespace}}
        self.objects: list[pulumi.Resource] = [
            *(
                KubernetesObject(f"{name}-config-{each.name}", config_map(each, plan), live=live, opts=options)
                for each in plan.configs
            ),
            *(
                KubernetesObject(
                    f"{name}-secrets-{each.name}", mounted_secret_class(each, plan), live=live, opts=options
                )
                for each in plan.secrets
            ),
        ]
        self.register_outputs({"configs": [each.name for each in plan.configs]})
