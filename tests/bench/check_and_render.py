"""Benchmarks: `make bench`. Each runs whole processes, prints CPU seconds, memory and ratios, and asserts nothing."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from tests import fleets, managed_fleets

ROOT = pathlib.Path(__file__).parents[2]
BERTH = [sys.executable, "-c", "from berth.cli import run_command; run_command()"]
DUMP = [sys.executable, "-m", "tests.bench.dump"]
BARE = [sys.executable, "-m", "tests.bench.bare_sdk"]
RUNS, LONG = 7, 5
"""How often each is run, unless a run takes more than so many seconds."""

Command = Callable[[pathlib.Path], "Measured"]
"""What is measured of the stack `bench` in a folder."""


class Measured:
    """CPU seconds (median of several runs, one where it takes long) and peak memory in MB of a command."""

    def __init__(self, command: Sequence[str], folder: pathlib.Path, output: pathlib.Path | None = None) -> None:
        runs = [_run(command, folder, output)]
        while len(runs) < RUNS and runs[0][0] < LONG:
            runs.append(_run(command, folder, output))
        self.cpu = statistics.median(cpu for cpu, _ in runs)
        self.memory = max(memory for _, memory in runs)


def _run(command: Sequence[str], folder: pathlib.Path, output: pathlib.Path | None) -> tuple[float, float]:
    """CPU seconds and peak MB of one run, as the kernel accounts them; modules are compiled, as in an installation."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with (output or pathlib.Path(os.devnull)).open("w") as stream:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=stream, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed with status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(what: str, measured: Measured, note: str = "") -> None:
    """One line of the table."""
    print(f"{what:<44} {measured.cpu:7.2f} s CPU {measured.memory:7.0f} MB   {note}", flush=True)


@contextmanager
def project(write: Callable[[pathlib.Path, int], pathlib.Path], teams: int) -> Generator[pathlib.Path]:
    """The folder of a generated fleet."""
    with tempfile.TemporaryDirectory() as name:
        yield write(pathlib.Path(name) / "project", teams).parent


def growth(
    what: str, sizes: Sequence[int], measure: Command, write: Callable[..., pathlib.Path] = fleets.write
) -> None:
    """A line for each number of teams, and how much more than the line above it takes for so many more teams."""
    before: tuple[int, float] | None = None
    for teams in sizes:
        with project(write, teams) as folder:
            result = measure(folder)
        note = f"{teams / before[0]:g} × the teams, {result.cpu / before[1]:.2f} × the time" if before else ""
        row(f"{what}, {teams} teams", result, note)
        before = teams, result.cpu


def verb(*words: str) -> Command:
    """A verb of the command on the stack."""
    return lambda folder: Measured([*BERTH, *words, "bench"], folder, folder / "out.txt")


def check() -> None:
    """From nothing to a verdict: the dev stack beside an empty Python with the command's own libraries, and fleets."""
    empty = Measured([sys.executable, "-c", "import msgspec, pydantic, typer, yaml"], ROOT)
    row("python with the command's libraries", empty)
    row(
        "berth check dev",
        result := Measured([*BERTH, "check", "dev"], ROOT),
        f"check ÷ floor: {result.cpu / empty.cpu:.2f}",
    )
    growth("berth check", (500, 1000, 2000, 4000), verb("check"))
    growth("berth plan", (500, 1000, 2000), verb("plan"))


def render() -> None:
    """Fleets rendered whole with proofs on, the first beside PyYAML's C dumper writing the same objects."""
    with project(fleets.write, 1000) as folder:
        result = verb("render")(folder)
        plain, dumped = (Measured([*DUMP, str(folder / "out.txt"), what], folder) for what in ("load", "dump"))
    alone = dumped.cpu - plain.cpu
    what = "PyYAML C dumper, the objects of 1000 teams"
    print(f"{what:<44} {alone:7.2f} s CPU   render ÷ C dumper: {result.cpu / alone:.2f}")
    growth("berth render", (500, 1000, 2000, 5000, 10000), verb("render"))


def managed() -> None:
    """A manager with 20 workers, 200 pools and a tree of cohorts five deep."""
    for each in ("check", "render"):
        growth(f"berth {each}, 20 workers", (1000, 2000, 4000), verb(each), managed_fleets.write)


def preview() -> None:
    """The dev stack on the in-process engine, beside the bare SDK registering as many resources on its mocks."""
    result = Measured([*BERTH, "preview", "dev", "--json"], ROOT)
    text = subprocess.run([*BERTH, "preview", "dev", "--json"], cwd=ROOT, capture_output=True, text=True, check=True)
    resources = len(json.loads(text.stdout)["resources"])
    bare = Measured([*BARE, str(resources)], ROOT)
    row(f"bare SDK, {resources} resources", bare)
    row("berth preview dev", result, f"{result.cpu / bare.cpu:.2f} × that")
    growth("berth preview", (100, 200, 400), _previewed)


def _previewed(folder: pathlib.Path) -> Measured:
    shutil.copy(ROOT / "__main__.py", folder)  # the program that is run
    return verb("preview")(folder)


def diff() -> None:
    """Fleets compared with themselves after every pool and one team in ten has changed."""
    growth("berth diff", (500, 1000, 2000), _changed)


def _changed(folder: pathlib.Path) -> Measured:
    before = (folder / "Pulumi.bench.yaml").read_text()
    teams = len(list((folder / "teams").iterdir()))
    after = before.replace(f'"slices": {teams}', f'"slices": {teams * 11 // 10}')
    after = after.replace(f'"max": {teams * 4}', f'"max": {teams * 44 // 10}')
    queues = {f"late-{n}": {"flavors": [{"pool": "v5e", "guaranteed": "1 slice"}]} for n in range(teams // 10)}
    fleet = json.loads(after)
    fleet["config"]["berth:fleet"]["teams"] = {"late": {"cohort": "cohort-0", "queues": queues}}
    (folder / "Pulumi.after.yaml").write_text(json.dumps(fleet))
    return Measured([*BERTH, "diff", "bench", "after"], folder, folder / "diff.txt")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    check()
    render()
    managed()
    diff()
    preview()
