"""What a real engine keeps of a secret: the state of a stack is read for it."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml

from berth import outputs
from tests.e2e.support.project import ROOT
from tests.e2e.support.stack import Project
from tests.plain import plaintext_secrets

PLANTED = "ya29.planted-and-found-again"
KUBECONFIG = json.dumps(
    {**json.loads(outputs.PLACEHOLDER_KUBECONFIG), "users": [{"name": "unknown", "user": {"token": PLANTED}}]}
)
PROVIDER = "urn:pulumi:local::berth::pulumi:providers:kubernetes::kubernetes"


@pytest.mark.skipif(shutil.which("pulumi") is None, reason="no `pulumi` on PATH")
def test_a_kubeconfig_is_encrypted_in_state_and_outputs(project: Project) -> None:
    """No cluster is needed: of the stack only the provider is made, which is told how to reach one."""
    file = yaml.safe_load((ROOT / "Pulumi.local.yaml").read_text(encoding="utf-8"))
    file["config"]["berth:fleet"]["cluster"] = {"existing": {"secret": "kubeconfig"}}
    stack = project.stack("local", yaml.safe_dump(file))
    stack.run("config", "set", "--secret", "berth:kubeconfig", KUBECONFIG)
    stack.run("up", "--yes", "--skip-preview", "--target", PROVIDER)

    kept = stack.run("stack", "export")
    assert [*plaintext_secrets(json.loads(kept))] == []
    assert PLANTED not in kept and PLANTED not in stack.file.read_text(encoding="utf-8")
    document = json.loads(stack.run("stack", "export", "--show-secrets"))
    (provider,) = (each for each in document["deployment"]["resources"] if each["urn"] == PROVIDER)
    assert PLANTED in json.dumps(provider["inputs"])
    assert PLANTED in stack.run("stack", "output", outputs.KUBECONFIG_OUTPUT, "--show-secrets")
