"""What ECS instance types contain, as the stack file or the table says, and which regions and versions ACK has."""

from __future__ import annotations

from collections.abc import Mapping

from berth.catalog import fact_tables
from berth.catalog.alibaba import ack_minors, ack_regions, ecs_machines
from berth.clock import as_of
from berth.diagnostics import FieldPath, did_you_mean
from berth.planner.context import PlanningContext
from berth.spec.ack import AckFleetSpec, InstanceTypeSpec


def instance_type(types: Mapping[str, InstanceTypeSpec], name: str) -> InstanceTypeSpec | None:
    """Return the contents of an instance type: as described, else of the table; None if neither has it."""
    machine = ecs_machines().get(name)
    if name in types or machine is None or machine.gpu is None:
        return types.get(name)
    return InstanceTypeSpec.model_construct(
        gpu=machine.gpu, gpus=machine.gpus, cpu=machine.cpu, memory=machine.memory * 2**30
    )


def check_instance_types(context: PlanningContext, spec: AckFleetSpec) -> None:
    """Report instance types that are described with more than they have, or that no table has."""
    table = fact_tables()["alibaba"]
    for name, described in sorted(spec.ack.instance_types.items()):
        path: FieldPath = ("ack", "instanceTypes", name)
        machine = ecs_machines().get(name)
        if machine is None:
            message = table.unknown(f"'{name}'", "its GPUs, vCPUs and memory are")
            context.problems.unknown(
                "machine-unknown", path, f"{message}; compare them with the page of its family, or update Berth"
            )
            continue
        held = (
            ("gpus", described.gpus, machine.gpus, f"{machine.gpus}"),
            ("cpu", described.cpu, machine.cpu, f"{machine.cpu}"),
            ("memory", described.memory / 2**30, machine.memory, f"{machine.memory}Gi"),
        )
        for key, written, most, shown in held:
            if written > most:
                message = f"'{written:g}{'Gi' if key == 'memory' else ''}' is more than the {shown} of {name}"
                context.problems.fault("machine-size", (*path, key), f"{message}; write {shown}")
        if machine.gpu is not None and machine.gpu.lower() not in described.gpu.lower():
            message = f"'{described.gpu}' is another GPU than the {machine.gpu} of {name} in {table.dated_name}"
            context.problems.warning("machine-size", (*path, "gpu"), f"{message}; write {machine.gpu}")


def check_region(context: PlanningContext, region: str) -> None:
    """Warn of a region in which ACK One has no fleets, or that no table has."""
    table, known = fact_tables()["alibaba"], ack_regions()
    if region not in known:
        unknown = table.unknown(f"'{region}'", "whether Alibaba Cloud has it, and ACK One fleets in it, is")
        remedy = did_you_mean(region, known) or "; compare it with `aliyun ecs DescribeRegions`, or update Berth"
        context.problems.unknown("region-unknown", ("ack", "region"), f"{unknown}{remedy}")
    elif not known[region]:
        places = ", ".join(name for name, has_fleets in known.items() if has_fleets)
        message = f"ACK One's page on regions, read on {table.as_of}, lists no fleets in '{region}'; it lists {places}"
        context.problems.warning("region-not-listed", ("ack", "region"), f"{message}: write one of them")


def check_version(context: PlanningContext, path: FieldPath, version: str | None) -> None:
    """Warn of a version with which ACK creates no cluster any more, or of which nothing is known."""
    if version is None:
        return
    number = tuple(map(int, version.split(".")[:2]))
    known = {tuple(map(int, each.split("."))): each for each in ack_minors()}
    newest = max(known)
    remedy = f'write "{known[newest]}", or remove version for ACK\'s newest'
    table = fact_tables()["alibaba"]
    if number > newest:
        message = table.unknown(f"'{version}'", "whether ACK has it and its support are")
        remedy = "compare it with ACK's page on supported versions, or remove version for ACK's newest"
        context.problems.unknown("version-unknown", path, f"{message}; {remedy}")
    elif number not in known and number > min(known):
        # By ACK's page on supported versions (2026-10-06).
        message = f"'{version}' was never a version of ACK, which had even minors alone before 1.31"
        context.problems.warning("version-unsupported", path, f"{message}; {remedy}")
    elif (end := ack_minors()[known[max(number, min(known))]]) <= as_of():
        message = f"ACK's support of '{version}' ended on or before {end}, and it creates clusters of its newest three"
        context.problems.warning("version-unsupported", path, f"{message} minors alone; {remedy}")
