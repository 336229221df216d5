"""Shares of workers: whole, by capacity, none beyond what is held; counted again from the definition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.plan.fleet import FleetPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan, QuotaPlan
from berth.planner import plan_fleet
from berth.planner.multikueue.quota_shares import split_by_weight
from berth.planner.queueing.quota_tree import accelerator_quotas, lendable
from berth.spec.parse import parse_fleet
from berth.validation import validate
from tests.stack_files import plan

PER_NODE = {"h100": 8, "v5e": 4, "a100": 8}
"""Accelerators of a node of each flavor, which has 90 pods for jobs."""

few = settings(deadline=None, max_examples=60)


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=6).filter(any),
    st.integers(0, 40),
    st.sampled_from([1, 4, 8]),
)
def test_shares_are_whole_units_within_one_of_the_exact_share(weights: list[int], amount: int, piece: int) -> None:
    """With enough capacity every share is within one unit of the exact proportion, and the sum is exact."""
    whole = sum(weights)
    parts = split_by_weight(amount * piece, weights, piece, [10**9] * len(weights))
    assert sum(parts) == amount * piece
    for part, weight in zip(parts, weights, strict=True):
        assert part % piece == 0
        assert abs(part * whole - amount * piece * weight) < piece * whole
        assert weight or not part


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5).filter(any), st.data())
def test_split_amounts_never_exceed_the_capacity(capacity: list[int], data: Any) -> None:
    """Amounts are split one after the other as long as their sum is within the capacity."""
    left, room = sum(capacity), list(capacity)
    while left:
        amount = data.draw(st.integers(1, left))
        assert sum(split_by_weight(amount, capacity, 1, room)) == amount
        assert min(room) >= 0
        left -= amount
    assert sum(room) == 0


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Any]:
    """A manager with up to four workers of GPUs and TPU slices, and teams that are guaranteed no more than there is.

    They are in two cohorts, which lend to each other no more than they have.
    """
    nodes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any))
    slices = draw(st.lists(st.integers(0, 5), min_size=len(nodes), max_size=len(nodes)))
    workers = {
        f"w{number}": {
            "cluster": {"controlPlane": {"authorizedNetworks": []}},
            "pools": {
                "h100": {"machineType": "a3-highgpu-8g", "nodes": {"max": n}},
                "v5e": {"machineType": "ct5lp-hightpu-4t", "topology": "4x4", "slices": {"max": s}},
            },
        }
        for number, (n, s) in enumerate(zip(nodes, slices, strict=True))
    }
    for number in range(len(nodes)):
        workers[f"w{number}"]["pools"]["v5e"]["zone"] = "us-central1-a"
    teams: dict[str, Any] = {}
    gpus, chips = 8 * sum(nodes), sum(slices)
    for number in range(draw(st.integers(1, 6))):
        mine, slice_count = draw(st.integers(0, gpus)), draw(st.integers(0, chips))
        gpus, chips = gpus - mine, chips - slice_count
        lend = draw(st.none() | st.integers(0, mine))
        entry = {"pool": "h100", "guaranteed": mine, "borrow": "unlimited"} | ({} if lend is None else {"lend": lend})
        tpus = {"pool": "v5e", "guaranteed": f"{slice_count} slices", "borrow": "unlimited"}
        teams[f"t{number}"] = {"cohort": "ab"[number % 2], "queues": {"q": {"flavors": [entry, tpus]}}}
    return {
        "project": "acme-ml-dev",
        "region": "us-central1",
        "workers": workers,
        "cohorts": {"all": {}, "a": draw(cohorts(teams, "a", gpus)), "b": draw(cohorts(teams, "b", 0))},
        "teams": teams,
    }


@st.composite
def cohorts(draw: st.DrawFn, teams: dict[str, Any], name: str, left: int) -> dict[str, Any]:
    """A cohort of some teams, with GPUs of its own out of those `left`; it lends no more than it and they have to."""
    mine = [team["queues"]["q"]["flavors"][0] for team in teams.values() if team["cohort"] == name]
    own = draw(st.integers(0, left))
    lent = own + sum(entry.get("lend", entry["guaranteed"]) for entry in mine)
    whole = own + sum(entry["guaranteed"] for entry in mine)
    limits = {"guaranteed": whole, "borrow": "unlimited", "lend": draw(st.integers(0, lent))}
    return {"parent": "all", "flavors": [{"pool": "h100", **limits}]}


@few
@given(fleets())
def test_shares_of_generated_fleets_add_up_and_fit(fleet: dict[str, Any]) -> None:
    """Σ over workers is the manager's; on no worker more than it holds; slices are whole; Kueue refuses none of it.

    Pods are rounded down on each worker, so that all queues and cohorts of a worker count none that it has no room for.
    """
    planned = plan_fleet("random", parse_fleet(fleet))
    assert planned is not None
    faults = [p for p in (*planned.problems, *validate(planned)) if p.severity == "fault"]
    assert [p.line() for p in faults if p.code not in ("empty-queue", "no-nodes")] == []
    resource_of = {f.name: f.resource for f in planned.plan.flavors}
    for queue in planned.plan.cluster_queues:
        there = [q for worker in planned.plan.workers for q in worker.plan.cluster_queues if q.name == queue.name]
        for resource in queue.covered_resources:
            for entry in queue.flavors:
                nominal = next(q.nominal for q in entry.quotas if q.resource == resource)
                total = sum(_of(q, entry.flavor, resource, "nominal") for q in there)
                assert 0 <= nominal - total <= (max(0, len(there) - 1) if resource == "pods" else 0)
        for flavor, quota in accelerator_quotas(queue, resource_of):
            lent = [_of(q, flavor, resource_of[flavor], "lending_limit") for q in there]
            assert quota.lending_limit is None or sum(lent) == quota.lending_limit
    for cohort in planned.plan.cohorts:
        limits = {w.name: _of_cohort(w.plan, cohort.name) for w in planned.plan.workers}
        for name, own in limits.items():
            (there,) = [w.plan for w in planned.plan.workers if w.name == name]
            mine = [q for q in there.cluster_queues if q.cohort == cohort.name]
            lent = [lendable(quota) for q in mine for f, quota in accelerator_quotas(q, resource_of) if f == "h100"]
            assert (own.lending_limit or 0) <= own.nominal + sum(lent)
        whole = _of_cohort(planned.plan, cohort.name)
        for what in ("nominal", "lending_limit"):
            assert sum(getattr(own, what) or 0 for own in limits.values()) == (getattr(whole, what) or 0)
    for worker in planned.plan.workers:
        for flavor in worker.plan.flavors:
            assert flavor.promised <= flavor.capacity.max
            assert flavor.promised % flavor.unit == 0
            assert _pods(worker.plan, flavor.name) <= 90 * flavor.capacity.max // PER_NODE[flavor.name]


def _of(owner: ClusterQueuePlan | CohortPlan, flavor: str, resource: str, what: str) -> int:
    result = (getattr(q, what) for e in owner.flavors if e.flavor == flavor for q in e.quotas if q.resource == resource)
    return next(result, 0) or 0


def _pods(fleet: FleetPlan, flavor: str) -> int:
    """All pods of a flavor that queues and cohorts are guaranteed in one cluster."""
    return sum(_of(owner, flavor, "pods", "nominal") for owner in (*fleet.cluster_queues, *fleet.cohorts))


def _of_cohort(fleet: FleetPlan, name: str) -> QuotaPlan:
    """A cohort's quota of GPUs in one cluster; nothing where it has none."""
    resource_of = {flavor.name: flavor.resource for flavor in fleet.flavors}
    quotas = [q for c in fleet.cohorts if c.name == name for _, q in accelerator_quotas(c, resource_of)]
    return next(iter(quotas), QuotaPlan(resource="", nominal=0, borrowing_limit=0, lending_limit=0))


