"""Take what a pull request changes in the stack STACK, and nothing that runs, from its checkout in the folder CHANGE.

The preview of a pull request has the key of the state, so it runs the code of the default branch. From the change it
takes `berth:fleet` or `berth:team` of the stack file and the team files in stacks/teams. The stack's other settings
stay, because a kubeconfig in them can name a program. The checkout is deleted, so that no path can reach into it.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

KEYS = ("berth:fleet", "berth:team")
TEAMS = Path("stacks") / "teams"
MAX_BYTES = 1 << 20


class Refused(Exception):
    """A file that cannot be taken, with the reason."""


def take(root: Path, change: Path, stack: str) -> None:
    """Write the change's values into the files below `root`, and delete `change`. Raises Refused."""
    if root not in change.parents or not change.is_dir():
        raise Refused(f"CHANGE is '{change}', which is no folder inside {root}; check the pull request out below build")
    name = f"Pulumi.{stack.rpartition('/')[2]}.yaml"
    if not (root / name).is_file():
        raise Refused(f"{name} is not on the default branch; merge it, and Deploy previews it before it creates it")
    ours, theirs = _mapping(root / name), _mapping(change / name)
    config = {key: value for key, value in (ours.get("config") or {}).items() if key not in KEYS}
    taken = {key: value for key, value in (theirs.get("config") or {}).items() if key in KEYS}
    teams = _team_files(change)
    shutil.rmtree(root / TEAMS, ignore_errors=True)
    for path, text in teams.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    text = yaml.safe_dump({**ours, "config": {**config, **taken}}, sort_keys=False)
    (root / name).write_text(text, encoding="utf-8")
    shutil.rmtree(change)


def _team_files(change: Path) -> dict[Path, str]:
    """Return the change's team files: YAML with the key `teams` and no other, so that none is a kubeconfig."""
    files: dict[Path, str] = {}
    for path in sorted((change / TEAMS).rglob("*.yaml")):
        name = path.relative_to(change)
        if _mapping(path).keys() != {"teams"}:
            raise Refused(f"{name} has other keys than teams; remove them")
        files[name] = _text(path)
    return files


def _mapping(path: Path) -> dict[str, Any]:
    try:
        value = yaml.safe_load(_text(path))
    except (yaml.YAMLError, RecursionError) as error:
        raise Refused(f"{path.name} is not YAML; make diff-comment prints the line") from error
    if not isinstance(value, dict):
        raise Refused(f"{path.name} is not a mapping; write 'key: value' lines")
    return value


def _text(path: Path) -> str:
    """Return the content of a regular file: no link, no pipe, of at most a mebibyte."""
    if path.is_symlink() or path.resolve() != path.parent.resolve() / path.name or not path.is_file():
        raise Refused(f"{path.name} is missing, or is no regular file; commit it as a file")
    if path.stat().st_size > MAX_BYTES:
        raise Refused(f"{path.name} is larger than 1 MiB; split it")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"{path.name} is not UTF-8; save it as UTF-8") from error


if __name__ == "__main__":
    try:
        take(Path.cwd().resolve(), Path(os.environ["CHANGE"]).resolve(), os.environ["STACK"])
    except Refused as refused:
        sys.exit(str(refused))
