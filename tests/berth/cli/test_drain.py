"""`berth drain`: a stack file with every queue drained, and what prevents the stack from being destroyed."""

from __future__ import annotations

import pathlib

from msgspec.structs import replace
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.drain import protected_keys
from berth.evaluate import evaluate_stack
from berth.plan.fleet import FleetPlan
from tests.stack_files import GKE_STACKS, ROOT, every_stack


def drained(file: pathlib.Path, written: pathlib.Path) -> tuple[FleetPlan, FleetPlan]:
    """Return the plan of a stack file, and the plan of the output of `berth drain` for it."""
    done = CliRunner().invoke(app, ["drain", str(file), "-o", str(written)])
    before = evaluate_stack(str(file), ROOT)
    assert (done.exit_code, done.stdout) == (
        3 if before.fleet_plan and list(protected_keys(before.fleet_plan)) else 0,
        f"{written}: written\n",
    )
    after = evaluate_stack(str(written), ROOT, before.stack)
    assert before.fleet_plan is not None
    assert after.fleet_plan is not None
    return before.fleet_plan, after.fleet_plan


@every_stack
def test_every_queue_is_drained_and_nothing_else_changes(stack: str, tmp_path: pathlib.Path) -> None:
    before, after = drained(GKE_STACKS[stack], tmp_path / "drained.yaml")
    assert [queue.stop_policy for queue in after.cluster_queues] == ["HoldAndDrain"] * len(before.cluster_queues)
    assert not any(queue.protect for queue in after.cluster_queues)
    assert [each.name for each in after.cluster_queues] == [each.name for each in before.cluster_queues]
    teams = [
        [
            replace(team, settings=team.settings.model_copy(update={"state": "active"}), local_queues=())
            for team in plan.teams
        ]
        for plan in (before, after)
    ]
    assert teams[0] == teams[1]
    assert {team.settings.state for team in after.teams} <= {"drained"}
    for worker in after.workers:
        assert {queue.stop_policy for queue in worker.plan.cluster_queues} == {"HoldAndDrain"}
    empty = {"cluster_queues": (), "teams": (), "workers": ()}
    assert replace(after, **empty) == replace(before, **empty)


FLEET = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {deletionProtection: CLUSTER}
    protect: PROTECT
    pools:
      l4: {machineType: g2-standard-24, nodes: 2, zones: [us-central1-a]}
    teams:
      a:
        queues:
          one: {flavors: [{pool: l4, guaranteed: 2}], stopPolicy: Hold}
      b: {state: held, queues: {two: {flavors: [{pool: l4, guaranteed: 1}]}}}
    clusterQueues:
      shared: {teams: [a, b], flavors: [{pool: l4, guaranteed: 1}]}
secretsprovider: gcpkms://projects/p/locations/l/keyRings/r/cryptoKeys/k
encryptedkey: c2VjcmV0
"""


def run(tmp_path: pathlib.Path, protect: str, cluster: str) -> tuple[int, str, str]:
    file = tmp_path / "Pulumi.small.yaml"
    file.write_text(FLEET.replace("PROTECT", protect).replace("CLUSTER", cluster), encoding="utf-8")
    done = CliRunner().invoke(app, ["drain", str(file)])
    return done.exit_code, done.stdout, done.stderr


def test_held_queues_and_shared_queues_are_drained(tmp_path: pathlib.Path) -> None:
    """The file keeps what Pulumi needs to decrypt the stack's secrets."""
    status, written, result = run(tmp_path, "false", "false")
    assert (status, result) == (0, "")
    (tmp_path / "drained.yaml").write_text(written, encoding="utf-8")
    plan = evaluate_stack(str(tmp_path / "drained.yaml"), tmp_path).fleet_plan
    assert plan is not None
    assert {queue.name: queue.stop_policy for queue in plan.cluster_queues} == dict.fromkeys(
        ("a-one", "b-two", "shared"), "HoldAndDrain"
    )
    assert "encryptedkey: c2VjcmV0" in written


def test_protected_resources_are_listed_with_the_allowance_to_write(tmp_path: pathlib.Path) -> None:
    status, _, result = run(tmp_path, "true", "true")
    assert status == 3
    assert result.splitlines() == [
        "small: protected from deletion: cluster, l4",
        "    write allowDeletion: {cluster: <why>, l4: <why>}, or protect: false",
        "small: GKE refuses to delete cluster 'small': its deletion protection is on",
        "    write cluster.deletionProtection: false",
    ]


def test_protected_resources_of_workers_are_listed_with_the_workers_allowance(tmp_path: pathlib.Path) -> None:
    result = CliRunner().invoke(app, ["drain", str(GKE_STACKS["multikueue"]), "-o", str(tmp_path / "drained.yaml")])
    assert result.exit_code == 3
    assert result.stderr.splitlines()[:2] == [
        "multikueue: protected from deletion: cluster",
        "    write allowDeletion: {cluster: <why>}, or protect: false",
    ]
    assert (
        "    write workers.east.allowDeletion: {cluster: <why>, reservations.h100: <why>, a100: <why>, h100: <why>}, "
        "or protect: false"
    ) in result.stderr.splitlines()
    assert "    write workers.east.cluster.deletionProtection: false" in result.stderr.splitlines()
