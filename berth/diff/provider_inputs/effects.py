"""What a changed input does to its resource: one table, by the provider's resource type and the path of the input."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from ipaddress import ip_network
from typing import Any, Final, cast

from msgspec import Struct, convert
from msgspec.structs import replace

from berth.diff.fields import FieldChange
from berth.yaml_loader import load_table


class UpdateEffect(StrEnum):
    """What a change of one input does to its resource."""

    KEPT = "kept"
    """Nothing: the provider keeps the value of an input that is no longer set."""
    IGNORED = "ignored"
    """Nothing: the provider does not pass the change on."""
    STATED = "stated"
    """Nothing: the stack file states what an adopted node pool keeps."""
    UPDATE = "update"
    """An update in place."""
    NEW_NODES_ONLY = "later"
    """An update in place, for new nodes only."""
    REFUSED = "refused"
    """An update in place, which the cloud refuses."""
    RECREATE = "recreate"
    """An update in place that recreates every node, one by one."""
    REPLACE = "replace"
    """The resource is deleted and created again."""

    @property
    def severity(self) -> int:
        """How disruptive the effect is; 0 for no effect."""
        return _SEVERITY[self]


_SEVERITY = {
    UpdateEffect.KEPT: 0,
    UpdateEffect.IGNORED: 0,
    UpdateEffect.STATED: 0,
    UpdateEffect.UPDATE: 1,
    UpdateEffect.NEW_NODES_ONLY: 2,
    UpdateEffect.REFUSED: 3,
    UpdateEffect.RECREATE: 4,
    UpdateEffect.REPLACE: 5,
}


def strongest_effect(effects: Iterable[UpdateEffect]) -> UpdateEffect:
    """Return the most disruptive effect; an update in place for none."""
    return max(effects, key=lambda effect: effect.severity, default=UpdateEffect.UPDATE)


_FOLDER = pathlib.Path(__file__).parent
_load_once = cache(load_table)
_INDEX = re.compile(r"\[[^\]]*\]")


class InputRule(Struct, frozen=True):
    """A row of the table: what a change of an input `does`, None for what the block around it does.

    Other columns apply instead of `does`: `wider` if the new range contains the old one, `begun` if the input was not
    set before and is not off now, `moved` if two lists are disjoint. `kept`: the provider keeps the value of an input
    that is no longer set. `word` and `shown` say what people read of a change (see effects.yaml).
    """

    does: UpdateEffect | None = None
    wider: UpdateEffect | None = None
    begun: UpdateEffect | None = None
    moved: UpdateEffect | None = None
    kept: bool = False
    word: str | None = None
    shown: str | None = None

    def effect_of(self, change: FieldChange) -> UpdateEffect | None:
        """Return what a change of this input does, None for what the block around it does."""
        before, after = cast("Any", change.before), cast("Any", change.after)
        if self.kept and after is None:
            return UpdateEffect.KEPT
        if self.moved and before and after and set(before).isdisjoint(after):
            return self.moved
        if self.begun and before is None and after:
            return self.begun
        if self.wider and isinstance(before, str) and isinstance(after, str):
            old, new = cast("Any", ip_network(before)), ip_network(after)
            if old.version == new.version and old.subnet_of(new):
                return self.wider
        return self.does


InputRules = Mapping[str, InputRule]
"""Path of an input without list indexes → its row."""


@cache
def input_rules(resource_type: str) -> InputRules:
    """Return the rows of a type of resource.

    A row of effects.yaml says more than the provider's mark on the same input, and replaces it. A type that no
    table has is an error, because its inputs could force a replacement.
    """
    files = (_FOLDER / f"{name}.yaml" for name in ("replaces", "keeps", "effects"))
    replaces, keeps, rows = (_load_once(file).get(resource_type) for file in files)
    if replaces is None and rows is None:
        raise KeyError(resource_type)
    rules = {path: InputRule(does=UpdateEffect.REPLACE) for path in replaces or ()}
    for path, row in cast("Mapping[str, Any]", rows or {}).items():
        rule = convert(row, InputRule)
        marked = rules.get(path)
        rules[path] = replace(rule, does=marked.does) if marked is not None and rule.does is None else rule
    for path in keeps or ():
        rules[path] = replace(rules.get(path, InputRule()), kept=True)
    return rules


def has_input_rules(resource_type: str) -> bool:
    """Return whether a table has a type of resource: it is one that Berth makes."""
    return any(resource_type in _load_once(_FOLDER / f"{name}.yaml") for name in ("replaces", "effects"))


def without_indexes(path: str) -> str:
    """Return `a.b.c` for `a[0].b[x].c`."""
    return _INDEX.sub("", path)


def is_within(path: str, blocks: Iterable[str]) -> bool:
    """Return whether an input without list indexes is one of `blocks`, or inside one."""
    return any(path == each or path.startswith(f"{each}.") for each in map(without_indexes, blocks))


def effect_of_input(rules: InputRules, change: FieldChange) -> UpdateEffect:
    """Return what the change of an input does: by its own row, or by the nearest one around it."""
    path = without_indexes(change.path)
    does = rules[path].effect_of(change) if path in rules else None
    while does is None and path:
        path = path.rpartition(".")[0]
        does = rules[path].does if path in rules else None
    return does or UpdateEffect.UPDATE


def word_for_input(rules: InputRules, path: str) -> str:
    """Return what people call an input, whose path may have list indexes: `zones` for `nodeLocations`."""
    end = len(path)
    while end > 0:
        rule = rules.get(path[:end]) or rules.get(without_indexes(path[:end]))
        if rule is not None and rule.word is not None:
            return (rule.word + path[end:]).removeprefix(".") or path
        end = max(path.rfind(".", 0, end), path.rfind("[", 0, end), 0)
    return path


_DEFAULTS: Final = pathlib.Path(__file__).with_name("defaults.yaml")


@cache
def _defaults() -> Mapping[str, Mapping[str, object]]:
    return cast("Mapping[str, Mapping[str, object]]", load_table(_DEFAULTS))


def default_inputs(resource_type: str) -> Mapping[str, object]:
    """Return the values that the provider sets, by the path of the input without indexes; none for an unknown type."""
    return _defaults().get(resource_type, {})
