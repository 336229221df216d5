"""Each edit of a cluster's keys has one word, whichever cluster of a fleet it is made in.

The edits are made in a fleet without workers, in a manager, and in each of its workers. The class, the headline, the
rights, the guarded changes and the resources must be equal, but for the name of the cluster.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations
from typing import Any, Final

import pytest

from berth.backends.interface import compare
from berth.diff.headline import headline
from berth.evaluate import Evaluation, evaluate_values
from berth.resource import IN_WORKER, merge_clusters
from berth.text import pluralize
from tests.berth.diff.edits.one_key_table import ROWS, parsed
from tests.berth.diff.edits.schema_edits import SchemaKey, generated_edits
from tests.berth.diff.edits.sound_edits import class_of
from tests.small_fleets import REMOVED, fleet_with

PLAIN, MANAGER, FIRST, LAST = "plain", "manager", "east", "eastern"
"""A fleet without workers, a manager, and two workers, of which one's name begins with the other's."""
PLACES: Final = (PLAIN, MANAGER, FIRST, LAST)
CLUSTER: Final = {"privateNodes": True}
POOLS: Final = {"l4": {"machineType": "g2-standard-24", "nodes": {"min": 0, "max": 2}, "zones": ["us-central1-a"]}}
SPARE: Final = {"spare": {"machineType": "a2-highgpu-1g", "nodes": {"max": 1}, "zones": ["us-central1-a"]}}
MORE: Final = (
    ("cluster.controlPlane", {"authorizedNetworks": [{"name": "all", "cidrBlock": "0.0.0.0/0"}]}),
    ("cluster.controlPlane", {"authorizedNetworks": [{"name": "lab", "cidrBlock": "203.0.113.0/24"}]}),
    ("cluster.controlPlane.publicEndpoint", False),
    ("cluster.version", "1.33"),
    ("cluster.version", "1.35"),
    ("cluster.version", "1.36"),
    ("region", "us-east5"),
    ("reservations", {"held": {"machineType": "g2-standard-24", "nodes": 2, "zone": "us-central1-a"}}),
    ("pools.more", {"machineType": "g2-standard-24", "nodes": {"max": 1}, "zones": ["us-central1-a"]}),
)


def fleet(place: str) -> dict[str, Any]:
    """A fleet whose only queue runs at `place`; a manager has machines in its workers only."""
    values: dict[str, Any] = {
        "project": "acme-ml-dev",
        "region": "us-central1",
        "cluster": CLUSTER,
        "teams": {"a": {"queues": {"one": {"flavors": [{"pool": "l4", "guaranteed": "all"}]}}}},
    }
    at = FIRST if place == MANAGER else place
    workers = {name: {"cluster": CLUSTER, "pools": POOLS if name == at else SPARE} for name in (FIRST, LAST)}
    machines = {"pools": POOLS} if place == PLAIN else {"workers": workers}
    return json.loads(json.dumps({**values, **machines}))  # each cluster with values of its own


@cache
def before(place: str) -> Evaluation:
    found = evaluate_values("dev", fleet(place))
    assert [each.line() for each in found.faults] == []
    return found


def edits() -> Iterator[tuple[str, Any]]:
    """Every row of the table of edits that is a cluster's, and one edit of each key of a cluster and a pool."""
    yield from MORE
    yield from {
        (row.path, row.value): (row.path, parsed(row.value))
        for row in ROWS
        if row.path.startswith("cluster.") and row.stack == "dev" and not row.given
    }.values()
    for section, path, values in (("ClusterSpec", "cluster", CLUSTER), ("PoolSpec", "pools.l4", POOLS["l4"])):
        seen = set[SchemaKey]()
        for edit in generated_edits({"$ref": f"#/$defs/{section}"}, values):
            if edit.key not in seen and edit.value is not REMOVED and not any("." in str(step) for step in edit.path):
                seen.add(edit.key)
                yield f"{path}.{edit.dotted}", edit.value


def own_words(text: str, place: str) -> str:
    """The text as it is of a fleet without workers."""
    if place in (PLAIN, MANAGER):
        return text.replace("GKE of the manager is", "GKE is")
    for phrase in (f"{place}{IN_WORKER}", f" of worker {place}", f" on worker {place}", f" in worker {place}"):
        text = text.replace(phrase, "")
    return text.replace(f"dev-{place}", "dev").replace(f"workers.{place}.", "")


MANAGER_ADDRESS: Final = "of the manager's NAT"
NAT_CHANGES: Final = "network: natIpAllocateOption"


def one_less(part: str) -> str:
    """The part of a headline that counts limits or rights, without one of them."""
    return re.sub(r"(\d+) (limit|right)s", lambda count: pluralize(int(count[1]) - 1, count[2]), part)


def evaluated(place: str, path: str, value: Any) -> Evaluation:
    """The fleet with a key of one cluster."""
    at = path if place in (PLAIN, MANAGER) else f"workers.{place}.{path}"
    return evaluate_values("dev", fleet_with({at: value}, base=fleet(place)))


