"""scripts/comment.py: untrusted text becomes one comment of the right pull request, and nothing else."""

from __future__ import annotations

import importlib.util
import io
import json
import pathlib
import re
import sys
import zipfile
from typing import Any
from unittest.mock import patch

import pytest

from tests.stack_files import ROOT

_SPEC = importlib.util.spec_from_file_location("comment", ROOT / "scripts" / "comment.py")
assert _SPEC is not None
assert _SPEC.loader is not None
comment = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(comment)

SHA = "abcdef0123456789"
RUN = {"head_sha": SHA, "conclusion": "failure", "head_branch": "a&b", "head_repository": {"owner": {"login": "fork"}}}
PULLS = [{"number": 6, "head": {"sha": "old"}}, {"number": 7, "head": {"sha": SHA}}]
HEAD = (
    f"{comment.MARK}\n*Output of `berth diff` for commit abcdef012345, printed by the pull request's own code; "
    "its check: failure.*\n\n"
)
STRANGER = {"id": 1, "user": {"type": "User"}, "body": f"{comment.MARK} mine"}
OURS = {"id": 2, "user": {"type": "Bot"}, "body": f"{comment.MARK}\nas it was"}


def archive(**files: str) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as written:
        for name, text in files.items():
            written.writestr(name.replace("_", "."), text)
    return kept.getvalue()


class GitHub:
    """Answers by path; keeps what it is sent."""

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {
            "repos/o/r/actions/runs/9": RUN,
            "repos/o/r/pulls?state=open&head=fork%3Aa%26b": PULLS,
            "repos/o/r/actions/runs/9/artifacts?name=berth-diff": {"artifacts": [{"id": 3, "size_in_bytes": 100}]},
            "repos/o/r/actions/artifacts/3/zip": archive(comment_md="## Stack dev\n"),
            "repos/o/r/issues/7/comments?per_page=100": [[STRANGER]],
            **answers,
        }
        self.sent: list[tuple[str, tuple[str, ...], str]] = []

    def __call__(self, path: str, *options: str, stdin: bytes | None = None) -> bytes:
        if stdin is not None:
            self.sent.append((path, options, json.loads(stdin)["body"]))
            return b"{}"
        result = self.answers[path]
        if isinstance(result, Exception):
            raise result
        return result if isinstance(result, bytes) else json.dumps(result).encode()


def posted(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> list[tuple[str, tuple[str, ...], str]]:
    github = GitHub(**answers)
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    with patch.object(comment, "_gh", github):
        comment.main("9")
    return github.sent


def test_the_first_comment_is_posted_on_the_pull_request_of_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's comment with the mark is not changed."""
    sent = posted(monkeypatch)
    assert sent == [("repos/o/r/issues/7/comments", ("--method", "POST", "--input", "-"), HEAD + "## Stack dev\n")]


def test_the_next_one_is_written_over_it(monkeypatch: pytest.MonkeyPatch) -> None:
    comments = [[STRANGER], [OURS]]
    ((path, options, _),) = posted(monkeypatch, **{"repos/o/r/issues/7/comments?per_page=100": comments})
    assert (path, options[1]) == ("repos/o/r/issues/comments/2", "PATCH")


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({"repos/o/r/actions/runs/9": {**RUN, "head_sha": "older"}}, "not for the newest commit"),
        ({"repos/o/r/actions/runs/9": {**RUN, "head_repository": None}}, "not for the newest commit"),
    ],
)
def test_no_comment_is_posted_without_a_pull_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answers: dict[str, Any], text: str
) -> None:
    assert posted(monkeypatch, **answers) == []
    assert text in capsys.readouterr().out


