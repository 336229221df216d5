"""Schema of a team besides its queues: namespaces, identity, people, network policy."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic_core import CoreSchema, core_schema

from berth.diagnostics import format_value
from berth.spec.admission.policies import GracePeriod, PolicyName, PolicySpec, VolumeType
from berth.spec.amounts import Bytes, MilliCpu
from berth.spec.base import (
    DnsLabel,
    DnsName,
    Entry,
    Model,
    NonEmptyText,
    ProjectId,
    Section,
    Sequence,
    Text,
    default_field,
    short_form,
    unique_items,
    validation_fault,
)
from berth.spec.cluster import Cidr
from berth.spec.core import AfterValidator, SchemaBuilder
from berth.spec.machines.bucket_mounts import BucketMountSpec, BucketName
from berth.spec.model import Field


class _NotAddress:
    """Metadata of the ID of a Google service account that Berth creates; the address of an account is not one."""

    def check(self, value: Any) -> Any:
        """Return the value; raise a fault if it is the address of an account."""
        if isinstance(value, str) and value.endswith(".gserviceaccount.com"):
            raise validation_fault(
                "bad-value",
                f"'{format_value(value)}' is the address of an account, but Berth creates the account that pods "
                "impersonate; write the ID of a new one, or remove impersonate, and the pods get the grants themselves",
            )
        return value

    def apply(self, inner: SchemaBuilder) -> CoreSchema:
        """Check the value before its form; the JSON Schema remains that of the text."""
        return core_schema.no_info_before_validator_function(self.check, inner())


AccountId = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{4,28}[a-z0-9])",
        "a service account ID: 6 to 30 lower-case letters, digits and '-', starting with a letter",
    ),
    _NotAddress(),
]
Role = Annotated[
    str,
    Text(
        r"(roles|projects/[^/]+/roles|organizations/[^/]+/roles)/[A-Za-z0-9_.]+",
        "a role such as roles/storage.objectViewer",
    ),
]
BucketRole = Annotated[
    str,
    Text(
        r"(roles/storage\.|projects/[^/]+/roles/|organizations/[^/]+/roles/)[A-Za-z0-9_.]+",
        "a role on a bucket such as roles/storage.objectUser",
    ),
]
FileName = Annotated[
    str, Text(r"(?!\.\.?$)[A-Za-z0-9._-]{1,253}", "a file's name: letters, digits, '-', '_' and '.', no folders")
]
SecretVersion = Annotated[str, Text(r"latest|[1-9][0-9]*", 'a version such as latest or "3"')]
Group = Annotated[
    str,
    Text(
        r"[a-z0-9][a-z0-9._-]*@[a-z0-9-]+(\.[a-z0-9-]+)+",
        "a group's address in lower case, such as vision@acme.example",
    ),
]
Groups = Annotated[Sequence[Group], AfterValidator(unique_items)]
Domain = Annotated[str, Text(r"[a-z0-9-]+(\.[a-z0-9-]+)+", "a domain such as acme.example")]
ANNOTATION_KEY = Text(
    r"(?!([a-z0-9.-]+[.-])?(kubernetes\.io|k8s\.io|google\.com|gke\.io|pulumi\.com|berth\.dev)/)"
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?",
    "an annotation key such as example.com/owner, outside the domains of Kubernetes, Google, Pulumi and Berth",
)
AnnotationKey = Annotated[str, ANNOTATION_KEY]
CostLabelKey = Annotated[
    str,
    Text(
        r"[a-z]([a-z0-9_-]{0,61}[a-z0-9])?",
        "a label key: lower-case letters, digits, '-' and '_', starting with a letter and ending with a letter or "
        "digit, at most 63 characters",
    ),
]
CostLabelValue = Annotated[
    str,
    Text(
        r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?",
        "a label value: lower-case letters, digits, '-' and '_', starting and ending with a letter or digit, 1 to 63 "
        "characters",
    ),
]
Port = Annotated[int, Field(ge=1, le=65535)]

_TOKENS: Final = re.compile(r"(hf|gh[pousr]|github_pat|glpat|xox[abp]|sk)[-_].{16,}|AIza.{30,}|eyJ.{30,}")
"""Prefixes of tokens of well-known issuers."""


FormerNamespace = Annotated[
    str,
    Text(
        r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(/[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?",
        "the key of a team, such as vision, or one with the name of a namespace, such as vision/models",
    ),
]


class NamespaceSpec(Model):
    """A namespace of a team."""

    name: DnsLabel | None = None
    """Name of the namespace. By default the name of the team."""
    existing: bool = False
    """The namespace exists already, and Berth does not manage it."""
    serving: bool = False
    """Let Kueue also queue Deployments, StatefulSets, LeaderWorkerSets and pods here (docs/serving.md)."""
    formerly: FormerNamespace | None = None
    """What keeps the namespace when it goes to another team, or to another place in the list: the key of the team that
    had it, with a slash and the name if it was not the first, as `berth diff` prints it: `vision/models`."""
    accept_shared_namespace: NonEmptyText | None = None
    """The reason for a namespace that holds controllers or pods of others: `default`, `cert-manager`, `monitoring`,
    `gke-*`, `config-*`, `cnrm-*`, `istio-*`, `*-system`."""


NamespaceField = Annotated[
    NamespaceSpec, short_form(NamespaceSpec, "name", str, "write its name, or {name: <name>, existing: true}")
]


def check_no_token(value: str) -> str:
    """Return the text; raise a fault if it has the prefix of a well-known kind of token."""
    if _TOKENS.fullmatch(value):
        message = f"'{value[:4]}…' looks like a token; store it in Secret Manager and write the secret's name"
        raise validation_fault("secret-by-value", message)
    return value


SecretId = Annotated[
    str,
    AfterValidator(check_no_token),
    Text(r"[A-Za-z0-9_-]{1,255}", "a secret's name in Secret Manager: letters, digits, '-' and '_'"),
]


class SecretSpec(Model):
    """A reference to a secret in Secret Manager."""

    secret: SecretId
    """Name of the secret."""
    version: SecretVersion = "latest"
    """Version of the secret."""
    project: ProjectId | None = None
    """Project of the secret. By default the fleet's."""


