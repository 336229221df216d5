"""`berth init`: every example yields a stack without faults, and no other file is written."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.evaluate import Evaluation, evaluate_stack
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import ClusterPlan
from berth.plan.team_stack import TeamStackPlan
from tests.problem_lines import without_codes
from tests.stack_files import ACK_STACKS, ALL_STACKS, FLEET_STACKS, ROOT, TEAM_STACKS, evaluation
from tests.test_architecture import WITHOUT_PULUMI

EXISTING = ("local",)
EXISTING_GKE = ("existing-gke",)
NAME_LINE = (
    r"# yaml-language-server: \$schema=docs/|project: acme-ml-prod$|((cluster|existing): \{)?name: prod|"
    r"(identity: \{)?buckets: \{acme-ml-prod-|.*bucket: acme-ml-prod-|.*your-(pod-range|reservation)"
)
CLOSED = "ipEndpoint: false, publicEndpoint: false, "
CLOSING_LINES = ("dnsEndpoint: true", "controlPlane: {publicEndpoint: false, ipEndpoint: false}")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a project with all stack files as the current folder."""
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml", "Pulumi.local.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("teams", "examples"):
        shutil.copytree(ROOT / "stacks" / name, tmp_path / "stacks" / name)
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "stack.schema.json", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*words: str) -> Any:
    """Run the command without a terminal."""
    return CliRunner().invoke(app, ["init", *words], prog_name="berth")


def where(stack: str) -> list[str]:
    """Return the required flags of an example, with the example's own values."""
    result = evaluation(stack)
    if stack in TEAM_STACKS or stack in EXISTING:
        return []
    if isinstance(result.plan, AckFleetPlan):
        return ["--region", result.plan.region]
    if stack in EXISTING_GKE:
        return ["--project", "acme-ml-prod", "--region", "us-central1", "--cluster", "prod"]
    assert result.fleet_plan is not None
    assert result.fleet_plan.region is not None
    return ["--project", "acme-ml-prod", "--region", result.fleet_plan.region]


def made(project: Path, *words: str) -> Evaluation:
    """Return the evaluation of the stack `prod` that the command wrote and reported as without faults."""
    done = init("prod", *words)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    result = evaluate_stack("prod", project)
    warned = len(result.warnings)
    output = f", {warned} warning{'s' if warned > 1 else ''}" if warned else ""
    left = len(done.stdout.partition("write your own values for:\n")[2].splitlines())
    count = f"{left} placeholder{'s' if left > 1 else ''} left" if left else "no errors"
    is_warned = "placeholder" in {each.code for each in result.warnings}
    assert is_warned == bool(
        left - done.stdout.count("  projectNumber: ")
    )  # a number is not recognized as a placeholder
    assert done.stdout.splitlines()[0].endswith(f", {count}{output}. Next:")
    assert [problem.line() for problem in result.faults] == []
    return result


def planned(result: Evaluation) -> FleetPlan | AckFleetPlan:
    """Return the plan, on either cloud."""
    assert isinstance(result.plan, FleetPlan | AckFleetPlan)
    return result.plan


# --- every example ----------------------------------------------------------------------------------------------------


def in_section(lines: list[str], at: int, key: str) -> bool:
    """Whether a line is that of a key of the fleet, or one below it."""
    starts = [index for index, line in enumerate(lines[: at + 1]) if re.match(r" {4}\S", line)]
    return bool(starts) and lines[starts[-1]] == f"    {key}:"


@pytest.mark.parametrize("stack", list(ALL_STACKS))
def test_an_example_is_copied_except_for_names(stack: str, project: Path) -> None:
    """Comments are copied too; only lines with names differ, and those that close an open control plane."""
    result = made(project, "--from", stack, *where(stack))
    old = ALL_STACKS[stack].read_text(encoding="utf-8").splitlines()
    new = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8").splitlines()
    old = [line for at, line in enumerate(old) if not in_section(old, at, "acceptWarnings")]
    if "open-control-plane" in {each.code for each in evaluation(stack).problems}:
        new = [line.replace(CLOSED, "") for line in new if line.strip() not in CLOSING_LINES]
    assert len(old) == len(new)
    changed = [line.strip() for was, line in zip(old, new, strict=True) if was != line]
    for line in changed:
        assert re.match(NAME_LINE, line)
    if result.fleet_plan is not None and stack not in (*EXISTING, *EXISTING_GKE):
        assert (result.fleet_plan.project, result.fleet_plan.cluster.name) == ("acme-ml-prod", "prod")


