"""Which GKE version a feature needs (`versions.yaml`), and what a cluster's version lacks.

GKE versions: "1.34" and "1.34.1" name less than "1.34.1-gke.1829001"; what a version does not name is not guessed but
said as an assumption, and so is every need of a cluster that names a release channel alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import yaml
from msgspec import Struct, field

from berth.rules.gke.pool_request import Asked, Key, Severity

Parts = tuple[int, ...]
"""The numbers that a version names: major, minor, patch, GKE's own; two to four of them."""

_VERSION = re.compile(r"([0-9]+)\.([0-9]+)(?:\.([0-9]+)(?:-gke\.([0-9]+))?)?")

Standing = Literal["older", "newer", "unknown"]
"""A version before another · that one or after it · one that does not name enough to tell."""


class NotAVersion(ValueError):
    """Text that is no GKE version."""


def parse(version: str) -> Parts:
    """The numbers of a GKE version; NotAVersion if it is none."""
    match = _VERSION.fullmatch(version)
    if not match or not version.isascii():
        raise NotAVersion(f"'{version}' is no GKE version such as 1.34 or 1.34.1-gke.1829001")
    return tuple(int(part) for part in match.groups() if part is not None)


def standing(version: str, since: str) -> Standing:
    """How `version` stands to the first version that has something."""
    have, want = parse(version), parse(since)
    for mine, theirs in zip(have, want, strict=False):
        if mine != theirs:
            return "older" if mine < theirs else "newer"
    return "unknown" if any(want[len(have) :]) else "newer"


class Feature(Struct, frozen=True, kw_only=True):
    """One row of `versions.yaml`. `since` and `later` are by variant: any, standard, autopilot, gpu, tpu."""

    name: str
    says: str
    since: Mapping[str, str]
    confidence: Literal["source", "documentation", "example", "recalled"]
    source: str
    later: Mapping[str, str] = field(default_factory=dict[str, str])


class Need(Struct, frozen=True, kw_only=True):
    """A feature that something asks for, on which kind of cluster and accelerator; `key` says what asks for it."""

    feature: str
    key: Key = "capacity"
    autopilot: bool = False
    kind: Literal["gpu", "tpu"] | None = None

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of a feature's version that hold for it, the first that is known counting."""
        mode = "autopilot" if self.autopilot else "standard"
        return tuple(variant for variant in (self.kind, mode, "any") if variant)


class Lack(Struct, frozen=True, kw_only=True):
    """A feature that a version lacks (fault), may lack (warning), or is assumed to have (note)."""

    feature: str
    key: Key
    severity: Severity
    message: str
    since: str


@cache
def features() -> Mapping[str, Feature]:
    """Every feature that has a first version, by name."""
    text = Path(__file__).with_name("versions.yaml").read_text(encoding="utf-8")
    rows: dict[str, dict[str, Any]] = yaml.load(text, yaml.CSafeLoader)
    return MappingProxyType({name: Feature(name=name, **row) for name, row in rows.items()})


def since(need: Need) -> str | None:
    """The first version that has what is needed; None where no source says one. KeyError for an unknown feature."""
    return _first(features()[need.feature].since, need)


def lacking(needs: Iterable[Need], version: str | None, channel: str = "regular") -> list[Lack]:
    """What is needed and the cluster's version lacks, in the order of the needs; NotAVersion if it is none.

    `version` None: the cluster names its release channel alone, and every need is an assumption (a note).
    """
    return [lack for need in needs for lack in _lack(need, version, channel)]


def _lack(need: Need, version: str | None, channel: str) -> Iterator[Lack]:
    feature, first = features()[need.feature], since(need)
    if first is None:
        return
    stands: Standing = "unknown" if version is None else standing(version, first)
    if stands == "newer" and version is not None:
        yield from _later(need, feature, version)
    elif stands == "older":
        doubtful = feature.confidence == "recalled"
        needs = "is recalled to need" if doubtful else "needs"
        message = (
            f"{feature.says} {needs} GKE {first}, and the cluster has '{version}'; write cluster.version: \"{first}\""
        )
        yield _found(need, "warning" if doubtful else "fault", f"{message} or later", first)
    elif stands == "unknown":
        named = f"release channel '{channel}' names no version" if version is None else f"'{version}' names no patch"
        yield _found(need, "note", f"{named}: {feature.says} assumes at least GKE {first}", first)


def _later(need: Need, feature: Feature, version: str) -> Iterator[Lack]:
    later = _first(feature.later, need)
    if later and standing(version, later) == "older":
        message = f"{feature.says} needs GKE {later} by a later source, and the cluster has '{version}'"
        yield _found(need, "warning", f'{message}; write cluster.version: "{later}" or later', later)


def _first(versions: Mapping[str, str], need: Need) -> str | None:
    return next((versions[variant] for variant in need.variants if variant in versions), None)


def _found(need: Need, severity: Severity, message: str, first: str) -> Lack:
    return Lack(feature=need.feature, key=need.key, severity=severity, message=message, since=first)


# --- what a pool needs ------------------------------------------------------------------------------------------------


def needs(asked: Asked) -> tuple[Need, ...]:
    """The features that a pool asks for and that have a first version."""
    wanted: tuple[tuple[str, Key, bool], ...] = (
        (asked.machine.generation or "", "machineType", asked.machine.generation in features()),
        ("tpu-autopilot", "machineType", asked.machine.kind == "tpu"),
        (_auto_provisioned(asked), "autoProvisioned", _auto_provisioned(asked) in features()),
        ("dynamic-slicing", "dynamicSlicing", asked.dynamic_slicing),
        ("dranet", "networking", asked.network == "dranet"),
        ("flex-start", "capacity", asked.capacity == "flex-start"),
        ("queued", "capacity", asked.capacity == "queued"),
        ("queued-auto-provisioned", "autoProvisioned", asked.capacity == "queued" and asked.auto_provisioned),
        ("queued-max-run", "maxRunDuration", asked.capacity == "queued" and asked.max_run_seconds is not None),
        ("autopilot-reservation", "reservation", asked.capacity == "reservation"),
        ("mps", "gpuSharing", asked.sharing is not None and asked.sharing.strategy == "MPS"),
    )
    autopilot, kind = asked.cluster.autopilot, asked.machine.kind
    asks = (Need(feature=name, key=key, autopilot=autopilot, kind=kind) for name, key, is_so in wanted if is_so)
    return tuple(need for need in asks if since(need))


def _auto_provisioned(asked: Asked) -> str:
    return f"tpu-auto-provisioning-{asked.machine.generation}" if asked.auto_provisioned else ""
