"""The page as text: its content against the plan's JSON, no requests, and no name that becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.admit.simulate import simulate_arguments
from berth.cli.admit.timeline import story_timeline
from berth.diagnostics import format_path
from berth.document import Lines, Table
from berth.document.html import render_html
from berth.evaluate import evaluate_stack
from berth.plan.ack import AckFleetPlan
from berth.plan.fleet import FleetPlan
from berth.plan.team_stack import TeamStackPlan
from berth.report.bars import flavor_charts
from berth.report.page import render_page
from berth.report.preemption_matrix import MAX_QUEUES, preemption_matrices
from berth.report.timeline import JobLane, LaneState, StateSpan, Timeline
from berth.simulator.compare import run_to_json
from berth.simulator.story import JobStatus
from berth.simulator.text import status_text
from tests.berth.report.test_graph import berth
from tests.stack_files import ALL_STACKS, GKE_STACKS, ROOT, evaluation, every_stack, plan, plan_json

VOID = {"meta", "link", "br", "input", "img"}


def unbroken(text: str) -> str:
    """Return a page without what says where its lines may break: names that stay whole, and places in long paths."""
    return re.sub(r'<span class="name">([^<]*)</span>', r"\1", text).replace("<wbr>", "")


class Read(HTMLParser):
    """A page taken apart: its elements in order, the text of each section, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(unbroken(text))
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "desc", "script"):
            self.text.append(" ".join(data.split()))

    @property
    def words(self) -> str:
        """All that a person reads, a piece a line."""
        return "\n".join(filter(None, self.text))

    def all(self, attribute: str) -> Iterator[str]:
        """Return every value of an attribute."""
        return (str(each[attribute]) for _, each in self.elements if attribute in each)


def project(folder: Path, text: str) -> Path:
    """Return a project of one stack file, `dev`, and its team's."""
    (folder / "stacks" / "teams").mkdir(parents=True)
    (folder / "stacks" / "teams" / "speech.yaml").write_text(SPEECH, encoding="utf-8")
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n", encoding="utf-8")
    file = folder / "Pulumi.dev.yaml"
    file.write_text(text, encoding="utf-8")
    return file


DEV = GKE_STACKS["dev"].read_text(encoding="utf-8")
SPEECH = (ROOT / "stacks" / "teams" / "speech.yaml").read_text(encoding="utf-8")
VISION = "flavors: [{pool: v5e, guaranteed: 1 slice, borrow: 2 slices}]"
assert DEV.count(VISION) == 1

# --- a page that stands alone -----------------------------------------------------------------------------------------


any_stack = pytest.mark.parametrize("stack", list(ALL_STACKS))


@any_stack
def test_a_page_loads_nothing_and_has_no_script(stack: str) -> None:
    text = render_page(evaluation(stack))
    read = Read(text)
    tags = {tag for tag, _ in read.elements}
    assert tags.isdisjoint({"iframe", "object", "embed", "img", "form", "base", "video", "audio"})
    assert set(read.all("href")) - {f"#{each}" for each in read.all("id")} == {"data:,"}
    assert list(read.all("src")) == []
    assert [name for _, item in read.elements for name in item if name.startswith("on")] == []
    assert re.findall(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text) == []
    (policy,) = (f["content"] for t, f in read.elements if t == "meta" and "http-equiv" in f)
    assert str(policy).startswith("default-src 'none'; ")
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in str(policy)
    assert re.findall(r"\b(fetch|XMLHttpRequest|eval|import|innerHTML|localStorage|cookie)\b", script) == []


