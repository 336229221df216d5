"""The three answers of `berth guard`: whole harmless runs are safe, losses are blocked, all else is unknown."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from berth.backends.interface import check_preview
from berth.cli import app
from berth.cli.guard import guard_as_json, guard_lines, guard_report
from berth.diff.guard.preview import Answer, GuardReport
from berth.diff.guard.preview_file import parse_preview
from berth.diff.guard.preview_steps import PreviewFormatError
from berth.diff.guard.text import describe_remedy
from tests.berth.diff.answers.engine_previews import Step, as_text, config_of, digest, events, steps
from tests.small_fleets import plan
from tests.stack_files import FLEET_STACKS, GKE_STACKS, ROOT, evaluation, fleet_values, run_stack
from tests.stack_files import plan as plan_of

FORMS: dict[str, Callable[..., Any]] = {"object": digest, "stream": events}
PROJECT = "berth"


def answer_to(preview: object, stack: str = "dev") -> GuardReport:
    """What the guard says of a preview of a stack of this project."""
    return guard_report(preview if isinstance(preview, bytes) else as_text(preview), evaluation(stack), PROJECT)


@cache
def _steps_of(stack: str, title: str) -> str:
    deployed = run_stack(stack, False).resources
    first = run_stack(stack, True).resources  # outputs are not known, and secrets are blinded
    return json.dumps(steps(() if title == "first" else deployed, first if title == "first" else deployed))


def run_of(stack: str, title: str) -> list[Step]:
    """The steps of a first deployment (`first`), or of one that changes nothing (`again`)."""
    return json.loads(_steps_of(stack, title))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("title", ["first", "again"])
@pytest.mark.parametrize("stack", FLEET_STACKS)
def test_a_harmless_run_is_safe(stack: str, title: str, form: str) -> None:
    """72 runs: first deployments with unknown outputs and secrets, and runs that change nothing."""
    report = answer_to(FORMS[form](run_of(stack, title), config_of(evaluation(stack).file)), stack)
    assert (report.answer, list(report.doubts), report.errors) == (Answer.SAFE, [], ())
    assert [loss for loss in report.losses if loss.allowed is None] == []


# --- one harmless run of dev, and what may be wrong with it -----------------------------------------------------------

CONFIG = config_of(evaluation("dev").file)


def again() -> list[Step]:
    """The steps of a run of dev that changes nothing."""
    return run_of("dev", "again")


def one(run: list[Step], ending: str) -> Step:
    """The step whose URN ends so."""
    (found,) = [each for each in run if each["urn"].endswith(ending)]
    return found


def deleted(run: list[Step], *endings: str) -> list[Step]:
    """The run, in which resources are deleted as the engine lists it, and from the cloud."""
    for ending in endings:
        step = one(run, ending)
        step["op"] = "delete"
        del step["newState"]
        for option in ("protect", "retainOnDelete"):
            step["oldState"].pop(option, None)
    return run


def updated(run: list[Step], ending: str, path: str, value: object) -> list[Step]:
    """The run, in which an input of a resource is updated in place."""
    step = one(run, ending)
    step["op"] = "update"
    step["newState"] = copy.deepcopy(step["oldState"])
    *above, last = path.split(".")
    inputs = step["newState"]["inputs"]
    for key in above:
        inputs = inputs[key]
    inputs[last] = value
    return run


def without_guarantee(run: list[Step], queue: str, to: str | None = None) -> list[Step]:
    """The run, in which a queue keeps no guarantee; it moves to another queue, or to nobody."""
    step = one(run, f"::{queue}-cluster-queue")
    lost: dict[tuple[str, str], int] = {}
    step["op"] = "update"
    step["newState"] = copy.deepcopy(step["oldState"])
    for group in step["newState"]["inputs"]["spec"]["resourceGroups"]:
        for flavor in group["flavors"]:
            for quota in flavor["resources"]:
                if "/" in quota["name"]:
                    lost[flavor["name"], quota["name"]] = int(quota["nominalQuota"])
                quota["nominalQuota"] = "0"
    if to is not None:
        other = one(run, f"::{to}-cluster-queue")
        other["op"] = "update"
        other["newState"] = copy.deepcopy(other["oldState"])
        for group in other["newState"]["inputs"]["spec"]["resourceGroups"]:
            for flavor in group["flavors"]:
                for quota in flavor["resources"]:
                    gained = lost.get((flavor["name"], quota["name"]), 0)
                    quota["nominalQuota"] = (
                        str(int(quota["nominalQuota"]) + gained) if gained else quota["nominalQuota"]
                    )
    return run


L4, CLUSTER = "::l4-reserved-pool", "::cluster-cluster"
NAMESPACE = "::vision-namespace"
BLOCKED: dict[str, Callable[[], list[Step]]] = {
    "a namespace deleted": lambda: deleted(again(), NAMESPACE),
    "Kueue's release deleted": lambda: deleted(again(), "::controllers-kueue"),
    "JobSet's release deleted": lambda: deleted(again(), "::controllers-jobset"),
    "a queue deleted that was not protected, with its guarantee": lambda: updated(
        again(), "::vision-train-cluster-queue", "spec.resourceGroups", []
    ),
    "a local queue deleted": lambda: deleted(again(), "::vision-train-local-queue/vision/train"),
    "a network policy deleted": lambda: deleted(again(), policy("NetworkPolicy")),
    "an admission policy deleted": lambda: deleted(again(), policy("ValidatingAdmissionPolicy")),
    "the binding of an admission policy deleted": lambda: deleted(again(), policy("ValidatingAdmissionPolicyBinding")),
    "a resource quota deleted": lambda: deleted(again(), policy("ResourceQuota")),
    "a limit range deleted": lambda: deleted(again(), policy("LimitRange")),
    "a binding that no longer denies": lambda: updated(
        again(), policy("ValidatingAdmissionPolicyBinding"), "spec.validationActions", ["Audit"]
    ),
    "a policy that ignores its own failure": lambda: updated(
        again(), policy("ValidatingAdmissionPolicy"), "spec.failurePolicy", "Ignore"
    ),
    "a reserved pool scaled to 0": lambda: updated(again(), L4, "nodeCount", 0),
    "a reserved pool below its guarantees": lambda: updated(again(), L4, "nodeCount", 1),
    "a slice scaled to 0": lambda: updated(again(), "::v5e-1-pool", "nodeCount", 0),
    "a reservation made smaller": lambda: updated(again(), "::l4-reservation", "specificReservation.count", 1),
    "a reservation emptied": lambda: updated(again(), "::l4-reservation", "specificReservation.count", 0),
    "a guarantee removed by an update": lambda: without_guarantee(again(), "vision-train"),
    "a guarantee of speech removed by an update": lambda: without_guarantee(again(), "speech-train"),
    "the cluster's deletion protection off": lambda: unprotected(True),
    "the cluster's deletion protection off, which was not written": lambda: unprotected(None),
}


def unprotected(before: bool | None) -> list[Step]:
    """A run of dev that switches the deletion protection of the cluster off; the provider's default is on."""
    run = again()
    inputs = one(run, "::cluster-cluster")["oldState"]["inputs"]
    del inputs["deletionProtection"]
    if before is not None:
        inputs["deletionProtection"] = before
    return updated(run, "::cluster-cluster", "deletionProtection", False)


