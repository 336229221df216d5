"""Schema of a fleet on Alibaba Cloud: ACK clusters and their ACK One fleet. Keys are terms of ACK."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.amounts import Bytes, CountField
from berth.spec.base import (
    AcceptLoss,
    DnsLabel,
    DnsName,
    Entry,
    Model,
    NonEmptyText,
    Section,
    Sequence,
    Text,
    default_field,
    unique_items,
)
from berth.spec.cluster import Cidr
from berth.spec.core import AfterValidator
from berth.spec.machines.pools import FlavorSpec, LabelKey, LabelValue, PoolName, Reason, TaintSpec
from berth.spec.model import Field
from berth.spec.teams import CohortSpec, PrioritySpec, SharedQueueSpec, TeamDefaults, TeamSpec

AlibabaRegion = Annotated[str, Text(r"[a-z]{2}-[a-z]+(-[a-z0-9]+)*", "a region such as cn-hangzhou")]
InstanceType = Annotated[
    str, Text(r"ecs(\.[a-z0-9][a-z0-9-]*){2}", "an ECS instance type such as ecs.gn7e-c16g1.32xlarge")
]
GpuModel = Annotated[
    str, Text(r"[A-Za-z0-9][-A-Za-z0-9]{0,30}", "a GPU such as A100: letters, digits and '-', at most 31 characters")
]
VpcId = Annotated[str, Text(r"vpc-[a-z0-9]+", "the ID of a VPC such as vpc-bp1x9")]
VSwitchId = Annotated[str, Text(r"vsw-[a-z0-9]+", "the ID of a vSwitch such as vsw-bp1x9")]
VSwitches = Annotated[Sequence[VSwitchId], AfterValidator(unique_items)]
ClusterId = Annotated[str, Text(r"c[a-z0-9]{8,63}", "the ID of a cluster such as c0b1d2e3f4a5")]
ClusterName = Annotated[
    str, Text(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", "a name: lower-case letters, digits and '-', at most 40 characters")
]
AckVersion = Annotated[
    str, Text(r"1\.[0-9]{2}(\.[0-9]+-aliyun\.[0-9]+)?", 'an ACK version such as "1.34" or "1.34.1-aliyun.1"')
]


class InstanceTypeSpec(Model):
    """Contents of one ECS instance: `gpus` of the model `gpu`, `cpu` (vCPUs) and `memory`."""

    gpu: GpuModel
    gpus: int = Field(ge=1, le=64)
    cpu: int = Field(ge=1, le=1024)
    memory: Bytes


class AckNodePoolSpec(Model):
    """GPU nodes of one member. Node pools with the same name in several members are one pool to the queues."""

    instance_type: InstanceType
    nodes: CountField
    capacity: Literal["on-demand", "spot"] = "on-demand"
    flavor: DnsName | None = None
    vswitches: VSwitches = ()
    labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    taints: Sequence[TaintSpec] = ()
    disk_size_gb: int = Field(default=120, ge=40, le=32768)


class MemberSpec(Model):
    """A member of the fleet: a new ACK Pro cluster, or an `existing` one, which joins and is not changed.

    `enable_reservation` is a parameter of a new member's Kube Scheduler; None is true if its version supports it.
    """

    existing: ClusterId | None = None
    cluster_spec: Literal["ack.pro.small", "ack.pro.xlarge", "ack.pro.2xlarge", "ack.pro.4xlarge"] = "ack.pro.small"
    version: AckVersion | None = None
    enable_reservation: bool | None = None
    vswitches: VSwitches = ()
    pod_vswitches: VSwitches = ()
    pod_cidr_block: Cidr | None = None
    service_cidr_block: Cidr = "172.21.0.0/20"
    node_pools: Section[PoolName, AckNodePoolSpec] = Field(default_factory=dict)


class FailoverSpec(Model):
    """When a job that fails on its member moves to another, and how its objects on the old member are removed."""

    toleration_seconds: int = Field(default=30, ge=0, le=86400)
    purge_mode: Literal["Immediately", "Graciously", "Never"] = "Immediately"


class PropagationSpec(Model):
    """How jobs get from the fleet to a member, in each namespace of a team.

    `suspension` None is true if the fleet has a quota tree.
    """

    name: DnsName = "training"
    gang: bool = True
    suspension: bool | None = None
    propagate_deps: bool = True
    preserve_resources_on_deletion: bool = False
    failover: Entry[FailoverSpec] = default_field(FailoverSpec)


class AckOneSpec(Model):
    """The ACK One fleet instance, where teams submit jobs: one that is created, or an `existing` one.

    `kubeconfig` is the path of a file that reaches it; without one its objects are left to `berth render`. Without a
    `quota_tree`, no quota limits the teams, and the fleet sends each job to a member at once.
    """

    name: ClusterName | None = None
    existing: ClusterId | None = None
    kubeconfig: NonEmptyText | None = None
    quota_tree: bool = True
    propagation: Entry[PropagationSpec] = default_field(PropagationSpec)


class AckNetworkSpec(Model):
    """The VPC of all clusters, and the vSwitches of members and node pools that name none."""

    vpc: VpcId
    vswitches: VSwitches = Field(min_length=1)


class AckSpec(Model):
    """The machines: an existing VPC, member clusters with their GPU node pools, and the fleet above them."""

    region: AlibabaRegion
    network: AckNetworkSpec
    instance_types: Section[InstanceType, InstanceTypeSpec] = Field(default_factory=dict)
    clusters: Section[ClusterName, MemberSpec] = Field(min_length=1)
    fleet: Entry[AckOneSpec] = default_field(AckOneSpec)


class AckFleetSpec(Model):
    """A whole stack on Alibaba Cloud; queues and teams have the same schema as in any fleet."""

    ack: AckSpec
    protect: bool = True
    flavors: Section[DnsName, Entry[FlavorSpec]] = Field(default_factory=dict)
    priorities: Section[DnsName, PrioritySpec] = Field(default_factory=dict)
    cohorts: Section[DnsName, Entry[CohortSpec]] = Field(default_factory=dict)
    teams: Section[DnsLabel, TeamSpec] = Field(default_factory=dict)
    team_files: Sequence[str] = ()
    team_defaults: TeamDefaults = Field(default_factory=dict)
    cluster_queues: Section[DnsName, SharedQueueSpec] = Field(default_factory=dict)
    allow_replacement: Section[str, Reason] = Field(default_factory=dict)
    allow_deletion: Section[str, Reason] = Field(default_factory=dict)
    allow_change: Section[str, Reason] = Field(default_factory=dict)
    accept_loss: AcceptLoss = ()
