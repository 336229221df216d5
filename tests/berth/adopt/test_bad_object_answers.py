"""Answers of kubectl with fields of other types: a line that names the object and the field, and nothing else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from berth.adopt.api_objects import InvalidInventory
from berth.adopt.inventory import read_inventory
from berth.adopt.stack_file import adopt
from tests.gke_answers import files
from tests.stack_files import plan

_GROUPS = "spec.resourceGroups"
_TPU = f"{_GROUPS}[0].flavors[0].resources[0]"
_MADE: dict[str, Any] = {
    "Cohort": {"spec": {"resourceGroups": [{"flavors": [{"name": "v5e", "resources": [{"name": "google.com/tpu"}]}]}]}},
    "Topology": {"spec": {"levels": [{"nodeLabel": "a"}]}},
    "AdmissionCheck": {"spec": {"controllerName": "c", "parameters": {}}},
    "ProvisioningRequestConfig": {"spec": {"provisioningClassName": "queued-provisioning.gke.io"}},
    "PrometheusRule": {"spec": {"groups": []}},
    "ComputeClass": {"spec": {"priorities": []}},
    "ResourceQuota": {"spec": {"hard": {}}},
    "LimitRange": {"spec": {"limits": []}},
}
"""Objects of kinds that the fleet of the test has none of."""

CASES: tuple[tuple[str, str, object, str], ...] = (
    ("ClusterQueue", f"{_TPU}.nominalQuota", "abc", "a quantity"),
    ("ClusterQueue", f"{_TPU}.nominalQuota", "-4", "a quantity"),
    ("ClusterQueue", f"{_TPU}.nominalQuota", "12 chips", "a quantity"),
    ("ClusterQueue", f"{_TPU}.nominalQuota", True, "a quantity"),
    ("ClusterQueue", f"{_TPU}.nominalQuota", [4], "a quantity"),
    ("ClusterQueue", f"{_TPU}.nominalQuota", "1e999999", "a quantity"),
    ("ClusterQueue", f"{_TPU}.borrowingLimit", "all", "a quantity"),
    ("ClusterQueue", f"{_TPU}.lendingLimit", {}, "a quantity"),
    ("ClusterQueue", f"{_TPU}.name", None, "a text"),
    ("ClusterQueue", f"{_GROUPS}[0].flavors[0].name", 7, "a text"),
    ("ClusterQueue", f"{_GROUPS}[0].flavors[0].resources", {"google.com/tpu": 4}, "a list of objects"),
    ("ClusterQueue", f"{_GROUPS}[0].flavors", ["v5e"], "a list of objects"),
    ("ClusterQueue", f"{_GROUPS}[0].coveredResources", "google.com/tpu", "a list of texts"),
    ("ClusterQueue", _GROUPS, {"flavors": []}, "a list of objects"),
    ("ClusterQueue", "spec.preemption", "Never", "an object"),
    ("ClusterQueue", "spec.flavorFungibility", True, "an object"),
    ("ClusterQueue", "spec.namespaceSelector", "vision", "an object"),
    ("ClusterQueue", "spec.admissionChecks", [{"name": "dws"}], "a list of texts"),
    ("ClusterQueue", "spec.cohortName", {"name": "research"}, "a text"),
    ("Cohort", f"{_TPU}.nominalQuota", "four", "a quantity"),
    ("Cohort", "spec.fairSharing", 2, "an object"),
    ("LocalQueue", "spec.clusterQueue", None, "a text"),
    ("LocalQueue", "spec.clusterQueue", "", "a text"),
    ("ResourceFlavor", "spec.nodeLabels", ["a=b"], "an object of texts"),
    ("ResourceFlavor", "spec.nodeLabels", {"gpus": 8}, "an object of texts"),
    ("ResourceFlavor", "spec.tolerations", "google.com/tpu", "a list of objects"),
    ("ResourceFlavor", "metadata.name", {}, "a text"),
    ("Topology", "spec.levels", ["rack"], "a list of objects"),
    ("AdmissionCheck", "spec.parameters", [], "an object"),
    ("ProvisioningRequestConfig", "spec.provisioningClassName", 5, "a text"),
    ("WorkloadPriorityClass", "value", "high", "an integer"),
    ("PriorityClass", "value", 1.5, "an integer"),
    ("RoleBinding", "subjects", {"kind": "Group"}, "a list of objects"),
    ("RoleBinding", "roleRef", "edit", "an object"),
    ("ServiceAccount", "metadata.annotations", ["a"], "an object of texts"),
    ("Namespace", "metadata.labels", "team", "an object of texts"),
    ("ConfigMap", "data", ["a"], "an object of texts"),
    ("PrometheusRule", "spec.groups", ["x"], "a list of objects"),
    ("ComputeClass", "spec.priorities", "spot", "a list of objects"),
    ("ResourceQuota", "spec.hard", [], "an object"),
    ("LimitRange", "spec.limits", {"type": "Pod"}, "a list of objects"),
)


def _set(resource: Any, path: str, value: object) -> None:
    *parents, last = path.replace("[0]", ".0").split(".")
    for step in parents:
        resource = resource[int(step)] if step.isdecimal() else resource.setdefault(step, {})
    resource[last] = value


@pytest.mark.parametrize(("kind", "path", "value", "what"), CASES)
def test_a_field_of_another_type_is_named_with_its_object(kind: str, path: str, value: object, what: str) -> None:
    answers = files(plan("dev"), noise=True)
    objects = json.loads(answers["objects.json"])
    for made, content in _MADE.items():
        objects["items"].insert(
            0, {"apiVersion": "v1", "kind": made, "metadata": {"name": "x"}, **copy.deepcopy(content)}
        )
    answer = next(each for each in objects["items"] if each["kind"] == kind)
    _set(answer, path, value)
    with pytest.raises(InvalidInventory) as refused:
        read_inventory({**answers, "objects.json": json.dumps(objects)})
    name = answer["metadata"]["name"]
    line = f"objects.json: {kind} '{name}': {path} is not {what}; give the answer of kubectl as it is"
    assert list(refused.value.lines) == [line]


def test_quotas_that_kueue_reads_are_read() -> None:
    answers = files(plan("dev"), noise=True)
    objects = json.loads(answers["objects.json"])
    queue = next(each for each in objects["items"] if each["kind"] == "ClusterQueue")
    for amount in ("4", 4, "4000m", "0", "1k", "1e1"):
        _set(queue, f"{_TPU}.nominalQuota", amount)
        read_inventory({**answers, "objects.json": json.dumps(objects)})


def test_an_object_without_fields_is_read() -> None:
    answers = files(plan("dev"), noise=True)
    objects = json.loads(answers["objects.json"])
    for kind in _MADE:
        objects["items"].append({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}})
    adopted = adopt(read_inventory({**answers, "objects.json": json.dumps(objects)}), "dev")
    (line,) = [each for each in adopted.not_adopted if each.subject == "ComputeClass x"]
    assert line.reason == "no flavor of a queue selects it; ignored"
