"""Facts: GKE's accelerator machines, the slices they form, the zones that list them, their quotas; GKE's releases.

Pure: standard library, YAML and the plan's word for a taint. The data is `accelerators.yaml` (a row per machine type),
`cpu_machines.yaml` (a row per series without accelerators), `zones.yaml`, `quotas.yaml` and `releases.yaml`; each is
read at first use. `tables.yaml` has the day of each. A new accelerator is a new row there.
"""

from berth.catalog.allocatable import Allocatable, allocatable, node_allocatable
from berth.catalog.attached_gpus import GpuAttachmentError, attach_gpus
from berth.catalog.cpu_machines import (
    CORES,
    CPU,
    cpu_machine,
    cpu_machine_names,
    cpu_machine_of_size,
    cpu_machine_types,
    host_without_gpus,
    memory_per_core,
)
from berth.catalog.gke_versions import InvalidVersionError, VersionOrder, compare_version, minor_of, parse_version
from berth.catalog.quotas import AcceleratorQuotas, QuotaMetric, quota_table, series_quotas
from berth.catalog.releases import MinorRelease, Releases, end_of_support, releases, supported_minor
from berth.catalog.rows import (
    AttachableGpus,
    Availability,
    Confidence,
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
from berth.catalog.tables import FactTable, fact_tables
from berth.catalog.zones import ListedZones, listed_zones, region_of_zone, zone_table, zones_in

__all__ = [
    "CORES",
    "CPU",
    "AcceleratorQuotas",
    "Allocatable",
    "AttachableGpus",
    "Availability",
    "Confidence",
    "FactTable",
    "Generation",
    "GkeLimits",
    "GkeTaints",
    "GpuAttachmentError",
    "GpuDirect",
    "InvalidVersionError",
    "ListedZones",
    "Machine",
    "MinorRelease",
    "NodeLabelKeys",
    "Provisioning",
    "ProvisioningModel",
    "QuotaMetric",
    "Releases",
    "SliceShape",
    "VersionOrder",
    "allocatable",
    "attach_gpus",
    "attachable_gpus",
    "compare_version",
    "cpu_machine",
    "cpu_machine_names",
    "cpu_machine_of_size",
    "cpu_machine_types",
    "divisible_shape",
    "end_of_support",
    "extended_resource",
    "fact_tables",
    "generations",
    "gpudirect",
    "host_without_gpus",
    "labels",
    "limits",
    "listed_zones",
    "machines",
    "memory_per_core",
    "mig_partitions",
    "minor_of",
    "node_allocatable",
    "noun",
    "parse_version",
    "provisioning",
    "quota_table",
    "region_of_zone",
    "releases",
    "series_quotas",
    "slice_shape",
    "slice_topologies",
    "supported_minor",
    "taints",
    "zone_table",
    "zones_in",
]
