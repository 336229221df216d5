"""The hardware table: GKE's accelerator machines, the slices they form and the zones that list them. Facts only.

Pure: standard library, YAML and the plan's word for a taint. The data is `accelerators.yaml`, one row per machine type,
and `zones.yaml`; both are read at first use, not at import. A new accelerator is a new row there, and nothing here.
"""

from berth.catalog.allocatable import Allocatable, allocatable
from berth.catalog.attached_gpus import GpuAttachmentError, attach_gpus
from berth.catalog.rows import (
    AttachableGpus,
    Availability,
    Generation,
    GkeLimits,
    GkeTaints,
    GpuDirect,
    Machine,
    NodeLabelKeys,
    Provisioning,
    ProvisioningModel,
    SliceShape,
)
from berth.catalog.slices import divisible_shape, slice_shape, slice_topologies
from berth.catalog.table import (
    attachable_gpus,
    extended_resource,
    generations,
    gpudirect,
    labels,
    limits,
    machines,
    mig_partitions,
    noun,
    provisioning,
    taints,
)
from berth.catalog.zones import ListedZones, listed_zones, region_of, zone_table, zones_in

__all__ = [
    "Allocatable",
    "AttachableGpus",
    "Availability",
    "Generation",
    "GkeLimits",
    "GkeTaints",
    "GpuAttachmentError",
    "GpuDirect",
    "ListedZones",
    "Machine",
    "NodeLabelKeys",
    "Provisioning",
    "ProvisioningModel",
    "SliceShape",
    "allocatable",
    "attach_gpus",
    "attachable_gpus",
    "divisible_shape",
    "extended_resource",
    "generations",
    "gpudirect",
    "labels",
    "limits",
    "listed_zones",
    "machines",
    "mig_partitions",
    "noun",
    "provisioning",
    "region_of",
    "slice_shape",
    "slice_topologies",
    "taints",
    "zone_table",
    "zones_in",
]
