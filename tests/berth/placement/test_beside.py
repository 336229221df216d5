"""Room for the pods of a job beside other jobs: compared with every arrangement of small fleets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.jobs.pod_set import PodSet
from berth.placement.beside import Room, least_nodes, room_beside
from berth.placement.node_classes import NodeClass
from berth.placement.room import Demand
from tests.berth.placement.test_rules import HOST, POOL, nodes, pods, term


def demand(pod_set: PodSet, *classes: NodeClass) -> Demand:
    return Demand(pod_set, classes, classes, classes)


def gpus(count: int, each: int, **facts: Any) -> PodSet:
    return pods(count, requests={"gpu": each}, **facts)


def arrangements(sizes: list[int], free: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield what pods of these sizes may leave free on each node."""
    if not sizes:
        yield free
        return
    for at, room in enumerate(free):
        if room >= sizes[0]:
            yield from arrangements(sizes[1:], (*free[:at], room - sizes[0], *free[at + 1 :]))


def expected(number: int, size: int, others: list[int], count: int, each: int) -> set[bool]:
    """Return whether the pods fit, in each arrangement of the others."""
    return {sum(room // each for room in left) >= count for left in set(arrangements(others, (size,) * number))}


@given(
    number=st.integers(1, 4),
    size=st.sampled_from([2, 3, 4, 8]),
    others=st.lists(st.integers(1, 8), max_size=5),
    count=st.integers(1, 5),
    each=st.integers(1, 8),
)
def test_the_bounds_hold_in_every_arrangement(number: int, size: int, others: list[int], count: int, each: int) -> None:
    """Certain and none are proofs; open says nothing."""
    classes = nodes(number, gpus=size)
    fits = expected(number, size, others, count, each)
    beside = [demand(gpus(others.count(other), other), classes) for other in sorted(set(others))]
    room, certain = room_beside([demand(gpus(count, each), classes)], beside)
    if room is Room.CERTAIN:
        assert False not in fits
    if room is Room.NONE:
        assert True not in fits
    assert False not in expected(number, size, others, certain, each)


@pytest.mark.parametrize(
    ("count", "each", "others", "room", "certain"),
    [
        (1, 8, [(4, 6)], Room.NONE, 0),
        (1, 8, [(3, 6)], Room.CERTAIN, 1),
        (1, 8, [(4, 2)], Room.OPEN, 0),
        (2, 8, [(1, 2), (1, 2)], Room.CERTAIN, 2),
        (4, 2, [(4, 6)], Room.CERTAIN, 4),
        (5, 2, [(4, 6)], Room.NONE, 4),
        (3, 4, [(5, 4)], Room.CERTAIN, 3),
        (2, 6, [(4, 4)], Room.OPEN, 0),
    ],
)
def test_room_beside_others_on_four_nodes_of_eight(
    count: int, each: int, others: list[tuple[int, int]], room: Room, certain: int
) -> None:
    classes = nodes(4, gpus=8)
    beside = [demand(gpus(*other), classes) for other in others]
    assert room_beside([demand(gpus(count, each), classes)], beside) == (room, certain)


@pytest.mark.parametrize(
    ("own", "cpu_of_others", "certain"),
    [
        ({"gpu": 2, "cpu": 10}, [80], 2),
        ({"gpu": 2, "cpu": 10}, [85], 1),
        ({"gpu": 2, "cpu": 10}, [45, 46], 0),
        ({"gpu": 1, "cpu": 10}, [60], 4),
        ({"gpu": 1, "cpu": 10}, [71], 2),
        ({"gpu": 1, "cpu": 10}, [41, 50], 0),
        ({"gpu": 4, "cpu": 1}, [99], 1),
        ({"gpu": 4, "cpu": 1}, [100], 0),
    ],
)
def test_others_may_take_what_the_pods_leave(own: dict[str, int], cpu_of_others: list[int], certain: int) -> None:
    """On one node of four GPUs and 100 cpu the GPUs are used up first, and then there is cpu left."""
    node = nodes(1, allocatable={"gpu": 4, "cpu": 100, "pods": 110})
    beside = [demand(pods(1, requests={"cpu": each}), node) for each in cpu_of_others]
    assert min(4 // own["gpu"], (100 - sum(cpu_of_others)) // own["cpu"]) == certain
    for count in range(1, 5):
        room = Room.CERTAIN if count <= certain else Room.NONE
        assert room_beside([demand(pods(count, requests=own), node)], beside) == (room, min(count, certain))


@given(
    number=st.integers(1, 3),
    own=st.tuples(st.integers(1, 2), st.integers(1, 30)),
    others=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 60)), max_size=4),
    count=st.integers(1, 5),
)
def test_the_bounds_hold_for_two_resources(
    number: int, own: tuple[int, int], others: list[tuple[int, int]], count: int
) -> None:
    classes = nodes(number, allocatable={"gpu": 4, "cpu": 60, "pods": 110})
    beside = [demand(pods(1, requests=_requests(each)), classes) for each in others]
    room, certain = room_beside([demand(pods(count, requests=_requests(own)), classes)], beside)
    held = {
        sum(min(gpu // own[0], cpu // own[1]) for gpu, cpu in left)
        for left in _arrangements_of_two(others, ((4, 60),) * number)
    }
    assert all(count <= each for each in held) or room is not Room.CERTAIN
    assert all(count > each for each in held) or room is not Room.NONE
    assert all(certain <= each for each in held)


def _requests(amounts: tuple[int, int]) -> dict[str, int]:
    return {key: amount for key, amount in zip(("gpu", "cpu"), amounts, strict=True) if amount}


def _arrangements_of_two(
    sizes: list[tuple[int, int]], free: tuple[tuple[int, int], ...]
) -> set[tuple[tuple[int, int], ...]]:
    """Return what pods of these sizes, of two resources, may leave free on each node."""
    found = {free}
    for gpu, cpu in sizes:
        found = {
            (*left[:at], (room[0] - gpu, room[1] - cpu), *left[at + 1 :])
            for left in found
            for at, room in enumerate(left)
            if room[0] >= gpu and room[1] >= cpu
        }
    return found


def test_pods_that_may_run_elsewhere_prove_nothing() -> None:
    own, elsewhere = nodes(1, gpus=8), nodes(1, gpus=8, pool="q")
    asking = [demand(gpus(1, 8), own)]
    assert room_beside(asking, [demand(gpus(1, 6), own)])[0] is Room.NONE
    assert room_beside(asking, [demand(gpus(1, 6), own, elsewhere)])[0] is Room.OPEN
    assert room_beside(asking, [demand(gpus(1, 6), elsewhere)])[0] is Room.CERTAIN


def test_slices_are_exclusive_whatever_their_pods_request() -> None:
    slices = tuple(nodes(2, pool=f"slice-{number}", gpus=4) for number in range(3))
    alone = {"exclusive_topology": POOL, "child_jobs": 1}
    asking = [demand(gpus(2, 4, **alone), *slices)]
    two = demand(gpus(4, 4, exclusive_topology=POOL, child_jobs=2), *slices)
    three = demand(gpus(6, 4, exclusive_topology=POOL, child_jobs=3), *slices)
    assert room_beside(asking, [two])[0] is Room.CERTAIN
    assert room_beside(asking, [three])[0] is Room.NONE
    assert room_beside(asking, [demand(gpus(3, 4), *slices)])[0] is Room.OPEN


def test_anti_affinity_to_pods_of_others_needs_clear_nodes() -> None:
    classes = nodes(3, gpus=8)
    apart = gpus(2, 1, pod_anti_affinity=(term(HOST),))
    assert room_beside([demand(apart, classes)], [demand(gpus(1, 1), classes)])[0] is Room.CERTAIN
    assert room_beside([demand(apart, classes)], [demand(gpus(2, 1), classes)])[0] is Room.OPEN
    three = gpus(3, 1, pod_anti_affinity=(term(HOST),))
    assert room_beside([demand(gpus(2, 1), classes)], [demand(three, classes)])[0] is Room.OPEN


@given(size=st.integers(1, 9), pods_=st.lists(st.integers(1, 9), max_size=6))
def test_the_bound_of_nodes_is_no_more_than_are_needed(size: int, pods_: list[int]) -> None:
    sizes = [each for each in pods_ if each <= size]
    bound = least_nodes([(1, each) for each in sizes], size)
    needed = next(number for number in range(len(sizes) + 1) if _fit(sizes, (size,) * number))
    assert bound <= needed


def _fit(sizes: list[int], free: tuple[int, ...]) -> bool:
    """Return whether some arrangement has all pods."""
    return any(True for _ in arrangements(sizes, free))
