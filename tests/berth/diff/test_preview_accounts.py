"""Service accounts that a Pulumi preview deletes or replaces while nodes of the stack file's pools run as them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.backends.interface import check_preview, compare
from berth.cli import app
from berth.diff.guard import text
from berth.diff.guard.preview_file import read_preview
from berth.plan.fleet import FleetPlan
from tests.berth.diff.edits.edited import MANAGED
from tests.berth.diff.test_node_accounts import ADOPTED, OTHER, OWN, STACK, fleet
from tests.small_fleets import own_cluster
from tests.small_fleets import plan as plan_of
from tests.stack_files import GKE_STACKS, fleet_values

RECORDED = Path(__file__).parent / "previews"
TEAM = "vision-jobs@my-project.iam.gserviceaccount.com"
BREAKS = "they could no longer pull images, write logs or report metrics"
_URN = f"urn:pulumi:{STACK}::berth::"


def account(op: str = "delete", email: str = OWN, *, outputs: bool = True) -> dict[str, Any]:
    """Return the step of an account: the nodes', or with another address a team's."""
    component = "berth:gke:NodeServiceAccount" if email == OWN else "berth:tenancy:TeamTenancy"
    name = "nodes-account" if email == OWN else "research-account"
    state = {"inputs": {"accountId": email.partition("@")[0], "project": "my-project"}}
    state |= {"outputs": {**state["inputs"], "email": email}} if outputs else {}
    return {"op": op, "urn": f"{_URN}{component}$gcp:serviceaccount/account:Account::{name}", "oldState": state}


def slices(op: str, email: str, *numbers: int) -> list[dict[str, Any]]:
    """Return the steps of these slices of the pool, or of all."""
    state = {"outputs": {"nodeConfig": {"serviceAccount": email}}}
    urn = f"{_URN}berth:gke:NodePool$gcp:container/nodePool:NodePool::v5e"
    return [{"op": op, "urn": f"{urn}-{number}-pool", "oldState": state} for number in numbers or (1, 2, 3)]


def blocked(plan: FleetPlan, *steps: dict[str, Any]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return action, address and pools of each account whose loss is blocked."""
    report = check_preview(read_preview({"steps": list(steps)}), plan)
    return [(each.action, each.name, each.parts) for each in report.blocked if each.key.endswith("serviceAccount")]


LOST = [("delete", OWN, ("v5e",))]


@pytest.mark.parametrize(
    ("pool", "steps", "expected"),
    [
        (ADOPTED, [account()], LOST),
        (ADOPTED, [account(outputs=False)], LOST),
        ({**ADOPTED, "serviceAccount": OWN}, [account()], LOST),
        ({**ADOPTED, "serviceAccount": OTHER}, [account()], []),
        ({**ADOPTED, "serviceAccount": "default"}, [account()], []),
        ({"serviceAccount": OTHER}, [account()], []),
        ({}, [account()], LOST),
        # what the preview says of the nodes is the truth
        (ADOPTED, [account(), *slices("update", OTHER)], []),
        (ADOPTED, [account(), *slices("update", OWN)], LOST),
        (ADOPTED, [account(), *slices("update", OTHER, 1, 3)], LOST),
        ({**ADOPTED, "serviceAccount": OTHER}, [account(), *slices("update", OWN, 2)], LOST),
        ({**ADOPTED, "serviceAccount": OTHER}, [account(), *slices("update", OWN)], LOST),
        ({**ADOPTED, "serviceAccount": OTHER}, [account(), *slices("same", OWN)], LOST),
        # new nodes run as what the stack file says
        (ADOPTED, [account(), *slices("replace", OWN)], []),
        (ADOPTED, [account(), *slices("create-replacement", OWN), *slices("delete-replaced", OWN)], []),
        ({**ADOPTED, "serviceAccount": OWN}, [account(), *slices("create", OWN)], LOST),
        # nothing happens to the account
        (ADOPTED, [account("update")], []),
        (ADOPTED, [account("create")], []),
        (ADOPTED, [account("same")], []),
    ],
)
def test_an_account_of_nodes_is_not_deleted_while_a_pool_may_run_as_it(
    pool: dict[str, Any], steps: list[dict[str, Any]], expected: list[Any]
) -> None:
    assert blocked(fleet(pool), *steps) == expected


