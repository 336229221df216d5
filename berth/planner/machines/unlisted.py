"""Machine types with accelerators that no table has: misspelt, or newer than the table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Final, cast

from msgspec.structs import replace

from berth import catalog
from berth.diagnostics import Problem, did_you_mean, format_value
from berth.diagnostics.hints import plain_key
from berth.planner.machines.hardware_error import HardwareFault

_EXAMPLES: Final = {
    "gpu": ("{type: nvidia-b300, count: 8}", ", cpu: 224 and memory: 3968Gi"),
    "tpu": ("{type: tpu-v8-slice, count: 4}", ", cpu: 224 and memory: 960Gi"),
}
"""Kind of machine → the accelerator and size of examples in messages on machines that are newer than the table."""
_MAX_NAMED: Final = 8
"""Maximum number of machine types that a message lists."""
_SIMILAR: Final = 0.8
"""Similarity of two forms of a series (standrd-#, standard-#) from which a machine type counts as misspelt."""


def unlisted_machine(machine_type: str, *, is_pool: bool) -> HardwareFault:
    """Return the fault of a machine type that no table has, and of which the stack file states no accelerators.

    One with the form of a known type that is misspelt (ct5lp-hightpu-4, g2-standrd-24) is no machine; any other may be
    newer than the table.
    """
    quoted, hint = format_value(machine_type), did_you_mean(machine_type, catalog.machines())
    if having := _machines_with(machine_type):
        remedy = f"write {'one of ' if len(having) > 1 else ''}{', '.join(having)}"
        return "unknown-machine", "machineType", f"'{quoted}' is an accelerator, not a machine type; {remedy}"
    if is_misspelt(machine_type):
        return "unknown-machine", "machineType", f"no accelerator machine type '{quoted}'{hint}"
    dated = catalog.fact_tables()["accelerators"].dated_name
    similar = difflib.get_close_matches(machine_type, catalog.machines(), n=1)
    is_tpu = bool(similar) and catalog.machines()[similar[0]].kind == "tpu"
    accelerator, size = _EXAMPLES["tpu" if is_tpu else "gpu"]
    return (
        "missing-key",
        "accelerator",
        f"is missing: '{quoted}' is unknown: it is not in {dated}{hint.removesuffix('?')}; write what it has, such as "
        f"accelerator: {accelerator}{size if is_pool else ''}",
    )


def with_machine_types(problem: Problem, fleet: object) -> Problem:
    """Return the problem of a text that has no form of a machine type, with the types to write if it names them.

    That is an accelerator (H100, v5e), or a series (a3). The machines without accelerators of a cluster are left alone.
    """
    *entry, key = problem.path or ("",)
    if problem.code != "bad-value" or key != "machineType" or "cluster" in entry:
        return problem
    value: object = fleet
    for step in problem.path:
        value = cast("Mapping[object, object]", value).get(step) if isinstance(value, Mapping) else None
    written = value if isinstance(value, str) else ""
    kind, types = "an accelerator", _machines_with(written)
    if not types:
        series = [each for each in catalog.machines() if each.startswith(f"{written.lower()}-")]
        kind, types = "a series", [each for each in series if not catalog.machines()[each].explicit_only][:_MAX_NAMED]
    if not types:
        return problem
    remedy = f"write {'one of ' if len(types) > 1 else ''}{', '.join(types)}"
    return replace(problem, message=f"'{format_value(written)}' is {kind}, not a machine type; {remedy}")


def _machines_with(written: str) -> list[str]:
    """Return the machine types with the accelerator that a text names (v5litepod-8, nvidia-l4, H100), at most eight."""
    name = plain_key(re.sub(r"-[0-9]+$", "", written))
    return [
        each
        for each, machine in catalog.machines().items()
        if name in _accelerator_names(machine) and not machine.explicit_only
    ][:_MAX_NAMED]


def _accelerator_names(machine: catalog.Machine) -> set[str]:
    label, generation = machine.accelerator, catalog.generations().get(machine.generation or "")
    names = [label, re.sub("^nvidia-(tesla-)?", "", label), machine.noun, machine.noun.partition(" ")[0]]
    names += [generation.name, *generation.aliases] if generation else []
    return set(map(plain_key, names))


def is_misspelt(machine_type: str) -> bool:
    """Return whether a machine type has no form of its series, and is similar to one: standrd for standard."""
    series, _, rest = machine_type.partition("-")
    forms = {_form(name.partition("-")[2]) for name in catalog.machines() if name.startswith(f"{series}-")}
    return _form(rest) not in forms and bool(difflib.get_close_matches(_form(rest), forms, n=1, cutoff=_SIMILAR))


def _form(type_name: str) -> str:
    """Return a machine type without its series, with # for its size: hightpu-#t of hightpu-4t."""
    return re.sub(r"[0-9]+", "#", type_name)
