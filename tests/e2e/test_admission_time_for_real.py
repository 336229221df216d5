"""What the admission policies add to the creation of a Job on a real API server, by the clocks of client and server."""

from __future__ import annotations

import http.client
import re
import time
from collections.abc import Sequence
from copy import deepcopy
from statistics import median
from typing import Any

from tests.e2e.support import hostile_fleet
from tests.e2e.support.api import Refused
from tests.e2e.support.attacks import World, job, world
from tests.e2e.support.cluster import Cluster, until

Manifest = dict[str, Any]
_MOST = 2.0
"""Milliseconds that the policies may add."""
_PAIRS = 300
_SPENT = re.compile(
    r"^apiserver_admission_controller_admission_duration_seconds_sum"
    r'\{name="ValidatingAdmissionPolicy",operation="CREATE",rejected="false",type="validate"\} (\S+)$',
    re.MULTILINE,
)


def test_policies_take_at_most_two_milliseconds_of_a_job(cluster: Cluster) -> None:
    """Compare creations (dry runs) in two namespaces of teams, of which the policies leave out one, then the other.

    Each creation has its counterpart beside it, so that both meet the same load. The server's own clock has the time
    that it spent in policies.
    """
    added: list[float] = []
    of_server: list[float] = []
    with world(cluster) as fleet:
        bindings = _bindings(fleet)
        assert len(bindings) >= 13
        try:
            for bound, unbound in (("vision", "speech"), ("speech", "vision")):
                _bind(fleet, _without(bindings, unbound), {bound: True, unbound: False})
                _pairs(fleet, (bound, unbound), 30)
                before = _spent(fleet)
                added += _pairs(fleet, (bound, unbound), _PAIRS)
                of_server.append(1000 * (_spent(fleet) - before) / _PAIRS)
        finally:
            _bind(fleet, bindings, {"vision": True, "speech": True})
    print(f"the policies add {median(added):.2f} ms to a Job, {max(of_server):.2f} ms by the server's clock")
    assert median(added) <= _MOST
    assert max(of_server) <= _MOST


def _bindings(fleet: World) -> list[Manifest]:
    listed = fleet.cluster.get("validatingadmissionpolicybindings")["items"]
    return [
        {"apiVersion": each["apiVersion"], "kind": each["kind"], "spec": each["spec"]}
        | {"metadata": {"name": each["metadata"]["name"]}}
        for each in listed
        if each["metadata"]["name"].startswith("berth-")
    ]


def _without(bindings: Sequence[Manifest], namespace: str) -> list[Manifest]:
    """Return the bindings without a namespace; one that is for every namespace stays as it is."""
    made = deepcopy(list(bindings))
    for each in made:
        selector = each["spec"].get("matchResources", {}).get("namespaceSelector", {})
        if "matchExpressions" in selector:
            left_out = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [namespace]}
            selector["matchExpressions"].append(left_out)
    return made


def _bind(fleet: World, bindings: Sequence[Manifest], bound: dict[str, bool]) -> None:
    """Apply bindings, and wait until the policies look at the namespaces that are bound."""
    hostile_fleet.apply(fleet.cluster, bindings)
    until("bindings", lambda: {each: _refuses(fleet, each) for each in bound}, lambda refuses: refuses == bound)


def _refuses(fleet: World, namespace: str) -> bool:
    """Return whether a policy refuses a Job of the namespace."""
    made = job(namespace, "asks", 1, pod={"terminationGracePeriodSeconds": 100_000_000})
    try:
        _create(fleet, made)
    except Refused:
        return True
    return False


def _pairs(fleet: World, namespaces: tuple[str, str], count: int) -> list[float]:
    """Return the differences of creations in two namespaces, in milliseconds."""
    differences: list[float] = []
    for number in range(count):
        times: dict[str, float] = {}
        for namespace in namespaces if number % 2 else namespaces[::-1]:
            made = job(namespace, f"timed-{number}", 4, spec={"suspend": True})
            began = time.perf_counter()
            _create(fleet, made)
            times[namespace] = 1000 * (time.perf_counter() - began)
        bound, unbound = namespaces
        differences.append(times[bound] - times[unbound])
    return differences


def _create(fleet: World, made: Manifest) -> None:
    fleet.api.call("POST", f"apis/batch/v1/namespaces/{made['metadata']['namespace']}/jobs?dryRun=All", made)


def _spent(fleet: World) -> float:
    """Return the seconds that the API server spent in policies for creations."""
    connection = http.client.HTTPConnection("127.0.0.1", fleet.api.port, timeout=60)
    try:
        connection.request("GET", "/metrics")
        (found,) = _SPENT.findall(connection.getresponse().read().decode())
    finally:
        connection.close()
    return float(found)
