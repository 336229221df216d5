"""The files for `pulumi import`, held against what the real program registers and against the answers themselves."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from berth.adopt.google.monitoring import monitoring_changes
from berth.adopt.google.rights import other_rights
from berth.adopt.imports import import_files, not_imported
from berth.adopt.inventory import ClusterInventory, read_inventory
from berth.cli.adopt.answer import adopt_inventory
from berth.cli.preview import tree as preview
from berth.engine import RecordedResource
from tests.gke_answers import files
from tests.stack_files import GKE_STACKS, ROOT, plan

STACKS = ("dev", "gpu-rdma", "batch-platform", "quota-tree")
CLOUD_STACKS = [stack for stack in GKE_STACKS if stack not in ("existing-gke", "local", "multikueue")]
"""Every stack on GKE with one cluster that it makes."""
every_stack = pytest.mark.parametrize("stack", STACKS)


@cache
def _made(stack: str) -> tuple[ClusterInventory, list[RecordedResource], dict[str, Any]]:
    here = read_inventory(files(plan(stack)))
    _, _, evaluation = adopt_inventory(here, stack)
    assert evaluation.fleet_plan is not None
    registered = list(preview.run_stack_program(evaluation, ROOT, preview=False).resources)
    return here, registered, import_files(registered, here, evaluation.fleet_plan)


@every_stack
def test_every_import_matches_a_registered_resource(stack: str) -> None:
    """Its URN, put together from the file as the engine does it: types of all parents, then the logical name."""
    _, registered, imported = _made(stack)
    known = {one.urn: one for one in registered}
    for content in imported.values():
        by_name: dict[str, dict[str, Any]] = {}
        for entry in content["resources"]:
            assert entry["name"] not in by_name, "names are unique in a file"
            types, above = [entry["type"]], entry
            while "parent" in above:
                above = by_name[above["parent"]]  # every parent comes first
                types.insert(0, above["type"])
            urn = f"urn:pulumi:{stack}::berth::{'$'.join(types)}::{entry['logicalName']}"
            assert urn in known
            assert known[urn].custom is ("id" in entry)
            if "provider" in entry:
                assert content["nameTable"][entry["provider"]] == known[urn].provider
            by_name[entry["name"]] = entry


@every_stack
def test_every_existing_resource_is_imported_once(stack: str) -> None:
    """Counted from the answers: each node pool, reservation and object of Berth's, by the last part of its id."""
    here, _, imported = _made(stack)
    ids = [
        (entry["type"], entry["id"]) for content in imported.values() for entry in content["resources"] if "id" in entry
    ]
    assert len(ids) == len(set(ids))
    pools = {identity for kind, identity in ids if kind == "gcp:container/nodePool:NodePool"}
    cluster, project = here.cluster["name"], here.project
    assert pools == {f"{project}/{here.region}/{cluster}/{one['name']}" for one in here.node_pools}
    reserved = {identity.rpartition("/")[2] for kind, identity in ids if kind.startswith("gcp:compute/reservation:")}
    assert reserved == {one["name"] for one in here.reservations}
    objects = {(kind.rpartition(":")[2], identity) for kind, identity in ids if kind.startswith("kubernetes:")}
    there = {(o["kind"], _place(o)) for o in here.objects if not _is_of_helm(o)}
    helm = {("Release", "jobset-system/jobset"), ("Release", "kueue-system/kueue")}
    if stack == "batch-platform":
        helm.add(("Release", "monitoring/kube-prometheus-stack"))
    assert objects == there | helm


def _is_of_helm(resource: Any) -> bool:
    """Whether a release makes it, which is imported as a whole."""
    return resource["kind"] == "Deployment" or resource["metadata"]["name"] == "kueue-manager-config"


_CLOUD_KINDS = (
    *("gcp:projects/iAMMember:IAMMember", "gcp:serviceaccount/iAMMember:IAMMember"),
    *("gcp:storage/bucketIAMMember:BucketIAMMember", "gcp:secretmanager/secretIamMember:SecretIamMember"),
    *("gcp:serviceaccount/account:Account", "gcp:compute/futureReservation:FutureReservation"),
    *("gcp:monitoring/dashboard:Dashboard", "gcp:monitoring/alertPolicy:AlertPolicy"),
    *("gcp:compute/firewall:Firewall", "gcp:projects/service:Service"),
)


@pytest.mark.parametrize("stack", CLOUD_STACKS)
def test_every_iam_member_dashboard_alert_and_future_reservation_is_imported(stack: str) -> None:
    """The program registers them, the answers have them, and nothing is created a second time."""
    here, registered, imported = _made(stack)
    wanted = Counter(one.type for one in registered if one.type in _CLOUD_KINDS)
    entries = [entry for entry in imported["google"]["resources"] if "id" in entry]
    assert Counter(entry["type"] for entry in entries if entry["type"] in _CLOUD_KINDS) == wanted
    ids = {(entry["type"], entry["id"]) for entry in entries if entry["type"] in _CLOUD_KINDS}
    answers = {name: json.loads(text) for name, text in files(plan(stack)).items()}
    assert ids == {*_ids_of_rights(here.project, answers), *_ids_of_the_rest(here.project, answers)}


