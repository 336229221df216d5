"""Parts of small programs for tests of the in-process engine: a resource, a component, a provider of no real cloud."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pulumi

from berth.engine import Preview, RecordedResource, record_program

EXPLICIT = {"pulumi:disable-default-providers": '["*"]'}
Options = pulumi.ResourceOptions


class Thing(pulumi.CustomResource):
    """Any resource of a provider."""

    made: pulumi.Output[str]

    def __init__(
        self, kind: str, name: str, props: Mapping[str, Any] | None = None, opts: Options | None = None
    ) -> None:
        super().__init__(kind, name, {"made": None, **(props or {})}, opts)


class Fleet(pulumi.ComponentResource):
    """A component with one resource in it."""

    def __init__(self, name: str, opts: Options | None = None, kind: str = "berth:gke:Fleet") -> None:
        super().__init__(kind, name, None, opts)
        self.thing = Thing("cloud:index:Thing", f"{name}-thing", {"size": 1}, Options(parent=self))
        self.register_outputs({"made": self.thing.made})


class Cloud(pulumi.ProviderResource):
    """The provider of `cloud`."""

    def __init__(self, name: str, opts: Options | None = None) -> None:
        super().__init__("cloud", name, {}, opts)


def preview(
    build: Callable[[], object], config: Mapping[str, str] | None = None, *, update: bool = False, **more: Any
) -> Preview:
    return record_program(build, project="berth", stack="dev", config=config or {}, preview=not update, **more)


def named(result: Preview, name: str) -> RecordedResource:
    (one,) = [one for one in result.resources if one.name == name]
    return one
