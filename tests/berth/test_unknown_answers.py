"""What no table knows is said by every verb as unknown: neither a refusal nor a pass.

What the guard does not know is in tests/berth/diff/answers/test_guard_answers.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.catalog import fact_tables
from berth.cli import app
from berth.evaluate import evaluate_stack
from tests.small_fleets import fleet_with
from tests.stack_files import ACK_STACKS, ROOT

L4 = {"machineType": "g2-standard-24", "nodes": {"max": 4}}
SLICES = {"machineType": "ct5lp-hightpu-4t", "slices": {"max": 1}, "zone": "us-central1-a"}
V5E = {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 3}
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: a, namespace: vision, labels: {kueue.x-k8s.io/queue-name: urgent}}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: m, image: python:3.12, resources: {limits: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1}}}
"""
B300 = {"machineType": "a5-highgpu-8g", "accelerator": {"type": "nvidia-b300", "count": 8}}
NEW_REGION = {"region": "mars-north1", "acceptRegion": True}
_CLAIM_SPEC = "accessModes: [ReadWriteOnce], storageClassName: nope, resources: {requests: {storage: 1Gi}}"
_CLAIM = f"{{volumeClaimTemplate: {{spec: {{{_CLAIM_SPEC}}}}}}}"
SIZE = {"cpu": 192, "memory": "768Gi"}
ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "a series": ("cpu-machines", "machine-unknown", {"pools.l4": {**L4, "machineType": "h5x-standard-192", **SIZE}}),
    "a size": ("cpu-machines", "machine-unknown", {"pools.l4": {**L4, "machineType": "c4-standard-500", **SIZE}}),
    "a machine of the system pool": (
        *("cpu-machines", "machine-unknown"),
        {"cluster.systemPool": {"machineType": "nope-standard-8"}},
    ),
    "a reserved machine": (
        *("cpu-machines", "machine-unknown"),
        {"reservations.r": {"machineType": "x9-megamem-960", "zone": "us-central1-a", "count": 1}},
    ),
    "a boot disk": (
        *("cpu-machines", "disk-unknown"),
        {"pools.l4": {**L4, "machineType": "h5x-standard-192", **SIZE, "diskType": "quantum"}},
    ),
    "zones of a machine without accelerators": (
        *("cpu-zones", "zone-unknown"),
        {"pools.l4": {**L4, "machineType": "z4d-highmem-192-standardlssd"}},
    ),
    "zones of a fraction of a GPU": ("zones", "zone-unknown", {"pools.g4": {**L4, "machineType": "g4-standard-12"}}),
    "a zone": ("zones", "zone-unknown", {"pools.spot": {**L4, "zone": "us-central1-q", "acceptZone": True}}),
    "a topology": (
        *("accelerators", "topology-unknown"),
        {"pools.odd": {**SLICES, "topology": "2x6", "acceptTopology": True}},
    ),
    "a minor version of GKE": ("gke-releases", "version-unknown", {"cluster.version": "1.45"}),
    "a release of Kueue": ("component-releases", "version-unknown", {"kueue": {"version": "9.9.9"}}),
    "a release of JobSet": ("component-releases", "version-unknown", {"jobset": {"version": "0.14.0"}}),
    "a feature gate": (
        *("kueue-gates", "gate-unknown"),
        {"kueue": {"version": "0.20.0", "featureGates": {"Nonsense": True}}},
    ),
    "a machine with GPUs": (
        *("accelerators", "machine-unknown"),
        {
            "pools.b300": {
                **L4,
                "machineType": "a5-highgpu-8g",
                "accelerator": {"type": "nvidia-b300", "count": 8},
                **SIZE,
            }
        },
    ),
    "a machine with TPUs": (
        *("accelerators", "machine-unknown"),
        {
            "pools.v8": {
                "machineType": "ct8-standard-4t",
                "accelerator": {"type": "tpu-v8-slice", "count": 4},
                **SIZE,
                "topology": "4x8",
                "slices": 2,
                "zone": "us-central1-a",
                "acceptZone": True,
            }
        },
    ),
    "a reserved machine with GPUs": (
        *("accelerators", "machine-unknown"),
        {
            "reservations.r": {
                **B300,
                "zone": "us-central1-a",
                "count": 1,
            }
        },
    ),
    "an accelerator of auto-provisioning": (
        *("accelerators", "accelerator-unknown"),
        {
            "cluster.nodeAutoProvisioning": {
                "cpu": {"max": 2000},
                "memory": {"max": 20000},
                "accelerators": {"nvidia-b300": 8},
            }
        },
    ),
    "a role": (
        *("google-roles", "role-unknown"),
        {"teams.vision.identity": {"impersonate": "vision", "roles": ["roles/nonsense.viewer"]}},
    ),
    "a region": (
        *("zones", "region-unknown"),
        {
            **NEW_REGION,
            "protect": False,
            "pools.v5e": {**V5E, "zone": "mars-north1-a", "acceptZone": True},
            "pools.l4": {**L4, "nodes": 4, "zone": "mars-north1-a", "acceptZone": True},
        },
    ),
}
"""What a table is asked by a stack file → the table, the code of the answer, and the edit of a sound fleet."""

