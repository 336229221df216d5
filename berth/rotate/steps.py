"""The steps of a rotation: edits of the stack file in an order that keeps every guarantee, one pull request each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from berth.diagnostics import FieldPath
from berth.plan.fleet import FleetPlan, PoolPlan
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor

BESIDE, IN_PLACE = "beside", "in place"
_DRAINED = "HoldAndDrain"


class RotationStep(Struct, frozen=True):
    """One pull request: its title, what to wait for after its deployment, its edits as a unified diff, and the faults
    of its stack file (without faults it can be deployed)."""

    title: str
    wait_for: str
    diff: str
    faults: tuple[str, ...]


def default_mode(pool: PoolPlan) -> str:
    """Return whether old and new pool can exist at the same time: not with machines of a reservation."""
    return IN_PLACE if pool.reservation is not None or pool.made_by == "gke" else BESIDE


def plan_rotation(
    editor: YamlEditor, plan: FleetPlan, pool: PoolPlan, changes: Mapping[str, str], how: str
) -> list[RotationStep]:
    """Return the steps that replace a pool, with `changes` (key → YAML text of the pool's entry).

    A step whose stack file has faults is the last one: the later ones build on it. Raises ManualEditRequired if an edit
    must be made by hand.
    """
    edits = _rotate_beside(pool, changes) if how == BESIDE else _rotate_in_place(editor, plan, pool, changes)
    steps: list[RotationStep] = []
    for title, then, edit in edits:
        after = edit(editor)
        evaluation = after.evaluate()
        if evaluation.fleet_plan is not None and not {"slices", "nodes"} & changes.keys():
            name = _next_name(pool) if how == BESIDE else pool.name
            _check_capacity_kept(pool, next((each for each in evaluation.fleet_plan.pools if each.name == name), None))
        faults = tuple(fault.line_without_severity() for fault in evaluation.faults)
        steps.append(RotationStep(title, then, after.unified_diff(editor), faults))
        if faults:
            break
        editor = after
    return steps


def _next_name(pool: PoolPlan) -> str:
    return f"{pool.name}-next"


def _check_capacity_kept(old: PoolPlan, new: PoolPlan | None) -> None:
    """Raise ManualEditRequired if the new pool has another number of accelerators and nobody asked for that."""
    if new is None or new.accelerators.max == old.accelerators.max:
        return
    key, count = ("slices", new.slices.max) if new.slices else ("nodes", new.nodes.max)
    each = new.accelerators.max // count if count else 0
    numbers = sorted({old.accelerators.max // each, -(-old.accelerators.max // each)} - {0} | {count}) if each else []
    options = " or ".join(f"--set {key}={number} ({number * each})" for number in numbers)
    raise ManualEditRequired(
        f"this changes {old.name} from {old.accelerators.max} to {new.accelerators.max} accelerators, {each} in each "
        f"of {count} {key}; write how many {key} it gets: {options}"
    )


Edit = tuple[str, str, Callable[[YamlEditor], YamlEditor]]


# --- in place: the old pool is replaced -------------------------------------------------------------------------------


def _rotate_in_place(editor: YamlEditor, plan: FleetPlan, pool: PoolPlan, changes: Mapping[str, str]) -> Iterator[Edit]:
    if not changes:
        raise ManualEditRequired(
            f"no change of {pool.name} is given; write --set KEY=VALUE, such as --set topology=4x4"
        )
    users = [queue for queue in plan.cluster_queues if any(entry.flavor == pool.flavor for entry in queue.flavors)]
    queue_names = [queue.name for queue in users if queue.stop_policy != _DRAINED]

    stops = _stop_policies(editor, queue_names)

    def drain(editor: YamlEditor) -> YamlEditor:
        return _with_stop_policies(editor, dict.fromkeys(stops, _DRAINED))

    def replace(editor: YamlEditor) -> YamlEditor:
        editor = _with_allowance(editor, "allowReplacement", pool.name, "rotation")
        for key, value in changes.items():
            editor = editor.set_value(("pools", pool.name), key, value)
        return editor

    def resume(editor: YamlEditor) -> YamlEditor:
        return _without_allowance(_with_stop_policies(editor, stops), "allowReplacement", pool.name)

    queues = ", ".join(queue_names)
    if queues:
        yield f"hold and drain {queues}", "wait until these queues have no admitted workload", drain
    yield f"replace {pool.name}", "wait until its nodes are ready", replace
    yield f"resume {queues}" if queues else "remove the allowance", "done", resume


# --- beside: the new pool is added first ------------------------------------------------------------------------------


def _rotate_beside(pool: PoolPlan, changes: Mapping[str, str]) -> Iterator[Edit]:
    new = _next_name(pool)
    flavor = new if _FLAVOR_KEYS & changes.keys() else pool.flavor

    def add(editor: YamlEditor) -> YamlEditor:
        editor = editor.copy_entry(("pools", pool.name), new)
        for key in _KEYS_OF_EXISTING_NODE_POOLS:
            if editor.value_at(("pools", new, key)) is not None:
                editor = editor.remove(("pools", new, key))
        if (count := _as_count(editor.value_at(("pools", new, "slices")))) is not None:
            editor = editor.set_value(("pools", new), "slices", count)
        for key, value in {**changes, "flavor": flavor}.items():
            editor = editor.set_value(("pools", new), key, value)
        return editor

    def move(editor: YamlEditor) -> YamlEditor:
        for path, entry_key in _flavor_entries(editor, pool):
            editor = editor.replace_value((*path, entry_key), new if entry_key == "pool" else flavor)
        return _with_allowance(editor, "allowDeletion", pool.name, f"rotated to {new}")

    def remove(editor: YamlEditor) -> YamlEditor:
        return _without_allowance(editor.remove(("pools", pool.name)), "allowDeletion", pool.name)

    yield f"add {new} beside {pool.name}", f"wait until the nodes of {new} are ready", add
    cordon_note = f" (both pools have flavor {flavor}, so cordon the old nodes)" if flavor == pool.flavor else ""
    yield f"move the queues to {new}", f"wait until no job runs on {pool.name}{cordon_note}", move
    yield f"remove {pool.name}", "done", remove


def _as_count(slices: object) -> str | None:
    """Return listed slices as a number: those of a new pool are new; None for a number."""
    if isinstance(slices, list):
        return str(len(cast("list[object]", slices)))
    entry = cast("dict[str, Any]", slices) if isinstance(slices, dict) else {}
    return f"{{min: {entry.get('min', 0)}, max: {len(entry['of'])}}}" if "of" in entry else None


_FLAVOR_KEYS = {"machineType", "topology", "capacity", "accelerator", "gpuSharing", "gpuPartition", "labels", "taints"}
"""Keys of a pool whose change requires another flavor."""
_KEYS_OF_EXISTING_NODE_POOLS = ("nodePoolName", "adopted")
"""Keys that a new pool beside the old one does not have: its node pools are new, and two cannot have one name."""


def _with_allowance(editor: YamlEditor, section: str, key: str, reason: str) -> YamlEditor:
    """Return the files with one more allowance."""
    if editor.value_at((section,)):
        return editor.set_value((section,), key, f'"{reason}"')
    return editor.set_value((), section, f'{{{key}: "{reason}"}}')


def _without_allowance(editor: YamlEditor, section: str, key: str) -> YamlEditor:
    is_only_entry = editor.value_at((section,)) == {key: editor.value_at((section, key))}
    return editor.remove((section,) if is_only_entry else (section, key))


def _stop_policies(editor: YamlEditor, names: list[str]) -> dict[FieldPath, str | None]:
    """Map where each of the cluster queues is written to its stop policy there; one in `teamDefaults` is that of all.

    Raises ManualEditRequired if a queue is in none of the files, because it would not be drained.
    """
    entries = {
        name: (editor.written_path(path), queue.get("stopPolicy")) for path, name, queue in queue_entries(editor)
    }
    if missing := [name for name in names if name not in entries]:
        raise ManualEditRequired(f"queue {missing[0]} is not in the stack's files; drain it by hand")
    return {entries[name][0]: entries[name][1] for name in names}


def _with_stop_policies(editor: YamlEditor, stops: Mapping[FieldPath, str | None]) -> YamlEditor:
    """Set these stop policies; None removes the key."""
    for path, stop in stops.items():
        editor = editor.set_value(path, "stopPolicy", stop) if stop else editor.remove((*path, "stopPolicy"))
    return editor


def _flavor_entries(editor: YamlEditor, pool: PoolPlan) -> list[tuple[FieldPath, str]]:
    """Return every entry of a queue's or a cohort's flavors that names the pool or its flavor, with that key."""
    mentions: dict[tuple[FieldPath, str], None] = {}
    owners = [(path, queue) for path, _, queue in queue_entries(editor)]
    owners += [(("cohorts", name), cohort) for name, cohort in _section_entries(editor.value_at(("cohorts",)))]
    for path, owner in owners:
        entries: list[dict[str, Any]] = owner.get("flavors") or []
        for index, entry in enumerate(entries):
            written = editor.written_path((*path, "flavors", index))
            if entry.get("pool") == pool.name:
                mentions[written, "pool"] = None
            elif entry.get("flavor") == pool.flavor:
                mentions[written, "flavor"] = None
    return list(mentions)


def queue_entries(editor: YamlEditor) -> Iterator[tuple[FieldPath, str, Mapping[str, Any]]]:
    """Yield every queue: its path, Kueue's name (that of the first key, see `formerly`), and its complete entry."""
    for team, entry in _section_entries(editor.effective_value_at(("teams",))):
        for key, queue in _section_entries(entry.get("queues")):
            first_name = f"{entry.get('formerly') or team}-{queue.get('formerly') or key}"
            yield ("teams", team, "queues", key), queue.get("name") or first_name, queue
    for key, queue in _section_entries(editor.value_at(("clusterQueues",))):
        yield ("clusterQueues", key), queue.get("name") or queue.get("formerly") or key, queue


def _section_entries(section: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the entries of a section; an empty one is an empty mapping."""
    for key, entry in cast("dict[str, dict[str, Any] | None]", section or {}).items():
        yield key, entry or {}
