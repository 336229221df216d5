"""Answers of gcloud, Service Usage and Cloud Quotas: what is read of each form, and each way in which one is broken."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from berth.catalog import quota_table
from berth.quota.answers import COMMANDS, Answers, read_answers

ANSWERS = Path(__file__).with_name("answers")
"""One file of each form. The keys are those of Google's API descriptions; the numbers are chosen."""
TABLE = quota_table()
L4, A100 = TABLE.accelerators["nvidia-l4"], TABLE.accelerators["nvidia-tesla-a100"]
H100, V6E = TABLE.accelerators["nvidia-h100-80gb"], TABLE.accelerators["tpu-v6e-slice"]
COUNT = "is not a count: 0 or more, or -1 for unlimited [bad-value]"
NO_ANSWER = f"not an answer about quotas; write one with {COMMANDS} [quota-answer]"


def read(*names: str) -> Answers:
    """The values of recorded answers."""
    answers, problems = read_answers([ANSWERS / f"{name}.json" for name in names], ["my-project"], ["us-central1"])
    assert problems == ()
    return answers


def test_a_region_has_limits_and_usage() -> None:
    result = read("region").limit_of(TABLE.series["g2"].cpus or L4.standard, "my-project", "us-central1")
    assert result is not None
    assert (result.limit, result.usage, result.project) == (600, 24, "my-project")
    assert read("region").limit_of(L4.standard, "my-project", "us-east5") is None
    assert read("region").limit_of(H100.standard, "my-project", "us-central1") is None


def test_a_project_has_global_limits() -> None:
    result = read("project").limit_of(TABLE.counts["gpus"], "my-project", "global")
    assert result is not None
    assert (result.limit, result.locations) == (64, ("global",))


def test_service_usage_has_a_default_and_values_of_regions() -> None:
    answers = read("service_usage")
    values = [answers.limit_of(L4.preemptible, "my-project", place) for place in ("us-central1", "us-east5")]
    assert [value.limit if value else None for value in values] == [80, 1]
    ssd = answers.limit_of(TABLE.disks["pd-balanced"], "my-project", "us-central1")
    cpus = answers.limit_of(TABLE.counts["vcpus"], "my-project", "global")
    assert ssd is not None and ssd.limit == 40960
    assert cpus is not None and cpus.limit == -1


def test_cloud_quotas_has_values_of_families() -> None:
    answers = read("quota_infos")
    h200, b200 = TABLE.accelerators["nvidia-h200-141gb"].standard, TABLE.accelerators["nvidia-b200"].standard
    gb200 = TABLE.accelerators["nvidia-gb200"].standard
    values = [answers.limit_of(metric, "my-project", "us-central1") for metric in (H100.standard, h200, b200, gb200)]
    assert [each.limit if each else None for each in values] == [32, 16, 0, 0]
    east = answers.limit_of(H100.preemptible, "my-project", "us-east5")
    assert east is not None and east.limit == 8


def test_a_limit_of_zones_is_not_that_of_the_region() -> None:
    """TPU_LITE_PODSLICE_V5 has both, and the one of zones is usually unlimited."""
    v5e = TABLE.accelerators["tpu-v5-lite-podslice"].standard
    result = read("quota_infos").limit_of(v5e, "my-project", "us-central1")
    assert result is not None and result.limit == 64


def test_answers_under_the_keys_of_the_apis_are_the_same(tmp_path: Path) -> None:
    """What curl prints of the REST methods: {metrics: …}, {quotaInfos: …}, {items: …}."""
    for name, key in (("service_usage", "metrics"), ("quota_infos", "quotaInfos"), ("region", "items")):
        value = json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8"))
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({key: value if isinstance(value, list) else [value]}), encoding="utf-8")
        wrapped, problems = read_answers([file], ["my-project"], ["us-central1"])
        assert problems == ()
        placeless = [[replace(each, place="") for each in answers.limits] for answers in (wrapped, read(name))]
        assert placeless[0] == placeless[1] != []


def _set(path: str, value: object) -> Callable[[Any], Any]:
    """Put a value in at a dotted path; `...` takes it out."""

    def change(answer: Any) -> Any:
        *parents, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
        node = answer
        for step in parents:
            node = node[step]
        if value is ...:
            del node[last]
        else:
            node[last] = value
        return answer

    return change


