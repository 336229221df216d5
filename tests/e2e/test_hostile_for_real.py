"""The hostile table on a real API server: each attempt, its user, and the API server's answer.

Every attempt is a dry run on the server by impersonation, so that nothing runs; what an update changes is created
first, before the policies exist, as by a platform that adds them later. `BERTH_HOSTILE_REPORT=FILE` writes the answers
with and without the policies as a table.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import hostile
from tests.e2e.support import hostile_fleet
from tests.e2e.support.api import Api, Refused, proxied
from tests.e2e.support.cluster import Cluster, until
from tests.hostile import Attempt

Manifest = dict[str, Any]
ATTEMPTS = [each for each in hostile.attempts() if not each.over_time and not each.unanswered]
_SOMETIMES = {
    "appwrapper": "appwrappers.workload.codeflare.dev",
    "gateway": "gateways.gateway.networking.k8s.io",
    "leaderworkerset": "leaderworkersets.leaderworkerset.x-k8s.io",
    "pytorchjob": "pytorchjobs.kubeflow.org",
    "raycluster": "rayclusters.ray.io",
    "rayjob": "rayjobs.ray.io",
    "rayservice": "rayservices.ray.io",
    "trainjob": "trainjobs.trainer.kubeflow.org",
}
"""Kinds that not every cluster has, and their resources."""
_SUBRESOURCES = ("binding", "oldbinding", "eviction", "scale", "statefulsetscale")
"""Kinds that are written below another object, whose API group they do not have."""
_CLUSTER_WIDE = ("namespace", "policybinding")
_POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_ACCOUNT_RIGHTS: list[Manifest] = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "hostile-account", "namespace": "vision"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "vision", "namespace": "vision"}],
    },
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "anchor", "namespace": "vision"}},
]
"""The worst that a platform may give a team's account in its own namespace, and an owner that exists."""
_QUEUED = {"kueue.x-k8s.io/queue-name": "l4"}
_POD = {"containers": [{"name": "main", "image": "x"}]}
_SERVICE = {
    "replicas": 0,
    "selector": {"matchLabels": {"app": "x"}},
    "template": {"metadata": {"labels": {"app": "x"}}, "spec": _POD},
}
_OWNERS: list[Manifest] = [
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "victim", "labels": _QUEUED},
        "spec": {"suspend": True, "template": {"spec": {"restartPolicy": "Never", **_POD}}},
    },
    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": _SERVICE},
    {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": _SERVICE},
]
"""What others name as their owner, in both namespaces: Kueue's webhooks look for it. It admits the job."""


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[Api]:
    """Provide the API server by HTTP."""
    with proxied(cluster.context) as made:
        yield made


