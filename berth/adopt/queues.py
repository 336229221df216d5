"""Kueue's objects become priorities, cohorts and queues: quotas counted in accelerators, as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from berth.adopt.inventory import Answer, Entry, Found, Left, at, name_of, part, parts
from berth.adopt.pools import Pool
from berth.jobs.quantities import amount

CPU, MEMORY = "cpu", "memory"
_LIMITS = "borrowingLimit", "lendingLimit"
_SPANS = ("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10), ("", 1)

Flavors = Mapping[str, list[Pool]]
"""Flavor → the pools whose nodes it selects."""


def flavors(found: Found, pools: Iterable[Pool], left: list[Left]) -> dict[str, list[Pool]]:
    """The pools of each flavor, which are told of it; a pool is of the flavor that selects it most narrowly."""
    known = [(name_of(one), part(one, "spec")) for one in found.of_kind("ResourceFlavor")]
    result: dict[str, list[Pool]] = {}
    for pool in pools:
        selecting: list[tuple[int, int, str, Answer]] = [
            (len(part(spec, "nodeLabels")), -_needless(spec, pool), name, spec)
            for name, spec in known
            if part(spec, "nodeLabels").items() <= pool.labels.items() and spec.get("nodeLabels")
        ]
        if not selecting:
            left.append(Left(f"pool {pool.key}", "no ResourceFlavor selects its nodes; Berth makes one"))
            continue
        _, _, name, spec = max(selecting, key=lambda each: each[:3])
        result.setdefault(name, []).append(pool)
        pool.entry |= {"flavor": name} if name != pool.key else {}
        pool.entry |= {"topologyAware": True} if spec.get("topologyName") else {}
    return result


def _needless(spec: Mapping[str, Any], pool: Pool) -> int:
    """Taints that a flavor tolerates and the pool has not: those are another pool's."""
    tolerated = {str(each.get("key")) for each in parts(spec, "tolerations")}
    return len(tolerated - pool.taints - {pool.machine.resource})


def priorities(found: Found, left: list[Left]) -> dict[str, Entry]:
    """The priorities that Kueue orders by, with what their like for pods says."""
    of_pods = {name_of(one): one for one in found.of_kind("PriorityClass")}
    result: dict[str, Entry] = {}
    for one in found.of_kind("WorkloadPriorityClass"):
        pods = of_pods.pop(name_of(one), {})
        entry: Entry = {"value": int(one.get("value") or 0)}
        entry |= {"default": True} if pods.get("globalDefault") else {}
        entry |= {"preempts": False} if pods.get("preemptionPolicy") == "Never" else {}
        entry |= {"description": one["description"]} if one.get("description") else {}
        result[name_of(one)] = entry
    for name in sorted(name for name in of_pods if not name.startswith("system-")):
        left.append(Left(f"PriorityClass {name}", "no WorkloadPriorityClass has its name; left alone"))
    return result


# --- quotas -----------------------------------------------------------------------------------------------------------


def quotas(one: Answer, known: Flavors, cohort: bool, left: list[Left]) -> tuple[list[Entry], Entry]:
    """Entries of `flavors`, and the rates that hold for all of them; flavors that are no pool's are told.

    `cohort` is whether what is idle can be borrowed and lent: without it limits say nothing.
    """
    entries: list[Entry] = []
    for name, resources in _flavors_of(one):
        if name not in known:
            who = f"{one['kind']} {name_of(one)}"
            left.append(Left(who, f"its flavor '{name}' selects the nodes of no pool; that quota is left out"))
            continue
        entries.append({"flavor": name} | _quota(resources, known[name], cohort))
    rates = [entry.get("perAccelerator") for entry in entries]
    if rates and rates[0] and all(each == rates[0] for each in rates):
        for entry in entries:
            del entry["perAccelerator"]
        return entries, {"perAccelerator": rates[0]}
    return entries, {}


def quotas_of(one: Answer) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Flavor → resource → its quota, as it is written."""
    return dict(_flavors_of(one))


def _flavors_of(one: Answer) -> Iterator[tuple[str, dict[str, Mapping[str, Any]]]]:
    """Each flavor once, with the quotas of every resource by name."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for group in parts(one["spec"], "resourceGroups"):
        for flavor in parts(group, "flavors"):
            resources = {each["name"]: each for each in parts(flavor, "resources")}
            found.setdefault(flavor["name"], {}).update(resources)
    yield from found.items()


def nominal(one: Answer, resource: str, flavor: str) -> int:
    """The nominal quota of accelerators that a queue or cohort has of a flavor."""
    resources = quotas_of(one).get(flavor, {})
    return amount(resource, resources.get(resource, {}).get("nominalQuota")) or 0


def _quota(resources: Mapping[str, Mapping[str, Any]], pools: list[Pool], cohort: bool) -> Entry:
    resource = pools[0].machine.resource
    quota = resources.get(resource, {})
    said = {key: amount(resource, quota[key]) for key in ("nominalQuota", *_LIMITS) if key in quota}
    guaranteed, (borrow, lend) = said.get("nominalQuota") or 0, map(said.get, _LIMITS)
    entry: Entry = {"guaranteed": guaranteed} if guaranteed else {}
    if cohort and borrow != 0:
        entry["borrow"] = "unlimited" if borrow is None else borrow
    if cohort and lend is not None:
        entry["lend"] = lend
    counted = ("nominalQuota", guaranteed) if guaranteed else ("borrowingLimit", borrow or 0)
    rates = dict(_rates(resources, pools, *counted))
    return entry | ({"perAccelerator": rates} if rates else {})


