"""What Google's APIs would answer of a fleet's rights, monitoring and requests for machines, as gcloud prints it.

Written from the plan and from the published descriptions of Cloud Asset (v1), Monitoring (v3), Dashboards (v1) and
Compute Engine (v1), by itself, as tests/gke_answers.py is: nothing of the product's reader is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from berth.manifests.cloud_monitoring import managed_dashboard
from berth.plan.capacity import FutureReservationPlan, WorkloadPolicyPlan
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from berth.plan.gke import ClusterPlan
from berth.plan.monitoring import AlertPlan, BackendPlan
from berth.plan.teams import IdentityPlan

JSON = dict[str, Any]
NUMBER = "123456789012"
"""The number of every project."""
_COMPUTE = "https://www.googleapis.com/compute/v1"
_AGENT = f"serviceAccount:service-{NUMBER}@container-engine-robot.iam.gserviceaccount.com"


def files(plan: FleetPlan) -> dict[str, object]:
    """Every answer by the name of its file."""
    return {
        "policies.json": policies(plan),
        "accounts.json": [_account(plan, email, name) for email, name in sorted(_emails(plan).items())],
        "dashboards.json": dashboards(plan),
        "alerts.json": alerts(plan),
        "future.json": [future_reservation(plan, each) for each in plan.future_reservations],
        "placement-policies.json": [_placement_policy(plan, each) for each in plan.workload_policies],
    }


def _placement_policy(plan: FleetPlan, policy: WorkloadPolicyPlan) -> JSON:
    """One of `gcloud compute resource-policies list --format json`."""
    region = f"{_COMPUTE}/projects/{plan.project}/regions/{policy.region}"
    mode = {"acceleratorTopologyMode": policy.topology_mode} if policy.topology_mode else {}
    return {
        "kind": "compute#resourcePolicy",
        "name": policy.name,
        "region": region,
        "selfLink": f"{region}/resourcePolicies/{policy.name}",
        "status": "READY",
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": policy.accelerator_topology, **mode},
    }


# --- rights -----------------------------------------------------------------------------------------------------------


def policies(plan: FleetPlan) -> list[JSON]:
    """`gcloud asset search-all-iam-policies --scope projects/PROJECT --format json`."""
    roles: dict[tuple[str, str], dict[str, set[str]]] = {}
    for kind, resource, role, member in [*_project_grants(plan), *_team_grants(plan)]:
        roles.setdefault((kind, resource), {}).setdefault(role, set()).add(member)
    return [
        {
            "assetType": kind,
            "folders": ["folders/9"],
            "organization": "organizations/7",
            "project": f"projects/{NUMBER}",
            "resource": f"//{kind.partition('/')[0]}/{resource}",
            "policy": {"bindings": [{"role": r, "members": sorted(m)} for r, m in sorted(bindings.items())]},
        }
        for (kind, resource), bindings in roles.items()
    ]


def _project_grants(plan: FleetPlan) -> Iterator[tuple[str, str, str, str]]:
    """Asset type, path, role and member of the rights on the project: GKE's, the nodes', people's and teams'."""
    project = ("cloudresourcemanager.googleapis.com/Project", f"projects/{plan.project}")
    yield (*project, "roles/container.serviceAgent", _AGENT)
    account = None if isinstance(plan.cluster, ExistingClusterPlan) else plan.cluster.node_service_account
    for role in account.roles if account else ():
        yield (*project, role, f"serviceAccount:{account.email}" if account else "")
    for group in {*plan.access.owners, *plan.access.teams} if plan.access else ():
        yield (*project, "roles/container.clusterViewer", f"group:{group}")
    for identity in (team.identity for team in plan.teams if team.identity):
        yield from ((*project, role, member) for role in identity.roles for member in _holders(identity))


def _team_grants(plan: FleetPlan) -> Iterator[tuple[str, str, str, str]]:
    """Rights on buckets, secrets and the accounts that pods act as; GKE's own on the bucket of checkpoints."""
    if isinstance(plan.cluster, ClusterPlan) and (saved := plan.cluster.checkpointing) is not None:
        pool = f"{plan.project}.svc.id.goog"
        member = (
            f"principal://iam.googleapis.com/projects/{NUMBER}/locations/global/workloadIdentityPools/{pool}"
            "/subject/ns/gke-managed-checkpointing/sa/gke-checkpointing-multitier-node"
        )
        yield "storage.googleapis.com/Bucket", saved.bucket, "roles/storage.objectUser", member
    for identity in (team.identity for team in plan.teams if team.identity):
        for member in _holders(identity):
            for bucket, role in identity.buckets.items():
                yield "storage.googleapis.com/Bucket", bucket, role, member
            for secret in identity.secrets:
                path, role = f"projects/{NUMBER}/secrets/{secret.secret}", "roles/secretmanager.secretAccessor"
                yield "secretmanager.googleapis.com/Secret", path, role, member
        if identity.impersonates:
            path = f"projects/{plan.project}/serviceAccounts/{_unique_id(identity.impersonates.email)}"
            for member in identity.members:
                yield "iam.googleapis.com/ServiceAccount", path, "roles/iam.workloadIdentityUser", member


