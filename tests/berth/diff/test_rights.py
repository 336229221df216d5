"""Rights come first in every format, whole and unfolded."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from berth.backends.interface import compare
from berth.catalog.google_roles import google_roles
from berth.cli.diff.as_json import changes_as_json
from berth.diff.document import changes_document
from berth.diff.headline import headline
from berth.diff.text import describe_right
from berth.document.html import render_html
from berth.document.markdown import escape_markdown, render_markdown
from berth.document.text import render_text
from berth.planner.cluster.gke import NODE_ROLES
from tests.small_fleets import fleet_with, plan

ROLES = [f"roles/aiplatform.admin{number}" for number in range(19)] + ["roles/resourcemanager.projectIamAdmin"]
IDENTITY = {"roles": ROLES, "acceptRoles": {ROLES[-1]: "why"}}
OWNER_GIVES = "changes everything in the project, and grants permissions"
OWNER = {"roles": ["roles/owner"], "acceptRoles": {"roles/owner": "why"}}
CONTROL_PLANE = "cluster.controlPlane"
_CHANNELS = "projects/acme-ml-dev/notificationChannels"
_N2 = {"machineType": "n2-standard-32", "nodes": 2, "zone": "us-central1-a", "acceptZone": True}


def rights(changes: dict[str, Any], before: dict[str, Any] | None = None) -> list[str]:
    """Return the lines on rights of a change of the small fleet."""
    old = fleet_with({"projectNumber": "123456789012", **(before or {})})
    return list(map(describe_right, compare(plan(old), plan(fleet_with(changes, base=old))).rights))


def test_the_last_of_many_roles_is_in_every_format_and_never_folded() -> None:
    base = fleet_with({"projectNumber": "123456789012"})
    changes = compare(plan(base), plan(fleet_with({"teams.vision.identity": IDENTITY}, base=base)))
    text, markdown = render_text(changes_document(changes)), render_markdown(changes_document(changes))
    assert text.splitlines()[2] == "Rights: administration"
    assert f"  team vision: role {ROLES[-1]} is added" in text
    listed = [part for title, part in pairwise(markdown.split("\n\n")) if title.startswith("**Rights: ")]
    assert markdown.split("\n\n")[1] == "**Rights: administration**"
    assert escape_markdown(f"role {ROLES[-1]} is added") in listed[0]
    assert sum(part.count("\n") + 1 for part in listed) == len(ROLES)
    right = {"owner": "team vision", "right": "role", "what": "added", "before": None, "after": ROLES[-1]}
    gives = {"gives": "grants permissions in the project", "rank": "administration"}
    assert {**right, **gives} in changes_as_json(changes, "a", "b")["rights"]
    first, _, _ = render_html(changes_document(changes)).partition("<h3>")[2].partition("</h3>")
    assert first == "Rights: administration"
    *named, rest = headline(changes).removeprefix("test: ").split("; ")
    assert len(named) == 3
    assert named[0].startswith(f"team vision: role {ROLES[-1]} is added")
    assert rest == "17 more rights added, widened or changed (17 role)"


@pytest.mark.parametrize(
    ("before", "changes", "output"),
    [
        ({}, {"teams.vision.identity": OWNER}, [f"team vision: role roles/owner is added ({OWNER_GIVES})"]),
        (
            {"teams.vision.identity": {"buckets": {"data": "roles/storage.objectViewer"}}},
            {"teams.vision.identity": {"buckets": {"data": "roles/storage.admin"}}},
            ["team vision: bucket data roles/storage.objectViewer → data roles/storage.admin, widened"],
        ),
        (
            {"teams.vision.identity": {"buckets": {"data": "roles/storage.objectAdmin"}}},
            {"teams.vision.identity": {"buckets": {"data": "roles/storage.objectUser"}}},
            ["team vision: bucket data roles/storage.objectAdmin → data roles/storage.objectUser, narrowed"],
        ),
        (
            {"teams.vision.identity": {"buckets": {"data": "roles/storage.objectAdmin"}}},
            {"teams.vision.identity": {"buckets": {"data": "roles/storage.legacyBucketReader"}}},
            ["team vision: bucket data roles/storage.objectAdmin → data roles/storage.legacyBucketReader, changed"],
        ),
        ({}, {"teams.vision.networkPolicy": {"enabled": False}}, ["team vision: network closed → open, widened"]),
        (
            {"teams.vision.podSecurity": "restricted"},
            {"teams.vision.podSecurity": "baseline"},
            ["team vision: Pod Security restricted → baseline, widened"],
        ),
        (
            {"teams.vision.podSecurity": "baseline"},
            {"teams.vision.podSecurity": "restricted"},
            ["team vision: Pod Security baseline → restricted, narrowed"],
        ),
        (
            {},
            {f"{CONTROL_PLANE}.publicEndpoint": True},
            [
                "control plane: authorized network any address is added",
                "control plane: public endpoint off → on, widened",
            ],
        ),
        (
            {CONTROL_PLANE: {"authorizedNetworks": [{"name": "office", "cidrBlock": "203.0.113.0/24"}]}},
            {CONTROL_PLANE: {"authorizedNetworks": [{"name": "office", "cidrBlock": "203.0.0.0/16"}]}},
            ["control plane: authorized network office 203.0.113.0/24 → office 203.0.0.0/16, widened"],
        ),
        (
            {},
            {"teams.vision.namespace": {"serving": True}},
            [
                "team vision: serving in namespace vision is added (its people run Deployments, StatefulSets and "
                "LeaderWorkerSets there, which Kueue queues)",
            ],
        ),
        (
            {CONTROL_PLANE: {"authorizedNetworks": [{"name": "office", "cidrBlock": "203.0.112.0/23"}]}},
            {CONTROL_PLANE: {"authorizedNetworks": [{"name": "office", "cidrBlock": "203.0.113.0/24"}]}},
            ["control plane: authorized network office 203.0.112.0/23 → office 203.0.113.0/24, narrowed"],
        ),
        (
            {CONTROL_PLANE: {"authorizedNetworks": [{"name": "office", "cidrBlock": "203.0.113.0/24"}]}},
            {CONTROL_PLANE: {"authorizedNetworks": [{"name": "office", "cidrBlock": "198.51.100.0/24"}]}},
            ["control plane: authorized network office 203.0.113.0/24 → office 198.51.100.0/24, changed"],
        ),
        ({"monitoring": {}}, {"monitoring": {"alerts": False}}, ["monitoring: alerts 17 → 0, removed"]),
        (
            {"monitoring": {"notificationChannels": [f"{_CHANNELS}/1", f"{_CHANNELS}/2"]}},
            {"monitoring": {"notificationChannels": [f"{_CHANNELS}/2", f"{_CHANNELS}/3"]}},
            [
                f"monitoring: notification channel {_CHANNELS}/1 is removed",
                f"monitoring: notification channel {_CHANNELS}/3 is added",
            ],
        ),
        (
            {"pools.n2": _N2},
            {"teams.vision.queues.urgent.flavors": [{"pool": "l4", "guaranteed": 4}, {"pool": "n2", "guaranteed": 1}]},
            [
                "team vision: pods without accelerators in vision/urgent every machine of the queue → machines without "
                "only, narrowed"
            ],
        ),
    ],
)  # fmt: skip
def test_a_right_is_one_line(before: dict[str, Any], changes: dict[str, Any], output: list[str]) -> None:
    given = [line for line in rights(changes, before) if "egress" not in line]
    assert given == output


def test_a_removed_permission_mirrors_the_added_one() -> None:
    base = fleet_with({"projectNumber": "123456789012"})
    old, new = plan(base), plan(fleet_with({"teams.vision.identity": OWNER}, base=base))
    assert [change.what for change in compare(new, old).rights] == ["removed"]
    assert headline(compare(new, old)) == "test: 1 right is removed or narrowed"


def test_services_that_lose_their_queue_are_in_the_headline() -> None:
    old = fleet_with({"teams.vision.namespace": {"serving": True}})
    lost = "team vision: serving in namespace vision is removed (Kueue starts no more pods of the services there)"
    gone = [
        f"admission policy {name}: check of all that it refuses is removed" for name in ("berth-scale", "berth-serving")
    ]
    more = "controller kueue: integrations.frameworks changes"
    # The team can no longer scale Deployments there, so its AppWrappers may hold them.
    wrapped = "admission policy berth-wrappers: validations.expression changes"
    expected = "; ".join([*gone, lost, more, wrapped, "4 blocked"])
    assert headline(compare(plan(old), plan(fleet_with()))) == f"test: {expected}"


@pytest.mark.parametrize(
    ("role", "gives"),
    [
        ("roles/logging.logWriter", ""),
        ("roles/storage.objectViewer", " (may read every bucket of the project)"),
        ("roles/cloudbuild.builds.editor", " (runs builds as the service account of Cloud Build)"),
        ("roles/nobody.knows", " (gives in the whole project what Berth's table of IAM roles does not have)"),
        ("organizations/1/roles/ours", " (gives in the whole project what Berth's table of IAM roles does not have)"),
    ],
)
def test_a_role_outside_the_allow_list_has_its_effect_in_the_fault(role: str, gives: str) -> None:
    """The list has what workloads need; a role that it does not have is never taken for harmless."""
    identity = {"roles": [role], "acceptRoles": {role: "why"}} if gives else {"roles": [role]}
    assert rights({"teams.vision.identity": identity}) == [f"team vision: role {role} is added{gives}"]


def test_the_allow_list_has_the_roles_of_nodes() -> None:
    assert [role for role in NODE_ROLES if google_roles().effect(role) is not None] == []
