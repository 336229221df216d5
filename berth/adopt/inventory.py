"""Read the answers of gcloud and kubectl; files are recognized by their content, not by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, cast

from msgspec import Struct, field

from berth.adopt.api_objects import ApiObject, InvalidInventory, last_segment, list_at, name_of, namespace_of, value_at
from berth.adopt.google import answer_kinds
from berth.adopt.google.answer_kinds import ANSWER_KINDS, classify_answers
from berth.adopt.google.iam_policies import Rights, foreign_answers, read_rights
from berth.adopt.google.placement_policies import is_provision_only, unknown_policies, with_topology
from berth.plan.admission_checks import MULTIKUEUE

_MAY_BE_EMPTY: Final = ("ClusterQueue", "Cohort")
"""Kinds of which an object may have no spec."""


class ClusterInventory(Struct, dict=True):
    """A cluster with its node pools, what else its project has, and the objects in it.

    `context` names it in a kubeconfig where only what lies inside is to be adopted. With `keeps_cluster` its node pools
    are adopted too, but not the cluster. With `is_described` nothing of it exists: it is what a blueprint would make.
    `sliced_by_policy` are node pools whose topology only their placement policy has; it is filled in.
    `provision_only` are those whose chips a controller connects for each job.
    """

    cluster: ApiObject
    node_pools: list[ApiObject]
    reservations: list[ApiObject] = field(default_factory=list[ApiObject])
    subnetworks: list[ApiObject] = field(default_factory=list[ApiObject])
    objects: list[ApiObject] = field(default_factory=list[ApiObject])
    future_reservations: list[ApiObject] = field(default_factory=list[ApiObject])
    dashboards: list[ApiObject] = field(default_factory=list[ApiObject])
    alert_policies: list[ApiObject] = field(default_factory=list[ApiObject])
    iam_policies: list[ApiObject] = field(default_factory=list[ApiObject])
    service_accounts: list[ApiObject] = field(default_factory=list[ApiObject])
    firewalls: list[ApiObject] = field(default_factory=list[ApiObject])
    services: list[ApiObject] = field(default_factory=list[ApiObject])
    placement_policies: list[ApiObject] = field(default_factory=list[ApiObject])
    sliced_by_policy: frozenset[str] = frozenset()
    provision_only: frozenset[str] = frozenset()
    context: str | None = None
    keeps_cluster: bool = False
    is_described: bool = False

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

    @cached_property
    def networks(self) -> frozenset[str]:
        """The names of the networks that the cluster and its nodes are in, as far as the answers say."""
        paths = [self.cluster.get("network"), value_at(self.cluster, "networkConfig.network")]
        for node_pool in self.node_pools:
            further = list_at(node_pool, "networkConfig.additionalNodeNetworkConfigs")
            paths += [each.get("network") for each in further]
        return frozenset(last_segment(str(path)) for path in paths if path)

    @cached_property
    def rights(self) -> Rights:
        """Who has which role on the project and what belongs to it, as far as the answers say."""
        return read_rights(self.project, self.iam_policies, self.service_accounts)

    def objects_of_kind(self, kind: str) -> list[ApiObject]:
        """Return the objects of one kind, by namespace and name."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[str, list[ApiObject]]:
        kinds: dict[str, list[ApiObject]] = {}
        for resource in sorted(self.objects, key=lambda o: (namespace_of(o), name_of(o))):
            kind = str(resource["kind"])
            kinds.setdefault(kind, []).append({"spec": {}, **resource} if kind in _MAY_BE_EMPTY else resource)
        return kinds


def read_inventory(
    files: Mapping[str, str], context: str | None = None, *, keeps_cluster: bool = False
) -> ClusterInventory:
    """Return the contents of the files, by file name. Raises InvalidInventory with every problem."""
    wrong: list[str] = []
    answers_by_kind: dict[str, list[tuple[str, ApiObject]]] = {kind: [] for kind in ANSWER_KINDS}
    for file, text in files.items():
        try:
            for kind, resource in classify_answers(file, text):
                answers_by_kind[kind].append((file, resource))
        except InvalidInventory as unusable:
            wrong += unusable.lines
    clusters = _latest_by_link(answers_by_kind["cluster"])
    if len(clusters) > 1 or not (clusters or wrong):
        wrong += list(_cluster_count_error(clusters))
    if wrong:
        raise InvalidInventory(*wrong)
    return _cluster_inventory(next(iter(clusters.values())), answers_by_kind, context, keeps_cluster)


