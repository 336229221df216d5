"""`berth rotate`: steps that lead to the new pool, each sound, none of them guarded, and nothing left behind."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.backends.interface import compare
from berth.cli import app
from berth.diff.changes import Changes
from berth.diff.guard.allowances import GuardedAction
from berth.evaluate import evaluate_stack
from berth.plan.fleet import FleetPlan
from berth.rotate.yaml_editor import YamlEditor
from tests.berth.diff.edits.edited import BASE, write
from tests.stack_files import GKE_STACKS


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project in which one stands."""
    write(tmp_path, BASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rotate(*words: str) -> Any:
    """Run the verb in this process."""
    return CliRunner().invoke(app, ["rotate", "dev", *words])


def plan(project: Path) -> FleetPlan:
    """Return the plan of the files as they are."""
    evaluation = evaluate_stack("dev", project)
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    return evaluation.fleet_plan


def walked(project: Path, *words: str) -> Iterator[Changes]:
    """Apply the printed diffs one after the other, with git, and compare each with the one before."""
    result = rotate(*words, "--json")
    assert result.exit_code == 0, result.stdout
    before = plan(project)
    for step in json.loads(result.stdout)["steps"]:
        subprocess.run(["git", "apply", "-"], input=step["difference"], text=True, check=True, cwd=project)
        after = plan(project)
        yield compare(before, after)
        before = after


def test_a_rotation_adds_the_new_pool_first_and_removes_the_old_one_last(project: Path) -> None:
    steps = list(walked(project, "v5e", "--set", "topology=4x4", "--set", "slices=3"))
    assert [[f"{pool.pool} {pool.what}" for pool in step.pools] for step in steps] == [
        ["v5e-next added"],
        ["v5e changed"],
        ["v5e deleted"],
    ]
    assert [step.blocked for step in steps] == [(), (), ()]
    assert [pool.topology for pool in plan(project).pools if pool.name == "v5e-next"] == ["4x4"]
    assert not plan(project).allowances.deletion


def test_a_rotation_keeps_the_flavor(project: Path) -> None:
    """No team's entitlement changes in any step, and no job has to move."""
    steps = list(walked(project, "l4-spot"))
    assert [step.blocked for step in steps] == [(), (), ()]
    assert not [step for step in steps if step.entitlements.entitlements]
    assert "l4-spot" in {flavor.name for flavor in plan(project).flavors}


def test_reserved_machines_are_drained_first(project: Path) -> None:
    steps = list(walked(project, "l4-reserved", "--set", "maxPodsPerNode=32"))
    assert [step.blocked for step in steps] == [(), (), ()]
    stopped = [{o.name for o in step.objects if any(f.path == "spec.stopPolicy" for f in o.fields)} for step in steps]
    assert stopped == [{"speech-serve", "vision-urgent"}, set(), {"speech-serve", "vision-urgent"}]
    assert [(loss.key, loss.action) for loss in steps[1].losses] == [("l4-reserved", GuardedAction.REPLACE)]
    assert not plan(project).allowances.replacement


def test_a_pool_can_be_drained_although_both_fit(project: Path) -> None:
    steps = list(walked(project, "v5e", "--set", "topology=4x4", "--set", "slices=3", "--in-place"))
    assert [[pool.what for pool in step.pools] for step in steps][1] == ["replaced"]
    assert [step.blocked for step in steps] == [(), (), ()]


def test_allowances_of_other_resources_are_kept(project: Path) -> None:
    text = BASE["Pulumi.dev.yaml"].replace("    pools:", '    allowDeletion: {v6e: "paid up"}\n    pools:', 1)
    write(project, {**BASE, "Pulumi.dev.yaml": text})
    list(walked(project, "v5e", "--set", "topology=4x4", "--set", "slices=3"))
    assert dict(plan(project).allowances.deletion) == {"v6e": "paid up"}


def test_a_rejected_step_is_reported_and_exits_1(project: Path) -> None:
    result = rotate("v5e", "--set", "topology=4x4", "--set", "slices=1")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "dev: step 2 of the replacement of v5e has faults; change --set or the stack file"
    assert lines[-1].startswith("# fault: Pulumi.dev.yaml:") and result.stdout.count("# fault:") == 1
    assert not any(line.startswith("# 3.") for line in lines)
    assert plan(project).pools


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("v7",), "no pool 'v7'; the pools are l4-reserved, l4-spot, v5e, v6e"),
        (("v5e", "--set", "topology"), "'topology' is not a setting; write --set topology=4x4"),
        (("v5e", "--set", "=4x4"), "'=4x4' is not a setting; write --set topology=4x4"),
        (("v5e", "--set", "a.b=4x4"), "'a.b=4x4' is not a setting; write --set topology=4x4"),
        (("v5e", "--set", "topology={"), "--set topology: { is not a YAML value; write --set topology=4x4"),
        (("v5e", "--set", "topology=*a"), "--set topology: *a is not a YAML value; write --set topology=4x4"),
        (("v5e", "--set", "topology=!!x y"), "--set topology: !!x y is not a YAML value; write --set topology=4x4"),
        (
            ("v5e", "--set", "topology=a\nb: c"),
            "--set topology: 'a\\nb: c' is not a YAML value; write --set topology=4x4",
        ),
        (("v5e", "--set", "topologi=4x4"), "--set: unknown key 'topologi' of a pool; did you mean 'topology'?"),
        (
            ("v5e", "--set", "topology=2x2"),
            "this changes v5e from 24 to 12 accelerators, 4 in each of 3 slices; write how many slices it gets: "
            "--set slices=3 (12) or --set slices=6 (24)",
        ),
        (("l4-reserved",), "no change of l4-reserved is given; write --set KEY=VALUE, such as --set topology=4x4"),
    ],
)
def test_a_pool_that_cannot_be_rotated_is_one_line(project: Path, words: tuple[str, ...], text: str) -> None:
    result = rotate(*words)
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"{text}\n")


