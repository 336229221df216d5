"""The form of recorded cases, with their nodes and topologies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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


def check_nodes(levels: SourceValue, nodes: SourceValue) -> None:
    """Add a fault for every value of `topology` and `nodes` of a case that is not in the format."""
    for level in levels.sequence("a list of labels, widest level first") or ():
        level.text("a label")
    for node in nodes.sequence("a list of nodes") or ():
        own = node.known_fields(("labels", "allocatable"))
        if own is not None:
            for value in (own["labels"].mapping("a mapping of labels to values") or {}).values():
                value.text("a value")
            for amount in (own["allocatable"].mapping("a mapping of resources to amounts") or {}).values():
                amount.integer("a whole number from 0", 0)


def check_topology_request(request: SourceValue) -> None:
    """Add a fault for every value of a job's `topology` that is not in the format."""
    for key, value in (request.known_fields((), tuple(_REQUEST)) or {}).items():
        if key == "sliceSize":
            value.integer("a whole number of pods from 1", 1)
        elif key == "unconstrained":
            if value.value is not True:
                value.reject("true")
        else:
            value.text("a level")


def check_cases(cases: SourceValue) -> None:
    """Add a fault for every value of a file that is not in the format."""
    for case in cases.sequence("a list of cases") or ():
        fields = case.known_fields(
            ("case", "clusterQueues", "steps"),
            ("cohorts", "fairSharing", "admissionFairSharing", "topology", "nodes", "kueue", "settled"),
        )
        if fields is not None:
            fields["case"].text("a case's name")
            if "kueue" in fields:
                fields["kueue"].text("a release of Kueue")
            if "settled" in fields and fields["settled"].value is not True:
                fields["settled"].reject("true")
            if "admissionFairSharing" in fields:
                _check_usage_rules(fields["admissionFairSharing"])
            strategies = fields.get("fairSharing")
            for strategy in (strategies.sequence("a list of preemption strategies") if strategies else None) or ():
                strategy.one_of(FAIR_STRATEGIES)
            if "topology" in fields and "nodes" in fields:
                check_nodes(fields["topology"], fields["nodes"])
            elif "topology" in fields or "nodes" in fields:
                case.fault("bad-nodes", "has only one of topology and nodes; write both")
            cohorts_value = fields.get("cohorts")
            for cohort in (cohorts_value.sequence("a list of cohorts") if cohorts_value else None) or ():
                _check_cohort(cohort)
            queues = [
                _check_queue(queue) for queue in fields["clusterQueues"].sequence("a list of cluster queues") or ()
            ]
            _check_steps(fields["steps"], {name for name in queues if name})


def _check_usage_rules(rules: SourceValue) -> None:
    keys = ("usageHalfLifeTime", "usageSamplingInterval")
    fields = rules.known_fields(keys, ("resourceWeights",)) or {}
    for key in fields.keys() & set(keys):
        fields[key].integer("a whole number of seconds from 1", 1)
    if "resourceWeights" in fields:
        _check_weights(fields["resourceWeights"], "a mapping of resources to weights")


def _check_cohort(cohort: SourceValue) -> None:
    fields = cohort.known_fields(("name",), ("parent", "quotas", "weight"))
    if fields is not None:
        _check_weight(fields)
        fields["name"].text("a cohort's name")
        _check_optional_name(fields.get("parent"))
        if "quotas" in fields:
            _check_quotas(fields["quotas"])


def _check_queue(queue: SourceValue) -> str | None:
    fields = queue.known_fields(
        ("name", "flavors", "quotas"),
        ("cohort", "strategy", "preemption", "flavorFungibility", "weight", "localQueues", "usageBased"),
    )
    if fields is None:
        return None
    _check_weight(fields)
    _check_quotas(fields["quotas"])
    if "usageBased" in fields and (fields["usageBased"].value is not True or "localQueues" not in fields):
        queue.fault("bad-value", "usageBased is true or left out, and needs localQueues; write the weight of each")
    if "localQueues" in fields:
        _check_weights(fields["localQueues"], "a mapping of local queues to weights")
    for flavor in fields["flavors"].sequence("a list of flavors, in order of preference") or ():
        flavor.text("a flavor's name")
    _check_optional_name(fields.get("cohort"))
    if "strategy" in fields:
        fields["strategy"].one_of((STRICT_FIFO, BEST_EFFORT_FIFO))
    if "flavorFungibility" in fields:
        keys = ("whenCanBorrow", "whenCanPreempt", "preference")
        for key, rule in (fields["flavorFungibility"].known_fields((), keys) or {}).items():
            rule.one_of(
                (BORROWING_FIRST, PREEMPTION_FIRST) if key == "preference" else (MAY_STOP_SEARCH, TRY_NEXT_FLAVOR)
            )
    if "preemption" in fields:
        _check_preemption(fields["preemption"])
    return fields["name"].text("a cluster queue's name")


