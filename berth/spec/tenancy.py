"""Schema of a team besides its queues: namespaces, identity, people, network policy."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, cast

from pydantic_core import CoreSchema, core_schema

from berth.diagnostics import format_value
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
    unique_items,
    validation_fault,
    wrong_type,
)
from berth.spec.cluster import Cidr
from berth.spec.core import AfterValidator, BeforeValidator, SchemaBuilder
from berth.spec.model import Field


class _NotAddress:
    """Metadata of the ID of a Google service account that Berth creates; the address of an account is not one."""

    def check(self, value: Any) -> Any:
        """Return the value; raise a fault if it is the address of an account."""
        if isinstance(value, str) and value.endswith(".gserviceaccount.com"):
            message = (
                f"'{format_value(value)}' is the address of an account, but Berth creates the account that pods "
                "impersonate; write the ID of a new one, or remove impersonate, and the pods get the grants themselves"
            )
            raise validation_fault("bad-value", message)
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
BucketName = Annotated[
    str,
    Text(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]", "a bucket's name: lower-case letters, digits, '-', '_' and '.'"),
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


class NamespaceSpec(Model):
    """A namespace of a team; Berth does not change an `existing` one. A shared namespace needs a reason.

    With `serving`, Kueue queues Deployments, StatefulSets, LeaderWorkerSets and pods of the namespace.
    """

    name: DnsLabel | None = None
    existing: bool = False
    serving: bool = False
    accept_shared_namespace: NonEmptyText | None = None


def _parse_namespace(value: Any) -> Any:
    if isinstance(value, dict | NamespaceSpec):
        return cast("object", value)
    if not isinstance(value, str):
        raise wrong_type(value, "write its name, or {name: <name>, existing: true}")
    return {"name": value}


NamespaceField = Annotated[NamespaceSpec, BeforeValidator(_parse_namespace, json_schema_input_type=str | NamespaceSpec)]


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
    """Reference to a secret in Secret Manager, by default in the fleet's project."""

    secret: SecretId
    version: SecretVersion = "latest"
    project: ProjectId | None = None


def _parse_secret(value: Any) -> Any:
    if isinstance(value, dict | SecretSpec):
        return cast("object", value)
    if not isinstance(value, str):
        raise wrong_type(value, "write a secret's name, or {secret: <name>, version: <version>}")
    return {"secret": value}


SecretField = Annotated[SecretSpec, BeforeValidator(_parse_secret, json_schema_input_type=str | SecretSpec)]


class IdentitySpec(Model):
    """The identity of the team's pods in Google Cloud, and its roles, held directly or by a service account."""

    service_account: DnsLabel | None = None
    automount_service_account_token: bool = False
    impersonate: AccountId | None = None
    roles: Sequence[Role] = ()
    accept_roles: Section[Role, NonEmptyText] = Field(default_factory=dict)
    buckets: Section[BucketName, BucketRole] = Field(default_factory=dict)
    secrets: Section[FileName, SecretField] = Field(default_factory=dict)


class EgressSpec(Model):
    """A range of addresses to which the team's pods may open TCP connections."""

    cidr_block: Cidr
    ports: Sequence[Port] = Field(min_length=1)


class NetworkPolicySpec(Model):
    """Egress of pods besides each other, DNS and the metadata server; `internet` is HTTPS to all public addresses."""

    enabled: bool = True
    internet: bool = True
    egress: Sequence[EgressSpec] = ()


class DefaultRequestsSpec(Model):
    """Default cpu and memory requests of containers."""

    cpu: MilliCpu = Field(default=100, json_schema_extra={"default": "100m"})
    memory: Bytes = Field(default=128 * 2**20, json_schema_extra={"default": "128Mi"})


class TenancySpec(Model):
    """Namespaces, people and limits of a team."""

    state: Literal["active", "held", "drained"] = "active"
    namespace: NamespaceField = default_field(NamespaceSpec)
    namespaces: Sequence[NamespaceField] = ()
    labels: Section[CostLabelKey, CostLabelValue] = Field(default_factory=dict)
    groups: Groups = ()
    identity: IdentitySpec | None = None
    pod_security: Literal["restricted", "baseline", "privileged"] | None = None
    pod_priorities: Annotated[Sequence[DnsName], AfterValidator(unique_items)] = ()
    service_types: Annotated[
        Sequence[Literal["LoadBalancer", "NodePort", "ExternalIPs"]], AfterValidator(unique_items)
    ] = ()
    network_policy: Entry[NetworkPolicySpec] = default_field(NetworkPolicySpec)
    default_requests: Entry[DefaultRequestsSpec] = default_field(DefaultRequestsSpec)
    default_queue: str | None = None


class PlatformSpec(Model):
    """Owners of the fleet; `domain` is the domain of all groups, required if groups have several."""

    owners: Groups = ()
    domain: Domain | None = None
