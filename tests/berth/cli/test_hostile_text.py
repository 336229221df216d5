"""One hostile text in every free-text key, and in every name of files that are read: outputs only show it."""

from __future__ import annotations

import copy
import csv
import io
import json
import pathlib
import shutil
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from berth.cli import app
from berth.diagnostics import printable
from berth.evaluate import evaluate_stack
from berth.yaml_loader import LOADER
from tests.berth.cli.hostile_text import (
    ONE_LINE,
    SEVERAL_LINES,
    misdeeds_of_html,
    misdeeds_of_markdown,
    misdeeds_of_text,
)
from tests.stack_files import ALL_STACKS, ROOT

STACKS = ("dev", "quota-tree", "dws")
CONFIG = "berth:fleet"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each text in nested values."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if isinstance(inner, str):
            yield (*path, key)
        yield from leaves(inner, (*path, key))


def with_value(values: Any, path: tuple[Any, ...], text: str) -> Any:
    """Return nested values with another text at a path."""
    made = copy.deepcopy(values)
    node = made
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = text
    return made


def stack_values(stack: str) -> dict[str, Any]:
    """The stack file as values, with reasons added to it: what a person writes for a person to read."""
    values = yaml.load(ALL_STACKS[stack].read_text(encoding="utf-8"), LOADER)
    fleet = values["config"][CONFIG]
    pool = next(iter(fleet["pools"]))
    fleet["allowReplacement"] = {pool: "a reason"}
    fleet["allowDeletion"] = {pool: "a reason", "namespaces.gone": "a reason"}
    fleet["allowChange"] = {"protect": "a reason"}
    if stack == "dev":
        _add_reasons(fleet)
    return values


def _add_reasons(fleet: dict[str, Any]) -> None:
    """Add every other key of a fleet that has a text for people."""
    fleet["projectNumber"] = "123456789012"
    fleet["reservations"]["l4"]["acceptOverlap"] = "a reason"
    fleet["priorities"]["low"]["description"] = "a text"
    fleet["flavors"] = {"v5e": {"oversubscription": 1.5, "reason": "a reason"}}
    fleet["allowTeams"] = {"vision": {"podSecurity": "a reason", "roles/owner": "a reason"}}
    fleet["teams"]["vision"] |= {
        "podSecurity": "privileged",
        "annotations": {"example.com/owner": "a text"},
        "volumeTypes": {"nfs": "a reason"},
        "identity": {"roles": ["roles/owner"], "acceptRoles": {"roles/owner": "a reason"}},
    }


FREE_OF_DEV = {
    *("allowChange.protect", "allowDeletion.namespaces.gone", "allowDeletion.v5e", "allowReplacement.v5e"),
    *("allowTeams.vision.podSecurity", "allowTeams.vision.roles/owner", "flavors.v5e.reason"),
    *("teams.vision.annotations.example.com/owner", "teams.vision.volumeTypes.nfs"),
    *("priorities.low.description", "reservations.l4.acceptOverlap", "teams.vision.identity.acceptRoles.roles/owner"),
}


