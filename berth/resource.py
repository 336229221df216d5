"""The resources of a fleet as data: what people call each, and what the program registers for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, Final, TypeVar, cast

from msgspec import Struct, field

from berth.registration import Reference, Registration, provider_inputs

IN_WORKER: Final = "/"
"""Separates a worker's name from the key of a resource in it; other keys do not contain it."""


class ResourceKind(StrEnum):
    """A kind of cloud resource, as people call it."""

    ACCELERATOR_NETWORKS = "accelerator networks"
    """The networks of the accelerators of one machine type."""
    ACCESS = "access"
    """The roles of the owner group and of the teams in the project."""
    ALERT = "alert"
    """An alert policy of Cloud Monitoring."""
    ALERT_CONFIGURATION = "alert configuration"
    """The notification channels and labels that all alert policies have."""
    CHECKPOINTING = "checkpointing"
    """The right of multi-tier checkpointing to its bucket."""
    CLUSTER = "cluster"
    """A GKE or ACK cluster that this stack creates."""
    CONNECTION = "connection"
    """The connection to an existing cluster; another identifier means another cluster."""
    CONTROLLER = "controller"
    """A Helm chart."""
    DASHBOARD = "dashboard"
    """A dashboard of Cloud Monitoring."""
    FLEET = "ACK One fleet"
    """The ACK One fleet instance."""
    FUTURE_RESERVATION = "future reservation"
    """A future reservation request of Compute Engine."""
    MEMBERSHIP = "membership"
    """The membership of a cluster in the ACK One fleet."""
    NETWORK = "network"
    """The VPC network of the cluster."""
    NODE_IDENTITY = "node identity"
    """The service account of the nodes."""
    NODE_POOL = "node pool"
    """A node pool; a multi-host slice is one."""
    OBJECT = "object"
    """A Kubernetes object, named with its kind. Only guarded changes have this kind."""
    POOL = "pool"
    """A pool of the stack file: all its node pools. Only guarded changes have this kind."""
    PROTECTION = "protect"
    """The protection of the whole stack. Only guarded changes have this kind."""
    QUEUE = "queue"
    """A cluster queue with a guarantee. Only guarded changes have this kind."""
    RESERVATION = "reservation"
    """A reservation of Compute Engine."""
    SERVICE = "service"
    """An API of Google Cloud that is enabled in the project."""
    SYSTEM_POOL = "system pool"
    """The node pool of the controllers."""
    TEAM_IDENTITY = "team identity"
    """The identity of a team's workloads, and its roles."""
    WEBHOOK_FIREWALL = "webhook firewall"
    """The firewall rule by which the control plane reaches the webhooks of controllers."""
    WORKLOAD_POLICY = "workload policy"
    """A workload policy of Compute Engine, for node pools placed together."""


def resource_title(kind: ResourceKind, key: str) -> str:
    """Return the name shown to users: `reservation l4`, `cluster of worker east`, `network a on worker east`."""
    worker, slash, own_key = key.rpartition(IN_WORKER)
    if kind == ResourceKind.OBJECT:
        return key
    if kind == ResourceKind.CONNECTION:
        return f"connection to the existing cluster{slash and f' of worker {worker}'}"
    if own_key == kind:
        return f"{kind} of worker {worker}" if slash else kind
    return f"{kind} {own_key} on worker {worker}" if slash and kind != ResourceKind.POOL else f"{kind} {key}"


_Key = TypeVar("_Key")
_Fact = TypeVar("_Fact")


def merge_clusters(*facts: Mapping[_Key, _Fact]) -> dict[_Key, _Fact]:
    """Return facts of several clusters or resources by key. Raises ValueError for a key that two have."""
    merged: dict[_Key, _Fact] = {}
    for each in facts:
        if twice := merged.keys() & each.keys():
            raise ValueError(f"two clusters have facts of {sorted(map(str, twice))}")
        merged.update(each)
    return merged


class FleetResource(Struct, frozen=True):
    """A resource of the program, or the few of one component: (kind, key) are what people call it.

    `make` returns what is registered: one registration, several by role, or none. The plan and the references are its
    arguments, so that what is made of equal ones need not be made. The name in the program is `name`, a dash and the
    role; `role` is that of a single one. `added` are inputs that come from the provider of the resource. `pool` is the
    pool of a node pool. `home` is the cluster that it is in: what replaces the one replaces the other.
    """

    kind: ResourceKind
    key: str
    name: str
    make: partial[Registration] | partial[Registration | None] | partial[dict[str, Registration]]
    role: str = ""
    pool: str | None = None
    added: Mapping[str, object] = field(default_factory=dict[str, object])
    home: Reference | None = None

    def registrations(self) -> Mapping[str, Registration]:
        """Return what is registered, by role."""
        made = self.make()
        return {self.role: made} if isinstance(made, Registration) else made or {}

    def is_made_like(self, other: FleetResource) -> bool:
        """Return whether both have equal registrations, judged by what they are made of."""
        one, two = self.make, other.make
        return (one.func, one.args, one.keywords, self.added) == (two.func, two.args, two.keywords, other.added)

    def references(self) -> Iterator[Reference]:
        """Yield the references among the arguments of `make`, without making the registrations."""
        yield from _references((*self.make.args, *self.make.keywords.values()))

    def inputs(self, registration: Registration) -> tuple[dict[str, Any], dict[str, Reference]]:
        """Return the inputs of the provider, and the references in them by path without list indexes.

        A reference is replaced by its value or, if the plan does not know that, by what people call the resource.
        """
        found: dict[str, Reference] = {}
        inputs = _known_values(provider_inputs(registration.arguments), "", found)
        return {**self.added, **inputs}, found


def _references(values: object) -> Iterator[Reference]:
    if isinstance(values, Reference):
        yield values
    elif isinstance(values, (list, tuple)):
        for each in cast("tuple[object, ...]", values):
            yield from _references(each)


def _known_values(value: Any, path: str, found: dict[str, Reference]) -> Any:
    if isinstance(value, Reference):
        found[path] = value
        return resource_title(ResourceKind(value.kind), value.key) if value.value is None else value.value
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {key: _known_values(each, f"{path}.{key}" if path else key, found) for key, each in items}
    if isinstance(value, (list, tuple)):
        return [_known_values(each, path, found) for each in cast("list[Any]", value)]
    return value
