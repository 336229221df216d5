"""The stack that `berth init` starts from: an example, another stack or a file."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast, get_args

from msgspec import Struct

from berth.diagnostics import did_you_mean, format_path, format_value
from berth.evaluate import Evaluation, evaluate_stack
from berth.loader.locate import EXAMPLES, locate, stack_names
from berth.loader.placeholders import placeholders
from berth.spec.base import DnsLabel, NonEmptyText, ProjectId, Region, Text, Zone
from berth.spec.cluster import ClusterName
from berth.spec.existing_cluster import Location

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
        node: Any = self.evaluation.loaded.fleet
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


InitAnswers = Mapping[str, tuple[str, ...]]
"""Values given by flags or prompts, by the flag's name."""


class InitOption(Struct, frozen=True, dict=True):
    """A value that `berth init` accepts: its flag, its type in the stack file, and the question on a terminal.

    Each value begins with `prefix`. `path` is the key of a single value. `max_values` is how often the flag may be
    repeated. Without a value that is not `required`, the example's own is kept.
    """

    flag: str
    kind: object
    question: str
    path: tuple[str, ...] = ()
    required: bool = False
    max_values: int = 1
    prefix: str = ""

    def value_errors(self, values: Sequence[str]) -> list[str]:
        """Return everything that is wrong with the values, in the wording of faults of the stack file."""
        errors = (
            [f"{len(values)} values, but at most {self.max_values} are accepted"]
            if len(values) > self.max_values
            else []
        )
        errors += [error for value in values if (error := value_error(self.kind, value))]
        if not errors:
            errors += [f"'{value}' is not in {self.prefix}" for value in values if not value.startswith(self.prefix)]
        duplicates = {value for at, value in enumerate(values) if value in values[:at]}
        return [*errors, *(f"'{format_value(value)}' is named twice" for value in sorted(duplicates))]


def value_error(kind: object, value: str) -> str | None:
    """Return what is wrong with a value of a type of the stack file, in the wording of its faults."""
    rule = next((each for each in get_args(kind) if isinstance(each, Text)), None)
    if rule is None:
        return None if value.strip() else "is empty"
    return None if rule.matches(value) else f"'{format_value(value)}' is not {rule.what}"


TEAMS: Final = InitOption(
    "team", DnsLabel, "Teams, separated by commas or spaces (empty: the example's)", max_values=100
)


VALUE: Final = "value "
"""Start of the flag of an option for a placeholder; on the command line it is `--value PLACEHOLDER=VALUE`."""


def placeholder_options(example: ExampleStack, answers: InitAnswers) -> list[InitOption]:
    """Return an option for each placeholder of the example that no other option and no new team replaces."""
    fleet: object = example.evaluation.file and example.evaluation.file.fleet
    teams_go = bool(answers.get(TEAMS.flag))
    return [
        InitOption(
            f"{VALUE}{each.text}", NonEmptyText, f"Value for {each.text} in {format_path(each.path)} (empty: keep it)"
        )
        for each in placeholders(fleet)
        if each.text != example.value_at(*_PROJECT) and not (teams_go and each.path[0] in ("teams", "cohorts"))
    ]


_PROJECT: Final = ("project",)


def fleet_options(example: ExampleStack, answers: InitAnswers) -> tuple[InitOption, ...]:
    """Return the options of a fleet on Google Cloud; a zone is required if the region changes."""
    if example.value_at(*EXISTING) is not None and not example.location:
        path = (*EXISTING, "context")
        return (
            InitOption("context", NonEmptyText, f"Context ({example.value_at(*path) or 'the current one'})", path),
            TEAMS,
        )
    return (*_place_options(example), *_zone_options(example, answers), TEAMS)


def _place_options(example: ExampleStack) -> tuple[InitOption, ...]:
    """Return the options for the project and the region, or for those of an existing GKE cluster and its name."""
    if example.value_at(*EXISTING) is not None:
        return (
            InitOption("project", ProjectId, "Project of the cluster", (*EXISTING, "project"), required=True),
            InitOption("region", Location, "Region or zone of the cluster", (*EXISTING, "location"), required=True),
            InitOption("cluster", ClusterName, "Name of the cluster", (*EXISTING, "name"), required=True),
        )
    return (
        InitOption("project", ProjectId, "Google Cloud project", ("project",), required=True),
        InitOption("region", Region, "Region", ("region",), required=True),
    )


def _zone_options(example: ExampleStack, answers: InitAnswers) -> list[InitOption]:
    """Return the option for the zones that the example names; it is required if the region changes."""
    (location,) = answers.get("region", ("",))
    region, zones = region_of(location), example.zones
    is_required = region != region_of(example.location)
    question = (
        f"Zones, separated by commas or spaces, to replace {', '.join(zones)}"
        if is_required
        else f"Zones, separated by commas or spaces ({', '.join(zones)})"
    )
    if not zones:
        return []
    return [InitOption("zone", Zone, question, required=is_required, max_values=len(zones), prefix=region)]
