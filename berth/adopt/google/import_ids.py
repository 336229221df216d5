"""The ID of every existing resource for `pulumi import`, as the providers' documentation spells it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from berth.adopt.api_objects import last_segment, mapping_at, name_of, namespace_of, value_at
from berth.adopt.google.iam_policies import ACCOUNT, BUCKET, PROJECT, SECRET, Grant
from berth.adopt.google.monitoring import monitoring_id
from berth.adopt.google.registered_resource import RegisteredResource
from berth.adopt.inventory import ClusterInventory
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan

Inputs = Mapping[str, Any]
_HELM = "kubernetes:helm.sh/v3:Release"
_ANNOTATION = "iam.gke.io/gcp-service-account"


class ImportIds:
    """An existing resource, and its ID for the provider."""

    def __init__(self, inventory: ClusterInventory, plan: FleetPlan) -> None:
        self.inventory = inventory
        self.project = inventory.project
        self.objects = {(str(o["kind"]), namespace_of(o), name_of(o)) for o in inventory.objects}
        self._forms = _forms(inventory, plan)

    def import_id(self, resource: RegisteredResource) -> str | None:
        """Return the ID to import; None if the resource does not exist, or no answer shows that it does."""
        inputs = resource.inputs
        if resource.type == _HELM:
            return f"{inputs['namespace']}/{inputs['name']}"
        if resource.type.startswith("kubernetes:"):
            return self._object_id(resource)
        kind = resource.type.removeprefix("gcp:")
        if kind.startswith("monitoring/"):
            return monitoring_id(self.inventory, kind, inputs)
        if kind not in self._forms:
            return self._role_id(kind, inputs)
        form, keys, existing = self._forms[kind]
        exists = tuple(inputs.get(key) for key in keys) in existing
        return form.format_map({"router": inputs.get("name"), **inputs}) if exists else None

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

    def _role_id(self, kind: str, inputs: Inputs) -> str | None:
        """Return the ID of a role that a member has, `RESOURCE ROLE MEMBER`."""
        account, bucket = str(inputs.get("serviceAccountId")), str(inputs.get("bucket"))
        secret = f"{inputs.get('project') or self.project}/secrets/{inputs.get('secretId')}"
        resources = {
            "projects/iAMMember:IAMMember": (PROJECT, self.project, self.project),
            "serviceaccount/iAMMember:IAMMember": (ACCOUNT, last_segment(account), account),
            "storage/bucketIAMMember:BucketIAMMember": (BUCKET, bucket, f"b/{bucket}"),
            "secretmanager/secretIamMember:SecretIamMember": (SECRET, secret, f"projects/{secret}"),
        }
        if kind not in resources:
            return None
        granted_on, name, path = resources[kind]
        role, member = str(inputs.get("role")), str(inputs.get("member"))
        return f"{path} {role} {member}" if self.inventory.rights.has(Grant(granted_on, name, role, member)) else None


def _forms(
    inventory: ClusterInventory, plan: FleetPlan
) -> Mapping[str, tuple[str, tuple[str, ...], Collection[tuple[str, ...]]]]:
    """Return by type: the ID with inputs in braces, the inputs that identify a resource, and their existing values."""

    def names(answers: Iterable[Mapping[str, Any]]) -> set[tuple[str, ...]]:
        return {(str(answer["name"]),) for answer in answers}

    def places(answers: Iterable[Mapping[str, Any]]) -> set[tuple[str, ...]]:
        return {(last_segment(str(answer.get("zone", ""))), str(answer["name"])) for answer in answers}

    project, region = f"projects/{inventory.project}", f"projects/{inventory.project}/regions/{inventory.region}"
    cluster, domain = str(inventory.cluster["name"]), f"@{inventory.project}.iam.gserviceaccount.com"
    owns_network = isinstance(plan.cluster, ClusterPlan) and isinstance(plan.cluster.network, NetworkPlan)
    # Berth gives the network, its subnetwork, the router and its NAT one name.
    of_network = names(inventory.subnetworks) if owns_network else set[tuple[str, ...]]()
    networks = {(last_segment(str(answer.get("network", ""))),) for answer in inventory.subnetworks}
    services = {(last_segment(str(answer["name"])),) for answer in inventory.services if answer["state"] == "ENABLED"}
    accounts = {(email.removesuffix(domain),) for email in _accounts(inventory) if email.endswith(domain)}
    policies = {(last_segment(str(value_at(answer, "placementPolicy.policyName"))),) for answer in inventory.node_pools}
    policies |= names(inventory.placement_policies)
    name, place = ("name",), ("zone", "name")
    return {
        "container/cluster:Cluster": (f"{project}/locations/{inventory.region}/clusters/{{name}}", name, {(cluster,)}),
        "container/nodePool:NodePool": (
            f"{inventory.project}/{inventory.location}/{cluster}/{{name}}", name, names(inventory.node_pools),
        ),
        "compute/reservation:Reservation": (
            f"{project}/zones/{{zone}}/reservations/{{name}}", place, places(inventory.reservations),
        ),
        "compute/futureReservation:FutureReservation": (
            f"{project}/zones/{{zone}}/futureReservations/{{name}}", place, places(inventory.future_reservations),
        ),
        "compute/resourcePolicy:ResourcePolicy": (f"{region}/resourcePolicies/{{name}}", name, policies),
        "compute/network:Network": (f"{project}/global/networks/{{name}}", name, of_network | networks),
        "compute/subnetwork:Subnetwork": (f"{region}/subnetworks/{{name}}", name, names(inventory.subnetworks)),
        "compute/router:Router": (f"{region}/routers/{{name}}", name, of_network),
        "compute/routerNat:RouterNat": (f"{region}/routers/{{router}}/{{name}}", name, of_network),
        "compute/firewall:Firewall": (f"{project}/global/firewalls/{{name}}", name, names(inventory.firewalls)),
        "projects/service:Service": (f"{inventory.project}/{{service}}", ("service",), services),
        "serviceaccount/account:Account": (
            f"{project}/serviceAccounts/{{accountId}}{domain}", ("accountId",), accounts,
        ),
    }  # fmt: skip


def _accounts(inventory: ClusterInventory) -> set[str]:
    """Return the addresses of service accounts that the answers name."""
    emails = {str(value_at(answer, "config.serviceAccount")) for answer in inventory.node_pools}
    emails |= {str(answer["email"]) for answer in inventory.service_accounts}
    emails |= {str(mapping_at(o, "metadata.annotations").get(_ANNOTATION)) for o in inventory.objects}
    emails |= {each.partition(":")[2] for each in inventory.rights.members() if each.startswith("serviceAccount:")}
    return emails | {each.name for each in inventory.rights.grants if each.kind == ACCOUNT}
