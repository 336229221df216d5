"""The cluster that the suite may use: only where `make e2e` asks for it, and only one without queues of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.support.cluster import Cluster
from tests.e2e.support.project import Failed, output
from tests.e2e.support.stack import Project

NEEDED = ("clusterqueues.kueue.x-k8s.io", "jobsets.jobset.x-k8s.io")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Provide the current context's cluster, left as it was found."""
    if (lacking := _lacking()) is not None:
        pytest.skip(lacking)
    made = Cluster(_context())
    if left := made.queues():
        pytest.skip(f"context '{made.context}' has cluster queues already: {', '.join(left)}")
    yield made
    made.kubectl("delete", "nodes", "-l", "berth.dev/simulated=true", "--ignore-not-found")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Provide a copy of the project and a backend for one test."""
    made = Project(tmp_path)
    yield made
    made.clear()


def _lacking() -> str | None:
    """Why the suite cannot run here; None where it can."""
    if not os.environ.get("BERTH_E2E"):
        return "deploys onto the cluster of $KUBECONFIG: `make e2e` runs it"
    if values := [name for name in ("pulumi", "kubectl") if shutil.which(name) is None]:
        return f"no `{values[0]}` on PATH"
    try:
        served = Cluster(_context()).kubectl("api-resources", "-o", "name").split()
    except Failed as failed:
        return f"no cluster answers: {failed}"
    missing = [kind for kind in NEEDED if kind not in served]
    return f"the cluster of context '{_context()}' has no {missing[0]}: install Kueue and JobSet" if missing else None


def _context() -> str:
    return output(["kubectl", "config", "current-context"], Path.cwd()).strip()
