"""Pods on the network of their nodes act as the nodes: lint and workload say so where the team would miss rights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.small_fleets import fleet_with, own_cluster, plan, pool

ROLES = {"roles": ["roles/artifactregistry.reader"], "impersonate": "vision-pods"}
ACCOUNT = "slices@acme-ml-dev.iam.gserviceaccount.com"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, which is the current one."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(folder: Path, changes: dict[str, Any]) -> tuple[str, str]:
    """The manifest of a job of two slices for vision's queue, and what lint says of it."""
    fleet = {"config": {"berth:fleet": fleet_with(changes)}}
    (folder / "Pulumi.test.yaml").write_text(json.dumps(fleet), encoding="utf-8")
    options = ["--kind", "jobset", "--slices", "2", "--image", "busybox"]
    manifest = CliRunner().invoke(app, ["workload", "test", "vision", "train", *options])
    assert manifest.exit_code == 0, manifest.output
    (folder / "job.yaml").write_text(manifest.output, encoding="utf-8")
    return manifest.output, CliRunner().invoke(app, ["lint", "test", "job.yaml", "--team", "vision"]).output


def sentences(manifest: str) -> str:
    """The comments of a manifest as one line."""
    return " ".join(line.lstrip("# ") for line in manifest.splitlines() if line.startswith("#"))


TWO_SLICES = {"teams.vision.queues.train.flavors": [{"pool": "v5e", "guaranteed": "1 slice", "borrow": "2 slices"}]}


def test_permissions_of_a_team_that_do_not_apply_are_reported(folder: Path) -> None:
    manifest, text = made(folder, {**TWO_SLICES, "teams.vision.identity": ROLES})
    remedy = "give them to an account of the pool's own nodes (pools.v5e.serviceAccount)"
    assert f"act as the nodes' service account, without the team's rights: {remedy}." in sentences(manifest)
    assert f"so the rights of team 'vision' do not apply; {remedy}" in text


def test_a_team_without_rights_misses_none(folder: Path) -> None:
    manifest, text = made(folder, TWO_SLICES)
    assert "hostNetwork: true" in manifest
    assert "service account" not in sentences(manifest)
    assert "do not apply" not in text


def test_nodes_with_an_account_of_their_own_are_named(folder: Path) -> None:
    changes = {**TWO_SLICES, "teams.vision.identity": ROLES, "pools.v5e.serviceAccount": ACCOUNT}
    manifest, text = made(folder, changes)
    assert f"act as the nodes' service account {ACCOUNT}, not as the team's." in sentences(manifest)
    assert "do not apply" not in text


def test_a_machine_with_dranet_keeps_the_identity(folder: Path) -> None:
    """v6e has the accelerator network profile: without it the remedy names it, with it pods are not on the host."""
    v6e = {"machineType": "ct6e-standard-4t", "topology": "2x4", "slices": 3, "zone": "us-central1-b"}
    changes = {**TWO_SLICES, "teams.vision.identity": ROLES, "pools.v5e": v6e}
    manifest, text = made(folder, changes)
    assert "write pools.v5e.networking: dranet and remove hostNetwork, or give them" in sentences(manifest)
    assert "pools.v5e.networking: dranet" in text
    manifest, text = made(folder, {**changes, "pools.v5e": {**v6e, "networking": "dranet"}})
    assert "hostNetwork" not in manifest
    assert "do not apply" not in text


def test_the_account_of_a_pool_is_that_of_all_its_nodes() -> None:
    fleet_plan = plan(fleet_with({"pools.v5e.serviceAccount": ACCOUNT}))
    assert {node_pool.settings.service_account for node_pool in pool(fleet_plan, "v5e").node_pools} == {ACCOUNT}
    assert {node_pool.settings.service_account for node_pool in pool(fleet_plan, "l4").node_pools} == {None}
    assert own_cluster(fleet_plan).node_service_account.email != ACCOUNT
