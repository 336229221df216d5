"""The scripts behind the workflows, run as a workflow runs them: through make, in a repository of their own."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.stack_files import ROOT
from tests.targets import commit_all, replace_in_stack, run_make, write_script


def test_a_comment_has_a_section_per_stack(project: pathlib.Path) -> None:
    """A changed stack by its diff, a new one by its plan; the list is words or JSON."""
    shutil.copy(ROOT / "stacks" / "examples" / "multislice.yaml", project / "Pulumi.prod.yaml")
    replace_in_stack(project, "guaranteed: 1 slice, borrow: 2 slices", "guaranteed: 1 slice, borrow: 1 slice")
    summary = project / "summary.md"
    done = run_make(project, "diff-comment", STACKS='["dev", "prod"]', SINCE="HEAD", GITHUB_STEP_SUMMARY=str(summary))
    assert (done.returncode, done.stderr) == (0, "")
    comment = (project / "build" / "comment.md").read_text(encoding="utf-8")
    dev, prod = comment.split("## Stack prod\n")
    table = dev[: dev.index("## Stack dev\n")].splitlines()
    assert [row.split(" | ")[:2] for row in table[2:4]] == [["| dev", "changes"], ["| prod", "new"]]
    assert "dev: vision can use less" in table[2]
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=project, capture_output=True, text=True)
    assert all(row.endswith(f"| {commit.stdout.strip()} |") for row in table[2:4])
    assert "vision" in dev
    assert prod.startswith("\nA new stack.\n\n```\nprod · my-project")
    assert summary.read_text(encoding="utf-8") == comment


def test_a_blocked_change_fails_after_its_comment(project: pathlib.Path) -> None:
    replace_in_stack(
        project,
        "topology: 2x4, slices: 3, zone: us-central1-a",
        "topology: 2x4, slices: 3, zone: us-central1-c, acceptZone: true",
    )
    done = run_make(project, "diff-comment", "STACKS=dev", "SINCE=main")
    assert "Error 3" in done.stderr
    assert "**Blocked: the stack file does not allow these changes**" in (project / "build" / "comment.md").read_text(
        encoding="utf-8"
    )


def test_a_fault_is_an_annotation_and_in_the_comment(project: pathlib.Path) -> None:
    replace_in_stack(project, "topology: 2x4", "topology: 2x5")
    done = run_make(project, "diff-comment", "SINCE=main", GITHUB_ACTIONS="true")
    assert "Error 1" in done.stderr
    assert "::error file=Pulumi.dev.yaml,line=20" in done.stdout
    comment = (project / "build" / "comment.md").read_text(encoding="utf-8")
    assert comment.startswith("| stack | status | headline | commit |\n|---|---|---|---|\n| dev | refused | Refused | ")
    assert "\n\nRefused:\n\n```\nPulumi.dev.yaml:20: error: pools.v5e.topology: '2x5'" in comment


def test_the_comment_covers_ack_fleets_and_team_stacks(project: pathlib.Path) -> None:
    examples = ROOT / "stacks" / "examples"
    shutil.copy(examples / "ack-fleet.yaml", project / "Pulumi.hz.yaml")
    shutil.copy(examples / "batch-platform.yaml", project / "Pulumi.batch.yaml")
    text = (examples / "team-a.yaml").read_text(encoding="utf-8")
    mine = project / "Pulumi.mine.yaml"
    mine.write_text(text.replace("stacks/examples/batch-platform.yaml", "batch"), encoding="utf-8")
    commit_all(project)
    mine.write_text(mine.read_text(encoding="utf-8").replace("evaluation:1.4", "evaluation:1.5"), encoding="utf-8")
    fleet = project / "Pulumi.hz.yaml"
    fleet.write_text(fleet.read_text(encoding="utf-8").replace("borrow: unlimited", "borrow: 4"), encoding="utf-8")
    done = run_make(project, "diff-comment", STACKS="hz mine", SINCE="HEAD")
    assert (done.returncode, done.stderr) == (0, "")
    comment = (project / "build" / "comment.md").read_text(encoding="utf-8")
    assert "hz: examples can use less" in comment
    assert "mine: workload evaluation is REPLACED" in comment


RULE = """from berth.policy import fault


def owner_label(plan):
    for team in plan.teams:
        yield fault(("teams", team.name), "nobody owns it")