@cache
def hostile_stack(stack: str, folder: pathlib.Path) -> tuple[pathlib.Path, tuple[str, ...]]:
    """A stack file in which every text that may be any text is the hostile one, and the paths of these."""
    values = stack_values(stack)
    file = folder / f"Pulumi.{stack}.yaml"

    def is_sound(tried: dict[str, Any]) -> bool:
        file.write_text(
            yaml.dump(tried, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False), encoding="utf-8"
        )
        return not evaluate_stack(str(file), ROOT).faults

    free = [
        path
        for path in leaves(values["config"][CONFIG], ("config", CONFIG))
        if is_sound(with_value(values, path, ONE_LINE))
    ]
    for number, path in enumerate(free):  # names that must differ do
        values = with_value(values, path, f"{ONE_LINE} {number}")
    assert is_sound(values), [fault.line() for fault in evaluate_stack(str(file), ROOT).faults]
    return file, tuple(".".join(map(str, path[2:])) for path in free)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder of its own, with a project."""
    made = tmp_path_factory.mktemp("hostile")
    (made / "Pulumi.yaml").write_text((ROOT / "Pulumi.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    shutil.copytree(ROOT / "stacks" / "teams", made / "stacks" / "teams")
    return made


def run(*words: str) -> Result:
    """Run the verb."""
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize("stack", STACKS)
def test_a_free_text_of_a_stack_file_is_only_shown(
    stack: str, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    file, free = hostile_stack(stack, folder)
    assert len(free) >= 3, "allowances at least"
    assert stack != "dev" or set(free) == FREE_OF_DEV
    name, plain = str(file), str(ALL_STACKS[stack])
    texts = [run("check", name), run("plan", name), run("diff", plain, name), run("diff", name, plain)]
    texts += [run("quota", name), run("split", name), run("lint", name, str(ROOT / "stacks" / "jobs"))]
    texts.append(run("drain", name, "-o", str(folder / "drained.yaml")))
    texts += [run("graph", name), run("preview", name), run("preview", name, "--inputs"), run("render", name)]
    texts.append(run("upgrade", name, "--kueue", "0.20.6"))
    for result in texts:
        assert result.exception is None or isinstance(result.exception, SystemExit)
        assert [*misdeeds_of_text(result.stdout), *misdeeds_of_text(result.stderr)] == []
    for arguments in (("diff", plain, name), ("diff", name, plain)):
        assert list(misdeeds_of_markdown(run(*arguments, "--format", "markdown").stdout)) == []
    upgrade = run("upgrade", name, "--kueue", "0.20.6", "--format", "markdown").stdout
    assert list(misdeeds_of_markdown(upgrade)) == []
    assert list(misdeeds_of_html(run("graph", name, "--format", "svg").stdout)) == []
    annotations = run("check", name, "--format", "github").stdout.splitlines()
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in annotations)
    page = folder / "report.html"
    assert run("report", name, "-o", str(page)).exit_code == 0
    assert list(misdeeds_of_html(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("stack", STACKS)
def test_no_text_of_a_stack_file_may_have_several_lines(
    stack: str, folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader refuses control characters in YAML; a quoted escape is what is left."""
    monkeypatch.chdir(ROOT)
    file, _ = hostile_stack(stack, folder)
    values = yaml.load(file.read_text(encoding="utf-8"), LOADER)
    for text in ("a\n::error::b", "a\x1b[31mb", "a\u202eb", "a\u2028b", "a\x00b", "a\tb"):
        fleet = {**values["config"][CONFIG], "allowReplacement": {next(iter(values["config"][CONFIG]["pools"])): text}}
        spoiled = folder / "Pulumi.spoiled.yaml"
        config = {**values["config"], CONFIG: fleet}
        spoiled.write_text(yaml.dump({**values, "config": config}, Dumper=yaml.CSafeDumper), encoding="utf-8")
        result = run("check", str(spoiled))
        assert result.exit_code == 1, text
        assert list(misdeeds_of_text(result.stdout)) == []
        assert "line break; write it in one line" in result.stdout or "which is not seen; remove it" in result.stdout


def hostile_manifest() -> dict[str, Any]:
    """A job whose every name is hostile."""
    pod = {"containers": [{"name": SEVERAL_LINES, "image": SEVERAL_LINES, "resources": {"limits": {SEVERAL_LINES: 1}}}]}
    metadata = {
        "name": SEVERAL_LINES,
        "namespace": SEVERAL_LINES,
        "labels": {"kueue.x-k8s.io/queue-name": SEVERAL_LINES},
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {"spec": pod}}}


