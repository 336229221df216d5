"""Workers that are stacks of the repository: their machines are proved, shared and missed by name."""

from __future__ import annotations

import pathlib
import subprocess

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

FAR = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {controlPlane: {authorizedNetworks: [{name: office, cidrBlock: 34.1.224.0/24}]}}
    pools: {l4: {machineType: g2-standard-24, nodes: {max: 16}, zones: [us-central1-a]}}
    teams: {own: {queues: {q: {flavors: [{pool: l4, guaranteed: OWN}]}}}}
"""
HUB = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {controlPlane: {authorizedNetworks: [{name: office, cidrBlock: 34.1.224.0/24}]}}
    workers:
      far: {stack: acme/berth/far, pools: {l4: {machineType: g2-standard-24, nodes: {max: NODES}}}}
      farther: {cluster: {}, pools: {l4: {machineType: g2-standard-24, nodes: {max: 1}}}}
    teams: {vision: {queues: {q: {flavors: [{pool: l4, guaranteed: all}]}}}}
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: pathlib.Path, stack: str, text: str) -> None:
    (folder / f"Pulumi.{stack}.yaml").write_text(text, encoding="utf-8")


def far(own: int) -> str:
    return FAR.replace("OWN", str(own))


def hub(nodes: int) -> str:
    return HUB.replace("NODES", str(nodes))


def run(*words: str) -> str:
    return CliRunner().invoke(app, [*words]).stdout


def errors(stack: str) -> list[str]:
    return [line.partition(": error: ")[2] for line in run("check", stack).splitlines() if ": error: " in line]


@pytest.mark.parametrize("own", range(0, 33, 4))
@pytest.mark.parametrize("nodes", (1, 4, 8, 16))
def test_a_worker_has_at_most_what_its_stack_does_not_guarantee(folder: pathlib.Path, own: int, nodes: int) -> None:
    write(folder, "far", far(own))
    write(folder, "hub", hub(nodes))
    left = 16 * 2 - own  # two L4 a node
    remedy = f"describe at most {left}" if left else "remove the pool"
    itself = f" and guarantees {own} of them itself" if own else ""
    message = f"workers.far.pools.l4: describes {2 * nodes} L4, but stack 'far' has 32{itself}; {remedy}, or guarantee "
    assert errors("hub") == ([f"{message}less in stack 'far' [worker-stack]"] if 2 * nodes > left else [])


def test_two_managers_share_what_is_left(folder: pathlib.Path) -> None:
    write(folder, "far", far(16))
    write(folder, "hub", hub(4))
    write(folder, "hubs", hub(4).replace("vision", "speech"))
    assert errors("hub") == errors("hubs") == []
    write(folder, "hubs", hub(6).replace("vision", "speech"))
    told = "stack 'far' has 32, guarantees 16 of them itself and manager"
    assert errors("hub") == [
        f"workers.far.pools.l4: describes 8 L4, but {told} 'hubs' describes 12; describe at most 4, or guarantee "
        "less in stack 'far' [worker-stack]"
    ]
    assert f"describes 12 L4, but {told} 'hub' describes 8; describe at most 8" in errors("hubs")[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "region: us-central1\n    cluster",
            "region: us-east1\n    cluster",
            "workers.far.region: us-central1 contradicts stack 'far', which has us-east1; write region: us-east1",
        ),
        (
            "project: acme-ml-dev",
            "project: acme-ml-far",
            "workers.far.project: acme-ml-dev contradicts stack 'far', which has acme-ml-far; write project: "
            "acme-ml-far",
        ),
        (
            "nodes: {max: 16}",
            "nodes: {max: some}",
            "workers.far.stack: 'acme/berth/far' has faults, or is no fleet on Google Cloud; run berth check far",
        ),
        (
            "g2-standard-24",
            "a2-highgpu-1g",
            "workers.far.pools.l4: describes 2 L4, but stack 'far' has 0; remove the pool, or guarantee less in stack "
            "'far'",
        ),
    ],
)
def test_a_description_that_contradicts_its_stack_is_a_fault(
    folder: pathlib.Path, old: str, new: str, message: str
) -> None:
    text = far(0)
    assert old in text
    write(
        folder,
        "far",
        text.replace(old, new).replace("[us-central1-a]", "[us-east1-b]" if "east1" in new else "[us-central1-a]"),
    )
    write(folder, "hub", hub(1))
    assert [line.rpartition(" [")[0] for line in errors("hub")] == [message]


@pytest.mark.parametrize(
    ("actual", "described", "message"),
    [
        ("capacity: on-demand", "capacity: spot", "capacity: spot contradicts stack 'far', which has on-demand"),
        ("capacity: spot", "capacity: on-demand", "capacity: on-demand contradicts stack 'far', which has spot"),
        (
            "capacity: any-reservation",
            "capacity: on-demand",
            "capacity: on-demand contradicts stack 'far', which has reservation",
        ),
        (
            "machineType: g2-standard-24",
            "machineType: g2-standard-48",
            "machineType: g2-standard-48 contradicts stack 'far', which has g2-standard-24",
        ),
    ],
)
def test_machines_that_a_flavor_tells_apart_are_others(
    folder: pathlib.Path, actual: str, described: str, message: str
) -> None:
    """A flavor selects and tolerates by them: a job for one kind never runs on the other."""

    def with_keys(text: str, keys: str) -> str:
        machine = "machineType: g2-standard-24"
        assert machine in text
        return text.replace(machine, keys if "machineType" in keys else f"{machine}, {keys}")

    write(folder, "far", with_keys(far(0), actual))
    write(folder, "hub", with_keys(hub(1), described))
    remedy = f"write {actual}" if "reservation" not in actual else "write the keys of that stack's pool"
    assert errors("hub") == [f"workers.far.pools.l4.{message}; {remedy} [worker-stack]"]
    write(folder, "hub", with_keys(hub(1), actual))  # what the message says, typed as written
    assert errors("hub") == []


TAINT = "taints: [{key: acme.com/only, value: far, effect: NoSchedule}]"


@pytest.mark.parametrize(
    ("actual", "described", "message"),
    [
        ("labels: {acme.com/tier: gold}", "", "labels: none contradicts stack 'far', which has {acme.com/tier: gold}"),
        ("labels: {a: gold}", "labels: {a: tin}", "labels: {a: tin} contradicts stack 'far', which has {a: gold}"),
        (
            'labels: {a: "true", b: "1.10"}',
            'labels: {a: "true"}',
            'labels: {a: "true"} contradicts stack \'far\', which has {a: "true", b: "1.10"}',
        ),
        (TAINT, "", f"taints: none contradicts stack 'far', which has {TAINT.removeprefix('taints: ')}"),
        (
            TAINT.replace("NoSchedule", "NoExecute"),
            TAINT,
            f"{TAINT} contradicts stack 'far', which has {TAINT.removeprefix('taints: ')}".replace(
                "NoSchedule}]", "NoExecute}]"
            ).replace("NoExecute", "NoSchedule", 1),
        ),
        ("", "labels: {a: b}", "labels: {a: b} contradicts stack 'far', which has none"),
        ("", TAINT, f"{TAINT} contradicts stack 'far', which has none"),
        (
            "zones: [us-central1-a]",
            "zones: [us-central1-b]",
            "zones: us-central1-b contradicts stack 'far', which has us-central1-a",
        ),
        (
            "zones: [us-central1-a]",
            "zones: [us-central1-a, us-central1-b]",
            "zones: us-central1-a, us-central1-b contradicts stack 'far', which has us-central1-a",
        ),
    ],
)
def test_a_description_has_the_labels_taints_and_zones_of_the_stack(
    folder: pathlib.Path, actual: str, described: str, message: str
) -> None:
    """Otherwise jobs are sent to nodes that their pods do not tolerate or select."""

    def with_keys(text: str, keys: str) -> str:
        if "zones" in keys:
            text = text.replace(", zones: [us-central1-a]", "")
        machine = "machineType: g2-standard-24"
        return text.replace(machine, f"{machine}, {keys}", 1) if keys else text

    write(folder, "far", with_keys(far(0), actual))
    write(folder, "hub", with_keys(hub(1), described))
    remedy = f"write {actual}" if actual else f"remove {described.partition(':')[0]}"
    assert errors("hub") == [f"workers.far.pools.l4.{message}; {remedy} [worker-stack]"]
    write(folder, "hub", with_keys(hub(1), actual))  # what the message says, typed as written
    assert errors("hub") == []


@pytest.mark.parametrize(
    ("actual", "described", "message"),
    [
        (
            "gpuSharing: {strategy: time-sharing, maxSharedClients: 4}",
            "",
            "none contradicts stack 'far', which has {cloud.google.com/gke-gpu-sharing-strategy: time-sharing, "
            'cloud.google.com/gke-max-shared-clients-per-gpu: "4"}',
        ),
        ("", "sandbox: gvisor", "{sandbox.gke.io/runtime: gvisor} contradicts stack 'far', which has none"),
        (
            "labels: {a: b}",
            "nodeLabels: {a: c}",
            "nodeLabels: {a: c} contradicts stack 'far', which has {a: b}",
        ),
    ],
)
def test_labels_of_gke_are_compared_too(folder: pathlib.Path, actual: str, described: str, message: str) -> None:
    machine = "machineType: g2-standard-24"
    write(folder, "far", far(0).replace(machine, f"{machine}, {actual}" if actual else machine))
    write(folder, "hub", hub(1).replace(machine, f"{machine}, {described}" if described else machine, 1))
    told = f"workers.far.pools.l4{'.' if message.startswith('nodeLabels') else ': '}{message}"
    assert f"{told}; write the keys of that stack's pool [worker-stack]" in errors("hub")


def test_labels_that_no_table_gives_the_nodes_are_not_proved(folder: pathlib.Path) -> None:
    machine = "machineType: g2-standard-24"
    write(folder, "far", far(0))
    for labels, is_told in (
        ("{nvidia.com/gpu.product: NVIDIA-L4}", True),
        ("{cloud.google.com/gke-accelerator: nvidia-l4}", False),
    ):
        write(folder, "hub", hub(1).replace(machine, f"{machine}, nodeLabels: {labels}, zone: us-central1-a", 1))
        assert errors("hub") == []
        told = f"workers.far.pools.l4.nodeLabels: whether nodes of stack 'far' have {labels} is not proved"
        assert (told in run("plan", "hub")) == is_told


def test_zones_that_the_description_leaves_out_are_a_warning(folder: pathlib.Path) -> None:
    write(folder, "far", far(0))
    write(folder, "hub", hub(1))
    assert errors("hub") == []
    told = "workers.far.pools.l4.zones: us-central1-a, us-central1-b, us-central1-c contradicts stack 'far', which has "
    assert f"warning: {told}us-central1-a; write zones: [us-central1-a] [worker-stack]" in run("check", "hub")


def test_descriptions_that_can_be_the_same_machines_share_them(folder: pathlib.Path) -> None:
    """Two of the stack's pools in two zones: the descriptions of one zone each, and of both, are at most all."""
    pool = "l4: {machineType: g2-standard-24, nodes: {max: 16}, zones: [us-central1-a]}"
    write(folder, "far", far(0).replace(pool, f"{pool}, {pool.replace('l4:', 'b:').replace('-a]', '-b], flavor: l4')}"))
    described = "l4: {machineType: g2-standard-24, nodes: {max: 16}}"
    zonal = "{machineType: g2-standard-24, nodes: {max: 16}, zone: us-central1-a, flavor: l4}"
    assert described in hub(16)
    write(folder, "hub", hub(16).replace(described, f"{described}, a: {zonal}"))
    assert errors("hub") == []
    write(folder, "hub", hub(17).replace(described.replace("16", "17"), f"{described.replace('16', '17')}, a: {zonal}"))
    assert [line.partition(";")[0] for line in errors("hub")] == [
        "workers.far.pools.a: describes 66 L4, but stack 'far' has 64"
    ]


