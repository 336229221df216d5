"""Read Berth's alert policies: their thresholds and channels as keys of `monitoring`, by the table of alerts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from berth.adopt.api_objects import ApiObject, NotAdopted, StackEntry, list_at, mapping_at, other_than, stated, value_at
from berth.monitoring.dashboards import alert_seconds
from berth.monitoring.metrics import MANAGED, monitoring_table, render_query
from berth.text import abbreviate_names

_LIMIT = "8675309421"
"""A number that no query has, in the place of a threshold."""
_NUMBER = r"([0-9.]+(?:e[+-]?[0-9]+)?)"
_CONDITION = "conditionPrometheusQueryLanguage"


def berth_policies(policies: Sequence[ApiObject], stack: str, cluster: str) -> dict[str, list[ApiObject]]:
    """Return alert key → the policies that Berth made of it for a cluster; only those of this stack if it has some.

    A policy belongs to the cluster that its query names. Some queries are about the project and name none; such a
    policy belongs to the stack that has the others.
    """
    by_berth = [each for each in policies if value_at(each, "userLabels.managed-by") == "berth" and _key(each)]
    stacks = {_fleet(each) for each in by_berth if f'="{cluster}"' in _query(each)}
    # Alerts whose query names the cluster, as Berth writes it.
    about_cluster = {
        row["key"]: f'="{cluster}"' in render_query(row["expression"], MANAGED, cluster) for row in _rows()
    }
    result: dict[str, list[ApiObject]] = {}
    for policy in by_berth:
        names_cluster = f'="{cluster}"' in _query(policy)
        if names_cluster or (_fleet(policy) in stacks and not about_cluster.get(_key(policy), True)):
            result.setdefault(_key(policy), []).append(policy)
    return {key: [p for p in of_key if _fleet(p) == stack] or of_key for key, of_key in result.items()}


def _key(policy: ApiObject) -> str:
    return str(value_at(policy, "userLabels.alert") or "")


def _fleet(policy: ApiObject) -> object:
    return value_at(policy, "userLabels.fleet")


def _query(policy: ApiObject) -> str:
    return str(_condition(policy).get("query"))


def alert_entries(policies: Mapping[str, Sequence[ApiObject]], cluster: str, backend: str) -> dict[str, StackEntry]:
    """Return alert → its threshold and duration, as far as they differ from the table's."""
    conditions = {key: _condition(same_key[0]) for key, same_key in policies.items() if same_key}
    rules = {key: (each.get("query"), each.get("duration")) for key, each in conditions.items()}
    return threshold_entries(rules, cluster, backend)


def threshold_entries(rules: Mapping[str, tuple[object, object]], cluster: str, backend: str) -> dict[str, StackEntry]:
    """Return alert → threshold and duration that differ from the table's; `rules` has query and duration of each."""
    result: dict[str, StackEntry] = {}
    for row in _rows():
        query, duration = rules.get(row["key"], ("", ""))
        limit = other_than(row.get("limit"), read_limit(row, str(query), cluster, backend))
        seconds = other_than(alert_seconds(row["for"]), _seconds(duration))
        result[row["key"]] = stated(
            {
                "limit": limit,
                "for": None if seconds is None else f"{seconds}s",
            }
        )
    return stated(result)


def read_limit(row: Mapping[str, Any], query: str, cluster: str, backend: str) -> float | None:
    """Return the threshold in a query of an alert; None if it is another query, or has no threshold."""
    if "limit" not in row:
        return None
    text = render_query(row["expression"].replace("{limit}", _LIMIT), backend, cluster)
    first, *others = re.escape(text).split(_LIMIT)
    pattern = first + _NUMBER + r"\1".join(others) if others else first
    match = re.fullmatch(pattern, query)
    return float(match[1]) if match else None


def _rows() -> list[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", monitoring_table("alerts"))


def _condition(policy: ApiObject) -> ApiObject:
    conditions = list_at(policy, "conditions")
    return mapping_at(conditions[0], _CONDITION) if conditions else {}


def _seconds(duration: object) -> int | None:
    match = re.fullmatch(r"([0-9]+)s", str(duration))
    return int(match[1]) if match else None


def notification_channels(policies: Mapping[str, Sequence[ApiObject]], not_adopted: list[NotAdopted]) -> list[str]:
    """Return the channels of the policies; a stack has the same for all, so differing ones are reported."""
    channels = [frozenset(list_at(each[0], "notificationChannels")) for each in policies.values() if each]
    every = sorted(frozenset[str]().union(*channels))
    if len(set(channels)) > 1:
        few = [
            key
            for key, same_key in policies.items()
            if same_key and len(list_at(same_key[0], "notificationChannels")) < len(every)
        ]
        not_adopted.append(
            NotAdopted(
                f"alert policies {abbreviate_names(few)}",
                f"they notify fewer channels than the others; the first `pulumi up` gives all {len(every)} to each",
            )
        )
    return every


# --- what would change ------------------------------------------------------------------------------------------------


def policy_changes(policy: ApiObject, inputs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a policy that the first `pulumi up` would change."""
    wanted, observed = _compared(inputs), _compared(policy)
    changed = [key for key, value in wanted.items() if value != observed[key]]
    labels, before = mapping_at(inputs, "userLabels"), mapping_at(policy, "userLabels")
    changed += [f"userLabels.{key}" for key in sorted({**labels, **before}) if labels.get(key) != before.get(key)]
    if sorted(list_at(inputs, "notificationChannels")) != sorted(list_at(policy, "notificationChannels")):
        changed.append("notificationChannels")
    if policy.get("enabled") is False:
        changed.append("enabled (it is off)")
    if changed:
        yield f"the first `pulumi up` sets Berth's {', '.join(changed)}"


def _compared(policy: ApiObject) -> dict[str, object]:
    """Return the fields of a policy, or of the inputs of one, that Berth sets."""
    return {
        **{key: policy.get(key) for key in ("displayName", "severity", "combiner")},
        **{key: _condition(policy).get(key) for key in ("query", "duration")},
        "documentation": value_at(policy, "documentation.content"),
        "alertStrategy.autoClose": value_at(policy, "alertStrategy.autoClose"),
    }
