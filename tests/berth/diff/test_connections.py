"""Another way to an existing cluster may lead to another one: blocked, and a reason in the file is the way out."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from typing import Any, Final

import pytest

from berth.backends.interface import check_preview, compare
from berth.backends.table import StackPlan
from berth.diff.guard.preview_file import parse_preview
from berth.diff.guard.text import describe_guarded_change, describe_remedy
from berth.evaluate import evaluate_stack, evaluate_values
from tests.small_fleets import fleet_with
from tests.stack_files import ROOT, fleet_values

POOLS: Final = {"l4": {"machineType": "g2-standard-24", "nodes": {"max": 2}}}
TEAMS: Final = {"a": {"queues": {"q": {"flavors": [{"pool": "l4", "guaranteed": "all"}]}}}}
EXISTING: Final = {
    "cluster": {"existing": {"context": "lab", "kubeconfig": "/etc/lab"}},
    "pools": {"l4": {**POOLS["l4"], "nodes": 2}},
    "teams": TEAMS,
}
MANAGER: Final = {
    "project": "acme-ml-dev",
    "region": "us-central1",
    "workers": {name: {"kubeconfig": name, "pools": POOLS} for name in ("east", "eastern")}
    | {"west": {"kubeconfig": "west", "clusterProfile": "west", "pools": POOLS}},
    "kueue": {"multiKueue": {"clusterProfile": {"accessProviders": [{"name": "google", "command": "/plugin"}]}}},
    "teams": TEAMS,
}
ACK: Final = {key: value for key, value in fleet_values("ack-fleet").items() if key != "teamFiles"}
WORKER: Final = "connection to the existing cluster of worker"


SECRET: Final = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:one"}
UNKNOWN: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How the engine writes a secret, and a value that is not known before the update."""


def planned(values: Mapping[str, Any]) -> StackPlan:
    found = evaluate_values("lab", json.loads(json.dumps(values)))
    assert [each.line() for each in found.faults] == []
    assert found.plan is not None
    return found.plan


@pytest.mark.parametrize(
    ("base", "path", "value", "what", "section"),
    [
        (EXISTING, "cluster.existing.context", "other", "connection to the existing cluster", ""),
        (EXISTING, "cluster.existing.kubeconfig", "/etc/other", "connection to the existing cluster", ""),
        (MANAGER, "workers.east.region", "us-east1", f"{WORKER} east", "workers.east."),
        (MANAGER, "workers.eastern.project", "acme-ml-x", f"{WORKER} eastern", "workers.eastern."),
        (MANAGER, "workers.west.clusterProfile", "other", f"{WORKER} west", "workers.west."),
        (ACK, "ack.fleet.kubeconfig", "other.kubeconfig", "ACK One fleet", ""),
        (
            fleet_with({"ack.fleet.existing": "c0b1d2e3f4a5"}, base=json.loads(json.dumps(ACK))),
            "ack.fleet.kubeconfig",
            "other.kubeconfig",
            "ACK One fleet",
            "",
        ),
    ],
)
def test_another_connection_is_blocked_and_a_reason_allows_it(
    base: Mapping[str, Any], path: str, value: str, what: str, section: str
) -> None:
    edited = fleet_with({path: value}, base=json.loads(json.dumps(base)))
    (loss,) = compare(planned(base), planned(edited)).losses
    key = path.rpartition(".")[2]
    assert describe_guarded_change(loss).startswith(f"{what} would change, which may be another cluster ({key} ")
    assert describe_guarded_change(loss).endswith(f" → {value})")
    assert describe_remedy(loss) == f'to allow it, add {section}allowChange: {{cluster: "<why>"}}'
    assert loss.allowed is None
    allowed = fleet_with({f"{section}allowChange": {"cluster": "the file moved"}}, base=json.loads(json.dumps(edited)))
    changes = compare(planned(base), planned(allowed))
    assert [each.allowed for each in changes.losses] == ["the file moved"]
    assert (changes.blocked, changes.idle) == ((), ())


