"""Schema of a team's own stack file: one object `berth:team`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic_core import ValidationError

from berth.diagnostics import Problem
from berth.spec.amounts import Bytes, MilliCpu, Seconds
from berth.spec.base import DnsLabel, Entry, Model, NonEmptyText, Section, Sequence, unique_items
from berth.spec.core import AfterValidator, SeveralLines
from berth.spec.machines.reservations import Reason
from berth.spec.messages import to_problem
from berth.spec.model import Field
from berth.spec.tenancy import FileName, Port, SecretField, check_no_token

Files = Annotated[Sequence[DnsLabel], AfterValidator(unique_items)]
NoToken = Annotated[str, SeveralLines(), AfterValidator(check_no_token)]
PositiveCount = Annotated[int, Field(ge=1)]


class WorkloadSpec(Model):
    """A workload that the stack deploys. What is left out follows from the machines of its queue."""

    queue: str
    """One of the team's queues, by its key or its name."""
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
    """Kind of the object. By default `jobset` for TPUs and `job` for GPUs."""
    name: str | None = None
    """Name of the object. By default the key."""
    image: NonEmptyText | None = None
    """Image of the container. Required, but for a `podTemplate` and a `trainjob`."""
    command: Sequence[Annotated[str, SeveralLines()]] = ()
    """Command of the container. By default the image's."""
    slices: PositiveCount | None = None
    """Number of TPU slices. By default 1."""
    pods: PositiveCount | None = None
    """Number of pods. By default 1."""
    gpus: PositiveCount | None = None
    """GPUs of each pod. By default the node's."""
    cpu: MilliCpu | None = None
    """Cores of each pod. By default the share of its accelerators."""
    memory: Bytes | None = None
    """Memory of each pod. By default the share of its accelerators."""
    priority: str | None = None
    """Priority. By default the queue's."""
    flavor: str | None = None
    """Flavor to run on. By default any of the queue's."""
    max_run_duration: Seconds | None = None
    """How long queued machines are kept. By default the queue's maximum."""
    max_restarts: int = Field(default=4, ge=0)
    """Number of restarts of a JobSet."""
    restart_strategy: Literal["Recreate", "BlockingRecreate"] | None = None
    """How a JobSet is restarted. By default `Recreate`."""
    backoff_limit: int | None = Field(default=None, ge=0)
    """Pods of a Job that may fail. By default Kubernetes'."""
    ports: Sequence[Port] = ()
    """Ports of the container. By default 8471 and 8080 for JobSets of slices."""
    service_account: DnsLabel | None = None
    """Service account of the pods. By default the team's."""
    placement_group: DnsLabel | None = None
    """Group whose nodes GKE makes near each other."""
    runtime: DnsLabel | None = None
    """The ClusterTrainingRuntime of a TrainJob. By default `torch-distributed`."""
    pod_template: dict[str, Any] | None = None
    """A Kubernetes pod template (`metadata`, `spec`) with your env, volumes and containers; Berth adds what the queue
    needs."""
    config: Files = ()
    """Entries of `config` that pods find under `/etc/config/<name>`."""
    secrets: Files = ()
    """Entries of `secrets` that pods find under `/var/secrets/<name>`."""


class TeamStackSpec(Model):
    """The workloads of a team, and the platform that runs them."""

    platform: NonEmptyText
    """The platform's stack, by name or by the path of its file."""
    team: DnsLabel
    """Name of the team in the fleet."""
    config: Section[DnsLabel, Entry[dict[FileName, NoToken]]] = Field(default_factory=dict)
    """ConfigMaps by name: files by name, each with its text."""
    secrets: Section[DnsLabel, dict[FileName, SecretField]] = Field(default_factory=dict)
    """Secrets by name: files by name, each with a secret of Secret Manager that the fleet lets the team read."""
    workloads: Section[DnsLabel, WorkloadSpec] = Field(default_factory=dict)
    """Workloads by name."""
    allow_change: Section[Literal["cluster"], Reason] = Field(default_factory=dict)
    """Accept that the workloads move to another cluster, with a reason: `cluster: <why>`."""


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
