"""From STACK to a fleet: which file is meant, what around the fleet is refused, and where everything was written."""

from __future__ import annotations

import json
import os
import pathlib
import time

import pytest

from berth.diagnostics import Problem, Severity
from berth.diagnostics.listing import sort_by_place
from berth.loader import SourceMap, read_stack
from tests.berth.loader.conftest import Read, Write, lines

WRITE = "write 'config:', below it 'berth:fleet:', and below that the fleet's project, region, pools and teams"
FLEET = "config:\n  berth:fleet:\n    project: acme\n    teams:\n      vision:\n        groups: [a, b]\n"
VALUE = {"project": "acme", "teams": {"vision": {"groups": ["a", "b"]}}}


# --- which file is meant ---------------------------------------------------------------------------------------------


def test_a_stack_is_named_by_its_name_or_by_the_path_of_its_file(
    write: Write, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`berth plan dev` and `berth plan stacks/examples/multislice.yaml` are both said every day."""
    dev, example = write(FLEET), write(FLEET, "stacks/examples/multislice.yaml")
    monkeypatch.chdir(tmp_path)
    for value, stack, file in [
        ("dev", "dev", dev),
        ("Pulumi.dev.yaml", "dev", dev),
        ("./Pulumi.dev.yaml", "dev", dev),
        (str(dev), "dev", dev),
        ("stacks/examples/multislice.yaml", "multislice", example),
    ]:
        result, problems = read_stack(value, tmp_path)
        assert result is not None
        assert (result.stack, result.fleet, problems) == (stack, VALUE, [])
        assert result.file is not None
        assert result.file.samefile(file)
        assert result.source_map.place_of(("project",)) == f"{file.relative_to(tmp_path)}:3"


def test_a_relative_path_is_also_resolved_from_the_project_folder(write: Write, tmp_path: pathlib.Path) -> None:
    """The verbs may be called from any folder of the project."""
    write(FLEET, "stacks/examples/ack.yaml")
    result, _ = read_stack("stacks/examples/ack.yaml", tmp_path)
    assert result is not None
    assert result.source_map.place_of(()) == "stacks/examples/ack.yaml:2"


def test_a_file_outside_the_project_is_called_by_its_whole_path(write: Write, tmp_path: pathlib.Path) -> None:
    """A relative path that starts with dots would be no help."""
    file = write(FLEET, "elsewhere/f.yaml")
    (tmp_path / "project").mkdir()
    result, _ = read_stack(str(file), tmp_path / "project")
    assert result is not None
    assert result.source_map.place_of(("teams",)) == f"{file}:4"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("dve", "no stack 'dve' (Pulumi.dve.yaml); did you mean 'dev'?"),
        (
            "multislise",
            "no stack 'multislise' (Pulumi.multislise.yaml); did you mean 'stacks/examples/multislice.yaml'?",
        ),
        (
            "production",
            "no stack 'production' (Pulumi.production.yaml); write one of dev, local, or use an example in "
            "stacks/examples",
        ),
        (
            "stacks/examples/multislise.yaml",
            "no file 'stacks/examples/multislise.yaml'; did you mean 'stacks/examples/multislice.yaml'?",
        ),
        ("nowhere/x.yaml", "no file 'nowhere/x.yaml'"),
    ],
)
def test_a_missing_stack_suggests_the_nearest_name(write: Write, tmp_path: pathlib.Path, text: str, line: str) -> None:
    """A slip of the finger costs one look, not a listing of the folder."""
    for name in ("Pulumi.dev.yaml", "Pulumi.local.yaml", "Pulumi.yaml", "stacks/examples/multislice.yaml"):
        write(FLEET, name)
    result, problems = read_stack(text, tmp_path)
    assert (result, lines(problems)) == (None, [f"no-file | {line}"])


@pytest.mark.parametrize("text", ["", "a\0b", "./a\0b.yaml", "..", "/", "x" * 300, "./" + "x" * 300, "~", "*"])
def test_no_name_of_a_stack_raises(tmp_path: pathlib.Path, text: str) -> None:
    """Wrong input is reported and raises nothing."""
    result, problems = read_stack(text, tmp_path)
    assert (result, len(problems)) == (None, 1)


def test_a_folder_is_no_stack_file(tmp_path: pathlib.Path) -> None:
    """Shells complete folders first."""
    (tmp_path / "Pulumi.dev.yaml").mkdir()
    line = "unreadable | Pulumi.dev.yaml: is a directory, not a file; name a YAML file"
    assert lines(read_stack("dev", tmp_path)[1]) == [line]


def test_a_pipe_is_no_stack_file(tmp_path: pathlib.Path) -> None:
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / "Pulumi.dev.yaml")
    line = "unreadable | Pulumi.dev.yaml: is a device or pipe, not a file; name a YAML file"
    assert lines(read_stack("dev", tmp_path)[1]) == [line]


def test_a_file_that_may_not_be_read_says_so(
    write: Write, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for root every file may be read, the refusal is played."""

    def refuse(_: pathlib.Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    write(FLEET)
    monkeypatch.setattr(pathlib.Path, "read_bytes", refuse)
    line = "unreadable | Pulumi.dev.yaml: cannot be read: Permission denied"
    assert lines(read_stack("dev", tmp_path)[1]) == [line]


# --- what is no text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: \0", "Pulumi.dev.yaml:2:4: the character U+0000 is not allowed in YAML; remove it"),
        ("a: \x1b[31m", "Pulumi.dev.yaml:1:4: the character U+001B is not allowed in YAML; remove it"),
        ("a: é\nb: \udcff", "Pulumi.dev.yaml:2:4: byte 0xff is not UTF-8; save the file as UTF-8"),
        ("\ufeffa: 1", "Pulumi.dev.yaml:1:1: begins with a byte order mark (UTF-8); save it as UTF-8 without one"),
        ("\udcff\udcfea", "Pulumi.dev.yaml:1:1: begins with a byte order mark (UTF-16); save it as UTF-8 without one"),
    ],
)
def test_a_value_that_is_not_text_has_its_place(read: Read, text: str, line: str) -> None:
    """Editors hide all of these."""
    assert read(text) == (None, [f"bad-text | {line}"])


