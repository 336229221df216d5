"""The output of `berth admit` as text and JSON, and its initial state."""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import Any

import pytest

from berth.cli.admit import output, simulate
from berth.cli.admit.cases import answer_cases
from berth.document.text import render_text
from berth.simulator.text import RunFormatter
from tests.kueue_workloads import workload_object
from tests.problem_lines import line_without_code

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Provide a project with a stack as the current folder."""
    shutil.copy(HERE / "stack.yaml", tmp_path / "stack.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(answer: simulate.SimulationResult) -> str:
    """Return what `berth admit` prints."""
    return render_text(output.simulation_document(answer))


def scenario(folder: pathlib.Path, *steps: str) -> pathlib.Path:
    """Write a scenario file; a step such as `a vision/train 2 high` submits so many slices."""
    lines = [_step(step) for step in steps]
    file = folder / "scenario.yaml"
    file.write_text("stack: stack.yaml\nsteps:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return file


def _step(step: str) -> str:
    words = step.split()
    if words[0].endswith(":"):
        return f"- {step}"
    name, queue, slices, *priority = words
    text = f", priority: {priority[0]}" if priority else ""
    return f"- submit: {{name: {name}, queue: {queue}, pods: {2 * int(slices)}, requests: {{google.com/tpu: 4}}{text}}}"


def table(folder: pathlib.Path, *arguments: str, live: tuple[pathlib.Path, ...] = ()) -> list[str]:
    """Return the printed rows, with single spaces."""
    answer = simulate.simulate_arguments(list(arguments), list(live), folder)
    assert answer.faults == ()
    head, *rows = shown(answer).split("\n\n")[0].splitlines()
    assert head.split()[0] == "step"
    return [" ".join(row.split()) for row in rows]


def test_the_owner_preempts_a_borrower_and_every_row_has_a_reason(folder: pathlib.Path) -> None:
    """One row for each job whose status changes."""
    steps = ("slice3 vision/train 3", "slice1 speech/train 1", "slice2 vision/train 2", "tiny vision/train 1")
    scenario(folder, *steps)
    assert table(folder, "scenario.yaml") == [
        "1 slice3 vision/train admitted v5e 24 (8 own, 16 borrowed from speech)",
        "2 slice1 speech/train admitted v5e 8; preempts slice3 (speech reclaims its guarantee)",
        "slice3 vision/train preempted by slice1 (speech reclaims its guarantee); now not enough "
        "free quota for 24 v5e chips: "
        "v5e 16 of 24 free",
        "3 slice2 vision/train pending behind slice3 (StrictFIFO), although 16 of 24 v5e chips are free",
        "4 tiny vision/train pending behind slice3 (StrictFIFO), although 16 of 24 v5e chips are free",
    ]


def test_the_table_in_the_docs_is_the_output(folder: pathlib.Path) -> None:
    """docs/admission.md begins with this table."""
    scenario(folder, "slice3 vision/train 3", "slice1 speech/train 1", "slice2 vision/train 2")
    answer = simulate.simulate_arguments(["scenario.yaml"], [], folder)
    page = (ROOT / "docs" / "admission.md").read_text(encoding="utf-8")
    assert f"```\n{shown(answer).split(chr(10) * 2)[0]}\n```" in page


def test_a_job_above_the_ceiling_is_never_admitted(folder: pathlib.Path) -> None:
    scenario(folder, "big vision/train 4")
    assert table(folder, "scenario.yaml") == [
        "1 big vision/train never admitted larger than the queue's ceiling: 32 v5e chips: v5e at most 24"
    ]


def test_a_job_in_a_held_queue_is_pending(folder: pathlib.Path) -> None:
    scenario(
        folder, "hold: vision/train", "a vision/train 1", "resume: vision/train", "drain: vision-train", "finish: a"
    )
    assert table(folder, "scenario.yaml") == [
        "1 hold vision/train",
        "2 a vision/train pending its queue is held",
        "3 resume vision/train",
        "a vision/train admitted v5e 8",
        "4 drain vision-train",
        "a vision/train drained its queue is drained",
        "5 a vision/train finished",
    ]


def test_jobs_with_one_generate_name_get_numbers(folder: pathlib.Path) -> None:
    """A `generateName` ends in a dash, and Kubernetes appends a random suffix."""
    one = (
        "apiVersion: batch/v1\nkind: Job\n"
        "metadata: {generateName: train-, namespace: vision, labels: {kueue.x-k8s.io/queue-name: train}}\n"
        "spec: {parallelism: 2, template: {spec: {containers: [{resources: {limits: {google.com/tpu: 4}}, name: a, "
        "image: i}], restartPolicy: Never}}}\n"
    )
    (folder / "jobs.yaml").write_text("---\n".join([one] * 3), encoding="utf-8")
    assert [row.split()[1] for row in table(folder, "stack.yaml", "jobs.yaml")] == ["train-", "train-2", "train-3"]
    (folder / "one.yaml").write_text(one, encoding="utf-8")
    steps = "steps:\n- submit: jobs.yaml\n- finish: train-2\n- submit: one.yaml\n- submit: one.yaml\n"
    (folder / "steps.yaml").write_text(steps, encoding="utf-8")
    rows = [row.split() for row in table(folder, "stack.yaml", "steps.yaml")]
    assert [row[1] for row in rows if row[0].isdigit()] == [
        "train-",
        "train-2",
        "train-3",
        "train-2",
        "train-2",
        "train-4",
    ]


def test_manifests_are_submitted_in_the_order_of_the_arguments(folder: pathlib.Path) -> None:
    (folder / "jobs").mkdir()
    for team, name in (("vision", "b"), ("speech", "a")):
        text = (
            "apiVersion: batch/v1\nkind: Job\n"
            f"metadata: {{name: train, namespace: {team}, labels: {{kueue.x-k8s.io/queue-name: train}}}}\n"
            "spec: {parallelism: 2, template: {spec: {containers: [{resources: {limits: {google.com/tpu: 4}}, name: a, "
            "image: i}], restartPolicy: Never}}}\n"
        )
        (folder / "jobs" / f"{name}.yaml").write_text(text, encoding="utf-8")
    rows = ["1 speech/train speech/train admitted v5e 8", "2 vision/train vision/train admitted v5e 8"]
    assert table(folder, "stack.yaml", "jobs") == rows
    (folder / "steps.yaml").write_text("steps:\n- submit: jobs\n- finish: speech/train\n", encoding="utf-8")
    assert table(folder, "stack.yaml", "steps.yaml") == [*rows, "3 speech/train speech/train finished"]


def test_jobs_with_one_name_are_named_by_namespace(folder: pathlib.Path) -> None:
    jobs = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": team, "labels": {"kueue.x-k8s.io/queue-name": "train"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}},
        }
        for team in ("vision", "speech")
    ]
    (folder / "jobs.yaml").write_text("\n---\n".join(json.dumps(each) for each in jobs), encoding="utf-8")
    (folder / "more.yaml").write_text("steps:\n- finish: train\n", encoding="utf-8")
    result = simulate.simulate_arguments(["stack.yaml", "jobs.yaml", "more.yaml"], [], folder)
    assert [line_without_code(problem) for problem in result.faults] == [
        "more.yaml:2: steps[0].finish: 'train' is ambiguous; write one of speech/train, vision/train"
    ]


def test_two_stacks_show_the_jobs_whose_result_differs(folder: pathlib.Path) -> None:
    """A platform owner halves the borrowing limit and sees which jobs that affects."""
    text = (folder / "stack.yaml").read_text(encoding="utf-8")
    (folder / "new.yaml").write_text(text.replace("borrow: 2 slices", "borrow: 1 slice"), encoding="utf-8")
    scenario(folder, "a vision/train 3", "b speech/train 1", "finish: a")
    assert table(folder, "stack.yaml", "new.yaml", "scenario.yaml") == [
        "1 a vision/train admitted: v5e 24 (8 own, 16 borrowed from speech) never admitted: larger than the "
        "queue's ceiling: "
        "24 v5e chips: v5e at most 16",
        "2 a vision/train preempted: by b (speech reclaims its guarantee); now not enough "
        "free quota for 24 v5e chips: "
        "v5e 16 of 24 free never admitted: larger than the queue's ceiling: 24 v5e chips: v5e at most 16",
    ]


def test_a_step_can_change_the_stack(folder: pathlib.Path) -> None:
    text = (folder / "stack.yaml").read_text(encoding="utf-8")
    (folder / "new.yaml").write_text(text.replace("borrow: 2 slices", "borrow: 0"), encoding="utf-8")
    scenario(folder, "a vision/train 1", "b vision/train 1", "change: new.yaml", "finish: a", "c vision/train 2")
    assert table(folder, "scenario.yaml") == [
        "1 a vision/train admitted v5e 8",
        "2 b vision/train admitted v5e 8 (borrowed from speech)",
        "3 change to new.yaml",
        "4 a vision/train finished",
        "5 c vision/train never admitted larger than the queue's ceiling: 16 v5e chips: v5e at most 8",
    ]


def test_the_json_has_the_printed_steps(folder: pathlib.Path) -> None:
    scenario(folder, "a vision/train 3", "b speech/train 1")
    document: dict[str, Any] = json.loads(
        json.dumps(output.simulation_as_json(simulate.simulate_arguments(["scenario.yaml"], [], folder)))
    )
    assert (document["version"], document["stack"]) == (1, "stack") and document["problems"] == []
    first, second = document["steps"]
    tpu = {"flavor": "v5e", "resource": "google.com/tpu"}
    assert first["changes"][0]["quotaUses"][:1] == [
        {**tpu, "amount": 24, "guaranteed": 8, "borrowed": 16, "lenders": ["speech-train"]}
    ]
    loss = {"job": "a", "preemptor": "b", "preemptorQueue": "speech-train", "reason": "InCohortReclamation"}
    assert second["changes"][0]["preempted"] == [loss] and second["changes"][1]["preemptedBy"] == loss
    assert second["changes"][1]["pendingReason"]["code"] == "no-room"
    assert second["changes"][1]["pendingReason"]["shortages"] == [{**tpu, "requested": 24, "free": 16, "ceiling": 24}]
    assert [(row["job"], row["queue"], row["status"]) for row in document["unfinished"]] == [
        ("a", "vision-train", "pending"),
        ("b", "speech-train", "admitted"),
    ]
    assert document["unfinished"][1]["text"] == ""  # it has no admission check that could be ready


def test_an_admission_check_holds_a_job_until_it_succeeds(tmp_path: pathlib.Path) -> None:
    """Queued provisioning reserves quota until Google has provisioned the machines."""
    text = (
        "stack: stacks/examples/dws.yaml\nsteps:\n"
        "- submit: {name: a, queue: dws-cluster-queue, requests: {cpu: 1, nvidia.com/gpu: 1}}\n"
        "- submit: {name: b, queue: dws-cluster-queue, requests: {cpu: 1}}\n- provisioned: a\n"
    )
    file = tmp_path / "scenario.yaml"
    file.write_text(text, encoding="utf-8")
    (each,) = simulate.simulate_arguments([str(file)], [], ROOT).stories
    assert [[(row.job, row.status) for row in moment.outcomes] for moment in each.steps] == [
        [("a", "reserved")],
        [("b", "admitted")],
        [("a", "admitted")],
    ]
    told = RunFormatter(each, each.steps[-1]).describe_outcome(each.steps[-1].outcomes[0])
    assert told == "its admission checks are ready"


# --- a live cluster ---------------------------------------------------------------------------------------------------


def workload(
    name: str, team: str, minute: int, slices: int, reserved: int | None = None, **spec: Any
) -> dict[str, Any]:
    """Return a Workload of a job in a team's queue, pending, or admitted at minute `reserved`."""
    requests = {"google.com/tpu": "4"}
    pods = {
        "name": "slice",
        "count": 2 * slices,
        "template": {"spec": {"containers": [{"resources": {"requests": requests}}]}},
    }
    assignment = None
    if reserved is not None:
        assignment = {
            "name": "slice",
            "flavors": {"google.com/tpu": "v5e"},
            "resourceUsage": {"google.com/tpu": str(8 * slices)},
            "count": 2 * slices,
        }
    hour = "2026-01-01T00"
    built = workload_object(name, team, pods, f"{hour}:{minute:02}:00Z", assignment, f"{hour}:{reserved or 0:02}:00Z")
    return {**built, "spec": {**built["spec"], **spec}}