def test_another_existing_member_of_an_ack_one_fleet_is_another_cluster() -> None:
    base = json.loads(json.dumps(ACK))
    member = base["ack"]["clusters"]["hangzhou-b"]
    base["ack"]["clusters"]["hangzhou-b"] = {"existing": "c0b1d2e3f4a5", "nodePools": member["nodePools"]}
    edited = fleet_with({"ack.clusters.hangzhou-b.existing": "c9b1d2e3f4a5"}, base=json.loads(json.dumps(base)))
    said = "cluster hangzhou-b would change, which may be another cluster (existing c0b1d2e3f4a5 → c9b1d2e3f4a5)"
    assert [describe_guarded_change(each) for each in compare(planned(base), planned(edited)).blocked] == [said]
    allowed = fleet_with({"allowChange": {"cluster": "west moved"}}, base=json.loads(json.dumps(edited)))
    assert compare(planned(base), planned(allowed)).blocked == ()
    step = {
        "op": "replace",
        "urn": "urn:pulumi:lab::berth::alicloud:ackone/membershipAttachment:MembershipAttachment::fleet-hangzhou-b",
        "oldState": {"inputs": {"subClusterId": "c0b1d2e3f4a5"}},
        "newState": {"inputs": {"subClusterId": "c9b1d2e3f4a5"}},
    }
    stack = {"op": "same", "urn": "urn:pulumi:lab::berth::pulumi:pulumi:Stack::berth-lab"}
    text = json.dumps({"steps": [stack, step], "changeSummary": {"same": 60, "replace": 1}})
    told = [describe_guarded_change(each) for each in check_preview(parse_preview(text), planned(edited)).blocked]
    assert said in told


def test_a_secret_named_like_the_file_is_another_connection() -> None:
    edited = fleet_with(
        {"cluster.existing": {"context": "lab", "secret": "lab"}}, base=json.loads(json.dumps(EXISTING))
    )
    base = fleet_with({"cluster.existing.kubeconfig": "lab"}, base=json.loads(json.dumps(EXISTING)))
    told = [describe_guarded_change(each) for each in compare(planned(base), planned(edited)).blocked]
    what = "connection to the existing cluster would change, which may be another cluster"
    assert told == [f"{what} (kubeconfig lab → berth:lab)"]
    assert compare(planned(edited), planned(edited)).blocked == ()


@pytest.mark.parametrize(
    ("before", "after", "is_blocked"),
    [
        ("./lab", "lab", False),
        ("lab", "././lab", False),
        ("/etc//lab", "/etc/lab", False),
        ("lab", "/lab", True),
        ("a/../lab", "lab", True),  # another file if a is a link
        ("./lab", "Lab", True),
    ],
)
@pytest.mark.parametrize("base", [EXISTING, ACK], ids=["existing", "ack"])
def test_one_file_written_in_two_ways_is_one_connection(
    base: Mapping[str, Any], before: str, after: str, *, is_blocked: bool
) -> None:
    path = "ack.fleet.kubeconfig" if base is ACK else "cluster.existing.kubeconfig"
    old, new = (planned(fleet_with({path: text}, base=json.loads(json.dumps(base)))) for text in (before, after))
    changes = compare(old, new)
    assert bool(changes.blocked) == is_blocked
    fields = [field for change in changes.things for field in change.fields]
    assert (before, after) in [(each.before, each.after) for each in fields]


def test_the_first_kubeconfig_of_a_fleet_is_no_other_one() -> None:
    without = json.loads(json.dumps(ACK))
    del without["ack"]["fleet"]["kubeconfig"]
    assert compare(planned(without), planned(ACK)).blocked == ()


@pytest.mark.parametrize(
    ("before", "after", "is_blocked"),
    [
        ({"context": "lab"}, {"context": "other"}, True),
        ({"kubeconfig": "/etc/lab"}, {"kubeconfig": "/etc/other"}, True),
        ({"kubeconfig": "./lab"}, {"kubeconfig": "lab"}, False),
        ({"context": "./lab"}, {"context": "lab"}, True),
        ({"context": "lab"}, {"context": "lab", "kubeconfig": "/etc/other"}, True),
        ({"kubeconfig": "/etc/lab", "context": "lab"}, {"kubeconfig": "/etc/lab", "context": "lab"}, False),
        ({"kubeconfig": "apiVersion: v1\nkind: Config\n"}, {"kubeconfig": "apiVersion: v1\nkind: Config\n#"}, True),
        ({"kubeconfig": "/etc/lab"}, {"kubeconfig": "[secret]"}, True),
        ({"kubeconfig": "/etc/lab"}, {"kubeconfig": SECRET}, True),
        ({"kubeconfig": "/etc/lab"}, {"kubeconfig": "apiVersion: v1\nkind: Config\n"}, True),
        ({"kubeconfig": "/etc/lab"}, {"kubeconfig": UNKNOWN}, True),
        ({"kubeconfig": "[secret]"}, {"kubeconfig": "lab"}, True),
        ({"kubeconfig": SECRET}, {}, True),
        ({"kubeconfig": SECRET}, {"kubeconfig": {**SECRET, "ciphertext": "v1:other"}}, True),
        ({"kubeconfig": "[secret]"}, {"kubeconfig": "[secret]", "enableConfigMapMutable": True}, False),
        ({"kubeconfig": "apiVersion: v1\nkind: Config\n"}, {"kubeconfig": UNKNOWN}, True),
    ],
)
def test_the_guard_reads_it_from_a_preview(before: dict[str, Any], after: dict[str, Any], *, is_blocked: bool) -> None:
    assert bool(redirections(EXISTING, before, after)) == is_blocked


