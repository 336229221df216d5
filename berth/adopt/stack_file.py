"""All of it together: the stack file, as values and as text."""

from __future__ import annotations

import io
from typing import Any, cast

import yaml
from msgspec import Struct

from berth.adopt.admission_checks import queued
from berth.adopt.cluster_contents import inside
from berth.adopt.clusters import cluster, frame
from berth.adopt.controllers import controllers
from berth.adopt.gke_made_pools import compute_classes, made_by_gke
from berth.adopt.inventory import Entry, Found, Left, part
from berth.adopt.pools import Pool, pools
from berth.adopt.queues import cohorts, flavors, nominal, priorities
from berth.adopt.reservations import reservation
from berth.adopt.teams import platform, teams


class Adopted(Struct, frozen=True):
    """What will be the stack's config, and what of the cluster it does not say."""

    fleet: Entry
    left: tuple[Left, ...]


def adopt(found: Found, stack: str) -> Adopted:
    """The fleet that a cluster is, as the stack of that name."""
    left: list[Left] = []
    owned, reserved = pools(found, stack, left)
    known = flavors(found, owned, left)
    made = made_by_gke(found, known, left)
    known |= {str(pool.entry.get("flavor", pool.key)): [pool] for pool in made}
    owned += made
    queued(found, known)

    def reserve(path: str, zone: str, kind: str, count: int) -> str:
        return reservation(path, zone, kind, count, reserved, stack)

    classes = compute_classes(found, made, reserve, left)
    sections: dict[str, object] = {
        "cluster": {} if found.context else cluster(found, stack, left),
        "reservations": {key: entry for key, (_, entry) in sorted(reserved.items())},
        "computeClasses": classes,
        "pools": {pool.key: _in_order(pool.entry) for pool in sorted(owned, key=lambda pool: pool.key)},
        "flavors": _oversubscribed(found, known),
        **controllers(found, left),
        "priorities": priorities(found, left),
        "cohorts": cohorts(found, known, left),
        "platform": platform(found),
    }
    own, shared = teams(found, known, left)
    sections |= {"teams": own, "clusterQueues": shared}
    fleet = {**frame(found), **{key: value for key, value in sections.items() if value}}
    if found.context is not None:
        fleet = inside(found, fleet, found.context, left)
    return Adopted(fleet, tuple(left))


_FIRST = ("machineType", "accelerator", "topology", "slices", "nodes", "zone", "zones", "capacity", "flavor")


def _in_order(entry: Entry) -> Entry:
    return {key: entry[key] for key in (*(k for k in _FIRST if k in entry), *(k for k in entry if k not in _FIRST))}


def _oversubscribed(found: Found, known: dict[str, list[Pool]]) -> dict[str, Entry]:
    """Flavors of which more is promised than there is: as much as was found is accepted."""
    holders = [*found.of_kind("ClusterQueue"), *found.of_kind("Cohort")]
    result: dict[str, Entry] = {}
    for flavor, members in sorted(known.items()):
        resource, capacity = members[0].machine.resource, sum(pool.nodes * pool.per_node for pool in members)
        promised = sum(nominal({**one, "spec": part(one, "spec")}, resource, flavor) for one in holders)
        if capacity and promised > capacity:
            times = -(-promised * 100 // capacity)
            factor = times // 100 if times % 100 == 0 else times / 100
            result[flavor] = {"oversubscription": factor, "reason": "as it was found"}
    return result


HEAD = """\
# Written by `berth adopt` from the answers of a cluster that stands. See docs/adopt.md for the steps from here.
"""


_SECTION, _WIDTH = 3, 100
"""How deep in the file sections lie, and the characters of an entry that is written in one line."""


class _Writer(yaml.SafeDumper):
    """Without anchors for what occurs twice."""

    def ignore_aliases(self, data: Any) -> bool:
        """Whether a value is written out wherever it occurs."""
        return True


def text(adopted: Adopted) -> str:
    """The stack file, entries in one line where they are short, as people write them."""
    config = {"pulumi:disable-default-providers": ["*"], "berth:fleet": adopted.fleet}
    writer: Any = _Writer(io.StringIO(), sort_keys=False)
    node = writer.represent_data({"config": config})
    _folded(node, 0)
    return HEAD + str(cast("Any", yaml).serialize(node, Dumper=_Writer, width=_WIDTH + 20, allow_unicode=True))


def _folded(node: Any, depth: int) -> int:
    """Decide how a node is written; returns about how many characters it takes in one line."""
    if node.id == "scalar":
        return len(node.value) + 2
    pairs: list[Any] = node.value
    below: list[Any] = [each for pair in pairs for each in pair] if node.id == "mapping" else pairs
    length = sum(_folded(each, depth + 1) + 2 for each in below)
    plain = node.id == "sequence" and all(each.id == "scalar" for each in below)
    node.flow_style = (length <= _WIDTH and depth > _SECTION) or not below or (depth == _SECTION - 1 and plain)
    return length