def printed(folder: pathlib.Path, *items: dict[str, Any]) -> tuple[pathlib.Path]:
    """Write a file in the format of kubectl."""
    file = folder / "live.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}), encoding="utf-8")
    return (file,)


def test_a_run_can_start_from_a_live_cluster(folder: pathlib.Path) -> None:
    """Running jobs stay admitted; the newest is preempted first, in any order of the file."""
    scenario(folder, "owner speech/train 1")
    items = (workload("late", "vision", 1, 1, reserved=9), workload("early", "vision", 2, 2, reserved=3))
    assert table(folder, "scenario.yaml", live=printed(folder, *items)) == [
        "0 initial state",
        "1 owner speech/train admitted v5e 8; preempts late (speech reclaims its guarantee)",
        "late vision/train preempted by owner (speech reclaims its guarantee); now not enough free "
        "quota for 8 v5e chips: "
        "v5e 0 of 24 free",
    ]


def test_output_of_kubectl_is_recognized_among_the_arguments(folder: pathlib.Path) -> None:
    """The file may be given by the option or at any position."""
    scenario(folder, "new vision/train 1")
    live = printed(folder, workload("in", "vision", 1, 3, reserved=2), workload("old", "vision", 3, 1))
    rows = table(folder, "scenario.yaml", live=live)
    assert table(folder, "stack.yaml", "scenario.yaml", str(live[0])) == rows
    assert table(folder, "stack.yaml", "live.json", "scenario.yaml") == rows


