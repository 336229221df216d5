"""The component package with a real engine: its schema, SDKs for other languages, and programs that use it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.support.cluster import Cluster, until
from tests.e2e.support.comparison import compared
from tests.e2e.support.package import Package, as_of_a_stack_file, documented_program, own_resources
from tests.e2e.support.project import BERTH, copied, output
from tests.stack_files import ROOT, fleet_values

pytestmark = pytest.mark.skipif(shutil.which("pulumi") is None, reason="no `pulumi` on PATH")
FLEETS = {"documented": documented_program()["lab"]["properties"], "dev": fleet_values("dev")}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Package]:
    yield Package(tmp_path_factory.mktemp("package"))


def test_the_schema_is_valid(package: Package) -> None:
    own = json.loads((ROOT / "packages" / "berth" / "schema.json").read_text(encoding="utf-8"))
    assert package.schema["resources"].keys() == own["resources"].keys()
    assert package.schema["types"].keys() == own["types"].keys()


@pytest.mark.parametrize(("language", "file"), [("nodejs", "fleet.ts"), ("python", "pulumi_berth/fleet.py")])
def test_sdks_are_generated(package: Package, language: str, file: str) -> None:
    schema = str(ROOT / "packages" / "berth" / "schema.json")
    package.pulumi("package", "gen-sdk", schema, "--language", language, "--out", "sdk")
    assert "nodeServiceAccount" in (package.program / "sdk" / language / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FLEETS)
def test_a_yaml_program_previews_what_berth_preview_shows(package: Package, name: str, tmp_path: Path) -> None:
    """The same fleet in a YAML program and in a stack file: equal inputs, options and order of every resource."""
    values = {key: each for key, each in FLEETS[name].items() if key != "teamFiles"}
    package.write({"lab": {"type": "berth:Fleet", "properties": values}})
    real = as_of_a_stack_file(package.previewed(name), name, "lab", "berth")
    ours = {each["urn"]: each for each in own_resources(_offline(values, tmp_path))}
    assert len(ours) > 30
    assert compared(name, ours, real).differences == []


def _offline(values: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Return the resources of `berth preview` of a stack file with the same fleet."""
    project = copied(ROOT, folder)
    config = {"config": {"berth:fleet": values}}
    (project / "Pulumi.lab.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return json.loads(output([*BERTH, "preview", "lab", "--json"], project))["resources"]


def test_a_team_and_its_queues_are_updated_on_a_cluster(package: Package, cluster: Cluster) -> None:
    """The parts that need only Kubernetes, in a cluster with Kueue: created, not changed by a second run, deleted."""
    kubeconfig = cluster.kubectl("config", "view", "--raw", "--minify", "--flatten")
    pool = {"machineType": "ct5lp-hightpu-4t", "topology": "2x4", "slices": 2}
    train = {"flavors": [{"pool": "v5e", "guaranteed": "2 slices"}]}
    team = {"groups": ["vision@acme.example"], "kubeconfig": kubeconfig}
    queues = {"team": "vision", "pools": {"v5e": pool}, "queues": {"train": train}, "protect": False}
    package.write(
        {
            "vision": {"type": "berth:Team", "properties": team},
            "queues": {
                "type": "berth:TeamQueues",
                "properties": {**queues, "namespace": "${vision.namespaces[0]}", "kubeconfig": kubeconfig},
            },
        },
        {"clusterQueues": "${queues.clusterQueues}", "localQueues": "${queues.localQueues}"},
    )
    before = cluster.objects()
    package.pulumi("stack", "init", "parts", "--non-interactive")
    try:
        package.pulumi("up", "--yes", "--non-interactive")
        assert package.outputs() == {"clusterQueues": ["vision-train"], "localQueues": ["train"]}
        assert cluster.get("localqueue", "train", "-n", "vision")["spec"]["clusterQueue"] == "vision-train"
        package.pulumi("preview", "--non-interactive", "--expect-no-changes")
    finally:
        package.pulumi("destroy", "--yes", "--non-interactive")
    until("the parts to be gone", lambda: sorted(cluster.objects() - before), lambda left: not left)
