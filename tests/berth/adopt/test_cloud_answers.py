"""Permissions, monitoring and future reservations of one cluster, edited: what is adopted, and the other lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from berth.adopt.api_objects import NotAdopted, last_segment, reservation_value
from berth.adopt.google.alert_policies import read_limit
from berth.adopt.google.monitoring import monitoring_changes
from berth.adopt.google.rights import display_name_changes, other_rights
from berth.adopt.imports import import_files
from berth.adopt.inventory import ClusterInventory, read_inventory
from berth.cli.adopt.answer import adopt_inventory
from berth.cli.preview import tree as preview
from berth.evaluate import Evaluation
from berth.monitoring.dashboards import AlertThreshold, MonitoredFleet, build_alerts
from berth.monitoring.metrics import IN_CLUSTER, MANAGED, monitoring_table
from tests.gke_answers import files
from tests.google_answers import NUMBER
from tests.stack_files import ROOT, plan

Answers = dict[str, Any]
Edit = Callable[[Answers], None]
PROJECT, DEV = "acme-ml-dev", "dev"
NODES = f"serviceAccount:dev-nodes@{PROJECT}.iam.gserviceaccount.com"
BATCH = "batch-platform"
TEAM_A = "serviceAccount:wi-team-a@my-project.iam.gserviceaccount.com"
POOL = f"projects/{NUMBER}/locations/global/workloadIdentityPools/{PROJECT}.svc.id.goog"
SPEECH = f"principal://iam.googleapis.com/{POOL}/subject/ns/speech/sa/speech"


def inventory(stack: str, *edits: Edit) -> ClusterInventory:
    answers: Answers = {name: json.loads(text) for name, text in files(plan(stack)).items()}
    for edit in edits:
        edit(answers)
    return read_inventory({name: json.dumps(answer) for name, answer in answers.items()})


def adopted(stack: str, *edits: Edit) -> tuple[Any, tuple[NotAdopted, ...], Evaluation, ClusterInventory]:
    """Return the fleet, the lines, what Berth makes of it, and the answers."""
    here = inventory(stack, *edits)
    _, result, evaluation = adopt_inventory(here, stack)
    assert [fault.line() for fault in evaluation.faults] == []
    return result.fleet, result.not_adopted, evaluation, here


def lines(found: Any) -> list[str]:
    return [each.line() for each in found]


def ids(evaluation: Evaluation, here: ClusterInventory) -> set[str]:
    registered = list(preview.run_stack_program(evaluation, ROOT, preview=False).resources)
    assert evaluation.fleet_plan is not None
    imported = import_files(registered, here, evaluation.fleet_plan)
    return {entry["id"] for content in imported.values() for entry in content["resources"] if "id" in entry}


# --- rights -----------------------------------------------------------------------------------------------------------


def grant(role: str, member: str, resource: str | None = None, *, condition: bool = False) -> Edit:
    def edit(answers: Answers) -> None:
        policies = answers["policies.json"]
        owner = next((each for each in policies if resource is None or each["resource"] == resource), None)
        if owner is None:
            owner = {
                "assetType": "x",
                "resource": resource,
                "project": f"projects/{NUMBER}",
                "policy": {"bindings": []},
            }
            policies.append(owner)
        binding: dict[str, Any] = {"role": role, "members": [member]}
        owner["policy"]["bindings"].append(binding | ({"condition": {"expression": "true"}} if condition else {}))

    return edit


def test_roles_buckets_and_the_account_of_a_team_are_adopted() -> None:
    fleet, _, evaluation, here = adopted(
        BATCH,
        grant("roles/bigquery.dataViewer", TEAM_A),
        grant("roles/storage.objectViewer", TEAM_A, "//storage.googleapis.com/projects/_/buckets/more-data"),
    )
    assert fleet["teams"]["team-a"]["identity"] == {
        "serviceAccount": "team-a-ksa",
        "impersonate": "wi-team-a",
        "roles": ["roles/bigquery.dataViewer", "roles/logging.logWriter", "roles/monitoring.metricWriter"],
        "buckets": {"more-data": "roles/storage.objectViewer", "my-project-batch-data": "roles/storage.objectUser"},
        "secrets": {"hf-token": "hf-secret"},
    }
    assert {
        f"my-project roles/bigquery.dataViewer {TEAM_A}",
        f"b/more-data roles/storage.objectViewer {TEAM_A}",
    } <= ids(evaluation, here)


def test_pods_that_hold_a_role_themselves_need_the_number_of_the_project() -> None:
    fleet, _, evaluation, here = adopted(DEV, grant("roles/bigquery.dataViewer", SPEECH))
    assert fleet["projectNumber"] == NUMBER
    assert fleet["teams"]["speech"]["identity"] == {"roles": ["roles/bigquery.dataViewer"]}
    assert f"{PROJECT} roles/bigquery.dataViewer {SPEECH}" in ids(evaluation, here)
    assert "projectNumber" not in adopted(DEV)[0]


def test_a_role_that_grants_permissions_is_accepted_with_a_reason() -> None:
    fleet, _, _, _ = adopted(BATCH, grant("roles/iam.securityAdmin", TEAM_A))
    assert fleet["teams"]["team-a"]["identity"]["acceptRoles"] == {
        "roles/iam.securityAdmin": "as in the existing cluster"
    }


STAYS: dict[str, tuple[str, Edit, str]] = {
    "a role of nodes": (
        DEV,
        grant("roles/editor", NODES),
        "nodes: has roles/editor on project; it stays: give teams an identity instead of the nodes",
    ),
    "a role with a condition": (
        BATCH,
        grant("roles/viewer", TEAM_A, condition=True),
        "team team-a: has roles/viewer on project with a condition, which a stack file cannot express; it stays",
    ),
    "a role on a bucket that is none of storage": (
        BATCH,
        grant("roles/viewer", TEAM_A, "//storage.googleapis.com/my-project-batch-data"),
        "team team-a: has roles/viewer on bucket my-project-batch-data; it stays: add it to teams.team-a.identity, or "
        "remove it with gcloud",
    ),
    "a secret that is not mounted": (
        BATCH,
        grant(
            "roles/secretmanager.secretAccessor",
            TEAM_A,
            f"//secretmanager.googleapis.com/projects/{NUMBER}/secrets/other",
        ),
        "team team-a: has roles/secretmanager.secretAccessor on secret my-project/other; it stays: add it to "
        "teams.team-a.identity, or remove it with gcloud",
    ),
    "somebody else who acts as the team": (
        BATCH,
        grant(
            "roles/iam.serviceAccountTokenCreator",
            "user:eve@example.com",
            "//iam.googleapis.com/projects/my-project/serviceAccounts/wi-team-a@my-project.iam.gserviceaccount.com",
        ),
        "team team-a: 'user:eve@example.com' has roles/iam.serviceAccountTokenCreator on its service account "
        "wi-team-a@my-project.iam.gserviceaccount.com; it stays: remove it with gcloud unless others must act as the "
        "team",
    ),
}


@pytest.mark.parametrize("claim", STAYS)
def test_permissions_that_berth_does_not_grant_are_kept_and_listed(claim: str) -> None:
    stack, edit, line = STAYS[claim]
    _, _, evaluation, here = adopted(stack, edit)
    assert evaluation.fleet_plan is not None
    assert lines(other_rights(here, evaluation.fleet_plan)) == [line]


def test_a_second_role_on_a_bucket_stays() -> None:
    bucket = "//storage.googleapis.com/my-project-batch-data"
    _, left, evaluation, here = adopted(BATCH, grant("roles/storage.objectViewer", TEAM_A, bucket))
    text = (
        "team team-a: has roles/storage.objectViewer on bucket my-project-batch-data besides roles/storage.objectUser, "
        "and a stack file gives one role for each bucket; it stays"
    )
    assert text in lines(left)
    assert evaluation.fleet_plan is not None
    assert len(lines(other_rights(here, evaluation.fleet_plan))) == 1


def test_the_projects_own_policy_is_read_without_a_name() -> None:
    """As `gcloud projects get-iam-policy` gives it; its number is in the address of GKE's agent."""

    def edit(answers: Answers) -> None:
        own = next(each for each in answers["policies.json"] if "cloudresourcemanager" in each["resource"])
        answers["policies.json"] = {**own["policy"], "etag": "BwX", "version": 1}

    fleet, _, _, here = adopted(DEV, edit, lambda answers: answers["policies.json"]["bindings"].append(
        {"role": "roles/bigquery.dataViewer", "members": [SPEECH]}))  # fmt: skip
    assert here.rights.project_number == NUMBER
    assert fleet["teams"]["speech"]["identity"] == {"roles": ["roles/bigquery.dataViewer"]}


