"""`berth plan --json` has the documented shape for every stack, and its figures add up."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from berth.cli.plan.fleet import fleet_plan_as_json
from berth.document import Table
from berth.evaluate import evaluate_stack
from berth.overview.fleet import fleet_document
from tests.stack_files import GKE_STACKS, ROOT, evaluation, every_stack, plan_json

PAGE = (ROOT / "docs" / "plan.md").read_text(encoding="utf-8")

TEXT, INT, TEXT_OR_NULL = {"type": "string"}, {"type": "integer"}, {"type": ["string", "null"]}
BOOL = {"type": "boolean"}
LIMIT = {"type": ["integer", "null"]}
COUNTS = {"type": "object", "additionalProperties": INT}
TEXTS = {"type": "object", "additionalProperties": TEXT}


def record(**keys: Any) -> dict[str, Any]:
    """Return the JSON Schema of an object with exactly these keys."""
    return {"type": "object", "properties": keys, "required": [*keys], "additionalProperties": False}


def listed(items: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a list of such items."""
    return {"type": "array", "items": items}


BOUNDS = record(min=INT, max=INT)
QUOTA = record(flavor=TEXT, resource=TEXT, nominal=INT, borrowingLimit=LIMIT, lendingLimit=LIMIT)

SHAPE = record(
    stack=TEXT,
    clusters=listed(
        record(
            name=TEXT, project=TEXT_OR_NULL, location=TEXT_OR_NULL, existing={"type": "boolean"}, mode=TEXT,
            releaseChannel=TEXT_OR_NULL,
            version=TEXT_OR_NULL, kubeconfig=TEXT_OR_NULL, context=TEXT_OR_NULL,
            checkpointing={
                "anyOf": [{"type": "null"}, record(bucket=TEXT, machineType=TEXT, inMemoryVolumeSize=TEXT)]
            },
        )
    ),
    reservations=listed(
        record(
            name=TEXT, reservation=TEXT, chips=LIMIT, existing=BOOL, project=TEXT_OR_NULL, block=TEXT_OR_NULL,
            subBlock=TEXT_OR_NULL, machineType=TEXT, zone=TEXT, count=INT, start=TEXT_OR_NULL, end=TEXT_OR_NULL,
            mode=TEXT_OR_NULL, delivered=BOOL, pools=listed(TEXT),
        )
    ),
    pools=listed(
        record(
            name=TEXT, machineType=TEXT, topology=TEXT_OR_NULL, slices={"type": ["integer", "null"]},
            hostsPerSlice=LIMIT, nodes=BOUNDS, accelerators=BOUNDS, resource=TEXT, capacity=TEXT,
            computeClass=TEXT_OR_NULL, reservation=TEXT_OR_NULL, madeBy=TEXT, zones=listed(TEXT), flavor=TEXT,
            nodePools=listed(TEXT),
        )
    ),
    flavors=listed(
        record(
            name=TEXT, resource=TEXT, capacity=BOUNDS, guaranteed=INT, guaranteedSpot=INT,
            mayBorrow=INT, pods=LIMIT, unit=INT, spare=INT,
            oversubscription={"type": "number"}, nodeLabels=TEXTS,
            pools=listed(TEXT), topologyName=TEXT_OR_NULL,
        )
    ),
    cohorts=listed(
        record(
            name=TEXT, parent=TEXT_OR_NULL, fairShareWeight={"type": ["number", "null"]}, guaranteed=COUNTS,
            ceiling=COUNTS, quotas=listed(QUOTA),
        )
    ),
    computeClasses=listed(
        record(
            name=TEXT, whenUnsatisfiable=TEXT,
            priorities=listed(record(accelerator=TEXT, capacity=TEXT, zones=listed(TEXT))),
        )
    ),
    clusterQueues=listed(
        record(
            name=TEXT, teams=listed(TEXT), cohort=TEXT_OR_NULL, strategy=TEXT, priority=TEXT_OR_NULL,
            preemption=record(withinClusterQueue=TEXT, reclaimWithinCohort=TEXT, borrowWithinCohort=TEXT),
            quotas=listed(QUOTA),
            formCeilings=listed(record(form={"enum": ["topology", "plain"]}, ceiling=COUNTS)),
        )
    ),
    networks=listed(
        record(
            set=TEXT, network=TEXT, subnetwork=TEXT, ipRange=TEXT, device=TEXT, deviceMode=TEXT, pools=listed(TEXT),
        )
    ),
    teams=listed(
        record(
            name=TEXT, state=TEXT, namespaces=listed(TEXT), queues=listed(TEXT), guaranteed=COUNTS, ceiling=COUNTS,
            capacityBuffers=listed(
                record(
                    name=TEXT, namespace=TEXT, pool=TEXT_OR_NULL, provisioningStrategy=TEXT, unit=TEXTS,
                    replicas=LIMIT, percentage=LIMIT, units=LIMIT, nodes=LIMIT,
                )
            ),
        )
    ),
    workers=listed(
        record(
            name=TEXT, cluster=TEXT_OR_NULL, stack=TEXT_OR_NULL, kubeconfig=TEXT_OR_NULL,
            flavors=listed(record(name=TEXT, capacity=BOUNDS, guaranteed=INT, largestJob=INT)),
            clusterQueues=listed(record(name=TEXT, quotas=listed(QUOTA))),
        )
    ),
    calendar=listed(
        record(
            at=TEXT, changes=listed(record(holder=TEXT, teams=listed(TEXT), flavor=TEXT, before=INT, after=INT)),
            reservationsBegin=listed(TEXT), reservationsEnd=listed(TEXT), command=TEXT_OR_NULL,
        )
    ),
    leftOut={"type": "array", "items": {"type": "string"}},
    problems=listed(
        record(severity={"enum": ["fault", "warning", "note"]}, code=TEXT, place=TEXT, path=TEXT, message=TEXT)
    ),
)  # fmt: skip
"""The JSON Schema of the plan; additional keys are as wrong as missing ones."""


