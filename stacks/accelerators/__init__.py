"""The hardware table: what GKE's accelerator machines are, and which slices they form. Facts only, no choices.

Pure: standard library, YAML and the plan's word for a taint. The data is `accelerators.yaml`, one row per machine type;
it is read at the first question, not at import. A new accelerator is a new row there, and nothing here.
"""

from stacks.accelerators.attached import NotAttachable, attached
from stacks.accelerators.rows import Attachable, Generation, Labels, Limits, Machine, SliceShape, Taints
from stacks.accelerators.slices import divisible_shape, slice_shape, topologies
from stacks.accelerators.table import (
    attachable,
    generations,
    labels,
    limits,
    machines,
    mig_partitions,
    noun,
    resource,
    taints,
)

__all__ = [
    "Attachable",
    "Generation",
    "Labels",
    "Limits",
    "Machine",
    "NotAttachable",
    "SliceShape",
    "Taints",
    "attachable",
    "attached",
    "divisible_shape",
    "generations",
    "labels",
    "limits",
    "machines",
    "mig_partitions",
    "noun",
    "resource",
    "slice_shape",
    "taints",
    "topologies",
]
