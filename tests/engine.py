"""Runs components in the in-process engine (`berth.engine`) and says what they asked for, in plain values.

Each run has an event loop and settings of its own, drains everything and leaves nothing behind. It fails on duplicate
URNs, on resources without an explicit provider, and on anything the SDK warns of.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_gcp as gcp
import pytest

from berth.engine import UNKNOWN, RecordedResource
from berth.engine import record_program as run_offline
from components.kubernetes import type_token

with warnings.catch_warnings():
    # This module loads at its first use, and the SDK then warns of names of its own that nobody here uses.
    warnings.simplefilter("ignore", DeprecationWarning)
    _ = gcp.compute.Network

PROJECT = "acme-ml-dev"
STACK_TYPE = "pulumi:pulumi:Stack"
PROVIDER_TYPE = "pulumi:providers:"
PREFIXED_TYPES = ("berth:kueue:TeamQueues", "berth:ack:Member")
"""Components whose children a stack may name otherwise, to keep the URNs of what is deployed."""

both_modes = pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
"""As an update, and as a first preview, in which ids and computed outputs are unknown."""

__all__ = [
    "PREFIXED_TYPES",
    "PROJECT",
    "UNKNOWN",
    "RecordedResource",
    "Run",
    "both_modes",
    "broken_rules",
    "identity",
    "is_consistent",
    "run",
    "using",
]


@dataclass(frozen=True, slots=True)
class Run:
    """What a program asked for, in order, and what it exported."""

    resources: tuple[RecordedResource, ...]
    exports: Mapping[str, object]

    def resources_of(self, kind: str) -> list[RecordedResource]:
        """The resources whose type ends in `kind`: `NodePool`, `compute/network:Network`, `berth:gke:NodePool`."""
        return [
            resource
            for resource in self.resources
            if resource.type == kind or resource.type.endswith((f":{kind}", f"/{kind}"))
        ]

    def only_resource(self, kind: str, name: str = "") -> RecordedResource:
        """The only resource of that kind (and logical name)."""
        matches = [resource for resource in self.resources_of(kind) if name in ("", resource.name)]
        assert len(matches) == 1, f"{len(matches)} of {kind} {name}: {[resource.urn for resource in self.resources]}"
        return matches[0]


def is_consistent(previewed: Any, updated: Any) -> bool:
    """Whether two values are equal wherever the first is known."""
    if isinstance(previewed, Mapping) and isinstance(updated, Mapping):
        return previewed.keys() == updated.keys() and all(
            is_consistent(value, updated[key]) for key, value in previewed.items()
        )
    if isinstance(previewed, list) and isinstance(updated, list):
        return len(previewed) == len(updated) and all(map(is_consistent, previewed, updated))
    return previewed is UNKNOWN or previewed == updated


def identity(manifest: Any) -> tuple[str, str, str]:
    """Which object a manifest is."""
    return type_token(manifest), manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def using(*providers: pulumi.ProviderResource) -> pulumi.ResourceOptions:
    """Options of a component whose children use these providers."""
    return pulumi.ResourceOptions(providers=list(providers))


def run(build: Callable[[], object], preview: bool = False) -> Run:
    """Run `build` as a program of its own."""
    config = {"pulumi:disable-default-providers": '["*"]'}
    result = run_offline(build, project="berth", stack="test", config=config, preview=preview)
    assert [message.text for message in result.messages if message.severity != "info"] == []
    return Run(result.resources, result.exports)


def broken_rules(result: Run, prefixed: Collection[str] = ()) -> list[str]:
    """Breaches of the rules that hold for every component, one line each; none is right.

    `prefixed` are types of components whose children have names of the stack's choice.
    """
    by_urn = {resource.urn: resource for resource in result.resources}
    return [
        f"{resource.urn}: {text}" for resource in result.resources for text in _breaches(resource, by_urn, prefixed)
    ]


def _breaches(
    resource: RecordedResource, by_urn: Mapping[str, RecordedResource], prefixed: Collection[str]
) -> Iterator[str]:
    if resource.type == STACK_TYPE or resource.type.startswith(PROVIDER_TYPE):
        return
    if not resource.custom:
        if not resource.outputs_registered:
            yield "never registered its outputs"
        return
    parent = by_urn[resource.parent or ""]
    if parent.custom or parent.type == STACK_TYPE:
        yield "has a parent that is no component"
    is_named_after = parent.type in prefixed or resource.name.startswith(f"{parent.name}-")
    if not is_named_after or resource.name.removeprefix(f"{parent.name}-").isdigit():
        yield f"its name is not '{parent.name}' with a role or a stable key"
    if resource.provider is None or by_urn[resource.provider].name.startswith("default"):
        yield "has no explicit provider"
