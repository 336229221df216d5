"""Read Kueue's objects into priorities, cohorts and queues, with quotas counted in accelerators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from berth import catalog
from berth.adopt.api_objects import (
    ApiObject,
    Kept,
    NotAdopted,
    StackEntry,
    in_order,
    list_at,
    mapping_at,
    name_of,
    other_than,
    stated,
    value_at,
)
from berth.adopt.inventory import ClusterInventory
from berth.adopt.kubernetes.shared_flavors import split_flavors
from berth.adopt.pool_settings import topology_entry
from berth.adopt.pools import AdoptedPool
from berth.jobs.quantities import parse_quantity
from berth.plan.kueue import CPU, MILLI

MEMORY = "memory"
_LIMIT_FIELDS = "borrowingLimit", "lendingLimit"
_QUOTA_KEYS = ("flavor", "guaranteed", "borrow", "lend", "perAccelerator")
_BYTE_UNITS = ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10), ("", 1)

PoolsByFlavor = Mapping[str, list[AdoptedPool]]
"""Flavor → the pools whose nodes it selects."""


def match_flavors(
    inventory: ClusterInventory, pools: Iterable[AdoptedPool], not_adopted: list[NotAdopted]
) -> dict[str, list[AdoptedPool]]:
    """Return the pools of each flavor, and set their flavor; the flavor with the most labels wins."""
    known = [(name_of(each), mapping_at(each, "spec")) for each in inventory.objects_of_kind("ResourceFlavor")]
    result: dict[str, list[AdoptedPool]] = {}
    unselected: list[list[AdoptedPool]] = []
    for pool in pools:
        selecting: list[tuple[int, int, str, ApiObject]] = []
        for name, spec in known:
            labels = mapping_at(spec, "nodeLabels")
            tolerated = {str(t.get("key")) for t in list_at(spec, "tolerations")}
            if labels and labels.items() <= pool.labels.items():
                # Taints that the flavor tolerates and the pool does not have belong to another pool.
                foreign = tolerated - pool.taints - {pool.machine.resource}
                selecting.append((len(labels), -len(foreign), name, spec))
        if not selecting:
            not_adopted.append(NotAdopted(f"pool {pool.key}", "no ResourceFlavor selects its nodes; Berth creates one"))
            alike = [each for group in unselected if any(each.selects_alike(pool) for each in group) for each in group]
            unselected = [*(group for group in unselected if group[0] not in alike), [*alike, pool]]
            continue
        _, _, name, spec = max(selecting, key=lambda each: each[:3])
        result.setdefault(name, []).append(pool)
        pool.entry |= {"flavor": name} if name != pool.key else {}
        topologies, topology = inventory.objects_of_kind("Topology"), spec.get("topologyName")
        pool.entry |= topology_entry(topologies, pool.machine, pool.entry, topology)
    not_adopted += split_flavors(result, {name for name, _ in known})
    for first, *others in (sorted(group, key=lambda each: each.key) for group in unselected):
        for pool in others:
            pool.entry["flavor"] = first.key
    return result


def read_priorities(inventory: ClusterInventory, not_adopted: list[NotAdopted]) -> dict[str, StackEntry]:
    """Return the priorities of pods and of queueing. Berth creates the missing half of a priority.

    GKE's own classes and those of other components (`system-*`) are left out, and those that no Kueue reads: without
    ClusterQueues.
    """
    pod_priorities = {name_of(each): each for each in inventory.objects_of_kind("PriorityClass")}
    result = {
        name_of(each): _priority_entry(each, pod_priorities.pop(name_of(each), {}))
        for each in inventory.objects_of_kind("WorkloadPriorityClass")
    }
    is_read = bool(inventory.objects_of_kind("ClusterQueue"))
    for name, pod_priority in sorted(pod_priorities.items()):
        if name.startswith(("system-", "gmp-")):
            continue
        if is_read and abs(int(pod_priority.get("value") or 0)) <= _MAX_PRIORITY:
            result[name] = _priority_entry(pod_priority, pod_priority)
        else:
            why = "no WorkloadPriorityClass has its name; it stays as it is"
            not_adopted.append(NotAdopted(f"PriorityClass {name}", why, kept=Kept.UNUSED))
    return result


_MAX_PRIORITY = 1_000_000_000
"""Largest value of a priority that users may choose."""


def _priority_entry(priority_class: ApiObject, pod_priority: ApiObject) -> StackEntry:
    return stated(
        {
            "value": int(priority_class.get("value") or 0),
            "default": True if pod_priority.get("globalDefault") else None,
            "preempts": False if pod_priority.get("preemptionPolicy") == "Never" else None,
            "description": priority_class.get("description"),
        }
    )


# --- quotas -----------------------------------------------------------------------------------------------------------


_LOST_QUOTA = "that quota is not adopted; to keep it in the stack, write a pool with this flavor"


def quota_entries(
    resource: ApiObject, known: PoolsByFlavor, in_cohort: bool, not_adopted: list[NotAdopted]
) -> tuple[list[StackEntry], StackEntry]:
    """Return entries of `flavors`, and the rates that all share; flavors without a pool are reported.

    `cohort` is whether idle quota can be borrowed and lent; without a cohort, limits have no effect.
    """
    entries: list[StackEntry] = []
    for name, resources in quotas_by_flavor(resource).items():
        if name not in known:
            who = f"{resource['kind']} {name_of(resource)}"
            not_adopted.append(NotAdopted(who, f"its flavor '{name}' selects no pool's nodes; {_LOST_QUOTA}"))
            continue
        entries.append({"flavor": name} | _quota_entry(resources, known[name], in_cohort))
    rates = [entry.get("perAccelerator") for entry in entries]
    if rates and rates[0] and all(each == rates[0] for each in rates):
        for entry in entries:
            del entry["perAccelerator"]
        return entries, {"perAccelerator": rates[0]}
    return entries, {}


def quotas_by_flavor(resource: ApiObject) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return flavor → resource → its quota, as written."""
    by_flavor: dict[str, dict[str, Mapping[str, Any]]] = {}
    for group in list_at(resource["spec"], "resourceGroups"):
        for flavor in list_at(group, "flavors"):
            resources = {each["name"]: each for each in list_at(flavor, "resources")}
            by_flavor.setdefault(flavor["name"], {}).update(resources)
    return by_flavor


