"""Machine types with accelerators that no table has: misspelt, or newer than the table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
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
_HOST_VCPUS: Final = 8
"""Size of the machine that a message proposes for one attached GPU."""
_SIMILAR: Final = 0.8
"""Similarity of two forms of a series (standrd-#, standard-#) from which a machine type counts as misspelt."""


_COUNTED: Final = re.compile(r"(?:([0-9]{1,2}) ?x ?)?([A-Za-z][\w-]*?)(?: ?x ?([0-9]{1,2}))?")
"""A number of accelerators with their name: 2xL4, h100 x 8."""


def unlisted_machine(machine_type: str, *, is_pool: bool) -> HardwareFault:
    """Return the fault of a machine type that no table has, and of which the stack file states no accelerators.

    One with the form of a known type that is misspelt (ct5lp-hightpu-4, g2-standrd-24) is no machine; any other may be
    newer than the table.
    """
    quoted, hint = format_value(machine_type), did_you_mean(machine_type, catalog.machines())
    if remedy := _remedy_of_accelerator(machine_type):
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
    if key != "machineType" or "cluster" in entry:
        return problem
    if problem.code == "missing-key":
        kind = _value_at(fleet, (*entry, "accelerator", "type"))
        count = _value_at(fleet, (*entry, "accelerator", "count"))
        remedy = _remedy_of_accelerator(f"{count or 1}x{kind}") if isinstance(kind, str) else ""
        named = re.sub(r"^write (?!one of |machineType)", "write machineType: ", remedy)
        return replace(problem, message=f"is missing; {named}") if remedy else problem
    if problem.code != "bad-value":
        return problem
    value = _value_at(fleet, problem.path)
    written = value if isinstance(value, str) else ""
    kind, remedy = "an accelerator", _remedy_of_accelerator(written)
    if not remedy:
        kind, remedy = (
            "a series",
            _one_of(each for each in catalog.machines() if each.startswith(f"{written.lower()}-")),
        )
    if not remedy:
        return problem
    return replace(problem, message=f"'{format_value(written)}' is {kind}, not a machine type; {remedy}")


def _value_at(fleet: object, path: Iterable[str | int]) -> object:
    value = fleet
    for step in path:
        value = cast("Mapping[object, object]", value).get(step) if isinstance(value, Mapping) else None
    return value


def _remedy_of_accelerator(written: str) -> str:
    """Return what to write for an accelerator that a text names (v5litepod-8, nvidia-l4, 2xL4, T4); "" if none."""
    counted = _COUNTED.fullmatch(written)
    count, text = (counted[1] or counted[3], counted[2]) if counted else (None, written)
    name = plain_key(re.sub(r"-[0-9]+$", "", text))
    found = _machines_with(name) or _machines_without_memory(text)
    of_count = [each for each, machine in found.items() if str(machine.accelerators) == count]
    if remedy := _one_of(of_count or found):
        return remedy
    table = catalog.attachable_gpus()
    gpu = next((each for each in table.gpus if name in map(plain_key, _names_of_label(each))), None)
    if gpu is None:
        return ""
    host = next(each for each, (vcpus, _) in table.hosts.items() if vcpus >= _HOST_VCPUS)
    return f"write machineType: {host}, and accelerator: {{type: {gpu}, count: 1}}"


def _one_of(types: Iterable[str]) -> str:
    """Return the remedy that names machine types, at most eight; those that Berth must be told to take, if no other."""
    named = [*types]
    usual = [each for each in named if not catalog.machines()[each].explicit_only] or named
    return f"write {'one of ' if len(usual) > 1 else ''}{', '.join(usual[:_MAX_NAMED])}" if usual else ""


def _names_of_label(label: str) -> list[str]:
    """Return how people name the accelerator of a label: nvidia-tesla-t4, t4; nvidia-h100-mega-80gb, h100-mega."""
    short = re.sub("^nvidia-(tesla-)?", "", label)
    return [label, short, re.sub("-[0-9]+gb$", "", short)]


def _machines_with(name: str) -> dict[str, catalog.Machine]:
    found: dict[str, catalog.Machine] = {}
    for each, machine in catalog.machines().items():
        label, generation = machine.accelerator, catalog.generations().get(machine.generation or "")
        names = [*_names_of_label(label), machine.noun, machine.noun.partition(" ")[0]]
        names += [generation.name, *generation.aliases] if generation else []
        if name in map(plain_key, names):
            found[each] = machine
    return found


def _machines_without_memory(text: str) -> dict[str, catalog.Machine]:
    """Return the machines of a100-40gb: those of A100 whose label has no memory."""
    short = plain_key(re.sub("(?i)[-_ ]?[0-9]+gb$", "", text))
    found = _machines_with(short) if short != plain_key(text) else {}
    return {each: machine for each, machine in found.items() if not machine.accelerator.endswith("gb")}


def is_misspelt(machine_type: str) -> bool:
    """Return whether a machine type has no form of its series, and is similar to one: standrd for standard."""
    series, _, rest = machine_type.partition("-")
    forms = {_form(name.partition("-")[2]) for name in catalog.machines() if name.startswith(f"{series}-")}
    return _form(rest) not in forms and bool(difflib.get_close_matches(_form(rest), forms, n=1, cutoff=_SIMILAR))


def _form(type_name: str) -> str:
    """Return a machine type without its series, with # for its size: hightpu-#t of hightpu-4t."""
    return re.sub(r"[0-9]+", "#", type_name)
