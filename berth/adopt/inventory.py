"""What was found: the answers of gcloud and kubectl, told apart by what is in them, whatever the files are called."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from msgspec import Struct, field

from berth.plan.admission_checks import MULTIKUEUE

Answer = Mapping[str, Any]
"""One object as an API gives it."""

Entry = dict[str, Any]
"""An entry of the stack file."""


class Left(Struct, frozen=True):
    """Something that is not adopted, or not as it is: what, and why or what becomes of it."""

    what: str
    why: str

    def line(self) -> str:
        """Both in one line."""
        return f"{self.what}: {self.why}"


ASK = (
    "gcloud container clusters describe, container node-pools list, compute reservations list or compute networks "
    "subnets list, each with --format json, or kubectl get with -o json"
)


_KINDS = ("cluster", "node pool", "reservation", "subnetwork", "object")


class Unusable(Exception):
    """What was given cannot be adopted; carries a line for each thing that is wrong."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class Found(Struct, dict=True):
    """A cluster with its node pools, reservations of its project, and the objects in it.

    `context` names it in a kubeconfig where only what lies inside is to be adopted.
    """

    cluster: Answer
    node_pools: list[Answer]
    reservations: list[Answer] = field(default_factory=list[Answer])
    subnetworks: list[Answer] = field(default_factory=list[Answer])
    objects: list[Answer] = field(default_factory=list[Answer])
    context: str | None = None

    @property
    def autopilot(self) -> bool:
        """Whether GKE makes all nodes itself."""
        return bool(self.cluster.get("autopilot", {}).get("enabled"))

    @property
    def project(self) -> str:
        """The project, by the cluster's own link."""
        return _link(self.cluster).partition("projects/")[2].partition("/")[0]

    @property
    def region(self) -> str:
        """The cluster's location."""
        return str(self.cluster.get("location", ""))

    def of_kind(self, kind: str) -> list[Answer]:
        """The objects of one kind, by namespace and name."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[str, list[Answer]]:
        kinds: dict[str, list[Answer]] = {}
        for one in sorted(self.objects, key=lambda o: (namespace_of(o), name_of(o))):
            kinds.setdefault(str(one["kind"]), []).append(one)
        return kinds


def name_of(one: Answer) -> str:
    """A Kubernetes object's name."""
    return str(one["metadata"]["name"])


def namespace_of(one: Answer) -> str:
    """Its namespace, "" where it has none."""
    return str(one["metadata"].get("namespace", ""))


def labels_of(one: Answer) -> dict[str, str]:
    """Its labels."""
    return dict(one["metadata"].get("labels") or {})


