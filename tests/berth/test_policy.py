"""`berth check --policy`: an organisation's own rules, the ones that are shipped, and the same as a policy pack."""

from __future__ import annotations

import json
import pathlib
import runpy
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.diagnostics import Severity
from berth.engine import RecordedResource, run_program
from berth.evaluate import Evaluation, evaluate_stack
from berth.policy import apply_policies
from tests.stack_files import ACK_STACKS, ROOT, answers_with_tokens, evaluation, every_stack, resources

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
        (f"{HEAD}def rule(plan): ...\n\n\nrule = None\n", "", "'rule' is defined twice, so the first never runs"),
        ("def rule(plan): ...\n\n\ndel rule\n\n\ndef other(plan): ...\n", "", "'rule' is deleted, so it never runs"),
        (
            "def rule(plan): ...\n\n\ndef _set():\n    global rule\n    rule = 5\n\n\n_set()\n",
            "",
            "'rule' is defined twice, so the first never runs",
        ),
        ("class Rule:\n    def __call__(self, plan): ...\n", "", "'Rule' is a class, so it never runs; write def"),
        ("import functools, math\n\nrule = functools.wraps(math.ceil)(lambda: 5)\n", "", "'rule' failed: TypeError"),
        ("import operator\n\nrule = operator.attrgetter('cluster')\n", "", "'rule' "),
        (
            f"{HEAD}_BAD = fault(('cluster',), 'bad')\n\n\ndef rule(plan): ...\n",
            "",
            "makes 1 problem outside of rules; yield each from a rule",
        ),
        ("def rule(plan):\n    exit()\n", ":2", "'rule' failed: SystemExit: "),
        ("import os\n\n\ndef rule(plan):\n    os._exit(0)\n", ":5", "'rule' failed: SystemExit: it ends the process"),
        ("import os\n\nos._exit(0)\n", ":3", "SystemExit: it ends the process"),
        (
            "import os\n\n\ndef rule(plan):\n    os.execlp('true', 'true')\n",
            ":5",
            "'rule' failed: SystemExit: it ends the process",
        ),
        ("def rule(plan):\n    raise GeneratorExit\n", ":2", "'rule' failed: GeneratorExit: "),
        ("def rule(plan):\n    return rule(plan)\n", ":2", "'rule' failed: RecursionError: "),
        ("async def rule(plan):\n    yield 5\n", "", "'rule' is async, so it never runs; write def"),
        ("class _R:\n    async def __call__(self, plan): ...\n\n\nrule = _R()\n", "", "'rule' returns <coroutine"),
        ("def rule(plan):\n    return [False]\n", "", "'rule' yields False; yield fault("),
        ("def rule(plan):\n    return [None]\n", "", "'rule' yields None; yield fault("),
        (f"{HEAD}def rule(plan):\n    yield [fault(('cluster',), 'in a list')]\n", "", "'rule' yields [Problem("),
        (f"{HEAD}def rule(plan):\n    return fault(('cluster',), 'alone')\n", "", "'rule' returns Problem("),
        (
            "from berth.diagnostics import Problem, Severity\n\n\n"
            "def rule(plan):\n    yield Problem(Severity.NOTE, '', ('cluster',), 'nobody sees it')\n",
            "",
            "'rule' yields Problem(",
        ),
        (
            "from itertools import repeat\n\nfrom berth.diagnostics import Problem, Severity\n\n\n"
            "def rule(plan):\n    return repeat(Problem(Severity.FAULT, '', (), 'forever'))\n",
            "",
            "'rule' yields more than 10,000 problems of one cluster",
        ),
        ("from . import limits\n", ":1", "ImportError: attempted relative import"),
        ("def rule(plan, *, more): ...\n", "", "'rule' must have one parameter"),
        ("def rule(): ...\n", "", "'rule' must have one parameter"),
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
        (name, ["prod-eu"], 1) for name in ("decorated", "partial", "instance", "in_words")
    ]