def test_each_kind_of_machines_is_counted_by_itself(folder: pathlib.Path) -> None:
    pool = "l4: {machineType: g2-standard-24, nodes: {max: 16}, zones: [us-central1-a]}"
    assert pool in FAR
    spot = pool.replace("l4:", "spot:").replace("}, zones", "}, capacity: spot, zones")
    write(folder, "far", far(8).replace(pool, f"{pool}, {spot}"))
    write(folder, "hub", hub(16))
    assert errors("hub") == [
        "workers.far.pools.l4: describes 32 L4 (g2-standard-24, on-demand), but stack 'far' has 32 and guarantees 8 of "
        "them itself; describe at most 24, or guarantee less in stack 'far' [worker-stack]"
    ]
    write(folder, "hub", hub(12))
    assert errors("hub") == []


def test_a_stack_is_one_worker_however_its_organization_is_written(folder: pathlib.Path) -> None:
    write(folder, "far", far(0))
    other = "again: {stack: organization/berth/far, pools: {l4: {machineType: g2-standard-24, nodes: {max: 16}}}}"
    write(
        folder,
        "hub",
        hub(16).replace("farther: {cluster: {}, pools: {l4: {machineType: g2-standard-24, nodes: {max: 1}}}}", other),
    )
    assert errors("hub") == [
        "workers.far.stack: 'acme/berth/far' is the stack of worker 'again' too; merge their pools into one worker "
        "[worker-stack]"
    ]


