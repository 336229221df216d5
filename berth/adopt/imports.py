"""Write the files for `pulumi import --file`: existing resources of the program with their IDs and parents.

Two files, for a resource is imported through the provider that the program gives it, and the provider of what is inside
the cluster needs the cluster's state. Forms of ids: the import sections of the providers' own documentation (Pulumi GCP
10.2, Pulumi Kubernetes 4.34), as `pulumi import --file` reads them (`component`, `logicalName`, `nameTable`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from berth.adopt.inventory import ClusterInventory, NotAdopted, StackEntry, mapping_at, name_of, namespace_of, value_at
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan

GOOGLE, KUBERNETES = "google", "kubernetes"
"""The program's providers; each has a file."""

_HELM = "kubernetes:helm.sh/v3:Release"


class RegisteredResource(Protocol):
    """A resource as the program registers it."""

    @property
    def urn(self) -> str:
        """Its URN."""
        ...

    @property
    def type(self) -> str:
        """Its type token."""
        ...

    @property
    def name(self) -> str:
        """Its logical name."""
        ...

    @property
    def parent(self) -> str | None:
        """The URN of its parent, None for the stack itself."""
        ...

    @property
    def custom(self) -> bool:
        """Whether a provider creates it; otherwise it is a component."""
        ...

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Its inputs, with the provider's names."""
        ...

    @property
    def provider(self) -> str | None:
        """The URN of its provider."""
        ...

    @property
    def version(self) -> str | None:
        """The version of the provider's plugin."""
        ...


def import_files(
    registered: Sequence[RegisteredResource], inventory: ClusterInventory, plan: FleetPlan
) -> dict[str, StackEntry]:
    """Return provider → its import file; every existing resource that the program registers is in one."""
    known = {resource.urn: resource for resource in registered}
    import_ids = _ImportIds(inventory, plan)
    ids = {
        resource.urn: identity
        for resource in registered
        if resource.custom and (identity := import_ids.import_id(resource)) is not None
    }
    return {
        provider: _import_file([known[urn] for urn in ids if _provider_name(known[urn]) == provider], known, ids)
        for provider in ((KUBERNETES,) if inventory.context else (GOOGLE, KUBERNETES))
    }


def not_imported(registered: Sequence[RegisteredResource], imported: Mapping[str, StackEntry]) -> Iterator[NotAdopted]:
    """Yield the resources in Google Cloud that the program creates and that no answer contains, by kind."""
    imported_names = {(e["type"], e["logicalName"]) for content in imported.values() for e in content["resources"]}
    rest = [o for o in registered if o.type.startswith("gcp:") and o.custom and (o.type, o.name) not in imported_names]
    for kind, count in sorted(Counter(resource.type.rpartition(":")[2] for resource in rest).items()):
        yield NotAdopted(f"{kind} ({count})", "is in no answer: the first `pulumi up` creates it")


def _provider_name(resource: RegisteredResource) -> str:
    """Return the name of its provider; default providers are not ours."""
    return (resource.provider or "").rpartition("::")[2]


def _import_file(
    provider_resources: Sequence[RegisteredResource], known: Mapping[str, RegisteredResource], ids: Mapping[str, str]
) -> StackEntry:
    """Return components first, then their children; providers by URN, because the program creates them."""
    components = dict.fromkeys(
        ancestor
        for resource in provider_resources
        for ancestor in reversed([*_ancestors(resource, known)])
        if known[ancestor].type != "pulumi:pulumi:Stack"
    )
    names = _name_table([*(known[urn] for urn in components), *provider_resources])
    providers = {_provider_name(resource): resource.provider for resource in provider_resources}
    resources = [
        *(_component_entry(known[urn], names) for urn in components),
        *(_resource_entry(resource, names, ids[resource.urn]) for resource in provider_resources),
    ]
    return {"nameTable": providers, "resources": resources}


def _ancestors(resource: RegisteredResource, known: Mapping[str, RegisteredResource]) -> Iterator[str]:
    while resource.parent is not None:
        yield resource.parent
        resource = known[resource.parent]


def _name_table(resources: Iterable[RegisteredResource]) -> dict[str, str]:
    """Return the names within the file: a component and its resource can have the same logical name."""
    return {resource.urn: f"{resource.type.rpartition(':')[2]}/{resource.name}" for resource in resources}


