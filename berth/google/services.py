"""A Google API that a fleet needs."""

from __future__ import annotations

from berth.registration import Registration


def enabled_service(api: str, project: str) -> Registration:
    """Return an API (compute.googleapis.com) as enabled, and never disabled: others in the project may use it."""
    return Registration(
        type="gcp:projects/service:Service",
        arguments={"project": project, "service": api, "disable_on_destroy": False},
    )
