"""The command: exit statuses, help, streams, folders, pipes. The output of each command is tested with its package."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth import cli
from berth.cli import app
from berth.cli import terminal as paint
from berth.cli.arguments import EXIT_BLOCKED, EXIT_FAULTS, EXIT_OK
from berth.cli.render import output
from berth.cli.render.output import yaml_document
from berth.diagnostics import Problem, Severity
from berth.document import Heading, ProblemList, Table
from berth.document.text import problem_lines, render_text
from berth.yaml_loader import LOADER
from tests.stack_files import GKE_STACKS, ROOT, evaluation, every_stack, plan, rendered

SCENARIO = "stacks/scenarios/multislice.yaml"
JOB = "stacks/jobs/train.yaml"
VERBS = [
    "init",
    "adopt",
    "check",
    "explain",
    "split",
    "plan",
    "quota",
    "usage",
    "preview",
    "render",
    "admit",
    "simulate",
    "test",
    "why",
    "workload",
    "lint",
    "diff",
    "verify",
    "guard",
    "rotate",
    "upgrade",
    "report",
    "drain",
    "graph",
    "schema",
    "mcp",
]
AUTHOR = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
MULTISLICE, BATCH = str(GKE_STACKS["multislice"]), str(GKE_STACKS["batch-platform"])
COLOUR = "\x1b["


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run from the folder of Pulumi.yaml, as a user does."""
    monkeypatch.chdir(ROOT)


def berth(*words: str) -> Any:
    """Run the command in this process; the result has `exit_code`, `stdout` and `stderr`."""
    return CliRunner().invoke(app, words, prog_name="berth")


def process(words: Sequence[str], **more: Any) -> subprocess.Popen[str]:
    """Return the command as a process of its own."""
    command = [sys.executable, "-c", "from berth.cli import run_command; run_command()", *words]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def project(folder: Path, stack: str, old: str = "", new: str = "") -> Path:
    """Return the stack file of a folder with a Pulumi.yaml and all team files, with something in the stack replaced."""
    text = GKE_STACKS[stack].read_text(encoding="utf-8")
    assert old in text
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    shutil.copytree(ROOT / "stacks/teams", folder / "stacks/teams", dirs_exist_ok=True)
    file = folder / f"Pulumi.{stack}.yaml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return file


# --- help -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_ends_with_an_example_that_works(verb: str) -> None:
    """The files and stacks that the example names exist."""
    shown = berth(verb, "--help")
    assert shown.exit_code == 0
    (example,) = re.findall(r"Example: berth (.*)", shown.stdout)
    words = re.split(r" [|>] ", example)[0].split()
    assert words[0] == verb
    if verb not in (
        "init",
        "adopt",
        "preview",
        "render",
        "diff",
        "guard",
        "drain",
        "report",
        "verify",
        "why",
        "mcp",
    ):  # slow, writes a file, or needs git or a file of kubectl
        assert berth(*words).exit_code == 0


def test_help_lists_each_verb_on_its_own_line() -> None:
    shown = berth("--help").stdout
    assert [verb for verb in VERBS if not re.search(rf"^  {verb} +\S", shown, flags=re.MULTILINE)] == []
    assert set(cli.VERBS) == set(VERBS)


def test_the_readme_names_every_verb_and_the_page_of_commands_describes_it() -> None:
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/commands.md"))
    assert [verb for verb in VERBS if f"`berth {verb}`" not in readme] == []
    assert [verb for verb in VERBS if f"| `berth {verb}" not in page] == []


# --- exit statuses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["check", "dev"],
        ["plan", "dev"],
        ["plan", "dev", "--json"],
        ["render", "dev"],
        ["admit", SCENARIO],
        ["schema"],
        ["workload", "dev", "vision", "train"],
        ["lint", "dev", JOB],
    ],
)
def test_a_fleet_without_faults_exits_0(words: list[str]) -> None:
    done = berth(*words)
    assert (done.exit_code, done.stderr) == (0, "")


