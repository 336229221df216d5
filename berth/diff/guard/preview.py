"""Losses in the output of `pulumi preview`, as guarded changes.

A replacement is one step `replace`, or `create-replacement` and `delete-replaced`. Pulumi refuses to touch protected
resources during the preview: the step may then be missing, and an error names the resource.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.guard.agreement import disagreements
from berth.diff.guard.allowances import CLUSTER_KEY, GuardedAction, allowance_reason
from berth.diff.guard.changes import QUEUE_DRAINED, GuardedChange
from berth.diff.guard.classify import guarded_updates
from berth.diff.guard.preview_scope import doubts_of_run, notes_of_run, unfinished_program
from berth.diff.guard.preview_steps import EnginePreview, PreviewRules, PreviewStep
from berth.diff.guard.protected_objects import lost_objects, lost_safeguards
from berth.diff.kinds import FieldEffect
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.resource import ResourceKind

_PROTECT_ERROR = re.compile(
    r'unable to replace resource "(?P<urn>[^"]+)"(?: as part of replacing "(?P<below>[^"]+)")?'
    r'|resource "(?P<deleted>[^"]+)" cannot be deleted'
)
_SUMMARY_MESSAGES = ("preview failed", "update failed")
"""Messages with which Pulumi sums up its errors."""
_REPLACING_KINDS = ("add-replace", "delete-replace", "update-replace")
"""Kinds of `detailedDiff` that replace a resource."""
WAS_UNPROTECTED = "it was not protected when it was last deployed"


class ProtectError(NamedTuple):
    """A refusal by Pulumi: the action, and whether the protection of the last deployment applies (`was_protected`).

    It applies if the resource is deleted, or is replaced because another resource is replaced.
    """

    urn: str
    action: GuardedAction
    was_protected: bool


class Answer(StrEnum):
    """What the guard says of a preview."""

    SAFE = "safe"
    """One whole run of this stack file, which loses nothing that the file does not allow to be lost."""
    BLOCKED = "blocked"
    """It loses something that the stack file does not allow to be lost."""
    UNKNOWN = "unknown"
    """It failed, or may not be one whole run of this stack file."""


class NamedLoss(Struct, frozen=True):
    """A resource without protection that a preview deletes or replaces: its kind and name, and where it is."""

    action: GuardedAction
    kind: str
    name: str


class GuardReport(Struct, frozen=True):
    """Every loss in a preview, allowed or not, and the errors that do not concern protection.

    `doubts` are why the preview may not be one whole run of the stack file, `others` what it deletes or replaces
    besides, which blocks nothing. `notes` are what such a preview cannot show.
    """

    losses: tuple[GuardedChange, ...]
    errors: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    others: tuple[NamedLoss, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        """The answer: a loss blocks whatever else is not known."""
        if self.blocked:
            return Answer.BLOCKED
        return Answer.UNKNOWN if self.errors or self.doubts else Answer.SAFE

    @property
    def blocked(self) -> tuple[GuardedChange, ...]:
        """The losses that the stack file does not allow."""
        return tuple(change for change in self.losses if change.allowed is None)


def find_losses(preview: EnginePreview, rules: PreviewRules, config: Mapping[str, object] | None = None) -> GuardReport:
    """Return the losses in a preview of the stack whose `rules` these are, and whose stack file has this `config`.

    A resource that was protected by hand is an error of the preview.
    """
    preview = _with_todays_workers(preview, rules.names)
    refused = {error.urn: error for message in preview.errors for error in _protect_errors(message)}
    guarded: set[str] = set()
    losses = _merged(_losses(preview.steps, rules, refused, guarded))
    reported = {urn for urn, error in refused.items() if rules.lost_resource(PreviewStep("", urn), error.action)}
    errors = [
        message.strip()
        for message in preview.errors
        if message.strip().removeprefix("error: ") not in _SUMMARY_MESSAGES
        and not any(error.urn in reported for error in _protect_errors(message))
    ]
    errors += (message.strip() for message in unfinished_program(preview, rules.least_resources))
    doubts = list(doubts_of_run(preview, rules.least_resources, config))
    if not preview.errors:
        doubts += disagreements(preview, rules)
    others = _other_losses(preview.steps, guarded, losses)
    notes = () if doubts or preview.errors else tuple(notes_of_run(preview))
    return GuardReport(tuple(losses), tuple(errors), tuple(dict.fromkeys(doubts)), tuple(others), notes)


def _with_todays_workers(preview: EnginePreview, names: Mapping[str, str]) -> EnginePreview:
    """Return a preview in which names of resources begin with today's names of renamed workers."""
    if not names:
        return preview
    start = re.compile(f"::({'|'.join(map(re.escape, names))})/")

    def renamed(text: str) -> str:
        return start.sub(lambda match: f"::{names[match[1]]}/", text)

    steps = tuple(replace(step, urn=renamed(step.urn)) for step in preview.steps)
    return replace(preview, steps=steps, errors=tuple(map(renamed, preview.errors)))


