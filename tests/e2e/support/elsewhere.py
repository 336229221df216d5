"""External inputs of a stack for a real engine: outputs of other stacks, and secrets of its config.

The stand-ins are those of `berth preview`, so that two previews of one program are given the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from berth.cli.preview.tree import stand_in_references, stand_in_secrets
from berth.evaluate import evaluate_stack
from tests.e2e.support.project import output

_SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}  # sdk/go/common/resource/sig


def provide(project: Path, stack: str, environment: Mapping[str, str]) -> None:
    """Make the stacks that `stack` refers to, with their outputs, and set its secrets. A deployed one is not needed."""
    evaluation = evaluate_stack(stack, project)
    for name, (outputs, secret) in stand_in_references(evaluation, project).items():
        _exporting(name, {key: _kept(value, key in secret) for key, value in outputs.items()}, project, environment)
    for key, value in stand_in_secrets(evaluation).items():
        _pulumi(project, environment, "config", "set", "--secret", key, value, "--stack", stack)


def _exporting(name: str, outputs: Mapping[str, object], project: Path, environment: Mapping[str, str]) -> None:
    """A stack with nothing but outputs: its own resource, in a state that is imported."""
    _pulumi(project, environment, "stack", "init", name)
    state: Any = json.loads(_pulumi(project, environment, "stack", "export", "--stack", name))
    _, owner, stack = name.split("/")
    kind = "pulumi:pulumi:Stack"
    urn = f"urn:pulumi:{stack}::{owner}::{kind}::{owner}-{stack}"
    state["deployment"]["resources"] = [{"urn": urn, "custom": False, "type": kind, "outputs": outputs}]
    _pulumi(project, environment, "stack", "import", "--stack", name, given=json.dumps(state))
    # The engine wrote a file for it, which would be taken for a stack of this repository.
    (project / f"Pulumi.{stack}.yaml").unlink(missing_ok=True)


def _kept(value: object, secret: bool) -> object:
    """Return an output as state that is to be imported spells it."""
    return {**_SECRET, "plaintext": json.dumps(value)} if secret else value


def _pulumi(project: Path, environment: Mapping[str, str], *words: str, given: str | None = None) -> str:
    return output(["pulumi", *words, "--non-interactive"], project, environment, given)