@pytest.mark.parametrize(
    ("pool", "steps", "expected"),
    [
        ({}, [account("replace")], [("replace", OWN, ("v5e",))]),
        ({}, [account("create-replacement"), account("delete-replaced")], [("replace", OWN, ("v5e",))]),
        ({}, [account("replace"), *slices("replace", OWN)], []),
        ({**ADOPTED, "serviceAccount": OWN}, [account("replace"), *slices("replace", OWN)], []),
        (ADOPTED, [account("replace")], [("replace", OWN, ("v5e",))]),
        (ADOPTED, [account("replace"), *slices("update", OTHER)], []),
        ({**ADOPTED, "serviceAccount": OTHER}, [account("replace")], []),
    ],
)
def test_an_account_is_not_replaced_under_its_nodes(
    pool: dict[str, Any], steps: list[dict[str, Any]], expected: list[Any]
) -> None:
    assert blocked(fleet(pool), *steps) == expected


@pytest.mark.parametrize(
    ("pool", "steps", "expected"),
    [
        ({"serviceAccount": TEAM}, [account(email=TEAM)], [("delete", TEAM, ("v5e",))]),
        ({**ADOPTED, "serviceAccount": TEAM}, [account(email=TEAM)], [("delete", TEAM, ("v5e",))]),
        ({"serviceAccount": TEAM}, [account("replace", TEAM)], [("replace", TEAM, ("v5e",))]),
        (ADOPTED, [account(email=TEAM), *slices("update", TEAM)], [("delete", TEAM, ("v5e",))]),
        (ADOPTED, [account(email=TEAM)], []),
        ({"serviceAccount": OTHER}, [account(email=TEAM)], []),
        ({}, [account(email=TEAM)], []),
    ],
)
def test_a_team_account_that_a_pool_names_is_not_deleted(
    pool: dict[str, Any], steps: list[dict[str, Any]], expected: list[Any]
) -> None:
    assert blocked(fleet(pool), *steps) == expected


def test_every_pool_is_named_once() -> None:
    plan = fleet(ADOPTED, dws=ADOPTED)
    assert blocked(plan, account()) == [("delete", OWN, ("dws", "v5e"))]


@pytest.mark.parametrize(
    ("before", "after", "step"),
    [
        ({}, ADOPTED, account()),
        ({"serviceAccount": TEAM}, {"serviceAccount": TEAM}, account(email=TEAM)),
    ],
)
def test_guard_and_diff_say_the_same(before: dict[str, Any], after: dict[str, Any], step: dict[str, Any]) -> None:
    identity = {"impersonate": "vision-jobs", "roles": ["roles/logging.logWriter"]}
    new = fleet(after)
    (of_diff,) = compare(fleet(before, identity=identity), new).blocked
    (of_guard,) = check_preview(read_preview({"steps": [step]}), new).blocked
    assert text.describe_guarded_change(of_guard) == text.describe_guarded_change(of_diff)
    assert text.describe_remedy(of_guard) == text.describe_remedy(of_diff)


def test_the_account_of_a_worker_is_of_the_workers_own_pools() -> None:
    manager = MANAGED.plan(None)
    assert isinstance(manager, FleetPlan)
    worker = next(each for each in manager.workers if each.made_here and each.plan.own_pools)
    urn = f"{_URN}berth:gke:NodeServiceAccount$gcp:serviceaccount/account:Account::{worker.name}/nodes-account"
    email = own_cluster(worker.plan).node_service_account.email
    step = {"op": "replace", "urn": urn, "oldState": {"outputs": {"email": email}}}
    (loss,) = check_preview(read_preview({"steps": [step]}), manager).blocked
    assert (loss.name, loss.worker) == (email, worker.name)
    assert loss.parts == tuple(pool.name for pool in worker.plan.own_pools)
    first = worker.plan.own_pools[0]
    gone = [
        {"op": "replace", "urn": f"{_URN}gcp:container/nodePool:NodePool::{worker.name}/{each.key}-pool"}
        for each in first.node_pools
    ]
    losses = check_preview(read_preview({"steps": [step, *gone]}), manager).blocked
    (rest,) = [each.parts for each in losses if each.name == email] or [()]
    assert first.name not in rest


