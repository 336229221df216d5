""".github: safety rules of the workflows, checked on their YAML."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from tests.stack_files import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / ".github" / "actions" / "engine" / "action.yml"
READ = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS}
JOBS: dict[str, dict[str, Any]] = {
    f"{name}: {key}": job for name, workflow in READ.items() for key, job in workflow["jobs"].items()
}
STEPS: list[dict[str, Any]] = [
    *(step for job in JOBS.values() for step in job["steps"]),
    *yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"],
]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def triggers(workflow: dict[Any, Any]) -> dict[str, Any]:
    """What starts it; YAML 1.1 reads the key `on` as true."""
    return workflow[True]


def test_there_are_workflows() -> None:
    assert set(READ) == {"change.yml", "preview.yml", "comment.yml", "deploy.yml", "drift.yml", "facts.yml"}


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit_and_says_which_version_that_is(path: Any) -> None:
    used = [line for line in path.read_text(encoding="utf-8").splitlines() if re.search(r"\buses:", line)]
    pinned = re.compile(r"\s*- uses: ([\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+|\./\.github/actions/engine)")
    assert [line for line in used if not pinned.fullmatch(line)] == []


def test_one_action_has_one_version_everywhere() -> None:
    used = {step["uses"] for step in STEPS if "@" in step.get("uses", "")}
    assert len({each.partition("@")[0] for each in used}) == len(used)


def test_a_workflow_step_is_one_make_target_without_interpolation() -> None:
    """Values reach it through the environment: what a person chose never becomes a part of a script."""
    runs = [step["run"] for step in STEPS if "run" in step]
    assert runs
    assert [run for run in runs if run.removeprefix("make ") not in TARGETS] == []


@pytest.mark.parametrize("name", READ)
def test_workflow_permissions_are_set_per_job(name: str) -> None:
    assert READ[name]["permissions"] == {}
    for job in READ[name]["jobs"].values():
        assert job["permissions"]


def test_workflow_permissions_are_minimal() -> None:
    """Nobody writes contents; who may comment has no identity, and who has one waits for an environment."""
    for job in JOBS.values():
        written = {right for right, level in job["permissions"].items() if level != "read"}
        assert written in (set(), {"pull-requests"}, {"id-token"})
        assert ("id-token" in written) == ("environment" in job)
        assert job["permissions"]["contents"] == "read"


@pytest.mark.parametrize("name", JOBS)
def test_a_workflow_job_needs_its_variables_and_has_a_timeout(name: str) -> None:
    """That of the facts needs no stack."""
    if name == "facts.yml: facts":
        assert "if" not in JOBS[name]
        assert "vars." not in str(JOBS[name])
        return
    condition = " ".join(JOBS[name]["if"].split())
    assert condition.startswith("vars.BERTH_STACKS != ''")
    assert ("vars.BERTH_WORKLOAD_IDENTITY_PROVIDER != ''" in condition) == ("environment" in JOBS[name])
    assert "||" not in condition
    assert JOBS[name]["timeout-minutes"] <= 180


@pytest.mark.parametrize("name", JOBS)
def test_concurrent_runs_are_serialized(name: str) -> None:
    file, _, _ = name.partition(":")
    group = JOBS[name].get("concurrency") or READ[file]["concurrency"]
    assert group["group"].startswith("berth-")
    assert not group.get("cancel-in-progress", False) or "environment" not in JOBS[name]


def test_no_checkout_leaves_a_token_behind_or_takes_another_commit_than_the_event() -> None:
    """Except for the preview, which reads the files of a pull request in a folder of their own."""
    checkouts = [step["with"] for step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == len(JOBS) + 1
    assert {each["persist-credentials"] for each in checkouts} == {False}
    (other,) = [each for each in checkouts if each.keys() & {"ref", "repository", "path"}]
    assert (other["ref"], other["path"]) == ("refs/pull/${{ github.event.number }}/merge", "build/change")


def test_code_of_a_pull_request_runs_without_credentials() -> None:
    assert list(triggers(READ["change.yml"])) == ["pull_request"]
    (diff,) = READ["change.yml"]["jobs"].values()
    assert diff["permissions"] == {"contents": "read"}
    assert "secrets." not in str(diff)
    assert [name for name in JOBS if "pull_request" in triggers(READ[name.partition(":")[0]])] == ["change.yml: diff"]


def test_the_preview_runs_the_default_branch_and_takes_files_from_the_change() -> None:
    """Its identity and the key of the state are in an environment that only the default branch can use."""
    workflow = READ["preview.yml"]
    assert list(triggers(workflow)) == ["pull_request_target"]
    preview = workflow["jobs"]["preview"]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in preview["if"]
    assert preview["environment"] == "preview-${{ matrix.stack }}"
    first, second, engine, run = preview["steps"]
    assert "ref" not in first["with"]
    assert (run["run"], run["env"]["CHANGE"]) == ("make preview-change", second["with"]["path"])
    assert run["env"]["SINCE"] == "HEAD"
    assert engine["uses"] == "./.github/actions/engine"


def test_the_comment_is_made_by_the_default_branch_after_the_change() -> None:
    assert triggers(READ["comment.yml"]) == {"workflow_run": {"workflows": ["Change"], "types": ["completed"]}}
    assert READ["change.yml"]["name"] == "Change"
    job = READ["comment.yml"]["jobs"]["comment"]
    assert "github.event.workflow_run.event == 'pull_request'" in job["if"]
    assert [step.get("run") for step in job["steps"]] == [None, "make post-comment"]


def test_stacks_are_deployed_one_after_the_other_until_one_fails() -> None:
    job = READ["deploy.yml"]["jobs"]["up"]
    assert (job["strategy"]["max-parallel"], job["strategy"]["fail-fast"]) == (1, True)
    assert job["environment"] == "${{ matrix.stack }}"
    assert triggers(READ["deploy.yml"]) == {"push": {"branches": ["main"]}}


def test_the_engine_of_the_workflows_is_the_one_that_berth_runs_on() -> None:
    (installed,) = (step["with"] for step in STEPS if step.get("uses", "").startswith("pulumi/actions@"))
    assert f"pulumi=={installed['pulumi-version']}\n" in (ROOT / "requirements.txt").read_text(encoding="utf-8")


def test_actionlint_finds_nothing() -> None:
    tool = shutil.which("actionlint")
    if tool is None:
        pytest.skip("actionlint is not on PATH")
    done = subprocess.run([tool, "-shellcheck=", *WORKFLOWS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
