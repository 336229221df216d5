"""What a team's own stack is made of: its workloads, with the configuration and the secrets that their pods read."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from berth.plan.existing import ExistingClusterPlan
from berth.plan.gke import ClusterPlan
from berth.plan.teams import SecretPlan
from berth.plan.workloads import WorkloadPlan


class ConfigPlan(Struct, frozen=True, kw_only=True):
    """A ConfigMap; `files` maps a file's name to its text."""

    name: str
    files: Mapping[str, str]


class SecretsPlan(Struct, frozen=True, kw_only=True):
    """A SecretProviderClass: secrets of Secret Manager, each as a file. No value of a secret is ever in it."""

    name: str
    secrets: tuple[SecretPlan, ...]


class PermissionPlan(Struct, frozen=True, kw_only=True):
    """Rights in the team's namespace that the stack's deployment needs: on `resources` of the API group `group`.

    `given` says whether the platform gives them to the team's groups.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    given: bool


class TeamStackPlan(Struct, frozen=True, kw_only=True):
    """All that one team stack describes, and what it takes its platform to be.

    `platform` is the name of the platform's stack, and `cluster_identifier` what tells its cluster from others, of an
    existing one with the `context` in the kubeconfig;
    `labels` are on everything, and everything stands in `namespace`. `queues` are the team's own, by the names of their
    local queues. Keys of `workloads` are those of the stack file.
    """

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


def cluster_identifier(plan: ClusterPlan | ExistingClusterPlan) -> str:
    """What tells a cluster from all others, whatever its address and its certificate."""
    if isinstance(plan, ExistingClusterPlan):
        return plan.name
    return f"{plan.project}/{plan.location}/{plan.name}"
