"""Runs commands of `berth`, each in a process that ends as at a prompt, without starting Python for each.

One Python loads the command's modules and forks for every command. A command has its own arguments, folder, environment
and streams, and leaves through the interpreter's own exit, which flushes the streams and may still fail.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

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
    requests = json.dumps([asdict(command) for command in commands])
    done = subprocess.run(_python("serve()", environment), input=requests, capture_output=True, text=True, check=True)
    return [Finished(**each) for each in json.loads(done.stdout)]


def _python(call: str, environment: Mapping[str, str]) -> list[str]:
    """The command of a Python that calls a function of this module. (Under -m, `berth` would have another name.)"""
    variables = [f"{name}={value}" for name, value in {"PYTHONPATH": str(ROOT), **environment}.items()]
    return ["env", "-C", str(ROOT), *variables, sys.executable, "-c", f"from tests import forked; forked.{call}"]


def serve() -> None:
    """Run the commands on stdin and print their results; a forked process runs its command and exits."""
    requests = sys.stdin.read()
    _load_verbs(requests)
    results: list[Finished] = []
    for command in (Command(**each) for each in json.loads(requests)):
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            child = os.fork()
            if child == 0:
                streams = {0: os.open(os.devnull, os.O_RDONLY), 1: stdout.fileno(), 2: stderr.fileno()}
                _become(command, streams | {number: _without_reader() for number in command.closed})
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            results.append(Finished(status, *map(_text, (stdout, stderr))))
    json.dump([asdict(each) for each in results], sys.stdout)


def _load_verbs(requests: str = "") -> None:
    """Import the verbs that the requests name; without requests all."""
    from berth.cli import VERBS, load_verb

    for verb in VERBS:
        if not requests or verb in requests:
            load_verb(verb)


def _become(command: Command, streams: Mapping[int, int]) -> NoReturn:
    """Run the command in this process, which ends with it."""
    from berth.cli import run_command

    os.chdir(command.folder)
    os.environ.update(command.environment)
    sys.argv = ["berth", *command.words]
    for number, stream in streams.items():
        os.dup2(stream, number)
    run_command()
    sys.exit()


def _without_reader() -> int:
    """The writing end of a pipe whose reading end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def _text(stream: BinaryIO) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


# --- a `berth` for scripts --------------------------------------------------------------------------------------------

CLIENT = """
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    command = {"words": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}
    socket.send_fds(server, [json.dumps(command).encode()], [0, 1, 2])
    sys.exit(int(server.recv(16)))
"""


@contextlib.contextmanager
def berth_for_scripts() -> Generator[str]:
    """The text of a bash script that is `berth`, as long as this lasts; its commands fork from one Python."""
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        address = str(Path(folder) / "socket")
        with subprocess.Popen(_python(f"listen({address!r})", {}), stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            server.stdout.readline()  # it listens
            try:
                yield shlex.join(["exec", sys.executable, "-S", "-E", "-c", CLIENT, address]) + ' "$@"'
            finally:
                server.terminate()


def listen(address: str) -> None:
    """Run commands of clients until terminated. One process waits for each command, because a pipeline has several."""
    _load_verbs()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks for the statuses of those that wait
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(16)
        print("listening", flush=True)
        while True:
            client, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _answer(client)
            client.close()


def _answer(client: socket.socket) -> NoReturn:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(client, 1 << 20, 3)
    child = os.fork()
    if child == 0:
        client.close()
        os.environ.clear()
        _become(Command(**json.loads(message)), dict(enumerate(streams)))
    for stream in streams:
        os.close(stream)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    client.sendall(str(status if status >= 0 else 128 - status).encode())
    os._exit(0)
