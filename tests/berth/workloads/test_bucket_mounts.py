"""Buckets that a team's jobs mount: what `berth workload` writes, and that its caches are counted where jobs are."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.cli import app
from berth.yaml_loader import LOADER

STACK = """\
config:
  berth:fleet:
    project: acme-ml-dev
    projectNumber: "123456789012"
    region: us-central1
    cluster: {storageDrivers: [gcs-fuse], version: "1.35"}
    pools:
      l4: {machineType: g2-standard-24, nodes: 2, zone: us-central1-b, diskSizeGb: 500}
      v5e: {machineType: ct5lp-hightpu-4t, topology: 2x4, slices: 2, zone: us-central1-a}
    teams:
      vision:
        identity: {buckets: {acme-data: roles/storage.objectViewer, acme-out: roles/storage.objectUser}}
        bucketMounts:
          data: {bucket: acme-data, readOnly: true, MORE}
          out: {bucket: acme-out, path: /results}
        queues:
          train: {flavors: [{pool: l4, guaranteed: all}]}
          slices: {flavors: [{pool: v5e, guaranteed: all}]}
"""


def run(folder: pathlib.Path, more: str, *arguments: str) -> str:
    """Return what a verb prints of the stack with more keys of its mount."""
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    (folder / "Pulumi.lab.yaml").write_text(STACK.replace(", MORE", f", {more}" if more else ""))
    return CliRunner().invoke(app, [*arguments]).stdout


def pod(text: str) -> dict[str, Any]:
    """Return the pod template of the job in a manifest."""
    (job,) = [each for each in yaml.load_all(text, LOADER) if each and each["kind"] in ("Job", "JobSet")]
    spec = job["spec"]["replicatedJobs"][0]["template"]["spec"] if job["kind"] == "JobSet" else job["spec"]
    return spec["template"]


FILES = "file-cache:max-size-mb:20480"


@pytest.mark.parametrize(
    ("more", "options", "annotations", "cache"),
    [
        ("", None, {}, None),
        ("fileCache: {capacity: 20Gi}", FILES, {"ephemeral-storage-limit": "25Gi"}, None),
        (
            "fileCache: {capacity: 20Gi}, parallelDownloads: true",
            f"{FILES},file-cache:enable-parallel-downloads:true",
            {"ephemeral-storage-limit": "25Gi"},
            None,
        ),
        (
            "fileCache: {capacity: 20Gi, medium: memory}",
            FILES,
            {"memory-limit": "20736Mi"},
            {"emptyDir": {"medium": "Memory", "sizeLimit": "20Gi"}},
        ),
        (
            "metadataCache: {ttlSeconds: -1, statCapacity: 64Mi}",
            "metadata-cache:ttl-secs:-1,metadata-cache:stat-cache-max-size-mb:64,metadata-cache:type-cache-max-size-mb:4",
            {"memory-limit": "324Mi"},
            None,
        ),
    ],
)
def test_workload_writes_the_mounts(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    more: str,
    options: str | None,
    annotations: dict[str, str],
    cache: dict[str, Any] | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    text = run(tmp_path, more, "workload", "lab", "vision", "train")
    template = pod(text)
    written = template["metadata"]["annotations"]
    assert written == {
        "gke-gcsfuse/volumes": "true",
        **{f"gke-gcsfuse/{key}": value for key, value in annotations.items()},
    }
    volumes = {each["name"]: each for each in template["spec"]["volumes"]}
    assert volumes["data"]["csi"]["volumeAttributes"].get("mountOptions") == options
    assert volumes["data"]["csi"]["readOnly"] is True
    own = volumes.get("gke-gcsfuse-cache")
    assert (own and {key: value for key, value in own.items() if key != "name"}) == cache
    mounts = template["spec"]["containers"][0]["volumeMounts"]
    assert [each["mountPath"] for each in mounts] == ["/data", "/results"]
    (tmp_path / "job.yaml").write_text(text)
    assert "can admit it" in run(tmp_path, more, "lint", "lab", "job.yaml")


def test_what_a_cache_takes_no_job_gets(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    more = "fileCache: {capacity: 60Gi, medium: memory}"
    for memory, expected in (("20Gi", "can admit it"), ("60Gi", "error: Job/train")):
        text = run(tmp_path, more, "workload", "lab", "vision", "train", "--memory", memory)
        (tmp_path / "job.yaml").write_text(text or "")
        assert expected in (run(tmp_path, more, "lint", "lab", "job.yaml") if text else "error: Job/train")
    job = run(tmp_path, "", "workload", "lab", "vision", "train", "--memory", "60Gi")
    (tmp_path / "job.yaml").write_text(job)
    assert "can admit it" in run(tmp_path, "", "lint", "lab", "job.yaml")


def test_slices_on_the_host_network_mount_as_the_pod(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    template = pod(run(tmp_path, "", "workload", "lab", "vision", "slices", "--slices", "2"))
    assert template["spec"]["hostNetwork"] is True
    attributes = [each["csi"]["volumeAttributes"] for each in template["spec"]["volumes"]]
    assert all(each["hostNetworkPodKSA"] == "true" for each in attributes)


def test_a_template_keeps_its_own_mount(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    csi = {"driver": "gcsfuse.csi.storage.gke.io", "volumeAttributes": {"bucketName": "acme-data"}}
    spec = {"containers": [{"name": "a", "image": "a:1"}], "volumes": [{"name": "mine", "csi": csi}]}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"spec": spec}))
    template = pod(run(tmp_path, "", "workload", "lab", "vision", "train", "--template", "own.yaml"))
    assert [each["name"] for each in template["spec"]["volumes"]] == ["mine", "out"]


def test_a_template_keeps_its_own_sidecar(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GKE makes the request that is written the limit too, and the API server refuses a request above its limit."""
    monkeypatch.chdir(tmp_path)
    own = {"gke-gcsfuse/ephemeral-storage-request": "50Gi"}
    spec = {"containers": [{"name": "a", "image": "a:1"}]}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"metadata": {"annotations": own}, "spec": spec}))
    more = "fileCache: {capacity: 20Gi}"
    text = run(tmp_path, more, "workload", "lab", "vision", "train", "--template", "own.yaml")
    assert pod(text)["metadata"]["annotations"] == {"gke-gcsfuse/volumes": "true", **own}
    (tmp_path / "job.yaml").write_text(text)
    found = run(tmp_path, more, "lint", "lab", "job.yaml")
    assert "file caches" not in found
    assert "can admit it" in found
