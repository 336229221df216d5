"""Compare what the published systems write, field by field, with what the examples and sample jobs create.

`tests/vendored/published` has one file for each system: fields and values of its manifests and command lines, and the
rows that say why a value of the example is another one. `all.yaml` has the rows that hold for every system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal

import yaml
from msgspec import Struct, convert
from msgspec.structs import replace

from berth.yaml_loader import load_table
from tests.stack_files import ROOT

FOLDER = ROOT / "tests" / "vendored" / "published"
Reason = Literal["contradiction", "newer", "safety", "scope"]
ABSENT = "none"
IDENTITIES = ("name", "key", "resourceType")
"""Keys by which an entry of a list is known."""


class Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a field differs. `of` is a kind and name, of a job with its file, and `field` a path; `*` is any text.

    `field` "" is the whole object.
    A row of reason "safety" has the code of the fault that the published value gives, and what to write in the
    example to see it: paths under `berth:fleet`, with the values of the source.
    """

    of: str = "*"
    field: str
    reason: Reason
    why: str
    fault: str = ""
    write: Mapping[str, Any] = {}

    def __hash__(self) -> int:
        return hash((self.of, self.field))

    def fits(self, difference: Difference) -> bool:
        """Return whether this row is about a difference; one of all fields of a kind is about what the example adds."""
        is_for_additions = self.of == "*/*" or (self.field == "*" and self.of.endswith("/*"))
        return (not is_for_additions or difference.published == ABSENT) and (
            _like(self.of, difference.of) and _like(self.field, difference.field)
        )


class Default(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the API gives to a field that a manifest leaves out."""

    of: str
    field: str
    value: Any


class Shared(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for every system."""

    defaults: tuple[Default, ...]
    rows: tuple[Row, ...]


class Contradiction(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two statements of one source that cannot both be true, and which one the example and its walk follow."""

    says: str
    but: str
    here: str


class System(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published system: where it is from, its fields by object, and the rows of what differs.

    `cloud` has inputs by the name of the resource of the example, `objects` fields by kind and name, `jobs` by the
    file in stacks/jobs and the kind and name there. A value in parentheses is left open by the source.
    """

    title: str
    read: str
    cloud: Mapping[str, Mapping[str, Any]] = {}
    objects: Mapping[str, Mapping[str, Any]] = {}
    jobs: Mapping[str, Mapping[str, Mapping[str, Any]]] = {}
    rows: tuple[Row, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()


class Difference(Struct, frozen=True):
    """One field that the source and the example have with different values, or only one of them has."""

    of: str
    field: str
    published: str
    here: str


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, glob.split("*"))))


def _like(glob: str, text: str) -> bool:
    return _pattern(glob).fullmatch(text) is not None


