"""The table of GKE's fields: every key of a pool and of a cluster is read from an answer, or Python reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from berth.adopt.rest_fields import CLUSTER, NODE_POOL, SAME_NAMES, input_path, rest_field_table, stack_entry
from berth.spec.cluster import ClusterSpec, ControlPlaneSpec
from berth.spec.machines.node_system import HugepagesSpec
from berth.spec.machines.pools import PoolSpec
from berth.spec.model import Model
from tests.google_api import provider_names

API = json.loads((Path(__file__).parents[2] / "vendored" / "google" / "api.json").read_text(encoding="utf-8"))
SCHEMAS = API["apis"]["container"]["schemas"]
ROOTS = {NODE_POOL: "NodePool", CLUSTER: "Cluster"}
TYPES = {NODE_POOL: "gcp:container/nodePool:NodePool", CLUSTER: "gcp:container/cluster:Cluster"}
each_kind = pytest.mark.parametrize("kind", ROOTS)


def schema_keys(kind: str) -> set[str]:
    """The keys of a pool or of the section `cluster`, with those of the sections in them that GKE has as fields."""
    sections: list[tuple[str, type[Model]]] = [("", ClusterSpec), ("controlPlane.", ControlPlaneSpec)]
    if kind == NODE_POOL:
        sections = [("", PoolSpec), ("nodeSystemConfig.hugepages.", HugepagesSpec)]
        sections += [(start, model) for start, _, model in SAME_NAMES[kind] if start]
    return {start + field.alias for start, model in sections for field in model.model_fields.values()}


def is_field(path: str, schema: dict[str, Any]) -> bool:
    """Whether GKE's description has a value, and no block, at a path."""
    step, _, rest = path.partition(".")
    field = schema.get(step)
    if field is None or not rest:
        return field is not None and "ref" not in field
    return is_field(rest, SCHEMAS[field["ref"]] if "ref" in field else field.get("fields", {}))


@each_kind
def test_every_key_is_a_field_of_gke_or_is_read_by_python(kind: str) -> None:
    """A new key that GKE calls otherwise needs a row in `said`, or its name in `code` and a reader."""
    table = rest_field_table(kind)
    mapped = {row.key for row in table.said.values() if row.key is not None}
    assert sorted(mapped & table.code) == []
    assert sorted(mapped | table.code) == sorted(schema_keys(kind))
    fields = [*table.said, *table.missing]
    assert [path for path in fields if not is_field(path, SCHEMAS[ROOTS[kind]])] == []


@each_kind
def test_inputs_are_spelled_as_the_provider_spells_them(kind: str) -> None:
    """Against the table by which the tests read Google's description of what is registered."""
    names = provider_names()[TYPES[kind]]["fields"]

    def field_of(place: str) -> str:
        start = max((each for each in names if place == each or place.startswith(f"{each}.")), key=len, default="")
        return names[start] + place[len(start) :] if start else place

    table = rest_field_table(kind)
    paths = [*table.said, *table.missing]
    assert [path for path in paths if field_of(input_path(kind, path)) != path] == []


ENTRIES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "defaults are left out": ({"imageType": "COS_CONTAINERD", "diskSizeGb": 100}, {}),
    "a name that both have": ({"diskSizeGb": 200}, {"diskSizeGb": 200}),
    "an image in small letters": ({"imageType": "ubuntu_containerd"}, {"imageType": "UBUNTU_CONTAINERD"}),
    "a number as text": (
        {"kubeletConfig": {"podPidsLimit": "4096"}},
        {"nodeSystemConfig": {"kubelet": {"podPidsLimit": 4096}}},
    ),
    "a word of the kernel": (
        {"linuxNodeConfig": {"transparentHugepageDefrag": "TRANSPARENT_HUGEPAGE_DEFRAG_DEFER_WITH_MADVISE"}},
        {"nodeSystemConfig": {"transparentHugepageDefrag": "defer-with-madvise"}},
    ),
    "a word that GKE chose": ({"linuxNodeConfig": {"cgroupMode": "CGROUP_MODE_UNSPECIFIED"}}, {}),
}


@pytest.mark.parametrize("claim", ENTRIES)
def test_a_field_becomes_the_key_of_the_stack_file(claim: str) -> None:
    config, expected = ENTRIES[claim]
    shielded = {"shieldedInstanceConfig": {"enableSecureBoot": True}}
    assert stack_entry(NODE_POOL, {"config": {**shielded, **config}}) == expected