@pytest.mark.parametrize("verb", ["check", "plan", "render", "preview", "admit", "workload", "lint"])
def test_a_fault_exits_1(verb: str, tmp_path: Path) -> None:
    file = project(tmp_path, "multislice", "topology: 2x4", "topology: 2x5")
    more = {"admit": [SCENARIO], "workload": ["multislice", "train"], "lint": [JOB]}
    done = berth(verb, str(file), *more.get(verb, []))
    lines = done.stdout if verb in ("check", "plan") else done.stderr
    assert done.exit_code == 1
    assert "pools.nodepool.topology: '2x5' is not a v5e slice of ct5lp-hightpu-4t; write one of 2x2, 2x4, 4x4" in lines


@pytest.mark.parametrize("words", [["check"], ["plan"], ["admit"], ["sail"], ["plan", "dev", "--yaml"], []])
def test_wrong_usage_exits_2(words: list[str]) -> None:
    assert berth(*words).exit_code == 2


def test_a_missing_stack_is_a_fault_that_suggests_the_nearest_name() -> None:
    done = berth("check", "batch-platfrom")
    assert done.exit_code == 1
    assert "did you mean 'stacks/examples/batch-platform.yaml'?" in done.stdout


def test_several_stacks_are_checked_at_once_and_one_fault_sets_the_status(tmp_path: Path) -> None:
    broken = project(tmp_path, "multislice", "slices: 3", "slices: three")
    done = berth("check", str(broken), "dev")
    assert done.exit_code == 1
    assert "dev: no errors" in done.stdout
    assert "multislice: no errors" not in done.stdout


def test_json_is_also_printed_with_faults_and_the_status_is_1(tmp_path: Path) -> None:
    broken = project(tmp_path, "multislice", "topology: 2x4", "topology: 2x5")
    done = berth("plan", str(broken), "--json")
    assert done.exit_code == 1
    assert [p["code"] for p in json.loads(done.stdout)["problems"] if p["severity"] == "fault"] == ["bad-topology"]


def test_a_fleet_with_a_fault_is_not_rendered(tmp_path: Path) -> None:
    broken = project(tmp_path, "multislice", "guaranteed: all", "guaranteed: 7")
    done = berth("render", str(broken))
    assert (done.exit_code, done.stdout) == (1, "")


# --- the guarantees of the batch reference ----------------------------------------------------------------------------


def test_the_batch_reference_guarantees_more_than_its_capacity(tmp_path: Path) -> None:
    """The queues guarantee 16 of 8 reserved GPUs; the fault names all four queues."""
    (line,) = (ln for ln in Path(BATCH).read_text(encoding="utf-8").splitlines() if "oversubscription:" in ln)
    done = berth("plan", str(project(tmp_path, "batch-platform", f"{line}\n", "")), "--json")
    (fault,) = (p for p in json.loads(done.stdout)["problems"] if p["severity"] == "fault")
    assert (done.exit_code, fault["code"], fault["path"]) == (
        1,
        "overcommitted",
        "teamDefaults.queues.hp.flavors[0].guaranteed",
    )
    assert "flavor 'gpu-l4-reserved' guarantees 16 L4, but pool reserved-np has 8" in fault["message"]
    assert [name for name in "abcd" if f"team-{name}/hp 4" not in fault["message"]] == []


@pytest.mark.parametrize(
    ("old", "new", "left_out"),
    [
        (
            "topology: 2x4",
            "topology: 2x5",
            "Because of it this plan leaves out pools.v5e, teams.vision.queues.train, teams.language.queues.train and "
            "teams.speech.queues.train.",
        ),
        ("nodes: {max: 24}", "nodes: {max: x}", "Because of it this plan leaves out pools.l4-spot and "),
        ("      vision:\n", "      Vision_1:\n", "Because of it this plan leaves out teams.Vision_1."),
        ("region: us-central1", "region: 1", "Because of it there is no plan."),
        ("priority: high", "priority: hihg", ""),
    ],
)
def test_a_plan_with_faults_begins_with_its_omissions(tmp_path: Path, old: str, new: str, left_out: str) -> None:
    file = project(tmp_path, "dev", old, new)
    first = berth("plan", str(file)).stdout.splitlines()[0]
    assert first.startswith(f"{file.stem.removeprefix('Pulumi.')} has 1 error, listed at the end. {left_out}".rstrip())
    listed = json.loads(berth("plan", str(file), "--json").stdout)["leftOut"]
    assert bool(listed) == bool(left_out)


