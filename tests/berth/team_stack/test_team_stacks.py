"""A team's own stack: what is refused, what is deployed onto which platform, and what that takes."""

from __future__ import annotations

import copy
import gc
import json
import pathlib
import shutil
from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from typer.testing import CliRunner

from berth import outputs as exports
from berth.cli import app
from berth.cli.plan import team_stack
from berth.cli.preview import tree as preview
from berth.document.text import render_text
from berth.engine import Preview, ProgramError, RecordedResource, run_program
from berth.evaluate import evaluate_config, evaluate_stack
from berth.overview.team_stack import team_stack_document
from berth.plan.team_stack import TeamStackPlan
from berth.yaml_loader import LOADER
from tests.berth.bad_input import cases as fleets
from tests.engine import both_modes
from tests.problem_lines import line_without_code, without_codes
from tests.stack_files import GOLDEN, ROOT, TEAM_STACKS, assert_golden, evaluation, every_team_stack, plan, rendered

HERE = pathlib.Path(__file__).parent / "cases"
CASES = {case.claim: case for case in fleets.parsed((HERE / "cases.txt").read_text(encoding="utf-8"))}
PLATFORM = "organization/berth/batch-platform"


def team_plan(stack: str) -> TeamStackPlan:
    result = evaluation(stack)
    assert [line_without_code(problem) for problem in result.problems] == []
    assert isinstance(result.plan, TeamStackPlan)
    return result.plan


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A project with a platform and two stacks of its teams, in which one stands."""
    fleet = fleets.edited(fleets.Case("", (), ()))
    fleet["Pulumi.bad.yaml"] = fleet["Pulumi.bad.yaml"].replace(
        "roles/artifactregistry.reader]", "roles/artifactregistry.reader], secrets: {hf: hf-token}"
    )
    # Otherwise there would be a warning: on the host network, pods do not have the rights of their team.
    account = "serviceAccount: slice-nodes@acme-ml-dev.iam.gserviceaccount.com"
    fleet["Pulumi.bad.yaml"] = fleet["Pulumi.bad.yaml"].replace("slices: 3, zone", f"slices: 3, {account}, zone")
    mine = (HERE / "base.yaml").read_text(encoding="utf-8")
    fleets.write(tmp_path, fleet | {"Pulumi.mine.yaml": mine, "Pulumi.other.yaml": mine})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(folder: pathlib.Path, case: fleets.Case) -> None:
    files = [folder / "Pulumi.mine.yaml", folder / "Pulumi.bad.yaml"]
    for old, new in case.edits:
        (file,) = (file for file in files if file.read_text(encoding="utf-8").count(old) == 1)
        file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def run(*words: str) -> list[str]:
    result = CliRunner().invoke(app, list(words))
    assert "Traceback" not in result.output
    return without_codes(result.output).splitlines()


def test_the_base_stack_of_the_cases_has_no_faults(folder: pathlib.Path) -> None:
    assert run("check", "mine") == ["mine: no errors"]


@pytest.mark.parametrize("claim", CASES)
def test_each_fault_of_a_team_stack_is_one_line(folder: pathlib.Path, claim: str) -> None:
    """All faults at once, each with its place, the wrong value and a remedy."""
    edit(folder, CASES[claim])
    *lines, total = run("check", "mine")
    assert lines == sorted(CASES[claim].lines, key=lambda line: ": warning: " in line)
    assert total.startswith("mine: ")


@pytest.mark.parametrize(
    "words", ["lint STACK x.yaml", "workload STACK vision train", "rotate STACK v5e", "drain STACK"]
)
def test_a_verb_about_fleets_asks_for_the_platform(folder: pathlib.Path, words: str) -> None:
    assert run(*words.replace("STACK", "mine").split()) == [
        "this is a team's own stack, but the command needs a fleet; write the stack of its platform"
    ]


def test_values_from_the_engine_are_read_like_the_file(folder: pathlib.Path) -> None:
    value = yaml.load((folder / "Pulumi.mine.yaml").read_text(), LOADER)["config"]["berth:team"]
    handed_over, read = evaluate_config("mine", None, folder, value), evaluate_stack("mine", folder)
    assert (handed_over.plan, handed_over.problems, read.problems) == (read.plan, (), ())


def test_files_do_not_reach_the_pods_of_a_platform_with_workers(tmp_path: pathlib.Path) -> None:
    """MultiKueue copies the job and nothing that it refers to."""
    shutil.copy(TEAM_STACKS["team-a"].parent / "multikueue.yaml", tmp_path / "Pulumi.bad.yaml")
    (tmp_path / "stacks" / "teams").mkdir(parents=True)
    shutil.copy(ROOT / "stacks" / "teams" / "trainers.yaml", tmp_path / "stacks" / "teams")
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    mine = (HERE / "base.yaml").read_text(encoding="utf-8").partition("    secrets:")[0]
    work = "    workloads: {trainer: {queue: train, image: trainer:1, config: [trainer]}}\n"
    (tmp_path / "Pulumi.mine.yaml").write_text(mine + work, encoding="utf-8")
    assert [line_without_code(problem) for problem in evaluate_stack("mine", tmp_path).faults] == [
        "Pulumi.mine.yaml:8: config.trainer: is not available on workers, where the jobs run, so their pods "
        "would never start; remove it, and put the values into the image or the job's environment"
    ]


# --- examples ---------------------------------------------------------------------------------------------------------


def ran(stack: str, preview_: bool = True, live: dict[str, Any] | None = None) -> Preview:
    """The whole program, on a platform that exports `live`."""
    result = evaluation(stack)
    assert result.file is not None
    config = dict(result.file.config)
    outputs = live or exports.placeholder_outputs(plan("batch-platform"))
    references = {PLATFORM: (outputs, {"kubeconfig"} & outputs.keys())}
    return run_program(
        ROOT, stack, config.pop("berth:team"), config, preview=preview_, config_key="berth:team", references=references
    )


def objects(result: Preview) -> list[RecordedResource]:
    return [one for one in result.resources if one.type.startswith("kubernetes:")]


def test_there_is_an_example() -> None:
    assert "team-a" in TEAM_STACKS


@every_team_stack
def test_golden_of_a_team_stack(stack: str) -> None:
    """What is rendered, what is previewed, and what `berth plan` says, as goldens to be read."""
    assert team_plan(stack).workloads
    assert_golden(rendered(stack), GOLDEN / stack / "manifests.yaml")
    assert_golden(render_text(team_stack_document(evaluation(stack))) + "\n", GOLDEN / stack / "plan.txt")
    assert_golden(
        preview.tree(preview.run_stack_program(evaluation(stack), ROOT), inputs=False, colour=False) + "\n",
        GOLDEN / stack / "tree.txt",
    )


@every_team_stack
@both_modes
def test_deployed_manifests_equal_rendered_ones(stack: str, preview: bool) -> None:
    """In a first preview too: what the platform exports is known then."""
    made = [one.inputs for one in objects(ran(stack, preview))]
    wanted = list(yaml.load_all(rendered(stack), LOADER))
    for manifest in wanted:
        if manifest["kind"] not in ("ConfigMap", "SecretProviderClass"):
            manifest["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
    assert in_order(made) == in_order(wanted)


def in_order(manifests: Sequence[object]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in manifests)


@every_team_stack
def test_workloads_come_after_what_their_pods_read_and_everything_after_the_platform(stack: str) -> None:
    result = ran(stack)
    files = {one.urn for one in objects(result) if one.name.startswith("files-")}
    (provider,) = (one for one in result.resources if one.type == "pulumi:providers:kubernetes")
    (platform,) = (one for one in result.resources if one.type == "pulumi:pulumi:StackReference")
    assert platform.urn in provider.dependencies
    first = [one for one in objects(result) if one.name in ("evaluation-job", "sweep-service")]
    assert first
    assert all(files <= set(one.dependencies) for one in first)
    assert {one.provider for one in objects(result)} == {provider.urn}


@every_team_stack
def test_the_kubeconfig_is_a_secret_and_is_exported_nowhere(stack: str) -> None:
    result = ran(stack)
    (provider,) = (one for one in result.resources if one.type == "pulumi:providers:kubernetes")
    assert provider.inputs["kubeconfig"] == "[secret]"
    assert "kubeconfig" not in result.exports


def live() -> dict[str, Any]:
    return copy.deepcopy(exports.placeholder_outputs(plan("batch-platform")))


def older(result: dict[str, Any]) -> None:
    result["fleet"]["version"] = 1


def unversioned(result: dict[str, Any]) -> None:
    del result["fleet"]


def without_kubeconfig(result: dict[str, Any]) -> None:
    del result["kubeconfig"]


def empty_kubeconfig(result: dict[str, Any]) -> None:
    """The provider would then use the client's own, of whichever cluster."""
    result["kubeconfig"] = ""