# --- shape ------------------------------------------------------------------------------------------------------------


@every_stack
def test_every_plan_has_exactly_the_documented_shape(stack: str) -> None:
    """Numbers are ints, because JSON Schema's integer accepts 8.0, which Python prints differently."""
    document = plan_json(stack)
    assert [error.message for error in Draft202012Validator(SHAPE).iter_errors(document)] == []
    fractions = [path for path, value in leaves(document) if isinstance(value, float)]
    assert fractions == [] or {path[-1] for path in fractions} == {"oversubscription"}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every scalar with its path."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    else:
        yield path, value


def documented() -> dict[str, set[str]]:
    """Return section of the page → keys in its table; the first section is the object itself."""
    sections: dict[str, set[str]] = {}
    for part in re.split(r"^#+ ", PAGE, flags=re.MULTILINE)[1:]:
        keys = re.findall(r"^\| `(\w+)` \|", part, flags=re.MULTILINE)
        if keys:
            sections[part.splitlines()[0]] = set(keys)
    return sections


ELSEWHERE = {"cohorts[].quotas", "workers[].clusterQueues[].quotas"}
"""Keys that another section describes."""


def printed(shape: dict[str, Any] = SHAPE, section: str = "The plan as JSON") -> Iterator[tuple[str, set[str]]]:
    """Yield section name and keys, from the shape; ranges and mappings have no section of their own."""
    yield section, set(shape["properties"])
    for key, inner in shape["properties"].items():
        name = key if section == "The plan as JSON" else f"{section}.{key}"
        item = inner.get("items", inner)
        if "properties" in item and item is not BOUNDS and name not in ELSEWHERE:
            yield from printed(item, f"{name}[]" if "items" in inner else name)


def test_the_page_documents_every_key_that_is_printed_and_no_other() -> None:
    assert documented() == dict(printed())


def test_the_example_in_the_docs_is_the_output_for_dev() -> None:
    """docs/plan.md shows part of the plan of dev."""
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    example, dev = json.loads(block), plan_json("dev")
    assert example["stack"] == dev["stack"]
    for section in example.keys() - {"stack"}:
        assert [entry for entry in example[section] if entry not in dev[section]] == []


@every_stack
def test_lists_are_sorted_by_name(stack: str) -> None:
    """A text diff of two plans shows only real changes."""
    document = plan_json(stack)
    for section in ("pools", "flavors", "cohorts", "clusterQueues", "teams"):
        names = [entry["name"] for entry in document[section]]
        assert names == sorted(set(names))


# --- figures, computed a second time ----------------------------------------------------------------------------------