def test_unsupported_edits_are_manual_steps(project: Path) -> None:
    """Two pools on one line: an edit with side effects is not made."""
    text = BASE["Pulumi.dev.yaml"].replace("    pools:\n      v5e: {", "    pools: {v5e: {", 1)
    lines = text.split("    kueue:")[0].split("pools: {")
    pools = lines[1].strip().replace("\n      ", ", ")
    write(
        project, {**BASE, "Pulumi.dev.yaml": f"{lines[0]}pools: {{{pools}}}\n    kueue:{text.split('    kueue:')[1]}"}
    )
    result = rotate("v5e", "--set", "topology=4x4", "--set", "slices=3")
    assert result.exit_code == 1
    assert "by hand" in result.stderr


def test_faults_can_be_annotations_of_a_pull_request(project: Path) -> None:
    """GitHub's workflow commands: the place in the properties, and the rest as the message."""
    (project / "teams" / "speech.yaml").write_text("teams:\n  speech: {cohort: nowhere}\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["check", "dev", "--format", "github"])
    assert result.exit_code == 1
    wanted = "::error file=teams/speech.yaml,line=2,title=unknown-reference::teams.speech.cohort: no cohort 'nowhere'"
    assert next(line for line in result.stdout.splitlines() if line.startswith("::error")).startswith(wanted)


def test_faults_can_be_json(project: Path) -> None:
    (project / "teams" / "speech.yaml").write_text("teams:\n  speech: {cohort: nowhere}\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["check", "dev", "--format", "json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["version"], document["stacks"][0]["sound"]) == (1, 1, False)
    (fault,) = [each for each in document["stacks"][0]["problems"] if each["severity"] == "fault"]
    assert fault["place"] == "teams/speech.yaml:2"


def test_a_pool_of_a_worker_is_not_rotated_and_the_remedy_is_printed() -> None:
    result = CliRunner().invoke(app, ["rotate", str(GKE_STACKS["multikueue"]), "central/v5e", "--set", "topology=2x4"])
    assert result.exit_code == 1
    assert result.stderr.strip() == (
        "'central/v5e' belongs to a worker, so replace it by hand: drain its queues, then write "
        "workers.central.allowReplacement: {v5e: <why>}"
    )


def _diffs(text: str) -> list[str]:
    return [step["difference"] for step in json.loads(text)["steps"]]


def test_cohorts_are_rotated_with_the_queues() -> None:
    stack = str(GKE_STACKS["quota-tree"])
    result = CliRunner().invoke(app, ["rotate", stack, "v6e", "--set", "topology=4x8", "--set", "slices=8", "--json"])
    assert [step["faults"] for step in json.loads(result.stdout)["steps"]] == [[], [], []], result.stdout
    assert result.exit_code == 0


def test_queues_under_a_former_name_are_drained(project: Path) -> None:
    """Kueue's name stays that of the first key."""
    text = BASE["Pulumi.dev.yaml"].replace("      vision:\n", "      sight:\n        formerly: vision\n")
    text = text.replace("          urgent:\n", "          asap:\n            formerly: urgent\n")
    write(project, {**BASE, "Pulumi.dev.yaml": text})
    (drain, _, resume) = _diffs(rotate("l4-reserved", "--in-place", "--set", "diskSizeGb=200", "--json").stdout)
    assert drain.count("+") > drain.count("+++") + 1
    assert "+            stopPolicy: HoldAndDrain" in drain
    assert "-            stopPolicy: HoldAndDrain" in resume


def test_a_held_queue_is_drained_and_held_again(project: Path) -> None:
    text = BASE["Pulumi.dev.yaml"].replace("          train:\n", "          train:\n            stopPolicy: Hold\n", 1)
    write(project, {**BASE, "Pulumi.dev.yaml": text})
    drain, _, resume = _diffs(
        rotate("v5e", "--in-place", "--set", "topology=4x4", "--set", "slices=3", "--json").stdout
    )
    assert "-            stopPolicy: Hold\n+            stopPolicy: HoldAndDrain" in drain
    assert "-            stopPolicy: HoldAndDrain\n+            stopPolicy: Hold\n" in resume


def test_drained_teams_are_not_drained_again(project: Path) -> None:
    """The state of a team drains its queues; an active queue is drained and resumed separately."""
    text = BASE["Pulumi.dev.yaml"].replace("      vision:\n", "      vision:\n        state: drained\n")
    write(project, {**BASE, "Pulumi.dev.yaml": text})
    result = json.loads(rotate("l4-reserved", "--in-place", "--set", "diskSizeGb=200", "--json").stdout)
    assert [step["title"] for step in result["steps"]] == [
        "hold and drain speech-serve",
        "replace l4-reserved",
        "resume speech-serve",
    ]
    speech = BASE["teams/speech.yaml"].replace("  speech:\n", "  speech:\n    state: drained\n")
    write(project, {**BASE, "Pulumi.dev.yaml": text, "teams/speech.yaml": speech})
    result = json.loads(rotate("l4-reserved", "--in-place", "--set", "diskSizeGb=200", "--json").stdout)
    assert [step["title"] for step in result["steps"]] == ["replace l4-reserved", "remove the allowance"]


def test_a_stack_file_outside_of_the_project_is_rotated_and_not_written(project: Path, tmp_path_factory: Any) -> None:
    outside = tmp_path_factory.mktemp("elsewhere") / "Pulumi.dev.yaml"
    outside.write_text(BASE["Pulumi.dev.yaml"], encoding="utf-8")
    result = CliRunner().invoke(
        app, ["rotate", str(outside), "v5e", "--set", "topology=4x4", "--set", "slices=3", "--json"]
    )
    assert result.exit_code == 0, result.output
    assert _diffs(result.stdout)[0].startswith("--- a/Pulumi.dev.yaml\n")
    assert outside.read_text(encoding="utf-8") == BASE["Pulumi.dev.yaml"]


@pytest.mark.parametrize(
    "text", ["a: {b: [{c: 1}, {c: 2}, {c: 3}]}\n", "a:\n  b:\n    - c: 1\n    - c: 2\n    - c: 3\n"]
)
@pytest.mark.parametrize(("first", "order"), [(0, [2, 1, 3]), (1, [1, 3, 2])])
def test_two_neighbours_of_a_longer_list_change_places(text: str, first: int, order: list[int]) -> None:
    text = f"config:\n  berth:fleet:\n{textwrap.indent(text, '    ')}"
    editor = YamlEditor("lab", "Pulumi.lab.yaml", {"Pulumi.lab.yaml": text}).swap_items(("a", "b"), first)
    written = yaml.safe_load(editor.texts["Pulumi.lab.yaml"])["config"]["berth:fleet"]["a"]["b"]
    assert [each["c"] for each in written] == order