def _component_entry(resource: RegisteredResource, names: Mapping[str, str]) -> StackEntry:
    entry = {"type": resource.type, "name": names[resource.urn], "logicalName": resource.name, "component": True}
    return entry | _parent_entry(resource, names)


def _resource_entry(resource: RegisteredResource, names: Mapping[str, str], identity: str) -> StackEntry:
    entry = {"type": resource.type, "name": names[resource.urn], "logicalName": resource.name, "id": identity}
    entry |= _parent_entry(resource, names)
    return entry | {"provider": _provider_name(resource)} | ({"version": resource.version} if resource.version else {})


def _parent_entry(resource: RegisteredResource, names: Mapping[str, str]) -> StackEntry:
    """Return nothing if the parent is the stack itself."""
    return {"parent": names[resource.parent]} if resource.parent is not None and resource.parent in names else {}


class _ImportIds:
    """An existing resource, and its ID for the provider."""

    def __init__(self, inventory: ClusterInventory, plan: FleetPlan) -> None:
        self.project, self.region, self.location = inventory.project, inventory.region, inventory.location
        self.cluster = str(inventory.cluster["name"])
        self.pools = {str(answer["name"]) for answer in inventory.node_pools}
        self.reservations = {str(answer["name"]) for answer in inventory.reservations}
        self.accounts = {value_at(answer, "config.serviceAccount") for answer in inventory.node_pools}
        self.accounts |= {
            value_at(o["metadata"], "annotations.iam.gke.io/gcp-service-account") for o in inventory.objects
        }
        self.objects = {(str(o["kind"]), namespace_of(o), name_of(o)) for o in inventory.objects}
        planned_cluster = plan.cluster
        owns_network = isinstance(planned_cluster, ClusterPlan) and isinstance(planned_cluster.network, NetworkPlan)
        self.of_network = {str(answer["name"]) for answer in inventory.subnetworks} if owns_network else set[str]()
        self.releases = {c.name: f"{c.namespace}/{c.name}" for c in plan.charts}

    def import_id(self, resource: RegisteredResource) -> str | None:
        """Return the ID to import; None if the resource does not exist, or no answer shows that it does."""
        if resource.type == _HELM:
            return self.releases.get(str(resource.inputs.get("name")))
        if resource.type.startswith("kubernetes:"):
            return self._object_id(resource)
        return self._google_id(resource.type.removeprefix("gcp:"), resource.inputs)

    def _object_id(self, resource: RegisteredResource) -> str | None:
        metadata = mapping_at(resource.inputs, "metadata")
        kind, namespace, name = (
            resource.type.rpartition(":")[2],
            str(metadata.get("namespace", "")),
            str(metadata.get("name")),
        )
        if (kind, namespace, name) not in self.objects:
            return None
        return f"{namespace}/{name}" if namespace else name

    def _google_id(self, kind: str, inputs: Mapping[str, Any]) -> str | None:
        name, zone = str(inputs.get("name")), inputs.get("zone")
        account = f"{inputs.get('accountId')}@{self.project}.iam.gserviceaccount.com"
        router = inputs.get("router") or name
        import_forms: dict[str, tuple[bool, str]] = {
            "container/cluster:Cluster": (
                name == self.cluster,
                f"projects/{self.project}/locations/{self.region}/clusters/{name}",
            ),
            "container/nodePool:NodePool": (
                name in self.pools,
                f"{self.project}/{self.location}/{self.cluster}/{name}",
            ),
            "compute/reservation:Reservation": (
                name in self.reservations,
                f"projects/{self.project}/zones/{zone}/reservations/{name}",
            ),
            "compute/network:Network": (
                name in self.of_network,
                f"projects/{self.project}/global/networks/{name}",
            ),
            "compute/subnetwork:Subnetwork": (
                name in self.of_network,
                f"projects/{self.project}/regions/{self.region}/subnetworks/{name}",
            ),
            "compute/router:Router": (
                name in self.of_network,
                f"projects/{self.project}/regions/{self.region}/routers/{name}",
            ),
            "compute/routerNat:RouterNat": (
                name in self.of_network,
                f"projects/{self.project}/regions/{self.region}/routers/{router}/{name}",
            ),
            "serviceaccount/account:Account": (
                account in self.accounts,
                f"projects/{self.project}/serviceAccounts/{account}",
            ),
        }
        exists, identity = import_forms.get(kind, (False, ""))
        return identity if exists else None
