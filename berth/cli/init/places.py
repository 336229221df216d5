"""Values of a stack that belong to its place: what another region or project calls otherwise."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from berth.cli.init.example import VALUE, ExampleStack, InitAnswers, InitOption
from berth.diagnostics import FieldPath, format_path
from berth.loader.placeholders import placeholders
from berth.rotate.yaml_editor import YamlEditor
from berth.spec.base import NonEmptyText, ProjectNumber

_OF_NETWORK = {"subnetwork": "subnetwork", "podRangeName": "pod-range", "serviceRangeName": "service-range"}
_OF_RESERVATION = {"name": "reservation", "block": "block", "subBlock": "sub-block"}


class PlaceValue(Struct, frozen=True):
    """A value of the place: the text, its path, and the placeholder until somebody writes the new place's.

    `is_word`: it is replaced wherever it is a word of the text. A bucket is a key, and an item of a list has no key.
    """

    old: str
    path: FieldPath
    placeholder: str
    is_word: bool = False


def place_options(example: ExampleStack, answers: InitAnswers) -> list[InitOption]:
    """Return an option for each value of the place, if the project or region changes."""
    asked = {each.old: each for each in _values_to_replace(example, answers)}
    number, project = example.value_at("projectNumber"), next(iter(answers.get("project", ())), None)
    is_other = project not in (None, example.value_at("project"))
    if number is not None and is_other:
        # Berth grants rights by it, so another project's number would give them to others.
        path = ("projectNumber",)
        question = f"Number of the project {project} (empty: keep {number})"
        return [InitOption(f"{VALUE}{number}", ProjectNumber, question, path), *_options(asked)]
    return _options(asked)


def _options(asked: Mapping[str, PlaceValue]) -> list[InitOption]:
    return [
        InitOption(
            f"{VALUE}{old}", NonEmptyText,
            f"Value in the new place for {old} in {format_path(each.path)} (empty: {each.placeholder})",
        )
        for old, each in asked.items()
    ]  # fmt: skip


def with_place_values(editor: YamlEditor, example: ExampleStack, answers: InitAnswers) -> YamlEditor:
    """Return the stack with the values of the new place; those that are not given are placeholders."""
    for each in _values_to_replace(example, answers):
        if not each.is_word and editor.value_at(each.path) is not None:
            editor = editor.set_value(each.path[:-1], str(each.path[-1]), _new(each, answers))
    return editor


def with_place_words(text: str, example: ExampleStack, answers: InitAnswers) -> str:
    """Return the text of a stack with the buckets and ranges of the new place: each is one word, and no other's."""
    for each in _values_to_replace(example, answers):
        if each.is_word:
            text = re.sub(rf"(?<![\w.-]){re.escape(each.old)}(?![\w.-])", _new(each, answers), text)
    return text


def _new(value: PlaceValue, answers: InitAnswers) -> str:
    return next(iter(answers.get(f"{VALUE}{value.old}", ())), value.placeholder)


def placeholder_lines(fleet: object, example: ExampleStack, answers: InitAnswers) -> list[str]:
    """Return a line for each placeholder of a new stack: its path, and what the source has there."""
    replaced = _values_to_replace(example, answers)
    before = {each.placeholder: each.old for each in replaced}
    number, lines = example.value_at("projectNumber"), list[str]()
    is_other = answers.get("project", ()) not in ((), (example.value_at("project"),))
    if number is not None and is_other and cast("Mapping[str, Any]", fleet).get("projectNumber") == number:
        lines.append(f"  projectNumber: {number} (of {example.value_at('project')})")
    for each in placeholders(fleet):
        old = next((f" (instead of {old})" for new, old in before.items() if new.endswith(each.text)), "")
        lines.append(f"  {', '.join(map(format_path, each.paths))}: {each.text}{old}")
    olds, source = {each.old for each in replaced}, example.display_path
    for each in _place_values(cast("Mapping[str, Any]", fleet)) if olds else ():
        if each.old in olds:  # both stacks read the team's file, or the base file
            lines.append(f"  {format_path(each.path)}: {each.old} (in a file that {source} reads, too)")
    return lines