@cache
def _policies() -> dict[str, str]:
    """One object of each kind of policy, by the end of its URN."""
    return {each["urn"].split("::")[2].rpartition(":")[2]: f"::{each['urn'].split('::')[3]}" for each in again()}


def policy(kind: str) -> str:
    """The end of the URN of one object of a kind of policy."""
    return _policies()[kind]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", BLOCKED)
def test_what_kills_jobs_loses_capacity_or_takes_a_safeguard_is_blocked(case: str, form: str) -> None:
    report = answer_to(FORMS[form](BLOCKED[case](), CONFIG))
    assert report.answer == Answer.BLOCKED, list(guard_lines(report, "dev"))
    lines = list(guard_lines(report, "dev"))
    assert lines[0].startswith("dev: blocked: ")
    assert any("to allow it, " in line for line in lines)


REMEDIES = {"allowDeletion", "allowChange"}


@pytest.mark.parametrize("case", BLOCKED)
def test_a_remedy_typed_as_written_allows_the_loss(case: str) -> None:
    """The stack file with every allowance that the output names has no fault, and the same run is not blocked."""
    fleet: dict[str, Any] = _fleet()
    for loss in answer_to(digest(BLOCKED[case](), CONFIG)).blocked:
        written = re.search(r'(allow\w+): \{([^ ]+): "<why>"\}', describe_remedy(loss))
        assert written is not None, describe_remedy(loss)
        fleet.setdefault(written[1], {})[written[2]] = "the contract ends"
    assert REMEDIES & fleet.keys()
    values = {**fleet_values("dev"), **{key: fleet[key] for key in REMEDIES & fleet.keys()}}
    report = check_preview(parse_preview(as_text(digest(BLOCKED[case](), CONFIG)).decode()), plan(values, "dev"))
    assert report.blocked == ()