@pytest.mark.parametrize("stack", list(ALL_STACKS))
def test_no_control_plane_is_open_to_every_address(stack: str, project: Path) -> None:
    """If the example has a DNS endpoint, the file has one and no IP endpoint, and the output names it."""
    was_open = "open-control-plane" in {each.code for each in evaluation(stack).problems}
    done = init("prod", "--from", stack, *where(stack))
    assert done.stdout.count("the control plane has a DNS endpoint that requires IAM") == was_open
    result = evaluate_stack("prod", project)
    assert "open-control-plane" not in {each.code for each in result.warnings}
    if was_open:
        assert result.fleet_plan is not None
        cluster = result.fleet_plan.cluster
        assert isinstance(cluster, ClusterPlan)
        assert cluster.control_plane.dns_endpoint
        assert not cluster.control_plane.ip_endpoint
        assert not cluster.control_plane.public_endpoint


def test_an_example_without_cluster_settings_gets_a_dns_endpoint(project: Path) -> None:
    queues = "{train: {flavors: [{pool: v5e, guaranteed: all}]}}"
    pool = "{machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 3, zone: us-central1-a}"
    (project / "small.yaml").write_text(
        "config:\n  berth:fleet:\n    project: acme-ml\n    region: us-central1\n"
        f"    pools: {{v5e: {pool}}}\n    teams: {{vision: {{queues: {queues}}}}}\n",
        encoding="utf-8",
    )
    result = made(project, "--from", "small.yaml", *GKE)
    assert "open-control-plane" not in {each.code for each in result.warnings}
    text = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert "cluster: {dnsEndpoint: true, controlPlane: {publicEndpoint: false, ipEndpoint: false}}" in text


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("stack", list(FLEET_STACKS))
def test_teams_share_the_guarantees_of_an_example(stack: str, number: int, project: Path) -> None:
    """Shares are equal, what is left belongs to the cohort, and each team can reach all of it. On ACK, where a cohort
    has no quota, the first teams get what is left."""
    names = [f"team-{letter}" for letter in "vwxyz"[:number]]
    fleet_plan = planned(made(project, "--from", stack, *where(stack), *(w for n in names for w in ("--team", n))))
    assert [team.name for team in fleet_plan.teams] == sorted(names)
    before = {f.name: min(f.promised, f.capacity.max) for f in planned(evaluation(stack)).flavors if f.promised}
    for flavor, whole in before.items():
        shares = [team.guaranteed.get(flavor, 0) for team in fleet_plan.teams]
        (unit, promised) = next((f.unit, f.promised) for f in fleet_plan.flavors if f.name == flavor)
        assert promised == whole, flavor
        assert all(share % unit == 0 for share in shares), "only whole slices run anything"
        assert max(shares) - min(shares) <= (8 if stack in ACK_STACKS else 0), (
            "no more than a node apart, and only on ACK"
        )
        if stack != "batch-platform":  # there a queue that did not borrow still does not, if nothing is left over
            assert {team.ceiling[flavor] for team in fleet_plan.teams} == {whole}


@pytest.mark.parametrize("stack", ["dev", "gb200", "hpc", "ironwood"])
def test_a_team_without_groups_is_shown_where_they_are_written(stack: str, project: Path) -> None:
    """A team that keeps the groups of the example needs no such line."""
    made(project, "--from", stack, *where(stack), "--team", "team-v", "--team", "team-w")
    text = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    teams = yaml.safe_load(text)["config"]["berth:fleet"]["teams"]
    for name in ("team-v", "team-w"):
        assert (f"# groups: [{name}@example.com]" in text) != ("groups" in teams[name]), name