def nominal_quota(quota_owner: ApiObject, resource: str, flavor: str) -> int:
    """Return a queue's or cohort's nominal quota of accelerators of a flavor."""
    resources = quotas_by_flavor(quota_owner).get(flavor, {})
    return (parse_quantity(resource, resources.get(resource, {}).get("nominalQuota")) or 0) // _scale(resource)


def _scale(resource: str) -> int:
    """Return what a quantity has for each of what a flavor of this resource counts: 1000 milli-cpu for a core."""
    return MILLI if resource == CPU else 1


def _quota_entry(resources: Mapping[str, Mapping[str, Any]], pools: list[AdoptedPool], in_cohort: bool) -> StackEntry:
    resource = pools[0].machine.resource
    quota = resources.get(resource, {})
    exact = {key: parse_quantity(resource, quota[key]) for key in ("nominalQuota", *_LIMIT_FIELDS) if key in quota}
    amounts = {key: None if amount is None else amount // _scale(resource) for key, amount in exact.items()}
    guaranteed, (borrow, lend) = amounts.get("nominalQuota") or 0, map(amounts.get, _LIMIT_FIELDS)
    counted = ("nominalQuota", guaranteed) if guaranteed else ("borrowingLimit", borrow or 0)
    return stated(
        {
            "guaranteed": other_than(0, guaranteed),
            "borrow": other_than(0, "unlimited" if borrow is None else borrow) if in_cohort else None,
            "lend": lend if in_cohort else None,
            "perAccelerator": dict(_resource_rates(resources, pools, *counted)),
        }
    )


def _resource_rates(
    resources: Mapping[str, Mapping[str, Any]], pools: list[AdoptedPool], field: str, count: int
) -> Iterator[tuple[str, object]]:
    """Return the cpu and memory per accelerator, if they differ from the machine's."""
    if not count:
        return
    for resource, rate in _machine_rates(pools).items():
        seen = parse_quantity(resource, resources.get(resource, {}).get(field))
        if seen and seen != -(-count * rate // 1):
            yield resource, _as_written(resource, -(-seen // count))


def _machine_rates(pools: list[AdoptedPool]) -> dict[str, Fraction]:
    """Return the cpu and memory per accelerator that Berth chooses; only memory where cores are counted."""
    if pools[0].machine.resource == CPU:
        return {MEMORY: Fraction(min(catalog.memory_per_core(p.machine) for p in pools))}
    return {
        CPU: max(Fraction(p.machine.vcpu * 1000, p.accelerators_per_node) for p in pools),
        MEMORY: max(Fraction(p.machine.memory_gb) * 2**30 / p.accelerators_per_node for p in pools),
    }


def _as_written(resource: str, number: int) -> int | str:
    """Return an amount as a stack file has it: cores as 2 or 500m, bytes in the largest unit that divides them."""
    if resource == CPU:
        return number // 1000 if number % 1000 == 0 else f"{number}m"
    return next(f"{number // each}{unit}" for unit, each in _BYTE_UNITS if number % each == 0)


# --- cohorts ----------------------------------------------------------------------------------------------------------


def read_cohorts(
    inventory: ClusterInventory, known: PoolsByFlavor, not_adopted: list[NotAdopted]
) -> dict[str, StackEntry]:
    """Return every cohort: those that are objects, and those that only queues name."""
    objects = {name_of(each): each for each in inventory.objects_of_kind("Cohort")}
    queues = inventory.objects_of_kind("ClusterQueue")
    referenced = {value_at(queue, "spec.cohortName") for queue in queues}
    referenced |= {value_at(cohort_object, "spec.parentName") for cohort_object in objects.values()}
    result: dict[str, StackEntry] = {}
    for name in sorted({*objects, *(each for each in referenced if each)}):
        cohort_object = objects.get(name, {"kind": "Cohort", "metadata": {"name": name}, "spec": {}})
        spec = mapping_at(cohort_object, "spec")
        parent = spec.get("parentName")
        entries, rates = quota_entries({**cohort_object, "spec": spec}, known, bool(parent), not_adopted)
        for entry in entries:
            if "guaranteed" in entry:  # a cohort's guarantee includes everything below it
                resource = known[entry["flavor"]][0].machine.resource
                entry["guaranteed"] += _guaranteed_below(name, entry["flavor"], resource, objects, queues)
        flavors = [in_order(entry, _QUOTA_KEYS) for entry in entries]
        result[name] = stated({"parent": parent, "flavors": flavors}) | rates | fair_share_weight(spec)
    return result


def _guaranteed_below(
    cohort: str, flavor: str, resource: str, objects: Mapping[str, ApiObject], queues: list[ApiObject]
) -> int:
    """Return what is guaranteed of a flavor below a cohort."""
    total = sum(nominal_quota(q, resource, flavor) for q in queues if q["spec"].get("cohortName") == cohort)
    for name, cohort_object in objects.items():
        if value_at(cohort_object, "spec.parentName") == cohort:
            total += nominal_quota(cohort_object, resource, flavor) + _guaranteed_below(
                name, flavor, resource, objects, queues
            )
    return total


def fair_share_weight(spec: Mapping[str, Any]) -> StackEntry:
    """Return the weight under fair sharing, if it is not Kueue's default."""
    return stated({"fairShareWeight": other_than(1, read_weight(spec))})


def read_weight(spec: Mapping[str, Any]) -> float:
    """Return the weight of an object under fair sharing."""
    milli = parse_quantity(CPU, value_at(spec, "fairSharing.weight"))
    weight = 1 if milli is None else milli / 1000
    return int(weight) if weight == int(weight) else weight


# --- a queue ----------------------------------------------------------------------------------------------------------

_SERVER_DEFAULTS = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
"""Defaults that Kueue's webhook fills in."""


def queue_entry(resource: ApiObject, known: PoolsByFlavor, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return a cluster queue without its names: quotas and rules; an empty entry if it has no known flavor."""
    spec, in_cohort = resource["spec"], bool(resource["spec"].get("cohortName"))
    entries, rates = quota_entries(resource, known, in_cohort, not_adopted)
    if not entries:
        return {}
    fungibility = {k: v for k, v in mapping_at(spec, "flavorFungibility").items() if _SERVER_DEFAULTS.get(k) != v}
    rules = {
        "queueingStrategy": other_than("BestEffortFIFO", spec.get("queueingStrategy")),
        "preemption": _preemption_entry(spec, in_cohort),
        "flavorFungibility": fungibility,
        "admissionScope": spec.get("admissionScope"),
        "stopPolicy": other_than("None", spec.get("stopPolicy")),
        "namespaces": "all" if spec.get("namespaceSelector") == {} else None,
    }
    flavors = [in_order(each, _QUOTA_KEYS) for each in entries]
    return {"flavors": flavors, **rates, **stated(rules), **fair_share_weight(spec)}


def _preemption_entry(spec: Mapping[str, Any], in_cohort: bool) -> StackEntry:
    """Return what differs from Berth's defaults; with admission checks the default depends on the whole fleet."""
    preemption = mapping_at(spec, "preemption")
    borrow = mapping_at(preemption, "borrowWithinCohort")
    within = preemption.get("withinClusterQueue", "Never")
    usual = None if spec.get("admissionChecksStrategy") else "LowerPriority"
    return stated(
        {
            "withinClusterQueue": other_than(usual, within),
            "reclaimWithinCohort": other_than(
                "Any" if in_cohort else "Never", preemption.get("reclaimWithinCohort", "Never")
            ),
            "borrowWithinCohort": dict(borrow) if borrow.get("policy", "Never") != "Never" else None,
        }
    )