@pytest.mark.parametrize(
    "head", ["plan", "plan, /", "plan, limit=5", "plan, *, limit=5", "plan=None", "*plans", "plan, *more, **rest"]
)
def test_a_rule_may_have_parameters_with_defaults(tmp_path: pathlib.Path, head: str) -> None:
    (tmp_path / "policy.py").write_text(
        f"{HEAD}\ndef rule({head}):\n    yield fault(('cluster',), 'no')\n", encoding="utf-8"
    )
    result = checked(tmp_path, GOOD, tmp_path / "policy.py")
    assert [each["message"] for each in result["problems"]] == ["no"]


HELPERS = """\
import re
from collections.abc import Callable, Iterator
from random import choice
from typing import Any, Literal, Optional

from berth.diagnostics import Problem
from berth.plan.fleet import FleetPlan
from berth.policy import fault, warning

Check = Callable[[FleetPlan], Iterator[Problem]]
Either = int | str
LIMIT = 5
try:
    from nowhere import rule
except ImportError:

    def rule(plan: FleetPlan) -> None: ...
"""


def test_names_for_the_helpers_of_rules_are_no_rules(tmp_path: pathlib.Path) -> None:
    (tmp_path / "policy.py").write_text(
        HELPERS,
        encoding="utf-8",
    )
    result = checked(tmp_path, GOOD, tmp_path / "policy.py")
    assert result["sound"], result["problems"]
    assert [run["rule"] for run in result["policies"]] == ["rule"]


def test_what_a_policy_prints_is_not_in_the_answer(tmp_path: pathlib.Path) -> None:
    (tmp_path / "policy.py").write_text(
        f"{HEAD}print('loading')\n\n\ndef rule(plan):\n    print('running')\n    yield fault(('cluster',), 'no')\n",
        encoding="utf-8",
    )
    assert [each["code"] for each in checked(tmp_path, GOOD, tmp_path / "policy.py")["problems"]] == ["rule"]


