"""Read the answers of gcloud and kubectl; files are recognized by their content, not by their names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

from msgspec import Struct, field

from berth.plan.admission_checks import MULTIKUEUE

ApiObject = Mapping[str, Any]
"""One object as an API returns it."""

StackEntry = dict[str, Any]
"""An entry of the stack file."""


class NotAdopted(Struct, frozen=True):
    """Something that is not adopted, or is changed: its name, and the reason or the result."""

    subject: str
    reason: str

    def line(self) -> str:
        """Return both in one line."""
        return f"{self.subject}: {self.reason}"


ACCEPTED_COMMANDS = (
    "gcloud container clusters describe, container node-pools list, compute reservations list or compute networks "
    "subnets list, each with --format json, or kubectl get with -o json"
)


_KINDS = ("cluster", "node pool", "reservation", "subnetwork", "object")


class InvalidInventory(Exception):
    """Answers that cannot be adopted; has one line for each problem."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class ClusterInventory(Struct, dict=True):
    """A cluster with its node pools, reservations of its project, and the objects in it.

    `context` names it in a kubeconfig where only what lies inside is to be adopted. With `keeps_cluster` its node pools
    are adopted too, but not the cluster.
    """

    cluster: ApiObject
    node_pools: list[ApiObject]
    reservations: list[ApiObject] = field(default_factory=list[ApiObject])
    subnetworks: list[ApiObject] = field(default_factory=list[ApiObject])
    objects: list[ApiObject] = field(default_factory=list[ApiObject])
    context: str | None = None
    keeps_cluster: bool = False

    @property
    def manages_cluster(self) -> bool:
        """Whether the cluster itself is adopted."""
        return self.context is None and not self.keeps_cluster

    @property
    def is_autopilot(self) -> bool:
        """Whether GKE creates all nodes itself."""
        return bool(self.cluster.get("autopilot", {}).get("enabled"))

    @property
    def project(self) -> str:
        """The project, from the cluster's selfLink."""
        return _resource_path(self.cluster).partition("projects/")[2].partition("/")[0]

    @property
    def region(self) -> str:
        """The region of the cluster's location."""
        location = self.location
        return location.rpartition("-")[0] if location.count("-") > 1 else location

    @property
    def location(self) -> str:
        """The cluster's location: a region or a zone."""
        return str(self.cluster.get("location", ""))

    def objects_of_kind(self, kind: str) -> list[ApiObject]:
        """Return the objects of one kind, by namespace and name."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[str, list[ApiObject]]:
        kinds: dict[str, list[ApiObject]] = {}
        for resource in sorted(self.objects, key=lambda o: (namespace_of(o), name_of(o))):
            kinds.setdefault(str(resource["kind"]), []).append(resource)
        return kinds


def name_of(resource: ApiObject) -> str:
    """Return a Kubernetes object's name."""
    return str(resource["metadata"]["name"])


def namespace_of(resource: ApiObject) -> str:
    """Return its namespace, "" if it has none."""
    return str(resource["metadata"].get("namespace", ""))


def labels_of(resource: ApiObject) -> dict[str, str]:
    """Return its labels."""
    return dict(resource["metadata"].get("labels") or {})


def value_at(resource: ApiObject, path: str) -> Any:
    """Return the value at a dotted path, None if there is none."""
    value: Any = resource
    for step in path.split("."):
        value = cast("ApiObject", value).get(step) if isinstance(value, Mapping) else None
    return value


def mapping_at(resource: ApiObject, path: str) -> ApiObject:
    """Return the object at a dotted path; an empty one if there is none."""
    return cast("ApiObject", value_at(resource, path) or {})


def list_at(resource: ApiObject, path: str) -> list[Any]:
    """Return the list at a dotted path; an empty one if there is none."""
    return cast("list[Any]", value_at(resource, path) or [])


def read_inventory(
    files: Mapping[str, str], context: str | None = None, *, keeps_cluster: bool = False
) -> ClusterInventory:
    """Return the contents of the files, by file name. Raises InvalidInventory with every problem."""
    wrong: list[str] = []
    answers_by_kind: dict[str, list[tuple[str, ApiObject]]] = {kind: [] for kind in _KINDS}
    for file, text in files.items():
        try:
            for kind, resource in _classify_answers(file, text):
                answers_by_kind[kind].append((file, resource))
        except InvalidInventory as unusable:
            wrong += unusable.lines
    clusters = _latest_by_link(answers_by_kind["cluster"])
    if len(clusters) != 1:
        wrong += list(_cluster_count_error(clusters))
    if wrong:
        raise InvalidInventory(*wrong)
    cluster = next(iter(clusters.values()))
    return _cluster_inventory(cluster, answers_by_kind, context, keeps_cluster)


