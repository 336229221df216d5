"""From values to a spec: may this be asked for? Every fault at once, in our words.

What cannot be understood (one pool, one team, one key of the cluster, a whole section) is reported and set aside, so
that the rest of the fleet can still be planned and its faults be found in the same run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from berth.diagnostics import Path, Problem, closest
from berth.spec.ack import AckFleetSpec
from berth.spec.fleet import FleetSpec
from berth.spec.messages import keys_at, problem_of

Part = tuple[str, str]
"""What can be set aside: a section and one of its entries, or `cluster` and one of its keys. In the place of an entry
"" is the whole section, and "*" are entries that nobody has read."""

_ENTRIES = frozenset(
    {"pools", "reservations", "flavors", "priorities", "cohorts", "teams", "clusterQueues", "cluster"}
    | {"computeClasses", "workers", "labels", "allowReplacement", "allowDeletion"}
)
"""Sections whose entries (of `cluster`: whose keys) can be set aside one by one."""

_STAND_INS: Mapping[type[BaseModel], Mapping[str, object]] = {
    FleetSpec: {"project": "unknown-project", "region": "us-central1"},
    AckFleetSpec: {
        "ack": {
            "region": "cn-hangzhou",
            "network": {"vpc": "vpc-unknown", "vswitches": ["vsw-unknown"]},
            "clusters": {"unknown": {"existing": "c00000000"}},
        }
    },
}
"""What a fleet cannot be without, on GKE unless the cluster exists: with these, the rest of it can be looked at."""

S = TypeVar("S", bound=BaseModel)

_HIDING = ("merge-key", "secret")
"""The reader's faults that hide what a mapping holds: whatever is then missing in it follows from them."""


class Parsed(Struct, frozen=True):
    """What could be understood: `spec`, or `ack` of a fleet on Alibaba Cloud; neither when the fleet is no mapping.

    `set_aside` holds the parts left out: what refers to them is not a second fault. Without its `frame` (project and
    region, or `ack`) the spec is good for finding further faults, and for nothing else.
    """

    spec: FleetSpec | None
    problems: tuple[Problem, ...]
    set_aside: frozenset[Part]
    ack: AckFleetSpec | None = None

    @property
    def frame(self) -> bool:
        """Whether project and region, or `ack`, are the fleet's own."""
        return not any((key, "") in self.set_aside for keys in _STAND_INS.values() for key in keys)


def parse(value: object, found: Sequence[Problem] = ()) -> Parsed:
    """Parse the value of `berth:fleet`. Raises nothing: what is wrong is in `problems`.

    `found` is what the reader found wrong already: it is not said twice, and what it concerns is set aside.
    """
    if not isinstance(value, dict):
        return Parsed(None, (Problem("fault", "bad-type", (), "berth:fleet must be a mapping"),), frozenset())
    fleet = cast("dict[str, Any]", value)
    if "ack" in fleet:
        ack, problems, aside = _parsed(AckFleetSpec, fleet, found)
        return Parsed(None, problems, aside, ack)
    return Parsed(*_parsed(FleetSpec, fleet, found))


def _parsed(
    model: type[S], fleet: dict[str, Any], found: Sequence[Problem]
) -> tuple[S, tuple[Problem, ...], frozenset[Part]]:
    try:
        spec, errors = model.model_validate(fleet), _frameless(model, fleet)
    except ValidationError as error:
        spec, errors = None, [*map(_as_error, error.errors(include_url=False)), *_frameless(model, fleet)]
    problems = tuple(problem_of(error, model) for error in _new(model, errors, found))
    # What is not said twice cannot be understood all the same.
    faulty = (*found, *(problem_of(error, model) for error in errors))
    aside = frozenset(part for problem in faulty for part in _parts(model, problem, fleet))
    if spec is None or aside:
        spec = model.model_validate(_without(model, fleet, aside))
    return spec, problems, aside