def fields(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each leaf with its path; entries of a list are named by their name or key, else by their position."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from fields(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        for position, each in enumerate(value):
            named = next((each[key] for key in IDENTITIES if key in each), position)
            rest = {key: item for key, item in each.items() if key not in IDENTITIES}
            yield from fields(rest, f"{path}[{named}]")
    else:
        yield path, value


def shown(value: Any) -> str:
    """Return a value as the page and the comparison write it: quantities in base units, lists in one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(shown, value)) or "[]"
    text = str(value)
    if match := re.fullmatch(r"([0-9]+)(k|Gi)?", text):
        return match[0] if match[2] == "Gi" and match[1] != "0" else str(int(match[1]) * {"k": 1000}.get(match[2], 1))
    return text


def compare(
    published: Mapping[str, Mapping[str, Any]], here: Mapping[str, Mapping[str, Any]], *, whole: bool = True
) -> list[Difference]:
    """Return the differences of all objects of both sides; `whole` also those that only the example has."""
    differences: list[Difference] = []
    for name in [*published, *(here.keys() - published.keys() if whole else ())]:
        if name not in published:
            differences.append(Difference(name, "", ABSENT, "created"))
            continue
        theirs = {path: shown(value) for path, value in published[name].items()}
        ours = {path: shown(value) for path, value in here.get(name, {}).items()}
        for path in [*theirs, *(path for path in ours if path not in theirs)]:
            left, right = (side.get(path) or _default(name, path) for side in (theirs, ours))
            is_open = left.startswith("(") and right != ABSENT
            if left != right and not is_open:
                differences.append(Difference(name, path, left, right))
    return sorted(differences, key=lambda each: (each.of not in published, each.of, each.field))


def _default(of: str, field: str) -> str:
    return next(
        (shown(each.value) for each in SHARED.defaults if _like(each.of, of) and _like(each.field, field)), ABSENT
    )


def _identity(each: Mapping[str, Any], clusterwide: Iterable[str]) -> str:
    namespace = each["metadata"].get("namespace")
    name = f"{each['kind']}/{each['metadata']['name']}"
    return name if namespace is None or name in clusterwide else f"{name} in {namespace}"


def created(example: str) -> dict[str, dict[str, Any]]:
    """Return the Kubernetes objects of an example, from its golden file: fields by kind and name."""
    text = (ROOT / "tests" / "golden" / example / "manifests.yaml").read_text(encoding="utf-8")
    objects = [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]
    names = [f"{each['kind']}/{each['metadata']['name']}" for each in objects]
    single = {name for name in names if names.count(name) == 1}
    return {_identity(each, single): _without_name(each) for each in objects}


def _without_name(each: Mapping[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in fields(each) if path not in ("kind", "metadata.name")}


def registered(example: str) -> dict[str, dict[str, Any]]:
    """Return the cloud resources of an example, from its golden file: inputs by kind and name."""
    text = (ROOT / "tests" / "golden" / example / "cloud.yaml").read_text(encoding="utf-8")
    resources: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)
    return {
        f"{urn.split('::')[0].rpartition(':')[2]}/{urn.rpartition('::')[2]}": dict(fields(inputs))
        for urn, inputs in resources.items()
    }


def written(job: str) -> dict[str, dict[str, Any]]:
    """Return the objects of a job in stacks/jobs: fields by kind and name."""
    text = (ROOT / "stacks" / "jobs" / f"{job}.yaml").read_text(encoding="utf-8")
    return {
        f"{each['kind']}/{each['metadata']['name']}": _without_name(each)
        for each in yaml.load_all(text, Loader=yaml.CSafeLoader)
    }


SYSTEMS = {file.stem: convert(load_table(file), System) for file in sorted(FOLDER.glob("*.yaml")) if file.stem != "all"}
SHARED = convert(load_table(FOLDER / "all.yaml"), Shared)


def _without_container_names(objects: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the fields with each job's only container as `container`; its name means nothing."""
    return {
        of: {re.sub(r"containers\[[^\]]*\]", "container", path): value for path, value in values.items()}
        for of, values in objects.items()
    }


@cache
def differences(name: str) -> tuple[Difference, ...]:
    """Return every difference of a system: its resources, its objects and its jobs."""
    system = SYSTEMS[name]
    found = compare(system.cloud, registered(name)) + compare(system.objects, created(name))
    for job, objects in system.jobs.items():
        sides = (_without_container_names(objects), _without_container_names(written(job)))
        found += [replace(each, of=f"{each.of} ({job})") for each in compare(*sides, whole=False)]
    return tuple(found)


def row_of(name: str, difference: Difference) -> Row | None:
    """Return the row of a difference: the first of the system that fits, else the first that holds for all."""
    return next((row for row in (*SYSTEMS[name].rows, *SHARED.rows) if row.fits(difference)), None)


# --- recipes ----------------------------------------------------------------------------------------------------------


class RecipeField(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field of a recipe and its value; `at` is its path in the example, `why` the reason of another value there."""

    of: str
    field: str
    value: Any
    at: str = ""
    why: str = ""


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published recipe whose machines an example has: where it is from, and its fields by object of the example."""

    title: str
    read: str
    fields: tuple[RecipeField, ...]


RECIPES = {file.stem: convert(load_table(file), Recipe) for file in sorted((FOLDER / "recipes").glob("*.yaml"))}


@cache
def recipe_values(example: str) -> dict[str, dict[str, str]]:
    """Return what an example registers and creates, as the page writes it: fields by object."""
    found = {**registered(example), **created(example)}
    return {of: {path: shown(value) for path, value in values.items()} for of, values in found.items()}


def here_of(example: str, row: RecipeField) -> str:
    """Return the example's value of a field of its recipe; `none` without one."""
    return recipe_values(example).get(row.of, {}).get(row.at or row.field, ABSENT)


def is_equal(example: str, row: RecipeField) -> bool:
    """Return whether the example has the value of its recipe; one that the recipe leaves open is."""
    here, published = here_of(example, row), shown(row.value)
    return here == published or (published.startswith("(") and here != ABSENT)
