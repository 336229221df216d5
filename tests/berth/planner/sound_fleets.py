"""Stack files of many shapes, by hypothesis: machines, taints, queues, cohorts, fair sharing, and workers or none.

Most are sound; who uses them leaves out those with a fault.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.small_fleets import ZONE, fleet_with

Entry = dict[str, Any]

_POOLS: dict[str, Entry] = {
    "v5e": {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 8, "zone": ZONE},
    "v5e-spot": {
        "machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": {"max": 8}, "zone": ZONE, "capacity": "spot",
    },
    "l4": {"machineType": "g2-standard-24", "nodes": 8, "zone": ZONE},
    "l4-spot": {"machineType": "g2-standard-24", "nodes": {"max": 8}, "zone": ZONE, "capacity": "spot"},
    "h100": {"machineType": "a3-highgpu-8g", "nodes": 8, "zone": ZONE},
    "queued": {
        "machineType": "a3-highgpu-8g", "nodes": {"max": 8}, "zone": ZONE,
        "capacity": {"queued": {"maxRunDuration": "1d", "retryStrategy": {"backoffLimitCount": 2}}},
    },
    "plain-queued": {"machineType": "g2-standard-24", "nodes": {"max": 8}, "zone": ZONE, "capacity": "queued"},
}  # fmt: skip
_SLICES = {"v5e", "v5e-spot"}
_TAINT = {"key": "acme.com/held", "value": "yes", "effect": "NoSchedule"}


def _with_options(entries: dict[str, Entry]) -> st.SearchStrategy[dict[str, Entry]]:
    """The pools, some of them with taints, labels, or pods placed by topology."""
    options = {name: st.fixed_dictionaries({}, optional=_options(name)) for name in entries}
    return st.fixed_dictionaries(options).map(lambda drawn: {n: entries[n] | drawn[n] for n in entries})


def _options(name: str) -> dict[str, st.SearchStrategy[Any]]:
    options: dict[str, st.SearchStrategy[Any]] = {"taints": st.just([_TAINT]), "labels": st.just({"tier": name})}
    return options | ({"topologyAware": st.just(value=True)} if name == "h100" else {})


def pools() -> st.SearchStrategy[dict[str, Entry]]:
    """One to four kinds of machines."""
    names = st.lists(st.sampled_from(sorted(_POOLS)), min_size=1, max_size=4, unique=True)
    return names.flatmap(lambda chosen: _with_options({name: _POOLS[name] for name in chosen}))


@st.composite
def _quota(draw: st.DrawFn, pool: str, *, in_cohort: bool) -> Entry:
    """What a queue is guaranteed of a pool: little enough that all queues together fit."""
    amounts = ("1 slice", "2 slices", 0) if pool in _SLICES else (1, 2, 0)
    entry: Entry = {"pool": pool, "guaranteed": draw(st.sampled_from(amounts))}
    if in_cohort:
        optional = {"borrow": st.sampled_from([amounts[0], 0]), "lend": st.sampled_from([amounts[0], 0])}
        entry |= draw(st.fixed_dictionaries({}, optional=optional))
    return entry


_PREEMPTION = st.fixed_dictionaries(
    {},
    optional={
        "withinClusterQueue": st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        "reclaimWithinCohort": st.sampled_from(["Never", "LowerPriority", "Any"]),
        "borrowWithinCohort": st.fixed_dictionaries(
            {"policy": st.sampled_from(["Never", "LowerPriority"])},
            optional={"maxPriorityThreshold": st.integers(-5, 10)},
        ),
    },
)
_QUEUE_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "priority": st.sampled_from(["low", "high"]),
    "queueingStrategy": st.sampled_from(["BestEffortFIFO", "StrictFIFO"]),
    "stopPolicy": st.sampled_from(["None", "Hold", "HoldAndDrain"]),
    "fairShareWeight": st.sampled_from([0, 0.5, 2]),
    "flavorFungibility": st.sampled_from(
        [
            {"whenCanBorrow": "TryNextFlavor"},
            {"whenCanPreempt": "MayStopSearch"},
            {"whenCanBorrow": "TryNextFlavor", "preference": "PreemptionOverBorrowing"},
        ]
    ),
    "admissionScope": st.just({"admissionMode": "UsageBasedAdmissionFairSharing"}),
}


@st.composite
def _queue(draw: st.DrawFn, pool_names: list[str], *, in_cohort: bool) -> Entry:
    chosen = draw(st.lists(st.sampled_from(pool_names), min_size=1, unique=True))
    flavors = [draw(_quota(name, in_cohort=in_cohort)) for name in chosen]
    entry = {"flavors": flavors} | draw(st.fixed_dictionaries({}, optional=_QUEUE_OPTIONS))
    return entry | (draw(st.fixed_dictionaries({}, optional={"preemption": _PREEMPTION})) if in_cohort else {})


@st.composite
def _team(draw: st.DrawFn, pool_names: list[str]) -> Entry:
    in_cohort = draw(st.booleans())
    names = draw(st.lists(st.sampled_from(["train", "serve"]), min_size=1, unique=True))
    queues = {name: draw(_queue(pool_names, in_cohort=in_cohort)) for name in names}
    return {"queues": queues} | ({"cohort": draw(st.sampled_from(["research", "labs"]))} if in_cohort else {})


@st.composite
def _cohorts(draw: st.DrawFn, pool_names: list[str]) -> dict[str, Entry]:
    """Two cohorts side by side or below a third, one of them with a quota or a weight of its own."""
    parent = draw(st.sampled_from([{}, {"parent": "company"}]))
    options = {"flavors": st.just([{"pool": pool_names[0], "guaranteed": 16}])}
    root = {"company": draw(st.fixed_dictionaries({}, optional=options))} if parent else {}
    weight = draw(st.sampled_from([{}, {"fairShareWeight": 0.25}])) if parent else {}
    return {"research": parent | weight, "labs": dict(parent)} | root


_KUEUE = st.fixed_dictionaries(
    {},
    optional={
        "fairSharing": st.just({"preemptionStrategies": ["LessThanInitialShare"]}),
        "admissionFairSharing": st.just({"usageHalfLifeTime": "1h"}),
    },
)


def _worker(machines: dict[str, Entry]) -> Entry:
    office = {"name": "office", "cidrBlock": "203.0.113.0/24"}
    return {"cluster": {"controlPlane": {"authorizedNetworks": [office]}}, "pools": machines}


@st.composite
def fleets(draw: st.DrawFn) -> Entry:
    """One cluster, or a manager with two workers that hold the same pools."""
    machines = draw(pools())
    names = list(machines)
    teams = {name: draw(_team(names)) for name in draw(st.lists(st.sampled_from(["vision", "speech"]), unique=True))}
    fleet = fleet_with({"teams": teams, "cohorts": draw(_cohorts(names)), "kueue": draw(_KUEUE), "pools": machines})
    if draw(st.booleans()):
        return fleet
    del fleet["pools"]
    return fleet | {"workers": {"east": _worker(machines), "west": _worker(machines)}}
