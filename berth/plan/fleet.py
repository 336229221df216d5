"""The plan of a whole stack: the clusters it uses, pools, workers and the fleet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct, field

from berth.plan.admission_checks import (
    AdmissionCheckPlan,
    MultiKueueClusterPlan,
    MultiKueueConfigPlan,
    ProvisioningConfigPlan,
    WorkerAccessPlan,
)
from berth.plan.capacity import FutureReservationPlan, HeldPlan, WorkloadPolicyPlan
from berth.plan.compute_classes import ComputeClassPlan
from berth.plan.configuration import ConfigurationPlan
from berth.plan.gke import (
    AutoProvisioningPlan,
    CheckpointingPlan,
    ClusterPlan,
    NodePoolPlan,
    ReservationPlan,
    ServiceAccountPlan,
)
from berth.plan.installers import InstallersPlan
from berth.plan.kueue import ChartPlan, TopologyPlan
from berth.plan.monitoring import MonitoringPlan
from berth.plan.node_settings import AcceleratorNetworksPlan, Bounds, Taint
from berth.plan.policies import PoliciesPlan
from berth.plan.teams import AccessPlan, QueueingPlan


class AllowancesPlan(Struct, frozen=True, kw_only=True):
    """Allowed replacements, deletions and changes. `protect` False allows all; else only named ones, with a reason.

    Keys name protected resources as in `allowReplacement` of the stack file. The `protect` field of each plan is
    derived from them. `change` allows in-place changes that are blocked otherwise: `protect`, `cluster`, `network`, a
    pool's name.
    """

    protect: bool = True
    replacement: Mapping[str, str] = field(default_factory=dict[str, str])
    deletion: Mapping[str, str] = field(default_factory=dict[str, str])
    change: Mapping[str, str] = field(default_factory=dict[str, str])


class ExistingClusterPlan(Struct, frozen=True, kw_only=True):
    """Connection to an existing cluster. Berth creates neither the cluster nor resources in Google Cloud.

    `kubeconfig` is the path of a file (None: the client's default), `secret` the config key with a kubeconfig instead;
    `context` None is the current context. Another `name` means another, empty cluster.
    """

    name: str
    context: str | None
    kubeconfig: str | None = None
    secret: str | None = None
    mode: ClassVar[str] = "existing"

    @property
    def connection(self) -> str | None:
        """Where the kubeconfig comes from: a path, or `berth:<key>` of a secret, which is named and not read."""
        return f"berth:{self.secret}" if self.secret else self.kubeconfig


class ExistingGkeClusterPlan(Struct, frozen=True, kw_only=True):
    """An existing GKE cluster in which Berth makes machines; Berth never changes the cluster.

    `name`, `project` and `location` (a region or a zone) identify it. The other fields are what the stack file states
    or needs of it, which a look-up compares with the cluster (`berth.rules.gke.live_cluster`). None and empty values
    are not compared. `needs` maps what the fleet needs (`workload_pool`, ...) to the reason, a phrase.
    `node_service_account` is created for pools without a service account of their own; None if there is none.
    """

    name: str
    project: str
    location: str
    workload_pool: str
    mode: str = "standard"
    datapath: str | None = None
    zones: tuple[str, ...] = ()
    release_channel: str | None = None
    version: str | None = None
    auto_provisioning: AutoProvisioningPlan | None = None
    pod_range_name: str | None = None
    service_range_name: str | None = None
    service_range: str | None = None
    confidential_nodes: str | None = None
    dns_endpoint: bool | None = None
    security_group: str | None = None
    storage_drivers: tuple[str, ...] = ()
    checkpointing: CheckpointingPlan | None = None
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    node_service_account: ServiceAccountPlan | None = None


def cluster_identifier(plan: ClusterPlan | ExistingClusterPlan | ExistingGkeClusterPlan) -> str:
    """Return an identifier of a cluster that does not depend on its address or certificate."""
    if isinstance(plan, ExistingClusterPlan):
        return plan.name
    return f"{plan.project}/{plan.location}/{plan.name}"


class PoolPlan(Struct, frozen=True, kw_only=True):
    """A pool of the stack file and its node pools.

    It has no node pools if GKE creates them, or while the reservation that they use is not delivered.

    `made_by` is berth, gke, or others (existing nodes, which the flavor selects by their labels). `slices` is None
    unless the pool consists of TPU slices. `nodes` and `accelerators` count the whole pool, `vcpu` (cores) and
    `memory_gb` one node. A `compute_class` determines how GKE gets the nodes; `capacity` then says so. A manager lists
    its workers' pools too, as `worker/pool`, with their `worker`. `formerly` is the name under which the pool was
    created, if it was renamed; node pools and flavor keep it. GKE creates the nodes of a `grouped` pool close to each
    other for pods that select one placement group. `max_pods` are those of a node, None where GKE, another tool or an
    existing cluster chooses them.

    `node_labels` are the labels of its nodes that the fleet knows: those of hardware and capacity, those of the stack
    file, or those by which existing nodes are recognized. `taints` include those that GKE adds.
    """

    name: str
    machine_type: str
    topology: str | None
    slices: Bounds | None
    hosts_per_slice: int | None
    nodes: Bounds
    accelerators: Bounds
    accelerator: str
    resource: str
    vcpu: int
    memory_gb: float
    capacity: str
    compute_class: str | None
    reservation: str | None
    made_by: str
    zones: tuple[str, ...]
    flavor: str
    node_pools: tuple[NodePoolPlan, ...]
    max_pods: int | None = None
    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
    worker: str | None = None
    formerly: str | None = None
    grouped: bool = False

    @property
    def key(self) -> str:
        """The name under which the pool was created, which never changes."""
        return self.formerly or self.name


class FleetPlan(QueueingPlan, frozen=True, kw_only=True):
    """All resources of one stack.

    `kueue` is None if Kueue already exists in the cluster, `access` if there are no groups, `policies` if there are no
    teams. `project` and `region` may be None for an existing cluster.

    `reservations` and `future_reservations` are those to create; `held` summarizes all, including existing ones.
    """

    backend: ClassVar[Literal["gke"]] = "gke"
    project: str | None
    region: str | None
    services: tuple[str, ...]
    cluster: ClusterPlan | ExistingClusterPlan | ExistingGkeClusterPlan
    system_pool: NodePoolPlan | None
    reservations: tuple[ReservationPlan, ...]
    pools: tuple[PoolPlan, ...]
    charts: tuple[ChartPlan, ...]
    labels: Mapping[str, str]
    held: tuple[HeldPlan, ...] = ()
    future_reservations: tuple[FutureReservationPlan, ...] = ()
    topologies: tuple[TopologyPlan, ...] = ()
    provisioning_configs: tuple[ProvisioningConfigPlan, ...] = ()
    compute_classes: tuple[ComputeClassPlan, ...] = ()
    admission_checks: tuple[AdmissionCheckPlan, ...] = ()
    kueue: ConfigurationPlan | None = None
    workload_policies: tuple[WorkloadPolicyPlan, ...] = ()
    accelerator_networks: tuple[AcceleratorNetworksPlan, ...] = ()
    installers: InstallersPlan | None = None
    access: AccessPlan | None = None
    policies: PoliciesPlan | None = None
    monitoring: MonitoringPlan | None = None
    allowances: AllowancesPlan = field(default_factory=AllowancesPlan)
    workers: tuple[WorkerPlan, ...] = ()
    multikueue_configs: tuple[MultiKueueConfigPlan, ...] = ()
    multikueue_clusters: tuple[MultiKueueClusterPlan, ...] = ()
    manager_access: WorkerAccessPlan | None = None
    operators: tuple[str, ...] | None = None
    """Operators of kinds of jobs (keys of OPERATORS) that somebody installed; None if that is not known."""

    @property
    def kueue_release(self) -> str | None:
        """The release of Kueue that the stack installs; None for an existing Kueue."""
        return next((chart.version for chart in self.charts if chart.name == "kueue"), None)

    @property
    def own_pools(self) -> tuple[PoolPlan, ...]:
        """Pools of this cluster, without those of workers."""
        return tuple(pool for pool in self.pools if pool.worker is None)

    def pools_on(self, networks: str) -> tuple[str, ...]:
        """Return the pools whose nodes have interfaces in the set of accelerator networks with this key."""
        return tuple(
            pool.name for pool in self.pools if any(n.network.accelerator_networks == networks for n in pool.node_pools)
        )


class WorkerPlan(Struct, frozen=True, kw_only=True):
    """A cluster that runs jobs of a manager's queues (MultiKueue): its plan and its connection.

    This stack creates the cluster and its machines, unless it belongs to another `stack` (whose output `kubeconfig` is
    used) or its kubeconfig is the secret config value `berth:<kubeconfig>`. Then `plan` describes its machines, and
    only the objects inside the cluster are created. `identifier` is what identified it earlier, if that was something
    else. `formerly` is the name under which the worker was created, if it was renamed.
    """

    name: str
    plan: FleetPlan
    formerly: str | None = None
    stack: str | None = None
    kubeconfig: str | None = None
    identifier: str | None = None

    @property
    def key(self) -> str:
        """The name under which the worker was created, with which the names of everything in it begin."""
        return self.formerly or self.name

    @property
    def made_here(self) -> bool:
        """Whether this stack creates the cluster."""
        return self.stack is None and self.kubeconfig is None

    @property
    def cluster_identifier(self) -> str:
        """The identifier of the cluster. With another value, every object inside is replaced."""
        elsewhere = self.stack or (self.kubeconfig and f"berth:{self.kubeconfig}")
        return self.identifier or elsewhere or cluster_identifier(self.plan.cluster)

    def is_cluster_of(self, other: WorkerPlan) -> bool:
        """Whether two workers are one cluster as far as workers tell: its own resources tell what becomes of it."""
        if self.made_here or other.made_here:
            return self.made_here and other.made_here
        return self.cluster_identifier == other.cluster_identifier
