"""`berth verify`: a cluster as predicted has no difference, and each change of it is one, with its meaning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.verify import read_live_objects
from tests.berth.verify.live import predicted_items, verified
from tests.stack_files import ROOT, every_stack, plan

Item = dict[str, Any]
RECORDED = ROOT / "tests/berth/verify/multislice.json"
"""What kubectl prints of a real API server with Kueue 0.19.2 to which objects and nodes of multislice were applied."""


def of(items: list[Item], kind: str, name: str = "") -> Item:
    return next(each for each in items if each["kind"] == kind and each["metadata"]["name"].startswith(name))


@every_stack
def test_a_cluster_as_predicted_has_no_difference(stack: str, tmp_path: Path) -> None:
    if plan(stack).workers:
        return  # the cluster of each worker is compared by itself
    result = verified(stack, predicted_items(stack), tmp_path)
    assert result.differences == ()
    assert result.others == ()
    pools = {each.name for each in plan(stack).own_pools if each.nodes.max}
    assert {line.rpartition(" ")[2] for line in result.compared if " of pool " in line} == pools


def test_a_recorded_cluster_is_as_predicted() -> None:
    done = CliRunner().invoke(app, ["verify", "stacks/examples/multislice.yaml", "--live", str(RECORDED)])
    assert done.exit_code == 0, done.stdout
    assert done.stdout.startswith("cluster multislice-cluster is as multislice predicts\n")


def set_label(key: str, value: str | None) -> Callable[[Item], None]:
    def change(node: Item) -> None:
        if value is None:
            del node["metadata"]["labels"][key]
        else:
            node["metadata"]["labels"][key] = value

    return change


def set_amount(resource: str, amount: str) -> Callable[[Item], None]:
    return lambda node: node["status"]["allocatable"].update({resource: amount})


TOPOLOGY = "cloud.google.com/gke-tpu-topology"
NODE_CHANGES: list[tuple[Callable[[Item], None], tuple[str, str, str, str]]] = [
    (
        set_label(TOPOLOGY, "4x4"),
        (
            f"label {TOPOLOGY}",
            "2x4",
            "4x4",
            "flavor vlp-24 does not select these nodes: pods of queue cluster-queue",
        ),
    ),
    (
        set_label("kubernetes.io/arch", None),
        ("label kubernetes.io/arch", "amd64", "no such label", "jobs of queue cluster-queue that select"),
    ),
    (
        set_label("cloud.google.com/gke-spot", "true"),
        ("label cloud.google.com/gke-spot", "no such label", "true", "refused by lint, though nodes have it"),
    ),
    (
        lambda node: node["spec"]["taints"].append({"key": "dedicated", "value": "x", "effect": "NoSchedule"}),
        ("taint dedicated", "no such taint", "x:NoSchedule", "flavor vlp-24 does not tolerate it"),
    ),
    (
        lambda node: node["spec"].pop("taints"),
        ("taint google.com/tpu", "present:NoSchedule", "no such taint", "take the machines of queue"),
    ),
    (set_amount("google.com/tpu", "3"), ("google.com/tpu", "4", "3", "request more than 3 stay pending")),
    (set_amount("cpu", "100"), ("cpu", "111650m", "100", "request more than 100 stay pending")),
    (set_amount("memory", "100Gi"), ("memory", "194216642740", "100Gi", "request more than 100Gi stay pending")),
    (set_amount("memory", "190Gi"), ("memory", "194216642740", "190Gi", "though lint refuses them")),
    (set_amount("pods", "32"), ("pods", "110", "32", "request more than 32 stay pending")),
]


@pytest.mark.parametrize(("change", "expected"), NODE_CHANGES)
def test_a_changed_node_is_a_difference_with_its_meaning(
    change: Callable[[Item], None], expected: tuple[str, str, str, str], tmp_path: Path
) -> None:
    items = predicted_items("multislice")
    change(of(items, "Node"))
    (difference,) = verified("multislice", items, tmp_path).differences
    assert (difference.what, difference.predicted, difference.live) == expected[:3]
    assert expected[3] in difference.meaning
    assert difference.objects == ("nodepool-1",)


def test_what_the_kernel_takes_and_what_passes_is_no_difference(tmp_path: Path) -> None:
    items = predicted_items("multislice")
    for node in (each for each in items if each["kind"] == "Node"):
        set_amount("memory", "178Gi")(node)
        set_amount("ephemeral-storage", "47060071478")(node)
        node["spec"]["taints"].append({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"})
    assert verified("multislice", items, tmp_path).differences == ()


def test_equal_differences_of_several_nodes_are_one(tmp_path: Path) -> None:
    items = predicted_items("multislice")
    for node in [each for each in items if each["kind"] == "Node"][:3]:
        set_amount("pods", "32")(node)
    (difference,) = verified("multislice", items, tmp_path).differences
    assert difference.objects == ("nodepool-1", "nodepool-2", "nodepool-3")


def test_too_few_and_too_many_nodes_are_differences(tmp_path: Path) -> None:
    items = predicted_items("multislice")
    node = of(items, "Node")
    fewer = [each for each in items if each is not node]
    (few,) = verified("multislice", fewer, tmp_path).differences
    assert (few.what, few.predicted, few.live) == ("nodes", "6", "5")
    assert "cannot use all that they are guaranteed" in few.meaning
    more = [*items, {**node, "metadata": {**node["metadata"], "name": "seventh"}}]
    (many,) = verified("multislice", more, tmp_path).differences
    assert (many.predicted, many.live) == ("6", "7")


OBJECT_CHANGES: list[tuple[str, str, Callable[[Item], object], tuple[str, str, str, str]]] = [
    (
        "ClusterQueue",
        "",
        lambda queue: queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2].update(nominalQuota="16"),
        (
            "resourceGroups[0].flavors.vlp-24.resources.google.com/tpu.nominalQuota",
            "24",
            "16",
            "is guaranteed 16 instead of 24",
        ),
    ),
    (
        "ClusterQueue",
        "",
        lambda queue: queue["spec"].update(stopPolicy="Hold"),
        ("stopPolicy", "no such field", "Hold", "no new job"),
    ),
    (
        "ResourceFlavor",
        "",
        lambda flavor: flavor["spec"]["nodeLabels"].update({TOPOLOGY: "4x4"}),
        (f"nodeLabels.{TOPOLOGY}", "2x4", "4x4", "Kueue places their pods on other nodes"),
    ),
    (
        "ResourceFlavor",
        "",
        lambda flavor: flavor["spec"].update(tolerations=[]),
        (
            "tolerations",
            "[{key: google.com/tpu, operator: Exists, effect: NoSchedule}]",
            "[]",
            "stay pending on nodes with a taint",
        ),
    ),
    (
        "LocalQueue",
        "",
        lambda queue: queue["spec"].update(clusterQueue="other"),
        ("clusterQueue", "cluster-queue", "other", "wait in other"),
    ),
]


@pytest.mark.parametrize(("kind", "name", "change", "expected"), OBJECT_CHANGES)
def test_a_changed_object_is_a_difference_with_its_meaning(
    kind: str, name: str, change: Callable[[Item], object], expected: tuple[str, str, str, str], tmp_path: Path
) -> None:
    items = predicted_items("multislice")
    change(of(items, kind, name))
    (difference,) = verified("multislice", items, tmp_path).differences
    assert difference.what == expected[0]
    assert difference.live == expected[2]
    assert difference.predicted.startswith(expected[1])
    assert expected[3] in difference.meaning


def test_a_missing_object_and_driver_are_differences_and_others_are_listed(tmp_path: Path) -> None:
    items = [
        each for each in predicted_items("batch-platform") if each["metadata"]["name"] != "gcsfuse.csi.storage.gke.io"
    ]
    flavor = of(items, "ResourceFlavor")
    items.remove(flavor)
    items.append({**flavor, "metadata": {"name": "of-somebody-else"}})
    result = verified("batch-platform", items, tmp_path)
    subjects = {each.subject: each for each in result.differences}
    assert set(subjects) == {f"ResourceFlavor {flavor['metadata']['name']}", "CSIDriver gcsfuse.csi.storage.gke.io"}
    assert all(each.live == "no such object" for each in result.differences)
    assert result.others == ("ResourceFlavor of-somebody-else",)


def test_what_was_unknown_is_learned_with_a_dated_row(tmp_path: Path) -> None:
    items = predicted_items("gpu-rdma")
    block = "cloud.google.com/gce-topology-block"
    for number, node in enumerate(each for each in items if each["kind"] == "Node"):
        node["metadata"]["labels"][block] = f"block-{number % 2}"
        node["metadata"]["labels"]["example.com/rack"] = "r1"
    result = verified("gpu-rdma", items, tmp_path)
    assert result.differences == ()
    learned = {(each.subject, each.what): each for each in result.learned}
    assert learned["pool h200", f"label {block}"].values == ("block-0", "block-1")
    rack = learned["pool h200", "label example.com/rack"]
    assert rack.row == '- {key: example.com/rack, value: "r1", source: "cluster gpu-rdma, 2026-11-25"}'


def test_pools_without_nodes_and_kinds_without_objects_are_not_compared(tmp_path: Path) -> None:
    queue = of(predicted_items("dev"), "ClusterQueue")
    result = verified("dev", [queue], tmp_path)
    assert "no file has an object of kind Node" in result.not_compared
    nodes = [
        each for each in predicted_items("dev") if each["kind"] == "Node" and "spot" not in each["metadata"]["name"]
    ]
    result = verified("dev", nodes, tmp_path)
    assert "pool l4-spot has no node now, so its labels, taints and resources are not compared" in result.not_compared


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["verify", *words])
    return done.exit_code, done.stdout, done.stderr


def test_formats_and_exit_codes(tmp_path: Path) -> None:
    items = predicted_items("multislice")
    set_label(TOPOLOGY, "4x4")(of(items, "Node"))
    file = tmp_path / "live.json"
    file.write_text(json.dumps({"kind": "List", "items": items}), encoding="utf-8")
    stack = ["stacks/examples/multislice.yaml", "--live", str(file)]
    code, text, _ = run(*stack)
    assert code == 1
    assert text.startswith("cluster multislice-cluster differs from multislice: 1 difference\n")
    assert f"  pool nodepool: label {TOPOLOGY} is 4x4 instead of 2x4 on nodepool-1\n" in text
    code, text, _ = run(*stack, "--format", "markdown")
    assert code == 1
    assert "4x4 instead of 2x4" in text
    code, text, _ = run(*stack, "--format", "json")
    value = json.loads(text)
    assert (code, value["version"], value["cluster"], value["asOf"]) == (1, 1, "multislice-cluster", "2026-11-25")
    assert value["differences"][0]["nodes"] == ["nodepool-1"]


def test_a_worker_is_compared_by_itself(tmp_path: Path) -> None:
    file = tmp_path / "live.json"
    file.write_text(json.dumps({"kind": "Node", "metadata": {"name": "a"}}), encoding="utf-8")
    stack = ["stacks/examples/multikueue.yaml", "--live", str(file)]
    code, text, _ = run(*stack, "--worker", "east")
    assert code == 1
    assert "pool h100" in text
    code, _, error = run(*stack, "--worker", "west")
    assert (code, error) == (1, "no worker 'west' in multikueue; write one of central, east\n")


BAD: list[tuple[str, str]] = [
    ("[", "bad-json"),
    ("[]", "bad-value"),
    ("{}", "live-answer"),
    ('{"kind": "List", "items": []}', "live-answer"),
    ('{"kind": "PodList", "items": [{"kind": "Pod"}]}', "live-answer"),
    ('{"items": 3}', "bad-value"),
    ('{"items": [7]}', "bad-value"),
    ('{"kind": "Node"}', "bad-value"),
    ('{"kind": "Node", "metadata": {}}', "missing-key"),
    ('{"kind": "Node", "metadata": {"name": 3}}', "bad-value"),
    ('{"kind": "Node", "metadata": {"name": "a", "labels": []}}', "bad-value"),
    ('{"kind": "Node", "metadata": {"name": "a"}, "status": {"allocatable": "x"}}', "bad-value"),
    ('{"kind": "Node", "metadata": {"name": "a"}, "spec": {"taints": {}}}', "bad-value"),
]


@pytest.mark.parametrize(("text", "code"), BAD)
def test_a_file_that_is_no_answer_is_a_fault_in_one_line(text: str, code: str, tmp_path: Path) -> None:
    file = tmp_path / "live.json"
    file.write_text(text, encoding="utf-8")
    _, problems = read_live_objects([(file, "live.json")])
    assert [problem.code for problem in problems] == [code]
    assert problems[0].line().startswith("live.json: error: ")
    status, _, error = run("dev", "--live", str(file))
    assert status == 1
    assert "Traceback" not in error


def test_a_missing_file_and_a_wrong_usage() -> None:
    assert run("dev", "--live", "no-such-file.json")[0] == 1
    assert run("dev")[0] == 2


def test_the_page_has_the_command_that_the_message_writes() -> None:
    from berth.verify.answers import COMMAND

    page = (ROOT / "docs/verify.md").read_text(encoding="utf-8")
    assert f"{COMMAND} > live.json" in page


@pytest.mark.parametrize(("more", "differs"), [(200, False), (201, True)])
def test_a_node_may_have_the_memory_of_its_checkpoints(tmp_path: Path, more: int, *, differs: bool) -> None:
    """Kubernetes does not know what the volume of multi-tier checkpointing may take; Berth counts 200Gi less."""
    items = predicted_items("ironwood")
    for each in items:
        if each["kind"] == "Node":
            amounts = each["status"]["allocatable"]
            amounts["memory"] = str(int(amounts["memory"]) + more * 2**30)
    differences = verified("ironwood", items, tmp_path).differences
    assert [each.what for each in differences] == (["memory"] if differs else [])
