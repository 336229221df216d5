"""What Berth makes for a team: namespaces, identity, isolation, people, doors to its queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from berth.plan.gke import ServiceAccountPlan
from berth.plan.kueue import LocalQueuePlan

SECRETS: Final = "team-secrets"
"""Name of the SecretProviderClass in each of a team's namespaces: what a pod's volume names to mount its secrets."""


SERVICE_TYPES: Final = ("LoadBalancer", "NodePort", "ExternalIPs")
"""What a service may be besides reachable inside the cluster, where a team is allowed it."""


class NamespacePlan(Struct, frozen=True, kw_only=True):
    """A namespace; one that is not `owned` was there before and is left alone."""

    name: str
    owned: bool


class SecretPlan(Struct, frozen=True, kw_only=True):
    """A version (a number or `latest`) of a secret in Secret Manager, which pods see as the file `file`."""

    file: str
    project: str
    secret: str
    version: str


class IdentityPlan(Struct, frozen=True, kw_only=True):
    """Who a team's pods are.

    `service_account` is the Kubernetes account, one in each namespace; `members` are those as IAM names them, in the
    order of the namespaces, none where nothing is granted. `roles` (of the project), `buckets` (bucket → role) and
    `secrets` (to read) are given to the Google account that they impersonate, or without one to each of them directly.
    `granted` is False where another cluster of the same project sees to that: pods of one name are one to IAM.
    """

    service_account: str
    members: tuple[str, ...]
    impersonates: ServiceAccountPlan | None
    roles: tuple[str, ...]
    buckets: Mapping[str, str]
    secrets: tuple[SecretPlan, ...]
    granted: bool = True


class EgressPlan(Struct, frozen=True, kw_only=True):
    """TCP to these ports of a range of addresses; `besides` are ranges left out of it."""

    cidr: str
    ports: tuple[int, ...]
    besides: tuple[str, ...] = ()


class HostAccessPlan(Struct, frozen=True, kw_only=True):
    """What pods with accelerators may use of their node, beyond the Pod Security level `baseline`.

    `network_for` are the resource names whose pods may use the host's network. `paths` may be mounted and written to,
    `read_only_paths` mounted; `capabilities` may be added.
    """

    network_for: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    read_only_paths: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()


class ObjectLimitsPlan(Struct, frozen=True, kw_only=True):
    """The most that all pods of a namespace may request, and the most objects in it.

    `cpu` in milli, `memory` in bytes; `objects` maps names of ResourceQuota (`count/jobs.batch`, `pods`) to numbers.
    """

    cpu: int
    memory: int
    objects: Mapping[str, int]


class IsolationPlan(Struct, frozen=True, kw_only=True):
    """What the pods of an owned namespace are held to.

    `pod_security` is the level that is enforced, `pod_security_warning` the one that is warned of. `host_access` is
    what admission policies exempt from `baseline`; Pod Security Admission knows no exemption and is then off. `egress`
    None leaves the network open. `service_range` is where the cluster's DNS answers. `accelerators` maps each resource
    name to the most that pods may ask for at once, `limits` bounds everything else. `priorities` are the
    PriorityClasses that pods may have, `service_types` what services may be besides ClusterIP. `requests_cpu` (milli)
    and `requests_memory` (bytes) stand in for a container's own.
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


class TeamPlan(Struct, frozen=True, kw_only=True):
    """A team: its namespaces, its identity, its people and the doors to its queues.

    `state` is `active`, `held` (nothing more is admitted) or `drained` (nothing runs). `groups` are addresses of Google
    groups. `guaranteed` sums the nominal quota of the queues that are this team's alone; `ceiling` is the most that all
    its queues could use at once of the machines there are, borrowing included. Both map flavor name to accelerators.
    `labels` are on everything that is the team's. `formerly` is the name under which it was first made, where that is
    another.
    """

    name: str
    state: str
    namespaces: tuple[NamespacePlan, ...]
    isolation: IsolationPlan
    identity: IdentityPlan | None
    groups: tuple[str, ...]
    local_queues: tuple[LocalQueuePlan, ...]
    guaranteed: Mapping[str, int]
    ceiling: Mapping[str, int]
    labels: Mapping[str, str]
    formerly: str | None = None

    @property
    def key(self) -> str:
        """What names the team within the program, and never changes."""
        return self.formerly or self.name

    @property
    def namespace(self) -> str:
        """The first namespace, where its jobs run unless they say otherwise."""
        return self.namespaces[0].name

    def pod_priorities(self, namespace: str) -> tuple[str, ...] | None:
        """The PriorityClasses that pods may have in one of its namespaces; None where no policy restricts them."""
        owned = any(each.name == namespace and each.owned for each in self.namespaces)
        return self.isolation.priorities if owned else None


class AccessPlan(Struct, frozen=True, kw_only=True):
    """What people may do in the cluster. `owners` and `teams` are addresses of Google groups.

    `job_kinds` are the resources that teams submit, by API group (`batch` → `jobs`). `in_project` is False where
    another cluster of the same project lets them see clusters.
    """

    owners: tuple[str, ...]
    teams: tuple[str, ...]
    job_kinds: Mapping[str, tuple[str, ...]]
    in_project: bool = True