def word(place: str, path: str, value: Any, earlier: Any = REMOVED) -> dict[str, set[Any]]:
    """What is said of an edit: its faults, or the class, the parts of the headline, rights, losses and resources.

    REMOVED stands for a fleet that does not have the key.
    """
    sides = [before(place) if each is REMOVED else evaluated(place, path, each) for each in (earlier, value)]
    for found in sides:
        if found.faults:
            return {"faults": {own_words(".".join(map(str, each.path)), place) for each in found.faults}}
    old, plan = (each.plan for each in sides)
    assert plan is not None
    assert old is not None
    changes = compare(old, plan)
    parts = {own_words(part, place) for part in headline(changes).partition(": ")[2].split("; ")}
    # What queues count depends on all machines of a fleet, and one with workers has more.
    parts = {each for each in parts if not each.endswith("resources.pods change")}
    rights = {(own_words(each.owner, place), each.right, each.what, each.before, each.after) for each in changes.rights}
    losses = {(each.action, each.kind, own_words(each.name, place)) for each in changes.losses}
    things = {(each.kind, own_words(each.key, place), each.what) for each in changes.things}
    if any(MANAGER_ADDRESS in str(right) for right in rights):
        # A worker that closes its endpoint lets in the manager too, which then has a reserved address.
        rights = {right for right in rights if MANAGER_ADDRESS not in str(right)}
        parts = {each for each in parts if MANAGER_ADDRESS not in each and not each.startswith("network: gcp:compute/")}
        things = {each for each in things if each[0] != "network"}
    if place in (FIRST, LAST) and any(each.startswith(NAT_CHANGES) for each in parts):
        # A worker that opens its endpoint lets go of that address, which is one limit or right more.
        parts = {one_less(each) for each in parts if not each.startswith(NAT_CHANGES)}
        rights = {right for right in rights if MANAGER_ADDRESS not in str(right)}
        things = {each for each in things if each[0] != "network"}
    return {"class": {class_of(changes)}, "headline": parts, "rights": rights, "losses": losses, "things": things}


def without_machines(said: dict[str, set[Any]]) -> dict[str, set[Any]]:
    """What is said of a cluster, without its pools: a manager has none."""
    is_of_pool = ("pool l4", "the nodes of pool l4", "1 blocked", "2 blocked")
    return {
        key: {
            each
            for each in entries
            if not (
                str(each).startswith(is_of_pool) or (key != "headline" and {"pool", "dashboard"} & {*map(str, each)})
            )
        }
        for key, entries in said.items()
    }


Change = tuple[str, Any, Any]
"""A path, the value before, and the value after."""


def first_values() -> Iterator[Change]:
    """Every edit of a fleet that does not have the key."""
    yield from ((path, REMOVED, value) for path, value in edits())


def other_values() -> Iterator[Change]:
    """Every edit of a cluster's keys taken back, and each value of a key after each other one."""
    values: dict[str, list[Any]] = {}
    for path, value in edits():
        if path.startswith("cluster."):
            values.setdefault(path, []).append(value)
    for path, several in values.items():
        yield from ((path, value, REMOVED) for value in several)
        yield from ((path, old, new) for old, new in permutations(several, 2) if old != new)


@pytest.mark.parametrize("changes", [first_values, other_values])
def test_an_edit_has_the_same_word_in_every_cluster(
    changes: Callable[[], Iterator[Change]], record_property: Callable[[str, object], None]
) -> None:
    compared, differences = 0, list[str]()
    for path, earlier, value in changes():
        plain = word(PLAIN, path, value, earlier)
        for place in PLACES[1:]:
            if place == MANAGER and not path.startswith("cluster."):
                continue
            if place == MANAGER and any(each.startswith("pools.") for each in plain.get("faults", ())):
                continue
            said = word(place, path, value, earlier)
            compared += 1
            expected, found = (map(without_machines, (plain, said))) if place == MANAGER else (plain, said)
            if place == MANAGER and plain.get("losses") and not expected["losses"]:  # only pools made it a blocked one
                expected = {**expected, "class": found["class"]}
            if expected != found:
                keys = [key for key in {**expected, **found} if expected.get(key) != found.get(key)]
                sides = [(expected.get(key, set()), found.get(key, set())) for key in keys]
                told = "; ".join(f"{key} {a - b} → {b - a}" for key, (a, b) in zip(keys, sides, strict=True))
                differences.append(f"{path} = {earlier!r} → {value!r} in {place}: {told}")
    record_property("edits × places", compared)
    print(f"{compared} edits × places, {len(differences)} differences")
    assert differences == []
    assert compared > 200


def test_facts_of_two_clusters_under_one_key_are_an_error() -> None:
    assert merge_clusters({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}
    with pytest.raises(ValueError, match="two clusters have facts of \\['a'\\]"):
        merge_clusters({"a": 1}, {"a": 1})