def test_every_policy_of_a_folder_runs_once(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    refused = checked(tmp_path, GOOD, folder)
    assert [each["message"] for each in refused["problems"]] == [
        "folder has no policy; add a Python file, or check its path"
    ]
    for name in ("a", "b", "_helper"):
        (folder / f"{name}.py").write_text(
            f"{HEAD}def {name.strip('_')}(plan):\n    yield fault(('cluster',), 'of {name}')\n", encoding="utf-8"
        )
    result = checked(tmp_path, GOOD, folder, folder / "a.py")
    assert [(each["rule"], each["faults"]) for each in result["policies"]] == [("helper", 1), ("a", 1), ("b", 1)]
    assert {each["message"] for each in result["problems"]} == {"of a", "of b", "of _helper"}


RULE = f"{HEAD}def NAME(plan):\n    yield fault(('cluster',), 'of NAME')\n"


def rules_that_ran(folder: pathlib.Path, *policies: pathlib.Path) -> tuple[list[str], list[str]]:
    """Return the files that ran below a folder, and the faults that are not those of a rule, with their places."""
    result = checked(folder, GOOD, *policies)
    ran = [each["file"].replace(f"{folder}/", "") for each in result["policies"]]
    faults = [each for each in result["problems"] if each["code"] == "policy-failed"]
    assert len(result["problems"]) - len(faults) == len(ran)
    return ran, [f"{each['place']}: {each['message']}".replace(f"{folder}/", "") for each in faults]


@pytest.mark.parametrize(
    "name",
    [
        "deep/er/x.py",
        "__init__.py",
        "deep/__init__.py",
        "_x.py",
        "__main__.py",
        "with-dash.py",
        "deep.py/x.py",
        ".x.py",
    ],
)
def test_every_python_file_below_a_folder_runs(tmp_path: pathlib.Path, name: str) -> None:
    file = tmp_path / "rules" / name
    file.parent.mkdir(parents=True)
    file.write_text(RULE.replace("NAME", "rule"), encoding="utf-8")
    assert rules_that_ran(tmp_path, tmp_path / "rules") == ([f"rules/{name}"], [])


def test_helpers_and_data_beside_policies_are_no_faults(tmp_path: pathlib.Path) -> None:
    rules = tmp_path / "rules"
    (rules / "__pycache__").mkdir(parents=True)
    for name, text in (
        ("a.py", RULE.replace("NAME", "a")),
        ("__init__.py", ""),
        ("_helpers.py", "def _is_prod(plan):\n    return True\n"),
        ("limits.yaml", "most: 3\n"),
        ("README.md", "Rules\n"),
        ("__pycache__/a.cpython-311.pyc", "x"),
    ):
        (rules / name).write_text(text, encoding="utf-8")
    assert rules_that_ran(tmp_path, rules) == (["rules/a.py"], [])


def test_a_file_runs_once_by_whatever_path(tmp_path: pathlib.Path) -> None:
    rules, outside = tmp_path / "rules", tmp_path / "outside"
    (rules / "deep").mkdir(parents=True)
    outside.mkdir()
    (rules / "a.py").write_text(RULE.replace("NAME", "a"), encoding="utf-8")
    (outside / "b.py").write_text(RULE.replace("NAME", "b"), encoding="utf-8")
    (rules / "again.py").symlink_to("a.py")
    (rules / "deep" / "up").symlink_to(rules)
    (rules / "linked").symlink_to(outside)
    ways = (rules, rules / "a.py", rules / "deep" / ".." / "a.py", rules / "again.py", outside / "b.py")
    assert rules_that_ran(tmp_path, *ways) == (["rules/a.py", "rules/linked/b.py"], [])


NOT_RUN = "no rule in it runs, because its name does not end in .py; rename it, or move it"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rule.py.bak", f"rules/rule.py.bak: {NOT_RUN}"),
        ("rule.PY", f"rules/rule.PY: {NOT_RUN}"),
        ("deep/rule.pyc", f"rules/deep/rule.pyc: {NOT_RUN}"),
        ("rule.py~", f"rules/rule.py~: {NOT_RUN}"),
        (
            ".hidden/rule.py",
            "rules/.hidden: folder begins with '.', so no rule in it runs; move it, or rename it",
        ),
        (
            "rule.py",
            "rules/rule.py:1: ImportError: attempted relative import with no known parent package; write what the "
            "policy needs into its file, or install it as a package",
        ),
    ],
)
def test_what_may_be_a_policy_and_does_not_run_is_a_fault(tmp_path: pathlib.Path, name: str, told: str) -> None:
    file = tmp_path / "rules" / name
    file.parent.mkdir(parents=True)
    file.write_text("from .helpers import rule\n", encoding="utf-8")
    (tmp_path / "rules" / "a.py").write_text(RULE.replace("NAME", "a"), encoding="utf-8")
    assert rules_that_ran(tmp_path, tmp_path / "rules") == (["rules/a.py"], [told])


