"""The ID of every existing resource for `pulumi import`, as the providers' documentation spells it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from berth.adopt.api_objects import mapping_at, name_of, namespace_of, value_at
from berth.adopt.google.iam_policies import ACCOUNT, BUCKET, PROJECT, SECRET, Grant
from berth.adopt.google.monitoring import monitoring_id
from berth.adopt.google.resource_paths import last_segment
from berth.adopt.inventory import ClusterInventory
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan, NetworkPlan

Inputs = Mapping[str, Any]
_HELM = "kubernetes:helm.sh/v3:Release"
_ANNOTATION = "iam.gke.io/gcp-service-account"


class ImportableResource(Protocol):
    """A resource as the program registers it."""

    @property
    def type(self) -> str:
        """Its type token."""
        ...

    @property
    def inputs(self) -> Inputs:
        """Its inputs, with the provider's names."""
        ...


class ImportIds:
    """An existing resource, and its ID for the provider."""

    def __init__(self, inventory: ClusterInventory, plan: FleetPlan) -> None:
        self.inventory = inventory
        self.project, self.region, self.location = inventory.project, inventory.region, inventory.location
        self.cluster = str(inventory.cluster["name"])
        self.pools = {str(answer["name"]) for answer in inventory.node_pools}
        self.reservations = {_place(answer) for answer in inventory.reservations}
        self.future_reservations = {_place(answer) for answer in inventory.future_reservations}
        self.accounts = _accounts(inventory)
        self.objects = {(str(o["kind"]), namespace_of(o), name_of(o)) for o in inventory.objects}
        planned_cluster = plan.cluster
        owns_network = isinstance(planned_cluster, ClusterPlan) and isinstance(planned_cluster.network, NetworkPlan)
        self.of_network = {str(answer["name"]) for answer in inventory.subnetworks} if owns_network else set[str]()
        self.subnetworks = {str(answer["name"]) for answer in inventory.subnetworks}
        self.networks = {last_segment(str(answer.get("network", ""))) for answer in inventory.subnetworks}
        self.firewalls = {str(answer["name"]) for answer in inventory.firewalls}
        self.services = {
            last_segment(str(answer["name"])) for answer in inventory.services if answer["state"] == "ENABLED"
        }
        charts = [*plan.charts, *(plan.monitoring.charts if plan.monitoring else ())]
        self.releases = {chart.name: f"{chart.namespace}/{chart.name}" for chart in charts}
        self._forms: Mapping[str, Callable[[Inputs], str | None]] = {
            "container/cluster:Cluster": self._cluster_id,
            "container/nodePool:NodePool": self._node_pool_id,
            "compute/reservation:Reservation": self._reservation_id,
            "compute/futureReservation:FutureReservation": self._future_reservation_id,
            "compute/network:Network": self._network_id,
            "compute/subnetwork:Subnetwork": self._subnetwork_id,
            "compute/router:Router": self._router_id,
            "compute/firewall:Firewall": self._firewall_id,
            "projects/service:Service": self._service_id,
            "compute/routerNat:RouterNat": self._nat_id,
            "serviceaccount/account:Account": self._account_id,
            "projects/iAMMember:IAMMember": self._project_role_id,
            "serviceaccount/iAMMember:IAMMember": self._account_role_id,
            "storage/bucketIAMMember:BucketIAMMember": self._bucket_role_id,
            "secretmanager/secretIamMember:SecretIamMember": self._secret_role_id,
        }

    def import_id(self, resource: ImportableResource) -> str | None:
        """Return the ID to import; None if the resource does not exist, or no answer shows that it does."""
        if resource.type == _HELM:
            return self.releases.get(str(resource.inputs.get("name")))
        if resource.type.startswith("kubernetes:"):
            return self._object_id(resource)
        kind = resource.type.removeprefix("gcp:")
        if kind.startswith("monitoring/"):
            return monitoring_id(self.inventory, kind, resource.inputs)
        form = self._forms.get(kind)
        return form(resource.inputs) if form is not None else None

    def _object_id(self, resource: ImportableResource) -> str | None:
        metadata = mapping_at(resource.inputs, "metadata")
        kind, namespace, name = (
            resource.type.rpartition(":")[2],
            str(metadata.get("namespace", "")),
            str(metadata.get("name")),
        )
        if (kind, namespace, name) not in self.objects:
            return None
        return f"{namespace}/{name}" if namespace else name

    # --- machines and networks ---

    def _cluster_id(self, inputs: Inputs) -> str | None:
        path = f"projects/{self.project}/locations/{self.region}/clusters/{self.cluster}"
        return path if inputs.get("name") == self.cluster else None

    def _node_pool_id(self, inputs: Inputs) -> str | None:
        name = inputs.get("name")
        return f"{self.project}/{self.location}/{self.cluster}/{name}" if name in self.pools else None

    def _reservation_id(self, inputs: Inputs) -> str | None:
        name, zone = inputs.get("name"), inputs.get("zone")
        path = f"projects/{self.project}/zones/{zone}/reservations/{name}"
        return path if (zone, name) in self.reservations else None

    def _future_reservation_id(self, inputs: Inputs) -> str | None:
        name, zone = inputs.get("name"), inputs.get("zone")
        path = f"projects/{self.project}/zones/{zone}/futureReservations/{name}"
        return path if (zone, name) in self.future_reservations else None

    def _network_id(self, inputs: Inputs) -> str | None:
        name = inputs.get("name")
        exists = name in self.of_network or name in self.networks
        return f"projects/{self.project}/global/networks/{name}" if exists else None

    def _subnetwork_id(self, inputs: Inputs) -> str | None:
        name = inputs.get("name")
        path = f"projects/{self.project}/regions/{self.region}/subnetworks/{name}"
        return path if name in self.subnetworks else None

    def _router_id(self, inputs: Inputs) -> str | None:
        name = inputs.get("name")
        path = f"projects/{self.project}/regions/{self.region}/routers/{name}"
        return path if name in self.of_network else None

    def _firewall_id(self, inputs: Inputs) -> str | None:
        name = inputs.get("name")
        return f"projects/{self.project}/global/firewalls/{name}" if name in self.firewalls else None

    def _service_id(self, inputs: Inputs) -> str | None:
        service = inputs.get("service")
        return f"{self.project}/{service}" if service in self.services else None

    def _nat_id(self, inputs: Inputs) -> str | None:
        name = inputs.get("name")
        path = f"projects/{self.project}/regions/{self.region}/routers/{inputs.get('router') or name}/{name}"
        return path if name in self.of_network else None

    # --- rights ---

    def _account_id(self, inputs: Inputs) -> str | None:
        email = f"{inputs.get('accountId')}@{self.project}.iam.gserviceaccount.com"
        return f"projects/{self.project}/serviceAccounts/{email}" if email in self.accounts else None

    def _project_role_id(self, inputs: Inputs) -> str | None:
        return self._role_id(PROJECT, self.project, self.project, inputs)

    def _account_role_id(self, inputs: Inputs) -> str | None:
        path = str(inputs.get("serviceAccountId"))
        return self._role_id(ACCOUNT, last_segment(path), path, inputs)

    def _bucket_role_id(self, inputs: Inputs) -> str | None:
        bucket = str(inputs.get("bucket"))
        return self._role_id(BUCKET, bucket, f"b/{bucket}", inputs)

    def _secret_role_id(self, inputs: Inputs) -> str | None:
        name = f"{inputs.get('project') or self.project}/secrets/{inputs.get('secretId')}"
        return self._role_id(SECRET, name, f"projects/{name}", inputs)

    def _role_id(self, kind: str, name: str, path: str, inputs: Inputs) -> str | None:
        """Return the ID of a role that a member has, `RESOURCE ROLE MEMBER`."""
        role, member = str(inputs.get("role")), str(inputs.get("member"))
        return f"{path} {role} {member}" if self.inventory.rights.has(Grant(kind, name, role, member)) else None


def _place(answer: Mapping[str, Any]) -> tuple[str, str]:
    return last_segment(str(answer.get("zone", ""))), str(answer["name"])


def _accounts(inventory: ClusterInventory) -> set[str]:
    """Return the addresses of service accounts that the answers name."""
    emails = {str(value_at(answer, "config.serviceAccount")) for answer in inventory.node_pools}
    emails |= {str(answer["email"]) for answer in inventory.service_accounts}
    emails |= {str(mapping_at(o, "metadata.annotations").get(_ANNOTATION)) for o in inventory.objects}
    emails |= {each.partition(":")[2] for each in inventory.rights.members() if each.startswith("serviceAccount:")}
    return emails | {each.name for each in inventory.rights.grants if each.kind == ACCOUNT}
