"""Rights that follow from what is rendered: code of administrators, bindings, exemptions, policies, networks.

Rights that a plan states by name are in `compare`. What is here is found in the manifests and charts themselves, so a
key that nobody thought of gives its right, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from berth.diff.kinds import ChangeKind
from berth.diff.objects import ClusterObjects, Manifest
from berth.diff.rights.changes import (
    API_TOKEN,
    EXEMPTIONS,
    HANDED_OVER,
    NAMESPACE_OF_OTHERS,
    NETWORK_POLICY,
    PERMISSION,
    POLICY,
    RightChange,
)
from berth.diff.rights.nodes import opened_nodes
from berth.diff.rights.programs import programs_of_charts, programs_of_objects, unmanaged_namespaces
from berth.names import TEAM_LABEL
from berth.plan.fleet import FleetPlan
from berth.plan.policies import CAPABILITIES, HOST_NETWORK, HOST_PATHS, POD_PRIORITIES, READ_ONLY_HOST_PATHS
from berth.plan.teams import TeamPlan
from berth.resource import IN_WORKER

_RBAC_WORDS: Final = (
    ("*", "everything"),
    ("secrets", "secrets"),
    ("pods/exec", "exec"),
    ("pods/log", "logs"),
    ("jobs", "jobs with every account there"),
    ("deployments", "services"),
)
"""Resources of a role, and what people call the right to them."""
_EXEMPTIONS: Final = {
    HOST_NETWORK: "host network of pods with",
    HOST_PATHS: "writable path of nodes",
    READ_ONLY_HOST_PATHS: "readable path of nodes",
    CAPABILITIES: "capability of pods",
    POD_PRIORITIES: "priority of pods",
}
"""Annotation of a namespace → what a value of its list allows there."""


class Permission(Struct, frozen=True):
    """That `owner` has a right with one value; `gives` says what it is in words."""

    owner: str
    right: str
    value: str
    gives: str | None = None


def rendered_rights(
    old: FleetPlan,
    new: FleetPlan,
    clusters: Iterable[ClusterObjects],
    named: Collection[RightChange],
    renamed: Mapping[str, str],
) -> Iterator[RightChange]:
    """Yield the rights that the manifests and charts of two plans give differently, and no `named` right says.

    `old` has the new names of teams; `renamed` has the names in the manifests, old → new.
    """
    yield from programs_of_charts(old, new)
    yield from opened_nodes(old, new)
    yield from _handed_over(old, new)
    yield from unmanaged_namespaces(old, new)
    workers = {worker.name: worker.plan for worker in new.workers}
    old_workers = {worker.name: worker.plan for worker in old.workers}
    of_fleet: set[RightChange] = set()
    for cluster in clusters:  # the fleet's own is the first
        prefix = f"{cluster.worker}{IN_WORKER}" if cluster.worker is not None else ""
        plans = (old_workers.get(cluster.worker or ""), workers.get(cluster.worker or ""))
        before, after = (old, new) if cluster.worker is None else plans
        if before is None or after is None:
            continue  # the cluster of a new worker is named as a whole
        yield from programs_of_objects(cluster, prefix)
        yield from _policies(cluster, prefix, {each.right for each in named})
        found = list(_permissions(cluster, (before, after), named, renamed))
        of_fleet |= set(found) if cluster.worker is None else set()
        yield from (
            replace(each, owner=f"{prefix}{each.owner}") for each in found if not prefix or each not in of_fleet
        )


def _handed_over(old: FleetPlan, new: FleetPlan) -> Iterator[RightChange]:
    """Yield the namespaces that another team had: what is in them is now read by the people and pods of the new one."""
    had = {place.name: team.name for team in old.teams for place in team.namespaces if place.owned}
    for team in new.teams:
        for place in team.namespaces:
            if place.owned and had.get(place.name, team.name) != team.name:
                value = f"{place.name} (of team {had[place.name]})"
                yield RightChange(f"team {team.name}", HANDED_OVER, ChangeKind.ADDED, None, value)


# --- policies ---------------------------------------------------------------------------------------------------------


def _policies(cluster: ClusterObjects, prefix: str, said: Collection[str]) -> Iterator[RightChange]:
    """Yield policies and their rules that end: what they refused becomes possible. `said` are rights of the plan."""
    for key, manifest in cluster.before.items():
        if key[0] not in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
            continue
        policy = f"admission policy {key[2]}"
        owner, new = f"{prefix}{policy}", cluster.after.get(key)
        if new == manifest:
            continue
        if new is None:
            if key[0] == "ValidatingAdmissionPolicy":
                yield RightChange(owner, POLICY, ChangeKind.REMOVED, "of all that it refuses", None)
            continue
        gone = sorted(_checked(manifest) - _checked(new))
        if policy in said:  # that it only warns from now on is said with its date
            gone = [each for each in gone if not each.startswith("action ")]
        if gone:
            yield RightChange(owner, POLICY, ChangeKind.REMOVED, f"of {', '.join(gone)}", None)


def _checked(manifest: Manifest) -> set[str]:
    """Return what a policy checks: resources of API groups, messages of its validations, actions of its binding."""
    spec = cast("Mapping[str, Any]", manifest.get("spec") or {})
    matched = cast("Mapping[str, Any]", spec.get("matchConstraints") or spec.get("matchResources") or {})
    checked = {
        f"{resource}.{group}".rstrip(".")
        for rule in cast("Sequence[Mapping[str, Sequence[str]]]", matched.get("resourceRules") or ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    actions = set(cast("Sequence[str]", spec.get("validationActions") or ()))
    actions |= {"Warn", "Audit"} if "Deny" in actions else set()  # what refuses is no weaker than what only says so
    return checked | {f"action {each}" for each in actions}


# --- permissions in the cluster ---------------------------------------------------------------------------------------


def _permissions(
    cluster: ClusterObjects,
    plans: tuple[FleetPlan, FleetPlan],
    named: Collection[RightChange],
    renamed: Mapping[str, str],
) -> Iterator[RightChange]:
    before, after = (
        dict.fromkeys(_permissions_of(manifests.values(), plan.teams, names))
        for manifests, plan, names in zip((cluster.before, cluster.after), plans, (renamed, {}), strict=True)
    )
    roles = {f"role {key[2]}" for key in cluster.before if key[0] == "ClusterRole" and key in cluster.after}
    said = {(each.owner, each.right) for each in named}
    addresses = {value for each in named for value in (each.before, each.after) if value}
    kept = {f"team {team.name}" for team in plans[0].teams} & {f"team {team.name}" for team in plans[1].teams}
    for permission, what in (
        *((each, ChangeKind.ADDED) for each in after if each not in before),
        *((each, ChangeKind.REMOVED) for each in before if each not in after),
    ):
        is_said = any((permission.owner, right) in said for right in _SAYS.get(permission.right, ()))
        is_own = permission.owner.startswith("team ") and permission.owner not in kept
        is_new_role = permission.owner.startswith("role ") and permission.owner not in roles
        if is_said or (is_own and permission.right not in _OF_NEW_TEAMS):
            continue
        if is_new_role or permission.owner in addresses:
            continue  # whoever is bound to it is named
        sides = (None, permission.value) if what == ChangeKind.ADDED else (permission.value, None)
        yield RightChange(permission.owner, permission.right, what, *sides, gives=permission.gives)


_OF_NEW_TEAMS: Final = (NAMESPACE_OF_OTHERS, API_TOKEN)
"""Rights that are reported for a new team, too."""
_SAYS: Final[Mapping[str, tuple[str, ...]]] = {
    NETWORK_POLICY: ("egress", "network"),
    EXEMPTIONS: ("Pod Security",),
    API_TOKEN: (),
}
"""A right that is found in manifests → rights of the plan that say the same."""


def _permissions_of(
    manifests: Iterable[Manifest], teams: Iterable[TeamPlan], renamed: Mapping[str, str]
) -> Iterator[Permission]:
    manifests = list(manifests)
    rules = {
        str(_metadata(each)["name"]): cast("Sequence[Mapping[str, Any]]", each.get("rules") or ())
        for each in manifests
        if each["kind"] == "ClusterRole"
    }
    foreign = {(team.name, place.name) for team in teams for place in team.namespaces if not place.owned}
    uses: dict[tuple[str, str], list[Manifest]] = {}
    for manifest in manifests:
        kind, metadata = str(manifest["kind"]), _metadata(manifest)
        label = str(cast("Mapping[str, Any]", metadata.get("labels") or {}).get(TEAM_LABEL, ""))
        team, namespace = renamed.get(label, label), str(metadata.get("namespace", ""))
        if (team, namespace) in foreign:
            uses.setdefault((team, namespace), []).append(manifest)
        elif (judge := _OF_KIND.get(kind)) is not None:
            yield from judge(manifest, f"team {team}" if team else "fleet")
    for (team, namespace), used in uses.items():
        yield Permission(f"team {team}", NAMESPACE_OF_OTHERS, namespace, _words_of_use(used, rules))


def _words_of_use(used: Iterable[Manifest], rules: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return what a team may do in a namespace of others."""
    words: dict[str, None] = {}
    for manifest in used:
        if manifest["kind"] == "RoleBinding":
            role = str(cast("Mapping[str, Any]", manifest["roleRef"])["name"])
            resources = {
                each for rule in rules.get(role, ()) for each in cast("Sequence[str]", rule.get("resources") or ())
            }
            known = [word for resource, word in _RBAC_WORDS if resource in resources]
            words |= dict.fromkeys(known or [f"role {role}"])
    return ", ".join(words) or "a queue and an account there"