def service_account(namespace: str, name: str, email: str | None) -> dict[str, Any]:
    annotations = {"iam.gke.io/gcp-service-account": email} if email else {}
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def accounts(*objects: dict[str, Any]) -> Edit:
    """Put accounts in the place of Berth's own account of a team."""

    def edit(answers: Answers) -> None:
        items = answers["objects.json"]["items"]
        kept = [o for o in items if o["kind"] != "ServiceAccount" or o["metadata"]["namespace"] != "speech"]
        answers["objects.json"]["items"] = [*kept, *objects]

    return edit


def test_the_account_that_somebody_else_made_for_a_team_is_adopted() -> None:
    email = f"speech-jobs@{PROJECT}.iam.gserviceaccount.com"
    fleet, _, evaluation, here = adopted(DEV, accounts(service_account("speech", "runner", email)))
    assert fleet["teams"]["speech"]["identity"] == {
        "serviceAccount": "runner",
        "impersonate": "speech-jobs",
        "automountServiceAccountToken": True,
    }
    assert {"speech/runner", f"projects/{PROJECT}/serviceAccounts/{email}"} <= ids(evaluation, here)


def test_an_account_without_automounted_token_keeps_that_setting() -> None:
    account = service_account("speech", "runner", f"speech-jobs@{PROJECT}.iam.gserviceaccount.com")
    account["automountServiceAccountToken"] = False
    fleet, _, _, _ = adopted(DEV, accounts(account))
    assert "automountServiceAccountToken" not in fleet["teams"]["speech"]["identity"]


