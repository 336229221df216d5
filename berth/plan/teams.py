"""Resources of a team: namespaces, identity, isolation, access of people, local queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from berth.plan.capacity import CapacityBufferPlan, TimedGuarantee
from berth.plan.gke import ServiceAccountPlan
from berth.plan.kueue import ClaimTemplatePlan, ClusterQueuePlan, CohortPlan, FlavorPlan, LocalQueuePlan, PriorityPlan
from berth.plan.policies import DEFAULT_MAX_GRACE
from berth.spec.machines.bucket_mounts import BucketMountSpec as BucketMountSpec
from berth.spec.tenancy import TeamSettings

SECRETS: Final = "team-secrets"
"""Name of the SecretProviderClass in each namespace of a team, which volumes of pods refer to."""


READER_ROLES: Final = (
    "roles/storage.objectViewer",
    "roles/storage.legacyObjectReader",
    "roles/storage.legacyBucketReader",
)
"""Roles on a bucket that let pods only read."""

SERVICE_TYPES: Final = ("LoadBalancer", "NodePort", "ExternalIPs")
"""Service types besides ClusterIP, which a team must be granted."""


class SharedQueuePlan(Struct, frozen=True, kw_only=True):
    """A local queue of a queue that several teams share: what a job there may ask for.

    `priorities` are the priorities of its jobs. `ceilings` maps each accelerator's resource name, and `pods`, to the
    most that the queue can ever admit for the pods of one role; empty unless its head holds up the others (StrictFIFO).
    """

    name: str
    priorities: tuple[str, ...]
    ceilings: Mapping[str, int]


class NamespacePlan(Struct, frozen=True, kw_only=True):
    """A namespace; if it is not `owned`, it existed before and Berth does not manage it.

    With `serving`, Kueue queues Deployments, StatefulSets, LeaderWorkerSets and pods in it.
    `run_limits` maps local queues with queued machines to the longest run that they allow, in seconds.
    `shared_queues` are the local queues there that lead to a queue of several teams. `plain_machines` maps each local
    queue with and without accelerators to the labels (key, value) of its machines without; `plain_queues` are the local
    queues without. `formerly` is the home of a namespace that another team had, or that was at another place in the
    list of its team.
    """

    name: str
    owned: bool
    formerly: str | None = None
    serving: bool = False
    run_limits: Mapping[str, int] = field(default_factory=dict[str, int])
    shared_queues: tuple[SharedQueuePlan, ...] = ()
    plain_machines: Mapping[str, tuple[tuple[str, str], ...]] = field(
        default_factory=dict[str, tuple[tuple[str, str], ...]]
    )
    plain_queues: tuple[str, ...] = ()


class SecretPlan(Struct, frozen=True, kw_only=True):
    """A version (a number or `latest`) of a secret in Secret Manager, mounted as the file `file`."""

    file: str
    project: str
    secret: str
    version: str


class IdentityPlan(Struct, frozen=True, kw_only=True):
    """The identity of a team's pods in Google Cloud.

    `service_account` is the Kubernetes service account, one in each namespace; `members` are their IAM principals, in
    order of namespaces, empty without grants. `roles` (of the project), `buckets` (bucket → role) and `secrets` (to
    read) are granted to the Google service account that they impersonate, or without one to each of them directly.
    `granted` is False if another cluster of the same project already makes the grants: IAM does not distinguish the
    clusters. `api_token` is whether pods get a token for the Kubernetes API.
    """

    service_account: str
    members: tuple[str, ...]
    impersonates: ServiceAccountPlan | None
    roles: tuple[str, ...]
    buckets: Mapping[str, str]
    secrets: tuple[SecretPlan, ...]
    granted: bool = True
    api_token: bool = False


class EgressPlan(Struct, frozen=True, kw_only=True):
    """Allowed TCP connections to ports of a range of addresses, except the ranges in `besides`."""

    cidr: str
    ports: tuple[int, ...]
    besides: tuple[str, ...] = ()


class HostAccessPlan(Struct, frozen=True, kw_only=True):
    """Access of pods with accelerators to their node beyond the Pod Security level `baseline`.

    `network_for` are the resource names whose pods may use the host network. Pods may mount `paths` writable and
    `read_only_paths` read-only, and add `capabilities`.
    """

    network_for: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    read_only_paths: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()


class ObjectLimitsPlan(Struct, frozen=True, kw_only=True):
    """Limits of a namespace: total requests of its pods, and numbers of objects.

    `cpu` in milli, `memory` in bytes; `objects` maps names of ResourceQuota (`count/jobs.batch`, `pods`) to limits.
    """

    cpu: int
    memory: int
    objects: Mapping[str, int]


class IsolationPlan(Struct, frozen=True, kw_only=True):
    """Isolation of the pods in an owned namespace.

    `pod_security` is the enforced level, `pod_security_warning` the level below which the API server warns.
    `host_access` is what admission policies exempt from `baseline`; Pod Security Admission, which has no exemptions, is
    then off. `egress` None leaves the network open. `service_range` contains the address of the cluster's DNS.
    `accelerators` maps each resource name to the most that pods may request together, `limits` has all other limits.
    `priorities` are the PriorityClasses that pods may have, `service_types` the service types besides ClusterIP.
    `requests_cpu` (milli) and `requests_memory` (bytes) are the defaults of containers. `max_grace` is the longest
    grace period of pods in seconds; None if no other team can want the machines back.
    """

    pod_security: str
    pod_security_warning: str
    host_access: HostAccessPlan | None = None
    priorities: tuple[str, ...] = ()
    service_types: tuple[str, ...] = ()
    limits: ObjectLimitsPlan | None = None
    egress: tuple[EgressPlan, ...] | None
    service_range: str
    accelerators: Mapping[str, int]
    requests_cpu: int
    requests_memory: int
    max_grace: int | None = DEFAULT_MAX_GRACE


NO_TEAM_SETTINGS: Final = TeamSettings.model_construct()
"""Settings of a team for which a stack file writes none."""


class TeamPlan(Struct, frozen=True, kw_only=True):
    """A team: namespaces, identity, people and local queues.

    `settings` are keys of the stack file as they are. `groups` are addresses of Google
    groups. `guaranteed` sums the nominal quota of the team's own queues; `ceiling` is the most that all its queues can
    use together, including borrowing. Both map flavor → accelerators. `labels` are on all objects of the team.
    `formerly` is the name under which the team was created, if it was renamed. `claim_templates` are in each namespace.
    """

    name: str
    namespaces: tuple[NamespacePlan, ...]
    isolation: IsolationPlan
    identity: IdentityPlan | None
    groups: tuple[str, ...]
    local_queues: tuple[LocalQueuePlan, ...]
    guaranteed: Mapping[str, int]
    ceiling: Mapping[str, int]
    labels: Mapping[str, str]
    settings: TeamSettings = NO_TEAM_SETTINGS
    formerly: str | None = None
    claim_templates: tuple[ClaimTemplatePlan, ...] = ()
    buffers: tuple[CapacityBufferPlan, ...] = ()

    @property
    def key(self) -> str:
        """The team's name in the Pulumi program, which never changes."""
        return self.formerly or self.name

    @property
    def namespace(self) -> str:
        """The first namespace, the default of its jobs."""
        return self.namespaces[0].name

    def home(self, namespace: str) -> str:
        """Return what the program knows a namespace by, which never changes: the key of the team that had it first.

        That of a further namespace also has its name, so that adding another renames nothing.
        """
        formerly = next((each.formerly for each in self.namespaces if each.name == namespace), None)
        return formerly or (self.key if namespace == self.namespace else f"{self.key}/{namespace}")

    def resource_suffix(self, namespace: str) -> str:
        """Return the end of names of what belongs to the team and is made for one of its namespaces."""
        team, slash, rest = self.home(namespace).partition("/")
        return f"{slash}{rest}" if team == self.key else f"/{namespace}"

    def pod_priorities(self, namespace: str) -> tuple[str, ...] | None:
        """Return the PriorityClasses that pods may have in one of its namespaces; None if no policy restricts them."""
        owned = any(each.name == namespace and each.owned for each in self.namespaces)
        return self.isolation.priorities if owned else None


