"""The hardware table, by golden values and by its rules.

`test_accelerators_attached.py` is about GPUs on n1 machines, `test_accelerators_facts.py` compares all with the source.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from berth import catalog as hw

TPUS = [machine for machine in hw.machines().values() if hw.slice_topologies(machine)]
quick = settings(deadline=None, max_examples=200)


def machine(name: str) -> hw.Machine:
    """A machine of the table."""
    return hw.machines()[name]


def shape(name: str, topology: str) -> hw.SliceShape:
    """A slice of the table; the test fails if there is none."""
    result = hw.slice_shape(machine(name), topology)
    assert result is not None, f"{name} has no {topology}"
    return result


# --- slices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("ct4p-hightpu-4t", 186),
        ("ct5p-hightpu-4t", 278),
        ("tpu7x-standard-4t", 432),
        ("tpu7x-ultranet-4t", 432),
        ("ct5lp-hightpu-4t", 7),
        ("ct6e-standard-4t", 7),
        ("ct6e-standard-8t", 1),
        ("tpu7x-standard-1t", 1),
    ],
)
def test_a_machine_has_this_many_slice_topologies(name: str, count: int) -> None:
    """The 3D counts are xpk's own enumeration (GKE docs: TPUs): a rule that drifts from it changes a count."""
    assert len(hw.slice_topologies(machine(name))) == count


@pytest.mark.parametrize(
    ("name", "topology", "chips", "hosts"),
    [
        ("ct5lp-hightpu-1t", "1x1", 1, 1),
        ("ct5lp-hightpu-4t", "2x2", 4, 1),
        ("ct5lp-hightpu-4t", "16x16", 256, 64),
        ("ct6e-standard-4t", "4x8", 32, 8),
        ("ct4p-hightpu-4t", "16x16x16", 4096, 1024),
        ("ct5p-hightpu-4t", "2x2x1", 4, 1),
        ("ct5p-hightpu-4t", "12x12x12", 1728, 432),
        ("ct5p-hightpu-4t", "16x16x24", 6144, 1536),
        ("tpu7x-standard-1t", "1x1x1", 1, 1),
        ("tpu7x-standard-4t", "16x16x36", 9216, 2304),
    ],
)
def test_a_documented_slice_has_these_chips_and_hosts(name: str, topology: str, chips: int, hosts: int) -> None:
    """Google's tables, spot-checked: the rest of Berth multiplies by these numbers."""
    assert shape(name, topology) == hw.SliceShape(topology, chips, hosts)
    assert shape(name, topology).multi_host == (hosts > 1)


@pytest.mark.parametrize(
    ("name", "topology"),
    [
        ("ct6e-standard-4t", "4x5"),
        ("ct6e-standard-4t", "1x1"),
        ("ct6e-standard-1t", "2x2"),
        ("ct5p-hightpu-4t", "8x4x4"),
        ("ct5p-hightpu-4t", "4x4x260"),
        ("ct4p-hightpu-4t", "16x16x20"),
        ("tpu7x-standard-4t", "1x1x1"),
        ("ct5p-hightpu-4t", "4x4"),
        ("ct5p-hightpu-4t", ""),
        ("g2-standard-4", "1x1"),
        ("ct5l-hightpu-1t", "1x1"),
    ],
)
def test_an_unlisted_slice_has_no_shape(name: str, topology: str) -> None:
    """Unknown to the table is an answer, not an exception: the spec turns it into a message with what is allowed."""
    assert hw.slice_shape(machine(name), topology) is None


@pytest.mark.parametrize("name", ["ct5lp-hightpu-8t", "ct6e-standard-8t"])
def test_an_8t_machine_is_never_multi_host(name: str) -> None:
    """Eight-chip hosts have no links to other hosts: no slice in the table, and no way around it."""
    assert not machine(name).multi_host
    assert hw.slice_topologies(machine(name)) == ("2x4",)
    assert hw.divisible_shape(machine(name), "4x4") is None


@pytest.mark.parametrize("family", ["ct5lp-hightpu", "ct6e-standard"])
def test_2x4_is_one_host_on_8t_and_two_on_4t(family: str) -> None:
    """The topology alone does not say the hosts, so the machine type must be explicit (GKE docs: TPUs)."""
    assert shape(f"{family}-8t", "2x4") == hw.SliceShape("2x4", 8, 1)
    assert shape(f"{family}-4t", "2x4") == hw.SliceShape("2x4", 8, 2)


