"""Read monitoring: the backends of the cluster, Berth's dashboards and alerts, and those of others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from berth.adopt.api_objects import (
    ApiObject,
    Fate,
    Kept,
    NotAdopted,
    StackEntry,
    labels_of,
    list_at,
    mapping_at,
    name_of,
    namespace_of,
    value_at,
)
from berth.adopt.google.alert_policies import (
    alert_entries,
    berth_policies,
    notification_channels,
    policy_changes,
    threshold_entries,
)
from berth.adopt.google.registered_resource import RegisteredResource
from berth.adopt.inventory import ClusterInventory
from berth.monitoring.dashboards import alert_keys
from berth.monitoring.metrics import IN_CLUSTER, MANAGED, PRICE
from berth.names import MANAGED_BY_LABEL
from berth.plan.monitoring import PROMETHEUS_NAMESPACE, MonitoringPlan
from berth.text import abbreviate_names

PROMETHEUS_CHART = "kube-prometheus-stack"
_OPERATOR = f"{PROMETHEUS_CHART}-operator"
_KUEUE_MONITOR = "berth-kueue"
_ALERT, _DASHBOARD = "gcp:monitoring/alertPolicy:AlertPolicy", "gcp:monitoring/dashboard:Dashboard"
_SERVER_FIELDS = ("name", "etag", "labels")
"""Fields of a dashboard that Google sets, or that Berth does not."""


# --- the stack file ---------------------------------------------------------------------------------------------------


def monitoring_section(inventory: ClusterInventory, stack: str, not_adopted: list[NotAdopted]) -> StackEntry:
    """Return the backends that exist, and thresholds and channels that differ from Berth's; nothing for defaults."""
    cluster = str(inventory.cluster["name"])
    policies = berth_policies(inventory.alert_policies, stack, cluster)
    in_cluster = _operator_release(inventory)
    entry: StackEntry = {}
    if in_cluster is not None:
        managed = bool(policies) or any(
            name_of(each) == _KUEUE_MONITOR and labels_of(each).get(MANAGED_BY_LABEL) == "berth"
            for each in inventory.objects_of_kind("PodMonitoring")
        )
        entry["backends"] = [MANAGED, IN_CLUSTER] if managed else [IN_CLUSTER]
        entry["prometheus"] = {"version": in_cluster}
    elif foreign := [
        name_of(each)
        for each in inventory.objects_of_kind("Deployment")
        if "prometheus-operator" in (name_of(each), labels_of(each).get("app.kubernetes.io/name"))
        or name_of(each) == _OPERATOR
    ]:
        not_adopted.append(
            NotAdopted(
                f"Deployment {abbreviate_names(foreign)}",
                f"a Prometheus operator that is not the Helm release {PROMETHEUS_CHART} in {PROMETHEUS_NAMESPACE}; it "
                "stays, and Berth adds no rules or dashboards to it",
                kept=Kept.OTHERS,
                names=tuple(foreign),
            )
        )
    rule_objects = (*inventory.objects_of_kind("ClusterRules"), *inventory.objects_of_kind("PrometheusRule"))
    groups = [group for each in rule_objects for group in list_at(mapping_at(each, "spec"), "groups")]
    if any(rule.get("record") == PRICE for group in groups for rule in list_at(group, "rules")):
        not_adopted.append(
            NotAdopted(
                "monitoring.prices",
                "the cluster's recording rules have prices, which are not read; write them, or the first `pulumi up` "
                "removes the rules",
            )
        )
    alerts = (
        alert_entries(policies, cluster, MANAGED)
        if policies
        else threshold_entries(_prometheus_rules(inventory), cluster, IN_CLUSTER)
    )
    entry |= {"alerts": alerts} if alerts else {}
    channels = notification_channels(policies, not_adopted)
    return entry | ({"notificationChannels": channels} if channels else {})


def _operator_release(inventory: ClusterInventory) -> str | None:
    """Return the version of the chart that runs Prometheus in the cluster, if Helm installed it as Berth would."""
    for deployment in inventory.objects_of_kind("Deployment"):
        labels = labels_of(deployment)
        version = labels.get("app.kubernetes.io/version", "").removeprefix("v")
        is_release = (namespace_of(deployment), name_of(deployment)) == (PROMETHEUS_NAMESPACE, _OPERATOR)
        if is_release and labels.get("app.kubernetes.io/managed-by") == "Helm" and version:
            return version
    return None


def _prometheus_rules(inventory: ClusterInventory) -> dict[str, tuple[object, object]]:
    """Return alert key → query and duration of the rule in Berth's PrometheusRule."""
    keys = {"Berth" + "".join(word.capitalize() for word in key.split("-")): key for key in alert_keys()}
    rules: dict[str, tuple[object, object]] = {}
    for resource in inventory.objects_of_kind("PrometheusRule"):
        if labels_of(resource).get(MANAGED_BY_LABEL) != "berth":
            continue
        for rule in (rule for group in list_at(resource, "spec.groups") for rule in group.get("rules", ())):
            if rule.get("alert") in keys:
                rules[keys[rule["alert"]]] = (rule.get("expr"), rule.get("for"))
    return rules


def absent_alerts(inventory: ClusterInventory, stack: str, plan: MonitoringPlan) -> list[str]:
    """Return the alerts that the plan has and the cluster has not, if the answers have some of Berth's alerts."""
    existing = set(berth_policies(inventory.alert_policies, stack, str(inventory.cluster["name"])))
    existing |= set(_prometheus_rules(inventory))
    return [key for key in plan.alert_keys if key not in existing] if existing else []


