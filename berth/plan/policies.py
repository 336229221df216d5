"""What the API server itself refuses in the namespaces of teams (ValidatingAdmissionPolicy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

POD_SECURITY_LABEL: Final = "berth.dev/pod-security"
"""Label of a namespace: the Pod Security level that its pods are held to, exemptions aside."""
HOST_NETWORK: Final = "berth.dev/host-network"
"""Annotation: the accelerators whose pods may use the network of their node, by resource name."""
HOST_PATHS: Final = "berth.dev/host-paths"
"""Annotation: folders of the node that pods may mount and write to."""
READ_ONLY_HOST_PATHS: Final = "berth.dev/read-only-host-paths"
"""Annotation: folders of the node that pods may mount, read-only."""
CAPABILITIES: Final = "berth.dev/capabilities"
"""Annotation: Linux capabilities that containers may add to those of the level `baseline`."""
POD_PRIORITIES: Final = "berth.dev/pod-priorities"
"""Annotation: the PriorityClasses that pods may have."""
SERVICE_TYPES: Final = "berth.dev/service-types"
"""Annotation: what services may be besides ClusterIP: LoadBalancer, NodePort, ExternalIPs."""


class PoliciesPlan(Struct, frozen=True, kw_only=True):
    """The admission policies of one cluster; what differs by team is in annotations of its namespaces.

    `job_kinds` are the resources that Kueue queues, by API group (`batch` → `jobs`). `accelerators` are the resource
    names that only pods of such jobs may ask for. `shared_namespaces` belong to somebody else: the policies of jobs
    hold there, those of pods and services do not.
    """

    job_kinds: Mapping[str, tuple[str, ...]]
    accelerators: tuple[str, ...]
    shared_namespaces: tuple[str, ...] = ()