@any_stack
def test_a_page_is_accessible(stack: str) -> None:
    """What a screen reader and a keyboard need: a language, names, one main, unique ids, regions that scroll."""
    read = Read(render_page(evaluation(stack)))
    ids = list(read.all("id"))
    assert sorted(ids) == sorted(set(ids))
    assert next(each["lang"] for tag, each in read.elements if tag == "html") == "en"
    assert [tag for tag, _ in read.elements].count("main") == 1
    assert [tag for tag, _ in read.elements].count("h1") == 1
    assert next(each for tag, each in read.elements if tag == "a")["href"] == "#main"
    for tag, each in read.elements:
        if tag == "section":
            assert each.get("aria-label") or each["aria-labelledby"] in ids
        if "wide" in str(each.get("class")).split():
            assert (each["tabindex"], each["role"]) == ("0", "region")
            assert each["aria-label"]
        if tag == "th":
            assert each["scope"] in ("col", "row")


def test_a_page_is_the_same_every_time() -> None:
    assert render_page(evaluation("dev")) == render_page(evaluation("dev"))


# --- what it holds ----------------------------------------------------------------------------------------------------


@every_stack
def test_every_problem_is_on_the_page(stack: str) -> None:
    words = Read(render_page(evaluation(stack))).words
    for problem in evaluation(stack).problems:
        assert f"{problem.place}: {format_path(problem.path)}: {' '.join(problem.message.split())}" in words


def table(text: str, caption: str) -> list[list[str]]:
    """Return the rows of a table, without its head."""
    body = rf'aria-label="{re.escape(caption)}">\s*<table.*?<tbody>(.*?)</tbody>'
    (each,) = re.findall(body, unbroken(text), flags=re.DOTALL)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", each))
    return [list(row) for row in cells]


@every_stack
def test_pools_and_teams_are_those_of_the_plan(stack: str) -> None:
    text, read = render_page(evaluation(stack)), plan_json(stack)
    shown = table(text, "Pools and the source of their machines")
    for row, pool in zip(shown, read["pools"], strict=True):
        nodes, accelerators = ((pool[k]["min"], pool[k]["max"]) for k in ("nodes", "accelerators"))
        assert row[:2] == [pool["name"], pool["machineType"]]
        assert row[2] == (str(nodes[0]) if nodes[0] == nodes[1] else f"{nodes[0]}–{nodes[1]}")
        assert row[3].split()[0] == (
            str(accelerators[0]) if accelerators[0] == accelerators[1] else f"{accelerators[0]}–{accelerators[1]}"
        )
        assert any(str(pool[key]) in row[5] for key in ("capacity", "reservation", "computeClass"))
    rows = table(text, "Guaranteed and ceiling")
    teams = [[*row[:2], row[2].removesuffix(", all spot"), row[3], row[5]] for row in rows]
    spot = {pool["flavor"] for pool in read["pools"] if pool["capacity"] == "spot"}
    assert {row[1] for row in rows if row[2].endswith(", all spot")} <= spot
    assert teams == [
        [team["name"], flavor, str(team["guaranteed"].get(flavor, 0) or "–"), str(most), team["state"]]
        for team in read["teams"]
        for flavor, most in team["ceiling"].items()
    ]


@every_stack
def test_bars_have_the_lengths_of_the_plan(stack: str) -> None:
    read = plan_json(stack)
    for chart, flavor in zip(flavor_charts(plan(stack), plan(stack).workers), read["flavors"], strict=True):
        capacity, promised, *_ = chart.totals
        ends = {s.kind: (s.start, s.end) for s in capacity.segments}
        least, most = flavor["capacity"]["min"], flavor["capacity"]["max"]
        assert ends.get("standing", (0, 0)) == (0, least)
        assert ends.get("possible", (least, least)) == (least, most)
        assert sum(s.end - s.start for s in promised.segments) == flavor["guaranteed"]
        assert sum(s.end - s.start for s in promised.segments if s.kind == "beyond") == max(
            0, flavor["guaranteed"] - most
        )
        for bar in (*chart.totals, *chart.teams):
            assert [s for s in bar.segments if not 0 <= s.start < s.end <= chart.scale] == []
        held = {bar.label: {s.kind: s.end for s in bar.segments} for bar in chart.teams}
        for team in read["teams"]:
            ceiling, own = team["ceiling"].get(flavor["name"]), team["guaranteed"].get(flavor["name"], 0)
            if ceiling is not None:
                assert max(held[team["name"]].values(), default=0) == max(ceiling, own)
                assert held[team["name"]].get("promised", 0) == own


