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
from berth.plan.teams import SECRETS, IdentityPlan, NamespacePlan, SecretPlan, TeamPlan

Manifest = dict[str, object]

GOOGLE_ACCOUNT: Final = "iam.gke.io/gcp-service-account"
"""The annotation by which a Kubernetes service account names the Google one it may impersonate."""

_POD_SECURITY: Final = "pod-security.kubernetes.io"


def namespace(team: TeamPlan, place: NamespacePlan) -> Manifest:
    """A namespace of the team, with its labels and the levels of Pod Security Admission."""
    shut = team.isolation
    levels = {f"{_POD_SECURITY}/enforce": shut.pod_security, f"{_POD_SECURITY}/warn": shut.pod_security_warning}
    labels = labels_of(team) | levels
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.name, "labels": labels}}


def inside(team: TeamPlan, place: NamespacePlan) -> Iterator[tuple[str, Manifest]]:
    """Role and manifest of all that the team has in one namespace, but for its local queues.

    Into a namespace that is not its own go only its account, its secrets and the rights of its people.
    """
    labels = labels_of(team)
    if place.owned:
        yield "quota", isolation.resource_quota(team.isolation, place.name, labels)
        yield "limits", isolation.limit_range(team.isolation, place.name, labels)
        if team.isolation.egress is not None:
            names = [each.name for each in team.namespaces]
            yield "network-policy", isolation.network_policy(team.isolation, place.name, names, labels)
    if team.identity is not None:
        yield "service-account", service_account(team, place, team.identity)
        if team.identity.secrets:
            yield "secrets", secrets(team, place, team.identity)
    if team.groups:
        yield "submitters", roles.submitters(team.groups, place.name, labels)


def service_account(team: TeamPlan, place: NamespacePlan, identity: IdentityPlan) -> Manifest:
    """Who the team's pods are; annotated where it impersonates a Google service account.

    Pods get no token for the Kubernetes API: Google's comes from the metadata server, which needs none.
    """
    metadata = _metadata(team, place, identity.service_account)
    if identity.impersonates is not None:
        metadata["annotations"] = _impersonation(identity.impersonates)
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata,
        "automountServiceAccountToken": False,
    }


def secrets(team: TeamPlan, place: NamespacePlan, identity: IdentityPlan) -> Manifest:
    """Which secrets of Secret Manager a volume of the team holds."""
    return secret_provider_class(_metadata(team, place, SECRETS), identity.secrets)


def secret_provider_class(metadata: Manifest, secrets: Sequence[SecretPlan]) -> Manifest:
    """Secrets of Secret Manager as files of a volume, for GKE's Secret Manager add-on (provider `gke`)."""
    listed = [{"resourceName": _version(each), "path": each.file} for each in secrets]
    return {
        "apiVersion": "secrets-store.csi.x-k8s.io/v1",
        "kind": "SecretProviderClass",
        "metadata": metadata,
        # A text that the provider reads as YAML, which JSON is.
        "spec": {"provider": "gke", "parameters": {"secrets": json.dumps(listed, indent=2) + "\n"}},
    }


def labels_of(team: TeamPlan) -> dict[str, str]:
    """The labels of everything that is the team's; a new dict each time."""
    return {**team.labels, **berth_labels(team.name)}


def _version(secret: SecretPlan) -> str:
    return f"projects/{secret.project}/secrets/{secret.secret}/versions/{secret.version}"


def _metadata(team: TeamPlan, place: NamespacePlan, name: str) -> Manifest:
    return {"name": name, "namespace": place.name, "labels": labels_of(team)}


def _impersonation(account: ServiceAccountPlan) -> dict[str, str]:
    return {GOOGLE_ACCOUNT: account.email}
