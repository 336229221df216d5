"""Namespaces with queues become teams, and cluster queues theirs: alone, or shared with others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from berth.adopt.inventory import Answer, Entry, Found, Left, labels_of, name_of, namespace_of, part, parts
from berth.adopt.queues import Flavors, queue
from berth.names import MANAGED_BY, TEAM_LABEL, is_dns_label
from berth.plan.teams import SECRETS

_DEFAULT = "default"
"""The local queue of jobs that name none."""
_ACCOUNT = "iam.gke.io/gcp-service-account"
_SUBMITTERS, _OWNERS = "berth-submitter", "berth-platform-owner"
_TAKEN = ("kubernetes.io/", "kueue.x-k8s.io/", "berth.dev/", "pulumi.com/")


def platform(found: Found) -> Entry:
    """Those who look after every team, where Berth let them."""
    owners = _groups(found.of_kind("ClusterRoleBinding"), _OWNERS)
    return {"owners": owners} if owners else {}


def teams(found: Found, known: Flavors, left: list[Left]) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """The sections `teams` and `clusterQueues`."""
    namespaces = _namespaces(found)
    doors: dict[str, list[Answer]] = {}
    for door in found.of_kind("LocalQueue"):
        doors.setdefault(door["spec"]["clusterQueue"], []).append(door)
    made: dict[str, Entry] = {team: _team(found, team, places) for team, places in _by_team(namespaces).items()}
    shared: dict[str, Entry] = {}
    cohort_of = _cohorts(found, doors, namespaces)
    for one in found.of_kind("ClusterQueue"):
        name, own = name_of(one), doors.get(name_of(one), [])
        if not own:
            left.append(Left(f"ClusterQueue {name}", "no LocalQueue leads to it, so it is nobody's; left alone"))
            continue
        if not (entry := queue(one, known, left)):
            left.append(Left(f"ClusterQueue {name}", "none of its flavors is a pool's; left alone"))
            continue
        served = sorted({namespaces[namespace_of(door)] for door in own})
        local = _local_name(own)
        if len(served) > 1 or one["spec"].get("cohortName") != cohort_of.get(served[0]):
            cohort = {"cohort": one["spec"]["cohortName"]} if one["spec"].get("cohortName") else {}
            names = {} if local == name else {"localQueue": local}
            shared[name] = {"teams": served, **cohort, **names, **entry}
            key = name
        else:
            key = _own_key(served[0], name, local, made[served[0]].setdefault("queues", {}))
            names = {"name": name} if name != f"{served[0]}-{key}" else {}
            made[served[0]]["queues"][key] = {**names, **({"localQueue": local} if local != key else {}), **entry}
        for team in served:
            if any(name_of(d) == _DEFAULT and local != _DEFAULT for d in own if namespaces[namespace_of(d)] == team):
                made[team]["defaultQueue"] = key
    for team, cohort in cohort_of.items():
        made[team] |= {"cohort": cohort} if cohort else {}
    return {name: _in_order(entry) for name, entry in sorted(made.items())}, shared


def _own_key(team: str, name: str, local: str, taken: Mapping[str, Entry]) -> str:
    """A queue's key: what Berth called it by, else the name of its local queue."""
    key = name.removeprefix(f"{team}-") if name.startswith(f"{team}-") else local
    key = key if is_dns_label(key) else local
    return key if key not in taken else name.replace(".", "-")


def _local_name(doors: list[Answer]) -> str:
    """The name that most of the doors have, the default one aside."""
    names = Counter(name_of(door) for door in doors)
    others = {name: n for name, n in names.items() if name != _DEFAULT} or names
    return min(others, key=lambda name: (-others[name], name))


def _in_order(team: Entry) -> Entry:
    keys = ("namespace", "namespaces", "cohort", "groups", "labels", "identity", "defaultQueue", "queues")
    return {key: team[key] for key in keys if key in team}


# --- whose is what ----------------------------------------------------------------------------------------------------


def _namespaces(found: Found) -> dict[str, str]:
    """Namespace → its team: the one that Berth's label names, else one called after it."""
    result: dict[str, str] = {}
    labelled = {name_of(one): labels_of(one).get(TEAM_LABEL) for one in found.of_kind("Namespace")}
    for door in found.of_kind("LocalQueue"):
        place = namespace_of(door)
        result.setdefault(place, labelled.get(place) or labels_of(door).get(TEAM_LABEL) or place)
    for place, team in labelled.items():  # a team without a queue is one all the same
        if team and place not in result:
            result[place] = team
    return dict(sorted(result.items()))


