"""`berth explain`: what a code in a message means, with an example and what to do."""

from __future__ import annotations

import re
from textwrap import indent, wrap
from typing import Annotated

import typer

from berth.cli.arguments import EXIT_USAGE
from berth.diagnostics import did_you_mean
from berth.diagnostics.explanations import Explanation, explanations

_WIDTH = 100


def complete_code(incomplete: str) -> list[str]:
    """Return the codes that start with what is typed."""
    return [code for code in explanations() if code.startswith(incomplete)]


EPILOG = "Example: berth explain overcommitted"


def explain_command(
    codes: Annotated[
        list[str] | None,
        typer.Argument(metavar="CODE", help="Codes as messages show them in brackets.", autocompletion=complete_code),
    ] = None,
) -> None:
    """Explain the code of a message.

    Prints the cause, what to do and an example. Without a CODE it lists every code.
    """
    if not codes:
        width = max(map(len, explanations()))
        for code, each in explanations().items():
            typer.echo(f"{code.ljust(width)}   {_without_links(each.cause)}")
        return
    requested = [code.strip("[]") for code in codes]
    unknown = [code for code in requested if code not in explanations()]
    for code in unknown:
        hint = did_you_mean(code, explanations()) or "; berth explain lists every code"
        typer.echo(f"no code '{code}'{hint}", err=True)
    if unknown:
        raise typer.Exit(EXIT_USAGE)
    typer.echo("\n\n".join(explanation_text(explanations()[code]) for code in requested))


def explanation_text(explanation: Explanation) -> str:
    """Return the explanation of one code as paragraphs."""
    example = explanation.example
    severity = example.severity if example else "message"
    paragraphs = [f"{explanation.code}: a {severity} of berth {explanation.of.replace(', ', ', berth ')}"]
    for label, sentence in (("Cause", explanation.cause), ("What to do", explanation.remedy)):
        text = _without_links(sentence)
        lines = wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
        paragraphs.append("\n".join([f"{label}:", *lines]))
    if example and example.edit:
        edit = indent(example.edit.rstrip(), "  ")
        paragraphs.append(f"Example: this edit of a stack file\n{edit}\nprints\n  {example.line}")
    elif example:
        paragraphs.append(f"Example:\n  {example.line}")
    return "\n\n".join(paragraphs)


def _without_links(text: str) -> str:
    """Return Markdown with the files of its links in place of the links: `docs/hardware.md`."""
    return re.sub(r"\[[^\]]*\]\((?!http)([^)#]+)[^)]*\)", r"docs/\1", text)
