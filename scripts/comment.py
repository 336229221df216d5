"""Post the result of a workflow run as one comment on its pull request; later runs edit that comment.

The artifact of the run is untrusted: the author of the pull request controls it, and this script comments in the name
of the repository. So the artifact is read as text up to a maximum size, nothing of it is executed, and links, images,
mentions, references to issues and HTML in it are disabled. GitHub names the pull request, never the artifact. The
script calls `gh`.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import urllib.parse
import zipfile
import zlib
from typing import Any

ARTIFACT, FILE = "berth-diff", "comment.md"
MARK = "<!-- berth-diff -->"
LARGEST_ARCHIVE = 1_000_000
"""Maximum size of the artifact's archive, in bytes."""
LONGEST = 60_000
"""Maximum length of a comment, in characters; GitHub accepts 65,536."""

_ACTIVE_MARKUP = re.compile(
    r"<(?!/?(?:details|summary|pre)>|\u200b)|@(?!\u200b)|&(?!(?:amp|lt|gt|quot|#x27);|\u200b)"
    r"|#(?=\d)|\bGH-(?=\d)|\](?=[(:])|:(?=//)|www(?=\.)",
    re.IGNORECASE,
)
"""Characters that begin HTML, a mention, a reference to an issue, an entity that may stand for one of these, the
address of a link or image, or an address that GitHub links by itself. Berth's own tags and escapes stay, and so does
what is disabled already."""
_CLOSED_TAGS = ("pre", "details")
"""Tags that a truncated comment has to close, the inner one first."""
_ZERO_WIDTH_SPACE = "\u200b"
"""Zero-width space (U+200B)."""


class GitHubError(Exception):
    """GitHub did not answer."""


class NotAvailable(Exception):
    """The run has no result that can be posted; the text says why."""


def main(run: str) -> None:
    """Post the comment of the workflow run with this ID; print the reason where there is no pull request to post to.

    Every end for an open pull request writes the comment: an earlier one, of another commit, would say too little.
    """
    repository = f"repos/{os.environ.get('GITHUB_REPOSITORY') or _current_repository()}"
    run_info = _get(f"{repository}/actions/runs/{int(run)}")
    number = _pull_request(repository, run_info)
    if number is None:
        print(f"run {run} is not for the newest commit of an open pull request: nothing to post")
        return
    commit = _word(run_info.get("head_sha"), r"[0-9a-f]{7,64}")[:12]
    reason = ""
    try:
        result = neutralize(_result(repository, int(run)))
    except NotAvailable as error:
        reason = str(error)
        result = f"**Not available for {commit}**: {reason}. The log of the run has more.\n"
    conclusion = _word(run_info.get("conclusion"), r"[a-z_]{1,40}")
    told = f"*Output of `berth diff` for commit {commit}, printed by the pull request's own code"
    _post(f"{repository}/issues", number, f"{MARK}\n{told}; its check: {conclusion}.*\n\n{result}")
    if reason:
        sys.exit(f"run {run}: {reason}")


def _word(value: object, pattern: str) -> str:
    """Return what GitHub says where it is one plain word, else `unknown`."""
    return value if isinstance(value, str) and re.fullmatch(pattern, value) else "unknown"


def _result(repository: str, run: int) -> str:
    """Return the text of the run's artifact. Raises NotAvailable."""
    try:
        artifacts = _get(f"{repository}/actions/runs/{run}/artifacts?name={ARTIFACT}")["artifacts"]
        if not artifacts:
            raise NotAvailable(f"the run has no artifact {ARTIFACT}")
        if artifacts[0]["size_in_bytes"] > LARGEST_ARCHIVE:
            size = artifacts[0]["size_in_bytes"]
            raise NotAvailable(f"the artifact has {size} bytes, more than {LARGEST_ARCHIVE}")
        return _text(_gh(f"{repository}/actions/artifacts/{artifacts[0]['id']}/zip"))
    except (GitHubError, KeyError, TypeError, ValueError) as error:
        raise NotAvailable(f"the artifact cannot be read ({type(error).__name__})") from error


def disabled(text: str) -> str:
    """Return the text with HTML, links, images, mentions and references disabled, which makes it longer."""
    printable = "".join(
        character for character in text if character.isprintable() or character in f"\n{_ZERO_WIDTH_SPACE}"
    )
    return _ACTIVE_MARKUP.sub(lambda match: match[0] + _ZERO_WIDTH_SPACE, printable)


def neutralize(text: str) -> str:
    """Return the text, at most `LONGEST` characters, with active markup disabled."""
    neutral = disabled(text)
    if len(neutral) <= LONGEST:
        return neutral
    truncated = neutral[: neutral.rfind("\n", 0, LONGEST) + 1] or neutral[:LONGEST]
    closing_tags = "".join(
        f"\n</{tag}>" * max(0, truncated.count(f"<{tag}>") - truncated.count(f"</{tag}>")) for tag in _CLOSED_TAGS
    )
    return (
        f"{truncated}{closing_tags}\n\nTruncated: longer than a comment may be. "
        "The artifact of the run contains the full text."
    )


def _text(archive: bytes) -> str:
    """Return the one file of the archive, read only up to the length that is needed (zip bombs).

    Raises NotAvailable.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files, files.open(FILE) as file:
            return file.read(4 * LONGEST).decode(errors="replace")
    except (KeyError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise NotAvailable(f"the artifact has no readable {FILE} ({type(error).__name__})") from error


def _pull_request(repository: str, run: dict[str, Any]) -> int | None:
    """Return the number of the open pull request whose newest commit the run tested; None where there is none."""
    if run["head_repository"] is None:  # the fork was deleted
        return None
    head = urllib.parse.quote(f"{run['head_repository']['owner']['login']}:{run['head_branch']}")
    pulls = _get(f"{repository}/pulls?state=open&head={head}")
    return next((pull["number"] for pull in pulls if pull["head"]["sha"] == run["head_sha"]), None)


def _post(issues: str, number: int, body: str) -> None:
    comments = [
        comment
        for page in _get(f"{issues}/{number}/comments?per_page=100", "--paginate", "--slurp")
        for comment in page
    ]
    own_comment_ids = [one["id"] for one in comments if one["user"]["type"] == "Bot" and one["body"].startswith(MARK)]
    request = (
        ("PATCH", f"{issues}/comments/{own_comment_ids[0]}")
        if own_comment_ids
        else ("POST", f"{issues}/{number}/comments")
    )
    _gh(request[1], "--method", request[0], "--input", "-", stdin=json.dumps({"body": body}).encode())
    print(f"{'updated' if own_comment_ids else 'posted'} the comment on pull request {number}")


def _current_repository() -> str:
    result = subprocess.run(["gh", "repo", "view", "--json", "nameWithOwner"], capture_output=True, check=True)
    return json.loads(result.stdout)["nameWithOwner"]


def _get(path: str, *options: str) -> Any:
    return json.loads(_gh(path, *options))


def _gh(path: str, *options: str, stdin: bytes | None = None) -> bytes:
    """Return GitHub's answer. Raises GitHubError where `gh` fails (it prints the reason itself)."""
    result = subprocess.run(["gh", "api", path, *options], input=stdin, stdout=subprocess.PIPE, check=False)
    if result.returncode:
        raise GitHubError(f"GitHub did not answer {path}")
    return result.stdout


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except GitHubError as failed:
        sys.exit(str(failed))