def test_pending_jobs_of_the_cluster_are_first_in_the_queue(folder: pathlib.Path) -> None:
    scenario(folder, "new vision/train 1", "finish: in")
    items = (workload("in", "vision", 1, 3, reserved=2), workload("old", "vision", 3, 1))
    assert table(folder, "scenario.yaml", live=printed(folder, *items)) == [
        "0 initial state",
        "1 new vision/train pending behind old (StrictFIFO)",
        "2 in vision/train finished",
        "old vision/train admitted v5e 8",
        "new vision/train admitted v5e 8 (borrowed from speech)",
    ]


def test_a_new_stack_admits_pending_jobs_of_the_cluster(folder: pathlib.Path) -> None:
    rows = table(folder, "stack.yaml", live=printed(folder, workload("old", "vision", 3, 3)))
    assert rows == ["0 initial state", "old vision/train admitted v5e 24 (8 own, 16 borrowed from speech)"]


def test_stopped_queues_finished_and_inactive_workloads_are_as_in_the_cluster(folder: pathlib.Path) -> None:
    stopped = {"kind": "ClusterQueue", "metadata": {"name": "vision-train"}, "spec": {"stopPolicy": "Hold"}}
    done = workload("done", "vision", 1, 3, reserved=2)
    done["status"]["conditions"].append({"type": "Finished", "status": "True"})
    live = printed(folder, stopped, done, workload("off", "speech", 1, 1, active=False))
    scenario(folder, "a vision/train 1")
    assert table(folder, "scenario.yaml", live=live) == [
        "0 initial state",
        "1 a vision/train pending its queue is held",
    ]


