"""`berth mcp`: written tasks, asked through a client of the protocol, with answers that are computed a second way."""

from __future__ import annotations

import asyncio
import json
import pathlib
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import yaml

from berth.evaluate import evaluate_stack
from berth.manifests.fleet import all_manifests
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.scheduler.simulate import Simulator
from tests.stack_files import ROOT

mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

JOB = (ROOT / "stacks" / "jobs" / "train.yaml").read_text(encoding="utf-8")
EDITS = {
    "urgent": ("guaranteed: 8, borrow: 8", "guaranteed: 6, borrow: 8", {"vision"}),
    "spot": ("{pool: l4-spot, guaranteed: all}", "{pool: l4-spot, guaranteed: 50%}", {"language"}),
    "train": ("{pool: v5e, guaranteed: 1 slice, borrow: 2 slices}", "{pool: v5e, borrow: 2 slices}", {"vision"}),
    "reserved": ("{pool: l4-reserved, guaranteed: 50%}", "{pool: l4-reserved, guaranteed: 25%}", {"vision"}),
    "same": ("# a list: the order is the preference", "", set[str]()),
}
"""A change of dev: text, replacement, and the teams that lose guaranteed chips by it."""
CODES = ("overcommitted", "bad-topology", "unknown-reference", "above-ceiling", "no-workload", "duplicate-key")


class Task(NamedTuple):
    """A question, the tool that answers it, where the answer is, and the second way."""

    question: str
    tool: str
    arguments: dict[str, Any]
    read: Callable[[Any], Any]
    second: Callable[[], Any]


def rendered(stack: str) -> list[dict[str, Any]]:
    plan = evaluate_stack(stack, ROOT).fleet_plan
    assert plan is not None
    return [json.loads(json.dumps(each)) for each in all_manifests(plan)]


def quota_of(team: str, flavor: str, resource: str) -> int:
    """Sum the nominal quota of the cluster queues behind a team's local queues, as rendered for the cluster."""
    objects = rendered("dev")
    names = {
        each["spec"]["clusterQueue"]
        for each in objects
        if each["kind"] == "LocalQueue" and each["metadata"]["namespace"] == team
    }
    return sum(
        int(quota.get("nominalQuota", 0))
        for each in objects
        if each["kind"] == "ClusterQueue" and each["metadata"]["name"] in names
        for group in each["spec"]["resourceGroups"]
        for entry in group["flavors"]
        if entry["name"] == flavor
        for quota in entry["resources"]
        if quota["name"] == resource
    )


def ceiling_of(team: str, flavor: str, resource: str) -> int:
    """Return the most that the one queue of a team with a flavor can use, in the simulation of Kueue."""
    plan = evaluate_stack("dev", ROOT).fleet_plan
    assert plan is not None
    fleet = build_simulated_fleet(plan)
    states = Simulator(fleet.setup).queue_states
    (queue,) = (
        name
        for (namespace, _), name in fleet.local_queues.items()
        if namespace == team and (flavor, resource) in states[name].node.quotas
    )
    return states[queue].node.quota_state((flavor, resource)).ceiling


def team_figure(team: str, key: str, flavor: str) -> Callable[[Any], Any]:
    return lambda answer: next(each for each in answer["teams"] if each["name"] == team)[key].get(flavor, 0)


def losers(answer: Any) -> set[str]:
    rows = answer["entitlements"]["entitlements"]
    return {row["team"] for row in rows if row["guaranteed"]["after"] < row["guaranteed"]["before"]}


def job(chips: int, queue: str) -> str:
    return (
        "apiVersion: batch/v1\nkind: Job\n"
        f"metadata: {{name: j, namespace: vision, labels: {{kueue.x-k8s.io/queue-name: {queue}}}}}\n"
        "spec:\n  suspend: true\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n"
        "      - name: c\n        image: python:3\n"
        f"        resources: {{requests: {{nvidia.com/gpu: {chips}, cpu: 1}}, limits: {{nvidia.com/gpu: {chips}}}}}\n"
    )