@pytest.fixture(scope="module")
def answers(cluster: Cluster, api: Api) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Provide the answer to every attempt by its title, without the policies and with them; empty where it happens."""
    objects = hostile_fleet.objects()
    policies = [m for m in objects if m["kind"] in _POLICIES]
    rest = [m for m in objects if m["kind"] not in _POLICIES] + _ACCOUNT_RIGHTS
    if "clustertrainingruntimes" in cluster.kubectl("api-resources", "-o", "name"):
        rest.append(hostile.RUNTIME)
    owners = [
        {**each, "metadata": {**each["metadata"], "namespace": namespace}}
        for each in _OWNERS
        for namespace in ("vision", "language")
    ]
    before = cluster.objects()
    try:
        hostile_fleet.apply(cluster, rest)
        hostile_fleet.wait_for_namespaces(cluster)
        hostile_fleet.apply_patches(cluster, hostile_fleet.patches(hostile.manifests()))
        hostile_fleet.apply(cluster, owners)
        uids = {
            "ANCHOR": cluster.get("configmap", "anchor", "-n", "vision")["metadata"]["uid"],
            "VICTIM": cluster.get("job", "victim", "-n", "vision")["metadata"]["uid"],
        }
        served = cluster.kubectl("api-resources", "-o", "name").split()
        attempts = [each for each in ATTEMPTS if each.kind not in _SOMETIMES or _SOMETIMES[each.kind] in served]
        for attempt in attempts:
            if (made := hostile.parent(attempt) or attempt.before) is not None and not attempt.there:
                cluster.kubectl("create", "-f", "-", given=_text(made, uids))
        without = {each.title: _answer(api, each, uids) for each in attempts}
        hostile_fleet.apply(cluster, policies)
        _wait_until_enforced(api)
        given = {each.title: _answer(api, each, uids) for each in attempts}
        _report(without, given)
        yield without, given
    finally:
        every = hostile_fleet.stream([*policies, *owners, *rest])
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", given=every)
        until("the fleet to be gone", lambda: sorted(cluster.objects() - before), lambda left: not left)


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.title)
def test_the_api_server_answers_as_the_table_says(
    attempt: Attempt, answers: tuple[dict[str, str], dict[str, str]]
) -> None:
    _, given = answers
    if attempt.title not in given:
        pytest.skip(f"the cluster has no {attempt.kind}")
    answer = given[attempt.title]
    if not attempt.refused:
        assert answer == ""
    elif attempt.refused == ("rbac",):
        assert "cannot" in answer, answer
    else:
        assert any(text in answer for text in attempt.refused), answer


def test_the_api_server_finds_no_wrong_type_in_the_expressions(
    cluster: Cluster, answers: tuple[dict[str, str], dict[str, str]]
) -> None:
    policies = until(
        "type checking",
        lambda: [p for p in cluster.get("validatingadmissionpolicies")["items"] if "berth" in p["metadata"]["name"]],
        lambda result: all("typeChecking" in p.get("status", {}) for p in result),
    )
    assert len(policies) == 21
    assert [p["status"]["typeChecking"] for p in policies] == [{}] * 21


def _answer(api: Api, attempt: Attempt, uids: Mapping[str, str]) -> str:
    """Return the API server's refusal; empty where it happens. Nothing happens: every request is a dry run."""
    group, resource = hostile.RESOURCES[attempt.kind]
    resource, _, subresource = resource.partition("/")
    shown = attempt.after or attempt.before
    assert shown is not None
    version = shown["apiVersion"] if attempt.kind not in _SUBRESOURCES else "apps/v1" if group else "v1"
    path = f"{'apis' if '/' in version else 'api'}/{version}/namespaces/{attempt.namespace}/{resource}"
    if attempt.kind in _CLUSTER_WIDE:
        path = f"{'apis' if '/' in version else 'api'}/{version}/{resource}"
    subresource = attempt.subresource or subresource
    named = f"{path}/{attempt.name}" + (f"/{subresource}" if subresource else "")
    body = None if attempt.after is None else json.loads(_text(attempt.after, uids))
    try:
        if attempt.verb == "get":
            api.call("GET", named, who=attempt.identity)
        elif attempt.verb in ("delete", "deletecollection"):
            target = path if attempt.verb == "deletecollection" else named
            options = None if attempt.options is None else {**attempt.options, "dryRun": ["All"]}
            api.call("DELETE", f"{target}?dryRun=All", options, attempt.identity)
        elif attempt.before is None:
            api.call("POST", f"{named if subresource else path}?dryRun=All", body, attempt.identity)
        else:
            patch = json.loads(_text(_difference(attempt.before, attempt.after or {}), uids))
            api.call("PATCH", f"{named}?dryRun=All", patch, attempt.identity, "merge")
    except Refused as refused:
        return str(refused)
    return ""


def _wait_until_enforced(api: Api) -> None:
    """The API server compiles a policy and its binding within seconds, one after the other."""
    probes = [each for each in ATTEMPTS if each.refused not in ((), ("rbac",))]
    time.sleep(2)
    for kind in ("pod", "job", "deployment", "service", "workload"):
        probe = next(each for each in probes if each.kind == kind)
        until(f"a policy of {kind}", lambda probe=probe: _answer(api, probe, {}), bool)


def _difference(before: Manifest, after: Manifest) -> Manifest:
    """Return the JSON merge patch (RFC 7386) from one to the other."""
    patch: Manifest = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            if nested := _difference(old, value):
                patch[key] = nested
        elif value != old:
            patch[key] = value
    return patch


def _text(manifest: Manifest, uids: Mapping[str, str]) -> str:
    """As JSON, with the uids of what is there in place of their names."""
    text = json.dumps(manifest)
    for name, uid in uids.items():
        text = text.replace(f'"{name}"', f'"{uid}"')
    return text


def _report(without: dict[str, str], given: dict[str, str]) -> None:
    if (file := os.environ.get("BERTH_HOSTILE_REPORT")) is None:
        return
    rows = [f"| {title} | {_short(without[title])} | {_short(given[title])} |" for title in given]
    lines = ["| attempt | without policies | with policies |", "| --- | --- | --- |", *rows]
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _short(answer: str) -> str:
    """Return the end of the API server's message, in one cell."""
    if not answer:
        return "allowed"
    line = " ".join(answer.split())
    return line.rpartition("denied request: ")[2][-160:].replace("|", "/")
