"""The account of the nodes of an adopted cluster: in the stack file if a key exists, otherwise in the output."""

from __future__ import annotations

import json
from typing import Any

import pytest

from berth.adopt.first_update import first_update_changes
from berth.adopt.inventory import read_inventory
from berth.adopt.stack_file import AdoptedFleet
from berth.cli.adopt.answer import adopt_inventory
from berth.plan.fleet import ExistingGkeClusterPlan, FleetPlan
from berth.workloads.node_identity import node_account
from tests.gke_answers import files
from tests.stack_files import plan

MADE = "dws-nodes@my-project.iam.gserviceaccount.com"
OTHER = "slices@my-project.iam.gserviceaccount.com"
COMPUTE = "123456789012-compute@developer.gserviceaccount.com"
SCOPES = {"oauthScopes": ["https://www.googleapis.com/auth/devstorage.read_only"]}


def adopted(account: str | None, *, keep: bool, context: str | None = None, **config: Any) -> Any:
    """Return what is adopted of the example whose GPU nodes run as an account, its plan, and lines about the pool."""
    answers = {name: json.loads(text) for name, text in files(plan("dws"), noise=True).items()}
    (node_pool,) = [each for each in answers["node-pools.json"] if each["name"] == "dws"]
    node_pool["config"] |= {"serviceAccount": account, **config}
    texts = {name: json.dumps(each) for name, each in answers.items()}
    inventory = read_inventory(texts, context, keeps_cluster=keep)
    _, fleet, evaluation = adopt_inventory(inventory, "dws")
    assert [fault.line() for fault in evaluation.faults] == []
    assert evaluation.fleet_plan is not None
    told = [each.line() for each in (*fleet.not_adopted, *first_update_changes(inventory, evaluation.fleet_plan))]
    return fleet, evaluation.fleet_plan, [line for line in told if line.startswith(("pool dws:", "node pool dws:"))]


def keys(fleet: AdoptedFleet) -> dict[str, object]:
    pool = fleet.fleet["pools"]["dws"]
    return {key: pool[key] for key in ("adopted", "serviceAccount") if key in pool}


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(
    ("account", "config", "expected"),
    [
        (MADE, {}, {}),
        (OTHER, {}, {"serviceAccount": OTHER}),
        ("default", {}, {"adopted": True, "serviceAccount": "default"}),
        (MADE, SCOPES, {"adopted": True, "serviceAccount": MADE}),
        (OTHER, SCOPES, {"adopted": True, "serviceAccount": OTHER}),
        (None, {}, {}),
        (None, SCOPES, {"adopted": True}),
    ],
)
def test_the_account_is_written_unless_berth_makes_it(
    account: str | None, config: dict[str, Any], expected: dict[str, object], *, keep: bool
) -> None:
    fleet, _, lines = adopted(account, keep=keep, **config)
    assert keys(fleet) == expected
    assert lines == []


@pytest.mark.parametrize(
    ("account", "config", "made"),
    [(MADE, {}, True), (MADE, SCOPES, True), (OTHER, SCOPES, False), ("default", {}, False), (OTHER, {}, False)],
)
def test_an_account_that_berth_made_stays_in_the_plan_of_a_kept_cluster(
    account: str, config: dict[str, Any], *, made: bool
) -> None:
    """Otherwise the first preview would refuse to start: nodes run as an account that the plan no longer has."""
    found: FleetPlan = adopted(account, keep=True, **config)[1]
    assert isinstance(found.cluster, ExistingGkeClusterPlan)
    assert (found.cluster.node_service_account is not None) == made


@pytest.mark.parametrize("account", [COMPUTE, "my-project@appspot.gserviceaccount.com"])
def test_an_account_without_a_key_is_kept_and_listed(account: str) -> None:
    fleet, _, lines = adopted(account, keep=True)
    assert keys(fleet) == {"adopted": True}
    assert lines == [
        f"pool dws: its nodes run as {account}, which serviceAccount cannot name; nodes keep their account, so do not "
        "delete it"
    ]


def test_slices_with_several_accounts_keep_them() -> None:
    answers = {name: json.loads(text) for name, text in files(plan("dev"), noise=True).items()}
    slices = [each for each in answers["node-pools.json"] if each["name"].startswith("v5e-")]
    for node_pool, account in zip(slices, (OTHER, "default", OTHER), strict=True):
        node_pool["config"]["serviceAccount"] = account
    texts = {name: json.dumps(each) for name, each in answers.items()}
    _, fleet, _ = adopt_inventory(read_inventory(texts, None), "dev")
    pool = fleet.fleet["pools"]["v5e"]
    assert (pool["adopted"], "serviceAccount" in pool) == (True, False)
    assert [each.line() for each in fleet.not_adopted if each.line().startswith("pool v5e:")] == [
        f"pool v5e: its node pools run as default and {OTHER}, and serviceAccount names one account; nodes keep their "
        "account, so do not delete it"
    ]


def test_pools_that_are_described_only_have_no_account() -> None:
    fleet, _, lines = adopted(OTHER, keep=False, context="a-context")
    assert (keys(fleet), lines) == ({}, [])


@pytest.mark.parametrize(("account", "own"), [("default", None), (OTHER, OTHER), (MADE, None)])
def test_compute_engines_default_account_is_not_an_account_of_the_pool(account: str, own: str | None) -> None:
    """So `berth lint` warns of pods on the host network there too."""
    (pool,) = [each for each in adopted(account, keep=True)[1].own_pools if each.name == "dws"]
    assert node_account(pool) == own
