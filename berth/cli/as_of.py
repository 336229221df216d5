"""The option `--at DATE` (`--as-of`) of every verb that reads a stack: when guarantees hold and dates are compared."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Annotated, Any

import typer

from berth.clock import AS_OF, instant, on_day, parse_moment

_Option = Annotated[
    str | None,
    typer.Option("--as-of", "--at", metavar="DATE", help="Plan and compare dates as of this day or time, not now."),
]


def with_as_of(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a verb's function with the option, which sets the day before the function runs."""

    @wraps(command)
    def run(*, as_of: str | None = None, **arguments: Any) -> None:
        with on_day(_moment(as_of)):
            command(**arguments)

    signature = inspect.signature(command, eval_str=True)
    option = inspect.Parameter("as_of", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Option)
    setattr(run, "__signature__", signature.replace(parameters=[*signature.parameters.values(), option]))  # noqa: B010
    return run


def _moment(written: str | None) -> datetime:
    """Return the day or time that is written, that of BERTH_AS_OF, or now; exit 2 if it is none."""
    try:
        with on_day(parse_moment(written) if written else None):
            return instant()
    except ValueError as error:
        hint = "--at (--as-of)" if written else AS_OF
        raise typer.BadParameter(str(error), param_hint=hint) from None