def _cluster_inventory(
    cluster: ApiObject,
    answers_by_kind: Mapping[str, Sequence[tuple[str, ApiObject]]],
    context: str | None,
    keeps_cluster: bool,
) -> ClusterInventory:
    """Return all answers on one cluster. Raises InvalidInventory if they are about another cluster, or none."""
    wrong: list[str] = []
    if context is None and not keeps_cluster and cluster.get("location", "").count("-") != 1:
        location = cluster.get("location") or "nowhere"
        wrong.append(
            f"cluster '{cluster['name']}' is zonal ({location}), and Berth manages regional ones; use --keep-cluster "
            "to adopt its pools, or --inside CONTEXT"
        )
    pools = [(None, resource) for resource in cast("list[ApiObject]", cluster.get("nodePools") or [])] + [
        *answers_by_kind["node pool"]
    ]
    for file, resource in pools:
        if file is not None and not _resource_path(resource).startswith(f"{_resource_path(cluster)}/"):
            wrong.append(
                f"{file}: node pool '{resource['name']}' belongs to another cluster than '{cluster['name']}'; remove it"
            )
    result = ClusterInventory(
        cluster,
        list(_latest_by_link(pools).values()),
        [resource for _, resource in answers_by_kind["reservation"]],
        [resource for _, resource in answers_by_kind["subnetwork"]],
        [resource for _, resource in answers_by_kind["object"]],
        context,
        keeps_cluster,
    )
    if not result.project:
        wrong.append(f"cluster '{cluster['name']}' has no selfLink, which names its project; give the whole answer")
    if not result.node_pools and not result.is_autopilot:
        wrong.append(
            f"cluster '{cluster['name']}' has no node pools; add the answer of gcloud container node-pools list "
            f"--cluster {cluster['name']} --format json"
        )
    if any(
        value_at(resource, "spec.controllerName") == MULTIKUEUE for resource in result.objects_of_kind("AdmissionCheck")
    ):
        wrong.append(
            f"cluster '{cluster['name']}' sends its jobs to workers (MultiKueue): give the answers of each worker by "
            "itself, and write `workers` of the manager by hand"
        )
    if wrong:
        raise InvalidInventory(*wrong)
    return result


def _cluster_count_error(clusters: Mapping[str, ApiObject]) -> Iterator[str]:
    if not clusters:
        yield "no cluster among these files; add the answer of gcloud container clusters describe NAME --format json"
    else:
        names = ", ".join(sorted(str(resource["name"]) for resource in clusters.values()))
        yield f"{len(clusters)} clusters ({names}); a stack has one: give the answers of each by themselves"


def _latest_by_link(answers: Sequence[tuple[str | None, ApiObject]]) -> dict[str, ApiObject]:
    """Return resources by link; the later of two answers on one resource."""
    return {_resource_path(resource) or str(resource["name"]): resource for _, resource in answers}


def _resource_path(resource: ApiObject) -> str:
    """Return the path of a Google resource, without the version of the API."""
    return str(resource.get("selfLink", "")).partition("/projects/")[2] and "projects/" + str(
        resource["selfLink"]
    ).partition("/projects/")[2].replace("/zones/", "/locations/").replace("/regions/", "/locations/")


# --- one file ---------------------------------------------------------------------------------------------------------


def _classify_answers(file: str, text: str) -> Iterator[tuple[str, ApiObject]]:
    """Return the contents of one file, with their kind. Raises InvalidInventory."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        at = f"line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else "somewhere"
        raise InvalidInventory(f"{file}: not JSON ({at}); export it with --format json, or kubectl -o json") from None
    for item in _items(value):
        if not isinstance(item, dict):
            raise InvalidInventory(
                f"{file}: '{_shorten(item)}' is not an object; give the answer of {ACCEPTED_COMMANDS}"
            )
        answer = cast("dict[str, Any]", item)
        kind = _answer_kind(answer)
        if kind is None:
            raise InvalidInventory(
                f"{file}: unknown kind of answer ({_sample_keys(answer)}); give the answer of {ACCEPTED_COMMANDS}"
            )
        if problem := _incomplete(kind, answer):
            raise InvalidInventory(f"{file}: {problem}")
        yield kind, answer


def _items(value: object) -> list[object]:
    if isinstance(value, dict):
        document = cast("dict[str, Any]", value)
        if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
            return cast("list[object]", document["items"])
    return cast("list[object]", value) if isinstance(value, list) else [value]


def _answer_kind(resource: ApiObject) -> str | None:
    if "apiVersion" in resource and "metadata" in resource:
        return "object"
    if "currentMasterVersion" in resource or "masterAuth" in resource:
        return "cluster"
    if isinstance(resource.get("config"), dict) and "/nodePools/" in str(resource.get("selfLink", "")):
        return "node pool"
    if "specificReservation" in resource or "aggregateReservation" in resource:
        return "reservation"
    return "subnetwork" if "ipCidrRange" in resource else None


def _incomplete(kind: str, resource: ApiObject) -> str | None:
    """Return what an answer of this kind must have, if it lacks it."""
    if kind == "object":
        is_named = (
            isinstance(resource["metadata"], dict)
            and "name" in resource["metadata"]
            and isinstance(resource.get("kind"), str)
        )
        return None if is_named else "an object without kind and metadata.name; give the answer of kubectl as it is"
    return None if isinstance(resource.get("name"), str) else f"a {kind} without a name; give gcloud's answer as it is"


def _sample_keys(resource: ApiObject) -> str:
    return f"keys {', '.join(sorted(resource)[:4])}" if resource else "it is empty"


def _shorten(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
