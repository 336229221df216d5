"""What the guard has to know of a stack: which steps of a preview lose a protected resource, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.diff.guard.preview_steps import PreviewStep
from berth.plan.fleet import AllowancesPlan
from berth.registration import Registration

STACK_REFERENCE: Final = "pulumi:pulumi:StackReference"


class Expected(Struct, frozen=True):
    """Everything that a program registers besides components: any other resource is none of this stack file.

    `objects` are Kubernetes objects, each with the worker that it is in, or "". `registrations` are all else, by type
    and name in the program: resources in a cloud, Helm releases, providers and references to other stacks.
    """

    objects: tuple[tuple[str, Mapping[str, Any]], ...]
    registrations: Mapping[tuple[str, str], Registration]


def connections(
    *made: tuple[str, Registration], stack: tuple[str, str] | None = None
) -> dict[tuple[str, str], Registration]:
    """Return providers by type and name in the program, and a reference to a `stack`: its name there, and the stack."""
    found = {(each.type, name): each for name, each in made}
    if stack is not None:
        found[STACK_REFERENCE, stack[0]] = Registration(type=STACK_REFERENCE, arguments={"name": stack[1]})
    return found


class PreviewRules(Struct, frozen=True):
    """The rules for a stack whose program registers `least_resources` or more; by default nothing is protected.

    `lost_resource` returns the loss of the resource of a step, without what allows it; None if it is not protected.
    `losses` yields those that are not a step of a protected resource. `allowances_of` are those of the stack (None), or
    of one of its `workers`. `names` are those of workers by what names in the program begin with, where these differ.
    `expected` returns what the program registers, with today's names of workers; None where that is not known.
    `guards_objects` is whether namespaces, policies and controllers are protected.
    """

    least_resources: int
    lost_resource: Callable[[PreviewStep, GuardedAction], GuardedChange | None] = lambda step, action: None
    losses: Callable[[Sequence[PreviewStep]], Iterable[GuardedChange]] = lambda steps: ()
    allowances_of: Callable[[str | None], AllowancesPlan] = lambda worker: AllowancesPlan()
    workers: frozenset[str] = frozenset()
    names: Mapping[str, str] = MappingProxyType({})
    expected: Callable[[], Expected] | None = None
    guards_objects: bool = False
