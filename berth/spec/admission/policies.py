"""Schema of admission policies: how they answer, and the values of a team's settings that they read."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final

from berth.spec.amounts import Seconds
from berth.spec.base import Model, Text, validation_fault
from berth.spec.core import AfterValidator
from berth.spec.model import check_model


def _grace_period(value: int) -> int:
    """Return the seconds; raise a fault where a pod's default is longer, or a lender would wait too long."""
    if not MIN_GRACE <= value <= MAX_GRACE:
        problem = "shorter than 30s, the default of pods" if value < MIN_GRACE else "longer than 1h"
        raise validation_fault("bad-value", f"'{value}s' is {problem}; write one from 30s to 1h, such as 10m")
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


NEW_POLICIES: Final = (
    "affinity",
    "deletion",
    "endings",
    "grace",
    "growth",
    "machines",
    "platform",
    "queues",
    "reserved",
    "scale",
    "tolerations",
    "volumes",
    "workloads",
    "wrappers",
)
"""Admission policies that a fleet may first have warn."""
PolicyName = Annotated[
    str, Text("|".join(NEW_POLICIES), f"a policy that can warn first; write one of {', '.join(NEW_POLICIES)}")
]


def _day(value: str) -> str:
    """Return the date; raise a fault if the calendar has no such day."""
    try:
        date.fromisoformat(value)
    except ValueError as error:
        raise validation_fault(
            "bad-value", f"'{value}' is not a day of the calendar; write one such as \"2027-01-31\""
        ) from error
    return value


PolicyDate = Annotated[
    str,
    Text(r"20\d\d-\d\d-\d\d", 'a date of the form YYYY-MM-DD in quotes, such as "2027-01-31"'),
    AfterValidator(_day),
]


class PolicySpec(Model):
    """How an admission policy answers."""

    enforce: bool = True
    """`false` only warns the user and writes to the audit log, until a date."""
    until: PolicyDate | None = None
    """Date until which the policy only warns, in quotes (`"2027-01-31"`). `berth check` warns after it."""

    @check_model
    def _check_date(self) -> PolicySpec:
        """Check that a policy that only warns has a date, and no other one has."""
        if not self.enforce and self.until is None:
            raise validation_fault(
                "contradiction", 'enforce: false without a date would last forever; write until: "YYYY-MM-DD"'
            )
        if self.enforce and self.until is not None:
            message = "until has no effect on a policy that is enforced; write enforce: false, or remove until"
            raise validation_fault("contradiction", message)
        return self
