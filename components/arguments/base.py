"""What the classes of arguments have in common: they are read, checked and refused as a whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeVar, cast, dataclass_transform

import pulumi
from msgspec import Struct
from pulumi.output import Unknown

from berth.diagnostics import FieldPath, Problem, Severity, format_value
from berth.names import to_camel
from berth.parts.context import distinct_faults, meant_argument
from berth.parts.live import ALSO_PLAIN, live_fault
from berth.parts.spelling import in_python, keys_in_python, with_stack_file_keys
from berth.spec.model import Model

_SIMPLE: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "str": ("text", (str,)),
    "bool": ("True or False", (bool,)),
    "int": ("a whole number", (int,)),
}
"""Annotation of a plain argument → what it takes, in words and as types."""
_LIST = "pulumi.Input[Sequence["
"""Start of the annotation of an argument that is a list or an output, of texts or outputs."""


class GivenArguments(Struct, frozen=True):
    """The arguments of one component with the keys of a stack file, and what is wrong with them.

    `plain` ones are known when the program runs, `live` ones may be outputs of other resources.
    """

    plain: Mapping[str, Any]
    live: Mapping[str, pulumi.Input[Any]]
    problems: tuple[Problem, ...]

    def known(self, key: str) -> str | None:
        """The value of a live argument that is no output; None for an output."""
        value = self.live.get(key)
        return value if isinstance(value, str) else None


class Part(Protocol):
    """What is planned of the arguments of one component."""

    @property
    def problems(self) -> Sequence[Problem]:
        """What is wrong with the arguments."""
        ...


T = TypeVar("T")
P = TypeVar("P", bound=Part)


@dataclass_transform(kw_only_default=True)
class ComponentArguments:
    """Arguments of a component. The component refuses them, with every fault in one error, or takes them as they are.

    The fields of a class are its arguments: those with a type of `pulumi.Input` may be outputs.
    """

    models: ClassVar[Sequence[type[Model]]] = ()
    """Models of the stack file that have the arguments as keys."""

    def __init__(self, **values: Any) -> None:
        self.values = {name: value for name, value in values.items() if value is not None}

    @classmethod
    def of(cls, args: T, component: str) -> T:
        """Return what a component of this name was given; a mapping, and nothing, as arguments of this class.

        Raises pulumi.RunError for the arguments of another component, of which none would be read.
        """
        given: Any = args
        if isinstance(given, Mapping) or given is None:
            return cast("Any", cls(**{str(key): value for key, value in (given or {}).items()}))
        if isinstance(given, ComponentArguments) and not isinstance(given, cls):
            kind = cls.__name__.removesuffix("Args")
            raise pulumi.RunError(f"{kind} '{component}' takes {cls.__name__}, and was given {type(given).__name__}")
        return args

    @classmethod
    def types(cls) -> Mapping[str, str]:
        """Return the type of each argument, by name."""
        own = cls.__annotations__
        return {name: text for name, text in own.items() if not text.startswith("ClassVar")}

    def given(self, component: str) -> GivenArguments:
        """Return the arguments that the component of this name was given; faulty ones are left out.

        A live one that is known is checked now, and an output as soon as it is known.
        """
        kinds = self.types()
        live = {name for name, text in kinds.items() if text.startswith("pulumi.Input[")}
        known = {name: value for name, value in self.values.items() if name in kinds}
        plain = {name: value for name, value in known.items() if name not in live}
        wrong = dict(_wrong_types(plain, kinds))
        plain |= {name: value for name, value in known.items() if name in live and _is_planned_with(name, value)}
        written = {to_camel(name): without_outputs(value) for name, value in plain.items() if name not in wrong}
        problems = [
            *(_unknown(type(self), name, value) for name, value in self.values.items() if name not in kinds),
            *(problem for name, value in plain.items() for problem in outputs_in(value, (to_camel(name),))),
            *wrong.values(),
            *(
                problem
                for name in sorted(live & known.keys())
                for problem in _wrong_live(name, kinds[name], known[name], written)
            ),
            *self._missing(),
        ]
        return GivenArguments(
            {
                **self._misspelt({name for name in kinds if name not in live}),
                **{
                    to_camel(name): with_stack_file_keys(self.models, name, without_outputs(value))
                    for name, value in plain.items()
                    if name not in wrong
                },
            },
            {to_camel(name): self._checked(component, name, known[name], written) for name in known if name in live},
            tuple(problems),
        )

    def _misspelt(self, plain: Collection[str]) -> dict[str, Any]:
        """Return the values of misspelt arguments as they are written, with the keys of the argument that is meant."""
        arguments = {to_camel(name): name for name in plain}
        meant = {name: arguments.get(meant_argument(name, arguments, value)[0]) for name, value in self.values.items()}
        return {
            name: with_stack_file_keys(self.models, meant_name, without_outputs(self.values[name]))
            for name, meant_name in meant.items()
            if meant_name is not None and name not in self.types()
        }

    def _checked(self, component: str, name: str, value: Any, written: Mapping[str, Any]) -> Any:
        """Return a live argument; an output is refused when it is known to be wrong, before anything is made of it."""
        if not any(map(is_output, value if isinstance(value, list | tuple) else (value,))):
            return value

        def require_sound(known: object) -> object:
            if known is not None and (problem := live_fault(to_camel(name), known, written)):
                raise self._refusal(component, in_python([problem], self.models))
            return known

        return pulumi.Output.from_input(value).apply(require_sound)

    def _missing(self) -> Iterator[Problem]:
        """Yield a fault for each argument that is missing."""
        component = type(self).__name__.removesuffix("Args")
        for name in self.types():
            if not hasattr(type(self), name) and name not in self.values:
                message = f"is missing; {component} needs it"
                yield Problem(Severity.FAULT, "missing-key", (to_camel(name),), message)

    def check(self, component: pulumi.Resource, name: str, problems: Sequence[Problem]) -> None:
        """Log the warnings among the problems as the component's. Raises pulumi.RunError with a line for each fault."""
        for problem in in_python((each for each in problems if each.severity == Severity.WARNING), self.models):
            pulumi.log.warn(problem.line_without_severity(), component)
        faults = [*in_python(distinct_faults(problems, [*map(to_camel, self.types())]), self.models)]
        if faults:
            raise self._refusal(name, faults)

    def planned(
        self,
        component: pulumi.Resource,
        name: str,
        plan: Callable[[str, Mapping[str, Any], Sequence[Problem]], P],
    ) -> tuple[GivenArguments, P]:
        """Return the arguments that the component of this name was given, and what is planned of the plain ones.

        Raises pulumi.RunError as `check` does.
        """
        given = self.given(name)
        part = plan(name, given.plain, given.problems)
        self.check(component, name, part.problems)
        return given, part

    def _refusal(self, component: str, faults: Iterable[Problem]) -> pulumi.RunError:
        kind = type(self).__name__.removesuffix("Args")
        lines = (each.line_without_severity() for each in faults)
        return pulumi.RunError("\n".join([f"{kind} '{component}' is refused:", *lines]))


