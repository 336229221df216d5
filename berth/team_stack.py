"""Plan a team's own stack from its spec and its platform's plan: workloads on its queues, and their files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec.structs import replace

from berth.diagnostics import FieldPath, Problem, Problems, Severity, did_you_mean, join_quoted
from berth.jobs.files import ManifestDocument
from berth.lint.findings import Verdict, combined_verdict, lint_documents
from berth.lint.fleet import LintContext
from berth.lint.provisioning_requests import NO_QUEUE_CODE
from berth.manifests import roles
from berth.manifests.tenancy import team_labels
from berth.manifests.workloads import objects as manifests
from berth.names import to_camel
from berth.plan.fleet import ExistingClusterPlan, FleetPlan, cluster_identifier
from berth.plan.team_stack import ConfigPlan, PermissionPlan, SecretsPlan, TeamStackPlan
from berth.plan.teams import SECRETS, SecretPlan, TeamPlan
from berth.plan.workloads import WorkloadPlan
from berth.spec.team_stack import FaultyEntries, TeamStackSpec, WorkloadSpec
from berth.spec.tenancy import SecretSpec
from berth.workloads.derive import derive_workload
from berth.workloads.names import local_queue_name
from berth.workloads.options import WorkloadOptions
from berth.workloads.pod_templates import read_template

_VERBS: Final = ("get", "create", "patch", "delete")
"""Verbs that deploying an object needs: the provider reads, applies and finally deletes it."""
_PLURALS: Final = {"SecretProviderClass": "secretproviderclasses"}
_STACK_FIELDS: Final = frozenset({"queue", "config", "secrets", "pod_template"})
_OPTION: Final = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


def plan_team_stack(
    stack: str, platform: str, spec: TeamStackSpec, faulty: FaultyEntries, fleet: FleetPlan, platform_fleet: object
) -> tuple[TeamStackPlan | None, list[Problem]]:
    """Plan a team's stack; None if its platform has no such team.

    `faulty` are the entries omitted from the spec. `platform` is the name of the platform's stack, `fleet` its plan,
    `platform_fleet` its `berth:fleet` as plain values.
    """
    team = next((each for each in fleet.teams if each.name == spec.team), None)
    if team is None:
        names = [each.name for each in fleet.teams]
        suggestion = did_you_mean(spec.team, names) or (
            f"; write one of {join_quoted(names)}" if names else "; add the team to the platform first"
        )
        message = f"the platform '{platform}' has no team '{spec.team}'{suggestion}"
        return None, [Problem(Severity.FAULT, "unknown-reference", ("team",), message)]
    builder = _TeamStackBuilder(spec, faulty, fleet, team, platform_fleet, Problems())
    configs, secrets, workloads = builder.configs(), builder.secrets(), builder.workloads()
    plan = TeamStackPlan(
        stack=stack,
        platform=platform,
        cluster_identifier=cluster_identifier(fleet.cluster),
        context=fleet.cluster.context if isinstance(fleet.cluster, ExistingClusterPlan) else None,
        project=fleet.project or "",
        team=team.name,
        namespace=team.namespace,
        groups=team.groups,
        labels=team_labels(team),
        queues=tuple(sorted({door.name for door in team.local_queues})),
        configs=configs,
        secrets=secrets,
        workloads=workloads,
        permissions=(),
        verdicts=builder.verdicts,
        allowed_changes={**spec.allow_change},
        kubeconfig=fleet.cluster.connection if isinstance(fleet.cluster, ExistingClusterPlan) else None,
    )
    return replace(plan, permissions=tuple(_plan_permissions(plan, fleet))), builder.problems.entries


class _TeamStackBuilder:
    def __init__(
        self,
        spec: TeamStackSpec,
        faulty: FaultyEntries,
        fleet: FleetPlan,
        team: TeamPlan,
        platform_fleet: object,
        problems: Problems,
    ) -> None:
        self.spec, self.faulty, self.problems = spec, faulty, problems
        self.fleet, self.team, self.platform_fleet = fleet, team, platform_fleet
        self.verdicts: dict[str, str] = {}

    def configs(self) -> tuple[ConfigPlan, ...]:
        """Return the ConfigMaps, by name."""
        self._check_on_workers("config", self.spec.config)
        return tuple(ConfigPlan(name=name, files=files) for name, files in sorted(self.spec.config.items()))

    def secrets(self) -> tuple[SecretsPlan, ...]:
        """Return the secrets of pods, by name, and report those that the platform does not let the team read."""
        self._check_on_workers("secrets", self.spec.secrets)
        identity = self.team.identity
        granted = {(each.project, each.secret) for each in identity.secrets} if identity else set[tuple[str, str]]()
        plans: list[SecretsPlan] = []
        for name, files in sorted(self.spec.secrets.items()):
            if name == SECRETS:
                message = f"'{name}' is reserved by the platform; write another name"
                self.problems.fault("duplicate-name", ("secrets", name), message)
            for file, secret in files.items():
                self._check_granted(("secrets", name, file), secret, granted)
            plans.append(SecretsPlan(name=name, secrets=tuple(self._secret(*each) for each in sorted(files.items()))))
        return tuple(plans)

    def _check_on_workers(self, section: str, names: Iterable[str]) -> None:
        """Report files on a manager: its jobs run on workers, where the files do not exist."""
        for name in sorted(names) if self.fleet.workers else ():
            message = (
                "is not available on workers, where the jobs run, so their pods would never start; remove it, and put "
                "the values into the image or the job's environment"
            )
            self.problems.fault("not-on-workers", (section, name), message)

    def _secret(self, file: str, spec: SecretSpec) -> SecretPlan:
        project = spec.project or self.fleet.project or ""
        return SecretPlan(file=file, project=project, secret=spec.secret, version=spec.version)

    def _check_granted(self, path: FieldPath, spec: SecretSpec, granted: set[tuple[str, str]]) -> None:
        if (spec.project or self.fleet.project or "", spec.secret) in granted:
            return
        project = spec.project or self.fleet.project or ""
        known = [secret for owner, secret in sorted(granted) if owner == project]
        project_text = f" of project '{spec.project}'" if spec.project else ""
        remedy = f"; ask the platform's owners to add it to teams.{self.team.name}.identity.secrets"
        message = f"team '{self.team.name}' may not read the secret '{spec.secret}'{project_text}"
        message += did_you_mean(spec.secret, known) or remedy
        self.problems.fault("not-granted", path, message)

    def workloads(self) -> Mapping[str, WorkloadPlan]:
        """Return the workloads, by key, without faulty ones."""
        plans: dict[str, WorkloadPlan] = {}
        seen: dict[str, str] = {}
        for key, spec in sorted(self.spec.workloads.items()):
            path: FieldPath = ("workloads", key)
            self._check_references(path, spec)
            options = self._workload_options(path, key, spec)
            if options is None:
                continue
            queue = local_queue_name(self.platform_fleet, self.team.name, spec.queue)
            derived = derive_workload(self.fleet, self.team.name, queue, options)
            self.problems.entries += [_in_stack_file(each, path) for each in derived.problems]
            if derived.workload is None:
                continue
            plan = replace(
                derived.workload, pod=replace(derived.workload.pod, configs=spec.config, secrets=spec.secrets)
            )
            plans[key] = plan
            self.verdicts[key] = self._lint(path, plan)
            for name in (f"{m['kind']} '{_metadata(m)['name']}'" for m in manifests.workload_manifests(plan)):
                if (first_key := seen.setdefault(name, key)) != key:
                    message = f"the {name} already belongs to workloads.{first_key}; write another name"
                    self.problems.fault("duplicate-name", (*path, "name"), message)
        return plans

    def _check_references(self, path: FieldPath, spec: WorkloadSpec) -> None:
        platform_secrets = {SECRETS: ()} if self.team.identity and self.team.identity.secrets else {}
        for section, names, known in (
            ("config", spec.config, self.spec.config),
            ("secrets", spec.secrets, {**self.spec.secrets, **platform_secrets}),
        ):
            for index, name in enumerate(names):
                if name not in known and not self.faulty & {(section,), (section, name)}:
                    suggestion = did_you_mean(name, known) or (
                        f"; write one of {join_quoted(sorted(known))}" if known else ""
                    )
                    message = f"no entry '{name}' under {section}{suggestion}"
                    self.problems.fault("unknown-reference", (*path, section, index), message)

    def _workload_options(self, path: FieldPath, key: str, spec: WorkloadSpec) -> WorkloadOptions | None:
        """Return the options of the stack file; None, with a fault, if neither it nor a template has an image."""
        if spec.image is None and spec.pod_template is None and spec.kind != "trainjob":
            message = "is missing; write image: <image>, or a podTemplate with one"
            self.problems.fault("missing-key", (*path, "image"), message)
            return None
        problems = Problems()
        template = None if spec.pod_template is None else read_template(spec.pod_template, problems)
        self.problems.entries += [_in_stack_file(each, path) for each in problems.entries]
        options = {name: getattr(spec, name) for name in type(spec).model_fields if name not in _STACK_FIELDS}
        fields: dict[str, Any] = {**options, "name": spec.name or key, "template": template}
        fields["max_run_seconds"] = fields.pop("max_run_duration")
        return None if problems.has_faults() else WorkloadOptions(**fields)

    def _lint(self, path: FieldPath, plan: WorkloadPlan) -> Verdict:
        """Report what `berth lint` reports: reasons why the objects would never be admitted or run."""
        documents = [ManifestDocument("", each) for each in manifests.workload_manifests(plan)]
        findings = list(lint_documents(documents, LintContext(self.fleet), beside=self._files_of(plan)))
        self.problems.entries += [
            replace(each, path=path, place="")
            for finding in findings
            for each in finding.problems
            if each.code != NO_QUEUE_CODE
        ]
        return combined_verdict(findings)

    def _files_of(self, plan: WorkloadPlan) -> list[ManifestDocument]:
        """Return the classes of secrets that the stack makes, and those that its workload names: they are checked."""
        names = dict.fromkeys([*self.spec.secrets, *plan.pod.secrets])
        place = {"namespace": self.team.namespace}
        return [
            ManifestDocument("", {"kind": "SecretProviderClass", "metadata": {"name": name, **place}}) for name in names
        ]


def _in_stack_file(problem: Problem, path: FieldPath) -> Problem:
    """Return a problem of `berth workload` with keys of the stack file instead of command-line options."""
    first = str(problem.path[0]) if problem.path else ""
    key = {"QUEUE": "queue", "TEAM": "queue", "COMMAND": "command"}.get(first) or to_camel(
        first.removeprefix("--").replace("-", "_")
    )
    words = _OPTION.sub(lambda option: to_camel(option[1].replace("-", "_")), problem.message)
    target_path: FieldPath = (*path, _KEYS.get(key, key)) if key else path
    return replace(problem, path=target_path, message=words)


_KEYS: Final = {"maxRunSeconds": "maxRunDuration", "template": "podTemplate", "port": "ports"}


# --- permissions ------------------------------------------------------------------------------------------------------


def _plan_permissions(plan: TeamStackPlan, fleet: FleetPlan) -> Iterator[PermissionPlan]:
    """Yield the permissions that deploying the stack needs, per API group, and whether the team's groups have them."""
    kinds: dict[str, set[str]] = {}
    for manifest in manifests.team_stack_manifests(plan):
        group = str(manifest["apiVersion"]).rpartition("/")[0]
        kind = str(manifest["kind"])
        kinds.setdefault(group, set()).add(_PLURALS.get(kind, f"{kind.lower()}s"))
    granted = _granted_permissions(fleet) if plan.groups else set[tuple[str, str, str]]()
    for group, resources in sorted(kinds.items()):
        for is_granted in (True, False):
            names = [r for r in sorted(resources) if all((group, r, v) in granted for v in _VERBS) is is_granted]
            if names:
                yield PermissionPlan(group=group, resources=tuple(names), verbs=_VERBS, given=is_granted)


def _granted_permissions(fleet: FleetPlan) -> set[tuple[str, str, str]]:
    """Return (API group, resource, verb) of all permissions in the role of teams' groups."""
    if fleet.access is None:
        return set()
    rules = next(role for name, role in roles.cluster_access(fleet.access) if name == "submitter")["rules"]
    return {
        (group, resource, verb)
        for rule in cast("Iterable[Mapping[str, Sequence[str]]]", rules)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _metadata(manifest: Mapping[str, object]) -> Mapping[str, object]:
    return cast("Mapping[str, object]", manifest["metadata"])
