"""`berth explain`: what a code in a message means, with an example and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import indent, wrap
from typing import Annotated

import typer

from berth.cli.arguments import EXIT_USAGE
from berth.diagnostics import did_you_mean
from berth.diagnostics.explanations import Example, Explanation, explanations

_WIDTH = 100


def complete_code(incomplete: str) -> list[str]:
    """Return the codes that start with what is typed."""
    return [code for code in explanations() if code.startswith(incomplete)]


Codes = Annotated[
    list[str] | None,
    typer.Argument(metavar="CODE", help="Codes as messages show them in brackets.", autocompletion=complete_code),
]
EPILOG = "Example: berth explain overcommitted"


def explain_command(codes: Codes = None) -> None:
    """Explain the code of a message.

    Prints the cause, what to do and an example. Without a CODE it lists every code.
    """
    if not codes:
        typer.echo("\n".join(_list_lines()))
        return
    requested = [code.strip("[]") for code in codes]
    unknown = [code for code in requested if code not in explanations()]
    for code in unknown:
        hint = did_you_mean(code, explanations()) or "; berth explain lists every code"
        typer.echo(f"no code '{code}'{hint}", err=True)
    if unknown:
        raise typer.Exit(EXIT_USAGE)
    typer.echo("\n\n".join(explanation_text(explanations()[code]) for code in requested))


def _list_lines() -> Iterator[str]:
    width = max(map(len, explanations()))
    for code, each in explanations().items():
        yield f"{code.ljust(width)}   {_without_links(each.cause)}"


def explanation_text(explanation: Explanation) -> str:
    """Return the explanation of one code as paragraphs."""
    return "\n\n".join(_paragraphs(explanation))


def _paragraphs(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.code}: a {_severity(explanation)} of berth {explanation.of.replace(', ', ', berth ')}"
    yield _labelled("Cause", _without_links(explanation.cause))
    yield _labelled("What to do", _without_links(explanation.remedy))
    if explanation.example is not None:
        yield _example_text(explanation.example)


def _without_links(text: str) -> str:
    """Return Markdown with the files of its links in place of the links: `docs/hardware.md`."""
    return re.sub(r"\[[^\]]*\]\((?!http)([^)#]+)[^)]*\)", r"docs/\1", text)


def _severity(explanation: Explanation) -> str:
    return explanation.example.severity if explanation.example else "message"


def _labelled(label: str, sentence: str) -> str:
    lines = wrap(sentence, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join([f"{label}:", *lines])


def _example_text(example: Example) -> str:
    if not example.edit:
        return f"Example:\n  {example.line}"
    return f"Example: this edit of a stack file\n{indent(example.edit.rstrip(), '  ')}\nprints\n  {example.line}"
