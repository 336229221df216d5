"""The option `--as-of DATE`, which every verb has that reads a stack: the day that its warnings compare dates with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import date
from functools import wraps
from typing import Annotated, Any

import typer

from berth.clock import as_of, on_day, parse_day

_Option = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="Compare dates with this day instead of today.")
]


def with_as_of(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a verb's function with the option, which sets the day before the function runs."""

    @wraps(command)
    def run(*, as_of: str | None = None, **arguments: Any) -> None:
        with on_day(_day(as_of)):
            command(**arguments)

    signature = inspect.signature(command, eval_str=True)
    option = inspect.Parameter("as_of", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Option)
    setattr(run, "__signature__", signature.replace(parameters=[*signature.parameters.values(), option]))  # noqa: B010
    return run


def _day(written: str | None) -> date:
    """Return the day that is written, that of BERTH_AS_OF, or today; exit 2 if it is not a date."""
    try:
        with on_day(parse_day(written) if written else None):
            return as_of()
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--as-of") from None