@quick
@given(st.sampled_from(TPUS), st.data())
def test_every_listed_slice_is_whole_hosts_within_the_maximum(tpu: hw.Machine, data: st.DataObject) -> None:
    """Hosts x chips per host = chips, in the right dimensions: what node counts and quotas are computed from."""
    topology = data.draw(st.sampled_from(hw.slice_topologies(tpu)))
    result, generation = shape(tpu.name, topology), hw.generations()[tpu.generation or ""]
    assert result.hosts * tpu.accelerators == result.chips == prod(map(int, topology.split("x")))
    assert result.chips <= generation.max_slice_chips
    assert topology.count("x") + 1 == generation.dims
    assert result.multi_host <= tpu.multi_host


@pytest.mark.parametrize("tpu", TPUS, ids=lambda tpu: tpu.name)
def test_the_single_host_topology_is_the_only_slice_of_one_host(tpu: hw.Machine) -> None:
    """One host means no placement policy; were there two such topologies, the column would be ambiguous."""
    assert [t for t in hw.slice_topologies(tpu) if not shape(tpu.name, t).multi_host] == [tpu.single_host_topology]


@pytest.mark.parametrize("tpu", TPUS, ids=lambda tpu: tpu.name)
def test_topologies_are_unique_and_ascend_by_chips(tpu: hw.Machine) -> None:
    """They are printed in messages, and the next larger one is found by position."""
    chips = [shape(tpu.name, topology).chips for topology in hw.slice_topologies(tpu)]
    assert chips == sorted(chips)
    assert len(set(hw.slice_topologies(tpu))) == len(chips)


@pytest.mark.parametrize("name", ["ct4p-hightpu-4t", "ct5p-hightpu-4t", "tpu7x-standard-4t"])
def test_the_rule_of_cubes_gives_exactly_the_shapes(name: str) -> None:
    """The same rule said another way: choose all, then throw away; the product's way is to never go too far."""
    most = hw.generations()[machine(name).generation or ""].max_slice_chips
    sides = combinations_with_replacement(range(4, 257, 4), 3)
    cubes = {f"{a}x{b}x{c}" for a, b, c in sides if a * b * c <= most}
    assert set(hw.slice_topologies(machine(name))) == cubes | {"2x2x1", "2x2x2", "2x2x4", "2x4x4"}


# --- the way out for slices the table does not know ------------------------------------------------------------------


@quick
@given(st.sampled_from(TPUS), st.lists(st.integers(1, 40), min_size=1, max_size=4))
def test_an_unlisted_slice_is_accepted_only_as_whole_hosts_within_a_pod(tpu: hw.Machine, sides: list[int]) -> None:
    """Google may allow tomorrow what the table lacks; but half a host or more than a pod can never be."""
    generation, topology, chips = hw.generations()[tpu.generation or ""], "x".join(map(str, sides)), prod(sides)
    result = hw.divisible_shape(tpu, topology)
    possible = len(sides) == generation.dims and chips % tpu.accelerators == 0
    hosts = chips // tpu.accelerators
    within = chips <= (generation.pod_chips or generation.max_slice_chips) and (hosts == 1 or tpu.multi_host)
    assert result == (hw.SliceShape(topology, chips, hosts) if possible and within else None)


@quick
@given(st.sampled_from(TPUS), st.data())
def test_accepted_topologies_agree_with_the_table(tpu: hw.Machine, data: st.DataObject) -> None:
    """Else a topology would change its host count on the day it is added to the table."""
    topology = data.draw(st.sampled_from(hw.slice_topologies(tpu)))
    assert hw.divisible_shape(tpu, topology) == hw.slice_shape(tpu, topology)


@pytest.mark.parametrize(
    "text", ["", "x", "4x", "0x4x4", "-4x4x4", "4X4X4", "04x4x4", "4x4x4x", " 4x4x4", "٤x4x4", "4x4x99999"]
)
def test_an_invalid_topology_is_not_a_slice(text: str) -> None:
    """The text is a person's; it must end in a message, not in an exception."""
    assert hw.divisible_shape(machine("ct5p-hightpu-4t"), text) is None


def test_an_accepted_v5p_topology_is_at_most_a_whole_pod() -> None:
    """Documented slices end at 6144 chips, the pod at 8960 (xpk: 140 cubes)."""
    assert hw.divisible_shape(machine("ct5p-hightpu-4t"), "16x20x28") == hw.SliceShape("16x20x28", 8960, 2240)
    assert hw.divisible_shape(machine("ct5p-hightpu-4t"), "16x20x32") is None


