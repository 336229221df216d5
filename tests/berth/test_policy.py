"""`berth check --policy`: an organisation's own rules, the ones that are shipped, and the same as a policy pack."""

from __future__ import annotations

import json
import pathlib
import runpy
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.policy import apply_policies
from tests.stack_files import ACK_STACKS, ROOT, evaluation, every_stack, plan, resources

SHIPPED = sorted((ROOT / "docs" / "policies").glob("*.py"))
PACK = ROOT / "docs" / "policy-pack" / "__main__.py"

GOOD = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster:
      privateNodes: true
      deletionProtection: true
      controlPlane: {publicEndpoint: false}
    protect: true
    pools:
      spot: {machineType: g2-standard-24, nodes: {max: 2}, zones: [us-central1-a], capacity: spot}
    priorities:
      low: {value: 100}
      high: {value: 101}
    teams:
      a:
        labels: {owner: ada}
        queues:
          one: {flavors: [{pool: spot, guaranteed: all}], priority: low}
"""


def checked(folder: pathlib.Path, text: str, *policies: pathlib.Path, stack: str = "prod-eu") -> dict[str, Any]:
    """What `berth check --format json` says of a stack, problems of the policies only."""
    file = folder / f"Pulumi.{stack}.yaml"
    file.write_text(text, encoding="utf-8")
    words = [word for policy in policies for word in ("--policy", str(policy))]
    done = CliRunner().invoke(app, ["check", str(file), "--format", "json", *words])
    (document,) = json.loads(done.stdout)["stacks"]
    assert done.exit_code == (0 if document["sound"] else 1)
    plain = json.loads(CliRunner().invoke(app, ["check", str(file), "--format", "json"]).stdout)["stacks"][0][
        "problems"
    ]
    return {**document, "problems": [problem for problem in document["problems"] if problem not in plain]}


def test_a_fleet_that_keeps_all_shipped_rules_is_sound(tmp_path: pathlib.Path) -> None:
    assert len(SHIPPED) == 5
    result = checked(tmp_path, GOOD, *SHIPPED)
    assert (result["sound"], result["problems"]) == (True, [])
    assert [(each["file"], each["faults"], each["warnings"]) for each in result["policies"]] == [
        (str(file), 0, 0) for file in SHIPPED
    ]


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "message"),
    [
        (
            "publicEndpoint: false",
            "publicEndpoint: true",
            "no-public-endpoint",
            8,
            "a production cluster must not have a",
        ),
        ("deletionProtection: true", "deletionProtection: false", "deletion-protection", 7, "can be deleted"),
        ("protect: true", "protect: false", "deletion-protection", 9, "Pulumi can delete the cluster"),
        ("priority: low", "priority: high", "spot-for-low-priority", 16, "queue 'a-one' can use spot machines (spot)"),
        ("labels: {owner: ada}", "labels: {payer: ada}", "owner-label", 16, "write labels: {owner: <who>}"),
    ],
)
def test_a_violation_of_a_shipped_policy_has_its_line(
    tmp_path: pathlib.Path, old: str, new: str, code: str, line: int, message: str
) -> None:
    assert old in GOOD
    (problem,) = checked(tmp_path, GOOD.replace(f" {old}", f" {new}").replace(f"{{{old}", f"{{{new}"), *SHIPPED)[
        "problems"
    ]
    assert (problem["severity"], problem["code"]) == ("fault", code)
    assert problem["place"].endswith(f"Pulumi.prod-eu.yaml:{line}")
    assert message in problem["message"]


def test_public_nodes_are_refused(tmp_path: pathlib.Path) -> None:
    """Nodes with public addresses need a public endpoint, so this is not a production stack."""
    public = GOOD.replace("privateNodes: true", "privateNodes: false").replace(
        "publicEndpoint: false", "publicEndpoint: true"
    )
    faults = [p for p in checked(tmp_path, public, *SHIPPED, stack="dev")["problems"] if p["severity"] == "fault"]
    assert [(p["code"], p["place"].rpartition(":")[2]) for p in faults] == [("private-nodes", "6")]


def test_elsewhere_an_open_endpoint_is_a_warning_and_a_warning_refuses_nothing(tmp_path: pathlib.Path) -> None:
    open_one = GOOD.replace("publicEndpoint: false", "publicEndpoint: true")
    result = checked(tmp_path, open_one, *SHIPPED, stack="dev")
    assert [(p["severity"], p["code"]) for p in result["problems"]] == [("warning", "no-public-endpoint")]
    assert result["sound"]


HEAD = "from berth.policy import fault\n"


@pytest.mark.parametrize(
    ("policy", "line", "message"),
    [
        (None, "", "policy file not found"),
        ("def rule(plan:\n", ":1", "SyntaxError: "),
        ("import nowhere\n", ":1", "ModuleNotFoundError: No module named 'nowhere'"),
        (
            f"{HEAD}def _hidden(plan): ...\n",
            "",
            "has no rule; write a public function of the plan that yields faults",
        ),
        ("def rule(plan):\n    return [plan.clutser]\n", ":2", "'rule' failed: AttributeError: "),
        ("def rule(plan):\n    yield 'a word'\n", "", "'rule' yields 'a word'; yield fault("),
        ("def rule(plan):\n    return 'text'\n", "", "'rule' returns 'text'; yield the faults that it makes"),
        (f"{HEAD}def rule(plan):\n    yield fault(('cluster',), 7)\n", "", "'rule' yields Problem("),
        (f"{HEAD}def rule(plan):\n    yield fault(('cluster',), b'bytes')\n", "", "'rule' yields Problem("),
        (f"{HEAD}def rule(plan):\n    yield fault('cluster', 'a path that is text')\n", "", "'rule' yields Problem("),
        (f"{HEAD}def rule(plan):\n    yield fault(([],), 'a list in a path')\n", "", "'rule' yields Problem("),
        (f"{HEAD}def rule(plan):\n    yield fault(None, None)\n", "", "'rule' yields Problem("),
        ("def rule(plan):\n    return 5\n", "", "'rule' returns 5; yield the faults that it makes"),
        ("def rule(plan):\n    return False\n", "", "'rule' returns False; yield the faults that it makes"),
        (
            f"{HEAD}def rule(plan):\n    fault(('cluster',), 'bad')\n",
            "",
            "'rule' makes 1 problem that it does not yield; write yield before each",
        ),
        (
            f"{HEAD}def rule(plan):\n    fault(('cluster',), 'lost')\n    yield from ()\n",
            "",
            "'rule' makes 1 problem that it does not yield; write yield before each",
        ),
        ("def rule(plan): ...\n\n\ndef rule(plan): ...\n", "", "'rule' is defined twice, so the first never runs"),
        ("def rule(*, plan): ...\n", "", "'rule' must have one parameter, the plan"),
        ("async def rule(plan): ...\n", "", "'rule' is async, so it never runs; write def"),
        ("def rule(plan):\n    raise SystemExit(0)\n", ":2", "'rule' failed: SystemExit: 0"),
        ("raise SystemExit(0)\n", ":1", "SystemExit: 0"),
        ("def rule(plan, more): ...\n", "", "'rule' must have one parameter, the plan; begin names of helpers with _"),
    ],
)
def test_a_policy_that_cannot_run_is_a_fault(
    tmp_path: pathlib.Path, policy: str | None, line: str, message: str
) -> None:
    """A policy error is no traceback, and an unchecked fleet does not pass."""
    file = tmp_path / "policy.py"
    if policy is not None:
        file.write_text(policy, encoding="utf-8")
    (problem,) = checked(tmp_path, GOOD, file)["problems"]
    assert (problem["severity"], problem["code"]) == ("fault", "policy-failed")
    assert problem["place"] == f"{file}{line}"
    assert problem["message"].startswith(message)


def test_policies_do_not_run_on_a_fleet_with_faults(tmp_path: pathlib.Path) -> None:
    assert checked(tmp_path, GOOD.replace("g2-standard-24", "g2-standard-25"), tmp_path / "none.py")["problems"] == []


def test_a_fleet_that_policies_cannot_check_is_rejected() -> None:
    done = CliRunner().invoke(app, ["check", str(ACK_STACKS["ack-fleet"]), "--policy", str(SHIPPED[0])])
    assert done.exit_code == 1
    assert "this command supports only fleets with Kueue" in done.stdout


def test_a_rule_may_return_none(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text("def rule(plan): ...\n", encoding="utf-8")
    assert checked(tmp_path, GOOD, file)["sound"]


FOUND = """\
import functools
from math import ceil

