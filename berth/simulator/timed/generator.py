"""A generated trace for a fleet: the same seed gives the same jobs.

For each open queue with accelerators (or counted cores), arrivals are a Poisson process whose rate is twice as high
from 8 to 20 o'clock as at night. A job has 1, 2, 4, … accelerators up to the queue's guarantee of one flavor, 2ⁿ with a
weight of 1/√2ⁿ, in one pod without a node selector or tolerations. It runs for a log-normal time (median 30 minutes,
1.2 in the logarithm, at most 2 days) and saves a checkpoint every 30 minutes if it is longer than an hour. The rate is
such that all jobs need `load` times that guarantee on average.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import random
from collections.abc import Iterator

from berth.jobs.pod_set import PodSet
from berth.placement.kueue import flavor_refusal
from berth.simulator.fleet import SimulatedFleet
from berth.simulator.scheduler.flavor_assignment import has_only_topologies
from berth.simulator.scheduler.model import RUNNING, ClusterQueue, FlavorResource, ResourceGroup, SchedulerSetup
from berth.simulator.timed.figures import unit_of

_DAY = 86_400
_MEDIAN_SECONDS, _SIGMA, _MAX_SECONDS = 1800, 1.2, 2 * _DAY
_MEAN_SECONDS = _MEDIAN_SECONDS * math.exp(_SIGMA**2 / 2)
_CHECKPOINT_SECONDS, _LONG_SECONDS = 1800, 3600
_DAY_HOURS = range(8, 20)


def generate_trace(fleet: SimulatedFleet, seed: int, days: int, load: float) -> str:
    """Return a trace as CSV text, in the order of submission."""
    rows = [
        row
        for queue in fleet.setup.queues
        for row in _queue_rows(fleet, queue, random.Random(f"{seed}/{queue.name}"), days, load)
    ]
    resources = sorted({resource for _, _, _, resource, _, _ in rows})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["submitted", "seconds", "queue", "pods", "checkpoint", *resources])
    for submitted, seconds, queue, resource, pods, amount in sorted(rows):
        checkpoint = "30m" if seconds > _LONG_SECONDS else ""
        amounts = [amount if each == resource else "" for each in resources]
        writer.writerow([submitted, seconds, queue, pods, checkpoint, *amounts])
    return text.getvalue()


def _queue_rows(
    fleet: SimulatedFleet, queue: ClusterQueue, rng: random.Random, days: int, load: float
) -> Iterator[tuple[int, int, str, str, int, int]]:
    counted = [
        (flavor, resource)
        for group in queue.resource_groups
        for flavor, resource in itertools.product(group.flavors, group.resources)
        if (flavor, resource) in fleet.accelerator_nouns and queue.quotas[flavor, resource].nominal > 0
        if _accepts_plain_pods(fleet.setup, queue, group, flavor)
    ]
    if not counted or queue.stop_policy != RUNNING:
        return
    flavor_resource: FlavorResource = max(counted, key=lambda each: queue.quotas[each].nominal)
    resource = flavor_resource[1]
    guaranteed = max(1, queue.quotas[flavor_resource].nominal // unit_of(resource))
    sizes = [1 << power for power in range(guaranteed.bit_length())]
    weights = [1 / math.sqrt(size) for size in sizes]
    mean_size = sum(map(math.prod, zip(sizes, weights, strict=True))) / sum(weights)
    rate = load * guaranteed / (mean_size * _MEAN_SECONDS)
    nodes = fleet.setup.topology_nodes.get(flavor_resource[0], ())
    most = max((each.amounts.get(resource, 0) for each in nodes), default=0) or max(sizes)
    time = 0.0
    while (time := time + rng.expovariate(rate * 4 / 3)) < days * _DAY:
        is_day = int(time % _DAY // 3600) in _DAY_HOURS
        if not is_day and rng.random() < 1 / 2:
            continue
        size = rng.choices(sizes, weights)[0]
        seconds = min(_MAX_SECONDS, max(60, round(rng.lognormvariate(math.log(_MEDIAN_SECONDS), _SIGMA))))
        name = fleet.queue_display_names.get(queue.name, queue.name)
        pods = -(-size // most)
        yield int(time), seconds, name, resource, pods, size // pods


def _accepts_plain_pods(setup: SchedulerSetup, queue: ClusterQueue, group: ResourceGroup, flavor: str) -> bool:
    """Return whether a flavor takes pods without a node selector or tolerations."""
    resource_flavor = setup.resource_flavors.get(flavor)
    pods = PodSet(name="main", count=1, requests=dict.fromkeys(group.resources, 1))
    only_topologies = has_only_topologies(queue.resource_groups, setup.resource_flavors)
    return resource_flavor is None or (
        flavor_refusal(pods, resource_flavor, only_topologies=only_topologies, covered=group.resources) is None
    )
