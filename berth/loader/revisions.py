"""Read stack files at a git commit: write their YAML to a temporary directory, without touching the work tree."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

_YAML = (".yaml", ".yml")
_FILE_MODES = ("100644", "100755")
"""Modes of plain files. Links are left out, because they can lead anywhere."""


class RevisionNotFound(Exception):
    """Raised if a revision or repository does not exist, with a one-line message."""


@contextmanager
def yaml_checkout(revision: str, root: pathlib.Path) -> Generator[pathlib.Path]:
    """Yield a directory with every YAML file below `root` as of `revision`, while the context lasts.

    Raises RevisionNotFound if `root` is not in a git repository, or the commit does not exist.
    """
    commit = _commit(revision, root)
    with tempfile.TemporaryDirectory(prefix="berth-") as name:
        folder = pathlib.Path(name)
        blobs: dict[str, str] = {}
        for line in _git(["ls-tree", "-r", "-z", commit], root, check=True).stdout.decode(errors="replace").split("\0"):
            metadata, _, path = line.partition("\t")
            if path.endswith(_YAML) and metadata.split()[0] in _FILE_MODES:
                blobs[path] = metadata.split()[2]
        for path, text in zip(blobs, _blobs(list(blobs.values()), root), strict=True):
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        yield folder


def merge_base(revision: str, root: pathlib.Path) -> str:
    """Return the merge base of the current branch and `revision`; `revision` itself if git finds none.

    Raises RevisionNotFound as `yaml_checkout` does.
    """
    commit = _commit(revision, root)
    result = _git(["merge-base", commit, "HEAD"], root)
    return result.stdout.decode().strip() if result.returncode == 0 else commit


def current_commit(root: pathlib.Path) -> str:
    """Return the short name of the commit that is checked out, with `+changes` if files differ; "" outside git."""
    try:
        commit = _git(["rev-parse", "--short=12", "HEAD"], root)
        if commit.returncode:
            return ""
        changed = _git(["status", "--porcelain", "--untracked-files=no"], root).stdout.strip()
    except RevisionNotFound:
        return ""
    return commit.stdout.decode().strip() + ("+changes" if changed else "")


def _commit(revision: str, root: pathlib.Path) -> str:
    result = _git(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"], root)
    if result.returncode:
        in_repository = _git(["rev-parse", "--is-inside-work-tree"], root).returncode == 0
        raise RevisionNotFound(
            f"no commit '{revision}' in this git repository; name a branch, a tag or a commit of it"
            if in_repository
            else f"{root} is not in a git repository"
        )
    return result.stdout.decode().strip()


def _blobs(ids: Sequence[str], root: pathlib.Path) -> Iterator[bytes]:
    """Yield the contents of objects in the given order, read by one process."""
    output = _git(["cat-file", "--batch"], root, stdin="".join(f"{each}\n" for each in ids).encode(), check=True).stdout
    offset = 0
    for _ in ids:
        end = output.index(b"\n", offset)
        size = int(output[offset:end].split()[2])
        yield output[end + 1 : end + 1 + size]
        offset = end + 1 + size + 1


def _git(
    arguments: Sequence[str], root: pathlib.Path, stdin: bytes | None = None, *, check: bool = False
) -> subprocess.CompletedProcess[bytes]:
    try:
        result = subprocess.run(["git", "-C", str(root), *arguments], input=stdin, capture_output=True, check=False)
    except FileNotFoundError:
        raise RevisionNotFound("a revision needs git on PATH") from None
    if check and result.returncode:
        raise RevisionNotFound(" ".join(result.stderr.decode(errors="replace").split()) or f"git {arguments[0]} failed")
    return result
