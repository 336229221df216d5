"""`berth init` for a second region or project: the place's own values are asked for, and teams keep their rights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.init.team_roles import divided_units

EAST = """\
config:
  pulumi:disable-default-providers: ["*"]
  berth:fleet:
    project: acme-ml
    region: us-east5
    cluster:
      zones: [us-east5-b]
      network: {existing: vpc, project: acme-net, subnetwork: ml-east, podRangeName: pods-e, serviceRangeName: svc-e}
      controlPlane: {authorizedNetworks: [{name: office, cidrBlock: 198.18.0.0/24}]}
    reservations:
      tpu: {existing: true, name: v6e-east, block: b-1, machineType: ct6e-standard-4t, zone: us-east5-b, count: 16}
    pools:
      v6e: {machineType: ct6e-standard-4t, topology: 4x4, slices: 4, capacity: {reservation: tpu}}
    cohorts: {all: {}}
    teams:
      vision:
        cohort: all
        groups: [vision@acme.dev]
        identity:
          serviceAccount: vision-ksa
          impersonate: wi-vision
          roles: [roles/logging.logWriter]
          buckets: {acme-vision-east: roles/storage.objectUser}
          secrets: {hf-token: vision-hf}
        queues: {train: {flavors: [{pool: v6e, guaranteed: 2 slices, borrow: 2 slices}]}}
      speech:
        cohort: all
        groups: [speech@acme.dev]
        queues: {train: {flavors: [{pool: v6e, guaranteed: 2 slices, borrow: 2 slices}]}}
"""
PLACE = ["--project", "acme-ml", "--region", "us-central1", "--zone", "us-central1-b"]
ANSWERS = {
    "ml-east": "ml-central", "pods-e": "pods-c", "svc-e": "svc-c", "v6e-east": "v6e-c", "b-1": "b-9",
    "acme-vision-east": "acme-vision-c",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with the stack `east`."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    (tmp_path / "Pulumi.east.yaml").write_text(EAST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, *words: str) -> tuple[dict[str, Any], list[str]]:
    """Return the fleet that `berth init west` wrote, and what it printed."""
    done = CliRunner().invoke(app, ["init", "west", "--from", "east", *words])
    assert done.exit_code == 0, done.output
    return yaml.safe_load((folder / "Pulumi.west.yaml").read_text())["config"]["berth:fleet"], done.stdout.splitlines()


def test_values_of_the_place_become_placeholders_and_each_is_listed(folder: Path) -> None:
    fleet, lines = written(folder, *PLACE)
    assert lines[0] == "Pulumi.west.yaml: written from Pulumi.east.yaml, 6 placeholders left, 2 warnings. Next:"
    assert lines[lines.index("write your own values for:") + 1 :] == [
        "  cluster.network.podRangeName: your-pod-range (instead of pods-e)",
        "  cluster.network.serviceRangeName: your-service-range (instead of svc-e)",
        "  cluster.network.subnetwork: your-subnetwork (instead of ml-east)",
        "  reservations.tpu.block: your-block-tpu (instead of b-1)",
        "  reservations.tpu.name: your-reservation-tpu (instead of v6e-east)",
        "  teams.vision.identity.buckets.your-storage-vision-1: your-storage-vision-1 (instead of acme-vision-east)",
    ]
    assert fleet["reservations"]["tpu"]["zone"] == "us-central1-b"
    assert not any(old in (folder / "Pulumi.west.yaml").read_text() for old in ANSWERS)


NETWORK = "network: {{existing: vpc, subnetwork: {0}, podRangeName: {0}-pods, serviceRangeName: {0}-services}}"
MANAGER = f"""\
config:
  pulumi:disable-default-providers: ["*"]
  berth:fleet:
    project: acme-ml
    region: us-east5
    cluster: {{name: manager}}
    workers:
      near:
        cluster: {{name: worker-near, {NETWORK.format("near")}}}
        pools: {{h100: {{machineType: a3-highgpu-8g, nodes: 4, zone: us-east5-a}}}}
      far:
        region: us-central1
        cluster: {{name: worker-far, {NETWORK.format("far")}}}
        pools: {{h100: {{machineType: a3-highgpu-8g, nodes: 4, zone: us-central1-a}}}}
    teams:
      vision: {{queues: {{train: {{flavors: [{{pool: h100, guaranteed: 8}}]}}}}}}