def _of_role(manifest: Manifest, owner: str) -> Iterator[Permission]:
    name = _metadata(manifest)["name"]
    for rule in cast("Sequence[Mapping[str, Any]]", manifest.get("rules") or ()):
        for group in cast("Sequence[str]", rule.get("apiGroups") or ("",)):
            for resource in cast("Sequence[str]", rule.get("resources") or ()):
                verbs = set(cast("Sequence[str]", rule.get("verbs") or ()))
                does = "change" if verbs - {"get", "list", "watch"} else "read"
                yield Permission(f"role {name}", PERMISSION, f"{does} {resource}.{group}".rstrip("."))


def _of_binding(manifest: Manifest, owner: str) -> Iterator[Permission]:
    role = cast("Mapping[str, Any]", manifest["roleRef"])["name"]
    for subject in cast("Sequence[Mapping[str, Any]]", manifest.get("subjects") or ()):
        who = str(subject["name"])
        if subject.get("kind") != "Group":
            who = f"{subject.get('kind')} {subject.get('namespace', '')} {who}".replace("  ", " ")
        yield Permission(who, PERMISSION, f"role {role} in the whole cluster")


def _of_namespace(manifest: Manifest, owner: str) -> Iterator[Permission]:
    annotations = cast("Mapping[str, str]", _metadata(manifest).get("annotations") or {})
    for key, words in _EXEMPTIONS.items():
        values = annotations.get(key, "").split(",") if annotations.get(key) else ()
        yield from (Permission(owner, EXEMPTIONS, f"{words} {value}") for value in values)


