"""`berth diff` of two stacks with one base: what a promotion changes; and of a base: which stacks it reaches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.berth.cli.diff.test_diff_command import berth, git

SHARED = """\
fleet:
  cluster:
    controlPlane: {publicEndpoint: false}
    maintenance: {exclusions: [{name: a, start: "2026-12-01T00:00:00Z", end: end-of-support}]}
  pools:
    v5e: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 2}
  teams:
    vision:
      queues:
        train: {flavors: [{pool: v5e, guaranteed: 2 slices}]}
"""
OWN = """\
config:
  berth:fleet:
    base: shared.yaml
    project: acme-ml-{name}
    region: {region}
    cluster: {{name: {name}}}
    pools: {{v5e: {{zone: {region}-{zone}}}}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide dev and prod, which differ in their places, as a git repository."""
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    (tmp_path / "shared.yaml").write_text(SHARED, encoding="utf-8")
    for name, region, zone in (("dev", "us-east1", "c"), ("prod", "us-central1", "a")):
        text = OWN.format(name=name, region=region, zone=zone)
        (tmp_path / f"Pulumi.{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "first"]):
        git(*words)
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_places_are_listed_and_not_compared(project: Path) -> None:
    done = berth("diff", "dev", "prod")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "A promotion: prod with what dev has (shared.yaml is the base of both).",
        "",
        "Of the place, so it stays as it is",
        "  cluster.name",
        "  pools.v5e.zone",
        "  project",
        "  region",
        "",
        "prod: nothing changes",
    ]


def test_what_dev_has_would_change_prod(project: Path) -> None:
    edit(project / "Pulumi.dev.yaml", "{v5e: {", "{v5e: {slices: 3, ")
    changes = json.loads(berth("diff", "dev", "prod", "--format", "json").stdout)
    assert (changes["old"], changes["new"]) == ("prod", "prod with what dev has")
    assert [(each["path"], each["before"], each["after"]) for each in changes["written"]] == [
        ("pools.v5e.slices", 2, 3)
    ]
    assert changes["promotion"] == {
        "promoted": "dev",
        "to": "prod",
        "base": "shared.yaml",
        "leftOut": ["cluster.name", "pools.v5e.zone", "project", "region"],
    }
    assert berth("diff", "prod", "dev").exit_code == 3  # dev loses the slice


def test_a_change_of_the_base_names_the_other_stacks(project: Path) -> None:
    edit(project / "shared.yaml", "slices: 2}", "slices: 3}")
    done = berth("diff", "dev", "--since", "main")
    assert "Stacks that shared.yaml also changes\n  prod: berth diff prod --since main\n" in done.stdout
    changes = json.loads(berth("diff", "dev", "--since", "main", "--format", "json").stdout)
    assert changes["sameBase"] == ["prod"]
    git("add", ".")
    git("commit", "-qm", "second")
    edit(project / "Pulumi.dev.yaml", "acme-ml-dev", "acme-ml-dev2")
    assert "also changes" not in berth("diff", "dev", "--since", "HEAD").stdout


def test_stacks_without_one_base_are_compared_as_before(project: Path) -> None:
    (project / "other.yaml").write_text(SHARED, encoding="utf-8")
    edit(project / "Pulumi.prod.yaml", "base: shared.yaml", "base: other.yaml")
    assert berth("diff", "dev", "prod").exit_code == 3
