"""What changes between two registrations of a resource: its inputs and its options, each with what the change does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from berth.diff.fields import FieldChange, compare_fields
from berth.diff.kinds import FieldEffect
from berth.diff.provider_inputs.effects import (
    InputRules,
    UpdateEffect,
    effect_of_input,
    input_rules,
    is_within,
    strongest_effect,
    without_indexes,
    word_for_input,
)
from berth.registration import Registration

Inputs = Mapping[str, Any]


def compare_registrations(
    old: tuple[Registration, Inputs], new: tuple[Registration, Inputs], replacing: Sequence[str] = ()
) -> tuple[FieldEffect, ...]:
    """Return every changed input and option of a resource that both programs have; each side has its inputs with it.

    `replacing` are inputs, without list indexes, that refer to a replaced resource: their values are not compared.
    Left out are inputs that the program asks Pulumi to ignore.
    """
    inputs = InputComparison(new[0], input_rules(new[0].type))
    changes = (c for c in compare_fields(old[1], new[1]) if not is_within(without_indexes(c.path), replacing))
    effects = [effect for change in changes for effect in inputs.effects(change)]
    effects = list(_told_by_one_input(effects, inputs.rules, old[1], new[1]))
    return (*effects, *_option_effects(old, new, inputs))


class InputComparison:
    """What changed inputs do to one resource, by the table and by the options of its registration."""

    def __init__(self, registration: Registration, rules: InputRules) -> None:
        self.rules = rules
        self._ignored, self._replacing = registration.ignore_changes, registration.replace_on_changes

    def effects(self, change: FieldChange) -> list[FieldEffect]:
        """Return a change as one effect, or as several for a block that comes or goes and whose inputs differ in it."""
        path = without_indexes(change.path)
        if is_within(path, self._ignored):
            return []
        does = self.does(change)
        whole = [FieldEffect(word_for_input(self.rules, change.path), path, change.before, change.after, does)]
        nothing: dict[str, object] = {}
        before, after = (nothing if each is None else each for each in (change.before, change.after))
        if does == UpdateEffect.KEPT or not (isinstance(before, Mapping) and isinstance(after, Mapping)):
            return whole
        inner = [
            effect
            for each in compare_fields(cast("object", before), cast("object", after), change.path)
            for effect in self.effects(each)
        ]
        kinds = {effect.does for effect in inner}
        has_row = any(each in self.rules for each in (path, *(effect.input for effect in inner)))
        is_one = len(kinds) == 1 and (len(inner) > 1 or not has_row)
        return [replace(whole[0], does=kinds.pop())] if is_one else inner

    def does(self, change: FieldChange) -> UpdateEffect:
        """Return what the change of one input does."""
        effect = effect_of_input(self.rules, change)
        is_replacing = is_within(without_indexes(change.path), self._replacing)
        return UpdateEffect.REPLACE if is_replacing and effect != UpdateEffect.KEPT else effect


def _told_by_one_input(
    effects: Sequence[FieldEffect], rules: InputRules, before: Inputs, after: Inputs
) -> Iterator[FieldEffect]:
    """Yield the effects, with those in a block of which one input says what changes as one effect of that input."""
    told: set[str] = set()
    for effect in effects:
        block = next((path for path, rule in rules.items() if rule.shown and is_within(effect.input, [path])), None)
        path = f"{block}.{rules[block].shown}" if block is not None else ""
        values = input_at(before, path), input_at(after, path)
        if block is None or values[0] == values[1]:
            yield effect
        elif block not in told:
            told.add(block)
            strongest = strongest_effect(each.does for each in effects if is_within(each.input, [block]))
            yield FieldEffect(word_for_input(rules, path), path, *values, strongest)


def input_at(inputs: Inputs, path: str) -> object:
    """Return the input at `nodeConfig.imageType`; None if there is none, or a list is on the way."""
    value: Any = inputs
    for step in path.split("."):
        value = cast("Inputs", value).get(step) if isinstance(value, Mapping) else None
    return value


def _option_effects(
    old: tuple[Registration, Inputs], new: tuple[Registration, Inputs], comparison: InputComparison
) -> Iterator[FieldEffect]:
    """Yield the protection, and inputs that are ignored on one side only.

    What was ignored may differ in the cloud, and is sent from now on, so it does what its change would do.
    """
    if old[0].protect != new[0].protect:
        yield FieldEffect("protect", "protect", old[0].protect, new[0].protect, UpdateEffect.UPDATE)
    before, after = (
        [
            path
            for path in each[0].ignore_changes
            if path not in other[0].ignore_changes and all(input_at(side[1], path) is not None for side in (old, new))
        ]
        for each, other in ((old, new), (new, old))
    )
    if before or after:
        strongest = strongest_effect(
            comparison.does(FieldChange(path, None, input_at(new[1], path))) for path in before
        )
        yield FieldEffect("ignoreChanges", "ignoreChanges", before or None, after or None, strongest)
