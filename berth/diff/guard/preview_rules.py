"""What the guard has to know of a stack: which steps of a preview lose a protected resource, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.preview_steps import PreviewStep
from berth.plan.allowances import AllowancesPlan
from berth.registration import Registration


class PreviewRules(Struct, frozen=True):
    """The rules for a stack whose program registers `least_resources` or more; by default nothing is protected.

    `lost_resource` returns the loss of the resource of a step, without what allows it; None if it is not protected.
    `losses` yields those that are not a step of a protected resource. `allowances_of` are those of the stack (None), or
    of one of its `workers`. `names` are those of workers by what names in the program begin with, where these differ.
    `objects` are the Kubernetes objects of the stack file, without those of workers.
    `registrations` are the cloud resources that the program registers, by type and name in the program, with today's
    name of the worker.
    `guards_objects` is whether namespaces, policies and controllers are protected.
    """

    least_resources: int
    lost_resource: Callable[[PreviewStep, GuardedAction], GuardedChange | None] = lambda step, action: None
    losses: Callable[[Sequence[PreviewStep]], Iterable[GuardedChange]] = lambda steps: ()
    allowances_of: Callable[[str | None], AllowancesPlan] = lambda worker: AllowancesPlan()
    workers: frozenset[str] = frozenset()
    names: Mapping[str, str] = MappingProxyType({})
    objects: Callable[[], Iterable[Mapping[str, Any]]] = lambda: ()
    registrations: Callable[[], Mapping[tuple[str, str], Registration]] = dict
    guards_objects: bool = False
