"""Schema of a team's own stack file: one object `berth:team`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic_core import ValidationError

from berth.diagnostics import Problem
from berth.spec.amounts import Bytes, MilliCpu, Seconds
from berth.spec.base import DnsLabel, Entry, Model, NonEmptyText, Section, Sequence, unique_items
from berth.spec.core import AfterValidator
from berth.spec.messages import to_problem
from berth.spec.model import Field
from berth.spec.tenancy import FileName, Port, SecretField, check_no_token

Files = Annotated[Sequence[DnsLabel], AfterValidator(unique_items)]
NoToken = Annotated[str, AfterValidator(check_no_token)]
PositiveCount = Annotated[int, Field(ge=1)]


class WorkloadSpec(Model):
    """A workload that the stack deploys. Omitted keys are derived from the queue's machines.

    `config` and `secrets` are keys of those sections; pods mount each as a directory of files. `podTemplate` is a
    Kubernetes pod template (metadata and spec), to which Berth adds what follows from the queue.
    """

    queue: str
    kind: (
        Literal[
            "jobset",
            "job",
            "pytorchjob",
            "mpijob",
            "trainjob",
            "rayjob",
            "raycluster",
            "leaderworkerset",
            "deployment",
            "provisioning-request",
        ]
        | None
    ) = None
    name: str | None = None
    image: NonEmptyText | None = None
    command: Sequence[str] = ()
    slices: PositiveCount | None = None
    pods: PositiveCount | None = None
    gpus: PositiveCount | None = None
    cpu: MilliCpu | None = None
    memory: Bytes | None = None
    priority: str | None = None
    flavor: str | None = None
    max_run_duration: Seconds | None = None
    max_restarts: int = Field(default=4, ge=0)
    restart_strategy: Literal["Recreate", "BlockingRecreate"] | None = None
    backoff_limit: int | None = Field(default=None, ge=0)
    ports: Sequence[Port] = ()
    service_account: DnsLabel | None = None
    placement_group: DnsLabel | None = None
    runtime: DnsLabel | None = None
    pod_template: dict[str, Any] | None = None
    config: Files = ()
    secrets: Files = ()


class TeamStackSpec(Model):
    """Workloads of a team, and the platform that runs them.

    `platform` is the platform's stack, or the path of its file.
    """

    platform: NonEmptyText
    team: DnsLabel
    config: Section[DnsLabel, Entry[dict[FileName, NoToken]]] = Field(default_factory=dict)
    secrets: Section[DnsLabel, dict[FileName, SecretField]] = Field(default_factory=dict)
    workloads: Section[DnsLabel, WorkloadSpec] = Field(default_factory=dict)


_SECTIONS = ("config", "secrets", "workloads")


FaultyEntries = frozenset[tuple[str, ...]]
"""Sections, and entries by section and name."""


def parse_team_stack(value: Mapping[str, Any]) -> tuple[TeamStackSpec | None, list[Problem], FaultyEntries]:
    """Return the value of `berth:team` without its faulty parts, its faults, and the omitted parts.

    The value is None if required keys are missing in the rest.
    """
    spec, errors = _validate(value)
    faulty = frozenset(tuple(map(str, error["loc"][:2])) for error in errors)
    if spec is None:
        rest = {key: _without_faulty(key, entries, faulty) for key, entries in value.items() if (key,) not in faulty}
        known = {key: entries for key, entries in rest.items() if key in TeamStackSpec.model_fields}
        spec, _ = _validate(known)
    return spec, [to_problem(error, TeamStackSpec) for error in errors], faulty


def _validate(value: Mapping[str, Any]) -> tuple[TeamStackSpec | None, list[Mapping[str, Any]]]:
    try:
        return TeamStackSpec.model_validate(value), []
    except ValidationError as error:
        return None, [cast("Mapping[str, Any]", each) for each in error.errors(include_url=False)]


def _without_faulty(section: str, entries: object, faulty: FaultyEntries) -> object:
    if section not in _SECTIONS or not isinstance(entries, dict):
        return entries
    return {key: entry for key, entry in cast("dict[str, Any]", entries).items() if (section, key) not in faulty}
