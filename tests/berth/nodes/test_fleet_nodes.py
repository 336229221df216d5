"""The nodes of every fleet: as many as its pools have, with the labels that its flavors select, and three answers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from berth.nodes import FleetNodes, NodeGroup, fleet_nodes
from berth.nodes.labels import label_table
from berth.nodes.model import HOSTNAME, NODE_POOL, ZONE
from berth.nodes.resources import node_resources
from berth.nodes.sources import node_sources
from tests.small_fleets import fleet_of_pools
from tests.small_fleets import plan as small_plan
from tests.stack_files import GKE_STACKS, every_stack, plan


def nodes(stack: str) -> FleetNodes:
    return fleet_nodes(plan(stack))


def group(stack: str, pool: str) -> NodeGroup:
    return next(each for each in nodes(stack).groups if each.pool == pool)


@every_stack
def test_every_pool_of_the_cluster_has_nodes(stack: str) -> None:
    fleet = plan(stack)
    assert {each.pool for each in nodes(stack).groups} == {each.name for each in fleet.pools if each.nodes.max}


@every_stack
def test_a_flavor_selects_the_nodes_that_it_means_and_no_others(stack: str) -> None:
    """By the labels that are known: the flavor's own labels, and the tolerations of its pods."""
    fleet, all_nodes = plan(stack), nodes(stack)
    for flavor in fleet.flavors:
        meant = all_nodes.by_flavor.get(flavor.name, ())
        assert {each.pool for each in meant} == {p.name for p in fleet.pools if p.flavor == flavor.name}
        tolerated = {(t.key, t.value) for t in flavor.tolerations} | {(t.key, None) for t in flavor.tolerations}
        exists = {t.key for t in flavor.tolerations if t.operator == "Exists"}
        for each in all_nodes.groups:
            selected = flavor.node_labels.items() <= each.labels.items() and all(
                taint.key in exists or (taint.key, taint.value) in tolerated for taint in each.taints
            )
            assert selected == (each in meant), (flavor.name, each.pool)


@every_stack
def test_every_label_of_every_group_has_one_answer(stack: str) -> None:
    for each in nodes(stack).groups:
        known, unknown, uncertain = set(each.labels), set(each.unknown_labels), set(each.uncertain_labels)
        assert known.isdisjoint(unknown | uncertain)
        assert unknown.isdisjoint(uncertain)
        for key in known:
            assert each.label(key).values == (each.labels[key],)
        assert all(each.label(key).is_unknown and each.label(key).why for key in unknown | uncertain)


def test_slices_are_one_group_with_a_node_pool_each() -> None:
    slices = group("multislice", "nodepool")
    assert slices.slices == len(slices.node_pools) == 3
    assert (slices.nodes.max, slices.max_nodes) == (2, 6)
    assert slices.label(NODE_POOL).values == slices.node_pools


def test_a_label_is_known_absent_or_unknown() -> None:
    l4 = group("batch-platform", "spot-np")
    assert l4.label("cloud.google.com/gke-spot").values == ("true",)
    assert group("batch-platform", "reserved-np").label("cloud.google.com/gke-spot").present is False
    assert l4.label("tier").present is False
    assert l4.label(HOSTNAME) == l4.label(HOSTNAME)
    assert l4.label(HOSTNAME).present is True
    assert l4.label("example.com/rack").present is None
    assert "administrator" in l4.label("example.com/rack").why
    assert l4.label("cloud.google.com/gke-acelerator").present is False
    assert l4.label("nvidia.com/gpu.product").present is None


def test_what_an_existing_cluster_has_beside_its_description_is_unknown() -> None:
    described = nodes("local").groups[0]
    assert described.open_reason is not None
    assert described.label("anything").is_unknown
    assert described.amount("example.com/fpga") is None
    assert group("multislice", "nodepool").amount("example.com/fpga") == 0


@pytest.mark.parametrize(
    ("keys", "taints"),
    [
        ({}, ["nvidia.com/gpu"]),
        ({"nodeLabels": {"example.com/gpu": "l4"}}, []),
        (
            {"nodeLabels": {"example.com/gpu": "l4"}, "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
            ["a"],
        ),
    ],
)
def test_existing_nodes_that_are_described_by_labels_have_the_taints_that_are_written(
    keys: dict[str, Any], taints: list[str]
) -> None:
    """Other existing nodes are taken for such as GKE makes, which have the taint of their accelerators."""
    pool = {"machineType": "g2-standard-24", "nodes": 2, **keys}
    fleet = small_plan(fleet_of_pools({"l4": pool}, cluster={"existing": {"context": "there"}}))
    assert [[taint.key for taint in each.taints] for each in fleet_nodes(fleet).groups] == [taints]


def test_the_zones_of_a_pool_are_groups_that_share_its_nodes() -> None:
    zones = [each for each in nodes("batch-platform").groups if each.pool == "spot-np"]
    assert len({each.zone for each in zones}) == len(zones) > 1
    assert all(each.nodes.max == each.pool_nodes.max for each in zones)
    assert all(each.labels[ZONE] == each.zone for each in zones)


def test_every_row_of_the_table_has_a_source_and_one_answer() -> None:
    table = label_table()
    assert len({row.key for row in table.rows}) == len(table.rows)
    for row in table.rows:
        assert sum(each is not None for each in (row.value, row.unknown, row.uncertain)) == 1, row.key
        assert row.source in ("kubernetes", "autoscaler", "nodes", "docs")
        assert row.value is None or re.fullmatch(r"\{\w+\}|[\w-]+", row.value)


@pytest.mark.parametrize("stack", list(GKE_STACKS))
def test_every_flavor_counts_the_capacity_of_its_nodes(stack: str) -> None:
    """Counted from nodes: accelerators of the largest number of nodes, cores beside half a core for DaemonSets."""
    fleet = plan(stack)
    if fleet.workers:
        return
    all_nodes = nodes(stack)
    for flavor in fleet.flavors:
        pools: dict[str, Any] = {each.pool: each for each in all_nodes.by_flavor.get(flavor.name, ())}
        cores = flavor.resource == "cpu"
        counts = [
            ((each.allocatable["cpu"] - 500) // 1000 if cores else each.allocatable[flavor.resource])
            * each.pool_nodes.max
            for each in pools.values()
        ]
        assert sum(counts) == flavor.capacity.max, flavor.name


@every_stack
def test_every_resource_of_a_node_of_unknown_size_is_unknown_and_says_why(stack: str) -> None:
    """And the others keep their answer: what pods may have of a node never counts as nothing."""
    fleet = plan(stack)
    sources = [each for pool in fleet.own_pools for each in node_sources(fleet, pool)]
    for source in sources:
        known = node_resources(source, image_streaming=False)
        assert known.known.keys().isdisjoint(known.unknown)
        sizeless = replace(source, machine=None, pool=replace(source.pool, vcpu=0, memory_gb=0))
        made = node_resources(sizeless, image_streaming=False)
        why = f"no table has the size of {source.machine_type}"
        assert {key for key, text in made.unknown.items() if text == why} == {"cpu", "memory"}
        assert made.known.keys().isdisjoint({"cpu", "memory"} | made.unknown.keys())
        assert made.unknown.keys() - {"cpu", "memory"} == known.unknown.keys() - {"cpu", "memory"}
