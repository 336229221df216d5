"""`berth report --live FILE`: figures of a cluster, with a second sum, apart from those of the plan."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.berth.report.test_page import Read
from tests.kueue_workloads import workload_object
from tests.problem_lines import without_codes
from tests.stack_files import ROOT

WRITTEN = datetime(2026, 11, 23, 8, 30, tzinfo=UTC)
CORES = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {controlPlane: {publicEndpoint: false}, zones: [us-central1-a]}
    pools: {n2: {machineType: n2-standard-32, nodes: 2}}
    teams: {vision: {queues: {train: {flavors: [{pool: n2, guaranteed: all}]}}}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    shutil.copy(ROOT / "tests" / "berth" / "simulator" / "stack.yaml", tmp_path / "Pulumi.lab.yaml")
    (tmp_path / "Pulumi.cores.yaml").write_text(CORES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def workload(name: str, team: str, minute: int, usage: dict[str, str] | None, flavor: str = "v5e") -> dict[str, Any]:
    """Return a Workload: pending without usage."""
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "main"}]}}}
    assignment = None
    if usage is not None:
        assignment = {"name": "main", "flavors": dict.fromkeys(usage, flavor), "resourceUsage": usage, "count": 1}
    day = f"2026-11-23T08:{minute:02}"
    return workload_object(name, team, pods, f"{day}:00Z", assignment, f"{day}:30Z")


def cluster_queue(name: str, flavor: str, resources: dict[str, str], **spec: Any) -> dict[str, Any]:
    quotas = [{"name": resource, "nominalQuota": amount} for resource, amount in resources.items()]
    groups = [{"coveredResources": [*resources], "flavors": [{"name": flavor, "resources": quotas}]}]
    return {"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {"resourceGroups": groups, **spec}}


def page(stack: str, *items: dict[str, Any], words: tuple[str, ...] = ()) -> tuple[Read, str]:
    """Return the page and what is printed."""
    file = pathlib.Path("state.json")
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}), encoding="utf-8")
    os.utime(file, (WRITTEN.timestamp(), WRITTEN.timestamp()))
    result = CliRunner().invoke(app, ["report", stack, "--live", "state.json", "-o", "page.html", *words])
    assert result.exit_code == 0, result.output
    return Read(pathlib.Path("page.html").read_text(encoding="utf-8")), without_codes(result.stderr)


def live_words(read: Read) -> list[str]:
    """Return the words of the section."""
    words = read.words.split("\n")
    start = words.index("In the cluster")
    return words[start + 1 :]


JOBS = (
    workload("a", "vision", 1, {"google.com/tpu": "16", "cpu": "30"}),
    workload("b", "vision", 2, {"google.com/tpu": "8"}),
    workload("c", "vision", 3, None),
    workload("d", "robotics", 4, {"google.com/tpu": "8"}),
)


def test_the_section_names_its_source_and_time(folder: pathlib.Path) -> None:
    read, _ = page("lab", *JOBS)
    assert live_words(read)[0] == (
        "Read from state.json, a file written 2026-11-23 08:30 UTC; the newest event in it is of 2026-11-23T08:03:00Z. "
        "The figures of this section are the cluster's at that time unless a column says otherwise; capacity, "
        "guarantees and ceilings of other sections are those of the stack file."
    )


def test_use_is_the_sum_of_the_admitted_workloads_and_quotas_are_apart(folder: pathlib.Path) -> None:
    queues = (
        cluster_queue("vision-train", "v5e", {"google.com/tpu": "16", "cpu": "100"}, stopPolicy="Hold"),
        cluster_queue("speech-train", "v5e", {"google.com/tpu": "16"}),
    )
    read, printed = page("lab", *queues, *JOBS)
    words = live_words(read)
    held: Counter[str] = Counter()
    for item in JOBS[:3]:
        for each in item["status"].get("admission", {}).get("podSetAssignments", []):
            held[item["metadata"]["namespace"]] += int(each["resourceUsage"]["google.com/tpu"])
    header = words.index("in use now")
    cells = [words[i : i + 7] for i in range(len(words)) if words[i] in ("vision/train", "speech/train")][:2]
    assert words[header : header + 4] == [
        "in use now",
        "guaranteed in the cluster",
        "guaranteed in the stack file",
        "of",
    ]
    by_queue = {row[0]: row[1:6] for row in cells}
    assert by_queue["vision/train"][:3] == ["v5e", str(held["vision"]), "16"]
    assert by_queue["speech/train"][:4] == ["v5e", "0", "16", "16"]
    assert "differs: not deployed, or changed in the cluster" in words
    assert "The queue vision/train is stopped in the cluster (Hold)." in words
    assert "1 workload of a queue that the stack file does not have: not in the tables." in words
    assert "workload 'robotics/job-d-1a2b3'" in printed


def test_jobs_are_listed_with_their_state(folder: pathlib.Path) -> None:
    words = live_words(page("lab", *JOBS)[0])
    assert "Jobs now (3)" in words
    for name, state, since in (
        ("a", "admitted", "2026-11-23T08:01:30Z"),
        ("b", "admitted", "2026-11-23T08:02:30Z"),
        ("c", "pending", "2026-11-23T08:03:00Z"),
    ):
        at = words.index(f"vision/{name}")
        assert words[at + 1 : at + 4] == ["vision/train", state, since]
    assert "The file has no ClusterQueue, so the guarantees in the cluster are not known." in words


def test_cpu_is_counted_in_cores(folder: pathlib.Path) -> None:
    jobs = workload("a", "vision", 1, {"cpu": "12.5", "memory": "1Gi"}, "n2")
    words = live_words(page("cores", jobs, cluster_queue("vision-train", "n2", {"cpu": "62", "memory": "200Gi"}))[0])
    at = words.index("vision/train")
    assert words[at : at + 6] == ["vision/train", "n2", "12.5", "62", "62", "cores"]
    assert "12.5 cores of n2" in words


def test_a_timeline_starts_from_the_cluster_and_says_so(folder: pathlib.Path) -> None:
    container = {"name": "main", "image": "i", "resources": {"limits": {"google.com/tpu": 4}}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "new", "namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "train"}},
        "spec": {
            "parallelism": 2,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
    pathlib.Path("job.json").write_text(json.dumps(job), encoding="utf-8")
    read, printed = page("lab", *JOBS, words=("--jobs", "job.json"))
    assert "Step 0 is the state in state.json." in read.words
    assert printed.count("workload 'robotics/job-d-1a2b3'") == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "state.json: error: is not JSON: Expecting property name"),
        ('{"kind": "Node"}', "state.json: error: kind: 'Node' is not one of Workload, ClusterQueue"),
    ],
)
def test_files_not_printed_by_kubectl_are_rejected(folder: pathlib.Path, text: str, line: str) -> None:
    (folder / "state.json").write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["report", "lab", "--live", "state.json", "-o", "page.html"])
    assert result.exit_code == 1
    assert result.stderr.startswith(line)
    assert not re.search("Traceback", result.output)
    assert not (folder / "page.html").exists()


def test_a_page_without_a_cluster_has_no_such_section(folder: pathlib.Path) -> None:
    result = CliRunner().invoke(app, ["report", "lab"])
    assert (result.exit_code, "In the cluster" in result.stdout) == (0, False)
