"""Versions of ACK and machines of ECS against the dated table: known, refused, unknown."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from berth.catalog import fact_tables
from berth.catalog.alibaba import ack_minors, ecs_machines
from berth.diagnostics import Severity
from berth.evaluate import evaluate_values
from tests.problem_lines import line_without_code
from tests.stack_files import ROOT

BASE: dict[str, Any] = yaml.safe_load((ROOT / "tests/berth/bad_input/cases/ack.yaml").read_text(encoding="utf-8"))
A100 = "ecs.gn7e-c16g1.32xlarge"
TABLE = fact_tables()["alibaba"].dated_name
NEWEST = 'write "1.36", or remove version for ACK\'s newest'


def lines(fleet: dict[str, Any]) -> list[str]:
    """Faults and warnings of a fleet."""
    problems = evaluate_values("x", fleet).problems
    return [line_without_code(each) for each in problems if each.severity != Severity.NOTE]


def fleet() -> dict[str, Any]:
    return copy.deepcopy(BASE["config"]["berth:fleet"])


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ("ap-southeast-1", []),
        ("us-east-1", ["lists no fleets in 'us-east-1'; it lists cn-hangzhou, "]),
        ("cn-atlantis", ["'cn-atlantis' is unknown: it is not in Berth's table of ACK regions"]),
    ],
)
def test_a_region_has_fleets_or_none_or_is_unknown(region: str, words: list[str]) -> None:
    value = fleet()
    value["ack"]["region"] = region
    said = lines(value)
    assert len(said) == len(words)
    assert all(each in line for each, line in zip(words, said, strict=True))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("1.36", None),
        ("1.35.2-aliyun.1", None),
        (
            "1.34",
            "ACK's support of '1.34' ended on or before 2026-09-30, and it creates clusters of its newest three minors "
            f"alone; {NEWEST}",
        ),
        (
            "1.10",
            "ACK's support of '1.10' ended on or before 2022-03-31, and it creates clusters of its newest three minors "
            f"alone; {NEWEST}",
        ),
        ("1.29", f"'1.29' was never a version of ACK, which had even minors alone before 1.31; {NEWEST}"),
        (
            "1.40",
            f"'1.40' is unknown: it is not in {TABLE}, so whether ACK has it and its support are not checked; compare "
            "it with ACK's page on supported versions, or remove version for ACK's newest",
        ),
    ],
)
def test_a_version_is_known_past_or_unknown(version: str, message: str | None) -> None:
    value = fleet()
    value["ack"]["clusters"]["east"]["version"] = version
    assert lines(value) == ([] if message is None else [f"warning: ack.clusters.east.version: {message}"])


@pytest.mark.parametrize(
    ("key", "written", "line"),
    [
        ("gpus", 64, f"ack.instanceTypes.\"{A100}\".gpus: '64' is more than the 8 of {A100}; write 8"),
        ("cpu", 129, f"ack.instanceTypes.\"{A100}\".cpu: '129' is more than the 128 of {A100}; write 128"),
        (
            "memory",
            "1001Gi",
            f"ack.instanceTypes.\"{A100}\".memory: '1001Gi' is more than the 1000Gi of {A100}; write 1000Gi",
        ),
        (
            "gpu",
            "H100",
            f"warning: ack.instanceTypes.\"{A100}\".gpu: 'H100' is another GPU than the A100 of {A100} in {TABLE}; "
            "write A100",
        ),
    ],
)
def test_a_machine_is_not_believed_to_hold_more_than_it_does(key: str, written: object, line: str) -> None:
    value = fleet()
    value["ack"]["instanceTypes"][A100][key] = written
    assert line in lines(value)


def test_less_than_the_machine_has_and_a_longer_name_of_its_gpu_are_accepted() -> None:
    value = fleet()
    value["ack"]["instanceTypes"][A100].update(cpu=120, memory="900Gi", gpu="A100-SXM4-80GB")
    assert lines(value) == []


def test_a_machine_of_the_table_needs_no_description() -> None:
    described, short = fleet(), fleet()
    del short["ack"]["instanceTypes"]
    assert lines(short) == []
    plans = [evaluate_values("x", each).plan for each in (described, short)]
    assert plans[0] == plans[1] is not None


def test_a_machine_that_no_table_has_is_unknown() -> None:
    value = fleet()
    value["ack"]["instanceTypes"]["ecs.gn10x.2xlarge"] = {"gpu": "B1", "gpus": 1, "cpu": 8, "memory": "8Gi"}
    assert lines(value) == [
        f"warning: ack.instanceTypes.\"ecs.gn10x.2xlarge\": 'ecs.gn10x.2xlarge' is unknown: it is not in {TABLE}, so "
        "its GPUs, vCPUs and memory are not checked; compare them with the page of its family, or update Berth"
    ]


def test_a_machine_whose_gpu_no_source_names_is_described() -> None:
    value = fleet()
    del value["ack"]["instanceTypes"]
    for member in value["ack"]["clusters"].values():
        member["nodePools"]["a100"]["instanceType"] = "ecs.gn8v-8x.48xlarge"
    assert lines(value)[0] == (
        "ack.clusters.east.nodePools.a100.instanceType: unknown instance type 'ecs.gn8v-8x.48xlarge'; describe "
        "it under ack.instanceTypes, such as {gpu: A100, gpus: 8, cpu: 128, memory: 1024Gi}"
    )


def test_the_table_is_what_the_names_of_sizes_say() -> None:
    """A second way to the vCPUs: n in nxlarge is 4 each, but for the two that ECS's page has otherwise."""
    odd = {"ecs.gn6v-c10g1.20xlarge": 82, "ecs.gn5-c8g1.14xlarge": 54}
    for name, machine in ecs_machines().items():
        size = name.rpartition(".")[2].removesuffix("large")
        by_name = 2 if size == "" else 4 * int(size.removesuffix("x") or 1)
        assert machine.cpu == odd.get(name, by_name), name
        assert machine.gpus in (1, 2, 4, 8) and machine.memory >= machine.cpu * 2
    assert len(ecs_machines()) == 85
    minors = [tuple(map(int, each.split("."))) for each in ack_minors()]
    assert minors == sorted(minors) and all(minor[1] % 2 == 0 or minor >= (1, 31) for minor in minors)
