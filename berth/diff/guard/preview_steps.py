"""What the guard reads of a preview: steps, errors and checks that both formats share; and what it knows of a stack."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

from msgspec import Struct

from berth.diff.guard.allowances import GuardedAction
from berth.diff.guard.changes import GuardedChange
from berth.plan.fleet import AllowancesPlan
from berth.registration import Registration

REPLACING_OPS: Final = ("replace", "create-replacement", "delete-replaced", "import-replacement")
HARMLESS_OPS: Final = (
    "same",
    "create",
    "update",
    "read",
    "read-replacement",
    "refresh",
    "import",
    "discard",
    "discard-replaced",
    "remove-pending-replace",
)
"""Operations that delete nothing in the cloud; `discard` operations only remove resources from the state."""
KNOWN_OPS: Final = frozenset({*REPLACING_OPS, *HARMLESS_OPS, "delete"})

HIDDEN: Final = "[secret]"
"""How the engine prints a secret; as an expected value, one that may not be printed in another way."""
HIDDEN_VALUES: Final = (HIDDEN, "[unknown]", "04da6b54-80e4-46f7-96ec-b56ff0331ba9")
"""How the engine prints a secret, and a value that is not known before the update."""
_SIGNATURE: Final = ("4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270")
"""The key and value by which the engine marks a secret in an event."""

STDIN: Final = "stdin"
"""What faults call the standard input."""

Record = dict[str, Any]


class PreviewFormatError(Exception):
    """The input is not a preview that can be checked; `reason` says why, in one line.

    `is_unknown` is whether a newer engine may have written it, so that the same command would print it again.
    """

    def __init__(self, reason: str, *, is_unknown: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_unknown = is_unknown

    def line(self, name: str, stack: str) -> str:
        """Return the fault of the file `name`, with the command that writes a preview."""
        if self.is_unknown:
            return f"{name}: this preview cannot be checked: {self.reason}"
        file = f" > {name}" if name != STDIN else ""
        return (
            f"{name}: not the output of `pulumi preview --json`: {self.reason}; write it with "
            f"`pulumi preview --stack {stack} --json{file}`"
        )


@contextlib.contextmanager
def refusing_odd_shapes() -> Generator[None]:
    """Raise PreviewFormatError where a value in a preview is of another type than the engine prints."""
    try:
        yield
    except UnicodeDecodeError:
        raise PreviewFormatError("it is not UTF-8") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise PreviewFormatError(f"a value in it is of another type ({message})") from error


def is_hidden(value: object) -> bool:
    """Return whether the engine shows no value: a secret, or one that is not known before the update."""
    if isinstance(value, Mapping):
        key, mark = _SIGNATURE
        return cast("Mapping[str, object]", value).get(key) == mark
    return value in HIDDEN_VALUES


class PreviewStep(Struct, frozen=True):
    """The operation of a preview on one resource, with the resource's state before (`old`) and after (`new`).

    `details` are the changed fields by path, `reasons` the inputs that replace the resource, `changed` those that
    differ, also where their values are hidden; None if the engine does not say.
    """

    op: str
    urn: str
    old: Mapping[str, Any] | None = None
    new: Mapping[str, Any] | None = None
    details: Mapping[str, Mapping[str, Any]] | None = None
    reasons: Sequence[object] | None = None
    changed: Sequence[object] | None = None

    @property
    def type(self) -> str:
        """The provider's type token of the resource."""
        return self.urn.rpartition("::")[0].rpartition("::")[2].rpartition("$")[2]

    @property
    def name(self) -> str:
        """The name of the resource in the program."""
        return self.urn.rpartition("::")[2]

    @property
    def is_component(self) -> bool:
        """Whether the resource only groups others: it has no provider, and no inputs that say anything."""
        return self.type.startswith(("berth:", "pulumi:pulumi:"))

    @property
    def is_leftover(self) -> bool:
        """Whether it ends what an earlier update replaced and did not delete yet; its URN is that of the new resource.

        A replacement marks the old state in the same way, once the new resource is made.
        """
        return bool((self.old or {}).get("delete")) and self.op not in REPLACING_OPS

    @property
    def inputs(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The inputs before and after; empty where the resource does not exist or the engine does not print them."""
        return (self.old or {}).get("inputs") or {}, (self.new or {}).get("inputs") or {}

    @property
    def action(self) -> GuardedAction | None:
        """What happens to the old resource, None if it remains; a node pool that moves to other zones is replaced."""
        if self.op == "update":
            before, after = (set[str](inputs.get("nodeLocations") or ()) for inputs in self.inputs)
            return GuardedAction.REPLACE if before and after and before.isdisjoint(after) else None
        if self.op in REPLACING_OPS:
            return GuardedAction.REPLACE
        is_kept = bool((self.old or {}).get("retainOnDelete"))  # it leaves the state, and stays in the cloud
        return GuardedAction.DELETE if self.op == "delete" and not is_kept else None


class EnginePreview(Struct, frozen=True):
    """The steps of a preview, and the messages of its errors.

    `printed` is what the program wrote on stderr, `counts` the engine's number of resources by operation, and `config`
    the stack's configuration as the engine had it; None where the engine does not say. `doubts` are why the file may
    not be one whole preview, `is_stream` whether it lists every event.
    """

    steps: tuple[PreviewStep, ...]
    errors: tuple[str, ...]
    printed: tuple[str, ...] = ()
    counts: Mapping[str, int] | None = None
    config: Mapping[str, object] | None = None
    doubts: tuple[str, ...] = ()
    is_stream: bool = False

    @property
    def lists_all(self) -> bool:
        """Whether the steps have every resource, also what stays as it is: in a stream, or with `--show-sames`."""
        listed = sum(step.op == "same" for step in self.steps)
        return self.is_stream or (self.counts is not None and listed == self.counts.get("same", 0))

    @property
    def only_refreshed(self) -> frozenset[str]:
        """The URNs of resources that are read, and of which the run says nothing else."""
        others = {step.urn for step in self.steps if step.op != "refresh"}
        return frozenset(step.urn for step in self.steps if step.urn not in others)

    @property
    def registered(self) -> int | None:
        """The number of resources that the program registered, None where the engine does not say."""
        if not self.counts:
            return None
        return sum(count for op, count in self.counts.items() if not op.startswith(("delete", "discard", "refresh")))


def unknown_keys(record: Mapping[str, Any], known: frozenset[str], title: str) -> list[str]:
    """Return a doubt for each key that this version of Berth does not know: it may hold what the others do not say."""
    return [f"{title} has the key '{key}', which this version of Berth does not know" for key in record.keys() - known]


def messages(diagnostics: Iterable[Record], severity: str) -> list[str]:
    """Return the messages of one severity."""
    return [
        f"{each.get('prefix', '')}{each.get('message', '')}" for each in diagnostics if each.get("severity") == severity
    ]


def unknown_severities(diagnostics: Iterable[Record]) -> list[str]:
    """Return a doubt for each severity that the engine does not have: such a message may be an error."""
    unknown = {str(each.get("severity", "")) for each in diagnostics} - {
        "debug",
        "info",
        "info#err",
        "warning",
        "error",
    }
    return [f"a message has the severity '{each}', which this version of Berth does not know" for each in unknown]


def checked_preview(
    steps: list[PreviewStep],
    errors: list[str],
    printed: list[str],
    counts: object,
    config: object,
    doubts: list[str],
    *,
    is_stream: bool,
) -> EnginePreview:
    """Return the preview. Raises PreviewFormatError for an unknown operation, and for one without any content."""
    if unknown := sorted({step.op for step in steps} - KNOWN_OPS):
        raise PreviewFormatError(f"this version of Berth does not know the operation '{unknown[0]}'", is_unknown=True)
    if counts is not None and not isinstance(counts, Mapping):
        raise PreviewFormatError("its summary must be an object of numbers")
    summary = cast("Mapping[str, object]", counts or {})
    for op, count in summary.items():
        if op not in KNOWN_OPS:
            raise PreviewFormatError(f"this version of Berth does not know the operation '{op}'", is_unknown=True)
        if type(count) is not int or count < 0:
            raise PreviewFormatError(f"its summary counts '{count}' × {op}, which is not a number of resources")
    if not steps and not errors and not summary and not printed:
        raise PreviewFormatError("it has no steps, no summary and no error")
    if config is not None and not isinstance(config, Mapping):
        raise PreviewFormatError("its config must be an object")
    return EnginePreview(
        tuple(steps),
        tuple(errors),
        tuple(printed),
        cast("Mapping[str, int]", summary) or None,
        cast("Mapping[str, object] | None", config) or None,
        tuple(dict.fromkeys(doubts)),
        is_stream,
    )


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