# --- by hand ----------------------------------------------------------------------------------------------------------

Figures = dict[str, list[tuple[int, int | None]]]
"""Queue or cohort to what it has and lends of GPUs on each worker, in their order."""


def divided(nodes: list[int], of: str, **rest: Any) -> Figures:
    """What becomes of `rest`, sections of the stack file, on workers with so many nodes of machine type `of`."""
    workers = {
        f"w{number}": {
            "cluster": {"controlPlane": {"authorizedNetworks": []}},
            "pools": {"gpu": {"machineType": of, "nodes": {"max": count}}},
        }
        for number, count in enumerate(nodes)
    }
    return of_workers(workers, **rest)


def of_workers(workers: dict[str, Any], **rest: Any) -> Figures:
    """What becomes of `rest` on these workers."""
    result = plan_fleet(
        "shares", parse_fleet({"project": "acme-ml", "region": "us-central1", "workers": workers, **rest})
    )
    assert result is not None
    assert [p.line() for p in (*result.problems, *validate(result)) if p.severity == "fault"] == []
    figures: Figures = {}
    for worker in result.plan.workers:
        resource_of = {flavor.name: flavor.resource for flavor in worker.plan.flavors}
        for holder in (*worker.plan.cluster_queues, *worker.plan.cohorts):
            for _, quota in accelerator_quotas(holder, resource_of):
                figures.setdefault(holder.name, []).append((quota.nominal, quota.lending_limit))
    return figures


