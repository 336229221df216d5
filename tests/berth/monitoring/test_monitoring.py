"""Dashboards and alerts name metrics that exist, and say of each fleet what concerns it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from berth.manifests import cloud_monitoring, grafana
from berth.manifests.monitoring import rule_groups
from berth.monitoring.dashboards import MAX_TEAM_PANELS
from berth.monitoring.metrics import (
    IN_CLUSTER,
    MANAGED,
    find_metric,
    is_available,
    load_table,
    metrics_by_name,
    render_query,
)
from berth.plan.monitoring import MonitoringPlan
from tests.small_fleets import fleet_of_pools, fleet_with, problems, run_planner
from tests.stack_files import GKE_STACKS, ROOT, clusters, evaluation

UNWATCHED = {"local"}
"""Stacks of an existing cluster, which is not watched unless its stack file says so."""
every_watched_stack = pytest.mark.parametrize("stack", [stack for stack in GKE_STACKS if stack not in UNWATCHED])

FUNCTIONS = {
    "sum", "max", "min", "avg", "count", "absent", "rate", "increase", "delta", "histogram_quantile", "topk",
    "bottomk", "vector", "by", "on", "and",
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_:]*")


def watched(plan: Any) -> MonitoringPlan:
    """The monitoring of a plan that has some."""
    assert plan.monitoring is not None
    return plan.monitoring


@pytest.mark.parametrize("stack", sorted(UNWATCHED))
def test_an_existing_cluster_is_watched_only_where_it_is_written(stack: str) -> None:
    plan = evaluation(stack).plan
    assert plan is not None
    assert plan.monitoring is None


def queries(plan: MonitoringPlan) -> Iterator[str]:
    """Every query of a fleet, of dashboards and alerts."""
    for board in plan.dashboards:
        for section in board.sections:
            for panel in section.panels:
                yield from panel.queries.values()
    for alert in plan.alerts:
        yield alert.query


def named(promql: str) -> set[str]:
    """The series that a query names, read without the reader of the tables: what is no function, label or value."""
    bare = re.sub(r"\{[^}]*\}", "", promql)
    bare = re.sub(r"\b(by|on) \([^)]*\)", "", bare)
    bare = re.sub(r"\[\w+\]", "", bare)
    return {name for name in _NAME.findall(bare) if name not in FUNCTIONS}


@pytest.fixture(params=["managed", "in-cluster"])
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend."""
    return request.param


# --- the tables -------------------------------------------------------------------------------------------------------


def expressions() -> Iterator[tuple[str, str, list[str]]]:
    """Every expression of the tables with where it stands and the labels that its reader is shown."""
    for board in load_table("dashboards"):
        for section in board["sections"]:
            for panel in section["panels"]:
                for legend, text in panel["queries"].items():
                    yield f"{board['key']}/{panel['title']}", text, re.findall(r"\{\{(\w+)\}\}", legend)
    for alert in load_table("alerts"):
        yield alert["key"], alert["expression"].replace("{limit}", "1"), alert.get("by", [])


ALL = {where: (text, shown) for where, text, shown in expressions()}


@pytest.mark.parametrize("where", sorted(ALL))
def test_every_expression_of_the_tables_is_understood_and_shows_labels_that_its_series_have(where: str) -> None:
    text, shown = ALL[where]
    promql = render_query(text, MANAGED, "dev")
    assert "<" not in re.sub(r"< [\d{]", "", promql)
    assert promql.count("(") == promql.count(")")
    assert named(promql)
    for label in shown:
        grouped = re.findall(r"\bby \(([^)]*)\)", promql)
        if grouped:
            assert any(label in group.split(", ") for group in grouped), f"{label} is summed away"
        else:
            assert all(label in find_metric(series).labels for series in named(promql))


def test_a_metric_or_a_label_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KeyError, match="kueue_waiting"):
        render_query("sum(<kueue_waiting>)", MANAGED, "dev")
    with pytest.raises(ValueError, match="team"):
        render_query('sum(<kueue_pending_workloads team="a">)', MANAGED, "dev")
    with pytest.raises(ValueError, match="invalid metric term"):
        render_query("sum(<kueue_pending_workloads status>)", MANAGED, "dev")
    with pytest.raises(KeyError, match="kueue_pending_workloads_bucket"):
        render_query("sum(<kueue_pending_workloads_bucket>)", MANAGED, "dev")


def test_a_histogram_is_asked_for_by_its_series() -> None:
    assert find_metric("kueue_admission_wait_time_seconds_bucket").name == "kueue_admission_wait_time_seconds"
    with pytest.raises(KeyError):
        find_metric("kueue_admission_wait_time_seconds")


