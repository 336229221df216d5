"""Losses in the output of `pulumi preview`, as guarded changes.

A replacement is one step `replace`, or `create-replacement` and `delete-replaced`. Pulumi refuses to touch protected
resources during the preview: the step may then be missing, and an error names the resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.guard.allowances import CLUSTER_KEY, GuardedAction, allowance_reason
from berth.diff.guard.changes import QUEUE_DRAINED, GuardedChange
from berth.diff.guard.preview_file import REPLACING_OPS, EnginePreview
from berth.diff.guard.preview_rules import PreviewRules
from berth.diff.guard.preview_scope import unfinished_program
from berth.diff.guard.protected import GuardedResource
from berth.diff.guard.settings import switched_off
from berth.diff.provider_inputs.effects import UpdateEffect
from berth.diff.resources import FieldEffect
from berth.resource import ResourceKind

_ACTION_OF_OP = {**dict.fromkeys(REPLACING_OPS, GuardedAction.REPLACE), "delete": GuardedAction.DELETE}
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


class GuardReport(Struct, frozen=True):
    """Every loss in a preview, allowed or not, and the errors that do not concern protection."""

    losses: tuple[GuardedChange, ...]
    errors: tuple[str, ...]

    @property
    def blocked(self) -> tuple[GuardedChange, ...]:
        """The losses that the stack file does not allow."""
        return tuple(change for change in self.losses if change.allowed is None)


def find_losses(preview: EnginePreview, rules: PreviewRules) -> GuardReport:
    """Return the losses in a preview of the stack whose `rules` these are.

    A resource that was protected by hand is an error of the preview.
    """
    messages = preview.errors
    refused = {error.urn: error for message in messages for error in _protect_errors(message)}
    steps = [(step, action) for step in preview.steps if (action := _step_action(step))]
    known = {str(step["urn"]) for step, _ in steps}
    changes = [
        *switched_off(_loses_protection(preview.steps), rules.allowances_of(None)),
        *rules.losses(preview.steps),
        *(_guarded_change(str(step["urn"]), action, step, rules, refused) for step, action in steps),
        *(_guarded_change(urn, error.action, {}, rules, refused) for urn, error in refused.items() if urn not in known),
    ]
    reported_urns = {urn for urn in refused if rules.classify(urn, {}) is not None}
    errors = tuple(
        m.strip()
        for m in messages
        if not (_is_summary(m) or any(error.urn in reported_urns for error in _protect_errors(m)))
    )
    errors += tuple(message.strip() for message in unfinished_program(preview, rules.least_resources))
    return GuardReport(tuple(_merged(change for change in changes if change is not None)), errors)


def _loses_protection(steps: Iterable[Mapping[str, Any]]) -> bool:
    states = ((_state(step, "oldState"), _state(step, "newState")) for step in steps)
    return any(bool(old.get("protect")) and bool(new) and not new.get("protect") for old, new in states)


def _state(step: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return step.get(key) or {}


def _step_action(step: Mapping[str, Any]) -> GuardedAction | None:
    """Return the effect of a step on the old resource, None if it remains; a node pool that moves zones is replaced."""
    if step.get("op") == "update":
        before, after = _node_zones(step.get("oldState")), _node_zones(step.get("newState"))
        return GuardedAction.REPLACE if before and after and before.isdisjoint(after) else None
    return _ACTION_OF_OP.get(str(step.get("op")))


def _node_zones(state: Mapping[str, Any] | None) -> set[str]:
    """Return the zones of a node pool; none for another resource."""
    inputs: Mapping[str, Any] = (state or {}).get("inputs") or {}
    locations: list[str] = inputs.get("nodeLocations") or []
    return set(locations)


def _protect_errors(message: str) -> Iterator[ProtectError]:
    """Yield the refusals in an error message of Pulumi."""
    for match in _PROTECT_ERROR.finditer(message):
        if match["urn"]:
            yield ProtectError(match["urn"], GuardedAction.REPLACE, match["below"] is not None)
        else:
            yield ProtectError(match["deleted"], GuardedAction.DELETE, True)


def _is_summary(message: str) -> bool:
    return message.strip().removeprefix("error: ") in _SUMMARY_MESSAGES


def _guarded_change(
    urn: str, action: GuardedAction, step: Mapping[str, Any], rules: PreviewRules, refused: Mapping[str, ProtectError]
) -> GuardedChange | None:
    """Return the guarded change of a step, or None if its resource is not protected."""
    old: Mapping[str, Any] = step.get("oldState") or {}
    inputs: Mapping[str, Any] = old.get("inputs") or {}
    resource = rules.classify(urn, inputs)
    if resource is None:
        return None
    first = refused[urn].was_protected if urn in refused else action == GuardedAction.DELETE
    change = _change_of_resource(resource, action, first, tuple(_replace_reasons(step)))
    if urn in refused:
        return change
    if action == GuardedAction.REPLACE:
        allowances = rules.allowances_of(change.worker)
        inside = (
            allowance_reason(GuardedAction.REPLACE, CLUSTER_KEY, allowances)
            if change.kind == ResourceKind.QUEUE
            else None
        )
        return replace(change, allowed=allowance_reason(GuardedAction.REPLACE, change.key, allowances) or inside)
    if inputs.get("spec", {}).get("stopPolicy") == "HoldAndDrain":
        return replace(change, allowed=QUEUE_DRAINED)
    return replace(change, allowed=None if old.get("protect") else WAS_UNPROTECTED)


def _change_of_resource(
    resource: GuardedResource, action: GuardedAction, first: bool, because: tuple[FieldEffect, ...]
) -> GuardedChange:
    return GuardedChange(
        kind=resource.kind,
        name=resource.name,
        key=resource.key,
        action=action,
        because=because,
        parts=resource.node_pools,
        whole=resource.whole,
        flavors=resource.flavors,
        first=first,
        worker=resource.worker,
    )


def _replace_reasons(step: Mapping[str, Any]) -> Iterator[FieldEffect]:
    """Yield the inputs that replace a resource: as exactly as the provider tells it, else the top-level inputs."""
    details: Mapping[str, Mapping[str, Any]] = step.get("detailedDiff") or {}
    exact = [
        path for path, each in details.items() if str(each.get("kind") or each.get("diffKind")) in _REPLACING_KINDS
    ]
    for reason in sorted(path for path in exact if _is_input(path, step)) or step.get("replaceReasons") or ():
        yield FieldEffect(str(reason), str(reason), None, None, UpdateEffect.REPLACE)


def _is_input(path: str, step: Mapping[str, Any]) -> bool:
    """Return whether the program sets a field; one that the provider computes changes because another one does."""
    return any(_has_path(_state(step, key).get("inputs"), path) for key in ("oldState", "newState"))


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
