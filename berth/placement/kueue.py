"""Whether Kueue may give a flavor to a pod set: topology, taints and labels, in the order in which Kueue looks.

Source: Kueue 0.19.2 `pkg/scheduler/flavorassigner`, `checkFlavorForPodSets` and `checkPodSetAndFlavorMatchForTAS`, read
2026-11-25.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from msgspec import Struct, field

from berth.jobs.pod_set import PodSet
from berth.placement.matching import matches_value, tolerates
from berth.plan.kueue import PODS
from berth.plan.node_settings import Taint, Toleration


class ResourceFlavor(Struct, frozen=True, kw_only=True):
    """The nodes of a ResourceFlavor. Pods that get the flavor also get its `tolerations` and select its `node_labels`.

    `levels` are those of its topology, widest first; None without a topology.
    """

    node_labels: Mapping[str, str] = field(default_factory=dict[str, str])
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    levels: tuple[str, ...] | None = None


class Refusal(StrEnum):
    """Why Kueue may not give a flavor to a pod set."""

    NO_TOPOLOGY = "no-topology"
    """The pods ask for a topology, and the flavor has none."""
    NO_LEVEL = "no-level"
    """The flavor's topology lacks a level that the pods name."""
    ONLY_TOPOLOGY = "only-topology"
    """The flavor takes only pods that ask for a topology."""
    TAINT = "taint"
    """The pods do not tolerate a taint of the flavor."""
    LABELS = "labels"
    """A node selector or the required node affinity contradicts the flavor's own labels."""


def flavor_refusal(
    pod_set: PodSet, flavor: ResourceFlavor, *, only_topologies: bool, covered: Collection[str] = ()
) -> Refusal | None:
    """Return why Kueue may not give the flavor to the pods; None if it may.

    `only_topologies`: every flavor of the queue has a topology, so that Kueue places pods without a request too.
    `covered` are the resources of the flavor's resource group.
    """
    topology = _topology_refusal(pod_set, flavor, covered, only_topologies=only_topologies)
    if topology is not None:
        return topology
    if any(not tolerates(pod_set.tolerations, taint, flavor.tolerations) for taint in flavor.node_taints):
        return Refusal.TAINT
    return None if _labels_agree(pod_set, flavor.node_labels) else Refusal.LABELS


def _topology_refusal(
    pod_set: PodSet, flavor: ResourceFlavor, covered: Collection[str], *, only_topologies: bool
) -> Refusal | None:
    if not pod_set.asks_for_topology:
        return Refusal.ONLY_TOPOLOGY if flavor.levels is not None and not only_topologies else None
    if flavor.levels is None:
        # A flavor for other resources than the pods request may still count quota of transformed ones.
        return Refusal.NO_TOPOLOGY if not covered or not {*pod_set.requests, PODS}.isdisjoint(covered) else None
    assert pod_set.topology is not None
    request = pod_set.topology
    has_levels = {request.required, request.preferred, request.slice_level} <= {None, *flavor.levels}
    return None if has_levels and requested_level(pod_set, flavor.levels) is not None else Refusal.NO_LEVEL


def requested_level(pod_set: PodSet, levels: tuple[str, ...]) -> str | None:
    """Return the level at which Kueue places the pods; the lowest without a request, None if they name none."""
    request = pod_set.topology
    if request is None or not request.is_explicit:
        return levels[-1]
    if request.required is not None or request.preferred is not None:
        return request.required or request.preferred
    if request.slice_level is not None:
        return levels[0]
    return levels[-1] if request.unconstrained else None


def _labels_agree(pod_set: PodSet, labels: Mapping[str, str]) -> bool:
    """Return whether selectors and affinity agree with a flavor's labels; keys that it does not have do not count.

    A term of the affinity without a key of the flavor (also one about the node's name) accepts it.
    """
    if any(labels.get(key, value) != value for key, value in pod_set.node_selector.items()):
        return False
    terms = [[each for each in term if each.key in labels and not each.is_field] for term in pod_set.affinity_terms]
    if not terms or not all(terms):
        return True
    return any(all(matches_value(each, labels[each.key]) for each in term) for term in terms)
