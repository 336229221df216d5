"""The answer for each object of a file: what it would take of which queue, or why it can never run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from berth.diagnostics import Problem, Problems, in_words
from berth.jobs.files import Document
from berth.jobs.job_manifests import JobManifest, jobs_in
from berth.jobs.values import as_list, as_mapping, deep
from berth.lint import dws, local_queues, machines
from berth.lint.fleet import Fleet, Submitted
from berth.lint.names import named
from berth.lint.pod_security import shut_in
from berth.lint.provisioning_requests import REQUEST, request
from berth.lint.quota import admitted
from berth.plan.teams import TeamPlan

_UNREAD = "unknown-kind"


class Finding(Struct, frozen=True):
    """What is to be said of one object. `place` is where it begins, `queue` is `team/queue` once it found its door.

    `takes` says what it would get (`16 v5e chips of v5e`), empty where it cannot run. `problems` are placed; a path
    leads into the document.
    """

    kind: str
    name: str
    namespace: str
    place: str
    queue: str
    takes: str
    problems: tuple[Problem, ...]

    @property
    def faults(self) -> tuple[Problem, ...]:
        """What keeps it from ever being admitted and run."""
        return tuple(each for each in self.problems if each.severity == "fault")


def lint(documents: Iterable[Document], fleet: Fleet, team: TeamPlan | None = None) -> Iterator[Finding]:
    """One finding for each job and each request for machines; what is neither is passed over.

    `team` is whose manifests they are: its namespace is that of objects which name none.
    """
    listed = list(documents)
    for document in listed:
        for path, value in _objects(document.value):
            if deep(value, "kind") == REQUEST:
                problems = Problems()
                takes = request(document.at(problems), path, listed, fleet)
                yield _finding(document, path, value, Problems(list(problems.found)), takes=takes)
        problems = Problems()
        yield from _jobs(document, problems, fleet, team)


def _objects(value: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """The objects of a document with their paths, those of a List one by one."""
    if deep(value, "kind") != "List":
        yield (), value
        return
    for index, item in enumerate(as_list(deep(value, "items"))):
        yield ("items", index), item


def _jobs(document: Document, problems: Problems, fleet: Fleet, team: TeamPlan | None) -> Iterator[Finding]:
    for job in jobs_in(document.at(problems)):
        read = [_told(each) for each in problems.found]
        problems.found.clear()
        whose = _of_team(job, team)
        place, takes = _judged(fleet, whose, team)
        found = Problems([*read, *problems.found])
        problems.found.clear()
        yield _finding(document, job.at.path, job.at.value, found, queue=place, takes=takes, namespace=whose.namespace)
    for problem in problems.found:
        path = problem.path[:2] if problem.path[:1] == ("items",) else ()
        value = deep(document.value) if not path else as_list(deep(document.value, "items"))[int(path[1])]
        yield _finding(document, path, value, Problems([_told(problem)]))


def _of_team(job: JobManifest, team: TeamPlan | None) -> JobManifest:
    written = "namespace" in as_mapping(job.metadata.value)
    return job if written or team is None else replace(job, namespace=team.namespace)


def _judged(fleet: Fleet, job: JobManifest, team: TeamPlan | None) -> tuple[str, str]:
    """The queue as people call it, and what the job would take; faults go to its problems."""
    problems = job.at.problems
    if team is not None and job.namespace not in (own := [each.name for each in team.namespaces]):
        at = job.metadata.under("namespace", job.namespace)
        at.fault("other-namespace", f"'{job.namespace}' is no namespace of team '{team.name}'; write {in_words(own)}")
        return "", ""
    if not local_queues.is_queued(fleet, job):
        return "", ""
    if job.pod_sets is not None:
        named(job, job.pod_sets)
    door = local_queues.door_of(fleet, job)
    if door is None:
        return "", ""
    submitted = Submitted(fleet, job, door, fleet.queues[door.cluster_queue])
    local_queues.held(submitted)
    shut_in(submitted)
    local_queues.priority(submitted)
    if job.pod_sets is None:
        return submitted.place, ""
    before = _faults(problems)
    machines.run_somewhere(submitted)
    taken = admitted(submitted) if _faults(problems) == before else None
    if taken is not None:
        machines.enough(submitted)
        machines.run_where_admitted(submitted, taken.flavors)
    dws.takes(submitted)
    return submitted.place, taken.words if taken is not None else ""


def _faults(problems: Problems) -> int:
    return sum(each.severity == "fault" for each in problems.found)


def _told(problem: Problem) -> Problem:
    """A fault of the reader's, which counts on the path to be shown; the scenario files it speaks of are not ours."""
    if problem.code != _UNREAD:
        return problem
    unread, _, _ = problem.message.rpartition(": ")
    return replace(problem, severity="warning", message=f"{unread}: it may be right or wrong")


def _finding(
    document: Document,
    path: tuple[str | int, ...],
    value: object,
    found: Problems,
    *,
    queue: str = "",
    takes: str = "",
    namespace: str = "",
) -> Finding:
    placed = [each if each.place else each.at(document.spot(each.path)) for each in found.found]
    faulty = any(each.severity == "fault" for each in placed)
    return Finding(
        kind=str(deep(value, "kind") or "object"),
        name=str(deep(value, "metadata", "name") or deep(value, "metadata", "generateName") or ""),
        namespace=namespace or str(deep(value, "metadata", "namespace") or "default"),
        place=document.place(path),
        queue=queue,
        takes="" if faulty else takes,
        problems=tuple(placed),
    )