class AccessPlan(Struct, frozen=True, kw_only=True):
    """Access of people to the cluster. `owners` and `teams` are addresses of Google groups.

    `job_kinds` maps API groups to the resources that teams submit (`batch` → `jobs`). `in_project` is False if another
    cluster of the same project already grants the permission to view clusters. `serving` adds a role for services,
    which teams have in their namespaces with serving.
    """

    owners: tuple[str, ...]
    teams: tuple[str, ...]
    job_kinds: Mapping[str, tuple[str, ...]]
    in_project: bool = True
    serving: bool = False


class QueueingPlan(Struct, frozen=True, kw_only=True):
    """The teams of a fleet and what they share, which every plan of a fleet has, wherever its machines are.

    `flavors` are the kinds of machines that queues have quota of, `cluster_queues` the queues of teams and shared ones,
    `cohorts` the groups of queues that share idle quota, and `calendar` has guarantees that hold at some times only.
    """

    stack: str
    flavors: tuple[FlavorPlan, ...]
    priorities: tuple[PriorityPlan, ...]
    cohorts: tuple[CohortPlan, ...]
    cluster_queues: tuple[ClusterQueuePlan, ...]
    teams: tuple[TeamPlan, ...]
    calendar: tuple[TimedGuarantee, ...] = ()
