"""The Kueue configuration that a blueprint applies becomes teams and queues, or lines that say what is not read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from berth.adopt.sources.described import read_source
from berth.adopt.sources.source_fleet import UnusableSource
from berth.cli.adopt.described import DescribedResult, describe_source
from berth.yaml_loader import load_yaml

BLUEPRINT: dict[str, Any] = {
    "blueprint_name": "farm",
    "vars": {
        "project_id": "acme-ml-dev", "deployment_name": "farm", "region": "us-central1",
        "queues": '$(ghpc_stage("./q/queues.yaml.tftpl"))',
    },
    "deployment_groups": [
        {
            "group": "primary",
            "modules": [
                {"id": "cluster", "source": "modules/scheduler/gke-cluster"},
                {
                    "id": "nodes",
                    "source": "modules/compute/gke-node-pool",
                    "use": ["cluster"],
                    "settings": {
                        "name": "h200",
                        "machine_type": "a3-ultragpu-8g",
                        "zones": ["us-central1-a"],
                        "static_node_count": 4,
                    },
                },
                {
                    "id": "apply",
                    "source": "modules/management/kubectl-apply",
                    "use": ["cluster"],
                    "settings": {
                        "kueue": {
                            "install": True,
                            "config_path": "$(vars.queues)",
                            "config_template_vars": {
                                "gpus": "$(nodes.static_gpu_count)", "kind": "nvidia-h200-141gb", "topology": "",
                            },
                        }
                    },
                },
            ],
        }
    ],
}  # fmt: skip
QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: big}
spec:
  nodeLabels:
    cloud.google.com/gke-accelerator: ${kind}
    %{ if topology != "" }cloud.google.com/gke-tpu-topology: ${topology}%{ endif }
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: vision-train}
spec:
  namespaceSelector: {}
  cohort: farm
  resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: big, resources: [{name: nvidia.com/gpu, nominalQuota: ${gpus}}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: train, namespace: vision}
spec: {clusterQueue: vision-train}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
"""


def _described(queues: str = QUEUES, name: str = "q/queues.yaml.tftpl", **values: str) -> tuple[Any, DescribedResult]:
    files = {"farm.yaml": json.dumps(BLUEPRINT, indent=2), name: queues}
    result = describe_source(read_source(files, values), "farm")
    return load_yaml(result.stack_file)["config"]["berth:fleet"], result


def _lines(result: DescribedResult) -> list[str]:
    return [each.line() for each in result.left]


def test_queues_become_those_of_teams() -> None:
    fleet, result = _described()
    assert [fault.line() for fault in result.evaluation.faults] == []
    team = fleet["teams"]["vision"]
    assert "namespace" not in team  # Berth makes it
    assert team["queues"]["train"]["flavors"] == [{"flavor": "big", "guaranteed": 32, "borrow": "unlimited"}]
    assert fleet["pools"]["h200"]["flavor"] == "big"
    assert "ConfigMap settings of q/queues.yaml.tftpl: Berth makes no such object, and does not apply it" in _lines(
        result
    )
    assert not [line for line in _lines(result) if line.startswith("module apply")]


def test_chips_follow_from_the_machine_and_the_nodes() -> None:
    """As gcluster's own examples for TPUs compute them."""
    text = json.dumps(BLUEPRINT, indent=2).replace("a3-ultragpu-8g", "ct5lp-hightpu-4t")
    text = text.replace("$(nodes.static_gpu_count)", "$(nodes.node_count_static * nodes.tpu_chips_per_node)")
    queues = QUEUES.replace("gke-accelerator: ${kind}", "gke-tpu-accelerator: tpu-v5-lite-podslice")
    source = read_source(
        {"farm.yaml": text, "queues.yaml.tftpl": queues.replace("nvidia.com/gpu", "google.com/tpu")}, {}
    )
    (queue,) = (each for each in source.objects if each["kind"] == "ClusterQueue")
    assert queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] == 16


def test_a_condition_of_the_template_counts() -> None:
    other = QUEUES.replace('topology != ""', 'topology == ""').replace("${topology}", "2x4")
    _, result = _described(other)
    assert any("ClusterQueue vision-train: its flavor 'big' selects no pool's nodes" in line for line in _lines(result))


@pytest.mark.parametrize("unknown", ["${other}", "%{ for each in list }x%{ endfor }"])
def test_a_value_that_nothing_gives_is_named(unknown: str) -> None:
    fleet, result = _described(QUEUES.replace("${kind}", unknown))
    assert "teams" not in fleet
    assert any("the queues of q/queues.yaml.tftpl are not read" in line for line in _lines(result))


def test_a_file_that_no_module_names_is_named() -> None:
    fleet, result = _described(name="others.yaml")
    assert "teams" not in fleet
    assert any(line.startswith("others.yaml: no module kubectl-apply") for line in _lines(result))
    assert any("name the files of its Kueue configuration" in line for line in _lines(result))


@pytest.mark.parametrize("broken", ["kind: ClusterQueue\n", "apiVersion: [\n", "- a\n- b\n"])
def test_a_broken_configuration_is_a_fault(broken: str) -> None:
    with pytest.raises(UnusableSource) as error:
        _described(f"{QUEUES}---\n{broken}")
    assert error.value.lines[0].startswith("q/queues.yaml.tftpl: error: ")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("\nspec: {clusterQueue: vision-train}", "", "LocalQueue train has no mapping `spec`"),
        ("namespaceSelector: {}", "preemption: always", "its Kueue configuration is not what Kueue takes"),
    ],
)  # fmt: skip
def test_values_of_another_form_are_a_fault(before: str, after: str, says: str) -> None:
    assert before in QUEUES
    with pytest.raises(UnusableSource) as error:
        _described(QUEUES.replace(before, after))
    assert says in error.value.lines[0]
