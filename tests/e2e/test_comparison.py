"""The comparison with the real engine sees what differs, and only that."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import real_preview
from tests.e2e.support.comparison import Comparison, Real, compared, report
from tests.e2e.support.project import Failed

URN = "urn:pulumi:dev::berth::cloud:index:Thing::a"
OURS: dict[str, Any] = {
    "urn": URN,
    "type": "cloud:index:Thing",
    "custom": True,
    "parent": "urn:pulumi:dev::berth::pulumi:pulumi:Stack::berth-dev",
    "inputs": {"size": 1, "on": True, "deep": {"list": ["a", "[unknown]", None]}, "token": "[secret]"},
    "protect": True,
    "provider": "urn:pulumi:dev::berth::pulumi:providers:cloud::c",
    "dependencies": ["urn:b", "urn:a"],
    "propertyDependencies": {"size": [], "deep": ["urn:a"]},
    "aliases": ["urn:old"],
    "deleteBeforeReplace": True,
    "replaceOnChanges": [],
    "ignoreChanges": ["n"],
    "additionalSecretOutputs": [],
    "retainOnDelete": False,
    "deletedWith": None,
    "replaceWith": [],
    "customTimeouts": {"create": "1h30m"},
    "importId": None,
    "read": False,
}
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
HELD: dict[str, Any] = {
    "urn": URN,
    "type": OURS["type"],
    "custom": True,
    "parent": OURS["parent"],
    "inputs": {
        "__defaults": ["name"],
        "name": "a-1234567",
        "size": 1.0,
        "on": True,
        "deep": {"list": ["a", UNKNOWN, None]},
        "token": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "x"},
    },
    "protect": True,
    "provider": OURS["provider"] + "::" + UNKNOWN,
    "dependencies": ["urn:a", "urn:b"],
    "propertyDependencies": {"size": None, "deep": ["urn:a"]},
    "ignoreChanges": ["n"],
    "customTimeouts": {"create": 5400},
}


def differing(sent: dict[str, Any] = OURS, held: dict[str, Any] = HELD, agree: bool = True) -> Comparison:
    return compared("dev", {URN: OURS}, Real({sent["urn"]: sent}, {held["urn"]: held}, agree))


def changed(base: dict[str, Any], *path: str | int, to: object) -> dict[str, Any]:
    """`base` with the value at `path` replaced."""
    result: Any = copy.deepcopy(base)
    place = result
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return result


def test_defaults_of_a_provider_are_counted_and_not_a_difference() -> None:
    result = differing()
    assert result.differences == []
    assert dict(result.added) == {"__defaults": 1, "name": 1}
    assert result.values > len(OURS)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("inputs", "size"), 2),
        (("inputs", "on"), 1),
        (("inputs", "deep", "list"), ["a"]),
        (("inputs", "deep", "list", 1), "known"),
        (("inputs", "token"), "in the clear"),
        (("inputs", "deep"), {}),
        (("parent",), "urn:other"),
        (("protect",), False),
        (("provider",), "urn:other::1"),
        (("dependencies",), ["urn:a"]),
        (("propertyDependencies", "deep"), []),
        (("ignoreChanges",), []),
        (("replaceOnChanges",), ["size"]),
        (("deletedWith",), "urn:cluster"),
        (("retainOnDelete",), True),
        (("customTimeouts", "create"), 90),
    ],
    ids=str,
)
def test_any_other_value_that_the_engine_holds_is_a_difference(path: tuple[str | int, ...], value: object) -> None:
    (line,) = differing(held=changed(HELD, *path, to=value)).differences
    assert line.startswith(f"held: {URN}: {path[0]}")


@pytest.mark.parametrize(("name", "value"), [("aliases", []), ("deleteBeforeReplace", None), ("inputs", {})])
def test_sent_inputs_must_be_equal(name: str, value: object) -> None:
    differences = differing(sent=changed(OURS, name, to=value)).differences
    assert differences
    assert all(line.startswith(f"sent: {URN}: {name}") for line in differences)


def test_a_resource_on_one_side_only_is_a_difference() -> None:
    other = changed(HELD, "urn", to="urn:new")
    assert differing(held=other).differences == [
        f"held: only in berth preview: {URN}",
        "held: only in pulumi preview: urn:new",
    ]


def test_different_urns_are_a_difference() -> None:
    assert differing(agree=False).differences == ["a request was given another URN here than by the engine"]


def test_a_stack_that_the_engine_cannot_preview_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(file: Path) -> Comparison:
        if file.stem == "ack-fleet":
            raise Failed("pulumi preview ended with 1:\nno plugin 'alicloud'")
        return compared(file.stem, {}, Real({}, {}, urns_agree=True))

    monkeypatch.setattr(real_preview, "compare", compare)
    results, failures = real_preview.compare_each([Path("ack-fleet.yaml"), Path("dws.yaml")])
    assert [one.stack for one in results] == ["dws"]
    assert failures == ["ack-fleet: not compared: pulumi preview ended with 1: no plugin 'alicloud'"]


def test_no_comparison_at_all_is_reported_as_such() -> None:
    """Exit status 1 beside a closing line that all previews are equal would contradict itself."""
    assert list(report([])) == ["no stack was compared"]
