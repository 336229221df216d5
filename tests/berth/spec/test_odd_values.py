"""Values that are odd and still mean something: numbers of many digits, and names that are keys elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from berth.diagnostics import Severity
from berth.spec.parse import parse_fleet
from tests.small_fleets import fleet_with

_MANY = "9" * 5000
"""More digits than Python turns into a number."""


def _faults(changes: dict[str, Any]) -> list[tuple[str, str]]:
    found = parse_fleet(fleet_with(changes)).problems
    return [(".".join(map(str, each.path)), each.message) for each in found if each.severity == Severity.FAULT]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("priorities.low.value", _MANY, "is text, but must be a whole number"),
        ("pools.l4.maxPodsPerNode", f"{_MANY} pods", "is text, but must be a whole number"),
        ("pools.l4.nodes", _MANY, "is text"),
        ("teams.vision.queues.urgent.flavors.0.perAccelerator", {"cpu": _MANY}, "is too large for an amount of cpu"),
        ("teams.vision.queues.urgent.flavors.0.perAccelerator", {"memory": f"{_MANY}Gi"}, "is too large for an amount"),
        ("teams.vision.queues.urgent.flavors.0.perAccelerator", {"memory": "0" * 5000}, "is zero; write at least 1Mi"),
    ],
)
def test_a_number_of_many_digits_is_a_fault(path: str, value: Any, said: str) -> None:
    ((at, message),) = _faults({path: value})
    assert at.startswith(path) and said in message


@pytest.mark.parametrize(("written", "number"), [("007", "7"), ("0", "0, without quotes"), ("00 nodes", "0")])
def test_a_proposed_number_has_no_zeros_before_it(written: str, number: str) -> None:
    ((_, message),) = _faults({"priorities.low.value": written})
    assert message.endswith(f"; write {number}")


def test_a_cohort_may_be_called_monitoring() -> None:
    """A section of settings is no entry that is indented too far."""
    assert _faults({"cohorts.monitoring": None}) == []
    ((path, message),) = _faults({"teams.monitoring": {"quota": 3}})
    assert path == "teams.monitoring.quota" and message.startswith("unknown key 'quota'")
    assert _faults({"labels": {"monitoring": None}}) == [("labels.monitoring", "is empty, but must be text")]
