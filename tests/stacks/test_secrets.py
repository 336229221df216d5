"""Nothing that a stack records or exports tells a token, a key, a password or a kubeconfig in plain."""

from __future__ import annotations

import base64
import json
from functools import cache

import pytest

from berth import outputs as exports
from berth.engine import Preview, run_program
from berth.plan.fleet import ExistingGkeClusterPlan
from berth.plan.gke import ClusterPlan
from berth.plan.team_stack import TeamStackPlan
from tests.plain import plaintext_secrets
from tests.stack_files import (
    ALL_STACKS,
    FLEET_STACKS,
    PLANTED,
    ROOT,
    answers_with_tokens,
    evaluation,
    run_stack,
)

every_file = pytest.mark.parametrize("stack", list(ALL_STACKS))

KUBECONFIG = json.dumps(
    {**json.loads(exports.PLACEHOLDER_KUBECONFIG), "users": [{"name": "unknown", "user": {"token": PLANTED}}]}
)


@cache
def ran(stack: str) -> Preview:
    """The whole program as an update, in which everything is known; kubeconfigs of other stacks hold the token."""
    if stack in FLEET_STACKS:
        return run_stack(stack, False)
    result = evaluation(stack)
    assert result.file is not None
    config = dict(result.file.config)
    kind = result.file.config_key
    references = {}
    if (
        isinstance(result.plan, TeamStackPlan)
        and result.platform_evaluation is not None
        and result.platform_evaluation.fleet_plan is not None
    ):
        outputs = {
            **exports.placeholder_outputs(result.platform_evaluation.fleet_plan),
            exports.KUBECONFIG_OUTPUT: KUBECONFIG,
        }
        references = {f"organization/berth/{result.plan.platform}": (outputs, {exports.KUBECONFIG_OUTPUT})}
    return run_program(
        ROOT,
        stack,
        config.pop(kind),
        config,
        preview=False,
        answers=answers_with_tokens,
        config_key=kind,
        references=references,
    )


@every_file
def test_no_recorded_value_is_a_secret(stack: str) -> None:
    result = ran(stack)
    resource = [
        line
        for one in result.resources
        for each in (one.inputs, one.outputs)
        for line in plaintext_secrets(each, one.name)
    ]
    assert [*resource, *plaintext_secrets(result.exports, "exports")] == []


@every_file
def test_a_kubeconfig_is_exported_only_as_a_secret(stack: str) -> None:
    """Only that of a GKE cluster, created or existing, is exported for team stacks."""
    plan = evaluation(stack).fleet_plan
    is_gke = plan is not None and isinstance(plan.cluster, ClusterPlan | ExistingGkeClusterPlan)
    assert ran(stack).exports.get(exports.KUBECONFIG_OUTPUT) == ("[secret]" if is_gke else None)


@every_file
def test_secrets_of_a_cluster_are_secret_in_the_state(stack: str) -> None:
    """The token of an account is made by the cluster, and comes back as an output of its Secret."""
    for one in ran(stack).resources:
        if one.type == "kubernetes:core/v1:Secret":
            assert set(one.additional_secret_outputs) >= {"data", "stringData"}, one.name


@every_file
def test_secrets_and_configuration_are_updated_in_place(stack: str) -> None:
    """Else a token that is renewed would be gone for a moment, and a dashboard with it."""
    made = [one.inputs for one in ran(stack).resources if one.type == "pulumi:providers:kubernetes"]
    assert made
    in_place = ("enableConfigMapMutable", "enableSecretMutable")
    assert {tuple(inputs.get(each) for each in in_place) for inputs in made} == {("true", "true")}


def test_planted_secrets_are_in_the_recorded_resources() -> None:
    """The token is planted in several stacks, the manager's kubeconfig is made of it, and clusters have kubeconfigs."""
    made = [one for stack in ("multikueue", "batch-platform") for one in ran(stack).resources]
    secrets = [one for one in made if one.type == "kubernetes:core/v1:Secret"]
    assert len([one for one in secrets if one.inputs.get("stringData") == "[secret]"]) == 2
    assert len(secrets) > 2
    assert [one.name for one in made if one.inputs.get("kubeconfig") not in (None, "[secret]")] == []
    assert len([one for one in made if one.inputs.get("kubeconfig") == "[secret]"]) >= 4


@pytest.mark.parametrize(
    "value",
    [
        {"user": {"token": "abc"}},
        {"clientKey": "abc"},
        {"password": 1234},
        {"cluster": {"certificate-authority-data": "abc"}},
        {"secret_access_key": "abc"},
        {"headers": {"Authorization": "abc"}},
        {"text": "-----BEGIN RSA PRIVATE KEY-----\nabc"},
        {"text": base64.b64encode(b"-----BEGIN PRIVATE KEY-----\nabc").decode()},
        {"text": ["x", f"Bearer {PLANTED}"]},
        {"text": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0x.sig"},
        {"url": "https://me:hidden@example.com"},
        {"text": KUBECONFIG},
        KUBECONFIG,
    ],
)
def test_a_plaintext_secret_is_detected(value: object) -> None:
    assert list(plaintext_secrets(value))


@pytest.mark.parametrize(
    "value",
    [
        {"token": "[secret]", "password": "", "secretName": "hf-token", "kubeconfig": "ack-one.kubeconfig"},
        {"token": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "ya29.x"}},
        {"secretKeyRef": {"name": "a", "key": "token"}, "automountServiceAccountToken": False},
        {"url": "https://example.com:443/a@b", "image": "registry.example/a@sha256:0123"},
        None,
        [1, 2.5, True],
    ],
)
def test_a_plain_value_is_not_redacted(value: object) -> None:
    assert list(plaintext_secrets(value)) == []