def test_two_stacks_that_are_workers_of_each_other_are_read_once(folder: pathlib.Path) -> None:
    write(folder, "hub", hub(1))
    write(folder, "far", hub(1).replace("berth/far", "berth/hub"))
    assert "but stack 'far' has 0; remove the pool" in errors("hub")[0]


@pytest.mark.parametrize("reference", ["acme/berth/far", "acme/clusters/hub"])
def test_what_is_not_in_the_repository_is_not_proved(folder: pathlib.Path, reference: str) -> None:
    write(folder, "hub", hub(8).replace("acme/berth/far", reference))
    note = f"workers.far: its machines are as described, not proved: stack '{reference}' is not in this repository"
    assert note in run("plan", "hub")
    run("report", "hub", "-o", "report.html")
    assert "as described, not proved" in (folder / "report.html").read_text(encoding="utf-8")


def commit(folder: pathlib.Path) -> None:
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@a", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def test_a_renamed_worker_is_told_as_one(folder: pathlib.Path) -> None:
    write(folder, "far", far(16))
    write(folder, "hub", hub(8))
    commit(folder)
    write(folder, "hub", hub(8).replace("      far: {", "      near: {"))
    lines = run("diff", "hub", "--since", "HEAD").splitlines()
    assert lines[0] == (
        "hub: worker far is no longer managed here, and near, which is like it, is added; to keep its cluster and "
        "every object in it, write formerly: far; 1 blocked"
    )
    rows = [line.split("  ")[1] for line in lines if line.startswith(("  near (", "  far ("))]
    assert rows == [
        "far (same as added worker near)",
        "near (same as removed worker far; to keep that one, write formerly: far)",
    ]
    write(folder, "hub", hub(8).replace("      far: {", "      near: {formerly: far, "))
    (line, *_) = run("diff", "hub", "--since", "HEAD").splitlines()
    assert line == "hub: worker far is renamed to near, and keeps its cluster and objects"


