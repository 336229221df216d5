"""`make pin` offline: tables and CRDs come from small git clones, and the pin moves only after its recordings."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.stack_files import ROOT

FEATURES = """package features
const (
	PartialAdmission featuregate.Feature = "PartialAdmission"
	NewGate featuregate.Feature = "NewGate"
)
var defaultFeatureGateDependencies = map[featuregate.Feature][]featuregate.Feature{
	NewGate: {PartialAdmission},
}
var defaultVersionedFeatureGates = map[featuregate.Feature]featuregate.VersionedSpecs{
	PartialAdmission: {
		{Version: version.MustParse("0.4"), Default: false, PreRelease: featuregate.Alpha},
		{Version: version.MustParse("0.5"), Default: true, PreRelease: featuregate.Beta},
	},
	NewGate: {
		{Version: version.MustParse("0.31"), Default: false, PreRelease: featuregate.Alpha, LockToDefault: true},
	},
}
"""
CHANGELOG = """## v0.31.0

### (No, really, you MUST read this before you upgrade)

- Jobs: something changes.
  Do this first. (#99901, @somebody)

## Changes by Kind
- Other: a fix. (#99902, @somebody)
"""
CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: topologies.kueue.x-k8s.io, annotations: {tool: v1}}
spec:
  group: kueue.x-k8s.io
  names: {kind: Topology, plural: topologies}
  versions:
    - name: v1beta2
      served: true
      schema:
        openAPIV3Schema:
          description: long text
          properties:
            spec:
              properties:
                levels:
                  maxItems: 16
                  x-kubernetes-validations: [{rule: self == oldSelf}]
"""


def run_script(project: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/pin.py of a copy of the repository."""
    command = [sys.executable, "scripts/pin.py", *words]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a repository with what the script reads and writes."""
    project = tmp_path / "project"
    for name in (
        "scripts/pin.py",
        "scripts/release_facts.py",
        "berth/versions/components.yaml",
        "berth/versions/crds.yaml",
        "berth/versions/companion_gates.yaml",
        "berth/versions/kueue.yaml",
        "berth/spec/controllers.py",
        "tests/vendored/crds/kueue.x-k8s.io_topologies.yaml",
        "docs/e2e.md",
    ):
        target = project / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    (project / "tests" / "berth" / "simulator").mkdir(parents=True)
    (project / "tests" / "berth" / "simulator" / "cases.yaml").write_text("# Kueue 0.19.2\n", encoding="utf-8")
    (project / "tests" / "vendored" / "metrics").mkdir()
    _commit(project)
    return project


@pytest.fixture
def clones(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a folder with a clone of a Kueue that has one release."""
    clone = tmp_path / "clones" / "kubernetes-sigs" / "kueue"
    files = {
        "pkg/features/kube_features.go": FEATURES,
        "CHANGELOG/CHANGELOG-0.31.md": CHANGELOG,
        "config/components/crd/bases/kueue.x-k8s.io_topologies.yaml": CRD,
    }
    for name, text in files.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text, encoding="utf-8")
    _commit(clone)
    subprocess.run(["git", "tag", "v0.31.0"], cwd=clone, check=True)
    return tmp_path / "clones"


def _commit(folder: pathlib.Path) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*name, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def table(project: pathlib.Path, name: str) -> dict[str, Any]:
    return yaml.safe_load((project / "berth" / "versions" / name).read_text(encoding="utf-8"))


def test_a_pin_is_prepared_from_clones(copy: pathlib.Path, clones: pathlib.Path) -> None:
    result = run_script(copy, "kueue", "0.31.0", str(clones))
    assert result.returncode == 1, result.stderr  # a required action has no row yet
    assert "kueue.yaml has no action for #99901 of 0.31.0" in result.stdout
    assert "99902" not in result.stdout
    assert "no clone of kubernetes-sigs/jobset" in result.stdout
    for name in ("crds.yaml", "companion_gates.yaml"):  # a project without a clone keeps its rows
        before = yaml.safe_load((ROOT / "berth" / "versions" / name).read_text(encoding="utf-8"))
        rows = table(copy, name)
        assert rows.keys() == before.keys()
        assert {each: rows[each] for each in rows if each != "kueue"} == {e: before[e] for e in before if e != "kueue"}
    gates = table(copy, "kueue_gates.yaml")["0.31"]
    assert (gates["beta on"], gates["alpha off locked"]) == ("PartialAdmission", "NewGate")
    assert gates["requires"] == {"NewGate": ["PartialAdmission"]}
    assert gates["whole_to"] == "0.31.0"
    topology = table(copy, "crds.yaml")["kueue"]["Topology"]
    assert topology["immutable"] == {"spec.levels": "always"}
    assert topology["maxItems"] == {"spec.levels": 16}
    crd = yaml.safe_load((copy / "tests/vendored/crds/kueue.x-k8s.io_topologies.yaml").read_text(encoding="utf-8"))
    assert crd["metadata"] == {"name": "topologies.kueue.x-k8s.io"}
    assert "description" not in str(crd)
    assert "kueue 0.19.2 is the release that ran. Before 0.31.0 is the pin:" in result.stdout
    assert re.search(r"(?m)^  [\w./]+: \d+(, \d+){4} and \d+ more$", result.stdout), "one line for each file"
    assert "1. tests/berth/simulator/cases.yaml: record the queue set-ups again" in result.stdout
    assert table(copy, "components.yaml")["kueue"]["ran"] == "0.19.2", "the pin has not moved"


def test_the_pin_moves_only_after_every_recording(copy: pathlib.Path) -> None:
    refused = run_script(copy, "kueue", "0.31.0", "--ran")
    assert refused.returncode == 1
    assert "kueue 0.31.0 has not run here; before it is the pin:" in refused.stdout
    assert table(copy, "components.yaml")["kueue"]["ran"] == "0.19.2"
    (copy / "tests/berth/simulator/cases.yaml").write_text("# Kueue 0.31.0\n", encoding="utf-8")
    (copy / "tests/vendored/metrics/kueue-0.31.0.tsv").write_text("", encoding="utf-8")
    with (copy / "docs/e2e.md").open("a", encoding="utf-8") as page:
        page.write("Kueue 0.31.0 ran.\n")
    moved = run_script(copy, "kueue", "0.31.0", "--ran")
    assert moved.returncode == 0, moved.stdout
    assert table(copy, "components.yaml")["kueue"]["ran"] == "0.31.0"
    assert table(copy, "components.yaml")["jobset"]["ran"] == "0.12.0"
    assert "By default 0.31.0 of Kueue" in (copy / "berth/spec/controllers.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "usage: python scripts/pin.py kueue|jobset VERSION FOLDER|--ran"),
        (["trainer", "2.3.0", "."], 2, "usage"),
        (["kueue", "0.20", "."], 2, "usage"),
        (["kueue", "0.19.2", "nowhere"], 2, "kueue 0.19.2 ran already, which is not older than 0.19.2; write a newer"),
        (["kueue", "0.9.4", "nowhere"], 2, "kueue 0.19.2 ran already, which is not older than 0.9.4; write a newer"),
        (["kueue", "0.31.0", "nowhere"], 1, "no clone of kubernetes-sigs/kueue in nowhere; clone it with its tags to"),
    ],
)
def test_wrong_arguments_say_what_to_write(copy: pathlib.Path, words: list[str], code: int, message: str) -> None:
    result = run_script(copy, *words)
    assert result.returncode == code
    assert message in result.stdout
    assert result.stderr == ""


def test_a_missing_tag_is_said(copy: pathlib.Path, clones: pathlib.Path) -> None:
    result = run_script(copy, "kueue", "0.31.9", str(clones))
    assert result.returncode == 1
    assert "the clone of kubernetes-sigs/kueue has no tag v0.31.9; fetch its tags" in result.stdout