@pytest.mark.parametrize("stack", [BATCH, "dev"])
def test_a_plan_without_faults_leaves_nothing_out(stack: str) -> None:
    plan = json.loads(berth("plan", stack, "--json").stdout)
    assert plan["leftOut"] == [] and not berth("plan", stack).stdout.startswith(f"{plan['stack']} has ")


def test_a_document_on_a_terminal_has_bold_heads_and_coloured_problems_and_the_same_text() -> None:
    problems = [
        Problem(Severity.WARNING, "x-y", ("a",), "bad", "f:1"),
        Problem(Severity.FAULT, "z", ("b",), "worse", "f:2"),
    ]
    document = [
        Heading("dev · x"),
        Table("Pools", ("pool", "nodes"), [["a", "1"]]),
        ProblemList("2 problems", problems),
    ]
    text = render_text(document)
    assert (
        text
        == "dev · x\n\nPools   nodes\n  a     1\n\n2 problems\n  f:2: error: b: worse [z]\n  f:1: warning: a: bad [x-y]"
    )
    coloured = render_text(document, coloured=True)
    assert re.sub(r"\x1b\[\d+m", "", coloured) == text
    assert "\x1b[1mPools   nodes\x1b[0m\n  a     1" in coloured
    assert "f:1: \x1b[33mwarning\x1b[0m: a: bad \x1b[33m[x-y]\x1b[0m" in coloured
    assert "f:2: \x1b[31merror\x1b[0m: b: worse \x1b[31m[z]\x1b[0m" in coloured


INTERRUPTED_WHILE_LOADING = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "berth.cli":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from berth.__main__ import main
main()
"""


def test_ctrl_c_while_the_command_is_loaded_prints_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_WHILE_LOADING], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


# --- stdin, and files that are written --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text", "status", "line"),
    [
        (["lint", "dev", "-"], None, 0, "stdin:2: JobSet/train-llm: vision/train can admit it, 16 v5e chips of v5e"),
        (
            ["lint", "dev", "-"],
            "a: [",
            1,
            "stdin:1:4: error: '[' opens here and is not closed; write ']' at its end [bad-yaml]",
        ),
        (
            ["lint", "dev", "-"],
            b"\xff",
            1,
            "stdin:1:1: error: byte 0xff is not UTF-8; save the file as UTF-8 [bad-text]",
        ),
        (
            ["admit", "dev", "-"],
            None,
            0,
            "1      train-llm   vision/train   admitted   v5e 16 (8 own, 8 borrowed from language)",
        ),
    ],
)
def test_lint_and_admit_read_manifests_from_stdin(
    words: list[str], text: str | bytes | None, status: int, line: str
) -> None:
    manifest = (ROOT / JOB).read_bytes() if text is None else text
    done = CliRunner().invoke(app, words, input=manifest)
    assert done.exit_code == status and line in done.output.splitlines(), done.output


@pytest.mark.parametrize("words", [["report", "dev"], ["graph", "dev", "--format", "svg"]])
def test_a_verb_that_writes_a_file_prints_its_name(words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "out"
    done = berth(*words, "-o", str(file))
    assert (done.exit_code, done.stdout, done.stderr) == (0, f"{file}: written\n", "")
    assert file.read_text(encoding="utf-8") == berth(*words).stdout


@pytest.mark.parametrize("verb", ["report", "graph"])
def test_a_dash_is_stdout(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = str(GKE_STACKS["local"])
    monkeypatch.chdir(tmp_path)
    dashed = berth(verb, stack, "-o", "-")
    assert (dashed.exit_code, dashed.stdout) == (0, berth(verb, stack).stdout)
    assert list(tmp_path.iterdir()) == []


# --- streams ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["check", "dev"], ["plan", "dev"], ["check", "nope"], ["render", "nope"]])
def test_output_that_is_not_a_terminal_has_no_colour(words: list[str]) -> None:
    done = berth(*words)
    assert COLOUR not in done.stdout + done.stderr


class Terminal:
    """A stream that reports whether it is a terminal."""

    def __init__(self, is_one: bool) -> None:
        self.is_one = is_one

    def isatty(self) -> bool:
        return self.is_one


@pytest.mark.parametrize(
    ("terminal", "says", "expected"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {}, True),
        (True, {"NO_COLOR": ""}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {"TERM": "xterm"}, False),
    ],
)
def test_no_color_disables_colour_on_a_terminal(
    terminal: bool, says: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR counts with any value (https://no-color.org)."""
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in says.items():
        monkeypatch.setenv(name, value)
    stream: Any = Terminal(terminal)
    assert paint.is_coloured(stream) == expected


