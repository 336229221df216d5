"""The recorded hour: samples of a real Kueue and a real kube-state-metrics, served by a real Prometheus.

tests/vendored/recorded-hour/README.md says how it was recorded.
"""

from __future__ import annotations

import json
import lzma
import re
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from berth.manifests.monitoring import recording_group
from berth.plan.monitoring import BackendPlan

FOLDER = Path(__file__).parents[2] / "vendored" / "recorded-hour"
STACK_FILE = FOLDER / "Pulumi.batch-platform.yaml"
START, END, STEP = 1_795_374_000, 1_795_377_600, 60
"""2026-11-22 19:00 to 20:00 UTC, a sample every minute."""

LOOKBACK = "59s"
"""Less than a step: the file does not mark where a series ends, and Prometheus would show it for 5 minutes more."""

_LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+) (\d+)")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_SECONDS_TO_START = 60

Series = dict[tuple[str, tuple[tuple[str, str], ...]], dict[int, str]]


def open_metrics() -> str:
    """The samples in the OpenMetrics format."""
    return lzma.decompress((FOLDER / "hour.om.xz").read_bytes()).decode()


def samples(*metrics: str) -> Series:
    """The samples of metrics: (name, labels) to time to value, as text."""
    found: Series = {}
    for line in open_metrics().splitlines():
        if line.startswith(metrics) and (match := _LINE.fullmatch(line)) and match[1] in metrics:
            key = match[1], tuple(_LABEL.findall(match[2] or ""))
            found.setdefault(key, {})[int(match[4])] = match[3]
    return found


def answer(*metrics: str) -> dict[str, Any]:
    """The samples of metrics as Prometheus answers a range query."""
    result = [
        {
            "metric": {"__name__": name, **dict(labels)},
            "values": [[time, value] for time, value in sorted(values.items())],
        }
        for (name, labels), values in samples(*metrics).items()
    ]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}}


class Prometheus:
    """A Prometheus on loopback with the blocks of a folder."""

    def __init__(self, url: str) -> None:
        self.url = url

    def query_range(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression over the hour; raises HTTPError where Prometheus refuses it."""
        arguments = urllib.parse.urlencode({"query": expression, "start": START, "end": END, "step": STEP})
        with urllib.request.urlopen(f"{self.url}/api/v1/query_range?{arguments}", timeout=60) as response:
            return json.load(response)["data"]["result"]

    def stored(self, metric: str) -> list[dict[str, Any]]:
        """The samples of a metric at the times at which they were stored."""
        arguments = urllib.parse.urlencode({"query": f"{metric}[{END - START}s]", "time": END})
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{arguments}", timeout=60) as response:
            return json.load(response)["data"]["result"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serve(blocks: Path, port: int | None = None) -> Generator[Prometheus]:
    """A Prometheus with these blocks, until the block ends. Raises TimeoutError if it does not start."""
    config = blocks.parent / "prometheus.yml"
    config.write_text("global: {}\n", encoding="utf-8")
    address = f"127.0.0.1:{port or _free_port()}"
    command = [
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={blocks}",
        f"--web.listen-address={address}",
    ]
    command += ["--storage.tsdb.retention.time=10y", "--log.level=error", f"--query.lookback-delta={LOOKBACK}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait(f"http://{address}/-/ready")
            yield Prometheus(f"http://{address}")
        finally:
            process.terminate()


def _wait(url: str) -> None:
    for _ in range(_SECONDS_TO_START * 5):
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(url)


def make_blocks(folder: Path, backend: BackendPlan) -> Path:
    """Blocks with the recorded samples and the results of a backend's recording rules.

    promtool evaluates a rule against a Prometheus that already has the results of the rules before it, so rules are
    evaluated in passes. All have one file name, from which Prometheus derives the second of the evaluation.
    """
    blocks, text = folder / "blocks", folder / "hour.om"
    text.write_text(open_metrics(), encoding="utf-8")
    promtool("tsdb", "create-blocks-from", "openmetrics", "-q", str(text), str(blocks))
    file = folder / "rules.yaml"
    for rules in passes(backend):
        file.write_text(
            yaml.safe_dump({"groups": [{"name": "pass", "interval": "60s", "rules": rules}]}), encoding="utf-8"
        )
        with serve(blocks) as prometheus:
            times = [f"--start={START}", f"--end={END}", f"--url={prometheus.url}", f"--output-dir={blocks}"]
            promtool("tsdb", "create-blocks-from", "rules", *times, str(file))
    return blocks


def passes(backend: BackendPlan) -> list[Sequence[Mapping[str, Any]]]:
    """The recording rules, each after the passes whose results it reads."""
    rules: list[Any] = list(recording_group(backend)["rules"])  # type: ignore[call-overload]
    found: list[Sequence[Mapping[str, Any]]] = []
    while rules:
        later = {rule["record"] for rule in rules}
        ready = [rule for rule in rules if not later & set(re.findall(r"berth:[a-z_:]+", rule["expr"]))]
        assert ready, f"rules that wait for each other: {later}"
        found.append(ready)
        rules = [rule for rule in rules if rule not in ready]
    return found


def promtool(*arguments: str) -> None:
    """Run promtool; raises AssertionError with what it printed where it fails."""
    ran = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