JOBS: dict[str, tuple[str, str, str, str]] = {
    "a kind of job": (
        "job-kinds",
        "kind-unknown",
        "apiVersion: batch/v1\nkind: Job",
        "apiVersion: flux.io/v1\nkind: FluxJob",
    ),
    "a project of images": (
        "surroundings",
        "image-unknown",
        "python:3.12",
        "europe-docker.pkg.dev/other-project/a/b:1",
    ),
    "a storage class": (
        *("surroundings", "driver-unknown", "restartPolicy: Never"),
        f"restartPolicy: Never\n      volumes: [{{name: v, ephemeral: {_CLAIM}}}]",
    ),
}
"""What a table is asked by a job → the table, the code of the answer, and the edit of a sound job."""

COMMANDS: dict[str, tuple[str, dict[str, Any], tuple[str, ...], str]] = {
    "the quota of a GPU": (
        *("quotas", ASKED["a machine with GPUs"][2], ("quota", "new")),
        "the quota of nvidia-b300 is unknown: it is not in Berth's table of quotas of",
    ),
    "the quota of a series": (
        *("quotas", ASKED["a series"][2], ("quota", "new")),
        "the quota of h5x machines is unknown: it is not in Berth's table of quotas of",
    ),
    "what a release of Kueue asks": (
        *("kueue-changelogs", {}, ("upgrade", "new", "--kueue", "0.19.2..0.25.0")),
        "no table has Kueue 0.25.0: what it changes and asks for is unknown",
    ),
    "holes of a release of Kueue": (
        *("kueue-holes", {}, ("upgrade", "new", "--kueue", "0.19.2..0.25.0")),
        "defaults and known holes are not checked",
    ),
    "what a minor of GKE changes": (
        *("gke-changes", {}, ("upgrade", "new", "--gke", "1.36..1.45")),
        "no table has GKE 1.45: what it changes and asks for is unknown",
    ),
    "feature gates of a release of JobSet": (
        *("companion-gates", {}, ("upgrade", "new", "--jobset", "0.12.0..0.13.0")),
        "no tag tells the feature gates of JobSet 0.13.0: which of them are on is unknown",
    ),
    "fields of a release of JobSet": (
        *("crds", {}, ("upgrade", "new", "--jobset", "0.12.0..0.13.0")),
        "the table of CRDs lacks JobSet 0.12.0 or 0.13.0: which fields change is unknown",
    ),
}
"""What a table is asked by a command of its own → the table, the edit of the fleet, the command, and its words."""

ACK: dict[str, tuple[str, str, str, str]] = {
    "a minor version of ACK": (
        "alibaba",
        "version-unknown",
        "podCidrBlock: 10.64",
        'version: "1.99"\n          podCidrBlock: 10.64',
    ),
    "a machine of ECS": ("alibaba", "machine-unknown", "ecs.gn7e-c16g1.32xlarge", "ecs.gn99-c16g1.32xlarge"),
}
"""What a table is asked by a fleet on ACK → the table, the code of the answer, and the edit of a sound stack file."""

NEVER_ASKED = {
    "api-fields": "a field that the release lacks is refused (tests/berth/lint/test_api_answers.py)",
    "node-labels": "GKE's list of its labels is whole; keys of other domains are unknown (tests/berth/placement)",
    "gke-versions": "every feature that code asks for has a row (tests/berth/rules/gke/test_versions.py)",
    "metrics": "dashboards and alerts are Berth's own, and name no metric without a row (tests/berth/monitoring)",
    "cluster-contents": "what it does not have of an existing cluster is unknown (tests/berth/lint/around)",
    "object-defaults": "berth verify asks it, and reports a field without a row as a difference (tests/berth/verify)",
    "reserved-keys": "admission policies are rendered from it; nothing is looked up in it",
    **dict.fromkeys(
        ("toolkit-modules", "xpk-flags", "xpk-types"),
        "berth adopt --from lists what they do not have as not carried over (tests/berth/adopt)",
    ),
}
"""Tables that no value of a person is looked up in, and why."""


@pytest.fixture
def stacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the stacks `old` and `new`, with a job of the team."""
    for name in ("Pulumi.yaml", "__main__.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    for folder in ("stacks", "components", "berth"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    write(tmp_path, "old", fleet_with())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, name: str, fleet: dict[str, Any]) -> None:
    """A stack file of a fleet."""
    text = yaml.safe_dump({"config": {"berth:fleet": fleet}})
    (folder / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")


def ack_fleet() -> str:
    """The example of a fleet on ACK in one file."""
    file = yaml.safe_load(ACK_STACKS["ack-fleet"].read_text(encoding="utf-8"))
    del file["config"]["berth:fleet"]["teamFiles"]
    return yaml.safe_dump(file)


def said(words: list[str]) -> str:
    """What a verb prints on both streams; it ends with 0."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (words, result.output)
    return " ".join(result.output.split())


