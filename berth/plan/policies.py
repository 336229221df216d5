"""Admission policies of team namespaces (ValidatingAdmissionPolicy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from berth.spec.admission.policies import MIN_GRACE as MIN_GRACE
from berth.spec.admission.policies import MOUNTED_BY_THE_NODE as MOUNTED_BY_THE_NODE
from berth.spec.admission.policies import NEW_POLICIES as NEW_POLICIES

POD_SECURITY: Final = "pod-security.kubernetes.io"
"""Prefix of the labels of Pod Security Admission."""
POD_SECURITY_LABEL: Final = "berth.dev/pod-security"
"""Namespace label with the Pod Security level of its pods, apart from exemptions."""
HOST_NETWORK: Final = "berth.dev/host-network"
"""Namespace annotation: accelerator resource names whose pods may use the host network."""
HOST_PATHS: Final = "berth.dev/host-paths"
"""Namespace annotation: directories of the node that pods may mount and write to."""
READ_ONLY_HOST_PATHS: Final = "berth.dev/read-only-host-paths"
"""Namespace annotation: directories of the node that pods may mount read-only."""
CAPABILITIES: Final = "berth.dev/capabilities"
"""Namespace annotation: Linux capabilities that containers may add to those of the level `baseline`."""
POD_PRIORITIES: Final = "berth.dev/pod-priorities"
"""Namespace annotation: PriorityClasses that pods may have."""
SERVICE_TYPES: Final = "berth.dev/service-types"
"""Namespace annotation: service types besides ClusterIP: LoadBalancer, NodePort, ExternalIPs."""

RUN_DURATIONS: Final = "berth.dev/max-run-durations"
"""Namespace annotation: `<local queue>=<seconds>` of each queue with queued machines: its longest run."""

MAX_GRACE: Final = "berth.dev/max-grace-seconds"
"""Namespace annotation: the longest grace period of pods, in seconds, or `unlimited`."""
DEFAULT_MAX_GRACE: Final = 600
"""The longest grace period of a namespace without the annotation, in seconds."""
UNLIMITED: Final = "unlimited"
TEAM_NAMESPACES: Final = "berth.dev/namespaces"
"""Namespace annotation: the namespaces of its team, if it has several."""
VOLUME_TYPES: Final = "berth.dev/volume-types"
"""Namespace annotation: volume types and CSI drivers that pods may mount besides the allowed ones."""
QUEUE_PRIORITIES: Final = "berth.dev/priorities"
"""Namespace annotation: priorities of jobs in queues that several teams share, as `<local queue>=<priority>`."""
QUEUE_CEILINGS: Final = "berth.dev/queue-ceilings"
"""Namespace annotation: `<local queue>/<resource>=<most>` of shared queues whose head holds up all other jobs."""

PLAIN_MACHINES: Final = "berth.dev/plain-machines"
"""Namespace annotation: `<local queue>/<label>=<value>` of machines without accelerators, of queues that have both."""
PLAIN_QUEUES: Final = "berth.dev/plain-queues"
"""Namespace annotation: the local queues without accelerators."""


class ExclusivePlan(Struct, frozen=True, kw_only=True):
    """A node label of domains that one job may have to itself, for pods with an accelerator (`resource`).

    With `selectors`, only on machines whose pods select the labels of one of them.
    """

    key: str
    resource: str
    selectors: tuple[Mapping[str, str], ...] = ()


class PoliciesPlan(Struct, frozen=True, kw_only=True):
    """The admission policies of one cluster; settings of a team are annotations of its namespaces.

    `job_kinds` maps API groups to the resources that Kueue queues (`batch` → `jobs`). `accelerators` are the resource
    names that only pods of such jobs may request. In `shared_namespaces`, which existed before, policies of jobs apply
    but those of pods and services do not. Kueue also queues services and pods in the namespaces `serving`; without any
    there is no policy for them. `limited_queues` are the local queues with queued machines, whose run durations are
    limited; `shared_run_limits` maps a shared namespace to its local queues and their limits, in seconds. With
    `elastic`, Kueue admits pods of a job that grows. `shared_queues` are the local queues of queues that several teams
    share; `ordered_queues` are those of them with a ceiling for each job. `audited` maps policies that only warn to the
    date until which they do. `exclusive` are the domains that a job may have to itself. `mixed_queues` are the local
    queues with and without accelerators. `csi_drivers` are those that the cluster has for pods of every team.
    """

    job_kinds: Mapping[str, tuple[str, ...]]
    accelerators: tuple[str, ...]
    shared_namespaces: tuple[str, ...] = ()
    serving: tuple[str, ...] = ()
    limited_queues: tuple[str, ...] = ()
    elastic: bool = False
    shared_queues: tuple[str, ...] = ()
    ordered_queues: tuple[str, ...] = ()
    exclusive: tuple[ExclusivePlan, ...] = ()
    mixed_queues: tuple[str, ...] = ()
    csi_drivers: tuple[str, ...] = ()
    audited: Mapping[str, str] = field(default_factory=dict[str, str])
    shared_run_limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
