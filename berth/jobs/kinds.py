"""The kinds of jobs that Kueue queues, as rows of `kinds.yaml`: the fields with pods, counts and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct, field

from berth.yaml_loader import load_yaml

Scalar = str | int | bool
_API_VERSION: Final = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")


class Condition(Struct, frozen=True, rename={"values": "is"}):
    """A field that must have one of `values`; `default` is its value if it is not set."""

    at: str
    values: tuple[Scalar, ...]
    default: Scalar | None = None


class AddedContainer(Struct, frozen=True, forbid_unknown_fields=True):
    """A container that the kind's operator adds: its requests, or those in the field `instead`."""

    when: Condition
    requests: Mapping[str, str]
    instead: str | None = None


class ItemFields(Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of an item of a list."""

    required: tuple[str, ...]
    optional: tuple[str, ...]


class PodsRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields that describe one or several groups of pods; `kinds.yaml` explains them."""

    template: str
    name: str | None = None
    name_at: str | None = None
    each: str | None = None
    item: ItemFields | None = None
    roles: str | None = None
    order: tuple[str, ...] = ()
    optional: bool = False
    replicas: str | None = None
    at_most: str | None = None
    times: tuple[str, ...] = ()
    minus: str | None = None
    metadata: str | None = None
    when: Condition | None = None
    adds: tuple[AddedContainer, ...] = ()
    otherwise: Mapping[str, str] = field(default_factory=dict[str, str])


class RefusedSetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"values": "is"}):
    """A setting with one of `values` that `by` refuses; `kinds.yaml` explains the fields."""

    by: str
    at: str
    values: tuple[Scalar, ...]
    why: str
    remedy: str
    default: Scalar | None = None
    each: str | None = None
    elastic: str | None = None


class KindRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of job; `kinds.yaml` explains the fields."""

    group: str
    versions: tuple[str, ...]
    framework: str
    operator: str | None = None
    metadata: str = "metadata"
    parameters: str | None = None
    suspend: str | None = None
    priority: str | None = None
    workloads: str | None = None
    pods: tuple[PodsRow, ...] = ()
    reader: str | None = None
    serving: bool = False
    elsewhere: str | None = None
    together: bool = False
    exclusive: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: tuple[RefusedSetting, ...] = ()

    @property
    def api_version(self) -> str:
        """The API version: `batch/v1`, or `v1` in the core group."""
        return f"{self.group}/{self.versions[-1]}" if self.group else self.versions[-1]

    def may_serve(self, group: str, version: str) -> bool:
        """Whether a later release may have the kind in this version of its group: one newer than the table's."""
        return group == self.group and api_age(version) > max(map(api_age, self.versions))


def api_age(version: str) -> tuple[int, int, int]:
    """Return where a version of an API stands: v1beta1, v1, v2alpha1, v2; other texts are before all."""
    match = _API_VERSION.fullmatch(version)
    if match is None:
        return 0, 0, 0
    return int(match[1]), ("alpha", "beta", None).index(match[2]), int(match[3] or 0)


@cache
def kinds() -> Mapping[str, KindRow]:
    """Return every row, by kind."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")  # it has merge keys
    return msgspec.convert(load_yaml(text), dict[str, KindRow])


def path_keys(path: str) -> tuple[str, ...]:
    """Return the keys of a path such as `spec.template`; none of the empty path."""
    return tuple(path.split(".")) if path else ()
