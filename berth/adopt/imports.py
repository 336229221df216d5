"""The files for `pulumi import --file`: what the program registers and what is there already, with ids and parents.

Two files, for a resource is imported through the provider that the program gives it, and the provider of what is inside
the cluster needs the cluster's state. Forms of ids: the import sections of the providers' own documentation (Pulumi GCP
10.2, Pulumi Kubernetes 4.34), as `pulumi import --file` reads them (`component`, `logicalName`, `nameTable`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from berth.adopt.inventory import Entry, Found, Left, at, name_of, namespace_of, part
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan

GOOGLE, KUBERNETES = "google", "kubernetes"
"""The program's providers; each has a file."""

_HELM = "kubernetes:helm.sh/v3:Release"


class Registered(Protocol):
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
        """Whether a provider makes it; else it is a component."""
        ...

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the program says of it, in the provider's names."""
        ...

    @property
    def provider(self) -> str | None:
        """The URN of its provider."""
        ...

    @property
    def version(self) -> str | None:
        """The version of the provider's plugin."""
        ...


def files(registered: Sequence[Registered], found: Found, plan: FleetPlan) -> dict[str, Entry]:
    """Provider → its import file; of what was found nothing is left out that the program knows."""
    known = {one.urn: one for one in registered}
    here = _Here(found, plan)
    ids = {one.urn: identity for one in registered if one.custom and (identity := here.identity(one)) is not None}
    return {
        provider: _file([known[urn] for urn in ids if _provider(known[urn]) == provider], known, ids)
        for provider in ((KUBERNETES,) if found.context else (GOOGLE, KUBERNETES))
    }


def unknown(registered: Sequence[Registered], imported: Mapping[str, Entry]) -> Iterator[Left]:
    """What the program makes in Google Cloud and no answer speaks of, by kind."""
    named = {(e["type"], e["logicalName"]) for content in imported.values() for e in content["resources"]}
    rest = [o for o in registered if o.type.startswith("gcp:") and o.custom and (o.type, o.name) not in named]
    for kind, count in sorted(Counter(one.type.rpartition(":")[2] for one in rest).items()):
        yield Left(f"{kind} ({count})", "stands in no answer: the first `pulumi up` makes it")


def _provider(one: Registered) -> str:
    """The name of its provider; the default one's is none of ours."""
    return (one.provider or "").rpartition("::")[2]


def _file(of_one: Sequence[Registered], known: Mapping[str, Registered], ids: Mapping[str, str]) -> Entry:
    """Components first, then what is in them; providers by URN, for they are made by the program."""
    components = dict.fromkeys(
        above
        for one in of_one
        for above in reversed([*_above(one, known)])
        if known[above].type != "pulumi:pulumi:Stack"
    )
    names = _names([*(known[urn] for urn in components), *of_one])
    providers = {_provider(one): one.provider for one in of_one}
    resources = [
        *(_component(known[urn], names) for urn in components),
        *(_resource(one, names, ids[one.urn]) for one in of_one),
    ]
    return {"nameTable": providers, "resources": resources}


def _above(one: Registered, known: Mapping[str, Registered]) -> Iterator[str]:
    while one.parent is not None:
        yield one.parent
        one = known[one.parent]


def _names(resources: Iterable[Registered]) -> dict[str, str]:
    """What each is called within the file: a component and its resource may have one logical name."""
    return {one.urn: f"{one.type.rpartition(':')[2]}/{one.name}" for one in resources}


def _component(one: Registered, names: Mapping[str, str]) -> Entry:
    entry = {"type": one.type, "name": names[one.urn], "logicalName": one.name, "component": True}
    return entry | _parent(one, names)


def _resource(one: Registered, names: Mapping[str, str], identity: str) -> Entry:
    entry = {"type": one.type, "name": names[one.urn], "logicalName": one.name, "id": identity}
    entry |= _parent(one, names)
    return entry | {"provider": _provider(one)} | ({"version": one.version} if one.version else {})


def _parent(one: Registered, names: Mapping[str, str]) -> Entry:
    """Nothing where that is the stack itself."""
    return {"parent": names[one.parent]} if one.parent is not None and one.parent in names else {}


class _Here:
    """What is there, and how the provider knows it."""

    def __init__(self, found: Found, plan: FleetPlan) -> None:
        self.project, self.region = found.project, found.region
        self.cluster = str(found.cluster["name"])
        self.pools = {str(one["name"]) for one in found.node_pools}
        self.reservations = {str(one["name"]) for one in found.reservations}
        self.accounts = {at(one, "config.serviceAccount") for one in found.node_pools}
        self.accounts |= {at(o["metadata"], "annotations.iam.gke.io/gcp-service-account") for o in found.objects}
        self.objects = {(str(o["kind"]), namespace_of(o), name_of(o)) for o in found.objects}
        home = plan.cluster
        own = isinstance(home, ClusterPlan) and isinstance(home.network, NetworkPlan)
        self.of_network = {str(one["name"]) for one in found.subnetworks} if own else set[str]()
        self.releases = {c.name: f"{c.namespace}/{c.name}" for c in plan.charts}

    def identity(self, one: Registered) -> str | None:
        """The id to import; None of what is not there, or of which nothing says so."""
        if one.type == _HELM:
            return self.releases.get(str(one.inputs.get("name")))
        if one.type.startswith("kubernetes:"):
            return self._object(one)
        return self._of_google(one.type.removeprefix("gcp:"), one.inputs)

    def _object(self, one: Registered) -> str | None:
        metadata = part(one.inputs, "metadata")
        kind, place, name = one.type.rpartition(":")[2], str(metadata.get("namespace", "")), str(metadata.get("name"))
        if (kind, place, name) not in self.objects:
            return None
        return f"{place}/{name}" if place else name

    def _of_google(self, kind: str, inputs: Mapping[str, Any]) -> str | None:
        name, zone = str(inputs.get("name")), inputs.get("zone")
        account = f"{inputs.get('accountId')}@{self.project}.iam.gserviceaccount.com"
        router = inputs.get("router") or name
        forms: dict[str, tuple[bool, str]] = {
            "container/cluster:Cluster": (
                name == self.cluster,
                f"projects/{self.project}/locations/{self.region}/clusters/{name}",
            ),
            "container/nodePool:NodePool": (
                name in self.pools,
                f"{self.project}/{self.region}/{self.cluster}/{name}",
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
        there, identity = forms.get(kind, (False, ""))
        return identity if there else None