def test_a_changed_display_name_of_an_account_is_listed() -> None:
    def edit(answers: Answers) -> None:
        answers["accounts.json"][0]["displayName"] = "Nodes of the ML team"

    assert told(DEV, lambda _: None) == []
    assert told(DEV, edit) == [
        f"service account dev-nodes@{PROJECT}.iam.gserviceaccount.com: its display name becomes 'Nodes of cluster dev'"
    ]


def test_accounts_that_no_team_can_have_are_kept() -> None:
    foreign = "jobs@other-project.iam.gserviceaccount.com"
    own = f"speech-jobs@{PROJECT}.iam.gserviceaccount.com"
    _, left, _, _ = adopted(
        DEV,
        accounts(
            service_account("speech", "default", own),
            service_account("speech", "one", foreign),
            service_account("speech", "two", own),
        ),
    )
    assert [line for line in lines(left) if line.startswith("ServiceAccount")] == [
        "ServiceAccount speech/default: has an identity in Google Cloud, and all pods that name no account have it; it "
        "stays. Give the team's pods an account of their own (teams.speech.identity.serviceAccount)",
        "ServiceAccount speech/two: a team has one identity, and 'one' is it; the others stay as they are",
        f"ServiceAccount speech/one: impersonates '{foreign}', which is no account of project '{PROJECT}'; the first "
        "`pulumi up` removes that. Write teams.speech.identity.impersonate to give it an account of the project",
    ]


# --- monitoring -------------------------------------------------------------------------------------------------------


def by_project_id(answer: Mapping[str, Any]) -> str:
    """Return the name of a resource with the project's ID, as the provider reads it."""
    return f"projects/{PROJECT}/{answer['name'].split('/', 2)[2]}"


def alert(answers: Answers, key: str) -> dict[str, Any]:
    return next(each for each in answers["alerts.json"] if each["userLabels"]["alert"] == key)


def told(stack: str, *edits: Edit) -> list[str]:
    _, _, evaluation, here = adopted(stack, *edits)
    registered = list(preview.run_stack_program(evaluation, ROOT, preview=False).resources)
    return lines([*display_name_changes(here, registered), *monitoring_changes(here, registered)])


