"""ComputeClasses: what their manifests say, by the rules of the CRD, and how they are made."""

from __future__ import annotations

from typing import Any, cast

import pulumi_kubernetes as kubernetes
import pytest

from berth.manifests.gke import compute_class
from berth.plan.compute_classes import (
    ClassGpuPlan,
    ClassPriorityPlan,
    ClassReservationPlan,
    ClassTpuPlan,
    ComputeClassPlan,
)
from components.gke.compute_classes import ComputeClasses
from tests.engine import Run, both_modes, broken_rules, run, using

H200 = ClassGpuPlan(type="nvidia-h200-141gb", count=8, driver="latest")
CHIPS = ClassTpuPlan(type="tpu-v6e-slice", count=4, topology="4x4")
LADDER = ComputeClassPlan(
    name="h200",
    priorities=(
        ClassPriorityPlan(
            machine_type="a3-ultragpu-8g",
            gpu=H200,
            affinity="Specific",
            reservations=(
                ClassReservationPlan(name="r", project="p", block="b", sub_block="s", zones=("us-central1-a",)),
            ),
        ),
        ClassPriorityPlan(gpu=H200, flex_start=True, max_run_seconds=604800),
        ClassPriorityPlan(gpu=H200, spot=True),
    ),
)


def spec(plan: ComputeClassPlan) -> dict[str, Any]:
    return cast("dict[str, Any]", compute_class(plan)["spec"])


def priority(plan: ClassPriorityPlan) -> dict[str, Any]:
    (one,) = spec(ComputeClassPlan(name="c", priorities=(plan,)))["priorities"]
    return one


def made(preview: bool = False) -> Run:
    def build() -> None:
        provider = kubernetes.Provider("kubernetes", kubeconfig="{}")
        ComputeClasses("classes", [LADDER, ComputeClassPlan(name="default", priorities=())], opts=using(provider))

    return run(build, preview)


@both_modes
def test_classes_keep_the_rules_of_every_component(preview: bool) -> None:
    done = made(preview)
    assert broken_rules(done) == []
    assert {one.name for one in done.resources_of("cloud.google.com/v1:ComputeClass")} == {
        "classes-h200",
        "classes-default",
    }


@both_modes
def test_a_class_is_exactly_its_manifest(preview: bool) -> None:
    assert made(preview).only_resource("ComputeClass", "classes-h200").inputs == compute_class(LADDER)


def test_compute_class_rules_keep_their_order() -> None:
    """A reservation first, flex-start when it is full, spot at the last."""
    first, second, third = spec(LADDER)["priorities"]
    assert first["reservations"]["affinity"] == "Specific"
    assert second["flexStart"] == {"enabled": True}
    assert second["maxRunDurationSeconds"] == 604800
    assert third == {"gpu": {"type": "nvidia-h200-141gb", "count": 8, "driverVersion": "latest"}, "spot": True}


def test_a_sub_block_is_part_of_its_block() -> None:
    (one,) = spec(LADDER)["priorities"][0]["reservations"]["specific"]
    assert one == {
        "name": "r",
        "project": "p",
        "zones": ["us-central1-a"],
        "reservationBlock": {"name": "b", "reservationSubBlock": {"name": "s"}},
    }


@pytest.mark.parametrize("affinity", ["AnyBestEffort", "AnyThenFail", "None"])
def test_an_affinity_to_any_reservation_has_no_name(affinity: str) -> None:
    """The CRD refuses `specific` beside anything but Specific."""
    assert priority(ClassPriorityPlan(spot=False, affinity=affinity))["reservations"] == {"affinity": affinity}


def test_spot_is_optional_and_can_be_rejected() -> None:
    assert "spot" not in priority(ClassPriorityPlan(machine_type="n4-standard-8"))
    assert priority(ClassPriorityPlan(machine_type="n4-standard-8", spot=False))["spot"] is False


def test_slices_match_their_plans() -> None:
    assert priority(ClassPriorityPlan(tpu=CHIPS))["tpu"] == {"type": "tpu-v6e-slice", "count": 4, "topology": "4x4"}


def test_machines_of_a_compute_class_rule_match_the_plan() -> None:
    plan = ClassPriorityPlan(
        machine_type="a2-highgpu-1g",
        zones=("us-central1-b", "us-central1-a"),
    )
    assert priority(plan) == {
        "machineType": "a2-highgpu-1g",
        "location": {"zones": ["us-central1-a", "us-central1-b"]},
    }


def test_a_compute_class_always_sets_its_fallback() -> None:
    """The CRD requires it, and each version of the server fills an absent value with its own default."""
    assert spec(ComputeClassPlan(name="c", priorities=())) == {
        "whenUnsatisfiable": "DoNotScaleUp",
        "nodePoolAutoCreation": {"enabled": True},
        "priorities": [],
    }


def test_nodes_of_a_compute_class_match_the_plan() -> None:
    plan = ComputeClassPlan(
        name="c",
        priorities=(),
        secure_boot=True,
        migrate_up=True,
        consolidation_minutes=5,
        service_account="n@x.example",
        image_streaming=True,
    )
    assert spec(plan) == {
        "whenUnsatisfiable": "DoNotScaleUp",
        "activeMigration": {"optimizeRulePriority": True},
        "autoscalingPolicy": {"consolidationDelayMinutes": 5},
        "nodePoolAutoCreation": {"enabled": True, "shieldedInstanceConfig": {"enableSecureBoot": True}},
        "nodePoolConfig": {
            "serviceAccount": "n@x.example",
            "imageStreaming": {"enabled": True},
        },
        "priorities": [],
    }
