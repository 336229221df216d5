"""Plan which domains of nodes a job may have to itself: those that it takes whole, by what a fleet's machines are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from berth import catalog
from berth.plan.fleet import PoolPlan
from berth.plan.kueue import FlavorPlan
from berth.plan.policies import ExclusivePlan


def exclusive_domains(pools: Iterable[PoolPlan], flavors: Mapping[str, FlavorPlan]) -> tuple[ExclusivePlan, ...]:
    """Return the node labels of each accelerator's domains, with the selectors of their machines.

    Where all machines of an accelerator have such a domain, every selector will do, and none is listed. What machines
    no table knows have is unknown, so it is not refused.
    """
    keys = catalog.exclusive_keys()
    domains: dict[str, dict[str, set[str]]] = {}
    known = [pool for pool in pools if pool.flavor in flavors]
    for flavor in flavors.values():
        if all(pool.flavor != flavor.name for pool in known):
            domains.setdefault(flavor.resource, {})[flavor.name] = set(catalog.exclusive_keys())
    for pool in known:
        domains.setdefault(pool.resource, {}).setdefault(pool.flavor, set()).update(_domains(pool))
    return tuple(
        ExclusivePlan(key=key, resource=resource, selectors=_selectors(key, of_flavors, flavors))
        for resource, of_flavors in sorted(domains.items())
        if resource != catalog.CPU
        for key in sorted({key for each in of_flavors.values() for domain in each for key in keys[domain]})
    )


def _domains(pool: PoolPlan) -> set[str]:
    machine = catalog.machines().get(pool.machine_type)
    if machine is None:
        return set(catalog.exclusive_keys())
    is_slice = (pool.hosts_per_slice or 1) > 1
    found = (("node", True), ("slice", is_slice), ("domain", machine.domain_topology is not None))
    return {domain for domain, has in found if has}


def _selectors(
    key: str, domains: Mapping[str, set[str]], flavors: Mapping[str, FlavorPlan]
) -> tuple[Mapping[str, str], ...]:
    of_key = {domain for domain, keys in catalog.exclusive_keys().items() if key in keys}
    fitting = [name for name, each in sorted(domains.items()) if each & of_key]
    if len(fitting) == len(domains):
        return ()
    return tuple(flavors[name].node_labels for name in fitting)
