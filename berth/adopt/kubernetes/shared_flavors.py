"""Flavors that select pools which one flavor of a stack file cannot have: each kind of pools gets its own."""

from __future__ import annotations

from collections.abc import Iterator

from berth.adopt.api_objects import NotAdopted, mapping_at
from berth.adopt.labels import SHARED_KEYS
from berth.adopt.pools import AdoptedPool
from berth.plan.grouping import grouped


def split_flavors(pools_by_flavor: dict[str, list[AdoptedPool]], taken: set[str]) -> Iterator[NotAdopted]:
    """Leave each flavor the kind with most accelerators, and yield a line for each pool that gets another flavor.

    `taken` are the names of all flavors of the cluster.
    """
    for name, members in [*pools_by_flavor.items()]:
        kinds = grouped((_kind(pool), pool) for pool in members)
        largest = max(
            kinds.values(), key=lambda kind: sum(each.max_nodes * each.accelerators_per_node for each in kind)
        )
        pools_by_flavor[name] = largest
        for kind in (each for each in kinds.values() if each is not largest):
            own = next(key for key in _names(kind[0].key) if key not in taken)
            taken.add(own)
            pools_by_flavor[own] = kind
            for pool in kind:
                pool.entry.pop("flavor", None)
                pool.entry |= {"flavor": own} if own != pool.key else {}
                yield NotAdopted(
                    f"pool {pool.key}",
                    f"flavor '{name}' selects its nodes and others, and a flavor of Berth has one accelerator, one "
                    f"topology and one capacity; Berth makes flavor '{own}' for it, which no queue has a quota of",
                )


def _kind(pool: AdoptedPool) -> str:
    """Return what pools of one flavor have in common; reserved machines are alike."""
    is_reserved = "reservation" in mapping_at(pool.entry, "capacity")
    capacity = "reserved" if is_reserved else str(pool.entry.get("capacity"))
    return repr((pool.machine.accelerator, capacity, *(str(pool.entry.get(key)) for key in SHARED_KEYS)))


def _names(key: str) -> Iterator[str]:
    yield key
    yield from (f"{key}-{number}" for number in range(2, 1000))
