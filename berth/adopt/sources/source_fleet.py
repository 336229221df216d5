"""A cluster and its node pools as a source describes them, in the spelling of Terraform's Google provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct, field

from berth.adopt.api_objects import ApiObject, NotAdopted

Resource = dict[str, Any]
"""The arguments of a resource: blocks as mappings, repeated blocks as lists; a value may be `Unresolved`."""

SYSTEM = "system"
"""Name of Berth's own node pool for what has no accelerators."""


class SourceFleet(Struct):
    """What a source describes.

    `what` is the source in words, such as `blueprint gke-a4`. `cluster` has also `project`, and `network` and
    `subnetwork` if they exist without it. With `keeps_cluster` the source only names the cluster. `notes` say what has
    no key. `objects` are those of Kueue that it applies in the cluster.
    """

    what: str
    cluster: Resource
    node_pools: list[Resource]
    notes: list[NotAdopted] = field(default_factory=list[NotAdopted])
    node_range: str | None = None
    keeps_cluster: bool = False
    objects: list[ApiObject] = field(default_factory=list[ApiObject])


def mapping_or_empty(value: Any) -> Mapping[str, Any]:
    """Return a mapping, or an empty one for any other value."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def list_or_empty(value: Any) -> list[Any]:
    """Return a list, or an empty one for any other value."""
    return cast("list[Any]", value) if isinstance(value, list) else []


class UnusableSource(Exception):
    """A source that gives no stack file; one line for each reason."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
