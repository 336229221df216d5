"""Read namespaces with queues as teams, and cluster queues as queues of one team or shared queues."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from berth.adopt.api_objects import (
    ApiObject,
    Kept,
    NotAdopted,
    StackEntry,
    in_order,
    labels_of,
    list_at,
    mapping_at,
    name_of,
    namespace_of,
    other_than,
    stated,
)
from berth.adopt.google.identities import identity_entry
from berth.adopt.inventory import ClusterInventory
from berth.adopt.queues import PoolsByFlavor, queue_entry, read_weight
from berth.names import MANAGED_BY_LABEL, TEAM_LABEL, is_dns_label, is_shared_namespace
from berth.plan.grouping import grouped
from berth.plan.policies import POD_PRIORITIES, SERVICE_TYPES
from berth.spec.tenancy import ANNOTATION_KEY

_DEFAULT_QUEUE = "default"
"""The local queue of jobs that name none."""
_WAS_SHARED = "the queue belonged to this team when the cluster was adopted"
_SUBMITTERS, _SERVERS, _OWNERS = "berth-submitter", "berth-server", "berth-platform-owner"
_SERVING_POLICY = "berth-serving"
_NAMED, _NAME = re.compile(r"namespaceObject\.metadata\.name in \[(.*?)\]"), re.compile(r"[a-z0-9][a-z0-9-]*")
"""The list of namespaces in an expression of that policy, and one of them."""
_RESERVED_LABELS = ("kubernetes.io/", "kueue.x-k8s.io/", "berth.dev/", "pulumi.com/")
_KEYS = (
    *("namespace", "namespaces", "cohort", "groups", "labels", "annotations", "identity"),
    *("podPriorities", "serviceTypes", "defaultQueue", "queues"),
)
"""Keys of a team in the order in which they are written."""


def platform_section(inventory: ClusterInventory) -> StackEntry:
    """Return the groups that manage every team, if Berth gave them that right."""
    return stated({"owners": _groups(inventory.objects_of_kind("ClusterRoleBinding"), _OWNERS)})


def read_teams(
    inventory: ClusterInventory, namespaces: Mapping[str, str], known: PoolsByFlavor, not_adopted: list[NotAdopted]
) -> tuple[dict[str, StackEntry], dict[str, StackEntry]]:
    """Return the sections `teams` and `clusterQueues`; `namespaces` maps each to its team."""
    local_queues_by_queue = grouped(
        (local_queue["spec"]["clusterQueue"], local_queue) for local_queue in inventory.objects_of_kind("LocalQueue")
    )
    made: dict[str, StackEntry] = {
        team: _team_entry(inventory, team, places, not_adopted)
        for team, places in _namespaces_by_team(namespaces).items()
    }
    shared: dict[str, StackEntry] = {}
    cohort_of = _cohort_by_team(inventory, local_queues_by_queue, namespaces)
    for cluster_queue in inventory.objects_of_kind("ClusterQueue"):
        name, own_local_queues = name_of(cluster_queue), local_queues_by_queue.get(name_of(cluster_queue), [])
        entry = queue_entry(cluster_queue, known, not_adopted) if own_local_queues else {}
        if not entry:
            why = "none of its flavors has a pool" if own_local_queues else "no LocalQueue uses it"
            not_adopted.append(NotAdopted(f"ClusterQueue {name}", f"{why}; it stays as it is", kept=Kept.UNUSED))
            continue
        entry |= local_queue_weights(own_local_queues, namespaces)
        served_teams = sorted({namespaces[namespace_of(local_queue)] for local_queue in own_local_queues})
        local_queue_name, cohort = _local_queue_name(own_local_queues), cluster_queue["spec"].get("cohortName")
        if len(served_teams) > 1 or cohort != cohort_of.get(served_teams[0]):
            names = stated({"cohort": cohort, "localQueue": other_than(name, local_queue_name)})
            shared[name] = {"teams": served_teams, **names, **entry}
            key = name
        else:
            # Berth's label, else the name of the local queue.
            prefix, taken = f"{served_teams[0]}-", made[served_teams[0]].setdefault("queues", {})
            key = name.removeprefix(prefix) if name.startswith(prefix) else local_queue_name
            key = key if is_dns_label(key) else local_queue_name
            key = key if key not in taken else name.replace(".", "-")
            names = {"name": other_than(f"{prefix}{key}", name), "localQueue": other_than(key, local_queue_name)}
            taken[key] = {**stated(names), **entry}
        for team in served_teams:
            if any(
                name_of(d) == _DEFAULT_QUEUE and local_queue_name != _DEFAULT_QUEUE
                for d in own_local_queues
                if namespaces[namespace_of(d)] == team
            ):
                made[team]["defaultQueue"] = key
    for team, cohort in cohort_of.items():
        made[team] |= {"cohort": cohort} if cohort else {}
    return {name: in_order(entry, _KEYS) for name, entry in sorted(made.items())}, shared


def local_queue_weights(local_queues: list[ApiObject], namespaces: Mapping[str, str]) -> StackEntry:
    """Return the weights of local queues: of a team if all of its namespaces have it, else of each namespace."""
    by_team: dict[str, dict[str, float]] = {}
    for each in local_queues:
        namespace = namespace_of(each)
        by_team.setdefault(namespaces[namespace], {})[namespace] = read_weight(mapping_at(each, "spec"))
    weights: dict[str, float] = {}
    for team, of_namespaces in sorted(by_team.items()):
        is_one = len(set(of_namespaces.values())) == 1
        written = {team: next(iter(of_namespaces.values()))} if is_one else of_namespaces
        # The weight of a namespace with the team's own name is that of all its namespaces without one.
        needs_all = written.get(team, 1) != 1
        weights |= {name: weight for name, weight in written.items() if weight != 1 or needs_all}
    return stated({"localQueueWeights": weights})


def _local_queue_name(local_queues: list[ApiObject]) -> str:
    """Return the name that most of the local queues have, except the default one."""
    names = Counter(name_of(local_queue) for local_queue in local_queues)
    others = {name: n for name, n in names.items() if name != _DEFAULT_QUEUE} or names
    return min(others, key=lambda name: (-others[name], name))


# --- owners -----------------------------------------------------------------------------------------------------------


def team_of_namespace(inventory: ClusterInventory) -> dict[str, str]:
    """Return namespace → its team: the one that Berth's label names, else one with the namespace's name."""
    result: dict[str, str] = {}
    labelled = {
        name_of(namespace_object): labels_of(namespace_object).get(TEAM_LABEL)
        for namespace_object in inventory.objects_of_kind("Namespace")
    }
    for local_queue in inventory.objects_of_kind("LocalQueue"):
        namespace = namespace_of(local_queue)
        result.setdefault(namespace, labelled.get(namespace) or labels_of(local_queue).get(TEAM_LABEL) or namespace)
    for namespace, team in labelled.items():  # a team without a queue is still a team
        if team and namespace not in result:
            result[namespace] = team
    return dict(sorted(result.items()))


def _namespaces_by_team(namespaces: Mapping[str, str]) -> dict[str, list[str]]:
    """Return team → its namespaces, the one with its own name first."""
    result = grouped((team, namespace) for namespace, team in namespaces.items())
    return {
        team: sorted(namespaces_of_team, key=lambda p: (p != team, p))
        for team, namespaces_of_team in sorted(result.items())
    }


def _cohort_by_team(
    inventory: ClusterInventory, local_queues_by_queue: Mapping[str, list[ApiObject]], namespaces: Mapping[str, str]
) -> dict[str, str | None]:
    """Return team → the cohort of most of its own queues; a queue in another cohort is written separately."""
    seen: dict[str, Counter[str | None]] = {}
    for cluster_queue in inventory.objects_of_kind("ClusterQueue"):
        served_teams = {
            namespaces[namespace_of(local_queue)]
            for local_queue in local_queues_by_queue.get(name_of(cluster_queue), ())
        }
        if len(served_teams) == 1:
            seen.setdefault(served_teams.pop(), Counter())[cluster_queue["spec"].get("cohortName")] += 1
    return {team: min(counts, key=lambda c: (-counts[c], c or "")) for team, counts in seen.items()}


# --- a team -----------------------------------------------------------------------------------------------------------


def _team_entry(
    inventory: ClusterInventory, team: str, namespaces: list[str], not_adopted: list[NotAdopted]
) -> StackEntry:
    """Return the entry of a team; a namespace that Berth did not create is used and not changed."""
    objects = {name_of(each): each for each in inventory.objects_of_kind("Namespace")}
    managed = {name for name, each in objects.items() if labels_of(each).get(MANAGED_BY_LABEL) == "berth"}
    serving = _serving_namespaces(inventory)
    written = [_namespace_entry(each, each in managed, is_serving=each in serving) for each in namespaces]
    bindings = [b for b in inventory.objects_of_kind("RoleBinding") if namespace_of(b) == namespaces[0]]
    own = objects[namespaces[0]] if namespaces[0] in managed else None
    return {
        **stated(
            {
                "namespaces": written if len(namespaces) > 1 else None,
                "namespace": None if len(namespaces) > 1 else other_than(team, written[0]),
                "groups": _groups(bindings, _SUBMITTERS),
            }
        ),
        **(_namespace_settings(inventory, own) if own is not None else {}),
        **identity_entry(inventory, team, namespaces, not_adopted, is_managed=own is not None),
    }


def _serving_namespaces(inventory: ClusterInventory) -> set[str]:
    """Return the namespaces with Berth's role for services, and those that its policy for services names."""
    serving = {namespace_of(b) for b in inventory.objects_of_kind("RoleBinding") if name_of(b) == _SERVERS}
    for policy in inventory.objects_of_kind("ValidatingAdmissionPolicy"):
        if name_of(policy) == _SERVING_POLICY:
            texts = [str(each) for each in list_at(policy, "spec.variables")]
            serving |= {name for text in texts for names in _NAMED.findall(text) for name in _NAME.findall(names)}
    return serving