def _check_weight(fields: Mapping[str, SourceValue]) -> None:
    if "weight" in fields:
        parse_amount("cpu", fields["weight"])


def _check_weights(weights: SourceValue, expected: str) -> None:
    for weight in (weights.mapping(expected) or {}).values():
        parse_amount("cpu", weight)


def _check_preemption(preemption: SourceValue) -> None:
    fields = preemption.known_fields((), ("withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort")) or {}
    if "withinClusterQueue" in fields:
        fields["withinClusterQueue"].one_of((NEVER, LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL))
    if "reclaimWithinCohort" in fields:
        fields["reclaimWithinCohort"].one_of((NEVER, LOWER_PRIORITY, ANY))
    if "borrowWithinCohort" in fields:
        borrow_fields = fields["borrowWithinCohort"].known_fields(("policy",), ("maxPriorityThreshold",))
        if borrow_fields:
            borrow_fields["policy"].one_of((NEVER, LOWER_PRIORITY))
            if "maxPriorityThreshold" in borrow_fields:
                borrow_fields["maxPriorityThreshold"].integer("a whole number", -(2**31), 2**31 - 1)


def _check_quotas(quotas: SourceValue) -> None:
    for quota in quotas.sequence("a list of quotas") or ():
        fields = quota.known_fields(("flavor", "resource", "nominal"), ("borrowingLimit", "lendingLimit")) or {}
        for key in fields.keys() & {"flavor", "resource"}:
            fields[key].text(f"a {key}'s name")
        for key in ("nominal", "borrowingLimit", "lendingLimit"):
            if key in fields:
                fields[key].integer("a whole number from 0", 0)


def _check_steps(steps: SourceValue, queues: set[str]) -> None:
    unfinished: set[str] = set()
    for step in steps.sequence("a list of steps") or ():
        fields = step.known_fields((), ("submit", "finish", "at", "then", "changes"))
        if fields is None:
            continue
        if "at" in fields and not (isinstance(at := fields["at"].value, int | float) and at >= 0):
            fields["at"].reject("a number of seconds from 0")
        for key in fields.keys() & {"then", "changes"}:
            _check_states(fields[key])
        if ("submit" in fields) == ("finish" in fields):
            step.fault("bad-step", "a step submits one job or finishes one; write submit or finish")
        elif "submit" in fields:
            _check_submit(fields["submit"], queues, unfinished)
        elif (name := fields["finish"].text("a job's name")) is not None:
            if name not in unfinished:
                fields["finish"].fault("no-job", f"no unfinished job '{name}'; submit it in an earlier step")
            unfinished.discard(name)


def _check_optional_name(cohort: SourceValue | None) -> None:
    if cohort is not None and cohort.value is not None:
        cohort.text("a cohort's name")


def _check_states(states: SourceValue) -> None:
    for state in (states.mapping("a mapping of jobs to their states") or {}).values():
        fields = state.known_fields(("state",), ("flavors", "domains", "evicted", "reason")) or {}
        for key in fields.keys() & {"state", "reason"}:
            fields[key].text(f"a {key}")
        if "flavors" in fields:
            for flavor in (fields["flavors"].mapping("a mapping of resources to flavors") or {}).values():
                flavor.text("a flavor's name")
        if "domains" in fields:
            for pods in (fields["domains"].mapping("a mapping of domains to pods") or {}).values():
                pods.integer("a whole number of pods from 1", 1)
        if "evicted" in fields:
            fields["evicted"].integer("a whole number from 0", 0)


def _check_submit(submit: SourceValue, queues: set[str], unfinished: set[str]) -> None:
    fields = submit.known_fields(("name", "queue", "pods", "requests"), ("localQueue", "priority", "topology"))
    if fields is None:
        return
    queue = fields["queue"].text("a cluster queue's name")
    if queue is not None and queue not in queues:
        fields["queue"].one_of(sorted(queues))
    fields["pods"].integer("a whole number of pods from 1", 1)
    if "localQueue" in fields:
        fields["localQueue"].text("a local queue's name")
    if "priority" in fields:
        fields["priority"].integer("a whole number", -(2**31), 2**31 - 1)
    if "topology" in fields:
        check_topology_request(fields["topology"])
    for amount in (fields["requests"].mapping("a mapping of resources to amounts") or {}).values():
        amount.integer("a whole number from 0", 0)
    name = fields["name"].text("a job's name")
    if name in unfinished:
        fields["name"].fault("twice", already_submitted(name))
    if name is not None:
        unfinished.add(name)