def _of_network_policy(manifest: Manifest, owner: str) -> Iterator[Permission]:
    spec = cast("Mapping[str, Any]", manifest["spec"])
    for way, peers in (("egress", "to"), ("ingress", "from")):
        for rule in cast("Sequence[Mapping[str, Any]]", spec[way]):
            ports = sorted({str(port.get("port")) for port in rule.get("ports") or ()})
            suffix = f" (ports {', '.join(ports)})" if ports else ""
            for peer in cast("Sequence[Mapping[str, Any]]", rule.get(peers) or ({},)):
                yield from (Permission(owner, NETWORK_POLICY, f"{peers} {each}{suffix}") for each in _addresses(peer))


def _addresses(peer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a peer of a network policy is; nothing for the pods of the policy's own namespace."""
    if "ipBlock" in peer:
        yield str(peer["ipBlock"]["cidr"])
    elif "namespaceSelector" in peer:
        expressions = cast("Sequence[Mapping[str, Any]]", peer["namespaceSelector"].get("matchExpressions") or ())
        names = [str(name) for each in expressions for name in each.get("values") or ()]
        labels = cast("Mapping[str, Any]", peer["namespaceSelector"].get("matchLabels") or {})
        names += [str(value) for value in labels.values()]
        yield from (f"namespace {name}" for name in names or ("any",))
    elif not peer:
        yield "any address"


def _of_account(manifest: Manifest, owner: str) -> Iterator[Permission]:
    if manifest.get("automountServiceAccountToken") is not False:
        yield Permission(owner, API_TOKEN, f"of account {_metadata(manifest)['name']}")


_OF_KIND: Final[Mapping[str, Callable[[Manifest, str], Iterator[Permission]]]] = {
    "ClusterRole": _of_role,
    "ClusterRoleBinding": _of_binding,
    "Namespace": _of_namespace,
    "NetworkPolicy": _of_network_policy,
    "ServiceAccount": _of_account,
}
"""Kind of an object → what it permits."""


def _metadata(manifest: Manifest) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", manifest["metadata"])