def _namespace_entry(namespace: str, is_managed: bool, *, is_serving: bool) -> object:
    serving = {"serving": True} if is_serving else {}
    if is_managed:
        return {"name": namespace, **serving} if serving else namespace
    accepted = {"acceptSharedNamespace": _WAS_SHARED} if is_shared_namespace(namespace) else {}
    return {"name": namespace, "existing": True, **serving, **accepted}


def _groups(bindings: list[ApiObject], name: str) -> list[str]:
    subjects = [s for binding in bindings if name_of(binding) == name for s in list_at(binding, "subjects")]
    return sorted({s["name"] for s in subjects if s.get("kind") == "Group"})


def _namespace_settings(inventory: ClusterInventory, namespace: ApiObject) -> StackEntry:
    """Return the labels and annotations of a team's namespace, and what the admission policies allow it by them."""
    annotations = mapping_at(namespace, "metadata.annotations")
    defaults = {name_of(each) for each in inventory.objects_of_kind("PriorityClass") if each.get("globalDefault")}
    priorities = [each for each in str(annotations.get(POD_PRIORITIES, "")).split(",") if each and each not in defaults]
    labels = sorted(labels_of(namespace).items())
    return stated(
        {
            "labels": {k: v for k, v in labels if not any(t in k for t in _RESERVED_LABELS)},
            "annotations": {k: v for k, v in sorted(annotations.items()) if ANNOTATION_KEY.matches(k)},
            "podPriorities": priorities,
            "serviceTypes": [each for each in str(annotations.get(SERVICE_TYPES, "")).split(",") if each],
        }
    )
