"""Which GKE version a feature needs (`versions.yaml`), what a cluster's version lacks, and how old it is.

A version may omit parts: "1.34" or "1.34.1" instead of "1.34.1-gke.1829001". Berth does not guess omitted parts: where
they decide, it reports an assumption. It does so too for every feature of a cluster that sets only a release channel.
The ends of support are data (`releases.yaml`), compared with the day of `berth.clock`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct, field

from berth.catalog import (
    Confidence,
    VersionOrder,
    compare_version,
    end_of_support,
    fact_tables,
    gke_minor,
    parse_version,
    releases,
    supported_minor,
)
from berth.diagnostics import Severity
from berth.rules.gke.dynamic_slicing import SUB_SLICING, connects_slices
from berth.rules.gke.pool_request import GkeViolation, PoolRequest, SettingKey, gke_warning
from berth.yaml_loader import load_table


class Feature(Struct, frozen=True, kw_only=True):
    """One row of `versions.yaml`; `since` and `later` map a variant (any, autopilot, gpu, ...) to a version."""

    name: str
    says: str
    since: Mapping[str, str]
    confidence: Confidence
    source: str
    later: Mapping[str, str] = field(default_factory=dict[str, str])


class FeatureNeed(Struct, frozen=True, kw_only=True):
    """A feature that the stack file uses, with the cluster mode and accelerator; `key` is the key that uses it."""

    feature: str
    key: SettingKey = "capacity"
    autopilot: bool = False
    kind: Literal["gpu", "tpu", "cpu"] | None = None

    @property
    def variants(self) -> tuple[str, ...]:
        """Variants to look up in a feature's versions; the first that is present applies."""
        mode = "autopilot" if self.autopilot else "standard"
        return tuple(variant for variant in (self.kind, mode, "any") if variant)


class MissingFeature(Struct, frozen=True, kw_only=True):
    """A feature that a version lacks (fault), may lack (warning), or is assumed to have (note)."""

    feature: str
    key: SettingKey
    severity: Severity
    message: str
    since: str


@cache
def features() -> Mapping[str, Feature]:
    """Return every feature that has a first version, by name."""
    rows: dict[str, dict[str, Any]] = load_table(Path(__file__).with_name("versions.yaml"))
    return MappingProxyType({name: Feature(name=name, **row) for name, row in rows.items()})


def first_version(need: FeatureNeed) -> str | None:
    """Return the first version with the feature; None if no source states one. Raise KeyError if it is unknown."""
    return _first_for_variant(features()[need.feature].since, need)


def missing_features(
    needs: Iterable[FeatureNeed], version: str | None, channel: str = "regular"
) -> list[MissingFeature]:
    """Return the needs that the cluster's version lacks, in order; raise InvalidVersionError for a bad version.

    `version` None: the cluster sets only a release channel, so every need is an assumption (a note).
    """
    return [missing for need in needs for missing in _missing_feature(need, version, channel)]


def _missing_feature(need: FeatureNeed, version: str | None, channel: str) -> Iterator[MissingFeature]:
    feature, first_with_feature = features()[need.feature], first_version(need)
    if first_with_feature is None:
        return
    order: VersionOrder = "unknown" if version is None else compare_version(version, first_with_feature)
    if order == "newer" and version is not None:
        later = _first_for_variant(feature.later, need)
        if later and compare_version(version, later) == "older":
            message = f"{feature.says} needs GKE {later} according to a newer source, but the cluster has '{version}'"
            yield _build_missing(need, Severity.WARNING, f"{message}; {_remedy(later, channel)}", later)
    elif order == "older":
        is_doubtful = feature.confidence == "recalled"
        verb = "probably needs" if is_doubtful else "needs"
        message = (
            f"{feature.says} {verb} GKE {first_with_feature}, but the cluster has "
            f"'{version}'; {_remedy(first_with_feature, channel)}"
        )
        yield _build_missing(need, Severity.WARNING if is_doubtful else Severity.FAULT, message, first_with_feature)
    elif order == "unknown":
        assumption = (
            f"release channel '{channel}' has no fixed version"
            if version is None
            else f"'{version}' has no patch number"
        )
        yield _build_missing(
            need,
            Severity.NOTE,
            f"{assumption}: Berth assumes GKE {first_with_feature} or later, which {feature.says} needs",
            first_with_feature,
        )


def _remedy(since: str, channel: str) -> str:
    """What to write: a minor, whose newest patch has the feature, because an exact patch is soon refused."""
    return f'write cluster.version: "{supported_minor(since, channel)}" or later'


def _first_for_variant(versions: Mapping[str, str], need: FeatureNeed) -> str | None:
    return next((versions[variant] for variant in need.variants if variant in versions), None)


