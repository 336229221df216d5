"""Everything that cannot be adopted is reported at once, one line each."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from berth.adopt.api_objects import InvalidInventory
from berth.adopt.inventory import read_inventory
from berth.adopt.stack_file import adopt, render_stack_file
from berth.cli import drain
from tests.gke_answers import files
from tests.stack_files import plan

ASK = (
    "give the answer of gcloud container clusters describe, container node-pools list, or another command of "
    "docs/adopt.md, each with --format json, or kubectl get with -o json"
)
KEPT = "that quota is not adopted; to keep it in the stack, write a pool with this flavor"
Edit = Callable[[dict[str, Any]], None]


def _without(*names: str) -> Edit:
    def edit(answers: dict[str, Any]) -> None:
        for name in names:
            del answers[name]

    return edit


def _with(name: str, value: object) -> Edit:
    return lambda answers: answers.update({name: value})


def _zonal(answers: dict[str, Any]) -> None:
    for one in (answers["cluster.json"], *answers["node-pools.json"]):
        one["selfLink"] = one["selfLink"].replace("/locations/us-central1/", "/zones/us-central1-a/")
    answers["cluster.json"]["location"] = "us-central1-a"


def _other_cluster(answers: dict[str, Any]) -> None:
    for one in answers["node-pools.json"][:2]:
        one["selfLink"] = one["selfLink"].replace("/clusters/dev/", "/clusters/prod/")


def _two(answers: dict[str, Any]) -> None:
    other = json.loads(json.dumps(answers["cluster.json"]).replace("clusters/dev", "clusters/prod"))
    answers["clusters.json"] = [{**other, "name": "prod"}]


def _unlinked(answers: dict[str, Any]) -> None:
    del answers["cluster.json"]["selfLink"]
    answers["cluster.json"]["nodePools"] = answers.pop("node-pools.json")


def _manager(answers: dict[str, Any]) -> None:
    check = {"controllerName": "kueue.x-k8s.io/multikueue"}
    one = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "m"}, "spec": check}
    answers["objects.json"]["items"].append(one)


CASES: dict[str, tuple[Edit, list[str]]] = {
    "no JSON": (
        _with("cluster.yaml", "name: dev\n"),
        ["cluster.yaml: not JSON (line 1, column 1); export it with --format json, or kubectl -o json"],
    ),
    "a number": (_with("n.json", 7), [f"n.json: '7' is not an object; {ASK}"]),
    "a list of names": (_with("n.json", ["dev"]), [f"n.json: '\"dev\"' is not an object; {ASK}"]),
    "another answer of gcloud": (
        _with("vms.json", [{"name": "vm", "machineType": "e2-small", "disks": [], "zone": "z"}]),
        [f"vms.json: unknown kind of answer (keys disks, machineType, name, zone); {ASK}"],
    ),
    "an empty object": (_with("n.json", {}), [f"n.json: unknown kind of answer (it is empty); {ASK}"]),
    "a cluster without a name": (
        _with("c.json", {"masterAuth": {}}),
        ["c.json: a cluster without a name; give gcloud's answer as it is"],
    ),
    "an object without a kind": (
        _with("o.json", {"apiVersion": "v1", "metadata": {"name": "x"}}),
        ["o.json: an object without kind and metadata.name; give the answer of kubectl as it is"],
    ),
    "no cluster": (
        _without("cluster.json"),
        ["no cluster among these files; add the answer of gcloud container clusters describe NAME --format json"],
    ),
    "several clusters": (
        _two,
        ["2 clusters (dev, prod); a stack has one: give the answers of each by themselves"],
    ),
    "no node pools": (
        _without("node-pools.json"),
        [
            "cluster 'dev' has no node pools; add the answer of gcloud container node-pools list --cluster dev "
            "--format json"
        ],
    ),
    "node pools of another cluster": (
        _other_cluster,
        [
            "node-pools.json: node pool 'l4-on-demand' belongs to another cluster than 'dev'; remove it",
            "node-pools.json: node pool 'l4-reserved' belongs to another cluster than 'dev'; remove it",
        ],
    ),
    "a zonal cluster": (
        _zonal,
        [
            "cluster 'dev' is zonal (us-central1-a), and Berth manages regional ones; use --keep-cluster to adopt its "
            "pools, or --inside CONTEXT"
        ],
    ),
    "a cluster without its link": (
        _unlinked,
        ["cluster 'dev' has no selfLink, which names its project; give the whole answer"],
    ),
    "a manager of MultiKueue": (
        _manager,
        [
            "cluster 'dev' sends its jobs to workers (MultiKueue): give the answers of each worker by itself, and "
            "write `workers` of the manager by hand"
        ],
    ),
    "all that is wrong with files": (
        lambda answers: answers.update({"a.json": "{", "b.json": [1]}),
        [
            "a.json: not JSON (line 1, column 2); export it with --format json, or kubectl -o json",
            f"b.json: '1' is not an object; {ASK}",
        ],
    ),
}


def _texts(edit: Edit) -> dict[str, str]:
    answers: dict[str, Any] = {name: json.loads(one) for name, one in files(plan("dev")).items()}
    edit(answers)
    return {name: one if isinstance(one, str) else json.dumps(one) for name, one in answers.items()}


@pytest.mark.parametrize("claim", CASES)
def test_what_cannot_be_adopted_is_one_line_each(claim: str) -> None:
    edit, lines = CASES[claim]
    with pytest.raises(InvalidInventory) as refused:
        read_inventory(_texts(edit))
    assert list(refused.value.lines) == lines


# --- what can, but not all of it --------------------------------------------------------------------------------------


def _unknown_flavor(answers: dict[str, Any]) -> None:
    for one in answers["objects.json"]["items"]:
        if one["kind"] == "ClusterQueue" and one["metadata"]["name"] == "vision-urgent":
            one["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "l40s"


def _no_door(answers: dict[str, Any]) -> None:
    items = answers["objects.json"]["items"]
    answers["objects.json"]["items"] = [
        o for o in items if o["kind"] != "LocalQueue" or o["metadata"]["name"] != "batch"
    ]


def _no_flavor(answers: dict[str, Any]) -> None:
    items = answers["objects.json"]["items"]
    answers["objects.json"]["items"] = [o for o in items if o["metadata"]["name"] != "v5e"]


def _cpu_pool(answers: dict[str, Any]) -> None:
    for one in answers["node-pools.json"]:
        if one["name"] == "system":
            one |= {"name": "workers", "selfLink": one["selfLink"].replace("system", "workers")}


LEFT: dict[str, tuple[Edit, list[str]]] = {
    "a queue with a flavor that nobody defines": (
        _unknown_flavor,
        [f"ClusterQueue vision-urgent: its flavor 'l40s' selects no pool's nodes; {KEPT}"],
    ),
    "a queue without a door": (
        _no_door,
        ["ClusterQueue language-batch: no LocalQueue uses it; it stays as it is"],
    ),
    "a flavor that is not there": (
        _no_flavor,
        [
            "pool v5e: no ResourceFlavor selects its nodes; Berth creates one",
            *(
                line
                for queue in ("language-train", "speech-train", "vision-train")
                for line in (
                    f"ClusterQueue {queue}: its flavor 'v5e' selects no pool's nodes; {KEPT}",
                    f"ClusterQueue {queue}: none of its flavors has a pool; it stays as it is",
                )
            ),
        ],
    ),
    "an ordinary node pool": (
        _cpu_pool,
        [
            "node pool workers: 'e2-standard-4' has no accelerators that Berth knows; it stays, and so does what runs "
            "there"
        ],
    ),
    "no range of nodes": (
        _without("subnets.json"),
        [
            "subnetwork dev: node range assumed to be 10.40.0.0/22; add the answer of gcloud compute networks subnets "
            "list"
        ],
    ),
}


@pytest.mark.parametrize("claim", LEFT)
def test_omitted_entries_are_reported(claim: str) -> None:
    """The rest is adopted, and the file is one that can be planned."""
    edit, lines = LEFT[claim]
    adopted = adopt(read_inventory(_texts(edit)), "dev")
    assert [left.line() for left in adopted.not_adopted] == lines
    evaluation = drain.evaluate_drained(render_stack_file(adopted), "dev")
    assert evaluation.plan is not None


# --- fields of another type -------------------------------------------------------------------------------------------

GPU = "config.accelerators is not a list of GPUs with their type and number"
TAINT = "config.taints is not a list of taints with key and effect"
AFFINITY = "config.reservationAffinity is not an affinity with the reservations that it names"
PAGE = "it is one page of several; export it with gcloud --format json or kubectl -o json, without --limit"
WRONG_FIELDS: list[tuple[str, object, str]] = [
    ("config", None, "config is not an object"),
    ("config", [], "config is not an object"),
    ("config.machineType", None, "config.machineType is not a text"),
    ("config.machineType", 7, "config.machineType is not a text"),
    ("config.labels", [], "config.labels is not an object of texts"),
    ("config.labels", {"use": None}, "config.labels is not an object of texts"),
    ("config.taints", {}, TAINT),
    ("config.taints", [None], TAINT),
    ("config.taints", [{"key": "tier"}], TAINT),
    ("config.accelerators", [{}], GPU),
    ("config.accelerators", [{"acceleratorType": "nvidia-l4", "acceleratorCount": "two"}], GPU),
    ("config.reservationAffinity", [], AFFINITY),
    ("config.reservationAffinity", {"consumeReservationType": "SPECIFIC_RESERVATION"}, AFFINITY),
    ("config.reservationAffinity", {"consumeReservationType": "SPECIFIC_RESERVATION", "values": []}, AFFINITY),
    ("locations", None, "locations is not a list of zones"),
    ("locations", [], "locations is not a list of zones"),
    ("locations", [None], "locations is not a list of zones"),
    ("locations", "us-central1-a", "locations is not a list of zones"),
    ("initialNodeCount", -1, "initialNodeCount is not a number"),
    ("initialNodeCount", "four", "initialNodeCount is not a number"),
    ("autoscaling", True, "autoscaling is not an object"),
    ("autoscaling", {"enabled": True, "maxNodeCount": "many"}, "autoscaling.maxNodeCount is not a number"),
    ("placementPolicy", "COMPACT", "placementPolicy is not an object"),
    ("upgradeSettings", {"maxSurge": "one"}, "upgradeSettings.maxSurge is not a number"),
]


@pytest.mark.parametrize(("path", "value", "problem"), WRONG_FIELDS)
@pytest.mark.parametrize("is_inside", [False, True], ids=["listed", "described with the cluster"])
def test_a_field_of_another_type_is_named(path: str, value: object, problem: str, is_inside: bool) -> None:
    def edit(answers: dict[str, Any]) -> None:
        node_pool: Any = next(each for each in answers["node-pools.json"] if each["name"] == "l4-spot")
        *parents, last = path.split(".")
        for step in parents:
            node_pool = node_pool[step]
        node_pool[last] = value
        if is_inside:
            answers["cluster.json"]["nodePools"] = answers.pop("node-pools.json")

    with pytest.raises(InvalidInventory) as refused:
        read_inventory(_texts(edit))
    where = "cluster.json: cluster 'dev': nodePools: " if is_inside else "node-pools.json: node pool 'l4-spot': "
    assert refused.value.lines == (f"{where}{problem}; give gcloud's answer as it is",)


def _in_a_wrapper(answers: dict[str, Any]) -> None:
    answers["node-pools.json"] = {"nodePools": answers["node-pools.json"], "nextPageToken": "Cg"}


def _of_one_page(answers: dict[str, Any]) -> None:
    answers["objects.json"]["metadata"] = {"continue": "abc", "remainingItemCount": 9}


def _of_vms(answers: dict[str, Any]) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gke-dev-1"}}
    answers["node-pools.json"] = {"apiVersion": "v1", "kind": "NodeList", "items": [node]}


def _cluster_with(field: str, value: object) -> Edit:
    return lambda answers: answers["cluster.json"].update({field: value})


def _reservation_with(field: str, value: object) -> Edit:
    return lambda answers: answers["reservations.json"][0].update({field: value})


DENIED = {"error": {"code": 403, "message": "Required permission", "status": "PERMISSION_DENIED"}}
FORBIDDEN = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden"}
NO_PERMISSION = "; export it again with the permission to read it"
AS_IT_IS = "give gcloud's answer as it is"
WHEN_GONE = "export the answers again when that is done"


def _object(answers: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(each for each in answers["objects.json"]["items"] if each["kind"] == kind)


BROKEN: dict[str, tuple[Edit, str]] = {
    "a denied answer of Google": (
        _with("x.json", DENIED),
        f"x.json: it is an error of the API (PERMISSION_DENIED){NO_PERMISSION}",
    ),
    "a denied answer in a list": (
        _with("x.json", [DENIED]),
        f"x.json: it is an error of the API (PERMISSION_DENIED){NO_PERMISSION}",
    ),
    "a denied answer of Kubernetes": (
        _with("x.json", FORBIDDEN),
        f"x.json: it is an error of the API (Forbidden){NO_PERMISSION}",
    ),
    "a page of node pools": (_in_a_wrapper, f"node-pools.json: {PAGE}"),
    "a page of objects": (_of_one_page, f"objects.json: {PAGE}"),
    "nodes instead of node pools": (
        _of_vms,
        "cluster 'dev' has no node pools; add the answer of gcloud container node-pools list --cluster dev "
        "--format json",
    ),
    "no text": (
        _with("x.json", ""),
        "x.json: not JSON (line 1, column 1); export it with --format json, or kubectl -o json",
    ),
    "zones of a cluster that are one text": (
        _cluster_with("locations", "us-central1-a"),
        f"cluster.json: cluster 'dev': locations is not a list of texts; {AS_IT_IS}",
    ),
    "labels of a cluster that are a list": (
        _cluster_with("resourceLabels", []),
        f"cluster.json: cluster 'dev': resourceLabels is not an object of texts; {AS_IT_IS}",
    ),
    "ranges of a cluster that are a number": (
        _cluster_with("ipAllocationPolicy", 7),
        f"cluster.json: cluster 'dev': ipAllocationPolicy is not an object; {AS_IT_IS}",
    ),
    "a reservation of a text": (
        _reservation_with("specificReservation", "four"),
        f"reservations.json: reservation 'dev-l4': specificReservation is not an object; {AS_IT_IS}",
    ),
    "a reservation of many chips": (
        _reservation_with("aggregateReservation", {"reservedResources": [{"accelerator": {"acceleratorCount": "x"}}]}),
        "reservations.json: reservation 'dev-l4': aggregateReservation.reservedResources is not a list of "
        f"accelerators with their number; {AS_IT_IS}",
    ),
    "a cluster that is being deleted": (
        lambda answers: answers["cluster.json"].update(status="STOPPING"),
        f"cluster.json: cluster 'dev' is being deleted (status STOPPING); {WHEN_GONE}",
    ),
    "a cluster that is not there yet": (
        lambda answers: answers["cluster.json"].update(status="PROVISIONING"),
        f"cluster.json: cluster 'dev' is being created (status PROVISIONING); {WHEN_GONE}",
    ),
    "a node pool that is being deleted": (
        lambda answers: answers["node-pools.json"][0].update(status="STOPPING"),
        f"node-pools.json: node pool 'l4-on-demand' is being deleted (status STOPPING); {WHEN_GONE}",
    ),
    "a reservation that is being deleted": (
        lambda answers: answers["reservations.json"][0].update(status="DELETING"),
        f"reservations.json: reservation 'dev-l4' is being deleted (status DELETING); {WHEN_GONE}",
    ),
    "a queue that is being deleted": (
        lambda answers: _object(answers, "ClusterQueue")["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"),
        f"objects.json: ClusterQueue 'language-batch' is being deleted; {WHEN_GONE}",
    ),
    "a queue whose spec is a text": (
        lambda answers: _object(answers, "ClusterQueue").update(spec="abc"),
        "objects.json: ClusterQueue 'language-batch': spec is not an object; give the answer of kubectl as it is",
    ),
    "a local queue of no queue": (
        lambda answers: _object(answers, "LocalQueue").update(spec={}),
        "objects.json: LocalQueue 'batch': spec.clusterQueue is not a text; give the answer of kubectl as it is",
    ),
    "what kubectl was not allowed to read": (
        _with("objects.json", {"kind": "Status", "status": "Failure", "message": "queues is forbidden", "code": 403}),
        "objects.json: it is an error of the API (queues is forbidden); export it again with the permission to read it",
    ),
    "a reservation without a zone": (
        _reservation_with("zone", 7),
        f"reservations.json: reservation 'dev-l4': zone is not a text; {AS_IT_IS}",
    ),
}


@pytest.mark.parametrize("claim", BROKEN)
def test_a_broken_answer_is_one_line(claim: str) -> None:
    edit, line = BROKEN[claim]
    with pytest.raises(InvalidInventory) as refused:
        read_inventory(_texts(edit))
    assert refused.value.lines == (line,)


def test_answers_of_the_rest_api_and_of_other_shells_are_read() -> None:
    """In a list, in a field of their own, with a byte order mark, with links of another version, and twice."""

    def edit(answers: dict[str, Any]) -> None:
        answers["cluster.json"] = {"clusters": [answers["cluster.json"]]}
        pools = answers["node-pools.json"]
        for node_pool in pools[:2]:
            node_pool["selfLink"] = node_pool["selfLink"].replace("/v1/", "/v1beta1/")
        answers["node-pools.json"] = "\ufeff" + json.dumps({"nodePools": [*pools, pools[0]]})
        extra = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{n}"}} for n in range(50_000)]
        answers["objects.json"]["items"] += extra  # more than 5 MB

    texts = _texts(edit)
    assert sum(map(len, texts.values())) > 5_000_000 / 2
    assert len(read_inventory(texts).node_pools) == len(read_inventory(_texts(lambda _: None)).node_pools)


_START, _END = {"startTime": "2026-12-20T00:00:00Z"}, {"endTime": "2027-01-04T00:00:00Z"}


@pytest.mark.parametrize("value", [["x"], 7, {"x": 7}, {"x": _END}, {"x": _START}, {"x": {**_START, "endTime": 1}}])
def test_exclusions_without_a_start_or_an_end_are_named_by_their_place(value: object) -> None:
    answers = {name: json.loads(text) for name, text in files(plan("dev")).items()}
    answers["cluster.json"].setdefault("maintenancePolicy", {})["window"] = {"maintenanceExclusions": value}
    with pytest.raises(InvalidInventory) as found:
        read_inventory({name: json.dumps(answer) for name, answer in answers.items()})
    (line,) = found.value.lines
    assert "maintenancePolicy.window.maintenanceExclusions is not an object of exclusions with their start and" in line


def test_an_exclusion_until_the_end_of_support_needs_no_end() -> None:
    answers = {name: json.loads(text) for name, text in files(plan("dev")).items()}
    options = {"scope": "NO_UPGRADES", "endTimeBehavior": "UNTIL_END_OF_SUPPORT"}
    exclusions = {"x": {**_START, "maintenanceExclusionOptions": options}, "y": {**_START, **_END}}
    answers["cluster.json"].setdefault("maintenancePolicy", {})["window"] = {"maintenanceExclusions": exclusions}
    read_inventory({name: json.dumps(answer) for name, answer in answers.items()})