def _holders(identity: IdentityPlan) -> tuple[str, ...]:
    """Who holds the roles of a team: the account that its pods act as, or the pods."""
    return (f"serviceAccount:{identity.impersonates.email}",) if identity.impersonates else identity.members


def _emails(plan: FleetPlan) -> dict[str, str]:
    """Email → display name of every account that the fleet makes."""
    identities = [team.identity.impersonates for team in plan.teams if team.identity and team.identity.impersonates]
    emails = {each.email: each.display_name for each in identities}
    account = None if isinstance(plan.cluster, ExistingClusterPlan) else plan.cluster.node_service_account
    return emails | ({account.email: account.display_name} if account else {})


def _unique_id(email: str) -> str:
    return str(int.from_bytes(email.encode(), "big") % 10**21)


def _account(plan: FleetPlan, email: str, display_name: str) -> JSON:
    """One of `gcloud iam service-accounts list --format json`."""
    return {
        "name": f"projects/{plan.project}/serviceAccounts/{email}",
        "email": email,
        "displayName": display_name,
        "uniqueId": _unique_id(email),
        "projectId": plan.project,
        "oauth2ClientId": _unique_id(email),
        "etag": "MDEwMjE5MjA=",
    }


# --- monitoring -------------------------------------------------------------------------------------------------------


def dashboards(plan: FleetPlan) -> list[JSON]:
    """`gcloud monitoring dashboards list --format json`."""
    backend = _managed(plan)
    return [
        {
            **json.loads(json.dumps(managed_dashboard(each, plan.stack))),
            "name": f"projects/{NUMBER}/dashboards/0000-{each.key}",
            "etag": "a1",
        }
        for each in (backend.dashboards if backend else ())
    ]


def alerts(plan: FleetPlan) -> list[JSON]:
    """`gcloud monitoring policies list --format json`."""
    backend = _managed(plan)
    return [_alert(plan, number, each) for number, each in enumerate(backend.alerts if backend else ())]


def _managed(plan: FleetPlan) -> BackendPlan | None:
    return plan.monitoring.managed if plan.monitoring else None


def _alert(plan: FleetPlan, number: int, alert: AlertPlan) -> JSON:
    name = f"projects/{NUMBER}/alertPolicies/{1000 + number}"
    record = {"mutateTime": "2026-05-01T08:00:00.123456789Z", "mutatedBy": "platform@example.com"}
    condition = {
        "query": alert.query,
        "duration": f"{alert.seconds}s",
        "evaluationInterval": "30s",
        "disableMetricValidation": True,
    }
    assert plan.monitoring is not None
    channels = {"notificationChannels": list(plan.monitoring.channels)} if plan.monitoring.channels else {}
    return {
        "name": name,
        "displayName": f"{plan.stack}: {alert.title}",
        "combiner": "OR",
        "severity": alert.severity.upper(),
        "enabled": True,
        "conditions": [
            {"name": f"{name}/conditions/1", "displayName": alert.title, "conditionPrometheusQueryLanguage": condition}
        ],
        "alertStrategy": {"autoClose": "86400s", "notificationPrompts": ["OPENED", "CLOSED"]},
        "documentation": {"content": f"{alert.meaning}\n\n{alert.remedy}", "mimeType": "text/markdown"},
        "userLabels": {**plan.labels, "alert": alert.key},
        "creationRecord": record,
        "mutationRecord": record,
        **channels,
    }


