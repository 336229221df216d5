"""Schema of GKE's multi-tier checkpointing: checkpoints in the memory of nodes, copied to other nodes and a bucket."""

from __future__ import annotations

from typing import Annotated

from berth.spec.amounts import Bytes
from berth.spec.base import MachineType, Model, Text

BucketName = Annotated[
    str,
    Text(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]", "a bucket's name: lower-case letters, digits, '-', '_' and '.'"),
]


class CheckpointingSpec(Model):
    """Multi-tier checkpointing: JobSets save checkpoints in a volume in the memory of their nodes, which GKE copies."""

    bucket: BucketName
    """Bucket that GKE copies the checkpoints to. It exists, with a hierarchical namespace; Berth lets GKE write to
    it."""
    machine_type: MachineType
    """Machine type of the nodes with the volume; a cluster has one."""
    in_memory_volume_size: Bytes
    """Memory of each of these nodes that the volume may take, such as `200Gi`. Berth counts none of it for jobs."""
