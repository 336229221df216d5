"""What is particular to stack files on Alibaba Cloud; what holds for every fleet is in test_stacks."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, cast

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.plan import ack as ack_plan
from berth.document.text import render_text
from berth.overview.ack import ack_document
from berth.plan.ack import AckFleetPlan
from berth.yaml_loader import LOADER
from tests.engine import both_modes, identity
from tests.stack_files import ACK_STACKS, GOLDEN, ROOT, assert_golden, evaluation, rendered, resources, run_stack

FILE = "stacks/examples/ack-fleet.yaml"
every_stack = pytest.mark.parametrize("stack", list(ACK_STACKS))


def plan(stack: str) -> AckFleetPlan:
    """The plan of a sound stack."""
    result = evaluation(stack).plan
    assert isinstance(result, AckFleetPlan)
    return result


# --- the whole program ------------------------------------------------------------------------------------------------


@every_stack
@both_modes
def test_the_program_runs_without_a_warning_and_without_google(stack: str, preview: bool) -> None:
    """Neither a resource nor a provider of Google's, and every resource in a component of this cloud's own."""
    done = run_stack(stack, preview)
    assert [m.text for m in done.messages if m.severity != "info"] == []
    assert [r.urn for r in done.resources if "gcp" in r.type] == []
    known = {r.urn: r for r in done.resources}
    above = {known[r.parent or ""].type for r in resources(stack, preview) if r.custom}
    assert {type_.rpartition(":")[0] for type_ in above} == {"berth:ack"}


@every_stack
def test_berth_render_prints_what_the_program_registers(stack: str) -> None:
    printed = {identity(m): m for m in yaml.load_all(rendered(stack), LOADER)}
    made = {identity(r.inputs): r.inputs for r in resources(stack, False) if r.type.startswith("kubernetes:")}
    assert printed == made


@every_stack
def test_ack_clusters_and_node_pools_are_protected_and_hold_the_guarantees(stack: str) -> None:
    """Counted the second way: nodes from what the provider is sent, GPUs from what the file says of the instance."""
    sent = [r for r in resources(stack, False) if r.type == "alicloud:cs/nodePool:NodePool"]
    protected = {r.type.rpartition(":")[2] for r in resources(stack, False) if r.protect}
    assert protected == {"ManagedKubernetes", "NodePool", "Cluster"}
    file = evaluation(stack).file
    assert file is not None
    ack: Any = cast("Any", file.fleet)["ack"]
    types = ack["instanceTypes"]
    sizes = [(most_nodes(r.inputs), cast("list[str]", r.inputs["instanceTypes"])[0]) for r in sent]
    gpus = sum(nodes * types[kind]["gpus"] for nodes, kind in sizes)
    assert gpus == sum(flavor.capacity.max for flavor in plan(stack).flavors)
    tree = plan(stack).quotas
    leaves = [node for _, node in tree.walk() if not node.children] if tree else []
    assert sum(leaf.minimum["nvidia.com/gpu"] for leaf in leaves) <= gpus


def most_nodes(inputs: Any) -> int:
    """The most nodes that a node pool's inputs allow."""
    scaling = inputs.get("scalingConfig")
    return scaling["maxSize"] if scaling else int(inputs["desiredSize"])


def test_the_kubeconfig_is_a_path_and_no_resource_holds_what_is_in_it() -> None:
    """The credential of the fleet is a file of the operator's: no state, encrypted or not, has it."""
    provider = next(r for r in run_stack("ack-fleet", False).resources if r.name == "fleet" and r.custom)
    assert provider.inputs["kubeconfig"] == "ack-one.kubeconfig"


# --- goldens ----------------------------------------------------------------------------------------------------------


@every_stack
def test_golden_plan_on_ack(stack: str) -> None:
    """What people read."""
    assert_golden(f"{render_text(ack_document(evaluation(stack)))}\n", GOLDEN / stack / "plan.txt")


# --- verbs ------------------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")


@every_stack
def test_the_plan_as_json_has_the_documented_keys(stack: str) -> None:
    section = PAGE.partition("## The plan as JSON")[2]
    rows = re.findall(r"^\| (`.+?) \| (.*) \|$", section, re.MULTILINE)
    documented = {key: re.findall(r"`(\w+)`", words) for row, words in rows for key in re.findall(r"`(\w+)`", row)}
    result = ack_plan.ack_plan_as_json(evaluation(stack))
    assert list(result) == list(documented)
    nested = {"fleet": result["fleet"], "members": result["members"][0], "flavors": result["flavors"][0]}
    nested |= {
        "quotaTree": result["quotaTree"] or {},
        "propagations": result["propagations"][0],
        "teams": result["teams"][0],
    }
    for key, value in nested.items():
        assert set(value) <= set(documented[key]), key
    assert set(result["members"][0]["nodePools"][0]) <= set(documented["members"])


WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refuse())
from berth.cli import run_command
run_command()
"""


def without_packages(words: str, *refused: str) -> tuple[int, str, str]:
    """Exit status and what is printed where some packages are not installed."""
    command = [sys.executable, "-c", WITHOUT.format(refused=refused), *words.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("verb", ["check", "plan", "plan --json", "render"])
def test_pure_verbs_need_no_provider_at_all(verb: str) -> None:
    status, out, err = without_packages(f"{verb} {FILE}", "pulumi", "pulumi_alicloud", "pulumi_gcp")
    assert (status, err) == (0, "")
    assert out


def test_a_preview_without_the_provider_says_in_one_line_what_to_install() -> None:
    status, out, err = without_packages(f"preview {FILE}", "pulumi_alicloud")
    assert (status, out) == (1, "")
    assert "a fleet on Alibaba Cloud needs its provider; run: pip install -e '.[ack]'" in err
    assert "Traceback" not in err


def test_a_preview_does_not_load_the_provider_of_the_other_cloud() -> None:
    assert without_packages(f"preview {FILE}", "pulumi_gcp")[0] == 0


def berth(words: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    """Exit status and what the command prints, in this process."""
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(app, words.split())
    return done.exit_code, done.stdout, done.stderr


REFUSING = [
    "lint {} stacks/jobs/train.yaml",
    "admit {} stacks/jobs/train.yaml",
    "rotate {} a100",
    "drain {}",
    "split {}",
]


@every_stack
@pytest.mark.parametrize("words", REFUSING)
def test_a_command_only_for_kueue_says_so(words: str, stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = berth(words.format(f"stacks/examples/{stack}.yaml"), monkeypatch)
    assert status == 1
    assert "this command supports only fleets with Kueue, not an ACK One fleet" in out + err


def test_a_fleet_without_a_quota_tree_has_no_tree_to_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = berth("graph stacks/examples/ack-gang.yaml", monkeypatch)
    message = "error: ack.fleet.quotaTree: the fleet has no quota tree to draw; berth plan shows its members and teams"
    assert (status, out, err) == (1, "", f"{message} [wrong-kind]\n")


@pytest.mark.parametrize("words", ["diff {} dev", "diff dev {}"])
def test_an_ack_fleet_cannot_be_compared_with_a_gke_fleet(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = berth(words.format(FILE), monkeypatch)
    assert (status, out) == (1, "")
    assert "one is a fleet on" in err
