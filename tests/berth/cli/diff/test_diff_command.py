"""`berth diff` on the command line: two files, git revisions, exit statuses, and escaped comments."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.cli import app
from berth.document.markdown import escape_markdown
from tests.berth.diff.edits.edited import BASE, TEAM, edited, write


def berth(*words: str) -> Any:
    """Run the command in this process."""
    return CliRunner().invoke(app, words, prog_name="berth")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a project as the current folder, without git."""
    write(tmp_path, BASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def repository(project: Path) -> Path:
    """Provide the project as a git repository: one commit on `main`, and the branch `change` checked out."""
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["commit", "-qm", "first"],
        ["checkout", "-qb", "change"],
    ):
        git(*words)
    return project


def git(*words: str) -> None:
    """Run git without the user's configuration."""
    me = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *me, *words], check=True, capture_output=True)


def test_two_files_are_compared_as_one_stack(project: Path) -> None:
    """Otherwise every name that is derived from the stack's name would differ."""
    (project / "Pulumi.other.yaml").write_text(BASE["Pulumi.dev.yaml"], encoding="utf-8")
    result = berth("diff", "dev", "other")
    assert (result.exit_code, result.stdout) == (0, "other: nothing changes\n")


def test_a_blocked_change_exits_3(project: Path) -> None:
    (project / "Pulumi.next.yaml").write_text(edited("topology-changed")["Pulumi.dev.yaml"], encoding="utf-8")
    assert berth("diff", "dev", "next").exit_code == 3


def test_an_allowed_change_exits_0(project: Path) -> None:
    text = edited("topology-changed-and-allowed")["Pulumi.dev.yaml"]
    (project / "Pulumi.next.yaml").write_text(text, encoding="utf-8")
    assert berth("diff", "dev", "next").exit_code == 0


def test_faults_of_either_side_are_printed_and_exit_1(project: Path) -> None:
    (project / "Pulumi.next.yaml").write_text(BASE["Pulumi.dev.yaml"].replace("2x4", "2x5"), encoding="utf-8")
    result = berth("diff", "dev", "next")
    assert result.exit_code == 1
    assert result.stderr.startswith("Pulumi.next.yaml:24: error: pools.v5e.topology: '2x5'")
    assert result.stdout == ""


def test_a_single_side_exits_2(project: Path) -> None:
    assert berth("diff", "dev").exit_code == 2
    assert berth("diff", "dev", "dev", "--since", "main").exit_code == 2


def test_a_whole_path_at_a_revision_is_the_file_of_that_revision(repository: Path, tmp_path_factory: Any) -> None:
    """Read from the work tree, both sides would be one file, and nothing would change."""
    file = repository / "Pulumi.dev.yaml"
    file.write_text(edited("topology-changed")["Pulumi.dev.yaml"], encoding="utf-8")
    assert berth("diff", f"main:{file}", "dev").exit_code == 3
    outside = tmp_path_factory.mktemp("other") / "Pulumi.dev.yaml"
    outside.write_text(BASE["Pulumi.dev.yaml"], encoding="utf-8")
    for words in ([f"main:{outside}", "dev"], [str(outside), "--since", "main"]):
        result = berth("diff", *words)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"'{outside}' is outside the project, so no commit of it has that file; name")


def test_since_compares_with_the_merge_base(repository: Path) -> None:
    """Later commits on main are not changes of this branch."""
    write(repository, edited("quota-moved"))
    git("checkout", "-q", "--", ".")
    git("checkout", "-q", "main")
    write(repository, edited("priority-raised"))
    git("commit", "-qam", "meanwhile")
    git("checkout", "-q", "change")
    write(repository, edited("quota-moved"))
    result = berth("diff", "dev", "--since", "main", "--format", "json")
    assert result.exit_code == 0
    assert [o["name"] for o in json.loads(result.stdout)["objects"]] == ["speech-train", "vision-train"]


def test_team_files_are_read_at_the_revision(repository: Path) -> None:
    """The team's quota changed only in its team file."""
    write(repository, edited("quota-moved"))
    result = [
        berth("diff", *sides).stdout for sides in (("main:dev", "dev"), ("main:Pulumi.dev.yaml", "Pulumi.dev.yaml"))
    ]
    assert result[0] == result[1]
    assert "speech gains 8 guaranteed v5e chips" in result[0]


def test_a_fault_at_a_revision_has_the_revision_in_its_place(repository: Path) -> None:
    (repository / "teams" / "speech.yaml").write_text("teams: {speech: {cohort: nowhere}}\n", encoding="utf-8")
    git("commit", "-qam", "broken")
    result = berth("diff", "HEAD:dev", "main:dev")
    assert result.exit_code == 1
    assert result.stderr.startswith("HEAD:teams/speech.yaml:1: error: teams.speech.cohort: no cohort 'nowhere'")


def test_a_teams_stack_at_a_revision_has_the_platform_of_that_revision(repository: Path) -> None:
    """Also if it names the platform by file, and the working tree has a newer one."""
    mine = TEAM.files["Pulumi.mine.yaml"].replace("platform: dev", "platform: Pulumi.dev.yaml")
    (repository / "Pulumi.mine.yaml").write_text(mine, encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "second")
    assert berth("diff", "mine", "--since", "HEAD").stdout == "mine: nothing changes\n"
    write(repository, edited("topology-changed"))
    result = berth("diff", "mine", "--since", "HEAD")
    assert result.exit_code == 0
    assert "requests 8 → 16 google.com/tpu" in result.stdout


@pytest.mark.parametrize("revision", ["nowhere", "main..change"])
def test_an_unknown_revision_is_reported_in_one_line(repository: Path, revision: str) -> None:
    result = berth("diff", f"{revision}:dev", "dev")
    message = f"no commit '{revision}' in this git repository; name a branch, a tag or a commit of it\n"
    assert (result.exit_code, result.stderr) == (1, message)


def test_a_revision_outside_a_git_repository_is_an_error(project: Path) -> None:
    result = berth("diff", "dev", "--since", "main")
    assert result.exit_code == 1
    assert result.stderr.endswith("is not in a git repository\n")


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
def test_markdown_and_html_in_a_comment_are_escaped(text: str, shown: str) -> None:
    assert escape_markdown(text) == shown


def test_text_from_a_stack_file_cannot_inject_markup_into_a_comment(project: Path) -> None:
    evil = 'allowReplacement: {v5e: "</pre></details><script>@everyone [x](http://x)"}'
    text = edited("topology-changed")["Pulumi.dev.yaml"].replace(
        "    reservations:", f"    {evil}\n    reservations:", 1
    )
    (project / "Pulumi.next.yaml").write_text(text, encoding="utf-8")
    result = berth("diff", "dev", "next", "--format", "markdown")
    assert result.exit_code == 0
    assert "<script>" not in result.stdout
    assert result.stdout.count("<details>") == result.stdout.count("</details>") == result.stdout.count("<pre>")
