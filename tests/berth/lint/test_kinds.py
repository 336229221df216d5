"""Every kind of job that Kueue queues: what `berth lint` and `berth admit` make of a sound one and of broken ones."""

from __future__ import annotations

import pathlib
import re
import shutil

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import evaluate_stack
from berth.jobs.kinds import kinds
from berth.rules.kueue.bounds import FRAMEWORKS
from tests.berth.bad_input.cases import Case, parsed
from tests.problem_lines import without_codes

HERE = pathlib.Path(__file__).parent
BASES = {file.stem: file.read_text(encoding="utf-8") for file in sorted((HERE / "kinds").glob("*.yaml"))}
BROKEN = {case.claim: case for case in parsed((HERE / "kinds.txt").read_text(encoding="utf-8"))}
SERVED, LABELLED = {"selector": {"matchLabels": {"app": "web"}}}, {"metadata": {"labels": {"app": "web"}}}
GROUPED = (
    "Kueue counts a group by what its pods say of themselves, so pods of people are refused in one; remove "
    "kueue.x-k8s.io/pod-group-name, and submit a JobSet (policy berth-reserved, which only warns until 2027-01-31)"
)
UNREAD = "its queue, priority and requests are checked; not checked: "
SOUND = {
    "appwrapper": ["appwrapper.yaml:1: AppWrapper/appwrapper: vision/gpu can admit it, 4 L4 of l4"],
    "cronjob": ["cronjob.yaml:1: CronJob/cronjob: vision/gpu can admit it, 4 L4 of l4"],
    "deployment": [
        "deployment.yaml:1: Deployment/deployment: vision/gpu can admit each of its 3 workloads, 2 L4 of l4",
    ],
    "jaxjob": ["jaxjob.yaml:1: JAXJob/jaxjob: vision/gpu can admit it, 4 L4 of l4"],
    "leaderworkerset": [
        "leaderworkerset.yaml:1: LeaderWorkerSet/leaderworkerset: vision/gpu can admit each of its 2 workloads, "
        "4 L4 of l4",
    ],
    "mpijob": ["mpijob.yaml:1: MPIJob/mpijob: vision/gpu can admit it, 4 L4 of l4"],
    "paddlejob": ["paddlejob.yaml:1: PaddleJob/paddlejob: vision/gpu can admit it, 4 L4 of l4"],
    "pipelinerun": [
        "pipelinerun.yaml:1: warning: PipelineRun/pipelinerun: kind PipelineRun is unknown: it is not in Berth's table "
        "of job kinds of 2026-11-22, so its pods are not checked; its namespace, queue and priority are checked",
    ],
    "podgroup": [
        f"podgroup.yaml:6:75: warning: Pod/first: {GROUPED}",
        f"podgroup.yaml:15:75: warning: Pod/second: {GROUPED}",
        "podgroup.yaml:1: Pod/first: vision/gpu can admit it, 4 L4 of l4",
        "podgroup.yaml:10: Pod/second: vision/gpu can admit it, 4 L4 of l4",
    ],
    "raycluster": ["raycluster.yaml:1: RayCluster/raycluster: vision/gpu can admit it, 4 L4 of l4"],
    "rayjob": ["rayjob.yaml:1: RayJob/rayjob: vision/gpu can admit it, 4 L4 of l4"],
    "rayservice": ["rayservice.yaml:1: RayService/rayservice: vision/gpu can admit it, 4 L4 of l4"],
    "sparkapplication": [
        "sparkapplication.yaml:1: SparkApplication/sparkapplication: vision/gpu can admit it, 4 L4 of l4",
    ],
    "statefulset": ["statefulset.yaml:1: StatefulSet/statefulset: vision/gpu can admit it, 6 L4 of l4"],
    "tfjob": ["tfjob.yaml:1: TFJob/tfjob: vision/gpu can admit it, 4 L4 of l4"],
    "trainjob": [
        f"trainjob.yaml:1: warning: TrainJob/trainjob: {UNREAD}selectors, tolerations and further pods of its runtime "
        "'torch-distributed', which is not in the manifest",
        "trainjob.yaml:1: TrainJob/trainjob: vision/gpu can admit it, 4 L4 of l4",
    ],
    "xgboostjob": ["xgboostjob.yaml:1: XGBoostJob/xgboostjob: vision/gpu can admit it, 4 L4 of l4"],
}
COUNTED = {
    "appwrapper": {"appwrapper": 4},
    "deployment": {"deployment-0": 2, "deployment-1": 2, "deployment-2": 2},
    "leaderworkerset": {"leaderworkerset-0": 4, "leaderworkerset-1": 4},
    "podgroup": {"pair": 4},
    "raycluster": {"raycluster": 4},
    "sparkapplication": {"sparkapplication": 4},
    "trainjob": {"trainjob": 4},
}
"""The workloads that arrive at the queue, with their GPUs."""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    shutil.copy(HERE / "kinds_stack.yaml", tmp_path / "Pulumi.lab.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(*files: str, exit_code: int) -> list[str]:
    result = CliRunner().invoke(app, ["lint", "lab", *files])
    assert (result.stderr, result.exit_code) == ("", exit_code), result.output
    assert not re.search(r"Traceback|\b(None|True|False|dict|tuple|str)\b", result.stdout)
    return without_codes(result.stdout).splitlines()


def edited(case: Case) -> str:
    base = case.claim.partition(":")[0]
    text = BASES[base]
    for old, new in case.edits:
        assert text.count(old) == 1, f"not found once: {old}"
        text = text.replace(old, new)
    pathlib.Path(f"{base}.yaml").write_text(text, encoding="utf-8")
    return f"{base}.yaml"


def test_every_framework_of_kueue_has_a_kind() -> None:
    assert {row.framework for row in kinds().values()} == set(FRAMEWORKS)


@pytest.mark.parametrize("base", BASES)
def test_a_sound_manifest_of_every_kind_is_admitted(folder: pathlib.Path, base: str) -> None:
    (folder / f"{base}.yaml").write_text(BASES[base], encoding="utf-8")
    assert lint(f"{base}.yaml", exit_code=0) == SOUND[base]


@pytest.mark.parametrize("claim", BROKEN)
def test_a_job_that_can_never_run_has_its_place(folder: pathlib.Path, claim: str) -> None:
    assert lint(edited(BROKEN[claim]), exit_code=1) == list(BROKEN[claim].lines)


def test_there_are_enough_distinct_cases() -> None:
    lines = ["\n".join(case.lines) for case in BROKEN.values()]
    assert len(lines) >= 60
    assert sorted(lines) == sorted(set(lines))


@pytest.mark.parametrize("base", COUNTED)
def test_admit_counts_the_same_pods(folder: pathlib.Path, base: str) -> None:
    (folder / f"{base}.yaml").write_text(BASES[base], encoding="utf-8")
    result = CliRunner().invoke(app, ["admit", "lab", f"{base}.yaml"])
    assert result.exit_code == 0, result.output
    for name, gpus in COUNTED[base].items():
        assert re.search(rf" {name} .*admitted +l4 {gpus}$", result.stdout, re.M), result.stdout


def test_admit_reports_a_pod_that_is_larger_than_any_node(folder: pathlib.Path) -> None:
    """Kueue admits it by its quota, and no node ever runs it; nothing is simulated."""
    text = BASES["statefulset"].replace("nvidia.com/gpu: 2", "nvidia.com/gpu: 4")
    (folder / "statefulset.yaml").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["admit", "lab", "statefulset.yaml"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert without_codes(result.stderr).splitlines() == [
        "statefulset.yaml:8:94: StatefulSet/statefulset: a pod requests 4 L4, but a node of g2-standard-24 has 2"
    ]


# --- what names no queue ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "api", "spec", "line"),
    [
        (
            "Deployment",
            "apps/v1",
            SERVED | {"template": LABELLED | {"spec": {"containers": [{"name": "a", "image": "i"}]}}},
            "a.yaml:1: Deployment/web: names no queue: Kueue would gate its pods forever; write the label "
            "kueue.x-k8s.io/queue-name; local queues: 'gpu' and 'tpu'",
        ),
        (
            "DaemonSet",
            "apps/v1",
            {"template": {"spec": {"containers": [{"name": "a", "image": "i"}]}}},
            "a.yaml:1: warning: DaemonSet/web: names no queue: Kueue would gate its pods forever",
        ),
        (
            "DaemonSet",
            "apps/v1",
            {"template": {"spec": {"containers": [{"name": "a", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}},
            "a.yaml:1: DaemonSet/web: requests nvidia.com/gpu and names no queue: Kueue would gate its pods forever; "
            "write the label kueue.x-k8s.io/queue-name; local queues: 'gpu' and 'tpu'",
        ),
    ],
)
def test_no_object_with_pods_is_passed_over(
    folder: pathlib.Path, kind: str, api: str, spec: dict[str, object], line: str
) -> None:
    """In every file a service without a queue gets a line, and one with accelerators a fault."""
    value = {"apiVersion": api, "kind": kind, "metadata": {"name": "web", "namespace": "vision"}, "spec": spec}
    text = f"{yaml.safe_dump(value, sort_keys=False)}---\n{BASES['rayjob']}"
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    first, second = lint("a.yaml", exit_code=0 if "warning" in line else 1)
    assert re.sub(r":\d+(:\d+)?", ":1", first, count=1) == line
    assert second.endswith("RayJob/rayjob: vision/gpu can admit it, 4 L4 of l4")


def test_a_service_without_a_queue_starts_where_its_integration_is_off(folder: pathlib.Path) -> None:
    stack = (folder / "Pulumi.lab.yaml").read_text(encoding="utf-8")
    off = "".join(line for line in stack.splitlines(keepends=True) if line.strip() not in ("- deployment", "- pod"))
    off = off.replace("deployment, ", "").replace(", pod,", ",").replace("[pod, ", "[")
    assert off != stack
    (folder / "Pulumi.lab.yaml").write_text(off, encoding="utf-8")
    value = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "vision"}}
    containers = [{"name": "a", "image": "i"}]
    spec = SERVED | {"template": LABELLED | {"spec": {"containers": containers}}}
    (folder / "a.yaml").write_text(yaml.safe_dump(value | {"spec": spec}), encoding="utf-8")
    (line,) = lint("a.yaml", exit_code=0)
    assert line.endswith("warning: Deployment/web: names no queue: its pods start at once, outside all quota")


def test_services_queue_one_workload_at_a_time_and_the_rest_stays_pending(folder: pathlib.Path) -> None:
    text = BASES["deployment"].replace("replicas: 3", "replicas: 8")
    (folder / "deployment.yaml").write_text(text, encoding="utf-8")
    assert lint("deployment.yaml", exit_code=0) == [
        "deployment.yaml:1: warning: Deployment/deployment: vision/gpu can hold 6 of its 8 workloads at a "
        "time; the others stay pending",
        "deployment.yaml:1: Deployment/deployment: vision/gpu can admit each of its 8 workloads, 2 L4 of l4",
    ]


def test_a_service_whose_framework_is_off_is_a_fault(folder: pathlib.Path) -> None:
    stack = folder / "Pulumi.lab.yaml"
    stack.write_text(stack.read_text().replace("deployment, statefulset, ", ""), encoding="utf-8")
    assert evaluate_stack("lab", folder).plan is not None
    for kind, framework in (("deployment", "Deployment"), ("statefulset", "StatefulSet")):
        (folder / f"{kind}.yaml").write_text(BASES[kind], encoding="utf-8")
        assert lint(f"{kind}.yaml", exit_code=1) == [
            f"{kind}.yaml:1: {framework}/{kind}: Kueue in this fleet does not manage {framework} objects: it would "
            f"start at once, outside all quota; add {kind} to its integrations"
        ]


# --- what Autopilot refuses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "violation"),
    [
        ("image: i,", "image: i, securityContext: {privileged: true},", "privileged containers"),
        ("{containers:", "{hostPID: true, containers:", "hostPID"),
        ("{containers:", "{hostIPC: true, containers:", "hostIPC"),
        ("{containers:", "{volumes: [{hostPath: {path: /dev}}], containers:", "a hostPath volume of '/dev'"),
        ("{containers:", "{volumes: [{hostPath: {path: /var/log/a}}], containers:", None),
    ],
)
def test_what_autopilot_rejects_is_a_fault_only_on_autopilot(
    folder: pathlib.Path, old: str, new: str, violation: str | None
) -> None:
    text = (
        BASES["statefulset"].replace("namespace: vision", "namespace: default").replace(": gpu}", ": multislice-queue}")
    )
    text = text.replace("nvidia.com/gpu: 2", "google.com/tpu: 4").replace(old, new)
    (folder / "statefulset.yaml").write_text(text, encoding="utf-8")
    examples = HERE.parents[2] / "stacks/examples"
    for stack, refused in (("multislice-autopilot", violation), ("multislice", None)):
        frameworks = "    kueue: {integrations: {frameworks: [batch/job, pod, statefulset]}}\n    pools:\n"
        stack_text = (examples / f"{stack}.yaml").read_text(encoding="utf-8").replace("    pools:\n", frameworks, 1)
        (folder / "Pulumi.lab.yaml").write_text(stack_text, encoding="utf-8")
        result = CliRunner().invoke(app, ["lint", "lab", "statefulset.yaml"]).stdout
        assert (f"Autopilot refuses pods with {refused}; remove it" in result) == (refused is not None), result
        assert ("Autopilot refuses" in result) == (refused is not None), result


@pytest.mark.parametrize(
    ("base", "known", "newer"),
    [
        ("deployment", "apps/v1", "apps/v2"),
        ("deployment", "apps/v1", "apps/v2alpha1"),
        ("cronjob", "batch/v1", "batch/v3beta2"),
        ("rayjob", "ray.io/v1", "ray.io/v2"),
        ("mpijob", "kubeflow.org/v2beta1", "kubeflow.org/v2"),
        ("trainjob", "trainer.kubeflow.org/v1alpha1", "trainer.kubeflow.org/v1beta1"),
        ("leaderworkerset", "leaderworkerset.x-k8s.io/v1", "leaderworkerset.x-k8s.io/v1alpha1"),
    ],
)
def test_a_version_that_the_table_does_not_have_is_unknown(
    folder: pathlib.Path, base: str, known: str, newer: str
) -> None:
    """Neither refused, as what never runs, nor read as if its fields were those of a known version."""
    assert f"apiVersion: {known}\n" in BASES[base]
    (folder / "job.yaml").write_text(BASES[base].replace(known, newer), encoding="utf-8")
    (line,) = lint("job.yaml", exit_code=0)
    assert f" {newer} of kind " in line
    assert "is unknown: it is not in Berth's table of job kinds of 2026-11-22, so its pods are not checked" in line


def test_both_versions_that_kuberay_serves_are_read(folder: pathlib.Path) -> None:
    (folder / "job.yaml").write_text(BASES["rayjob"].replace("ray.io/v1", "ray.io/v1alpha1"), encoding="utf-8")
    assert lint("job.yaml", exit_code=0) == ["job.yaml:1: RayJob/rayjob: vision/gpu can admit it, 4 L4 of l4"]
