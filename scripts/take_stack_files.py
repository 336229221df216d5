"""Take what a pull request changes in the stack STACK, and nothing that runs, from its checkout in the folder CHANGE.

The preview of a pull request has the key of the state, so it runs the code of the default branch. From the change it
takes `berth:fleet` or `berth:team` of the stack file and the team files in stacks/teams. The stack's other settings
stay, because a kubeconfig in them can name a program. The files are read as git's objects, never through the checkout,
where a link could lead anywhere, and by Berth's own parser, which ends at a bomb of aliases. The checkout is deleted.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from berth.diagnostics import Problem, printable
from berth.loader.document import parse
from berth.loader.revisions import GitFile, RevisionNotFound, files_at, read_git_files
from berth.loader.stack_text import CONFIG_KEYS
from berth.loader.text_file import MAX_BYTES, decode_text

TEAMS = PurePosixPath("stacks/teams")
MAX_TOTAL = 32 << 20
"""Largest size of all files that are taken, in bytes."""
_SHOWN = 20


class Refused(Exception):
    """What cannot be taken, with the reason; several lines if several parts of a file are at fault."""


class _Plain(yaml.SafeDumper):
    """Writes a value that is in two places twice, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def take(root: Path, change: Path, stack: str) -> None:
    """Write the change's values into the files below `root`, and delete `change`. Raises Refused."""
    if root not in change.parents or not change.is_dir():
        raise Refused(f"CHANGE is '{change}', which is no folder inside {root}; check the pull request out below build")
    if not (change / ".git").is_dir() or (change / ".git").is_symlink():
        raise Refused(f"CHANGE is '{change}', which is no git checkout; check the pull request out into it")
    name = f"Pulumi.{stack.rpartition('/')[2]}.yaml"
    if not (root / name).is_file():
        raise Refused(f"{name} is not on the default branch; merge it, and Deploy previews it before it creates it")
    wanted = _wanted(files_at("HEAD", change), name)
    texts = dict(zip(wanted, read_git_files([*wanted.values()], change), strict=True))
    config = _config(_text(texts.pop(name), name), name)
    teams = {path: _team_text(data, path) for path, data in texts.items()}
    ours = yaml.safe_load((root / name).read_text(encoding="utf-8"))
    kept = {key: value for key, value in (ours.get("config") or {}).items() if key not in CONFIG_KEYS}
    shutil.rmtree(root / TEAMS, ignore_errors=True)
    for path, text in teams.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    written = yaml.dump({**ours, "config": {**kept, **config}}, Dumper=_Plain, sort_keys=False, allow_unicode=True)
    (root / name).write_text(written, encoding="utf-8")
    shutil.rmtree(change)


def _wanted(files: dict[str, GitFile], name: str) -> dict[str, GitFile]:
    """Return the stack file and the team files of a commit. Raises Refused for one that is not an ordinary file."""
    if name not in files:
        raise Refused(f"{name} is missing, or is no regular file; commit it as a file")
    above = {str(each) for each in (TEAMS, *TEAMS.parents)}
    wanted: dict[str, GitFile] = {}
    for path, file in sorted(files.items()):
        is_team_file = TEAMS in PurePosixPath(path).parents and path.endswith((".yaml", ".yml"))
        if path != name and path not in above and not is_team_file:
            continue
        if path in above or not file.is_ordinary:
            kind = "folder" if path in above else "file"
            raise Refused(f"{path} is missing, or is no regular {kind}; commit it as a {kind}")
        if file.size > MAX_BYTES:
            raise Refused(f"{path} is larger than 1 MiB; split it")
        wanted[path] = file
    if sum(file.size for file in wanted.values()) > MAX_TOTAL:
        raise Refused(f"the files in {TEAMS} are larger than 32 MiB; remove some")
    return wanted


def _config(text: str, name: str) -> dict[str, object]:
    """Return the value of Berth's key in a stack file. Raises Refused with the faults of the file."""
    document, faults = parse(text, name)
    of_berth = {("config", key) for key in CONFIG_KEYS}
    _refuse([fault for fault in faults if document is None or fault.path[:2] in of_berth])
    top: object = document and document.value
    config: object = top.get("config") if isinstance(top, dict) else None
    if not isinstance(config, dict):
        raise Refused(f"{name} has no 'config:'; make diff-comment prints what is missing")
    return {key: value for key, value in config.items() if key in CONFIG_KEYS}


def _team_text(data: bytes, path: str) -> str:
    """Return the text of a team file: YAML with the key `teams` and no other, so that none is a kubeconfig."""
    text = _text(data, path)
    document, faults = parse(text, path)
    _refuse(faults)
    if document is None or not isinstance(document.value, dict) or document.value.keys() != {"teams"}:
        raise Refused(f"{path} has other keys than teams; remove them")
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
        take(Path.cwd().resolve(), Path(os.environ["CHANGE"]).resolve(), os.environ["STACK"])
    except (Refused, RevisionNotFound) as refused:
        sys.exit("\n".join(printable(line) for line in str(refused).splitlines()))
