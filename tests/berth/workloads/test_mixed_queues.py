"""What `berth workload` prints for a queue with and without accelerators: lint and the policies let all of it pass."""

from __future__ import annotations

import pathlib
from functools import cache
from typing import Any

import pytest
import yaml

from berth.cli.workload import generate as workload
from berth.evaluate import Evaluation, evaluate_stack
from berth.jobs.files import ManifestDocument
from berth.lint.findings import lint_documents
from berth.lint.fleet import LintContext
from berth.workloads.options import workload_kinds
from tests import hostile
from tests.cel import Request, refusals
from tests.stack_files import ROOT

_GIVEN = {"image": "trainer:1", "command": ("python", "train.py")}
_L4 = {"cloud.google.com/gke-accelerator": "nvidia-l4"}
_N2 = ("node.kubernetes.io/instance-type", "n2-standard-32")
_TEMPLATE = {"spec": {"nodeSelector": _L4, "containers": [{"name": "main", "image": "x"}]}}
_ROLES = {
    "rayjob": ("rayClusterSpec.headGroupSpec.template", "submitterPodTemplate"),
    "raycluster": ("headGroupSpec.template",),
    "mpijob": ("mpiReplicaSpecs.Launcher.template",),
}


@cache
def fleet() -> Evaluation:
    return evaluate_stack(str(hostile.FOLDER / "fleet.yaml"), ROOT)


def made(kind: str, flavor: str, queue: str = "mixed", **options: Any) -> list[dict[str, Any]]:
    given = {option: _GIVEN[option] for option in workload_kinds()[kind].needs}
    result = workload.generate_workload(fleet(), "vision", queue, {"kind": kind, "flavor": flavor, **given, **options})
    if {each.code for each in result.faults} == {"wrong-kind"}:
        pytest.skip(result.faults[0].message)
    assert not result.faults, [each.line() for each in result.faults]
    return [dict(each) for each in result.objects]


def at(manifest: dict[str, Any], path: str) -> Any:
    value = manifest["spec"]
    for step in path.split("."):
        value = value[step]
    return value


@pytest.mark.parametrize("flavor", ["l4", "n2"])
@pytest.mark.parametrize("kind", ["job", "jobset", "pytorchjob", "mpijob", "trainjob", "rayjob", "raycluster"])
def test_every_form_passes_lint_and_the_policies(kind: str, flavor: str) -> None:
    manifests = made(kind, flavor)
    found = lint_documents([ManifestDocument("", each) for each in manifests], LintContext(hostile.fleet()))
    assert [each.message for finding in found for each in finding.problems if each.code == "policy"] == []
    (job,) = (each for each in manifests if each["kind"] not in ("Service", "ComputeDomain"))
    group, _, _ = job["apiVersion"].rpartition("/")
    assert refusals(hostile.manifests(), _creation(job, (group, f"{job['kind'].lower()}s"))) == []


def _creation(job: dict[str, Any], resource: tuple[str, str]) -> Request:
    (namespace,) = (
        each for each in hostile.manifests() if each["kind"] == "Namespace" and each["metadata"]["name"] == "vision"
    )
    return Request(*resource, namespace=namespace, after=job, before=None, everywhere=False)


@pytest.mark.parametrize("kind", _ROLES)
@pytest.mark.parametrize("templated", [False, True])
def test_roles_without_accelerators_select_the_machines_without(
    kind: str, templated: bool, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(_TEMPLATE), encoding="utf-8")
    (job,) = made(kind, "l4", **({"template": str(file)} if templated else {}))
    for path in _ROLES[kind]:
        selector = at(job, path)["spec"]["nodeSelector"]
        assert _N2 in selector.items() or ("berth.dev/capacity", "on-demand") in selector.items()
        assert not _L4.keys() & selector.keys()


def test_ray_makes_the_submitter_of_a_queue_with_accelerators_only() -> None:
    (job,) = made("rayjob", "l4", queue="l4")
    assert "submitterPodTemplate" not in job["spec"]
    assert "nodeSelector" not in at(job, "rayClusterSpec.headGroupSpec.template")["spec"]
