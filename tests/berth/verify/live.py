"""Answers of kubectl for a stack as Berth predicts it, to change in tests."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import yaml

from berth.backends.interface import backend_of
from berth.cli.render.nodes import simulated_nodes
from berth.cli.render.output import yaml_document
from berth.nodes import fleet_nodes
from berth.verify import LiveObjects, Verification, read_live_objects, verify_cluster
from berth.verify.answers import KINDS
from berth.yaml_loader import LOADER
from tests.stack_files import evaluation, plan


def predicted_items(stack: str) -> list[dict[str, Any]]:
    """The objects that a cluster has, if all is as predicted."""
    fleet = plan(stack)
    manifests = [*simulated_nodes(fleet), *backend_of(evaluation(stack)).objects(fleet)]
    items = [yaml.load(yaml_document(each), LOADER) for each in manifests if each["kind"] in KINDS]
    drivers = [{"kind": "CSIDriver", "metadata": {"name": name}} for name in fleet_nodes(fleet).storage_drivers]
    return copy.deepcopy([*items, *drivers])


def verified(stack: str, items: list[dict[str, Any]], folder: Path) -> Verification:
    """The result for these objects, through a file."""
    return verify_cluster(plan(stack), read(items, folder))


def read(items: list[dict[str, Any]], folder: Path) -> LiveObjects:
    """The objects, written to a file and read from it."""
    file = folder / "live.json"
    file.write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    objects, problems = read_live_objects([(file, "live.json")])
    assert [problem.line() for problem in problems] == []
    return objects