def _values_to_replace(example: ExampleStack, answers: InitAnswers) -> list[PlaceValue]:
    project, region = (next(iter(answers.get(flag, ())), None) for flag in ("project", "region"))
    others = {
        key: new
        for key, new, old in (("project", project, example.value_at("project")), ("region", region, example.location))
        if new not in (None, old)
    }
    if not others or example.evaluation.fleet_plan is None:
        return []
    written = example.evaluation.loaded.written
    fleet = cast("Mapping[str, Any]", example.value_at() if written is None else written)
    known = {each.text for each in placeholders(fleet)}
    found = list(_place_values(fleet, others.keys()))
    if region is not None:
        found += _keys(fleet, (), str(example.location), region)
    return [each for each in found if not any(text in each.old for text in known)]


_ANY_PLACE = frozenset({"project", "region"})


def _place_values(fleet: Mapping[str, Any], others: Collection[str] = _ANY_PLACE) -> Iterator[PlaceValue]:
    """Yield the values of the place; of workers, only of those without an own value for all of the `others`."""
    yield from _of_machines(fleet, (), "")
    for name, worker in _entries(fleet, "workers").items():
        if not _mapping_at(worker, ()).keys() >= {*others}:
            yield from _of_machines(fleet, ("workers", name), f"-{name}")
    owners: list[tuple[FieldPath, str]] = [(("teamDefaults",), "team")]
    owners += [(("teams", name), name) for name in _entries(fleet, "teams")]
    for path, name in owners:
        buckets = (*path, "identity", "buckets")
        for number, bucket in enumerate(_mapping_at(fleet, buckets), 1):
            if "{" not in bucket:
                yield PlaceValue(bucket, (*buckets, bucket), f"your-storage-{name}-{number}", is_word=True)


def _of_machines(fleet: Mapping[str, Any], at: FieldPath, suffix: str) -> Iterator[PlaceValue]:
    """Yield the values of a cluster and its machines: those of the fleet, or of the worker at a path."""
    network = (*at, "cluster", "network")
    for key, noun in _OF_NETWORK.items():
        yield from _text(fleet, (*network, key), f"your-{noun}{suffix}")
    ranges: object = _mapping_at(fleet, network).get("additionalPodRangeNames")
    for number, name in enumerate(cast("list[object]", ranges) if isinstance(ranges, list) else (), 1):
        path = (*network, "additionalPodRangeNames", number - 1)
        yield PlaceValue(str(name), path, f"your-pod-range-more{suffix}-{number}", is_word=True)
    for name in _mapping_at(fleet, (*at, "pools")):
        yield from _text(fleet, (*at, "pools", name, "podRangeName"), f"your-pod-range{suffix}-{name}")
        yield from _text(fleet, (*at, "pools", name, "placementPolicy"), f"your-policy{suffix}-{name}")
    for name, entry in _mapping_at(fleet, (*at, "reservations")).items():
        if isinstance(entry, Mapping) and cast("Mapping[str, Any]", entry).get("existing") is True:
            for key, noun in _OF_RESERVATION.items():
                yield from _text(fleet, (*at, "reservations", name, key), f"your-{noun}{suffix}-{name}")


def _keys(value: object, at: FieldPath, old: str, new: str) -> Iterator[PlaceValue]:
    """Yield the keys of Cloud KMS in the old region, which encrypt nothing in the new one."""
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, object]", value).items():
            yield from _keys(inner, (*at, key), old, new)
    elif isinstance(value, str) and f"/locations/{old}/keyRings/" in value:
        ring, _, name = value.replace(f"/locations/{old}/", f"/locations/{new}/").rpartition("/")
        yield PlaceValue(value, at, f"{ring}/your-key-{name}")


def _entries(fleet: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    return _mapping_at(fleet, (section,))


def _text(fleet: Mapping[str, Any], path: FieldPath, placeholder: str) -> Iterator[PlaceValue]:
    value = _mapping_at(fleet, path[:-1]).get(str(path[-1]))
    if isinstance(value, str):
        yield PlaceValue(value, path, placeholder)


def _mapping_at(fleet: Mapping[str, Any], path: FieldPath) -> Mapping[str, Any]:
    value: Any = fleet
    for key in path:
        value = cast("Mapping[Any, Any]", value).get(key) if isinstance(value, Mapping) else None
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