def redirections(
    base: Mapping[str, Any], before: object, after: object, changed: Any = None, name: str = "kubernetes"
) -> list[str]:
    """Return what the guard says of the connections in a preview that updates one provider."""
    urn = f"urn:pulumi:lab::berth::pulumi:providers:kubernetes::{name}"
    step = {"op": "update", "urn": urn, "oldState": {"inputs": before}, "newState": {"inputs": after}}
    step |= {} if changed is None else {"diffReasons": changed}
    stack = {"op": "same", "urn": "urn:pulumi:lab::berth::pulumi:pulumi:Stack::berth-lab"}
    text = json.dumps({"steps": [stack, step], "changeSummary": {"same": 60, "update": 1}})
    told = [describe_guarded_change(each) for each in check_preview(parse_preview(text), planned(base)).blocked]
    return [line for line in told if "may be another cluster" in line]


KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: lab
contexts:
- {name: lab, context: {cluster: lab, user: lab, namespace: default}}
- {name: prod, context: {cluster: prod, user: lab}}
clusters:
- {name: lab, cluster: {server: "https://lab.example", certificate-authority-data: bGFi}}
- {name: prod, cluster: {server: "https://prod.example", certificate-authority-data: cHJvZA==}}
users:
- {name: lab, user: {token: one}}
"""
CALM, LAB = "", "https://lab.example"
EDITS: Final = {
    "a token": ("token: one", "token: two", CALM),
    "an exec plugin for the token": ("token: one", "exec: {apiVersion: v1, command: gke-gcloud-auth-plugin}", CALM),
    "another namespace of the context": ("namespace: default", "namespace: other", CALM),
    "a comment": ("kind: Config", "kind: Config  # of May", CALM),
    "another cluster that the context does not use": ("https://prod.example", "https://other.example", CALM),
    "what a client adds": ('{server: "https://lab', '{extensions: [{name: x}], server: "https://lab', CALM),
    "the context and its name": ("name: lab, context", "name: other, context", "a text → another one"),
    "the current context": ("current-context: lab", "current-context: prod", f"{LAB} → https://prod.example"),
    "no current context": ("current-context: lab\n", "", "a text → another one"),
    "the cluster of the context": ("cluster: lab, user", "cluster: prod, user", f"{LAB} → https://prod.example"),
    "another server": ("https://lab.example", "https://lab2.example", f"{LAB} → https://lab2.example"),
    "another port": ("https://lab.example", "https://lab.example:8443", f"{LAB} → https://lab.example:8443"),
    "another path": ("https://lab.example", "https://lab.example/k8s/c-2", f"{LAB} → https://lab.example/k8s/c-2"),
    "an authority": ("-data: bGFi", "-data: b3RoZXI=", f"{LAB} → {LAB} with another certificate-authority-data"),
    "an authority's file": (
        "certificate-authority-data: bGFi",
        "certificate-authority: ca.crt",
        f"{LAB} → {LAB} with another certificate-authority and certificate-authority-data",
    ),
    "no check of the server": (
        "certificate-authority-data: bGFi",
        "insecure-skip-tls-verify: true",
        f"{LAB} → {LAB} with another certificate-authority-data and insecure-skip-tls-verify",
    ),
    "a proxy": ("-data: bGFi", "-data: bGFi, proxy-url: socks5://b:1", f"{LAB} → {LAB} with another proxy-url"),
    "a name in the certificate": (
        "-data: bGFi",
        "-data: bGFi, tls-server-name: x",
        f"{LAB} → {LAB} with another tls-server-name",
    ),
    "a second cluster of the name": ("name: prod, cluster", "name: lab, cluster", "a text → another one"),
    "text that is cut": ("contexts:", "contexts: [", "a text → another one"),
}
"""Edit of a kubeconfig's text → what the guard shows of it; nothing where the same cluster is reached."""


