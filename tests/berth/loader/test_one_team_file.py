"""One team file on two backends: what `stacks/teams/trainers.yaml` becomes under MultiKueue, and on an ACK One fleet.

The figures are counted here from the team file and the stack files as they are written, not from the plans.
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from berth.manifests.ack import ack_manifests as on_ack
from berth.manifests.fleet import all_manifests as on_kueue
from berth.plan.ack import AckFleetPlan
from berth.planner.queueing.quota_tree import accelerator_quotas
from berth.yaml_loader import LOADER
from tests.stack_files import ALL_STACKS, ROOT, evaluation, plan

TEAM_FILE = "stacks/teams/trainers.yaml"
BOTH = ("multikueue", "ack-fleet")
GPU = "nvidia.com/gpu"


def written(path: str) -> Any:
    """A YAML file of the repository."""
    return yaml.load((ROOT / path).read_text(encoding="utf-8"), LOADER)


def guarantee_entry() -> dict[str, Any]:
    """The one entry of trainers' one queue."""
    (team,) = written(TEAM_FILE)["teams"].values()
    (queue,) = team["queues"].values()
    (entry,) = queue["flavors"]
    return entry


def ack() -> AckFleetPlan:
    """The plan of the fleet on Alibaba Cloud."""
    result = evaluation("ack-fleet").plan
    assert isinstance(result, AckFleetPlan)
    return result


@pytest.mark.parametrize("stack", BOTH)
def test_both_stacks_name_the_team_file_and_do_not_define_its_team(stack: str) -> None:
    value = written(str(ALL_STACKS[stack].relative_to(ROOT)))["config"]["berth:fleet"]
    assert value["teamFiles"] == [TEAM_FILE]
    assert "trainers" not in value["teams"]
    file = evaluation(stack).file
    assert file is not None
    read: Any = file.fleet
    assert read["teams"]["trainers"] == written(TEAM_FILE)["teams"]["trainers"]
    assert evaluation(stack).faults == ()


def test_the_team_has_the_same_rights_on_both() -> None:
    """By flavor, in accelerators: what it is guaranteed, and (it borrows nothing) the same as the most it can use."""
    here, there = ({team.name: team for team in teams}["trainers"] for teams in (plan("multikueue").teams, ack().teams))
    guarantee = {guarantee_entry()["flavor"]: guarantee_entry()["guaranteed"]}
    assert here.guaranteed == there.guaranteed == guarantee
    assert here.ceiling == there.ceiling == guarantee
    assert [namespace.name for namespace in here.namespaces] == [namespace.name for namespace in there.namespaces]


def test_with_kueue_a_queue_is_on_the_manager_and_has_a_share_on_each_worker() -> None:
    fleet_plan = plan("multikueue")
    (queue,) = [q for q in fleet_plan.cluster_queues if q.name == "trainers-train"]
    resources = {flavor.name: flavor.resource for flavor in fleet_plan.flavors}
    assert [(f, q.nominal, q.borrowing_limit) for f, q in accelerator_quotas(queue, resources)] == [("a100", 16, 0)]
    held = {
        name: pool["nodes"] * 8  # a2-ultragpu-8g
        for name, worker in written("stacks/examples/multikueue.yaml")["config"]["berth:fleet"]["workers"].items()
        for pool in [worker["pools"]["a100"]]
    }
    shares = {
        worker.name: quota.nominal
        for worker in fleet_plan.workers
        for each in worker.plan.cluster_queues
        if each.name == queue.name
        for _, quota in accelerator_quotas(each, resources)
    }
    assert shares == held  # all there is, and all of it is theirs
    assert sum(shares.values()) == guarantee_entry()["guaranteed"]
    for cluster in (fleet_plan, *(worker.plan for worker in fleet_plan.workers)):
        (door,) = [m for m in on_kueue(cluster) if m["kind"] == "LocalQueue" and _namespace(m) == "trainers"]
        assert door["spec"] == {"clusterQueue": "trainers-train"}


def test_on_ack_a_queue_is_a_leaf_of_the_quota_tree_and_a_policy_in_its_namespace() -> None:
    manifests = list(on_ack(ack()))
    (tree,) = [m for m in manifests if m["kind"] == "ElasticQuotaTree"]
    root: Any = tree["spec"]
    leaves = {leaf["name"]: leaf for cohort in root["root"]["children"] for leaf in cohort["children"]}
    leaf = leaves["trainers-train"]
    assert leaf["namespaces"] == ["trainers"]
    assert leaf["min"][GPU] == leaf["max"][GPU] == str(guarantee_entry()["guaranteed"])
    assert [m["metadata"] for m in manifests if m["kind"] == "PropagationPolicy" and _namespace(m) == "trainers"]


def _namespace(manifest: Any) -> str:
    return manifest["metadata"].get("namespace", "")