# --- recorded with the real engine, without the look-up that refuses the first three ----------------------------------


def recorded(name: str, **pool: Any) -> list[str]:
    """Return what is blocked of a recorded preview of stack q, with more settings of its only pool."""
    value = fleet_values(STACK)
    value["pools"] = {"dws": {"machineType": "g2-standard-24", "nodes": {"max": 8}, **pool}}
    value["teams"]["research"]["queues"] = {"batch": {"flavors": [{"pool": "dws", "guaranteed": "all"}]}}
    preview = read_preview(json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8")))
    return [text.describe_guarded_change(each) for each in check_preview(preview, plan_of(value, "q")).blocked]


Q_NODES = "q-nodes@my-project.iam.gserviceaccount.com"
RUN_AS = "and nodes of pool dws may run as it"


@pytest.mark.parametrize(
    ("name", "pool", "expected"),
    [
        ("account-of-nodes-deleted", ADOPTED, [f"{Q_NODES} would be deleted, {RUN_AS}"]),
        ("account-of-nodes-deleted", {**ADOPTED, "serviceAccount": OTHER}, []),
        (
            "account-of-changed-nodes-deleted",
            {**ADOPTED, "serviceAccount": OTHER},
            [f"{Q_NODES} would be deleted, {RUN_AS}"],
        ),
        ("account-of-nodes-replaced", {}, [f"{Q_NODES} would be replaced, {RUN_AS}"]),
        ("account-of-team-deleted", {}, []),
        (
            "account-of-team-deleted",
            {"serviceAccount": TEAM},
            [f"{TEAM} would be deleted, and nodes of pool dws run as it"],
        ),
    ],
)
def test_a_recorded_loss_of_an_account_is_blocked(name: str, pool: dict[str, Any], expected: list[str]) -> None:
    """An unchanged node pool has no step, so the account that the stack file states is all that is known."""
    assert recorded(name, **pool) == [f"service account {each}: {BREAKS}" for each in expected]


def test_a_derived_field_is_not_a_reason_of_a_replacement() -> None:
    """The provider computes nodeConfig.resourceManagerTags again, and names it beside the field that changed."""
    assert recorded("max-pods-changed", maxPodsPerNode=32) == [
        "pool dws would be replaced, because maxPodsPerNode changes"
    ]


def test_a_replaced_account_is_blocked_with_its_remedy() -> None:
    (loss,) = check_preview(read_preview({"steps": [account("replace")]}), fleet(ADOPTED)).blocked
    assert text.describe_guarded_change(loss) == (
        f"service account {OWN} would be replaced, and nodes of pool v5e may run as it: {BREAKS}"
    )
    assert text.describe_remedy(loss) == (
        "undo what replaces the account, or first move pool v5e to another one (berth rotate)"
    )


def test_the_guard_exits_3_without_protection_too(tmp_path: Path) -> None:
    stack, preview = tmp_path / "Pulumi.existing-gke.yaml", tmp_path / "preview.json"
    written = GKE_STACKS[STACK].read_text(encoding="utf-8")
    stack.write_text(written.replace("  berth:fleet:\n", "  berth:fleet:\n    protect: false\n"), encoding="utf-8")
    preview.write_text(json.dumps({"steps": [account()]}), encoding="utf-8")
    result = CliRunner().invoke(app, ["guard", str(stack), str(preview)])
    assert (result.exit_code, result.stdout.splitlines()[1]) == (
        3,
        f"service account {OWN} would be deleted, and nodes of pools dws and v5e may run as it: {BREAKS}",
    )
