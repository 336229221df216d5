"""Existing workers: by another stack's output, by a secret kubeconfig, by a ClusterProfile."""

from __future__ import annotations

import gc
import json
import pathlib
from functools import cache
from typing import Any

import pulumi
import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.engine import Preview, ProgramError, RecordedResource, run_program
from berth.evaluate import evaluate_stack
from stacks.kubeconfigs import kubeconfig_server
from tests.engine import both_modes, is_consistent
from tests.stack_files import ROOT

FILE = pathlib.Path(__file__).parent / "workers" / "elsewhere.yaml"
KEY, PLATFORM = "berth:lab-kubeconfig", "organization/berth/platform"
TOKEN = "a token that nobody may see"


def kubeconfig(server: str) -> str:
    """A kubeconfig as people have them: several clusters, of which the current context says which is meant."""
    return json.dumps(
        {
            "clusters": [
                {"name": "old", "cluster": {"server": "https://old.example"}},
                {"name": "this", "cluster": {"server": server}},
            ],
            "contexts": [
                {"name": "old", "context": {"cluster": "old", "user": "me"}},
                {"name": "mine", "context": {"cluster": "this", "user": "me"}},
            ],
            "current-context": "mine",
            "users": [{"name": "me", "user": {"token": TOKEN}}],
        }
    )


@cache
def program(
    preview: bool,
    lab: str = kubeconfig("https://lab.example"),
    platform: str | None = kubeconfig("https://platform.example"),
    secret: bool = True,
) -> Preview:
    """The whole program, with the engine's values of the other stack and of the secret."""
    file = evaluate_stack(str(FILE), ROOT).file
    assert file is not None
    config = {**file.config, KEY: lab}
    outputs = {"kubeconfig": platform} if platform else {}
    return run_program(
        ROOT,
        "elsewhere",
        config.pop("berth:fleet"),
        config,
        preview=preview,
        secrets=[KEY],
        references={PLATFORM: (outputs, outputs if secret else ())},
    )


def made(result: Preview) -> dict[str, RecordedResource]:
    """The resources by name; names are unique among those compared here."""
    return {one.name: one for one in result.resources}


def test_the_stack_file_has_no_faults() -> None:
    assert [p.line() for p in evaluate_stack(str(FILE), ROOT).problems if p.severity != "note"] == []


@both_modes
def test_the_program_runs_and_says_nothing(preview: bool) -> None:
    assert program(preview).messages == ()


def test_a_preview_shows_the_resources_of_an_update() -> None:
    shown, updated = ({one.urn: one.inputs for one in program(preview).resources} for preview in (True, False))
    assert shown.keys() == updated.keys()
    assert [urn for urn in shown if not is_consistent(shown[urn], updated[urn])] == []


@both_modes
def test_a_worker_of_another_stack_is_reached_by_that_stacks_output(preview: bool) -> None:
    result = made(program(preview))
    assert result["platform/stack"].type == "pulumi:pulumi:StackReference"
    assert result["platform/stack"].import_id == PLATFORM
    engine = "urn:pulumi:elsewhere::berth::pulumi:providers:pulumi::default"
    assert result["platform/stack"].provider == engine  # which is no resource of the stack
    provider = result["platform/kubernetes"]
    assert provider.inputs["kubeconfig"] == "[secret]"
    assert provider.inputs["clusterIdentifier"] == PLATFORM  # another certificate is no other cluster


@both_modes
def test_a_plain_export_of_another_stack_becomes_a_secret(preview: bool) -> None:
    assert made(program(preview, secret=False))["platform/kubernetes"].inputs["kubeconfig"] == "[secret]"


@pytest.mark.filterwarnings("ignore:coroutine 'Output")
@both_modes
def test_another_stack_without_a_kubeconfig_is_named(preview: bool) -> None:
    with pytest.raises(ProgramError) as refused:
        program(preview, platform=None)
    assert f"stack '{PLATFORM}' has no output 'kubeconfig'; run pulumi up on it first" in str(refused.value)
    assert "Traceback" not in str(refused.value)
    gc.collect(1)  # outputs that nobody waits for any more, here and not in the test after; they are young


