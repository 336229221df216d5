"""A fleet as one component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from berth import outputs
from berth.backends.interface import backend_of
from berth.cli.plan.fleet import fleet_plan_as_json
from berth.diagnostics import Problem, Severity
from berth.evaluate import Evaluation, evaluate_values
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from packages.berth.arguments import as_mapping, read_arguments, refuse, warn
from packages.berth.removed_defaults import with_removed_defaults
from packages.berth.scopes import scope_below
from stacks import platform
from stacks.connections import ClusterConnection


class Fleet(pulumi.ComponentResource):
    """Everything that a stack file under `berth:fleet` describes, below one component."""

    def __init__(self, name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        arguments = read_arguments("Fleet", args)
        has_connection = arguments.live.get("kubeconfig") is not None or "kubernetes" in _packages(opts)
        evaluation = evaluate_definition(
            str(arguments.plain.get("name", name)), arguments.of_model("name"), has_connection, arguments.problems
        )
        refuse(arguments, name, evaluation.problems)
        plan = evaluation.fleet_plan
        assert plan is not None
        super().__init__("berth:index:Fleet", name, None, opts)
        warn(self, evaluation.warnings)
        self.outputs = _outputs(evaluation, plan, platform.compose_fleet(plan, scope_below(self, name, arguments)))
        self.register_outputs(dict(self.outputs))


def evaluate_definition(
    name: str, fleet: Mapping[str, Any], has_connection: bool, known_problems: Sequence[Problem] = ()
) -> Evaluation:
    """Evaluate the arguments of a fleet, whose existing cluster needs no context if the caller `has_connection`."""
    fleet, problems = with_removed_defaults(_with_connection(fleet) if has_connection else fleet)
    evaluation = evaluate_values(name, fleet, [*known_problems, *problems])
    backend = backend_of(evaluation)
    if backend.refusal is None:
        return evaluation
    message = f"the package contains fleets on Google Cloud; deploy {backend.title} from a stack file"
    return Evaluation(name, None, None, (Problem(Severity.FAULT, "wrong-backend", backend.refusal.path, message),))


def _with_connection(fleet: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fleet with a secret in the place of the connection that the caller supplies, if it names none."""
    cluster = as_mapping(fleet.get("cluster")) or {}
    existing = as_mapping(cluster.get("existing"))
    if existing is None or {"context", "kubeconfig", "secret", "name", "location", "project"} & existing.keys():
        return fleet
    return {**fleet, "cluster": {**cluster, "existing": {**existing, "secret": "kubeconfig"}}}


def _packages(opts: pulumi.ResourceOptions | None) -> set[str]:
    """Return the packages of the providers in the options."""
    providers = opts.providers if opts else None
    if isinstance(providers, Mapping):
        return set(providers)
    listed = [providers] if isinstance(providers, pulumi.ProviderResource) else providers or []
    return {each.package for each in listed}


def _outputs(evaluation: Evaluation, plan: FleetPlan, fleet: platform.ComposedFleet) -> Mapping[str, pulumi.Input[Any]]:
    own = fleet.connections[0]
    namespaces = {
        team.name: [fleet.teams[team.name].namespaces.get(each.name, each.name) for each in team.namespaces]
        for team in plan.teams
    }
    optional = {"kubeconfig": fleet.kubeconfig, "nodeServiceAccount": own.node_service_account}
    return {
        "clusters": {each.plan.cluster.name: _cluster(each) for each in fleet.connections},
        "namespaces": namespaces,
        "queues": {team.name: sorted({each.name for each in team.local_queues}) for team in plan.teams},
        "plan": fleet_plan_as_json(evaluation),
        "platform": outputs.platform_output(plan, own.name),
        **{key: value for key, value in optional.items() if value is not None},
    }


def _cluster(connection: ClusterConnection) -> Mapping[str, pulumi.Input[Any]]:
    plan = connection.plan
    described: Mapping[str, pulumi.Input[Any] | None] = {
        "name": connection.name,
        "project": plan.project,
        "location": plan.region,
        "server": None if isinstance(plan.cluster, ExistingClusterPlan) else connection.server,
    }
    return {key: value for key, value in described.items() if value is not None}