def at(one: Answer, path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    value: Any = one
    for step in path.split("."):
        value = cast("Answer", value).get(step) if isinstance(value, Mapping) else None
    return value


def part(one: Answer, path: str) -> Answer:
    """The object at a dotted path; an empty one where there is none."""
    return cast("Answer", at(one, path) or {})


def parts(one: Answer, path: str) -> list[Any]:
    """The list at a dotted path; an empty one where there is none."""
    return cast("list[Any]", at(one, path) or [])


def found(files: Mapping[str, str], context: str | None = None) -> Found:
    """What lies in the files, by their names. Raises Unusable with everything that is wrong."""
    wrong: list[str] = []
    sorted_out: dict[str, list[tuple[str, Answer]]] = {kind: [] for kind in _KINDS}
    for file, text in files.items():
        try:
            for kind, one in _answers(file, text):
                sorted_out[kind].append((file, one))
        except Unusable as unusable:
            wrong += unusable.lines
    clusters = _one_each(sorted_out["cluster"])
    if len(clusters) != 1:
        wrong += list(_not_one(clusters))
    if wrong:
        raise Unusable(*wrong)
    cluster = next(iter(clusters.values()))
    return _of_one(cluster, sorted_out, context)


def _of_one(cluster: Answer, sorted_out: Mapping[str, Sequence[tuple[str, Answer]]], context: str | None) -> Found:
    """All that is said of one cluster. Raises Unusable where it is said of another, or not at all."""
    wrong: list[str] = []
    if context is None and cluster.get("location", "").count("-") != 1:
        place = cluster.get("location") or "nowhere"
        wrong.append(
            f"cluster '{cluster['name']}' is zonal ({place}); Berth makes regional ones, and cannot take it over"
        )
    pools = [(None, one) for one in cast("list[Answer]", cluster.get("nodePools") or [])] + [*sorted_out["node pool"]]
    for file, one in pools:
        if file is not None and not _link(one).startswith(f"{_link(cluster)}/"):
            wrong.append(f"{file}: node pool '{one['name']}' is of another cluster than '{cluster['name']}'")
    result = Found(
        cluster,
        list(_one_each(pools).values()),
        [one for _, one in sorted_out["reservation"]],
        [one for _, one in sorted_out["subnetwork"]],
        [one for _, one in sorted_out["object"]],
        context,
    )
    if not result.project:
        wrong.append(f"cluster '{cluster['name']}' has no selfLink, which names its project; give the whole answer")
    if not result.node_pools and not result.autopilot:
        wrong.append(
            f"cluster '{cluster['name']}' comes without node pools; add the answer of gcloud container node-pools list "
            f"--cluster {cluster['name']} --format json"
        )
    if any(at(one, "spec.controllerName") == MULTIKUEUE for one in result.of_kind("AdmissionCheck")):
        wrong.append(
            f"cluster '{cluster['name']}' sends its jobs to workers (MultiKueue): give the answers of each worker by "
            "itself, and write `workers` of the manager by hand"
        )
    if wrong:
        raise Unusable(*wrong)
    return result


def _not_one(clusters: Mapping[str, Answer]) -> Iterator[str]:
    if not clusters:
        yield "no cluster among these files; add the answer of gcloud container clusters describe NAME --format json"
    else:
        names = ", ".join(sorted(str(one["name"]) for one in clusters.values()))
        yield f"{len(clusters)} clusters ({names}); a stack has one: give the answers of each by themselves"


def _one_each(answers: Sequence[tuple[str | None, Answer]]) -> dict[str, Answer]:
    """By link: the later of two answers on one thing."""
    return {_link(one) or str(one["name"]): one for _, one in answers}


def _link(one: Answer) -> str:
    """The path of a Google resource, without what differs between versions of the API."""
    return str(one.get("selfLink", "")).partition("/projects/")[2] and "projects/" + str(one["selfLink"]).partition(
        "/projects/"
    )[2].replace("/zones/", "/locations/").replace("/regions/", "/locations/")


# --- one file ---------------------------------------------------------------------------------------------------------


def _answers(file: str, text: str) -> Iterator[tuple[str, Answer]]:
    """What one file holds, with its kind. Raises Unusable."""
    try:
        value: object = json.loads(text)
    except ValueError as error:
        at = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "somewhere"
        raise Unusable(f"{file}: no JSON ({at}); ask for it with --format json, or -o json of kubectl") from None
    for one in _each(value):
        if not isinstance(one, dict):
            raise Unusable(f"{file}: '{_short(one)}' is no object; give the answer of {ASK}")
        answer = cast("dict[str, Any]", one)
        kind = _kind(answer)
        if kind is None:
            raise Unusable(f"{file}: not what is known here ({_some(answer)}); give the answer of {ASK}")
        if problem := _incomplete(kind, answer):
            raise Unusable(f"{file}: {problem}")
        yield kind, answer


def _each(value: object) -> list[object]:
    if isinstance(value, dict):
        whole = cast("dict[str, Any]", value)
        if str(whole.get("kind", "")).endswith("List") and isinstance(whole.get("items"), list):
            return cast("list[object]", whole["items"])
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _kind(one: Answer) -> str | None:
    if "apiVersion" in one and "metadata" in one:
        return "object"
    if "currentMasterVersion" in one or "masterAuth" in one:
        return "cluster"
    if isinstance(one.get("config"), dict) and "/nodePools/" in str(one.get("selfLink", "")):
        return "node pool"
    if "specificReservation" in one or "aggregateReservation" in one:
        return "reservation"
    return "subnetwork" if "ipCidrRange" in one else None


def _incomplete(kind: str, one: Answer) -> str | None:
    """What an answer of this kind has to have, if it lacks it."""
    if kind == "object":
        named = isinstance(one["metadata"], dict) and "name" in one["metadata"] and isinstance(one.get("kind"), str)
        return None if named else "an object without kind and metadata.name; give the answer of kubectl as it is"
    return None if isinstance(one.get("name"), str) else f"a {kind} without a name; give gcloud's answer as it is"


def _some(one: Answer) -> str:
    return f"keys {', '.join(sorted(one)[:4])}" if one else "it is empty"


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