def test_workloads_of_unknown_queues_are_a_warning(folder: pathlib.Path) -> None:
    live = printed(folder, workload("x", "robotics", 1, 1), workload("y", "robotics", 1, 1, reserved=1))
    answer = simulate.simulate_arguments(["stack.yaml"], list(live), folder)
    assert [line_without_code(problem) for problem in answer.problems] == [
        f"live.json: warning: items[{index}]: workload 'robotics/job-{name}-1a2b3': {queue} "
        "does not belong to this stack"
        for index, name, queue in (
            (0, "x", "local queue 'train' of namespace 'robotics'"),
            (1, "y", "cluster queue 'robotics-train'"),
        )
    ]
    assert answer.faults == () and answer.stories[0].unfinished == ()


@pytest.mark.parametrize("files", [1, 2])
def test_an_object_that_is_read_twice_counts_once_and_must_not_differ(folder: pathlib.Path, files: int) -> None:
    """Two answers of one workload, in one file or two: it holds 8 chips, not 16."""
    old, queue = (
        workload("in", "vision", 1, 1, reserved=2),
        {"kind": "ClusterQueue", "metadata": {"name": "vision-train"}},
    )
    held = {**queue, "spec": {"stopPolicy": "Hold"}}
    scenario(folder, "new vision/train 2")

    def live(*more: dict[str, Any]) -> tuple[pathlib.Path, ...]:
        (first,) = printed(folder, old, queue, *(more if files == 1 else ()))
        second = folder / "second.json"
        second.write_text(json.dumps({"kind": "List", "items": list(more)}), encoding="utf-8")
        return (first,) if files == 1 else (first, second)

    assert table(folder, "scenario.yaml", live=live(old)) == table(folder, "scenario.yaml", live=live(queue))
    at = "live.json: items[2]" if files == 1 else "second.json: items[0]"
    evicted = workload("in", "vision", 1, 1)
    for other, name in ((evicted, "Workload 'vision/job-in-1a2b3'"), (held, "ClusterQueue 'vision-train'")):
        answer = simulate.simulate_arguments(["stack.yaml"], list(live(other)), folder)
        assert [line_without_code(each) for each in answer.problems if each.code == "live-answer"] == [
            f"{at}: {name} is in live.json: items[{int(other is held)}] too, and differs; "
            "give one answer of one cluster"
        ]