def _wrong_types(plain: Mapping[str, Any], kinds: Mapping[str, str]) -> Iterator[tuple[str, Problem]]:
    for name, value in plain.items():
        noun, accepted = _SIMPLE.get(kinds[name].removesuffix(" | None"), ("", (object,)))
        is_wrong = not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted and bool(noun))
        if is_wrong and not is_output(value):
            message = f"'{format_value(value)}' has another type; write {noun}"
            yield name, Problem(Severity.FAULT, "bad-type", (to_camel(name),), message)


def _is_planned_with(name: str, value: object) -> bool:
    """Whether a live argument is known, and a key of the stack file, whose rules then hold for it."""
    return isinstance(value, str) and to_camel(name) in ALSO_PLAIN


def _wrong_live(name: str, kind: str, value: object, written: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a fault if neither a text nor an output, such as a component in the place of its output, was given.

    A text, or a list of the `kind`, must be what the argument takes, and agree with the `written` plain ones.
    """
    if _is_planned_with(name, value):
        return
    if isinstance(value, pulumi.Resource):
        message = f"is a {type(value).__name__}; write one of its outputs"
    elif isinstance(value, str) or (_LIST in kind and not is_output(value)):
        if problem := live_fault(to_camel(name), without_outputs(value), written):
            yield problem
        return
    elif isinstance(value, int | float | Mapping | list | tuple):
        message = f"'{format_value(value)}' has another type; write text, or an output"
    else:
        return
    yield Problem(Severity.FAULT, "bad-type", (to_camel(name),), message)


def _unknown(arguments: type[ComponentArguments], name: str, value: object) -> Problem:
    _, hint = meant_argument(name, [*map(to_camel, arguments.types())], value)
    shown = keys_in_python(hint) or f"; {arguments.__name__} lists what there is"
    return Problem(Severity.FAULT, "unknown-key", (name,), f"unknown argument{shown}")


def outputs_in(value: object, path: FieldPath) -> Iterator[Problem]:
    """Yield a fault for every value that is an output, an asset or a resource: the plan needs plain values."""
    if isinstance(value, Mapping):
        for key, inner in cast("Mapping[str, object]", value).items():
            yield from outputs_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(cast("Sequence[object]", value)):
            yield from outputs_in(inner, (*path, index))
    elif is_output(value):
        message = (
            "is an output of a resource or a secret, and the plan is made before either is known; write a plain value"
        )
        yield Problem(Severity.FAULT, "bad-type", path, message)
    elif isinstance(value, pulumi.Asset | pulumi.Archive | pulumi.Resource):
        yield Problem(Severity.FAULT, "bad-type", path, f"is a {type(value).__name__}; write a plain value")


def is_output(value: object) -> bool:
    """Whether a value is only known once something exists."""
    return isinstance(value, pulumi.Output | Unknown)


def without_outputs(value: Any) -> Any:
    """Return the value with None for outputs: the rest can still be checked."""
    if isinstance(value, Mapping):
        return {key: without_outputs(inner) for key, inner in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [without_outputs(inner) for inner in cast("Sequence[Any]", value)]
    return None if is_output(value) or isinstance(value, pulumi.Asset | pulumi.Archive | pulumi.Resource) else value
