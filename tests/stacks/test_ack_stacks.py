"""Stack files on Alibaba Cloud as a whole: sound, one plan by every way of reading, and run as a program twice."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from typing import Any, cast

import pytest
import yaml
from jsonschema import Draft202012Validator

from components.plan.ack import AckFleetPlan
from stacks.cli import ack_plan, render
from stacks.planner.ack import plan_ack
from stacks.proofs.ack import prove_ack
from stacks.spec.parse import parse
from stacks.spec.schema import stack_schema
from stacks.verdict import of_config
from tests.engine import agree, both_modes, identity
from tests.stack_files import GOLDEN, ON_ACK, ROOT, is_golden, program, resources, verdict

every_stack = pytest.mark.parametrize("stack", list(ON_ACK))


def plan(stack: str) -> AckFleetPlan:
    """The plan of a sound stack."""
    found = verdict(stack).ack
    assert found is not None
    return found


def rendered(stack: str) -> str:
    """What `berth render` prints."""
    stream = io.StringIO()
    render.write(plan(stack), stream)
    return stream.getvalue()


def test_there_are_stack_files() -> None:
    assert "ack-fleet" in ON_ACK


@every_stack
def test_a_stack_file_is_sound_and_the_schema_takes_it(stack: str) -> None:
    assert [problem.line() for problem in verdict(stack).problems if problem.severity != "note"] == []
    file = yaml.safe_load(ON_ACK[stack].read_text(encoding="utf-8"))
    assert [error.message for error in Draft202012Validator(stack_schema()).iter_errors(file)] == []
    assert file["config"]["pulumi:disable-default-providers"] == ["*"]


@every_stack
def test_the_plan_depends_neither_on_the_order_of_keys_nor_on_who_reads(stack: str) -> None:
    file = verdict(stack).file
    assert file is not None
    turned = plan_ack(stack, parse(json.loads(json.dumps(file.fleet, sort_keys=True))))
    assert turned is not None
    assert (turned.plan, prove_ack(turned)) == (plan(stack), ())
    handed_over = of_config(stack, json.loads(json.dumps(file.config["berth:fleet"], sort_keys=True)), ROOT)
    assert handed_over.ack == plan(stack)


# --- the whole program ------------------------------------------------------------------------------------------------


@every_stack
@both_modes
def test_the_program_runs_without_google(stack: str, preview: bool) -> None:
    """Neither a resource nor a provider of Google's; everything has a provider and a component above it."""
    done = program(stack, preview)
    assert [m.text for m in done.messages if m.severity != "info"] == []
    assert [r.urn for r in done.resources if "gcp" in r.type] == []
    known = {r.urn: r for r in done.resources}
    for one in resources(stack, preview):
        assert one.custom or one.outputs_registered
        if one.custom:
            assert known[one.provider or ""].name in ("alibaba-cloud", "fleet")
            assert known[one.parent or ""].type.startswith("berth:ack:")


@every_stack
def test_a_preview_shows_what_an_update_makes(stack: str) -> None:
    shown, made = ({r.urn: r.inputs for r in resources(stack, preview)} for preview in (True, False))
    assert shown.keys() == made.keys()
    assert [urn for urn in shown if not agree(shown[urn], made[urn])] == []


@every_stack
def test_berth_render_prints_what_the_program_registers(stack: str) -> None:
    printed = {identity(m): m for m in yaml.safe_load_all(rendered(stack))}
    made = {identity(r.inputs): r.inputs for r in resources(stack, False) if r.type.startswith("kubernetes:")}
    assert printed == made


@every_stack
def test_clusters_fleet_and_node_pools_are_protected_and_hold_what_is_promised(stack: str) -> None:
    """Counted the second way: nodes from what the provider is sent, GPUs from what the file says of the instance."""
    sent = [r for r in resources(stack, False) if r.type == "alicloud:cs/nodePool:NodePool"]
    protected = {r.type.rpartition(":")[2] for r in resources(stack, False) if r.protect}
    assert protected == {"ManagedKubernetes", "NodePool", "Cluster"}
    file = verdict(stack).file
    assert file is not None
    ack: Any = cast("Any", file.fleet)["ack"]
    types = ack["instanceTypes"]
    sizes = [(most_nodes(r.inputs), cast("list[str]", r.inputs["instanceTypes"])[0]) for r in sent]
    gpus = sum(nodes * types[kind]["gpus"] for nodes, kind in sizes)
    assert gpus == sum(flavor.capacity.max for flavor in plan(stack).flavors)
    leaves = [node for _, node in plan(stack).quotas.walk() if not node.children]
    assert sum(leaf.minimum["nvidia.com/gpu"] for leaf in leaves) <= gpus