"""


def test_a_worker_without_a_region_of_its_own_moves_with_its_manager(folder: Path) -> None:
    """Clusters of both stacks have other names, and what is called otherwise in the new place is marked."""
    (folder / "Pulumi.east.yaml").write_text(MANAGER)
    fleet, lines = written(folder, "--project", "acme-ml", "--region", "us-central1", "--zone", "us-central1-a")
    assert lines[lines.index("write your own values for:") + 1 :] == [
        "  workers.near.cluster.network.podRangeName: your-pod-range-near (instead of near-pods)",
        "  workers.near.cluster.network.serviceRangeName: your-service-range-near (instead of near-services)",
        "  workers.near.cluster.network.subnetwork: your-subnetwork-near (instead of near)",
    ]
    workers = fleet["workers"]
    assert {name: each["cluster"]["name"] for name, each in workers.items()} == {"near": "west-near", "far": "west-far"}
    assert workers["far"]["cluster"]["network"]["subnetwork"] == "far"


def test_keys_policies_ranges_and_buckets_of_team_files_are_listed(folder: Path) -> None:
    text = EAST.replace(
        "    reservations:",
        "      bootDiskKmsKey: projects/kms/locations/us-east5/keyRings/gke/cryptoKeys/disks\n    reservations:",
    )
    text = text.replace("serviceRangeName: svc-e}", "serviceRangeName: svc-e, additionalPodRangeNames: [more-e]}")
    text = text.replace("slices: 4,", "slices: 4, placementPolicy: policy-e,")
    (folder / "Pulumi.east.yaml").write_text(f"{text}    teamFiles: [ops.yaml]\n")
    bucket = "impersonate: ops-jobs, buckets: {acme-ops-east: roles/storage.objectViewer}"
    queues = "{train: {flavors: [{pool: v6e, guaranteed: 0, borrow: 1 slice}]}}"
    (folder / "ops.yaml").write_text(f"teams: {{ops: {{cohort: all, identity: {{{bucket}}}, queues: {queues}}}}}\n")
    fleet, lines = written(folder, *PLACE)
    listed = lines[lines.index("write your own values for:") + 1 :]
    key = "projects/kms/locations/{}/keyRings/gke/cryptoKeys/{}"
    assert fleet["cluster"]["bootDiskKmsKey"] == key.format("us-central1", "your-key-disks")
    assert {
        f"  cluster.bootDiskKmsKey: your-key-disks (instead of {key.format('us-east5', 'disks')})",
        "  cluster.network.additionalPodRangeNames[0]: your-pod-range-more-1 (instead of more-e)",
        "  pools.v6e.placementPolicy: your-policy-v6e (instead of policy-e)",
        "  teams.ops.identity.buckets.acme-ops-east: acme-ops-east (in a file that Pulumi.east.yaml reads, too)",
    } < set(listed)


def test_given_values_leave_no_placeholder(folder: Path) -> None:
    fleet, lines = written(
        folder, *PLACE, *(word for old, new in ANSWERS.items() for word in ("--value", f"{old}={new}"))
    )
    assert ", no errors, " in lines[0]
    assert "write your own values for:" not in lines
    assert fleet["cluster"]["network"] | {} == {
        "existing": "vpc", "subnetwork": "ml-central", "podRangeName": "pods-c", "serviceRangeName": "svc-c",
        "project": "acme-net",
    }  # fmt: skip
    assert fleet["teams"]["vision"]["identity"]["buckets"] == {"acme-vision-c": "roles/storage.objectUser"}


def test_a_second_stack_in_the_same_place_keeps_its_values(folder: Path) -> None:
    fleet, lines = written(folder, "--project", "acme-ml", "--region", "us-east5")
    assert ", no errors, " in lines[0]
    assert fleet["cluster"]["network"]["subnetwork"] == "ml-east"


def test_teams_keep_groups_secrets_and_roles_and_new_ones_have_none(folder: Path) -> None:
    before = yaml.safe_load(EAST)["config"]["berth:fleet"]["teams"]
    fleet, lines = written(
        folder, *PLACE, "--team", "vision", "--team", "ops", "--value", "acme-vision-east=acme-vision-c"
    )
    vision = fleet["teams"]["vision"]
    assert vision["groups"] == before["vision"]["groups"]
    assert vision["identity"] == {
        **before["vision"]["identity"], "buckets": {"acme-vision-c": "roles/storage.objectUser"},
    }  # fmt: skip
    assert fleet["teams"]["ops"].keys() == {"cohort", "queues"}
    assert "ops: not in Pulumi.east.yaml; write groups and identity" in lines


def test_the_teams_of_an_example_hand_their_secrets_to_the_new_ones(folder: Path) -> None:
    done = CliRunner().invoke(
        app,
        [
            "init",
            "bp",
            "--from",
            "batch-platform",
            "--project",
            "acme-ml",
            "--region",
            "us-central1",
            "--team",
            "vision",
        ],
    )
    assert done.exit_code == 0, done.output
    fleet = yaml.safe_load((folder / "Pulumi.bp.yaml").read_text())["config"]["berth:fleet"]
    assert fleet["teams"] == {"vision": {"identity": {"secrets": {"hf-token": "hf-secret"}}}}
    assert fleet["teamDefaults"]["identity"]["buckets"] == {"acme-ml-batch-data": "roles/storage.objectUser"}
    assert done.stdout.splitlines()[-2:] == [
        "write your own values for:",
        "  platform.owners[0], teamDefaults.groups[0]: example.com",
    ]


def test_unequal_shares_are_said_only_where_the_teams_cannot_have_equal_ones(folder: Path) -> None:
    _, four = written(folder, *PLACE, *(word for team in "abcd" for word in ("--team", team)))
    assert not any("cannot share" in line for line in four)
    (folder / "Pulumi.west.yaml").unlink()
    _, three = written(folder, *PLACE, *(word for team in "abc" for word in ("--team", team)))
    assert any(line.startswith("v6e: 3 teams cannot share 4 slices equally") for line in three)


@pytest.mark.parametrize("units", range(8))
@pytest.mark.parametrize("weights", [[1], [1, 1], [1, 2], [3, 1, 1], [0, 5]])
def test_parts_of_a_share_add_up_to_it(units: int, weights: list[int]) -> None:
    parts = divided_units(units, weights)
    assert sum(parts) == units
    for part, weight in zip(parts, weights, strict=True):
        assert abs(part - units * weight / sum(weights)) < 1


def test_another_project_has_another_number(folder: Path) -> None:
    """Rights are granted by the number, so the old one would give them to another project's pods."""
    numbered = EAST.replace("    region: us-east5\n", '    projectNumber: "123456789012"\n    region: us-east5\n')
    (folder / "Pulumi.east.yaml").write_text(numbered)
    words = ["--project", "acme-two", "--region", "us-east5"]
    _, lines = written(folder, *words)
    assert "  projectNumber: 123456789012 (of acme-ml)" in lines
    (folder / "Pulumi.west.yaml").unlink()
    fleet, lines = written(folder, *words, "--value", "123456789012=210987654321")
    assert fleet["projectNumber"] == "210987654321"
    assert not any("projectNumber" in line for line in lines)