SecretField = Annotated[
    SecretSpec,
    short_form(SecretSpec, "secret", str, "write a secret's name, or {secret: <name>, version: <version>}"),
]


class IdentitySpec(Model):
    """Identity of a team's pods in Google Cloud."""

    service_account: DnsLabel | None = None
    """Kubernetes service account of the pods. By default the team's name."""
    automount_service_account_token: bool = False
    """Give pods a token for the Kubernetes API."""
    impersonate: AccountId | None = None
    """ID of a Google service account that gets the grants. Without it the pods get them directly."""
    roles: Sequence[Role] = ()
    """Roles of the project."""
    accept_roles: Section[Role, NonEmptyText] = Field(default_factory=dict)
    """Reasons for roles that grant permissions or keys, by role."""
    buckets: Section[BucketName, BucketRole] = Field(default_factory=dict)
    """Roles by bucket."""
    secrets: Section[FileName, SecretField] = Field(default_factory=dict)
    """Secrets in Secret Manager by file: a name, or a mapping; never a value."""


class EgressSpec(Model):
    """An address range to which pods may open TCP connections."""

    cidr_block: Cidr
    """The address range."""
    ports: Sequence[Port] = Field(min_length=1)
    """TCP ports."""


class NetworkPolicySpec(Model):
    """What pods may reach besides each other, DNS and the metadata server."""

    enabled: bool = True
    """Create network policies."""
    internet: bool = True
    """Allow HTTPS to all public addresses. With `false` only to Google's private addresses."""
    egress: Sequence[EgressSpec] = ()
    """Further address ranges that pods may reach."""