@pytest.mark.parametrize("number", [1, 2, 5])
def test_new_teams_of_the_batch_platform_have_its_queue_roles(number: int, project: Path) -> None:
    """Each has hp, lp and compact with the settings of the example, and all share its dws queue."""
    names = [f"team-{letter}" for letter in "vwxyz"[:number]]
    plan = made(project, "--from", "batch-platform", *GKE, *(w for n in names for w in ("--team", n))).fleet_plan
    example = evaluation("batch-platform").fleet_plan
    assert plan is not None
    assert example is not None
    roles = {
        queue.name.removeprefix("cq-team-a-"): queue for queue in example.cluster_queues if "team-a" in queue.teams
    }
    for name in names:
        own = {q.name.removeprefix(f"cq-{name}-"): q for q in plan.cluster_queues if q.teams == (name,) and q.cohort}
        assert sorted(own) == ["compact", "hp", "lp"]
        for role, queue in own.items():
            was = roles[role]
            assert [each.flavor for each in queue.flavors] == [each.flavor for each in was.flavors]
            assert (queue.preemption, queue.queueing_strategy) == (was.preemption, was.queueing_strategy)
            assert queue.cohort == "all"
    (shared,) = (queue for queue in plan.cluster_queues if queue.name == "dws-cluster-queue")
    assert sorted(shared.teams) == names
    text = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert text.count("teamDefaults:") == 1
    # The first two of the example have a secret, which the new ones in their places keep.
    secret = "\n        identity:\n          secrets: {hf-token: hf-secret}"
    entries = [f"      {name}:{secret if at < 2 else ' {}'}" for at, name in enumerate(names)]
    assert text.rstrip().endswith("teams:\n" + "\n".join(entries))


def test_five_teams_of_the_batch_platform_get_a_note_about_uneven_shares(project: Path) -> None:
    done = init("prod", "--from", "batch-platform", *GKE, *(w for n in "vwxyz" for w in ("--team", f"team-{n}")))
    borrowing, cohort = "; every team can borrow the", "from the cohort 'all'"
    assert done.stdout.splitlines()[4:-2] == [
        f"gpu-l4-reserved: 5 teams cannot share 8 L4 equally, so each is guaranteed nothing{borrowing} 8 L4 {cohort}",
        "gpu-l4-ondemand: 5 teams cannot share 16 L4 equally, so each is guaranteed 2 L4"
        f"{borrowing} remaining 6 L4 {cohort}",
        "gpu-l4-spot: 5 teams cannot share 48 L4 equally, so each is guaranteed 8 L4"
        f"{borrowing} remaining 8 L4 {cohort}",
        "gpu-a100-compact-spot: 5 teams cannot share 8 A100 40GB equally, so each is guaranteed 1 A100 40GB"
        f"{borrowing} remaining 3 A100 40GB {cohort}",
    ]


def test_reserved_machines_are_preferred_in_the_order_of_the_file(project: Path) -> None:
    made(project, "--from", "dev", *where("dev"), "--team", "vision")
    text = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert re.findall(r"- \{pool: ([\w-]+)", text) == ["l4-reserved", "l4-on-demand", "l4-spot"]
    assert "teamFiles" not in text


def test_a_written_file_can_be_the_example(project: Path) -> None:
    """`--from` accepts the name of a stack."""
    made(project, "--from", "quota-tree", *where("quota-tree"), "--team", "vision", "--team", "speech")
    first = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert init("test", "--from", "prod", *where("quota-tree")).exit_code == 0
    assert (project / "Pulumi.test.yaml").read_text(encoding="utf-8") == first.replace("name: prod", "name: test")


# --- flags ------------------------------------------------------------------------------------------------------------


def accepting_zones(project: Path, example: str) -> str:
    """Write an example that accepts its machines in every zone, and return the file's name."""
    text = ALL_STACKS[example].read_text(encoding="utf-8")
    (project / "own.yaml").write_text(text.replace("machineType:", "acceptZone: true, machineType:"), encoding="utf-8")
    return "own.yaml"


def test_another_region_takes_other_zones(project: Path) -> None:
    """One zone replaces all of the example's, or each is replaced by its own; a list has no duplicates."""
    west = ["--project", "acme-ml-prod", "--region", "us-west4"]
    example = accepting_zones(project, "reservations")
    result = made(project, "--from", example, *west, "--zone", "us-west4-a")
    assert result.fleet_plan is not None
    assert result.fleet_plan.region == "us-west4"
    text = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert "zones: [us-west4-a]" in text and "us-central1" not in text
    zones = ["us-west4-a", "us-west4-b", "us-west4-c"]
    assert init("three", "--from", example, *west, *(w for z in zones for w in ("--zone", z))).exit_code == 0
    text = (project / "Pulumi.three.yaml").read_text(encoding="utf-8")
    assert f"zones: [{', '.join(zones)}]" in text
    assert "zone: us-west4-a, count: 16" in text and "zone: us-west4-b, count: 2" in text


