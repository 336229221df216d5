"""Service accounts of nodes and teams that a change would delete while nodes run as them."""

from __future__ import annotations

from typing import Any

import pytest

from berth.backends.interface import compare
from berth.diff.guard import text
from berth.diff.headline import headline
from berth.diff.text import describe_effect
from berth.plan.fleet import ExistingGkeClusterPlan, FleetPlan
from berth.rules.gke.node_accounts import account_contradictions
from tests.small_fleets import plan as plan_of
from tests.stack_files import fleet_values

STACK = "existing-gke"
OWN = "existing-gke-nodes@my-project.iam.gserviceaccount.com"
OTHER = "terraform@my-project.iam.gserviceaccount.com"
ADOPTED = {"adopted": True}


def fleet(v5e: dict[str, Any] | None = None, dws: dict[str, Any] | None = None, **more: Any) -> FleetPlan:
    """Return the plan of the example with more settings of its pools; without `dws` and its queue if that is None."""
    value = fleet_values(STACK)
    pools, queues = value["pools"], value["teams"]["research"]["queues"]
    pools["v5e"] |= v5e or {}
    if dws is None:
        del pools["dws"], queues["batch"]
    else:
        pools["dws"] = {"machineType": "g2-standard-24", "nodes": {"max": 64}, **dws}
    value["teams"]["research"] |= more
    return plan_of(value, STACK)


def account(plan: FleetPlan) -> str | None:
    """Return the address of the account that Berth makes for nodes."""
    assert isinstance(plan.cluster, ExistingGkeClusterPlan)
    made = plan.cluster.node_service_account
    return made.email if made else None


def accounts_lost(old: FleetPlan, new: FleetPlan) -> list[tuple[str, tuple[str, ...]]]:
    """Return the blocked deletions of accounts, with the pools that run as them."""
    return [(each.name, each.parts) for each in compare(old, new).blocked if each.key.endswith("serviceAccount")]


