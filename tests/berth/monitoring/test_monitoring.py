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
from berth.manifests.monitoring import monitoring_manifests, rule_groups
from berth.monitoring.dashboards import AUTO_CREATED, MAX_TEAM_PANELS, PanelValues
from berth.monitoring.metrics import (
    IN_CLUSTER,
    MANAGED,
    PRICE,
    QUEUE_INFO,
    find_metric,
    is_available,
    metrics_by_name,
    monitoring_table,
    render_query,
)
from berth.plan.monitoring import BackendPlan, DashboardPlan, MonitoringPlan, PanelPlan, SectionPlan
from tests.berth.monitoring.promql import Selection, labels_of_result, selections
from tests.small_fleets import fleet_of_pools, fleet_with, problems, run_planner
from tests.stack_files import GKE_STACKS, ROOT, clusters, evaluation

UNWATCHED = {"local"}
"""Stacks of an existing cluster, which is not watched unless its stack file says so."""
SELECTOR_LABELS = {"replica_role", "cluster", "cluster_name", "monitored_resource"}
"""Labels that Berth adds to every query of a source."""
every_watched_stack = pytest.mark.parametrize("stack", [stack for stack in GKE_STACKS if stack not in UNWATCHED])


def watched(plan: Any) -> MonitoringPlan:
    """The monitoring of a plan that has some."""
    assert plan.monitoring is not None
    return plan.monitoring


@pytest.mark.parametrize("stack", sorted(UNWATCHED))
def test_an_existing_cluster_has_monitoring_only_if_stated(stack: str) -> None:
    plan = evaluation(stack).fleet_plan
    assert plan is not None
    assert plan.monitoring is None


def queries(backend: BackendPlan) -> Iterator[str]:
    """Every query of a backend, of dashboards, alerts and recording rules."""
    for board in backend.dashboards:
        for section in board.sections:
            for panel in section.panels:
                yield from panel.queries.values()
    yield from (alert.query for alert in backend.alerts)
    yield from (rule.query for rule in backend.recordings)


def only(plan: Any) -> BackendPlan:
    """The only backend of a plan."""
    (backend,) = watched(plan).backends
    return backend


def panels(backend: BackendPlan) -> list[tuple[str, PanelPlan]]:
    """Every panel with the key of its dashboard."""
    return [(board.key, panel) for board in backend.dashboards for each in board.sections for panel in each.panels]


