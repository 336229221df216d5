"""Every stack file of the repository, read, proved and run once; and the goldens it is compared with.

The only place where tests load one: a stack file that is added is tested by all that is marked `every_stack`.
"""

from __future__ import annotations

import base64
import difflib
import io
import json
import os
import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from berth.cli.plan.fleet import fleet_plan_as_json
from berth.cli.preview.live_cluster import answer_function
from berth.cli.render import output
from berth.engine import Preview, RecordedResource, run_program
from berth.engine.answers import CERTIFICATE, plausible_outputs
from berth.evaluate import Evaluation, evaluate_stack
from berth.plan.fleet import FleetPlan

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
ALL_STACKS = {
    file.stem.removeprefix("Pulumi."): file
    for file in sorted([*ROOT.glob("stacks/examples/*.yaml"), *ROOT.glob("Pulumi.*.yaml")])
}
"""Stack name to file: the stacks of the project and the examples."""
ACK_STACKS = {
    name: file for name, file in ALL_STACKS.items() if re.search(r"^    ack:", file.read_text(encoding="utf-8"), re.M)
}
"""Those of fleets on Alibaba Cloud."""
TEAM_STACKS = {name: file for name, file in ALL_STACKS.items() if "  berth:team:" in file.read_text(encoding="utf-8")}
"""Those of teams."""
GKE_STACKS = {name: file for name, file in ALL_STACKS.items() if name not in ACK_STACKS | TEAM_STACKS}
"""All others: of fleets on GKE."""
FLEET_STACKS = GKE_STACKS | ACK_STACKS
"""Those of fleets, wherever they stand."""

every_team_stack = pytest.mark.parametrize("stack", list(TEAM_STACKS))
every_stack = pytest.mark.parametrize("stack", list(GKE_STACKS))
every_fleet = pytest.mark.parametrize("stack", list(FLEET_STACKS))


@cache
def evaluation(stack: str) -> Evaluation:
    """What Berth says of a stack, read from its file."""
    return evaluate_stack(str(ALL_STACKS[stack]), ROOT)


def plan(stack: str) -> FleetPlan:
    """The plan of a sound stack."""
    result = evaluation(stack)
    assert result.fleet_plan is not None
    assert [problem.line() for problem in result.faults] == []
    return result.fleet_plan


def plan_json(stack: str) -> dict[str, Any]:
    """The plan as `berth plan --json` gives it, through JSON and back."""
    return json.loads(json.dumps(fleet_plan_as_json(evaluation(stack))))


def fleet_values(stack: str) -> dict[str, Any]:
    """What stands under `berth:fleet`, with the teams of its team files; a copy that the caller may change."""
    file = evaluation(stack).file
    assert file is not None
    return json.loads(json.dumps(file.fleet))


PLANTED = "ya29.planted-and-found-again"
"""A token that providers answer with in every update; tests/stacks/test_secrets.py searches for it."""


def answers_with_tokens(one: RecordedResource) -> tuple[str, Mapping[str, object]]:
    """The answers of providers, with a token in each answer that has one."""
    made, outputs = plausible_outputs(one)
    if one.type == "kubernetes:core/v1:Secret":
        token = base64.b64encode(PLANTED.encode()).decode()
        return made, {**outputs, "data": {"ca.crt": CERTIFICATE, "token": token}}
    return made, outputs


@cache
def run_stack(stack: str, preview: bool) -> Preview:
    """The whole program, run on the stack's config as the engine would hand it over; one run for all tests."""
    file = evaluation(stack).file
    assert file is not None
    config = dict(file.config)
    answer_lookup = partial(answer_function, evaluation(stack).fleet_plan)
    return run_program(
        ROOT,
        stack,
        config.pop("berth:fleet"),
        config,
        preview=preview,
        answers=answers_with_tokens,
        invoke=answer_lookup,
    )


def resources(stack: str, preview: bool) -> list[RecordedResource]:
    """What the program registers, without the stack itself and the providers."""
    return [r for r in run_stack(stack, preview).resources if not r.type.startswith("pulumi:")]


def clusters(stack: str) -> list[tuple[str, FleetPlan]]:
    """Each cluster's plan after the prefix of its resources' names: the fleet's own or manager's ("", without the pools
    that are its workers'), then workers' (`east/`).
    """
    fleet_plan = plan(stack)
    own_plan = replace(fleet_plan, pools=fleet_plan.own_pools)
    return [("", own_plan), *((f"{worker.name}/", worker.plan) for worker in fleet_plan.workers)]


def in_cluster(registered: list[RecordedResource], prefix: str, stack: str) -> list[RecordedResource]:
    """Those of some resources that are a cluster's, by its prefix."""
    others = tuple(each for each, _ in clusters(stack) if each)
    return [
        r for r in registered if (r.name.startswith(prefix) if prefix else not r.name.startswith(others or ("//",)))
    ]


def rendered(stack: str) -> str:
    """What `berth render` prints of a stack without faults, of any kind."""
    stream, any_plan = io.StringIO(), evaluation(stack).plan
    assert any_plan is not None
    assert [problem.line() for problem in evaluation(stack).faults] == []
    output.write_objects(any_plan, stream)
    return stream.getvalue()


def assert_golden(text: str, file: Path) -> None:
    """The text is what the golden file holds, exactly; with BERTH_GOLDEN=write it becomes that."""
    name = file.relative_to(ROOT)
    if os.environ.get("BERTH_GOLDEN") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if not file.is_file():
        pytest.fail(f"there is no {name}: write it with `make golden`, read it, and commit it", pytrace=False)
    expected = file.read_text(encoding="utf-8")
    if expected != text:
        message = f"{name} is not what comes out now; if it should be, `make golden` and read the difference:"
        pytest.fail("\n  ".join([message, *_difference(expected, text)]), pytrace=False)


def _difference(expected: str, actual: str) -> list[str]:
    """A few lines of what differs."""
    lines = list(difflib.unified_diff(expected.splitlines(), actual.splitlines(), n=0, lineterm=""))[2:]
    return lines if len(lines) <= 40 else [*lines[:40], f"… and {len(lines) - 40} lines more"]
