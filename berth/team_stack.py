"""From a team's stack and its platform's plan to what the team deploys: workloads on its queues, and their files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec.structs import replace
from pydantic.alias_generators import to_camel

from berth.diagnostics import Path, Problem, Problems, near_miss, quoted
from berth.jobs.files import Document
from berth.lint.findings import lint
from berth.lint.fleet import Fleet
from berth.lint.provisioning_requests import NO_QUOTA
from berth.manifests import roles
from berth.manifests import workloads as manifests
from berth.manifests.tenancy import labels_of
from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import ConfigPlan, PermissionPlan, SecretsPlan, TeamStackPlan, cluster_identifier
from berth.plan.teams import SECRETS, SecretPlan, TeamPlan
from berth.plan.workloads import WorkloadPlan
from berth.spec.team_stack import Faulty, TeamStackSpec, WorkloadSpec
from berth.spec.tenancy import SecretSpec
from berth.workloads.derive import workload
from berth.workloads.names import local_queue
from berth.workloads.options import Asked

_VERBS: Final = ("get", "create", "patch", "delete")
"""What deploying an object takes: the provider reads it, applies it, and deletes it in the end."""
_PLURALS: Final = {"SecretProviderClass": "secretproviderclasses"}
_OF_THE_STACK: Final = frozenset({"queue", "config", "secrets"})
_OPTION: Final = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


def plan_team(
    stack: str, platform: str, spec: TeamStackSpec, faulty: Faulty, fleet: FleetPlan, written: object
) -> tuple[TeamStackPlan | None, list[Problem]]:
    """The plan of a team's stack; None where its platform has no such team.

    `faulty` is what was left out of the spec. `platform` is the name of the platform's stack, `fleet` its plan,
    `written` its `berth:fleet` as plain values.
    """
    team = next((each for each in fleet.teams if each.name == spec.team), None)
    if team is None:
        names = [each.name for each in fleet.teams]
        there = near_miss(spec.team, names) or (f"; it has {quoted(names)}" if names else "")
        message = f"the platform '{platform}' has no team '{spec.team}'{there}"
        return None, [Problem("fault", "unknown-reference", ("team",), message)]
    making = _Making(spec, faulty, fleet, team, written, Problems())
    configs, secrets, workloads = making.configs(), making.secrets(), making.workloads()
    plan = TeamStackPlan(
        stack=stack,
        platform=platform,
        cluster_identifier=cluster_identifier(fleet.cluster),
        context=fleet.cluster.context if isinstance(fleet.cluster, ExistingClusterPlan) else None,
        project=fleet.project or "",
        team=team.name,
        namespace=team.namespace,
        groups=team.groups,
        labels=labels_of(team),
        queues=tuple(sorted({door.name for door in team.local_queues})),
        configs=configs,
        secrets=secrets,
        workloads=workloads,
        permissions=(),
    )
    return replace(plan, permissions=tuple(_permissions(plan, fleet))), making.problems.found


class _Making:
    def __init__(
        self,
        spec: TeamStackSpec,
        faulty: Faulty,
        fleet: FleetPlan,
        team: TeamPlan,
        written: object,
        problems: Problems,
    ) -> None:
        self.spec, self.faulty, self.problems = spec, faulty, problems
        self.fleet, self.team, self.written = fleet, team, written

    def configs(self) -> tuple[ConfigPlan, ...]:
        """The ConfigMaps, by name."""
        self._reach_pods("config", self.spec.config)
        return tuple(ConfigPlan(name=name, files=files) for name, files in sorted(self.spec.config.items()))

    def secrets(self) -> tuple[SecretsPlan, ...]:
        """The secrets that pods read, by name; each must be one that the platform lets the team read."""
        self._reach_pods("secrets", self.spec.secrets)
        identity = self.team.identity
        granted = {(each.project, each.secret) for each in identity.secrets} if identity else set[tuple[str, str]]()
        found: list[SecretsPlan] = []
        for name, files in sorted(self.spec.secrets.items()):
            if name == SECRETS:
                message = f"'{name}' is what the platform calls its own; take another name"
                self.problems.fault("duplicate-name", ("secrets", name), message)
            for file, secret in files.items():
                self._granted(("secrets", name, file), secret, granted)
            found.append(SecretsPlan(name=name, secrets=tuple(self._secret(*each) for each in sorted(files.items()))))
        return tuple(found)

    def _reach_pods(self, section: str, names: Iterable[str]) -> None:
        """Files stand where the stack deploys; of a manager the pods are elsewhere."""
        for name in sorted(names) if self.fleet.workers else ():
            message = (
                "jobs run on workers, to which the platform sends them alone: their pods would wait for this for ever"
            )
            self.problems.fault("not-on-workers", (section, name), message)

    def _secret(self, file: str, spec: SecretSpec) -> SecretPlan:
        project = spec.project or self.fleet.project or ""
        return SecretPlan(file=file, project=project, secret=spec.secret, version=spec.version)

    def _granted(self, path: Path, spec: SecretSpec, granted: set[tuple[str, str]]) -> None:
        if (spec.project or self.fleet.project or "", spec.secret) in granted:
            return
        project = spec.project or self.fleet.project or ""
        known = [secret for owner, secret in sorted(granted) if owner == project]
        where = f" of project '{spec.project}'" if spec.project else ""
        remedy = f"; have the platform add it to teams.{self.team.name}.identity.secrets"
        message = f"team '{self.team.name}' may not read the secret '{spec.secret}'{where}"
        message += near_miss(spec.secret, known) or remedy
        self.problems.fault("not-granted", path, message)

    def workloads(self) -> Mapping[str, WorkloadPlan]:
        """The workloads, by key; faulty ones are left out."""
        made: dict[str, WorkloadPlan] = {}
        seen: dict[str, str] = {}
        for key, spec in sorted(self.spec.workloads.items()):
            path: Path = ("workloads", key)
            self._references(path, spec)
            queue = local_queue(self.written, self.team.name, spec.queue)
            draft = workload(self.fleet, self.team.name, queue, _asked(key, spec))
            self.problems.found += [_placed(each, path) for each in draft.problems]
            if draft.workload is None:
                continue
            plan = replace(draft.workload, pod=_with_files(draft.workload, spec))
            made[key] = plan
            self._linted(path, plan)
            for name in (f"{m['kind']} '{_metadata(m)['name']}'" for m in manifests.manifests(plan)):
                if (first := seen.setdefault(name, key)) != key:
                    message = f"the {name} is already that of workloads.{first}; write another name"
                    self.problems.fault("duplicate-name", (*path, "name"), message)
        return made

    def _references(self, path: Path, spec: WorkloadSpec) -> None:
        own = {SECRETS: ()} if self.team.identity and self.team.identity.secrets else {}
        for section, names, known in (
            ("config", spec.config, self.spec.config),
            ("secrets", spec.secrets, {**self.spec.secrets, **own}),
        ):
            for index, name in enumerate(names):
                if name not in known and not self.faulty & {(section,), (section, name)}:
                    there = near_miss(name, known) or (f"; there is {quoted(sorted(known))}" if known else "")
                    message = f"no entry '{name}' under {section}{there}"
                    self.problems.fault("unknown-reference", (*path, section, index), message)

    def _linted(self, path: Path, plan: WorkloadPlan) -> None:
        """What would keep the objects from ever being admitted and run, as `berth lint` says it."""
        documents = [Document("", each) for each in manifests.manifests(plan)]
        for finding in lint(documents, Fleet(self.fleet)):
            self.problems.found += [
                replace(each, path=path, place="") for each in finding.problems if each.code != NO_QUOTA
            ]


def _asked(key: str, spec: WorkloadSpec) -> Asked:
    written = {name: getattr(spec, name) for name in type(spec).model_fields if name not in _OF_THE_STACK}
    fields: dict[str, Any] = {**written, "name": spec.name or key}
    fields["max_run_seconds"] = fields.pop("max_run_duration")
    return Asked(**fields)


def _with_files(plan: WorkloadPlan, spec: WorkloadSpec) -> Any:
    return replace(plan.pod, configs=spec.config, secrets=spec.secrets)


def _placed(problem: Problem, path: Path) -> Problem:
    """A problem of `berth workload` in the words of the stack file: keys instead of options."""
    first = str(problem.path[0]) if problem.path else ""
    key = {"QUEUE": "queue", "TEAM": "queue"}.get(first) or to_camel(first.removeprefix("--").replace("-", "_"))
    words = _OPTION.sub(lambda option: to_camel(option[1].replace("-", "_")), problem.message)
    where: Path = (*path, _KEYS.get(key, key)) if key else path
    return replace(problem, path=where, message=words)


_KEYS: Final = {"maxRunSeconds": "maxRunDuration"}


# --- permissions ------------------------------------------------------------------------------------------------------


def _permissions(plan: TeamStackPlan, fleet: FleetPlan) -> Iterator[PermissionPlan]:
    """What deploying the stack takes, one entry for each API group, and whether the team's people have it."""
    kinds: dict[str, set[str]] = {}
    for manifest in manifests.deployed(plan):
        group = str(manifest["apiVersion"]).rpartition("/")[0]
        kind = str(manifest["kind"])
        kinds.setdefault(group, set()).add(_PLURALS.get(kind, f"{kind.lower()}s"))
    given = _given(fleet) if plan.groups else set[tuple[str, str, str]]()
    for group, resources in sorted(kinds.items()):
        for has in (True, False):
            names = [r for r in sorted(resources) if all((group, r, v) in given for v in _VERBS) is has]
            if names:
                yield PermissionPlan(group=group, resources=tuple(names), verbs=_VERBS, given=has)


def _given(fleet: FleetPlan) -> set[tuple[str, str, str]]:
    """API group, resource and verb of all that the role of teams' people allows."""
    if fleet.access is None:
        return set()
    rules = next(role for name, role in roles.access(fleet.access) if name == "submitter")["rules"]
    return {
        (group, resource, verb)
        for rule in cast("Iterable[Mapping[str, Sequence[str]]]", rules)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _metadata(manifest: Mapping[str, object]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", manifest["metadata"])