@pytest.mark.parametrize(
    ("guaranteed", "parts"), [("all", (8, 16)), ("50%", (4, 8)), ("25%", (2, 4)), (24, (8, 16)), (9, (3, 6))]
)
def test_a_pool_counts_its_accelerators_where_its_nodes_differ(guaranteed: int | str, parts: tuple[int, int]) -> None:
    """Four nodes of 2 L4 on one worker and four of 4 on the other are 24 L4 together."""
    workers = {
        name: {
            "cluster": {"controlPlane": {"authorizedNetworks": []}},
            "pools": {"gpu": {"machineType": machine, "nodes": {"max": 4}}},
        }
        for name, machine in (("a", "g2-standard-24"), ("b", "g2-standard-48"))
    }
    figures = of_workers(workers, teams={"x": a_team(None, guaranteed=guaranteed)})
    assert figures["x-q"] == [(part, 0) for part in parts]


def a_team(cohort: str | None, **entry: Any) -> dict[str, Any]:
    """A team with one queue of the one pool."""
    shared = {"cohort": cohort} if cohort else {}
    return {**shared, "queues": {"q": {"flavors": [{"pool": "gpu", **entry}]}}}


def test_a_queue_lends_the_limit_if_its_share_is_not_a_whole_node() -> None:
    """Two nodes of 8: the halves of a and b leave 4 on each, so c has 4 and 4, and lends all of both."""
    teams = {"a": a_team("all", guaranteed=4), "b": a_team("all", guaranteed=4)}
    figures = divided(
        [1, 1], "a3-highgpu-8g", cohorts={"all": {}}, teams={**teams, "c": a_team("all", guaranteed=8, lend=8)}
    )
    assert figures["c-q"] == [(4, 4), (4, 4)]


def test_a_cohort_lends_on_the_worker_that_has_what_it_lends() -> None:
    """One node each of four: a's is on the first worker and b's on the second, and so is what their cohorts lend."""
    cohorts = {"all": {}} | {
        name: {"parent": "all", "flavors": [{"pool": "gpu", "borrow": "unlimited", "lend": 8}]} for name in "ab"
    }
    figures = divided([2, 2], "a3-highgpu-8g", cohorts=cohorts, teams={n: a_team(n, guaranteed=8) for n in "ab"})
    assert figures == {"a-q": [(8, None)], "b-q": [(8, None)], "a": [(0, 8), (0, 0)], "b": [(0, 0), (0, 8)]}


def test_a_cohort_lends_on_a_worker_no_more_than_its_queues_lend_it_there() -> None:
    """A node of a's is on the first worker and kept, one of b's on the second and lent: so is that of their cohort."""
    cohorts = {"all": {}, "other": {"parent": "all"}, "ab": {"parent": "all"}}
    cohorts["ab"] |= {"flavors": [{"pool": "gpu", "borrow": "unlimited", "lend": 8}]}
    teams = {"a": a_team("ab", guaranteed=8, lend=0), "b": a_team("ab", guaranteed=8, lend=8)}
    figures = divided([1, 1], "a3-highgpu-8g", cohorts=cohorts, teams={**teams, "c": a_team("other", borrow=8)})
    assert (figures["a-q"], figures["b-q"], figures["ab"]) == ([(8, 0)], [(8, 8)], [(0, 0), (0, 8)])


