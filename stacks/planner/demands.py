"""What a pool asks of Google, held against the rules of capacity before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable

from components.plan.nodes import Bounds
from stacks.accelerators import Machine, SliceShape
from stacks.planner.draft import Draft
from stacks.planner.hardware import machine_of
from stacks.planner.reservations import is_existing, reservation_name, reserved
from stacks.problems import Path
from stacks.rules.asked import Asked, ClusterAsked, Key, ReservationAsked, Sharing, Upgrade, Violation
from stacks.rules.capacity import notes, violations
from stacks.rules.reservations import mismatches
from stacks.spec.amounts import Fixed
from stacks.spec.pools import PoolSpec

_KEYS: dict[Key, tuple[str, ...]] = {
    "reservation": ("capacity", "reservation"),
    "placement": ("compactPlacement",),
}
"""Where a rule's key stands in a pool, if not under its own name."""

_OPTIONS: dict[str, str] = {"flex-start": "flexStart", "queued": "queued"}
"""The key under which a capacity has options."""


def asked_of(
    draft: Draft,
    spec: PoolSpec,
    machine: Machine,
    shape: SliceShape | None,
    nodes: Bounds,
    zones: tuple[str, ...],
) -> Asked:
    """A pool in the words of the rules."""
    ssd = spec.local_ssd
    sharing, surge = spec.gpu_sharing, spec.surge
    autopilot = draft.spec.cluster.mode == "autopilot"
    return Asked(
        machine=machine,
        nodes=nodes,
        capacity=spec.capacity.kind,
        reservation=_reservation(draft, spec),
        max_run_seconds=spec.capacity.max_run_seconds,
        shape=shape,
        autoscaled=not isinstance(spec.slices or spec.nodes, Fixed),
        zones=zones,
        compact=spec.compact_placement,
        topology_aware=spec.topology_aware,
        auto_provisioned=spec.auto_provisioned,
        local_ssds=ssd.ephemeral or ssd.block if ssd else None,
        local_ssd_use="block" if ssd and ssd.block else "ephemeral",
        sharing=Sharing(strategy=_strategy(sharing.strategy), clients=sharing.max_shared_clients) if sharing else None,
        partition=spec.gpu_partition,
        driver=spec.driver_version if "driver_version" in spec.model_fields_set else None,
        boot_disk_gb=spec.disk_size_gb if "disk_size_gb" in spec.model_fields_set else None,
        network=spec.networking or "none",
        upgrade=Upgrade(max_surge=surge.max_surge, max_unavailable=surge.max_unavailable) if surge else None,
        confidential=spec.confidential_nodes,
        max_pods=spec.max_pods_per_node,
        secure_boot=spec.secure_boot,
        node_system=spec.node_system_config is not None,
        cluster=ClusterAsked(
            autopilot=autopilot,
            dataplane_v2=True,
            multi_networking=True,
            dcgm=not autopilot,
            confidential=None if autopilot else draft.spec.cluster.confidential_nodes,
        ),
    )


def _strategy(word: str) -> str:
    return word.upper().replace("-", "_")


def _reservation(draft: Draft, spec: PoolSpec) -> ReservationAsked | None:
    if spec.capacity.kind != "reservation":
        return None
    key = spec.capacity.reservation
    if key is None:
        return ReservationAsked(form="any-or-fail" if spec.capacity.then_fail else "any")
    written, name = draft.spec.reservations[key], reservation_name(draft, key)
    existing, future = is_existing(draft, key), written.future
    return ReservationAsked(
        form="named" if existing else "own",
        name=name,
        project=written.project if existing else None,
        block=written.block if existing else None,
        sub_block=written.sub_block if existing else None,
        begins=future.start[:_DAY] if future else None,
        ends=future.end[:_DAY] if future else None,
    )


def place(pool: str, asked: Asked, key: Key) -> Path:
    """Where what a rule blames in a pool stands in the stack file."""
    if key == "maxRunDuration":
        return ("pools", pool, "capacity", _OPTIONS.get(asked.capacity, ""), key)
    return ("pools", pool, *_KEYS.get(key, (key,)))


_DAY = len("2026-12-01")


def agrees(draft: Draft, name: str, asked: Asked) -> bool:
    """Whether the reservation that a pool names holds the machines that it asks for; reports where it does not."""
    key = draft.spec.pools[name].capacity.reservation
    if key is None:
        return True
    written = draft.spec.reservations[key]
    held = reserved(written, key, machine_of(written.machine_type, written.accelerator))
    return _sound(draft, name, asked, mismatches(held, asked))


def obeys(draft: Draft, name: str, asked: Asked) -> bool:
    """Report what is wrong with a pool, or what the plan should say of it; False where it cannot exist."""
    sound = _sound(draft, name, asked, violations(asked))
    if asked.capacity == "queued" and sound:
        draft.problems.warning("resize-requests", ("pools", name, "capacity"), notes(asked)[0])
    return sound


def _sound(draft: Draft, name: str, asked: Asked, violated: Iterable[Violation]) -> bool:
    sound = True
    for found in violated:
        path = place(name, asked, found.key)
        if found.key == "zones" and draft.spec.pools[name].zone:
            path = (*path[:-1], "zone")
        if found.severity == "fault":
            draft.drop("pools", name, found.code, path, found.message)
            sound = False
        elif found.severity == "warning":
            draft.problems.warning(found.code, path, found.message)
        else:
            draft.problems.note(found.code, path, found.message)
    return sound
