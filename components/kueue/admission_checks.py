"""Admission checks and their configuration."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from berth.manifests.kueue import admission_check, provisioning_request_config
from berth.plan.admission_checks import AdmissionCheckPlan, ProvisioningConfigPlan

from ..kubernetes import KubernetesObject, cluster_options


class AdmissionChecks(pulumi.ComponentResource):
    """Every AdmissionCheck of the fleet, and every ProvisioningRequestConfig, created before and deleted after them.

    The order is needed because a check without its config is inactive, and so is every queue that uses it. Does not own
    the queues, or `workers`, the MultiKueueConfigs that checks refer to. `objects` maps name → check.
    """

    objects: dict[str, KubernetesObject]

    def __init__(
        self,
        name: str,
        plan: Sequence[AdmissionCheckPlan],
        configs: Sequence[ProvisioningConfigPlan],
        *,
        served_by: Sequence[pulumi.Resource] = (),
        workers: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:AdmissionChecks", name, None, opts)
        options = cluster_options(self, cluster=cluster, served_by=served_by)
        config_objects = {
            each.name: KubernetesObject(f"{name}-config-{each.name}", provisioning_request_config(each), opts=options)
            for each in configs
        }
        self.objects = {}
        for check in plan:
            config = config_objects.get(check.parameters.name) if check.parameters else None
            check_options = cluster_options(
                self, cluster=cluster, served_by=[config] if config else [*served_by, *workers]
            )
            self.objects[check.name] = KubernetesObject(
                f"{name}-check-{check.name}", admission_check(check), opts=check_options
            )
        self.register_outputs({"admissionChecks": [each.name for each in plan]})
