"""Resources on Alibaba Cloud: ACK clusters and node pools, the ACK One fleet, its quota tree and policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from msgspec import Struct, field

from berth.plan.fleet import AllowancesPlan
from berth.plan.node_settings import Bounds, Taint
from berth.plan.teams import QueueingPlan


class AckNodePoolPlan(Struct, frozen=True, kw_only=True):
    """A node pool of a member. `nodes` is fixed if both bounds are equal; `gpus` counts those of one node.

    `key` is its name in the Pulumi program; `disk_size_gb` is in GiB, ACK's unit of system disks.
    """

    key: str
    name: str
    instance_type: str
    gpu: str
    gpus: int
    nodes: Bounds
    spot: bool
    flavor: str
    vswitches: tuple[str, ...]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    disk_size_gb: int
    protect: bool

    @property
    def accelerators(self) -> Bounds:
        """GPUs of the whole pool."""
        return Bounds(min=self.nodes.min * self.gpus, max=self.nodes.max * self.gpus)


class MemberPlan(Struct, frozen=True, kw_only=True):
    """A member cluster. If `existing` (an ID) is set, neither the cluster nor its node pools are created.

    `version` None is ACK's newest. `reservation` lets the fleet reserve nodes in the member's scheduler before it sends
    a job there; false for an existing member, whose scheduler Berth does not configure. Pods get addresses from
    `pod_vswitches` (Terway) or from `pod_range` (Flannel).
    """

    key: str
    name: str
    existing: str | None
    cluster_spec: str
    version: str | None
    vswitches: tuple[str, ...]
    pod_vswitches: tuple[str, ...]
    pod_range: str | None
    service_range: str
    reservation: bool
    node_pools: tuple[AckNodePoolPlan, ...]
    protect: bool


class AckOnePlan(Struct, frozen=True, kw_only=True):
    """The ACK One fleet instance. `existing` is the ID of an existing one; `kubeconfig` the path of a file."""

    name: str
    existing: str | None
    vpc: str
    vswitches: tuple[str, ...]
    kubeconfig: str | None
    protect: bool


class QuotaNodePlan(Struct, frozen=True, kw_only=True):
    """A node of the ElasticQuotaTree. `minimum` is guaranteed, `maximum` is the ceiling; a leaf has no children.

    Amounts by resource as in QuotaPlan. `lend` limits how much of the minimum others may use, None means all of it.
    `max_jobs` limits the jobs that kube-queue runs at the same time.
    """

    name: str
    minimum: Mapping[str, int]
    maximum: Mapping[str, int]
    namespaces: tuple[str, ...] = ()
    lend: Mapping[str, int] | None = None
    max_jobs: int | None = None
    children: tuple[QuotaNodePlan, ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, QuotaNodePlan]]:
        """Yield the depth and node of this node and all below it, each before its children."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


class PropagationPlan(Struct, frozen=True, kw_only=True):
    """How jobs of one namespace get to a member; `toleration_seconds` is how long a failing job may stay there."""

    name: str
    namespace: str
    gang: bool
    suspension: bool
    propagate_deps: bool
    preserve_resources_on_deletion: bool
    toleration_seconds: int
    purge_mode: str


class AckFleetPlan(QueueingPlan, frozen=True, kw_only=True):
    """All resources of one stack on Alibaba Cloud.

    Flavors, cohorts, queues and teams are the same as on any backend; `quotas` is the root of the quota tree that they
    become. A fleet without a quota tree has no cohorts and queues, and `quotas` is None. Of a team, only namespaces and
    labels are created. `tags` are on every cloud resource of the fleet.
    """

    backend: ClassVar[Literal["ack"]] = "ack"
    region: str
    fleet: AckOnePlan
    members: tuple[MemberPlan, ...]
    quotas: QuotaNodePlan | None
    propagations: tuple[PropagationPlan, ...] = ()
    allowances: AllowancesPlan = field(default_factory=AllowancesPlan)
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
