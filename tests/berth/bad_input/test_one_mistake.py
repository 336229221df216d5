"""One value of a wrong type is one fault: no rule speaks of the default that stands for a value that was not read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from berth.evaluate import evaluate_config, evaluate_values
from tests.small_fleets import fleet_with
from tests.stack_files import FLEET_STACKS, ROOT

_EVERY: Final = int(os.environ.get("BERTH_MISTAKES_EVERY", "24"))
"""One of so many mistakes is made; all of them take minutes."""
CASES: Final = ROOT / "tests" / "berth" / "bad_input" / "cases"
_FILES: Final = [*FLEET_STACKS.values(), *sorted((ROOT / "tests" / "berth" / "full_fleets").glob("Pulumi.*.yaml"))]


def _fleet(file: Path) -> dict[str, Any]:
    fleet: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8")).get("config", {}).get("berth:fleet") or {}
    return {key: value for key, value in fleet.items() if key not in ("teamFiles", "teamDefaults", "base")}


def _values(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value of a fleet that is no whole, with its path."""
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, str(step)), inner
        if isinstance(inner, (dict, list)):
            yield from _values(inner, (*path, str(step)))


def _mistakes() -> Iterator[tuple[Path, str, Any]]:
    for file in _FILES:
        is_whole = not evaluate_config(file.stem, _fleet(file), ROOT).faults  # some need the keys that are left out
        for path, value in _values(_fleet(file)) if is_whole else ():
            if not any("." in step for step in path):
                wrong = "yes please" if isinstance(value, (bool, int, float, dict, list)) else {"a": 1}
                yield file, ".".join(path), wrong


def _is_chosen(file: Path, path: str) -> bool:
    return int(sha256(f"{file.name} {path}".encode()).hexdigest(), 16) % _EVERY == 0


def _faults(file: Path, path: str, wrong: Any) -> list[str]:
    stack = file.stem.removeprefix("Pulumi.")
    return [each.line() for each in evaluate_config(stack, fleet_with({path: wrong}, base=_fleet(file)), ROOT).faults]


def _misspelt(fleet: Any, path: Sequence[str]) -> Any:
    """The fleet with the last but one letter of a key left out."""
    step, *rest = path
    if rest and isinstance(fleet, list):
        return [_misspelt(each, rest) if index == int(step) else each for index, each in enumerate(fleet)]
    if rest:
        return {key: _misspelt(each, rest) if key == step else each for key, each in fleet.items()}
    return {key[:-2] + key[-1] if key == step else key: each for key, each in fleet.items()}


def test_a_misspelt_key_is_one_fault() -> None:
    found = dict[tuple[str, str], list[str]]()
    for file, path, _ in (each for each in _mistakes() if _is_chosen(*each[:2])):
        *above, key = path.split(".")
        if len(key) > 4 and not key.isdigit():
            stack = evaluate_config(file.stem.removeprefix("Pulumi."), _misspelt(_fleet(file), [*above, key]), ROOT)
            if any(each.code == "unknown-key" for each in stack.faults):  # or else it is a name
                found[file.name, path] = [each.line() for each in stack.faults]
    assert {where: faults for where, faults in found.items() if len(faults) > 1} == {}
    assert len(found) > 600 / _EVERY


def test_a_value_of_a_wrong_type_is_one_fault() -> None:
    chosen = [each for each in _mistakes() if _is_chosen(*each[:2])]
    found = {(file.name, path): _faults(file, path, wrong) for file, path, wrong in chosen}
    assert {where: faults for where, faults in found.items() if len(faults) > 1} == {}
    assert sum(map(bool, found.values())) > 1500 / _EVERY


FOLLOWED: Final = [
    ("Pulumi.dev.yaml", "cluster.dnsEndpoint", "yes please"),
    ("quota-tree.yaml", "cohorts.language", "text"),
    ("quota-tree.yaml", "cohorts.company", 5),
    ("quota-tree.yaml", "cohorts.research.flavors", {"a": 1}),
    ("quota-tree.yaml", "cohorts.language.parent", {"a": 1}),
    ("existing-gke.yaml", "cluster", "text"),
    ("Pulumi.local.yaml", "cluster", 5),
    ("Pulumi.confidential.yaml", "cluster.systemPool", "text"),
    ("Pulumi.settings.yaml", "computeClasses", "text"),
    ("Pulumi.workers.yaml", "kueue.multiKueue.gcInterval", {"a": 1}),
    ("quota-tree.yaml", "cohorts.language.parent", "nowhere"),
    ("quota-tree.yaml", "teams.speech.cohort", "nowhere"),
    ("Pulumi.workers.yaml", "kueue.multiKueue.dispatcherName", "kueue.x-k8s.io/multikueue-dispatcher"),
    ("Pulumi.workers.yaml", "workers.west.stack", "west"),
    ("Pulumi.workers.yaml", "workers.west", {"kubeconfig": "west.yaml", "identifier": "berth:west", "pools": {}}),
    ("Pulumi.settings.yaml", "reservations.v5p.chips", "yes please"),
]
"""Mistakes after which another rule spoke as well, until 2026-11-29."""