def test_an_error_is_red_and_a_warning_yellow() -> None:
    problems = [Problem(severity, "x", (), "words") for severity in (Severity.FAULT, Severity.WARNING)]
    assert list(problem_lines(problems, coloured=True)) == [
        "\x1b[31merror\x1b[0m: words \x1b[31m[x]\x1b[0m",
        "\x1b[33mwarning\x1b[0m: words \x1b[33m[x]\x1b[0m",
    ]


def test_output_to_an_ascii_terminal_is_escaped() -> None:
    done = process(["plan", "dev"], env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    out, err = done.communicate()
    assert (done.returncode, err) == (0, "")
    assert "acme-ml-dev" in out


def test_it_can_be_run_from_any_folder_below_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "stacks" / "examples")
    assert berth("check", "dev").exit_code == 0
    assert berth("check", "multislice.yaml").exit_code == 0


def test_the_output_for_an_empty_fleet_has_no_empty_sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new stack file begins like this."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    fleet = "{project: acme-ml-dev, region: us-central1, cluster: {controlPlane: {publicEndpoint: false}}}"
    (tmp_path / "Pulumi.mine.yaml").write_text(f"config:\n  berth:fleet: {fleet}\n")
    monkeypatch.chdir(tmp_path)
    result = berth("plan", "mine").stdout
    assert result.splitlines()[1:] == ["", "No faults or warnings."]
    assert (
        "queue 'train' in namespace 'vision'; the fleet has no queues [no-queue]\n"
        in berth("lint", "mine", str(ROOT / JOB)).stdout
    )
    assert (
        berth("workload", "mine", "vision", "train").stderr
        == "error: TEAM: no team 'vision'; there are none [unknown-name]\n"
    )


# --- render -----------------------------------------------------------------------------------------------------------


@every_stack
def test_a_folder_gets_one_file_for_each_object_in_the_order_of_the_stream(stack: str, tmp_path: Path) -> None:
    count = output.write_folder(plan(stack), tmp_path / "out")
    files = sorted(file for file in (tmp_path / "out").rglob("*") if file.is_file())
    printed = list(yaml.load_all(rendered(stack), LOADER))
    assert count == len(files) == len(printed)
    assert [yaml.load(file.read_text(encoding="utf-8"), LOADER) for file in files] == printed


def test_a_second_render_replaces_the_first(tmp_path: Path) -> None:
    """A removed object must not remain in the folder, because users apply the folder."""
    assert berth("render", BATCH, "-o", str(tmp_path)).exit_code == 0
    done = berth("render", MULTISLICE, "-o", str(tmp_path))
    assert done.exit_code == 0
    assert len(list(tmp_path.iterdir())) == len(list(yaml.load_all(rendered("multislice"), LOADER)))
    assert "objects in" in done.stderr


