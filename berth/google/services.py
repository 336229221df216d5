"""The Google APIs that a fleet needs."""

from __future__ import annotations

from collections.abc import Iterable

from berth.registration import Registration


def services(apis: Iterable[str], project: str) -> dict[str, Registration]:
    """Return each API (compute.googleapis.com) as enabled, and never disabled: others in the project may use it."""
    return {
        api: Registration(
            type="gcp:projects/service:Service",
            arguments={"project": project, "service": api, "disable_on_destroy": False},
        )
        for api in sorted(apis)
    }
