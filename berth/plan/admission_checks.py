"""Admission checks, which decide on admission in addition to quota, and their configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

KUEUE_GROUP: Final = "kueue.x-k8s.io"
PROVISIONING: Final = "kueue.x-k8s.io/provisioning-request"
"""The controller that requests nodes from the cluster autoscaler before a workload starts (Kueue 0.19.2)."""
PROVISIONING_CONFIG: Final = "ProvisioningRequestConfig"
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
"""The controller that sends a workload to another cluster."""
MULTIKUEUE_CONFIG: Final = "MultiKueueConfig"
AUTOSCALING_PREFIX: Final = "autoscaling.x-k8s.io"
"""Prefix of the two annotations by which pods use the machines of a request."""
CONSUME_ANNOTATION: Final = "consume-provisioning-request"
CLASS_ANNOTATION: Final = "provisioning-class-name"
QUEUED_CLASS: Final = "queued-provisioning.gke.io"
"""GKE's provisioning class of DWS: it waits until all requested nodes are available (GKE docs: DWS)."""

PARAMETER_PREFIX: Final = "provreq.kueue.x-k8s.io/"
"""Prefix of job annotations that become parameters of the job's ProvisioningRequest (Kueue 0.19.2)."""
RUN_DURATION_PARAMETER: Final = "maxRunDurationSeconds"
MIN_RUN_SECONDS: Final = 600
MAX_RUN_SECONDS: Final = 604800
"""The shortest and the longest run that GKE's queued provisioning accepts (GKE docs: DWS); the catalog has them too."""


class ParametersPlan(Struct, frozen=True, kw_only=True):
    """Reference to the object that configures an admission check. `kind` and `name` have at most 63 characters."""

    kind: str
    name: str


class AdmissionCheckPlan(Struct, frozen=True, kw_only=True):
    """A Kueue AdmissionCheck: its controller and the reference to its configuration."""

    name: str
    controller: str = PROVISIONING
    parameters: ParametersPlan | None = None


class RetryPlan(Struct, frozen=True, kw_only=True):
    """How often a failed provisioning request is repeated; the pause doubles from `base_seconds`.

    The defaults are Kueue's. `limit_count` 0 never retries. After the last retry the workload is deactivated.
    """

    limit_count: int = 3
    base_seconds: int = 60
    max_seconds: int = 1800


class ProvisioningConfigPlan(Struct, frozen=True, kw_only=True):
    """A Kueue ProvisioningRequestConfig for GKE's queued provisioning.

    A workload that requests none of `managed_resources` passes the check at once; an empty list means all resources.
    `parameters` are passed to the class unchanged, and a job that sets another value for one of them never starts.
    `max_run_seconds` is the longest run that the queue allows; None is the maximum of the provisioning class.
    `merge_policy` None requests each pod set separately, although GKE accepts only one.
    """

    name: str
    managed_resources: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    max_run_seconds: int | None = None
    retry: RetryPlan = RetryPlan()
    merge_policy: str | None = None


class MultiKueueConfigPlan(Struct, frozen=True, kw_only=True):
    """A MultiKueueConfig: the MultiKueueClusters that workloads may be sent to."""

    name: str
    clusters: tuple[str, ...]


class MultiKueueClusterPlan(Struct, frozen=True, kw_only=True):
    """A MultiKueueCluster, reached by a kubeconfig in a Secret of Kueue's namespace, or by a profile.

    Exactly one of `kubeconfig` (the Secret's name) and `profile` (a ClusterProfile's name) is set.
    """

    name: str
    kubeconfig: str | None = None
    profile: str | None = None


class WorkerAccessPlan(Struct, frozen=True, kw_only=True):
    """Access of a manager's Kueue to a worker: an account there, and a kubeconfig with its token on the manager.

    `account`, its role and its token are in the worker's `namespace`; `job_kinds` maps API groups to the resources that
    it may create there (`batch` → `jobs`). `secret` is the Secret on the manager, with the key `kubeconfig`. A new
    `token_date` is a new token, which does not expire; the old one is deleted once the manager has the new one.
    """

    account: str
    namespace: str
    secret: str
    job_kinds: Mapping[str, tuple[str, ...]]
    token_date: str | None = None
