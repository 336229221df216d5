"""Values of a team's settings that admission policies read: grace periods and volume types."""

from __future__ import annotations

from typing import Annotated, Final

from berth.spec.amounts import Seconds
from berth.spec.base import Text, validation_fault
from berth.spec.core import AfterValidator


def _grace_period(value: int) -> int:
    """Return the seconds; raise a fault where a pod's default is longer, or a lender would wait too long."""
    if not MIN_GRACE <= value <= MAX_GRACE:
        problem = "shorter than 30s, the default of pods" if value < MIN_GRACE else "longer than 1h"
        message = f"'{value}s' is {problem}; write one from 30s to 1h, such as 10m"
        raise validation_fault("bad-value", message)
    return value


MOUNTED_BY_THE_NODE: Final = (
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
)
"""Inline volume types that the Pod Security level `restricted` refuses, without hostPath."""
MIN_GRACE: Final = 30
MAX_GRACE: Final = 3600
"""Limits of `maxGracePeriod` in seconds: the default grace period of pods, and what a lender may have to wait."""
GracePeriod = Annotated[Seconds, AfterValidator(_grace_period)]
VolumeType = Annotated[
    str,
    Text(
        "|".join(MOUNTED_BY_THE_NODE) + r"|[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+",
        "a volume type such as nfs, or the name of a CSI driver such as lustre.csi.storage.gke.io",
    ),
]