def most_nodes(inputs: Any) -> int:
    """The most nodes that a node pool's inputs allow."""
    scaling = inputs.get("scalingConfig")
    return scaling["maxSize"] if scaling else int(inputs["desiredSize"])


def test_the_kubeconfig_is_a_path_and_no_resource_holds_what_is_in_it() -> None:
    """The credential of the fleet is a file of the operator's: no state, encrypted or not, has it."""
    provider = next(r for r in program("ack-fleet", False).resources if r.name == "fleet" and r.custom)
    assert provider.inputs["kubeconfig"] == "ack-one.kubeconfig"


# --- goldens ----------------------------------------------------------------------------------------------------------


@every_stack
def test_golden_manifests_on_ack(stack: str) -> None:
    is_golden(rendered(stack), GOLDEN / stack / "manifests.yaml")


@every_stack
def test_golden_tree_on_ack(stack: str) -> None:
    lines = sorted(
        "  ".join([r.urn.split("::", 2)[2], *(["protect"] if r.protect else [])])
        for r in program(stack, True).resources
    )
    is_golden("".join(f"{line}\n" for line in lines), GOLDEN / stack / "tree.txt")


@every_stack
def test_golden_cloud_on_ack(stack: str) -> None:
    """What Alibaba Cloud is asked for, to the last argument."""
    asked = {r.urn.split("::", 2)[2]: r.inputs for r in resources(stack, True) if r.type.startswith("alicloud:")}
    is_golden(yaml.safe_dump(json.loads(json.dumps(asked, default=str)), width=120), GOLDEN / stack / "cloud.yaml")


@every_stack
def test_golden_plan_on_ack(stack: str) -> None:
    """What people read."""
    is_golden(f"{ack_plan.text(verdict(stack))}\n", GOLDEN / stack / "plan.txt")


# --- verbs ------------------------------------------------------------------------------------------------------------

PAGE = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")


@every_stack
def test_the_plan_as_json_has_the_documented_keys(stack: str) -> None:
    section = PAGE.partition("## The plan as JSON")[2]
    rows = re.findall(r"^\| (`.+?) \| (.*) \|$", section, re.MULTILINE)
    documented = {key: re.findall(r"`(\w+)`", words) for row, words in rows for key in re.findall(r"`(\w+)`", row)}
    found = ack_plan.as_json(verdict(stack))
    assert list(found) == list(documented)
    nested = {"fleet": found["fleet"], "members": found["members"][0], "flavors": found["flavors"][0]}
    nested |= {"quotaTree": found["quotaTree"], "propagations": found["propagations"][0], "teams": found["teams"][0]}
    for key, value in nested.items():
        assert set(value) <= set(documented[key]), key
    assert set(found["members"][0]["nodePools"][0]) <= set(documented["members"])


WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refuse())
from stacks.cli import main
main()
"""


def berth(words: str, *refused: str) -> tuple[int, str, str]:
    """Exit status and what is printed where some packages are not installed."""
    command = [sys.executable, "-c", WITHOUT.format(refused=refused), *words.split()]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("verb", ["check", "plan", "plan --json", "render"])
def test_pure_verbs_need_no_provider_at_all(verb: str) -> None:
    status, out, err = berth(f"{verb} stacks/examples/ack-fleet.yaml", "pulumi", "pulumi_alicloud", "pulumi_gcp")
    assert (status, err) == (0, "")
    assert out


def test_a_preview_without_the_provider_says_in_one_line_what_to_install() -> None:
    status, out, err = berth("preview stacks/examples/ack-fleet.yaml", "pulumi_alicloud")
    assert (status, out) == (1, "")
    assert "a fleet on Alibaba Cloud needs its provider: pip install 'berth[ack]'" in err
    assert "Traceback" not in err


def test_a_preview_does_not_load_the_provider_of_the_other_cloud() -> None:
    assert berth("preview stacks/examples/ack-fleet.yaml", "pulumi_gcp")[0] == 0


REFUSING = [
    "lint {} stacks/jobs/train.yaml",
    "admit {} stacks/jobs/train.yaml",
    "rotate {} a100",
    "drain {}",
    "split {}",
]


@pytest.mark.parametrize("words", REFUSING)
def test_a_verb_that_knows_kueue_alone_says_so(words: str) -> None:
    status, out, err = berth(words.format("stacks/examples/ack-fleet.yaml"))
    assert status == 1
    assert "this verb knows fleets with Kueue alone" in out + err


@pytest.mark.parametrize("words", ["diff {} dev", "diff dev {}"])
def test_a_fleet_on_ack_is_compared_with_none_on_google_cloud(words: str) -> None:
    status, out, err = berth(words.format("stacks/examples/ack-fleet.yaml"))
    assert (status, out) == (1, "")
    assert "nothing of the one becomes the other" in err