# --- imports ----------------------------------------------------------------------------------------------------------


def alert_policies_of(inventory: ClusterInventory, inputs: Mapping[str, Any]) -> list[ApiObject]:
    """Return the policies that a resource of the program may be: one, or several of the same key."""
    labels = mapping_at(inputs, "userLabels")
    policies = berth_policies(inventory.alert_policies, str(labels.get("fleet")), str(inventory.cluster["name"]))
    return policies.get(str(labels.get("alert")), [])


def dashboards_of(inventory: ClusterInventory, inputs: Mapping[str, Any]) -> list[ApiObject]:
    """Return the dashboards that a resource of the program may be: those with its title, about this cluster."""
    title, in_query = str(json.loads(inputs["dashboardJson"])["displayName"]), f'=\\"{inventory.cluster["name"]}\\"'
    own = [each for each in inventory.dashboards if each["displayName"] == title]
    if own:
        return own
    # Those of another stack's name about this cluster.
    alike = [each for each in inventory.dashboards if in_query in json.dumps(each)]
    return [each for each in alike if str(each["displayName"]).partition(": ")[2] == title.partition(": ")[2]]


def monitoring_id(inventory: ClusterInventory, kind: str, inputs: Mapping[str, Any]) -> str | None:
    """Return the ID to import for a dashboard or an alert policy; None if none or several may be it.

    Google names dashboards by the project's number. The provider takes that for another project and replaces them, so
    the ID names the project as the program does.
    """
    find = {_ALERT: alert_policies_of, _DASHBOARD: dashboards_of}[f"gcp:{kind}"]
    candidates = find(inventory, inputs)
    if len(candidates) != 1:
        return None
    _, collection, own_name = str(candidates[0]["name"]).rsplit("/", 2)
    return f"projects/{inventory.project}/{collection}/{own_name}"


def monitoring_changes(inventory: ClusterInventory, registered: Sequence[RegisteredResource]) -> Iterator[NotAdopted]:
    """Yield what the first `pulumi up` changes of dashboards and alerts, and what it leaves alone."""
    used: set[str] = set()
    for resource in registered:
        if resource.type == _ALERT:
            candidates, noun = alert_policies_of(inventory, resource.inputs), "alert policy"
            lines = policy_changes(candidates[0], resource.inputs) if len(candidates) == 1 else ()
        elif resource.type == _DASHBOARD:
            candidates, noun = dashboards_of(inventory, resource.inputs), "dashboard"
            lines = _dashboard_changes(candidates[0], resource.inputs) if len(candidates) == 1 else ()
        else:
            continue
        used |= {str(each["name"]) for each in candidates}
        yield from (NotAdopted(f"{noun} '{candidates[0]['displayName']}'", line, Fate.CHANGED) for line in lines)
        if len(candidates) > 1:
            names = abbreviate_names([str(each["name"]) for each in candidates])
            yield NotAdopted(
                f"{noun} '{candidates[0]['displayName']}'",
                f"{len(candidates)} may be it ({names}); delete all but one, then run berth adopt again",
                kept=Kept.SECOND,
                names=tuple(str(each["name"]) for each in candidates),
            )
    yield from _others("alert policies", inventory.alert_policies, used)
    yield from _others("dashboards", inventory.dashboards, used)


def _dashboard_changes(dashboard: ApiObject, inputs: Mapping[str, Any]) -> Iterator[str]:
    wanted = cast("dict[str, Any]", json.loads(inputs["dashboardJson"]))
    observed = {key: value for key, value in dashboard.items() if key not in _SERVER_FIELDS}
    changed = [
        key for key in sorted({**wanted, **observed}) if _comparable(wanted.get(key)) != _comparable(observed.get(key))
    ]
    if changed:
        yield f"the first `pulumi up` sets Berth's {', '.join(changed)}"


def _comparable(value: object) -> object:
    """Return a part of a dashboard without what Google leaves out or adds: positions and numbers of 0, empty parts."""
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, object]", value)
        return {key: part for key, inner in entries.items() if (part := _comparable(inner)) not in (0, "", {}, [])}
    if isinstance(value, list):
        return [_comparable(each) for each in cast("list[object]", value)]
    return value


def _others(noun: str, answers: Sequence[ApiObject], used: set[str]) -> Iterator[NotAdopted]:
    titles = sorted(str(each["displayName"]) for each in answers if each["name"] not in used)
    if titles:
        shown = abbreviate_names([f"'{title}'" for title in titles])
        why = "not Berth's for this cluster; they stay with their owner"
        yield NotAdopted(f"{noun} {shown}", why, kept=Kept.OTHERS, names=tuple(titles))


def kept_monitoring(inventory: ClusterInventory, section: StackEntry) -> StackEntry:
    """Return the section for a cluster that stays with its owner: no managed backend without Managed Prometheus."""
    is_managed = inventory.is_autopilot or value_at(
        inventory.cluster, "monitoringConfig.managedPrometheusConfig.enabled"
    )
    if is_managed:
        return section
    rest = {key: value for key, value in section.items() if key not in ("backends", "notificationChannels")}
    return {**rest, "backends": [IN_CLUSTER]} if IN_CLUSTER in section.get("backends", ()) else {"backend": "none"}