def other_text(result: dict[str, Any]) -> None:
    result["kubeconfig"] = "https://cluster.example"


def without_team(result: dict[str, Any]) -> None:
    del result["fleet"]["teams"]["team-a"]


def without_queue(result: dict[str, Any]) -> None:
    result["fleet"]["teams"]["team-a"]["queues"].remove("lq-team-a-lp")


def elsewhere(values: dict[str, Any]) -> None:
    values["fleet"]["teams"]["team-a"]["namespaces"] = ["vision"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (older, "exports version 1 of its outputs for teams, but this Berth needs version 2; update the platform"),
        (unversioned, "exports no outputs for teams, but this Berth needs version 2"),
        (without_team, "was deployed without team 'team-a'; update it first"),
        (without_queue, "was deployed without queue 'lq-team-a-lp' of team 'team-a'; update it first"),
        (without_kubeconfig, "has no output 'kubeconfig'; run pulumi up on it first"),
        (
            empty_kubeconfig,
            "the kubeconfig of stack 'organization/berth/batch-platform' is empty",
        ),
        (
            other_text,
            "the kubeconfig of stack 'organization/berth/batch-platform' has no clusters",
        ),
        (elsewhere, "was deployed without namespace 'team-a' of team 'team-a'; update it first"),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine 'Output")
def test_an_outdated_platform_stops_the_update(change: Any, words: str) -> None:
    """The plan is made from files; what was deployed may be older than they are."""
    result = live()
    change(result)
    with pytest.raises(ProgramError, match=r"stack '[a-z/]*batch-platform'") as stopped:
        ran("team-a", live=result)
    assert words in str(stopped.value)
    gc.collect(1)  # outputs that nobody waits for any more, here and not in the test after; they are young


@pytest.mark.filterwarnings("ignore:coroutine 'Output")
def test_an_unknown_stack_reference_is_reported() -> None:
    config = {"pulumi:disable-default-providers": ["*"]}
    value = yaml.load(TEAM_STACKS["team-a"].read_text(), LOADER)["config"]["berth:team"]
    with pytest.raises(ProgramError, match="unknown stack 'organization/berth/batch-platform'"):
        run_program(ROOT, "team-a", value, config, config_key="berth:team")
    gc.collect(1)


def test_the_platform_exports_exactly_what_teams_need() -> None:
    """Plain data: what goes through JSON and back unchanged; version and shape go together."""
    result = exports.platform_output(plan("batch-platform"), "c")
    assert json.loads(json.dumps(result)) == result
    assert result["version"] == 2
    assert result.keys() == {"version", "cluster", "project", "region", "teams"}
    assert result["teams"]["team-a"] == {
        "namespaces": ["team-a"],
        "serviceAccount": "team-a-ksa",
        "queues": ["dws-local-queue", "lq-team-a-compact", "lq-team-a-hp", "lq-team-a-lp"],
    }


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        ({"cluster": "other"}, "was deployed with cluster 'other', but its stack file has 'gke-batch-refarch'; name"),
        (
            {"project": "acme-other"},
            "was deployed with project 'acme-other', but its stack file has 'my-project'; name",
        ),
        (
            {"region": "europe-west4"},
            "was deployed with region 'europe-west4', but its stack file has 'us-central1'; name",
        ),
        ({"region": None}, "was deployed with region none, but its stack file has 'us-central1'"),
        ({"region": {"a": 1}}, "was deployed with region '{'a': 1}', but its stack file has 'us-central1'"),
        ({"cluster": None}, "was deployed with cluster none, but its stack file has 'gke-batch-refarch'"),
        ({"version": True}, "exports no outputs for teams, but this Berth needs version 2"),
        ({"version": "two"}, "exports no outputs for teams, but this Berth needs version 2"),
        ({"version": [2]}, "exports no outputs for teams, but this Berth needs version 2"),
        ({"teams": None}, "exports no teams that can be read; update the platform with the same Berth first"),
        ({"teams": ["team-a"]}, "exports no teams that can be read; update the platform with the same Berth first"),
        ({"teams": {"team-a": "x"}}, "exports team 'team-a' in another form; update the platform"),
        ({"teams": {"team-a": {"namespaces": 5, "queues": []}}}, "exports team 'team-a' in another form"),
        ({"teams": {"team-a": {"namespaces": ["team-a"], "queues": None}}}, "exports team 'team-a' in another form"),
    ],
)
def test_outputs_of_another_platform_or_form_are_refused_in_one_line(edit: dict[str, Any], words: str) -> None:
    platform = plan("batch-platform")
    good = exports.platform_output(platform, platform.cluster.name)
    assert exports.output_mismatch(good, team_plan("team-a")) is None
    message = exports.output_mismatch({**good, **edit}, team_plan("team-a"))
    assert message is not None
    assert words in message
    assert "\n" not in message