def test_what_two_stacks_make_in_one_cluster_names_both_places(folder: pathlib.Path) -> None:
    write(folder, "far", far(8))
    write(folder, "hub", hub(4))
    write(folder, "hubs", hub(4))
    both = "in the same cluster, so that"
    remedy = "write another key for the team, or leave it to one of both [worker-stack]"
    assert errors("hub") == [
        f"teams.vision: makes ClusterQueue vision-q on worker far as does teams.vision of manager 'hubs' {both} one "
        f"quota is promised twice; {remedy}"
    ]
    write(folder, "hubs", hub(4).replace("vision", "speech"))
    write(folder, "far", far(8).replace("{own:", "{vision:"))
    assert errors("hub") == [
        "teams.vision: makes ResourceQuota vision/team and ClusterQueue vision-q on worker far otherwise than "
        f"teams.vision of stack 'far' {both} each update undoes the other's; {remedy}"
    ]
    write(folder, "far", far(8))
    assert errors("hub") == []
    notes = [line for line in run("plan", "hub").splitlines() if "note: workers.far: " in line]
    assert len(notes) == 2
    assert all("alike: what one of both deletes is gone" in line for line in notes)


def test_the_account_of_two_managers_on_one_worker_is_one(folder: pathlib.Path) -> None:
    """What one deletes the other needs; with other kinds of jobs each update changes the role."""
    write(folder, "far", far(8))
    write(folder, "hub", hub(4))
    write(folder, "hubs", hub(4).replace("vision", "speech"))
    account = "ServiceAccount kueue-system/multikueue"
    (warning,) = [line for line in run("check", "hub").splitlines() if account in line]
    assert "warning: workers.far: " in warning
    assert f"{account} with its token on worker far is that of manager 'hubs' too" in warning
    kinds = "    kueue: {integrations: {frameworks: [batch/job]}}\n"
    write(folder, "hubs", hub(4).replace("vision", "speech") + kinds)
    (fault,) = errors("hub")
    assert fault == (
        f"workers.far: gives {account} on worker far other rights than manager 'hubs', so that each update undoes the "
        "other's; write the same kueue.integrations.frameworks in both [worker-stack]"
    )
    write(folder, "hub", hub(4) + kinds)
    assert errors("hub") == []


