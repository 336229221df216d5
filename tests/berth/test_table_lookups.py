"""No table lookup by what a user writes raises: a missing row is a fault or a warning, or leaves out its figure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from typer.testing import CliRunner

from berth import catalog
from berth.cli import app
from berth.cli.quota import tables
from berth.cost.fleet import fleet_cost
from berth.cost.prices import CAPACITY_MODELS, Prices
from berth.cost.text import format_money
from berth.document.text import render_text
from berth.evaluate import Evaluation, evaluate_config
from berth.overview.fleet import fleet_document
from berth.quota.required import required_quotas
from berth.yaml_loader import LOADER
from tests.small_fleets import REMOVED, fleet_with
from tests.stack_files import ACK_STACKS, ALL_STACKS, GKE_STACKS, ROOT, TEAM_STACKS

MACHINES: Final = (
    *catalog.machines(),
    *catalog.attachable_gpus().hosts,
    *(
        "e2-standard-4",
        "n2-standard-8",
        "c4d-standard-384",
        "n1-standard-3",
        "g2-standard-25",
        "",
        "-",
        "a3",
        "ünder-1",
    ),
)
"""Every machine type that a table has (unsupported ones too), and some that none has."""
ACCELERATORS: Final = (*catalog.attachable_gpus().gpus, *sorted({m.accelerator for m in catalog.machines().values()}))
RUN: Final = {"maxRunDuration": "1d"}
CAPACITIES: Final = ("on-demand", "spot", {"flexStart": RUN}, {"queued": RUN}, "any-reservation")

QUEUES: Final = {"urgent": {"flavors": [{"pool": "l4", "guaranteed": 4}]}}
BASE: Final = fleet_with({"teams": {"vision": {"queues": QUEUES}}, "cohorts": REMOVED, "pools.v5e": REMOVED})
"""One pool and one queue beside the machine in question: thousands of such fleets are planned."""


def fleets(machine: str) -> Iterator[dict[str, Any]]:
    """Small fleets that name a machine type in each place that a stack file has for one."""
    row = catalog.machines().get(machine)
    is_tpu = row is not None and row.kind == "tpu"
    topology = (row and row.single_host_topology) or "2x2x1"
    shapes: list[dict[str, Any]] = [{"nodes": {"max": 2}}, {"topology": topology, "slices": {"max": 2}}]
    for accelerator in ({}, {"accelerator": {"type": "nvidia-tesla-t4", "count": 1}}):
        held = {"machineType": machine, "zone": "us-central1-a", **accelerator}
        size = shapes[1] if is_tpu else {"nodes": 2}
        reserved = {**held, **size, "flavor": "new", "capacity": {"reservation": "held"}}
        yield fleet_with({"reservations.held": {**held, "count": 2}, "pools.new": reserved}, base=BASE)
        # A machine that takes no GPU by choice refuses it, whatever its size and capacity are.
        takes = not accelerator or machine in catalog.attachable_gpus().hosts
        for shape, capacity in product(shapes, CAPACITIES) if takes else [(shapes[int(is_tpu)], CAPACITIES[0])]:
            pool = {"machineType": machine, **shape, **accelerator, "flavor": "new"}
            yield fleet_with({"pools.new": {**pool, "zone": "us-central1-a", "capacity": capacity}}, base=BASE)
            accepted = {**pool, "zone": "us-central1-a", "acceptZone": True, "capacity": capacity}
            yield fleet_with({"pools.new": accepted}, base=BASE)
            yield fleet_with({"pools.new": {**pool, "capacity": capacity, "autoProvisioned": True}}, base=BASE)
            rule = {"machineType": machine, "capacity": capacity, **accelerator}
            if is_tpu:
                rule["topology"] = topology
            classes = {"computeClasses": {"any": {"priorities": [rule]}}}
            yield fleet_with({**classes, "pools.new": {**pool, "computeClass": "any"}}, base=BASE)
    yield fleet_with({"cluster.systemPool": {"machineType": machine}}, base=BASE)


def answer(evaluation: Evaluation) -> bool:
    """Compute what verbs print of machines, with and without prices for them; return whether the file is sound."""
    assert evaluation.fleet_plan is not None or evaluation.faults
    render_text(fleet_document(evaluation))
    if (plan := evaluation.fleet_plan) is None or evaluation.faults:
        return False
    machines = {pool.machine_type for pool in plan.pools}
    every_price = {(machine, model): Fraction(1) for machine in machines for model in CAPACITY_MODELS}
    for hourly in ({}, every_price):
        cost = fleet_cost(plan, Prices("prices.yaml", "EUR", hourly))
        format_money(cost.fleet.ceiling)
    required = required_quotas(plan)
    render_text(tables.needs_document(plan, required))
    json.dumps(tables.needs_as_json(plan, required))
    return True


@pytest.mark.parametrize("machine", MACHINES)
def test_a_machine_type_is_planned_priced_and_counted_or_is_a_fault(machine: str) -> None:
    sound = [answer(evaluate_config("test", fleet, ROOT)) for fleet in fleets(machine)]
    row = catalog.machines().get(machine)
    if machine in catalog.attachable_gpus().hosts or (row is not None and row.status != "unsupported"):
        assert any(sound)


@pytest.mark.parametrize("accelerator", [*ACCELERATORS, "", "nvidia-tesla-t4x", "l4"])
def test_a_gpu_is_planned_priced_and_counted_or_is_a_fault(accelerator: str) -> None:
    for machine in ("n1-standard-8", "n1-standard-96", "g2-standard-24", "e2-standard-4"):
        for count in (0, 1, 2, 3, 8):
            gpus = {"type": accelerator, "count": count}
            pool = {"machineType": machine, "accelerator": gpus, "nodes": {"max": 2}, "zone": "us-central1-a"}
            classes = {"computeClasses": {"any": {"priorities": [{"machineType": machine, "accelerator": gpus}]}}}
            for changes in ({"pools.l4": pool}, {**classes, "pools.l4": {**pool, "computeClass": "any"}}):
                answer(evaluate_config("test", fleet_with(changes, base=BASE), ROOT))


# --- other words in the place of every text of every example ----------------------------------------------------------

WORDS: Final = (
    *("", "nobody", "us-central1", "us-central1-a", "europe-west4-b", "us-east99", "mars-1a", "2x4", "4x4x4", "1.29"),
    *("1.31.5-gke.99", "rapid", "n1-standard-8", "ct6e-standard-4t", "a3-megagpu-8g", "nvidia-tesla-t4", "spot"),
    *("roles/owner", "roles/nobody", "all", "1 slice", "7", "25%", "low", "high", "l4", "v5e", "vision", "train"),
)
VERBS: Final = {
    "plan": ["{new}", "--prices", "prices.yaml"],
    "quota": ["{new}"],
    "render": ["{new}"],
    "report": ["{new}", "--prices", "prices.yaml"],
    "graph": ["{new}"],
    "split": ["{new}", "--most", "50"],
    "drain": ["{new}"],
    "diff": ["{old}", "{new}", "--prices", "prices.yaml"],
    "usage": ["{new}", "--queries"],
}
SAMPLES: Final = 8
"""Edits of each stack."""


def texts(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every text and number in a value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, (*path, str(key)))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from texts(inner, (*path, number))
    elif path:
        yield path


def edited(values: dict[str, Any], path: tuple[str | int, ...], word: str) -> dict[str, Any]:
    """The values with another word at a path."""
    result = json.loads(json.dumps(values))
    node: Any = result
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = word
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the examples and a table of prices that lacks most machines."""
    made = tmp_path_factory.mktemp("lookups")
    (made / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    prices = "currency: EUR\nhourly: {g2-standard-24: {on-demand: 2.00}}\n"
    (made / "prices.yaml").write_text(prices, encoding="utf-8")
    (made / "stacks").mkdir()
    for part in ("examples", "teams"):
        (made / "stacks" / part).symlink_to(ROOT / "stacks" / part)
    return made


def run(verb: str, words: list[str]) -> int:
    """A verb ends with a status, and without an exception."""
    result = CliRunner().invoke(app, [verb, *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), (verb, repr(result.exception))
    assert result.exit_code in (0, 1, 2, 3)
    return result.exit_code


@pytest.mark.parametrize("stack", [*GKE_STACKS, *ACK_STACKS, *TEAM_STACKS])
def test_another_word_in_any_place_is_answered_by_every_verb(
    stack: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    file = yaml.load(ALL_STACKS[stack].read_text(encoding="utf-8"), LOADER)
    key = next(each for each in file["config"] if each in ("berth:fleet", "berth:team"))
    places, choose = list(texts(file["config"][key])), random.Random(stack)
    old = str(ALL_STACKS[stack])
    for _ in range(SAMPLES):
        values = edited(file["config"][key], choose.choice(places), choose.choice(WORDS))
        new = folder / f"Pulumi.{stack}.yaml"
        new.write_text(
            yaml.dump({"config": {**file["config"], key: values}}, Dumper=yaml.CSafeDumper), encoding="utf-8"
        )
        is_sound = run("check", [str(new)]) == 0
        for verb in VERBS if is_sound else choose.sample(sorted(VERBS), 1):  # all of them print the same faults
            run(verb, [word.format(old=old, new=new) for word in VERBS[verb]])