def _ids_of_rights(project: str, answers: dict[str, Any]) -> set[tuple[str, str]]:
    """The id of each binding in the answers, except that of GKE's own agent."""
    emails = {one["uniqueId"]: one["email"] for one in answers["accounts.json"]}
    result: set[tuple[str, str]] = set()
    for policy in answers["policies.json"]:
        path = policy["resource"].removeprefix("//").partition("/")[2]
        name = path.rpartition("/")[2]
        kind, shown = {
            "cloudresourcemanager.googleapis.com/Project": ("gcp:projects/iAMMember:IAMMember", project),
            "iam.googleapis.com/ServiceAccount": (
                "gcp:serviceaccount/iAMMember:IAMMember",
                f"projects/{project}/serviceAccounts/{emails.get(name)}",
            ),
            "storage.googleapis.com/Bucket": ("gcp:storage/bucketIAMMember:BucketIAMMember", f"b/{name}"),
            "secretmanager.googleapis.com/Secret": (
                "gcp:secretmanager/secretIamMember:SecretIamMember",
                f"projects/{project}/secrets/{name}",
            ),
        }[policy["assetType"]]
        for binding in policy["policy"]["bindings"]:
            if binding["role"] != "roles/container.serviceAgent":
                result |= {(kind, f"{shown} {binding['role']} {member}") for member in binding["members"]}
    return result


def _ids_of_the_rest(project: str, answers: dict[str, Any]) -> set[tuple[str, str]]:
    """The ids of all others, by the project's ID also where Google names its number."""
    kinds = {
        "dashboards.json": "gcp:monitoring/dashboard:Dashboard",
        "alerts.json": "gcp:monitoring/alertPolicy:AlertPolicy",
        "accounts.json": "gcp:serviceaccount/account:Account",
    }
    result = {
        (kind, f"projects/{project}/{one['name'].split('/', 2)[2]}")
        for file, kind in kinds.items()
        for one in answers[file]
    }
    for one in answers["services.json"]:
        result.add(("gcp:projects/service:Service", f"{project}/{one['config']['name']}"))
    for one in answers["firewalls.json"]:
        result.add(("gcp:compute/firewall:Firewall", one["selfLink"].partition("/compute/v1/")[2]))
    for one in answers["future.json"]:
        path = one["selfLink"].partition("/compute/v1/")[2]
        result.add(("gcp:compute/futureReservation:FutureReservation", path))
    return result


@pytest.mark.parametrize("stack", CLOUD_STACKS)
def test_nothing_in_google_cloud_is_created_a_second_time(stack: str) -> None:
    """Counted from the program: networks of accelerators, routers, rules and APIs too."""
    _, registered, imported = _made(stack)
    assert [left.line() for left in not_imported(registered, imported)] == []


@pytest.mark.parametrize("stack", ["dev", "flex-start", "hotswap"])
def test_nothing_of_rights_dashboards_and_alerts_changes_or_is_left(stack: str) -> None:
    here, registered, _ = _made(stack)
    _, _, evaluation = adopt_inventory(here, stack)
    assert evaluation.fleet_plan is not None
    lines = [*other_rights(here, evaluation.fleet_plan), *monitoring_changes(here, registered)]
    assert [each.line() for each in lines] == []


def _place(one: Any) -> str:
    place, name = one["metadata"].get("namespace"), one["metadata"]["name"]
    return f"{place}/{name}" if place else name


FORMS = {
    "gcp:container/cluster:Cluster": "projects/acme-ml-dev/locations/us-central1/clusters/dev",
    "gcp:container/nodePool:NodePool": "acme-ml-dev/us-central1/dev/v5e-2x4-1",
    "gcp:compute/network:Network": "projects/acme-ml-dev/global/networks/dev",
    "gcp:compute/subnetwork:Subnetwork": "projects/acme-ml-dev/regions/us-central1/subnetworks/dev",
    "gcp:compute/router:Router": "projects/acme-ml-dev/regions/us-central1/routers/dev",
    "gcp:compute/routerNat:RouterNat": "projects/acme-ml-dev/regions/us-central1/routers/dev/dev",
    "gcp:compute/reservation:Reservation": "projects/acme-ml-dev/zones/us-central1-a/reservations/dev-l4",
    "gcp:serviceaccount/account:Account": (
        "projects/acme-ml-dev/serviceAccounts/dev-nodes@acme-ml-dev.iam.gserviceaccount.com"
    ),
    "kubernetes:core/v1:Namespace": "vision",
    "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue": "vision/train",
    "kubernetes:helm.sh/v3:Release": "kueue-system/kueue",
}
"""An id of each kind, in a form that the providers' documentation of imports gives."""


@pytest.mark.parametrize("kind", FORMS)
def test_ids_have_the_form_that_the_provider_documents(kind: str) -> None:
    _, _, imported = _made("dev")
    entries = [entry for content in imported.values() for entry in content["resources"] if entry["type"] == kind]
    assert FORMS[kind] in [entry["id"] for entry in entries]