def test_recorded_cases_are_replayed_in_their_own_format() -> None:
    result, text, problems = answer_cases(HERE / "cases.yaml")
    assert problems == () and len(result) == 358
    assert text.splitlines()[-1] == "agreement: 2806 of 2823 steps, 345 of 358 cases"
    assert json.loads(json.dumps(result))[0]["steps"][0]["then"]["j0"]["state"] == "admitted"


# --- faults of lint ---------------------------------------------------------------------------------------------------


def job(name: str, pods: int, chips: int = 4, *, kind: str = "Job") -> str:
    """Return a manifest for vision's queue; a host has 4 chips."""
    return json.dumps(
        {
            "apiVersion": "batch/v1" if kind == "Job" else "tekton.dev/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "train"}},
            "spec": {
                "parallelism": pods,
                "template": {
                    "spec": {
                        "containers": [{"resources": {"limits": {"google.com/tpu": chips}}, "name": "a", "image": "i"}],
                        "restartPolicy": "Never",
                    }
                },
            },
        }
    )


def lines(result: simulate.SimulationResult) -> list[str]:
    """Return the problems, as they are printed."""
    return [line_without_code(problem) for problem in result.problems]


def test_a_job_that_kueue_never_admits_is_a_fault_and_in_the_table(folder: pathlib.Path) -> None:
    (folder / "jobs.yaml").write_text(f"{job('big', 8)}\n---\n{job('fits', 2)}", encoding="utf-8")
    result = simulate.simulate_arguments(["stack.yaml", "jobs.yaml"], [], folder)
    assert lines(result) == [
        "jobs.yaml:1:253: Job/big: requests 4 slices of 2x4, 32 v5e chips in vision/train, whose ceiling is 24 of v5e: "
        "it can never be admitted; the largest that fits is 3 slices"
    ]
    assert len(result.faults) == 1
    rows = shown(result).splitlines()
    assert "never admitted" in rows[1]
    assert rows[2].endswith("behind big (StrictFIFO), although 24 of 24 v5e chips are free")


def test_a_job_that_no_node_can_run_ends_the_simulation(folder: pathlib.Path) -> None:
    (folder / "jobs.yaml").write_text(f"{job('wide', 2, 8)}\n---\n{job('fits', 2)}", encoding="utf-8")
    result = simulate.simulate_arguments(["stack.yaml", "jobs.yaml"], [], folder)
    assert (result.stories, len(result.faults)) == ((), 1)
    assert "a pod requests 8 v5e chips, but a node of ct5lp-hightpu-4t has 4" in lines(result)[0]


def test_a_fault_on_one_of_two_stacks_is_a_difference(folder: pathlib.Path) -> None:
    """And a fault on both is a fault."""
    text = (folder / "stack.yaml").read_text(encoding="utf-8")
    (folder / "new.yaml").write_text(text.replace("borrow: 2 slices", "borrow: 1 slice"), encoding="utf-8")
    (folder / "jobs.yaml").write_text(job("a", 6), encoding="utf-8")
    result = simulate.simulate_arguments(["stack.yaml", "new.yaml", "jobs.yaml"], [], folder)
    (line,) = lines(result)
    assert line.startswith("jobs.yaml:1:251: warning: Job/a: requests 3 slices of 2x4, 24 v5e chips in vision/train")
    assert line.endswith("the largest that fits is 2 slices (with new.yaml)")
    assert (result.faults, len(result.stories)) == ((), 2)
    (folder / "jobs.yaml").write_text(job("a", 2, 8), encoding="utf-8")
    result = simulate.simulate_arguments(["stack.yaml", "new.yaml", "jobs.yaml"], [], folder)
    assert (len(result.faults), len(result.problems), result.stories) == (1, 1, ())


