"""Take what a pull request changes in the stack STACK, and nothing that runs, from its checkout in the folder CHANGE.

The preview of a pull request has the key of the state, so it runs the code of the default branch. From the change it
takes `berth:fleet` or `berth:team` of the stack file, the team files in stacks/teams and the bases in stacks/bases. The
stack's other settings stay, because a kubeconfig in them can name a program. The files are read as git's objects, never
through the checkout, where a link could lead anywhere, and by Berth's own parser, which ends at a bomb of aliases. The
checkout is deleted. What the change has besides is printed: the preview leaves it out, so the deployment is the first
to use it.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from berth.diagnostics import Problem, printable
from berth.diff.settings import compare_settings
from berth.diff.text import describe_setting
from berth.loader.document import parse
from berth.loader.revisions import GitFile, RevisionNotFound, files_at, read_git_files
from berth.loader.stack_text import CONFIG_KEYS
from berth.loader.text_file import MAX_BYTES, decode_text

FOLDERS = {PurePosixPath("stacks/teams"): "teams", PurePosixPath("stacks/bases"): "fleet"}
"""The folders that are taken, with the one key of each of their files, so that none is a kubeconfig."""
MAX_TOTAL = 8 << 20
"""Largest size of all files that are taken, in bytes: about 4,000 teams."""
MAX_FILES = 4_000
"""Largest number of files that are taken."""
_SHOWN = 20


class Refused(Exception):
    """What cannot be taken, with the reason; several lines if several parts of a file are at fault."""


class _Plain(yaml.SafeDumper):
    """Writes a value that is in two places twice, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def take(root: Path, change: Path, stack: str) -> list[str]:
    """Write the change's values into the files below `root`, and delete `change`. Raises Refused.

    Returns what the preview leaves out of the change, in lines.
    """
    if root not in change.parents or not change.is_dir():
        raise Refused(f"CHANGE is '{change}', which is no folder inside {root}; check the pull request out below build")
    if not (change / ".git").is_dir() or (change / ".git").is_symlink():
        raise Refused(f"CHANGE is '{change}', which is no git checkout; check the pull request out into it")
    name = f"Pulumi.{stack.rpartition('/')[2]}.yaml"
    if not (root / name).is_file():
        raise Refused(f"{name} is not on the default branch; merge it, and Deploy previews it before it creates it")
    files = files_at("HEAD", change)
    wanted = _wanted(files, name)
    texts = dict(zip(wanted, read_git_files([*wanted.values()], change), strict=True))
    settings = _settings(_text(texts.pop(name), name), name)
    config = {key: value for key, value in settings["config"].items() if key in CONFIG_KEYS}
    taken = {path: _text_of_one_key(data, path) for path, data in texts.items()}
    before = (root / name).read_text(encoding="utf-8")
    ours = yaml.safe_load(before)
    kept = {key: value for key, value in (ours.get("config") or {}).items() if key not in CONFIG_KEYS}
    for folder in FOLDERS:
        shutil.rmtree(root / folder, ignore_errors=True)
    for path, text in taken.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    written = yaml.dump({**ours, "config": {**kept, **config}}, Dumper=_Plain, sort_keys=False, allow_unicode=True)
    (root / name).write_text(written, encoding="utf-8")
    left_out = [*_settings_left_out(_settings(before, name), settings), *_files_left_out(files_at("HEAD", root), files)]
    shutil.rmtree(change)
    return left_out