@pytest.mark.parametrize(
    ("pool", "expected"),
    [
        ({}, OWN),
        (ADOPTED, None),
        ({**ADOPTED, "serviceAccount": OTHER}, None),
        ({**ADOPTED, "serviceAccount": "default"}, None),
        ({"serviceAccount": OTHER}, None),
        ({"serviceAccount": OWN}, OWN),
        ({**ADOPTED, "serviceAccount": OWN}, OWN),
    ],
)
def test_an_account_is_made_if_some_pool_runs_as_it(pool: dict[str, Any], expected: str | None) -> None:
    assert account(fleet(pool)) == expected


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        (fleet(), fleet(ADOPTED), [(OWN, ("v5e",))]),
        (fleet(), fleet({**ADOPTED, "serviceAccount": OTHER}), [(OWN, ("v5e",))]),
        (fleet(), fleet({**ADOPTED, "serviceAccount": OWN}), []),
        (fleet(dws={}), fleet(ADOPTED, dws=ADOPTED), [(OWN, ("dws", "v5e"))]),
        (fleet(dws={}), fleet(ADOPTED, dws={}), []),
        (fleet(ADOPTED, dws={}), fleet(ADOPTED), [(OWN, ("v5e",))]),
        (fleet({**ADOPTED, "serviceAccount": OTHER}, dws={}), fleet({**ADOPTED, "serviceAccount": OTHER}), []),
        (fleet({**ADOPTED, "serviceAccount": OWN}), fleet(ADOPTED), [(OWN, ("v5e",))]),
        (fleet(ADOPTED), fleet(ADOPTED), []),
        (fleet(ADOPTED), fleet({**ADOPTED, "serviceAccount": OTHER}), []),
    ],
)
def test_the_account_of_nodes_that_remain_is_not_deleted(
    old: FleetPlan, new: FleetPlan, lost: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert accounts_lost(old, new) == lost


def test_a_blocked_deletion_has_its_reason_and_remedy() -> None:
    result = compare(fleet(), fleet(ADOPTED))
    (loss,) = result.blocked
    assert text.describe_guarded_change(loss) == (
        f"service account {OWN} would be deleted, and nodes of pool v5e may run as it: they could no longer pull "
        "images, write logs or report metrics"
    )
    assert text.describe_remedy(loss) == (
        f"write serviceAccount: {OWN} in pool v5e, and Berth keeps the account; if its nodes run as another one, write "
        "that (gcloud container node-pools describe)"
    )
    assert "the service account of pool v5e is DELETED" in headline(result)
    assert "1 blocked" in headline(result)


def test_the_account_of_a_team_as_which_nodes_run_is_not_deleted() -> None:
    team = "vision-jobs@my-project.iam.gserviceaccount.com"
    identity = {"impersonate": "vision-jobs", "roles": ["roles/logging.logWriter"]}
    old = fleet({"serviceAccount": team}, identity=identity)
    new = fleet({"serviceAccount": team})
    assert accounts_lost(old, new) == [(team, ("v5e",))]
    (loss,) = compare(old, new).blocked
    assert text.describe_remedy(loss) == (
        "keep teams.<team>.identity.impersonate, or first give pool v5e another serviceAccount"
    )
    assert accounts_lost(old, fleet({"serviceAccount": OTHER})) == []


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (ADOPTED, {**ADOPTED, "serviceAccount": OTHER}, f"serviceAccount – → {OTHER}"),
        ({**ADOPTED, "serviceAccount": OTHER}, ADOPTED, f"serviceAccount {OTHER} → –"),
        (
            {**ADOPTED, "serviceAccount": OTHER},
            {**ADOPTED, "serviceAccount": "default"},
            f"serviceAccount {OTHER} → default",
        ),
    ],
)
def test_the_account_of_an_adopted_pool_is_a_statement_that_changes_nothing(
    old: dict[str, Any], new: dict[str, Any], shown: str
) -> None:
    changes = compare(fleet(old), fleet(new))
    (pool,) = changes.pools
    assert (pool.what, pool.hit_nodes, changes.things, changes.losses) == ("changed", 0, (), ())
    note = "(a statement: the nodes of an adopted pool keep their account)"
    assert [describe_effect(field) for field in pool.fields] == [f"{shown} {note}"]


def test_an_account_that_replaces_the_pool_is_no_statement() -> None:
    changes = compare(fleet({"serviceAccount": OTHER}), fleet({"serviceAccount": OWN}))
    assert [(field.path, field.does) for pool in changes.pools for field in pool.fields] == [
        ("serviceAccount", "replace")
    ]


# --- what GKE answers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pool", "actual", "line"),
    [
        (
            ADOPTED,
            OWN,
            f"pools.v5e: node pool nodepool2 runs as {OWN}, which this update would delete, because no pool of the "
            "stack file needs it: they could no longer pull images, write logs or report metrics; write "
            f"serviceAccount: {OWN} in pools.v5e",
        ),
        (
            {**ADOPTED, "serviceAccount": OWN},
            OTHER,
            f"pools.v5e.serviceAccount: '{OWN}', but node pool nodepool2 runs as {OTHER}; write serviceAccount: "
            f"{OTHER}",
        ),
        (
            {**ADOPTED, "serviceAccount": OTHER},
            "default",
            f"pools.v5e.serviceAccount: '{OTHER}', but node pool nodepool2 runs as default; write serviceAccount: "
            "default",
        ),
        (ADOPTED, OTHER, ""),
        ({**ADOPTED, "serviceAccount": OWN}, OWN, ""),
        ({}, OTHER, ""),
    ],
)
def test_a_look_up_returns_the_account_of_nodes(pool: dict[str, Any], actual: str, line: str) -> None:
    result = list(account_contradictions(fleet(pool), {"nodepool2": actual, "default-pool": OWN}))
    assert result == ([line] if line else [])
