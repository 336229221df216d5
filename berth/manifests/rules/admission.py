"""An admission policy as one record: its requests, its expressions, and what it means for people.

Every policy of the same form is a module of this package, which has one value `POLICY` or a function of that kind.
Expressions are true if the request is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from berth.manifests.policy_rules import CHANGED, Rule, Variable, list_field, texts

WRITES: Final = ("CREATE", "UPDATE")


class Requests(Struct, frozen=True):
    """The requests that a policy looks at: resources of one API group, and operations."""

    group: str
    resources: tuple[str, ...]
    operations: tuple[str, ...] = WRITES


class AdmissionPolicy(Struct, frozen=True, kw_only=True):
    """A policy of one class. Its object is `berth-<name>`.

    `refuses` says what it rejects, `applies_to` whose requests, `breaks` which ordinary use it would break and what to
    write instead. With `in_shared`, it also applies in namespaces that Berth does not manage, with `everywhere` in
    those of nobody too. `condition` None looks at every request.

    `concern` is true for every request that a rule may refuse, and false for most; it can use neither variables nor
    the namespace. The API server converts the object again for conditions, rules, messages and audit annotations
    (Kubernetes 1.36, pkg/admission/plugin/policy/validating/validator.go), which takes longer than the expressions, so
    a policy whose `concern` is false does a quarter of the conversions. With `queues`, it looks only at objects in
    these local queues, which takes no conversion.
    """

    name: str
    refuses: str
    applies_to: str
    breaks: str
    requests: tuple[Requests, ...]
    rules: tuple[Rule, ...]
    variables: tuple[Variable, ...] = ()
    condition: str | None = CHANGED
    concern: str | None = None
    queues: tuple[str, ...] = ()
    in_shared: bool = True
    everywhere: bool = False


def checked_first(expression: str) -> str:
    """Return an expression that asks for the user's rights last: of an ordinary request the rest is true, and cheaper.

    The API server looks through the cluster's role bindings for each question.
    """
    asked = "variables.isController || "
    if not expression.startswith(asked):
        return expression
    return f"({expression.removeprefix(asked)}) || variables.isController"


EVERYONE: Final = "everyone"
PEOPLE: Final = "everyone except controllers"

_RIGHT: Final = (
    "authorizer.group(request.resource.group).resource(request.resource.resource)"
    ".subresource(has(request.subResource) ? request.subResource : '')"
)
IS_CONTROLLER: Final[Variable] = (
    "isController",
    f"{_RIGHT}.check(request.operation == 'CREATE' ? 'create' : (request.operation == 'DELETE' ? 'delete' : 'update'))"
    f".allowed() || (request.operation == 'UPDATE' && {_RIGHT}.check('patch').allowed())",
)
"""Whether the user may do the same in the whole cluster, as controllers and the owners of the platform may.

The controllers of Jobs and ReplicaSets may patch pods, and not update them.
"""


def requests_of(kinds: Mapping[str, Sequence[str]], operations: tuple[str, ...] = WRITES) -> tuple[Requests, ...]:
    """Return the requests for API group → resources."""
    return tuple(Requests(group, tuple(sorted(names)), operations) for group, names in sorted(kinds.items()))


def joined(first: Mapping[str, Sequence[str]], second: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return API group → resources of both."""
    return {group: tuple({*first.get(group, ()), *second.get(group, ())}) for group in {*first, *second}}


# --- pod templates ----------------------------------------------------------------------------------------------------

SERVICES: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("pods", "replicationcontrollers"),
    "apps": ("daemonsets", "deployments", "replicasets", "statefulsets"),
    "leaderworkerset.x-k8s.io": ("leaderworkersets",),
}
"""Kinds with pods besides the queued kinds of jobs."""


def with_templates(job_kinds: Mapping[str, Sequence[str]]) -> tuple[Requests, ...]:
    """Return the writes of every kind with pod templates that teams use: pods, services, queued kinds."""
    return requests_of(joined(SERVICES, job_kinds))


def of_kind(kind: str, component: str | None) -> str:
    """Return an expression for whether a request's object, or what an AppWrapper has as `component`, is of a kind."""
    return f"request.resource.resource == '{kind.lower()}s'" if component is None else f"{component}.kind == '{kind}'"