def test_thresholds_durations_channels_and_absent_alerts_become_keys() -> None:
    channel = f"projects/{PROJECT}/notificationChannels/77"

    def edit(answers: Answers) -> None:
        changed = alert(answers, "slow-admission")["conditions"][0]["conditionPrometheusQueryLanguage"]
        changed |= {"query": changed["query"].replace("21600", "7200"), "duration": "3600s"}
        answers["alerts.json"].remove(alert(answers, "inadmissible"))
        for each in answers["alerts.json"]:
            each["notificationChannels"] = [channel]

    fleet, _, evaluation, _ = adopted(DEV, edit)
    assert fleet["monitoring"] == {
        "alerts": {"inadmissible": False, "slow-admission": {"limit": 7200, "for": "3600s"}},
        "notificationChannels": [channel],
    }
    assert told(DEV, edit) == []
    assert evaluation.fleet_plan is not None
    assert evaluation.fleet_plan.monitoring is not None
    assert evaluation.fleet_plan.monitoring.channels == (channel,)


@pytest.mark.parametrize("backend", [MANAGED, IN_CLUSTER])
def test_every_threshold_of_the_table_is_read_back(backend: str) -> None:
    """Each alert with a threshold of 4 digits and a fraction, as the fleet's own renderer writes it."""
    features = frozenset({"gpu", "tpu", "multi-host", "queued", "prices"})
    settings = frozenset({"queueResources", "unadmittedReasons", "prices"})
    fleet = MonitoredFleet(cluster="ml", backend=backend, features=features, settings=settings)
    rows = {row["key"]: row for row in monitoring_table("alerts")}
    for limit in (0.25, 3, 1234567):
        built = build_alerts(fleet, {key: AlertThreshold(limit=limit) for key, row in rows.items() if "limit" in row})
        assert len(built) > 5
        for each in built:
            expected = float(f"{limit:g}") if "limit" in rows[each.key] else None
            assert read_limit(rows[each.key], each.query, "ml", backend) == expected
            assert read_limit(rows[each.key], each.query, "other", backend) in (None, expected)


def _edited_query(answers: Answers) -> None:
    alert(answers, "kueue-silent")["conditions"][0]["conditionPrometheusQueryLanguage"]["query"] += (
        ' or absent({a="dev"})'
    )


def _switched_off(answers: Answers) -> None:
    alert(answers, "kueue-silent")["enabled"] = False


def _twice(answers: Answers) -> None:
    answers["alerts.json"].append({**alert(answers, "kueue-silent"), "name": f"projects/{NUMBER}/alertPolicies/9"})


def _somebody_elses(answers: Answers) -> None:
    policy = {"name": f"projects/{NUMBER}/alertPolicies/8", "displayName": "Disk full", "conditions": []}
    answers["alerts.json"].append(policy)
    answers["dashboards.json"].append({"name": f"projects/{NUMBER}/dashboards/8", "displayName": "Web shop"})


def _other_stack(answers: Answers) -> None:
    """The same cluster under another stack's name."""
    for each in answers["alerts.json"]:
        each["displayName"] = each["displayName"].replace("dev: ", "old: ")
        each["userLabels"]["fleet"] = "old"
    for each in answers["dashboards.json"]:
        each["displayName"] = each["displayName"].replace("dev: ", "old: ")


def _panel_removed(answers: Answers) -> None:
    answers["dashboards.json"][0]["mosaicLayout"]["tiles"].pop()


TOLD: dict[str, tuple[Edit, list[str]]] = {
    "an edited query": (
        _edited_query,
        ["alert policy 'dev: Kueue sends no metrics': the first `pulumi up` sets Berth's query"],
    ),
    "a policy that is off": (
        _switched_off,
        ["alert policy 'dev: Kueue sends no metrics': the first `pulumi up` sets Berth's enabled (it is off)"],
    ),
    "two policies of one kind": (
        _twice,
        [
            f"alert policy 'dev: Kueue sends no metrics': 2 may be it (projects/{NUMBER}/alertPolicies/1000 and "
            f"projects/{NUMBER}/alertPolicies/9); delete all but one, then run berth adopt again"
        ],
    ),
    "what is not Berth's": (
        _somebody_elses,
        [
            "alert policies 'Disk full': not Berth's for this cluster; they stay with their owner",
            "dashboards 'Web shop': not Berth's for this cluster; they stay with their owner",
        ],
    ),
    "a changed dashboard": (
        _panel_removed,
        ["dashboard 'dev: Queues and teams': the first `pulumi up` sets Berth's mosaicLayout"],
    ),
}


@pytest.mark.parametrize("claim", TOLD)
def test_changed_and_kept_monitoring_is_listed(claim: str) -> None:
    edit, expected = TOLD[claim]
    assert told(DEV, edit) == expected


