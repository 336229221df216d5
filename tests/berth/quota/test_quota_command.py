"""`berth quota` as people run it: tables, JSON, exit statuses, and stacks that need no quota."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

ANSWERS = Path(__file__).with_name("answers")


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def run(stack: str, *options: str) -> Any:
    """The verb on an example."""
    name = f"stacks/examples/{stack}.yaml" if stack not in ("dev", "local") else stack
    return CliRunner().invoke(app, ["quota", name, *options])


def have(*names: str) -> list[str]:
    """Options for recorded answers."""
    return [word for name in names for word in ("--have", str(ANSWERS / f"{name}.json"))]


def rows(output: str) -> dict[str, str]:
    """First word of each indented row → the rest, with single spaces."""
    lines = (line.split() for line in output.splitlines() if line.startswith("  "))
    return {words[0]: " ".join(words[1:]) for words in lines}


def test_the_table_has_the_needs_of_batch_platform() -> None:
    result = run("batch-platform")
    assert result.exit_code == 0
    assert rows(result.output)["NVIDIA_L4_GPUS"] == "us-central1 on-demand, reservation 8 56 +2 GPUs"
    assert "  COMMITTED_NVIDIA_L4_GPUS in us-central1: 8 GPUs" in result.output.splitlines()
    assert "Not certain" not in result.output


def test_the_page_shows_rows_of_the_table() -> None:
    """docs/quota.md quotes two lines, and the numbers of its last table are those of the verb."""
    page = (ROOT / "docs" / "quota.md").read_text(encoding="utf-8")
    output = run("batch-platform").output
    quoted = [line for line in page.splitlines() if line.startswith(("  NVIDIA", "  PREEMPTIBLE", "Project "))]
    assert len(quoted) == 3
    assert [line for line in quoted if line not in output] == []
    table = page.partition("## The example batch-platform")[2].partition("## Sources")[0]
    for metric in ("NVIDIA_L4_GPUS", "PREEMPTIBLE_NVIDIA_L4_GPUS", "CPUS", "PREEMPTIBLE_CPUS", "GPUS_ALL_REGIONS"):
        *_, maximum, upgrade, _unit = rows(output)[metric].split()
        assert f"| {maximum}, and {upgrade[1:]} in an upgrade |" in table


def test_a_region_and_a_project_report_shortages() -> None:
    """By hand: 56 + 72 + 28 + 8 GPUs against 64; CPUS 600 against 696 and, without preemptible quota, 36 × 24 more."""
    result = run("batch-platform", *have("region", "project"))
    output = rows(result.output)
    assert result.exit_code == 1
    assert output["CPUS"] == (
        "us-central1 120–1560 600 24 vCPUs short by 960 (used instead of PREEMPTIBLE_CPUS, which is 0)"
    )
    assert output["PREEMPTIBLE_NVIDIA_L4_GPUS"] == "us-central1 0–72 16 0 GPUs short by 56"
    assert output["GPUS_ALL_REGIONS"] == "global 8–164 64 0 GPUs short by 100"
    assert output["NVIDIA_L4_GPUS"] == "us-central1 8–56 60 0 GPUs enough"
    assert output["ACTIVE_RESIZE_REQUESTS"] == "us-central1 0–11 – – requests not in these answers"
    assert result.output.splitlines()[-1] == "batch-platform: 21 quotas, 4 short, 6 not in these answers"
    assert (
        "  gcloud beta quotas preferences create --project=my-project --service=compute.googleapis.com "
        "--quota-id=GPUS-ALL-REGIONS-per-project --preferred-value=166"
    ) in result.output.splitlines()


def test_cloud_quotas_reports_shortage_of_a_family() -> None:
    result = run("multikueue", *have("quota_infos"))
    short = [line.split() for line in result.output.splitlines() if "short by" in line]
    assert result.exit_code == 1
    assert [words[1:4] + words[-10:] for words in short] == [
        ["gpu_family=NVIDIA_H100", place, need, *f"short by {by}, and by {by} for the first pulumi up".split()[-10:]]
        for place, need, by in (("us-central1", "64", 32), ("us-east5", "32", 32))
    ]
    assert "--dimensions=region=us-east5,gpu_family=NVIDIA_H100" in result.output


def test_service_usage_lacks_only_the_quota_of_all_gpus() -> None:
    """By hand: 56 + 72 + 28 + 8 GPUs against 160."""
    result = run("batch-platform", *have("service_usage"))
    assert result.exit_code == 1
    short = [name for name, row in rows(result.output).items() if "short by" in row]
    assert short == ["GPUS_ALL_REGIONS"]
    assert rows(result.output)["GPUS_ALL_REGIONS"] == "global 8–164 160 – GPUs short by 4"
    assert result.output.splitlines()[-1] == "batch-platform: 21 quotas, 1 short, 13 not in these answers"


def test_json_has_the_same() -> None:
    result = run("batch-platform", "--json", *have("region"))
    quotas = {quota["metric"]: quota for quota in json.loads(result.output)["quotas"]}
    assert result.exit_code == 1
    l4 = quotas["PREEMPTIBLE_NVIDIA_L4_GPUS"]
    assert {key: l4[key] for key in ("quotaId", "location", "minimum", "maximum", "limit", "usage", "shortBy")} == {
        "quotaId": "PREEMPTIBLE-NVIDIA-L4-GPUS-per-project-region",
        "location": "us-central1",
        "minimum": 0,
        "maximum": 72,
        "limit": 16,
        "usage": 0,
        "shortBy": 56,
    }
    assert l4["neededBy"] == [{"path": "pools.spot-np", "capacity": "spot", "minimum": 0, "maximum": 72, "upgrade": 2}]
    assert quotas["CPUS"]["insteadOf"] == ["PREEMPTIBLE_CPUS"]
    assert quotas["COMMITTED_NVIDIA_L4_GPUS"]["status"] == "optional"
    assert quotas["ACTIVE_RESIZE_REQUESTS"]["status"] == "not-listed"
    needs = json.loads(run("batch-platform", "--json").output)
    assert "status" not in needs["quotas"][0]


def test_a_stack_without_machines_of_google_needs_none() -> None:
    assert run("local").output == "local creates no cluster on Google Cloud, so it needs no quota\n"
    for stack, what in (("ack-fleet", "a fleet on Alibaba Cloud"), ("team-a", "a team's own stack")):
        result = run(stack)
        assert result.exit_code == 2
        assert f"'{stack}' is {what}, which needs no Google Cloud quota" in " ".join(result.output.split())


def test_a_faulty_answer_is_one_line_and_exit_1(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    region = json.loads((ANSWERS / "region.json").read_text(encoding="utf-8"))
    region["selfLink"] = region["selfLink"].replace("my-project", "other")
    file.write_text(json.dumps(region), encoding="utf-8")
    result = run("batch-platform", "--have", str(file), "--have", str(tmp_path / "none.json"))
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{file}: error: an answer of project 'other', and the fleet is in my-project [quota-project]",
        f"error: no file '{tmp_path / 'none.json'}' [no-file]",
        "2 errors",
    ]


def test_every_project_of_a_fleet_is_named() -> None:
    assert run("dev").output.splitlines()[0] == "dev needs 17 quotas in acme-ml-dev"


def changed_region(folder: Path, metric: str, **values: float) -> Path:
    """The recorded region with other values of one quota."""
    region = json.loads((ANSWERS / "region.json").read_text(encoding="utf-8"))
    row = next(each for each in region["quotas"] if each["metric"] == metric)
    row.update(values)
    file = folder / "newer.json"
    file.write_text(json.dumps(region), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("metric", "values", "words"),
    [
        ("CPUS", {"limit": 900.0}, "the limit of CPUS in us-central1 is 900, and 600 in"),
        ("CPUS", {"usage": 300.0}, "the usage of CPUS in us-central1 is 300, and 24 in"),
        ("CPUS", {"limit": -1.0}, "the limit of CPUS in us-central1 is unlimited, and 600 in"),
        ("SSD_TOTAL_GB", {"limit": 1.0}, "the limit of SSD_TOTAL_GB in us-central1 is 1, and 40960 in"),
    ],
)
def test_two_answers_that_differ_are_a_fault_with_both_places(
    metric: str, values: dict[str, float], words: str, tmp_path: Path
) -> None:
    file, first = changed_region(tmp_path, metric, **values), ANSWERS / "region.json"
    listed = [each["metric"] for each in json.loads(first.read_text(encoding="utf-8"))["quotas"]]
    at = f"quotas[{listed.index(metric)}]"
    result = run("batch-platform", *have("region"), "--have", str(file))
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{file}: {at}: error: {words} {first}: {at}; give the newer answer alone [quota-answer]"
    ]


def test_one_file_can_contradict_itself(tmp_path: Path) -> None:
    region = json.loads((ANSWERS / "region.json").read_text(encoding="utf-8"))
    region["quotas"] += [{"limit": 601.0, "metric": "CPUS", "usage": 24.0}]
    file = tmp_path / "region.json"
    file.write_text(json.dumps(region), encoding="utf-8")
    (line,) = run("batch-platform", "--have", str(file)).output.splitlines()
    assert "the limit of CPUS in us-central1 is 601, and 600 in" in line and line.count(str(file)) == 2


def test_answers_that_agree_may_be_given_twice() -> None:
    once, twice = run("batch-platform", *have("region")), run("batch-platform", *have("region", "region"))
    assert (twice.exit_code, twice.output) == (once.exit_code, once.output)


def test_a_quota_that_the_fleet_does_not_need_may_differ(tmp_path: Path) -> None:
    file = changed_region(tmp_path, "RESERVATIONS", limit=1.0)
    assert "quota-answer" not in run("dev", "--have", str(file)).output