from berth.policy import fault


def _named(plan, word):
    yield fault(("cluster",), f"{word} of {type(plan).__name__}, {ceil(0.5)}")


def _decorator(rule):
    def run(plan):
        return rule(plan)
    return run


@_decorator
def decorated(plan):
    yield fault(("cluster",), "decorated")


class _Rule:
    def __call__(self, plan):
        return [fault(("cluster",), "an object")]


partial = functools.partial(_named, word="partial")
instance = _Rule()
in_words = lambda plan: [fault(("cluster",), "lambda")]
"""


def test_every_public_callable_is_a_rule_whatever_it_is_made_of(tmp_path: pathlib.Path) -> None:
    (tmp_path / "policy.py").write_text(FOUND, encoding="utf-8")
    result = checked(tmp_path, GOOD, tmp_path / "policy.py")
    assert {(each["code"], each["message"]) for each in result["problems"]} == {
        ("decorated", "decorated"),
        ("partial", "partial of FleetPlan, 1"),
        ("instance", "an object"),
        ("in-words", "lambda"),
    }
    assert [(each["rule"], each["clusters"], each["faults"]) for each in result["policies"]] == [
        *(("decorated", 1, 1), ("partial", 1, 1), ("instance", 1, 1), ("in_words", 1, 1)),
    ]


def test_an_imported_rule_runs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules_of_acme.py").write_text(
        f"{HEAD}def imported(plan):\n    yield fault(('cluster',), 'no')\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "policy.py").write_text("from rules_of_acme import imported\n", encoding="utf-8")
    (problem,) = checked(tmp_path, GOOD, tmp_path / "policy.py")["problems"]
    assert problem["code"] == "imported"


def test_a_rule_that_changes_its_plan_changes_it_for_no_other(tmp_path: pathlib.Path) -> None:
    (tmp_path / "policy.py").write_text(
        f"{HEAD}def first(plan):\n    plan.labels.clear()\n    plan.labels['x'] = 'y'\n    return ()\n\n\n"
        "def second(plan):\n    if plan.labels.get('x'):\n        yield fault(('labels',), 'changed')\n",
        encoding="utf-8",
    )
    assert checked(tmp_path, GOOD, tmp_path / "policy.py")["problems"] == []


def test_rules_see_every_cluster_of_a_manager(tmp_path: pathlib.Path) -> None:
    (tmp_path / "policy.py").write_text(
        f"{HEAD}def name(plan):\n    yield fault(('cluster', 'name'), f'{{plan.cluster.name}} is refused')\n",
        encoding="utf-8",
    )
    found, runs = apply_policies(evaluation("multikueue"), [tmp_path / "policy.py"])
    fleet = found.fleet_plan
    assert fleet is not None
    clusters = [getattr(each.cluster, "name", None) for each in (fleet, *(worker.plan for worker in fleet.workers))]
    faults = [each for each in found.faults if each.code == "name"]
    assert {each.message for each in faults} == {f"{name} is refused" for name in clusters}
    assert {each.path[:2] for each in faults} == {
        ("cluster", "name"),
        *(("workers", worker.name) for worker in fleet.workers),
    }
    assert [run.line for run in runs] == [
        f"{tmp_path / 'policy.py'}: name: {len(clusters)} clusters, {len(clusters)} faults, 0 warnings"
    ]


def test_check_prints_which_rules_ran(tmp_path: pathlib.Path) -> None:
    (tmp_path / "Pulumi.prod-eu.yaml").write_text(GOOD, encoding="utf-8")
    words = ["check", str(tmp_path / "Pulumi.prod-eu.yaml"), "--policy", str(SHIPPED[0])]
    result = CliRunner().invoke(app, words)
    assert f"policy {SHIPPED[0]}: {SHIPPED[0].stem}: 1 cluster, 0 faults, 0 warnings\n" in result.stdout


# --- the same as a policy pack ----------------------------------------------------------------------------------------


@dataclass
class Pack:
    """Stands in for Pulumi's policy SDK: keeps what the pack registers."""

    policies: list[Any] = field(default_factory=list[Any])

    def module(self) -> ModuleType:
        module = ModuleType("pulumi_policy")
        names: dict[str, Any] = {
            "EnforcementLevel": SimpleNamespace(MANDATORY="mandatory"),
            "ResourceValidationArgs": SimpleNamespace,
            "ResourceValidationPolicy": SimpleNamespace,
            "PolicyPack": lambda policies, **_: self.policies.extend(policies),
        }
        vars(module).update(names)
        return module


