"""The whole: pools as their owner wrote them, and the fleet of one stack."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from berth.plan.accelerator_networks import AcceleratorNetworksPlan
from berth.plan.admission_checks import (
    AdmissionCheckPlan,
    MultiKueueClusterPlan,
    MultiKueueConfigPlan,
    ProvisioningConfigPlan,
    WorkerAccessPlan,
)
from berth.plan.allowances import AllowancesPlan
from berth.plan.capacity import FutureReservationPlan, HeldPlan, WorkloadPolicyPlan
from berth.plan.compute_classes import ComputeClassPlan
from berth.plan.configuration import ConfigurationPlan
from berth.plan.existing import ExistingClusterPlan
from berth.plan.gke import ClusterPlan, NodePoolPlan, ReservationPlan
from berth.plan.installers import InstallersPlan
from berth.plan.kueue import ChartPlan, ClusterQueuePlan, CohortPlan, FlavorPlan, PriorityPlan, TopologyPlan
from berth.plan.monitoring import MonitoringPlan
from berth.plan.nodes import Bounds
from berth.plan.policies import PoliciesPlan
from berth.plan.teams import AccessPlan, TeamPlan


class PoolPlan(Struct, frozen=True, kw_only=True):
    """A pool as its owner wrote it, and the node pools it becomes; none where GKE makes them itself, or where the
    reservation that they name is not there yet.

    `made_by` is berth, gke, or others: the nodes of an existing cluster are described, and found by their labels.
    `slices` is None unless the pool consists of TPU slices. `nodes` and `accelerators` count the whole pool, `vcpu`
    (cores) and `memory_gb` one node. A `compute_class` decides how GKE gets the nodes; `capacity` then says so. A
    manager lists its workers' pools too, as `worker/pool`, with the `worker` that they are of. `formerly` is the name
    under which it was first made, where that is another; node pools and flavor keep it.
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
    worker: str | None = None
    formerly: str | None = None

    @property
    def key(self) -> str:
        """The name under which it was first made, which never changes."""
        return self.formerly or self.name


class FleetPlan(Struct, frozen=True, kw_only=True):
    """All that one stack describes. `kueue` is None where somebody else set it up, `access` where no group is,
    `policies` where no team is.

    `project` and `region` may be None where the cluster is an existing one, of which there is no Google Cloud to see.

    `reservations` and `future_reservations` are those to be made; `held` are all, as people read them.
    """

    stack: str
    project: str | None
    region: str | None
    services: tuple[str, ...]
    cluster: ClusterPlan | ExistingClusterPlan
    system_pool: NodePoolPlan | None
    reservations: tuple[ReservationPlan, ...]
    pools: tuple[PoolPlan, ...]
    charts: tuple[ChartPlan, ...]
    flavors: tuple[FlavorPlan, ...]
    priorities: tuple[PriorityPlan, ...]
    cohorts: tuple[CohortPlan, ...]
    cluster_queues: tuple[ClusterQueuePlan, ...]
    teams: tuple[TeamPlan, ...]
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

    @property
    def own_pools(self) -> tuple[PoolPlan, ...]:
        """The pools of this cluster, and none of a worker's."""
        return tuple(pool for pool in self.pools if pool.worker is None)

    def pools_on(self, networks: str) -> tuple[str, ...]:
        """The pools whose nodes have interfaces in a set of accelerator networks, by its key."""
        return tuple(
            pool.name for pool in self.pools if any(n.network.accelerator_networks == networks for n in pool.node_pools)
        )


class WorkerPlan(Struct, frozen=True, kw_only=True):
    """A cluster that runs jobs of a manager's queues (MultiKueue): what stands in it, and how it is reached.

    The cluster and its machines are made here, unless it is that of another `stack` (its output `kubeconfig`) or one
    whose kubeconfig is the secret config value `berth:<kubeconfig>`: `plan` then says what it holds, and only what
    stands inside is made.
    """

    name: str
    plan: FleetPlan
    stack: str | None = None
    kubeconfig: str | None = None

    @property
    def made_here(self) -> bool:
        """Whether the cluster is this stack's."""
        return self.stack is None and self.kubeconfig is None

    @property
    def way(self) -> tuple[str | None, str | None]:
        """What leads to the cluster. Another way is another cluster: everything in it is made anew."""
        return self.stack, self.kubeconfig
