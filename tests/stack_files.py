"""Every stack file of the repository, read, proved and run once; and the goldens it is compared with.

The only place where tests load one: a stack file that is added is tested by all that is marked `every_stack`.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from berth.cli.plan.fleet import as_json
from berth.cli.render import output
from berth.engine import Preview, Recorded, run_program
from berth.evaluate import Verdict, of_stack
from berth.plan.fleet import FleetPlan

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
ALL = {
    file.stem.removeprefix("Pulumi."): file
    for file in sorted([*ROOT.glob("stacks/examples/*.yaml"), *ROOT.glob("Pulumi.*.yaml")])
}
"""Stack name to file: the stacks of the project and the examples."""
ON_ACK = {name: file for name, file in ALL.items() if re.search(r"^    ack:", file.read_text(encoding="utf-8"), re.M)}
"""Those of fleets on Alibaba Cloud."""
TEAMS = {name: file for name, file in ALL.items() if "  berth:team:" in file.read_text(encoding="utf-8")}
"""Those of teams."""
FILES = {name: file for name, file in ALL.items() if name not in ON_ACK | TEAMS}
"""All others: of fleets on GKE."""
FLEETS = FILES | ON_ACK
"""Those of fleets, wherever they stand."""

every_team_stack = pytest.mark.parametrize("stack", list(TEAMS))
every_stack = pytest.mark.parametrize("stack", list(FILES))
every_fleet = pytest.mark.parametrize("stack", list(FLEETS))


@cache
def verdict(stack: str) -> Verdict:
    """What Berth says of a stack, read from its file."""
    return of_stack(str(ALL[stack]), ROOT)


def plan(stack: str) -> FleetPlan:
    """The plan of a sound stack."""
    found = verdict(stack)
    assert found.plan is not None
    assert [problem.line() for problem in found.faults] == []
    return found.plan


def plan_json(stack: str) -> dict[str, Any]:
    """The plan as `berth plan --json` gives it, through JSON and back."""
    return json.loads(json.dumps(as_json(verdict(stack))))


def fleet(stack: str) -> dict[str, Any]:
    """What stands under `berth:fleet`, with the teams of its team files; a copy that the caller may change."""
    file = verdict(stack).file
    assert file is not None
    return json.loads(json.dumps(file.fleet))


@cache
def program(stack: str, preview: bool) -> Preview:
    """The whole program, run on the stack's config as the engine would hand it over."""
    file = verdict(stack).file
    assert file is not None
    config = dict(file.config)
    return run_program(ROOT, stack, config.pop("berth:fleet"), config, preview=preview)


def resources(stack: str, preview: bool) -> list[Recorded]:
    """What the program registers, but for the stack itself and the providers."""
    return [r for r in program(stack, preview).resources if not r.type.startswith("pulumi:")]


def clusters(stack: str) -> list[tuple[str, FleetPlan]]:
    """Each cluster's plan after the prefix of its resources' names: the fleet's own or manager's ("", without the pools
    that are its workers'), then workers' (`east/`).
    """
    whole = plan(stack)
    here = replace(whole, pools=whole.own_pools)
    return [("", here), *((f"{worker.name}/", worker.plan) for worker in whole.workers)]


def inside_of(found: list[Recorded], prefix: str, stack: str) -> list[Recorded]:
    """Those of some resources that are a cluster's, by its prefix."""
    others = tuple(each for each, _ in clusters(stack) if each)
    return [r for r in found if (r.name.startswith(prefix) if prefix else not r.name.startswith(others or ("//",)))]


def rendered(stack: str) -> str:
    """What `berth render` prints of a sound stack, of whatever kind."""
    stream, whole = io.StringIO(), verdict(stack).whole
    assert whole is not None
    assert [problem.line() for problem in verdict(stack).faults] == []
    output.write(whole, stream)
    return stream.getvalue()


def is_golden(text: str, file: Path) -> None:
    """The text is what the golden file holds, exactly; with BERTH_GOLDEN=write it becomes that."""
    shown = file.relative_to(ROOT)
    if os.environ.get("BERTH_GOLDEN") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if not file.is_file():
        pytest.fail(f"there is no {shown}: write it with `make golden`, read it, and commit it", pytrace=False)
    was = file.read_text(encoding="utf-8")
    if was != text:
        words = f"{shown} is not what comes out now; if it should be, `make golden` and read the difference:"
        pytest.fail("\n  ".join([words, *_difference(was, text)]), pytrace=False)


def _difference(was: str, now: str) -> list[str]:
    """A few lines of what differs."""
    found = list(difflib.unified_diff(was.splitlines(), now.splitlines(), n=0, lineterm=""))[2:]
    return found if len(found) <= 40 else [*found[:40], f"… and {len(found) - 40} lines more"]