def test_a_file_at_the_path_of_the_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("precious", encoding="utf-8")
    done = berth("render", "dev", "-o", str(tmp_path / "notes.txt"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"{tmp_path / 'notes.txt'} is a file; choose an empty or a new folder\n"
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "precious"


@pytest.mark.parametrize("stranger", ["notes.txt", "00001-mine.txt", "deployment.yaml"])
def test_a_folder_with_other_files_is_not_changed(stranger: str, tmp_path: Path) -> None:
    (tmp_path / stranger).write_text("precious", encoding="utf-8")
    done = berth("render", "dev", "-o", str(tmp_path))
    assert (done.exit_code, [file.name for file in tmp_path.iterdir()]) == (1, [stranger])
    assert f"contains {stranger}, which berth render did not write; choose an empty or a new folder" in done.stderr
    assert (tmp_path / stranger).read_text(encoding="utf-8") == "precious"


def test_a_folder_that_cannot_be_created_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = berth("render", "dev", "-o", str(tmp_path / "file" / "folder"))
    assert (done.exit_code, "Traceback" in done.stderr) == (1, False)


PLAIN = """no yes on off y n NO Off null ~ true 1 1e3 0x10 012 0o17 1_000 1.10 +1 .5 .inf 12:30:45 2026-01-01
= << # @a %a [a {a &a *a !a | > - ? : ' \" é 🚢"""
WORDS = [*PLAIN.split(), "", " ", "- a", "a: b", "a #b", "a\nb", "a\tb", "a\u2028b"]
"""Texts that YAML could parse as another type."""


@pytest.mark.parametrize("word", WORDS)
def test_text_is_the_same_text_in_every_yaml_version(word: str) -> None:
    """kubectl reads YAML 1.1, in which `no` is false and 12:30:45 a number. Checks a key, a value, and a list entry."""
    manifest: dict[str, object] = {
        "kind": "X",
        "metadata": {"labels": {word: word, "k": word}},
        "spec": [word, {"k": [word]}],
    }
    assert list(yaml.load_all(yaml_document(manifest), LOADER)) == [manifest]


def test_evaluations_in_tests_equal_those_of_the_command() -> None:
    """Other tests evaluate stacks without the command."""
    assert berth("check", "dev").stdout.splitlines()[:-1] == [
        p.line() for p in evaluation("dev").problems if p.severity != "note"
    ]


@pytest.mark.parametrize("wants_traceback", [False, True])
def test_an_internal_error_is_one_line_unless_a_traceback_is_requested(wants_traceback: bool) -> None:
    """BERTH_TRACEBACK=1 shows the traceback to developers of Berth."""
    code = "from berth.cli import check, run_command; check.evaluate_stack = lambda *_: 1 / 0; run_command()"
    environment = {**os.environ, "BERTH_TRACEBACK": "1"} if wants_traceback else dict(os.environ)
    command = [sys.executable, "-c", code, "check", "dev"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, "Traceback" in done.stderr) == (1, wants_traceback)
    if not wants_traceback:
        assert done.stderr.startswith("internal error in berth: ZeroDivisionError")


@pytest.mark.parametrize(
    "words",
    [
        ["check", "multislice"],
        ["check", "dev", "multislice"],
        ["plan", "multislice"],
        ["preview", "multislice"],
        ["graph", "multislice"],
        ["render", "multislice"],
        ["quota", "multislice"],
        ["lint", "multislice", "stacks/jobs/multislice/1slice.yaml"],
        ["workload", "multislice", "multislice", "train"],
        ["admit", "multislice", "stacks/jobs/multislice/1slice.yaml"],
        ["diff", "multislice", "dev"],
        ["diff", "dev", "multislice"],
        ["drain", "multislice"],
        ["rotate", "multislice", "vlp-24", "--set", "topology=4x4"],
        ["simulate", "multislice", "--generate", "1"],
        ["split", "multislice"],
        ["test", "multislice"],
        ["upgrade", "multislice", "--kueue", "0.19.2"],
        ["usage", "multislice", "--metrics", "Makefile"],
        ["verify", "multislice", "--live", "Makefile"],
        ["guard", "multislice", "Makefile"],
        ["why", "multislice", "job", "--live", "Makefile"],
        ["report", "multislice", "-o", "-"],
    ],
)
def test_an_example_has_a_name_for_every_verb_that_takes_a_stack(words: list[str]) -> None:
    named = berth(*words)
    at = words.index("multislice")
    by_path = berth(*words[:at], "stacks/examples/multislice.yaml", *words[at + 1 :])
    assert named.exit_code in (EXIT_OK, EXIT_FAULTS, EXIT_BLOCKED)
    same = named.output.replace("--stack stacks/examples/multislice.yaml", "--stack multislice")
    assert (named.exit_code, same) == (by_path.exit_code, by_path.output)
    assert "no-file" not in named.output


NOT_A_STACK = {
    "-": "error: no stack '-' (Pulumi.-.yaml); a stack file is not read from stdin; write one of dev, local, or use",
    "stacks": "error: no stack 'stacks' (Pulumi.stacks.yaml); 'stacks' is a directory; write one of dev, local, or use",
    "README.md": "the name of a stack file ends in .yaml, that of 'README.md' does not; write one of dev, local, or",
    "stacks/examples": "is a directory, not a file; name a file in it, such as stacks/examples/ack-fleet.yaml",
    "Pulumi.hpc.yaml": "error: no file 'Pulumi.hpc.yaml'; did you mean 'stacks/examples/hpc.yaml'?",
    "examples/hpc": "error: no file 'examples/hpc'; did you mean 'stacks/examples/hpc.yaml'?",
    "hpc.yml": "error: no file 'hpc.yml'; did you mean 'stacks/examples/hpc.yaml'?",
    "hpx": "error: no stack 'hpx' (Pulumi.hpx.yaml); did you mean 'stacks/examples/hpc.yaml'?",
}


@pytest.mark.parametrize("verb", ["check", "plan", "diff", "drain", "split", "render", "test", "graph"])
@pytest.mark.parametrize("stack", NOT_A_STACK)
def test_what_is_no_stack_has_the_same_fault_for_every_verb(verb: str, stack: str) -> None:
    done = berth(verb, *(["dev"] if verb == "diff" else []), "--", stack)
    assert done.exit_code == EXIT_FAULTS
    assert NOT_A_STACK[stack] in done.output


def test_a_stack_of_the_project_comes_before_an_example_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Pulumi.yaml").write_bytes((ROOT / "Pulumi.yaml").read_bytes())
    (tmp_path / "stacks/examples").mkdir(parents=True)
    text = (ROOT / "stacks/examples/multislice.yaml").read_text(encoding="utf-8")
    (tmp_path / "stacks/examples/multislice.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert "stacks/examples/multislice.yaml:" in berth("check", "multislice").stdout
    (tmp_path / "Pulumi.multislice.yaml").write_text(text, encoding="utf-8")
    assert "Pulumi.multislice.yaml:" in berth("check", "multislice").stdout


def test_a_diff_does_not_take_an_example_for_a_stack_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Pulumi.yaml").write_bytes((ROOT / "Pulumi.yaml").read_bytes())
    (tmp_path / "stacks/examples").mkdir(parents=True)
    text = (ROOT / "stacks/examples/multislice.yaml").read_text(encoding="utf-8")
    for name in ("stacks/examples/multislice.yaml", "stacks/examples/other.yaml", "Pulumi.multislice.yaml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for words in (["init", "-q"], ["add", "."], [*AUTHOR, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], check=True, cwd=tmp_path)
    (tmp_path / "Pulumi.multislice.yaml").unlink()
    for words in (["multislice", "--since", "HEAD"], ["HEAD:multislice", "multislice"], ["HEAD:other", "multislice"]):
        done = berth("diff", *words)
        assert done.exit_code == 1
        assert "did you mean 'stacks/examples/multislice.yaml'?" in done.output
    assert berth("diff", "HEAD:other", "other").output == "other: nothing changes\n"
