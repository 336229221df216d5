"""What a pool asks of Google, held against the rules of capacity before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable

from berth.catalog import Machine, SliceShape
from berth.diagnostics import Path
from berth.plan.nodes import Bounds
from berth.planner.context import Draft
from berth.planner.machines.hardware import machine_of
from berth.planner.machines.reservations import is_existing, reservation_name, reserved
from berth.rules.gke.capacity import notes, violations
from berth.rules.gke.pool_request import Asked, ClusterAsked, Key, ReservationAsked, Sharing, Upgrade, Violation
from berth.rules.gke.reservations import mismatches
from berth.spec.amounts import Fixed
from berth.spec.machines.capacity import Capacity
from berth.spec.machines.pools import PoolSpec
from berth.spec.parse import Part

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
    return Asked(
        machine=machine,
        nodes=nodes,
        capacity=spec.capacity.kind,
        reservation=reservation_asked(draft, spec.capacity),
        max_run_seconds=spec.capacity.max_run_seconds,
        shape=shape,
        autoscaled=not isinstance(spec.slices or spec.nodes, Fixed),
        zones=zones,
        compact=spec.compact_placement,
        topology_aware=spec.topology_aware,
        auto_provisioned=spec.auto_provisioned or spec.compute_class is not None,
        compute_class=spec.compute_class is not None,
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
        cluster=cluster_asked(draft),
    )


def cluster_asked(draft: Draft) -> ClusterAsked:
    """The cluster in the words of the rules."""
    autopilot = draft.spec.cluster.mode == "autopilot"
    return ClusterAsked(
        autopilot=autopilot,
        dataplane_v2=True,
        multi_networking=True,
        dcgm=not autopilot,
        confidential=None if autopilot else draft.spec.cluster.confidential_nodes,
    )


def _strategy(word: str) -> str:
    return word.upper().replace("-", "_")


def reservation_asked(draft: Draft, capacity: Capacity) -> ReservationAsked | None:
    """The reservation that a capacity takes machines from, in the words of the rules."""
    if capacity.kind != "reservation":
        return None
    key = capacity.reservation
    if key is None:
        return ReservationAsked(form="any-or-fail" if capacity.then_fail else "any")
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


def where(asked: Asked, key: Key) -> Path:
    """Where in a pool, or in a priority of a compute class, stands what a rule blames."""
    if key == "maxRunDuration":
        return ("capacity", _OPTIONS.get(asked.capacity, ""), key)
    return _KEYS.get(key, (key,))


_DAY = len("2026-12-01")


def agrees(draft: Draft, name: str, asked: Asked) -> bool:
    """Whether the reservation that a pool names holds the machines that it asks for; reports where it does not."""
    key = draft.spec.pools[name].capacity.reservation
    if key is None:
        return True
    written = draft.spec.reservations[key]
    held = reserved(written, key, machine_of(written.machine_type, written.accelerator))
    return sound(draft, ("pools", name), ("pools", name), asked, mismatches(held, asked))


def obeys(draft: Draft, name: str, asked: Asked) -> bool:
    """Report what is wrong with a pool, or what the plan should say of it; False where it cannot exist."""
    fine = sound(draft, ("pools", name), ("pools", name), asked, violations(asked))
    if asked.capacity == "queued" and fine:
        draft.problems.warning("resize-requests", ("pools", name, "capacity"), notes(asked)[0])
    return fine


def sound(draft: Draft, part: Part, above: Path, asked: Asked, violated: Iterable[Violation]) -> bool:
    """Report what is violated by what stands at `above`; False, with `part` set aside, where there is a fault."""
    fine = True
    for found in violated:
        if draft.existing and found.key == "zones":  # where its nodes stand was somebody else's to decide
            continue
        path: Path = (*above, *where(asked, found.key))
        if found.key == "zones" and part[0] == "pools" and draft.spec.pools[part[1]].zone:
            path = (*above, "zone")
        if found.severity == "fault":
            draft.drop(*part, found.code, path, found.message)
            fine = False
        elif found.severity == "warning":
            draft.problems.warning(found.code, path, found.message)
        else:
            draft.problems.note(found.code, path, found.message)
    return fine