@pytest.fixture(params=["managed", "in-cluster"])
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend."""
    return request.param


# --- the tables -------------------------------------------------------------------------------------------------------


SAMPLE = tuple(
    {"flavor": "l4", "resource": "nvidia.com/gpu", "noun": "L4", "team": "a", "size": 8.0, "capacity": "spot"}.items()
)
VALUES = PanelValues(
    flavors=(SAMPLE,), teams=(SAMPLE,), capacities=((*SAMPLE, ("node_pools", '=~"a|b"')),), currency="USD"
)


def expressions() -> Iterator[tuple[str, str, list[str]]]:
    """Every expression of the tables with the place where it is written and the labels that its reader is shown."""
    for board in monitoring_table("dashboards"):
        for section in board["sections"]:
            for row in section["panels"]:
                for panel in VALUES.expand(row):
                    for legend, text in panel["queries"].items():
                        yield f"{board['key']}/{panel['title']}", text, re.findall(r"\{\{(\w+)\}\}", legend)
    for alert in monitoring_table("alerts"):
        yield alert["key"], alert["expression"].replace("{limit}", "1"), alert.get("by", [])
    for rule in monitoring_table("recordings"):
        yield rule["record"], rule["expression"], []


ALL = [pytest.param(text, shown, id=f"{where} {n}") for n, (where, text, shown) in enumerate(expressions())]


@pytest.mark.parametrize(("text", "shown"), ALL)
def test_every_expression_of_the_tables_is_promql_and_shows_labels_that_its_series_have(
    text: str, shown: list[str]
) -> None:
    for backend in (MANAGED, IN_CLUSTER):
        promql = render_query(text, backend, "dev")
        found = selections(promql)
        assert found
        kept = labels_of_result(promql)
        for each in found:
            assert set(each.labels) <= find_metric(each.series).labels | set(each.labels) & SELECTOR_LABELS
        for label in shown:
            if kept is None:
                assert all(label in find_metric(each.series).labels for each in found), f"{label} does not exist"
            else:
                assert label in kept, f"{label} is summed away"


@pytest.mark.parametrize(("text", "shown"), ALL)
def test_counters_are_read_as_counters_and_gauges_are_not(text: str, shown: list[str]) -> None:
    """`increase` needs a counter, because it counts every rise of a gauge; distributions follow their kind."""
    for each in selections(render_query(text, MANAGED, "dev")):
        metric = find_metric(each.series)
        expected = {
            "counter": {"rate", "increase"},
            "gauge": {"", "sum_over_time", "avg_over_time", "count_over_time", "delta"},
            "histogram": {"sum_over_time"} if metric.sampled else {"rate", "increase"},
        }
        assert each.function in expected[metric.kind]


def test_a_metric_or_a_label_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KeyError, match="kueue_waiting"):
        render_query("sum(<kueue_waiting>)", MANAGED, "dev")
    with pytest.raises(ValueError, match="team"):
        render_query('sum(<kueue_pending_workloads team="a">)', MANAGED, "dev")
    with pytest.raises(ValueError, match="invalid metric term"):
        render_query("sum(<kueue_pending_workloads status>)", MANAGED, "dev")
    with pytest.raises(KeyError, match="kueue_pending_workloads_bucket"):
        render_query("sum(<kueue_pending_workloads_bucket>)", MANAGED, "dev")


def test_a_histogram_is_queried_by_its_series() -> None:
    assert find_metric("kueue_admission_wait_time_seconds_bucket").name == "kueue_admission_wait_time_seconds"
    with pytest.raises(KeyError):
        find_metric("kueue_admission_wait_time_seconds")


def test_the_selector_has_the_cluster_only_if_others_are_visible() -> None:
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
    assert not is_available("<kube_node_labels>", MANAGED, frozenset())
    assert not is_available("<kueue_unadmitted_workloads>", MANAGED, frozenset({"queueResources"}))
    assert is_available("<kueue_pending_workloads>", IN_CLUSTER, frozenset())
    assert not is_available("<kubernetes_io:node_pool_status>", IN_CLUSTER, frozenset())
    assert not is_available("<kueue_cluster_queue_nominal_quota>", MANAGED, frozenset())
    assert is_available("<kueue_cluster_queue_nominal_quota>", MANAGED, frozenset({"queueResources"}))


def test_every_metric_of_the_table_has_a_source_and_known_kind() -> None:
    assert {metric.kind for metric in metrics_by_name().values()} == {"gauge", "counter", "histogram"}
    assert {backend for metric in metrics_by_name().values() for backend in metric.backends} == {MANAGED, IN_CLUSTER}


# --- every fleet ------------------------------------------------------------------------------------------------------


@every_watched_stack
def test_the_dashboards_and_alerts_of_a_fleet_name_only_metrics_of_its_backends(stack: str) -> None:
    for backend in watched(evaluation(stack).fleet_plan).backends:
        found = [each.series for promql in queries(backend) for each in _selected(promql)]
        assert found
        for series in found:
            assert backend.name in find_metric(series).backends


def _selected(promql: str) -> list[Selection]:
    return [] if promql.startswith("vector(") else selections(promql)


@every_watched_stack
def test_a_fleet_has_only_its_own_dashboards(stack: str) -> None:
    for _, plan in clusters(stack):
        kinds = {pool.resource for pool in plan.pools}
        for backend in watched(plan).backends:
            keys = {board.key for board in backend.dashboards}
            assert ("gpus" in keys) == ("nvidia.com/gpu" in kinds)
            assert ("tpus" in keys) == ("google.com/tpu" in kinds)
            assert {"queues", "capacity"} <= keys
            if backend.name == MANAGED:
                alerts = {alert.key for alert in backend.alerts}
                assert ("slice-unavailable" in alerts) == any((pool.hosts_per_slice or 1) > 1 for pool in plan.pools)


@every_watched_stack
def test_a_teams_panel_draws_its_figures_and_its_ceiling(stack: str) -> None:
    """Ceilings of the plan are drawn as lines, and each figure selects the team and the flavor."""
    plan = evaluation(stack).fleet_plan
    assert plan is not None
    own = [(q.teams[0], each.flavor) for q in plan.cluster_queues if len(q.teams) == 1 for each in q.flavors]
    nouns = {flavor.name: flavor.noun for flavor in plan.flavors}
    wanted = [(t, f, c) for t in plan.teams for f, c in t.ceiling.items() if (t.name, f) in own and c]
    for backend in watched(plan).backends:
        found = {panel.title: panel for _, panel in panels(backend)}
        for team, flavor, ceiling in wanted if len(wanted) <= MAX_TEAM_PANELS else []:
            panel = found[f"{team.name}: {nouns[flavor]} of {flavor}"]
            assert panel.limit == ceiling
            assert list(panel.queries) == ["used", "guaranteed", "borrowed", "lent", "idle"]
            for figure, query in panel.queries.items():
                assert f"berth:team:{figure}{{" in query
                assert f'team="{team.name}",flavor="{flavor}"' in query


@every_watched_stack
def test_every_node_pool_is_counted_under_its_capacity(stack: str) -> None:
    plan = evaluation(stack).fleet_plan
    assert plan is not None
    for backend in watched(plan).backends:
        found = [panel for _, panel in panels(backend) if panel.title == "Nodes by capacity type"]
        assert len(found) == bool(plan.own_pools)
        for panel, pool in ((panel, pool) for panel in found for pool in plan.own_pools):
            for each in pool.node_pools:
                (counted,) = re.findall(r'=~"([^"]*)"', panel.queries[pool.capacity])
                assert each.name in counted.split("|")
        auto_created = [panel for panel in found if AUTO_CREATED in panel.queries]
        assert bool(auto_created) == any(pool.made_by == "gke" for pool in plan.own_pools)


@every_watched_stack
def test_every_queue_has_its_team_and_the_root_of_its_cohort_tree(stack: str) -> None:
    plan = evaluation(stack).fleet_plan
    assert plan is not None
    parents = {cohort.name: cohort.parent for cohort in plan.cohorts}
    for backend in watched(plan).backends:
        infos = {each.labels["cluster_queue"]: each.labels for each in backend.recordings if each.name == QUEUE_INFO}
        assert set(infos) == {queue.name for queue in plan.cluster_queues}
        for queue in plan.cluster_queues:
            root = queue.cohort
            while root is not None and parents.get(root) is not None:
                root = parents[root]
            assert infos[queue.name].get("root_cohort") == root
            assert infos[queue.name].get("team") == (queue.teams[0] if len(queue.teams) == 1 else None)


def boards(stack: str) -> list[DashboardPlan]:
    """The dashboards of every backend."""
    return [board for backend in watched(evaluation(stack).fleet_plan).backends for board in backend.dashboards]


@every_watched_stack
def test_tiles_lie_side_by_side_within_the_columns(stack: str) -> None:
    """Cloud Monitoring refuses more than 100 tiles, and tiles that overlap; a position of 0 comes back as none."""
    for board in boards(stack):
        taken: set[tuple[int, int]] = set()
        assert len(cloud_monitoring.managed_dashboard(board, stack)["mosaicLayout"]["tiles"]) <= 100
        for tile in cloud_monitoring.managed_dashboard(board, stack)["mosaicLayout"]["tiles"]:
            assert 0 not in tile.values()
            left, top = tile.get("xPos", 0), tile.get("yPos", 0)
            assert left + tile["width"] <= cloud_monitoring.COLUMNS
            cells = {(x, y) for x in range(left, left + tile["width"]) for y in range(top, top + tile["height"])}
            assert not taken & cells
            taken |= cells


@every_watched_stack
def test_a_dashboard_is_the_same_text_every_time(stack: str) -> None:
    for board in boards(stack):
        assert cloud_monitoring.managed_dashboard_json(board, stack) == cloud_monitoring.managed_dashboard_json(
            board, stack
        )
        assert grafana.grafana_dashboard_json(board, stack) == grafana.grafana_dashboard_json(board, stack)
        assert len(grafana.grafana_dashboard(board, stack)["uid"]) <= grafana.MAX_UID


@every_watched_stack
def test_grafana_shows_the_same_panels_in_rows_of_three(stack: str) -> None:
    for board in boards(stack):
        drawn = grafana.grafana_dashboard(board, stack)["panels"]
        assert [p["title"] for p in drawn if p["type"] != "row"] == [
            panel.title for section in board.sections for panel in section.panels
        ]
        assert len({p["id"] for p in drawn}) == len(drawn)
        places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in drawn]
        assert len(set(places)) == len(places)
        assert max(p["gridPos"]["x"] + p["gridPos"]["w"] for p in drawn) <= 24


# --- what a stack file says -------------------------------------------------------------------------------------------


def test_dashboards_of_the_in_cluster_prometheus_have_only_its_metrics() -> None:
    plan = watched(run_planner(fleet_with({"monitoring": {"backends": ["in-cluster"]}})).plan)
    found = [each.series for promql in queries(only_of(plan)) for each in _selected(promql)]
    assert all(IN_CLUSTER in find_metric(series).backends for series in found)
    assert not [series for series in found if series.startswith("kubernetes_io:")]
    assert {"duty_cycle", "kube_node_labels", "DCGM_FI_DEV_GPU_UTIL"} <= set(found)
    assert [(chart.name, chart.namespace) for chart in plan.charts] == [("kube-prometheus-stack", "monitoring")]
    assert plan.charts[0].values["grafana"]["adminPassword"] == ""  # type: ignore[index]
    assert plan.collects == ("gpu", "tpu")


def only_of(plan: MonitoringPlan) -> BackendPlan:
    """The only backend of a monitoring plan."""
    (backend,) = plan.backends
    return backend


BOTH = {"monitoring": {"backends": ["managed", "in-cluster"]}}


def test_both_backends_have_the_dashboards_of_each_backend() -> None:
    both = watched(run_planner(fleet_with(BOTH)).plan)
    for name in ("managed", "in-cluster"):
        alone = only_of(watched(run_planner(fleet_with({"monitoring": {"backends": [name]}})).plan))
        assert alone in both.backends
    assert [each.name for each in both.backends] == ["managed", "in-cluster"]
    assert both.charts


def test_objects_of_both_backends_have_names_of_their_own() -> None:
    plan = watched(run_planner(fleet_with(BOTH)).plan)
    names = [(each["kind"], each["metadata"]["name"]) for each in monitoring_manifests(plan, "dev")]  # type: ignore[index]
    assert len(names) == len(set(names))
    kinds = {kind for kind, _ in names}
    assert {"PodMonitoring", "ClusterRules", "ServiceMonitor", "PodMonitor", "PrometheusRule", "ConfigMap"} <= kinds
    (binding,) = [each for each in monitoring_manifests(plan, "dev") if each["kind"] == "ClusterRoleBinding"]
    readers = [subject["name"] for subject in binding["subjects"]]  # type: ignore[index, attr-defined]
    assert readers == ["berth-kueue-metrics", "kube-prometheus-stack-prometheus"]


def test_the_older_key_selects_one_backend() -> None:
    older = run_planner(fleet_with({"monitoring": {"backend": "in-cluster"}})).plan
    assert watched(older) == watched(run_planner(fleet_with({"monitoring": {"backends": ["in-cluster"]}})).plan)


def test_prices_become_recording_rules_and_panels() -> None:
    prices = {"monitoring": {"prices": {"currency": "EUR", "hourly": {"l4": 0.75}}}}
    backend = only_of(watched(run_planner(fleet_with(prices)).plan))
    (price,) = [each for each in backend.recordings if each.name == PRICE]
    assert (price.query, price.labels) == ("vector(0.75)", {"flavor": "l4", "currency": "EUR"})
    assert "berth:team:used_cost_per_hour" in {each.name for each in backend.recordings}
    titles = {panel.title for _, panel in panels(backend)}
    assert "Used accelerators by team, EUR an hour" in titles
    without = only_of(watched(run_planner(fleet_with({})).plan))
    assert not [panel.title for _, panel in panels(without) if "an hour" in panel.title]
    assert not [each.name for each in without.recordings if "cost" in each.name]


def test_reasons_of_pending_workloads_are_shown_where_kueue_counts_them() -> None:
    gate = {"kueue.featureGates": {"UnadmittedWorkloadsObservability": True}}
    shown = panels(only_of(watched(run_planner(fleet_with(gate)).plan)))
    assert "Pending workloads by reason" in {panel.title for _, panel in shown}
    hidden = panels(only_of(watched(run_planner(fleet_with({})).plan)))
    assert "Pending workloads by reason" not in {panel.title for _, panel in hidden}


def test_a_heatmap_is_a_row_for_each_gpu_in_grafana_and_bands_in_cloud_monitoring() -> None:
    panel = PanelPlan(title="GPUs", unit="%", queries={"{{gpu}}": "u"}, heatmap=True)
    board = DashboardPlan(key="gpus", title="GPUs", sections=(SectionPlan(title="Heat", panels=(panel,)),))
    _, drawn = grafana.grafana_dashboard(board, "dev")["panels"]
    assert (drawn["type"], drawn["options"]["calculate"], drawn["options"]["color"]["max"]) == ("heatmap", False, 100)
    assert [target["expr"] for target in drawn["targets"]] == ["u"]
    chart = cloud_monitoring.managed_dashboard(board, "dev")["mosaicLayout"]["tiles"][1]["widget"]["xyChart"]
    drawn_queries = [each["timeSeriesQuery"]["prometheusQuery"] for each in chart["dataSets"]]
    assert drawn_queries[0] == "count((u) >= 0 < 10) or vector(0)"
    assert drawn_queries[-1] == "count((u) >= 90 < 101) or vector(0)", "100 % is in the last band"
    assert {each["timeSeriesQuery"]["unitOverride"] for each in chart["dataSets"]} == {"1"}
    assert all(selections(each.removesuffix(" or vector(0)")) for each in drawn_queries)


def test_no_backend_watches_nothing() -> None:
    assert run_planner(fleet_with({"monitoring": {"backend": "none"}})).plan.monitoring is None


def test_a_threshold_and_a_duration_can_be_changed_and_an_alert_left_out() -> None:
    written = {"inadmissible": {"limit": 5, "for": "2h"}, "accelerators-idle": False}
    plan = only(run_planner(fleet_with({"monitoring": {"alerts": written}})).plan)
    alerts = {alert.key: alert for alert in plan.alerts}
    assert alerts["inadmissible"].seconds == 7200
    assert alerts["inadmissible"].query.endswith(" > 5")
    assert "accelerators-idle" not in alerts
    assert "memory-full" in alerts


def test_all_alerts_and_all_dashboards_can_be_left_out() -> None:
    plan = only(run_planner(fleet_with({"monitoring": {"alerts": False, "dashboards": False}})).plan)
    assert (plan.alerts, plan.dashboards, plan.recordings) == ((), (), ())


def test_without_kueues_own_figures_no_panel_asks_for_them() -> None:
    off = {"kueue.metrics": {"enableClusterQueueResources": False}}
    plan = only(run_planner(fleet_with(off)).plan)
    assert not [promql for promql in queries(plan) if "resource_usage" in promql or "nominal_quota" in promql]
    assert not [promql for promql in queries(plan) if "berth:" in promql], "recording rules need them"


def test_many_teams_have_no_panel_each() -> None:
    queues = {
        f"t{n}": {"queues": {"q": {"flavors": [{"pool": "l4", "guaranteed": 1}]}}} for n in range(MAX_TEAM_PANELS + 1)
    }
    fleet = fleet_of_pools({"l4": {"machineType": "g2-standard-24", "nodes": 60, "zone": "us-central1-a"}})
    titles = {
        section.title
        for board in only(run_planner(fleet_with({"teams": queues}, fleet)).plan).dashboards
        for section in board.sections
    }
    assert not [title for title in titles if title.startswith("Teams:")]
    assert problems(fleet_with({"teams": queues}, fleet)) is not None


def test_a_fleet_without_accelerators_of_a_kind_has_no_alert_about_them() -> None:
    fleet = fleet_of_pools({"l4": {"machineType": "g2-standard-24", "nodes": 2, "zone": "us-central1-a"}})
    alerts = {alert.key for alert in only(run_planner(fleet).plan).alerts}
    assert "gpu-quota-nearly-used" in alerts
    assert not {"slice-unavailable", "tpu-quota-nearly-used", "low-goodput"} & alerts


# --- promtool ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not on PATH")
def test_promtool_accepts_every_alert(backend: str, tmp_path: Path) -> None:
    fleet = fleet_with({"monitoring": {"backends": [backend]}})
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(rule_groups(only(run_planner(fleet).plan))), encoding="utf-8")
    done = subprocess.run(["promtool", "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_page_lists_every_alert_with_its_limit_and_duration() -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| ([^|]+) \| (\w+) \|", page, flags=re.MULTILINE)
    assert listed == [(row["key"], str(row.get("limit", "–")), row["for"]) for row in monitoring_table("alerts")]
