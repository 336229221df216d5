"""A team's own stack: workloads, with the configuration and secrets of their pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct

from berth.plan.teams import SecretPlan
from berth.plan.workloads import WorkloadPlan


class ConfigPlan(Struct, frozen=True, kw_only=True):
    """A ConfigMap; `files` maps file name → text."""

    name: str
    files: Mapping[str, str]


class SecretsPlan(Struct, frozen=True, kw_only=True):
    """A SecretProviderClass: references to secrets of Secret Manager, mounted as files. It has no secret values."""

    name: str
    secrets: tuple[SecretPlan, ...]


class PermissionPlan(Struct, frozen=True, kw_only=True):
    """Permissions in the team's namespace that deploying the stack needs: on `resources` of the API group `group`.

    `given` is whether the platform grants them to the team's groups.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    given: bool


class TeamStackPlan(Struct, frozen=True, kw_only=True):
    """All resources of one team stack, and the identity of its platform.

    `platform` is the name of the platform's stack, and `cluster_identifier` identifies its cluster. For an existing one
    so do the `context` and the `kubeconfig`, a path or `berth:<key of a secret>`. All objects have `labels` and are in
    `namespace`. `queues` are the names of the team's local queues. Keys of `workloads` are those of the stack file, as
    are those of `verdicts`: what lint says of each (runs, never or unknown). `allowed_changes` are reasons for what the
    guard would block.
    """

    backend: ClassVar[Literal["team"]] = "team"
    stack: str
    platform: str
    cluster_identifier: str
    context: str | None
    project: str
    team: str
    namespace: str
    groups: tuple[str, ...]
    labels: Mapping[str, str]
    queues: tuple[str, ...]
    configs: tuple[ConfigPlan, ...]
    secrets: tuple[SecretsPlan, ...]
    workloads: Mapping[str, WorkloadPlan]
    permissions: tuple[PermissionPlan, ...]
    verdicts: Mapping[str, str]
    allowed_changes: Mapping[str, str] = {}
    kubeconfig: str | None = None

    @property
    def is_on_google(self) -> bool:
        """Whether the identifier alone says which cluster it is: its project, location and name."""
        return self.context is None and self.cluster_identifier.startswith(f"{self.project}/")