def test_dashboards_and_alerts_of_another_stack_name_are_imported_and_renamed() -> None:
    _, _, evaluation, here = adopted(DEV, _other_stack)
    names = {by_project_id(each) for each in [*here.dashboards, *here.alert_policies]}
    assert len(names) > 10
    assert names <= ids(evaluation, here)
    changes = told(DEV, _other_stack)
    assert all(line.endswith("displayName, userLabels.fleet") for line in changes if "alert" in line)
    assert len(changes) == len(names)


def test_alert_policies_of_another_cluster_are_not_adopted() -> None:
    def edit(answers: Answers) -> None:
        for each in answers["alerts.json"]:
            condition = each["conditions"][0]["conditionPrometheusQueryLanguage"]
            condition["query"] = condition["query"].replace('="dev"', '="prod"')
            each["userLabels"]["fleet"] = "prod"

    fleet, _, evaluation, here = adopted(DEV, edit)
    assert "monitoring" not in fleet
    assert not {by_project_id(each) for each in here.alert_policies} & ids(evaluation, here)


def test_thresholds_of_a_prometheus_in_the_cluster_are_read() -> None:
    def edit(answers: Answers) -> None:
        answers["alerts.json"] = []
        items = answers["objects.json"]["items"]
        rule = next(o for o in items if o["kind"] == "PrometheusRule")
        alerting = next(group for group in rule["spec"]["groups"] if group["name"] == "berth")
        slow = next(each for each in alerting["rules"] if each["alert"] == "BerthSlowAdmission")
        slow["expr"] = slow["expr"].replace("21600", "7200")
        answers["objects.json"]["items"] = [o for o in items if o["kind"] not in ("PodMonitoring", "ClusterRules")]

    fleet, _, _, _ = adopted(BATCH, edit)
    chart = fleet["monitoring"].pop("prometheus")
    assert chart["version"].count(".") == 2
    assert fleet["monitoring"]["backends"] == ["in-cluster"]
    assert fleet["monitoring"]["alerts"]["slow-admission"] == {"limit": 7200}


@pytest.mark.parametrize(
    ("name", "labels", "backends"),
    [
        ("berth-kueue", {"app.kubernetes.io/managed-by": "berth"}, ["managed", "in-cluster"]),
        ("berth-kueue", {"app.kubernetes.io/managed-by": "Helm"}, ["in-cluster"]),
        ("berth-kueue", {}, ["in-cluster"]),
        ("trainers", {"app.kubernetes.io/managed-by": "berth"}, ["in-cluster"]),
    ],
)
def test_only_berths_own_metrics_of_kueue_are_managed_prometheus(
    name: str, labels: dict[str, str], backends: list[str]
) -> None:
    """Others let Google collect metrics too, in a cluster whose operator makes Berth's rules."""

    def edit(answers: Answers) -> None:
        answers["alerts.json"] = []
        items = answers["objects.json"]["items"]
        others = [o for o in items if o["kind"] not in ("PodMonitoring", "ClusterRules")]
        metadata = {"name": name, "namespace": "kueue-system", "labels": labels}
        one = {"apiVersion": "monitoring.googleapis.com/v1", "kind": "PodMonitoring", "metadata": metadata}
        answers["objects.json"]["items"] = [*others, one]

    fleet, _, _, _ = adopted(BATCH, edit)
    assert fleet["monitoring"]["backends"] == backends


def test_an_existing_prometheus_is_kept() -> None:
    def edit(answers: Answers) -> None:
        metadata = {"name": "prometheus-operator", "namespace": "observability"}
        operator = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
        answers["objects.json"]["items"].append(operator)

    fleet, left, _, _ = adopted(DEV, edit)
    assert "monitoring" not in fleet
    assert (
        "Deployment prometheus-operator: a Prometheus operator that is not the Helm release kube-prometheus-stack in "
        "monitoring; it stays, and Berth adds no rules or dashboards to it"
    ) in lines(left)


# --- reservations -----------------------------------------------------------------------------------------------------