def test_a_link_to_nothing_is_a_fault(tmp_path: pathlib.Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.py").symlink_to("gone.py")
    assert rules_that_ran(tmp_path, tmp_path / "rules") == (
        [],
        ["rules/a.py: policy file not found; check its path"],
    )


def test_policies_read_files_below_their_root(tmp_path: pathlib.Path) -> None:
    for root in ("base", "change"):
        (tmp_path / root / "rules").mkdir(parents=True)
        (tmp_path / root / "rules" / "limit.txt").write_text(f"as in the {root}", encoding="utf-8")
        (tmp_path / root / "rules" / "limit.py").write_text(
            f"import pathlib\n{HEAD}\ndef limit(plan):\n"
            "    yield fault(('cluster',), pathlib.Path('rules/limit.txt').read_text())\n"
            "    beside = pathlib.Path(__file__).with_suffix('.txt').read_text()\n"
            "    yield fault(('cluster',), f'{beside}, beside the file')\n",
            encoding="utf-8",
        )
    (tmp_path / "Pulumi.prod-eu.yaml").write_text(GOOD, encoding="utf-8")
    words = ["check", str(tmp_path / "Pulumi.prod-eu.yaml"), "--policy-root", str(tmp_path / "base")]
    lines = CliRunner().invoke(app, [*words, "--policy", "rules/limit.py"]).stdout.splitlines()
    assert [line.partition("cluster: ")[2] for line in lines if "[limit]" in line] == [
        "as in the base [limit]",
        "as in the base, beside the file [limit]",
    ]
    assert "policy rules/limit.py: limit: prod-eu: 2 faults, 0 warnings" in lines


def test_nothing_of_a_policy_is_in_the_answer_or_its_status(tmp_path: pathlib.Path) -> None:
    """What its children print, and an exit of its own, which the status of a refusal would go through."""
    file = tmp_path / "Pulumi.prod-eu.yaml"
    file.write_text(GOOD, encoding="utf-8")
    (tmp_path / "rule.py").write_text(
        f"import subprocess\nimport sys\n{HEAD}\nsys.exit = lambda *_: None\n\ndef rule(plan):\n"
        "    subprocess.run(['echo', 'from a child'])\n    yield fault(('cluster',), 'no')\n",
        encoding="utf-8",
    )
    words = ["check", str(file), "--format", "json", "--policy", str(tmp_path / "rule.py")]
    done = subprocess.run([sys.executable, "-m", "berth", *words], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert json.loads(done.stdout)["stacks"]
    assert done.stderr.splitlines() == ["from a child"]


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
    found, runs = apply_policies(evaluation("multikueue"), [tmp_path / "policy.py"], ROOT)
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
        f"{tmp_path / 'policy.py'}: name: {fleet.cluster.name}, "
        f"{', '.join(f'worker {worker.name}' for worker in fleet.workers)}: {len(clusters)} faults, 0 warnings"
    ]


def test_a_fault_of_one_worker_does_not_hide_that_of_another(tmp_path: pathlib.Path) -> None:
    """Of keys that a worker has there is a fault for each worker; of the fleet's keys one that names the workers."""
    (tmp_path / "policy.py").write_text(
        f"{HEAD}def nodes(plan):\n    if not plan.workers:\n"
        "        yield fault(('cluster', 'privateNodes'), 'public')\n\n\n"
        "def teams(plan):\n    for team in plan.teams:\n        yield fault(('teams', team.name), 'no owner')\n\n\n"
        "def pools(plan):\n    for pool in plan.pools:\n        yield fault(('pools', pool.name), 'too large')\n",
        encoding="utf-8",
    )
    found, runs = apply_policies(evaluation("multikueue"), [tmp_path / "policy.py"], ROOT)
    fleet = found.fleet_plan
    assert fleet is not None
    workers = [worker.name for worker in fleet.workers]
    assert len(workers) > 1
    by_code = {
        code: [each for each in found.faults if each.code == code]
        for code in ("nodes", "teams", "pools", "policy-failed")
    }
    assert sorted(each.path for each in by_code["nodes"]) == [
        ("workers", worker, "cluster", "privateNodes") for worker in sorted(workers)
    ]
    assert {each.path for each in by_code["teams"]} == {("teams", team.name) for team in fleet.teams}
    for problem in by_code["teams"]:
        on = [worker.name for worker in fleet.workers if problem.path[1] in {team.name for team in worker.plan.teams}]
        assert problem.message == f"no owner (also on {'workers' if on[1:] else 'worker'} {', '.join(on)})"
    assert sorted(each.path for each in by_code["pools"]) == sorted(
        ("workers", worker.name, "pools", pool.name) for worker in fleet.workers for pool in worker.plan.pools
    )
    assert by_code["policy-failed"] == []
    made = [sum(len(plan.teams) for plan in (fleet, *(worker.plan for worker in fleet.workers)))]
    assert [run.faults for run in runs] == [len(workers), *made, 2 * len(by_code["pools"])]


def test_check_prints_which_rules_ran(tmp_path: pathlib.Path) -> None:
    (tmp_path / "Pulumi.prod-eu.yaml").write_text(GOOD, encoding="utf-8")
    words = ["check", str(tmp_path / "Pulumi.prod-eu.yaml"), "--policy", str(SHIPPED[0])]
    result = CliRunner().invoke(app, words)
    assert f"policy {SHIPPED[0]}: {SHIPPED[0].stem}: prod-eu: 0 faults, 0 warnings\n" in result.stdout


# --- the same as a policy pack ----------------------------------------------------------------------------------------


@dataclass
class Pack:
    """Stands in for Pulumi's policy SDK: keeps what the pack registers."""

    policies: list[Any] = field(default_factory=list[Any])

    def module(self) -> ModuleType:
        module = ModuleType("pulumi_policy")
        names: dict[str, Any] = {
            "EnforcementLevel": SimpleNamespace(MANDATORY="mandatory", ADVISORY="advisory"),
            "ResourceValidationArgs": SimpleNamespace,
            "ResourceValidationPolicy": lambda enforcement_level=None, **values: SimpleNamespace(
                level=enforcement_level or "mandatory", **values
            ),
            "PolicyPack": lambda policies, **_: self.policies.extend(policies),
        }
        vars(module).update(names)
        return module


@pytest.fixture(scope="module")
def pack() -> list[Any]:
    stand_in = Pack()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pulumi_policy", stand_in.module())
        runpy.run_path(str(PACK))
    return stand_in.policies


def broken(pack: list[Any], stack: str, registered: Iterable[RecordedResource]) -> set[tuple[str, str]]:
    """Level and rule of everything that the pack reports of a stack's resources."""
    values: set[tuple[str, str]] = set()
    for each in registered:
        urn = f"urn:pulumi:{stack}::berth::{each.type}::{each.name}"
        args = SimpleNamespace(
            resource_type=each.type, urn=urn, props=dict(each.inputs), opts=SimpleNamespace(protect=each.protect)
        )
        for policy in pack:
            policy.validate(args, lambda _, at=(policy.level, policy.name): values.add(at))
    return values


def refused(found: Evaluation) -> set[tuple[str, str]]:
    """Level and rule of everything that the policy files report, but for the rule that resources cannot show."""
    fleet = found.fleet_plan
    assert fleet is not None
    rules = {file.stem.replace("_", "-") for file in SHIPPED} - {"spot-for-low-priority"}
    if not any(place.owned for team in fleet.teams for place in team.namespaces):
        rules -= {"owner-label"}  # a namespace that somebody else made is no resource
    problems = apply_policies(found, SHIPPED, ROOT)[0].problems
    levels = {Severity.FAULT: "mandatory", Severity.WARNING: "advisory"}
    return {(levels[each.severity], each.code) for each in problems if each.code in rules}


def test_the_pack_holds_the_rules_that_resources_can_show(pack: list[Any]) -> None:
    shipped = {file.stem.replace("_", "-") for file in SHIPPED}
    assert {policy.name for policy in pack} == (shipped - {"spot-for-low-priority"}) | {"no-open-endpoint"}


@every_stack
def test_the_pack_and_the_files_agree_on_every_stack(pack: list[Any], stack: str) -> None:
    """Rule by rule: whether it is broken by the plan, and by the resources that come of it."""
    assert renamed(broken(pack, stack, resources(stack, preview=False))) == refused(evaluation(stack))


def renamed(found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pack needs a name for each level of a rule."""
    return {(level, name.replace("no-open-endpoint", "no-public-endpoint")) for level, name in found}


WORKERS = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {name: NAME, privateNodes: true, deletionProtection: true, controlPlane: {publicEndpoint: false}}
    protect: true
    workers:
      east:
        cluster: {privateNodes: true, deletionProtection: true, controlPlane: {publicEndpoint: false}}
        pools: {l4: {machineType: g2-standard-24, nodes: {max: 2}, zones: [us-central1-a]}}
      west:
        cluster: {privateNodes: true, deletionProtection: true, controlPlane: {publicEndpoint: false}}
        pools: {l4: {machineType: g2-standard-24, nodes: {max: 2}, zones: [us-central1-a]}}
    teams:
      a:
        labels: {owner: ada}
        queues: {one: {flavors: [{pool: l4, guaranteed: all}]}}
"""
MANAGER, EAST, WEST = range(3)
"""Each cluster's number in the order of the file, which is that of its keys in the text."""
PUBLIC = ("controlPlane: {publicEndpoint: false}", "controlPlane: {publicEndpoint: true}")
OPEN_NODES = (f"privateNodes: true, deletionProtection: true, {PUBLIC[0]}", f"privateNodes: false, {PUBLIC[1]}")
CLOSED_TO_ALL = (PUBLIC[0], "controlPlane: {authorizedNetworks: [{name: office, cidrBlock: 10.0.0.0/8}]}")
UNPROTECTED = ("deletionProtection: true", "deletionProtection: false")
PROTECTION, PUBLIC_NODES = ("mandatory", "deletion-protection"), ("mandatory", "private-nodes")
REFUSED_ENDPOINT, OPEN_ENDPOINT = ("mandatory", "no-public-endpoint"), ("advisory", "no-public-endpoint")
CASES: list[tuple[str, str, int | None, tuple[str, str] | None, set[tuple[str, str]]]] = [
    ("prod", "prod", None, None, set()),
    *(("prod", "dev", n, PUBLIC, {REFUSED_ENDPOINT}) for n in (MANAGER, EAST, WEST)),
    *(("dev", "prod", n, PUBLIC, {OPEN_ENDPOINT}) for n in (MANAGER, EAST, WEST)),
    ("prod-eu", "dev", WEST, CLOSED_TO_ALL, {REFUSED_ENDPOINT}),
    ("dev", "prod", EAST, CLOSED_TO_ALL, set()),
    ("prod", "x", WEST, UNPROTECTED, {PROTECTION}),
    *(("prod", "x", n, OPEN_NODES, {PUBLIC_NODES, REFUSED_ENDPOINT}) for n in (MANAGER, EAST)),
    ("prod", "x", None, ("protect: true", "protect: false"), {PROTECTION}),
    ("prod", "x", None, ("{owner: ada}", "{payer: ada}"), {("mandatory", "owner-label")}),
    ("prod", "x", None, ("labels: {owner: ada}", "namespaces: [{name: theirs, existing: true}]"), set()),
]
"""Stack, cluster, which cluster an edit is made in (None: the whole file), the edit, levels and rules of answers."""


@pytest.mark.parametrize(("stack", "cluster", "place", "edit", "expected"), CASES)
def test_files_and_pack_give_the_answers_of_one_table(
    pack: list[Any],
    tmp_path: pathlib.Path,
    stack: str,
    cluster: str,
    place: int | None,
    edit: tuple[str, str] | None,
    expected: set[tuple[str, str]],
) -> None:
    text = WORKERS.replace("NAME", cluster)
    if edit:
        old, new = edit
        parts = text.split(old)
        assert len(parts) == (2 if place is None else 4)
        parts[place or 0 : (place or 0) + 2] = [new.join(parts[place or 0 : (place or 0) + 2])]
        text = old.join(parts)
    (tmp_path / f"Pulumi.{stack}.yaml").write_text(text, encoding="utf-8")
    found = evaluate_stack(str(tmp_path / f"Pulumi.{stack}.yaml"), tmp_path, stack)
    assert [each.line() for each in found.faults] == []
    assert found.file is not None
    registered = run_program(ROOT, stack, found.file.fleet, {}, preview=False, answers=answers_with_tokens).resources
    assert renamed(broken(pack, stack, registered)) == refused(found) == expected