LOUD: dict[str, Callable[[], list[Step]]] = {
    "a guarantee that moves to another team": lambda: without_guarantee(again(), "vision-train", "speech-train"),
    "a guarantee that moves between queues": lambda: without_guarantee(again(), "language-train", "vision-train"),
    "a spot pool with fewer nodes": lambda: updated(
        again(), "::l4-spot-pool", "autoscaling", {"totalMinNodeCount": 0, "totalMaxNodeCount": 2}
    ),
    "a role binding deleted": lambda: deleted(again(), policy("RoleBinding")),
    "a dashboard deleted": lambda: deleted(again(), policy("Dashboard")),
    "an alert deleted": lambda: deleted(again(), policy("AlertPolicy")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", LOUD)
def test_the_days_work_is_named_and_not_blocked(case: str, form: str) -> None:
    """The file of these runs would say so; of the file that stays as it is, the guard doubts them."""
    report = answer_to(FORMS[form](LOUD[case](), CONFIG))
    assert report.blocked == (), list(guard_lines(report, "dev"))
    assert all(each.startswith(("it makes ", "it deletes ")) for each in report.doubts), report.doubts


@pytest.mark.parametrize("form", FORMS)
def test_a_replacement_that_is_made_first_is_one(form: str) -> None:
    """`--replace` of a flavor, as recorded: when its step is printed, the old state is marked as one to delete."""
    run = again()
    step = one(run, "::flavors-l4-spot")
    step["op"] = "replace"
    step["oldState"]["delete"] = True
    report = answer_to(FORMS[form](run, CONFIG))
    assert (report.answer, report.doubts) == (Answer.SAFE, ())
    assert [each.name for each in report.others] == ["l4-spot"]


def test_a_deletion_without_protection_is_named() -> None:
    lines = list(guard_lines(answer_to(digest([*again(), no_longer(RBAC.format("RoleBinding"), "a")], CONFIG)), "dev"))
    assert lines[0] == "dev: safe: the preview loses nothing that is protected; 1 other loss is below"
    assert lines[1].startswith("RoleBinding ")
    assert lines[1].endswith(" would be deleted (not protected)")


def team_deleted(*, drained: bool) -> list[Step]:
    """The run, in which everything of the team speech is deleted; its queues were drained by the last deployment."""
    run = again()
    urns = [each["urn"] for each in run if "speech" in each["urn"].rpartition("::")[2]]
    for urn in urns:
        step = one(run, urn)
        spec = (step["oldState"].get("inputs") or {}).get("spec") or {}
        if drained and urn.endswith("-cluster-queue"):
            spec["stopPolicy"] = "HoldAndDrain"
    return deleted(run, *urns)


@pytest.mark.parametrize(("drained", "blocked"), [(True, []), (False, ["Namespace speech", "speech-"])])
def test_a_drained_team_may_go(drained: bool, blocked: list[str]) -> None:
    report = answer_to(digest(team_deleted(drained=drained), CONFIG))
    names = [loss.name for loss in report.blocked]
    if drained:
        assert names == []
        assert {"queue", "object"} >= {str(loss.kind) for loss in report.losses}
    else:
        assert any(name.startswith(blocked[0]) for name in names)


def test_a_namespace_that_is_handed_over_stays() -> None:
    run = deleted(again(), NAMESPACE)
    one(run, NAMESPACE)["oldState"]["retainOnDelete"] = True
    assert answer_to(digest(run, CONFIG)).blocked == ()


SHRUNK: dict[str, Callable[[], list[Step]]] = {
    "a fixed pool": lambda: updated(again(), L4, "nodeCount", 3),
    "an autoscaled pool": lambda: updated(
        again(), "::l4-spot-pool", "autoscaling", {"totalMinNodeCount": 0, "totalMaxNodeCount": 2}
    ),
    "a reservation": lambda: updated(again(), "::l4-reservation", "specificReservation.count", 3),
}


@pytest.mark.parametrize("case", SHRUNK)
@pytest.mark.parametrize("more", [0, 1])
def test_machines_that_admitted_jobs_hold_block(case: str, more: int) -> None:
    """What is left is the capacity in the stack file: one accelerator more that runs than that blocks."""
    flavor = "l4-spot" if case == "an autoscaled pool" else "l4-reserved"
    left = next(each.capacity.max for each in plan_of("dev").flavors if each.name == flavor)
    preview = parse_preview(as_text(digest(SHRUNK[case](), CONFIG)).decode())
    report = check_preview(preview, plan_of("dev"), running={flavor: left + more})
    told = f"{flavor} keeps {left} of {left + 1} that admitted jobs hold"
    found = [loss for loss in report.blocked if told in loss.parts]
    assert len(found) == more
    for loss in found:
        assert describe_remedy(loss) == f'to allow it, add allowChange: {{{flavor}: "<why>"}}'


def test_what_runs_blocks_nothing_where_no_machine_is_taken_away() -> None:
    preview = parse_preview(as_text(digest(again(), CONFIG)).decode())
    assert check_preview(preview, plan_of("dev"), running={"l4-reserved": 10_000}).answer == Answer.SAFE


# --- unknown ----------------------------------------------------------------------------------------------------------


def edited(change: Callable[[Step], object]) -> bytes:
    """A harmless preview after one change of the object."""
    preview = digest(again(), CONFIG)
    change(preview)
    return as_text(preview)


def rewritten(before: str, after: str) -> bytes:
    """A harmless preview after one change of its text."""
    text = as_text(digest(again(), CONFIG)).decode()
    assert before in text
    return text.replace(before, after, 1).encode()


def resequenced(change: Callable[[list[Step]], object]) -> bytes:
    """A harmless stream after one change of its events."""
    stream = events(again(), CONFIG)
    change(stream)
    return as_text(stream)


def _other_file(fleet: dict[str, Any]) -> str:
    return json.dumps({**fleet, "labels": {"yesterday": "yes"}})


def _fleet() -> dict[str, Any]:
    return json.loads(CONFIG["berth:fleet"])


DELETE = {"op": "delete", "urn": f"urn:pulumi:dev::{PROJECT}::kubernetes:rbac.authorization.k8s.io/v1:Role::a"}
SURPLUS = {**DELETE, "oldState": {"inputs": {"kind": "Role", "metadata": {"name": "a"}}}}
UNKNOWN: dict[str, Callable[[], bytes]] = {
    "another stack": lambda: as_text(digest(again(), CONFIG)).replace(b"urn:pulumi:dev:", b"urn:pulumi:prod:"),
    "another stack without steps": lambda: edited(lambda p: p.update(steps=[])),
    "another project": lambda: as_text(digest(again(), CONFIG)).replace(b"::berth::", b"::other::"),
    "yesterday's file": lambda: edited(lambda p: p["config"].update({"berth:fleet": _other_file(_fleet())})),
    "a file that had one key more": lambda: edited(lambda p: p["config"].update({"gcp:project": "another"})),
    "no config, and only what changes": lambda: as_text(digest(again(), {}, show_sames=False)),
    "inputs of another type": lambda: edited(lambda p: p["steps"][-1]["newState"].update(inputs=[])),
    "a file with one number more": lambda: edited(
        lambda p: p["config"].update(
            {"berth:fleet": json.dumps({**_fleet(), "pools": {**_fleet()["pools"], "x": {"nodes": 1}}})}
        )
    ),
    "another provider": lambda: edited(lambda p: p["config"].update({"pulumi:disable-default-providers": "[]"})),
    "a config without the fleet": lambda: edited(lambda p: p["config"].pop("berth:fleet")),
    "a config that is a list": lambda: edited(lambda p: p.update(config=[1])),
    "a partial run": lambda: edited(lambda p: p["changeSummary"].update(same=40)),
    "a program that registered one resource": lambda: edited(lambda p: p["changeSummary"].update(same=1)),
    "no summary": lambda: edited(lambda p: p.pop("changeSummary")),
    "an empty summary": lambda: edited(lambda p: p.update(changeSummary={})),
    "a deletion that is counted and not listed": lambda: edited(lambda p: p["changeSummary"].update(delete=1)),
    "four deletions counted and one listed": lambda: edited(
        lambda p: (p["changeSummary"].update(delete=4), p["steps"].append(SURPLUS))
    ),
    "a deletion that is listed and not counted": lambda: edited(lambda p: p["steps"].append(SURPLUS)),
    "a replacement that is counted and not listed": lambda: edited(lambda p: p["changeSummary"].update(replace=1)),
    "an update that is counted and not listed": lambda: edited(lambda p: p["changeSummary"].update(update=2)),
    "a creation that is listed and not counted": lambda: edited(
        lambda p: p["steps"].append({"op": "create", "urn": DELETE["urn"], "newState": SURPLUS["oldState"]})
    ),
    "a count that is a text": lambda: edited(lambda p: p["changeSummary"].update(same="135")),
    "a count below 0": lambda: edited(lambda p: p["changeSummary"].update(delete=-1)),
    "a count that is true": lambda: edited(lambda p: p["changeSummary"].update(delete=True)),
    "a deletion without oldState": lambda: edited(
        lambda p: (p["changeSummary"].update(delete=1), p["steps"].append(DELETE))
    ),
    "a deletion whose oldState is null": lambda: edited(
        lambda p: (p["changeSummary"].update(delete=1), p["steps"].append({**DELETE, "oldState": None}))
    ),
    "a deletion without inputs": lambda: edited(
        lambda p: (p["changeSummary"].update(delete=1), p["steps"].append({**DELETE, "oldState": {"id": "a"}}))
    ),
    "a deletion whose state is of another type": lambda: edited(
        lambda p: (
            p["changeSummary"].update(delete=1),
            p["steps"].append({**SURPLUS, "oldState": {**SURPLUS["oldState"], "type": "kubernetes:core/v1:Secret"}}),
        )
    ),
    "the same deletion twice": lambda: edited(
        lambda p: (p["changeSummary"].update(delete=2), p["steps"].extend([SURPLUS, SURPLUS]))
    ),
    "a half of a replacement": lambda: edited(lambda p: p["steps"].append({**SURPLUS, "op": "delete-replaced"})),
    "the same resource deleted and updated": lambda: edited(
        lambda p: (
            p["changeSummary"].update(delete=1, update=1),
            p["steps"].extend([SURPLUS, {**SURPLUS, "op": "update", "newState": SURPLUS["oldState"]}]),
        )
    ),
    "an operation of a newer engine": lambda: edited(lambda p: p["steps"].append({**SURPLUS, "op": "obliterate"})),
    "an operation of a newer engine that is only counted": lambda: edited(
        lambda p: p["changeSummary"].update(obliterate=1)
    ),
    "a key of a newer engine": lambda: edited(lambda p: p.update(destroys=[DELETE])),
    "a key of a newer engine in a step": lambda: edited(lambda p: p["steps"][0].update(thenDelete=True)),
    "a severity of a newer engine": lambda: edited(
        lambda p: p.update(diagnostics=[{"severity": "fatal", "message": "it stopped"}])
    ),
    "a state that may be corrupt": lambda: edited(lambda p: p.update(maybeCorrupt=True)),
    "a preview that failed": lambda: edited(
        lambda p: p.update(diagnostics=[{"severity": "error", "message": "error: no credentials"}])
    ),
    "no step of the stack itself": lambda: edited(lambda p: p["steps"].pop(0)),
    "duplicate keys of a step": lambda: rewritten('"op": ', '"op": "delete", "op": '),
    "duplicate keys of the object": lambda: rewritten('"steps":', '"steps": [], "steps":'),
    "duplicate counts": lambda: rewritten('"same":', '"same": 1, "same":'),
    "a number that is not one": lambda: rewritten('"duration": 1500000000', '"duration": NaN'),
    "two objects in one file": lambda: as_text(digest(again(), CONFIG)) * 2,
    "an object and a stream": lambda: as_text(digest(again(), CONFIG)) + as_text(events(again(), CONFIG)),
    "a stream and an object": lambda: as_text(events(again(), CONFIG)) + b"\n" + as_text(digest(again(), CONFIG)),
    "two streams in one file": lambda: as_text(events(again(), CONFIG)) + b"\n" + as_text(events(again(), CONFIG)),
    "two runs in one numbered stream": lambda: as_text(
        [{**each, "sequence": n} for n, each in enumerate([*events(again(), CONFIG), *events(again(), CONFIG)])]
    ),
    "a stream without its middle": lambda: resequenced(lambda s: s.pop(40)),
    "a stream without its beginning": lambda: resequenced(lambda s: s.pop(0)),
    "a stream without its end": lambda: resequenced(lambda s: s.pop(-2)),
    "a stream without its last half": lambda: resequenced(lambda s: s.__delitem__(slice(len(s) // 2, None))),
    "a stream in another order": lambda: resequenced(lambda s: s.insert(9, s.pop(30))),
    "a stream without numbers": lambda: resequenced(lambda s: [each.pop("sequence") for each in s]),
    "a stream with a number twice": lambda: resequenced(lambda s: s[9].update(sequence=8)),
    "a stream whose first events are cut and renumbered": lambda: as_text(
        [{**each, "sequence": n} for n, each in enumerate(events(again(), CONFIG)[1:])]
    ),
    "an event of a newer engine": lambda: resequenced(lambda s: s[9].update(deletionEvent=DELETE)),
    "two events in one line": lambda: resequenced(lambda s: s[9].update(diagnosticEvent={"severity": "info"})),
    "an event that is only a number": lambda: resequenced(lambda s: s.__setitem__(9, {"sequence": 9, "timestamp": 1})),
    "an event that is a list": lambda: resequenced(lambda s: s.__setitem__(9, cast("Any", []))),
    "a resource that ends without a beginning": lambda: resequenced(
        lambda s: s[10].update(resourcePreEvent={"metadata": {**DELETE, "op": "same"}})
    ),
    "a run that was cancelled": lambda: resequenced(lambda s: s[-2]["summaryEvent"].update(result="canceled")),
    "a run that ended in a new way": lambda: resequenced(lambda s: s[-2]["summaryEvent"].update(result="partial")),
    "the record of an update": lambda: resequenced(lambda s: s[-2]["summaryEvent"].update(isPreview=False)),
    "a stream that failed": lambda: resequenced(lambda s: s[-2]["summaryEvent"].update(result="failed")),
    "a stream of yesterday's file": lambda: resequenced(
        lambda s: s[0]["preludeEvent"]["config"].update({"berth:fleet": _other_file(_fleet())})
    ),
    "a stream with fewer resources than it counts": lambda: resequenced(
        lambda s: s[-2]["summaryEvent"]["resourceChanges"].update(same=400)
    ),
    "a key of a newer engine in an event": lambda: resequenced(
        lambda s: s[9]["resourcePreEvent"]["metadata"].update(thenDelete=True)
        if "resourcePreEvent" in s[9]
        else s[10]["resourcePreEvent"]["metadata"].update(thenDelete=True)
    ),
    "a policy that refuses": lambda: resequenced(
        lambda s: s[2].update(
            {
                next(k for k in s[2] if k.endswith("Event")): s[2].pop(next(k for k in s[2] if k.endswith("Event"))),
            }
        )
        or s[-2]["summaryEvent"].update(result="failed")
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_may_not_be_one_whole_run_of_this_file_is_never_safe(case: str) -> None:
    try:
        report = answer_to(UNKNOWN[case]())
    except PreviewFormatError as error:
        assert not error.is_unknown, "an answer, and not a fault of the input"
        return
    assert report.answer == Answer.UNKNOWN
    lines = list(guard_lines(report, "dev"))
    assert lines[0].startswith("dev: unknown: ")
    assert any(line.startswith(("not known: ", "the preview failed: ")) for line in lines)
    assert guard_as_json(report, "dev")["answer"] == "unknown"


@pytest.mark.parametrize(
    ("case", "doubt"),
    [
        ("the same resource deleted and updated", f"'{DELETE['urn']}' has delete and update at once"),
        ("the same deletion twice", f"'{DELETE['urn']}' has 2 × delete"),
        ("a half of a replacement", f"'{DELETE['urn']}' has delete-replaced without replace"),
        ("a deletion without oldState", f"the step delete of '{DELETE['urn']}' has no oldState"),
    ],
)
def test_steps_that_contradict_each_other_are_told(case: str, doubt: str) -> None:
    assert f"not known: {doubt}" in list(guard_lines(answer_to(UNKNOWN[case]()), "dev"))


@pytest.mark.parametrize("found", ["update", "delete"])
def test_what_a_refresh_found_is_said_where_it_ends(found: str) -> None:
    """`pulumi refresh` begins every resource as one operation, and ends it as what has happened to it."""
    stream = events(again(), CONFIG)
    ends = {each["resOutputsEvent"]["metadata"]["urn"]: each for each in stream if "resOutputsEvent" in each}
    begin = next(each for each in stream if each.get("resourcePreEvent", {}).get("metadata", {}).get("urn") in ends)
    metadata = begin["resourcePreEvent"]["metadata"]
    ends[metadata["urn"]]["resOutputsEvent"] = {"metadata": {**metadata, "op": found}}
    begin["resourcePreEvent"] = {"metadata": {**metadata, "op": "refresh"}}
    steps = parse_preview(as_text(stream).decode()).steps
    assert [each.op for each in steps if each.urn == metadata["urn"]] == [found]


@pytest.mark.parametrize(
    ("case", "code", "first"),
    [
        (lambda: as_text(digest(again(), CONFIG)), 0, "dev: safe: the preview loses nothing that is protected\n"),
        (UNKNOWN["yesterday's file"], 3, "dev: unknown: this may not be one whole preview of this stack file; "),
        (
            lambda: as_text(digest(BLOCKED["a namespace deleted"](), CONFIG)),
            3,
            "dev: blocked: the stack file does not ",
        ),
        (lambda: b"no json", 1, ""),
    ],
)
def test_unknown_exits_as_blocked_does(
    case: Callable[[], bytes], code: int, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, ["guard", str(GKE_STACKS["dev"]), "-"], input=case())
    assert (result.exit_code, result.stdout[: len(first)]) == (code, first)


def without(run: list[Step], ending: str) -> list[Step]:
    """The run without a step."""
    run.remove(one(run, ending))
    return run


def as_before(run: list[Step], ending: str, path: str, value: object) -> list[Step]:
    """The run, in which a resource stays as it was, which is not what the stack file says."""
    step = one(updated(run, ending, path, value), ending)
    step["op"] = "same"
    step["oldState"] = step["newState"]
    return run


def unregistered(name: str) -> Step:
    """The step of a resource that the program no longer registers, and that a run with targets does not delete."""
    urn = f"urn:pulumi:dev::{PROJECT}::{name}"
    old = {"urn": urn, "custom": True, "id": "old", "type": name.partition("::")[0], "inputs": {"name": "old"}}
    return {"op": "same", "urn": urn, "oldState": old, "newState": {**old, "id": ""}}


def not_created(run: list[Step], ending: str) -> list[Step]:
    """The run, in which a resource is not created: the engine lists it as it would be, without an ID."""
    step = one(run, ending)
    del step["oldState"]["id"], step["newState"]["id"]
    return run


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda run: as_before(run, L4, "nodeConfig.diskSizeGb", 41),
            "it leaves out the change of NodePool l4-reserved-pool; run it without --target and --exclude",
        ),
        (
            lambda run: as_before(
                as_before(run, L4, "nodeConfig.__defaults", []), L4, "nodeConfig.imageType", "UBUNTU_CONTAINERD"
            ),
            "it leaves out the change of NodePool l4-reserved-pool; run it without --target and --exclude",
        ),
        (
            lambda run: without(run, L4),
            "it leaves out NodePool l4-reserved-pool; run it without --target and --exclude",
        ),
        (
            lambda run: [*run, unregistered("gcp:storage/bucket:Bucket::old")],
            "it leaves out the deletion of Bucket old; run it without --target and --exclude",
        ),
        (
            lambda run: not_created(run, L4),
            "it leaves out the creation of NodePool l4-reserved-pool; run it without --target and --exclude",
        ),
        (
            lambda run: as_before(
                run, NAMESPACE, "metadata.labels", {"pod-security.kubernetes.io/enforce": "privileged"}
            ),
            "it leaves out the change of Namespace vision; run it without --target and --exclude",
        ),
        (
            lambda run: as_before(run, policy("RoleBinding"), "subjects", []),
            "it leaves out the change of RoleBinding ",
        ),
        (
            lambda run: as_before(run, "::vision-train-cluster-queue", "spec.queueingStrategy", "StrictFIFO"),
            "it leaves out the change of ClusterQueue vision-train; run it without --target and --exclude",
        ),
        (
            lambda run: as_before(run, NAMESPACE, "metadata.name", "gone"),
            "it leaves out the deletion of Namespace gone; run it without --target and --exclude",
        ),
        (
            lambda run: without(run, "::vision-train-cluster-queue"),
            "it leaves out ClusterQueue vision-train; run it without --target and --exclude",
        ),
    ],
)
def test_a_run_with_targets_says_what_it_leaves_out(
    change: Callable[[list[Step]], list[Step]], told: str, form: str
) -> None:
    report = answer_to(FORMS[form](change(again()), CONFIG))
    assert report.answer == Answer.UNKNOWN
    assert any(doubt.startswith(told) for doubt in report.doubts), report.doubts


@pytest.mark.parametrize(
    ("ending", "path", "value"),
    [
        (L4, "initialNodeCount", 9),
        (L4, "nodeConfig.loggingConfig", {}),
        (L4, "nodeConfig.preemptible", False),
        (CLUSTER, "enableShieldedNodes", True),
        (CLUSTER, "ipAllocationPolicy.stackType", "IPV4"),
        ("::network-nat", "udpIdleTimeoutSec", 30),
        ("::views-tpu-quota-nearly-used-alert", "enabled", True),
    ],
)
def test_what_the_provider_added_or_the_program_ignores_is_not_left_out(ending: str, path: str, value: object) -> None:
    """A state has defaults of the provider, and fields that GKE changes and the program leaves as they are."""
    run = as_before(as_before(again(), ending, path, value), ending, "__defaults", [path])
    assert answer_to(digest(run, CONFIG)).answer == Answer.SAFE


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("key", "is_safe"), [("__defaults", True), ("tags", False)])
def test_only_the_list_of_added_inputs_may_change_in_a_block_that_the_program_ignores(
    key: str, is_safe: bool, form: str
) -> None:
    """An update after a refresh has the list on both sides, and another version of the provider another list."""
    run = as_before(again(), CLUSTER, "nodeConfig", {"machineType": "e2-medium", key: ["diskType"]})
    run = updated(run, CLUSTER, f"nodeConfig.{key}", [])
    assert (answer_to(FORMS[form](run, CONFIG)).answer == Answer.SAFE) is is_safe


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("path", "is_safe"), [("enablePatchForce", True), ("deleteUnreachable", False)])
def test_the_switch_of_the_first_update_after_an_adoption_is_safe(path: str, is_safe: bool, form: str) -> None:
    """An environment sets it (docs/adopt.md); the steps say what becomes of each field that is taken over."""
    run = updated(again(), "providers:kubernetes::kubernetes", path, "true")
    assert (answer_to(FORMS[form](run, CONFIG)).answer == Answer.SAFE) is is_safe


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("ending", "path", "value"),
    [
        (CLUSTER, "enableShieldedNodes", False),
        (CLUSTER, "enableLegacyAbac", True),
        (CLUSTER, "masterAuthorizedNetworksConfig", {"cidrBlocks": [{"cidrBlock": "0.0.0.0/0"}]}),
        (L4, "nodeConfig.loggingVariant", "MAX_THROUGHPUT"),
        (L4, "nodeConfig.tags", ["allow-ssh"]),
        (L4, "nodeConfig.metadata", {"disable-legacy-endpoints": "false"}),
        (L4, "project", "another-project"),
        ("::network-nat", "type", "PRIVATE"),
        ("::network-subnet", "logConfig", {"flowSampling": 1}),
        ("::views-tpu-quota-nearly-used-alert", "enabled", False),
    ],
)
@pytest.mark.parametrize("change", [updated, as_before])
def test_only_a_default_of_the_provider_is_one(
    change: Callable[..., list[Step]], ending: str, path: str, value: object, form: str
) -> None:
    """A preview that was changed by hand can list any input among those that the provider added."""
    above, _, last = path.rpartition(".")
    listed = f"{above}.__defaults" if above else "__defaults"
    run = change(as_before(again(), ending, listed, [last]), ending, path, value)
    assert answer_to(FORMS[form](run, CONFIG)).answer != Answer.SAFE


def test_an_object_that_only_counts_what_stays_is_judged_by_what_it_lists_and_says_so() -> None:
    """A run with `--target` is the same object: the engine says neither the targets nor what they leave out."""
    run = updated(again(), "::vision-train-cluster-queue", "spec.queueingStrategy", "BestEffortFIFO")
    one(run, "::vision-train-cluster-queue")["oldState"]["inputs"]["spec"]["queueingStrategy"] = "StrictFIFO"
    report = answer_to(digest(run, CONFIG, show_sames=False))
    assert (report.answer, report.doubts) == (Answer.SAFE, ())
    unlisted = Counter(each["op"] for each in run)["same"] - 1
    assert report.notes == (
        f"the preview only counts what stays as it is ({unlisted} resources), and a run with --target prints the same; "
        "`pulumi preview --json --show-sames` lists them, and the guard then compares each",
    )


# --- what the stack file does not say ---------------------------------------------------------------------------------

RBAC = "kubernetes:rbac.authorization.k8s.io/v1:{}"
KUEUE = "::controllers-kueue"
OPEN = {"cidrBlocks": [{"cidrBlock": "0.0.0.0/0"}]}


def no_longer(kind: str, name: str, **inputs: Any) -> Step:
    """The deletion of a resource that the stack file does not have."""
    urn = f"urn:pulumi:dev::{PROJECT}::{kind}::{name}"
    values = {"kind": kind.rpartition(":")[2], "metadata": {"name": name}, **inputs}
    return {"op": "delete", "urn": urn, "oldState": {"urn": urn, "custom": True, "type": kind, "inputs": values}}


def made(kind: str, name: str, **inputs: Any) -> Step:
    """The creation of one."""
    step = no_longer(kind, name, **inputs)
    return {"op": "create", "urn": step["urn"], "newState": step["oldState"]}


def ended(run: list[Step], ending: str, op: str, **state: Any) -> list[Step]:
    """The run, in which a resource leaves the state, or the cloud."""
    step = one(deleted(run, ending), ending)
    step["op"] = op
    step["oldState"].update(state)
    return run


def run_with(run: list[Step], ending: str, inputs: dict[str, Any], *, op: str) -> list[Step]:
    """The run, in which a resource is made with other inputs."""
    step = one(run, ending)
    assert step["op"] == op
    step["newState"]["inputs"].update(inputs)
    return run


OTHERWISE: dict[str, Callable[[], list[Step]]] = {
    "connections that are let in": lambda: updated(again(), policy("NetworkPolicy"), "spec.ingress", [{}]),
    "a network policy of no pods": lambda: updated(
        again(), policy("NetworkPolicy"), "spec.podSelector", {"matchLabels": {"a": "b"}}
    ),
    "an admission policy without rules": lambda: updated(
        again(), policy("ValidatingAdmissionPolicy"), "spec.validations", []
    ),
    "an admission policy of no resources": lambda: updated(
        again(), policy("ValidatingAdmissionPolicy"), "spec.matchConstraints", {"resourceRules": []}
    ),
    "a binding of no namespace": lambda: updated(
        again(), policy("ValidatingAdmissionPolicyBinding"), "spec.matchResources", {"namespaceSelector": {}}
    ),
    "a namespace without Pod Security": lambda: updated(again(), NAMESPACE, "metadata.labels", {}),
    "a role for everybody": lambda: updated(
        again(), policy("RoleBinding"), "subjects", [{"kind": "Group", "name": "system:authenticated"}]
    ),
    "a queue that is drained": lambda: updated(
        again(), "::vision-train-cluster-queue", "spec.stopPolicy", "HoldAndDrain"
    ),
    "a queue outside of its cohort": lambda: updated(again(), "::vision-train-cluster-queue", "spec.cohortName", None),
    "a flavor of other nodes": lambda: updated(again(), "::flavors-l4-spot", "spec.nodeLabels", {"a": "b"}),
    "another chart": lambda: updated(again(), KUEUE, "chart", "oci://registry.example/kueue"),
    "no values of a chart": lambda: updated(again(), KUEUE, "values", {}),
    "nodes with another account": lambda: updated(again(), L4, "nodeConfig.serviceAccount", "admin"),
    "a control plane that is open": lambda: updated(
        again(), CLUSTER, "controlPlaneEndpointsConfig", {"ipEndpointsConfig": OPEN}
    ),
    "a setting that Berth does not know": lambda: updated(again(), CLUSTER, "enableLegacyAbac", True),
    "another count of nodes at creation": lambda: run_with(
        run_of("dev", "first"), L4, {"initialNodeCount": 9}, op="create"
    ),
    "a cluster made with the project's own account": lambda: run_with(
        run_of("dev", "first"), CLUSTER, {"nodeConfig": {"serviceAccount": "default"}}, op="create"
    ),
    "an update of what is ignored": lambda: updated(again(), L4, "initialNodeCount", 9),
    "another account of the initial nodes": lambda: updated(
        again(), CLUSTER, "nodeConfig", {"serviceAccount": "default"}
    ),
    "one more administrator of the cluster": lambda: [
        *again(), made(RBAC.format("ClusterRoleBinding"), "a", roleRef={"name": "cluster-admin"})
    ],
    "one more owner of the project": lambda: [
        *again(), made("gcp:projects/iAMMember:IAMMember", "a", role="roles/owner", member="allUsers")
    ],
    "one more program": lambda: [*again(), made("kubernetes:helm.sh/v3:Release", "a", chart="a")],
    "a kind that the stack file has none of": lambda: [*again(), made("kubernetes:core/v1:Pod", "a")],
    "a controller that stays and leaves the state": lambda: ended(again(), KUEUE, "delete", retainOnDelete=True),
    "a cluster that leaves the state": lambda: ended(again(), CLUSTER, "discard"),
    "a priority deleted": lambda: deleted(again(), "::priorities-pod-low"),
    "a service account deleted": lambda: deleted(again(), "::vision-service-account"),
    "the network deleted": lambda: deleted(again(), "::network-vpc"),
    "the way out deleted": lambda: deleted(again(), "::network-nat"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", OTHERWISE)
def test_what_the_stack_file_does_not_say_is_not_safe(case: str, form: str) -> None:
    """Found by reviewers who edited a preview by hand: only unchanged resources were compared with the file."""
    report = answer_to(FORMS[form](OTHERWISE[case](), CONFIG))
    assert report.answer == Answer.UNKNOWN
    assert any(each.startswith(("it makes ", "it deletes ")) for each in report.doubts), report.doubts


NOT_MADE_HERE: dict[str, Step] = {
    "the definition of all queues": no_longer(
        "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "clusterqueues.kueue.x-k8s.io"
    ),
    "a chart of another kind": no_longer("kubernetes:helm.sh/v4:Chart", "a"),
    "a bucket": no_longer("gcp:storage/bucket:Bucket", "a"),
    "a file share": no_longer("gcp:filestore/instance:Instance", "a"),
    "a disk": no_longer("gcp:compute/disk:Disk", "a"),
    "a key": no_longer("gcp:kms/cryptoKey:CryptoKey", "a"),
    "a secret": no_longer("gcp:secretmanager/secret:Secret", "a"),
    "a bucket elsewhere": no_longer("aws:s3/bucket:Bucket", "a"),
}


@pytest.mark.parametrize("case", NOT_MADE_HERE)
def test_a_deletion_of_what_berth_does_not_make_is_blocked_and_allowed_by_name(case: str) -> None:
    preview = as_text(digest([*again(), NOT_MADE_HERE[case]], CONFIG))
    (loss,) = answer_to(preview).blocked
    name = NOT_MADE_HERE[case]["oldState"]["inputs"]["metadata"]["name"]
    assert describe_remedy(loss) == f'to allow it, add allowDeletion: {{resources.{name}: "<why>"}}'
    allowed = plan({**fleet_values("dev"), "allowDeletion": {f"resources.{name}": "moved"}}, "dev")
    assert check_preview(parse_preview(preview.decode()), allowed).blocked == ()


@pytest.mark.parametrize("stack", FLEET_STACKS)
def test_berth_knows_every_kind_that_it_makes(stack: str) -> None:
    """Else its own rename of a resource would block."""
    run = [{**each, "op": "delete"} for each in run_of(stack, "again")]
    report = answer_to(digest(run, config_of(evaluation(stack).file)), stack)
    assert [each.name for each in report.losses if each.key.startswith("resources.")] == []


@pytest.mark.parametrize("stack", FLEET_STACKS)
def test_an_object_that_creates_everything_leaves_nothing_out(stack: str) -> None:
    run = digest(run_of(stack, "first"), config_of(evaluation(stack).file), show_sames=False)
    assert answer_to(run, stack).answer == Answer.SAFE


# --- mutations --------------------------------------------------------------------------------------------------------

MUTATIONS = 300


def mutate(value: Any, random_source: random.Random) -> str:
    """Change one thing of a preview in place, at any depth, and return what: a fuzzer that knows only JSON."""
    path: list[str] = []
    while True:
        items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        if not items:
            return f"nothing at {path}"
        key, inner = random_source.choice(items)
        path.append(str(key))
        if isinstance(inner, dict | list) and inner and random_source.random() < 0.8:
            value = inner
            continue
        match random_source.choice(["drop", "null", "swap", "text", "zero", "twice"]):
            case "drop" if isinstance(value, dict):
                del value[key]
            case "drop":
                value.pop(key)
            case "null":
                value[key] = None
            case "swap":
                other, _ = random_source.choice(items)
                value[key], value[other] = value[other], value[key]
            case "text":
                value[key] = "x"
            case "twice" if isinstance(value, list):
                value.insert(key, copy.deepcopy(inner))
            case _:
                value[key] = 0
        return " ".join(path)


def false_safe(case: str, form: str, seed: int) -> str | None:
    """Return the mutation after which a preview with a loss is called safe, None where there is none.

    A mutation of the value that is the loss itself makes another preview, which is judged as what it then says: only
    what a reader would still see as a loss, or as not whole, may not be safe.
    """
    preview = FORMS[form](BLOCKED[case](), CONFIG)
    what = mutate(preview, random.Random(seed))
    text = as_text(preview) if isinstance(preview, list) else json.dumps(preview).encode()  # faster without indents
    try:
        if answer_to(text).answer != Answer.SAFE:
            return None
    except PreviewFormatError:
        return None
    return None if _undoes_the_loss(FORMS[form](BLOCKED[case](), CONFIG), preview) else what


def _undoes_the_loss(before: Any, after: Any) -> bool:
    """Return whether nothing changed but an input of a state: the preview is then of other resources."""
    return _without_inputs(before) == _without_inputs(after)


def _without_inputs(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_inputs(each) for key, each in value.items() if key != "inputs" or not each}
    return [_without_inputs(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("form", FORMS)
def test_no_mutation_makes_a_loss_safe(form: str) -> None:
    """10,000 of them: `python -m tests.bench.guard_mutations`."""
    cases = list(BLOCKED)
    found = {
        (case, seed): false_safe(case, form, seed)
        for seed in range(MUTATIONS // 2)
        for case in [cases[seed % len(cases)]]
    }
    assert {key: what for key, what in found.items() if what} == {}
