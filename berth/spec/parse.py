"""Parse plain values into a spec. All faults are reported at once.

A faulty part (one pool, one team, one key of the cluster, a whole section) is reported and set aside, so that the rest
of the fleet can be planned and its faults are reported in the same run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct, field
from pydantic_core import ValidationError

from berth.diagnostics import FieldPath, Problem, Severity, closest_match
from berth.spec.fleet import AnyFleetSpec, FleetSpec
from berth.spec.messages import allowed_keys, to_problem
from berth.spec.misplaced import misplaced_keys, without_misplaced

SpecPart = tuple[str, str]
"""A part that can be set aside: a section and one of its entries, or `cluster` and one of its keys. An entry "" means
the whole section, and "*" entries with unknown names."""

SPLITTABLE_SECTIONS = frozenset(
    {"pools", "reservations", "flavors", "priorities", "cohorts", "teams", "clusterQueues", "cluster", "monitoring"}
    | {
        "computeClasses",
        "workers",
        "labels",
        "allowReplacement",
        "allowDeletion",
        "allowChange",
        "allowTeams",
        "acceptWarnings",
    }
)
"""Sections whose entries (for `cluster`: keys) can be set aside one by one."""

S = TypeVar("S", bound=AnyFleetSpec)

_HIDING_CODES = ("merge-key", "secret")
"""Faults of the loader that hide the contents of a mapping, so that missing keys in it are not reported."""


class Parsed(Struct, Generic[S], frozen=True):
    """The valid part of a fleet; `spec` is None if the fleet is not a mapping.

    `set_aside` has the omitted parts: a reference to one is not a second fault; `written` has them too. Without its
    frame (the required keys: project and region) the spec can only be used to find more faults.
    """

    spec: S | None
    problems: tuple[Problem, ...]
    set_aside: frozenset[SpecPart]
    written: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def has_frame(self) -> bool:
        """Whether the required keys are from the stack file and not placeholders."""
        required = self.spec.placeholders if self.spec is not None else ()
        return not any((key, "") in self.set_aside for key in required)


def parse_fleet(value: object, reader_problems: Sequence[Problem] = ()) -> Parsed[FleetSpec]:
    """Parse a fleet on Google Cloud, as `parse_as` does."""
    return parse_as(FleetSpec, value, reader_problems)


def parse_part(part: Mapping[str, Any], reader_problems: Sequence[Problem] = ()) -> Parsed[FleetSpec]:
    """Parse sections of a fleet of which the rest belongs to others, so that project and region may be unknown."""
    return parse_as(FleetSpec, dict(part), reader_problems, has_frame=False)


def parse_as(
    model: type[S], value: object, reader_problems: Sequence[Problem] = (), *, has_frame: bool = True
) -> Parsed[S]:
    """Parse the value of `berth:fleet` as a model. Raises nothing: faults are in `problems`.

    `reader_problems` are faults of the loader: they are not reported twice, and the parts that they concern are set
    aside.
    """
    if not isinstance(value, dict):
        return Parsed(None, (Problem(Severity.FAULT, "bad-type", (), "berth:fleet must be a mapping"),), frozenset())
    fleet = cast("dict[str, Any]", value)
    misplaced = misplaced_keys(model, fleet, SPLITTABLE_SECTIONS - {"monitoring"})  # a cohort or team may be called so
    fleet = without_misplaced(fleet, misplaced)
    spec, errors = None, _missing_frame(model, fleet) if has_frame else []
    try:
        spec = model.model_validate(fleet)
    except ValidationError as error:
        errors = [*cast("list[Mapping[str, Any]]", error.errors(include_url=False)), *errors]
    problems = tuple(to_problem(error, model) for error in _independent_errors(model, errors, reader_problems))
    # A problem that is not reported twice still makes its part unusable.
    follow_ups = (Problem(Severity.FAULT, "unknown-key", each.owner, "") for each in misplaced)
    all_problems = (*reader_problems, *follow_ups, *(to_problem(error, model) for error in errors))
    set_aside = frozenset(part for problem in all_problems for part in _faulty_parts(model, problem, fleet))
    if spec is None or set_aside:
        spec = model.model_validate(_without_faulty(model, fleet, set_aside))
    warnings: list[Problem] = []
    if fleet.get("teamDefaults") and not fleet.get("teams"):  # each team is validated with them, and nothing else is
        message = "no team uses them, so they are not checked; write a team, or remove them"
        warnings.append(Problem(Severity.WARNING, "unused-defaults", ("teamDefaults",), message))
    return Parsed(spec, (*(each.problem for each in misplaced), *problems, *warnings), set_aside, fleet)


def _missing_frame(model: type[AnyFleetSpec], fleet: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return errors for missing project and region like pydantic; none for an existing cluster."""
    cluster: object = fleet.get("cluster")
    is_existing = isinstance(cluster, dict) and cast("dict[object, object]", cluster).get("existing") is not None
    if is_existing or model is not FleetSpec:
        return []
    return [
        {"type": "string_type" if key in fleet else "missing", "loc": (key,), "input": None}
        for key in FleetSpec.placeholders
        if fleet.get(key) is None
    ]


