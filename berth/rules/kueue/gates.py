"""Rules over feature gates of Kueue: unknown and locked ones, and dependencies between gates and settings.

Source: `pkg/features/kube_features.go` and `pkg/config/validation.go` (LoadAndValidateFeatureGates); `berth/versions`
has the gates of each release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from berth.diagnostics import did_you_mean, format_value
from berth.plan.configuration import ConfigurationPlan
from berth.rules.kueue import bounds
from berth.rules.kueue.rule import FieldError, Rule
from berth.versions import minor_of, parse_release
from berth.versions.gates import Gates, span_of

_GATE_GROUPS: Final = ("AllAlpha", "AllBeta")
"""Names of Kubernetes that set many gates together; with one of them, Berth does not check single gates."""

GATED_SETTINGS: Final[tuple[tuple[str, str, Callable[[ConfigurationPlan], bool]], ...]] = (
    ("QuotaCheckStrategy", "resources.quotaCheckStrategy", lambda plan: plan.quota_check is not None),
    ("AdmissionFairSharing", "admissionFairSharing", lambda plan: plan.admission_fair_sharing is not None),
    ("CustomMetricLabels", "metrics.customLabels", lambda plan: bool(plan.metrics.custom_labels)),
    ("LocalQueueMetrics", "metrics.localQueueMetrics", lambda plan: plan.metrics.local_queues is True),
    (
        "SparkApplicationIntegration",
        f"integrations.frameworks: {bounds.SPARK_FRAMEWORK}",
        lambda p: bounds.SPARK_FRAMEWORK in p.frameworks,
    ),
    ("KueueDRAIntegration", "resources.deviceClassMappings", lambda plan: bool(plan.device_mappings)),
    ("MultiKueue", "multiKueue", lambda plan: plan.multikueue is not None),
    (
        "MultiKueueClusterProfile",
        "multiKueue.clusterProfile",
        lambda plan: plan.multikueue is not None and bool(plan.multikueue.access_providers),
    ),
)
"""Setting → the gate without which it has no effect or keeps Kueue from starting."""


_OF_ENDED_PODS: Final = "ReclaimablePods"
"""The gate by which Kueue gives back the quota of pods that ended well while their job runs."""
_RUN_AGAIN: Final = frozenset(("jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob"))
"""Integrations whose jobs may start again what ended well, which Kueue then does not count (holes.yaml)."""


def implied_gates(plan: ConfigurationPlan, gates: Gates) -> dict[str, bool]:
    """Return the gates that the configuration needs otherwise than they are by default."""
    needed = {gate: True for gate, _, is_used in GATED_SETTINGS if is_used(plan) and gates.default(gate) is False}
    if gates.default(_OF_ENDED_PODS) and not _RUN_AGAIN.isdisjoint(plan.frameworks):
        needed[_OF_ENDED_PODS] = False
    return needed


def check_known(plan: ConfigurationPlan, gates: Gates) -> Iterator[FieldError]:
    """Yield gates that a release does not have, with which Kueue does not start; none where its list is not whole."""
    if not gates.is_whole:
        return
    for gate in unlisted_gates(plan, gates):
        span = span_of(gate, minor_of(parse_release(gates.release)))
        hint = f"; {span}: remove it" if span else did_you_mean(gate, gates.states) or "; remove it"
        yield ("featureGates", gate), f"'{format_value(gate)}' is not a feature gate of Kueue {gates.release}{hint}"


def unlisted_gates(plan: ConfigurationPlan, gates: Gates) -> tuple[str, ...]:
    """Return the gates of a configuration that a release's list does not have."""
    return tuple(gate for gate in sorted(plan.feature_gates) if gate not in gates.states and gate not in _GATE_GROUPS)


def check_locked(plan: ConfigurationPlan, gates: Gates) -> Iterator[FieldError]:
    """Yield locked gates (graduated or deprecated) that are not at their default."""
    for gate in sorted(plan.feature_gates):
        if gates.is_locked(gate) and plan.feature_gates[gate] != gates.default(gate):
            value, default = str(plan.feature_gates[gate]).lower(), str(gates.default(gate)).lower()
            message = f"'{value}' is not possible: Kueue {gates.release} locks this gate to {default}; remove {gate}"
            yield ("featureGates", gate), message


def check_dependencies(plan: ConfigurationPlan, gates: Gates) -> Iterator[FieldError]:
    """Yield gates that are on, often by default, without a gate that they require."""
    if plan.feature_gates.keys() & set(_GATE_GROUPS):
        return
    for gate, dependencies in gates.requires.items():
        disabled = [dependency for dependency in dependencies if not gates.is_on(plan.feature_gates, dependency)]
        if disabled and gates.is_on(plan.feature_gates, gate):
            yield _missing_dependency(plan, gate, disabled[0])


def _missing_dependency(plan: ConfigurationPlan, gate: str, dependency: str) -> FieldError:
    if dependency in plan.feature_gates:
        message = f"'false' is not possible: {gate} needs this gate; remove {dependency}: false, or write {gate}: false"
        return ("featureGates", dependency), message
    message = f"'{gate}' needs {dependency}, which is off by default; write {dependency}: true, or {gate}: false"
    return ("featureGates", gate), message


def check_enabled(plan: ConfigurationPlan, gates: Gates) -> Iterator[FieldError]:
    """Yield settings whose gate is off."""
    if plan.feature_gates.keys() & set(_GATE_GROUPS):
        return
    for gate, setting, is_used in GATED_SETTINGS:
        if is_used(plan) and gates.default(gate) is not None and not gates.is_on(plan.feature_gates, gate):
            message = f"'{setting}' needs the feature gate {gate}, which is off; write {gate}: true"
            yield tuple(setting.partition(":")[0].split(".")), message


def release_rules(release: Gates) -> tuple[Rule[ConfigurationPlan], ...]:
    """Return the rules that depend on the feature gates of a release."""
    return (
        Rule("unknown-gate", "component-base featuregate SetFromMap", partial(check_known, gates=release)),
        Rule(
            "locked-gate",
            "component-base featuregate SetFromMap: LockToDefault",
            partial(check_locked, gates=release),
        ),
        Rule("gate-needs-gate", "config LoadAndValidateFeatureGates", partial(check_dependencies, gates=release)),
        Rule("gate-is-off", "Kueue's use of features.Enabled", partial(check_enabled, gates=release)),
    )