@pytest.mark.parametrize(("name", "path", "wrong"), FOLLOWED)
def test_no_fault_follows_from_a_value_that_was_not_read(name: str, path: str, wrong: Any) -> None:
    (file,) = [each for each in _FILES if each.name == name]
    assert len(_faults(file, path, wrong)) == 1, _faults(file, path, wrong)


NEAR: Final = [
    ("Pulumi.dev.yaml", "pools.v5e.type", "nvidia-tesla-t4"),
    ("Pulumi.dev.yaml", "pools.v5e.roles", ["roles/artifactregistry.reader"]),
    ("Pulumi.dev.yaml", "teams.research.name", "default"),
    ("Pulumi.dev.yaml", "teams.research.localQueue", "multislice-queue"),
    ("Pulumi.dev.yaml", "teams.research.capacity", {"reservation": "h200"}),
]
"""Unknown keys whose nearest ones are others, not spellings of them, with values that do not fit those."""


@pytest.mark.parametrize(("name", "path", "value"), NEAR)
def test_the_value_of_an_unknown_key_is_not_read_as_that_of_a_similar_one(name: str, path: str, value: Any) -> None:
    (file,) = [each for each in _FILES if each.name == name]
    (fault,) = _faults(file, path, value)
    assert "unknown key" in fault


SAID_MORE: Final = [
    ("Pulumi.workers.yaml", "kueue.multiKueue.dispatcherName", "incremental"),
    ("Pulumi.workers.yaml", "workers.west.stack", -1),
    ("Pulumi.settings.yaml", "teams.vision.cohort", ["research"]),
    ("Pulumi.settings.yaml", "reservations.v5p.chips", "many"),
    ("Pulumi.settings.yaml", "pools.v6e.computeClass", ["slices"]),
    ("capacity_buffers.yaml", "teams.chat.capacityBuffers.night.unit.cpu", -1),
    (
        "Pulumi.workers.yaml",
        "workers.central.pools.l4",
        {5: 1, "machineType": "g2-standard-24", "nodes": 4, "zone": "us-central1-a"},
    ),
]
"""Values that others depend on: without them, another fault was reported that was not there."""


@pytest.mark.parametrize(("name", "path", "wrong"), SAID_MORE)
def test_no_fault_is_reported_that_depends_on_a_value_that_cannot_be_read(name: str, path: str, wrong: Any) -> None:
    (file,) = [*(each for each in _FILES if each.name == name), *(CASES / name,)[: name[0] != "P"]]
    assert len(_faults(file, path, wrong)) == 1, _faults(file, path, wrong)


def test_a_name_that_cannot_be_one_is_not_missing_where_it_is_used() -> None:
    machines = {"machineType": "a3-highgpu-8g", "zone": "us-central1-a", "count": 1}
    pool = {"machineType": "a3-highgpu-8g", "nodes": 1, "zone": "us-central1-a", "capacity": {"reservation": "h100"}}
    (file,) = [each for each in _FILES if each.name == "Pulumi.workers.yaml"]
    fleet = fleet_with({"workers.central.reservations": {"H100": machines}}, base=_fleet(file))
    fleet = fleet_with({"workers.central.pools.h100": pool}, base=fleet)
    faults = [each.line() for each in evaluate_config("workers", fleet, ROOT).faults]
    assert len(faults) == 1 and "is not a DNS label" in faults[0], faults


@pytest.mark.parametrize("key", [7, None, (1, 2)])
@pytest.mark.parametrize("section", ["", "pools", "cluster", "teams"])
def test_a_key_that_is_no_text_is_a_fault(key: object, section: str) -> None:
    """A program can give Berth such keys; the loader of files refuses them."""
    fleet = _fleet(ROOT / "Pulumi.dev.yaml")
    changed = {**fleet, section: {**fleet[section], key: {}}} if section else {**fleet, key: {}}
    assert evaluate_values("dev", changed).faults
