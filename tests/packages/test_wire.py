"""Each argument of each component in each form that the wire has: null, output, secret, not known yet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from berth.engine.values import UNKNOWN_ON_WIRE
from berth.outputs import PLACEHOLDER_KUBECONFIG
from packages.berth.provider import SCHEMA_FILE
from tests.engine import Run
from tests.packages.plugin import output_value, secret_value
from tests.packages.test_components import POOL_ARGS, QUEUES, RESERVED, SMALL, TRAIN, component, refused
from tests.stack_files import ACK_STACKS, ALL_STACKS, TEAM_STACKS, run_stack

OTHER = "urn:pulumi:dev::mine::theirs:index:Thing::other"
FLEET = {**SMALL, "name": "lab"}
PLATFORM = {"version": 2, "cluster": "lab", "project": "acme-ml-dev", "region": "us-central1"} | {
    "teams": {"vision": {"namespaces": ["vision"], "serviceAccount": None, "queues": ["train"]}}
}
BASES: Mapping[str, Mapping[str, Any]] = {
    "Fleet": SMALL,
    "TeamWorkloads": {"fleet": FLEET, "team": "vision", "kubeconfig": PLACEHOLDER_KUBECONFIG},
    "Cluster": {"project": "acme-ml", "region": "us-central1"},
    "NodePool": POOL_ARGS,
    "Reservation": RESERVED,
    "TeamQueues": QUEUES,
    "Team": {"name": "vision", "project": "acme-ml", "kubeconfig": PLACEHOLDER_KUBECONFIG},
}
"""Arguments of each component that are accepted."""
LIVE: Mapping[str, Any] = {
    "kubeconfig": PLACEHOLDER_KUBECONFIG,
    "platform": PLATFORM,
    "cluster": "training",
    "location": "us-central1",
    "nodeServiceAccount": "nodes@acme-ml.iam.gserviceaccount.com",
    "reservation": "held",
    "bootDiskKmsKey": "projects/acme-keys/locations/us-central1/keyRings/gke/cryptoKeys/nodes",
    "namespace": "vision-jobs",
}
"""A sound value of each argument that takes outputs."""
SCHEMA = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["resources"]
PLAIN = "is an output of a resource or a secret, and the plan is made before either is known; write a plain value"
WANTED = (
    "write the text (not the path) of one with which kubectl get nodes works, such as the output `kubeconfig` of a "
    "Cluster"
)
NULL = "is null, which most of Pulumi's SDKs drop; remove it"
FORMS: Mapping[str, Any] = {
    "output": lambda value: output_value(value, OTHER),
    "unknown output": lambda _: output_value(UNKNOWN_ON_WIRE, OTHER),
    "secret": secret_value,
    "unknown": lambda _: UNKNOWN_ON_WIRE,
}


def arguments(live: bool) -> Iterator[tuple[str, str]]:
    for token, each in SCHEMA.items():
        for key, schema in each["inputProperties"].items():
            if live == (not schema.get("plain")):
                yield token.rpartition(":")[2], key


def test_the_tables_have_every_component_and_argument() -> None:
    assert {token.rpartition(":")[2] for token in SCHEMA} == BASES.keys()
    assert {key for _, key in arguments(live=True)} == LIVE.keys()
    assert len([*arguments(live=False)]) > 120


@pytest.mark.parametrize("name", BASES)
def test_a_null_is_refused_by_the_name_of_its_argument(name: str) -> None:
    """Also in an output and in a secret; all at once, because the SDK would drop each in silence."""
    keys = sorted(SCHEMA[f"berth:index:{name}"]["inputProperties"])
    for form in (lambda value: value, output_value, secret_value):
        lines = refused(name, {**BASES[name], **dict.fromkeys(keys, form(None))})
        expected = sorted(f"{key}: {NULL}" for key in keys)
        if len("\n".join(expected)) + 11 * len(expected) < 3500:
            assert sorted(lines) == expected
        else:  # more than gRPC carries
            assert {*lines[:-1]} < {*expected}
            assert lines[-1] == f"… and {len(expected) - len(lines) + 1} more faults"
    for key in keys:
        assert f"{key}: {NULL}" in refused(name, {**BASES[name], key: None}), key


@pytest.mark.parametrize(("name", "key"), [*arguments(live=False)])
def test_a_plain_argument_takes_nothing_that_is_known_later(name: str, key: str) -> None:
    for form, made in FORMS.items():
        assert refused(name, {**BASES[name], key: made("x")}) == [f"{key}: {PLAIN}"], form


@pytest.mark.parametrize(("name", "key"), [*arguments(live=True)])
@pytest.mark.parametrize("form", FORMS)
def test_a_live_argument_takes_every_form(name: str, key: str, form: str) -> None:
    """It arrives where its plain value does, as a secret where it is one, and what uses it depends on its owner."""
    base = {**BASES[name], "workloads": WORKLOADS} if name == "TeamWorkloads" else BASES[name]
    base = {each: value for each, value in base.items() if key != "location" or each != "region"}
    value = FORMS[form](LIVE[key])
    options: Mapping[str, Any] = {"dependencies": {key: [OTHER]}} if "output" in form else {}
    made = component(name, {**base, key: value}, preview="unknown" in form, **options)
    as_plain = component(name, {**base, key: LIVE[key]}, preview="unknown" in form)
    before = {each.urn: each.inputs for each in as_plain.resources}
    after = {each.urn: each.inputs for each in made.resources}
    assert after.keys() == before.keys()
    changed = [urn for urn, inputs in after.items() if inputs != before[urn]]
    is_used = not (name == "Fleet" and key == "kubeconfig")  # it is for an existing cluster
    if form == "output":
        assert changed == [] and (not is_used or OTHER in dependencies(made))
    elif is_used and key != "platform":
        marker = {"secret": "[secret]"}.get(form, "[unknown]")
        assert bool(changed) and marker in repr([each.inputs for each in made.resources])


WORKLOADS = {"train": {"queue": "train", "image": "us-docker.pkg.dev/acme/train:1"}}


def dependencies(made: Run) -> set[str]:
    return {urn for each in made.resources for urn in each.dependencies}


# --- outputs that are known are checked -------------------------------------------------------------------------------

BAD: Mapping[tuple[str, str], Mapping[str, tuple[Any, str]]] = {
    ("NodePool", "cluster"): {
        "a name of something else": (
            "Big Cluster",
            "'Big Cluster' is something else; write the name of a GKE cluster, such as the output `name` of a Cluster",
        ),
        "an object": (
            {"name": "training"},
            "'an object' is something else; write the name of a GKE cluster, such as the output `name` of a Cluster",
        ),
        "a number": (
            3,
            "'3.0' is something else; write the name of a GKE cluster, such as the output `name` of a Cluster",
        ),
        "no text": ("", "is empty; write the name of a GKE cluster, such as the output `name` of a Cluster"),
        "a cluster of another project": (
            "projects/theirs/locations/us-central1/clusters/training",
            "the cluster is in project 'theirs', and project is 'acme-ml'; write the same project",
        ),
        "a cluster of another region": (
            "projects/acme-ml/locations/us-east1/clusters/training",
            "the cluster is in us-east1, and region is 'us-central1'; write a region of us-east1",
        ),
    },
    ("NodePool", "location"): {
        "a continent": ("eu", "'eu' is something else; write a region such as us-central1, or a zone of it"),
        "another region": (
            "us-east1-b",
            "the cluster is in us-east1-b, and region is 'us-central1'; write a region of us-east1",
        ),
    },
    ("NodePool", "bootDiskKmsKey"): {
        "its own name": (
            "nodes",
            "'nodes' is something else; write the name of a key of Cloud KMS such as "
            "projects/my-keys/locations/us-central1/keyRings/gke/cryptoKeys/nodes",
        ),
    },
    ("NodePool", "nodeServiceAccount"): {
        "a path": (
            "projects/acme-ml/serviceAccounts/n@acme-ml.iam.gserviceaccount.com",
            "'projects/acme-ml/serviceAccounts/n@acme-ml.iam.gserviceaccount.com' is something else; "
            "write the e-mail address of a Google service account",
        ),
        "a member": (
            "nodes",
            "'nodes' is something else; write the e-mail address of a Google service account",
        ),
    },
    ("NodePool", "reservation"): {
        "a link": (
            "https://www.googleapis.com/compute/v1/projects/p/zones/z/reservations/held",
            "'https://www.googleapis.com/compute/v1/projects/p/zones/z/reservations/held' is something else; "
            "write the name of a reservation, such as the output `name` of a Reservation",
        ),
        "a list": (
            ["held"],
            "'[held]' is something else; write the name of a reservation, such as the output `name` of a Reservation",
        ),
    },
    ("TeamQueues", "namespace"): {
        "capitals": (
            "Vision",
            "'Vision' is something else; "
            "write the name of a namespace, such as the output `metadata.name` of a Namespace",
        ),
        "an object": (
            {"metadata": {"name": "vision"}},
            "'an object' is something else; "
            "write the name of a namespace, such as the output `metadata.name` of a Namespace",
        ),
    },
    **{
        (name, "kubeconfig"): {
            "an object": ({"kind": "Config"}, f"'an object' is something else; {WANTED}"),
            "a list": (["x"], f"'[x]' is something else; {WANTED}"),
            "blank": (" \n", f"is empty; {WANTED}"),
            "a path": ("~/.kube/config", f"has no clusters; {WANTED}"),
            "an address": ("https://lab.example", f"has no clusters; {WANTED}"),
            "cut": (PLACEHOLDER_KUBECONFIG[:-9], f"is not YAML; {WANTED}"),
            "of nothing": ("kind: Config\nclusters: []\n", f"has no current-context; {WANTED}"),
            "without its context": (
                PLACEHOLDER_KUBECONFIG.replace('"current-context": "unknown"', '"current-context": "lab"'),
                f"has no context that is its current-context; {WANTED}",
            ),
            "without its cluster": (
                PLACEHOLDER_KUBECONFIG.replace('{"cluster": "unknown"', '{"cluster": "lab"'),
                f"has no cluster that its context names; {WANTED}",
            ),
            "without a server": (
                PLACEHOLDER_KUBECONFIG.replace("https://unknown.invalid", ""),
                f"has a cluster without a server; {WANTED}",
            ),
        }
        for name in ("Fleet", "TeamWorkloads", "TeamQueues", "Team")
    },
    ("TeamWorkloads", "platform"): {
        "text": ("lab", "'lab' is something else; write the output `platform` of a Fleet"),
        "a list": ([1], "'[1.0]' is something else; write the output `platform` of a Fleet"),
        "another object": (
            {"kubeconfig": "x"},
            "the platform stack 'lab' exports no outputs for teams, but this Berth needs version 2; "
            "update the platform with the same Berth first",
        ),
        "another cluster": (
            {**PLATFORM, "cluster": "prod"},
            "the platform stack 'lab' was deployed with cluster 'prod', but its stack file has 'lab'; "
            "name the team's own platform, or update that one first",
        ),
        "another project": (
            {**PLATFORM, "project": "theirs"},
            "the platform stack 'lab' was deployed with project 'theirs', but its stack file has 'acme-ml-dev'; "
            "name the team's own platform, or update that one first",
        ),
        "text for a list": (
            {**PLATFORM, "teams": {"vision": {"namespaces": "vision", "queues": ["train"]}}},
            "the platform stack 'lab' exports team 'vision' in another form; "
            "update the platform with the same Berth first",
        ),
    },
}
CASES = [(name, key, case) for (name, key), cases in BAD.items() for case in cases]


@pytest.mark.parametrize(("name", "key", "case"), CASES)
def test_a_known_output_is_checked_and_named_in_one_line(name: str, key: str, case: str) -> None:
    value, message = BAD[name, key][case]
    base = {**BASES[name], "workloads": WORKLOADS} if name == "TeamWorkloads" else BASES[name]
    for form in (lambda each: output_value(each, OTHER), lambda each: each):
        assert refused(name, {**base, key: form(value)}, preview=False) == [f"{key}: {message}"]
    hidden = message  # the value of a secret is not shown
    if "is something else" in message:
        hidden = f"a secret is something else; write {message.partition('; write ')[2]}"
    elif message.startswith("the cluster is in"):
        places = sorted({"project", "region", "zone"} & base.keys())
        hidden = f"a secret contradicts {', '.join(places)}; write the same place"
    assert refused(name, {**base, key: secret_value(value)}, preview=False) == [f"{key}: {hidden}"]


# --- defaults that a team does not have -------------------------------------------------------------------------------

GIVEN: Mapping[str, Any] = {
    "groups": ["all@acme.example"],
    "identity": {"roles": ["roles/storage.objectViewer"]},
    "queues": {"train": TRAIN, "batch": {"flavors": [{"pool": "v5e", "borrow": "all"}]}},
}
SHARED = {**SMALL, "projectNumber": "123456789012", "cohorts": {"all": {}}, "teamDefaults": {**GIVEN, "cohort": "all"}}


def test_a_team_is_without_the_role_and_the_group_of_all() -> None:
    """What null says in a stack file, and every SDK carries."""
    kept = component("Fleet", {**SHARED, "teams": {"vision": {}}}, preview=False)
    made = component("Fleet", {**SHARED, "teams": {"vision": {"without": ["identity", "groups"]}}}, preview=False)
    for text in ("roles/storage.objectViewer", "all@acme.example"):
        assert [text in repr([each.inputs for each in run.resources]) for run in (kept, made)] == [True, False]


@pytest.mark.parametrize(
    ("team", "line"),
    [
        (
            {"without": "identity"},
            "without: 'identity' has another type; write a list of keys, such as [identity]",
        ),
        ({"without": ["identiti"]}, "without[0]: teamDefaults have no 'identiti'; did you mean 'identity'?"),
        (
            {"without": ["queues.serve"]},
            "without[0]: teamDefaults have no 'queues.serve'; "
            "name a key of teamDefaults, such as identity or queues.train",
        ),
        (
            {"without": [3.0]},
            "without[0]: teamDefaults have no '3'; name a key of teamDefaults, such as identity or queues.train",
        ),
        (
            {"without": ["groups"], "groups": ["v@acme.example"]},
            "without[0]: the team writes 'groups' itself; remove one of the two",
        ),
        (
            {"identity": None},
            f"identity: {NULL.removesuffix('remove it')}write without: [identity] in the team, or remove it",
        ),
        (
            {"queues": {"batch": None}},
            f"queues.batch: {NULL.removesuffix('remove it')}write without: [queues.batch] in the team, or remove it",
        ),
    ],
)
def test_what_a_team_cannot_be_without_is_named(team: Mapping[str, Any], line: str) -> None:
    assert refused("Fleet", {**SHARED, "teams": {"vision": team}}) == [f"teams.vision.{line}"]
    of_fleet = {**SHARED, "name": "lab", "teams": {"vision": team}}
    assert f"fleet.teams.vision.{line}" in refused("TeamWorkloads", {**BASES["TeamWorkloads"], "fleet": of_fleet})


# --- the caller's options ---------------------------------------------------------------------------------------------

PROTECTED = (
    "container/cluster:Cluster",
    "container/nodePool:NodePool",
    "compute/reservation:Reservation",
    "ClusterQueue",
)


@pytest.mark.parametrize("name", ["Fleet", "Cluster", "NodePool", "Reservation", "TeamQueues"])
@pytest.mark.parametrize("option", [None, False, True], ids=["no option", "option false", "option true"])
@pytest.mark.parametrize("argument", [None, False, True], ids=["no argument", "argument false", "argument true"])
def test_what_the_caller_protects_is_protected(name: str, option: bool | None, argument: bool | None) -> None:
    """The option protects everything below the component; the argument, true by default, what is hard to get again."""
    given = {} if argument is None else {"protect": argument}
    options: Mapping[str, Any] = {} if option is None else {"protect": option}
    made = component(name, {**BASES[name], **given}, **options)
    held = {each.name: each.protect for each in made.resources if each.type.endswith(PROTECTED) and each.custom}
    held = {each: value for each, value in held.items() if "system" not in each}
    assert held and set(held.values()) == {option is True or argument is not False}
    assert option is not True or {each.protect for each in made.resources} == {True}


def test_other_options_of_the_caller_reach_the_component() -> None:
    options = {"ignoreChanges": ["plan"], "deletedWith": OTHER, "retainOnDelete": True}
    made = component("Reservation", RESERVED, **options)
    own, *below = made.resources
    assert (own.ignore_changes, own.deleted_with, own.retain_on_delete) == (("plan",), OTHER, True)
    assert {(each.deleted_with, each.retain_on_delete) for each in below} == {(OTHER, True)}


# --- queues admit from the namespaces in which they are ---------------------------------------------------------------


def admits(selector: Any, namespace: str) -> bool:
    """Whether a namespace selector admits a namespace of which only the name is known."""
    label = {"kubernetes.io/metadata.name": namespace}
    if any(label.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    for each in selector.get("matchExpressions", []):
        value = label.get(each["key"])
        match each["operator"]:
            case "In":
                is_met = value in each["values"]
            case "DoesNotExist":
                is_met = value is None
            case other:
                raise AssertionError(other)
        if not is_met:
            return False
    return True


def unreachable(made: Run) -> list[str]:
    """The local queues whose cluster queue does not admit from their namespace."""
    shared: list[Any] = made.resources_of("ClusterQueue")
    local: list[Any] = made.resources_of("LocalQueue")
    queues = {
        (each.provider, each.inputs["metadata"]["name"]): each.inputs["spec"]["namespaceSelector"] for each in shared
    }
    return [
        each.urn
        for each in local
        if not admits(queues[each.provider, each.inputs["spec"]["clusterQueue"]], each.inputs["metadata"]["namespace"])
    ]


@pytest.mark.parametrize("stack", sorted(ALL_STACKS.keys() - ACK_STACKS.keys() - TEAM_STACKS.keys()))
def test_every_local_queue_of_a_stack_is_admitted_by_its_cluster_queue(stack: str) -> None:
    result = run_stack(stack, False)
    assert unreachable(Run(result.resources, {})) == []


@pytest.mark.parametrize("name", ["Fleet", "TeamQueues"])
def test_every_local_queue_of_a_component_is_admitted_by_its_cluster_queue(name: str) -> None:
    for form, made in FORMS.items():
        value = {"namespace": made("elsewhere")} if name == "TeamQueues" else {}
        is_preview = name == "TeamQueues" and "unknown" in form
        run = component(name, {**BASES[name], **value}, preview=is_preview)
        assert run.resources_of("LocalQueue") and unreachable(run) == [], form