def _cluster_inventory(
    cluster: ApiObject,
    answers_by_kind: Mapping[str, Sequence[tuple[str, ApiObject]]],
    context: str | None,
    keeps_cluster: bool,
) -> ClusterInventory:
    """Return all answers on one cluster. Raises InvalidInventory if they are about another cluster, or none."""
    pools = [(None, resource) for resource in cast("list[ApiObject]", cluster.get("nodePools") or [])] + [
        *answers_by_kind["node pool"]
    ]
    given = {kind: list(_latest_by_link(answers).values()) for kind, answers in answers_by_kind.items()}
    policies = {str(each["name"]): each for each in given[answer_kinds.PLACEMENT_POLICY]}
    node_pools = list(_latest_by_link(pools).values())
    completed = [with_topology(each, policies) for each in node_pools]
    result = ClusterInventory(
        cluster=cluster,
        node_pools=completed,
        reservations=given[answer_kinds.RESERVATION],
        subnetworks=given[answer_kinds.SUBNETWORK],
        objects=list(  # an object may be in two answers
            {
                (resource["kind"], namespace_of(resource), name_of(resource)): resource
                for _, resource in answers_by_kind[answer_kinds.OBJECT]
            }.values()
        ),
        future_reservations=given[answer_kinds.FUTURE_RESERVATION],
        dashboards=given[answer_kinds.DASHBOARD],
        alert_policies=given[answer_kinds.ALERT_POLICY],
        iam_policies=[*given[answer_kinds.IAM_POLICY], *given[answer_kinds.PROJECT_POLICY]],
        service_accounts=given[answer_kinds.SERVICE_ACCOUNT],
        firewalls=given[answer_kinds.FIREWALL],
        services=given[answer_kinds.SERVICE],
        placement_policies=given[answer_kinds.PLACEMENT_POLICY],
        sliced_by_policy=frozenset(
            str(after["name"]) for before, after in zip(node_pools, completed, strict=True) if after is not before
        ),
        provision_only=frozenset(str(each["name"]) for each in node_pools if is_provision_only(each, policies)),
        context=context,
        keeps_cluster=keeps_cluster,
    )
    if wrong := [
        *_zonal_error(result),
        *_foreign_pool_errors(cluster, pools),
        *foreign_answers(result.project, answers_by_kind),
        *_content_errors(result),
        *unknown_policies(cluster, node_pools, policies, result.region),
    ]:
        raise InvalidInventory(*wrong)
    return result


def _zonal_error(inventory: ClusterInventory) -> Iterator[str]:
    if inventory.manages_cluster and inventory.location.count("-") != 1:
        yield (
            f"cluster '{inventory.cluster['name']}' is zonal ({inventory.location or 'nowhere'}), and Berth manages "
            "regional ones; use --keep-cluster to adopt its pools, or --inside CONTEXT"
        )


def _foreign_pool_errors(cluster: ApiObject, pools: Sequence[tuple[str | None, ApiObject]]) -> Iterator[str]:
    for file, resource in pools:
        if file is not None and not _resource_path(resource).startswith(f"{_resource_path(cluster)}/"):
            yield (
                f"{file}: node pool '{resource['name']}' belongs to another cluster than '{cluster['name']}'; remove it"
            )


def _content_errors(inventory: ClusterInventory) -> Iterator[str]:
    name = inventory.cluster["name"]
    if not inventory.project:
        yield f"cluster '{name}' has no selfLink, which names its project; give the whole answer"
    if not inventory.node_pools and not inventory.is_autopilot:
        yield (
            f"cluster '{name}' has no node pools; add the answer of gcloud container node-pools list "
            f"--cluster {name} --format json"
        )
    checks = inventory.objects_of_kind("AdmissionCheck")
    if any(value_at(resource, "spec.controllerName") == MULTIKUEUE for resource in checks):
        yield (
            f"cluster '{name}' sends its jobs to workers (MultiKueue): give the answers of each worker by "
            "itself, and write `workers` of the manager by hand"
        )


def _cluster_count_error(clusters: Mapping[str, ApiObject]) -> Iterator[str]:
    if not clusters:
        yield "no cluster among these files; add the answer of gcloud container clusters describe NAME --format json"
    else:
        names = ", ".join(sorted(str(resource["name"]) for resource in clusters.values()))
        yield f"{len(clusters)} clusters ({names}); a stack has one: give the answers of each by themselves"


def _latest_by_link(answers: Sequence[tuple[str | None, ApiObject]]) -> dict[str, ApiObject]:
    """Return resources by link; the later of two answers on one resource."""
    return {_resource_path(resource) or _own_name(resource): resource for _, resource in answers}


def _own_name(resource: ApiObject) -> str:
    """Return what names an answer without a link."""
    return str(resource.get("name") or resource.get("resource") or resource.get("etag"))


def _resource_path(resource: ApiObject) -> str:
    """Return the path of a Google resource, without the version of the API."""
    return str(resource.get("selfLink", "")).partition("/projects/")[2] and "projects/" + str(
        resource["selfLink"]
    ).partition("/projects/")[2].replace("/zones/", "/locations/").replace("/regions/", "/locations/")