@both_modes
def test_a_worker_by_kubeconfig_is_reached_by_the_secret(preview: bool) -> None:
    provider = made(program(preview))["lab/kubernetes"]
    assert provider.inputs["kubeconfig"] == "[secret]"
    assert provider.inputs["clusterIdentifier"] == KEY
    assert not [one for one in program(preview).resources if one.name == "lab/stack"]


@both_modes
@pytest.mark.parametrize("worker", ["platform", "lab"])
def test_in_a_described_cluster_only_kubernetes_objects_are_created(worker: str, preview: bool) -> None:
    own = [one for one in program(preview).resources if one.name.startswith(f"{worker}/") and one.custom]
    outside = [one for one in own if not one.type.startswith(("kubernetes:", "pulumi:"))]
    assert {one.type for one in outside} <= {"gcp:projects/iAMMember:IAMMember"}  # what the team's pods may do
    inside = [one for one in own if one.type.startswith("kubernetes:")]
    assert {one.type.rpartition(":")[2] for one in inside} >= {"ClusterQueue", "LocalQueue", "ResourceFlavor", "Secret"}
    assert not [one for one in inside if one.type.startswith("kubernetes:helm")]
    assert {one.provider.rpartition("::")[2] for one in inside if one.provider} == {f"{worker}/kubernetes"}


@pytest.mark.parametrize("worker", ["platform", "lab"])
def test_the_manager_gets_a_kubeconfig_of_its_own_account(worker: str) -> None:
    """The manager gets a secret with the account's token, and not the kubeconfig of the user who deploys."""
    result = made(program(False))
    account = result[f"{worker}/manager-access-account"]
    metadata: Any = account.inputs["metadata"]
    assert metadata["name"] == "multikueue"
    assert result[f"workers-kubeconfig-{worker}"].inputs["stringData"] == "[secret]"
    assert result[f"workers-kubeconfig-{worker}"].provider == result["kubernetes"].urn
    assert f"workers-kubeconfig-{worker}" in {
        urn.rpartition("::")[2] for urn in result[f"workers-cluster-{worker}"].dependencies
    }


def test_a_worker_by_profile_has_no_account_and_no_kubeconfig() -> None:
    result = made(program(False))
    assert result["workers-cluster-here"].inputs["spec"] == {"clusterSource": {"clusterProfileRef": {"name": "here"}}}
    assert not [name for name in result if name.startswith(("here/manager-access", "workers-kubeconfig-here"))]


@both_modes
def test_no_secret_is_printed(preview: bool) -> None:
    result = program(preview)
    assert TOKEN not in repr(result)
    assert "lab.example" not in repr(result) and "platform.example" not in repr(result)


@pytest.mark.filterwarnings("ignore:coroutine 'Output")
@both_modes
def test_an_invalid_kubeconfig_is_one_line_that_names_the_worker(preview: bool) -> None:
    with pytest.raises(ProgramError) as refused:
        program(preview, "{}")
    text = "the kubeconfig of worker 'lab' has no clusters; store one with which kubectl get nodes works"
    assert text in str(refused.value)
    assert "Traceback" not in str(refused.value)
    gc.collect(1)  # outputs that nobody waits for any more, here and not in the test after; they are young


def test_the_server_is_that_of_the_current_context() -> None:
    assert kubeconfig_server("worker 'lab'", kubeconfig("https://lab.example")) == "https://lab.example"


@pytest.mark.parametrize("text", ["", "no kubeconfig", "[]", "clusters: [", '{"current-context": "x"}'])
def test_a_text_without_a_server_is_no_kubeconfig(text: str) -> None:
    with pytest.raises(pulumi.RunError, match="worker 'lab'"):
        kubeconfig_server("worker 'lab'", text)


def test_a_preview_needs_no_other_stack_and_no_secret() -> None:
    """`berth preview` has no engine: unknown values and what depends on them stay unknown."""
    result = CliRunner().invoke(app, ["preview", str(FILE), "--json"])
    assert result.exit_code == 0, result.output
    shown = {one["urn"]: one["inputs"] for one in json.loads(result.stdout)["resources"]}
    assert shown.keys() == {one.urn for one in program(True).resources}
    known = {one.urn: one.inputs for one in program(True).resources}
    assert [urn for urn in shown if shown[urn] != known[urn]] == []
