"""How Kueue places jobs on the nodes of an adopted pool, as a key of the pool."""

from __future__ import annotations

from berth import catalog
from berth.adopt.api_objects import StackEntry, list_at, name_of
from berth.adopt.inventory import ClusterInventory
from berth.adopt.pools import AdoptedPool


def topology_entry(inventory: ClusterInventory, pool: AdoptedPool, name: object) -> StackEntry:
    """Return how Kueue places jobs on the nodes of a pool, by the levels of the flavor's topology."""
    if not name:
        return {}
    topologies = (each for each in inventory.objects_of_kind("Topology") if name_of(each) == name)
    levels = {str(level.get("nodeLabel")) for each in topologies for level in list_at(each, "spec.levels")}
    generation = catalog.generations().get(pool.machine.generation or "")
    slicing = generation.dynamic_slicing if generation is not None else None
    parts = {slicing.label.format(part) for part in slicing.parts} if slicing is not None else set[str]()
    if slicing is None or not levels & {*parts, slicing.label.format(slicing.block)}:
        return {"topologyAware": True}
    return {"dynamicSlicing": "sub-slicing" if levels & parts else slicing.modes[0]}
