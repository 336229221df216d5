"""Whether a change of a release concerns a stack: applies, does not, or cannot be told, each with the reason.

The rows of `berth/versions` name a condition of this module and its argument (`asks`, `usable`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from berth.diagnostics import join_or, join_words
from berth.plan.configuration import ConfigurationPlan
from berth.upgrade.evidence import EXISTING, Applicability, Evidence, Judgement, applies, is_not, is_open, listed
from berth.upgrade.job_conditions import judge_frameworks, judge_jobs

Check = Callable[[Any, Evidence], Judgement]


def judge(asks: Mapping[str, Any], evidence: Evidence) -> Judgement:
    """Return whether all conditions hold; the first that does not, or else the first that is open, is the reason."""
    found = [_CHECKS[key](value, evidence) for key, value in asks.items() if key in _CHECKS]
    if not found:
        return Judgement(Applicability.APPLIES, "every Kueue of this release does so")
    for verdict in (Applicability.NOT, Applicability.UNKNOWN):
        if (first := next((each for each in found if each.verdict == verdict), None)) is not None:
            return first
    objects = tuple(each for judgement in found for each in judgement.objects)
    return Judgement(Applicability.APPLIES, "; ".join(dict.fromkeys(each.why for each in found)), objects)


def condition_names() -> frozenset[str]:
    """Return the names of conditions and of their further arguments, for the test of the rows."""
    return frozenset(_CHECKS)


# --- what the stack configures ----------------------------------------------------------------------------------------


def _own_build(_: bool, evidence: Evidence) -> Judgement:
    chart = next((each.chart for each in evidence.plan.charts if each.name == "kueue"), None)
    if chart is None:
        return is_open("Kueue is existing, and may be a build of your own")
    if "registry.k8s.io/" in chart:
        return is_not("the stack installs Kueue's own chart, with no integration of yours compiled in")
    return is_open(f"the chart {chart} may install a build with integrations of your own")


def _namespaces(names: list[str], evidence: Evidence) -> Judgement:
    of_teams = {each.name for team in evidence.plan.teams for each in team.namespaces} & set(names)
    objects = [each for each in evidence.objects if each.namespace in names]
    if of_teams or objects:
        return applies(f"{join_words(sorted({*of_teams, *(each.namespace for each in objects)}))} is used", objects)
    return is_not(f"no team and no job of the stack is in {join_or(names)}")


def _gate_off(gate: str, evidence: Evidence, config: ConfigurationPlan) -> Judgement:
    """Judge a gate that is written as false; `while_on` is checked by its own condition."""
    is_off = config.feature_gates.get(gate) is False
    return applies(f"featureGates has {gate}: false") if is_off else is_not(f"{gate} is not switched off")


def _while_on(gate: str, evidence: Evidence, config: ConfigurationPlan) -> Judgement:
    written = config.feature_gates.get(gate)
    if written is not None:
        return applies(f"featureGates has {gate}: true") if written else is_not(f"{gate} is switched off too")
    default = None if evidence.gates is None else evidence.gates.default(gate)
    if default is None:
        return is_open(f"no source says whether {gate} is on by default")
    return applies(f"{gate} is on by default") if default else is_not(f"{gate} is off by default")


def _resource_named(name: str, evidence: Evidence, config: ConfigurationPlan) -> Judgement:
    mapped = any(mapping.name == name for mapping in config.device_mappings)
    if mapped or any(name in each.outputs for each in config.transformations):
        return applies(f"kueue.resources has a {'device class mapping' if mapped else 'transformation'} to {name}")
    return is_not(f"no mapping and no transformation of the stack is called {name}")


def _device_mappings(_: bool, evidence: Evidence, config: ConfigurationPlan) -> Judgement:
    names = [mapping.name for mapping in config.device_mappings]
    return (
        applies(f"device classes are mapped to {join_words(names)}") if names else is_not("no device class is mapped")
    )


def _admission_fair_sharing(_: bool, evidence: Evidence, config: ConfigurationPlan) -> Judgement:
    is_on = config.admission_fair_sharing is not None
    return applies("kueue.admissionFairSharing is on") if is_on else is_not("kueue.admissionFairSharing is off")


def _excluded_transformation(_: bool, evidence: Evidence, config: ConfigurationPlan) -> Judgement:
    hidden = [
        each.input
        for each in config.transformations
        if each.outputs and each.input.startswith(tuple(config.excluded_prefixes))
    ]
    if hidden:
        return applies(f"the input {join_words(hidden)} of a transformation is excluded from quota")
    return is_not("no transformation has an input that is excluded from quota")


def _of_kueue(check: Callable[[Any, Evidence, ConfigurationPlan], Judgement]) -> Check:
    """Return a check of Kueue's Configuration: open where it is not in the stack."""
    return lambda value, evidence: (
        is_open(EXISTING) if evidence.plan.kueue is None else check(value, evidence, evidence.plan.kueue)
    )


def _priority(name: str, evidence: Evidence) -> Judgement:
    if any(each.name == name for each in evidence.plan.priorities):
        return applies(f"a priority of the stack is called {name}")
    return is_not(f"no priority of the stack is called {name}")


def _workers(_: bool, evidence: Evidence) -> Judgement:
    return applies("the stack has workers") if evidence.plan.workers else is_not("the stack has no workers")


def _teams(_: bool, evidence: Evidence) -> Judgement:
    return applies("teams submit jobs") if evidence.plan.teams else is_not("the stack has no teams")


def _team_right(resource: str, evidence: Evidence) -> Judgement:
    if not evidence.plan.teams:
        return is_not("the stack has no teams")
    if evidence.plan.access is None:
        return is_open(f"the rights of people are not in this stack: they may write {resource}")
    return is_not(f"no role of Berth lets a team write {resource}")


def _cgroup_v1(_: bool, evidence: Evidence) -> Judgement:
    configs = {
        pool.name: [each.settings.node_system_config for each in pool.node_pools] for pool in evidence.plan.own_pools
    }
    pools = [name for name, each in configs.items() if any(one and one.cgroup_mode == "v1" for one in each)]
    if pools:
        return applies(f"nodeSystemConfig.cgroupMode of {listed(pools)} is v1")
    return is_not("no pool has cgroupMode: v1")


_CHECKS: Final[Mapping[str, Check]] = {
    "moot": _of_kueue(lambda reason, _, __: is_not(reason)),
    "never": lambda reason, _: is_not(reason),
    "own_build": _own_build,
    "namespaces": _namespaces,
    "gate_off": _of_kueue(_gate_off),
    "while_on": _of_kueue(_while_on),
    "gate": _of_kueue(_while_on),
    "resource_named": _of_kueue(_resource_named),
    "device_mappings": _of_kueue(_device_mappings),
    "admission_fair_sharing": _of_kueue(_admission_fair_sharing),
    "excluded_transformation": _of_kueue(_excluded_transformation),
    "priority": _priority,
    "workers": _workers,
    "teams": _teams,
    "queued_provisioning": lambda _, evidence: (
        applies("queues have a provisioning check")
        if evidence.plan.provisioning_configs
        else is_not("no queue has a provisioning check")
    ),
    "team_right": _team_right,
    "cgroup_v1": _cgroup_v1,
    "frameworks": judge_frameworks,
    "jobs": judge_jobs,
}
"""Name of a condition in a row → its check."""
