"""What a team keeps in each of its namespaces, as plain dicts: the namespace itself, its account, its secrets.

Who may do what is in `roles`, how far pods are shut in is in `isolation`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from berth.manifests import isolation, roles
from berth.names import berth_labels
from berth.plan.gke import ServiceAccountPlan
from berth.plan.policies import (
    CAPABILITIES,
    HOST_NETWORK,
    HOST_PATHS,
    POD_PRIORITIES,
    POD_SECURITY_LABEL,
    READ_ONLY_HOST_PATHS,
    SERVICE_TYPES,
)
from berth.plan.teams import (
    SECRETS,
    HostAccessPlan,
    IdentityPlan,
    IsolationPlan,
    NamespacePlan,
    SecretPlan,
    TeamPlan,
)

Manifest = dict[str, object]

ACCOUNT_ANNOTATION: Final = "iam.gke.io/gcp-service-account"
"""The annotation by which a Kubernetes service account names the Google one it may impersonate."""

_POD_SECURITY: Final = "pod-security.kubernetes.io"


def namespace(team: TeamPlan, namespace_plan: NamespacePlan) -> Manifest:
    """A namespace of the team, with its labels, the levels of Pod Security Admission, and what policies read.

    Pod Security Admission knows no exemption for one field: where the plan exempts something, it lets everything pass,
    and the admission policies hold pods to the level.
    """
    isolation_plan = team.isolation
    enforced = isolation_plan.pod_security if isolation_plan.host_access is None else "privileged"
    levels = {
        POD_SECURITY_LABEL: isolation_plan.pod_security,
        f"{_POD_SECURITY}/enforce": enforced,
        f"{_POD_SECURITY}/warn": isolation_plan.pod_security_warning,
    }
    metadata: Manifest = {"name": namespace_plan.name, "labels": team_labels(team) | levels}
    if annotations := _policy_annotations(isolation_plan):
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _policy_annotations(plan: IsolationPlan) -> dict[str, str]:
    """What the admission policies read: exemptions and classes of this team; a key only where there is something."""
    access = plan.host_access or HostAccessPlan()
    values = {
        CAPABILITIES: access.capabilities,
        HOST_NETWORK: access.network_for,
        HOST_PATHS: access.paths,
        POD_PRIORITIES: plan.priorities,
        READ_ONLY_HOST_PATHS: access.read_only_paths,
        SERVICE_TYPES: plan.service_types,
    }
    return {key: ",".join(items) for key, items in values.items() if items}


def namespace_manifests(team: TeamPlan, namespace_plan: NamespacePlan) -> Iterator[tuple[str, Manifest]]:
    """Role and manifest of all that the team has in one namespace, but for its local queues.

    Into a namespace that is not its own go only its account, its secrets and the rights of its people.
    """
    labels = team_labels(team)
    if namespace_plan.owned:
        yield "quota", isolation.resource_quota(team.isolation, namespace_plan.name, labels)
        yield "limits", isolation.limit_range(team.isolation, namespace_plan.name, labels)
        if team.isolation.egress is not None:
            names = [each.name for each in team.namespaces]
            yield "network-policy", isolation.network_policy(team.isolation, namespace_plan.name, names, labels)
    if team.identity is not None:
        yield "service-account", service_account(team, namespace_plan, team.identity)
        if team.identity.secrets:
            yield "secrets", secrets_volume(team, namespace_plan, team.identity)
    if team.groups:
        yield "submitters", roles.submitter_binding(team.groups, namespace_plan.name, labels)


def service_account(team: TeamPlan, namespace_plan: NamespacePlan, identity: IdentityPlan) -> Manifest:
    """Who the team's pods are; annotated where it impersonates a Google service account.

    Pods get no token for the Kubernetes API: Google's comes from the metadata server, which needs none.
    """
    metadata = _metadata(team, namespace_plan, identity.service_account)
    if identity.impersonates is not None:
        metadata["annotations"] = _impersonation(identity.impersonates)
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata,
        "automountServiceAccountToken": False,
    }


def secrets_volume(team: TeamPlan, namespace_plan: NamespacePlan, identity: IdentityPlan) -> Manifest:
    """Which secrets of Secret Manager a volume of the team holds."""
    return secret_provider_class(_metadata(team, namespace_plan, SECRETS), identity.secrets)


def secret_provider_class(metadata: Manifest, secrets: Sequence[SecretPlan]) -> Manifest:
    """Secrets of Secret Manager as files of a volume, for GKE's Secret Manager add-on (provider `gke`)."""
    secret_files = [{"resourceName": _version(each), "path": each.file} for each in secrets]
    return {
        "apiVersion": "secrets-store.csi.x-k8s.io/v1",
        "kind": "SecretProviderClass",
        "metadata": metadata,
        # A text that the provider reads as YAML, which JSON is.
        "spec": {"provider": "gke", "parameters": {"secrets": json.dumps(secret_files, indent=2) + "\n"}},
    }


def team_labels(team: TeamPlan) -> dict[str, str]:
    """The labels of everything that is the team's; a new dict each time."""
    return {**team.labels, **berth_labels(team.name)}


def _version(secret: SecretPlan) -> str:
    return f"projects/{secret.project}/secrets/{secret.secret}/versions/{secret.version}"


def _metadata(team: TeamPlan, namespace_plan: NamespacePlan, name: str) -> Manifest:
    return {"name": name, "namespace": namespace_plan.name, "labels": team_labels(team)}


def _impersonation(account: ServiceAccountPlan) -> dict[str, str]:
    return {ACCOUNT_ANNOTATION: account.email}