def test_a_file_of_ten_megabytes_is_rejected_quickly(read: Read) -> None:
    """A mistaken path must not cost a minute of parsing."""
    start = time.process_time()
    remedy = "move teams to their own files and list these under 'teamFiles'"
    line = f"Pulumi.dev.yaml: is 10,485,760 bytes, more than the maximum of 1,048,576; {remedy}"
    assert read("a" * (10 << 20)) == (None, [f"too-large | {line}"])
    assert time.process_time() - start < 10


# --- around the fleet ------------------------------------------------------------------------------------------------


def test_keys_of_pulumi_and_other_projects_are_ignored(read: Read) -> None:
    """The engine writes keys of its own, and other providers keep theirs as they like, dates and all."""
    result, faults = read(
        "encryptionsalt: v1:x\nsecretsprovider: gcpkms://x\nencryptedkey: x\nenvironment: [a]\nconfig:\n"
        "  gcp:project: acme\n  gcp:batching: {enableBatching: no, since: 2026-12-01, 1: !x y}\n"
        "  pulumi:disable-default-providers: ['*']\n  berth:token: {secure: v1:abc}\n  berth:fleet: {project: acme}\n"
    )
    assert result is not None
    assert (result.fleet, faults) == ({"project": "acme"}, [])
    assert result.source_map.place_of(("project",)) == "Pulumi.dev.yaml:10"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", [f"empty-file | Pulumi.dev.yaml: the file is empty; {WRITE}"]),
        ("# soon\n", [f"empty-file | Pulumi.dev.yaml: the file is empty; {WRITE}"]),
        ("- a", [f"no-fleet | Pulumi.dev.yaml: 'berth:fleet' is missing; {WRITE}"]),
        ("config:\n", [f"no-fleet | Pulumi.dev.yaml:1: 'berth:fleet' is missing; {WRITE}"]),
        ("config:\n  a:b: c", [f"no-fleet | Pulumi.dev.yaml:1: 'berth:fleet' is missing; {WRITE}"]),
        ("config:\n  berth:fleet:\n", [f"no-fleet | Pulumi.dev.yaml:2: 'berth:fleet' is empty; {WRITE}"]),
        (
            "config:\n  berth:fleet: none\n",
            [f"no-fleet | Pulumi.dev.yaml:2: 'berth:fleet' is 'none', not a mapping; {WRITE}"],
        ),
        (
            "config:\n  berth:fleet: [a]\n",
            [f"no-fleet | Pulumi.dev.yaml:2: 'berth:fleet' is a list, not a mapping; {WRITE}"],
        ),
        (
            "confg:\n  berth:fleet: {}\n",
            ["unknown-key | Pulumi.dev.yaml:1: unknown key 'confg' in a stack file; did you mean 'config'?"],
        ),
        (
            "pulumi:disable-default-providers: ['*']\nberth:fleet: {}\n",
            [
                f"unknown-key | Pulumi.dev.yaml:{line}: unknown key '{key}' in a stack file; write it below 'config:'"
                for line, key in ((1, "pulumi:disable-default-providers"), (2, "berth:fleet"))
            ],
        ),
        (
            "config:\n  berth:flet: {}\n",
            ["unknown-key | Pulumi.dev.yaml:2: unknown config key 'berth:flet'; did you mean 'berth:fleet'?"],
        ),
        (
            "config:\n  fleet: {}\n",
            ["unknown-key | Pulumi.dev.yaml:2: unknown config key 'fleet'; did you mean 'berth:fleet'?"],
        ),
        (
            "config:\n  berth:fleet: {secure: v1:x}\n",
            [
                "secret | Pulumi.dev.yaml:2: a secret inside berth:fleet makes all of berth:fleet secret; "
                "move it to its own config key"
            ],
        ),
    ],
)
def test_a_file_without_a_fleet_says_what_to_write(read: Read, text: str, faults: list[str]) -> None:
    """The first stack file of a newcomer is wrong in one of these ways, and one line must set it right."""
    assert read(text) == (None, faults)