def _rates(
    resources: Mapping[str, Mapping[str, Any]], pools: list[Pool], field: str, count: int
) -> Iterator[tuple[str, object]]:
    """The cpu and memory that come with an accelerator, where it is not what its machine brings."""
    if not count:
        return
    brought = {
        CPU: max(Fraction(p.machine.vcpu * 1000, p.per_node) for p in pools),
        MEMORY: max(Fraction(p.machine.memory_gb) * 2**30 / p.per_node for p in pools),
    }
    for resource, rate in brought.items():
        seen = amount(resource, resources.get(resource, {}).get(field))
        if seen and seen != -(-count * rate // 1):
            yield resource, (cores if resource == CPU else size)(-(-seen // count))


def cores(milli: int) -> int | str:
    """Cores as they are written: 2, or 500m."""
    return milli // 1000 if milli % 1000 == 0 else f"{milli}m"


def size(number: int) -> str:
    """Bytes as they are written, in the largest unit that holds them whole."""
    return next(f"{number // each}{unit}" for unit, each in _SPANS if number % each == 0)


# --- cohorts ----------------------------------------------------------------------------------------------------------


def cohorts(found: Found, known: Flavors, left: list[Left]) -> dict[str, Entry]:
    """Every cohort: those that are objects, and those that queues merely name."""
    objects = {name_of(one): one for one in found.of_kind("Cohort")}
    queues = found.of_kind("ClusterQueue")
    named = {one["spec"].get("cohortName") for one in queues} | {
        one["spec"].get("parentName") for one in objects.values()
    }
    result: dict[str, Entry] = {}
    for name in sorted({*objects, *(each for each in named if each)}):
        one = objects.get(name, {"kind": "Cohort", "metadata": {"name": name}, "spec": {}})
        spec = part(one, "spec")
        parent = spec.get("parentName")
        entry: Entry = {"parent": parent} if parent else {}
        entries, rates = quotas({**one, "spec": spec}, known, bool(parent), left)
        for each in entries:
            resource = known[each["flavor"]][0].machine.resource
            below = _below(name, each["flavor"], resource, objects, queues)
            if "guaranteed" in each:  # what is written is that of all below, and its own is what is more
                each["guaranteed"] += below
        entry |= {"flavors": [_in_order(each) for each in entries]} if entries else {}
        result[name] = entry | rates | weight(spec)
    return result


def _below(cohort: str, flavor: str, resource: str, objects: Mapping[str, Answer], queues: list[Answer]) -> int:
    """What those below a cohort are guaranteed of a flavor."""
    total = sum(nominal(q, resource, flavor) for q in queues if q["spec"].get("cohortName") == cohort)
    for name, one in objects.items():
        if at(one, "spec.parentName") == cohort:
            total += nominal(one, resource, flavor) + _below(name, flavor, resource, objects, queues)
    return total


def _in_order(entry: Entry) -> Entry:
    keys = ("flavor", "guaranteed", "borrow", "lend", "perAccelerator")
    return {key: entry[key] for key in keys if key in entry}


def weight(spec: Mapping[str, Any]) -> Entry:
    """The weight under fair sharing, where it is not the one that Kueue fills in."""
    found = at(spec, "fairSharing.weight")
    milli = amount(CPU, found)
    if milli is None or milli == 1000:
        return {}
    return {"fairShareWeight": milli // 1000 if milli % 1000 == 0 else milli / 1000}


# --- a queue ----------------------------------------------------------------------------------------------------------

_SERVED = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
"""What Kueue's webhook fills in."""


def queue(one: Answer, known: Flavors, left: list[Left]) -> Entry:
    """A cluster queue without its names: quotas and rules; an empty entry where none of its flavors is known."""
    spec, cohort = one["spec"], one["spec"].get("cohortName")
    entries, rates = quotas(one, known, bool(cohort), left)
    if not entries:
        return {}
    entry: Entry = {"flavors": [_in_order(each) for each in entries], **rates}
    if spec.get("queueingStrategy", "BestEffortFIFO") != "BestEffortFIFO":
        entry["queueingStrategy"] = spec["queueingStrategy"]
    if rules := _preemption(part(spec, "preemption"), bool(cohort)):
        entry["preemption"] = rules
    fungibility = {k: v for k, v in part(spec, "flavorFungibility").items() if _SERVED.get(k) != v}
    entry |= {"flavorFungibility": fungibility} if fungibility else {}
    entry |= {"admissionScope": spec["admissionScope"]} if spec.get("admissionScope") else {}
    entry |= {"stopPolicy": spec["stopPolicy"]} if spec.get("stopPolicy", "None") != "None" else {}
    entry |= {"namespaces": "all"} if spec.get("namespaceSelector") == {} else {}
    return entry | weight(spec)


def _preemption(said: Mapping[str, Any], cohort: bool) -> Entry:
    entry: Entry = {}
    if (within := said.get("withinClusterQueue", "Never")) != "LowerPriority":
        entry["withinClusterQueue"] = within
    if (reclaim := said.get("reclaimWithinCohort", "Never")) != ("Any" if cohort else "Never"):
        entry["reclaimWithinCohort"] = reclaim
    borrow = part(said, "borrowWithinCohort")
    if borrow.get("policy", "Never") != "Never":
        entry["borrowWithinCohort"] = dict(borrow)
    return entry