def accelerators(queue: dict[str, Any], plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return flavor → the quota of its accelerators, or of its cores, which JSON has in milli-cpu."""
    own = {f["name"]: f["resource"] for f in plan["flavors"]}
    return {q["flavor"]: in_cores(q) for q in queue["quotas"] if q["resource"] == own[q["flavor"]]}


def in_cores(quota: dict[str, Any]) -> dict[str, Any]:
    """Return a quota with milli-cpu as cores."""
    if quota["resource"] != "cpu":
        return quota
    keys = ("nominal", "borrowingLimit", "lendingLimit")
    assert [key for key in keys if (quota[key] or 0) % 1000] == []
    return quota | {key: quota[key] and quota[key] // 1000 for key in keys}


@every_stack
def test_capacity_of_a_flavor_is_the_sum_of_its_pools(stack: str) -> None:
    document = plan_json(stack)
    for flavor in document["flavors"]:
        pools = [p for p in document["pools"] if p["flavor"] == flavor["name"]]
        assert [p["name"] for p in pools] == flavor["pools"]
        for end in ("min", "max"):
            assert flavor["capacity"][end] == sum(p["accelerators"][end] for p in pools)


@every_stack
def test_promised_of_a_flavor_is_the_sum_of_guarantees(stack: str) -> None:
    document = plan_json(stack)
    for flavor in document["flavors"]:
        nominal = [
            accelerators(holder, document).get(flavor["name"], {"nominal": 0})["nominal"]
            for holder in (*document["clusterQueues"], *document["cohorts"])
        ]
        assert flavor["guaranteed"] == sum(nominal) <= flavor["capacity"]["max"] * flavor["oversubscription"]


@every_stack
def test_the_table_of_capacity_says_what_the_json_says(stack: str) -> None:
    table = next(
        each for each in fleet_document(evaluation(stack), None) if isinstance(each, Table) and each.title == "Capacity"
    )
    flavors = plan_json(stack)["flavors"]
    for (name, _, guaranteed, _, borrowed, pods, _), flavor in zip(table.rows, flavors, strict=True):
        amount, spot = flavor["guaranteed"], flavor["guaranteedSpot"]
        said = f", {'all' if spot == amount else f'of them {spot}'} spot" if spot else ""
        assert (name, guaranteed, borrowed) == (flavor["name"], f"{amount}{said}", str(flavor["mayBorrow"] or "–"))
        assert pods == ("–" if flavor["pods"] is None else f"{flavor['pods']:,}")


@every_stack
def test_the_guarantee_of_a_cohort_is_the_sum_below_it(stack: str) -> None:
    document = plan_json(stack)
    total: dict[str, dict[str, int]] = {cohort["name"]: {} for cohort in document["cohorts"]}
    parents = {cohort["name"]: cohort["parent"] for cohort in document["cohorts"]}
    holders = [(q["cohort"], q) for q in document["clusterQueues"]] + [(c["name"], c) for c in document["cohorts"]]
    for name, holder in holders:
        while name is not None:
            for flavor, quota in accelerators(holder, document).items():
                total[name][flavor] = total[name].get(flavor, 0) + quota["nominal"]
            name = parents[name]
    assert {cohort["name"]: cohort["guaranteed"] for cohort in document["cohorts"]} == total


@every_stack
def test_the_guarantee_of_a_team_is_the_sum_of_its_queues(stack: str) -> None:
    document = plan_json(stack)
    for team in document["teams"]:
        total: dict[str, int] = {}
        for queue in (q for q in document["clusterQueues"] if q["teams"] == [team["name"]]):
            for flavor, quota in accelerators(queue, document).items():
                total[flavor] = total.get(flavor, 0) + quota["nominal"]
        assert team["guaranteed"] == total


@every_stack
def test_a_reservation_is_named_with_its_worker_as_its_pools_are(stack: str) -> None:
    for reservation in plan_json(stack)["reservations"]:
        workers = {pool.rpartition("/")[0] for pool in reservation["pools"]}
        assert workers <= {reservation["name"].rpartition("/")[0]}


@every_stack
def test_nodes_are_slices_times_hosts(stack: str) -> None:
    for pool in plan_json(stack)["pools"]:
        if pool["slices"]:
            chips = 1
            for side in pool["topology"].split("x"):
                chips *= int(side)
            assert pool["nodes"]["max"] == pool["slices"] * pool["hostsPerSlice"]
            assert pool["accelerators"]["max"] == pool["slices"] * chips
            assert (
                pool["accelerators"]["min"] * pool["nodes"]["max"] == pool["accelerators"]["max"] * pool["nodes"]["min"]
            )


@every_stack
def test_every_quota_is_of_whole_slices(stack: str) -> None:
    document = plan_json(stack)
    units = {f["name"]: f["unit"] for f in document["flavors"]}
    for queue in document["clusterQueues"]:
        for flavor, quota in accelerators(queue, document).items():
            assert [quota[k] for k in ("nominal", "borrowingLimit") if (quota[k] or 0) % units[flavor]] == []


# --- with faults ------------------------------------------------------------------------------------------------------


def broken(stack: str, old: str, new: str, folder: Path) -> dict[str, Any]:
    """Return the JSON of a stack file with one text replaced."""
    text = GKE_STACKS[stack].read_text(encoding="utf-8")
    assert old in text
    file = folder / f"Pulumi.{stack}.yaml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    return json.loads(json.dumps(fleet_plan_as_json(evaluate_stack(stack, folder))))


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("topology: 2x4", "topology: 2x5", "bad-topology"),
        ("slices: 3", "slices: 2\n        slices: 2", "duplicate-key"),
        ("guaranteed: all", "guaranteed: lots", "bad-amount"),
        ("    region: us-central1\n", "", "missing-key"),
        ("project: my-project", "project: [", "bad-yaml"),
        ("berth:fleet:", "berth:fleat:", "unknown-key"),
    ],
)
def test_a_plan_with_faults_is_printed_too(old: str, new: str, code: str, tmp_path: Path) -> None:
    """A comment on a pull request shows the plan despite faults."""
    result = broken("multislice", old, new, tmp_path)
    assert [error.message for error in Draft202012Validator(SHAPE).iter_errors(result)] == []
    (fault, *_) = (p for p in result["problems"] if p["severity"] == "fault")
    assert fault["code"] == code
    assert re.fullmatch(r"Pulumi\.multislice\.yaml:\d+(:\d+)?", fault["place"])
