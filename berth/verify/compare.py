"""What Berth predicts of a cluster against its objects."""

from __future__ import annotations

from berth.clock import as_of
from berth.nodes import FleetNodes, fleet_nodes
from berth.plan.fleet import FleetPlan
from berth.verify.answers import KINDS, LiveObjects
from berth.verify.findings import Learned, LiveDifference, Verification
from berth.verify.nodes import NodeComparison
from berth.verify.objects import PredictedObjects, live_differences, offer_findings, other_objects, predicted_objects


def verify_cluster(plan: FleetPlan, live: LiveObjects) -> Verification:
    """Return how the cluster of a plan differs from the prediction, and what it tells that no source told."""
    nodes, predicted = fleet_nodes(plan), predicted_objects(plan)
    source = f"cluster {plan.cluster.name}, {as_of()}"
    comparison = NodeComparison(plan, nodes.groups, source)
    for name, node in (live.of_kind("Node") or {}).items():
        comparison.add(name, node)
    offers = list(offer_findings(nodes, live, source))
    has_nodes = live.of_kind("Node") is not None
    absent = [kind for kind in KINDS if live.of_kind(kind) is None and _is_predicted(kind, predicted, nodes)]
    return Verification(
        differences=(
            *(comparison.differences() if has_nodes else ()),
            *live_differences(plan, live),
            *(each for each in offers if isinstance(each, LiveDifference)),
        ),
        learned=(*comparison.learned(), *(each for each in offers if isinstance(each, Learned))),
        compared=(
            *comparison.compared(),
            *(f"{len(objects)} {kind}" for kind, objects in predicted.items() if objects and live.of_kind(kind)),
        ),
        not_compared=(
            *(comparison.not_compared() if has_nodes else ()),
            *(f"no file has an object of kind {kind}" for kind in absent),
        ),
        others=(*comparison.others, *other_objects(predicted, live)),
    )


def _is_predicted(kind: str, predicted: PredictedObjects, nodes: FleetNodes) -> bool:
    """Return whether the stack has objects of a kind, or Berth knows which the cluster has."""
    if kind in predicted:
        return bool(predicted[kind])
    offered = {"CSIDriver": nodes.storage_drivers, "DeviceClass": nodes.device_classes}
    return bool(offered.get(kind, nodes.runtime_classes if kind == "RuntimeClass" else nodes.groups))
