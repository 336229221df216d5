"""What lets a manager into a worker cluster. Does not own the Secret on the manager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from berth.manifests.worker_access import inside as inside_worker
from berth.manifests.worker_access import kubeconfig, token
from berth.plan.admission_checks import WorkerAccessPlan
from components.kubernetes import KubernetesObject, inside


class WorkerAccess(pulumi.ComponentResource):
    """The account in a worker that its manager acts as, with a role of just what MultiKueue does, and a token.

    Stands in the worker. `server` is the URL of its control plane, `served_by` what makes Kueue's namespace there.
    `kubeconfig` is a secret: how the manager reaches the worker as that account.
    """

    kubeconfig: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        worker: str,
        plan: WorkerAccessPlan,
        *,
        server: pulumi.Input[str],
        provider: pulumi.ProviderResource,
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:WorkerAccess", name, None, opts)
        options = inside(self, provider=provider, cluster=cluster, served_by=served_by)
        made = {
            role: KubernetesObject(f"{name}-{role}", manifest, opts=options) for role, manifest in inside_worker(plan)
        }
        after = inside(self, provider=provider, cluster=cluster, served_by=list(made.values()))
        secret: Any = token(plan)
        held = kubernetes.core.v1.Secret(f"{name}-token", metadata=secret["metadata"], type=secret["type"], opts=after)
        reached = pulumi.Output.all(server=server, data=held.data).apply(
            lambda known: kubeconfig(worker, known["server"], known["data"])
        )
        self.kubeconfig = pulumi.Output.secret(reached)
        self.register_outputs({})
