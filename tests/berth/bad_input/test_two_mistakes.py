"""A second mistake in an entry hides nothing: what the first one's case expects is still said."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from berth.diagnostics import FieldPath, Severity
from berth.evaluate import evaluate_stack
from berth.spec.parse import SPLITTABLE_SECTIONS
from berth.yaml_loader import LOADER
from tests.berth.bad_input import cases

_EVERY: Final = int(os.environ.get("BERTH_MISTAKES_EVERY", "24"))
"""One of so many cases gets a second mistake; all of them take minutes."""
_WRONG: Final[Mapping[str, tuple[tuple[str, Any], ...]]] = {
    "pools": (("nodeLabels", 3), ("maxPodsPerNode", 9000)),
    "teams": (("groups", 3), ("formerly", "A B")),
    "cohorts": (("fairShareWeight", "x"),),
    "reservations": (("acceptZone", "maybe"),),
    "kueue": (("chart", 3),),
    "computeClasses": (("maxPodsPerNode", "many"),),
    "workers": (("labels", 3),),
    "flavors": (("nodeLabels", 4),),
}
"""Values that cannot be read, of keys on which nothing else depends."""
_UNKNOWN: Final = ("qqqq", 1)


def _faults(folder: Path) -> dict[tuple[FieldPath, str], str]:
    found = evaluate_stack("bad", folder).problems
    return {(each.path, each.code): each.message for each in found if each.severity == Severity.FAULT}


def _chosen() -> Iterator[tuple[str, cases.Case]]:
    for name, case in cases.EDITS.items():
        if int(sha256(name.encode()).hexdigest(), 16) % _EVERY == 0:
            yield name, case


def _entry_of(fleet: Mapping[str, Any], path: FieldPath) -> tuple[FieldPath, dict[str, Any]] | None:
    """The part that a mistake in it sets aside, with its place."""
    place = path[:2] if path[:1] and path[0] in SPLITTABLE_SECTIONS - {"cluster", "monitoring"} else path[:1]
    value: Any = fleet
    for step in place:
        value = value.get(step) if isinstance(value, dict) else None
    return (place, value) if len(path) > len(place) > 0 and isinstance(value, dict) else None


@pytest.mark.parametrize("wrong", [{}, _WRONG], ids=["unknown key", "bad value"])
def test_a_second_mistake_hides_no_fault(wrong: Mapping[str, Any], tmp_path: Path) -> None:
    hidden, tried = list[str](), 0
    for name, case in _chosen():
        cases.write(tmp_path, cases.edited(case))
        file, alone = tmp_path / "Pulumi.bad.yaml", _faults(tmp_path)
        try:
            stack = yaml.load(file.read_text(encoding="utf-8"), LOADER)
        except (yaml.YAMLError, ValueError):
            continue
        fleet = stack.get("config", {}).get("berth:fleet") if isinstance(stack, dict) else None
        found = [_entry_of(fleet, path) for path, _ in alone] if isinstance(fleet, dict) else []
        place, entry = found[0] if found and found[0] else ((), {})
        added = (
            [each for each in wrong.get(str(place[0]), ()) if each[0] not in entry] if wrong and place else [_UNKNOWN]
        )
        # Written anew, what only the writing shows (quotes, types) is no longer there.
        file.write_text(yaml.dump(stack, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
        expected = [each for each in _faults(tmp_path) if place and each[0][: len(place)] == place]
        if not expected or not added:
            continue
        entry[added[0][0]] = added[0][1]
        file.write_text(yaml.dump(stack, Dumper=yaml.CSafeDumper, sort_keys=False), encoding="utf-8")
        both = _faults(tmp_path)
        hidden += [f"{name}: {path} {code}" for path, code in expected if (path, code) not in both]
        tried += 1
    assert hidden == []
    assert tried > 500 / _EVERY