def test_the_selector_names_the_cluster_only_where_others_could_be_seen() -> None:
    request = 'sum(<kueue_pending_workloads status="active">)'
    leader = 'replica_role!="follower"'
    assert (
        render_query(request, MANAGED, "dev")
        == f'sum(kueue_pending_workloads{{{leader},cluster="dev",status="active"}})'
    )
    assert render_query(request, IN_CLUSTER, "dev") == f'sum(kueue_pending_workloads{{{leader},status="active"}})'
    system = render_query("<kubernetes_io:node_accelerator_duty_cycle>", MANAGED, "dev")
    assert system.endswith('{monitored_resource="k8s_node",cluster_name="dev"}')


def test_a_metric_is_available_where_its_source_is_and_its_setting_is_on() -> None:
    assert is_available("<kueue_pending_workloads>", IN_CLUSTER, frozenset())
    assert not is_available("<kubernetes_io:node_pool_status>", IN_CLUSTER, frozenset())
    assert not is_available("<kueue_cluster_queue_nominal_quota>", MANAGED, frozenset())
    assert is_available("<kueue_cluster_queue_nominal_quota>", MANAGED, frozenset({"queueResources"}))


def test_every_metric_of_the_table_has_a_source_and_known_kind() -> None:
    assert {metric.kind for metric in metrics_by_name().values()} == {"gauge", "counter", "histogram"}
    assert {backend for metric in metrics_by_name().values() for backend in metric.backends} == {MANAGED, IN_CLUSTER}


# --- every fleet ------------------------------------------------------------------------------------------------------


@every_watched_stack
def test_the_dashboards_and_alerts_of_a_fleet_name_only_metrics_of_the_table(stack: str) -> None:
    plan = watched(evaluation(stack).plan)
    values = [series for promql in queries(plan) for series in named(promql)]
    assert values
    for series in values:
        assert plan.backend in find_metric(series).backends


@every_watched_stack
def test_a_fleet_is_shown_what_concerns_it(stack: str) -> None:
    for _, plan in clusters(stack):
        kinds = {pool.resource for pool in plan.pools}
        keys = {board.key for board in watched(plan).dashboards}
        assert ("gpus" in keys) == ("nvidia.com/gpu" in kinds)
        assert ("tpus" in keys) == ("google.com/tpu" in kinds)
        assert {"queues", "capacity"} <= keys
        alerts = {alert.key for alert in watched(plan).alerts}
        assert ("slice-unavailable" in alerts) == any((pool.hosts_per_slice or 1) > 1 for pool in plan.pools)


@every_watched_stack
def test_a_teams_panel_draws_its_guarantee_and_its_ceiling(stack: str) -> None:
    """The figures of the plan, found again in the panels."""
    plan = evaluation(stack).plan
    assert plan is not None
    (queues,) = [board for board in watched(plan).dashboards if board.key == "queues"]
    panels = {panel.title: panel for section in queues.sections for panel in section.panels}
    own = {t.name: [q.name for q in plan.cluster_queues if q.teams == (t.name,)] for t in plan.teams}
    nouns = {flavor.name: flavor.noun for flavor in plan.flavors}
    for team in plan.teams:
        for flavor, ceiling in team.ceiling.items() if own[team.name] and len(plan.teams) <= MAX_TEAM_PANELS else ():
            panel = panels[f"{team.name}: {nouns[flavor]} of {flavor}"]
            assert panel.limit == ceiling
            assert panel.queries["guaranteed"] == f"vector({team.guaranteed.get(flavor, 0)})"
            assert all(name in panel.queries["used"] for name in own[team.name])


@every_watched_stack
def test_tiles_lie_side_by_side_within_the_columns(stack: str) -> None:
    """Cloud Monitoring refuses tiles that overlap or stick out; a position of 0 comes back as none."""
    for board in watched(evaluation(stack).plan).dashboards:
        taken: set[tuple[int, int]] = set()
        for tile in cloud_monitoring.dashboard(board, stack)["mosaicLayout"]["tiles"]:
            assert 0 not in tile.values()
            left, top = tile.get("xPos", 0), tile.get("yPos", 0)
            assert left + tile["width"] <= cloud_monitoring.COLUMNS
            cells = {(x, y) for x in range(left, left + tile["width"]) for y in range(top, top + tile["height"])}
            assert not taken & cells
            taken |= cells


@every_watched_stack
def test_a_dashboard_is_the_same_text_every_time(stack: str) -> None:
    for board in watched(evaluation(stack).plan).dashboards:
        assert cloud_monitoring.dashboard_json(board, stack) == cloud_monitoring.dashboard_json(board, stack)
        assert grafana.dashboard_json(board, stack) == grafana.dashboard_json(board, stack)
        assert len(grafana.dashboard(board, stack)["uid"]) <= grafana.MAX_UID


