"""Previews that `berth guard` does not judge: of a program that stopped, of another stack, of another project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from berth.backends.interface import backend_of, check_preview
from berth.cli import app
from berth.diff.guard.preview_file import parse_preview
from berth.diff.guard.text import describe_guarded_change, describe_remedy
from tests.berth.diff.edits.edited import ACK, TEAM
from tests.stack_files import ROOT
from tests.stack_files import plan as plan_of

STDERR = {"severity": "info#err", "message": "Traceback (most recent call last):\nKeyError: 'l4'\n"}
WARNING = {"severity": "info#err", "message": "DeprecationWarning: use the other one\n"}
WHOLE = backend_of(plan_of("dev")).preview_rules(plan_of("dev")).least_resources
"""How many resources the program of dev registers at least."""


def document(urn: str | None = None, **parts: Any) -> str:
    """A preview as one object, with a step `same` of `urn`."""
    steps = [{"op": "same", "urn": urn}] if urn else []
    return json.dumps({"steps": steps, "changeSummary": {"same": WHOLE}, **parts})


def stream(urn: str | None = None, *, result: str = "succeeded", **parts: Any) -> str:
    """The same as a stream of events."""
    counts = {"resourceChanges": parts.get("changeSummary", {"same": WHOLE})}
    events = [{"resourcePreEvent": {"metadata": {"op": "same", "urn": urn}}}] * WHOLE if urn else []
    events += [{"diagnosticEvent": each} for each in parts.get("diagnostics", [])]
    events = [{"preludeEvent": {}}, *events, {"summaryEvent": {"result": result, **counts}}]
    return "\n".join(json.dumps({"sequence": number, **event}) for number, event in enumerate(events))


FORMS = [document, stream]
every_form = pytest.mark.parametrize("form", FORMS, ids=["object", "stream"])


@every_form
@pytest.mark.parametrize("registered", [{"same": 1}, {"create": 1}, {"same": 12, "update": 2}, {}, None])
def test_a_program_that_stopped_is_an_error_although_the_engine_reports_none(
    form: Any, registered: dict[str, int] | None
) -> None:
    judged = check_preview(parse_preview(form(changeSummary=registered, diagnostics=[STDERR])), plan_of("dev"))
    assert judged.errors
    assert "KeyError: 'l4'" in judged.errors[-1]


@every_form
def test_a_warning_of_a_program_that_ran_to_its_end_is_none(form: Any) -> None:
    assert check_preview(parse_preview(form(diagnostics=[WARNING])), plan_of("dev")).errors == ()


@every_form
@pytest.mark.parametrize("plan", [plan_of("dev"), ACK.plan(), TEAM.plan()], ids=["gke", "ack", "team"])
def test_a_program_that_registered_nothing_did_not_run(form: Any, plan: Any) -> None:
    (error,) = check_preview(parse_preview(form(changeSummary={"create": 1})), plan).errors
    assert error.startswith("the program registered 1 resource, and the stack file needs at least ")


def guard(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit status, and what the verb prints after its first line or on stderr, for the stack dev of this project."""
    monkeypatch.chdir(ROOT)
    file = tmp_path / "preview.json"
    file.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["guard", "dev", str(file)])
    return result.exit_code, result.stderr or "\n".join(result.stdout.splitlines()[1:])


@every_form
@pytest.mark.parametrize(
    ("urn", "status", "message"),
    [
        (
            "urn:pulumi:prod::berth::pulumi:pulumi:Stack::berth-prod",
            3,
            "not known: the preview is of stack 'prod' of project 'berth', not of stack 'dev' of project 'berth'; "
            "run `pulumi preview --stack dev --json` in the folder of this project",
        ),
        (
            "urn:pulumi:dev::web::pulumi:pulumi:Stack::web-dev",
            3,
            "not known: the preview is of stack 'dev' of project 'web', not of stack 'dev' of project 'berth'; "
            "run `pulumi preview --stack dev --json` in the folder of this project",
        ),
        (
            "dev-bucket",
            1,
            "{file}: not the output of `pulumi preview --json`: 'dev-bucket' is not a URN; write it with `pulumi "
            "preview --stack dev --json > {file}`\n",
        ),
    ],
)
def test_a_preview_of_another_stack_is_refused(
    form: Any, urn: str, status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = message.replace("{file}", str(tmp_path / "preview.json"))
    assert guard(form(urn), tmp_path, monkeypatch) == (status, told)


def test_an_error_about_another_stack_is_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is protected has no step when the engine refuses it at once."""
    urn = "urn:pulumi:prod::berth::berth:gke:Cluster$gcp:container/cluster:Cluster::cluster-cluster"
    refused = {"severity": "error", "message": f'unable to replace resource "{urn}": protected'}
    status, message = guard(document(diagnostics=[refused]), tmp_path, monkeypatch)
    assert (status, "stack 'prod'" in message) == (3, True)


def test_another_pod_range_is_an_update_that_google_refuses() -> None:
    """As `berth diff` says; the engine previews it as an update and exits 0 (recorded on 3.260)."""
    urn = "urn:pulumi:dev::berth::berth:gke:Network$gcp:compute/subnetwork:Subnetwork::network-subnet"

    def state(pods: str) -> dict[str, Any]:
        ranges = {"pods": pods, "services": "10.44.0.0/20"}
        return {"inputs": {"secondaryIpRanges": [{"rangeName": k, "ipCidrRange": v} for k, v in ranges.items()]}}

    step = {"op": "update", "urn": urn, "oldState": state("10.41.0.0/16"), "newState": state("10.99.0.0/16")}
    (change,) = check_preview(parse_preview(json.dumps({"steps": [step]})), plan_of("dev")).blocked
    reason = "network: this update will fail, because Google Cloud refuses to change podRange"
    assert describe_guarded_change(change) == f"{reason} 10.41.0.0/16 → 10.99.0.0/16 in place"
    assert "allowChange: {network:" in describe_remedy(change)