# --- requests for machines --------------------------------------------------------------------------------------------


def future_reservation(plan: FleetPlan, request: FutureReservationPlan) -> JSON:
    """One of `gcloud compute future-reservations list --format json`."""
    zone = f"{_COMPUTE}/projects/{plan.project}/zones/{request.zone}"
    delivered = any(held.key == request.key and held.delivered for held in plan.held)
    status: JSON = {"procurementStatus": "FULFILLED" if delivered else "APPROVED", "lockTime": request.start}
    if delivered:
        status["autoCreatedReservations"] = [f"{zone}/reservations/{request.reservation_name}"]
    answer: JSON = {
        "kind": "compute#futureReservation",
        "id": "42",
        "name": request.name,
        "selfLink": f"{zone}/futureReservations/{request.name}",
        "zone": zone,
        "timeWindow": {"startTime": request.start, "endTime": request.end},
        "planningStatus": "SUBMITTED",
        "reservationName": request.reservation_name,
        "reservationMode": request.mode,
        "specificReservationRequired": True,
        "autoDeleteAutoCreatedReservations": True,
        "status": status,
    }
    answer |= {"deploymentType": request.deployment_type} if request.deployment_type else {}
    if request.share_with:
        shared = {project: {"projectId": project} for project in request.share_with}
        answer["shareSettings"] = {"shareType": "SPECIFIC_PROJECTS", "projectMap": shared}
    return answer | _reserved(request)


def _reserved(request: FutureReservationPlan) -> JSON:
    if request.aggregate is not None:
        accelerator = {
            "acceleratorType": f"{_COMPUTE}/{request.aggregate.accelerator_type}",
            "acceleratorCount": request.aggregate.accelerator_count,
        }
        family, workload = request.aggregate.vm_family, request.aggregate.workload_type
        resources = [{"accelerator": accelerator}]
        return {"aggregateReservation": {"vmFamily": family, "workloadType": workload, "reservedResources": resources}}
    machine: JSON = {"machineType": request.machine_type}
    if request.gpu_type:
        machine["guestAccelerators"] = [{"acceleratorType": request.gpu_type, "acceleratorCount": request.gpu_count}]
    if request.local_ssds:
        machine["localSsds"] = [{"diskSizeGb": "375", "interface": "NVME"}] * request.local_ssds
    return {"specificSkuProperties": {"totalCount": str(request.count), "instanceProperties": machine}}


def delivered_reservations(plan: FleetPlan) -> list[JSON]:
    """The reservations of `gcloud compute reservations list` that Google made for requests."""
    return [
        {
            "kind": "compute#reservation",
            "name": each.reservation_name,
            "zone": f"{_COMPUTE}/projects/{plan.project}/zones/{each.zone}",
            "selfLink": f"{_COMPUTE}/projects/{plan.project}/zones/{each.zone}/reservations/{each.reservation_name}",
            "specificReservationRequired": True,
            "status": "READY",
            **({"aggregateReservation": _reserved(each)["aggregateReservation"]} if each.aggregate else {}),
            **({"specificReservation": _specific(each)} if not each.aggregate else {}),
        }
        for each in plan.future_reservations
        if any(held.key == each.key and held.delivered for held in plan.held)
    ]


def _specific(request: FutureReservationPlan) -> JSON:
    machines = _reserved(request)["specificSkuProperties"]
    return {"count": machines["totalCount"], "instanceProperties": machines["instanceProperties"]}
