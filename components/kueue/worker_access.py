"""Access of a manager to a worker cluster. Does not own the Secret on the manager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from berth.manifests.worker_access import access_manifests as inside_worker
from berth.manifests.worker_access import token_secret, worker_kubeconfig
from berth.plan.admission_checks import WorkerAccessPlan

from ..kubernetes import KubernetesObject, cluster_options


class WorkerAccess(pulumi.ComponentResource):
    """The manager's service account in a worker, with a role for exactly what MultiKueue needs, and a token.

    The objects are in the worker. `server` is the URL of its control plane, `served_by` creates Kueue's namespace
    there. `kubeconfig` is a secret output: a kubeconfig for that account.
    """

    worker_kubeconfig: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        worker: str,
        plan: WorkerAccessPlan,
        *,
        server: pulumi.Input[str],
        served_by: Sequence[pulumi.Resource] = (),
        cluster: pulumi.Resource | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:kueue:WorkerAccess", name, None, opts)
        options = cluster_options(self, cluster=cluster, served_by=served_by)
        objects = {
            role: KubernetesObject(f"{name}-{role}", manifest, opts=options) for role, manifest in inside_worker(plan)
        }
        token_options = cluster_options(self, cluster=cluster, served_by=list(objects.values()))
        token_manifest: Any = token_secret(plan)
        live_secret = kubernetes.core.v1.Secret(
            f"{name}-token", metadata=token_manifest["metadata"], type=token_manifest["type"], opts=token_options
        )
        kubeconfig_text = pulumi.Output.all(server=server, data=live_secret.data).apply(
            lambda known: worker_kubeconfig(worker, known["server"], known["data"])
        )
        self.kubeconfig = pulumi.Output.secret(kubeconfig_text)
        self.register_outputs({})