def of_group(group: str, component: str | None) -> str:
    """Return an expression for whether the same is of an API group."""
    if component is None:
        return f"request.resource.group == '{group}'"
    return f"{component}.apiVersion.startsWith('{group}/')"


def templates(holder: str, component: str | None = None) -> str:
    """Return an expression for the pod templates of an object of every kind; a pod is its own template.

    The object is a request's or, with `component`, what an expression of that name wraps. TrainJob and AppWrapper have
    none: their jobs are requests of their own.
    """
    spec = f"dyn({holder}).spec"
    of_rays = {
        "RayCluster": _ray(spec),
        "RayService": f"has({spec}.rayClusterConfig) ? {_ray(f'{spec}.rayClusterConfig')} : []",
        "RayJob": (
            f"(has({spec}.rayClusterSpec) ? {_ray(f'{spec}.rayClusterSpec')} : []) + "
            f"(has({spec}.submitterPodTemplate) ? [{spec}.submitterPodTemplate] : [])"
        ),
    }
    replicas = "".join(
        f"(has({spec}.{field}) ? {spec}.{field}.map(k, {spec}.{field}[k].template) : []) + " for field in REPLICA_SPECS
    )
    workers = f"{spec}.leaderWorkerTemplate"

    def is_kind(kind: str) -> str:
        return of_kind(kind, component)

    # Most requests are for pods, jobs and services: first what is theirs.
    plain = f"has({spec}.template) && has({spec}.template.spec) ? [{spec}.template] : []"
    of_kubernetes = f"request.resource.group in ['', 'apps', 'batch'] ? ({plain}) : " if component is None else ""
    return (
        f"{is_kind('Pod')} ? [dyn({holder})] : {of_kubernetes}"
        f"{is_kind('JobSet')} ? {spec}.replicatedJobs.map(r, r.template.spec.template) : "
        f"{is_kind('LeaderWorkerSet')} ? [{workers}.workerTemplate] + "
        f"(has({workers}.leaderTemplate) ? [{workers}.leaderTemplate] : []) : "
        + "".join(f"{is_kind(kind)} ? ({text}) : " for kind, text in of_rays.items())
        + f"{of_group('kubeflow.org', component)} ? ({replicas}[]) : "
        f"{plain}"
    )


REPLICA_SPECS: Final = (
    "jaxReplicaSpecs",
    "mpiReplicaSpecs",
    "paddleReplicaSpecs",
    "pytorchReplicaSpecs",
    "tfReplicaSpecs",
    "xgbReplicaSpecs",
)
"""Fields of Kubeflow's jobs with one pod template for each role (Kubeflow Trainer v1 and MPI Operator, API types)."""


def _ray(cluster: str) -> str:
    groups = list_field(cluster, "workerGroupSpecs")
    return f"({groups}.map(g, g.template) + [{cluster}.headGroupSpec.template])"


TEMPLATES: Final[Variable] = ("templates", templates("object"))
HAS_NEW_TEMPLATES: Final[Variable] = (
    "hasNewTemplates",
    "request.operation == 'CREATE' || (request.operation == 'UPDATE' && "
    f"variables.templates != ({templates('oldObject')}))",
)
"""Whether a request writes pod templates; Kueue writes into those of a job that it starts."""


def keys(holder: str, field: str) -> str:
    """Return an expression for a map of labels or annotations that may be missing."""
    return f"(has({holder}.metadata) && has({holder}.metadata.{field}) ? {holder}.metadata.{field} : {{}})"


QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"


def entry(key: str, holder: str = "object") -> str:
    """Return an expression for a label; empty text without it."""
    labels = keys(holder, "labels")
    return f"('{key}' in {labels} ? {labels}['{key}'] : '')"


def requests_accelerators(template: str, accelerators: Sequence[str]) -> str:
    """Return an expression for whether a pod template requests accelerators, or devices by claims."""
    names = texts(accelerators)
    containers = f"({template}.spec.containers + {list_field(f'{template}.spec', 'initContainers')})"
    return (
        f"(has({template}.spec.resourceClaims) || {containers}.exists(c, has(c.resources) && "
        f"((has(c.resources.limits) && {names}.exists(n, n in c.resources.limits)) || "
        f"(has(c.resources.requests) && {names}.exists(n, n in c.resources.requests)))))"
    )
