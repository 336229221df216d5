"""The facts about releases are whole: each row has a source, releases are in order, and numbers agree with tags."""

from __future__ import annotations

from typing import Any

import pytest

from berth.catalog.tables import fact_tables
from berth.manifests.immutable import IMMUTABLE, IMMUTABLE_WITH, immutable_paths
from berth.versions import InvalidReleaseError, dotted, has_change, parse_release
from berth.versions.changes import known_holes, other_changes, required_actions
from berth.versions.fields import field_changes
from berth.versions.gates import companion_gates, kueue_gates, span_of
from berth.versions.standing import FOLDER, Standing, components, describe_standing, newest_run, standing
from berth.yaml_loader import load_table

GATES: dict[str, Any] = load_table(FOLDER / "kueue_gates.yaml")
COMPONENTS: dict[str, Any] = load_table(FOLDER / "components.yaml")
NAMED_GATES: dict[str, Any] = load_table(FOLDER / "kueue.yaml")["gates"]


@pytest.mark.parametrize("key", components())
def test_minors_are_in_order_and_name_a_source(key: str) -> None:
    minors = components()[key].minors
    newest = [parse_release(minor.newest) for minor in minors.values()]
    assert newest == sorted(newest)
    assert list(minors) == [dotted(version[:2]) for version in newest], "a patch stands with its own minor, once"
    days = [minor.released for minor in minors.values() if minor.released]
    table = fact_tables()["component-releases"]
    assert all(day <= table.as_of for day in days), "nothing was released after the day on which the table was read"
    assert all(minor.source for minor in minors.values())


def test_every_release_that_a_row_names_is_known() -> None:
    """A row that names a release of no minor, or one after the newest that was read, is a slip."""
    changes = {**required_actions(), **other_changes()}
    named = {(name, release) for name, change in changes.items() for release in change.releases}
    named |= {(name, release) for name, hole in known_holes().items() for release in {**hole.fixed, **hole.since}}
    named |= {(gate, release) for gate, row in NAMED_GATES.items() for release in row["in"]}
    wrong = [each for each in sorted(named) if standing("kueue", each[1]) not in (Standing.RAN, Standing.CHANGELOG)]
    assert wrong == []


def test_every_action_says_what_to_do_and_whom_it_concerns() -> None:
    for name, change in required_actions().items():
        assert change.do, name
        assert change.asks, name
        assert not change.says.endswith("."), name


def test_the_lists_of_required_actions_are_those_of_the_changelogs() -> None:
    """Counted in the changelogs of 0.18.0, 0.19.0 and 0.20.0; scripts/release_facts.py compares every number."""
    actions = required_actions().values()
    counts = {release: sum(release in each.releases for each in actions) for release in ("0.18.0", "0.19.0", "0.20.0")}
    assert counts == {"0.18.0": 6, "0.19.0": 7, "0.20.0": 13}


@pytest.mark.parametrize(
    ("name", "version", "is_in", "fixed_after"),
    [
        ("job-parallelism", "0.19.2", True, "0.19.6"),
        ("job-parallelism", "0.19.6", False, "0.20.0"),
        ("job-parallelism", "0.18.8", True, "0.19.6"),
        ("ownerless-workloads", "0.18.8", False, "0.19.4"),
        ("ownerless-workloads", "0.19.2", True, "0.19.4"),
        ("conversion-webhook-gone", "0.19.2", False, "0.20.6"),
        ("conversion-webhook-gone", "0.20.1", True, "0.20.6"),
        ("conversion-webhook-gone", "0.20.6", False, ""),
    ],
)
def test_a_release_has_a_hole_until_its_fix(name: str, version: str, is_in: bool, fixed_after: str) -> None:
    hole = known_holes()[name]
    assert hole.is_in(parse_release(version)) == is_in
    assert hole.fixed_after(parse_release(version)) == fixed_after


@pytest.mark.parametrize(
    ("version", "has"),
    [("0.18.4", False), ("0.18.5", True), ("0.19.0", False), ("0.19.1", True), ("0.20.0", True), ("0.21.3", True)],
)
def test_a_change_that_was_brought_back_holds_from_its_patch_of_each_minor(version: str, has: bool) -> None:
    assert has_change(parse_release(version), ["0.18.5", "0.19.1", "0.20.0"]) == has