def _by_team(namespaces: Mapping[str, str]) -> dict[str, list[str]]:
    """Team → its namespaces, that of its own name first."""
    result: dict[str, list[str]] = {}
    for place, team in namespaces.items():
        result.setdefault(team, []).append(place)
    return {team: sorted(places, key=lambda p: (p != team, p)) for team, places in sorted(result.items())}


def _cohorts(found: Found, doors: Mapping[str, list[Answer]], namespaces: Mapping[str, str]) -> dict[str, str | None]:
    """Team → the cohort of most of the queues that are its alone; a queue in another is written by itself."""
    seen: dict[str, Counter[str | None]] = {}
    for one in found.of_kind("ClusterQueue"):
        served = {namespaces[namespace_of(door)] for door in doors.get(name_of(one), ())}
        if len(served) == 1:
            seen.setdefault(served.pop(), Counter())[one["spec"].get("cohortName")] += 1
    return {team: min(counts, key=lambda c: (-counts[c], c or "")) for team, counts in seen.items()}


# --- a team -----------------------------------------------------------------------------------------------------------


def _team(found: Found, team: str, places: list[str]) -> Entry:
    """A namespace that Berth did not make is used and left alone."""
    objects = {name_of(one): one for one in found.of_kind("Namespace")}
    owned = {place: _is_berths(objects.get(place)) for place in places}
    written = [_namespace(place, team, owned[place]) for place in places]
    entry: Entry = {}
    if len(places) > 1:
        entry["namespaces"] = written
    elif written[0] != team:
        entry["namespace"] = written[0]
    groups = _groups([b for b in found.of_kind("RoleBinding") if namespace_of(b) == places[0]], _SUBMITTERS)
    entry |= {"groups": groups} if groups else {}
    labels = _labels(objects.get(places[0]) if owned[places[0]] else None)
    entry |= {"labels": labels} if labels else {}
    return entry | _identity(found, team, places[0], owned[places[0]])


def _is_berths(one: Answer | None) -> bool:
    return one is not None and labels_of(one).get(MANAGED_BY) == "berth"


def _namespace(place: str, team: str, owned: bool) -> object:
    return place if owned else {"name": place, "existing": True}


def _labels(one: Answer | None) -> dict[str, str]:
    return {k: v for k, v in sorted(labels_of(one).items()) if not any(t in k for t in _TAKEN)} if one else {}


def _groups(bindings: list[Answer], name: str) -> list[str]:
    subjects = [s for one in bindings if name_of(one) == name for s in parts(one, "subjects")]
    return sorted({s["name"] for s in subjects if s.get("kind") == "Group"})


def _identity(found: Found, team: str, place: str, owned: bool) -> Entry:
    """Berth's own account there, whom it impersonates, and the secrets that are mounted; rights are in no answer."""
    account = next((o for o in found.of_kind("ServiceAccount") if namespace_of(o) == place and _is_berths(o)), None)
    secrets = next(
        (o for o in found.of_kind("SecretProviderClass") if (namespace_of(o), name_of(o)) == (place, SECRETS)), None
    )
    entry: Entry = {}
    if account is not None and name_of(account) != team:
        entry["serviceAccount"] = name_of(account)
    google = part(account or {}, "metadata.annotations").get(_ACCOUNT)
    entry |= {"impersonate": google.partition("@")[0]} if google else {}
    entry |= {"secrets": _secrets(secrets, found.project)} if secrets else {}
    if not entry and (account is None or owned):
        return {}
    return {"identity": entry}


def _secrets(one: Answer, project: str) -> dict[str, Any]:
    """File → secret, with version and project where they are not the usual ones."""
    listed = json.loads(one["spec"]["parameters"]["secrets"])
    result: dict[str, Any] = {}
    for each in listed:
        _, owner, _, secret, _, version = each["resourceName"].split("/")
        more = ({"version": version} if version != "latest" else {}) | ({"project": owner} if owner != project else {})
        result[each["path"]] = {"secret": secret, **more} if more else secret
    return dict(sorted(result.items()))
