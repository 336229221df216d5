"""Arguments of NodePool. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import pulumi

from berth.spec.fleet import FleetSpec
from berth.spec.machines.pools import PoolSpec
from berth.spec.model import Model

from .base import ComponentArguments


class NodePoolArgs(ComponentArguments):
    """A pool of accelerator machines in a GKE cluster: TPU slices or GPU nodes. A slice of several hosts becomes a node
    pool of its own, so that a component can create several."""

    models: ClassVar[Sequence[type[Model]]] = (PoolSpec, FleetSpec)

    cluster: pulumi.Input[str]
    """Name of the cluster."""
    machine_type: str
    """Machine type, such as `ct5lp-hightpu-4t` (docs/hardware.md)."""
    accelerator: Mapping[str, Any] | None = None
    """GPUs attached to each N1 machine of the pool, or those of a machine that Berth's table does not have."""
    accept_topology: bool | None = None
    """Accept a topology that is not in Berth's table but divides into whole hosts. Default: `false`."""
    accept_zone: bool | None = None
    """Accept a zone in which Google does not list the machine (early access), one of which no source says whether it
    has the machine (docs/unknown.md), or one that is newer than Berth's table. Default: `false`."""
    adopted: bool | None = None
    """Another tool created the node pools, and `pulumi import` took them over (docs/adopt.md). They keep what their
    creation chose: service account (write it as `service_account`), OAuth scopes, disk type, secure boot, image
    streaming, gVNIC, metadata server, node labels and taints, node system settings, network, upgrade and repair
    settings, GPU driver, and their affinity to reservations unless `capacity` names one. Node pools that are created
    later have Berth's settings. Default: `false`."""
    blue_green: Mapping[str, Any] | None = None
    """Upgrade by new nodes beside all old ones, instead of `surge`."""
    boot_disk_kms_key: pulumi.Input[str] | None = None
    """Key of Cloud KMS that encrypts the boot disks. A change replaces the pool. By default the cluster's."""
    capacity: Mapping[str, Any] | str | None = None
    """How the machines are obtained: `on-demand`, `spot`, `any-reservation` (else on-demand),
    `any-reservation-then-fail`, `flex-start`, `queued`, or a mapping for a reservation or with settings. Default:
    `on-demand`."""
    compact_placement: bool | None = None
    """Place nodes without TPUs close to each other, in one zone. If GKE creates the nodes, those of one job, whose pods
    select a placement group: `berth workload` writes the selector, `berth lint` warns without it. Default: `false`."""
    confidential_nodes: Literal["SEV", "SEV_SNP", "TDX"] | None = None
    """Technology that encrypts the memory of the nodes. By default the cluster's."""
    cpu: int | None = None
    """Number of vCPUs of a machine that Berth's tables do not have. By default the table's."""
    disk_size_gb: int | None = None
    """Size of the boot disk in GB. Default: `100`."""
    disk_type: str | None = None
    """Type of the boot disk, such as `pd-ssd`. A change recreates the nodes one by one. By default `pd-balanced`, or
    what the machine's series takes (docs/hardware.md)."""
    driver_version: Literal["default", "latest", "disabled"] | None = None
    """GPU driver that GKE installs: `default` or `latest`. With `disabled` Berth installs a driver DaemonSet. Default:
    `default`."""
    dynamic_slicing: Literal["super-slicing", "sub-slicing"] | None = None
    """Jobs form TPU slices themselves (docs/dynamic-slicing.md): with `super-slicing` of whole sub-blocks, which are
    the `slices` of the pool, with `sub-slicing` also of parts. Adding or removing it replaces the pool."""
    exclusion_until_end_of_support: bool | None = None
    """Keep GKE from upgrading these nodes until the support of their version ends. Default: `false`."""
    gpu_partition: str | None = None
    """MIG partition size, such as `1g.10gb`."""
    gpu_sharing: Mapping[str, Any] | None = None
    """Share each GPU between containers; quota counts what jobs can request."""
    image_type: Literal["COS_CONTAINERD", "UBUNTU_CONTAINERD"] | None = None
    """Image of the nodes. A change recreates them one by one. By default GKE's, COS_CONTAINERD."""
    labels: Mapping[str, str] | None = None
    """Additional labels of the nodes; the flavor selects them."""
    local_ssd: Mapping[str, Any] | None = None
    """Use of the local SSDs of a node. By default the machine's."""
    location: pulumi.Input[str] | None = None
    """Region of the cluster, or the zone of a zonal one. By default `region`, or the zone's."""
    maintenance_interval: Literal["PERIODIC", "AS_NEEDED"] | None = None
    """How often hosts are maintained: `PERIODIC`, or `AS_NEEDED`, which interrupts more often. It equals that of the
    pool's reservation. A change replaces the pool. By default Google's choice."""
    max_pods_per_node: int | None = None
    """Maximum number of pods of a node; a node uses a block of the pod range for twice as many. By default GKE's
    110."""
    memory: str | None = None
    """Memory of a machine that Berth's tables do not have, such as `720Gi`. By default the table's."""
    name: str | None = None
    """Name of the pool. By default the component's name."""
    networking: Literal["gpudirect", "rdma", "dranet"] | None = None
    """Networks between accelerators. `gpudirect`: additional networks for the machine's type of GPUDirect (TCPX, TCPXO,
    RDMA), with the NCCL plugin; pods name them, such as `rdma-a-0` in zone a. `rdma`: the network of H4D, which pods
    name `falcon-a-0`. `dranet`: GKE creates networks, which pods claim; TPU pods otherwise use the node's network."""
    node_pool_name: str | None = None
    """Name of the node pool, or a pattern for slices: `{n}` is the number of the slice from 1 (`nodepool{n}`), `{i}`
    from 0 (`demo-np-{i}`). At most 40 characters. A change replaces the node pools. By default the pool's key, and
    `<key>-<topology>-<number>` for slices."""
    node_service_account: pulumi.Input[str] | None = None
    """Google service account of the nodes. By default Compute Engine's own, which has more rights than nodes need."""
    node_system_config: Mapping[str, Any] | None = None
    """Kubelet and kernel settings of the nodes. By default GKE's."""
    nodes: int | Mapping[str, Any] | None = None
    """Number of GPU or CPU nodes, a total over all zones: a fixed one, or a range to scale in."""
    placement_policy: str | None = None
    """Name of an existing resource policy of Compute Engine, in the project and region of the pool, that places the
    nodes. A change replaces the pool. By default Berth creates the policy of slices and domains that need one."""
    pod_range_name: str | None = None
    """Secondary range of the subnet from which the pods of these nodes get addresses, in an existing cluster or VPC.
    Its owner creates the range, and GKE refuses a pool whose range does not exist. A change replaces the pool. By
    default the cluster's."""
    project: pulumi.Input[str] | None = None
    """Project of the cluster. By default the provider's."""
    protect: bool | None = None
    """Protect the node pools from replacement and deletion. Default: `true`."""
    region: str | None = None
    """Region of the cluster, such as `us-central1`. By default that of `location` or of the zone."""
    reservation: pulumi.Input[str] | None = None
    """Name of the reservation whose machines the pool consumes. Instead of `capacity`."""
    sandbox: Literal["gvisor"] | None = None
    """`gvisor`: the nodes take only pods of GKE Sandbox (`runtime_class_name: gvisor`). A change replaces the pool."""
    secondary_boot_disks: Sequence[Mapping[str, Any]] | None = None
    """Disks with container images or data that every node gets. A change replaces the pool."""
    secure_boot: bool | None = None
    """Boot signed software only. Default: `true`."""
    service_account: str | None = None
    """Address of an existing Google service account that the nodes run as, and so do pods on the network of the nodes
    (docs/tenancy.md); give it the roles of the account that Berth creates for nodes. A change replaces the pool. In an
    `adopted` pool it states which account the nodes keep, also `default`, Compute Engine's own, and changes nothing;
    with the address of the account that Berth made for nodes, Berth keeps that account. By default the cluster's
    account of nodes."""
    slices: int | Mapping[str, Any] | Sequence[int | str] | None = None
    """Number of TPU slices: a fixed one, or a range to scale in. A list has the numbers of slices of several hosts
    (`[1, 3]`, after slice 2 was removed) or the names of their node pools; `{min: 0, of: [1, 3]}` scales."""
    spares: int | None = None
    """Slices, or nodes of machines without slices, that no queue is guaranteed, of a fixed number: the pods of a failed
    slice or node go there before any other job is preempted. `guaranteed: all` and other shares are of the rest.
    Default: `0`."""
    surge: Mapping[str, Any] | None = None
    """Nodes that an upgrade adds before others are drained, and drains first; together at most 20. By default one node
    at a time."""
    tags: Sequence[str] | None = None
    """Network tags of the nodes, which firewall rules and routes name."""
    taints: Sequence[Mapping[str, Any]] | None = None
    """Additional taints of the nodes; the flavor tolerates them."""
    threads_per_core: int | None = None
    """Threads of each core: with 1, jobs have half of the vCPUs, and the price stays. A change replaces the pool. By
    default the machine's."""
    topology: str | None = None
    """Topology of a TPU slice, such as `2x4`. Each slice of several hosts is a node pool."""
    topology_aware: bool | None = None
    """Let Kueue place jobs by the location of nodes: block and rack (A3, A4), or slice (TPU). The labels of the flavor
    are then immutable; to change them, give the flavor another name. Default: `false`."""
    version: str | None = None
    """Version of the nodes, in quotes: at most that of the control plane, and at most two minors older. A change
    recreates the nodes. By default GKE's, which follows the control plane."""
    zone: str | None = None
    """Zone of the nodes. A slice of several hosts is in exactly one zone; a fixed number of nodes needs zones. `berth
    plan` prints the zones of a pool without zones, which do not change when Berth's table of zones grows. By default
    the reservation's, else the cluster's, else the zones of the region that list the machine."""
    zones: Sequence[str] | None = None
    """Several zones of the nodes, instead of `zone`."""
