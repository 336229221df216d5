"""The stack that `berth init` starts from: an example, another stack or a file."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from msgspec import Struct

from berth.diagnostics import did_you_mean
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader.locate import EXAMPLES, locate, stack_names

BERTH_ROOT = pathlib.Path(__file__).resolve().parents[3]
EXISTING: Final = ("cluster", "existing")
"""Path of the section of an existing cluster."""


class ExampleError(Exception):
    """The example does not exist, has faults or cannot be edited; one line for each fault."""


class ExampleStack(Struct, frozen=True, dict=True):
    """A stack without faults to start from: its path, its text, its evaluation, and its base by its path."""

    display_path: str
    text: str
    evaluation: Evaluation
    base: Mapping[str, str] = {}

    def value_at(self, *path: str) -> Any:
        """Return the value at a path of the fleet, or None."""
        assert self.evaluation.file is not None
        node: Any = self.evaluation.file.fleet
        for key in path:
            node = cast("Mapping[str, Any]", node).get(key) if isinstance(node, Mapping) else None
        return node

    @property
    def location(self) -> str:
        """The region of the fleet, or the region or zone of the existing GKE cluster; empty if there is none."""
        return self.value_at("region") or self.value_at(*EXISTING, "location") or ""

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of its region that its text names, in order."""
        zone_pattern = rf"(?<![\w-]){region_of(self.location)}-(?:[a-z]|ai[0-9]+[a-z])(?![\w-])"
        return tuple(dict.fromkeys(re.findall(zone_pattern, self.text)))


def load_example(name: str, root: pathlib.Path) -> ExampleStack:
    """Return an example, stack or file by name. Raises ExampleError if it does not exist or has faults."""
    file = next(
        (f for f in (folder / EXAMPLES / f"{name}.yaml" for folder in (root, BERTH_ROOT)) if os.path.isfile(f)), None
    )
    evaluation = evaluate_stack(str(file or name), root)
    if file is None and any(problem.code == "no-file" and not problem.place for problem in evaluation.faults):
        examples = sorted({each.stem for folder in (root, BERTH_ROOT) for each in (folder / EXAMPLES).glob("*.yaml")})
        stacks = sorted(stack_names(root))
        known = f"examples: {', '.join(examples)}" + (f"; stacks: {', '.join(stacks)}" if stacks else "")
        hint = did_you_mean(name, [*examples, *stacks]) or f"; {known}"
        raise ExampleError(f"no example and no stack '{name}'{hint}")
    if evaluation.file is None or evaluation.file.file is None or evaluation.faults:
        raise ExampleError("\n".join(problem.line() for problem in evaluation.faults))
    display_path = f"{EXAMPLES}/{name}.yaml" if file else locate(name, root).display_path
    # The encryption of a stack file is that of its own stack.
    encryption = r"^(encryptionsalt|encryptedkey|secretsprovider):.*\n?"
    text = re.sub(encryption, "", evaluation.file.file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if any(isinstance(value, Mapping) and "secure" in value for value in evaluation.file.config.values()):
        raise ExampleError(
            f"{display_path}: has encrypted values, which only its own stack can decrypt; choose another example"
        )
    named = cast("Mapping[str, object]", evaluation.file.fleet).get("base")
    base = {named: (root / named).read_text(encoding="utf-8")} if isinstance(named, str) else {}
    return ExampleStack(display_path, text, evaluation, base)


def region_of(location: str) -> str:
    """Return the region of a region or zone."""
    return re.sub(r"(?<=\d)-(?:[a-z]|ai[0-9]+[a-z])$", "", location)
