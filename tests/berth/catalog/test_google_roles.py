"""The table of Google's IAM roles, compared with the permissions that Google's API lists for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.catalog.google_roles import AGENT_EFFECT, google_roles

FACTS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "vendored" / "facts" / "iam_roles.yaml").read_text(encoding="utf-8")
)
GROUPS = google_roles().privileged
READS_OF_DATA = ("secretmanager.versions.access", "storage.objects.get", "storage.objects.create")


def _name(role: str) -> str:
    return role.removeprefix("roles/")


@pytest.mark.parametrize("role", [role for group in GROUPS for role in group.roles])
def test_a_privileged_role_has_the_permission_of_its_group(role: str) -> None:
    permissions = FACTS["privileged"][_name(role)]
    assert [group.permission for group in GROUPS if role in group.roles and group.permission in permissions]


def test_every_role_with_such_a_permission_is_in_the_table() -> None:
    """Every predefined role is covered, except those of service agents, which have a rule of their own."""
    listed = {_name(role) for group in GROUPS for role in group.roles}
    assert listed == FACTS["privileged"].keys()
    assert google_roles().privilege("roles/dataflow.serviceAgent") == AGENT_EFFECT


def test_roles_are_unique() -> None:
    roles = google_roles()
    listed = [role for group in GROUPS for role in group.roles] + [*roles.workload, *roles.nodes, *roles.broad]
    assert sorted(listed) == sorted(set(listed))


def test_the_allow_list_neither_reads_data_nor_grants_anything() -> None:
    permissions = {
        _name(role): FACTS["allowed"][_name(role)] for role in (*google_roles().workload, *google_roles().nodes)
    }
    forbidden = {*READS_OF_DATA, *(group.permission for group in GROUPS)}
    assert {name: sorted(forbidden & set(each)) for name, each in permissions.items() if forbidden & set(each)} == {}
    assert all(not each.endswith((".setIamPolicy", ".delete")) for listed in permissions.values() for each in listed)


def test_a_broad_role_reads_or_writes_what_its_effect_says() -> None:
    for role, broad in google_roles().broad.items():
        permissions = FACTS["broad"][_name(role)]
        needed = "secretmanager.versions.access" if "secret" in broad.effect else "storage.objects.get"
        assert needed in permissions
        assert ("write" in broad.effect) == ("storage.objects.create" in permissions)


@pytest.mark.parametrize(
    "role", ["roles/iam.securityReviewer", "roles/cloudbuild.builds.viewer", "roles/compute.viewer"]
)
def test_a_role_that_only_reads_the_configuration_is_not_privileged(role: str) -> None:
    assert google_roles().privilege(role) is None
    assert google_roles().effect(role) is not None
