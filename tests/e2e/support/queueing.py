"""The queueing part of a fleet: what of a stack file goes onto a cluster that is there, with Kueue and JobSet in it.

What does not go there is not listed here: `berth check` refuses it, by its path, and it is left out for that.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from berth.evaluate import evaluate_config
from berth.plan.kueue import ClusterQueuePlan
from tests.e2e.support.project import ROOT, Failed, stack_name

FLEET = "berth:fleet"
_OWN = "example.com/flavor"
_ROUNDS = 5
"""What is left out may uncover something that a first check did not come to."""


@dataclass
class Part:
    """A fleet for an existing cluster. `left_out` are the keys that it lost, by path; `added` what it got instead."""

    stack: str
    fleet: dict[str, Any]
    left_out: list[str] = field(default_factory=list[str])
    added: list[str] = field(default_factory=list[str])

    def text(self) -> str:
        """Return its stack file."""
        return yaml.safe_dump({"config": {"pulumi:disable-default-providers": ["*"], FLEET: self.fleet}})


def queueing_part(file: Path, context: str, root: Path = ROOT) -> Part:
    """Return the queueing part of a stack file, on the cluster of `context`. Raises `Failed` where none is sound."""
    whole: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    part = Part(stack_name(file), copy.deepcopy(whole["config"][FLEET]))
    _brought(part, "kueue")
    _brought(part, "jobset")
    _workers(part)
    part.fleet["cluster"] = {**part.fleet.get("cluster", {}), "existing": {"context": context}}
    part.fleet["protect"] = False
    part.added += ["cluster.existing", "protect: false"]
    for _ in range(_ROUNDS):
        faults = evaluate_config(part.stack, part.fleet, root).faults
        refused = [each for each in faults if each.code == "existing-cluster"]
        for each in refused:
            _leave_out(part, each.path)
        if not refused:
            if faults:
                raise Failed("\n".join(each.line() for each in faults))
            return part
    raise Failed(f"{file.name}: still refused after {_ROUNDS} rounds")


def _brought(part: Part, controller: str) -> None:
    """The cluster's own controller, as it is configured there."""
    part.left_out += [f"{controller}.{key}" for key in part.fleet.get(controller, {}) if key != "existing"]
    part.fleet[controller] = {"existing": True}
    part.added.append(f"{controller}.existing")


def _workers(part: Part) -> None:
    """A manager's workers: their machines are taken for the cluster's own, those of one name for one flavor.

    They stand in several regions, so the fleet names none.
    """
    if "workers" in part.fleet:
        part.fleet.pop("region")
        part.left_out.append("region")
    for worker, entry in sorted(part.fleet.pop("workers", {}).items()):
        part.left_out.append(f"workers.{worker}")
        pools = part.fleet.setdefault("pools", {})
        for name, pool in entry["pools"].items():
            own = name if name not in pools else f"{name}-{worker}"
            pools[own] = {"flavor": name, **pool}
            part.added.append(f"pools.{own}")


def _leave_out(part: Part, path: tuple[str | int, ...]) -> None:
    """Take a key away; machines that only their capacity told apart get a label and a taint that do."""
    holder: Any = part.fleet
    for step in path[:-1]:
        holder = holder[step]
    holder.pop(path[-1])
    part.left_out.append(".".join(str(step) for step in path))
    if path[-1] == "capacity":
        _told_apart(part)


def _told_apart(part: Part) -> None:
    text = "pools: a label and a taint of their flavor"
    if text in part.added:
        return
    part.added.append(text)
    for name, pool in part.fleet["pools"].items():
        flavor = str(pool.get("flavor", name))
        pool["labels"] = {**pool.get("labels", {}), _OWN: flavor}
        pool["taints"] = [*pool.get("taints", []), {"key": _OWN, "value": flavor}]


def other_guarantee(part: Part, root: Path = ROOT) -> tuple[Part, str]:
    """Return the part with a changed guarantee of one queue, without faults, and that queue's name in Kueue."""
    before = _queues(part, root)
    assert before is not None
    for at, entry in _guarantees(part.fleet):
        for amount in ("1 slice", 1, "2 slices", 2, "50%", 4):
            if entry["guaranteed"] == amount:
                continue
            edited = Part(part.stack, copy.deepcopy(part.fleet))
            dict(_guarantees(edited.fleet))[at]["guaranteed"] = amount
            after = _queues(edited, root)
            changed = [name for name, queue in (after or {}).items() if queue != before[name]]
            if len(changed) == 1:
                return edited, changed[0]
    raise Failed(f"{part.stack}: no guarantee of it can be changed alone")


def _queues(part: Part, root: Path) -> dict[str, ClusterQueuePlan] | None:
    result = evaluate_config(part.stack, part.fleet, root)
    return (
        None
        if result.faults or result.fleet_plan is None
        else {each.name: each for each in result.fleet_plan.cluster_queues}
    )


def _guarantees(fleet: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every entry of a queue that guarantees something, with where it stands."""
    queues = [*fleet.get("clusterQueues", {}).items()]
    queues += [
        (f"{t}/{q}", each) for t, team in fleet.get("teams", {}).items() for q, each in team.get("queues", {}).items()
    ]
    for name, queue in queues:
        for number, entry in enumerate(queue["flavors"]):
            if "guaranteed" in entry:
                yield f"{name}/{number}", entry
