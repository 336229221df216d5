"""`berth upgrade` as it is typed: every example on its way, exit codes, formats, and wrong options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from berth.cli import app
from tests.stack_files import GKE_STACKS, ROOT


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["upgrade", *words])


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


WAYS = (
    ("--kueue", "0.18.8..0.19.2"),
    ("--kueue", "0.19.2..0.20.0"),
    ("--gke", "1.33..1.36"),
    ("--kueue", "0.19.2..0.16.0"),
)


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
@pytest.mark.parametrize("stack", sorted(GKE_STACKS))
def test_every_example_takes_every_way(stack: str, way: tuple[str, str]) -> None:
    """Figures of the headline are counted again from the JSON."""
    result = run(str(GKE_STACKS[stack]), *way, "--format", "json")
    assert result.exit_code in (0, 3), result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    assert answer["breaks"] == (result.exit_code == 3)
    move = answer["moves"][0]
    assert (move["before"], move["after"]) == tuple(way[1].split(".."))
    is_back = way[1].endswith("0.16.0")
    assert ("DOWNGRADED" in answer["headline"]) == is_back == move["downgrade"]
    required = [action for action in answer["actions"] if action["required"]]
    counted = required if way[0] == "--kueue" else answer["actions"]
    if not is_back:
        counts = {word: sum(each["verdict"] == word for each in counted) for word in ("applies", "unknown")}
        for word, phrase in (("applies", " appl"), ("unknown", " may apply")):
            assert (f"{counts[word]}{phrase}" in answer["headline"]) == bool(counts[word])
    assert all(action["why"] for action in answer["actions"])
    assert answer["steps"][-1]


def test_pools_are_asked_what_they_need_where_the_stack_follows_its_channel() -> None:
    """The version that the stack does not name is put in its place, for the old and the new one."""
    needs = "pools.v6e-flex.capacity: flex-start needs GKE 1.33.0-gke.1712000, but the cluster has '1.32'"
    before = run("stacks/examples/flex-start.yaml", "--gke", "1.32..1.35")
    assert before.exit_code == 0, before.output
    assert needs in before.stdout.split("Faults of the stack file with the old versions")[1]
    assert "needs no edit: GKE upgrades it with its release channel" in before.stdout
    after = run("stacks/examples/flex-start.yaml", "--gke", "1.35..1.32")
    assert after.exit_code == 3, after.output
    assert needs in after.stdout.split("Faults of the stack with the new versions")[1]


def test_what_was_not_read_is_said_to_be_unknown() -> None:
    """Of minors of GKE before 1.35 only removed APIs were read, of late patches of Kueue only the beginning."""
    assert "of GKE 1.33 to 1.34 Berth has only the API versions" in run("dev", "--gke", "1.32..1.36").stdout
    assert "of GKE" not in run("dev", "--gke", "1.34..1.36").stdout.split("Unknown")[-1].split("\n\n")[0]
    assert "of the release notes of Kueue 0.20.1 to 0.20.7 only" in run("dev", "--kueue", "0.20.7").stdout
    assert "of the release notes of Kueue 0.19.9 only" in run("dev", "--kueue", "0.19.8..0.19.9").stdout
    assert "release notes" not in run("dev", "--kueue", "0.19.2..0.19.7").stdout


def test_a_stack_of_an_existing_cluster_and_kueue_is_told_who_upgrades_them() -> None:
    existing = "stacks/examples/existing-gke.yaml"
    gke = run(existing, "--gke", "1.36").stdout
    assert "existing-gke: GKE is upgraded from 1.35 to 1.36" in gke
    assert gke.index("Upgrade GKE with what manages it") < gke.index('cluster: {version: "1.36"}')
    kueue = run(existing, "--kueue", "0.19.2..0.20.7").stdout
    assert "Upgrade Kueue with what manages it: this stack does not" in kueue
    assert "kueue: {version" not in kueue


def test_every_cluster_of_a_fleet_with_workers_is_upgraded() -> None:
    result = run("stacks/examples/multikueue.yaml", "--gke", "1.34..1.36")
    assert "GKE of the manager, worker central and worker east is upgraded from 1.34 to 1.36" in result.stdout
    assert 'workers: {east: {cluster: {version: "1.36"}}}' in result.stdout
    assert result.stdout.count("in the manager, worker central and worker east: ") == 4


def test_each_component_has_its_own_direction() -> None:
    """GKE goes back while Kueue goes on: what Kueue changes is not taken back."""
    text = run("dev", "--gke", "1.36..1.35", "--kueue", "0.20.0").stdout
    assert (
        "GKE is DOWNGRADED from 1.36 to 1.35; Kueue is upgraded from 0.19.2 to 0.20.0; of 10 required actions" in text
    )
    assert "#15206" in text.split("\nApplies\n")[1].split("\n\n")[0]
    assert "#136399" not in text.split("\nApplies\n")[1].split("\n\n")[0]
    back = run("dev", "--gke", "1.35..1.36", "--kueue", "0.19.2..0.18.8").stdout
    assert "Kueue is DOWNGRADED from 0.19.2 to 0.18.8" in back
    assert "changes of newer releases are taken back" in back
    assert "of 3 changes of Kubernetes" in back


def test_operators_that_kueue_is_built_with_are_told_with_what_turns() -> None:
    """Of those whose kinds the stack queues: KubeRay 1.7 has RayServiceIncrementalUpgrade on."""
    text = run("dev", "--kueue", "0.19.2..0.20.0").stdout
    assert "KubeRay 1.7.0 (1.6.2 before), which Berth does not install" in text
    assert "on by default: RayServiceIncrementalUpgrade" in text
    assert "LeaderWorkerSet 0.10.0 (0.9.0 before)" in text
    assert "What Kueue is built with" not in run("dev", "--kueue", "0.19.1..0.19.2").stdout
    queued = run("stacks/examples/multikueue.yaml", "--kueue", "0.19.2..0.20.0").stdout
    assert "KubeRay" not in queued


def test_a_stack_that_the_new_release_refuses_breaks(tmp_path: Path) -> None:
    """The faults are those of `berth check` with the new version."""
    text = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    stack = tmp_path / "Pulumi.off.yaml"
    stack.write_text(text + "    kueue: {featureGates: {AdmissionFairSharing: false}}\n", encoding="utf-8")
    result = run(str(stack), "--kueue", "0.20.0")
    assert result.exit_code == 3, result.output
    assert "usage of admission fair sharing counts from the reservation" in result.stdout
    assert "[gate-needs-gate]" in result.stdout
    assert "BREAK what runs" in result.stdout
    assert run(str(stack), "--kueue", "0.19.1").exit_code == 0


def test_jobs_that_must_change_are_named_with_their_line(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.yaml"
    jobs.write_text(
        "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: llm}\nspec: {upgradeStrategy: {type: NewCluster}}\n"
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: other, namespace: elsewhere}\n",
        encoding="utf-8",
    )
    result = run("dev", "--kueue", "0.20.6", "--jobs", str(jobs))
    assert result.exit_code == 3
    assert "Jobs that must change" in result.stdout
    assert f"RayService llm ({jobs}:2)" in result.stdout
    assert "Read: 1 object of" in result.stdout
    assert "1 object of other namespaces left out" in result.stdout


def test_markdown_has_the_same_parts() -> None:
    text, markdown = (run("dev", "--kueue", "0.20.0", "--format", each).stdout for each in ("text", "markdown"))
    assert markdown.startswith("### dev: Kueue is upgraded from 0.19.2 to 0.20.0; of 10 required actions")
    for part in ("May apply: look", "Defaults that turn", "Known holes", "Steps"):
        assert part in text
        assert part in markdown


def test_an_unknown_release_is_unknown_and_exits_0() -> None:
    result = run("dev", "--kueue", "0.25.0")
    assert result.exit_code == 0
    assert "what it changes is UNKNOWN" in result.stdout.splitlines()[0]
    assert "no table has Kueue 0.25.0" in result.stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["dev"], 2, "write --kueue, --jobset or --gke with the new version"),
        (["dev", "--kueue", "latest"], 2, "'latest' is not a release such as 0.19.2; write its three numbers"),
        (["dev", "--kueue", "v0.20.0"], 2, "'v0.20.0' is not a release such as 0.19.2; write 0.20.0"),
        (["dev", "--kueue", "0.20"], 2, "'0.20' is not a release such as 0.19.2"),
        (["dev", "--kueue", "0.18.0..x"], 2, "'x' is not a release"),
        (["dev", "--kueue", "..0.20.0"], 2, "'' is not a release"),
        (["dev", "--gke", "36"], 2, "'36' is not a GKE version such as 1.34"),
        (["dev", "--gke", "1.36"], 2, "the stack follows its release channel, so the version that runs is not in it"),
        (["dev", "--kueue", "0.19.2"], 1, "dev has Kueue 0.19.2 already"),
        (["dev", "--kueue", "0.20.0", "--jobs", "no.yaml"], 1, "no.yaml"),
        (["stacks/examples/existing-gke.yaml", "--kueue", "0.20.0"], 2, "does not install Kueue"),
        (["stacks/examples/ack-fleet.yaml", "--kueue", "0.20.0"], 1, "ACK"),
        (["dev", "--kueue", "0.14.0"], 3, "write 0.15.0 or later"),
        (["dev", "--kueue", "0.14.0..0.19.2"], 0, "Faults of the stack file with the old versions"),
        (["dev", "--jobset", "0.7.0"], 3, "write 0.8.0 or later"),
        (["nowhere", "--kueue", "0.20.0"], 1, "no stack 'nowhere'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_says_what_to_write(words: list[str], code: int, message: str) -> None:
    result = run(*words)
    assert result.exit_code == code, result.output
    assert message in " ".join(result.output.replace("│", " ").split())
    assert "Traceback" not in result.output


def test_gates_of_jobset_turn_too_or_are_unknown() -> None:
    """Of 0.12.0 a tag tells them; of 0.13.0 no tag does, which is said."""
    text = run("dev", "--jobset", "0.11.1..0.12.0").stdout
    assert "Defaults that turn\n  new, and on: JobSet's TLSOptions\n" in text
    unknown = run("dev", "--jobset", "0.12.0..0.13.0").stdout
    assert "no tag tells the feature gates of JobSet 0.13.0: which of them are on is unknown" in unknown
