"""Comparison of rights: roles, buckets, secrets, people, isolation, the control plane, alerts.

Rights are compared separately from resources, so that a new right is always shown. Losing a safeguard (an alert, the
isolation of pods) counts as a widened right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import ip_network
from typing import Any, Final, cast

from msgspec import Struct

from berth.catalog.google_roles import google_roles
from berth.diff.kinds import ChangeKind
from berth.plan.existing import ExistingClusterPlan
from berth.plan.fleet import FleetPlan
from berth.plan.gke import AuthorizedNetwork, ClusterPlan
from berth.plan.teams import IdentityPlan, IsolationPlan, QueueingPlan, TeamPlan

ALERT, ALERTS, CHANNEL = "alert", "alerts", "notification channel"
_FLEET, OF_CLUSTER, _NODES, CONTROL_PLANE = "fleet", "cluster", "nodes", "control plane"
SHARED_WITH, SECURITY_GROUP, AUTHORIZED_NETWORK = "shared with project", "security group", "authorized network"
PUBLIC_ENDPOINT, IP_ENDPOINT, DNS_ENDPOINT = "public endpoint", "IP endpoint", "DNS endpoint"
ROLE, SERVING = "role", "serving in namespace"
EGRESS: Final = "egress"
"""Rights that are not reported for added or removed teams."""
ANY_ADDRESS: Final = "any address"

_POD_SECURITY_LEVELS: Final = ("restricted", "baseline", "baseline with exemptions", "privileged")
_BUCKET_ROLES: Final = (
    "roles/storage.objectViewer",
    "roles/storage.objectUser",
    "roles/storage.objectAdmin",
    "roles/storage.admin",
)
"""Roles of a bucket; each includes the permissions of the roles before it."""

RightKey = tuple[str, str]
"""The owner of a right, and the right."""
_Grant = tuple[str, str, Mapping[str, str]]
"""The owner of a right, the right, and what is granted, by name."""


class RightChange(Struct, frozen=True):
    """A right of `owner` that is added, removed, widened, narrowed, changed in an unknown direction, or kept.

    `before` and `after` are its values, None if it does not exist. `gives` is what a role gives in the whole project,
    None for roles known as harmless and for other rights.
    """

    owner: str
    right: str
    what: ChangeKind
    before: str | None
    after: str | None
    gives: str | None = None

    @property
    def is_alert(self) -> bool:
        """Whether this is an alert, not a right."""
        return self.right in (ALERT, ALERTS, CHANNEL)

    @property
    def is_loud(self) -> bool:
        """Whether a right is added, widened or not taken back, an alert is removed, or services lose their queue."""
        if self.is_alert or (self.right == SERVING and self.what == ChangeKind.REMOVED):
            return self.what == ChangeKind.REMOVED
        is_kept = self.what == ChangeKind.KEPT and self.right != AUTHORIZED_NETWORK
        return is_kept or self.what in (ChangeKind.ADDED, ChangeKind.WIDENED, ChangeKind.CHANGED)


_OPEN: Final = ("privileged", "open")
"""Levels that are reported for a new team."""


class _Level(Struct, frozen=True):
    """A value of a right that has an order: a higher `rank` allows more; 0 allows least."""

    rank: int
    text: str


def compare_rights(old: FleetPlan, new: FleetPlan) -> tuple[RightChange, ...]:
    """Return every changed right, those that allow more first; teams have their new names."""
    workers = {worker.name for worker in old.workers} & {worker.name for worker in new.workers}
    grants = _compare_grants(_grants(old, workers), _grants(new, workers))
    levels = _compare_levels(_levels(old, workers), _levels(new, workers))
    return _of_kept_teams(old, new, (*grants, *levels, *_compare_alerts(old, new)))


def compare_team_rights(old: QueueingPlan, new: QueueingPlan) -> tuple[RightChange, ...]:
    """Return every changed right of teams, those that allow more first."""
    before, after = (_by_owner(_granted_to_teams(plan)) for plan in (old, new))
    levels = _compare_levels(_team_levels(old), _team_levels(new))
    return _of_kept_teams(old, new, (*_compare_grants(before, after), *levels))


def _of_kept_teams(old: QueueingPlan, new: QueueingPlan, changes: Iterable[RightChange]) -> tuple[RightChange, ...]:
    """Return the changes in order, without the egress of added and removed teams."""
    kept_teams = {f"team {team.name}" for team in new.teams} & {f"team {team.name}" for team in old.teams}
    shown = [change for change in changes if change.right != EGRESS or change.owner in kept_teams]
    return tuple(sorted(shown, key=lambda change: (not change.is_loud, change.owner, change.right)))


def _compare_grants(
    old: Mapping[RightKey, Mapping[str, str]], new: Mapping[RightKey, Mapping[str, str]]
) -> Iterator[RightChange]:
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key, {}), new.get(key, {})
        for name in dict.fromkeys((*before, *after)):
            old_value, new_value = before.get(name), after.get(name)
            if old_value != new_value:
                what = _kind_of_change(key[1], old_value, new_value)
                yield RightChange(*key, what, old_value, new_value, _effect(key[1], name))


def _effect(right: str, role: str) -> str | None:
    """What a role gives in the whole project."""
    return google_roles().effect(role) if right == ROLE else None


def _kind_of_change(right: str, before: str | None, after: str | None) -> ChangeKind:
    if before is None or after is None:
        return ChangeKind.ADDED if before is None else ChangeKind.REMOVED
    if right == "bucket":
        ranks = [_BUCKET_ROLES.index(role) for v in (before, after) if (role := v.rpartition(" ")[2]) in _BUCKET_ROLES]
        return ChangeKind.CHANGED if len(ranks) < 2 else _direction(ranks[1] - ranks[0])
    return _range_change(before, after) if right == AUTHORIZED_NETWORK else ChangeKind.CHANGED


def _range_change(before: str, after: str) -> ChangeKind:
    old, new = (cast("Any", ip_network(value.rpartition(" ")[2])) for value in (before, after))
    if old.version != new.version:
        return ChangeKind.CHANGED
    return (
        ChangeKind.WIDENED if old.subnet_of(new) else ChangeKind.NARROWED if new.subnet_of(old) else ChangeKind.CHANGED
    )


def _compare_levels(old: Mapping[RightKey, _Level], new: Mapping[RightKey, _Level]) -> Iterator[RightChange]:
    """Compare levels. A new level is reported only if it does not isolate; a removed one is not reported."""
    for key, after in new.items():
        before = old.get(key)
        if before is None:
            if after.text in _OPEN:
                yield RightChange(*key, ChangeKind.ADDED, None, after.text)
        elif before != after:
            yield RightChange(*key, _direction(after.rank - before.rank), before.text, after.text)


def _direction(delta: int) -> ChangeKind:
    return ChangeKind.WIDENED if delta > 0 else ChangeKind.NARROWED if delta < 0 else ChangeKind.CHANGED


def _compare_alerts(old: FleetPlan, new: FleetPlan) -> Iterator[RightChange]:
    before, after = (plan.monitoring.alert_keys if plan.monitoring else () for plan in (old, new))
    if before and not after:
        yield RightChange("monitoring", ALERTS, ChangeKind.REMOVED, str(len(before)), "0")
        return
    yield from (
        RightChange("monitoring", ALERT, ChangeKind.REMOVED, name, None) for name in before if name not in after
    )
    channels = [plan.monitoring.channels if plan.monitoring else () for plan in (old, new)]
    yield from (
        RightChange("monitoring", CHANNEL, ChangeKind.REMOVED, c, None) for c in channels[0] if c not in channels[1]
    )
    yield from (
        RightChange("monitoring", CHANNEL, ChangeKind.ADDED, None, c) for c in channels[1] if c not in channels[0]
    )


# --- grants by name ---------------------------------------------------------------------------------------------------


def _grants(plan: FleetPlan, workers: Collection[str], prefix: str = "") -> dict[RightKey, dict[str, str]]:
    """Return (owner, right) → values by name; owners in the clusters of `workers` are `worker/owner`."""
    grants = _by_owner((*_granted_to_teams(plan), *_granted(plan)), prefix)
    for worker in plan.workers:
        own = _grants(worker.plan, f"{worker.name}/")
        grants |= {key: value for key, value in own.items() if "/team " not in key[0]}
    return grants


def _by_owner(granted: Iterable[_Grant], prefix: str = "") -> dict[RightKey, dict[str, str]]:
    grants: dict[RightKey, dict[str, str]] = {}
    for owner, right, values in granted:
        grants.setdefault((prefix + owner, right), {}).update(values)
    return grants


def _granted_to_teams(plan: QueueingPlan) -> Iterator[_Grant]:
    for team in plan.teams:
        yield from ((f"team {team.name}", right, values) for right, values in _team_grants(team))


def _granted(plan: FleetPlan) -> Iterator[_Grant]:
    if plan.access is not None:
        yield _FLEET, "owner group", _named(plan.access.owners)
    for reservation in (*plan.reservations, *plan.future_reservations):
        yield reservation_owner(reservation.key), SHARED_WITH, _named(reservation.share_with)
    if not isinstance(plan.cluster, ExistingClusterPlan) and plan.cluster.node_service_account is not None:
        yield _NODES, ROLE, _named(plan.cluster.node_service_account.roles)
    if isinstance(plan.cluster, ClusterPlan):
        yield CONTROL_PLANE, AUTHORIZED_NETWORK, _authorized_networks(plan.cluster)
        yield OF_CLUSTER, SECURITY_GROUP, _named((plan.cluster.security_group,))


def reservation_owner(key: str) -> str:
    """Whose rights those of a reservation are."""
    return f"reservation {key}"


def _team_grants(team: TeamPlan) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield "group", _named(team.groups)
    yield "service type", _named(team.isolation.service_types)
    yield SERVING, _named(each.name for each in team.namespaces if each.serving)
    yield from _identity_grants(team.identity) if team.identity else ()
    yield EGRESS, {f"{e.cidr} {e.ports}": _describe_egress(e.cidr, e.ports) for e in team.isolation.egress or ()}


def _describe_egress(cidr: str, ports: Iterable[int]) -> str:
    numbers = ", ".join(map(str, ports))
    return f"to {cidr}" + (f", TCP {numbers}" if numbers else "")


def _identity_grants(identity: IdentityPlan) -> Iterator[tuple[str, Mapping[str, str]]]:
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
    return manager | {each.name or each.cidr: _describe_network(each) for each in control_plane.authorized_networks}


def _describe_network(network: AuthorizedNetwork) -> str:
    return f"{network.name} {network.cidr}".strip()


# --- ordered rights ---------------------------------------------------------------------------------------------------


def _team_levels(plan: QueueingPlan, prefix: str = "") -> dict[RightKey, _Level]:
    return {(f"{prefix}team {team.name}", right): level for team in plan.teams for right, level in _isolation(team)}


def _levels(plan: FleetPlan, workers: Collection[str], prefix: str = "") -> dict[RightKey, _Level]:
    levels = _team_levels(plan, prefix)
    if isinstance(plan.cluster, ClusterPlan):
        levels |= {(prefix + owner, right): _switch(is_on) for owner, right, is_on in _cluster_switches(plan.cluster)}
    for worker in plan.workers:
        if worker.name in workers:
            own = _levels(worker.plan, (), f"{worker.name}/")
            levels |= {key: level for key, level in own.items() if "/team " not in key[0]}
    return levels


def _isolation(team: TeamPlan) -> Iterator[tuple[str, _Level]]:
    if not any(namespace.owned for namespace in team.namespaces):
        return
    isolation: IsolationPlan = team.isolation
    exemptions = " with exemptions" if isolation.host_access and isolation.pod_security == "baseline" else ""
    level = isolation.pod_security + exemptions
    yield "Pod Security", _Level(_POD_SECURITY_LEVELS.index(level), level)
    yield "network", _Level(0, "closed") if isolation.egress is not None else _Level(1, "open")


def _switch(is_on: bool) -> _Level:
    return _Level(int(is_on), "on" if is_on else "off")


def _cluster_switches(cluster: ClusterPlan) -> Iterator[tuple[str, str, bool]]:
    """Yield the settings of a cluster that allow more while they are on."""
    control_plane = cluster.control_plane
    yield CONTROL_PLANE, PUBLIC_ENDPOINT, control_plane.public_endpoint and control_plane.ip_endpoint
    yield CONTROL_PLANE, IP_ENDPOINT, control_plane.ip_endpoint
    yield CONTROL_PLANE, DNS_ENDPOINT, bool(control_plane.dns_endpoint)
    has_networks = control_plane.authorized_networks is not None and control_plane.ip_endpoint
    yield CONTROL_PLANE, "access from all Google Cloud addresses", control_plane.google_ranges and has_networks
    yield _NODES, "public addresses", not control_plane.private_nodes
    yield _NODES, "start without Shielded GKE Nodes", not cluster.shielded_nodes
    yield _NODES, "unencrypted memory (no Confidential GKE Nodes)", cluster.confidential_nodes is None
