"""Compares `berth preview` with `pulumi preview` of the real engine and providers, for each cluster that is to be made.

    python -m tests.e2e.real_preview [STACK_FILE ...]

Needs a `pulumi` CLI on PATH, with the plugins that requirements.txt asks for; no cloud, no cluster, no credentials.
Each project is copied first and previewed with a backend in a folder of its own: nothing is written into the checkout.

Two comparisons, because they can differ: what the program sent (the engine's own log of requests) and what the engine
holds (its steps). Aliases and delete-before-replace are in the log only. Inputs that providers add are no difference;
they are counted by name. On a first deployment the kubeconfig is unknown, and the engine then does not ask the
Kubernetes provider at all: no chart is fetched, no object is checked, and nothing is added to it.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from google.protobuf.json_format import ParseDict
from pulumi.runtime.proto import resource_pb2

from berth.cli.preview.tree import preview_as_json
from berth.engine import Preview, Recorder
from tests.e2e.support.comparison import Comparison, Real, compared, report
from tests.e2e.support.elsewhere import provide
from tests.e2e.support.project import (
    BERTH,
    ENVIRONMENT,
    ROOT,
    Failed,
    copied,
    output,
    stack_files,
    stack_name,
    team_files,
)


def first_deployments() -> list[Path]:
    """Return the stack files that create a cluster, those of teams, and one with workers from another stack.

    A cluster of its own that exists is asked, and its charts are fetched.
    """
    files = [(file, yaml.safe_load(file.read_text(encoding="utf-8"))) for file in stack_files()]
    made = [file for file, each in files if "existing" not in (each["config"]["berth:fleet"].get("cluster") or {})]
    return [*made, *team_files(), ROOT / "tests" / "stacks" / "workers" / "elsewhere.yaml"]


def compare(file: Path, root: Path = ROOT) -> Comparison:
    """Preview one stack with both engines, in a copy of the project, and compare."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="berth-e2e-") as folder:
        project, stack = copied(root, Path(folder)), stack_name(file)
        if file.parent != root:
            shutil.copy(file, project / f"Pulumi.{stack}.yaml")
        ours = {one["urn"]: one for one in _offline(project, stack)["resources"]}
        result = compared(stack, ours, _real(project, stack))
    result.seconds = time.monotonic() - started
    return result


def _offline(project: Path, stack: str) -> dict[str, Any]:
    """`berth preview STACK --json`."""
    return json.loads(output([*BERTH, "preview", stack, "--json"], project))


def _real(project: Path, stack: str) -> Real:
    """`pulumi preview --json` on a new backend, with the engine's log of requests beside it."""
    backend, log = project.parent / "backend", project.parent / "requests.json"
    backend.mkdir()
    where = {**ENVIRONMENT, "PULUMI_BACKEND_URL": f"file://{backend}"}
    output(["pulumi", "stack", "init", stack, "--non-interactive"], project, where)
    provide(project, stack, where)
    command = ["pulumi", "preview", "--json", "--non-interactive", "--stack", stack]
    document = json.loads(output(command, project, {**where, "PULUMI_DEBUG_GRPC": str(log)}))
    steps = {step["urn"]: step["newState"] for step in document.get("steps", [])}
    sent, agree = replayed(log, _project_name(project), stack)
    return Real(sent, steps, agree)


def _project_name(project: Path) -> str:
    return yaml.safe_load((project / "Pulumi.yaml").read_text())["name"]


def replayed(log: Path, project: str, stack: str) -> tuple[dict[str, dict[str, Any]], bool]:
    """Return the requests that the engine logged, played to our recorder, and whether both gave them the same URNs."""
    recorder, agree = Recorder(project=project, stack=stack), True
    for entry in _completed(log):
        if entry["method"].endswith("/RegisterResource"):
            request = ParseDict(entry["request"], resource_pb2.RegisterResourceRequest(), ignore_unknown_fields=True)
            if request.remote:
                continue  # a component of a package, which the package's plugin registers itself
            agree &= recorder.RegisterResource(request).urn == entry["response"]["urn"]
        elif entry["method"].endswith("/ReadResource"):
            read = ParseDict(entry["request"], resource_pb2.ReadResourceRequest(), ignore_unknown_fields=True)
            agree &= recorder.ReadResource(read).urn == entry["response"]["urn"]
        elif entry["method"].endswith("/RegisterResourceOutputs"):
            outputs = resource_pb2.RegisterResourceOutputsRequest()
            recorder.RegisterResourceOutputs(ParseDict(entry["request"], outputs, ignore_unknown_fields=True))
    made = Preview(project=project, stack=stack, resources=tuple(recorder.recorded.values()), exports={}, messages=())
    resources: Any = preview_as_json(made)["resources"]
    return {one["urn"]: one for one in resources}, agree


def _completed(log: Path) -> Iterator[dict[str, Any]]:
    """Calls of the engine's resource monitor that were answered, in the order of the answers."""
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        if "/pulumirpc.ResourceMonitor/" in entry["method"] and entry.get("progress") == "response_completed":
            yield entry


def main(arguments: list[str]) -> int:
    """Compare the stack files named, or all; 0 when there is no difference, 1 when there is, 2 without a `pulumi`."""
    if shutil.which("pulumi") is None:
        print("there is no `pulumi` on PATH; https://www.pulumi.com/docs/install")
        return 2
    files = [Path(name).resolve() for name in arguments] or first_deployments()
    results, failures = compare_each(files)
    print("\n".join([*report(results), *failures]))
    return 1 if failures or any(one.differences for one in results) else 0


def compare_each(files: Sequence[Path]) -> tuple[list[Comparison], list[str]]:
    """The comparison of each file that both engines preview, and why the others have none."""
    results: list[Comparison] = []
    failures: list[str] = []
    for file in files:
        try:
            results.append(compare(file))
        except Failed as failed:
            failures.append(f"{stack_name(file)}: not compared: {' '.join(str(failed).split())}")
    return results, failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