INDENT = "indent it below 'berth:fleet:' if it belongs to the fleet, or remove it"


def test_unknown_keys_beside_a_fleet_are_faults_and_the_fleet_is_read(read: Read) -> None:
    """A key that Berth does not read has no effect, so it is a fault."""
    result, faults = read("zone: a\n1: b\nconfig:\n  berth:pools: {}\n  berth:fleet: {a: 1}\n  berth:fleet: {a: 2}\n")
    assert result is not None
    assert result.fleet == {"a": 1}
    assert faults == [
        "unknown-key | Pulumi.dev.yaml:1: unknown key 'zone' in a stack file; " + INDENT,
        "unquoted-key | Pulumi.dev.yaml:2: key '1' is not text; write \"1\"",
        "unknown-key | Pulumi.dev.yaml:2: unknown key '1' in a stack file; " + INDENT,
        "unknown-key | Pulumi.dev.yaml:4: unknown config key 'berth:pools'; remove berth:pools",
        "duplicate-key | Pulumi.dev.yaml:6: key 'berth:fleet' is defined twice, first on line 5; keep one",
    ]


def test_paths_of_faults_start_at_the_fleet_and_faults_are_sorted_by_line(fleet: Read) -> None:
    """Paths do not begin with `config.berth:fleet`, which is the same for all."""
    _, faults = fleet("b:\n- [x, 0777]\n- 2026-12-01\na: yes\n" + "#\n" * 10 + "c: !x y")
    assert faults == [
        "unquoted | Pulumi.dev.yaml:4: b[0][1]: Pulumi would change the type of '0777'; put it in quotes, or write "
        "plain digits for a number",
        "unquoted | Pulumi.dev.yaml:5: b[1]: Pulumi would change the type of '2026-12-01'; put it in quotes",
        "unquoted | Pulumi.dev.yaml:6: a: 'yes' is true to some YAML parsers and text to others; write true, or "
        '"yes" in quotes for the word',
        "yaml-tag | Pulumi.dev.yaml:17: c: Pulumi drops the tag '!x' when it rewrites the file; remove '!x'",
    ]


