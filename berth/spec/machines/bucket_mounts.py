"""Schema of buckets that jobs mount with Cloud Storage FUSE, with its caches, and of multi-tier checkpointing."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.amounts import Bytes
from berth.spec.base import MachineType, Model, Text, validation_fault
from berth.spec.model import Field, check_model

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


MountPath = Annotated[
    str, Text(r"(/[A-Za-z0-9._-]+)+", "an absolute path such as /data: letters, digits, '-', '_' and '.'")
]


class FileCacheSpec(Model):
    """Files of a bucket that a pod keeps, so that it reads them once."""

    capacity: Bytes
    """The most that the cache takes in each pod, such as `100Gi`."""
    medium: Literal["node-disk", "local-ssd", "memory", "persistent-disk"] = "node-disk"
    """Where it is: `node-disk`, the storage that nodes have for pods; `local-ssd`, the same on nodes whose storage is
    local SSDs; `memory` of the node; or `persistent-disk`, a disk that GKE makes for each pod."""


class MetadataCacheSpec(Model):
    """What a pod keeps of a bucket's names and attributes, in memory."""

    ttl_seconds: int = Field(default=60, ge=-1, le=31536000)
    """How long an entry is used without asking the bucket; `-1` always, `0` never."""
    stat_capacity: Bytes = Field(default=32 * 2**20, json_schema_extra={"default": "32Mi"})
    """Memory for attributes of files."""
    type_capacity: Bytes = Field(default=4 * 2**20, json_schema_extra={"default": "4Mi"})
    """Memory for what is a folder."""


class BucketMountSpec(Model):
    """A bucket that the jobs of a team mount with Cloud Storage FUSE."""

    bucket: BucketName
    """The bucket; `identity.buckets` has the team's role on it."""
    path: MountPath | None = None
    """Folder in the containers. By default `/` and the name of the mount."""
    read_only: bool = False
    """Mount it for reading only."""
    file_cache: FileCacheSpec | None = None
    """Cache of files. By default none."""
    metadata_cache: MetadataCacheSpec | None = None
    """Cache of names and attributes. By default that of Cloud Storage FUSE."""
    parallel_downloads: bool = False
    """Download parts of a large file at the same time, into its cache."""

    @check_model
    def _check_downloads(self) -> BucketMountSpec:
        if self.parallel_downloads and self.file_cache is None:
            raise validation_fault(
                "missing-key",
                "parallelDownloads: parts of files are downloaded into the cache; write fileCache: {capacity: 50Gi}",
            )
        return self
