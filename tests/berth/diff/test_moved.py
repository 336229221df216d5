"""A fleet that moves: to another existing cluster, or to another project."""

from __future__ import annotations

from msgspec.structs import replace

from berth.backends.interface import compare
from berth.diff.changes import Changes
from berth.diff.headline import headline
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from tests.small_fleets import fleet_with
from tests.small_fleets import plan as small_plan
from tests.stack_files import plan


def moved(field: str, *, protected: bool = True) -> Changes:
    """Return the local stack, whose queues are protected, with a field of its existing cluster changed."""
    old = plan("local")
    old = replace(
        old,
        allowances=replace(old.allowances, protect=protected),
        cluster_queues=tuple(replace(queue, protect=protected) for queue in old.cluster_queues),
    )
    assert isinstance(old.cluster, ExistingClusterPlan)
    return compare(old, replace(old, cluster=replace(old.cluster, **{field: "other"})))


def test_another_existing_cluster_replaces_every_object_and_blocks_for_every_protected_queue() -> None:
    result = moved("name")
    assert {each.what for each in result.objects} == {"replaced"}
    assert len(result.objects) > 30
    queues = {queue.name for queue in plan("local").cluster_queues}
    assert {loss.name for loss in result.blocked} == queues
    assert {loss.key for loss in result.blocked} == {f"clusterQueues.{name}" for name in queues}
    assert headline(result).startswith("local: connection to the existing cluster is REPLACED")
    assert headline(result).endswith(f"; {len(queues)} blocked")
    assert not moved("name", protected=False).blocked


def test_another_context_is_a_change() -> None:
    result = moved("context")
    assert not result.is_empty
    assert [(each.kind, each.what) for each in result.things] == [("connection", "updated")]


def of_project(project: str) -> FleetPlan:
    """Return the small fleet in a project, with a reservation and an identity."""
    l4 = {"machineType": "g2-standard-24", "zone": "us-central1-a", "count": 4}
    return small_plan(fleet_with({"project": project, "reservations": {"l4": l4}, "teams.vision.identity": {}}))


def test_another_project_lists_all_its_resources() -> None:
    changes = compare(of_project("acme-ml-dev"), of_project("acme-ml-prod"))
    what = {(each.kind, each.key): each.what for each in changes.things}
    assert {kind for (kind, _), each in what.items() if each != "replaced"} <= {"controller"}
    assert {"network", "node identity", "reservation", "cluster", "alert", "dashboard", "service"} <= {
        k for k, _ in what
    }
    assert ("reservation", "l4") in {(loss.kind, loss.name) for loss in changes.blocked}
    assert {each.what for each in changes.objects} == {"replaced"}
