"""Schema of how admission policies answer."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final

from berth.spec.base import Model, Text, validation_fault
from berth.spec.core import AfterValidator
from berth.spec.model import check_model

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
        message = f"'{value}' is not a day of the calendar; write one such as \"2027-01-31\""
        raise validation_fault("bad-value", message) from error
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
            message = 'enforce: false without a date would last forever; write until: "YYYY-MM-DD"'
            raise validation_fault("contradiction", message)
        if self.enforce and self.until is not None:
            message = "until has no effect on a policy that is enforced; write enforce: false, or remove until"
            raise validation_fault("contradiction", message)
        return self
