"""Arguments of Cluster. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import pulumi

from berth.spec.cluster import ClusterSpec
from berth.spec.fleet import FleetSpec
from berth.spec.model import Model

from .base import ComponentArguments


class ClusterArgs(ComponentArguments):
    """A GKE cluster in a network that exists already. Its nodes are those of NodePools."""

    models: ClassVar[Sequence[type[Model]]] = (ClusterSpec, FleetSpec)

    network: pulumi.Input[str]
    """Path or ID of the VPC, such as the output `network` of a Network."""
    node_service_account: pulumi.Input[str]
    """Google service account of the nodes that GKE makes itself."""
    project: str
    """Google Cloud project ID, not the number. Required, unless the cluster is an existing one."""
    region: str
    """Region of the cluster, such as `us-central1`. Required as `project` is."""
    subnetwork: pulumi.Input[str]
    """Path or ID of the subnet, such as the output `subnetwork` of a Network."""
    accept_region: bool | None = None
    """Accept a region, or zones of the cluster, that are newer than Berth's table. Default: `false`."""
    boot_disk_kms_key: pulumi.Input[str] | None = None
    """Key of Cloud KMS that encrypts the boot disks of all nodes; Compute Engine's service agent must be allowed to use
    it. A change replaces the node pools. By default Google's own keys."""
    confidential_nodes: Literal["SEV", "SEV_SNP", "TDX"] | None = None
    """Technology that encrypts the memory of every node, including the system pool."""
    control_plane: Mapping[str, Any] | None = None
    """Access to the control plane."""
    database_encryption: Mapping[str, Any] | None = None
    """Encryption of Secrets in the cluster's database with a key of Cloud KMS. By default Google's own keys."""
    datapath_provider: Literal["advanced", "legacy"] | None = None
    """Data plane of a Standard cluster: `advanced` is Dataplane V2, `legacy` is not. A change replaces the cluster.
    Default: `advanced`."""
    deletion_protection: bool | None = None
    """GKE's own protection from deletion, in addition to Pulumi's. Default: `true`."""
    dns_endpoint: bool | None = None
    """Give the control plane a DNS endpoint with access by IAM, which the kubeconfig then uses."""
    fleet_project: str | None = None
    """Project of the GKE fleet that the cluster is a member of."""
    gateway_api: bool | None = None
    """Install the Gateway API. Default: `false`."""
    image_streaming: bool | None = None
    """Start containers before their image is complete. Default: `true`."""
    labels: Mapping[str, str] | None = None
    """Google Cloud labels of the cluster."""
    logging_components: Sequence[Literal["WORKLOADS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER"]] | None = None
    """Logs that GKE sends to Cloud Logging besides those of its system components: those of all pods (`WORKLOADS`), and
    of the control plane. By default `[WORKLOADS]`."""
    maintenance: Mapping[str, Any] | None = None
    """When GKE may upgrade, and when not, in UTC. GKE requires 48 hours in 92 days, in windows of at least 4 hours."""
    mode: Literal["standard", "autopilot"] | None = None
    """`standard`, or `autopilot`, where GKE creates all nodes. Default: `standard`."""
    multi_networking: bool | None = None
    """Enable several networks for pods. Always on if a pool has `networking: gpudirect`. It cannot be changed on an
    existing cluster, so write `true` to keep it after removing such pools, or to prepare a new cluster for them.
    Default: `false`."""
    name: str | None = None
    """Name of the cluster, at most 40 characters. By default the component's name."""
    node_auto_provisioning: Mapping[str, Any] | None = None
    """Limits of node auto-provisioning. Without them it is off."""
    pod_range_name: str | None = None
    """Name of the subnet's secondary range for pods. Default: `pods`, as in a Network."""
    private_nodes: bool | None = None
    """Create nodes without public addresses. If written, it is also set on every node pool, because GKE's default
    applies only to new pools: existing pools get new nodes. To undo `false`, write `true`; removing the key changes
    nothing. Default: `true`."""
    protect: bool | None = None
    """Protect the cluster from replacement and deletion. Default: `true`."""
    release_channel: Literal["rapid", "regular", "stable", "extended"] | None = None
    """Release channel of GKE. Default: `regular`."""
    service_range_name: str | None = None
    """Name of the subnet's secondary range for services. Default: `services`, as in a Network."""
    shielded_nodes: bool | None = None
    """Verify the identity of nodes. Default: `true`."""
    storage_drivers: Sequence[Literal["gcs-fuse", "filestore", "parallelstore", "lustre"]] | None = None
    """CSI drivers that GKE installs. Of an existing cluster they state what it has."""
    version: str | None = None
    """Version of the control plane, in quotes. Berth compares it with what pools need, and without it `berth plan`
    notes its assumption. A new cluster is created with it: a minor version such as `"1.35"` means its newest patch, and
    GKE refuses an exact patch (`-gke.N`) after some weeks. For an existing GKE cluster of the stack it is a minimum:
    GKE upgrades an older cluster to it, and never downgrades. By default the channel's."""
    zones: Sequence[str] | None = None
    """Zones of the cluster's nodes, and of pools that name none. By default GKE's choice."""
