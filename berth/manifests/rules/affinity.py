"""Policy `berth-affinity`: affinity and anti-affinity of pods reach only pods of their own team.

Anti-affinity over all namespaces keeps every pod of the cluster away from a whole domain of nodes, also without
accelerators. JobSet's exclusive topology is such a term (JobSet 0.12, pkg/webhooks, `setExclusiveAffinities`): it is
allowed for pods with accelerators, in domains that their jobs take whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from berth.manifests.policy_rules import Rule, annotation, list_field
from berth.manifests.rules.admission import (
    EVERYONE,
    TEMPLATES,
    AdmissionPolicy,
    keys,
    requests_accelerators,
    with_templates,
)
from berth.names import TEAM_LABEL
from berth.plan.policies import TEAM_NAMESPACES, ExclusivePlan

EXCLUSIVE_TOPOLOGY: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""JobSet's annotation for one job in each domain of a node label."""
_JOB_KEY: Final = "jobset.sigs.k8s.io/job-key"

_METADATA_NAME: Final = "kubernetes.io/metadata.name"
_TEAM: Final = f"namespaceObject.metadata.labels['{TEAM_LABEL}']"


def _terms(affinity: str) -> str:
    """Return an expression for the required and preferred terms of one field of a template's affinity."""
    holder = f"t.spec.affinity.{affinity}"
    required = list_field(holder, "requiredDuringSchedulingIgnoredDuringExecution")
    preferred = list_field(holder, "preferredDuringSchedulingIgnoredDuringExecution")
    return f"(has(t.spec.affinity) && has({holder}) ? ({required} + {preferred}.map(p, p.podAffinityTerm)) : [])"


_OWN: Final = (
    "((!has(a.namespaces) || a.namespaces.all(n, n in variables.namespaces)) && (!has(a.namespaceSelector) || "
    "(has(a.namespaceSelector.matchLabels) && ("
    f"('{TEAM_LABEL}' in a.namespaceSelector.matchLabels && variables.team != '' && "
    f"a.namespaceSelector.matchLabels['{TEAM_LABEL}'] == variables.team) || "
    f"('{_METADATA_NAME}' in a.namespaceSelector.matchLabels && "
    f"a.namespaceSelector.matchLabels['{_METADATA_NAME}'] in variables.namespaces)))))"
)
_EXCLUSIVE: Final = (
    "(has(a.labelSelector) && has(a.labelSelector.matchExpressions) && "
    f"a.labelSelector.matchExpressions.exists(e, e.key == '{_JOB_KEY}'))"
)
_MESSAGE: Final = (
    "affinity and anti-affinity to pods in namespaces of others keep their pods away from nodes; remove namespaces "
    "and namespaceSelector from the terms of podAffinity and podAntiAffinity"
)


def _selects(template: str, selectors: Sequence[Mapping[str, str]]) -> str:
    """Return an expression for whether a pod template selects the labels of one of the selectors; any without them."""
    if not selectors:
        return "true"
    listed = ", ".join("{" + ", ".join(f"'{k}': '{v}'" for k, v in sorted(each.items())) + "}" for each in selectors)
    selected = list_field(f"{template}.spec", "nodeSelector").replace("[]", "{}")
    return f"[{listed}].exists(f, f.all(k, k in {selected} && {selected}[k] == f[k]))"


def _has_domain(key: str, template: str, exclusive: Sequence[ExclusivePlan], *, selected: bool) -> str:
    """Return an expression for whether the pods of a template may have domains of a node label to themselves."""
    groups: dict[str, list[str]] = {}
    for each in exclusive:
        selects = _selects(template, each.selectors if selected else ())
        groups.setdefault(f"{requests_accelerators(template, (each.resource,))} && {selects}", []).append(each.key)
    any_of = [f"({key} in {labels} && {condition})" for condition, labels in groups.items()]
    return f"({' || '.join(any_of) or 'false'})"


def _rules(exclusive: Sequence[ExclusivePlan]) -> tuple[Rule, ...]:
    domain = f"({_EXCLUSIVE} && {_has_domain('a.topologyKey', 't', exclusive, selected=True)})"
    annotated = f"'{EXCLUSIVE_TOPOLOGY}' in {{}}"
    of_set, of_job = keys("object", "annotations"), keys("r.template", "annotations")
    key = f"({annotated.format(of_set)} ? {of_set}['{EXCLUSIVE_TOPOLOGY}'] : {of_job}['{EXCLUSIVE_TOPOLOGY}'])"
    # Kueue writes the selectors of the machines into the pods, not before it admits the JobSet.
    may = _has_domain(key, "r.template.spec.template", exclusive, selected=False)
    return (
        *(
            (f"variables.templates.all(t, {_terms(field)}.all(a, {_OWN} || {domain}))", _MESSAGE)
            for field in ("podAffinity", "podAntiAffinity")
        ),
        (
            "request.resource.resource != 'jobsets' || dyn(object).spec.replicatedJobs.all(r, "
            f"!({annotated.format(of_set)} || {annotated.format(of_job)}) || {may})".replace(
                "object.metadata", "dyn(object).metadata"
            ),
            "exclusive topology keeps the JobSets of all teams away from a domain of nodes; write the annotation "
            f"{EXCLUSIVE_TOPOLOGY} only at replicatedJobs whose pods request accelerators, with the node label of a "
            "slice of several hosts, of an NVLink domain, or of a node",
        ),
    )


def affinity_policy(job_kinds: Mapping[str, Sequence[str]], exclusive: Sequence[ExclusivePlan]) -> AdmissionPolicy:
    """Return the policy for every kind with pod templates; `exclusive` are domains that jobs may have to themselves."""
    return AdmissionPolicy(
        name="affinity",
        refuses=(
            "pod affinity and anti-affinity, required and preferred, to pods outside the team's namespaces; exclusive "
            "topology of JobSets whose pods request no accelerators, or of other node labels than those of slices, "
            "NVLink domains and nodes that the fleet has"
        ),
        applies_to=EVERYONE,
        breaks="exclusive topology of a JobSet with a job without accelerators: the annotation moves to the other jobs",
        requests=with_templates(job_kinds),
        variables=(
            TEMPLATES,
            (
                "team",
                f"has(namespaceObject.metadata.labels) && '{TEAM_LABEL}' in namespaceObject.metadata.labels ? "
                f"{_TEAM} : ''",
            ),
            ("namespaces", f"[namespaceObject.metadata.name] + ({annotation(TEAM_NAMESPACES)})"),
        ),
        rules=_rules(exclusive),
        concern=f"request.resource.resource == 'jobsets' || ({TEMPLATES[1]}).exists(t, has(t.spec.affinity))",
    )
