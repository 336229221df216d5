"""Find keys that are indented too far or too little, and so became entries of another section."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from berth.diagnostics import FieldPath, Problem, Severity
from berth.spec.messages import allowed_keys
from berth.spec.model import Model


class MisplacedKey(Struct, frozen=True):
    """A key that became an entry of `section`, and the message for its one fault.

    `entries` are all keys below that section that are not its own: the misplaced one and, where the line of its name
    alone is indented too far, the keys that follow it. `owner` is the path of what lacks the key now.
    """

    section: str
    entries: tuple[str, ...]
    owner: FieldPath
    message: str

    @property
    def problem(self) -> Problem:
        """The fault at the misplaced key."""
        return Problem(Severity.FAULT, "unknown-key", (self.section, self.entries[0]), self.message)


def misplaced_keys(model: type[Model], fleet: Mapping[str, Any], sections: Collection[str]) -> tuple[MisplacedKey, ...]:
    """Return the misplaced keys of a fleet; `sections` are the names of sections that consist of entries."""
    return tuple(
        each
        for section, value in fleet.items()
        if isinstance(value, dict) and section != "teamDefaults"  # its keys are those of a team, and checked there
        for each in _misplaced_in(model, fleet, sections, section, cast("dict[str, object]", value))
    )


def _misplaced_in(
    model: type[Model], fleet: Mapping[str, Any], sections: Collection[str], section: str, entries: dict[str, object]
) -> Iterator[MisplacedKey]:
    names, own_keys = list(entries), allowed_keys((section,), model)
    unfitting: set[str] = set()  # mappings that have none of the keys of an entry of the section
    for name, entry in entries.items():
        keys = cast("dict[str, object]", entry).keys() if isinstance(entry, dict) else set[str]()
        if keys and not keys & set(allowed_keys((section, name), model)):
            unfitting.add(name)
    for index, name in enumerate(names):
        if name in own_keys:
            continue
        if name in unfitting and index and name in allowed_keys((section, names[index - 1]), model):
            owner = names[index - 1]
            message = f"'{name}' is indented like an entry of '{section}', but is a key of an entry"
            message += f"; indent '{name}' below '{owner}'"
            yield MisplacedKey(section, (name,), (section, owner), message)
        elif name in sections and name in unfitting:
            yield _indented_too_far(section, [name])
        elif (
            name in sections
            and entries[name] is None
            and (name not in fleet or any(each in unfitting for each in names[index:]))
        ):
            # A section without a value, whose entries follow it at its own indentation.
            yield _indented_too_far(section, names[index:])
            return


def _indented_too_far(section: str, entries: list[str]) -> MisplacedKey:
    name = entries[0]
    message = f"'{name}' is a key of berth:fleet, but is indented below '{section}'; indent '{name}' less"
    return MisplacedKey(section, tuple(entries), (name,), message)


def without_misplaced(fleet: dict[str, Any], misplaced: Collection[MisplacedKey]) -> dict[str, Any]:
    """Return the fleet without the entries of misplaced keys."""
    removed = {(each.section, name) for each in misplaced for name in each.entries}
    sections = {section for section, _ in removed}
    return {
        section: {k: v for k, v in entries.items() if (section, k) not in removed} if section in sections else entries
        for section, entries in fleet.items()
    }
