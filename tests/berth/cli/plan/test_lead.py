"""`berth plan --team`: every figure a second way, in one screen."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.jobs.pod_set import PodSet
from berth.simulator.fleet import build_simulated_fleet
from berth.simulator.scheduler.model import Job
from berth.simulator.scheduler.simulate import Simulator
from tests.stack_files import ALL_STACKS, evaluation, plan_json


def answer(stack: str, team: str, *words: str) -> str:
    done = CliRunner().invoke(app, ["plan", str(ALL_STACKS[stack]), "--team", team, *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def teams() -> list[tuple[str, str]]:
    return [(stack, team["name"]) for stack in ("dev", "gpu-rdma") for team in plan_json(stack)["teams"]]


@pytest.mark.parametrize(("stack", "team"), teams())
def test_the_answer_fits_one_screen_and_has_the_figures_of_the_plan(stack: str, team: str) -> None:
    assert len(answer(stack, team).splitlines()) <= 40
    value = json.loads(answer(stack, team, "--json"))
    (planned,) = (each for each in plan_json(stack)["teams"] if each["name"] == team)
    guaranteed: dict[str, int] = {}
    for row in value["mine"]:
        if "(with " not in row["queue"]:
            amount = int(row["guaranteed"].split(",")[0])
            guaranteed[row["flavor"]] = guaranteed.get(row["flavor"], 0) + amount
    assert {name: amount for name, amount in guaranteed.items() if amount} == {
        name: amount for name, amount in planned["guaranteed"].items() if amount
    }


def test_what_borrows_is_taken_back_and_what_is_guaranteed_is_not() -> None:
    """By simulation: vision-train uses its ceiling of v5e, then a job of speech-train wants its guarantee."""
    value = json.loads(answer("dev", "vision", "--json"))
    (line,) = (each for each in value["taken"] if "of v5e above 8" in each)
    assert line == (
        "vision-train: what it uses of v5e above 8 (at most 16), when jobs of language-train and speech-train need "
        "their guarantee"
    )
    plan = evaluation("dev").fleet_plan
    assert plan is not None
    for owner in ("language-train", "speech-train"):
        for held, is_taken in ((8, False), (24, True)):
            simulator = Simulator(build_simulated_fleet(plan).setup)
            simulator.submit(job("mine", "vision-train", held))
            assert simulator.workloads["mine"].has_quota()
            simulator.submit(job("theirs", owner, 8))
            assert simulator.workloads["theirs"].has_quota()
            assert simulator.workloads["mine"].has_quota() != is_taken


def job(name: str, queue: str, chips: int) -> Job:
    return Job(
        name=name, queue=queue, priority=10,
        pod_sets=(PodSet(name="main", count=chips // 4, requests={"google.com/tpu": 4}),),
    )  # fmt: skip


def test_a_hold_a_loss_and_a_return_are_answered() -> None:
    value = json.loads(answer("dev", "language", "--json"))
    events = {each["event"]: each["then"] for each in value["events"]}
    assert [*events] == ["spot loss", "node failure", "upgrade of nodes", "hold of a queue", "a neighbour's return"]
    assert events["spot loss"] == "on l4-spot: its pods there end; its quota stays 1h, then it is queued again"
    assert "language-batch: l4-spot, at any time, Google Cloud (spot machines)" in value["taken"]
    assert re.search("at most 600 s", events["a neighbour's return"])


def test_an_exclusion_of_upgrades_is_told_with_its_end() -> None:
    """The stack dev has one without a date, which lasts as long as GKE supports the version."""
    (row,) = re.findall(r"^  upgrade of nodes .*", answer("dev", "vision"), re.MULTILINE)
    assert row.endswith("GKE upgrades at any time, not from 2026-12-01 until the end of support")


def test_a_team_that_is_not_there_gets_the_nearest_name() -> None:
    done = CliRunner().invoke(app, ["plan", "dev", "--team", "visio"])
    assert (done.exit_code, done.stderr) == (1, "no team 'visio' in dev; did you mean 'vision'?\n")