def test_pods_of_small_shares_fit_on_the_nodes_of_each_worker() -> None:
    """Four queues of 2 H100 on each of two workers: 22 pods each, of 45 for both; rounded up they would be 92 of 90."""
    workers = {
        f"w{number}": {
            "cluster": {"controlPlane": {"authorizedNetworks": []}},
            "pools": {"gpu": {"machineType": "a3-highgpu-8g", "nodes": {"max": 1}}},
        }
        for number in range(2)
    }
    teams = {f"t{number}": a_team(None, guaranteed=4) for number in range(4)}
    fleet = {"project": "acme-ml", "region": "us-central1", "workers": workers, "teams": teams}
    result = plan_fleet("shares", parse_fleet(fleet))
    assert result is not None
    for worker in result.plan.workers:
        pods = [_of(queue, "gpu", "pods", "nominal") for queue in worker.plan.cluster_queues]
        gpus = [_of(queue, "gpu", "nvidia.com/gpu", "nominal") for queue in worker.plan.cluster_queues]
        assert (gpus, pods) == ([2] * 4, [22] * 4)


def test_the_oversubscription_factor_is_exact() -> None:
    """50 × 4.6 is 230, though in floats it is less: a node of 2 that is left on each worker is not divided."""
    accepted = {"gpu": {"oversubscription": 4.6, "reason": "so"}}
    teams = {"a": a_team(None, guaranteed=456), "b": a_team(None, guaranteed=2), "c": a_team(None, guaranteed=2)}
    figures = divided([25, 25], "g2-standard-24", flavors=accepted, teams=teams)
    assert figures == {"a-q": [(228, 0), (228, 0)], "b-q": [(2, 0)], "c-q": [(2, 0)]}


# --- the example ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worker", "queue", "nominal"),
    [
        ("central", "vision-train", {"h100": 32}),  # 48 of 96 GPUs, of which 64 are here and 32 there
        ("east", "vision-train", {"h100": 16}),
        (
            "central",
            "language-train",
            {"h100": 24, "v5e": 32},
        ),  # 26⅔ of 40: three nodes, and the rest where more is due
        ("east", "language-train", {"h100": 16}),
        ("central", "speech-tune", {"v5e": 32, "h100": 8}),
    ],
)
def test_shares_of_the_example(worker: str, queue: str, nominal: dict[str, int]) -> None:
    (there,) = [w.plan for w in plan("multikueue").workers if w.name == worker]
    (value,) = [q for q in there.cluster_queues if q.name == queue]
    resource_of = {flavor.name: flavor.resource for flavor in there.flavors}
    assert {flavor: quota.nominal for flavor, quota in accelerator_quotas(value, resource_of)} == nominal


def test_a_queue_covers_on_each_worker_what_it_covers_on_the_manager() -> None:
    """Else a worker without TPUs would admit a job for TPUs where Kueue ignores what a queue does not cover."""
    fleet_plan = plan("multikueue")
    covered = {queue.name: queue.covered_resources for queue in fleet_plan.cluster_queues}
    for worker in fleet_plan.workers:
        for queue in worker.plan.cluster_queues:
            assert queue.covered_resources == covered[queue.name]
            for entry in queue.flavors:
                (flavor,) = [f for f in worker.plan.flavors if f.name == entry.flavor]
                amount = {q.resource: q.nominal for q in entry.quotas}
                assert amount["pods"] == amount[flavor.resource] * 90 // PER_NODE[flavor.name]
                elsewhere = [q for q in entry.quotas if q.resource not in ("cpu", "memory", "pods", flavor.resource)]
                assert [(q.nominal, q.borrowing_limit or 0) for q in elsewhere] == [(0, 0)] * len(elsewhere)
    (east,) = [w.plan for w in fleet_plan.workers if w.name == "east"]
    assert {queue.name for queue in east.cluster_queues if "google.com/tpu" in queue.covered_resources} == {
        "language-train"
    }


def test_a_queue_is_only_on_workers_that_can_run_its_jobs() -> None:
    """speech's single node is in one place, and what it borrows none: the other worker could never admit its jobs."""
    fleet_plan = plan("multikueue")
    clusters = {config.name: config.clusters for config in fleet_plan.multikueue_configs}
    sent = {q.name: [clusters[check.name] for check in q.admission_checks] for q in fleet_plan.cluster_queues}
    assert sent == {
        "language-train": [("central", "east")],
        "speech-tune": [("central",)],
        "trainers-train": [("central", "east")],
        "vision-train": [("central", "east")],
    }
    there = {w.name: {q.name for q in w.plan.cluster_queues} for w in fleet_plan.workers}
    assert sent.keys() == set().union(*there.values())
    assert all({w for w in there if queue in there[w]} == set(workers[0]) for queue, workers in sent.items())