@pytest.mark.parametrize("edit", EDITS)
def test_of_a_kubeconfig_s_text_its_cluster_counts(edit: str) -> None:
    """Who reaches a cluster is no part of it; a hidden text is another one if the engine says that it changes."""
    before, after, shown = EDITS[edit]
    assert KUBECONFIG.count(before) == 1
    text = KUBECONFIG.replace(before, after)
    told = redirections(EXISTING, {"kubeconfig": KUBECONFIG}, {"kubeconfig": text}, ["kubeconfig"])
    expected = f"connection to the existing cluster would change, which may be another cluster (kubeconfig {shown})"
    assert told == ([expected] if shown else [])
    hidden = redirections(EXISTING, {"kubeconfig": "[secret]"}, {"kubeconfig": "[secret]"}, ["kubeconfig"])
    assert [line.endswith("(kubeconfig a secret → another one)") for line in hidden] == [True]


SHOWN_HIDDEN: Final = ({"kubeconfig": "[secret]"}, {"kubeconfig": "[secret]"})


def test_a_context_of_the_program_counts_instead_of_the_current_one() -> None:
    old, new = (KUBECONFIG.replace("current-context: lab", each) for each in ("current-context: x", "#"))
    before, after = ({"kubeconfig": text, "context": "prod"} for text in (old, new))
    assert redirections(EXISTING, before, after) == []
    other = KUBECONFIG.replace("https://prod", "https://other")
    (told,) = redirections(
        EXISTING, {"kubeconfig": KUBECONFIG, "context": "prod"}, {"kubeconfig": other, "context": "prod"}
    )
    assert told.endswith("(kubeconfig https://prod.example → https://other.example)")


@pytest.mark.parametrize("changed", [["kubeconfig"], ["version", "kubeconfig"], []])
def test_a_hidden_kubeconfig_that_changes_may_be_another_cluster(changed: list[str]) -> None:
    (told,) = redirections(EXISTING, *SHOWN_HIDDEN, changed)
    assert told.endswith("(kubeconfig a secret → another one)")
    allowed = fleet_with({"allowChange": {"cluster": "a token of May"}}, base=json.loads(json.dumps(EXISTING)))
    assert redirections(allowed, *SHOWN_HIDDEN, changed) == []
    assert redirections(EXISTING, *SHOWN_HIDDEN, ["version"]) == []


def test_a_hidden_kubeconfig_counts_for_workers_of_others_and_not_for_clusters_of_the_stack() -> None:
    """A cluster that the stack makes is in the preview itself."""
    (told,) = redirections(MANAGER, *SHOWN_HIDDEN, ["kubeconfig"], "east/kubernetes")
    assert told.startswith(f"{WORKER} east would change")
    assert redirections(MANAGER, *SHOWN_HIDDEN, ["kubeconfig"]) == []


def test_the_guard_reads_another_kubeconfig_of_an_ack_one_fleet() -> None:
    before, after = {"kubeconfig": "ack-one.kubeconfig"}, {"kubeconfig": "other"}
    (told,) = redirections(ACK, before, after, ["kubeconfig"], "fleet")
    assert told.endswith("(kubeconfig ack-one.kubeconfig → other)")


PLATFORM: Final = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: CLUSTER
    pools: {l4: {machineType: g2-standard-24, nodes: {max: 2}, zones: [us-central1-a]}}
    teams: {vision: {queues: {q: {flavors: [{pool: l4, guaranteed: all}]}}}}
