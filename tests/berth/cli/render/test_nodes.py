"""Simulated nodes have the labels of real GKE nodes."""

from __future__ import annotations

import pathlib
from collections import Counter
from typing import Any

import pytest

from berth.cli.render.nodes import simulated_nodes
from berth.cli.render.output import yaml_document
from berth.evaluate import evaluate_stack
from berth.nodes.model import ZONE
from tests.stack_files import GOLDEN, assert_golden, every_stack, plan

ROOT = pathlib.Path(__file__).parents[4]
LINT_STACK = ROOT / "tests/berth/lint/stack.yaml"


def labels_of(pool: str) -> dict[str, str]:
    plan = evaluate_stack(str(LINT_STACK), LINT_STACK.parent).fleet_plan
    assert plan is not None
    nodes: list[Any] = list(simulated_nodes(plan))
    return next(each["metadata"]["labels"] for each in nodes if each["metadata"]["name"].startswith(f"{pool}-"))


@pytest.mark.parametrize(("pool", "value"), [("l4", "standard"), ("l4-spot", "spot"), ("dws", None)])
def test_the_provisioning_model_is_a_label(pool: str, value: str | None) -> None:
    """GKE documents no value for flex-start and queued nodes."""
    assert labels_of(pool).get("cloud.google.com/gke-provisioning") == value


def test_tpu_nodes_name_their_chips_and_gpu_nodes_do_not() -> None:
    assert labels_of("v5e")["cloud.google.com/gke-accelerator-count"] == "4"
    assert "cloud.google.com/gke-accelerator-count" not in labels_of("a100")


@every_stack
def test_nodes_of_every_pool_and_zone_are_as_committed(stack: str) -> None:
    """The first node of each pool in each zone, with the number of such nodes."""
    first: dict[tuple[str, str], dict[str, Any]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for cluster in [*(worker.plan for worker in plan(stack).workers)] or [plan(stack)]:
        nodes: list[Any] = list(simulated_nodes(cluster))
        for node in nodes:
            pool = node["metadata"]["name"].rpartition("-")[0]
            key = (f"{cluster.stack}/{pool}", str(node["metadata"]["labels"].get(ZONE)))
            counts[key] += 1
            first.setdefault(key, node)
    text = "".join(f"# {counts[key]} in {key[0]}, {key[1]}\n{yaml_document(node)}" for key, node in first.items())
    assert_golden(text, GOLDEN / stack / "nodes.yaml")
