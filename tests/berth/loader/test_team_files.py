"""A team file is read as part of the stack file, and its faults have the place in the team file."""

from __future__ import annotations

import pathlib

import pytest

from berth.loader import read_config, read_stack
from tests.berth.loader.conftest import Read, Write, lines

SPEECH = "# the team's own file\nteams:\n  speech:\n    groups: [s]\n    queues:\n      train: {x: 1}\n"
SHAPE = "a team file has the key 'teams:' and one entry for each team below it"


def test_the_teams_of_team_files_are_merged(fleet: Read, write: Write) -> None:
    """A pull request of one team changes only its own file."""
    write(SPEECH, "stacks/teams/speech.yaml")
    write("teams: {nlp: {}}", "stacks/teams/nlp.yaml")
    result, faults = fleet("teams: {vision: {}}\nteamFiles: ['stacks/teams/*.yaml']")
    assert result is not None
    assert faults == []
    assert result.fleet == {
        "teams": {"vision": {}, "nlp": {}, "speech": {"groups": ["s"], "queues": {"train": {"x": 1}}}},
        "teamFiles": ["stacks/teams/*.yaml"],
    }


def test_a_team_has_its_places_in_its_own_file(fleet: Read, write: Write) -> None:
    """A team lead knows that file and no other."""
    write(SPEECH, "stacks/teams/speech.yaml")
    result, _ = fleet("teamFiles: [stacks/teams/speech.yaml]\nteams:\n  vision: {}")
    assert result is not None
    for path, place in [
        (("teams", "speech"), "stacks/teams/speech.yaml:3"),
        (("teams", "speech", "queues", "train", "x"), "stacks/teams/speech.yaml:6"),
        (("teams", "speech", "cohort"), "stacks/teams/speech.yaml:3"),
        (("teams", "vision"), "Pulumi.dev.yaml:5"),
        (("teams", "nobody"), "Pulumi.dev.yaml:4"),
        (("teamFiles", 0), "Pulumi.dev.yaml:3"),
    ]:
        assert result.source_map.place_of(path) == place


@pytest.mark.parametrize("teams", ["", "teams:\n", "teams: {}\n"])
def test_a_fleet_may_have_all_its_teams_in_files(fleet: Read, write: Write, teams: str) -> None:
    """An empty `teams:` is where the last team moved out."""
    write("teams: {nlp: {}}", "t/nlp.yaml")
    result, faults = fleet(f"{teams}teamFiles: [t/nlp.yaml]")
    assert result is not None
    assert (result.fleet, faults) == ({"teams": {"nlp": {}}, "teamFiles": ["t/nlp.yaml"]}, [])


def test_under_the_engine_team_files_come_from_the_disk(write: Write, tmp_path: pathlib.Path) -> None:
    """That is what they are for: they do not pass through the engine. Its value is not touched."""
    write(SPEECH, "t/speech.yaml")
    value = {"teamFiles": ["t/*.yaml"], "teams": {"vision": {}}}
    result, problems = read_config("dev", value, tmp_path)
    assert result is not None
    assert problems == []
    assert result.fleet == {
        **value,
        "teams": {"vision": {}, "speech": {"groups": ["s"], "queues": {"train": {"x": 1}}}},
    }
    assert value == {"teamFiles": ["t/*.yaml"], "teams": {"vision": {}}}
    assert (result.source_map.place_of(("teams", "speech")), result.source_map.place_of(("teams", "vision"))) == (
        "t/speech.yaml:3",
        "",
    )


def test_a_team_written_twice_names_both_places(fleet: Read, write: Write) -> None:
    """Neither may win in silence: the two would promise different things. The first is kept."""
    write(SPEECH, "t/a.yaml")
    write("teams:\n  nlp: {}\n  speech: {}\n  vision: {}\n", "t/b.yaml")
    result, faults = fleet("teams:\n  vision: {x: 1}\nteamFiles: [t/*.yaml]")
    assert result is not None
    assert faults == [
        f"duplicate-team | t/b.yaml:{line}: teams.{t}: team '{t}' is defined twice, first at {first}; keep one"
        for line, t, first in [(3, "speech", "t/a.yaml:3"), (4, "vision", "Pulumi.dev.yaml:4")]
    ]
    assert result.source_map.place_of(("teams", "speech")) == "t/a.yaml:3"
    assert result.source_map.place_of(("teams", "vision", "x")) == "Pulumi.dev.yaml:4"