@pytest.mark.parametrize("asked", ASKED)
def test_every_verb_says_that_a_value_is_unknown(asked: str, stacks: Path) -> None:
    """check, plan, preview, diff and lint exit 0, and name the table with its day."""
    key, code, edit = ASKED[asked]
    write(stacks, "old", fleet_with({name: value for name, value in edit.items() if name == "protect"}))
    write(stacks, "new", fleet_with(edit))
    problems = [p for p in evaluate_stack("new", stacks).problems if p.is_unknown and p.code == code]
    assert problems, [p.line() for p in evaluate_stack("new", stacks).problems]
    table = fact_tables()[key]
    job = CliRunner().invoke(app, ["workload", "new", "vision", "train"])
    assert job.exit_code == 0, job.output
    (stacks / "job.yaml").write_text(job.stdout, encoding="utf-8")
    verbs = (["check", "new"], ["plan", "new"], ["preview", "new"], ["diff", "old", "new"], ["lint", "new", "job.yaml"])
    for words in verbs:
        output = said(words)
        assert "is unknown: it is not in Berth's table" in output, words
        assert f"[{code}]" in output, words
        assert table.dated_name in output, words
        assert " not checked" in output, words


@pytest.mark.parametrize("asked", ACK)
def test_every_verb_says_that_a_value_of_ack_is_unknown(asked: str, stacks: Path) -> None:
    key, code, old, new = ACK[asked]
    sound = ack_fleet()
    assert old in sound
    for name, text in (("old", sound), ("new", sound.replace(old, new))):
        (stacks / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
    for words in (["check", "new"], ["plan", "new"], ["preview", "new"], ["diff", "old", "new"]):
        output = said(words)
        assert f"is unknown: it is not in {fact_tables()[key].dated_name}" in output, words
        assert f"[{code}]" in output, words
        assert " not checked" in output, words
    assert "is unknown: it is not in Berth's table" not in said(["check", "old"])


def test_a_diff_has_the_unknown_in_its_headline(stacks: Path) -> None:
    write(stacks, "new", fleet_with(ASKED["a boot disk"][2]))
    first = CliRunner().invoke(app, ["diff", "old", "new"]).stdout.splitlines()[0]
    assert first.endswith("3 values are unknown to Berth")
    assert "unknown" not in CliRunner().invoke(app, ["diff", "old", "old"]).stdout


@pytest.mark.parametrize("asked", JOBS)
def test_lint_and_admit_say_that_what_a_job_asks_for_is_unknown(asked: str, stacks: Path) -> None:
    """Both exit 0, name the table with its day, and leave the verdict open."""
    key, code, old, new = JOBS[asked]
    assert JOB.count(old) == 1
    (stacks / "job.yaml").write_text(JOB.replace(old, new), encoding="utf-8")
    for verb in ("lint", "admit"):
        output = said([verb, "old", "job.yaml"])
        assert f"[{code}]" in output
        assert f"it is not in {fact_tables()[key].dated_name}" in output
    result = CliRunner().invoke(app, ["lint", "old", "job.yaml", "--json"])
    assert '"verdict": "unknown"' in result.stdout


@pytest.mark.parametrize("asked", COMMANDS)
def test_a_command_says_what_its_table_does_not_have(asked: str, stacks: Path) -> None:
    _, edit, words, says = COMMANDS[asked]
    write(stacks, "new", fleet_with(edit))
    assert says in said([*words])


def test_every_table_is_asked_what_it_cannot_know() -> None:
    """A new table needs a question here, or the reason why nothing is looked up in it."""
    asked = {row[0] for row in (*ASKED.values(), *JOBS.values(), *COMMANDS.values(), *ACK.values())}
    assert asked | NEVER_ASKED.keys() == fact_tables().keys()
    assert not asked & NEVER_ASKED.keys()


def test_a_diff_ends_with_3_where_a_version_breaks_what_runs(stacks: Path) -> None:
    """As `berth upgrade` does: Kueue 0.20 does not start with an output called pods (#13989)."""
    output = {"input": "nvidia.com/gpu", "strategy": "Retain", "outputs": {"pods": 1}}
    for name, release in (("old", "0.19.2"), ("new", "0.20.0")):
        write(stacks, name, fleet_with({"kueue": {"version": release, "resources": {"transformations": [output]}}}))
    assert CliRunner().invoke(app, ["check", "new"]).exit_code == 0
    result = CliRunner().invoke(app, ["diff", "old", "new"])
    assert result.exit_code == 3, result.output
    assert "1 cause BREAKS what runs" in result.stdout
    assert CliRunner().invoke(app, ["diff", "old", "old"]).exit_code == 0