def test_workers_keep_their_own_regions(project: Path) -> None:
    words = ["--project", "acme-ml-prod", "--region", "us-west4", "--zone", "us-west4-a"]
    result = made(project, "--from", accepting_zones(project, "multikueue"), *words)
    assert result.fleet_plan is not None
    assert {worker.name: worker.plan.region for worker in result.fleet_plan.workers} == {
        "central": "us-west4",
        "east": "us-east5",
    }


def test_an_existing_cluster_takes_a_context(project: Path) -> None:
    result = made(project, "--from", "local", "--context", "kind: other", "--team", "vision")
    assert result.fleet_plan is not None
    assert getattr(result.fleet_plan.cluster, "context", None) == "kind: other"


def test_an_existing_gke_cluster_takes_its_name_project_and_place(project: Path) -> None:
    """A zonal cluster has its pools in its zone."""
    place = ["--project", "acme-ml-prod", "--region", "us-west4-a", "--zone", "us-west4-a", "--cluster", "prod"]
    done = init("prod", "--from", "existing-gke", *place[2:])
    assert (done.exit_code, "existing-gke.yaml also needs --project" in done.stderr) == (2, True)
    init("prod", "--from", "existing-gke", *place)
    text = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert "existing: {name: prod, location: us-west4-a, project: acme-ml-prod}" in text
    assert "us-central1" not in text


def test_a_teams_own_stack_takes_its_platform_and_its_team(project: Path) -> None:
    made(project, "--from", "batch-platform", *where("batch-platform"))
    assert init("prod-b", "--from", "team-a", "--platform", "prod", "--team", "team-b").exit_code == 0
    result = evaluate_stack("prod-b", project)
    assert result.faults == ()
    assert isinstance(result.plan, TeamStackPlan)
    assert (result.plan.platform, result.plan.team) == ("prod", "team-b")


