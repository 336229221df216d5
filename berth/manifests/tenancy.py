"""Objects of a team's namespaces as plain dicts: the namespace, its service account, its secrets.

Access of people is in `roles`, isolation of pods in `isolation`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from berth.manifests import isolation, roles
from berth.manifests.serving import capacity_buffers
from berth.names import berth_labels
from berth.plan.kueue import ClaimTemplatePlan
from berth.plan.policies import (
    CAPABILITIES,
    DEFAULT_MAX_GRACE,
    HOST_NETWORK,
    HOST_PATHS,
    MAX_GRACE,
    PLAIN_MACHINES,
    PLAIN_QUEUES,
    POD_PRIORITIES,
    POD_SECURITY,
    POD_SECURITY_LABEL,
    QUEUE_CEILINGS,
    QUEUE_PRIORITIES,
    READ_ONLY_HOST_PATHS,
    RUN_DURATIONS,
    SERVICE_TYPES,
    TEAM_NAMESPACES,
    UNLIMITED,
    VOLUME_TYPES,
)
from berth.plan.teams import (
    SECRETS,
    HostAccessPlan,
    IdentityPlan,
    NamespacePlan,
    SecretPlan,
    TeamPlan,
)

Manifest = dict[str, object]

ACCOUNT_ANNOTATION: Final = "iam.gke.io/gcp-service-account"
"""Annotation of a Kubernetes service account with the Google service account that it impersonates."""


def namespace(team: TeamPlan, namespace_plan: NamespacePlan) -> Manifest:
    """Return a namespace of the team, with labels, levels of Pod Security Admission, and annotations for policies.

    Pod Security Admission has no exemptions for single fields: if the plan has exemptions, it is set to privileged, and
    the admission policies enforce the level.
    """
    isolation_plan = team.isolation
    enforced = isolation_plan.pod_security if isolation_plan.host_access is None else "privileged"
    levels = {
        POD_SECURITY_LABEL: isolation_plan.pod_security,
        f"{POD_SECURITY}/enforce": enforced,
        f"{POD_SECURITY}/warn": isolation_plan.pod_security_warning,
    }
    limits = ",".join(f"{queue}={seconds}" for queue, seconds in sorted(namespace_plan.run_limits.items()))
    annotations = _policy_annotations(team, namespace_plan) | ({RUN_DURATIONS: limits} if limits else {})
    return team_namespace(team, namespace_plan.name, levels, annotations)


def team_namespace(
    team: TeamPlan, name: str, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
) -> Manifest:
    """Return a namespace with what every object of the team has, and with labels and annotations of its own."""
    metadata: Manifest = {"name": name, "labels": {**team_labels(team), **(labels or {})}}
    if everything := {**team.settings.annotations, **(annotations or {})}:
        metadata["annotations"] = everything
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _policy_annotations(team: TeamPlan, namespace_plan: NamespacePlan) -> dict[str, str]:
    """Return annotations for the admission policies: the team's exemptions, limits and priorities; omitted if empty."""
    plan = team.isolation
    access = plan.host_access or HostAccessPlan()
    names = [each.name for each in team.namespaces]
    grace = UNLIMITED if plan.max_grace is None else str(plan.max_grace)
    shared = namespace_plan.shared_queues
    values = {
        CAPABILITIES: access.capabilities,
        HOST_NETWORK: access.network_for,
        HOST_PATHS: access.paths,
        MAX_GRACE: () if plan.max_grace == DEFAULT_MAX_GRACE else (grace,),
        PLAIN_MACHINES: [
            f"{name}/{key}={value}"
            for name, labels in sorted(namespace_plan.plain_machines.items())
            for key, value in labels
        ],
        PLAIN_QUEUES: namespace_plan.plain_queues,
        POD_PRIORITIES: plan.priorities,
        QUEUE_CEILINGS: [f"{q.name}/{name}={most}" for q in shared for name, most in sorted(q.ceilings.items())],
        QUEUE_PRIORITIES: [f"{q.name}={priority}" for q in shared for priority in (*q.priorities, "")],
        READ_ONLY_HOST_PATHS: access.read_only_paths,
        SERVICE_TYPES: plan.service_types,
        TEAM_NAMESPACES: sorted(names) if len(names) > 1 else (),
        VOLUME_TYPES: sorted(team.settings.volume_types),
    }
    return {key: ",".join(items) for key, items in values.items() if items}


