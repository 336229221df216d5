"""Read the base file of a stack file (`base`), and combine both: what several stacks have in common is written once.

Mappings are combined key by key; another value of the stack file replaces that of the base. Entries of a list of named
things are overridden by a mapping from their names. `without` lists what the stack leaves out of the base. A base has
no base of its own, so that every value is in one of two files.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from typing import cast

from msgspec import Struct, field
from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Severity, closest_match, did_you_mean, format_value
from berth.loader.document import parse
from berth.loader.locate import display_path
from berth.loader.positions import NO_MARKS, Mark, Marks, SourceMap
from berth.loader.text_file import read_text

KEY, WITHOUT, FLEET = "base", "without", "fleet"
_FORMAT = "a base file has the key 'fleet:' and below it what its stacks have in common"
_NOT_IN_A_BASE = {
    KEY: "a base cannot extend another one; write what both have in one of them, and remove base",
    WITHOUT: "only a stack file leaves something out of a base; remove it here",
}
_NO_MARK = Mark(0, NO_MARKS)
_ALTERNATIVES = (
    *({"zone", "zones"}, {"slices", "nodes"}, {"chips", "count"}, {"surge", "blueGreen"}, {"ephemeral", "block"}),
    *({"reservation", "flexStart", "queued"}, {"namespace", "namespaces"}, {"secret", "kubeconfig"}),
    *({"backend", "backends"}, {"podVswitches", "podCidrBlock"}),
)
"""Keys of which a mapping has one: one of the stack file replaces another one of the base."""
_NAMES = ("name", "pool", "flavor", "key")
"""Keys that name an entry of a list, in the order in which they are tried."""


class BaseFile(Struct):
    """The fleet of a stack file with that of its base, the mark of both, and the faults.

    `root` has the Pulumi.yaml that the path belongs to, and files are called as seen from `caller`. `stack_file` is the
    stack file's name, empty if its values came from Pulumi and no file is known to have them. `fleet` is None if
    the base cannot be used. `near` has what of the base a new entry of the stack file may have been meant to
    override, and `left_out` the names of what the stack leaves out.
    """

    root: pathlib.Path
    caller: pathlib.Path
    stack_file: str
    fleet: dict[str, object] | None
    mark: Mark
    shown: str = ""
    base: Mark = _NO_MARK
    shared: dict[str, object] | None = None
    near: dict[FieldPath, str] = field(default_factory=dict[FieldPath, str])
    left_out: list[str] = field(default_factory=list[str])
    faults: list[Problem] = field(default_factory=list[Problem])

    def read(self) -> None:
        """Replace the fleet by the combined one. Faults: `outside-root`, `bad-base`, `bad-override`, those of
        `read_text` and `parse`.

        A `without` that is not a list is left for the spec to refuse.
        """
        own, name = self.fleet or {}, (self.fleet or {}).get(KEY)
        if name is None and WITHOUT in own:
            self._fault(
                "bad-base", (WITHOUT,), "nothing can be taken from a base that is not there; write base, or remove it"
            )
        if name is not None and not isinstance(name, str):
            remedy = "write the path of one file, such as stacks/bases/fleet.yaml"
            self._fault("bad-base", (KEY,), f"'{format_value(name)}' is no path; {remedy}")
            self.fleet = None
        if not isinstance(name, str):
            return
        shared = self._read_shared(name)
        if shared is None:
            self.fleet = None
            return
        self.shared = shared
        left_out = own.get(WITHOUT)
        for index, path in enumerate(cast("list[object]", left_out) if isinstance(left_out, list) else []):
            if isinstance(path, str):
                self.left_out.append(path.rpartition(".")[2])
                shared = cast("dict[str, object]", self._left_out(shared, path, (WITHOUT, index)))
        value, mark = self._combined((shared, self.base), (own, self.mark), ())
        self.fleet, self.mark = cast("dict[str, object]", value), mark

    # --- the file -----------------------------------------------------------------------------------------------------

    def _read_shared(self, name: str) -> dict[str, object] | None:
        """Return what the base has under `fleet`; None, after a fault, if it has nothing to extend."""
        top = self._top(name)
        if top is None:
            return None
        values, marks = top
        if "config" in values:
            self._fault_in_base((), marks["config"].line, f"is a stack file, not a base; {_FORMAT}")
            return None
        for key in sorted(values.keys() - {FLEET}):
            hint = did_you_mean(key, [FLEET]) if FLEET not in values else ""
            message = f"unknown key '{format_value(key)}' in a base file{hint or f'; {_FORMAT}'}"
            self._fault_in_base((), marks[key].line, message)
        if not isinstance(fleet := values.get(FLEET), dict):
            if FLEET in values or not values:
                self._fault_in_base((), 0, f"has no mapping under 'fleet:'; {_FORMAT}")
            return None
        self.base = marks[FLEET]._replace(file=self.shown)
        shared = cast("dict[str, object]", fleet)
        for key, message in _NOT_IN_A_BASE.items():
            if key in shared:
                self._fault_in_base((key,), self.base.inner_marks[key].line, message)
        return {key: value for key, value in shared.items() if key not in _NOT_IN_A_BASE}

    def _top(self, name: str) -> tuple[dict[str, object], Marks] | None:
        """Return the keys of the base and their marks; None, after a fault, if it cannot be read."""
        if unusable := unusable_path(name, self.root):
            self._fault(unusable[0], (KEY,), unusable[1])
            return None
        self.shown = name if self.root == self.caller else display_path(self.root / name, self.caller)
        text = read_text(self.root / name, self.shown, "move its teams to team files")
        if isinstance(text, Problem):
            if text.code == "no-file":
                self._fault("no-file", (KEY,), f"{text.message}{did_you_mean(name, _yaml_files(name, self.root))}")
            else:
                self.faults.append(text)
            return None
        document, faults = parse(text, self.shown)
        self.faults += (replace(each, path=each.path[1:] if each.path[:1] == (FLEET,) else ()) for each in faults)
        if document is None:
            return None
        return _mapping(document.value), document.marks

    # --- combining ----------------------------------------------------------------------------------------------------

    def _combined(self, base: tuple[object, Mark], own: tuple[object, Mark], path: FieldPath) -> tuple[object, Mark]:
        """Return the combined value and its mark; the mark of what only the base has names the base."""
        (shared, base_mark), (written, own_mark) = base, own
        own_values = cast("dict[str, object]", written) if isinstance(written, dict) else None
        if written is None and shared is not None:
            remedy = f"remove '{path[-1]}' here to keep that, or remove it from this stack: without: [{_dotted(path)}]"
            self._fault("bad-override", path, f"is empty, and {self._place(path)} has a value; {remedy}")
            return shared, base_mark._replace(file=self.shown)
        if own_values is not None and isinstance(shared, list):
            return self._combined_list((cast("list[object]", shared), base_mark), (own_values, own_mark), path)
        if own_values is None or not isinstance(shared, dict):
            return cast("object", written), own_mark
        replaced = {key for group in _ALTERNATIVES if group & own_values.keys() for key in group - own_values.keys()}
        values = {key: value for key, value in cast("dict[str, object]", shared).items() if key not in replaced}
        marks = {key: base_mark.inner_marks.get(key, _NO_MARK)._replace(file=self.shown) for key in values}
        for key, value in own_values.items():
            inner = own_mark.inner_marks.get(key, _NO_MARK)
            if key in values:
                shared_inner = values[key], base_mark.inner_marks.get(key, _NO_MARK)
                values[key], marks[key] = self._combined(shared_inner, (value, inner), (*path, key))
            else:
                if near := closest_match(key, [name for name in values if name not in own_values]):
                    self.near[(*path, key)] = f"'{near}' of {self._place((*path, near))}"
                values[key], marks[key] = value, inner
        return values, own_mark._replace(inner_marks=marks)

    def _combined_list(
        self, base: tuple[list[object], Mark], own: tuple[dict[str, object], Mark], path: FieldPath
    ) -> tuple[object, Mark]:
        """Return the list of the base with entries overridden by their names; their order is that of the base."""
        (shared, base_mark), (written, own_mark) = base, own
        entries = list(shared)
        marks = {i: base_mark.inner_marks.get(i, _NO_MARK)._replace(file=self.shown) for i in range(len(shared))}
        for name, value in written.items():
            index = self._entry_index(shared, name, (*path, name), path)
            if index is not None:
                inner = own_mark.inner_marks.get(name, _NO_MARK)
                entry = entries[index], base_mark.inner_marks.get(index, _NO_MARK)
                entries[index], marks[index] = self._combined(entry, (value, inner), (*path, name))
        return entries, own_mark._replace(inner_marks=marks)

    def _entry_index(self, entries: list[object], name: str, at: FieldPath, path: FieldPath) -> int | None:
        names = [_entry_name(each) for each in entries]
        if names.count(name) == 1:
            return names.index(name)
        known, place = [each for each in names if each], self._place(path)
        if not known:
            message = f"the list at {place} has no named entries; write the whole list"
        elif name in known:
            message = f"the list at {place} has '{format_value(name)}' more than once; write the whole list"
        else:
            others = f"; it has {', '.join(known)}: write one of these, or the whole list"
            message = f"the list at {place} has no '{format_value(name)}'{did_you_mean(name, known) or others}"
        self._fault("bad-override", at, message)
        return None

    def _left_out(self, value: object, path: str, at: FieldPath, above: FieldPath = ()) -> object:
        """Return the value without what is at a dotted path; names may have dots themselves."""
        if isinstance(value, list):
            entries = cast("list[object]", value)
            index = self._entry_index(entries, path, at, above)
            return entries if index is None else [*entries[:index], *entries[index + 1 :]]
        values = _mapping(value)
        if path in values:
            return {key: each for key, each in values.items() if key != path}
        parts = path.split(".")
        for count in range(len(parts) - 1, 0, -1):
            key = ".".join(parts[:count])
            if key in values:
                rest = ".".join(parts[count:])
                return {**values, key: self._left_out(values[key], rest, at, (*above, key))}
        hint = did_you_mean(path, list(values))
        if hint and above:
            hint = hint.replace("did you mean '", f"did you mean '{_dotted(above)}.")
        written = f"{_dotted(above)}.{path}" if above else path
        message = f"{self.shown} has no '{format_value(written)}'{hint or '; write a path that it has, or remove it'}"
        self._fault("bad-override", at, message)
        return value

    # --- faults -------------------------------------------------------------------------------------------------------

    def _place(self, path: FieldPath) -> str:
        """Return the place of a path in the base."""
        return SourceMap(self.shown, self.base).place_of(path)

    def _fault(self, code: str, path: FieldPath, message: str) -> None:
        place = SourceMap(self.stack_file, self.mark).place_of(path)
        self.faults.append(Problem(Severity.FAULT, code, path, message, place))

    def _fault_in_base(self, path: FieldPath, line: int, message: str) -> None:
        place = f"{self.shown}:{line}" if line else self.shown
        self.faults.append(Problem(Severity.FAULT, "bad-base", path, message, place))


def _mapping(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _entry_name(entry: object) -> str:
    """Return the name of an entry of a list; empty if it has none."""
    values = _mapping(entry)
    return next((name for key in _NAMES if isinstance(name := values.get(key), str)), "")


def _dotted(path: Sequence[str | int]) -> str:
    return ".".join(map(str, path))


def unusable_path(name: str, root: pathlib.Path) -> tuple[str, str] | None:
    """Return the code and the message for a path that no base can have; None for one that may exist."""
    file = pathlib.PurePath(name)
    if not name.strip() or "\0" in name:
        return "bad-base", "is empty; write a path such as stacks/bases/fleet.yaml"
    if os.path.isabs(name) or ".." in file.parts:
        return "outside-root", f"'{name}' is outside the folder of Pulumi.yaml; write a path inside it"
    if file.suffix not in (".yaml", ".yml"):
        return "bad-base", f"'{name}' is not the name of a YAML file; write a path that ends in .yaml"
    if file.name == "Pulumi.yaml" or file.match("Pulumi.*.yaml"):
        return "bad-base", f"'{name}' belongs to Pulumi, not to a base; move what stacks share to a file of its own"
    linked = next((part for part in (file, *file.parents) if os.path.islink(root / part)), None)
    if linked is not None and str(linked) != ".":
        return "bad-base", f"'{linked}' is a link, which another checkout may lack; write the path of the file itself"
    return None


def _yaml_files(name: str, root: pathlib.Path) -> list[str]:
    """Return the YAML files in the folder of a path that does not exist, and in the usual one."""
    folders = dict.fromkeys((pathlib.PurePath(name).parent.as_posix(), "stacks/bases"))
    files = (each for folder in folders for each in sorted((root / folder).glob("*.y*ml")))
    return [each.relative_to(root).as_posix() for each in files if not each.name.startswith("Pulumi")]
