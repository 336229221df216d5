"""The provider that the engine asks for components: Pulumi's own server, with the package's schema and components.

`component_provider_host` would infer the schema from annotations, which cannot express unions (`slices: 3` or a range),
and would drop keys that the schema lacks. Here the schema is generated, and every key that arrives is validated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import pulumi
from pulumi.provider import ConstructResult, Provider

from packages.berth.cluster import Cluster
from packages.berth.fleet import Fleet
from packages.berth.node_pool import NodePool
from packages.berth.reservation import Reservation
from packages.berth.team import Team
from packages.berth.team_queues import TeamQueues
from packages.berth.team_workloads import TeamWorkloads
from packages.berth.wire import serve_provider

SCHEMA_FILE: Final = Path(__file__).with_name("schema.json")


class Component(Protocol):
    """A component of the package: a Pulumi component that knows its outputs by name."""

    outputs: Mapping[str, pulumi.Input[Any]]

    @property
    def urn(self) -> pulumi.Output[str]:
        """The URN."""
        ...


class ComponentClass(Protocol):
    """What makes a component from its arguments as they arrive."""

    def __call__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None) -> Component:
        """Register the component, or raise InputPropertiesError."""
        ...


COMPONENTS: Final[Mapping[str, ComponentClass]] = {
    f"berth:index:{each.__name__}": each
    for each in (Fleet, TeamWorkloads, Cluster, NodePool, Reservation, TeamQueues, Team)
}


class BerthProvider(Provider):
    """The provider of the package `berth`."""

    def __init__(self) -> None:
        schema = SCHEMA_FILE.read_text(encoding="utf-8")
        super().__init__(json.loads(schema)["version"], schema)

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: Mapping[str, Any],
        options: pulumi.ResourceOptions | None = None,
    ) -> ConstructResult:
        """Register a component and return its outputs. Raises InputPropertiesError with every fault."""
        if resource_type not in COMPONENTS:
            raise pulumi.RunError(f"the package has no component '{resource_type}'")
        component = COMPONENTS[resource_type](name, inputs, options)
        return ConstructResult(component.urn, dict(component.outputs))


def serve(arguments: Sequence[str]) -> None:
    """Serve the provider until the engine ends it; the first argument is the engine's address."""
    serve_provider(BerthProvider(), arguments[0])