"""
TEAM: Final = """\
config:
  berth:team:
    platform: dev
    team: vision
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "Pulumi.yaml").write_text((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def team_plan(folder: pathlib.Path, cluster: str, platform: str = "dev", allowance: str = "") -> StackPlan:
    """Return the plan of a team's stack on a platform with this cluster."""
    text = PLATFORM if "existing" not in cluster else PLATFORM.replace("{max: 2}", "2")
    (folder / f"Pulumi.{platform}.yaml").write_text(text.replace("CLUSTER", cluster), encoding="utf-8")
    file = folder / "Pulumi.team.yaml"
    file.write_text(TEAM.replace("dev", platform) + allowance, encoding="utf-8")
    found = evaluate_stack("team", folder)
    assert [each.line() for each in found.faults] == []
    assert found.plan is not None
    return found.plan


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("{name: a}", "{name: b}", "clusterIdentifier acme-ml-dev/us-central1/a → acme-ml-dev/us-central1/b"),
        ("{existing: {context: a}}", "{existing: {context: b}}", "context a → b"),
        (
            "{existing: {context: a, kubeconfig: /etc/a}}",
            "{existing: {context: a, kubeconfig: /etc/b}}",
            "kubeconfig /etc/a → /etc/b",
        ),
        (
            "{existing: {context: a, kubeconfig: /etc/a}}",
            "{existing: {context: a, secret: kubeconfig}}",
            "kubeconfig /etc/a → berth:kubeconfig",
        ),
    ],
)
def test_a_team_stack_that_moves_is_blocked(folder: pathlib.Path, before: str, after: str, told: str) -> None:
    old, new = (team_plan(folder, each) for each in (before, after))
    blocked = [describe_guarded_change(each) for each in compare(old, new).blocked]
    assert len(blocked) == 1
    assert told in blocked[0]
    allowed = team_plan(folder, after, allowance='    allowChange: {cluster: "we move"}\n')
    assert [each.allowed for each in compare(old, allowed).losses] == ["we move"]
    assert compare(old, old).blocked == ()


def test_another_platform_of_the_same_google_cluster_is_no_move(folder: pathlib.Path) -> None:
    old, new = team_plan(folder, "{name: a}"), team_plan(folder, "{name: a}", "prod")
    assert compare(old, new).blocked == ()
    existing = [team_plan(folder, "{existing: {context: a}}", platform) for platform in ("dev", "prod")]
    (told,) = (describe_guarded_change(each) for each in compare(*existing).blocked)
    assert "platform dev → prod" in told


@pytest.mark.parametrize(
    ("op", "of_type", "before", "after", "is_blocked"),
    [
        ("replace", "providers:kubernetes", {"clusterIdentifier": "p/r/a"}, {"clusterIdentifier": "p/r/b"}, True),
        ("update", "providers:kubernetes", {"kubeconfig": "[secret]"}, {"kubeconfig": "/etc/b"}, True),
        ("update", "providers:kubernetes", {"context": "a"}, {"context": "b"}, True),
        ("update", "providers:kubernetes", {"kubeconfig": SECRET}, {"kubeconfig": "[secret]"}, True),
        ("update", "providers:kubernetes", {"kubeconfig": SECRET, "a": 1}, {"kubeconfig": SECRET}, False),
        ("replace", "pulumi:StackReference", {"name": "o/berth/dev"}, {"name": "o/berth/prod"}, False),
        ("same", "providers:kubernetes", {"clusterIdentifier": "p/r/a"}, {"clusterIdentifier": "p/r/a"}, False),
    ],
)
def test_the_guard_sees_a_team_stack_move(
    folder: pathlib.Path, op: str, of_type: str, before: dict[str, Any], after: dict[str, Any], *, is_blocked: bool
) -> None:
    step = {
        "op": op,
        "urn": f"urn:pulumi:team::berth::pulumi:{of_type}::kubernetes",
        "oldState": {"inputs": before},
        "newState": {"inputs": after},
    }
    stack = {"op": "same", "urn": "urn:pulumi:team::berth::pulumi:pulumi:Stack::berth-team"}
    preview = parse_preview(json.dumps({"steps": [stack, step], "changeSummary": {"same": 60, op: 1}}))
    told = [describe_guarded_change(each) for each in check_preview(preview, team_plan(folder, "{name: a}")).blocked]
    assert any("may be another cluster" in line for line in told) == is_blocked
    allowed = team_plan(folder, "{name: a}", allowance='    allowChange: {cluster: "we move"}\n')
    assert check_preview(preview, allowed).blocked == ()
    existing = team_plan(folder, "{existing: {context: a}}")  # whose platform may be another cluster too
    assert bool(check_preview(preview, existing).blocked) == (is_blocked or of_type == "pulumi:StackReference")
