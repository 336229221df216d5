"""Machine types with accelerators that no table has: misspelt, or newer than the table."""

from __future__ import annotations

import difflib
import re
from typing import Final

from berth import catalog
from berth.diagnostics import did_you_mean, format_value
from berth.planner.machines.hardware_error import HardwareFault

_EXAMPLES: Final = {
    "gpu": ("{type: nvidia-b300, count: 8}", ", cpu: 224 and memory: 3968Gi"),
    "tpu": ("{type: tpu-v8-slice, count: 4}", ", cpu: 224 and memory: 960Gi"),
}
"""Kind of machine → the accelerator and size of examples in messages on machines that are newer than the table."""
_SIMILAR: Final = 0.8
"""Similarity of two forms of a series (standrd-#, standard-#) from which a machine type counts as misspelt."""


def unlisted_machine(machine_type: str, *, is_pool: bool) -> HardwareFault:
    """Return the fault of a machine type that no table has, and of which the stack file states no accelerators.

    One with the form of a known type that is misspelt (ct5lp-hightpu-4, g2-standrd-24) is no machine; any other may be
    newer than the table.
    """
    quoted, hint = format_value(machine_type), did_you_mean(machine_type, catalog.machines())
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


def is_misspelt(machine_type: str) -> bool:
    """Return whether a machine type has no form of its series, and is similar to one: standrd for standard."""
    series, _, rest = machine_type.partition("-")
    forms = {_form(name.partition("-")[2]) for name in catalog.machines() if name.startswith(f"{series}-")}
    return _form(rest) not in forms and bool(difflib.get_close_matches(_form(rest), forms, n=1, cutoff=_SIMILAR))


def _form(type_name: str) -> str:
    """Return a machine type without its series, with # for its size: hightpu-#t of hightpu-4t."""
    return re.sub(r"[0-9]+", "#", type_name)
