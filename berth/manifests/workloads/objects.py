"""The objects of a workload, and of a team's stack, in the order in which they may be applied."""

from __future__ import annotations

from collections.abc import Iterator

from berth.manifests import tenancy
from berth.manifests.workloads import jobs, operators
from berth.manifests.workloads.pods import Manifest
from berth.plan.team_stack import ConfigPlan, SecretsPlan, TeamStackPlan
from berth.plan.workloads import (
    DeploymentPlan,
    JobPlan,
    JobSetPlan,
    LeaderWorkerSetPlan,
    MPIJobPlan,
    ProvisioningRequestPlan,
    PyTorchJobPlan,
    RayPlan,
    TrainJobPlan,
    WorkloadPlan,
)


def workload_manifests(plan: WorkloadPlan) -> list[Manifest]:
    """Render the objects of a workload; the last is the job itself."""
    if isinstance(plan, ProvisioningRequestPlan):
        request = [jobs.requested_pod_template(plan), jobs.provisioning_request(plan)]
        return [*request, jobs.consuming_job(plan)] if plan.with_job else request
    before = [] if plan.pod.domain_nodes is None else [jobs.compute_domain(plan.submission, plan.pod.domain_nodes)]
    if isinstance(plan, JobPlan):
        return [*before, *([jobs.headless_service(plan.submission)] if plan.pods > 1 else []), jobs.job(plan)]
    return [*before, _job_object(plan)]


def _job_object(
    plan: JobSetPlan | PyTorchJobPlan | MPIJobPlan | TrainJobPlan | RayPlan | LeaderWorkerSetPlan | DeploymentPlan,
) -> Manifest:
    match plan:
        case JobSetPlan():
            return jobs.job_set(plan)
        case PyTorchJobPlan():
            return operators.pytorch_job(plan)
        case MPIJobPlan():
            return operators.mpi_job(plan)
        case TrainJobPlan():
            return operators.train_job(plan)
        case RayPlan():
            return operators.ray(plan)
        case LeaderWorkerSetPlan():
            return jobs.leader_worker_set(plan)
        case DeploymentPlan():
            return jobs.deployment(plan)


def team_stack_manifests(plan: TeamStackPlan) -> Iterator[Manifest]:
    """Yield the objects of a team's stack in the order to apply them: files of pods come first."""
    for each in plan.configs:
        yield config_map(each, plan)
    for each in plan.secrets:
        yield mounted_secret_class(each, plan)
    for workload in plan.workloads.values():
        yield from workload_manifests(workload)


def config_map(config: ConfigPlan, plan: TeamStackPlan) -> Manifest:
    """Render the ConfigMap with files for the team's pods."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": config.name, "namespace": plan.namespace, "labels": dict(plan.labels)},
        "data": dict(sorted(config.files.items())),
    }


def mounted_secret_class(secrets: SecretsPlan, plan: TeamStackPlan) -> Manifest:
    """Render the SecretProviderClass that mounts secrets of Secret Manager as a volume."""
    metadata: Manifest = {"name": secrets.name, "namespace": plan.namespace, "labels": dict(plan.labels)}
    return tenancy.secret_provider_class(metadata, secrets.secrets)