def namespace_manifests(team: TeamPlan, namespace_plan: NamespacePlan) -> Iterator[tuple[str, Manifest]]:
    """Yield the name in the Pulumi program and the manifest of all objects in a namespace, except local queues.

    In a namespace that the team does not own, it has only its service account, its secrets and access for its people.
    """
    labels = team_labels(team)
    if namespace_plan.owned:
        yield "quota", isolation.resource_quota(team.isolation, namespace_plan.name, labels)
        yield "limits", isolation.limit_range(team.isolation, namespace_plan.name, labels)
        if team.isolation.egress is not None:
            names = [each.name for each in team.namespaces]
            yield "network-policy", isolation.network_policy(team.isolation, namespace_plan.name, names, labels)
    if team.identity is not None:
        yield "service-account", team_service_account(team, namespace_plan, team.identity)
        if team.identity.secrets:
            yield "secrets", secrets_volume(team, namespace_plan, team.identity)
    for template in team.claim_templates:
        yield f"claims-{template.name}", claim_template(team, namespace_plan, template)
    for buffer in team.buffers:
        if buffer.namespace == namespace_plan.name:
            yield from capacity_buffers.buffer_manifests(buffer, labels)
    if team.groups:
        yield "submitters", roles.team_binding(roles.SUBMITTER, team.groups, namespace_plan.name, labels)
        if namespace_plan.serving:
            yield "services", roles.team_binding(roles.SERVER, team.groups, namespace_plan.name, labels)


def team_service_account(team: TeamPlan, namespace_plan: NamespacePlan, identity: IdentityPlan) -> Manifest:
    """Return the service account of the team's pods, annotated if it impersonates a Google service account.

    Pods get no token for the Kubernetes API, unless the team keeps it. They do not need it for Google Cloud: the
    metadata server issues that token.
    """
    metadata = _metadata(team, namespace_plan, identity.service_account)
    if identity.impersonates is not None:
        metadata["annotations"] = {ACCOUNT_ANNOTATION: identity.impersonates.email}
    account: Manifest = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return account if identity.api_token else {**account, "automountServiceAccountToken": False}


def claim_template(team: TeamPlan, namespace_plan: NamespacePlan, template: ClaimTemplatePlan) -> Manifest:
    """Return the ResourceClaimTemplate with which pods claim devices of their node (resource.k8s.io/v1)."""
    request = {
        "name": "devices",
        # Kueue 0.19 does not admit claims of all devices (`pkg/dra/claims.go`).
        "exactly": {
            "deviceClassName": template.device_class,
            "allocationMode": "ExactCount",
            "count": template.count,
        },
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _metadata(team, namespace_plan, template.name),
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def secrets_volume(team: TeamPlan, namespace_plan: NamespacePlan, identity: IdentityPlan) -> Manifest:
    """Return the SecretProviderClass with the secrets of Secret Manager in a volume of the team."""
    return secret_provider_class(_metadata(team, namespace_plan, SECRETS), identity.secrets)


def secret_provider_class(metadata: Manifest, secrets: Sequence[SecretPlan]) -> Manifest:
    """Return secrets of Secret Manager as files of a volume, for GKE's Secret Manager add-on (provider `gke`)."""
    secret_files = [{"resourceName": _version(each), "path": each.file} for each in secrets]
    return {
        "apiVersion": "secrets-store.csi.x-k8s.io/v1",
        "kind": "SecretProviderClass",
        "metadata": metadata,
        # The provider expects YAML text; JSON is YAML.
        "spec": {"provider": "gke", "parameters": {"secrets": json.dumps(secret_files, indent=2) + "\n"}},
    }


def team_labels(team: TeamPlan) -> dict[str, str]:
    """Return the labels of all objects of a team; a new dict each time."""
    return {**team.labels, **berth_labels(team.name)}


def _version(secret: SecretPlan) -> str:
    return f"projects/{secret.project}/secrets/{secret.secret}/versions/{secret.version}"


def _metadata(team: TeamPlan, namespace_plan: NamespacePlan, name: str) -> Manifest:
    return {"name": name, "namespace": namespace_plan.name, "labels": team_labels(team)}
