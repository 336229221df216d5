"""One value of a wrong type is one fault: no rule speaks of the default that stands for a value that was not read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from berth.evaluate import evaluate_config
from tests.small_fleets import fleet_with
from tests.stack_files import FLEET_STACKS, ROOT

_EVERY: Final = int(os.environ.get("BERTH_MISTAKES_EVERY", "24"))
"""One of so many mistakes is made; all of them take minutes."""
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