PATHS = {
    "l4": "l4",
    "https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a/reservations/l4": "l4",
    "projects/p/zones/us-central1-a/reservations/l4": "l4",
    "projects/p/reservations/l4/reservationBlocks/b": "l4/reservationBlocks/b",
    "projects/other/reservations/l4": "projects/other/reservations/l4",
    "https://compute.googleapis.com/compute/v1/projects/other/zones/z/reservations/l4/reservationBlocks/b/"
    "reservationSubBlocks/s": "projects/other/reservations/l4/reservationBlocks/b/reservationSubBlocks/s",
    "l4/reservationBlocks/b": "l4/reservationBlocks/b",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_reservation_is_read_in_every_form(path: str) -> None:
    assert reservation_value(path, "p") == PATHS[path]


TYPE_FORMS = (
    "nvidia-tesla-t4",
    "projects/acme-ml-dev/zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4",
    "https://www.googleapis.com/compute/v1/projects/acme-ml-dev/zones/us-central1-a/acceleratorTypes/nvidia-tesla-t4",
)


@pytest.mark.parametrize("form", TYPE_FORMS)
def test_the_accelerator_of_a_reservation_is_read_in_every_form(form: str) -> None:
    assert last_segment(form) == "nvidia-tesla-t4"

    def edit(answers: Answers) -> None:
        zone = answers["reservations.json"][0]["zone"]
        machine = {
            "machineType": "n1-standard-8",
            "guestAccelerators": [{"acceleratorType": form, "acceleratorCount": 2}],
        }
        answers["reservations.json"].append(
            {
                "name": "dev-t4",
                "zone": zone,
                "selfLink": f"{zone}/reservations/dev-t4",
                "specificReservationRequired": True,
                "specificReservation": {"count": "3", "instanceProperties": machine},
            }
        )

    fleet, _, _, _ = adopted(DEV, edit)
    assert fleet["reservations"]["t4"] == {
        "machineType": "n1-standard-8",
        "zone": "us-central1-a",
        "count": 3,
        "accelerator": {"type": "nvidia-tesla-t4", "count": 2},
    }


@pytest.mark.parametrize(
    "form",
    [
        "dev-l4",
        "projects/acme-ml-dev/reservations/dev-l4",
        "projects/acme-ml-dev/zones/us-central1-a/reservations/dev-l4",
        "https://www.googleapis.com/compute/v1/projects/acme-ml-dev/zones/us-central1-a/reservations/dev-l4",
    ],
)
def test_a_pool_accepts_every_form_of_a_reservation_name(form: str) -> None:
    """With the types of its machines as URLs too; the stack file is the same, but for a name with its project."""

    def edit(answers: Answers) -> None:
        pool = next(each for each in answers["node-pools.json"] if each["name"] == "l4-reserved")
        pool["config"]["reservationAffinity"]["values"] = [form]
        machine = answers["reservations.json"][0]["specificReservation"]["instanceProperties"]
        zone = answers["reservations.json"][0]["zone"]
        machine["machineType"] = f"{zone}/machineTypes/{machine['machineType']}"
        for gpu in machine["guestAccelerators"]:
            gpu["acceleratorType"] = f"{zone}/acceleratorTypes/{gpu['acceleratorType']}"

    fleet, told, _, _ = adopted(DEV, edit)
    expected = adopted(DEV)[0]
    if form.startswith("projects/acme-ml-dev/reservations"):  # kept, because a change would replace the node pool
        expected["reservations"]["l4"] |= {"name": "dev-l4", "existing": True, "project": "acme-ml-dev"}
        assert "reservation dev-l4: node pools name it with its project, which Berth keeps" in "\n".join(lines(told))
    assert fleet == expected


RESERVATION_LEFT: dict[str, tuple[dict[str, Any], str]] = {
    "machines without accelerators": (
        {
            "specificReservationRequired": True,
            "specificReservation": {"count": "1", "instanceProperties": {"machineType": "n2-standard-8"}},
        },
        "reservation spare: 'n2-standard-8' has no accelerators that Berth knows; it stays as it is",
    ),
    "chips": (
        {"aggregateReservation": {"vmFamily": "VM_FAMILY_CLOUD_TPU_POD_SLICE_CT5P", "reservedResources": []}},
        "reservation spare: it holds chips of a family that Berth does not know, and no pool names it; it stays as it "
        "is",
    ),
    "machines for everybody": (
        {
            "specificReservationRequired": False,
            "specificReservation": {"count": "1", "instanceProperties": {"machineType": "g2-standard-24"}},
        },
        "reservation spare: machines of any owner may use it without its name, and Berth makes only reservations that "
        "pools name; it stays as it is, and pools use it with `capacity: any-reservation`",
    ),
}


@pytest.mark.parametrize("claim", RESERVATION_LEFT)
def test_an_unsupported_reservation_is_kept(claim: str) -> None:
    fields, line = RESERVATION_LEFT[claim]

    def edit(answers: Answers) -> None:
        zone = answers["reservations.json"][0]["zone"]
        link = f"{zone}/reservations/spare"
        answers["reservations.json"].append({"name": "spare", "zone": zone, "selfLink": link, **fields})

    fleet, left, _, _ = adopted(DEV, edit)
    assert fleet["reservations"] == adopted(DEV)[0]["reservations"]
    assert line in lines(left)


def request(answers: Answers, name: str) -> dict[str, Any]:
    return next(each for each in answers["future.json"] if each["name"] == f"reservations-{name}")


def _pacific(answers: Answers) -> None:
    request(answers, "december")["timeWindow"] = {
        "startTime": "2026-11-30T16:00:00.000-08:00",
        "duration": {"seconds": str(14 * 86400)},
    }


def test_times_are_written_in_utc_and_a_duration_as_its_end() -> None:
    assert adopted("reservations", _pacific)[0] == adopted("reservations")[0]


def _set(name: str, **fields: object) -> Edit:
    return lambda answers: request(answers, name).update(fields)


FUTURE: dict[str, tuple[Edit, bool, str]] = {
    "declined": (
        _set("december", status={"procurementStatus": "DECLINED"}),
        False,
        "is DECLINED, so Google delivers nothing; it stays as it is",
    ),
    "another name of its reservation": (
        _set("december", reservationName="machines"),
        False,
        "its reservation has 'machines', and Berth's has the name of the request; it stays as it is. Once delivered, "
        "give the reservation's own name in `reservations` with `existing: true`",
    ),
    "machines without accelerators": (
        _set(
            "december",
            specificSkuProperties={"totalCount": "2", "instanceProperties": {"machineType": "n2-standard-8"}},
        ),
        False,
        "it asks for 'n2-standard-8', which a stack file cannot express",
    ),
    "a draft": (
        _set("december", planningStatus="DRAFT"),
        True,
        "planningStatus DRAFT → SUBMITTED (SUBMITS the request)",
    ),
    "a reservation that stays": (
        _set("december", autoDeleteAutoCreatedReservations=False),
        True,
        "autoDeleteAutoCreatedReservations false → true",
    ),
}


@pytest.mark.parametrize("claim", FUTURE)
def test_an_unsupported_future_reservation_is_reported(claim: str) -> None:
    edit, is_adopted, reason = FUTURE[claim]
    fleet, left, _, _ = adopted("reservations", edit)
    assert ("december" in fleet["reservations"]) is is_adopted
    assert f"future reservation reservations-december: {reason}" in lines(left)


def test_chips_that_no_machine_divides_are_not_adopted() -> None:
    def edit(answers: Answers) -> None:
        accelerator = request(answers, "spring")["aggregateReservation"]["reservedResources"][0]["accelerator"]
        accelerator["acceleratorCount"] = 31

    fleet, left, _, _ = adopted("reservations", edit)
    assert "future" not in fleet["reservations"].get("spring", {})
    assert (
        "future reservation reservations-spring: it asks for VM_FAMILY_CLOUD_TPU_POD_SLICE_CT5P, which a stack file "
        "cannot express"
    ) in lines(left)


# --- the control plane ------------------------------------------------------------------------------------------------


def test_authorized_networks_are_read_where_the_newer_api_has_them() -> None:
    def edit(answers: Answers) -> None:
        cluster = answers["cluster.json"]
        networks = cluster.pop("masterAuthorizedNetworksConfig")
        endpoints = cluster.setdefault("controlPlaneEndpointsConfig", {})
        endpoints.setdefault("ipEndpointsConfig", {"enabled": True})["authorizedNetworksConfig"] = networks

    before, after = adopted("gpu-rdma", lambda _: None), adopted("gpu-rdma", edit)
    assert after[0]["cluster"]["controlPlane"]["authorizedNetworks"] == [
        {"name": "office", "cidrBlock": "203.0.113.0/24"}
    ]
    assert after[0] == before[0]
    assert lines(after[1]) == lines(before[1])