class DefaultRequestsSpec(Model):
    """Requests of containers that have none."""

    cpu: MilliCpu = Field(default=100, json_schema_extra={"default": "100m"})
    """Cores that a container requests, such as `1` or `"100m"`."""
    memory: Bytes = Field(default=128 * 2**20, json_schema_extra={"default": "128Mi"})
    """Memory that a container requests, such as `128Mi`."""


class TeamSettings(Model):
    """Settings of a team. The plan keeps them as they are."""

    state: Literal["active", "held", "drained"] = "active"
    """State of the team's queues: `held` admits no new job, `drained` also evicts running jobs. It sets their
    `stopPolicy`."""
    annotations: Section[AnnotationKey, str] = Field(default_factory=dict)
    """Annotations of the namespaces that Berth creates for the team, such as an owner for other tools. Not those of
    Kubernetes, Google, Pulumi and Berth, which grant rights."""
    max_grace_period: GracePeriod | None = Field(default=None, json_schema_extra={"default": "10m"})
    """The longest grace period of pods on machines that another team can want back, from `30s` to `1h`. For so long a
    job that lost its quota may keep the machines (docs/tenancy.md#grace-periods)."""
    volume_types: Section[VolumeType, NonEmptyText] = Field(default_factory=dict)
    """Inline volume types (`nfs`) and CSI drivers that pods may mount besides the allowed ones, each with a reason: the
    node mounts them beside the network policy (docs/tenancy.md#admission-policies)."""
    bucket_mounts: Section[DnsLabel, BucketMountSpec] = Field(default_factory=dict)
    """Buckets that `berth workload` mounts in the team's jobs, by name (docs/checkpointing.md#caches)."""


class TenancySpec(TeamSettings):
    """Namespaces, people and limits of a team."""

    namespace: NamespaceField = default_field(NamespaceSpec)
    """Namespace of the team: a name, or a mapping. By default the team's name."""
    namespaces: Sequence[NamespaceField] = ()
    """Several namespaces instead of one. Jobs run in the first unless they name another."""
    labels: Section[CostLabelKey, CostLabelValue] = Field(default_factory=dict)
    """Labels of all objects of the team, for cost allocation."""
    groups: Groups = ()
    """Google groups whose members submit and watch the team's jobs."""
    identity: IdentitySpec | None = None
    """Identity of the team's pods in Google Cloud."""
    pod_security: Literal["restricted", "baseline", "privileged"] | None = None
    """Pod Security level: `restricted`, `baseline` or `privileged`, which gives access to every node of the cluster. A
    written level has no exemptions. By default `baseline`, with exemptions for what jobs on the team's machines need of
    their nodes (docs/tenancy.md#pod-security)."""
    pod_priorities: Annotated[Sequence[DnsName], AfterValidator(unique_items)] = ()
    """Additional priorities that pods may have as their PriorityClass, besides those of the team's queues and the
    default. The only team of a fleet may use all."""
    service_types: Annotated[
        Sequence[Literal["LoadBalancer", "NodePort", "ExternalIPs"]], AfterValidator(unique_items)
    ] = ()
    """Allowed service types besides `ClusterIP`."""
    network_policy: Entry[NetworkPolicySpec] = default_field(NetworkPolicySpec)
    """What pods may reach."""
    default_requests: Entry[DefaultRequestsSpec] = default_field(DefaultRequestsSpec)
    """Requests of containers that have none."""
    default_queue: str | None = None
    """The queue of jobs without a queue label. Without it Kueue holds them."""


class PlatformSpec(Model):
    """The owners of the fleet."""

    owners: Groups = ()
    """Google groups that manage queues, namespaces and limits of every team."""
    domain: Domain | None = None
    """Domain of the `gke-security-groups` group, which contains all groups; required if they have several domains. By
    default that of the groups."""
    policies: Section[PolicyName, Entry[PolicySpec]] = Field(default_factory=dict)
    """Admission policies that do not refuse yet (docs/tenancy.md#admission-policies), by name: `deletion`, `workloads`,
    `grace`, `reserved`, `affinity`, `growth`, `volumes` or `queues`."""