def test_another_organization_is_another_cluster_until_the_file_says_that_it_is_the_same(folder: pathlib.Path) -> None:
    write(folder, "far", far(16))
    write(folder, "hub", hub(8))
    commit(folder)
    moved = hub(8).replace("acme/berth/far", "acme-inc/berth/far")
    write(folder, "hub", moved)
    assert run("diff", "hub", "--since", "HEAD").splitlines()[0] == (
        "hub: worker far is REPLACED (acme/berth/far → acme-inc/berth/far; if it is the same cluster, write "
        "identifier: acme/berth/far); 1 blocked"
    )
    same = moved.replace("acme-inc/berth/far,", "acme-inc/berth/far, identifier: acme/berth/far,")
    write(folder, "hub", same)
    text = run("diff", "hub", "--since", "HEAD")
    assert text.startswith("hub: connection to the existing cluster of worker far may be another cluster; 1 blocked\n")
    assert "which may be another cluster (stack acme/berth/far → acme-inc/berth/far)" in text
    assert "REPLACED" not in text
    write(folder, "hub", same.replace("identifier:", 'allowChange: {cluster: "the organization moved"}, identifier:'))
    assert "blocked" not in run("diff", "hub", "--since", "HEAD")


def test_a_diff_names_the_managers_and_what_they_lose(folder: pathlib.Path) -> None:
    write(folder, "far", far(16))
    write(folder, "hub", hub(8))
    write(folder, "other", hub(8).replace("acme/berth/far", "acme/berth/farm"))
    commit(folder)
    write(folder, "far", far(24))
    lines = run("diff", "far", "--since", "HEAD").splitlines()
    lost = "worker far of stack hub can use 16 → 8 L4, but describes 16"
    assert lines[0].startswith(f"far: {lost}; own gains 8")
    assert lines[lines.index("Stacks that use this cluster") + 1] == f"  {lost}"
    write(folder, "far", far(16).replace("cluster: {", "cluster: {name: moved, "))
    assert "worker far of stack hub can use 16 L4 of another cluster" in run("diff", "far", "--since", "HEAD")
