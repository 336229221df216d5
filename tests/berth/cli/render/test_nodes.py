"""Simulated nodes have the labels of real GKE nodes."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from berth.cli.render.nodes import simulated_nodes
from berth.evaluate import evaluate_stack

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
