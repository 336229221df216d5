"""Every line that `berth lint` prints for broken manifests, and that it reports no fault in valid ones."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.jobs.files import ManifestDocument
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from tests.berth.bad_input.cases import Case, parsed
from tests.problem_lines import without_codes
from tests.small_fleets import fleet_of_pools, plan

HERE = pathlib.Path(__file__).parent
BASES = {file.stem: file.read_text(encoding="utf-8") for file in sorted((HERE / "base").glob("*.yaml"))}
BROKEN, WARNED = (
    {case.claim: case for case in parsed((HERE / f"{name}.txt").read_text(encoding="utf-8"))}
    for name in ("broken", "warned")
)
SOUND = {
    "job": ["job.yaml:2: Job/gpus: vision/urgent can admit it, 4 L4 of l4"],
    "jobset": ["jobset.yaml:1: JobSet/slices: vision/train can admit it, 16 v5e chips of v5e"],
    "pytorchjob": ["pytorchjob.yaml:1: PyTorchJob/gang: vision/night can admit it, 12 L4 of dws"],
    "request": [
        "request.yaml:16:11: warning: ProvisioningRequest/machines: its machines do not count against any "
        "quota, and it does not wait in a queue",
        "request.yaml:14: ProvisioningRequest/machines: can be requested, 16 L4 of dws",
    ],
}
"""What `berth lint` prints for each valid base; a bare pod is never valid."""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Return a project's folder, the current directory, with the stack and the valid manifests."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    shutil.copy(HERE / "stack.yaml", tmp_path / "Pulumi.lab.yaml")
    for name, text in BASES.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint(*words: str, exit_code: int) -> list[str]:
    """Return the lines of `berth lint`; nothing of Python is in them."""
    result = CliRunner().invoke(app, ["lint", "lab", *words])
    assert (result.stderr, result.exit_code) == ("", exit_code), result.output
    assert not re.search(r"Traceback|\b(None|True|False|dict|tuple|str)\b", result.stdout)
    return without_codes(result.stdout).splitlines()


def edited(folder: pathlib.Path, case: Case) -> str:
    """Return the file that a case is about (its claim begins with its base), with the edits made."""
    base = case.claim.partition(":")[0]
    text = BASES[base]
    for old, new in case.edits:
        assert text.count(old) == 1, f"not found once: {old}"
        text = text.replace(old, new)
    (folder / f"{base}.yaml").write_text(text, encoding="utf-8")
    return f"{base}.yaml"


def test_the_fleet_has_no_faults(folder: pathlib.Path) -> None:
    assert CliRunner().invoke(app, ["check", "lab"]).exit_code == 0


@pytest.mark.parametrize("base", SOUND)
def test_a_valid_job_is_printed_with_its_amounts(folder: pathlib.Path, base: str) -> None:
    assert lint(f"{base}.yaml", exit_code=0) == SOUND[base]


@pytest.mark.parametrize("claim", BROKEN)
def test_a_job_that_can_never_run_is_reported_at_its_line(folder: pathlib.Path, claim: str) -> None:
    """All reasons at once, each with file, line and column of the value, and a remedy."""
    file = edited(folder, BROKEN[claim])
    assert lint(file, exit_code=1) == list(BROKEN[claim].lines)


@pytest.mark.parametrize("claim", WARNED)
def test_a_probably_unintended_setting_is_a_warning(folder: pathlib.Path, claim: str) -> None:
    assert lint(edited(folder, WARNED[claim]), exit_code=0) == list(WARNED[claim].lines)


def test_there_are_enough_distinct_messages() -> None:
    assert len(BROKEN) >= 45
    values = ["\n".join(case.lines) for case in BROKEN.values()]
    assert sorted(values) == sorted(set(values))
    assert all(case.lines for case in (*BROKEN.values(), *WARNED.values()))


# --- files ------------------------------------------------------------------------------------------------------------


def test_several_documents_lists_and_folders_are_read_and_other_objects_passed_over(folder: pathlib.Path) -> None:
    jobs = folder / "jobs"
    jobs.mkdir()
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: script}\n"
    (jobs / "a.yaml").write_text(f"{config}---\n{BASES['jobset']}---\n{BASES['job']}", encoding="utf-8")
    inside = "\n".join(f"  {line}" for line in BASES["job"].splitlines()[1:])
    (jobs / "b.yaml").write_text(f"kind: List\napiVersion: v1\nitems:\n-{inside[1:]}\n", encoding="utf-8")
    assert lint("jobs", exit_code=0) == [
        "jobs/a.yaml:5: JobSet/slices: vision/train can admit it, 16 v5e chips of v5e",
        "jobs/a.yaml:33: Job/gpus: vision/urgent can admit it, 4 L4 of l4",
        "jobs/b.yaml:4: Job/gpus: vision/urgent can admit it, 4 L4 of l4",
    ]


def test_the_team_option_sets_the_default_namespace(folder: pathlib.Path) -> None:
    (folder / "job.yaml").write_text(BASES["job"].replace("  namespace: vision\n", ""), encoding="utf-8")
    assert lint("job.yaml", "--team", "vision", exit_code=0) == SOUND["job"]
    assert lint("jobset.yaml", "--team", "speech", exit_code=1) == [
        "jobset.yaml:5:14: JobSet/slices: 'vision' is not a namespace of team 'speech'; write speech"
    ]
    assert lint("job.yaml", "--team", "visoin", exit_code=1) == ["--team: no team 'visoin'; did you mean 'vision'?"]


def test_admit_takes_the_same_namespace_from_the_team_option(folder: pathlib.Path) -> None:
    (folder / "job.yaml").write_text(BASES["job"].replace("  namespace: vision\n", ""), encoding="utf-8")
    admitted = CliRunner().invoke(app, ["admit", "lab", "job.yaml", "--team", "vision"])
    assert (admitted.exit_code, "gpus   vision/urgent   admitted   l4 4" in admitted.stdout) == (0, True)
    elsewhere = CliRunner().invoke(app, ["admit", "lab", "job.yaml", "--team", "speech"])
    assert "no local queue 'urgent' in namespace 'speech'" in elsewhere.output
    unknown = CliRunner().invoke(app, ["admit", "lab", "job.yaml", "--team", "visoin"])
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert unknown.stderr == "error: --team: no team 'visoin'; did you mean 'vision'? [unknown-name]\n"


def test_files_that_hold_no_job_are_no_answer(folder: pathlib.Path) -> None:
    (folder / "empty.yaml").write_text("# later\n", encoding="utf-8")
    (folder / "bad.yaml").write_text("kind: [Job\n", encoding="utf-8")
    (folder / "none").mkdir()
    assert lint("empty.yaml", "nowhere.yaml", "bad.yaml", "none", exit_code=1) == [
        "no file 'nowhere.yaml'",
        "bad.yaml:1:7: '[' opens here and is not closed; write ']' at its end",
        "none: contains no YAML file and no JSON manifest; name a file or a folder with manifests",
        "empty.yaml: contains no job, no other object with pods and no ProvisioningRequest",
    ]


def test_a_job_may_omit_its_queue_if_one_is_named_default(folder: pathlib.Path) -> None:
    """Kueue gives unlabelled jobs the local queue of that name (LocalQueueDefaulting)."""
    stack = folder / "Pulumi.lab.yaml"
    stack.write_text(stack.read_text().replace("          mixed: {", "          mixed: {localQueue: default, "))
    text = BASES["job"].replace("    kueue.x-k8s.io/queue-name: urgent\n", "")
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    assert lint("job.yaml", exit_code=0) == ["job.yaml:2: Job/gpus: vision/default can admit it, 4 L4 of l4"]


@pytest.mark.parametrize("base", ["job", "jobset", "pytorchjob"])
def test_generate_name_is_accepted(folder: pathlib.Path, base: str) -> None:
    """As most published samples have it: `generateName` ends in a dash, and five letters follow."""
    name = {"job": "gpus", "jobset": "slices", "pytorchjob": "gang"}[base]
    text = BASES[base].replace(f"  name: {name}\n", f"  generateName: {name}-\n", 1)
    (folder / f"{base}.yaml").write_text(text, encoding="utf-8")
    assert lint(f"{base}.yaml", exit_code=0) == [line.replace(f"/{name}:", f"/{name}-:") for line in SOUND[base]]


# --- as data ----------------------------------------------------------------------------------------------------------


def test_json_has_the_same_problems_and_exit_status(folder: pathlib.Path) -> None:
    edited(folder, BROKEN["jobset: more slices than the ceiling"])
    document = json.loads("\n".join(lint("jobset.yaml", "job.yaml", "--json", exit_code=1)))
    assert (document["version"], document["problems"]) == (1, [])
    broken, sound = document["objects"]
    (problem,) = broken.pop("problems")
    assert broken == {
        "kind": "JobSet",
        "name": "slices",
        "namespace": "vision",
        "place": "jobset.yaml:1",
        "queue": "vision/train",
        "admission": None,
        "flavors": {},
        "verdict": "never",
        "reasons": [problem["message"]],
        "sound": False,
    }
    assert (problem["severity"], problem["code"], problem["place"]) == ("fault", "above-ceiling", "jobset.yaml:26:42")
    assert problem["path"].startswith("spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources")
    assert (sound["sound"], sound["admission"], sound["problems"]) == (True, "4 L4 of l4", [])
    assert (sound["verdict"], sound["reasons"]) == ("runs", [])


_PORT = {"ports": [{"containerPort": 80, "hostPort": 8080}]}
_INIT = {"name": "before", "image": "i", **_PORT}


@pytest.mark.parametrize(
    ("container", "spec", "port"),
    [
        (_PORT, {}, 8080),
        ({"ports": [{"containerPort": 80}]}, {}, None),
        ({"ports": [{"containerPort": 80}]}, {"hostNetwork": True}, 80),
        ({}, {"initContainers": [_INIT]}, None),
        ({}, {"initContainers": [{**_INIT, "restartPolicy": "Always"}]}, 8080),
    ],
)
def test_pods_with_a_port_of_their_node_are_on_nodes_of_their_own(
    container: dict[str, Any], spec: dict[str, Any], port: int | None
) -> None:
    """Five pods of one GPU on four nodes of two; an init container that ends gives its port back."""
    fleet = fleet_of_pools({"l4": {"machineType": "g2-standard-24", "nodes": 4, "zone": "us-central1-a"}})
    fleet["teams"]["vision"]["podSecurity"] = "privileged"
    main = {"name": "a", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}, **container}
    pods = {"spec": {"restartPolicy": "Never", "containers": [main], **spec}}
    metadata = {"name": "a", "namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "l4"}}
    job = {"spec": {"parallelism": 5, "completions": 5, "template": pods}, "metadata": metadata}
    documents = [ManifestDocument("a.yaml", {"apiVersion": "batch/v1", "kind": "Job", **job})]
    (finding,) = lint_documents(documents, LintContext(plan(fleet)))
    said = f"its use of host ports (port {port}) leaves room for 4 of its 5 pods on flavor 'l4'; "
    expected = [] if port is None else [f"{said}write at most 4 pods, or remove it"]
    assert [each.message for each in finding.problems] == expected
