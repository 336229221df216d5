"""What `berth workload` writes around the accelerators: claims of devices, rollouts, restarts after disruptions."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml

from berth.evaluate import evaluate_stack
from berth.lint.made_jobs import linted_workload
from berth.workloads.options import WorkloadOptions
from berth.workloads.rollout import rollout_steps
from tests.berth.workloads.made import one

STACK = pathlib.Path(__file__).parents[1] / "lint" / "around" / "stack.yaml"


def made(queue: str, **options: Any) -> dict[str, Any]:
    """Return the last object of a workload on the fleet of the cases of lint, without problems."""
    plan = evaluate_stack(str(STACK), STACK.parent).fleet_plan
    assert plan is not None
    result = linted_workload(plan, {}, "llm", queue, WorkloadOptions(**options))
    assert [each.line() for each in result.problems if each.code != "node-identity"] == []
    return dict(result.objects[-1])


def pod(manifest: dict[str, Any]) -> dict[str, Any]:
    spec = manifest["spec"]
    return (spec["replicatedJobs"][0]["template"]["spec"] if "replicatedJobs" in spec else spec)["template"]["spec"]


@pytest.mark.parametrize(
    ("queue", "options", "templates"),
    [
        ("train", {"pods": 4}, ["mrdma-8"]),
        ("train", {"pods": 2, "gpus": 3}, ["mrdma-1", "mrdma-1", "mrdma-1"]),
        ("slices", {"slices": 2}, ["netdev-2"]),
    ],
)
def test_a_pod_claims_the_share_of_its_accelerators(queue: str, options: dict[str, Any], templates: list[str]) -> None:
    spec = pod(made(queue, **options))
    assert [each["resourceClaimTemplateName"] for each in spec["resourceClaims"]] == templates
    names = [each["name"] for each in spec["resourceClaims"]]
    assert len(set(names)) == len(names)
    assert [each["name"] for each in spec["containers"][0]["resources"]["claims"]] == names


def test_a_template_with_claims_of_its_own_keeps_them(tmp_path: pathlib.Path) -> None:
    claims = [{"name": "mine", "resourceClaimTemplateName": "mrdma-8"}]
    container = {"name": "a", "image": "i", "resources": {"claims": [{"name": "mine"}]}}
    template = {"spec": {"resourceClaims": claims, "containers": [container]}}
    spec = pod(made("train", pods=2, template=template))
    assert spec["resourceClaims"] == claims
    assert spec["containers"][0]["resources"]["claims"] == [{"name": "mine"}]


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "steps"),
    [
        (1, "25%", "25%", (1, 0)),
        (3, "25%", "25%", (1, 0)),
        (4, "25%", "25%", (1, 1)),
        (10, "25%", "25%", (3, 2)),
        (2, 0, 0, (0, 1)),
        (2, "0%", "10%", (0, 1)),
        (2, "many", 1, None),
    ],
)
def test_the_steps_of_a_rollout(
    replicas: int, surge: object, unavailable: object, steps: tuple[int, int] | None
) -> None:
    """As Kubernetes rounds: the surge up, the unavailable pods down."""
    assert rollout_steps(replicas, surge, unavailable) == steps


def test_a_deployment_that_fills_its_queue_stops_a_pod_first_and_others_keep_their_strategy() -> None:
    full = made("serve", kind="deployment", pods=2)["spec"]
    assert full["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    assert "strategy" not in made("serve", kind="deployment", pods=1)["spec"]


@pytest.mark.parametrize("restarts", ["OnFailure", None])
def test_a_job_set_does_not_count_disruptions_unless_its_template_restarts_containers(
    restarts: str | None, tmp_path: pathlib.Path
) -> None:
    """Kubernetes accepts a pod failure policy only with the restart policy Never."""
    template = {
        "spec": {"containers": [{"name": "a", "image": "i"}], **({"restartPolicy": restarts} if restarts else {})}
    }
    file = tmp_path / "template.yaml"
    file.write_text(yaml.safe_dump(template), encoding="utf-8")
    for kind in ("jobset", "job"):
        result = one("dev", "language", "batch", kind=kind, pods=2, template=str(file))
        inner = result["spec"]["replicatedJobs"][0]["template"]["spec"] if kind == "jobset" else result["spec"]
        assert ("podFailurePolicy" in inner) == (restarts is None)
        if kind == "jobset":
            assert ("rules" in result["spec"]["failurePolicy"]) == (restarts is None)
