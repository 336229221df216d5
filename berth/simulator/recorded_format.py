"""The form of recorded cases, with their nodes and topologies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from berth.jobs.forms import choice_form, fields_form, items_form, text_form, values_form, whole_form
from berth.jobs.pod_set import TopologyRequest
from berth.jobs.pods import parse_amount
from berth.jobs.values import SourceValue
from berth.nodes.model import PODS, NodeGroup
from berth.placement.node_classes import NodeClass
from berth.plan.node_settings import Bounds
from berth.simulator.arrivals import already_submitted
from berth.simulator.scheduler.fair_sharing import FAIR_STRATEGIES
from berth.simulator.scheduler.model import (
    ANY,
    BEST_EFFORT_FIFO,
    BORROWING_FIRST,
    LOWER_OR_NEWER_EQUAL,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    NEVER,
    PREEMPTION_FIRST,
    STRICT_FIFO,
    TRY_NEXT_FLAVOR,
)

_PODS_OF_NODE = 110
_ONE = Bounds(min=1, max=1)
_REQUEST = {
    "required": "required",
    "preferred": "preferred",
    "unconstrained": "unconstrained",
    "sliceRequired": "slice_level",
    "sliceSize": "slice_size",
}
"""The keys of a job's `topology`, and the fields that they set."""


def build_nodes(entries: Iterable[Mapping[str, Any]], flavor: str) -> tuple[NodeClass, ...]:
    """Return the nodes of a case, each by itself."""
    return tuple(_build_node(entry["labels"], entry["allocatable"], flavor) for entry in entries)


def _build_node(labels: Mapping[str, str], allocatable: Mapping[str, int], flavor: str) -> NodeClass:
    amounts = {**allocatable, PODS: _PODS_OF_NODE}
    group = NodeGroup(
        pool=flavor,
        flavor=flavor,
        maker="described",
        capacity="",
        machine_type="",
        node_pools=(),
        slices=0,
        nodes=_ONE,
        pool_nodes=_ONE,
        zone=None,
        labels=labels,
        allocatable=amounts,
    )
    return NodeClass(group, None, 1, amounts)


def build_request(entry: Mapping[str, Any] | None) -> TopologyRequest | None:
    """Return what a job asks for."""
    return None if entry is None else TopologyRequest(**{_REQUEST[key]: value for key, value in entry.items()})


def _true(value: SourceValue) -> None:
    if value.value is not True:
        value.reject("true")


def _optional_cohort(value: SourceValue) -> None:
    if value.value is not None:
        value.text("a cohort's name")