def test_a_file_that_matches_two_patterns_is_read_once(fleet: Read, write: Write, tmp_path: pathlib.Path) -> None:
    """A pattern and one of its files beside it, or a link, is no second team."""
    write("teams: {nlp: {}}", "t/nlp.yaml")
    (tmp_path / "t/same.yaml").symlink_to("nlp.yaml")
    result, faults = fleet("teamFiles: [t/nlp.yaml, ./t/*.yaml, '**/*.yaml', t/]")
    assert result is not None
    assert faults == [
        "bad-team-file | Pulumi.dev.yaml:1: unknown key 'config' in a team file; " + SHAPE,
        "no-team-file | Pulumi.dev.yaml:3: teamFiles[3]: no file matches 't/', which is a directory; "
        "did you mean 't/*.yaml'?",
        "bad-team-file | Pulumi.yaml:1: unknown key 'name' in a team file; " + SHAPE,
        "bad-team-file | Pulumi.yaml:2: unknown key 'runtime' in a team file; " + SHAPE,
    ]
    assert result.source_map.place_of(("teams", "nlp")) == "t/nlp.yaml:1"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("t/*.yml", "no file matches 't/*.yml'; did you mean 't/speech.yaml'?"),
        ("t/speach.yaml", "no file matches 't/speach.yaml'; did you mean 't/speech.yaml'?"),
        ("t", "no file matches 't', which is a directory; did you mean 't/*.yaml'?"),
        ("", "is empty; write a path such as teams/*.yaml"),
        ("[", "no file matches '['"),
        ("x" * 300, f"no file matches '{'x' * 300}'"),
        ("../*.yaml", "'../*.yaml' is outside the folder of Pulumi.yaml; write a path inside it"),
        ("t/../../x.yaml", "'t/../../x.yaml' is outside the folder of Pulumi.yaml; write a path inside it"),
        ("/etc/*.yaml", "'/etc/*.yaml' is outside the folder of Pulumi.yaml; write a path inside it"),
        (
            "link/a.yaml",
            "'link/a.yaml' is a link to a file outside the folder of Pulumi.yaml; copy the file into it",
        ),
    ],
)
def test_a_pattern_matches_files_of_the_project_or_is_a_fault(
    tmp_path: pathlib.Path, pattern: str, message: str
) -> None:
    """A pattern without a match would drop a team; a file outside the project is not part of the review."""
    root = tmp_path / "root"
    (root / "t").mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: berth\n")
    (root / "t/speech.yaml").write_text(SPEECH)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.yaml").write_text(SPEECH)
    (root / "link").symlink_to("../out")
    (root / "Pulumi.dev.yaml").write_text(f"config:\n  berth:fleet:\n    teamFiles:\n    - '{pattern}'\n")
    code = "outside-root" if "outside the folder" in message else "no-team-file"
    result, problems = read_stack("dev", root)
    assert result is not None
    assert lines(problems) == [f"{code} | Pulumi.dev.yaml:4: teamFiles[0]: {message}"]


@pytest.mark.parametrize("written", ["5", "t/speech.yaml", "[5, {a: b}, null]", "{a: b}", "null"])
def test_invalid_team_file_patterns_are_faults_of_the_spec(fleet: Read, written: str) -> None:
    """The spec says what a field may hold, for this one as for all."""
    result, faults = fleet(f"teamFiles: {written}")
    assert result is not None
    assert faults == []


