"""Object `berth-submission`: the rules of all policies that refuse new Jobs, in one object.

The API server converts a Job for every object whose requests match, which takes longer than most expressions
(Kubernetes 1.36, pkg/admission/plugin/cel/activation.go). So a new Job meets one object with the rules of several
policies, whose own objects look at everything else: of their rules, those that can refuse a new Job, without the parts
about other requests. A policy that only warns keeps its rules to itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from berth.manifests.policy_rules import Rule, Variable
from berth.manifests.rules.admission import (
    EVERYONE,
    HAS_NEW_TEMPLATES,
    TEMPLATES,
    AdmissionPolicy,
    Requests,
    checked_first,
)
from berth.manifests.rules.partial import FALSE, TRUE, partly_evaluated

NAME: Final = "submission"
_GROUP, _JOBS, _CREATE = "batch", "jobs", "CREATE"
_VARIABLE: Final = re.compile(r"\bvariables\.(\w+)")
_IS_SHARED: Final = "isShared"
_KNOWN: Final = {
    "request.resource.group": f"'{_GROUP}'",
    "request.resource.resource": f"'{_JOBS}'",
    "request.operation": f"'{_CREATE}'",
    "has(request.subResource)": FALSE,
}
"""What is the same in all requests for new Jobs."""
_CONSTANTS: Final = (TRUE, FALSE, "[]", "{}")


def with_submission(
    policies: Sequence[AdmissionPolicy], audited: Collection[str], shared: Sequence[str]
) -> list[AdmissionPolicy]:
    """Return the policies of the objects of a cluster: those of new Jobs as one, which is created before the others.

    `audited` are the names of policies that only warn. `shared` are namespaces that Berth does not manage, in which
    some policies do not apply.
    """
    taken = [
        each
        for each in policies
        if each.name not in audited and not each.queues and any(map(_is_of_new_jobs, each.requests))
    ]
    if not taken:
        return list(policies)
    rest = [
        replace(each, requests=tuple(part for old in each.requests for part in _without_new_jobs(old)))
        if each in taken
        else each
        for each in policies
    ]
    return [_submission(tuple(taken), tuple(shared)), *rest]


def _is_of_new_jobs(requests: Requests) -> bool:
    return requests.group == _GROUP and _JOBS in requests.resources and _CREATE in requests.operations


def _without_new_jobs(requests: Requests) -> Iterator[Requests]:
    if not _is_of_new_jobs(requests):
        yield requests
        return
    if others := tuple(each for each in requests.resources if each != _JOBS):
        yield replace(requests, resources=others)
    yield Requests(_GROUP, (_JOBS,), tuple(each for each in requests.operations if each != _CREATE))


@lru_cache
def _submission(policies: tuple[AdmissionPolicy, ...], shared: tuple[str, ...]) -> AdmissionPolicy:
    asked = {_IS_SHARED: f"namespaceObject.metadata.name in {list(shared)}"}
    asked |= {f"{each.name}_{name}": _renamed(each, text) for each in policies for name, text in each.variables}
    # A variable stands for itself until its value is known, so that all expressions are searched for the same parts.
    known = _KNOWN | {f"variables.{name}": f"variables.{name}" for name in asked}
    variables: dict[str, str] = {}
    for name, text in asked.items():
        expression = partly_evaluated(text, known)
        if expression in _CONSTANTS:
            known[f"variables.{name}"] = expression
        elif expression in variables:
            known[f"variables.{name}"] = f"variables.{variables[expression]}"
        else:
            variables[expression] = name
    written = [(partly_evaluated(text, known), message) for each in policies for text, message in _rules(each)]
    rules = tuple((text, message) for text, message in written if text != TRUE)
    concerns = [each.concern for each in policies]
    concern = None if None in concerns else " || ".join(f"({_of_jobs(str(each))})" for each in concerns)
    return AdmissionPolicy(
        name=NAME,
        refuses=f"what {', '.join(f'`berth-{each.name}`' for each in policies)} refuse of new Jobs",
        applies_to=EVERYONE,
        breaks="what these policies say",
        requests=(Requests(_GROUP, (_JOBS,), (_CREATE,)),),
        variables=_used([(name, expression) for expression, name in variables.items()], rules),
        rules=rules,
        # The conditions of these policies are true of every new object.
        condition=None,
        concern=None if concern is None else partly_evaluated(concern, known),
    )


def _used(variables: Sequence[Variable], rules: Sequence[Rule]) -> tuple[Variable, ...]:
    """Return the variables that the rules use, and those that these use."""
    names = {name for text, _ in rules for name in _VARIABLE.findall(text)}
    used: list[Variable] = []
    for name, expression in reversed(variables):
        if name in names:
            used.insert(0, (name, expression))
            names.update(_VARIABLE.findall(expression))
    return tuple(used)


def _rules(policy: AdmissionPolicy) -> Iterator[Rule]:
    for expression, message in policy.rules:
        text = _renamed(policy, checked_first(expression))
        yield text if policy.in_shared else f"variables.{_IS_SHARED} || ({text})", message


def _renamed(policy: AdmissionPolicy, expression: str) -> str:
    """Return an expression with the variables of its policy under names that no other policy has.

    What it says of templates of every kind, it says here of a Job's.
    """
    expression = _of_jobs(expression)
    return _VARIABLE.sub(rf"variables.{policy.name}_\1", expression)


def _of_jobs(expression: str) -> str:
    """Return an expression about templates of every kind as one about a new Job's, which is shorter."""
    return expression.replace(HAS_NEW_TEMPLATES[1], TRUE).replace(TEMPLATES[1], "[dyn(object).spec.template]")
