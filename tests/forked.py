"""Runs commands of `berth`, each in a process that ends as at a prompt, without starting Python for each.

One Python loads the command's modules and forks for every command. A command has its own arguments, folder, environment
and streams, and leaves through the interpreter's own exit, which flushes the streams and may still fail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Command:
    """Arguments of `berth`; `closed` are the streams that nobody reads any more when it starts (1 stdout, 2 stderr)."""

    words: Sequence[str]
    folder: str = str(ROOT)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    closed: Sequence[int] = ()


@dataclass(frozen=True)
class Finished:
    """The exit status of a command (negative: the signal that ended it), and what it wrote to streams that are read."""

    status: int
    stdout: str
    stderr: str


def run_all(commands: Sequence[Command], **environment: str) -> list[Finished]:
    """Run the commands, one after the other, below one Python that starts with this environment."""
    done = subprocess.run(
        [sys.executable, "-c", "from tests.forked import serve; serve()"],  # under -m, the command's name is another
        input=json.dumps([asdict(command) for command in commands]),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [Finished(**each) for each in json.loads(done.stdout)]


def _run(command: Command) -> Finished | None:
    """Fork: the result in the parent; None in the child, which is then the command."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = os.fork()
        if child == 0:
            _become(command, {1: stdout, 2: stderr})
            return None
        _, status = os.waitpid(child, 0)
        texts = [_text(stream) for stream in (stdout, stderr)]
    return Finished(os.waitstatus_to_exitcode(status), *texts)


def _become(command: Command, streams: Mapping[int, BinaryIO]) -> None:
    """Take the command's folder, environment, arguments and streams."""
    os.chdir(command.folder)
    os.environ.update(command.environment)
    sys.argv = ["berth", *command.words]
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, stream in streams.items():
        os.dup2(_without_reader() if number in command.closed else stream.fileno(), number)


def _without_reader() -> int:
    """The writing end of a pipe whose reading end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def _text(stream: BinaryIO) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


def serve() -> None:
    """Run the commands on stdin and print their results; a forked process runs its command and exits."""
    from berth.cli import VERBS, load_verb, run_command

    requests = sys.stdin.read()
    commands = [Command(**each) for each in json.loads(requests)]
    for verb in VERBS:
        if verb in requests:
            load_verb(verb)
    results: list[Finished] = []
    for command in commands:
        result = _run(command)
        if result is None:
            run_command()
            sys.exit()
        results.append(result)
    json.dump([asdict(each) for each in results], sys.stdout)