def test_a_config_that_the_engine_cannot_encode_is_rejected(fleet: Read) -> None:
    """The engine would fail with "argument list too long", before the program could say anything."""
    result, faults = fleet(
        "teams: {" + ", ".join(f"t{n}: {{cohort: research, note: {'x' * 80}}}" for n in range(1000)) + "}"
    )
    assert result is not None
    handed = json.dumps({"berth:fleet": json.dumps(result.fleet, separators=(",", ":"))}, separators=(",", ":"))
    assert faults == [
        f"config-too-large | Pulumi.dev.yaml:2: the config is {len(handed):,} bytes as Pulumi passes it to the "
        "program, more than 120,000 (an environment variable holds 131,072); move teams to their own files and list "
        "these under 'teamFiles'"
    ]


def test_the_config_of_others_counts_towards_its_size(read: Read) -> None:
    """All config of a stack travels in the same variable."""
    _, faults = read(f"config:\n  other:text: {'x' * 120_000}\n  berth:fleet: {{}}\n")
    assert [fault.split(" | ")[0] for fault in faults] == ["config-too-large"]


# --- places ----------------------------------------------------------------------------------------------------------


def test_a_place_is_the_line_of_the_key_or_of_the_nearest_ancestor(read: Read) -> None:
    """A key that is missing has no line; its parent is where it must be written."""
    result, _ = read(
        "# head\nconfig:\n  berth:fleet:\n    pools:\n      a:\n        - x: 1\n          y: 2\n        - z\n"
    )
    assert result is not None
    for path, line in [
        ((), 3),
        (("project",), 3),
        (("pools",), 4),
        (("pools", "a"), 5),
        (("pools", "a", 0), 6),
        (("pools", "a", 0, "y"), 7),
        (("pools", "a", 0, "y", "deeper"), 7),
        (("pools", "a", 1), 8),
        (("pools", "a", 2), 5),
        (("teams", "x"), 3),
        (("teams", 0), 3),
    ]:
        assert result.source_map.place_of(path) == f"Pulumi.dev.yaml:{line}"


def test_without_places_there_is_no_location() -> None:
    """Tests of the spec and the planner have no file."""
    assert (SourceMap().place_of(("pools", "a")), SourceMap("f.yaml").place_of(("a",))) == ("", "f.yaml")


def test_problems_are_sorted_by_line_as_a_number() -> None:
    """Line 10 comes after line 9, and item 10 after item 9."""
    places = ["b:1", "a:10", "a:9:2", "a:9", "a", "", "a:9:10"]
    problems = [Problem(Severity.FAULT, "x", (), "m", place) for place in places]
    assert [p.place for p in sort_by_place(problems)] == ["", "a", "a:9", "a:9:2", "a:9:10", "a:10", "b:1"]
    items = [Problem(Severity.FAULT, "x", ("a", index), "m") for index in (10, 9)]
    assert [p.path for p in sort_by_place(items)] == [("a", 9), ("a", 10)]


def test_a_stack_file_without_a_pulumi_yaml_names_the_missing_file(write: Write, tmp_path: pathlib.Path) -> None:
    """A file named by its path is read anywhere; a stack named by its name belongs to a project."""
    write(FLEET)
    (tmp_path / "Pulumi.yaml").unlink()
    here = "no-file | Pulumi.dev.yaml is here, but Pulumi.yaml is not; copy Pulumi.yaml from Berth's repository"
    nowhere = (
        "no-file | no stack 'prod': there is no Pulumi.yaml here or in a directory above; change to the directory of "
        "the project"
    )
    assert lines(read_stack("dev", tmp_path)[1]) == [here]
    assert lines(read_stack("prod", tmp_path)[1]) == [nowhere]
    assert read_stack(str(tmp_path / "Pulumi.dev.yaml"), tmp_path)[1] == []
