"""Jobs that may lose all their work, and what the sidecar of Cloud Storage FUSE takes of a node."""

from __future__ import annotations

import pathlib

import pytest
from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import ROOT

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: run
  namespace: NAMESPACE
  labels: {kueue.x-k8s.io/queue-name: QUEUE}
  annotations: {}
spec:
  suspend: true
  activeDeadlineSeconds: SECONDS
  template:
    metadata: {annotations: {}}
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: "a:1", resources: {requests: {cpu: CPU, memory: 8Gi}}}
      volumes: []
"""
BUCKET = "[{name: d, csi: {driver: gcsfuse.csi.storage.gke.io, volumeAttributes: {bucketName: my-project-weather}}}]"
READ = BUCKET.replace("driver:", "readOnly: true, driver:")
FUSE = 'metadata: {annotations: {gke-gcsfuse/volumes: "true"}}'
SPOT = ("weather", "prepare")
OWN = ("cfd", "solve")


def lint(folder: pathlib.Path, queue: tuple[str, str], seconds: str, *edits: tuple[str, str], cpu: str = "4") -> str:
    """Output of lint for the job in a queue of the example of HPC, with edits of its text."""
    text = JOB
    places = (("NAMESPACE", queue[0]), ("QUEUE", queue[1]), ("SECONDS", seconds), ("CPU", cpu))
    for old, new in (*places, *edits):
        assert old in text, old
        text = text.replace(old, new)
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    stack = str(ROOT / "stacks/examples/hpc.yaml")
    return CliRunner().invoke(app, ["lint", stack, str(folder / "job.yaml")]).stdout


@pytest.mark.parametrize(
    ("queue", "seconds", "edits", "cpu", "part"),
    [
        (SPOT, "36000", (), "4", "it may run for 10h, but spot machines of 'c4d' are taken back at any time"),
        (SPOT, "3600", (), "4", ""),
        (SPOT, "36000", (("volumes: []", f"volumes: {BUCKET}"), ("metadata: {annotations: {}}", FUSE)), "4", ""),
        (SPOT, "36000", (("volumes: []", "volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]"),), "4", ""),
        (
            SPOT,
            "36000",
            (("volumes: []", f"volumes: {READ}"), ("metadata: {annotations: {}}", FUSE)),
            "4",
            "it may run for 10h",
        ),
        (SPOT, "36000", (("volumes: []", "volumes: [{name: d, emptyDir: {}}]"),), "4", "it may run for 10h"),
        (
            SPOT,
            "36000",
            (("{kueue.x-k8s.io/queue-name: prepare}", '{kueue.x-k8s.io/queue-name: prepare, '
              'kueue.x-k8s.io/max-exec-time-seconds: "600"}'),),
            "4",
            "",
        ),
        (OWN, "900000", (), "4", ""),
        (
            OWN,
            "90000",
            (("suspend: true", "suspend: true\n  parallelism: 10\n  completions: 10"),),
            "180",
            "it may run for 25h, but what it borrows of 'h4d' is taken back when jobs of weather-forecast need their",
        ),
        (
            OWN,
            "900000",
            (("suspend: true", "suspend: true\n  parallelism: 20\n  completions: 20"),),
            "180",
            "it may run for 250h, but flex-start machines of 'h4d-flex' live for at most 7d",
        ),
        (
            OWN,
            "500000",
            (("suspend: true", "suspend: true\n  parallelism: 20\n  completions: 20"),),
            "180",
            "",
        ),
    ],
)  # fmt: skip
def test_a_long_job_keeps_its_work_or_is_warned_of(
    tmp_path: pathlib.Path,
    queue: tuple[str, str],
    seconds: str,
    edits: tuple[tuple[str, str], ...],
    cpu: str,
    part: str,
) -> None:
    found = lint(tmp_path, queue, seconds, *edits, cpu=cpu)
    assert "can admit it" in found
    assert ("[no-checkpoint]" in found) == bool(part), found
    assert part in found


@pytest.mark.parametrize(
    ("annotations", "cpu", "part"),
    [
        ("", "93", "can admit it"),
        ('gke-gcsfuse/volumes: "true"', "93", "can admit it"),
        ('gke-gcsfuse/volumes: "true", gke-gcsfuse/cpu-limit: "4"', "93", "the sidecar of its buckets 4, but pods can"),
        ('gke-gcsfuse/volumes: "true", gke-gcsfuse/cpu-limit: "0"', "93", "can admit it"),
        ('gke-gcsfuse/volumes: "true", gke-gcsfuse/cpu-limit: "4", gke-gcsfuse/cpu-request: "1"', "93", "can admit it"),
        ('gke-gcsfuse/volumes: "false", gke-gcsfuse/cpu-limit: "4"', "93", "can admit it"),
        (
            'gke-gcsfuse/volumes: "true", gke-gcsfuse/memory-limit: 400Gi',
            "4",
            "a pod requests 8Gi memory and the sidecar of its buckets 400Gi",
        ),
        (
            'gke-gcsfuse/volumes: "true", gke-gcsfuse/ephemeral-storage-limit: 80Gi',
            "4",
            "the sidecar of its buckets 80Gi, but pods can use",
        ),
        (
            'gke-gcsfuse/volumes: "true", gke-gcsfuse/memory-limit: much',
            "4",
            "'much' is not a quantity, so GKE refuses",
        ),
    ],
)
def test_the_sidecar_of_buckets_takes_its_part_of_a_node(
    tmp_path: pathlib.Path, annotations: str, cpu: str, part: str
) -> None:
    new = f"metadata: {{annotations: {{{annotations}}}}}"
    assert part in lint(tmp_path, SPOT, "600", ("metadata: {annotations: {}}", new), cpu=cpu)


def test_a_remedy_beside_the_sidecar_is_enough(tmp_path: pathlib.Path) -> None:
    fuse = ("metadata: {annotations: {}}", FUSE.replace('"true"', '"true", gke-gcsfuse/memory-limit: 400Gi'))
    found = lint(tmp_path, SPOT, "600", fuse)
    least = found.partition("write at most ")[2].partition(" ")[0]
    assert least in ("0Mi", "")
    fuse = ("metadata: {annotations: {}}", FUSE.replace('"true"', '"true", gke-gcsfuse/memory-limit: 100Gi'))
    found = lint(tmp_path, SPOT, "600", fuse, ("memory: 8Gi", "memory: 340Gi"))
    least = found.partition("write at most ")[2].partition(" ")[0]
    again = lint(tmp_path, SPOT, "600", fuse, ("memory: 8Gi", f"memory: {least}"))
    assert "[no-shape]" in found and "[no-shape]" not in again


SERVICE = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: run
  namespace: weather
  labels: {kueue.x-k8s.io/queue-name: prepare, kueue.x-k8s.io/max-exec-time-seconds: "36000"}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 1
    volumeClaimTemplates: []
    workerTemplate:
      spec:
        containers:
        - {name: main, image: "a:1", resources: {requests: {cpu: "4", memory: 8Gi}}}
"""
CLAIMS = """volumeClaimTemplates:
    - metadata: {name: state}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}"""


@pytest.mark.parametrize(("claims", "warns"), [("volumeClaimTemplates: []", True), (CLAIMS, False)])
def test_a_volume_of_a_claim_template_outlives_the_pods(tmp_path: pathlib.Path, claims: str, warns: bool) -> None:
    (tmp_path / "job.yaml").write_text(SERVICE.replace("volumeClaimTemplates: []", claims), encoding="utf-8")
    stack = (ROOT / "stacks/examples/hpc.yaml").read_text(encoding="utf-8")
    serving = stack.replace("operators: [mpi-operator]", "operators: [mpi-operator, leaderworkerset]")
    serving = serving.replace("      weather:\n", "      weather:\n        namespace: {serving: true}\n", 1)
    (tmp_path / "Pulumi.hpc.yaml").write_text(serving, encoding="utf-8")
    output = CliRunner().invoke(app, ["lint", str(tmp_path / "Pulumi.hpc.yaml"), str(tmp_path / "job.yaml")]).stdout
    assert ("[no-checkpoint]" in output) is warns, output