# --- who can preempt whom ---------------------------------------------------------------------------------------------


def by_definition(read: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Kueue's rules over the plan's JSON, by pairs of queues: preemptor, preempted, and the letter of the rule."""
    parents = {cohort["name"]: cohort["parent"] for cohort in read["cohorts"]}
    resources = {flavor["name"]: flavor["resource"] for flavor in read["flavors"]}

    def root(cohort: str | None) -> str | None:
        while cohort is not None and parents.get(cohort) is not None:
            cohort = parents[cohort]
        return cohort

    def quotas(queue: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {q["flavor"]: q for q in queue["quotas"] if q["resource"] == resources[q["flavor"]]}

    values: set[tuple[str, str, str]] = set()
    for one in read["clusterQueues"]:
        rules, own = one["preemption"], quotas(one)
        if rules["withinClusterQueue"] != "Never":
            values.add((one["name"], one["name"], "P"))
        for other in read["clusterQueues"]:
            if other is one or one["cohort"] is None or root(one["cohort"]) != root(other["cohort"]):
                continue
            shared = [f for f, q in quotas(other).items() if f in own and q["borrowingLimit"] != 0]
            lent = [f for f in shared if own[f]["nominal"] and own[f]["lendingLimit"] != 0]
            if rules["reclaimWithinCohort"] != "Never" and lent:
                values.add((one["name"], other["name"], "R"))
            if rules["borrowWithinCohort"] != "Never" and any(own[f]["borrowingLimit"] != 0 for f in shared):
                values.add((one["name"], other["name"], "B"))
    return values


def drawn(fleet: FleetPlan) -> set[tuple[str, str, str]]:
    """The same from the matrices."""
    return {
        (queue, other, letter)
        for matrix in preemption_matrices(fleet)
        for queue, cells in matrix.rows or ()
        for other, cell in zip(matrix.queues, cells, strict=True)
        for letter in cell.letters.split()
    }


@every_stack
def test_the_matrices_agree_with_the_rules(stack: str) -> None:
    alone = {queue["name"] for queue in plan_json(stack)["clusterQueues"] if queue["cohort"] is None}
    assert drawn(plan(stack)) == {each for each in by_definition(plan_json(stack)) if each[0] not in alone}


def test_borrowing_by_priority_has_its_letter_and_its_flavors(tmp_path: Path) -> None:
    rule = "preemption: {borrowWithinCohort: {policy: LowerPriority}}"
    result = evaluate_stack(str(project(tmp_path, DEV.replace(VISION, f"{rule}\n            {VISION}"))), tmp_path)
    assert result.fleet_plan is not None
    assert result.faults == ()
    assert {each[:2] for each in drawn(result.fleet_plan) if each[2] == "B"} == {
        ("vision-train", "language-train"),
    }


def test_a_tree_of_many_queues_has_a_list_and_no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth.report.preemption_matrix.MAX_QUEUES", 3)
    assert [matrix.rows for matrix in preemption_matrices(plan("dev"))] == [None]
    text = render_page(evaluation("dev"))
    assert (
        f"6 queues share this tree; the matrix is drawn for at most {MAX_QUEUES}. The list below has all of them."
        in text
    )
    assert "can reclaim their guarantee from borrowers, on v5e" in text


# --- names stay names -------------------------------------------------------------------------------------------------


def test_values_of_a_stack_file_are_escaped(tmp_path: Path) -> None:
    """A faulty stack has a page too, and its messages repeat what was written."""
    hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    file = project(tmp_path, DEV.replace("topology: 2x4", f'topology: "{hostile}"'))
    done = berth("report", str(file))
    assert (done.exit_code, done.stderr) == (1, "")
    read = Read(done.stdout)
    assert hostile in read.words
    assert [tag for tag, _ in read.elements if tag in ("script", "img")] == ["script"]
    assert "the fleet has faults" in read.words


def test_faults_are_printed_too_when_the_page_is_a_file(tmp_path: Path) -> None:
    file = project(tmp_path, DEV.replace("topology: 2x4", "topology: 2x5"))
    done = berth("report", str(file), "-o", str(tmp_path / "page.html"))
    assert (done.exit_code, done.stdout) == (1, f"{tmp_path / 'page.html'}: written\n")
    assert "pools.v5e.topology" in done.stderr


def test_the_report_of_an_unreadable_stack_is_a_page_of_faults(tmp_path: Path) -> None:
    done = berth("report", str(project(tmp_path, "config: [")))
    assert done.exit_code == 1
    read = Read(done.stdout)
    assert "Pulumi.dev.yaml:1:9: '[' opens here and is not closed; write ']' at its end" in read.words
    assert "capacity" not in set(read.all("id"))


# --- other stacks -----------------------------------------------------------------------------------------------------


def test_a_fleet_on_ack_has_a_page_of_its_tree_and_its_members() -> None:
    result = evaluation("ack-fleet").plan
    assert isinstance(result, AckFleetPlan) and result.quotas is not None
    words = Read(render_page(evaluation("ack-fleet"))).words
    for _, node in result.quotas.walk():
        gpus = node.minimum["nvidia.com/gpu"], node.maximum["nvidia.com/gpu"]
        assert f"nvidia.com/gpu: {gpus[0]} guaranteed, at most {gpus[1]} GPUs" in words
    for member in result.members:
        for pool in member.node_pools:
            assert f"{member.name}/{pool.name}\n{pool.instance_type}" in words
    assert "trainers-train can reclaim its guarantee from borrowers, on nvidia.com/gpu" in words


def test_a_fleet_without_a_quota_tree_has_a_page_without_tree_and_preemption() -> None:
    read = Read(render_page(evaluation("ack-gang")))
    assert {"capacity", "teams", "pools"} <= set(read.all("id"))
    assert {"tree", "preemption"}.isdisjoint(read.all("id"))
    assert {"#tree", "#preemption"}.isdisjoint(read.all("href"))
    assert "A100\n16–48\nno quota" in read.words
    assert "vision\na100\n–\n48\nA100\nactive" in read.words
    assert (
        "PyTorchJobs are sent to a member at once, without a queue, with all pods of a job on one member" in read.words
    )


def test_the_report_of_a_team_stack_has_only_its_workloads_and_queues() -> None:
    result = evaluation("team-a").plan
    assert isinstance(result, TeamStackPlan)
    read = Read(render_page(evaluation("team-a")))
    assert {"workloads", "teams", "tree"} <= set(read.all("id"))
    assert {"capacity", "preemption", "pools"}.isdisjoint(read.all("id"))
    for key, workload in result.workloads.items():
        assert f"{key}\nJob {key}\n" in read.words
        assert workload.pod.image in read.words
    assert "cq-team-a-hp" in read.words
    assert "cq-team-b-hp" not in read.words


@pytest.mark.parametrize("stack", ["ack-fleet", "team-a"])
def test_prices_of_google_clouds_machines_are_rejected_for_stacks_without_them(stack: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("currency: EUR\nhourly: {g2-standard-24: {spot: 1}}\n", encoding="utf-8")
    for words in (
        ("report", str(ALL_STACKS[stack])),
        ("diff", *2 * (str(ALL_STACKS[stack]),)),
        ("plan", str(ALL_STACKS[stack])),
    ):
        done = berth(*words, "--prices", str(prices))
        assert done.exit_code == 2
        assert "machines" in done.stderr


# --- jobs by time -----------------------------------------------------------------------------------------------------

SCENARIO = """stack: dev
steps:
  - submit: {name: first, queue: vision/train, pods: 6, requests: {google.com/tpu: 4}, priority: low}
  - submit: {name: "<b>", queue: speech/train, pods: 2, requests: {google.com/tpu: 4}, priority: low}
  - finish: "<b>"
"""


def test_a_page_shows_admitted_jobs_and_their_steps(tmp_path: Path) -> None:
    """A row of the table for each line of `berth admit`, and a lane for each job."""
    jobs = tmp_path / "jobs.yaml"
    jobs.write_text(SCENARIO.replace("stack: dev\n", ""), encoding="utf-8")
    answer = simulate_arguments([str(GKE_STACKS["dev"]), str(jobs)], (), ROOT)
    document = run_to_json(answer.stories[0])
    done = berth("report", str(GKE_STACKS["dev"]), "--jobs", str(jobs))
    assert done.exit_code == 0
    read = Read(done.stdout)
    assert "admission" in set(read.all("id"))
    for step in document["steps"]:
        for row in step["changes"]:
            assert f"{row['job']}\n" in read.words
            assert f"\n{status_text(JobStatus(row['status']))}\n" in read.words
    lanes = story_timeline(answer.stories[0]).lanes
    assert [lane.job for lane in lanes] == ["first", "<b>"]
    assert [(s.state, s.start, s.end) for s in lanes[1].spans][-1][2] == 3  # it is finished then
    assert "<b>" not in done.stdout


def test_a_page_without_jobs_has_no_timeline_and_faulty_jobs_have_no_page(tmp_path: Path) -> None:
    assert "admission" not in set(Read(berth("report", str(GKE_STACKS["dev"])).stdout).all("id"))
    done = berth("report", str(GKE_STACKS["dev"]), "--jobs", str(tmp_path / "none.yaml"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "none.yaml" in done.stderr


def test_the_name_of_another_stack_is_not_a_file_of_jobs() -> None:
    """`berth admit` compares two stacks; a page is of one."""
    done = berth("report", "dev", "--jobs", "local")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "error: no file 'local' [no-file]\n")


def test_many_jobs_have_only_a_table() -> None:
    spells = (StateSpan(LaneState.ADMITTED, 1, 2),)
    few, many = (Timeline((JobLane("a", "q", spells),) * n, 1, 2, (Table("t", ("a",), [["b"]]),)) for n in (80, 81))
    assert few.is_drawable
    assert not many.is_drawable
    assert "81 jobs; the table has the status of each." in Read(render_page(evaluation("dev"), timeline=many)).words


# --- cost and change --------------------------------------------------------------------------------------------------

PRICES = "currency: EUR\nhourly:\n  ct5lp-hightpu-4t: {on-demand: 4.80}\n"


def test_a_page_has_costs_only_with_prices(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(PRICES, encoding="utf-8")
    text = berth("report", str(GKE_STACKS["dev"]), "--prices", str(file)).stdout
    rows = {row[0]: row for row in table(text, "Machines, EUR an hour")}
    assert rows["v5e"] == ["v5e", "ct5lp-hightpu-4t", "on-demand", "4.80", "28.80", "28.80", ""]
    assert rows["system"][3:] == ["–", "–", "–", "no price"]
    assert rows["all"][4:] == ["28.80", "28.80", "without l4-on-demand, l4-reserved, l4-spot and system"]
    assert [row[:3] for row in table(text, "Teams, EUR an hour")] == [
        ["language", "9.60", "19.20"],
        ["speech", "9.60", "9.60"],
        ["vision", "9.60", "28.80"],
    ]
    assert "an hour" not in berth("report", str(GKE_STACKS["dev"])).stdout


def git(folder: Path, *words: str) -> None:
    """Run git in a folder, with a neutral author."""
    who = ["-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project in git, in which a team may borrow a slice less since the first commit."""
    file = project(tmp_path, DEV)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    file.write_text(DEV.replace(VISION, VISION.replace("2 slices", "1 slice")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_shows_what_changed_in_the_words_of_berth_diff(history: Path) -> None:
    done, diff = berth("report", "dev", "--since", "HEAD"), berth("diff", "dev", "--since", "HEAD").stdout
    assert (done.exit_code, done.stderr) == (0, "")
    words = Read(done.stdout).words
    assert "What changed since HEAD" in words
    assert diff.splitlines()[0] in words
    rows = table(done.stdout, "Entitlements")
    assert rows == [["vision", "v5e", "8", "24 → 16", "v5e chips"]]
    assert "Kubernetes object" in words


def test_a_page_without_a_change_says_so(history: Path) -> None:
    git(history, "commit", "-qam", "second")
    assert "nothing changes" in Read(berth("report", "dev", "--since", "HEAD").stdout).words


def test_a_page_shows_what_changed_beside_the_fleet(history: Path) -> None:
    """As `berth diff` does: the account, the project's file, and what the fleet has without an effect."""
    git(history, "commit", "-qam", "second")
    file = history / "Pulumi.dev.yaml"
    config = "config:\n  gcp:impersonateServiceAccount: admin@acme-ml-dev.iam.gserviceaccount.com\n"
    file.write_text(file.read_text(encoding="utf-8").replace("config:\n", config, 1), encoding="utf-8")
    words = Read(berth("report", "dev", "--since", "HEAD").stdout).words
    assert "beside the fleet config.gcp:impersonateServiceAccount changes" in words


def test_an_unknown_revision_is_reported_and_nothing_is_written(history: Path) -> None:
    done = berth("report", "dev", "--since", "none", "-o", "page.html")
    message = "no commit 'none' in this git repository; name a branch, a tag or a commit of it\n"
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", message)
    assert not (history / "page.html").exists()


def test_a_revision_that_was_faulty_leaves_the_rest_of_the_page(history: Path) -> None:
    file = history / "Pulumi.dev.yaml"
    now = file.read_text(encoding="utf-8")
    file.write_text(now.replace("topology: 2x4", "topology: 2x5"), encoding="utf-8")
    git(history, "commit", "-qam", "broken")
    file.write_text(now, encoding="utf-8")
    done = berth("report", "dev", "--since", "HEAD")
    assert done.exit_code == 0
    words = Read(done.stdout).words
    assert "The changes cannot be shown, because the stack had faults at that revision." in words
    assert "HEAD" in words and "2x5" in words
    assert "Capacity and guarantees" in words


def test_a_page_is_written_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", str(GKE_STACKS["dev"]), "-o", str(file)])
    assert (done.exit_code, done.stdout) == (0, f"{file}: written\n")
    footer = re.compile(r"<footer>.*</footer>\n")
    page = file.read_text(encoding="utf-8")
    assert footer.sub("", page) == render_page(evaluation("dev"))
    assert re.search(r"<footer><p>Made on \d{4}-\d\d-\d\d by Berth [\d.]+", page)


def test_a_legend_has_exactly_the_colours_of_its_picture() -> None:
    oversubscribed = [
        stack
        for stack in GKE_STACKS
        if any(flavor["guaranteed"] > flavor["capacity"]["max"] for flavor in plan_json(stack)["flavors"])
    ]
    assert oversubscribed
    for stack in GKE_STACKS:
        text = render_page(evaluation(stack))
        assert ("guaranteed above capacity</span>" in text) == (stack in oversubscribed)
        letters = {letter for _, _, letter in drawn(plan(stack))}
        cohorts = {queue["cohort"] for queue in plan_json(stack)["clusterQueues"]} - {None}
        assert set(re.findall(r"<li><strong>([PRB])</strong>", text)) == (letters if cohorts else set())


def test_a_legend_of_jobs_has_the_states_that_occur() -> None:
    lane = JobLane("a", "q", (StateSpan(LaneState.PENDING, 1, 2), StateSpan(LaneState.ADMITTED, 2, 3)))
    timeline = Timeline((lane,), 1, 3, (Table("t", ("a",), [["b"]]),))
    assert list(timeline.state_labels.values()) == ["admitted", "pending"]
    assert timeline.description == "a in q: pending from step 1, admitted from step 2"
    assert [timeline.percent(s.start - 1) for s in lane.spans] == ["0.000%", "50.000%"]


def test_many_teams_are_in_a_folded_table_per_cohort(tmp_path: Path) -> None:
    """Each team once, and none lost."""
    teams = "".join(
        f"      t{n:02}: {{cohort: c{n % 3}, queues: {{q: {{flavors: [{{pool: l4, guaranteed: 1}}]}}}}}}\n"
        for n in range(40)
    )
    file = tmp_path / "Pulumi.many.yaml"
    (tmp_path / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    file.write_text(
        "config:\n  berth:fleet:\n    project: acme-ml-dev\n    region: us-central1\n"
        "    pools: {l4: {machineType: g2-standard-24, nodes: {max: 24}}}\n"
        f"    cohorts: {{c0: {{}}, c1: {{}}, c2: {{}}}}\n    teams:\n{teams}",
        encoding="utf-8",
    )
    page = CliRunner().invoke(app, ["report", str(file)]).stdout
    section = page[page.index('<section id="teams"') : page.index('<section id="tree"')]
    assert re.findall("<summary>(.*)</summary>", section) == [
        "Cohort c0: 14 teams",
        "Cohort c1: 13 teams",
        "Cohort c2: 13 teams",
    ]
    assert sorted(re.findall(r'<th scope="row" data-label="team">(t\d\d)</th>', section)) == [
        f"t{n:02}" for n in range(40)
    ]


def test_workers_are_on_the_page_with_their_capacity() -> None:
    """A row and a bar for each flavor of each worker, with the figures of the plan's JSON."""
    words = Read(render_page(evaluation("multikueue"))).words
    charts = flavor_charts(plan("multikueue"), plan("multikueue").workers)
    drawn = {(chart.flavor, bar.label): bar.text for chart in charts for bar in chart.totals}
    segments = {
        (chart.flavor, bar.label): [(each.kind, each.end) for each in bar.segments]
        for chart in charts
        for bar in chart.totals
    }
    for worker in plan_json("multikueue")["workers"]:
        for flavor in worker["flavors"]:
            most = flavor["capacity"]["max"]
            row = [worker["name"], f"{worker['cluster']} (", flavor["name"], str(most), str(flavor["largestJob"])]
            assert re.search(".*".join(map(re.escape, row)), words, re.S)
            label = flavor["name"], f"on {worker['name']}"
            assert drawn[label] == f"{flavor['guaranteed']} of {most}"
            promised, least = min(flavor["guaranteed"], most), flavor["capacity"]["min"]
            ends = [("promised", promised), ("standing", least), ("possible", most), ("beyond", flavor["guaranteed"])]
            assert segments[label] == [
                each for n, each in enumerate(ends) if each[1] > max((e for _, e in ends[:n]), default=0)
            ]
    assert "Workers: what each holds" not in Read(render_page(evaluation("dev"))).words


def test_signs_of_a_difference_are_words_and_paths_break_between_names() -> None:
    lines = Lines(
        "Who can preempt whom", ["- a can preempt b", "+ b can preempt a", ("~ c", "teams.vision: stacks/a.yaml 1.35")]
    )
    shown = render_html([lines])
    assert "<li>removed: a can preempt b</li>" in shown
    assert "<li>added: b can preempt a</li>" in shown
    assert '<li>changed: c</li>\n<li class="under">teams.<wbr>vision: stacks/<wbr>a.<wbr>yaml 1.35</li>' in shown
