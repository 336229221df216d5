"""Check names: references in entries that a fault keeps out of the plan, and keys that entries had before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from berth.diagnostics import FieldPath, format_path, format_value
from berth.manifests.workloads.values import as_list, as_mapping
from berth.planner.context import PlanningContext


def check_written_references(context: PlanningContext, fleet: Mapping[str, object]) -> None:
    """Report names that do not exist in the pools, teams and shared queues that were set aside, as they are written."""
    spec = context.spec
    known: dict[str, Mapping[str, object]] = {
        "cohorts": spec.cohorts,
        "priorities": spec.priorities,
        "pools": spec.pools,
        "reservations": spec.reservations,
    }
    reported: set[tuple[str, FieldPath, str]] = set()
    for section, path, name in _references(fleet, context):
        # The pools of a manager are those of its workers. A name that an entry repeats is one mistake.
        if not (section == "pools" and spec.workers) and (section, path[:2], name) not in reported:
            reported.add((section, path[:2], name))
            context.resolve(section, name, known[section], path)


def _references(fleet: Mapping[str, object], context: PlanningContext) -> Iterator[tuple[str, FieldPath, str]]:
    """Yield section, path and name of each reference in entries with a fault of their own."""
    for section in ("pools", "teams", "clusterQueues"):
        for name, entry in as_mapping(fleet.get(section)).items():
            if (section, name) not in context.set_aside:
                continue
            path: FieldPath = (section, name)
            if section == "pools":
                reservation = as_mapping(as_mapping(entry).get("capacity")).get("reservation")
                yield from _named("reservations", (*path, "capacity", "reservation"), reservation)
                continue
            yield from _named("cohorts", (*path, "cohort"), as_mapping(entry).get("cohort"))
            for key, buffer in as_mapping(as_mapping(entry).get("capacityBuffers")).items():
                yield from _named("pools", (*path, "capacityBuffers", key, "pool"), as_mapping(buffer).get("pool"))
            queues = (
                {path: entry}
                if section == "clusterQueues"
                else {
                    (*path, "queues", key): queue for key, queue in as_mapping(as_mapping(entry).get("queues")).items()
                }
            )
            for queue_path, queue in queues.items():
                yield from _named("priorities", (*queue_path, "priority"), as_mapping(queue).get("priority"))
                for index, flavor in enumerate(as_list(as_mapping(queue).get("flavors"))):
                    yield from _named("pools", (*queue_path, "flavors", index, "pool"), as_mapping(flavor).get("pool"))


def _named(section: str, path: FieldPath, name: object) -> Iterator[tuple[str, FieldPath, str]]:
    if isinstance(name, str):
        yield section, path, name


class _HasFormerName(Protocol):
    @property
    def formerly(self) -> str | None: ...


def check_former_names(context: PlanningContext, section: FieldPath, entries: Mapping[str, _HasFormerName]) -> None:
    """Report former names that are in use, because two entries would then create the same resource."""
    name_by_former: dict[str, str] = {}
    for name, spec in sorted(entries.items()):
        former, path = spec.formerly, (*section, name, "formerly")
        if former is None:
            continue
        if former == name:
            context.problems.fault(
                "bad-former-name", path, f"'{format_value(former)}' is the current name; remove formerly"
            )
        elif former in entries:
            entry_path = format_path((*section, former))
            message = f"'{format_value(former)}' still exists as {entry_path}; remove that entry, or remove formerly"
            context.problems.fault("bad-former-name", path, message)
        elif (first := name_by_former.setdefault(former, name)) != name:
            context.problems.fault(
                "bad-former-name",
                path,
                f"'{format_value(former)}' is already the former name of {format_path((*section, first))}; remove one "
                "of them",
            )