def test_a_change_of_one_minor_holds_in_no_older_one() -> None:
    assert not has_change(parse_release("0.18.99"), ["0.19.6", "0.20.0"])
    assert has_change(parse_release("0.19.6"), ["0.19.6", "0.20.0"])


@pytest.mark.parametrize("text", ["", "0.19", "0.19.02", "00.19.2", "v0.19.2", "0.19.2.1", "0.१९.2", "latest"])
def test_text_that_is_not_a_release_is_refused(text: str) -> None:
    with pytest.raises(InvalidReleaseError, match="is not a release such as"):
        parse_release(text)


@pytest.mark.parametrize(
    ("key", "version", "stands"),
    [
        ("kueue", "0.19.2", "ran"),
        ("kueue", "0.19.1", "changelog"),
        ("kueue", "0.20.7", "changelog"),
        ("kueue", "0.20.8", "unknown"),
        ("kueue", "0.21.0", "unknown"),
        ("kueue", "0.20.0-rc.0", "unknown"),
        ("kueue", "0.14.9", "refused"),
        ("jobset", "0.12.0", "ran"),
        ("jobset", "0.13.0", "changelog"),
        ("jobset", "1.0.0", "unknown"),
        ("jobset", "0.7.3", "refused"),
    ],
)
def test_a_release_stands_where_the_table_puts_it(key: str, version: str, stands: str) -> None:
    assert standing(key, version) == stands
    message = describe_standing(key, version)
    assert version in message
    assert ("has not run here" in message) == (stands == "changelog")
    assert ("is unknown" in message) == (stands == "unknown")


def test_the_pin_ran_and_its_gates_are_whole() -> None:
    gates = kueue_gates(newest_run("kueue"))
    assert gates is not None
    assert gates.is_whole
    assert standing("jobset", newest_run("jobset")) == Standing.RAN


def test_gates_are_those_of_the_patch() -> None:
    before, after = kueue_gates("0.19.0"), kueue_gates("0.19.1")
    assert before is not None
    assert after is not None
    assert after.states.keys() - before.states.keys() >= {"LWSImmutableGroupSize", "TASValidateWorkloadSliceSize"}
    assert span_of("LWSImmutableGroupSize", "0.19") == "Kueue 0.19 has it since 0.19.1"
    assert span_of("DynamicResourceAllocation", "0.19") == "only Kueue 0.15 to 0.18 have it"
    assert span_of("Nonsense", "0.19") is None


@pytest.mark.parametrize("minor", GATES)
def test_each_gate_has_one_state_in_a_release(minor: str) -> None:
    row = GATES[minor]
    names = [gate for state, text in row.items() if state.split()[0] in _STAGES for gate in text.split()]
    assert len(names) == len(set(names)) > 30
    assert set(row["since"]) <= set(names)


_STAGES = ("alpha", "beta", "ga", "deprecated")


def test_later_releases_have_the_gates_that_changelogs_name() -> None:
    """0.20.0 turns on what its changelog says; what a stage is where it does not say stays open."""
    release = kueue_gates("0.20.0")
    assert release is not None
    assert not release.is_whole
    assert release.default("UnadmittedWorkloadsObservability") is True
    assert release.default("WorkloadPriorityClassDefaulting") is True
    assert release.default("TASTopologySpreading") is None
    assert "AdmissionFairSharing" in release.requires["AdmissionFairSharingAnchorAtQuotaReservation"]
    assert kueue_gates("0.25.0") is None


def test_what_kueue_is_built_with_is_in_the_table_of_its_companion() -> None:
    for minor, built in COMPONENTS["companions"].items():
        assert minor in components()["kueue"].minors
        for key in built.keys() & components().keys():
            assert dotted(parse_release(built[key])[:2]) in components()[key].minors


def test_fields_change_as_the_crds_of_both_releases_say() -> None:
    changes = {(each.kind, each.path): each for each in field_changes("kueue", "0.19.2", "0.20.0") or ()}
    assert changes["Topology", "spec.levels"].sentence == (
        "Topology spec.levels is immutable unless kubernetes.io/hostname stays last (immutable before)"
    )
    assert ("ResourceFlavor", "spec.tolerations") in changes
    assert {each.after for each in changes.values() if each.fact == "served"} == {"v1beta2"}
    back = {(each.kind, each.path): each for each in field_changes("kueue", "0.20.0", "0.19.2") or ()}
    assert back["Topology", "spec.levels"].sentence == (
        "Topology spec.levels is immutable (immutable unless kubernetes.io/hostname stays last before)"
    )
    more = {each.path: each for each in field_changes("kueue", "0.17.8", "0.19.2") or ()}
    assert more["spec.podSets"].sentence == "Workload spec.podSets takes at most 18 items (8 before)"
    assert field_changes("kueue", "0.19.0", "0.19.2") == ()
    assert field_changes("kueue", "0.19.2", "0.25.0") is None