def test_any_indentation_of_a_fleet_is_read(project: Path) -> None:
    """Quotes and comments around a replaced value are handled."""
    lines = (
        (project / MULTISLICE).read_text(encoding="utf-8").replace("project: my-project", "project: 'my-project' # x")
    )
    wider = re.sub(r"^( +)", lambda result: result[1] * 2, lines, flags=re.MULTILINE)
    (project / "Pulumi.wide.yaml").write_text(wider, encoding="utf-8")
    made(project, "--from", "wide", *GKE, "--team", "vision", "--team", "speech")
    text = (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert "\n        project: acme-ml-prod # x\n" in text and "\n        teams:\n          vision:\n" in text


def test_a_path_can_be_the_example_and_the_default_is_multislice(project: Path) -> None:
    assert init("a", "--from", "stacks/examples/multislice.yaml", *where("multislice")).exit_code == 0
    assert init("b", *where("multislice")).exit_code == 0
    one, other = ((project / f"Pulumi.{name}.yaml").read_text(encoding="utf-8") for name in "ab")
    assert one.replace("name: a\n", "name: b\n") == other


def test_another_project_has_the_examples_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project without Berth's files uses Berth's examples, and no line names a missing schema."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    made(folder, *where("multislice"), "--team", "vision")
    text = (folder / "Pulumi.prod.yaml").read_text(encoding="utf-8")
    assert text.startswith("# From stacks/examples/multislice.yaml, with teams of its own.\nconfig:\n")


# --- what is refused --------------------------------------------------------------------------------------------------

GKE = ["--project", "acme-ml-prod", "--region", "us-central1"]
MULTISLICE = "stacks/examples/multislice.yaml"
NAME = "a cluster name: lower-case letters, digits and '-', starting with a letter, at most 40 characters"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], [f"{MULTISLICE} also needs --project, --region and --zone"]),
        (["--project", "acme-ml-prod", "--zone", "us-east5-a"], [f"{MULTISLICE} also needs --region"]),
        (["--project", "acme-ml-prod", "--region", "us-east5"], [f"{MULTISLICE} also needs --zone"]),
        (["--from", "ack-fleet"], ["stacks/examples/ack-fleet.yaml also needs --region"]),
        (
            ["--project", "Acme", "--region", "mars", "--team", "My Team", "--team", "a", "--team", "a"],
            [
                "--project: 'Acme' is not a project ID: 6 to 30 lower-case letters, digits and '-'",
                "--region: 'mars' is not a region such as us-central1",
                "--team: 'My Team' is not a DNS label: lower-case letters, digits and '-', at most 63 characters",
                "--team: 'a' is named twice",
                f"{MULTISLICE} also needs --zone",
            ],
        ),
        (
            [*GKE, "--zone", "a", "--zone", "us-central1-b", "--context", "kind", "--platform", "dev"],
            [
                f"--context: {MULTISLICE} has no such setting",
                f"--platform: {MULTISLICE} has no such setting",
                "--zone: 2 values, but at most 1 are accepted",
                "--zone: 'a' is not a zone such as us-central1-a",
            ],
        ),
        (
            ["--from", "ack-fleet", "--region", "us-central1", "--project", "acme-ml-prod"],
            [
                "--project: stacks/examples/ack-fleet.yaml has no such setting",
                "--region: 'us-central1' is not a region such as cn-hangzhou",
            ],
        ),
        (
            ["--from", "local", "--region", "us-central1", "--context", " "],
            ["--region: Pulumi.local.yaml has no such setting", "--context: is empty"],
        ),
        (["--from", "team-a", "--team", "a", "--team", "b"], ["--team: 2 values, but at most 1 are accepted"]),
        (
            ["--from", "multislice-autopilot", *GKE, "--zone", "us-central1-a"],
            ["--zone: stacks/examples/multislice-autopilot.yaml has no such setting"],
        ),
    ],
)
def test_all_wrong_arguments_are_reported_together(words: list[str], text: list[str], project: Path) -> None:
    before = sorted(project.rglob("*"))
    done = init("prod", *words)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == f"Error: Invalid value: {'; '.join(text)}"
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize("name", ["My_Dev", "../prod", "a" * 41, "-a", "1st", ""])
def test_a_bad_name_is_refused(name: str, project: Path) -> None:
    before = sorted([*project.rglob("*"), *project.parent.glob("*")])
    done = init(*GKE, "--", name)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == f"Error: Invalid value: NAME: '{name}' is not {NAME}"
    assert sorted([*project.rglob("*"), *project.parent.glob("*")]) == before


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (
            ["--from", "multislic", *GKE],
            "no example and no stack 'multislic'; did you mean 'multislice'?\n",
        ),
        (["--from", "broken", *GKE], "Pulumi.broken.yaml:6: region: is missing; write region: us-central1\n"),
        (
            ["--from", "team-a", "--team", "vision"],
            "Pulumi.prod.yaml is not written, because it would have faults:\nteam: the platform "
            "'batch-platform' has no team 'vision'; write one of 'team-a', 'team-b', 'team-c' and 'team-d'\n",
        ),
        (
            ["--from", "secretive", *GKE],
            "Pulumi.secretive.yaml: has encrypted values, which only its own stack can decrypt; "
            "choose another example\n",
        ),
        (
            ["--from", "more", *GKE, "--team", "vision"],
            "Pulumi.more.yaml: another key follows berth:fleet, where teams go; move that key above it\n",
        ),
        (
            ["--from", "json", *GKE],
            "Pulumi.json.yaml has YAML that berth init cannot edit; copy the file, and edit the copy\n",
        ),
    ],
)
def test_an_unusable_example_is_reported(words: list[str], output: str, project: Path) -> None:
    text = (project / MULTISLICE).read_text(encoding="utf-8")
    (project / "Pulumi.broken.yaml").write_text(text.replace("    region: us-central1\n", ""), encoding="utf-8")
    (project / "Pulumi.secretive.yaml").write_text(f"{text}  berth:token: {{secure: v1:abc}}\n", encoding="utf-8")
    (project / "Pulumi.more.yaml").write_text(f"{text}  gcp:project: acme\n", encoding="utf-8")
    (project / "Pulumi.json.yaml").write_text(json.dumps(yaml.safe_load(text)), encoding="utf-8")
    done = init("prod", *words)
    assert (done.exit_code, done.stdout, without_codes(done.stderr)) == (1, "", output)
    assert not (project / "Pulumi.prod.yaml").exists()


def test_nothing_is_overwritten(project: Path) -> None:
    before = (project / "Pulumi.dev.yaml").read_bytes()
    done = init("dev", *GKE)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "Pulumi.dev.yaml exists and is not overwritten; choose another name, or edit the file\n"
    assert (project / "Pulumi.dev.yaml").read_bytes() == before


