"""Benchmarks: `make bench`. Each runs whole processes, prints CPU seconds, memory and ratios, and asserts nothing."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests import fleets

ROOT = pathlib.Path(__file__).parents[1]
BERTH = [sys.executable, "-c", "from stacks.cli import main; main()"]
DUMP = [sys.executable, "-m", "tests.bench_dump"]
BARE = [sys.executable, "-m", "tests.bench_bare"]
RUNS = 3


class Measured:
    """CPU seconds (median of several runs) and peak memory in MB of a command."""

    def __init__(self, command: Sequence[str], folder: pathlib.Path, output: pathlib.Path | None = None) -> None:
        runs = [_run(command, folder, output) for _ in range(RUNS)]
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


def check() -> None:
    """From nothing to a verdict: the dev stack beside an empty Python with the command's own libraries, and fleets."""
    empty = Measured([sys.executable, "-c", "import pydantic, typer, yaml"], ROOT)
    row("python with pydantic, typer and PyYAML", empty)
    row("berth check dev", found := Measured([*BERTH, "check", "dev"], ROOT), f"{found.cpu / empty.cpu:.2f} × that")
    for teams in (1000, 4000):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "project"
            fleets.write(folder, teams)
            fleet = Measured([*BERTH, "check", "bench"], folder)
            each = f"{(fleet.cpu - found.cpu) / teams * 1000:.2f} ms a team"
            row(f"berth check, {teams} teams", fleet, f"{each} beyond dev")


def render() -> None:
    """Fleets of growing size, rendered whole with proofs on, beside PyYAML's C dumper writing the same objects."""
    before = 0.0
    for teams in (1000, 2000, 5000, 10000):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "project"
            fleets.write(folder, teams)
            output = folder / "rendered.yaml"
            found = Measured([*BERTH, "render", "bench"], folder, output)
            each = found.cpu / teams * 1000
            growth = f"{each:.2f} ms a team" + (f" ({each / before:.2f} × the line above)" if before else "")
            row(f"berth render, {teams} teams", found, growth)
            before = each
            if teams == 1000:
                plain = Measured([*DUMP, str(output), "load"], folder)
                dumped = Measured([*DUMP, str(output), "dump"], folder)
                alone = dumped.cpu - plain.cpu
                what = "  PyYAML C dumper, the same objects"
                print(f"{what:<44} {alone:7.2f} s CPU   {found.cpu / alone:.2f} × that")


def preview() -> None:
    """The dev stack on the in-process engine, beside the bare SDK registering as many resources on its mocks."""
    found = Measured([*BERTH, "preview", "dev", "--json"], ROOT)
    text = subprocess.run([*BERTH, "preview", "dev", "--json"], cwd=ROOT, capture_output=True, text=True, check=True)
    resources = len(json.loads(text.stdout)["resources"])
    bare = Measured([*BARE, str(resources)], ROOT)
    row(f"bare SDK, {resources} resources", bare)
    row("berth preview dev", found, f"{found.cpu / bare.cpu:.2f} × that")


def diff() -> None:
    """A thousand teams compared with themselves after every pool and one team in ten has changed."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "project"
        file = fleets.write(folder, 1000)
        changed = file.read_text().replace('"slices": 1000', '"slices": 1100').replace('"max": 4000', '"max": 4400')
        queues = {f"late-{n}": {"flavors": [{"pool": "v5e", "guaranteed": "1 slice"}]} for n in range(100)}
        fleet = json.loads(changed)
        fleet["config"]["berth:fleet"]["teams"] = {"late": {"cohort": "cohort-0", "queues": queues}}
        (folder / "Pulumi.after.yaml").write_text(json.dumps(fleet))
        row("berth diff, 1000 teams", Measured([*BERTH, "diff", "bench", "after"], folder, folder / "diff.txt"))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    check()
    render()
    preview()
    diff()
