"""Group the node pools of slices into pools, whatever their names are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from berth.adopt.api_objects import ApiObject, mapping_at, value_at

_SLICE = re.compile(r"(?P<pool>.+)-(?P<topology>[0-9]+(?:x[0-9]+){1,2})-(?P<number>[0-9]+)")
"""How Berth names the node pool of a slice."""
_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>0|[1-9][0-9]*)")
_OWN_FIELDS = ("name", "selfLink", "etag", "instanceGroupUrls", "status", "statusMessage", "conditions", "updateInfo")
"""Fields that differ between equal node pools."""
_OWN_NETWORK_FIELDS = ("podIpv4CidrBlock", "podIpv4RangeUtilization")
MAX_POOL_NAME = 30


class NodePoolGroup(Struct):
    """The node pools of one pool: its key, and `nodePoolName` unless the names are Berth's own."""

    key: str
    members: list[ApiObject]
    node_pool_name: str | None = None


def slice_groups(node_pools: Sequence[ApiObject]) -> Iterator[NodePoolGroup]:
    """Yield the pools that node pools of multi-host slices form: by Berth's names, by numbers, or alone."""
    by_berth: dict[str, list[ApiObject]] = {}
    others: list[ApiObject] = []
    for node_pool in node_pools:
        match = _SLICE.fullmatch(str(node_pool["name"]))
        if match is not None and match["topology"] == value_at(node_pool, "placementPolicy.tpuTopology"):
            by_berth.setdefault(match["pool"], []).append(node_pool)
        else:
            others.append(node_pool)
    yield from (NodePoolGroup(key, members) for key, members in by_berth.items())
    yield from _numbered_groups(others)


def _numbered_groups(node_pools: Sequence[ApiObject]) -> Iterator[NodePoolGroup]:
    """Yield equal node pools whose names end in consecutive numbers together, and every other one alone."""
    by_stem: dict[tuple[str, str], dict[int, ApiObject]] = {}
    for node_pool in node_pools:
        match = _NUMBERED.fullmatch(str(node_pool["name"]))
        if match is None or not match["stem"].strip("-"):
            yield _single(node_pool)
        else:
            by_stem.setdefault((match["stem"], _settings(node_pool)), {})[int(match["number"])] = node_pool
    for (stem, _), by_number in by_stem.items():
        first, members = min(by_number), [by_number[number] for number in sorted(by_number)]
        if sorted(by_number) == [*range(first, first + len(members))] and first in (0, 1) and len(members) > 1:
            yield NodePoolGroup(_key(stem), members, stem + ("{i}" if first == 0 else "{n}"))
        else:
            yield from map(_single, members)


def _single(node_pool: ApiObject) -> NodePoolGroup:
    name = str(node_pool["name"])
    return NodePoolGroup(_key(name), [node_pool], name)


def _key(name: str) -> str:
    """Return the key of a pool with this name: a key is shorter than a node pool's name may be."""
    return name[:MAX_POOL_NAME].strip("-")


def _settings(node_pool: ApiObject) -> str:
    """Return everything that equal node pools have in common."""
    common: dict[str, object] = {key: value for key, value in node_pool.items() if key not in _OWN_FIELDS}
    network = mapping_at(node_pool, "networkConfig")
    common["networkConfig"] = {key: value for key, value in network.items() if key not in _OWN_NETWORK_FIELDS}
    return json.dumps(common, sort_keys=True)
