"""Checks of pods that claim devices (Dynamic Resource Allocation).

Source: Kueue 0.19.2 `pkg/dra/claims.go`: a claim counts by the mapping of its device class, and a workload with a class
that no mapping has is never admitted.
"""

from __future__ import annotations

from berth.jobs.pods import read_pod_spec
from berth.lint.fleet import SubmittedJob


def check_resource_claims(job: SubmittedJob) -> None:
    """Report claims that Kueue cannot count, and warn that those it counts are not checked."""
    kueue = job.context.plan.kueue
    for template in job.job.templates:
        claims = (read_pod_spec(template) or {}).get("resourceClaims")
        if claims is None or not claims.value:
            continue
        if kueue is not None and not kueue.device_mappings:
            remedy = "write kueue.resources.deviceClassMappings, or request an extended resource"
            message = f"no device class is mapped to a resource, so Kueue never admits pods with claims; {remedy}"
            claims.fault("not-covered", message)
        else:
            message = "its other requests are checked; not checked: the devices of its resource claims"
            job.warn("not-checked", claims.path, message)
