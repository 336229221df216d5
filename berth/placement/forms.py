"""Which form of job each flavor of a queue takes: jobs that ask Kueue for a topology, and jobs that do not.

Kueue gives a flavor with a topology only to jobs that ask for one, and a flavor without to the others, unless all
flavors of the queue have a topology (`flavor_refusal`). So a queue with both kinds of flavors serves two forms of jobs,
and no job can use both kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from berth import catalog
from berth.jobs.pod_set import PodSet, TopologyRequest
from berth.placement.kueue import ResourceFlavor, flavor_refusal
from berth.plan.kueue import ClusterQueuePlan, FlavorPlan, TopologyPlan


class JobForm(StrEnum):
    """A form of jobs; the value is a phrase for messages."""

    PLAIN = "without a topology request"
    TOPOLOGY = "with a topology request"


def kueue_flavors(
    flavors: tuple[FlavorPlan, ...], topologies: tuple[TopologyPlan, ...]
) -> Mapping[str, ResourceFlavor]:
    """Return the flavors of a plan by name, as Kueue matches them with pods."""
    levels = {topology.name: topology.levels for topology in topologies}
    return {
        flavor.name: ResourceFlavor(
            node_labels=flavor.node_labels,
            tolerations=flavor.tolerations,
            levels=levels.get(flavor.topology or ""),
        )
        for flavor in flavors
    }


def smallest_pods(flavor: FlavorPlan, form: JobForm) -> PodSet:
    """Return one pod of a form that requests the least that a flavor counts: one accelerator, or one core."""
    asks = form is JobForm.TOPOLOGY
    return PodSet(
        name="main",
        count=1,
        requests={flavor.resource: flavor.scale},
        tolerations=(),
        runtime_class=flavor.node_labels.get(catalog.labels().sandbox),
        topology=TopologyRequest(unconstrained=True) if asks else None,
    )


def queue_forms(
    queue: ClusterQueuePlan, flavors: Mapping[str, FlavorPlan], matched: Mapping[str, ResourceFlavor]
) -> dict[str, tuple[JobForm, ...]]:
    """Return flavor → the forms of jobs to which Kueue may give it in a queue, in the queue's order of flavors.

    `flavors` are the plan's, `matched` the same as `kueue_flavors` returns them.
    """
    names = [entry.flavor for entry in queue.flavors]
    only_topologies = all(matched[name].levels is not None for name in names)
    return {
        name: tuple(
            form
            for form in JobForm
            if flavor_refusal(
                smallest_pods(flavors[name], form),
                matched[name],
                only_topologies=only_topologies,
                covered=queue.covered_resources,
            )
            is None
        )
        for name in names
    }


def is_split(forms: Mapping[str, tuple[JobForm, ...]]) -> bool:
    """Whether no form of job can use all flavors of a queue."""
    return not any(all(form in accepted for accepted in forms.values()) for form in JobForm)
