"""Facts: GKE's accelerator machines, the slices they form, the zones that list them and the quotas they count against.

Pure: standard library, YAML and the plan's word for a taint. The data is `accelerators.yaml` (a row per machine type),
`zones.yaml` and `quotas.yaml`; each is read at first use, not at import. A new accelerator is a new row there.
"""

from berth.catalog.allocatable import Allocatable, allocatable
from berth.catalog.attached_gpus import GpuAttachmentError, attach_gpus
from berth.catalog.quotas import AcceleratorQuotas, QuotaMetric, quota_table, series_quotas
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
    "AcceleratorQuotas",
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
    "QuotaMetric",
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
    "quota_table",
    "region_of",
    "series_quotas",
    "slice_shape",
    "slice_topologies",
    "taints",
    "zone_table",
    "zones_in",
]
