"""Comparison of rights: roles, buckets, secrets, people, isolation, the control plane, alerts.

Rights are compared separately from resources, so that a new right is always shown. Losing a safeguard (an alert, the
isolation of pods) counts as a widened right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import IPv4Network
from typing import Final

from msgspec import Struct

from berth.catalog.google_roles import google_roles
from berth.diff.kinds import ChangeKind
from berth.diff.rights.changes import (
    ALERT,
    ALERTS,
    ANY_ADDRESS,
    AUTHORIZED_NETWORK,
    CHANNEL,
    CONTROL_PLANE,
    DNS_ENDPOINT,
    EGRESS,
    FLEET,
    FLEET_PROJECT,
    IP_ENDPOINT,
    NO_QUEUE,
    NODES,
    OF_CLUSTER,
    PUBLIC_ENDPOINT,
    ROLE,
    SECURITY_GROUP,
    SERVING,
    SHARED_WITH,
    RightChange,
    RightKey,
    is_inside,
    loudest_first,
)
from berth.plan.fleet import ExistingClusterPlan, FleetPlan
from berth.plan.gke import ClusterPlan
from berth.plan.policies import NEW_POLICIES
from berth.plan.teams import QueueingPlan, TeamPlan
from berth.resource import IN_WORKER, merge_clusters

_POD_SECURITY_LEVELS: Final = ("restricted", "baseline", "baseline with exemptions", "privileged")
_BUCKET_ROLES: Final = (
    "roles/storage.objectViewer",
    "roles/storage.objectUser",
    "roles/storage.objectAdmin",
    "roles/storage.admin",
)
"""Roles of a bucket; each includes the permissions of the roles before it."""

_EVERY_TEAM: Final = "every team"
_OPEN: Final = ("privileged", "open")
"""Levels that are reported for a new team."""


class _Level(Struct, frozen=True):
    """A value of a right that has an order: a higher `rank` allows more; 0 allows least."""

    rank: int
    text: str


_Rights = Mapping[RightKey, _Level | dict[str, str]]
_Right = tuple[str, str, _Level | dict[str, str]]
"""The owner of a right, the right, and its level, or what is granted, by name."""


def compare_rights(old: FleetPlan, new: FleetPlan) -> tuple[RightChange, ...]:
    """Return every changed right that a plan states; teams have their new names."""
    workers = {worker.name for worker in old.workers} & {worker.name for worker in new.workers}
    changed = _changed_teams(old, new)
    before, after = (_rights(plan, workers, [t for t in plan.teams if t.name in changed]) for plan in (old, new))
    changes = [*_compare_monitoring(old, new), *_compare_by_owner(before, after, _kept_teams(old, new))]
    return tuple(changes)


def compare_team_rights(old: QueueingPlan, new: QueueingPlan) -> tuple[RightChange, ...]:
    """Return every changed right of teams, those that allow more first."""
    before, after = (_by_owner(_rights_of_teams(plan.teams)) for plan in (old, new))
    return tuple(sorted(_compare_by_owner(before, after, _kept_teams(old, new)), key=loudest_first))


def _changed_teams(old: QueueingPlan, new: QueueingPlan) -> set[str]:
    """Return the names of teams that come or go, or of which something changes."""
    before, after = ({team.name: team for team in plan.teams} for plan in (old, new))
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _kept_teams(old: QueueingPlan, new: QueueingPlan) -> set[str]:
    return {f"team {team.name}" for team in new.teams} & {f"team {team.name}" for team in old.teams}


def _compare_by_owner(before: _Rights, after: _Rights, kept_teams: Collection[str]) -> Iterator[RightChange]:
    """Compare the rights of each owner, without the egress of added and removed teams.

    Of levels, a new one is reported only if it does not isolate, and a removed one is not.
    """
    for key in dict.fromkeys((*before, *after)):
        old_right, new_right = before.get(key), after.get(key)
        if isinstance(new_right, _Level):
            if isinstance(old_right, _Level) and old_right != new_right:
                yield RightChange(*key, _direction(new_right.rank - old_right.rank), old_right.text, new_right.text)
            elif old_right is None and new_right.text in _OPEN:
                yield RightChange(*key, ChangeKind.ADDED, None, new_right.text)
        elif not isinstance(old_right, _Level) and (key[1] != EGRESS or key[0] in kept_teams):
            yield from _compare_grants(key, old_right or {}, new_right or {})


def _compare_grants(key: RightKey, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[RightChange]:
    for name in dict.fromkeys((*before, *after)):
        old_value, new_value = before.get(name), after.get(name)
        if old_value != new_value:
            gives = google_roles().effect(name) if key[1] == ROLE else None
            is_rest = key[1] == EGRESS and new_value is not None and is_inside(new_value, before.values())
            what = ChangeKind.NARROWED if is_rest else _kind_of_change(key[1], old_value, new_value)
            yield RightChange(*key, what, old_value, new_value, gives)


def _kind_of_change(right: str, before: str | None, after: str | None) -> ChangeKind:
    if before is None or after is None:
        return ChangeKind.ADDED if before is None else ChangeKind.REMOVED
    if right == "bucket":
        ranks = [_BUCKET_ROLES.index(role) for v in (before, after) if (role := v.rpartition(" ")[2]) in _BUCKET_ROLES]
        return ChangeKind.CHANGED if len(ranks) < 2 else _direction(ranks[1] - ranks[0])
    if right != AUTHORIZED_NETWORK:
        return ChangeKind.CHANGED
    old, new = (IPv4Network(value.rpartition(" ")[2]) for value in (before, after))
    return (
        ChangeKind.WIDENED if old.subnet_of(new) else ChangeKind.NARROWED if new.subnet_of(old) else ChangeKind.CHANGED
    )


def _direction(delta: int) -> ChangeKind:
    return ChangeKind.WIDENED if delta > 0 else ChangeKind.NARROWED if delta < 0 else ChangeKind.CHANGED


def _compare_monitoring(old: FleetPlan, new: FleetPlan) -> Iterator[RightChange]:
    """Compare alerts and notification channels. A new alert is not reported."""
    before, after = old.monitoring, new.monitoring
    alerts, channels = (before.alert_keys, before.channels) if before else ((), ())
    new_alerts, new_channels = (after.alert_keys, after.channels) if after else ((), ())
    owner = "monitoring"
    if alerts and not new_alerts:
        yield RightChange(owner, ALERTS, ChangeKind.REMOVED, str(len(alerts)), "0")
        return
    yield from (RightChange(owner, ALERT, ChangeKind.REMOVED, key, None) for key in alerts if key not in new_alerts)
    yield from (RightChange(owner, CHANNEL, ChangeKind.REMOVED, c, None) for c in channels if c not in new_channels)
    yield from (RightChange(owner, CHANNEL, ChangeKind.ADDED, None, c) for c in new_channels if c not in channels)


# --- the rights of a plan ---------------------------------------------------------------------------------------------


def _rights(
    plan: FleetPlan, workers: Collection[str], teams: Iterable[TeamPlan], prefix: str = ""
) -> dict[RightKey, _Level | dict[str, str]]:
    """Return (owner, right) → its level, or its values by name; owners in the clusters of `workers` are `worker/owner`.

    A worker has the teams of its manager, whose rights are those of `teams`.
    """
    rights = _by_owner((*_rights_of_teams(teams), *_granted(plan), *_levels(plan)), prefix)
    for worker in plan.workers:
        if worker.name in workers:
            own = _rights(worker.plan, (), (), f"{worker.name}{IN_WORKER}")
            rights = merge_clusters(rights, {k: v for k, v in own.items() if f"{IN_WORKER}team " not in k[0]})
    return rights


def _by_owner(rights: Iterable[_Right], prefix: str = "") -> dict[RightKey, _Level | dict[str, str]]:
    by_owner: dict[RightKey, _Level | dict[str, str]] = {}
    for owner, right, value in rights:
        known = by_owner.get((prefix + owner, right), {})
        if known and (isinstance(value, _Level) or isinstance(known, _Level)):
            raise ValueError(f"{prefix}{owner} has two levels of '{right}'")
        by_owner[prefix + owner, right] = value if isinstance(value, _Level) else {**known, **value}
    return by_owner


def _rights_of_teams(teams: Iterable[TeamPlan]) -> Iterator[_Right]:
    for team in teams:
        for right, value in (*_team_grants(team), *_isolation(team)):
            yield f"team {team.name}", right, value


def _granted(plan: FleetPlan) -> Iterator[_Right]:
    if plan.access is not None:
        yield FLEET, "owner group", _named(plan.access.owners)
    for reservation in (*plan.reservations, *plan.future_reservations):
        yield reservation_owner(reservation.key), SHARED_WITH, _named(reservation.share_with)
    if not isinstance(plan.cluster, ExistingClusterPlan) and plan.cluster.node_service_account is not None:
        yield NODES, ROLE, _named(plan.cluster.node_service_account.roles)
    if isinstance(plan.cluster, ClusterPlan):
        yield CONTROL_PLANE, AUTHORIZED_NETWORK, _authorized_networks(plan.cluster)
        yield OF_CLUSTER, SECURITY_GROUP, _named((plan.cluster.security_group,))
        yield OF_CLUSTER, FLEET_PROJECT, _named((plan.cluster.settings.fleet_project,))

    for queue in plan.cluster_queues:
        yield f"queue {queue.name}", "jobs of", _named(("every namespace",) if queue.namespaces is None else ())


def reservation_owner(key: str) -> str:
    """Whose rights those of a reservation are."""
    return f"reservation {key}"


def _team_grants(team: TeamPlan) -> Iterator[tuple[str, dict[str, str]]]:
    yield "group", _named(team.groups)
    yield "service type", _named(team.isolation.service_types)
    yield "volume type", _named(team.settings.volume_types)
    yield SERVING, _named(each.name for each in team.namespaces if each.serving)
    yield (
        EGRESS,
        {
            f"{e.cidr} {e.ports}": f"to {e.cidr}" + (f", TCP {', '.join(map(str, e.ports))}" if e.ports else "")
            for e in team.isolation.egress or ()
        },
    )
    if (identity := team.identity) is not None:
        account = identity.impersonates
        yield ROLE, _named((*identity.roles, *(account.roles if account else ())))
        yield "bucket", {bucket: f"{bucket} {role}" for bucket, role in identity.buckets.items()}
        yield "secret", {f"{s.project}/{s.secret}": f"{s.project}/{s.secret}" for s in identity.secrets}
        yield "impersonation of", _named((account.email,) if account else ())


def _named(values: Iterable[str | None]) -> dict[str, str]:
    return {value: value for value in values if value}


_MANAGER = "of the manager's NAT"


def _authorized_networks(cluster: ClusterPlan) -> dict[str, str]:
    """Return the networks that reach the public endpoint, by name; none if there is no public endpoint."""
    control_plane = cluster.control_plane
    if not (control_plane.public_endpoint and control_plane.ip_endpoint):
        return {}
    if control_plane.authorized_networks is None:
        return {"": ANY_ADDRESS}
    manager = {_MANAGER: _MANAGER} if control_plane.manager_access else {}
    return manager | {
        each.name or each.cidr: f"{each.name} {each.cidr}".strip() for each in control_plane.authorized_networks
    }


# --- ordered rights ---------------------------------------------------------------------------------------------------


def _levels(plan: FleetPlan) -> Iterator[_Right]:
    if plan.kueue is not None:
        is_open = not plan.kueue.manage_jobs_without_queue_name
        yield FLEET, NO_QUEUE, _Level(int(is_open), "on" if is_open else "off")
    if plan.policies is not None:
        for policy in NEW_POLICIES:
            until = plan.policies.audited.get(policy)
            level = _Level(0, "refuses") if until is None else _Level(1, f"warns until {until}")
            yield _EVERY_TEAM, f"admission policy berth-{policy}", level
    if isinstance(plan.cluster, ClusterPlan):
        for owner, right, is_on in _cluster_switches(plan.cluster):
            yield owner, right, _Level(int(is_on), "on" if is_on else "off")


def _isolation(team: TeamPlan) -> Iterator[tuple[str, _Level]]:
    if not any(namespace.owned for namespace in team.namespaces):
        return
    isolation = team.isolation
    exemptions = " with exemptions" if isolation.host_access and isolation.pod_security == "baseline" else ""
    level = isolation.pod_security + exemptions
    yield "Pod Security", _Level(_POD_SECURITY_LEVELS.index(level), level)
    grace = isolation.max_grace
    yield (
        "grace period",
        _Level(1 << 30, "unlimited, on machines of its own") if grace is None else _Level(grace, f"at most {grace} s"),
    )
    plain = {(each.name, queue) for each in team.namespaces for queue in each.plain_machines}
    for door in team.local_queues:
        is_mixed = (door.namespace, door.name) in plain
        level = _Level(0, "machines without only") if is_mixed else _Level(1, "every machine of the queue")
        yield f"pods without accelerators in {door.namespace}/{door.name}", level
    yield "network", _Level(0, "closed") if isolation.egress is not None else _Level(1, "open")


def _cluster_switches(cluster: ClusterPlan) -> Iterator[tuple[str, str, bool]]:
    """Yield the settings of a cluster that allow more while they are on."""
    control_plane = cluster.control_plane
    yield CONTROL_PLANE, PUBLIC_ENDPOINT, control_plane.public_endpoint and control_plane.ip_endpoint
    yield CONTROL_PLANE, IP_ENDPOINT, control_plane.ip_endpoint
    yield CONTROL_PLANE, DNS_ENDPOINT, bool(control_plane.dns_endpoint)
    has_networks = control_plane.authorized_networks is not None and control_plane.ip_endpoint
    yield CONTROL_PLANE, "access from all Google Cloud addresses", control_plane.google_ranges and has_networks
    yield NODES, "public addresses", not control_plane.private_nodes
    yield NODES, "start without Shielded GKE Nodes", not cluster.settings.shielded_nodes
    yield NODES, "unencrypted memory (no Confidential GKE Nodes)", cluster.confidential_nodes is None
