"""Defaults of all teams: what each team gets from them, and where a value is written."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from berth.evaluate import evaluate_stack, evaluate_values
from berth.loader.team_defaults import with_team_defaults, written_path
from tests.berth.loader.conftest import Read, Write
from tests.small_fleets import fleet_with
from tests.stack_files import ALL_STACKS, ROOT


def teams(defaults: Any, entries: Any) -> Any:
    """The teams with their defaults."""
    return with_team_defaults({"teamDefaults": defaults, "teams": entries})["teams"]


@pytest.mark.parametrize(
    ("default", "own", "result"),
    [
        ({"cohort": "c"}, {}, {"cohort": "c"}),
        ({"cohort": "c"}, None, {"cohort": "c"}),
        ({"cohort": "c"}, {"cohort": "d"}, {"cohort": "d"}),
        ({"groups": ["a"]}, {"groups": ["b"]}, {"groups": ["b"]}),
        ({"groups": ["a"]}, {"groups": []}, {"groups": []}),
        ({"x": {"a": 1, "b": {"c": 2}}}, {"x": {"b": {"d": 3}}}, {"x": {"a": 1, "b": {"c": 2, "d": 3}}}),
        ({"queues": {"hp": {"x": 1}, "lp": {}}}, {"queues": {"hp": None}}, {"queues": {"lp": {}}}),
        ({"queues": {"hp": {"x": 1}}}, {"queues": None}, {}),
        ({"queues": {"hp": {"priority": "p"}}}, {"queues": {"hp": {"priority": None}}}, {"queues": {"hp": {}}}),
        ({"groups": ["{team}@x"], "q": [{"name": "cq-{team}"}]}, {}, {"groups": ["v@x"], "q": [{"name": "cq-v"}]}),
        ({"a": "{queue}"}, {"b": "{team}"}, {"a": "{queue}", "b": "{team}"}),
        ({"queues": {"hp": {}}}, {"queues": "text"}, {"queues": "text"}),
        ({"queues": "text"}, {"queues": {"hp": {}}}, {"queues": {"hp": {}}}),
    ],
)  # fmt: skip
def test_a_team_gets_the_defaults(default: Any, own: Any, result: Any) -> None:
    assert teams(default, {"v": own}) == {"v": result}


@pytest.mark.parametrize("faulty", [None, "text", ["a"], 4, {}])
def test_defaults_that_are_no_mapping_change_nothing(faulty: Any) -> None:
    assert teams(faulty, {"v": {"cohort": "c"}}) == {"v": {"cohort": "c"}}


@pytest.mark.parametrize("faulty", [None, "text", ["a"], 4])
def test_teams_and_entries_that_are_no_mapping_stay(faulty: Any) -> None:
    assert teams({"cohort": "c"}, faulty) == faulty
    assert faulty is None or teams({"cohort": "c"}, {"v": faulty}) == {"v": faulty}


def test_two_teams_share_no_value() -> None:
    result = teams({"identity": {"roles": []}}, {"a": {}, "b": {}})
    result["a"]["identity"]["roles"].append("x")
    assert result["b"] == {"identity": {"roles": []}}


@pytest.mark.parametrize(
    ("path", "written"),
    [
        (("teams", "v"), ("teams", "v")),
        (("teams", "v", "cohort"), ("teams", "v", "cohort")),
        (("teams", "v", "groups", 0), ("teamDefaults", "groups", 0)),
        (("teams", "v", "queues", "hp", "priority"), ("teamDefaults", "queues", "hp", "priority")),
        (("teams", "v", "queues", "hp", "flavors", 0, "pool"), ("teams", "v", "queues", "hp", "flavors", 0, "pool")),
        (("teams", "v", "queues", "hp", "flavors", 1, "pool"), ("teams", "v", "queues", "hp", "flavors", 1, "pool")),
        (("teams", "v", "queues", "lp", "name"), ("teamDefaults", "queues", "lp", "name")),
        (("teams", "w", "queues", "hp", "flavors", 1), ("teamDefaults", "queues", "hp", "flavors", 1)),
        (("teams", "v", "unknown"), ("teams", "v", "unknown")),
        (("pools", "v"), ("pools", "v")),
        ((), ()),
    ],
)
def test_a_path_gives_the_place_of_its_value(path: Any, written: Any) -> None:
    hp = {"priority": "p", "flavors": [{"pool": "a"}, {"pool": "b"}]}
    fleet = {
        "teamDefaults": {"groups": ["g"], "queues": {"hp": hp, "lp": {"flavors": []}}},
        "teams": {"v": {"cohort": "c", "queues": {"hp": {"flavors": [{"pool": "own"}]}}}, "w": None},
    }  # fmt: skip
    assert written_path(fleet, path) == written


def test_places_are_lines_of_the_defaults_and_of_team_files(fleet: Read, write: Write) -> None:
    write("teams:\n  speech:\n    queues:\n      hp: {maxJobs: 2}\n", "t/speech.yaml")
    found, faults = fleet(
        "teamFiles: [t/*.yaml]\nteamDefaults:\n  queues:\n    hp:\n      priority: high\nteams: {v: {}}"
    )
    assert faults == []
    assert found is not None
    for path, place in [
        (("teams", "speech", "queues", "hp", "maxJobs"), "t/speech.yaml:4"),
        (("teams", "speech", "queues", "hp", "priority"), "Pulumi.dev.yaml:7"),
        (("teams", "v", "queues", "hp"), "Pulumi.dev.yaml:6"),
        (("teams", "v"), "Pulumi.dev.yaml:8"),
    ]:
        assert found.source_map.place_of(path) == place
    assert found.fleet["teams"]["speech"]["queues"]["hp"] == {"maxJobs": 2, "priority": "high"}  # type: ignore[index]
    assert found.written["teams"]["speech"]["queues"]["hp"] == {"maxJobs": 2}  # type: ignore[index]


def test_a_fault_of_the_defaults_is_one_line_for_all_teams() -> None:
    base = fleet_with()
    queues = base["teams"]["vision"]["queues"]
    queues["train"]["priority"] = "hihg"
    fleet = {**base, "teamDefaults": {"queues": queues}, "teams": {"vision": {}, "speech": {}}}
    faults = evaluate_values("dev", fleet).faults
    unknown = [fault for fault in faults if fault.code == "unknown-reference"]
    assert [fault.path for fault in unknown] == [("teamDefaults", "queues", "train", "priority")]
    assert evaluate_values("dev", {**base, "teamDefaults": {"queus": {}}}).faults[0].path == ("teamDefaults", "queus")


def test_a_stack_with_defaults_is_the_stack_with_every_team_written_out(tmp_path: pathlib.Path) -> None:
    """The example, with its teams as the loader completes them and without `teamDefaults`."""
    stack = evaluate_stack(str(ALL_STACKS["batch-platform"]), ROOT)
    assert stack.file is not None
    fleet: Any = dict(stack.file.fleet)  # type: ignore[call-overload]
    assert fleet.pop("teamDefaults")
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    file = tmp_path / "Pulumi.batch-platform.yaml"
    config = {"pulumi:disable-default-providers": ["*"], "berth:fleet": fleet}
    file.write_text(json.dumps({"config": config}), encoding="utf-8")
    assert evaluate_stack(str(file), tmp_path).plan == stack.plan