ARTIFACTS = "repos/o/r/actions/runs/9/artifacts?name=berth-diff"


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({ARTIFACTS: {"artifacts": []}}, "the run has no artifact berth-diff"),
        ({ARTIFACTS: {"artifacts": [{"id": 3, "size_in_bytes": 10**7}]}}, "the artifact has 10000000 bytes, more than"),
        ({ARTIFACTS: {"artifacts": [{}]}}, "the artifact cannot be read (KeyError)"),
        ({ARTIFACTS: b"{"}, "the artifact cannot be read (JSONDecodeError)"),
        ({ARTIFACTS: comment.GitHubError("no answer")}, "the artifact cannot be read (GitHubError)"),
        ({"repos/o/r/actions/artifacts/3/zip": comment.GitHubError("gone")}, "cannot be read (GitHubError)"),
        ({"repos/o/r/actions/artifacts/3/zip": archive(other_md="x")}, "no readable comment.md (KeyError)"),
        ({"repos/o/r/actions/artifacts/3/zip": b"PK"}, "no readable comment.md (BadZipFile)"),
    ],
)
def test_every_end_for_an_open_pull_request_writes_the_comment(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, Any], text: str
) -> None:
    """An earlier comment, of another commit, would stay otherwise."""
    github = GitHub(**{"repos/o/r/issues/7/comments?per_page=100": [[OURS]], **answers})
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    with patch.object(comment, "_gh", github), pytest.raises(SystemExit, match=re.escape(text)):
        comment.main("9")
    ((path, _, body),) = github.sent
    assert path == "repos/o/r/issues/comments/2"
    assert body.startswith(f"{HEAD}**Not available for abcdef012345**: ")
    assert text in body


@pytest.mark.parametrize("conclusion", [None, "a\nb", "@owners", "<b>", 3])
def test_only_plain_words_of_github_are_in_the_comment(monkeypatch: pytest.MonkeyPatch, conclusion: object) -> None:
    sent = posted(monkeypatch, **{"repos/o/r/actions/runs/9": {**RUN, "conclusion": conclusion}})
    assert "its check: unknown.*" in sent[0][2]


def test_a_large_archive_is_read_only_up_to_the_limit_of_a_comment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bomb = archive(comment_md="<details>\n" + "a line\n" * 10_000_000)
    assert len(bomb) < comment.LARGEST_ARCHIVE
    ((_, _, body),) = posted(monkeypatch, **{"repos/o/r/actions/artifacts/3/zip": bomb})
    assert comment.LONGEST < len(body) < 65_536
    assert body.endswith("a line\n\n</details>\n\nTruncated: longer than a comment may be. "
                         "The artifact of the run contains the full text.")  # fmt: skip


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<img src=x>", "<~img src=x>"),
        ("<!-- berth-diff -->", "<~!-- berth-diff -->"),
        ("<details><summary>more</summary>", "<details><summary>more</summary>"),
        ("<details open>", "<~details open>"),
        ("![x](http://a.example)", "![x]~(http:~//a.example)"),
        ("[x]: HTTPS://a.example", "[x]~: HTTPS:~//a.example"),
        ("www.a.example", "www~.a.example"),
        ("@acme/owners", "@~acme/owners"),
        ("&#64;owners &#x40;owners &commat;owners", "&~#~64;owners &~#x40;owners &~commat;owners"),
        ("&lt;b&gt; &amp;#64; &#x27;", "&lt;b&gt; &amp;#~64; &#x27;"),
        ("#1 acme/fleet#12 GH-7 gh-7", "#~1 acme/fleet#~12 GH-~7 gh-~7"),
        ("&#35;1", "&~#~35;1"),
        ("## Stack dev", "## Stack dev"),
        ("<pre>\n- a &lt; b\n</pre>", "<pre>\n- a &lt; b\n</pre>"),
        ("<pre onclick=x>", "<~pre onclick=x>"),
        ("a\x1b[31m\u202eb\r\n", "a[31mb\n"),
        ("| team | **8** |\n### x `y`", "| team | **8** |\n### x `y`"),
    ],
)
def test_text_is_escaped(written: str, shown: str) -> None:
    """`~` stands for a space without width."""
    assert comment.neutralize(written).replace("\u200b", "~") == shown


def test_an_error_of_gh_ends_the_script(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    tool = tmp_path / "gh"
    tool.write_text(f"#!{sys.executable}\nimport sys\nsys.exit(sys.argv[1:] != ['api', 'fine'])\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert comment._gh("fine") == b""
    with pytest.raises(comment.GitHubError, match="GitHub did not answer missing"):
        comment._gh("missing")
