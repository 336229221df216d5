"""The hardware table: what GKE's accelerator machines are, and which slices they form. Facts only, no choices.

Pure: standard library, YAML and the plan's word for a taint. The data is `accelerators.yaml`, one row per machine type;
it is read at the first question, not at import. A new accelerator is a new row there, and nothing here.
"""

from berth.catalog.allocatable import Allocatable, allocatable
from berth.catalog.attached_gpus import NotAttachable, attached
from berth.catalog.rows import (
    Attachable,
    Generation,
    GpuDirect,
    Labels,
    Limits,
    Machine,
    Offer,
    Provisioning,
    SliceShape,
    Taints,
    Way,
)
from berth.catalog.slices import divisible_shape, slice_shape, topologies
from berth.catalog.table import (
    attachable,
    generations,
    gpudirect,
    labels,
    limits,
    machines,
    mig_partitions,
    noun,
    provisioning,
    resource,
    taints,
)

__all__ = [
    "Allocatable",
    "Attachable",
    "Generation",
    "GpuDirect",
    "Labels",
    "Limits",
    "Machine",
    "NotAttachable",
    "Offer",
    "Provisioning",
    "SliceShape",
    "Taints",
    "Way",
    "allocatable",
    "attachable",
    "attached",
    "divisible_shape",
    "generations",
    "gpudirect",
    "labels",
    "limits",
    "machines",
    "mig_partitions",
    "noun",
    "provisioning",
    "resource",
    "slice_shape",
    "taints",
    "topologies",
]