def _build_missing(need: FeatureNeed, severity: Severity, message: str, first_with_feature: str) -> MissingFeature:
    return MissingFeature(
        feature=need.feature, key=need.key, severity=severity, message=message, since=first_with_feature
    )


# --- what a pool needs ------------------------------------------------------------------------------------------------


def feature_needs(request: PoolRequest) -> tuple[FeatureNeed, ...]:
    """Return the features with a first version that a pool uses."""
    gpu = request.machine.accelerator if request.machine.kind == "gpu" else ""
    series = request.machine.name.partition("-")[0] if request.machine.kind == "cpu" else ""
    slicing = "dynamic-sub-slicing" if request.settings.dynamic_slicing == SUB_SLICING else "dynamic-slicing"
    scales = request.autoscaled or request.made_by_gke or request.capacity == "flex-start"
    candidates: tuple[tuple[str, SettingKey, bool], ...] = (
        (request.machine.generation or "", "machineType", request.machine.generation in features()),
        (gpu, "machineType", gpu in features()),
        (series, "machineType", series in features()),
        (f"{series}-made-for-jobs", "capacity", scales and f"{series}-made-for-jobs" in features()),
        (
            "compute-domain",
            "machineType",
            request.cluster.compute_domains and request.machine.domain_nodes > 0,
        ),
        ("tpu-autopilot", "machineType", request.machine.kind == "tpu"),
        (_auto_provisioned(request), "autoProvisioned", _auto_provisioned(request) in features()),
        ("dranet", "networking", request.settings.networking == "dranet"),
        (slicing, "dynamicSlicing", connects_slices(request)),
        ("flex-start", "capacity", request.capacity == "flex-start"),
        ("queued", "capacity", request.capacity == "queued"),
        ("queued-auto-provisioned", "autoProvisioned", request.capacity == "queued" and request.auto_provisioned),
        ("queued-max-run", "maxRunDuration", request.capacity == "queued" and request.max_run_seconds is not None),
        ("autopilot-reservation", "reservation", request.capacity == "reservation"),
        (
            "mps",
            "gpuSharing",
            request.settings.gpu_sharing is not None and request.settings.gpu_sharing.strategy == "mps",
        ),
    )
    disks, is_ubuntu = request.settings.secondary_boot_disks, request.settings.image_type == "UBUNTU_CONTAINERD"
    candidates += (
        ("secondary-boot-disk", "secondaryBootDisks", bool(disks)),
        ("secondary-boot-disk-ubuntu", "secondaryBootDisks", bool(disks) and is_ubuntu),
        ("sandbox-gpu", "sandbox", request.settings.sandbox is not None and request.machine.kind == "gpu"),
    )
    autopilot, kind = request.cluster.autopilot, request.machine.kind
    needs = (
        FeatureNeed(feature=name, key=key, autopilot=autopilot, kind=kind)
        for name, key, is_needed in candidates
        if is_needed
    )
    return tuple(need for need in needs if first_version(need))


def _auto_provisioned(request: PoolRequest) -> str:
    return f"tpu-auto-provisioning-{request.machine.generation}" if request.auto_provisioned else ""


def release_violation(version: str, channel: str, *, exists: bool = False) -> GkeViolation | None:
    """Return a warning for a version with which GKE may refuse to create a cluster, or that no table has; else None.

    `exists`: the version is that of a cluster that exists, which has an exact patch.
    """
    choice = f'write "{releases().newest}", or remove version to use the channel default'
    if exists:
        choice = "compare it with `gcloud container clusters describe`, and write the version that the cluster has"
    if not releases().is_known(version):
        table = fact_tables()["gke-releases"]
        unknown = table.unknown(f"'{version}'", "whether GKE has it, its features and its support are")
        named = list(releases().without_dates)[-1]
        if parse_version(version) > parse_version(named) and not exists:
            choice = "compare it with `gcloud container get-server-config`, or remove version"
        remedy = f"the newest minor in it is {named}: {choice}"
        return gke_warning("version-unknown", "version", f"{unknown}; {remedy}")
    if ended := end_of_support(version, channel):
        remedy = f"upgrade the cluster to {releases().newest}" if exists else choice
        if channel != "extended" and end_of_support(version, "extended") is None:
            remedy = f"{remedy}; or write releaseChannel: extended, which still supports this version"
        support = "extended support" if channel == "extended" else "standard support"
        return gke_warning(
            "version-unsupported", "version", f"GKE's {support} of '{version}' ended on or before {ended}; {remedy}"
        )
    if len(parse_version(version)) == _EXACT and not exists:
        message = f"'{version}' is one exact patch, which GKE offers for some weeks and then refuses for new clusters"
        return gke_warning(
            "version-exact", "version", f'{message}; write "{gke_minor(version)}", which means its newest patch'
        )
    return None


_EXACT = 4
"""Parts of a version that names a patch and a GKE build, such as 1.34.1-gke.1829001."""