def _other_losses(
    steps: Iterable[PreviewStep], guarded: Collection[str], losses: Iterable[GuardedChange]
) -> Iterator[NamedLoss]:
    """Yield what a preview deletes or replaces without protection, each resource once; components are only groups."""
    objects, told = {loss.name for loss in losses if loss.kind == ResourceKind.OBJECT}, set[str]()
    for step in steps:
        action = step.action
        if action is None or step.is_component or step.urn in guarded or step.urn in told:
            continue
        told.add(step.urn)
        kind = step.type.rpartition(":")[2]
        metadata: Mapping[str, object] = step.inputs[0].get("metadata") or {}
        name = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key)) or step.name
        if f"{kind} {name}" not in objects:
            yield NamedLoss(action, kind, name)


def _losses(
    steps: Sequence[PreviewStep], rules: PreviewRules, refused: Mapping[str, ProtectError], guarded: set[str]
) -> Iterator[GuardedChange]:
    """Yield the losses, and add the URNs of steps that are losses of a protected resource to `guarded`."""
    was_protected = any(
        step.old and step.new and step.old.get("protect") and not step.new.get("protect") for step in steps
    )
    yield from guarded_updates(was_protected, rules.allowances_of(None), ())
    yield from rules.losses(steps)
    acting = [(step, action) for step in steps if (action := step.action)]
    listed = {step.urn for step, _ in acting}
    acting += [(PreviewStep("", urn), error.action) for urn, error in refused.items() if urn not in listed]
    for step, action in acting:
        change, error = rules.lost_resource(step, action), refused.get(step.urn)
        if change is not None:
            guarded.add(step.urn)
            first = error.was_protected if error else action == GuardedAction.DELETE
            allowed = None if error else _allowed(change, step, rules)
            yield replace(change, because=tuple(_replace_reasons(step)), first=first, allowed=allowed)
    if rules.guards_objects:
        yield from lost_objects(steps, rules.allowances_of, rules.workers, guarded)
        yield from lost_safeguards(steps, rules.allowances_of, rules.workers)


def _allowed(change: GuardedChange, step: PreviewStep, rules: PreviewRules) -> str | None:
    """Return why a loss that Pulumi does not refuse is allowed, None if it is not."""
    if change.action == GuardedAction.DELETE:
        if step.inputs[0].get("spec", {}).get("stopPolicy") == "HoldAndDrain":
            return QUEUE_DRAINED
        return None if (step.old or {}).get("protect") else WAS_UNPROTECTED
    allowances = rules.allowances_of(change.worker)
    reason = allowance_reason(GuardedAction.REPLACE, change.key, allowances)
    if reason is None and change.kind == ResourceKind.QUEUE:  # it is inside the cluster
        return allowance_reason(GuardedAction.REPLACE, CLUSTER_KEY, allowances)
    return reason


def _protect_errors(message: str) -> Iterator[ProtectError]:
    """Yield the refusals in an error message of Pulumi."""
    for match in _PROTECT_ERROR.finditer(message):
        if match["urn"]:
            yield ProtectError(match["urn"], GuardedAction.REPLACE, match["below"] is not None)
        else:
            yield ProtectError(match["deleted"], GuardedAction.DELETE, True)


def _replace_reasons(step: PreviewStep) -> Iterator[FieldEffect]:
    """Yield the inputs that replace a resource: as exactly as the provider tells it, else the top-level inputs.

    A field that the program does not set, and the provider computes, changes because another one does.
    """
    exact = [
        path
        for path, each in (step.details or {}).items()
        if str(each.get("kind") or each.get("diffKind")) in _REPLACING_KINDS
        and any(_has_path(inputs, path) for inputs in step.inputs)
    ]
    for reason in map(str, sorted(exact) or step.reasons or ()):
        yield FieldEffect(reason, reason, None, None, UpdateEffect.REPLACE)


def _has_path(inputs: object, path: str) -> bool:
    """Return whether nested inputs have a value at `nodeConfig.taints[0].effect`; below a list it is assumed."""
    for key in path.partition("[")[0].split("."):
        if not isinstance(inputs, Mapping) or key not in inputs:
            return False
        inputs = cast("Mapping[str, object]", inputs)[key]
    return True


def _merged(changes: Iterable[GuardedChange]) -> list[GuardedChange]:
    """Merge losses of one resource: slices of a pool are one loss, and a replacement may have several steps."""
    merged: dict[tuple[str, ...], GuardedChange] = {}
    for change in changes:
        identity = (change.worker or "", change.key, change.action, change.name)
        first = merged.setdefault(identity, change)
        merged[identity] = replace(
            first,
            because=tuple({f.path: f for f in (*first.because, *change.because)}.values()),
            parts=tuple(dict.fromkeys((*first.parts, *change.parts))),
            flavors=tuple(dict.fromkeys((*first.flavors, *change.flavors))),
            first=first.first or change.first,
            allowed=first.allowed and change.allowed,
        )
    return [merged[key] for key in sorted(merged)]
