"""What the other phrases of a headline tell: teams, quotas, rights, machines, what is replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from berth.diff.calm.differences import POOL, Difference
from berth.diff.calm.subjects import Subjects
from berth.diff.changes import Changes
from berth.diff.guard.allowances import GuardedAction
from berth.diff.kinds import ChangeKind
from berth.diff.rights.changes import SERVING
from berth.diff.rights.nodes import OPENING_INPUTS
from berth.diff.text import EMPHASIZED, EMPHASIZED_KINDS
from berth.manifests.serving.capacity_buffers import unit_name
from berth.resource import IN_WORKER, ResourceKind

_AMOUNT: Final = re.compile(
    r"spec\.resourceGroups\.flavors\.(?P<flavor>.+)\.resources\.(?P<resource>.+)\.(nominalQuota|borrowingLimit)"
)
_FLAVOR: Final = re.compile(r"spec\.resourceGroups\.flavors\.(?P<flavor>[^.]+(?:\.[^.]+)*?)(\.resources\..*)?")
_RIGHTS: Final = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "NetworkPolicy",
        "Role",
        "RoleBinding",
        "SecretProviderClass",
        "ServiceAccount",
    }
)
"""Kinds of objects whose changes are rights of the team that they belong to, or of the whole fleet."""
_RESOURCES: Final = frozenset(ResourceKind)
_RIGHT_RESOURCES: Final = (ResourceKind.ACCESS, ResourceKind.TEAM_IDENTITY, ResourceKind.NODE_IDENTITY)
_ENDS_OF_POLICIES: Final = ("spec.matchConstraints", "spec.matchResources", "spec.validationActions")
_CONTROL_PLANE: Final = (
    "masterAuthorizedNetworksConfig",
    "privateClusterConfig",
    "controlPlaneEndpointsConfig",
    "authenticatorGroupsConfig",
    "enableShieldedNodes",
    "confidentialNodes",
    "networkConfig.defaultEnablePrivateNodes",
    "defaultEnablePrivateNodes",
    "fleet",
)
"""Inputs of a cluster whose changes are rights."""


class Told:
    """What other phrases of a headline tell."""

    def __init__(self, changes: Changes, subjects: Subjects) -> None:
        self._subjects, self._changes = subjects, changes
        quotas = changes.entitlements
        stopped = (ChangeKind.HELD, ChangeKind.DRAINED, ChangeKind.RESUMED)
        self._changed_teams = {each.team for each in quotas.teams if each.what not in stopped}
        self._stopped_teams = {each.team for each in quotas.teams if each.what in stopped}
        self._stopped_queues = {each.queue for each in quotas.stops}
        self._quotas = {(each.team, each.flavor) for each in quotas.entitlements}
        self._losing = {each.team for each in quotas.entitlements if each.guaranteed.delta < 0}
        self._owners = {right.owner.rpartition(IN_WORKER)[2] for right in changes.rights if not right.is_alert}
        self._named_rights = {right.right for right in changes.rights}
        self._rights = {right.after for right in changes.rights}
        self._workers = {each.worker for each in changes.workers if each.what != ChangeKind.CHANGED}
        self._pools = {each.pool: each for each in changes.pools}
        self._moved = {
            change.key.rpartition(IN_WORKER)[0] or None
            for change in changes.things
            if change.kind in (ResourceKind.CLUSTER, ResourceKind.CONNECTION, ResourceKind.FLEET)
            and change.what in (ChangeKind.REPLACED, ChangeKind.DELETED)
        }
        self._whole = {
            (each.kind, each.worker, each.namespace, each.name): each.what
            for each in changes.objects
            if each.what != ChangeKind.UPDATED and not each.is_moved
        }
        self._is_all_unprotected = any(
            each.action == GuardedAction.UNPROTECT and each.kind == ResourceKind.PROTECTION for each in changes.losses
        )
        self._guarded_inputs = {
            (each.kind, field.input)
            for each in changes.losses
            if each.action in (GuardedAction.UNPROTECT, GuardedAction.REFUSE, GuardedAction.REDIRECT)
            for field in each.because
        }
        self._new_secrets = {
            each.worker for each in changes.objects if each.kind == "Secret" and each.what == ChangeKind.CREATED
        }
        self._amounts = {
            each.name
            for each in changes.objects
            if each.kind == "ClusterQueue" and any(".resources" in field.path for field in each.fields)
        }
        named = {each.buffer.rpartition("/")[2] for each in quotas.buffers}
        buffers = named | {unit_name(each) for each in named}

        self._judges: Mapping[str, Callable[[Difference, set[str]], bool]] = {
            **dict.fromkeys(_RIGHTS, self._has_right),
            "Namespace": lambda each, teams: (
                self._has_right(each, teams) if each.path else each.what == ChangeKind.DELETED and each.worker is None
            ),
            "ClusterQueue": self._has_queue,
            "LocalQueue": self._has_local_queue,
            "ResourceQuota": self._has_limits,
            "Cohort": lambda each, _: (
                each.path.startswith("spec.resourceGroups") and bool(changes.entitlements.cohorts)
            ),
            "ResourceFlavor": self._has_flavor,
            "PriorityClass": self._has_priority,
            "WorkloadPriorityClass": self._has_priority,
            "PropagationPolicy": self._has_propagation,
            "ClusterPropagationPolicy": self._has_propagation,
            "ElasticQuotaTree": lambda each, _: (
                ".attributes." not in each.path and bool(self._quotas) if each.path else bool(self._losing)
            ),
            "AdmissionCheck": lambda _, __: bool(self._workers),
            "MultiKueueCluster": lambda _, __: bool(self._workers),
            "MultiKueueConfig": lambda _, __: bool(self._workers),
            "MutatingWebhookConfigurationPatch": lambda _, __: SERVING in self._named_rights,
            "ValidatingWebhookConfigurationPatch": lambda _, __: SERVING in self._named_rights,
            # One comes or goes with its policy, which has the same name.
            "ValidatingAdmissionPolicyBinding": lambda each, _: (
                not each.path and self._whole.get(("ValidatingAdmissionPolicy", each.worker, "", each.key)) == each.what
            ),
            **dict.fromkeys(("CapacityBuffer", "PodTemplate"), lambda each, _: each.key in buffers),
            # The token of a manager is rotated, or goes with its worker.
            "Secret": lambda each, _: bool(self._workers) or (not each.path and each.worker in self._new_secrets),
            "ValidatingAdmissionPolicy": lambda each, _: (
                (not each.path or each.path.startswith(_ENDS_OF_POLICIES))
                and f"admission policy {each.key}" in self._owners
            ),
            **dict.fromkeys(
                # A right says what pods of the fleet's own run.
                ("DaemonSet", "Deployment", "StatefulSet", "Job", "CronJob"),
                lambda each, _: f"{each.of} {each.key} of {each.namespace}" in self._owners,
            ),
        }

    def has(self, difference: Difference) -> bool:
        """Return whether a phrase tells the difference."""
        if difference.worker in self._workers:
            return True
        teams = self._subjects.teams_of(difference)
        if difference.path == "protect" and (
            self._is_all_unprotected or (difference.of == "ClusterQueue" and self._is_stopped(difference, teams))
        ):
            return True  # protection ends for all, or of a queue that stops, which a phrase has
        if difference.worker in self._moved and difference.of not in EMPHASIZED_KINDS and difference.of != POOL:
            return not difference.path
        if difference.of == POOL:
            return self._has_pool(difference)
        if difference.of in _RESOURCES:
            return self._has_resource(difference, ResourceKind(difference.of))
        if teams and teams <= self._changed_teams:
            return True
        judge = self._judges.get(difference.of)
        return self._is_in_deleted_namespace(difference) if judge is None else judge(difference, teams)

    def _is_stopped(self, difference: Difference, teams: set[str]) -> bool:
        queue = self._subjects.local_queues.get((difference.namespace, difference.key), difference.key)
        return queue in self._stopped_queues or bool(teams & self._stopped_teams)

    # --- machines and other resources ---------------------------------------------------------------------------------

    def _has_pool(self, difference: Difference) -> bool:
        is_named = difference.what in EMPHASIZED or difference.what == ChangeKind.RECREATED
        hit = bool(self._pools[difference.key].hit_nodes) and difference.path in ("nodes", "nodeLocations")
        name = difference.key.rpartition(IN_WORKER)[2]
        return is_named or hit or (difference.path in OPENING_INPUTS and f"pool {name}" in self._owners)

    def _has_resource(self, difference: Difference, kind: ResourceKind) -> bool:
        if kind in _RIGHT_RESOURCES:
            owner = f"team {difference.key}"
            named = owner in self._owners or difference.key in self._changed_teams
            return named if kind == ResourceKind.TEAM_IDENTITY else bool(self._owners or self._changed_teams)
        if kind == ResourceKind.CONTROLLER and f"controller {difference.key}" in self._owners:
            path = difference.path
            is_setting = path.startswith("values.") and ("managerConfig" not in path or "accessProviders" in path)
            if not path or is_setting or (path in ("chart", "version") and difference.after in self._rights):
                return True
        if kind == ResourceKind.CONTROLLER and difference.path.endswith(".manageJobsWithoutQueueName"):
            return "fleet" in self._owners
        if not difference.path:
            is_released = kind == ResourceKind.CONTROLLER and difference.what == ChangeKind.UNMANAGED
            is_named = difference.what in EMPHASIZED and kind in EMPHASIZED_KINDS
            is_alert = kind == ResourceKind.ALERT and any(right.is_alert for right in self._changes.rights)
            return is_released or is_named or (is_alert and difference.what == ChangeKind.DELETED)
        if kind == ResourceKind.CLUSTER and difference.path.startswith(_CONTROL_PLANE):
            return bool(self._owners & {"control plane", "nodes", "cluster"})
        if kind == ResourceKind.SYSTEM_POOL and difference.path in OPENING_INPUTS:
            return "system pool" in self._owners
        if kind in (ResourceKind.RESERVATION, ResourceKind.FUTURE_RESERVATION) and "share" in difference.path.lower():
            return f"reservation {difference.key}" in self._owners
        if kind == ResourceKind.ALERT and self._moved:
            return True  # its queries name the cluster
        return (kind, difference.path) in self._guarded_inputs

    # --- objects ------------------------------------------------------------------------------------------------------

    def _has_right(self, difference: Difference, teams: set[str]) -> bool:
        if self._is_in_deleted_namespace(difference):
            return True
        return bool(self._owners & ({f"team {team}" for team in teams} or self._owners))

    def _has_queue(self, difference: Difference, teams: set[str]) -> bool:
        """Return whether a queue comes or goes with a quota that a phrase has, or has an amount that a phrase has."""
        if difference.path.endswith("stopPolicy"):
            return self._is_stopped(difference, teams)
        if difference.path.startswith("spec.namespaceSelector"):
            return f"queue {difference.key}" in self._owners
        if difference.path == "spec.preemption.reclaimWithinCohort":
            return any(each.queue == difference.key for each in self._changes.entitlements.reclaim)
        if not difference.path:
            return False
        amount = _AMOUNT.fullmatch(difference.path)
        if amount is not None and not difference.block:
            named = any((team, amount["flavor"]) in self._quotas for team in teams)
            return named and self._subjects.is_proportional(difference.key, amount["flavor"], amount["resource"])
        flavor = _FLAVOR.fullmatch(difference.block)
        return flavor is not None and any((team, flavor["flavor"]) in self._quotas for team in teams)

    def _has_local_queue(self, difference: Difference, teams: set[str]) -> bool:
        queue = self._subjects.local_queues.get((difference.namespace, difference.key), "")
        if not difference.path and ("ClusterQueue", difference.worker, "", queue) in self._whole:
            return True
        return self._is_in_deleted_namespace(difference) or (
            difference.path.endswith("stopPolicy") and self._is_stopped(difference, teams)
        )

    def _has_limits(self, difference: Difference, teams: set[str]) -> bool:
        """Return whether the limits of a namespace follow from quotas of its team, which a phrase has."""
        named = {team for team, _ in self._quotas} | {
            team for queue in self._amounts for team in self._subjects.queues.get(queue, ())
        }
        is_request = difference.path.startswith("spec.hard.requests.") or difference.path == "spec.hard.pods"
        return self._is_in_deleted_namespace(difference) or (is_request and bool(teams & named))

    def _has_flavor(self, difference: Difference, teams: set[str]) -> bool:
        """Return whether a flavor follows from its pools: they come, go, or are created again, and a phrase says so."""
        pools = self._subjects.pools.get(difference.key, ())
        if difference.worker is not None:
            prefix = f"{difference.worker}{IN_WORKER}"
            full = (pool if IN_WORKER in pool else f"{prefix}{pool}" for pool in pools)
            pools = tuple(pool for pool in full if pool.startswith(prefix)) or pools
        own = [self._pools[pool] for pool in pools if pool in self._pools]
        ends = (ChangeKind.ADDED, ChangeKind.REPLACED, ChangeKind.DELETED, ChangeKind.RECREATED, ChangeKind.UNMANAGED)
        label = difference.path.removeprefix("spec.nodeLabels.")
        is_labelled = difference.before is None and all(
            any(
                field.input == f"nodeConfig.labels.{label}" and field.after == difference.after for field in each.fields
            )
            for each in own
        )
        return bool(own) and len(own) == len(pools) and (all(each.what in ends for each in own) or is_labelled)

    def _has_priority(self, difference: Difference, teams: set[str]) -> bool:
        changes = self._changes.entitlements
        if (
            difference.what == ChangeKind.CREATED
        ):  # below another one: no job has it yet, and it is above no other team's
            return any(
                each.priority == difference.key and each.value[0] is None and each.below for each in changes.priorities
            )
        is_replaced = self._whole.get(("PriorityClass", difference.worker, "", difference.key)) == ChangeKind.REPLACED
        return difference.path in ("", "value") and (is_replaced or bool(changes.priority_order))

    def _has_propagation(self, difference: Difference, teams: set[str]) -> bool:
        if difference.of == "ClusterPropagationPolicy":  # selects the namespaces of the teams
            namespaces = {name for name, team in self._subjects.namespaces.items() if team in self._changed_teams}
            return any(f".{name}" in difference.block for name in namespaces)
        return bool(self._changes.entitlements.queueing)

    def _is_in_deleted_namespace(self, difference: Difference) -> bool:
        """Return whether an object goes with its namespace, or comes with it."""
        whats = difference.what, self._whole.get(("Namespace", difference.worker, "", difference.namespace))
        return whats in ((ChangeKind.DELETED, ChangeKind.DELETED), (ChangeKind.CREATED, ChangeKind.CREATED))