# --- rights -----------------------------------------------------------------------------------------------------------


@every_team_stack
def test_rights_are_listed_for_every_kind_that_is_made(stack: str) -> None:
    result = team_stack.team_plan_as_json(evaluation(stack))
    listed = {(p["apiGroup"], kind) for p in result["permissions"] for kind in p["resources"]}
    plurals = {"ConfigMap": "configmaps", "Job": "jobs", "Service": "services"}
    plurals |= {"SecretProviderClass": "secretproviderclasses"}
    made = {(m["apiVersion"].rpartition("/")[0], plurals[m["kind"]]) for m in yaml.load_all(rendered(stack), LOADER)}
    assert listed == made
    assert all(p["given"] for p in result["permissions"])


def test_a_permission_without_a_group_is_reported(folder: pathlib.Path) -> None:
    """The platform of the cases gives no rights to anybody."""
    output = "\n".join(run("plan", "mine"))
    assert "get, create, patch, delete on configmaps in vision: not granted to any group of the team" in output
    permissions = json.loads("\n".join(run("plan", "mine", "--json")))["permissions"]
    assert permissions
    assert not any(each["given"] for each in permissions)


def test_the_queues_of_a_team_stack_are_the_teams_own() -> None:
    result = team_plan("team-a")
    assert result.queues == ("dws-local-queue", "lq-team-a-compact", "lq-team-a-hp", "lq-team-a-lp")
    assert replace(result, team="team-b") != result
