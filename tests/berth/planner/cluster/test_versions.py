"""Which version the pools of a fleet need: what a quoted one lacks is refused, what a channel leaves open is a note."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.plan.fleet import FleetPlan
from tests import small_fleets as small
from tests.problem_lines import line_without_code

FLEX = {"machineType": "g2-standard-24", "nodes": {"max": 4}, "zone": small.ZONE, "capacity": "flex-start"}
QUEUED = {**FLEX, "capacity": "queued"}


def of_version(version: str | None, **pools: dict[str, Any]) -> dict[str, Any]:
    return small.fleet_of_pools(pools, **({"cluster.version": version} if version else {}))


def notes(fleet: dict[str, Any]) -> list[str]:
    """The notes of versions: queued machines have one of their quota too."""
    found = (problem for problem in small.problems(fleet) if problem.severity == "note")
    return [line_without_code(problem) for problem in found if problem.code != "resize-requests"]


def test_a_feature_under_a_version_that_lacks_it_is_a_fault_that_names_both() -> None:
    fleet = of_version("1.32.1-gke.1400000", flex=FLEX)
    assert small.faults(fleet) == ["version-too-old pools.flex.capacity"]
    assert small.message(fleet, "version-too-old").startswith(
        "flex-start needs GKE 1.32.2-gke.1652000, but the cluster has '1.32.1-gke.1400000'"
    )


@pytest.mark.parametrize("mode", ["standard", "autopilot"])
def test_features_of_every_cluster_are_checked_against_its_version(mode: str) -> None:
    """The provider sends the component, and GKE refuses it below its first version."""
    fleet = small.fleet_of_pools(
        {"flex": {**FLEX, "capacity": "spot"}}, **{"cluster.version": "1.32.0", "cluster.mode": mode}
    )
    assert "version-too-old cluster.version" in small.faults(fleet)
    assert "JOBSET" in small.message(fleet, "version-too-old")


def test_a_channel_without_a_version_yields_one_note_of_the_newest_version_assumed() -> None:
    assert notes(of_version(None, flex=FLEX, also=FLEX, queued=QUEUED)) == [
        "note: cluster.releaseChannel: release channel 'regular' has no fixed version: Berth assumes GKE "
        "1.32.2-gke.1652000 or later, which flex-start needs"
    ]


def test_a_version_that_names_no_patch_yields_one_note() -> None:
    (note,) = notes(of_version("1.32", flex=FLEX, also=FLEX))
    assert note == (
        "note: cluster.version: '1.32' has no patch number: Berth assumes GKE 1.32.2-gke.1652000 "
        "or later, which flex-start needs"
    )


@pytest.mark.parametrize("version", [None, "1.34"])
def test_nothing_is_assumed_where_nothing_needs_a_version(version: str | None) -> None:
    pool = {**FLEX, "nodes": 4, "capacity": "on-demand"}
    assert notes(of_version(version, l4=pool)) == []


def queued_pools(plan: FleetPlan) -> list[tuple[bool, bool]]:
    return [(pool.queued, pool.flex_start) for pool in small.pool(plan, "queued").node_pools]


def test_a_queued_pool_sets_flex_start_on_newer_versions() -> None:
    """Newer GKE wants both; one that does not know flex-start refuses it."""
    assert queued_pools(small.plan(of_version(None, queued=QUEUED))) == [(True, True)]
    assert queued_pools(small.plan(of_version("1.33.1-gke.1", queued=QUEUED))) == [(True, True)]
    assert queued_pools(small.plan(of_version("1.32.1-gke.1400000", queued=QUEUED))) == [(True, False)]


# --- where a note is told ---------------------------------------------------------------------------------------------

_FILE = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {controlPlane: {publicEndpoint: false}}
    pools:
      flex: {machineType: g2-standard-24, nodes: {max: 4}, zone: us-central1-a, capacity: flex-start}
    teams:
      vision: {queues: {train: {flavors: [{pool: flex, guaranteed: all}]}}}
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A project with one sound stack, in which one stands."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    (tmp_path / "Pulumi.flex.yaml").write_text(_FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_notes_are_printed_only_by_plan() -> None:
    run = CliRunner().invoke
    line = (
        "  Pulumi.flex.yaml:5: note: cluster.releaseChannel: release channel 'regular' has no fixed version: "
        "Berth assumes GKE 1.32.2-gke.1652000 or later, which flex-start needs"
    )
    assert run(app, ["check", "flex"]).stdout == "flex: no errors\n"
    assert run(app, ["plan", "flex"]).stdout.endswith(f"No faults or warnings.\n\n1 note\n{line} [version-assumed]\n")
    assert '"severity": "note"' in run(app, ["plan", "flex", "--json"]).stdout
