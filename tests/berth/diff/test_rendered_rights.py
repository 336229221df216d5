"""Rights that follow from what is rendered, whichever key of the stack file gives them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from berth.backends.interface import compare
from berth.diff.headline import headline
from berth.diff.rights.changes import Rank
from tests.berth.diff.edits.judged import plans
from tests.berth.diff.edits.sound_edits import before
from tests.small_fleets import fleet_of_pools, fleet_with, plan

_PAYMENTS: Final = {"name": "payments", "existing": True}
_ACCOUNT: Final = "spot-nodes@acme-ml-dev.iam.gserviceaccount.com"
_KUBELET: Final = "pools.dws.nodeSystemConfig.kubelet"
_GROUP: Final = {"teams.vision.groups": ["vision@acme.example"]}


def changed(stack: str, edits: dict[str, Any], given: dict[str, Any] | None = None) -> Any:
    base = fleet_with(given or {}, base=before(stack)[0])
    both = plans(stack, base, fleet_with(edits, base=base))
    assert both, "one of them has faults"
    return compare(*both)


@pytest.mark.parametrize(
    ("stack", "edits", "rank", "right"),
    [
        ("dev", {"kueue.chart": "oci://example.com/kueue"}, Rank.ADMINISTRATION, "controller kueue: chart"),
        ("dev", {"jobset.chart": "oci://example.com/jobset"}, Rank.ADMINISTRATION, "controller jobset: chart"),
        ("dev", {"kueue.version": "0.15.0"}, Rank.ADMINISTRATION, "controller kueue: version"),
        (
            "dev",
            {"monitoring.backends": ["managed", "in-cluster"]},
            Rank.ADMINISTRATION,
            "controller kube-prometheus-stack: chart",
        ),
        (
            "gpu-rdma",
            {"cluster.gpuInstallers.images": {"rdma": "example.com/rdma:1"}},
            Rank.ADMINISTRATION,
            "DaemonSet nccl-rdma-installer of kube-system: program",
        ),
        (
            "multikueue",
            {"kueue.multiKueue.clusterProfile": {"accessProviders": [{"name": "a", "command": "/bin/sh"}]}},
            Rank.ADMINISTRATION,
            "controller kueue: program",
        ),
        ("dev", {"cluster.fleetProject": "acme-hub"}, Rank.ADMINISTRATION, "cluster: fleet project"),
        ("dev", {"teams.vision.namespaces": ["vision", _PAYMENTS]}, Rank.NAMESPACES, "team vision: existing namespace"),
        (
            "dev",
            {"teams.vision.namespaces": ["vision", {"name": "vault", "existing": True}]},
            Rank.NAMESPACES,
            "team vision: existing namespace",
        ),
        ("dev", {"teams.new": {"namespaces": ["new", _PAYMENTS]}}, Rank.NAMESPACES, "team new: existing namespace"),
        (
            "dev",
            {"teams.vision.identity": {"automountServiceAccountToken": True}},
            Rank.ISOLATION,
            "team vision: token for the Kubernetes API",
        ),
        (
            "dev",
            {"teams.vision.queues.train.namespaces": "all"},
            Rank.ISOLATION,
            "fleet: start of jobs without a queue",
        ),
        (
            "dev",
            {"kueue.integrations": {"frameworks": ["batch/job"]}},
            Rank.ISOLATION,
            "admission policy berth-jobs: check",
        ),
        ("local", {"cluster.existing.serviceCidrBlock": "10.0.0.0/8"}, Rank.ISOLATION, "team vision: network policy"),
        ("dev", {"pools.v5e.tags": ["bastion"]}, Rank.ISOLATION, "pool v5e: network tag"),
        ("dev", {"cluster.systemPool.tags": ["bastion"]}, Rank.ISOLATION, "system pool: network tag"),
        ("dev", {"pools.l4-spot.serviceAccount": _ACCOUNT}, Rank.ISOLATION, "pool l4-spot: account of nodes"),
        ("dev", {"pools.l4-spot.secureBoot": False}, Rank.ISOLATION, "pool l4-spot: boot"),
        ("dws-autoprovisioned", {"cluster.nodeAutoProvisioning.secureBoot": False}, Rank.ISOLATION, "nodes: boot"),
        ("dws", {f"{_KUBELET}.allowedUnsafeSysctls": ["kernel.msg*"]}, Rank.ISOLATION, "pool dws: unsafe sysctl"),
        ("dws", {f"{_KUBELET}.insecureKubeletReadonlyPortEnabled": True}, Rank.ISOLATION, "pool dws: kubelet port"),
        ("dev", {"cluster.controlPlane.globalAccess": True}, Rank.ISOLATION, "control plane: private endpoint"),
    ],
)
def test_a_right_follows_from_what_is_rendered(stack: str, edits: dict[str, Any], rank: Rank, right: str) -> None:
    changes = changed(stack, edits)
    found = [each for each in changes.rights if f"{each.owner}: {each.right}".startswith(right)]
    assert found
    assert {each.rank for each in found} == {rank}
    assert all(each.is_loud for each in found if each.after is not None)
    loud = [each for each in changes.rights if each.is_loud]
    assert right in headline(changes) or len(loud) > 3  # the rest is counted


def test_an_existing_namespace_says_what_the_people_of_a_team_may_do_there() -> None:
    changes = changed("dev", {"teams.vision.namespaces": ["vision", _PAYMENTS]}, _GROUP)
    (right,) = (each for each in changes.rights if each.right == "existing namespace")
    assert (right.after, right.gives) == ("payments", "exec, logs, jobs with every account there")


@pytest.mark.parametrize(
    ("stack", "edits"),
    [
        ("dev", {"kueue.version": "0.19.3"}),
        ("dev", {"teams.vision.labels": {"cost": "ml"}}),
        ("dev", {"pools.v5e.slices": 4}),
        ("dev", {"kueue.waitForPodsReady": {"timeout": "2h"}}),
        (
            "dev",
            {"teams.more": {"queues": {"a": {"flavors": [{"pool": "l4-spot", "borrow": 1}]}}, "cohort": "research"}},
        ),
    ],
)
def test_what_gives_nothing_is_no_right(stack: str, edits: dict[str, Any]) -> None:
    assert changed(stack, edits).rights == ()


def test_images_of_a_new_program_and_of_one_that_goes_are_listed() -> None:
    pool = {"machineType": "a3-megagpu-8g", "nodes": 2, "zone": "us-central1-a"}
    plain = plan(fleet_of_pools({"mega": pool}))
    with_plugin = plan(fleet_of_pools({"mega": {**pool, "networking": "gpudirect"}}))
    owner = "DaemonSet nccl-tcpxo-installer of kube-system"
    for both, what in (((plain, with_plugin), "added"), ((with_plugin, plain), "removed")):
        (right,) = [each for each in compare(*both).rights if each.owner == owner]
        names = [image.partition(":")[0] for image in (right.after or right.before or "").split(", ")]
        assert (right.what, names[0], names[2]) == (what, "ubuntu", "gke.gcr.io/pause")
        assert "nccl-plugin" in names[1]


def test_rights_are_listed_by_what_they_give() -> None:
    roles = {"impersonate": "vision-pods", "roles": ["roles/owner"], "acceptRoles": {"roles/owner": "why"}}
    identity = {**roles, "buckets": {f"data-{number}": "roles/storage.objectViewer" for number in range(600)}}
    edits = {"teams.vision.identity": identity, "teams.vision.namespaces": ["vision", _PAYMENTS]}
    changes = changed("dev", edits)
    ranks = [each.rank for each in changes.rights if each.is_loud]
    assert ranks == sorted(ranks)
    assert changes.rights[0].after == "roles/owner"
    first_line = headline(changes)
    assert "roles/owner" in first_line
    assert "598 bucket" in first_line or "600 bucket" in first_line
