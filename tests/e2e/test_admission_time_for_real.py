"""What the admission policies add to the creation of a Job on a real API server, by the clocks of client and server."""

from __future__ import annotations

import http.client
import re
import time
from statistics import median
from typing import Any

from tests.e2e.support import hostile_fleet
from tests.e2e.support.attacks import World, job, world
from tests.e2e.support.cluster import Cluster

_MOST = 2.0
"""Milliseconds that the policies may add."""
_ROUNDS, _JOBS = 8, 60
_SPENT = re.compile(
    r"^apiserver_admission_controller_admission_duration_seconds_(sum|count)"
    r'\{name="ValidatingAdmissionPolicy",operation="CREATE",rejected="false",type="validate"\} (\S+)$',
    re.MULTILINE,
)


def test_policies_take_at_most_two_milliseconds_of_a_job(cluster: Cluster) -> None:
    """Compare rounds of creations (dry runs) with the policies' bindings and without, each with its neighbour.

    Load of the machine changes slowly, so it is the same in both halves of a round. The server's own clock has the
    policies alone, of every creation.
    """
    with world(cluster) as fleet:
        bindings = _bindings(fleet)
        assert len(bindings) >= 13
        rounds: list[tuple[float, float]] = []
        spent: dict[bool, list[float]] = {True: [], False: []}
        try:
            for number in range(_ROUNDS):
                medians: dict[bool, float] = {}
                for is_bound in (True, False) if number % 2 else (False, True):
                    words = ("apply",) if is_bound else ("delete", "--ignore-not-found")
                    cluster.kubectl(*words, "-f", "-", given=hostile_fleet.stream(bindings))
                    time.sleep(4)
                    before = _spent(fleet)
                    medians[is_bound] = _median_of_jobs(fleet)
                    after = _spent(fleet)
                    spent[is_bound].append(1000 * (after[0] - before[0]) / (after[1] - before[1]))
                rounds.append((medians[True], medians[False]))
        finally:
            cluster.kubectl("apply", "-f", "-", given=hostile_fleet.stream(bindings))
            time.sleep(4)
    added = median(bound - unbound for bound, unbound in rounds)
    of_server = median(spent[True]) - median(spent[False])
    shown = ", ".join(f"{bound:.2f}-{unbound:.2f}" for bound, unbound in rounds)
    print(f"the policies add {added:.2f} ms to a Job, {of_server:.2f} ms by the server's clock; medians: {shown}")
    assert added <= _MOST
    assert of_server <= _MOST


def _bindings(fleet: World) -> list[dict[str, Any]]:
    listed = fleet.cluster.get("validatingadmissionpolicybindings")["items"]
    return [
        {"apiVersion": each["apiVersion"], "kind": each["kind"], "spec": each["spec"]}
        | {"metadata": {"name": each["metadata"]["name"]}}
        for each in listed
        if each["metadata"]["name"].startswith("berth-")
    ]


def _median_of_jobs(fleet: World) -> float:
    """Return the median of the creations of a round, in milliseconds; the first ones warm up."""
    times: list[float] = []
    for number in range(_JOBS):
        made = job("vision", f"timed-{number}", 4, spec={"suspend": True})
        began = time.perf_counter()
        fleet.api.call("POST", "apis/batch/v1/namespaces/vision/jobs?dryRun=All", made)
        times.append(1000 * (time.perf_counter() - began))
    return median(times[10:])


def _spent(fleet: World) -> tuple[float, float]:
    """Return the seconds that the API server spent in policies for creations, and how many creations there were."""
    connection = http.client.HTTPConnection("127.0.0.1", fleet.api.port, timeout=60)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    found = dict(_SPENT.findall(text))
    return float(found["sum"]), float(found["count"])
