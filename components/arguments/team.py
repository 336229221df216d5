"""Arguments of Team. `make golden` writes this module from the keys of the stack file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from berth.spec.fleet import FleetSpec
from berth.spec.model import Model
from berth.spec.teams import TeamSpec

from .base import ComponentArguments


class TeamArgs(ComponentArguments):
    """The namespaces of a team with their network policies, limits, quotas and rights, and the identity of its pods in
    Google Cloud. It contains no queues."""

    models: ClassVar[Sequence[type[Model]]] = (TeamSpec, FleetSpec)

    annotations: Mapping[str, str] | None = None
    """Annotations of the namespaces that Berth creates for the team, such as an owner for other tools. Not those of
    Kubernetes, Google, Pulumi and Berth, which grant rights."""
    bucket_mounts: Mapping[str, Mapping[str, Any]] | None = None
    """Buckets that `berth workload` mounts in the team's jobs, by name (docs/checkpointing.md#caches)."""
    create_roles: bool | None = None
    """Create the cluster roles that the rights of `groups` refer to. Write `false` where another Team or a Fleet
    creates them. Default: `true`."""
    default_requests: Mapping[str, Any] | None = None
    """Requests of containers that have none."""
    groups: Sequence[str] | None = None
    """Google groups whose members submit and watch the team's jobs."""
    identity: Mapping[str, Any] | None = None
    """Identity of the team's pods in Google Cloud."""
    labels: Mapping[str, str] | None = None
    """Labels of all objects of the team, for cost allocation."""
    max_grace_period: str | None = None
    """The longest grace period of pods on machines that another team can want back, from `30s` to `1h`. For so long a
    job that lost its quota may keep the machines (docs/tenancy.md#grace-periods). Default: `10m`."""
    name: str | None = None
    """Name of the team. By default the component's name."""
    namespace: Mapping[str, Any] | str | None = None
    """Namespace of the team: a name, or a mapping. By default the team's name."""
    namespaces: Sequence[Mapping[str, Any] | str] | None = None
    """Several namespaces instead of one. Jobs run in the first unless they name another."""
    network_policy: Mapping[str, Any] | None = None
    """What pods may reach."""
    pod_security: Literal["restricted", "baseline", "privileged"] | None = None
    """Pod Security level: `restricted`, `baseline` or `privileged`, which gives access to every node of the cluster. A
    written level has no exemptions. By default `baseline`, with exemptions for what jobs on the team's machines need of
    their nodes (docs/tenancy.md#pod-security)."""
    project: str | None = None
    """Project ID of the cluster. Needed for `identity`."""
    project_number: str | None = None
    """Number of the project, in quotes. Needed for direct grants to teams."""
    service_types: Sequence[Literal["LoadBalancer", "NodePort", "ExternalIPs"]] | None = None
    """Allowed service types besides `ClusterIP`."""
    volume_types: Mapping[str, str] | None = None
    """Inline volume types (`nfs`) and CSI drivers that pods may mount besides the allowed ones, each with a reason: the
    node mounts them beside the network policy (docs/tenancy.md#admission-policies)."""
