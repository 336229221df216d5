"""Schema of a fleet on Alibaba Cloud: ACK clusters and their ACK One fleet. Keys are terms of ACK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from berth.spec.amounts import Bytes, CountField
from berth.spec.base import (
    DnsName,
    Entry,
    Model,
    Section,
    Sequence,
    Text,
    default_field,
    unique_items,
)
from berth.spec.cluster import Cidr
from berth.spec.core import AfterValidator
from berth.spec.existing_cluster import KubeconfigPath
from berth.spec.fleet import AnyFleetSpec
from berth.spec.machines.pools import LabelKey, LabelValue, PoolName, Reason, TaintSpec
from berth.spec.model import Field

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
    """Contents of one ECS instance."""

    gpu: GpuModel
    """Model of the GPUs, such as `A100`."""
    gpus: int = Field(ge=1, le=64)
    """Number of GPUs."""
    cpu: int = Field(ge=1, le=1024)
    """Number of vCPUs."""
    memory: Bytes
    """Memory, such as `1000Gi`."""


class AckNodePoolSpec(Model):
    """GPU nodes of one member. Node pools with the same name in several members are one pool to the queues."""

    instance_type: InstanceType
    """ECS instance type of the nodes."""
    nodes: CountField
    """Number of nodes: a fixed one, or a range to scale in."""
    capacity: Literal["on-demand", "spot"] = "on-demand"
    """How the nodes are obtained."""
    flavor: DnsName | None = None
    """Name of the flavor. By default the node pool's name."""
    vswitches: VSwitches = ()
    """The vSwitches of the nodes. By default the member's."""
    labels: Section[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels of the nodes, which the flavor selects."""
    taints: Sequence[TaintSpec] = ()
    """Taints of the nodes, which the flavor tolerates."""
    disk_size_gb: int = Field(default=120, ge=40, le=32768)
    """Size of the system disk in GB."""


class MemberSpec(Model):
    """A member of the fleet: a new ACK Pro cluster, or an existing one, which joins and is not changed."""

    existing: ClusterId | None = None
    """ID of an existing cluster: it joins the fleet, and its node pools are only described."""
    cluster_spec: Literal["ack.pro.small", "ack.pro.xlarge", "ack.pro.2xlarge", "ack.pro.4xlarge"] = "ack.pro.small"
    """Size of the control plane; Pro, which quota trees and gangs need."""
    version: AckVersion | None = None
    """Version of the cluster, as text such as `"1.34"`. By default ACK's newest."""
    enable_reservation: bool | None = None
    """Kube Scheduler of a new member reserves nodes for a job before the fleet sends it; applied only when the cluster
    is created. By default `true` from version 1.28."""
    vswitches: VSwitches = ()
    """The vSwitches of the cluster, at most 5. By default the network's."""
    pod_vswitches: VSwitches = ()
    """The vSwitches from which pods get addresses (Terway). Exactly one of `podVswitches` and `podCidrBlock`."""
    pod_cidr_block: Cidr | None = None
    """Address range of pods (Flannel)."""
    service_cidr_block: Cidr = "172.21.0.0/20"
    """Address range of the member's services."""
    node_pools: Section[PoolName, AckNodePoolSpec] = Field(default_factory=dict)
    """Node pools by name. Those of one name in several members are one pool to queues."""


class FailoverSpec(Model):
    """When a job that fails on its member moves to another, and how its objects on the old member are removed."""

    toleration_seconds: int = Field(default=30, ge=0, le=86400)
    """How long a job that fails on a member stays there, in seconds."""
    purge_mode: Literal["Immediately", "Graciously", "Never"] = "Immediately"
    """How the job is removed from the member then."""


class PropagationSpec(Model):
    """How jobs get from the fleet to a member, in each namespace of a team."""

    name: DnsName = "training"
    """Name of the policy in each namespace that has a queue."""
    gang: bool = True
    """Send a job to one member as a whole."""
    suspension: bool | None = None
    """Let a job wait for its quota before it goes to a member; `true` is a fault without a quota tree. By default as
    `quotaTree`."""
    propagate_deps: bool = True
    """Propagate the objects that a job refers to as well; required for failover."""
    preserve_resources_on_deletion: bool = False
    """Keep objects on members that are deleted on the fleet."""
    failover: Entry[FailoverSpec] = default_field(FailoverSpec)
    """What happens to a job that fails on a member."""


class AckOneSpec(Model):
    """The ACK One fleet instance, where teams submit jobs: one that is created, or an existing one."""

    name: ClusterName | None = None
    """Name of the ACK One fleet. By default the stack's name."""
    existing: ClusterId | None = None
    """ID of an existing ACK One fleet."""
    kubeconfig: KubeconfigPath | None = None
    """Path of a kubeconfig for the fleet's API server. Without it `pulumi up` does not apply quotas and policies."""
    quota_tree: bool = True
    """Create an ElasticQuotaTree. With `false` there is no queue: no quota limits the teams, and the fleet sends each
    job to a member at once."""
    propagation: Entry[PropagationSpec] = default_field(PropagationSpec)
    """How jobs get from the fleet to a member."""


class AckNetworkSpec(Model):
    """The VPC of all clusters, and the vSwitches of members and node pools that name none."""

    vpc: VpcId
    """ID of the existing VPC."""
    vswitches: VSwitches = Field(min_length=1)
    """The vSwitches of members and node pools without their own."""


class AckSpec(Model):
    """The machines: an existing VPC, member clusters with their GPU node pools, and the fleet above them."""

    region: AlibabaRegion
    """Region of all members, such as `cn-hangzhou`."""
    network: AckNetworkSpec
    """An existing VPC with its vSwitches."""
    instance_types: Section[InstanceType, InstanceTypeSpec] = Field(default_factory=dict)
    """Contents of ECS instance types by name, for those that Berth's table does not have."""
    clusters: Section[ClusterName, MemberSpec] = Field(min_length=1)
    """The members of the fleet by name."""
    fleet: Entry[AckOneSpec] = default_field(AckOneSpec)
    """The ACK One fleet."""


class AckMachines(Model):
    """The machines of a fleet on Alibaba Cloud."""

    placeholders: ClassVar[Mapping[str, object]] = {
        "ack": {
            "region": "cn-hangzhou",
            "network": {"vpc": "vpc-unknown", "vswitches": ["vsw-unknown"]},
            "clusters": {"unknown": {"existing": "c00000000"}},
        }
    }
    machine_sections: ClassVar[tuple[str, ...]] = ("ack",)
    stack_noun: ClassVar[str | None] = "an ACK stack"

    ack: AckSpec
    """The machines on Alibaba Cloud."""


class AckFleetSpec(AckMachines, AnyFleetSpec):
    """A fleet on Alibaba Cloud; queues and teams have the same schema as in any fleet."""

    allow_replacement: Section[str, Reason] = Field(default_factory=dict)
    """Protected resources that may be replaced, each with a reason: `<member>/<node pool>`, `clusters.<member>`,
    `clusterQueues.<name>` or `fleet`."""
    allow_deletion: Section[str, Reason] = Field(default_factory=dict)
    """Protected resources that may be deleted, each with a reason: named as in `allowReplacement`."""
    allow_change: Section[str, Reason] = Field(default_factory=dict)
    """Changes in place that the guard would block, each with a reason: `protect`, or a name that the guard prints."""
