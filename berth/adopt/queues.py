"""Read Kueue's objects into priorities, cohorts and queues, with quotas counted in accelerators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from berth import catalog
from berth.adopt.api_objects import ApiObject, Kept, NotAdopted, StackEntry, list_at, mapping_at, name_of, value_at
from berth.adopt.inventory import ClusterInventory
from berth.adopt.kubernetes.shared_flavors import split_flavors
from berth.adopt.pool_settings import topology_entry
from berth.adopt.pools import AdoptedPool
from berth.jobs.quantities import parse_quantity
from berth.plan.kueue import CPU, MILLI, PODS

MEMORY = "memory"
_LIMIT_FIELDS = "borrowingLimit", "lendingLimit"
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
    pod_priorities = {
        name_of(priority_class): priority_class for priority_class in inventory.objects_of_kind("PriorityClass")
    }
    result: dict[str, StackEntry] = {}
    for priority_class in inventory.objects_of_kind("WorkloadPriorityClass"):
        pod_priority = pod_priorities.pop(name_of(priority_class), {})
        result[name_of(priority_class)] = _priority_entry(priority_class, pod_priority)
    queued = bool(inventory.objects_of_kind("ClusterQueue"))
    for name in sorted(name for name in pod_priorities if not name.startswith(("system-", "gmp-"))):
        if not queued or abs(int(pod_priorities[name].get("value") or 0)) > _MAX_PRIORITY:
            why = "no WorkloadPriorityClass has its name; it stays as it is"
            not_adopted.append(NotAdopted(f"PriorityClass {name}", why, kept=Kept.UNUSED))
        else:
            result[name] = _priority_entry(pod_priorities[name], pod_priorities[name])
    return result


_MAX_PRIORITY = 1_000_000_000
"""Largest value of a priority that users may choose."""


def _priority_entry(priority_class: ApiObject, pod_priority: ApiObject) -> StackEntry:
    entry: StackEntry = {"value": int(priority_class.get("value") or 0)}
    entry |= {"default": True} if pod_priority.get("globalDefault") else {}
    entry |= {"preempts": False} if pod_priority.get("preemptionPolicy") == "Never" else {}
    return entry | ({"description": priority_class["description"]} if priority_class.get("description") else {})


# --- quotas -----------------------------------------------------------------------------------------------------------


_LOST_QUOTA = "that quota is not adopted; to keep it in the stack, write a pool with this flavor"


def quota_entries(
    resource: ApiObject, known: PoolsByFlavor, in_cohort: bool, not_adopted: list[NotAdopted]
) -> tuple[list[StackEntry], StackEntry]:
    """Return entries of `flavors`, and the rates that all share; flavors without a pool are reported.

    `cohort` is whether idle quota can be borrowed and lent; without a cohort, limits have no effect.
    """
    entries: list[StackEntry] = []
    for name, resources in _iter_flavor_quotas(resource):
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
    return dict(_iter_flavor_quotas(resource))


def _iter_flavor_quotas(resource: ApiObject) -> Iterator[tuple[str, dict[str, Mapping[str, Any]]]]:
    """Yield each flavor once, with the quotas of every resource by name."""
    by_flavor: dict[str, dict[str, Mapping[str, Any]]] = {}
    for group in list_at(resource["spec"], "resourceGroups"):
        for flavor in list_at(group, "flavors"):
            resources = {each["name"]: each for each in list_at(flavor, "resources")}
            by_flavor.setdefault(flavor["name"], {}).update(resources)
    yield from by_flavor.items()


def pods_of_nodes(inventory: ClusterInventory) -> StackEntry:
    """Return the pods of each node, if queues count pods and all nodes have equally many; else nothing."""
    queues = inventory.objects_of_kind("ClusterQueue")
    counted = any(PODS in quotas for queue in queues for quotas in quotas_by_flavor(queue).values())
    numbers = {value_at(each, "maxPodsConstraint.maxPodsPerNode") for each in inventory.node_pools}
    return {"maxPodsPerNode": int(numbers.pop())} if counted and len(numbers - {None}) == len(numbers) == 1 else {}


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
    entry: StackEntry = {"guaranteed": guaranteed} if guaranteed else {}
    if in_cohort and borrow != 0:
        entry["borrow"] = "unlimited" if borrow is None else borrow
    if in_cohort and lend is not None:
        entry["lend"] = lend
    counted = ("nominalQuota", guaranteed) if guaranteed else ("borrowingLimit", borrow or 0)
    rates = dict(_resource_rates(resources, pools, *counted))
    return entry | ({"perAccelerator": rates} if rates else {})


def _resource_rates(
    resources: Mapping[str, Mapping[str, Any]], pools: list[AdoptedPool], field: str, count: int
) -> Iterator[tuple[str, object]]:
    """Return the cpu and memory per accelerator, if they differ from the machine's."""
    if not count:
        return
    machine_rates = _machine_rates(pools)
    for resource, rate in machine_rates.items():
        seen = parse_quantity(resource, resources.get(resource, {}).get(field))
        if seen and seen != -(-count * rate // 1):
            yield resource, (format_cores if resource == CPU else format_bytes)(-(-seen // count))


def _machine_rates(pools: list[AdoptedPool]) -> dict[str, Fraction]:
    """Return the cpu and memory per accelerator that Berth chooses; only memory where cores are counted."""
    if pools[0].machine.resource == CPU:
        return {MEMORY: Fraction(min(catalog.memory_per_core(p.machine) for p in pools))}
    return {
        CPU: max(Fraction(p.machine.vcpu * 1000, p.accelerators_per_node) for p in pools),
        MEMORY: max(Fraction(p.machine.memory_gb) * 2**30 / p.accelerators_per_node for p in pools),
    }


def format_cores(milli: int) -> int | str:
    """Return cores as a stack file has them: 2, or 500m."""
    return milli // 1000 if milli % 1000 == 0 else f"{milli}m"


def format_bytes(number: int) -> str:
    """Return bytes in the largest unit that divides them."""
    return next(f"{number // each}{unit}" for unit, each in _BYTE_UNITS if number % each == 0)


# --- cohorts ----------------------------------------------------------------------------------------------------------


def read_cohorts(
    inventory: ClusterInventory, known: PoolsByFlavor, not_adopted: list[NotAdopted]
) -> dict[str, StackEntry]:
    """Return every cohort: those that are objects, and those that only queues name."""
    objects = {name_of(cohort_object): cohort_object for cohort_object in inventory.objects_of_kind("Cohort")}
    queues = inventory.objects_of_kind("ClusterQueue")
    referenced = {cohort_object["spec"].get("cohortName") for cohort_object in queues} | {
        cohort_object["spec"].get("parentName") for cohort_object in objects.values()
    }
    result: dict[str, StackEntry] = {}
    for name in sorted({*objects, *(flavor_entry for flavor_entry in referenced if flavor_entry)}):
        cohort_object = objects.get(name, {"kind": "Cohort", "metadata": {"name": name}, "spec": {}})
        spec = mapping_at(cohort_object, "spec")
        parent = spec.get("parentName")
        entry: StackEntry = {"parent": parent} if parent else {}
        entries, rates = quota_entries({**cohort_object, "spec": spec}, known, bool(parent), not_adopted)
        for flavor_entry in entries:
            resource = known[flavor_entry["flavor"]][0].machine.resource
            guaranteed_below = _guaranteed_below(name, flavor_entry["flavor"], resource, objects, queues)
            if "guaranteed" in flavor_entry:  # a cohort's guarantee includes everything below it
                flavor_entry["guaranteed"] += guaranteed_below
        entry |= {"flavors": [_in_order(flavor_entry) for flavor_entry in entries]} if entries else {}
        result[name] = entry | rates | fair_share_weight(spec)
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


def _in_order(entry: StackEntry) -> StackEntry:
    keys = ("flavor", "guaranteed", "borrow", "lend", "perAccelerator")
    return {key: entry[key] for key in keys if key in entry}


def fair_share_weight(spec: Mapping[str, Any]) -> StackEntry:
    """Return the weight under fair sharing, if it is not Kueue's default."""
    return {} if (weight := read_weight(spec)) == 1 else {"fairShareWeight": weight}


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
    spec, cohort = resource["spec"], resource["spec"].get("cohortName")
    entries, rates = quota_entries(resource, known, bool(cohort), not_adopted)
    if not entries:
        return {}
    entry: StackEntry = {"flavors": [_in_order(each) for each in entries], **rates}
    if spec.get("queueingStrategy", "BestEffortFIFO") != "BestEffortFIFO":
        entry["queueingStrategy"] = spec["queueingStrategy"]
    if rules := _preemption_entry(spec, bool(cohort)):
        entry["preemption"] = rules
    fungibility = {k: v for k, v in mapping_at(spec, "flavorFungibility").items() if _SERVER_DEFAULTS.get(k) != v}
    entry |= {"flavorFungibility": fungibility} if fungibility else {}
    entry |= {"admissionScope": spec["admissionScope"]} if spec.get("admissionScope") else {}
    entry |= {"stopPolicy": spec["stopPolicy"]} if spec.get("stopPolicy", "None") != "None" else {}
    entry |= {"namespaces": "all"} if spec.get("namespaceSelector") == {} else {}
    return entry | fair_share_weight(spec)


def _preemption_entry(spec: Mapping[str, Any], in_cohort: bool) -> StackEntry:
    """Return what differs from Berth's defaults; with admission checks the default depends on the whole fleet."""
    preemption = mapping_at(spec, "preemption")
    entry: StackEntry = {}
    within = preemption.get("withinClusterQueue", "Never")
    if within != "LowerPriority" or spec.get("admissionChecksStrategy"):
        entry["withinClusterQueue"] = within
    if (reclaim := preemption.get("reclaimWithinCohort", "Never")) != ("Any" if in_cohort else "Never"):
        entry["reclaimWithinCohort"] = reclaim
    borrow = mapping_at(preemption, "borrowWithinCohort")
    if borrow.get("policy", "Never") != "Never":
        entry["borrowWithinCohort"] = dict(borrow)
    return entry