def test_manifests_of_a_step_are_checked_on_the_stack_of_that_step(folder: pathlib.Path) -> None:
    text = (folder / "stack.yaml").read_text(encoding="utf-8")
    (folder / "new.yaml").write_text(text.replace("borrow: 2 slices", "borrow: 0"), encoding="utf-8")
    (folder / "two.yaml").write_text(job("two", 4), encoding="utf-8")
    steps = "stack: stack.yaml\nsteps:\n- submit: two.yaml\n- finish: two\n"
    (folder / "scenario.yaml").write_text(steps, encoding="utf-8")
    assert lines(simulate.simulate_arguments(["scenario.yaml"], [], folder)) == []
    (folder / "scenario.yaml").write_text(f"{steps}- change: new.yaml\n- submit: two.yaml\n", encoding="utf-8")
    (line,) = lines(simulate.simulate_arguments(["scenario.yaml"], [], folder))
    assert "whose ceiling is 8 of v5e" in line


def test_a_kind_that_is_not_simulated_is_a_warning(folder: pathlib.Path) -> None:
    (folder / "jobs.yaml").write_text(f"{job('flow', 1, kind='PipelineRun')}\n---\n{job('a', 2)}", encoding="utf-8")
    result = simulate.simulate_arguments(["stack.yaml", "jobs.yaml"], [], folder)
    assert lines(result) == [
        "jobs.yaml:1: warning: PipelineRun/flow: kind PipelineRun is unknown: it is not in Berth's table of job kinds "
        "of 2026-11-22, so its pods are not checked; its namespace, queue and priority are checked",
        "jobs.yaml:1: warning: the pods of a PipelineRun are not known, so PipelineRun 'flow' is not simulated; write "
        "the job's pods and requests in a scenario file",
    ]
    assert result.faults == ()


def test_a_run_without_a_job_is_reported(folder: pathlib.Path) -> None:
    """Not that every job is finished."""
    (folder / "jobs.yaml").write_text(job("flow", 1, kind="PipelineRun"), encoding="utf-8")
    result = simulate.simulate_arguments(["stack.yaml", "jobs.yaml"], [], folder)
    assert [each.code for each in result.problems] == ["kind-unknown", "kind-unknown"]
    assert shown(result) == "There is no job to simulate."


def test_a_folder_of_json_is_read_and_settings_of_programs_are_not(folder: pathlib.Path) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs" / "job.json").write_text(job("a", 2), encoding="utf-8")
    (folder / "jobs" / "training.json").write_text('{"learning_rate": 0.1}', encoding="utf-8")
    (folder / "jobs" / "kustomization.yaml").write_text("kind: Kustomization\nresources: [a.yaml]\n", encoding="utf-8")
    (folder / "jobs" / "template.yaml").write_text("spec: {containers: [{name: a}]}\n", encoding="utf-8")
    assert table(folder, "stack.yaml", "jobs") == ["1 a vision/train admitted v5e 8"]
    assert lines(simulate.simulate_arguments(["stack.yaml", "jobs"], [], folder)) == [
        "jobs/template.yaml:1: warning: is not a Kubernetes object, which has an apiVersion and a kind; it is left out"
    ]
    assert lines(simulate.simulate_arguments(["stack.yaml", "jobs/template.yaml"], [], folder)) == [
        "jobs/template.yaml:1: 'kind' is missing; write it"
    ]
    (folder / "jobs" / "job.json").unlink()
    (folder / "jobs" / "template.yaml").unlink()
    result = simulate.simulate_arguments(["stack.yaml", "jobs"], [], folder)
    assert lines(result) == [
        "jobs/kustomization.yaml: contains no job, no other object with pods and no ProvisioningRequest"
    ]