"""


def with_a_policy(project: pathlib.Path) -> pathlib.Path:
    """Return a rule that no fleet passes, committed, and its file."""
    rule = project / "rules" / "owner.py"
    rule.parent.mkdir()
    rule.write_text(RULE, encoding="utf-8")
    commit_all(project)
    return rule


def test_a_pull_request_is_checked_by_the_policies_of_its_base(project: pathlib.Path) -> None:
    rule = with_a_policy(project)
    rule.write_text(RULE.replace("nobody owns it", "never mind").replace("fault", "warning"), encoding="utf-8")
    done = run_make(project, "diff-comment", SINCE="HEAD", POLICIES='["rules/owner.py"]')
    assert "Error 1" in done.stderr
    assert "teams.vision: nobody owns it" in done.stdout
    comment = (project / "build" / "comment.md").read_text(encoding="utf-8")
    assert "Refused" in comment
    assert "nobody owns it" in comment


READS = """import pathlib

from berth.policy import warning


def limit(plan):
    yield warning(("labels",), pathlib.Path("rules/limit.txt").read_text())
    yield warning(("labels",), pathlib.Path(__file__).with_name("limit.txt").read_text() + ", beside the rule")
"""


def test_the_comment_says_which_rules_ran_and_their_warnings(project: pathlib.Path) -> None:
    """The folder of the base runs, with the files that its rules read, whatever the change does to it."""
    rules = project / "rules"
    rules.mkdir()
    (rules / "limit.py").write_text(READS, encoding="utf-8")
    (rules / "limit.txt").write_text("as in the base", encoding="utf-8")
    commit_all(project)
    (rules / "limit.txt").write_text("as in the change", encoding="utf-8")
    (rules / "more.py").write_text(RULE, encoding="utf-8")
    done = run_make(project, "diff-comment", SINCE="HEAD", POLICIES="rules")
    assert (done.returncode, done.stderr) == (0, "")
    comment = (project / "build" / "comment.md").read_text(encoding="utf-8")
    assert "**Policies**\n\n- rules/limit.py: limit: dev: 0 faults, 2 warnings\n" in comment
    found = comment.partition("**Found by policies**\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line.partition("labels: ")[2] for line in found] == [
        "as in the base \\[limit\\]",
        "as in the base, beside the rule \\[limit\\]",
    ]


def test_a_policy_missing_from_the_base_fails_the_check(project: pathlib.Path) -> None:
    done = run_make(project, "diff-comment", SINCE="HEAD", POLICIES="rules/none.py")
    assert done.returncode != 0
    assert "policy 'rules/none.py' is not in the commit " in done.stderr
    done = run_make(project, "diff-comment", SINCE="HEAD", POLICIES="rules/../../none.py")
    assert "policy 'rules/../../none.py' is outside of the project; write a path inside it" in done.stderr


def test_policies_run_only_on_fleets_with_kueue(project: pathlib.Path) -> None:
    with_a_policy(project)
    shutil.copy(ROOT / "stacks" / "examples" / "ack-fleet.yaml", project / "Pulumi.hz.yaml")
    done = run_make(project, "diff-comment", STACKS="hz", SINCE="HEAD", POLICIES="rules/owner.py")
    assert done.returncode == 0
    assert "hz: not a fleet with Kueue; policies do not apply" in done.stderr


@pytest.mark.parametrize("target", ["deploy", "up", "preview", "preview-guarded"])
def test_nothing_is_deployed_that_a_policy_refuses(project: pathlib.Path, target: str) -> None:
    with_a_policy(project)
    write_script(project / "bin" / "pulumi", 'echo "$@" >> asked')
    done = run_make(project, target, STACK="dev", POLICIES="rules/owner.py")
    assert "Error 1" in done.stderr
    assert "nobody owns it" in done.stdout
    assert not (project / "asked").exists()


TAKES_POLICIES = {"preview", "up", "diff-comment", "preview-guarded", "preview-change", "deploy"}
OTHERS = sorted(
    set(re.findall(r"(?m)^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"))) - TAKES_POLICIES
)


@pytest.mark.parametrize("target", OTHERS)
def test_a_target_that_does_not_use_policies_refuses_them(project: pathlib.Path, target: str) -> None:
    """Given on the command line or in the environment; nothing has run then."""
    write_script(project / "bin" / "berth", "touch asked")
    for done in (
        run_make(project, target, STACK="dev", POLICIES="rules"),
        run_make(project, "preview", target, "POLICIES=rules"),
    ):
        assert done.returncode == 2
        assert f"make {target} does not use POLICIES; run it without, or make preview up " in done.stderr
    assert not (project / "asked").exists()


def test_the_guard_allows_a_harmless_deployment(project: pathlib.Path, unchanged: str) -> None:
    write_script(project / "bin" / "pulumi", f'echo "$@" >> asked; [ "$1" != preview ] || cat {unchanged}')
    done = run_make(project, "deploy", STACK="dev")
    assert (done.returncode, done.stderr) == (0, "")
    assert "dev: safe: the preview loses nothing that is protected" in done.stdout
    request = (project / "asked").read_text(encoding="utf-8").splitlines()
    assert request == [
        "preview --json --show-sames --stack dev",
        "up --yes --skip-preview --continue-on-error --stack dev",
    ]


def test_nothing_is_deployed_after_a_preview_that_failed(project: pathlib.Path) -> None:
    write_script(project / "bin" / "pulumi", 'echo "$@" >> asked; exit 1')
    done = run_make(project, "deploy", STACK="dev")
    assert done.returncode != 0
    assert "it is empty" in done.stderr
    assert "pulumi preview ended with 1\n" in done.stderr
    assert (project / "asked").read_text(encoding="utf-8").splitlines() == ["preview --json --show-sames --stack dev"]


@pytest.mark.parametrize(
    ("preview", "pulumi", "status"), [("SAME", 0, 0), ("SAME", 255, 255), ("", 7, 7), ("DELETE", 255, 3), ("", 0, 1)]
)
def test_a_guarded_preview_has_the_exit_status_of_the_guard_or_the_engine(
    project: pathlib.Path, unchanged: str, preview: str, pulumi: int, status: int
) -> None:
    """A blocked change is 3 with any other failure; an aborted preview is never a success."""
    urn = "urn:pulumi:dev::berth::kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue::a-b-cluster-queue"
    flavors = [{"name": "v5e", "resources": [{"name": "google.com/tpu", "nominalQuota": "8"}]}]
    inputs = {"spec": {"resourceGroups": [{"flavors": flavors}]}}
    delete = {"op": "delete", "urn": urn, "oldState": {"protect": True, "inputs": inputs}}
    (project / "DELETE").write_text(json.dumps({"steps": [delete]}), encoding="utf-8")
    printed = {"SAME": f"cat {unchanged}", "DELETE": "cat DELETE", "": "true"}[preview]
    write_script(project / "bin" / "pulumi", f"{printed}; exit {pulumi}")
    done = run_make(project, "preview-guarded", STACK="dev")
    assert done.returncode == (2 if status else 0)
    assert not status or f"Error {status}" in done.stderr


def test_a_preview_is_checked_by_the_policies_of_its_base(project: pathlib.Path, unchanged: str) -> None:
    rule = with_a_policy(project)
    rule.write_text(RULE.replace("fault", "warning"), encoding="utf-8")
    write_script(project / "bin" / "pulumi", f"cat {unchanged}")
    done = run_make(project, "preview-guarded", STACK="dev", SINCE="HEAD", POLICIES="rules/owner.py")
    assert "Error 1" in done.stderr
    assert "nobody owns it" in done.stdout


def test_drift_is_what_a_refreshing_preview_would_change(project: pathlib.Path) -> None:
    write_script(project / "bin" / "pulumi", 'echo "$@"; exit 1')
    done = run_make(project, "drift", "STACK=dev")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == "preview --refresh --expect-no-changes --diff --stack dev"


@pytest.mark.parametrize("target", ["preview-guarded", "deploy", "drift", "up"])
def test_targets_that_change_a_stack_print_its_name(project: pathlib.Path, target: str) -> None:
    done = run_make(project, target)
    assert "STACK is missing; write make" in done.stdout
    assert "Error 2" in done.stderr


COMMANDS = (
    "$(shell touch owned)$(touch owned)`touch owned`$(eval x:=$(shell touch owned))",
    '"; touch owned; "',
)
TARGETS = (
    "preview",
    "up",
    "diff-comment",
    "preview-guarded",
    "preview-change",
    "deploy",
    "down",
    "drift",
    "post-comment",
    "agreement",
)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("value", COMMANDS)
def test_a_value_is_never_executed(project: pathlib.Path, target: str, value: str) -> None:
    """Neither by make nor by the shell, whether it is in the environment or on the command line."""
    for name in ("pulumi", "kubectl", "helm", "gh"):
        write_script(project / "bin" / name, 'echo "{}"')
    variables = dict.fromkeys(
        ("STACK", "STACKS", "SINCE", "POLICIES", "RUN", "WAIT", "UNINSTALL", "CASES", "CHANGE"), value
    )
    for done in (
        run_make(project, target, **variables),
        run_make(project, target, *(f"{name}={text}" for name, text in variables.items())),
    ):
        assert not (project / "owned").exists(), done.stdout + done.stderr