def _settings_left_out(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """Return what the change sets beside Berth's key, as the diff says it."""
    beside = [
        {**top, "config": {key: value for key, value in top["config"].items() if key not in CONFIG_KEYS}}
        for top in (ours, theirs)
    ]
    changes = list(map(describe_setting, compare_settings(*beside)))
    return _folded("The preview keeps the default branch's settings beside the fleet, and leaves out:", changes)


def _files_left_out(ours: dict[str, GitFile], theirs: dict[str, GitFile]) -> list[str]:
    """Return the files that the change adds, edits or removes, without those that are taken and other stack files."""
    differing = [
        path
        for path in sorted(ours.keys() | theirs.keys())
        if ours.get(path) != theirs.get(path)
        and _folder_of(path) is None
        and not PurePosixPath(path).match("Pulumi.*.yaml")
    ]
    return _folded("The preview runs the default branch's version of these files of the change:", differing)


def _folded(title: str, lines: list[str]) -> list[str]:
    more = [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [title, *(f"  {line}" for line in lines[:_SHOWN]), *more] if lines else []


def _folder_of(path: str) -> PurePosixPath | None:
    """Return the folder that is taken and has the file."""
    return next((folder for folder in FOLDERS if folder in PurePosixPath(path).parents), None)


def _wanted(files: dict[str, GitFile], name: str) -> dict[str, GitFile]:
    """Return the stack file, team files and bases of a commit. Raises Refused for one that is not an ordinary file."""
    if name not in files:
        raise Refused(f"{name} is missing, or is no regular file; commit it as a file")
    above = {str(each) for folder in FOLDERS for each in (folder, *folder.parents)}
    wanted: dict[str, GitFile] = {}
    for path, file in sorted(files.items()):
        is_taken = _folder_of(path) is not None and path.endswith((".yaml", ".yml"))
        if path != name and path not in above and not is_taken:
            continue
        if path in above or not file.is_ordinary:
            kind = "folder" if path in above else "file"
            raise Refused(f"{path} is missing, or is no regular {kind}; commit it as a {kind}")
        if file.size > MAX_BYTES:
            raise Refused(f"{path} is larger than 1 MiB; split it")
        wanted[path] = file
    if sum(file.size for file in wanted.values()) > MAX_TOTAL:
        raise Refused(f"the files in {' and '.join(map(str, FOLDERS))} are larger than 8 MiB; remove some")
    if len(wanted) > MAX_FILES:
        raise Refused(
            f"{' and '.join(map(str, FOLDERS))} have more than {MAX_FILES:,} files; write several teams in one"
        )
    return wanted


def _settings(text: str, name: str) -> dict[str, Any]:
    """Return a stack file, which has a `config`. Raises Refused with the faults of Berth's key in it."""
    document, faults = parse(text, name)
    of_berth = {("config", key) for key in CONFIG_KEYS}
    _refuse([fault for fault in faults if document is None or fault.path[:2] in of_berth])
    top: object = document and document.value
    if not isinstance(top, dict) or not isinstance(top.get("config"), dict):
        raise Refused(f"{name} has no 'config:'; make diff-comment prints what is missing")
    return top


def _text_of_one_key(data: bytes, path: str) -> str:
    """Return the text of a team file or a base: YAML with the key of its folder and no other."""
    text = _text(data, path)
    document, faults = parse(text, path)
    _refuse(faults)
    key = FOLDERS[_folder_of(path) or PurePosixPath()]
    if document is None or not isinstance(document.value, dict) or document.value.keys() != {key}:
        raise Refused(f"{path} has other keys than {key}; remove them")
    return text


def _text(data: bytes, path: str) -> str:
    text = decode_text(data, path)
    if isinstance(text, Problem):
        raise Refused(text.line())
    return text


def _refuse(faults: list[Problem]) -> None:
    if faults:
        more = [f"and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise Refused("\n".join([*(fault.line() for fault in faults[:_SHOWN]), *more]))


if __name__ == "__main__":
    try:
        told = take(Path.cwd().resolve(), Path(os.environ["CHANGE"]).resolve(), os.environ["STACK"])
    except (Refused, RevisionNotFound) as refused:
        sys.exit("\n".join(printable(line) for line in str(refused).splitlines()))
    lines = [printable(line) for line in told]
    print("\n".join(lines), end="\n" if lines else "")
    with Path(os.environ.get("GITHUB_STEP_SUMMARY") or os.devnull).open("a", encoding="utf-8") as summary:
        summary.writelines(f"    {line}\n" for line in lines)  # indented lines are code in Markdown