def hostile_live() -> dict[str, Any]:
    """Answers of kubectl and gcloud in which every name is hostile."""
    metadata = {"name": SEVERAL_LINES, "namespace": SEVERAL_LINES, "labels": {SEVERAL_LINES: SEVERAL_LINES}}
    kinds = {
        "Workload": "kueue.x-k8s.io/v1beta2",
        "ClusterQueue": "kueue.x-k8s.io/v1beta2",
        "LocalQueue": "kueue.x-k8s.io/v1beta2",
        "ResourceFlavor": "kueue.x-k8s.io/v1beta2",
        "Node": "v1",
        "Namespace": "v1",
        "Pod": "v1",
        SEVERAL_LINES: "v1",
    }
    items = [{"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {}} for kind, version in kinds.items()]
    return {"apiVersion": "v1", "kind": "List", "items": items}


@pytest.mark.parametrize(
    "arguments",
    [
        ("lint", "dev", "{job}"),
        ("lint", "dev", "{live}"),
        ("admit", "dev", "{job}"),
        ("admit", "dev", "{job}", "--live", "{live}"),
        ("diff", "dev", "{dev}", "--live", "{live}"),
        ("adopt", "taken", "{live}"),
        ("adopt", "taken", "{live}", "--inside", "gke"),
        ("adopt", "taken", "{cluster}", "{live}"),
        ("quota", "dev", "--have", "{live}"),
        ("quota", "dev", "--have", "{metrics}"),
        ("usage", "dev", "--metrics", "{metrics}"),
        ("usage", "dev", "--metrics", "{metrics}", "--format", "csv"),
        ("usage", "dev", "--metrics", "{live}", "--format", "csv"),
        ("upgrade", "dev", "--kueue", "0.20.6", "--jobs", "{job}"),
        ("report", "dev", "--live", "{live}", "-o", "{page}"),
        ("report", "dev", "--metrics", "{metrics}", "-o", "{page}"),
        ("report", "dev", "--jobs", "{job}", "-o", "{page}"),
        ("verify", "dev", "--live", "{live}"),
        ("guard", "dev", "{preview}", "--live", "{live}"),
        ("guard", "dev", "{preview}"),
        ("guard", "dev", "{stream}"),
        ("check", "{named}"),
        ("plan", "{named}"),
        ("lint", "dev", "{named}"),
    ],
)
def test_a_name_in_a_file_that_is_read_is_only_shown(
    arguments: tuple[str, ...], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    urn = f"urn:pulumi:dev::berth::kubernetes:core/v1:Pod::{SEVERAL_LINES}"
    state = {"inputs": {"kind": "Pod", "metadata": {"name": SEVERAL_LINES, "namespace": SEVERAL_LINES}}}
    step = {"op": "delete", "urn": urn, "oldState": state}
    error = {"severity": "error", "message": SEVERAL_LINES}
    metric = {"__name__": "kueue_cluster_queue_resource_usage", "cluster_queue": SEVERAL_LINES, "flavor": SEVERAL_LINES}
    series = [{"metric": metric, "values": [[1, "1"]]}]
    contents: dict[str, object] = {
        "job": hostile_manifest(),
        "live": hostile_live(),
        "cluster": {"name": SEVERAL_LINES, "location": SEVERAL_LINES, "nodePools": [{"name": SEVERAL_LINES}]},
        "metrics": {"status": "success", "data": {"resultType": "matrix", "result": series}},
        "preview": {"steps": [step], "diagnostics": [error], "changeSummary": {"delete": 1}, SEVERAL_LINES: 1},
        "stream": {"sequence": 0, "preludeEvent": {}, SEVERAL_LINES: {}},
        "named": {SEVERAL_LINES: SEVERAL_LINES, "config": {CONFIG: {SEVERAL_LINES: {SEVERAL_LINES: SEVERAL_LINES}}}},
    }  # fmt: skip
    files = {name: tmp_path / f"{name}.json" for name in contents}
    for name, content in contents.items():
        files[name].write_text(json.dumps(content), encoding="utf-8")
    page = tmp_path / "report.html"
    shown = {name: str(file) for name, file in files.items()} | {"dev": str(ALL_STACKS["dev"]), "page": str(page)}
    if arguments[0] == "adopt":
        (tmp_path / "Pulumi.yaml").write_text("name: taken\nruntime: python\n", encoding="utf-8")
        monkeypatch.chdir(tmp_path)
    result = run(*(each.format(**shown) for each in arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Usage: " not in result.stderr
    assert [*misdeeds_of_text(result.stdout), *misdeeds_of_text(result.stderr)] == []
    assert not page.exists() or list(misdeeds_of_html(page.read_text(encoding="utf-8"))) == []
    if arguments[-1] == "csv":
        rows = list(csv.reader(io.StringIO(result.stdout)))
        assert {len(row) for row in rows} <= {len(rows[0])} if rows else result.exit_code
        assert [cell for row in rows for cell in row if cell.startswith(("=", "+", "@", "\t"))] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a b"),
        ("::error::x", "\\x3a:error::x"),
        ("  ::error::x", "  \\x3a:error::x"),
        ("##[group]x", "\\x23#[group]x"),
        ("a ::error::x", "a ::error::x"),
        ("a\n::error::x", "a\\n::error::x"),
        ("a\x1b[31m\u202e", "a\\x1b[31m\\u202e"),
        ("ü 16 → 8 █", "ü 16 → 8 █"),
        ("\n::error::x", "\\n::error::x"),
    ],
)
def test_what_is_printed_is_one_line_that_does_nothing(text: str, shown: str) -> None:
    assert printable(text) == shown