@pytest.fixture
def pack(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    stand_in = Pack()
    monkeypatch.setitem(sys.modules, "pulumi_policy", stand_in.module())
    runpy.run_path(str(PACK))
    return stand_in.policies


def broken(pack: list[Any], stack: str, **cluster: object) -> set[tuple[str, str]]:
    """Rule and resource of everything the pack reports; `cluster` is laid over the cluster's inputs."""
    values: set[tuple[str, str]] = set()
    for each in resources(stack, preview=False):
        props = {**each.inputs, **cluster} if each.type.endswith(":Cluster") else dict(each.inputs)
        args = SimpleNamespace(resource_type=each.type, props=props, opts=SimpleNamespace(protect=each.protect))
        for policy in pack:
            policy.validate(args, lambda _, rule=policy.name, name=each.name: values.add((rule, name)))
    return values


def test_the_pack_holds_the_rules_that_resources_can_show(pack: list[Any]) -> None:
    shipped = {file.stem.replace("_", "-") for file in SHIPPED}
    assert {policy.name for policy in pack} == shipped - {"spot-for-low-priority"}


@every_stack
def test_the_pack_and_the_files_agree_on_every_stack(pack: list[Any], stack: str) -> None:
    """Rule by rule: whether it is broken by the plan, and by the resources that come of it.

    A namespace that somebody else made is no resource, so its label is not seen.
    """
    by_plan = {problem.code for problem in apply_policies(evaluation(stack), SHIPPED)[0].faults} - {
        "spot-for-low-priority"
    }
    if not any(place.owned for team in plan(stack).teams for place in team.namespaces):
        by_plan -= {"owner-label"}
    assert {rule for rule, _ in broken(pack, stack)} == by_plan


def test_the_pack_sees_public_nodes_and_a_production_endpoint(pack: list[Any]) -> None:
    private: dict[str, object] = {"enablePrivateNodes": False, "enablePrivateEndpoint": False}
    result = broken(pack, "dev", name="prod", privateClusterConfig=private)
    assert {"private-nodes", "no-public-endpoint"} <= {rule for rule, _ in result}
