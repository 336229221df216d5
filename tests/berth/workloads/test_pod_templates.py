"""`berth workload --template`: what is added to a team's own pod template, and what contradicts the queue."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

from berth.plan.configuration import OPERATORS
from berth.workloads.options import workload_kinds
from tests.berth.workloads.made import answer, objects
from tests.problem_lines import line_without_code

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "trainer"}, "annotations": {"gke-gcsfuse/volumes": "true"}},
    "spec": {
        "initContainers": [{"name": "fetch", "image": "fetch:1"}],
        "containers": [
            {"name": "sidecar", "image": "sidecar:1"},
            {
                "name": "train",
                "image": "trainer:1",
                "args": ["--steps", "100"],
                "env": [
                    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token", "optional": True}}}
                ],
                "resources": {"limits": {"google.com/tpu": 4}, "requests": {"memory": "32Gi"}},
                "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
            },
        ],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    },
}


def saved(folder: pathlib.Path, template: object) -> str:
    file = folder / "template.yaml"
    file.write_text(yaml.safe_dump(template), encoding="utf-8")
    return str(file)


def first_template(manifest: dict[str, Any]) -> dict[str, Any]:
    return manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]


def edited(**changes: Any) -> dict[str, Any]:
    return {**TEMPLATE, "spec": {**TEMPLATE["spec"], **changes}}


def test_nothing_of_the_template_is_lost(tmp_path: pathlib.Path) -> None:
    (job_set,) = objects("dev", "vision", "train", slices=2, template=saved(tmp_path, TEMPLATE))
    filled = first_template(job_set)
    assert _is_within(TEMPLATE, filled)
    main = filled["spec"]["containers"][1]
    assert main["resources"] == {
        "limits": {"google.com/tpu": 4},
        "requests": {"google.com/tpu": "4", "memory": "32Gi"},
    }
    assert filled["spec"]["hostNetwork"] is True
    assert [port["containerPort"] for port in main["ports"]] == [8471, 8080]
    assert "resources" not in filled["spec"]["containers"][0]


def test_the_notes_list_exactly_what_is_added(tmp_path: pathlib.Path) -> None:
    made = answer("dev", "vision", "train", slices=2, template=saved(tmp_path, TEMPLATE))
    filled = first_template(dict(made.objects[0]))  # type: ignore[arg-type]
    start = made.notes.index("Added to the template:")
    listed = [note.strip().split(": ")[0] for note in made.notes[start + 1 :] if note.startswith("  ")]
    added = _leaves(filled) - _leaves(TEMPLATE)
    assert set(listed) == {re.sub(r"\.ports\[.*", ".ports", path) for path in added}


def test_the_accelerators_of_the_template_are_taken(tmp_path: pathlib.Path) -> None:
    container = {"name": "train", "image": "trainer:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    template = {"spec": {"containers": [container]}}
    (job,) = objects("dev", "language", "batch", template=saved(tmp_path, template))
    (filled,) = job["spec"]["template"]["spec"]["containers"]
    assert filled["resources"]["requests"]["nvidia.com/gpu"] == "1"


def test_a_container_is_named_as_the_operator_needs_it(tmp_path: pathlib.Path) -> None:
    template = {"spec": {"containers": [{"name": "train", "image": "trainer:1"}]}}
    (job,) = objects("dev", "language", "batch", kind="pytorchjob", template=saved(tmp_path, template))
    spec = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    assert [each["name"] for each in spec["containers"]] == ["pytorch"]


def test_heads_and_launchers_have_the_template_without_accelerators(tmp_path: pathlib.Path) -> None:
    container = {"name": "train", "image": "ray:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    template = {"spec": {"containers": [container], "volumes": [{"name": "data", "emptyDir": {}}]}}
    (job,) = objects(
        "dev", "language", "batch", kind="rayjob", template=saved(tmp_path, template), command=("python", "a b.py")
    )
    cluster = job["spec"]["rayClusterSpec"]
    head, worker = cluster["headGroupSpec"]["template"]["spec"], cluster["workerGroupSpecs"][0]["template"]["spec"]
    assert job["spec"]["entrypoint"] == "python 'a b.py'"
    assert head["volumes"] == worker["volumes"] == template["spec"]["volumes"]
    assert "nvidia.com/gpu" not in str(head)
    assert worker["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 1


@pytest.mark.parametrize("document", ["PodTemplate", "Pod", "bare"])
def test_a_template_may_be_an_object(tmp_path: pathlib.Path, document: str) -> None:
    spec = {"containers": [{"name": "main", "image": "trainer:1"}]}
    forms: dict[str, Any] = {
        "PodTemplate": {
            "apiVersion": "v1",
            "kind": "PodTemplate",
            "metadata": {"name": "x"},
            "template": {"spec": spec},
        },
        "Pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec},
        "bare": {"spec": spec},
    }
    (job,) = objects("dev", "language", "batch", template=saved(tmp_path, forms[document]))
    assert "name" not in job["spec"]["template"].get("metadata", {})
    assert job["spec"]["template"]["spec"]["containers"][0]["image"] == "trainer:1"


REFUSED: dict[str, tuple[object, dict[str, Any], list[str]]] = {
    "no mapping": (
        ["a"],
        {},
        ["--template: is not a pod template: it needs spec.containers, a list of at least one container"],
    ),
    "a whole Job": (
        {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": [{}]}}}},
        {},
        ["--template: is not a pod template: it needs spec.containers, a list of at least one container"],
    ),
    "the pods' own network where slices need the nodes'": (
        edited(hostNetwork=False),
        {"slices": 2},
        [
            "--template: spec.hostNetwork is 'false', but the machines of the queue need 'true'; "
            "remove it from the template, and Berth writes 'true'"
        ],
    ),
    "half of a host": (
        {"spec": {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"google.com/tpu": 2}}}]}},
        {},
        [
            "--template: spec.containers.0.resources.limits.google.com/tpu is '2', but the machines of the queue need "
            "'4'; remove it from the template, and Berth writes '4'"
        ],
    ),
    "a template of a TrainJob": (
        {"spec": {"containers": [{"name": "a", "image": "b"}]}},
        {"kind": "trainjob"},
        [
            "--template: a trainjob has no template; remove it, or write another --kind",
            "--kind: the 2 pods of a trainjob could be placed on two slices; write --kind jobset",
        ],
    ),
}
"""Template, options, lines."""


@pytest.mark.parametrize("claim", REFUSED)
def test_an_invalid_template_is_rejected(claim: str, tmp_path: pathlib.Path) -> None:
    template, options, lines = REFUSED[claim]
    made = answer("dev", "vision", "train", template=saved(tmp_path, template), **options)
    assert [line_without_code(problem) for problem in made.faults] == lines
    assert made.objects == ()


def test_a_file_that_is_not_there_is_one_line(tmp_path: pathlib.Path) -> None:
    made = answer("dev", "vision", "train", template=str(tmp_path / "nothing.yaml"))
    assert len(made.faults) == 1
    assert "nothing.yaml" in made.faults[0].line()


def test_a_privileged_template_gets_the_fault_of_lint(tmp_path: pathlib.Path) -> None:
    container = {"name": "a", "image": "b", "securityContext": {"privileged": True}}
    made = answer("dev", "language", "batch", template=saved(tmp_path, {"spec": {"containers": [container]}}))
    assert made.objects == ()
    assert any("privileged" in each.line() for each in made.faults)


def test_every_operator_that_the_stack_does_not_name_is_in_the_notes() -> None:
    for kind, row in workload_kinds().items():
        made = answer("dev", "language", "batch", kind=kind, **dict.fromkeys(row.needs, ("x",)) | {"image": "x:1"})
        needs = [note for note in made.notes if note.startswith("Needs ")]
        is_named = row.operator in ("", "kuberay", "training-operator")  # of the stack
        if made.objects:
            expected = f"Needs {OPERATORS.get(row.operator)} in the cluster, which Berth does not install; once it is "
            expected += f"there, write operators: [{row.operator}] in the stack file."
            assert needs == ([] if is_named else [expected])


def _is_within(part: object, whole: object) -> bool:
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_within(each, whole[key]) for key, each in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return all(_is_within(*each) for each in zip(part, whole, strict=False))
    return part == whole


def _leaves(value: object, path: str = "") -> set[str]:
    """The paths of everything that is no mapping and no list."""
    if isinstance(value, dict):
        return {leaf for key, each in value.items() for leaf in _leaves(each, f"{path}.{key}" if path else key)}
    if isinstance(value, list):
        return {leaf for index, each in enumerate(value) for leaf in _leaves(each, f"{path}[{index}]")}
    return {path}