_COUNT = whole_form("a whole number from 0")
_PODS = whole_form("a whole number of pods from 1", 1)
_PRIORITY = whole_form("a whole number", -(2**31), 2**31 - 1)
_SECONDS = whole_form("a whole number of seconds from 1", 1)
_WEIGHT = partial(parse_amount, "cpu")
_FLAVOR = text_form("a flavor's name")
_JOB = text_form("a job's name")
_AMOUNTS = values_form("a mapping of resources to amounts", _COUNT)
_QUOTAS = items_form(
    "a list of quotas",
    fields_form(
        "flavor resource nominal",
        "borrowingLimit lendingLimit",
        {
            "flavor": _FLAVOR,
            "resource": text_form("a resource's name"),
            **dict.fromkeys(("nominal", "borrowingLimit", "lendingLimit"), _COUNT),
        },
    ),
)
_COHORT = fields_form(
    "name",
    "parent quotas weight",
    {"weight": _WEIGHT, "name": text_form("a cohort's name"), "parent": _optional_cohort, "quotas": _QUOTAS},
)
_FUNGIBILITY = fields_form(
    "",
    "whenCanBorrow whenCanPreempt preference",
    {
        **dict.fromkeys(("whenCanBorrow", "whenCanPreempt"), choice_form(MAY_STOP_SEARCH, TRY_NEXT_FLAVOR)),
        "preference": choice_form(BORROWING_FIRST, PREEMPTION_FIRST),
    },
)
_PREEMPTION = fields_form(
    "",
    "withinClusterQueue reclaimWithinCohort borrowWithinCohort",
    {
        "withinClusterQueue": choice_form(NEVER, LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL),
        "reclaimWithinCohort": choice_form(NEVER, LOWER_PRIORITY, ANY),
        "borrowWithinCohort": fields_form(
            "policy",
            "maxPriorityThreshold",
            {"policy": choice_form(NEVER, LOWER_PRIORITY), "maxPriorityThreshold": _PRIORITY},
        ),
    },
)
_QUEUE = fields_form(
    "name flavors quotas",
    "cohort strategy preemption flavorFungibility weight localQueues usageBased",
    {
        "weight": _WEIGHT,
        "quotas": _QUOTAS,
        "localQueues": values_form("a mapping of local queues to weights", _WEIGHT),
        "flavors": items_form("a list of flavors, in order of preference", _FLAVOR),
        "cohort": _optional_cohort,
        "strategy": choice_form(STRICT_FIFO, BEST_EFFORT_FIFO),
        "flavorFungibility": _FUNGIBILITY,
        "preemption": _PREEMPTION,
        "name": text_form("a cluster queue's name"),
    },
)
_STATES = values_form(
    "a mapping of jobs to their states",
    fields_form(
        "state",
        "flavors domains evicted reason",
        {
            "state": text_form("a state"),
            "reason": text_form("a reason"),
            "flavors": values_form("a mapping of resources to flavors", _FLAVOR),
            "domains": values_form("a mapping of domains to pods", _PODS),
            "evicted": _COUNT,
        },
    ),
)
_TOPOLOGY_REQUEST = fields_form(
    "",
    " ".join(_REQUEST),
    {key: {"sliceSize": _PODS, "unconstrained": _true}.get(key, text_form("a level")) for key in _REQUEST},
)
_SUBMIT = fields_form(
    "name queue pods requests",
    "localQueue priority topology",
    {
        "queue": text_form("a cluster queue's name"),
        "pods": _PODS,
        "localQueue": text_form("a local queue's name"),
        "priority": _PRIORITY,
        "topology": _TOPOLOGY_REQUEST,
        "requests": _AMOUNTS,
        "name": _JOB,
    },
)
_STEP = fields_form("", "submit finish at then changes", {"then": _STATES, "changes": _STATES})
_TOPOLOGY = {
    "topology": items_form("a list of labels, widest level first", text_form("a label")),
    "nodes": items_form(
        "a list of nodes",
        fields_form(
            "labels allocatable",
            "",
            {"labels": values_form("a mapping of labels to values", text_form("a value")), "allocatable": _AMOUNTS},
        ),
    ),
}
_CASE = fields_form(
    "case clusterQueues steps",
    "cohorts fairSharing admissionFairSharing topology nodes kueue settled",
    {
        "case": text_form("a case's name"),
        "kueue": text_form("a release of Kueue"),
        "settled": _true,
        "admissionFairSharing": fields_form(
            "usageHalfLifeTime usageSamplingInterval",
            "resourceWeights",
            {
                **dict.fromkeys(("usageHalfLifeTime", "usageSamplingInterval"), _SECONDS),
                "resourceWeights": values_form("a mapping of resources to weights", _WEIGHT),
            },
        ),
        "fairSharing": items_form("a list of preemption strategies", choice_form(*FAIR_STRATEGIES)),
        **_TOPOLOGY,
        "cohorts": items_form("a list of cohorts", _COHORT),
    },
)


def check_cases(cases: SourceValue) -> None:
    """Add a fault for every value of a file that is not in the format."""
    for case in cases.sequence("a list of cases") or ():
        if fields := _CASE(case):
            if len(_TOPOLOGY.keys() & fields.keys()) == 1:
                case.fault("bad-nodes", "has only one of topology and nodes; write both")
            queues = [_check_queue(each) for each in fields["clusterQueues"].sequence("a list of cluster queues") or ()]
            _check_steps(fields["steps"], {name for name in queues if isinstance(name, str) and name})


def _check_queue(queue: SourceValue) -> object:
    """Check a cluster queue, and return its name."""
    fields = _QUEUE(queue)
    if "usageBased" in fields and (fields["usageBased"].value is not True or "localQueues" not in fields):
        queue.fault("bad-value", "usageBased is true or left out, and needs localQueues; write the weight of each")
    return fields["name"].value if fields else None


def _check_steps(steps: SourceValue, queues: set[str]) -> None:
    unfinished: set[object] = set()
    for step in steps.sequence("a list of steps") or ():
        fields = _STEP(step)
        if "at" in fields and not (isinstance(at := fields["at"].value, int | float) and at >= 0):
            fields["at"].reject("a number of seconds from 0")
        if isinstance(step.value, dict) and ("submit" in fields) == ("finish" in fields):
            step.fault("bad-step", "a step submits one job or finishes one; write submit or finish")
        elif "submit" in fields:
            _check_submit(_SUBMIT(fields["submit"]), queues, unfinished)
        elif "finish" in fields and (name := fields["finish"].text("a job's name")) is not None:
            if name not in unfinished:
                fields["finish"].fault("no-job", f"no unfinished job '{name}'; submit it in an earlier step")
            unfinished.discard(name)


def _check_submit(fields: Mapping[str, SourceValue], queues: set[str], unfinished: set[object]) -> None:
    queue, name = (fields[key].value if fields else None for key in ("queue", "name"))
    if isinstance(queue, str) and queue and queue not in queues:
        fields["queue"].one_of(sorted(queues))
    if isinstance(name, str) and name:
        if name in unfinished:
            fields["name"].fault("twice", already_submitted(name))
        unfinished.add(name)
