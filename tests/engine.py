"""Runs components in the in-process engine (`berth.engine`) and says what they asked for, in plain values.

Each run has an event loop and settings of its own, drains everything and leaves nothing behind. It fails on duplicate
URNs, on resources without an explicit provider, and on anything the SDK warns of.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pulumi_gcp as gcp
import pytest

from berth.engine import UNKNOWN, Recorded
from berth.engine import run as run_offline
from components.kubernetes import token

with warnings.catch_warnings():
    # This module loads at its first use, and the SDK then warns of names of its own that nobody here uses.
    warnings.simplefilter("ignore", DeprecationWarning)
    _ = gcp.compute.Network

PROJECT = "acme-ml-dev"
STACK_TYPE = "pulumi:pulumi:Stack"
PROVIDER_TYPE = "pulumi:providers:"
QUEUES_TYPE = "berth:kueue:TeamQueues"
"""The component whose children are named after what they are part of, a queue, and not after it."""

both_modes = pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
"""As an update, and as a first preview, in which ids and computed outputs are unknown."""

__all__ = ["PROJECT", "UNKNOWN", "Recorded", "Run", "agree", "both_modes", "broken_rules", "identity", "run"]


@dataclass(frozen=True, slots=True)
class Run:
    """What a program asked for, in order, and what it exported."""

    resources: tuple[Recorded, ...]
    exports: Mapping[str, object]

    def all(self, kind: str) -> list[Recorded]:
        """The resources whose type ends in `kind`: `NodePool`, `compute/network:Network`, `berth:gke:NodePool`."""
        return [one for one in self.resources if one.type == kind or one.type.endswith((f":{kind}", f"/{kind}"))]

    def one(self, kind: str, name: str = "") -> Recorded:
        """The only resource of that kind (and logical name)."""
        found = [one for one in self.all(kind) if name in ("", one.name)]
        assert len(found) == 1, f"{len(found)} of {kind} {name}: {[one.urn for one in self.resources]}"
        return found[0]


def agree(shown: Any, made: Any) -> bool:
    """Whether two values are equal wherever the first is known."""
    if isinstance(shown, Mapping) and isinstance(made, Mapping):
        return shown.keys() == made.keys() and all(agree(value, made[key]) for key, value in shown.items())
    if isinstance(shown, list) and isinstance(made, list):
        return len(shown) == len(made) and all(map(agree, shown, made))
    return shown is UNKNOWN or shown == made


def identity(manifest: Any) -> tuple[str, str, str]:
    """Which object a manifest is."""
    return token(manifest), manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def run(build: Callable[[], object], preview: bool = False) -> Run:
    """Run `build` as a program of its own."""
    config = {"pulumi:disable-default-providers": '["*"]'}
    done = run_offline(build, project="berth", stack="test", config=config, preview=preview)
    assert [message.text for message in done.messages if message.severity != "info"] == []
    return Run(done.resources, done.exports)


def broken_rules(done: Run) -> list[str]:
    """Breaches of the rules that hold for every component (section 3 of the design), one line each; none is right."""
    by_urn = {one.urn: one for one in done.resources}
    return [f"{one.urn}: {text}" for one in done.resources for text in _breaches(one, by_urn)]


def _breaches(one: Recorded, by_urn: Mapping[str, Recorded]) -> Iterator[str]:
    if one.type == STACK_TYPE or one.type.startswith(PROVIDER_TYPE):
        return
    if not one.custom:
        if not one.outputs_registered:
            yield "never registered its outputs"
        return
    parent = by_urn[one.parent or ""]
    if parent.custom or parent.type == STACK_TYPE:
        yield "has a parent that is no component"
    named_here = parent.type == QUEUES_TYPE or one.name.startswith(f"{parent.name}-")
    if not named_here or one.name.removeprefix(f"{parent.name}-").isdigit():
        yield f"its name is not '{parent.name}' with a role or a stable key"
    if one.provider is None or by_urn[one.provider].name.startswith("default"):
        yield "has no explicit provider"