BUCKET = "0.consumerQuotaLimits.0.quotaBuckets.1"
BROKEN: dict[str, tuple[str, Callable[[Any], Any], list[str]]] = {
    "a region of another project": (
        "region",
        _set("selfLink", "https://www.googleapis.com/compute/v1/projects/other/regions/us-central1"),
        ["an answer of project 'other', and the fleet is in my-project [quota-project]"],
    ),
    "a project of another name": (
        "project",
        _set("selfLink", "https://www.googleapis.com/compute/v1/projects/my-proj"),
        ["an answer of project 'my-proj', and the fleet is in my-project [quota-project]"],
    ),
    "another region": (
        "region",
        _set("name", "us-east99"),
        ["an answer of 'us-east99', and the fleet is in us-central1 [quota-region]"],
    ),
    "a limit that is text": ("region", _set("quotas.0.limit", "many"), [f"quotas[0].limit: 'many' {COUNT}"]),
    "a limit that is null": ("region", _set("quotas.0.limit", None), [f"quotas[0].limit: nothing {COUNT}"]),
    "a limit that is true": ("region", _set("quotas.0.limit", True), [f"quotas[0].limit: 'true' {COUNT}"]),
    "a limit below -1": ("region", _set("quotas.0.limit", -2.0), [f"quotas[0].limit: '-2.0' {COUNT}"]),
    "an infinite limit": ("region", _set("quotas.0.limit", float("inf")), [f"quotas[0].limit: 'inf' {COUNT}"]),
    "no limit at all": (
        "region",
        _set("quotas.0.limit", ...),
        [f"quotas[0]: 'limit' is missing; write the answer again with {COMMANDS} [missing-key]"],
    ),
    "no metric": (
        "region",
        _set("quotas.1.metric", ...),
        [f"quotas[1]: 'metric' is missing; write the answer again with {COMMANDS} [missing-key]"],
    ),
    "a metric that is a number": (
        "region",
        _set("quotas.1.metric", 7),
        ["quotas[1].metric: '7' is not the name of a metric [bad-value]"],
    ),
    "a usage that is text": ("region", _set("quotas.1.usage", "some"), [f"quotas[1].usage: 'some' {COUNT}"]),
    "quotas that are no list": (
        "region",
        _set("quotas", {}),
        ["quotas: a mapping is not a list of quotas [bad-value]"],
    ),
    "a quota that is a number": ("region", _set("quotas.0", 5), ["quotas[0]: '5' is not a quota [bad-value]"]),
    "two mistakes at once": (
        "region",
        lambda answer: _set("quotas.0.limit", "x")(_set("quotas.1.limit", "y")(answer)),
        [f"quotas[0].limit: 'x' {COUNT}", f"quotas[1].limit: 'y' {COUNT}"],
    ),
    "quotas that Google could not read": (
        "region",
        _set("quotaStatusWarning", {"code": "QUOTA_INFO_UNAVAILABLE"}),
        ["Google could not read the quotas (quotaStatusWarning); run the command again [quota-answer]"],
    ),
    "no name of the region": ("region", _set("name", ...), [NO_ANSWER]),
    "an answer about a cluster": ("region", lambda _: {"name": "dev", "nodePools": []}, [NO_ANSWER]),
    "an empty list": ("region", lambda _: [], [NO_ANSWER]),
    "a number": ("region", lambda _: 12, [NO_ANSWER]),
    "null": ("region", lambda _: None, [NO_ANSWER]),
    "text": ("region", lambda _: "us-central1", [NO_ANSWER]),
    "a list with something else": ("service_usage", lambda answer: [*answer, {"kind": "Pod"}], [NO_ANSWER]),
    "one page of several": (
        "service_usage",
        lambda answer: {"metrics": answer, "nextPageToken": "CAE"},
        [f"one page of an answer that has more; write all of it with {COMMANDS} [quota-answer]"],
    ),
    "a bucket without a limit": (
        "service_usage",
        _set(f"{BUCKET}.effectiveLimit", ...),
        [
            "[0].consumerQuotaLimits[0].quotaBuckets[1]: 'effectiveLimit' is missing; "
            f"write the answer again with {COMMANDS} [missing-key]"
        ],
    ),
    "a bucket with a limit in words": (
        "service_usage",
        _set(f"{BUCKET}.effectiveLimit", "1k"),
        [f"[0].consumerQuotaLimits[0].quotaBuckets[1].effectiveLimit: '1k' {COUNT}"],
    ),
    "dimensions that are a list": (
        "service_usage",
        _set(f"{BUCKET}.dimensions", ["region"]),
        ["[0].consumerQuotaLimits[0].quotaBuckets[1].dimensions: a list is not the value's dimensions [bad-value]"],
    ),
    "limits that are no list": (
        "service_usage",
        _set("0.consumerQuotaLimits", 3),
        ["[0].consumerQuotaLimits: '3' is not a list of limits [bad-value]"],
    ),
    "a metric without a name": (
        "service_usage",
        _set("0.metric", ...),
        [f"[0]: 'metric' is missing; write the answer again with {COMMANDS} [missing-key]"],
    ),
    "a value without its amount": (
        "quota_infos",
        _set("0.dimensionsInfos.0.details.value", ...),
        [f"[0].dimensionsInfos[0]: 'value' is missing; write the answer again with {COMMANDS} [missing-key]"],
    ),
    "a value in words": (
        "quota_infos",
        _set("0.dimensionsInfos.0.details.value", "lots"),
        [f"[0].dimensionsInfos[0].details.value: 'lots' {COUNT}"],
    ),
    "a quota id that is empty": (
        "quota_infos",
        _set("0.quotaId", ""),
        ["[0].quotaId: '' is not the id of a quota [bad-value]"],
    ),
    "locations that are text": (
        "quota_infos",
        _set("0.dimensionsInfos.1.applicableLocations", "us-east1"),
        ["[0].dimensionsInfos[1].applicableLocations: 'us-east1' is not a list of locations [bad-value]"],
    ),
    "a service of another project": (
        "quota_infos",
        _set("0.name", "projects/other/locations/global/services/compute.googleapis.com/quotaInfos/A"),
        ["an answer of project 'other', and the fleet is in my-project [quota-project]"],
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_answer_is_refused_with_its_place(case: str, tmp_path: Path) -> None:
    name, change, expected = BROKEN[case]
    value = change(copy.deepcopy(json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8"))))
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    answers, problems = read_answers([file], ["my-project"], ["us-central1"])
    assert [problem.line() for problem in problems] == [f"{file}: error: {line}" for line in expected]
    assert answers.limits == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "error: no file '{file}' [no-file]"),
        (b"{", "{file}: error: is not JSON: Expecting property name enclosed in double quotes at line 1, column 2; "),
        (b"", "{file}: error: is not JSON: Expecting value at line 1, column 1; "),
        (b"\xff", "{file}: error: is not JSON: byte 0 is not UTF-8; "),
        (b"limit: 5\n", "{file}: error: is not JSON: Expecting value at line 1, column 1; "),
        (b"[" * 200_000, "{file}: error: is nested more than 64 levels deep; "),
    ],
)
def test_a_file_that_is_not_json_is_refused(content: bytes | None, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "answer.json"
    if content is not None:
        file.write_bytes(content)
    _, (problem,) = read_answers([file], ["my-project"], ["us-central1"])
    assert problem.line().startswith(expected.format(file=file))


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    _, (problem,) = read_answers([tmp_path], ["my-project"], ["us-central1"])
    assert problem.line() == f"{tmp_path}: error: is a directory, not a file; write it with {COMMANDS} [unreadable]"


def test_an_answer_with_a_project_number_fits_one_project_only() -> None:
    _, (problem,) = read_answers([ANSWERS / "service_usage.json"], ["a", "b"], ["us-central1"])
    assert problem.code == "quota-project"
    assert problem.message == (
        "the answer has no project name, and the fleet is in a, b; give answers of gcloud compute regions describe"
    )


def test_every_faulty_quota_is_named(tmp_path: Path) -> None:
    answer = json.loads((ANSWERS / "region.json").read_text(encoding="utf-8"))
    answer["quotas"] = [{"metric": "A"}, 7, *answer["quotas"], {"limit": 8.0}]
    (tmp_path / "region.json").write_text(json.dumps(answer), encoding="utf-8")
    _, problems = read_answers([tmp_path / "region.json"], ["my-project"], ["us-central1"])
    places = [re.findall(r"quotas\[(\d+)\]", each.line())[0] for each in problems]
    assert places == ["0", "1", str(len(answer["quotas"]) - 1)]
