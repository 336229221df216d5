"""GKE versions: what a feature needs, what a version lacks, what a channel leaves open."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth import catalog
from berth.catalog import InvalidVersionError, compare_version, parse_version
from berth.rules.gke.versions import (
    FeatureNeed,
    feature_needs,
    features,
    first_version,
    missing_features,
)
from tests.berth.rules.gke.pool_requests import AUTOPILOT, pool, shared
from tests.stack_files import ROOT

FACTS = ROOT / "tests" / "vendored" / "facts" / "gke_versions.txt"
OTHER_PAGES = {"1.28.7-gke.1020000", "1.31.1-gke.1146000", "1.27.7-gke.1088000", "1.28.6-gke.1095000"} | {
    *("1.29.3-gke.1093000", "1.28.3-gke.1067000", "1.30.1-gke.1329000", "1.35.0-gke.1403000", "1.29.2-gke.1108000"),
    *("1.34.0-gke.1", "1.34.3-gke.1318000", "1.35.2-gke.1842000", "1.36.0-gke.3712000"),
    *("1.32.4-gke.1415000", "1.32.6-gke.1060000", "1.33.2-gke.4731000", "1.36.0-gke.2253000", "1.36.0-gke.2853000"),
}
"""Versions that the facts do not have: from pages on auto-provisioning, MPS, reservations, monitoring components,
secondary boot disks, GKE Sandbox, dynamic slices with Kueue, checkpoints, H4D, capacity buffers, and Cluster Toolkit's
on A4X."""

parts = st.tuples(st.integers(1, 2), st.integers(0, 40), st.integers(0, 9), st.integers(0, 3000000))
lengths = st.integers(2, 4)


def text(version: tuple[int, ...]) -> str:
    """A version as Google writes it."""
    head = ".".join(map(str, version[:3]))
    return head if len(version) < 4 else f"{head}-gke.{version[3]}"


# --- parsing and comparing --------------------------------------------------------------------------------------------


@given(parts, lengths)
def test_a_version_is_the_numbers_it_names(version: tuple[int, ...], length: int) -> None:
    assert parse_version(text(version[:length])) == version[:length]


@pytest.mark.parametrize(
    "wrong",
    ["", "1", "1.34.", "v1.34", "1.34.1-gke", "1.34.1-gke.", "1.34-gke.1", "1.34.1.2", "latest", "1.٣", "1.34 "],
)
def test_an_invalid_version_is_rejected_with_an_example(wrong: str) -> None:
    with pytest.raises(
        InvalidVersionError, match=re.escape(f"'{wrong}' is not a GKE version such as 1.34 or 1.34.1-gke.1829001")
    ):
        parse_version(wrong)


@given(parts, parts)
def test_whole_versions_are_older_or_not(have: tuple[int, ...], want: tuple[int, ...]) -> None:
    assert compare_version(text(have), text(want)) == ("older" if have < want else "newer")


@given(parts, lengths, parts)
def test_a_partial_version_is_never_more_certain_than_a_full_one(
    have: tuple[int, ...], length: int, want: tuple[int, ...]
) -> None:
    """If "1.34" is older than something, so is every 1.34.x; where patches differ in that, it is unknown."""
    short = compare_version(text(have[:length]), text(want))
    assert short in ("unknown", compare_version(text(have), text(want)))


@pytest.mark.parametrize(
    ("have", "want", "stands"),
    [
        ("1.34", "1.34.1-gke.1829001", "unknown"),
        ("1.34.1", "1.34.1-gke.1829001", "unknown"),
        ("1.34.0", "1.34.1-gke.1829001", "older"),
        ("1.33", "1.34.1-gke.1829001", "older"),
        ("1.35", "1.34.1-gke.1829001", "newer"),
        ("1.34.1-gke.1829001", "1.34.1-gke.1829001", "newer"),
        ("1.9", "1.10", "older"),
        ("1.33", "1.33", "newer"),
    ],
)
def test_versions_are_compared_by_number_and_only_as_far_as_they_go(have: str, want: str, stands: str) -> None:
    assert compare_version(have, want) == stands


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(features()))
def test_every_feature_has_versions_a_source_and_a_confidence(name: str) -> None:
    feature = features()[name]
    assert feature.says and feature.source and feature.since
    assert feature.confidence in ("source", "documentation", "example", "recalled")
    assert set(feature.since) | set(feature.later) <= {"any", "standard", "autopilot", "gpu", "tpu"}
    for variant, later in feature.later.items():
        assert parse_version(feature.since[variant]) < parse_version(later)


def test_every_version_of_the_table_is_a_version_of_the_facts() -> None:
    """Except for those of other GKE pages, named above: every version has a source."""
    known = FACTS.read_text(encoding="utf-8").split("\n")
    mine = {v for f in features().values() for v in (*f.since.values(), *f.later.values())}
    assert {version for version in mine if version not in known} == OTHER_PAGES


def test_the_machine_table_agrees_on_tpu7x() -> None:
    machine = catalog.machines()["tpu7x-standard-4t"]
    row = features()["tpu7x"].since
    assert (machine.min_gke_standard, machine.min_gke_autopilot) == (row["standard"], row["autopilot"])


@pytest.mark.parametrize(
    ("need", "first"),
    [
        (FeatureNeed(feature="multislice"), "1.27.4-gke.900"),
        (FeatureNeed(feature="multislice", autopilot=True), "1.29.2-gke.1521000"),
        (FeatureNeed(feature="flex-start", kind="gpu"), "1.32.2-gke.1652000"),
        (FeatureNeed(feature="flex-start", kind="tpu", autopilot=True), "1.33.0-gke.1712000"),
        (FeatureNeed(feature="dranet", kind="tpu"), "1.34.1-gke.1829001"),
        (FeatureNeed(feature="tpu-autopilot"), None),
        (FeatureNeed(feature="mps", autopilot=True), None),
    ],
)
def test_the_first_version_is_that_of_the_accelerator_or_of_the_mode(need: FeatureNeed, first: str | None) -> None:
    assert first_version(need) == first


# --- what is lacking --------------------------------------------------------------------------------------------------


def test_a_version_before_the_feature_is_a_fault_that_names_both() -> None:
    (each,) = missing_features([FeatureNeed(feature="dranet", key="networking")], "1.33.5-gke.1000")
    assert (each.severity, each.key) == ("fault", "networking")
    assert each.message == (
        "the accelerator network profile (DRANET) needs GKE 1.34.1-gke.1829001, but the cluster has "
        "'1.33.5-gke.1000'; write cluster.version: \"1.35\" or later"
    )


def test_a_recalled_version_never_refuses() -> None:
    (each,) = missing_features([FeatureNeed(feature="queued")], "1.27")
    assert each.severity == "warning"
    assert "probably needs GKE 1.28.3-gke.1098000, but the cluster has '1.27'" in each.message


def test_a_disagreement_of_two_sources_is_a_warning() -> None:
    """Flex-start of GPUs: 1.32.2 by one page, 1.33.0 by a later one."""
    need = FeatureNeed(feature="flex-start", kind="gpu")
    assert [each.severity for each in missing_features([need], "1.32.1-gke.1")] == ["fault"]
    (each,) = missing_features([need], "1.32.2-gke.1652000")
    assert (each.severity, each.since) == ("warning", "1.33.0-gke.1712000")
    assert missing_features([need], "1.33.0-gke.1712000") == []


def test_a_channel_without_a_version_prints_the_assumed_version() -> None:
    (each,) = missing_features([FeatureNeed(feature="tpu7x")], None, "rapid")
    assert each.severity == "note"
    assert each.message == (
        "release channel 'rapid' has no fixed version: Berth assumes GKE 1.34.0-gke.2201000 or later, which TPU7x needs"
    )


def test_a_version_without_a_patch_says_what_it_assumes() -> None:
    (each,) = missing_features([FeatureNeed(feature="dranet")], "1.34")
    assert each.severity == "note"
    assert each.message.startswith("'1.34' has no patch number: Berth assumes GKE")


@given(st.lists(st.sampled_from(list(features())), unique=True), parts)
def test_a_new_enough_version_lacks_no_feature(names: list[str], version: tuple[int, ...]) -> None:
    wanted = [FeatureNeed(feature=name, kind=kind) for name in names for kind in ("gpu", "tpu")]
    firsts = [parse_version(first) for need in wanted if (first := first_version(need))]
    lacks = missing_features(wanted, text(version))
    assert all(parse_version(lack.since) > version for lack in lacks)
    assert bool([x for x in lacks if x.severity != "warning"]) <= any(first > version for first in firsts)
    assert missing_features(wanted, "2.99.0-gke.1") == []


def test_an_unknown_feature_is_an_internal_error() -> None:
    with pytest.raises(KeyError):
        missing_features([FeatureNeed(feature="hotswapping")], "1.34")


def test_an_unreadable_version_is_refused() -> None:
    with pytest.raises(InvalidVersionError):
        missing_features([FeatureNeed(feature="dranet")], "new")


# --- what a pool needs ------------------------------------------------------------------------------------------------


def wanted(*args: object, **changes: object) -> list[tuple[str, str]]:
    """Features that a pool needs, and the keys to blame."""
    return [(need.feature, need.key) for need in feature_needs(pool(*args, **changes))]  # pyright: ignore[reportArgumentType]


def test_a_pool_needs_the_features_of_its_machine() -> None:
    assert wanted("g2-standard-4") == []
    assert wanted("tpu7x-standard-4t", "2x2x2", networking="dranet") == [
        ("tpu7x", "machineType"),
        ("dranet", "networking"),
    ]
    assert wanted("a2-highgpu-1g", capacity="flex-start") == [("flex-start", "capacity")]
    assert wanted("ct5p-hightpu-4t", auto_provisioned=True) == [("tpu-auto-provisioning-v5p", "autoProvisioned")]
    assert wanted("a2-highgpu-1g", capacity="queued", auto_provisioned=True, max_run_seconds=600) == [
        ("queued", "capacity"), ("queued-auto-provisioned", "autoProvisioned"), ("queued-max-run", "maxRunDuration"),
    ]  # fmt: skip
    assert wanted("g2-standard-4", gpu_sharing=shared(strategy="mps", max_shared_clients=2)) == [("mps", "gpuSharing")]


def test_a_pool_on_autopilot_needs_what_autopilot_needs() -> None:
    assert wanted("ct5lp-hightpu-4t", cluster=AUTOPILOT) == [("tpu-autopilot", "machineType")]
    (tpu7x, _) = feature_needs(pool("tpu7x-standard-4t", cluster=AUTOPILOT))
    assert first_version(tpu7x) == "1.34.1-gke.3084001"
    assert wanted("a2-highgpu-1g", capacity="reservation", cluster=AUTOPILOT) == [
        ("autopilot-reservation", "reservation")
    ]
