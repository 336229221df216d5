"""Write the files for `pulumi import --file`: existing resources of the program with their IDs and parents.

Two files, for a resource is imported through the provider that the program gives it, and the provider of what is inside
the cluster needs the cluster's state. Forms of ids: the import sections of the providers' own documentation (Pulumi GCP
10.2, Pulumi Kubernetes 4.34), as `pulumi import --file` reads them (`component`, `logicalName`, `nameTable`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from berth.adopt.api_objects import ApiObject, Fate, Kept, NotAdopted, StackEntry, last_segment
from berth.adopt.google.import_ids import ImportIds
from berth.adopt.google.placement_policies import policy_of
from berth.adopt.google.registered_resource import RegisteredResource
from berth.adopt.inventory import ClusterInventory
from berth.plan.fleet import FleetPlan
from berth.text import abbreviate_names

GOOGLE, KUBERNETES = "google", "kubernetes"
"""The program's providers; each has a file."""


def import_files(
    registered: Sequence[RegisteredResource], inventory: ClusterInventory, plan: FleetPlan
) -> dict[str, StackEntry]:
    """Return provider → its import file; every existing resource that the program registers is in one."""
    known = {resource.urn: resource for resource in registered}
    import_ids = ImportIds(inventory, plan)
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
        one, many = _NOUNS.get(kind, (kind, kind))
        yield NotAdopted(f"{count} {one if count == 1 else many}", "in no answer", Fate.CREATED)


def unused_answers(
    inventory: ClusterInventory, imported: Mapping[str, StackEntry], told: Iterable[NotAdopted]
) -> Iterator[NotAdopted]:
    """Yield the answers of Google Cloud that are neither imported nor have a line, by kind: so that none is lost."""
    entries = [each for content in imported.values() for each in content["resources"] if "id" in each]
    named = {each.subject.rpartition(" ")[2] for each in told if " " in each.subject}
    for kind, answers in (
        ("Reservation", inventory.reservations),
        ("FutureReservation", inventory.future_reservations),
        ("Subnetwork", inventory.subnetworks),
        ("Firewall", inventory.firewalls),
        ("Service", [each for each in inventory.services if each["state"] == "ENABLED"]),
        ("Account", inventory.service_accounts),
        ("ResourcePolicy", inventory.placement_policies),
    ):
        known = named | {last_segment(str(each["id"])) for each in entries if each["type"].endswith(f":{kind}")}
        one, many = _NOUNS[kind]
        rest: dict[Kept, set[str]] = {}
        for each in answers:
            if (name := last_segment(str(each["name"]))) not in known:
                rest.setdefault(_why_unused(kind, each, inventory), set()).add(name)
        for why, names in sorted(rest.items()):
            noun = one if len(names) == 1 else f"{len(names)} {many}"
            yield NotAdopted(
                f"{noun} {abbreviate_names(sorted(names))}", _UNUSED_ANSWERS[why], kept=why, names=tuple(sorted(names))
            )


def _why_unused(kind: str, answer: ApiObject, inventory: ClusterInventory) -> Kept:
    """Return whose an answer is that no entry of the stack file stands for."""
    if kind == "ResourcePolicy":
        return Kept.EXISTING if str(answer["name"]) in map(policy_of, inventory.node_pools) else Kept.OTHERS
    network = last_segment(str(answer.get("network") or ""))
    if not network or not inventory.networks:
        return Kept.OTHERS
    if network not in inventory.networks:
        return Kept.NETWORK
    return Kept.OTHERS if inventory.manages_cluster else Kept.CLUSTER


_UNUSED_ANSWERS = {
    Kept.EXISTING: "pools use it by its name, and it stays as it is",
    Kept.OTHERS: "no entry of the stack file makes or changes it",
    Kept.NETWORK: "it is of a network that neither the cluster nor its nodes are in",
    Kept.CLUSTER: "it is of the cluster's network, which stays with the cluster's owner",
}
_NOUNS = {
    "Reservation": ("reservation", "reservations"),
    "FutureReservation": ("future reservation", "future reservations"),
    "Subnetwork": ("subnetwork", "subnetworks"),
    "Firewall": ("firewall rule", "firewall rules"),
    "ResourcePolicy": ("placement policy", "placement policies"),
    "Account": ("service account", "service accounts"),
    "AlertPolicy": ("alert policy", "alert policies"),
    "BucketIAMMember": ("role on a bucket", "roles on buckets"),
    "Dashboard": ("dashboard", "dashboards"),
    "IAMMember": ("role", "roles"),
    "NodePool": ("node pool", "node pools"),
    "SecretIamMember": ("role on a secret", "roles on secrets"),
    "Service": ("enabled API", "enabled APIs"),
}
"""What people call the kinds that often are in no answer."""


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
    # A component and its resource can have the same logical name.
    names = {
        resource.urn: f"{resource.type.rpartition(':')[2]}/{resource.name}"
        for resource in [*(known[urn] for urn in components), *provider_resources]
    }
    resources: list[StackEntry] = []
    for resource in [*(known[urn] for urn in components), *provider_resources]:
        entry: StackEntry = {"type": resource.type, "name": names[resource.urn], "logicalName": resource.name}
        entry |= {"id": ids[resource.urn]} if resource.urn not in components else {"component": True}
        # What the stack itself is the parent of has no parent in the file.
        entry |= {"parent": names[resource.parent]} if resource.parent in names else {}
        if resource.urn not in components:
            entry["provider"] = _provider_name(resource)
            entry |= {"version": resource.version} if resource.version else {}
        resources.append(entry)
    return {"nameTable": {_provider_name(each): each.provider for each in provider_resources}, "resources": resources}


def _ancestors(resource: RegisteredResource, known: Mapping[str, RegisteredResource]) -> Iterator[str]:
    while resource.parent is not None:
        yield resource.parent
        resource = known[resource.parent]