HOST, BLOCK = "kubernetes.io/hostname", "cloud.google.com/gce-topology-block"


@pytest.mark.parametrize("minor", ["0.17", "0.18", "0.19", "0.20"])
def test_immutable_fields_are_those_of_the_crds_of_each_minor(minor: str) -> None:
    """Two tables: what scripts/release_facts.py read in CRDs, and what the diff and the components replace for."""
    read: dict[str, Any] = load_table(FOLDER / "crds.yaml")["kueue"]
    release = f"{minor}.1"
    for kind in IMMUTABLE.keys() & read.keys() - {"Topology"}:
        held = {path for path, value in _facts_at(read[kind], minor) if value == "always"}
        assert held == set(immutable_paths({"kind": kind}, release)), kind
    for levels in ([BLOCK, HOST], [BLOCK]):
        spec = {"levels": [{"nodeLabel": each} for each in levels]}
        ((path, value),) = _facts_at(read["Topology"], minor)
        fixed = value == "always" or (value == f"unless {HOST} stays last" and levels[-1] != HOST)
        assert immutable_paths({"kind": "Topology", "spec": spec}, release) == ([path] if fixed else [])
    placed = {"kind": "ResourceFlavor", "spec": {"topologyName": "t", "nodeLabels": {"a": "b"}}}
    held = {path for path, value in _facts_at(read["ResourceFlavor"], minor) if value == "with topologyName"}
    assert held == set(immutable_paths(placed, release))
    assert immutable_paths({"kind": "ResourceFlavor", "spec": {}}, release) == []


@pytest.mark.parametrize("release", [None, "0.16.9", "0.19.14", "latest", "existing"])
def test_what_no_release_says_counts_as_immutable(release: str | None) -> None:
    placed = {"kind": "ResourceFlavor", "spec": {"topologyName": "t"}}
    assert set(immutable_paths(placed, release)) == set(IMMUTABLE_WITH["ResourceFlavor", "topologyName"])


def _facts_at(row: dict[str, Any], minor: str) -> list[tuple[str, object]]:
    """The immutable fields of a kind with their values in a minor."""
    number = tuple(map(int, minor.split(".")))
    found: list[tuple[str, object]] = []
    for path, values in row.get("immutable", {}).items():
        known = values if isinstance(values, dict) else {"0.0": values}
        found.append((path, [v for first, v in known.items() if tuple(map(int, first.split("."))) <= number][-1]))
    return found


def test_gates_of_companions_are_those_of_a_tag_of_each_minor() -> None:
    """Every minor of the table of releases that has a tag, and no gate of a stage that does not exist."""
    rows: dict[str, Any] = load_table(FOLDER / "companion_gates.yaml")
    for key, minors in rows.items():
        tagged = {name for name, minor in components()[key].minors.items() if minor.source.startswith("tag ")}
        assert tagged <= minors.keys(), key
        for name, row in minors.items():
            assert row["source"].startswith(f"v{name}."), (key, name)
            assert {state.split()[0] for state in row["gates"].values()} <= {"alpha", "beta", "ga"}
            assert {state.split()[1] for state in row["gates"].values()} <= {"on", "off"}


@pytest.mark.parametrize(
    ("component", "release", "gate", "default"),
    [
        ("jobset", "0.11.1", "TLSOptions", None),
        ("jobset", "0.12.0", "TLSOptions", True),
        ("jobset", "0.12.0", "RestartJob", False),
        ("trainer", "2.3.0", "TrainJobStatus", False),
        ("kuberay", "1.5.2", "RayJobDeletionPolicy", False),
        ("kuberay", "1.6.2", "RayJobDeletionPolicy", True),
    ],
)
def test_gates_of_companions(component: str, release: str, gate: str, default: bool | None) -> None:
    gates = companion_gates(component, release)
    assert gates is not None
    assert gates.default(gate) is default


def test_a_release_without_a_tag_has_unknown_gates() -> None:
    assert companion_gates("jobset", "0.13.0") is None
    assert companion_gates("leaderworkerset", "0.9.0") is None