def test_teams_that_are_no_mapping_are_left_to_the_spec(fleet: Read, write: Write) -> None:
    """Merging into them would hide the fault."""
    write(SPEECH, "t/a.yaml")
    result, faults = fleet("teams: [vision]\nteamFiles: [t/a.yaml]")
    assert result is not None
    assert (result.fleet, faults) == ({"teams": ["vision"], "teamFiles": ["t/a.yaml"]}, [])


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", [f"bad-team-file | t/a.yaml: is empty; {SHAPE}"]),
        ("- a", [f"bad-team-file | t/a.yaml: is a list; {SHAPE}"]),
        ("speech", [f"bad-team-file | t/a.yaml: is 'speech'; {SHAPE}"]),
        ("teams:\n", [f"bad-team-file | t/a.yaml:1: 'teams' is empty; {SHAPE}"]),
        ("teams: [a]", [f"bad-team-file | t/a.yaml:1: 'teams' is a list; {SHAPE}"]),
        (
            "team: {a: {}}",
            [f"bad-team-file | t/a.yaml:1: unknown key 'team' in a team file; did you mean 'teams'?; {SHAPE}"],
        ),
        (
            "teams: {a: {}}\npools: {}",
            [f"bad-team-file | t/a.yaml:2: unknown key 'pools' in a team file; {SHAPE}"],
        ),
        (
            "teams: [",
            ["bad-yaml | t/a.yaml:1:8: '[' opens here and is not closed; write ']' at its end"],
        ),
        (
            "teams:\n  a:\n    since: 2026-12-01\n  a: {}\n",
            [
                "unquoted | t/a.yaml:3: teams.a.since: Pulumi would change the type of '2026-12-01'; put it in quotes",
                "duplicate-key | t/a.yaml:4: teams.a: key 'a' is defined twice, first on line 2; keep one",
            ],
        ),
        ("teams: \0", ["bad-text | t/a.yaml:1:8: the character U+0000 is not allowed in YAML; remove it"]),
        (
            "#" * (1 << 20) + "\n",
            [
                "too-large | t/a.yaml: is 1,048,577 bytes, more than the maximum of 1,048,576; "
                "move its teams to several files"
            ],
        ),
    ],
)
def test_a_team_file_is_checked_like_the_stack_file(fleet: Read, write: Write, text: str, faults: list[str]) -> None:
    """A team moves between the two by cut and paste; it must not change its meaning on the way."""
    write(text, "t/a.yaml")
    assert fleet("teamFiles: [t/a.yaml]")[1] == faults


def test_a_stack_file_of_another_checkout_has_its_own_team_files(write: Write, tmp_path: pathlib.Path) -> None:
    """`berth diff base/Pulumi.dev.yaml dev`, with two checkouts of a pull request, must not read one of them twice."""
    stack = "config: {berth:fleet: {teamFiles: ['t.yaml']}}"
    for checkout, team in (("here", "ours"), ("here/base", "nested"), ("elsewhere", "theirs")):
        write("name: berth", f"{checkout}/Pulumi.yaml")
        write(f"teams:\n  {team}: {{}}\n", f"{checkout}/t.yaml")
        write(stack, f"{checkout}/Pulumi.dev.yaml")
        write(stack, f"{checkout}/stacks/examples/one.yaml")
    here = tmp_path / "here"
    for name, place in [
        ("dev", "t.yaml:2"),
        (str(here / "stacks/examples/one.yaml"), "t.yaml:2"),
        (str(here / "base/Pulumi.dev.yaml"), "base/t.yaml:2"),
        (str(here / "base/stacks/examples/one.yaml"), "base/t.yaml:2"),
        (str(tmp_path / "elsewhere/Pulumi.dev.yaml"), f"{tmp_path}/elsewhere/t.yaml:2"),
    ]:
        result, problems = read_stack(name, here)
        assert result is not None
        assert problems == []
        assert {result.source_map.place_of(("teams", team)) for team in ("ours", "nested", "theirs")} >= {place}


def test_a_stack_file_outside_every_project_has_the_team_files_of_this_one(
    write: Write, tmp_path: pathlib.Path
) -> None:
    """A copy of a stack file, as other tools write it, is read as if it were in the project."""
    write("teams: {ours: {}}", "here/t.yaml")
    (tmp_path / "Pulumi.yaml").unlink()
    copy = write("config: {berth:fleet: {teamFiles: ['t.yaml']}}", "elsewhere/copy.yaml")
    result, problems = read_stack(str(copy), tmp_path / "here")
    assert result is not None
    assert problems == []
    assert result.fleet == {"teamFiles": ["t.yaml"], "teams": {"ours": {}}}


def test_a_thousand_team_files_are_read_with_their_places(write: Write, tmp_path: pathlib.Path) -> None:
    """Large fleets keep one file for each team."""
    queue = "\n".join(
        f"      q{n}:\n        flavors:\n          - {{pool: v5e, guaranteed: {n} slices}}" for n in range(5)
    )
    for n in range(1000):
        write(f"teams:\n  team{n}:\n    cohort: research\n    groups: [a@b.c]\n    queues:\n{queue}\n", f"t/{n}.yaml")
    write("config: {berth:fleet: {teamFiles: ['t/*.yaml']}}")
    result, problems = read_stack("dev", tmp_path)
    assert result is not None
    assert problems == []
    assert result.source_map.place_of(("teams", "team7", "queues", "q4", "flavors", 0, "pool")) == "t/7.yaml:20"
