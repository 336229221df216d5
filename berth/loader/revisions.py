"""Read stack files at a git commit: write their YAML to a temporary directory, without touching the work tree."""

from __future__ import annotations

import pathlib
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

_YAML = (".yaml", ".yml")
_FILE_MODES = ("100644", "100755")
"""Modes of plain files."""


class GitFile(Struct, frozen=True):
    """A file of a commit as git stores it: its mode, the name of its object, and its size in bytes (0 of a link)."""

    mode: str
    object_name: str
    size: int

    @property
    def is_ordinary(self) -> bool:
        """Whether it is a file: neither a link, which can lead anywhere, nor another repository."""
        return self.mode in _FILE_MODES


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
        files = {
            path: file for path, file in files_at(commit, root).items() if path.endswith(_YAML) and file.is_ordinary
        }
        for path, text in zip(files, read_git_files([*files.values()], root), strict=True):
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        yield folder


def files_at(commit: str, root: pathlib.Path) -> dict[str, GitFile]:
    """Return every file of a commit below `root`, links included, by its path; nothing is read from the work tree.

    Raises RevisionNotFound as `yaml_checkout` does, and for a path that leads out of the folder or is listed twice.
    """
    files: dict[str, GitFile] = {}
    listing = _git(["ls-tree", "-r", "-l", "-z", commit], root, check=True).stdout.decode(errors="replace")
    for line in filter(None, listing.split("\0")):
        metadata, _, path = line.partition("\t")
        mode, _, name, size = metadata.split()
        parts = path.split("/")
        if path in files or {"", ".", "..", ".git"}.intersection(parts):
            raise RevisionNotFound(f"commit {commit} has the path '{path}', which is not one of a file; remove it")
        files[path] = GitFile(mode, name, int(size) if size.isdecimal() else 0)
    return files


def has_file(revision: str, path: str, root: pathlib.Path) -> bool:
    """Return whether a commit has a file below `root`; False if there is no such commit."""
    return _git(["cat-file", "-e", f"{revision}:./{path}"], root).returncode == 0


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


def read_git_files(files: Sequence[GitFile], root: pathlib.Path) -> Iterator[bytes]:
    """Yield the contents of files in the given order, read by one process."""
    names = "".join(f"{file.object_name}\n" for file in files)
    output = _git(["cat-file", "--batch"], root, stdin=names.encode(), check=True).stdout
    offset = 0
    for _ in files:
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
