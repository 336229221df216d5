"""Stacks with one key edited: their plans, and what the real program registers for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from berth import outputs
from berth.cli.preview.live_cluster import answer_function
from berth.cli.preview.tree import stand_in_references, stand_in_secrets
from berth.engine import RecordedResource, run_program
from berth.evaluate import Evaluation, evaluate_config
from tests.stack_files import ROOT, TEAM_STACKS, evaluation, fleet_values, plan


def base_values(stack: str) -> dict[str, Any]:
    """What is written below `berth:fleet` or `berth:team`, with the teams of its team files."""
    values = fleet_values(stack)
    values.pop("teamFiles", None)
    return values


def evaluate_values(stack: str, values: Mapping[str, Any]) -> Evaluation:
    """The evaluation of a stack with other values."""
    return _evaluated(stack, json.dumps(values))


@lru_cache(maxsize=64)
def _evaluated(stack: str, values: str) -> Evaluation:
    read = json.loads(values)
    is_team_stack = stack in TEAM_STACKS
    return evaluate_config(stack, None if is_team_stack else read, ROOT, read if is_team_stack else None)


def registered(stack: str, values: Mapping[str, Any]) -> dict[str, RecordedResource]:
    """What the program registers for a stack with other values, by URN."""
    return _registered(stack, json.dumps(values))


@cache
def _platform_outputs(platform: str) -> dict[str, Any]:
    return outputs.placeholder_outputs(plan(platform))


@lru_cache(maxsize=8)  # edits of one base follow one another; what every run registers would fill the memory
def _registered(stack: str, values: str) -> dict[str, RecordedResource]:
    file = evaluation(stack).file
    assert file is not None
    config = {key: value for key, value in file.config.items() if key not in ("berth:fleet", "berth:team")}
    if stack not in TEAM_STACKS:
        document = evaluate_values(stack, json.loads(values))
        secrets, references = stand_in_secrets(document), stand_in_references(document, ROOT)
        result = run_program(
            ROOT,
            stack,
            json.loads(values),
            config | secrets,
            preview=False,
            secrets=secrets.keys(),
            references=references,
            invoke=partial(answer_function, document.fleet_plan),
        )
    else:
        name = Path(json.loads(values)["platform"]).stem
        platform = _platform_outputs(name)
        references = {f"organization/berth/{name}": (platform, {"kubeconfig"} & platform.keys())}
        result = run_program(
            ROOT, stack, json.loads(values), config, preview=False, config_key="berth:team", references=references
        )
    return {each.urn: each for each in result.resources}
