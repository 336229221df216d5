"""Post what a workflow run said of a pull request as one comment on it, written anew by each run.

What the run left is the word of whoever opened the pull request, and this script may comment in the repository's name.
So the artifact is read up to a size, as text; nothing of it is executed; no link, image, mention or HTML in it works.
Which pull request it belongs to is asked of GitHub, never of the artifact. Speaks to GitHub through `gh`.
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
HEAD = f"{MARK}\n*What `berth diff` says of this change; printed by the pull request's own code.*\n\n"
LARGEST_ARCHIVE = 1_000_000
"""Bytes of the artifact as GitHub keeps it."""
LONGEST = 60_000
"""Characters that are posted; GitHub takes 65,536."""

_ACTIVE_MARKUP = re.compile(r"<(?!/?(?:details|summary)>)|@|\](?=[(:])|:(?=//)|www(?=\.)", re.IGNORECASE)
"""What begins HTML, a mention, the address of a link or image, or an address that GitHub links by itself."""
_ZERO_WIDTH_SPACE = "\u200b"
"""A space without width."""


def main(run: str) -> None:
    """Post the comment of the workflow run with this id; say why where there is nothing to post."""
    repository = f"repos/{os.environ.get('GITHUB_REPOSITORY') or _current_repository()}"
    run_info = _get(f"{repository}/actions/runs/{int(run)}")
    number = _pull_request(repository, run_info)
    artifacts = _get(f"{repository}/actions/runs/{int(run)}/artifacts?name={ARTIFACT}")["artifacts"]
    if number is None:
        print(f"run {run} is not of the newest commit of an open pull request: nothing to post")
    elif not artifacts:
        print(f"run {run} left no artifact {ARTIFACT}: nothing to post")
    elif artifacts[0]["size_in_bytes"] > LARGEST_ARCHIVE:
        sys.exit(f"the artifact of run {run} has {artifacts[0]['size_in_bytes']} bytes, more than {LARGEST_ARCHIVE}")
    else:
        archive = _gh(f"{repository}/actions/artifacts/{artifacts[0]['id']}/zip")
        _post(f"{repository}/issues", number, HEAD + neutralize(_text(archive)))


def neutralize(text: str) -> str:
    """The text, cut to what GitHub takes, with nothing in it that does more than to be read."""
    printable = "".join(
        character for character in text if character.isprintable() or character in f"\n{_ZERO_WIDTH_SPACE}"
    )
    neutral = _ACTIVE_MARKUP.sub(lambda match: match[0] + _ZERO_WIDTH_SPACE, printable)
    if len(neutral) <= LONGEST:
        return neutral
    truncated = neutral[: neutral.rfind("\n", 0, LONGEST) + 1] or neutral[:LONGEST]
    closing_tags = "\n</details>" * max(0, truncated.count("<details>") - truncated.count("</details>"))
    return (
        f"{truncated}{closing_tags}\n\nCut here: it is longer than a "
        "comment may be. The artifact of the run has all of it."
    )


def _text(archive: bytes) -> str:
    """The one file of the archive, and no more of it than is needed, however much it would unpack to."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files, files.open(FILE) as file:
            return file.read(4 * LONGEST).decode(errors="replace")
    except (KeyError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        sys.exit(f"the artifact holds no {FILE} that can be read: {type(error).__name__}")


def _pull_request(repository: str, run: dict[str, Any]) -> int | None:
    """The open pull request whose newest commit the run was of."""
    if run["head_repository"] is None:  # the fork is gone
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
    print(f"{'wrote anew' if own_comment_ids else 'posted'} the comment on pull request {number}")


def _current_repository() -> str:
    result = subprocess.run(["gh", "repo", "view", "--json", "nameWithOwner"], capture_output=True, check=True)
    return json.loads(result.stdout)["nameWithOwner"]


def _get(path: str, *options: str) -> Any:
    return json.loads(_gh(path, *options))


def _gh(path: str, *options: str, stdin: bytes | None = None) -> bytes:
    """What GitHub answers. Ends the script where it refuses, with its words."""
    result = subprocess.run(["gh", "api", path, *options], input=stdin, stdout=subprocess.PIPE, check=False)
    if result.returncode:
        sys.exit(f"GitHub did not answer {path}")
    return result.stdout


if __name__ == "__main__":
    main(sys.argv[1])
