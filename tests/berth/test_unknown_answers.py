"""What no table knows is said by every verb as unknown: neither a refusal nor a pass."""

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
from tests.stack_files import ROOT

L4 = {"machineType": "g2-standard-24", "nodes": {"max": 4}}
SLICES = {"machineType": "ct5lp-hightpu-4t", "slices": {"max": 1}, "zone": "us-central1-a"}
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
        *("zones", "zone-unknown"),
        {"pools.l4": {**L4, "machineType": "n2-standard-32"}},
    ),
    "zones of a fraction of a GPU": ("zones", "zone-unknown", {"pools.g4": {**L4, "machineType": "g4-standard-12"}}),
    "a zone": ("zones", "zone-unknown", {"pools.spot": {**L4, "zone": "us-central1-q", "acceptZone": True}}),
    "a topology": (
        *("accelerators", "topology-unknown"),
        {"pools.odd": {**SLICES, "topology": "2x6", "acceptTopology": True}},
    ),
    "a minor version of GKE": ("gke-releases", "version-unknown", {"cluster.version": "1.45"}),
    "a release of Kueue": ("kueue-releases", "version-unknown", {"kueue": {"version": "9.9.9"}}),
}
"""What a table is asked → the table, the code of the answer, and the edit of a sound fleet."""


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


def said(words: list[str]) -> str:
    """What a verb prints on both streams; it ends with 0."""
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (words, result.output)
    return " ".join(result.output.split())


@pytest.mark.parametrize("asked", ASKED)
def test_every_verb_says_that_a_value_is_unknown(asked: str, stacks: Path) -> None:
    """check, plan, preview, diff and lint exit 0, and name the table with its day."""
    key, code, edit = ASKED[asked]
    write(stacks, "new", fleet_with(edit))
    problems = [p for p in evaluate_stack("new", stacks).problems if p.is_unknown and p.code == code]
    assert problems, [p.line() for p in evaluate_stack("new", stacks).problems]
    table = next((t for name, t in fact_tables().items() if name == key), None)
    job = CliRunner().invoke(app, ["workload", "new", "vision", "train"])
    assert job.exit_code == 0, job.output
    (stacks / "job.yaml").write_text(job.stdout, encoding="utf-8")
    verbs = (["check", "new"], ["plan", "new"], ["preview", "new"], ["diff", "old", "new"], ["lint", "new", "job.yaml"])
    for words in verbs:
        output = said(words)
        assert "is unknown: it is not in Berth's table" in output, words
        assert f"[{code}]" in output, words
        assert table is None or table.dated_name in output, words
        assert " not checked" in output, words


def test_a_diff_has_the_unknown_in_its_headline(stacks: Path) -> None:
    write(stacks, "new", fleet_with(ASKED["a boot disk"][2]))
    first = CliRunner().invoke(app, ["diff", "old", "new"]).stdout.splitlines()[0]
    assert first.endswith("3 values are unknown to Berth")
    assert "unknown" not in CliRunner().invoke(app, ["diff", "old", "old"]).stdout
