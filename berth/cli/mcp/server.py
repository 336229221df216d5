"""The tools of `berth mcp`: each runs a verb as the command line does, and returns what it prints."""

from __future__ import annotations

import io
import json
import pathlib
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.metadata import version
from typing import Any

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

from berth.cli.arguments import or_example, project_root
from berth.loader.locate import locate

_ONE_AT_A_TIME = threading.Lock()
"""The output of a verb is collected from stdout, of which a process has one."""

_INSTRUCTIONS = (
    "Berth plans accelerator fleets: GKE machines and Kueue queues from one stack file. A stack is a name (dev means "
    "Pulumi.dev.yaml) or a path. Take every number from these tools. In an answer, `exit` is 0 without faults, 1 with "
    "faults, 3 if a change is blocked; `messages` are lines that say what is wrong and what to write."
)


def build_server() -> MCPServer[Any]:
    """Return the server with its tools."""
    server: MCPServer[Any] = MCPServer("berth", version=version("berth"), instructions=_INSTRUCTIONS)
    for tool in (check, plan, lint, admit, explain, diff):
        server.tool(annotations=ToolAnnotations(read_only_hint=True))(tool)
    return server


def check(stack: str) -> dict[str, Any]:
    """Check a stack file: every fault and warning, with line, path and what to write."""
    return _run_verb(["check", "--format", "json", "--"], stack)


def plan(stack: str, team: str | None = None) -> dict[str, Any]:
    """Show machines, quotas, and what each team is guaranteed and can use; with a team, what its lead asks."""
    return _run_verb(["plan", "--json", *_option("--team", team), "--"], stack)


def lint(stack: str, manifest: str, team: str | None = None) -> dict[str, Any]:
    """Say whether jobs can run, and in which queue. `manifest` is YAML text. The verdict is runs, never or unknown."""
    with _file(manifest) as name:
        return _run_verb(["lint", "--json", *_option("--team", team), "--"], stack, manifest=name)


def admit(stack: str, manifest: str, team: str | None = None) -> dict[str, Any]:
    """Simulate Kueue: which jobs of a manifest (YAML text, in order of arrival) are admitted, wait or are preempted."""
    with _file(manifest) as name:
        return _run_verb(["admit", "--json", *_option("--team", team), "--"], stack, manifest=name)


def explain(code: str) -> dict[str, Any]:
    """Explain the code at the end of a message: cause, what to do, an example."""
    return _run_verb(["explain", "--", code])


def diff(old: str, new: str) -> dict[str, Any]:
    """Show what a change does to teams and machines; `old` and `new` are stacks, or stacks at a revision (main:dev)."""
    return _run_verb(["diff", "--format", "json", "--"], old, new)


def _option(name: str, value: str | None) -> list[str]:
    return [] if value is None else [f"{name}={value}"]


@contextmanager
def _file(text: str) -> Generator[str]:
    """Yield the name of a file with the text: stdin is the protocol's."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "manifest.yaml"
        file.write_text(text, encoding="utf-8")
        yield str(file)


def _run_verb(words: list[str], *stacks: str, manifest: str | None = None) -> dict[str, Any]:
    """Run a verb; return its exit status, its answer (JSON, or text) and what it prints besides.

    Messages quote the lines of a file, so a stack outside the folder of the project is refused: an assistant asks for
    what a text told it, and the text may come from anybody.
    """
    from typer.main import get_command

    from berth.cli import app

    refused = [
        f"{each}: error: not in the folder of the project, which is all that berth mcp reads"
        for each in stacks
        if _is_outside(each)
    ]
    if refused:
        return {"exit": 1, "answer": "", "messages": refused}
    words = [*words, *stacks, *([] if manifest is None else [manifest])]
    output, messages = io.StringIO(), io.StringIO()
    with _ONE_AT_A_TIME, redirect_stdout(output), redirect_stderr(messages):
        try:
            status = get_command(app).main(words, prog_name="berth", standalone_mode=True)
        except SystemExit as end:
            status = end.code
    text = output.getvalue()
    answer = json.loads(text) if text.startswith(("{", "[")) else text
    return {"exit": status or 0, "answer": answer, "messages": messages.getvalue().splitlines()}


def _is_outside(stack: str) -> bool:
    """Whether the file that a stack's name or path means is outside the project; one at a revision is git's."""
    root = project_root()
    try:
        return not locate(or_example(stack), root).file.resolve().is_relative_to(root.resolve())
    except ValueError:  # a NUL byte in the name, which no file has
        return False
