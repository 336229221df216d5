"""Group the node pools of slices into pools, whatever their names are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from berth.adopt.api_objects import ApiObject, mapping_at, value_at
from berth.spec.machines.slices import MAX_SLICE_NUMBER

_SLICE = re.compile(r"(?P<pool>.+)-(?P<topology>[0-9]+(?:x[0-9]+){1,2})-(?P<number>0|[1-9][0-9]*)")
"""How Berth names the node pool of a slice."""
_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>0|[1-9][0-9]*)")
_OWN_FIELDS = (
    *("name", "selfLink", "etag", "instanceGroupUrls", "status", "statusMessage", "conditions", "updateInfo"),
    "version",
)
"""Fields that differ between equal node pools; an upgrade gives them the new version one after the other."""
_MINIMA = ("totalMinNodeCount", "minNodeCount")
_OWN_NETWORK_FIELDS = ("podIpv4CidrBlock", "podIpv4RangeUtilization")
MAX_POOL_NAME = 30


class NodePoolGroup(Struct):
    """The node pools of one pool: its key, and `nodePoolName` unless the names are Berth's own.

    `is_sliced` says that each node pool is a slice of several hosts, which Berth gives a number. `numbers` are those of
    the members, unless they are 1 to n.
    """

    key: str
    members: list[ApiObject]
    node_pool_name: str | None = None
    is_sliced: bool = False
    numbers: list[int] | None = None

    def pulumi_keys(self, key: str) -> set[str]:
        """Return the keys of its node pools in Pulumi if `key` is the pool's."""
        numbers = self.numbers or range(1, len(self.members) + 1)
        return {f"{key}-{number}" for number in numbers} if self.is_sliced else {key}


def slice_groups(node_pools: Sequence[ApiObject]) -> Iterator[NodePoolGroup]:
    """Yield the pools that node pools of multi-host slices form: by Berth's names, by numbers, or alone.

    Berth numbers slices from 1 and makes them alike; one of them may have been removed. Names that look like Berth's
    with other numbers (blueprints count from 0) or of slices that differ are no names that Berth would give again, so
    they are kept as names.
    """
    by_berth: dict[tuple[str, str], dict[str, ApiObject]] = {}
    others: list[ApiObject] = []
    for node_pool in node_pools:
        match = _SLICE.fullmatch(str(node_pool["name"]))
        if match is not None and match["topology"] == value_at(node_pool, "placementPolicy.tpuTopology"):
            by_berth.setdefault((match["pool"], match["topology"]), {})[match["number"]] = node_pool
        else:
            others.append(node_pool)
    for (key, _), named in by_berth.items():
        numbers = sorted(map(int, named))
        members = [named[str(number)] for number in numbers if str(number) in named]
        is_berths = len(members) == len(named) and numbers[0] > 0 and numbers[-1] <= MAX_SLICE_NUMBER
        if is_berths and len(key) <= MAX_POOL_NAME and _are_alike(members):
            yield NodePoolGroup(key, members, is_sliced=True, numbers=_unless_counted(numbers))
        else:
            others.extend(named.values())
    yield from _numbered_groups(others)


def _unless_counted(numbers: list[int]) -> list[int] | None:
    """Return the numbers, None if they are 1 to n."""
    return None if numbers == [*range(1, len(numbers) + 1)] else numbers


def with_own_keys(groups: Iterable[NodePoolGroup]) -> Iterator[NodePoolGroup]:
    """Yield groups with keys that no other has: two long names may begin alike, and a slice be called like a pool.

    The node pools' keys in Pulumi differ too. A group whose key changes keeps the names of its node pools by
    `nodePoolName`.
    """
    taken: set[str] = set()
    taken_in_pulumi: set[str] = set()
    for group in sorted(groups, key=lambda each: each.node_pool_name is not None):
        key, number = group.key, 1
        while key in taken or group.pulumi_keys(key) & taken_in_pulumi:
            number += 1
            key = f"{group.key[: MAX_POOL_NAME - len(str(number)) - 1].strip('-')}-{number}"
        taken.add(key)
        taken_in_pulumi |= group.pulumi_keys(key)
        name = str(group.members[0]["name"])
        if key != group.key and group.node_pool_name is None:
            group.node_pool_name = re.sub("[0-9]+$", "{n}", name) if group.is_sliced else name
        group.key = key
        yield group


def _numbered_groups(node_pools: Sequence[ApiObject]) -> Iterator[NodePoolGroup]:
    """Yield equal node pools whose names end in numbers together, and every other one alone."""
    by_stem: dict[tuple[str, str], dict[int, ApiObject]] = {}
    for node_pool in node_pools:
        match = _NUMBERED.fullmatch(str(node_pool["name"]))
        if match is None or not match["stem"].strip("-"):
            yield _single(node_pool)
        else:
            by_stem.setdefault((match["stem"], _settings(node_pool)), {})[int(match["number"])] = node_pool
    for (stem, _), by_number in by_stem.items():
        numbers, members = sorted(by_number), [by_number[number] for number in sorted(by_number)]
        if len(members) == 1 or numbers[-1] > MAX_SLICE_NUMBER:
            yield from map(_single, members)
        elif numbers == [*range(len(members))]:
            yield NodePoolGroup(pool_key(stem), members, stem + "{i}", is_sliced=True)
        else:
            yield NodePoolGroup(pool_key(stem), members, stem + "{n}", is_sliced=True, numbers=_unless_counted(numbers))


def _single(node_pool: ApiObject) -> NodePoolGroup:
    name = str(node_pool["name"])
    return NodePoolGroup(pool_key(name), [node_pool], name, is_sliced=True)


def pool_key(name: str) -> str:
    """Return the key of a pool with this name: a key is shorter than a node pool's name may be."""
    return name[:MAX_POOL_NAME].strip("-")


def _are_alike(node_pools: Sequence[ApiObject]) -> bool:
    """Return whether one pool of Berth's makes these slices, in this order: the first ones may have a minimum.

    Accounts of nodes may differ, because an adopted pool lets each slice keep its own.
    """
    settings, minima = set[str](), list[int]()
    for node_pool in node_pools:
        scaling, config = mapping_at(node_pool, "autoscaling"), mapping_at(node_pool, "config")
        minima.append(int(scaling.get("totalMinNodeCount") or scaling.get("minNodeCount") or 0))
        compared = {
            **node_pool,
            "autoscaling": {key: value for key, value in scaling.items() if key not in _MINIMA},
            "config": {key: value for key, value in config.items() if key != "serviceAccount"},
        }
        if scaling.get("enabled"):  # the autoscaler chooses the number of nodes
            compared.pop("initialNodeCount", None)
        settings.add(_settings(compared))
    return len(settings) == 1 and minima == sorted(minima, reverse=True)


def _settings(node_pool: ApiObject) -> str:
    """Return everything that equal node pools have in common."""
    common: dict[str, object] = {key: value for key, value in node_pool.items() if key not in _OWN_FIELDS}
    network = mapping_at(node_pool, "networkConfig")
    common["networkConfig"] = {key: value for key, value in network.items() if key not in _OWN_NETWORK_FIELDS}
    return json.dumps(common, sort_keys=True)