def test_gpus_and_unsupported_tpus_cannot_accept_unlisted_topologies() -> None:
    """Accepting an unknown topology must not make a slice of a machine that has none."""
    assert hw.divisible_shape(machine("a3-ultragpu-8g"), "2x4") is None
    assert hw.divisible_shape(machine("ct5l-hightpu-8t"), "2x4") is None


# --- machines --------------------------------------------------------------------------------------------------------


def test_a_machine_without_local_ssd_differs_only_in_that() -> None:
    """A nolssd variant differs in its disks, and in that GKE never chooses it by itself."""
    bases = {name: m for name, m in hw.machines().items() if f"{name}-nolssd" in hw.machines()}
    for name, base in bases.items():
        assert machine(f"{name}-nolssd") == replace(base, name=f"{name}-nolssd", ssd_automatic=0, explicit_only=True)
    assert len(bases) == 13


@pytest.mark.parametrize(
    ("name", "disk"),
    [
        ("ct6e-standard-4t", "hyperdisk-balanced"),
        ("tpu7x-standard-4t", "hyperdisk-balanced"),
        ("a4-highgpu-8g", "hyperdisk-balanced"),
        ("g4-standard-48", "hyperdisk-balanced"),
        ("ct5lp-hightpu-4t", "pd-balanced"),
        ("ct4p-hightpu-4t", "pd-balanced"),
        ("g2-standard-24", "pd-balanced"),
    ],
)
def test_the_boot_disk_is_balanced_and_of_the_kind_the_machine_takes(name: str, disk: str) -> None:
    """A v6e pool with a persistent disk is refused by the API after the plan was approved."""
    assert machine(name).default_boot_disk == disk
    assert disk in (machine(name).boot_disk_types or (disk,))


@pytest.mark.parametrize(
    ("name", "resource", "noun"),
    [
        ("ct5lp-hightpu-4t", "google.com/tpu", "v5e chips"),
        ("tpu7x-standard-4t", "google.com/tpu", "TPU7x chips"),
        ("g2-standard-24", "nvidia.com/gpu", "L4"),
        ("a2-ultragpu-1g", "nvidia.com/gpu", "A100 80GB"),
        ("g4-standard-6", "nvidia.com/gpu", "RTX PRO 6000 eighths"),
    ],
)
def test_a_count_is_printed_with_its_unit(name: str, resource: str, noun: str) -> None:
    """The plan says `24 v5e chips`, and does not call an eighth of a GPU a GPU."""
    assert (machine(name).resource, machine(name).noun) == (resource, noun)


def test_an_unsupported_machine_has_a_reason() -> None:
    """Old and future generations are rows, so that `ct3-hightpu-4t` is not answered with `no such machine`."""
    refused = {name: m for name, m in hw.machines().items() if m.status == "unsupported"}
    assert {name.split("-")[0] for name in refused} == {"ct3", "ct3p", "ct4l", "ct5l", "tpu7"}
    assert all(m.note and m.generation is None and not hw.slice_topologies(m) for m in refused.values())


def test_every_supported_machine_is_complete() -> None:
    """Zero means unknown, and unknown must not become a quota; a list would make the cached row changeable."""
    for m in hw.machines().values():
        assert isinstance(hash(m), int)
        assert m.status == "unsupported" or min(m.accelerators, m.vcpu, m.memory_gb) > 0
        assert m.status == "unsupported" or (m.generation in hw.generations()) == (m.kind == "tpu")
        assert isinstance(m.memory_gb, float)


def test_a_plan_cannot_change_the_table() -> None:
    """The table is read once and shared by the whole process."""
    with pytest.raises(TypeError):
        hw.machines()["mine"] = machine("g2-standard-4")  # pyright: ignore[reportIndexIssue]


# --- sharing and partitions ------------------------------------------------------------------------------------------


def test_mig_partitions_are_known_by_accelerator() -> None:
    """Allocatable is GPUs x partitions x clients; an accelerator that cannot be partitioned has no partitions."""
    assert hw.mig_partitions("nvidia-tesla-a100")["1g.5gb"] == 7
    assert not hw.mig_partitions("nvidia-l4")
    assert not hw.mig_partitions("tpu-v6e-slice")