@every_watched_stack
def test_grafana_shows_the_same_panels_in_rows_of_three(stack: str) -> None:
    for board in watched(evaluation(stack).plan).dashboards:
        drawn = grafana.dashboard(board, stack)["panels"]
        assert [p["title"] for p in drawn if p["type"] == "timeseries"] == [
            panel.title for section in board.sections for panel in section.panels
        ]
        assert len({p["id"] for p in drawn}) == len(drawn)
        places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in drawn]
        assert len(set(places)) == len(places)
        assert max(p["gridPos"]["x"] + p["gridPos"]["w"] for p in drawn) <= 24


# --- what a stack file says -------------------------------------------------------------------------------------------


def test_a_prometheus_in_the_cluster_is_shown_only_what_it_can_see() -> None:
    plan = watched(run_planner(fleet_with({"monitoring": {"backend": "in-cluster"}})).plan)
    assert {find_metric(series).backends for promql in queries(plan) for series in named(promql)} == {
        frozenset({MANAGED, IN_CLUSTER})
    }
    assert "tpus" not in {board.key for board in plan.dashboards}
    assert [(chart.name, chart.namespace) for chart in plan.charts] == [("kube-prometheus-stack", "monitoring")]
    assert "adminPassword" in str(plan.charts[0].values)
    assert plan.charts[0].values["grafana"]["adminPassword"] == ""  # type: ignore[index]


def test_no_backend_watches_nothing() -> None:
    assert run_planner(fleet_with({"monitoring": {"backend": "none"}})).plan.monitoring is None


def test_a_threshold_and_a_duration_can_be_changed_and_an_alert_left_out() -> None:
    written = {"inadmissible": {"limit": 5, "for": "2h"}, "accelerators-idle": False}
    plan = watched(run_planner(fleet_with({"monitoring": {"alerts": written}})).plan)
    alerts = {alert.key: alert for alert in plan.alerts}
    assert alerts["inadmissible"].seconds == 7200
    assert alerts["inadmissible"].query.endswith(" > 5")
    assert "accelerators-idle" not in alerts
    assert "memory-full" in alerts


def test_all_alerts_and_all_dashboards_can_be_left_out() -> None:
    plan = watched(run_planner(fleet_with({"monitoring": {"alerts": False, "dashboards": False}})).plan)
    assert (plan.alerts, plan.dashboards) == ((), ())


def test_without_kueues_own_figures_no_panel_asks_for_them() -> None:
    off = {"kueue.metrics": {"enableClusterQueueResources": False}}
    plan = watched(run_planner(fleet_with(off)).plan)
    assert not [promql for promql in queries(plan) if "resource_usage" in promql or "nominal_quota" in promql]


def test_many_teams_have_no_panel_each() -> None:
    queues = {
        f"t{n}": {"queues": {"q": {"flavors": [{"pool": "l4", "guaranteed": 1}]}}} for n in range(MAX_TEAM_PANELS + 1)
    }
    fleet = fleet_of_pools({"l4": {"machineType": "g2-standard-24", "nodes": 20, "zone": "us-central1-a"}})
    titles = {
        section.title
        for board in watched(run_planner(fleet_with({"teams": queues}, fleet)).plan).dashboards
        for section in board.sections
    }
    assert not [title for title in titles if title.startswith("Teams:")]
    assert problems(fleet_with({"teams": queues}, fleet)) is not None


def test_a_fleet_without_accelerators_of_a_kind_has_no_alert_about_them() -> None:
    fleet = fleet_of_pools({"l4": {"machineType": "g2-standard-24", "nodes": 2, "zone": "us-central1-a"}})
    alerts = {alert.key for alert in watched(run_planner(fleet).plan).alerts}
    assert "gpu-quota-nearly-used" in alerts
    assert not {"slice-unavailable", "tpu-quota-nearly-used", "low-goodput"} & alerts


# --- promtool ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not on PATH")
def test_promtool_accepts_every_alert(backend: str, tmp_path: Path) -> None:
    fleet = fleet_with({"monitoring": {"backend": backend}})
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(rule_groups(watched(run_planner(fleet).plan).alerts)), encoding="utf-8")
    done = subprocess.run(["promtool", "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_lists_every_alert_with_its_limit_and_duration() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| ([^|]+) \| (\w+) \|", page, flags=re.MULTILINE)
    assert listed == [(row["key"], str(row.get("limit", "–")), row["for"]) for row in load_table("alerts")]
