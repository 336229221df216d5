"""What a team submits: jobs of several kinds, and a request for machines. Every number is already the pool's own."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.plan.admission_checks import AUTOSCALING_PREFIX, CLASS_ANNOTATION, CONSUME_ANNOTATION
from berth.plan.node_settings import Toleration


class SubmissionPlan(Struct, frozen=True, kw_only=True):
    """Whose a workload is and where it goes.

    `queue` is a local queue of the namespace. `priority` names a WorkloadPriorityClass and the PriorityClass of the
    pods; None leaves both to the fleet's default. `annotations` are those of the job.
    """

    name: str
    namespace: str
    team: str
    queue: str
    priority: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])


class MountPlan(Struct, frozen=True, kw_only=True):
    """A volume of a pod, with its fields of the Pod API; `path` is its folder, None if no container mounts it."""

    name: str
    volume: Mapping[str, object]
    path: str | None = None
    read_only: bool = False


class PodPlan(Struct, frozen=True, kw_only=True):
    """One pod of a workload, with a single container.

    `resources` are requests and limits alike: accelerators as counts, cpu in milli, memory in bytes. `node_selector`
    and `tolerations` are only those that nobody adds later; the pod keeps off nodes with one of `absent_labels`.
    `restart_policy` None is left to the job's controller, `service_account` None to the namespace. `runtime_class` is
    that of GKE Sandbox. Without a `command` the image's own runs. `annotations` are the pod's,
    `capabilities` those of Linux that the container adds.
    `claims` are ResourceClaimTemplates, one for each claim. `domain_nodes` are the nodes of the job's ComputeDomain, of
    which each pod claims a channel; None without one. `configs` are ConfigMaps and `secrets` are
    SecretProviderClasses of the namespace, which the pod sees as folders.
    `mounts` are buckets of the team. With `checkpoints`, the pod has the volume of multi-tier checkpointing.
    `template` is the team's own pod template (metadata and spec), to which the other fields are added; `image` and
    `command` may then be empty, which leaves those of the template.
    """

    image: str
    command: tuple[str, ...]
    resources: Mapping[str, int]
    ports: tuple[int, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    absent_labels: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_network: bool = False
    restart_policy: str | None = None
    service_account: str | None = None
    runtime_class: str | None = None
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    capabilities: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    domain_nodes: int | None = None
    configs: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    checkpoints: bool = False
    mounts: tuple[MountPlan, ...] = ()
    template: Mapping[str, object] | None = None


class JobPlan(Struct, frozen=True, kw_only=True):
    """A Kubernetes Job of `pods` pods that run together. Several have an index each, and find each other by name.

    `backoff_limit` is how many pods may fail (disruptions do not count); None is Kubernetes' 6.
    """

    submission: SubmissionPlan
    pod: PodPlan
    pods: int
    backoff_limit: int | None = None

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return self.pods


class JobSetPlan(Struct, frozen=True, kw_only=True):
    """A JobSet of one replicated job: `replicas` child jobs of `pods` pods each; for TPUs slices, and hosts of one.

    A child job fails with its first pod, and the set starts again, at most `max_restarts` times, by
    `restart_strategy` (JobSet's own spelling; None is its Recreate). `exclusive_topology` is the node label whose
    values child jobs do not share.
    """

    submission: SubmissionPlan
    pod: PodPlan
    replicated_job: str
    replicas: int
    pods: int
    max_restarts: int
    restart_strategy: str | None = None
    exclusive_topology: str | None = None

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return self.replicas * self.pods


class PyTorchJobPlan(Struct, frozen=True, kw_only=True):
    """A PyTorchJob of Kubeflow's training operator: one master and `workers` workers, admitted all or none."""

    submission: SubmissionPlan
    pod: PodPlan
    workers: int
    backoff_limit: int | None = None

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return 1 + self.workers


class ProvisioningRequestPlan(Struct, frozen=True, kw_only=True):
    """A request for machines that no queue has a part in: `pods` nodes' worth of the pod's template, all at once.

    `class_name` is the provisioning class, `parameters` go to it as they are. `with_job` adds a Job whose pods use the
    machines, where Kueue lets a job without a queue start.
    """

    name: str
    namespace: str
    team: str
    pod: PodPlan
    pods: int
    class_name: str
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    with_job: bool

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return self.pods

    @property
    def consuming_annotations(self) -> Mapping[str, str]:
        """Annotations by which pods use the machines."""
        values = {CONSUME_ANNOTATION: self.name, CLASS_ANNOTATION: self.class_name}
        return {f"{AUTOSCALING_PREFIX}/{key}": value for key, value in values.items()}


class MPIJobPlan(Struct, frozen=True, kw_only=True):
    """An MPIJob (kubeflow.org/v2beta1): `workers` pods with `slots` processes each, and a launcher that starts them.

    `implementation` is the MPI that the image must have, as the operator spells it; "" leaves the operator's default.
    """

    submission: SubmissionPlan
    pod: PodPlan
    workers: int
    slots: int
    launcher: PodPlan
    implementation: str = ""
    backoff_limit: int | None = None

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return self.workers


class TrainJobPlan(Struct, frozen=True, kw_only=True):
    """A TrainJob of Kubeflow Trainer on `nodes` pods, which the ClusterTrainingRuntime `runtime` describes."""

    submission: SubmissionPlan
    pod: PodPlan
    nodes: int
    runtime: str

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return self.nodes


class RayPlan(Struct, frozen=True, kw_only=True):
    """A Ray cluster of one head and `workers` worker pods.

    With an `entrypoint` it is a RayJob, which deletes the cluster when the job ends; without one a RayCluster. The pod
    `submitter` runs the entrypoint of a RayJob; None is KubeRay's own.
    """

    submission: SubmissionPlan
    pod: PodPlan
    workers: int
    head: PodPlan
    entrypoint: str | None = None
    submitter: PodPlan | None = None

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return self.workers


class LeaderWorkerSetPlan(Struct, frozen=True, kw_only=True):
    """A LeaderWorkerSet of `groups` groups of `size` pods; Kueue admits each group by itself.

    `exclusive_topology` is the node label whose values groups do not share.
    """

    submission: SubmissionPlan
    pod: PodPlan
    groups: int
    size: int
    exclusive_topology: str | None = None

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return self.groups * self.size


class DeploymentPlan(Struct, frozen=True, kw_only=True):
    """A Deployment of `replicas` pods; Kueue admits each pod by itself.

    `stops_first`: an update stops a pod before it starts another, because the queue has no room for more pods.
    """

    submission: SubmissionPlan
    pod: PodPlan
    replicas: int
    stops_first: bool = False

    @property
    def pod_count(self) -> int:
        """Pods with accelerators."""
        return self.replicas


WorkloadPlan = (
    JobPlan
    | JobSetPlan
    | PyTorchJobPlan
    | MPIJobPlan
    | TrainJobPlan
    | RayPlan
    | LeaderWorkerSetPlan
    | DeploymentPlan
    | ProvisioningRequestPlan
)