# --- errors that follow from another ----------------------------------------------------------------------------------


def _independent_errors(
    model: type[AnyFleetSpec], errors: list[Mapping[str, Any]], reader_problems: Iterable[Problem]
) -> list[Mapping[str, Any]]:
    """Return the errors that do not merely follow from another error or from a fault of the loader."""
    reported_paths = {problem.path for problem in reader_problems}
    hidden_paths = {problem.path for problem in reader_problems if problem.code in _HIDING_CODES}
    intended_paths = {_intended_path(model, error["loc"]) for error in errors if error["type"] == "extra_forbidden"}
    # An existing cluster needs neither project nor region.
    if {("cluster",), ("cluster", "existing")} & {*intended_paths, *(error["loc"] for error in errors)}:
        intended_paths |= {(key,) for key in model.placeholders}
    return [
        error
        for error in errors
        if error["loc"] not in reported_paths
        and not any(error["loc"][: len(path)] == path for path in hidden_paths)
        and not (error["type"] == "missing" and error["loc"] in intended_paths)
        and not (error["type"] == "too_short" and error["input"])  # its items are faulty, but not missing
    ]


def _intended_path(model: type[AnyFleetSpec], path: FieldPath) -> FieldPath:
    """Return the path of the key that a misspelt key seems to mean; the path itself if there is none."""
    return (*path[:-1], closest_match(str(path[-1]), allowed_keys(path[:-1], model)) or path[-1])


# --- setting aside ----------------------------------------------------------------------------------------------------


def _faulty_parts(model: type[AnyFleetSpec], problem: Problem, fleet: Mapping[str, Any]) -> Iterable[SpecPart]:
    """Yield the parts of the fleet that a problem makes unusable."""
    if problem.severity != Severity.FAULT or problem.code == "unquoted-key":  # such a key is kept as text
        return
    is_misspelt = problem.code == "unknown-key" and problem.path
    paths = {problem.path, _intended_path(model, problem.path)} if is_misspelt else {problem.path}
    for path in paths:
        section, name = (*map(str, path[:2]), "", "")[:2]
        name = name if section in SPLITTABLE_SECTIONS else ""
        yield section, name
        if section in ("", "teamFiles"):  # a team file is faulty or missing, so its teams are unknown
            yield "teams", "*"
        if section in model.machine_sections:  # its pools, and the flavors that only they form
            yield "pools", "*"
            yield "flavors", "*"
        if section == "pools":
            yield "flavors", name
            yield "flavors", _pool_flavor(model, fleet, problem)


def _pool_flavor(model: type[AnyFleetSpec], fleet: Mapping[str, Any], problem: Problem) -> str:
    """Return the flavor that only a faulty pool may have formed, or "*" if that is unknown."""
    intended_path = _intended_path(model, problem.path) if problem.code == "unknown-key" else problem.path
    if problem.code in _HIDING_CODES or intended_path[2:] == ("flavor",):
        return "*"
    entry: object = fleet
    for key in problem.path[:2]:
        entry = cast("dict[object, object]", entry).get(key) if isinstance(entry, dict) else None
    flavor = cast("dict[str, object]", entry).get("flavor", "") if isinstance(entry, dict) else "*"
    return flavor if isinstance(flavor, str) else "*"


def _without_faulty(
    model: type[AnyFleetSpec], fleet: Mapping[str, Any], set_aside: frozenset[SpecPart]
) -> dict[str, Any]:
    """Return the fleet without the parts that were set aside, and with placeholders for required keys."""
    remaining: dict[str, object] = {}
    for section, entries in fleet.items():
        remaining[section] = entries
        if isinstance(entries, dict) and section in SPLITTABLE_SECTIONS:
            named = cast("dict[str, object]", entries).items()
            remaining[section] = {name: entry for name, entry in named if (section, str(name)) not in set_aside}
    return {
        **{key: value for key, value in remaining.items() if (str(key), "") not in set_aside},
        **{key: value for key, value in model.placeholders.items() if (key, "") in set_aside},
    }