def test_nothing_is_written_outside_a_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "Pulumi.yaml").unlink()
    monkeypatch.chdir(project)
    done = init("prod", *GKE)
    assert (done.exit_code, done.stderr) == (
        1,
        "no Pulumi.yaml here or in a directory above; change to the directory of the project\n",
    )
    assert not (project / "Pulumi.prod.yaml").exists() and not (ROOT / "Pulumi.prod.yaml").exists()


def test_encryption_keys_of_the_example_are_not_copied(project: Path) -> None:
    text = (project / MULTISLICE).read_text(encoding="utf-8")
    (project / "Pulumi.old.yaml").write_text(f"encryptionsalt: v1:abc\n{text}", encoding="utf-8")
    made(project, "--from", "old", *GKE)
    assert "encryptionsalt" not in (project / "Pulumi.prod.yaml").read_text(encoding="utf-8")


# --- on a terminal ----------------------------------------------------------------------------------------------------


def test_a_terminal_prompts_for_missing_values(project: Path) -> None:
    """An invalid answer is asked again; an empty one keeps the example's value. Pulumi is not imported."""
    command = [sys.executable, "-c", WITHOUT_PULUMI, "init", "prod", "--region", "us-east5"]
    answers = ["", "Acme", "acme-ml-prod", "us-east5-b us-east5-c", "us-east1-b", "us-east5-b", "vision, speech", ""]
    ours, theirs = pty.openpty()
    try:
        os.write(ours, "".join(f"{answer}\n" for answer in answers).encode())
        done = subprocess.run(
            command,
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0, done.stderr
    output = done.stderr.split("Google Cloud project:")
    assert [part.strip() for part in output[:3]] == [
        "",
        "a value is required",
        "'Acme' is not a project ID: 6 to 30 lower-case letters, digits and '-'",
    ]
    output = output[3].split("Zones, separated by commas or spaces, to replace us-central1-a:")
    assert [part.strip() for part in output] == [
        "",
        "2 values, but at most 1 are accepted",
        "'us-east1-b' is not in us-east5",
        "Teams, separated by commas or spaces (empty: the example's):Number of the project acme-ml-prod (empty: keep "
        "123456789012):",
    ]
    result = evaluate_stack("prod", project)
    assert result.fleet_plan is not None
    assert (result.fleet_plan.project, result.fleet_plan.region) == ("acme-ml-prod", "us-east5")
    assert [team.name for team in result.fleet_plan.teams] == ["speech", "vision"]


def test_the_suggested_next_commands_work(project: Path) -> None:
    done = init("prod", *GKE, "--team", "vision")
    commands = re.findall(r"^  berth (\w+ prod) +# ", done.stdout, flags=re.MULTILINE)
    assert commands == ["plan prod", "preview prod"]
    for command in commands[:1]:
        assert CliRunner().invoke(app, command.split()).exit_code == 0


def test_git_ignores_copied_examples_but_not_new_stacks() -> None:
    ignored = [line for line in (ROOT / ".gitignore").read_text().splitlines() if line.startswith("/Pulumi.")]
    assert sorted(ignored) == sorted(f"/Pulumi.{file.stem}.yaml" for file in ROOT.glob("stacks/examples/*.yaml"))


def test_five_teams_on_three_slices_have_equal_shares_and_a_reason_for_no_guarantee(
    project: Path,
) -> None:
    done = init("prod", "--from", "multislice", *GKE, *(word for team in "abcde" for word in ("--team", team)))
    assert done.stdout.splitlines()[4] == (
        "vlp-24: 5 teams cannot share 3 slices equally, so each is guaranteed nothing; every team can borrow the 3 "
        "slices from the cohort 'all'"
    )
    result = evaluate_stack("prod", project).fleet_plan
    assert result is not None
    shares = [(team.guaranteed.get("vlp-24", 0), team.ceiling["vlp-24"]) for team in result.teams]
    assert shares == [(0, 24)] * 5


def test_an_unknown_example_name_lists_the_examples(project: Path) -> None:
    done = init("prod", "--from", "nosuch", *GKE)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith("no example and no stack 'nosuch'; examples: ack-fleet, ack-gang, batch-platform, ")
    assert done.stderr.endswith("; stacks: dev, local\n")