def tasks() -> list[Task]:
    gpu, tpu = "nvidia.com/gpu", "google.com/tpu"
    shares = [
        *(("vision", flavor, gpu) for flavor in ("l4-reserved", "l4-on-demand")),
        *(("speech", flavor, gpu) for flavor in ("l4-reserved", "l4-on-demand")),
        ("language", "l4-spot", gpu),
        *((team, "v5e", tpu) for team in ("vision", "speech", "language")),
    ]
    found: list[Task] = []
    for team, flavor, resource in shares:
        found += [
            Task(
                f"How much of {flavor} is {team} guaranteed?", "plan", {"stack": "dev"},
                team_figure(team, "guaranteed", flavor), lambda key=(team, flavor, resource): quota_of(*key),
            ),
            Task(
                f"What is the most that {team} can use of {flavor}?", "plan", {"stack": "dev"},
                team_figure(team, "ceiling", flavor), lambda key=(team, flavor, resource): ceiling_of(*key),
            ),
            Task(
                f"I lead {team}: what of {flavor} is mine?", "plan", {"stack": "dev", "team": team},
                lambda answer, name=flavor: sum(
                    int(row["guaranteed"].split(",")[0]) for row in answer["mine"] if row["flavor"] == name
                ),
                lambda key=(team, flavor, resource): quota_of(*key),
            ),
        ]  # fmt: skip
    found += [
        Task(f"Which team loses chips in the change {name}?", "diff", {"old": "dev", "new": name}, losers,
             lambda expected=expected: expected)
        for name, (_, _, expected) in EDITS.items()
    ]  # fmt: skip
    found += [
        Task(f"What does the code {code} mean?", "explain", {"code": code},
             lambda answer: " ".join(answer.partition("Cause:")[2].partition("What to do:")[0].split()),
             lambda code=code: cause_of(code))
        for code in CODES
    ]  # fmt: skip
    for gpus in (1, 2, 4):
        found.append(
            Task(f"Can a pod with {gpus} L4 run in vision/urgent?", "lint",
                 {"stack": "dev", "manifest": job(gpus, "urgent")},
                 lambda answer: answer["objects"][0]["verdict"], lambda gpus=gpus: "runs" if gpus <= 2 else "never")
        )  # fmt: skip
        found.append(
            Task(f"Is a job of {gpus} L4 admitted to the empty fleet?", "admit",
                 {"stack": "dev", "manifest": job(gpus, "urgent")},
                 is_admitted,
                 lambda gpus=gpus: gpus <= 2)
        )  # fmt: skip
    found += [
        Task("Write the queue for this job: what is the one it names called in the cluster?", "lint",
             {"stack": "dev", "manifest": JOB}, lambda answer: answer["objects"][0]["queue"], queue_of_job),
        Task("What if the queue is misspelt?", "lint", {"stack": "dev", "manifest": job(1, "urgnt")},
             lambda answer: answer["objects"][0]["verdict"], lambda: "never"),
    ]  # fmt: skip
    found += [
        Task(f"Is {name} sound?", "check", {"stack": f"stacks/examples/{name}.yaml"},
             lambda answer: answer["stacks"][0]["sound"],
             lambda: True)
        for name in ("multislice", "dws", "cpu-batch", "gpu-rdma", "batch-platform", "multislice-autopilot")
    ]  # fmt: skip
    found.append(
        Task("Is a file sound that guarantees more than there is?", "check", {"stack": "broken"},
             lambda answer: answer["stacks"][0]["sound"], lambda: False)
    )  # fmt: skip
    found += [
        Task(f"How many nodes does pool {pool} have at most?", "plan", {"stack": "dev"},
             lambda answer, pool=pool: next(p for p in answer["pools"] if p["name"] == pool)["nodes"]["max"],
             lambda most=most: most)
        for pool, most in (("v5e", 6), ("l4-reserved", 4), ("l4-on-demand", 12), ("l4-spot", 24))
    ]  # fmt: skip
    return found


def is_admitted(answer: Any) -> bool:
    return any(row["status"] == "admitted" for step in answer.get("steps", ()) for row in step["changes"])


def cause_of(code: str) -> str:
    sections = yaml.safe_load((ROOT / "berth" / "diagnostics" / "faults.yaml").read_text(encoding="utf-8")).values()
    return str(next(section[code]["cause"] for section in sections if code in section))


def queue_of_job() -> str:
    """Return team and local queue that the job's label and the rendered local queues name."""
    labels = next(yaml.safe_load_all(JOB))["metadata"]
    name = labels["labels"]["kueue.x-k8s.io/queue-name"]
    found = [
        each["metadata"]
        for each in rendered("dev")
        if each["kind"] == "LocalQueue" and each["metadata"]["name"] == name
        and each["metadata"]["namespace"] == labels.get("namespace", "vision")
    ]  # fmt: skip
    return f"{found[0]['namespace']}/{found[0]['name']}"


