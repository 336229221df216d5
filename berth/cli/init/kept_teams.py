"""What new teams keep of an example's teams: their people, identity, secrets and limits, and not their queues."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import yaml

from berth.cli.init.example import ExampleStack
from berth.loader.locate import EXAMPLES

_OF_QUEUES = {"cohort", "queues", "formerly"}
"""Keys of a team that follow from the quota tree, which new teams share."""


_RIGHTS = {"groups", "identity"}
"""Keys that a new team takes over from the one in its place in an example."""


def is_example(source: ExampleStack) -> bool:
    """Return whether a source is one of Berth's examples, whose names stand for a reader's own."""
    return source.display_path.startswith(f"{EXAMPLES}/")


def kept_entries(example: ExampleStack, teams: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what each new team keeps of the team with its name, and in an example of the one in the same position.

    Teams of an example stand for those of a reader; a team of a stack with another name has rights of its own.
    """
    written = example.evaluation.loaded.written
    fleet = cast("Mapping[str, Any]", example.value_at() if written is None else written)
    entries = cast("Mapping[str, Mapping[str, Any]]", fleet.get("teams") or {})
    kept: dict[str, dict[str, Any]] = {}
    for at, team in enumerate(teams):
        old = team if team in entries else list(entries)[at] if is_example(example) and at < len(entries) else None
        if old is not None:
            keys = entries[old].keys() - _OF_QUEUES if old == team else _RIGHTS
            own = {key: value for key, value in entries[old].items() if key in keys}
            kept[team] = cast("dict[str, Any]", _renamed(own, old, team))
    return kept


def entry_lines(entry: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Yield the keys of an entry as YAML, one on a line."""
    for key, value in entry.items():
        text = yaml.safe_dump({key: value}, default_flow_style=None, sort_keys=False, width=10_000)
        yield from (f"{indent}{line}" for line in text.splitlines())


def _renamed(value: Any, old: str, new: str) -> Any:
    """Return a value with another team's name wherever the old one is a word of it."""
    if isinstance(value, str):
        return re.sub(rf"(?<![a-z0-9-]){re.escape(old)}(?![a-z0-9])|(?<=-){re.escape(old)}(?![a-z0-9])", new, value)
    if isinstance(value, Mapping):
        return {
            _renamed(key, old, new): _renamed(each, old, new) for key, each in cast("Mapping[str, Any]", value).items()
        }
    return [_renamed(each, old, new) for each in cast("list[Any]", value)] if isinstance(value, list) else value
