"""A team's namespace and service account as plain dicts; who may do what in them is not here."""

from __future__ import annotations

from typing import Final

from components.names import berth_labels
from components.plan.gke import ServiceAccountPlan
from components.plan.teams import IdentityPlan, TeamPlan

Manifest = dict[str, object]

GOOGLE_ACCOUNT: Final = "iam.gke.io/gcp-service-account"
"""The annotation by which a Kubernetes service account names the Google one it may impersonate."""


def namespace(team: TeamPlan) -> Manifest:
    """The team's namespace, with the labels of the team."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team.namespace, "labels": _labels(team)}}


def service_account(team: TeamPlan, identity: IdentityPlan) -> Manifest:
    """Who the team's pods are; annotated where it impersonates a Google service account."""
    metadata: Manifest = {"name": identity.service_account, "namespace": team.namespace, "labels": _labels(team)}
    if identity.impersonates is not None:
        metadata["annotations"] = _impersonation(identity.impersonates)
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _labels(team: TeamPlan) -> dict[str, str]:
    return {**team.labels, **berth_labels(team.name)}


def _impersonation(account: ServiceAccountPlan) -> dict[str, str]:
    return {GOOGLE_ACCOUNT: account.email}