def _frameless(model: type[BaseModel], fleet: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What is missing of the frame, as pydantic would say it; nothing can be where the cluster is an existing one."""
    cluster: object = fleet.get("cluster")
    existing = isinstance(cluster, dict) and cast("dict[object, object]", cluster).get("existing") is not None
    if existing or model is not FleetSpec:
        return []
    return [
        {"type": "string_type" if key in fleet else "missing", "loc": (key,), "input": None}
        for key in _STAND_INS[FleetSpec]
        if fleet.get(key) is None
    ]


def _as_error(error: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", error)


# --- what follows from something else ---------------------------------------------------------------------------------


def _new(model: type[BaseModel], errors: list[Mapping[str, Any]], found: Iterable[Problem]) -> list[Mapping[str, Any]]:
    """The errors that do not merely follow from another, or from what the reader found."""
    told = {problem.path for problem in found}
    hidden = {problem.path for problem in found if problem.code in _HIDING}
    misspelt = {_meant(model, error["loc"]) for error in errors if error["type"] == "extra_forbidden"}
    return [
        error
        for error in errors
        if error["loc"] not in told
        and not any(error["loc"][: len(path)] == path for path in hidden)
        and not (error["type"] == "missing" and error["loc"] in misspelt)
        and not (error["type"] == "too_short" and error["input"])  # its items are faulty, but they were written
    ]


def _meant(model: type[BaseModel], path: Path) -> Path:
    """The path of the key that a misspelt one seems to stand for; the path itself where there is none."""
    return (*path[:-1], closest(str(path[-1]), keys_at(path[:-1], model)) or path[-1])


# --- setting aside ----------------------------------------------------------------------------------------------------


def _parts(model: type[BaseModel], problem: Problem, fleet: Mapping[str, Any]) -> Iterable[Part]:
    """The parts of the fleet that cannot be understood because of a problem."""
    if problem.severity != "fault" or problem.code == "unquoted-key":  # such a key is kept, as text
        return
    misspelt = problem.code == "unknown-key" and problem.path
    paths = {problem.path, _meant(model, problem.path)} if misspelt else {problem.path}
    for section, name in map(_part, paths):
        yield section, name
        if section in ("", "teamFiles"):  # some file is not as it was meant to be, and teams may lie in it
            yield "teams", "*"
        if section in ("ack", "workers"):  # its pools, and whatever only they make a flavor of
            yield "pools", "*"
            yield "flavors", "*"
        if section == "pools":
            yield "flavors", name
            yield "flavors", _flavor(model, fleet, problem)


def _part(path: Path) -> Part:
    section, name = (*map(str, path[:2]), "", "")[:2]
    return section, name if section in _ENTRIES else ""


def _flavor(model: type[BaseModel], fleet: Mapping[str, Any], problem: Problem) -> str:
    """The flavor that a faulty pool may have been the only one of, or "*" where that cannot be told."""
    meant = _meant(model, problem.path) if problem.code == "unknown-key" else problem.path
    if problem.code in _HIDING or meant[2:] == ("flavor",):
        return "*"
    entry: object = fleet
    for step in problem.path[:2]:
        entry = cast("dict[object, object]", entry).get(step) if isinstance(entry, dict) else None
    flavor = cast("dict[str, object]", entry).get("flavor", "") if isinstance(entry, dict) else "*"
    return flavor if isinstance(flavor, str) else "*"


def _without(model: type[BaseModel], fleet: Mapping[str, Any], aside: frozenset[Part]) -> dict[str, Any]:
    """The fleet without what was set aside, and with something in the place of what it cannot be without."""
    rest = {section: _entries(section, entries, aside) for section, entries in fleet.items()}
    return {
        **{key: value for key, value in rest.items() if (key, "") not in aside},
        **{key: value for key, value in _STAND_INS[model].items() if (key, "") in aside},
    }


def _entries(section: str, entries: object, aside: frozenset[Part]) -> object:
    if not isinstance(entries, dict) or section not in _ENTRIES:
        return cast("object", entries)
    return {k: v for k, v in cast("dict[str, Any]", entries).items() if (section, k) not in aside}