TASKS = tasks()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The structured answers of all tasks, from one session of the protocol."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copy(ROOT / name, folder / name)
    for part in ("teams", "examples"):
        shutil.copytree(ROOT / "stacks" / part, folder / "stacks" / part)
    text = (ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    for name, (old, new, _) in EDITS.items():
        assert old in text
        (folder / f"Pulumi.{name}.yaml").write_text(text.replace(old, new), encoding="utf-8")
    (folder / "Pulumi.broken.yaml").write_text(text.replace("slices: 3", "slices: 2"), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return asyncio.run(_ask())


async def _ask() -> list[dict[str, Any]]:
    from mcp import Client

    from berth.cli.mcp.server import build_server

    async with Client(build_server()) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["check", "plan", "lint", "admit", "explain", "diff"]
        results = [await client.call_tool(task.tool, task.arguments) for task in TASKS]
    return [each.structured_content or {} for each in results]


def test_there_are_fifty_tasks_that_differ() -> None:
    assert len({task.question for task in TASKS}) == len(TASKS) >= 50
    assert {task.tool for task in TASKS} == {"check", "plan", "lint", "admit", "explain", "diff"}


@pytest.mark.parametrize("index", range(len(TASKS)), ids=[task.question for task in TASKS])
def test_the_answer_is_that_of_a_second_way(index: int, answers: list[dict[str, Any]]) -> None:
    task, answer = TASKS[index], answers[index]
    assert task.read(answer["answer"]) == task.second(), answer


def test_a_word_that_looks_like_an_option_is_none() -> None:
    """An assistant cannot load a policy file, which is Python, through the name of a stack."""
    from berth.cli.mcp.server import check

    answer = check("--policy=evil.py")
    assert answer["exit"] == 1
    assert answer["answer"]["stacks"][0]["problems"][0]["code"] == "no-file"


@pytest.mark.parametrize("stack", ["/etc/passwd", "../outside.yaml", "link.yaml", "Pulumi.dev.yaml/../../outside.yaml"])
def test_no_tool_reads_a_file_outside_the_project(
    stack: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from berth.cli.mcp.server import check, diff, plan

    (tmp_path / "outside.yaml").write_text("root:x:0: a secret line\n", encoding="utf-8")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    (folder / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    monkeypatch.chdir(folder)
    for answer in (check(stack), plan(stack), diff("dev", stack), diff(stack, "dev")):
        assert answer["exit"] == 1
        assert answer["messages"] == [
            f"{stack}: error: not in the folder of the project, which is all that berth mcp reads"
        ]


def test_no_name_or_revision_leads_out_of_the_project(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from berth.cli.mcp.server import check, diff

    secret = tmp_path / "outside.yaml"
    secret.write_text("root:x:0: a secret line\n", encoding="utf-8")
    folder = tmp_path / "project"
    (folder / "below").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    for link in ("Pulumi.leak.yaml", "link.yaml"):
        (folder / link).symlink_to(secret)
    monkeypatch.chdir(folder)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "Pulumi.yaml"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    refused = [diff(f"HEAD:{stack}", "dev") for stack in (str(secret), f"../..{secret}")]
    refused += [check("leak"), diff("leak", "dev")]
    monkeypatch.chdir(folder / "below")
    refused.append(check("link.yaml"))
    for answer in refused:
        assert answer["exit"] == 1
        assert "secret" not in str(answer)
        assert "root:x" not in str(answer)
        (message,) = answer["messages"]
        assert "the project" in message
    assert check("a\0b")["answer"]["stacks"][0]["problems"][0]["code"] == "no-file"


def test_the_command_speaks_the_protocol_on_stdin_and_stdout(tmp_path: pathlib.Path) -> None:
    import sys

    from mcp import Client, StdioServerParameters

    async def ask() -> Any:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "berth", "mcp"], env={"PYTHONPATH": str(ROOT)}, cwd=ROOT
        )
        async with Client(server) as client:
            return await client.call_tool("explain", {"code": "overcommitted"})

    answer = asyncio.run(ask())
    assert answer.structured_content["answer"].startswith("overcommitted: a fault of berth check")
