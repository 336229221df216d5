"""`berth diff` as a person runs it: two files, revisions of git, exit statuses, and a comment that nobody can abuse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.cli.diff.markdown import escape_markdown
from tests.berth.diff.edited import BASE, TEAM, edited, write


def berth(*words: str) -> Any:
    """Run the command in this process."""
    return CliRunner().invoke(app, words, prog_name="berth")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which one stands, without git."""
    write(tmp_path, BASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def repository(project: Path) -> Path:
    """The same with one commit on `main`, and a branch `change` on which one stands."""
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-qm", "first"],
        ["checkout", "-qb", "change"],
    ):
        git(*words)
    return project


def git(*words: str) -> None:
    """Git without a person's configuration."""
    me = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *me, *words], check=True, capture_output=True)


def test_two_files_are_compared_as_one_stack(project: Path) -> None:
    """Else every name that follows from the stack's would differ."""
    (project / "Pulumi.other.yaml").write_text(BASE["Pulumi.dev.yaml"], encoding="utf-8")
    found = berth("diff", "dev", "other")
    assert (found.exit_code, found.stdout) == (0, "other: nothing changes\n")


def test_what_is_guarded_is_3(project: Path) -> None:
    (project / "Pulumi.next.yaml").write_text(edited("topology-changed")["Pulumi.dev.yaml"], encoding="utf-8")
    assert berth("diff", "dev", "next").exit_code == 3


def test_what_is_allowed_is_0(project: Path) -> None:
    text = edited("topology-changed-and-allowed")["Pulumi.dev.yaml"]
    (project / "Pulumi.next.yaml").write_text(text, encoding="utf-8")
    assert berth("diff", "dev", "next").exit_code == 0


def test_faults_of_either_side_are_told_and_1(project: Path) -> None:
    (project / "Pulumi.next.yaml").write_text(BASE["Pulumi.dev.yaml"].replace("2x4", "2x5"), encoding="utf-8")
    found = berth("diff", "dev", "next")
    assert found.exit_code == 1
    assert found.stderr.startswith("Pulumi.next.yaml:24: pools.v5e.topology: '2x5'")
    assert found.stdout == ""


def test_one_side_alone_is_2(project: Path) -> None:
    assert berth("diff", "dev").exit_code == 2
    assert berth("diff", "dev", "dev", "--since", "main").exit_code == 2


def test_since_a_branch_is_since_this_one_left_it(repository: Path) -> None:
    """What has landed on main meanwhile is no change of this branch."""
    write(repository, edited("quota-moved"))
    git("checkout", "-q", "--", ".")
    git("checkout", "-q", "main")
    write(repository, edited("priority-raised"))
    git("commit", "-qam", "meanwhile")
    git("checkout", "-q", "change")
    write(repository, edited("quota-moved"))
    found = berth("diff", "dev", "--since", "main", "--format", "json")
    assert found.exit_code == 0
    assert [o["name"] for o in json.loads(found.stdout)["objects"]] == ["speech-train", "vision-train"]


def test_a_revision_brings_its_own_team_files(repository: Path) -> None:
    """The team's quota moved in its own file, and only there."""
    write(repository, edited("quota-moved"))
    told = [
        berth("diff", *sides).stdout for sides in (("main:dev", "dev"), ("main:Pulumi.dev.yaml", "Pulumi.dev.yaml"))
    ]
    assert told[0] == told[1]
    assert "speech gains 8 guaranteed v5e chips" in told[0]


def test_a_fault_at_a_revision_is_placed_there(repository: Path) -> None:
    (repository / "teams" / "speech.yaml").write_text("teams: {speech: {cohort: nowhere}}\n", encoding="utf-8")
    git("commit", "-qam", "broken")
    found = berth("diff", "HEAD:dev", "main:dev")
    assert found.exit_code == 1
    assert found.stderr.startswith("HEAD:teams/speech.yaml:1: teams.speech.cohort: no cohort 'nowhere'")


def test_a_teams_stack_at_a_revision_has_the_platform_of_that_revision(repository: Path) -> None:
    """Also where it names the platform by its file, and one stands beside a newer one."""
    mine = TEAM.files["Pulumi.mine.yaml"].replace("platform: dev", "platform: Pulumi.dev.yaml")
    (repository / "Pulumi.mine.yaml").write_text(mine, encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "second")
    assert berth("diff", "mine", "--since", "HEAD").stdout == "mine: nothing changes\n"
    write(repository, edited("topology-changed"))
    found = berth("diff", "mine", "--since", "HEAD")
    assert found.exit_code == 0
    assert "asks for 8 → 16 google.com/tpu" in found.stdout


@pytest.mark.parametrize("revision", ["nowhere", "main..change"])
def test_a_revision_that_is_none_is_told_in_a_line(repository: Path, revision: str) -> None:
    found = berth("diff", f"{revision}:dev", "dev")
    assert (found.exit_code, found.stderr) == (1, f"no commit '{revision}' in this git repository\n")


def test_without_git_there_are_no_revisions(project: Path) -> None:
    found = berth("diff", "dev", "--since", "main")
    assert found.exit_code == 1
    assert found.stderr.endswith("is not in a git repository\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("[a](https://x.example)", "\\[a\\](https:\u200b//x.example)"),
        ("thanks @acme, fixes #12", "thanks @\u200bacme, fixes #\u200b12"),
        ("a | b", "a \\| b"),
        ("# head", "\u200b# head"),
        ("`code` *bold* ~~gone~~", "\\`code\\` \\*bold\\* \\~\\~gone\\~\\~"),
        ("v5e-1 16 → 8", "v5e-1 16 → 8"),
    ],
)
def test_a_comment_shows_text_and_does_nothing_with_it(text: str, shown: str) -> None:
    assert escape_markdown(text) == shown


def test_what_a_stack_file_says_cannot_break_out_of_the_comment(project: Path) -> None:
    evil = 'allowReplacement: {v5e: "</pre></details><script>@everyone [x](http://x)"}'
    text = edited("topology-changed")["Pulumi.dev.yaml"].replace(
        "    reservations:", f"    {evil}\n    reservations:", 1
    )
    (project / "Pulumi.next.yaml").write_text(text, encoding="utf-8")
    found = berth("diff", "dev", "next", "--format", "markdown")
    assert found.exit_code == 0
    assert "<script>" not in found.stdout
    assert found.stdout.count("<details>") == found.stdout.count("</details>") == found.stdout.count("<pre>")
