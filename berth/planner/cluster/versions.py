"""Compare the GKE version of the cluster with what its pools need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.catalog import compare_version, parse_version
from berth.diagnostics import FieldPath, Severity
from berth.planner.context import PlanningContext
from berth.planner.machines.capacity_rules import setting_path
from berth.planner.machines.pools import PlannedPool
from berth.rules.gke.pool_request import PoolRequest
from berth.rules.gke.versions import (
    FeatureNeed,
    MissingFeature,
    feature_needs,
    missing_features,
    release_violation,
)
from berth.rules.gke.versions import first_version as first_version


def check_versions(context: PlanningContext, planned_pools: Mapping[str, PlannedPool]) -> None:
    """Report features that the version lacks, at the pool that uses them, and one note with all assumptions."""
    if context.only_connects or any(
        context.is_set_aside("cluster", key) for key in ("mode", "version", "releaseChannel")
    ):
        return
    cluster, assumed = context.spec.cluster, list[MissingFeature]()
    if cluster.version:
        _check_cluster_version(context, cluster.version)
    needed: list[tuple[FieldPath, FeatureNeed]] = [
        (("pools", name, *setting_path(pool.request, need.key)), need)
        for name, pool in planned_pools.items()
        for need in feature_needs(pool.request)
    ]
    if cluster.checkpointing is not None and cluster.mode == "standard":
        needed.append((("cluster", "checkpointing"), FeatureNeed(feature="checkpointing", key="checkpointing")))
    needed += _buffer_needs(context)
    for path, need in needed:
        for missing in missing_features([need], cluster.version, cluster.release_channel):
            if missing.severity == Severity.FAULT:
                context.problems.fault("version-too-old", path, missing.message)
            elif missing.severity == Severity.WARNING:
                context.problems.warning("version-doubtful", path, missing.message)
            else:
                assumed.append(missing)
    if assumed:
        # The newest assumed version has the features of older ones.
        newest = max(assumed, key=lambda lack: parse_version(lack.since))
        key = "version" if cluster.version else "releaseChannel"
        context.problems.note("version-assumed", ("cluster", key), newest.message)


def _buffer_needs(context: PlanningContext) -> Iterator[tuple[FieldPath, FeatureNeed]]:
    autopilot = context.spec.cluster.mode == "autopilot"
    for team, spec in sorted(context.spec.teams.items()):
        for name, buffer in sorted(spec.capacity_buffers.items()):
            feature = f"{buffer.provisioning_strategy}-buffer"
            yield ("teams", team, "capacityBuffers", name), FeatureNeed(feature=feature, autopilot=autopilot)


def _check_cluster_version(context: PlanningContext, version: str) -> None:
    """Report a version that GKE may refuse, or that lacks features that Berth itself enables."""
    cluster, path = context.spec.cluster, ("cluster", "version")
    if violation := release_violation(version, cluster.release_channel, exists=context.cluster_exists):
        context.problems.warning(violation.code, path, violation.message)
    if context.cluster_exists:
        return
    autopilot = cluster.mode == "autopilot"
    needs = (FeatureNeed(feature=name, autopilot=autopilot) for name in _FEATURES_OF_EVERY_CLUSTER)
    faults = [m for m in missing_features(needs, version, cluster.release_channel) if m.severity == Severity.FAULT]
    if faults:  # the newest needed version has the features of older ones
        context.problems.fault("version-too-old", path, max(faults, key=lambda lack: parse_version(lack.since)).message)


_FEATURES_OF_EVERY_CLUSTER = ("monitoring-jobset", "monitoring-kubelet")
"""Features that Berth enables in every cluster (`gke.MONITORING`)."""


def may_support_flex_start(context: PlanningContext, request: PoolRequest) -> bool:
    """Return whether the cluster's version may support flex-start; False only if it is known to be older."""
    flex_start_version = first_version(
        FeatureNeed(feature="flex-start", autopilot=request.cluster.autopilot, kind=request.machine.kind)
    )
    version = context.spec.cluster.version
    return version is None or flex_start_version is None or compare_version(version, flex_start_version) != "older"
