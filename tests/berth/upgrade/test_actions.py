"""Each required action is found where it concerns a stack, and is silent where it does not: a table of small stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from berth.jobs.files import ManifestDocument
from berth.upgrade.conditions import condition_names
from berth.upgrade.evidence import Applicability, Evidence, objects_of
from berth.upgrade.findings import Upgrade, UpgradeAction, upgrade_by
from berth.upgrade.moves import Move
from berth.versions.changes import gke_changes, known_holes, other_changes, required_actions
from berth.yaml_loader import load_table
from tests import small_fleets as small

STACKS: list[dict[str, Any]] = load_table(Path(__file__).with_name("stacks.yaml"))


def upgrade_of_row(row: dict[str, Any]) -> Upgrade:
    before, _, after = row["kueue"].partition("..")
    changes = dict(row.get("with", {}))
    if not changes.get("kueue", {}).get("existing"):
        changes["kueue.version"] = after
    plan = small.run_planner(small.fleet_with(changes)).plan
    documents = [ManifestDocument("jobs.yaml", value) for value in row.get("jobs", [])]
    objects, _ = objects_of(documents, plan)
    return upgrade_by((Move("kueue", before, after),), plan, Evidence(plan, None, objects, "jobs.yaml"))


def required(upgrade: Upgrade, verdict: Applicability) -> list[str]:
    return sorted(each.name for each in upgrade.of(verdict) if each.is_required)


@pytest.mark.parametrize("row", STACKS, ids=lambda row: row["stack"].replace(" ", "-"))
def test_the_actions_of_a_stack_are(row: dict[str, Any]) -> None:
    upgrade = upgrade_of_row(row)
    assert required(upgrade, Applicability.APPLIES) == sorted(row["applies"])
    assert required(upgrade, Applicability.UNKNOWN) == sorted(set(row["open"]) - set(row.get("not_of", [])))
    assert upgrade.breaks == row.get("breaks", False)


def test_there_are_at_least_forty_stacks() -> None:
    assert len({row["stack"] for row in STACKS}) == len(STACKS) >= 40


@pytest.mark.parametrize("release", ["0.19.0", "0.20.0"])
def test_each_action_of_a_release_is_found_by_some_stack_and_silent_for_another(release: str) -> None:
    """What is moot for a Kueue that Berth installs is open for an existing one."""
    names = {name for name, change in required_actions().items() if release in change.releases}
    found, silent = set[str](), set[str]()
    for row in STACKS:
        upgrade = upgrade_of_row(row)
        found |= {each.name for each in upgrade.findings if each.verdict != Applicability.NOT}
        silent |= {each.name for each in upgrade.of(Applicability.NOT)}
    assert names <= found
    open_for_all = {"slice-sizes", "no-v1beta1", "negative-subgroup-count"}  # no file tells what a cluster has
    assert names - silent <= open_for_all


def test_every_action_on_the_way_is_told_with_its_reason() -> None:
    """The count is taken from the releases themselves, not from the code that compares them."""
    upgrade = upgrade_of_row({"kueue": "0.19.0..0.20.0"})
    listed = [each for each in upgrade.findings if each.is_required]
    own = {name for name, change in required_actions().items() if "0.20.0" in change.releases}
    before = {name for name, change in required_actions().items() if set(change.releases) & {"0.18.0", "0.19.0"}}
    assert {each.name for each in listed} == own - before
    assert len(listed) == 13
    assert all(each.why and each.do and each.source.startswith("0.20.0, #") for each in listed)


def test_a_downgrade_asks_for_nothing_and_breaks_nothing_by_its_actions() -> None:
    upgrade = upgrade_of_row(
        {"kueue": "0.20.0..0.19.0", "with": {"kueue.featureGates": {"AdmissionFairSharing": False}}}
    )
    assert upgrade.moves[0].is_downgrade
    assert not any(each.do or each.breaks for each in upgrade.findings if each.is_required)
    assert {each.name for each in upgrade.findings if each.is_required} >= {"no-v1beta1", "trainer-2.3"}


def test_an_unknown_release_is_said_to_be_unknown() -> None:
    upgrade = upgrade_of_row({"kueue": "0.19.2..0.25.0"})
    assert upgrade.unlisted == ("no table has Kueue 0.25.0: what it changes and asks for is unknown",)
    assert upgrade.turns == ()


def test_every_condition_of_a_row_exists() -> None:
    """A condition that no function has would hold for every stack."""
    rows = [change.asks for change in (*required_actions().values(), *other_changes().values())]
    rows += [change.asks for change in gke_changes().values()] + [hole.usable for hole in known_holes().values()]
    assert {key for asks in rows for key in asks} <= condition_names()


def names_of(findings: tuple[UpgradeAction, ...]) -> set[str]:
    return {each.name for each in findings}


@pytest.mark.parametrize(
    ("jobs", "pool", "applies"),
    [
        ([], {}, set()),
        ([{"kind": "Pod", "apiVersion": "v1", "spec": {"volumes": [{"gitRepo": {}}]}}], {}, {"git-repo-volumes"}),
        ([{"kind": "Service", "apiVersion": "v1", "spec": {"externalIPs": ["192.0.2.1"]}}], {}, {"external-ips"}),
        ([], {"pools.l4.nodeSystemConfig": {"cgroupMode": "v1"}}, {"cgroup-v1"}),
    ],
)
def test_what_a_minor_of_gke_breaks_is_found(
    jobs: list[dict[str, Any]], pool: dict[str, Any], applies: set[str]
) -> None:
    plan = small.run_planner(small.fleet_with(pool)).plan
    objects, _ = objects_of([ManifestDocument("jobs.yaml", value) for value in jobs], plan)
    upgrade = upgrade_by((Move("gke", "1.33", "1.36"),), plan, Evidence(plan, None, objects, "jobs.yaml"))
    assert names_of(upgrade.of(Applicability.APPLIES)) == applies
    assert upgrade.breaks == bool(applies - {"external-ips"})
    before_35 = upgrade_by((Move("gke", "1.33", "1.34"),), plan, Evidence(plan, None, objects))
    assert before_35.findings == ()


def test_gke_does_not_go_back() -> None:
    upgrade = upgrade_by((Move("gke", "1.35", "1.34"),), small.plan(small.fleet_with()))
    assert upgrade.moves[0].is_downgrade
    assert upgrade.breaks
    assert "no-downgrade" in names_of(upgrade.breaking)
