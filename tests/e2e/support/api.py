"""The API server of the suite's cluster by HTTP, as any user: what attacks need hundreds of times in a minute.

`kubectl proxy` has the credentials of the current context, so any kubeconfig will do; users are impersonated.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from tests.e2e.support.project import Failed
from tests.hostile import Identity

Manifest = dict[str, Any]
PATHS = {
    "AppWrapper": ("apis/workload.codeflare.dev/v1beta2", "appwrappers"),
    "Binding": ("api/v1", "bindings"),
    "ConfigMap": ("api/v1", "configmaps"),
    "Deployment": ("apis/apps/v1", "deployments"),
    "Event": ("api/v1", "events"),
    "Job": ("apis/batch/v1", "jobs"),
    "JobSet": ("apis/jobset.x-k8s.io/v1alpha2", "jobsets"),
    "LeaderWorkerSet": ("apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "LimitRange": ("api/v1", "limitranges"),
    "LocalQueue": ("apis/kueue.x-k8s.io/v1beta2", "localqueues"),
    "Pod": ("api/v1", "pods"),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets"),
    "PyTorchJob": ("apis/kubeflow.org/v1", "pytorchjobs"),
    "RayCluster": ("apis/ray.io/v1", "rayclusters"),
    "RayJob": ("apis/ray.io/v1", "rayjobs"),
    "ReplicaSet": ("apis/apps/v1", "replicasets"),
    "Service": ("api/v1", "services"),
    "StatefulSet": ("apis/apps/v1", "statefulsets"),
    "TrainJob": ("apis/trainer.kubeflow.org/v1alpha1", "trainjobs"),
    "Workload": ("apis/kueue.x-k8s.io/v1beta2", "workloads"),
}
"""Path of the API group and resource of each kind that attacks use."""


_CONTENT = {
    "json": "application/json",
    "merge": "application/merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Refused(Exception):
    """An answer of the API server that is no success; `str` is its message."""


class Api:
    """The API server behind a port of `kubectl proxy`."""

    def __init__(self, port: int) -> None:
        self.port = port

    def call(
        self, method: str, path: str, body: Manifest | None = None, who: Identity | None = None, kind: str = "json"
    ) -> Manifest:
        """Send one request as a user, or as the context's own; raise `Refused` with the server's message."""
        headers = [("Content-Type", _CONTENT[kind])]
        if who is not None:
            headers.append(("Impersonate-User", who.user))
            headers += [("Impersonate-Group", group) for group in who.groups]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            text = None if body is None else json.dumps(body)
            connection.putrequest(method, "/" + path)
            for name, value in headers:
                connection.putheader(name, value)
            if text is not None:
                connection.putheader("Content-Length", str(len(text.encode())))
            connection.endheaders(None if text is None else text.encode())
            response = connection.getresponse()
            answer = json.loads(response.read() or b"{}")
        finally:
            connection.close()
        if response.status >= 400:
            raise Refused(str(answer.get("message", answer)))
        return answer

    def create(self, manifest: Manifest, who: Identity | None = None) -> Manifest:
        """Create an object in its namespace."""
        return self.call("POST", _path(manifest["kind"], manifest["metadata"]["namespace"]), manifest, who)

    def patch(self, kind: str, namespace: str, name: str, patch: Manifest, who: Identity | None = None) -> Manifest:
        """Patch an object, or `NAME/SUBRESOURCE`, by JSON merge patch (RFC 7386)."""
        return self.call("PATCH", f"{_path(kind, namespace)}/{name}", patch, who, "merge")

    def apply(self, manifest: Manifest, manager: str, who: Identity | None = None) -> Manifest:
        """Apply an object on the server as a manager, which takes the fields of others."""
        metadata = manifest["metadata"]
        path = f"{_path(manifest['kind'], metadata['namespace'])}/{metadata['name']}"
        return self.call("PATCH", f"{path}?fieldManager={manager}&force=true", manifest, who, "apply")

    def delete(
        self, kind: str, namespace: str, name: str = "", options: Manifest | None = None, who: Identity | None = None
    ) -> None:
        """Delete an object, or without a name all of them; `options` are DeleteOptions, None for an empty request."""
        path = _path(kind, namespace) + (f"/{name}" if name else "")
        self.call("DELETE", path, options, who)

    def list(self, kind: str, namespace: str = "", **query: str) -> list[Manifest]:
        """Return the objects of a kind in a namespace, or in all."""
        path = _path(kind, namespace) if namespace else "/".join(PATHS[kind])
        return self.call("GET", path + (f"?{urlencode(query)}" if query else ""))["items"]


def _path(kind: str, namespace: str) -> str:
    group, resource = PATHS[kind]
    return f"{group}/namespaces/{namespace}/{resource}"


@contextmanager
def proxied(context: str) -> Generator[Api]:
    """Provide the API server of a context for as long as the block runs."""
    words = ["kubectl", "--context", context, "proxy", "--port=0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if (found := re.search(r":(\d+)\s*$", line)) is None:
                raise Failed(f"kubectl proxy: {line}")
            yield Api(int(found[1]))
        finally:
            process.terminate()
