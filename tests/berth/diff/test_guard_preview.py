"""The guard on previews of the real engine, recorded on the dev stack and trimmed to what is read of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from berth.backends.interface import check_preview
from berth.cli import app
from berth.diff.guard import text as guard_text
from berth.diff.guard.preview import Answer
from berth.diff.guard.preview_file import parse_preview, read_preview
from berth.diff.guard.preview_steps import EnginePreview, PreviewFormatError, refusing_odd_shapes
from berth.engine import RecordedResource, run_program
from berth.resource import ResourceKind
from berth.yaml_loader import LOADER
from tests.berth.diff.edits.edited import ACK, TEAM
from tests.small_fleets import plan
from tests.stack_files import GKE_STACKS, ROOT, fleet_values
from tests.stack_files import plan as plan_of

RECORDED = Path(__file__).parent / "previews"
ALLOWED = {
    "v5e": "larger slices",
    "reservations.l4": "moves",
    "l4-reserved": "moves",
}


def recorded(name: str) -> Any:
    """Return a preview as it was recorded."""
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


def read_recorded(name: str) -> EnginePreview:
    """The same, read."""
    return read_preview(recorded(name))


def descriptions(name: str, allowances: Mapping[str, str] | None = None) -> tuple[list[str], list[str]]:
    """Return what is blocked and what is allowed in a recorded preview, if the stack file allows these replacements."""
    judged = check_preview(
        read_recorded(name), plan({**fleet_values("dev"), "allowReplacement": allowances or {}}, "dev")
    )
    guarded = [guard_text.describe_guarded_change(loss) for loss in judged.blocked]
    return guarded, [guard_text.describe_guarded_change(loss) for loss in judged.losses if loss.allowed]


WHY = "because name, nodeConfig and placementPolicy change"
V5E = f"pool v5e would be replaced (node pools v5e-{{}}), {WHY}"


@pytest.mark.parametrize(
    ("preview", "allowances", "guarded", "allowed"),
    [
        ("nothing", {}, [], []),
        ("quota-lowered", {}, [], []),
        ("topology-changed", {}, [V5E.format("2x4-1, v5e-2x4-3 and v5e-2x4-2")], []),
        ("topology-changed-and-allowed", ALLOWED, [], [V5E.format("2x4-2, v5e-2x4-1 and v5e-2x4-3")]),
        ("machine-changed", {}, ["pool l4-on-demand would be replaced, because nodeConfig changes"], []),
        ("reservation-moved", {}, ["pool l4-reserved would be replaced", "reservation l4 would be replaced"], []),
        ("reservation-moved-and-allowed-at-once", ALLOWED, ["pool l4-reserved would be replaced"], []),
        ("cluster-renamed-and-unprotected-at-once", {}, ["pool v5e would be replaced"], []),
        (
            "pool-and-queue-taken-out",
            {},
            [
                "queue language-batch would be deleted, and its guarantee of l4-spot would be lost",
                "pool l4-spot would lose its node pool l4-spot",
            ],
            [],
        ),
        (
            "pool-and-queue-taken-out-and-allowed",
            {},
            [],
            [
                "queue language-batch would be deleted, and its guarantee of l4-spot would be lost",
                "pool l4-spot would lose its node pool l4-spot",
            ],
        ),
    ],
)
def test_a_recorded_preview_gives_the_engines_decision(
    preview: str, allowances: Mapping[str, str], guarded: list[str], allowed: list[str]
) -> None:
    assert descriptions(preview, allowances) == (guarded, allowed)


def test_a_dependent_deletion_needs_its_own_allowance() -> None:
    """The engine allowed the reservation, and refused the pool that depends on its name."""
    (loss,) = check_preview(
        read_recorded("reservation-moved-and-allowed-at-once"), plan(fleet_values("dev"), "dev")
    ).blocked
    assert guard_text.describe_remedy(loss).startswith(
        "to allow it, first deploy a change that adds allowReplacement: {l4-reserved:"
    )


def test_a_preview_that_failed_for_another_reason_says_so() -> None:
    judged = check_preview(read_recorded("refused-by-berth"), plan(fleet_values("dev"), "dev"))
    assert not judged.losses
    assert "stack 'dev' is refused" in judged.errors[0]


@pytest.mark.parametrize(
    ("before", "after", "guarded"),
    [
        (["a"], ["b"], ["pool l4-on-demand would be replaced"]),
        (["a"], ["a", "b"], []),
        (["a", "b"], ["b", "a"], []),
        (["a"], None, []),
    ],
)
def test_a_pool_that_moves_to_other_zones_in_place_loses_all_its_nodes(
    before: list[str], after: list[str] | None, guarded: list[str]
) -> None:
    """The provider calls it an update."""
    urn = "urn:pulumi:dev::berth::berth:gke:NodePool$gcp:container/nodePool:NodePool::l4-on-demand-pool"
    states = {"oldState": {"inputs": {"nodeLocations": before}}, "newState": {"inputs": {"nodeLocations": after}}}
    report = check_preview(
        read_preview({"steps": [{"op": "update", "urn": urn, **states}]}), plan(fleet_values("dev"), "dev")
    )
    assert [guard_text.describe_guarded_change(loss) for loss in report.blocked] == guarded


@pytest.mark.parametrize(
    ("after", "blocked", "allowed"),
    [
        ({"nodeCount": 1}, ["nodes 2 → 1", "v5e keeps 20 of 24 guaranteed"], None),
        ({"nodeCount": 0}, ["nodes 2 → 0", "v5e keeps 16 of 24 guaranteed"], None),
        ({"nodeCount": 3}, None, None),
        ({"autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 2}}, None, "enough is left"),
        ({"autoscaling": {"totalMinNodeCount": 2, "totalMaxNodeCount": 2}}, None, None),
    ],
)
def test_nodes_of_a_fixed_pool_are_lost_if_less_is_left_than_is_guaranteed(
    after: Mapping[str, object], blocked: list[str] | None, allowed: str | None
) -> None:
    """One slice of three, whose nodes the 24 guaranteed chips need; a range keeps its greatest number."""
    urn = "urn:pulumi:dev::berth::berth:gke:NodePool$gcp:container/nodePool:NodePool::v5e-1-pool"
    states = {"oldState": {"inputs": {"nodeCount": 2}}, "newState": {"inputs": after}}
    report = check_preview(
        read_preview({"steps": [{"op": "update", "urn": urn, **states}]}), plan(fleet_values("dev"), "dev")
    )
    assert [list(loss.parts) for loss in report.blocked] == ([] if blocked is None else [blocked])
    reasons = [loss.allowed for loss in report.losses if loss.allowed is not None]
    assert [reason.startswith(allowed or "") for reason in reasons] == ([] if allowed is None else [True])


@pytest.mark.parametrize("error", [AttributeError, KeyError, TypeError, ValueError])
def test_a_value_of_another_type_is_no_preview_wherever_it_is_found(error: type[Exception]) -> None:
    told = f"a value in it is of another type .{error.__name__}: "
    with pytest.raises(PreviewFormatError, match=told), refusing_odd_shapes():
        raise error("a\nb")


def test_bytes_that_are_not_utf_8_are_no_preview() -> None:
    with pytest.raises(PreviewFormatError, match="it is not UTF-8"), refusing_odd_shapes():
        b"\xff".decode()


SHAPELESS = [
    '{"steps": [{"op": "obliterate", "urn": "u"}]}',
    '{"steps": []}',
    '{"diagnostics": []}',
    '{"steps": [{"op": "same", "urn": "u"}]} {"steps": [{"op": "delete", "urn": "v"}]}',
    '{"resourcePlans": {}, "steps": null}',
    '{"sequence":0,"preludeEvent":{"config":{}}}',
    '{"sequence":0,"resourcePreEvent":{}}\n{"sequence":1,"summaryEvent":{"resourceChanges":{"same":1}}}',
    '{"steps": "none"}',
    '{"steps": [{"op": 3, "urn": "u"}]}',
    '{"steps": [{"op": "same"}]}',
]


@pytest.mark.parametrize("text", ["", "no json", "[]", '{"a": 1}', *SHAPELESS, '{"diagnostics": ["failed"]}'])
def test_a_file_that_is_not_a_preview_is_reported(text: str) -> None:
    """And never taken for one in which nothing is lost."""
    with pytest.raises(PreviewFormatError) as found:
        parse_preview(text)
    line = found.value.line("preview.json", "prod")
    assert line.startswith("preview.json: ")
    assert (
        line.endswith("; write it with `pulumi preview --stack prod --json > preview.json`") != found.value.is_unknown
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xfe{\x00", "it is not UTF-8"),
        (b"stack: dev", "it is not JSON"),
        (b'{"name": "plan"}', "it must be an object with steps"),
        (b"", "it is empty"),
    ],
)
def test_the_fault_names_the_file_and_the_command_that_writes_it(content: bytes, reason: str, tmp_path: Path) -> None:
    file, stack = tmp_path / "preview.json", GKE_STACKS["dev"]
    file.write_bytes(content)
    result = CliRunner().invoke(app, ["guard", str(stack), str(file)])
    assert (result.exit_code, result.stdout) == (1, "")
    wanted = f"not the output of `pulumi preview --json`: {reason}; write it with `pulumi preview --stack dev --json"
    assert result.stderr == f"{file}: {wanted} > {file}`\n"
    result = CliRunner().invoke(app, ["guard", str(stack), "-"], input=content)
    assert result.stderr == f"stdin: {wanted}`\n"


def test_an_unknown_operation_of_a_newer_engine_is_not_repeated() -> None:
    with pytest.raises(PreviewFormatError) as found:
        parse_preview('{"steps": [{"op": "obliterate", "urn": "u"}]}')
    assert found.value.line("p.json", "prod") == (
        "p.json: this preview cannot be checked: this version of Berth does not know the operation 'obliterate'"
    )


def test_a_queue_known_only_from_a_refusal_gets_a_full_sentence() -> None:
    urn = "urn:pulumi:dev::berth::kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue::a-b-cluster-queue"
    refusal = f'resource "{urn}" cannot be deleted'
    (loss,) = check_preview(
        read_preview({"steps": [], "diagnostics": [{"severity": "error", "message": refusal}]}), plan_of("dev")
    ).blocked
    assert guard_text.describe_guarded_change(loss) == "queue a-b would be deleted, and its guarantee would be lost"


@pytest.mark.parametrize(
    ("preview", "status"),
    [("nothing", 3), ("topology-changed", 3), ("pool-and-queue-taken-out-and-allowed", 3), ("refused-by-berth", 3)],
)
def test_the_exit_status_matches_the_problems(preview: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a trimmed recording may not be a whole run: `answers` has whole ones."""
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, ["guard", str(GKE_STACKS["dev"]), "-"], input=json.dumps(recorded(preview)))
    assert result.exit_code == status
    as_json = CliRunner().invoke(app, ["guard", "dev", "-", "--json"], input=json.dumps(recorded(preview)))
    assert as_json.exit_code == status
    blocked = preview == "topology-changed"
    assert bool(json.loads(as_json.stdout)["guarded"]) == blocked
    assert json.loads(as_json.stdout)["answer"] == ("blocked" if blocked else "unknown")


# --- the engine of this year ------------------------------------------------------------------------------------------

L4_2 = {
    **fleet_values("dev"),
    "pools": {
        **fleet_values("dev")["pools"],
        "l4": {"machineType": "g2-standard-24", "nodes": 1, "zone": "us-central1-a"},
    },
}
"""The fleet after the pool l4-2 was taken out: a pool l4 is in it still."""


@pytest.mark.parametrize("form", ["", "-events"])
@pytest.mark.parametrize("protected", ["", "-protected"])
def test_previews_of_the_current_engine_are_read_in_both_forms(form: str, protected: str) -> None:
    """Recorded on 3.260 with Google's provider: the pool l4 is replaced, and the pool l4-2 deleted."""
    text = (RECORDED / f"l4-2-taken-out{protected}{form}.json").read_text(encoding="utf-8")
    judged = check_preview(parse_preview(text), plan(L4_2, "dev"))
    assert [(loss.name, loss.action) for loss in judged.losses] == [("l4", "replace"), ("l4-2", "delete")]
    assert [loss.name for loss in judged.blocked] == (["l4", "l4-2"] if protected else ["l4"])
    assert judged.errors == ()


def test_a_refused_deletion_without_a_step_names_only_the_pool() -> None:
    preview = json.loads((RECORDED / "l4-2-taken-out-protected.json").read_text(encoding="utf-8"))
    judged = check_preview(read_preview({**preview, "steps": []}), plan(L4_2, "dev"))
    assert [(loss.key, loss.action) for loss in judged.blocked] == [("l4", "replace"), ("l4-2", "delete")]
    assert 'allowDeletion: {l4-2: "<why>"}' in guard_text.describe_remedy(judged.blocked[1])


def test_a_stream_whose_program_failed_is_an_error() -> None:
    """The engine writes what the program printed, and that it failed, and no error."""
    events = [
        {"diagnosticEvent": {"severity": "info#err", "message": "Error: no such type"}},
        {"summaryEvent": {"result": "failed", "resourceChanges": {"same": 1}}},
    ]
    judged = check_preview(parse_preview("\n".join(map(json.dumps, events))), plan_of("dev"))
    assert (judged.errors, judged.answer) == (("Error: no such type",), Answer.UNKNOWN)


# --- other stacks -----------------------------------------------------------------------------------------------------


@cache
def registered(edit: str | None) -> Mapping[str, RecordedResource]:
    """What the real program registers for the fleet on Alibaba Cloud, by URN."""
    config = yaml.load((ACK.edited(edit) if edit else ACK.files)["Pulumi.hz.yaml"], LOADER)["config"]
    return {
        each.urn: each for each in run_program(ROOT, "hz", config.pop("berth:fleet"), config, preview=False).resources
    }


def preview_of(edit: str, *replaced: str) -> dict[str, Any]:
    """Return a preview with deletions and changes; `replaced` are suffixes of the types that are replaced.

    No preview of Alibaba Cloud's provider could be recorded; inputs and protection are those of the program.
    """
    before, after = registered(None), registered(edit)
    steps: list[dict[str, Any]] = []
    for urn, old in before.items():
        state = {"inputs": old.inputs, "protect": old.protect}
        if urn not in after:
            steps.append({"op": "delete", "urn": urn, "oldState": state})
        elif after[urn].inputs != old.inputs:
            new = {"inputs": after[urn].inputs, "protect": after[urn].protect}
            op = "replace" if old.type.endswith(replaced) else "update"
            steps.append({"op": op, "urn": urn, "oldState": state, "newState": new})
    return {"steps": steps}


@pytest.mark.parametrize(
    ("edit", "replaced", "descriptions"),
    [
        ("quota-moved", (), []),
        ("pool-renamed", (), ["pool east/a100 would be deleted"]),
        ("pod-range-changed", (":ManagedKubernetes",), ["cluster east would be replaced"]),
        ("fleet-moved-to-another-vpc", ("ackone/cluster:Cluster",), ["ACK One fleet would be replaced"]),
        (
            "member-taken-over",
            (),
            ["cluster east would be deleted", "pool east/a100 would lose its node pool east/a100"],
        ),
        (
            "team-taken-out",
            (),
            ["queue search-rank would be deleted, and its guarantee of nvidia.com/gpu would be lost"],
        ),
        ("team-taken-out-and-allowed", (), []),
        (
            "quota-tree-removed",
            (),
            ["queue vision-train would be deleted, and its guarantee of nvidia.com/gpu would be lost"],
        ),
        ("pod-range-changed-and-allowed-at-once", (":ManagedKubernetes",), []),
    ],
)
def test_a_preview_of_an_ack_fleet_is_blocked_in_the_words_of_diff(
    edit: str, replaced: tuple[str, ...], descriptions: list[str]
) -> None:
    judged = check_preview(read_preview(preview_of(edit, *replaced)), ACK.plan(edit))
    blocked = [loss for loss in judged.blocked if loss.kind != ResourceKind.OBJECT]
    assert [guard_text.describe_guarded_change(loss) for loss in blocked] == descriptions
    assert judged.errors == ()
    if not replaced:
        assert descriptions == [
            guard_text.describe_guarded_change(loss).replace("of a100", "of nvidia.com/gpu")
            for loss in ACK.changes(edit).blocked
            if loss.kind != ResourceKind.OBJECT
        ]
    objects = [guard_text.describe_guarded_change(loss) for loss in judged.blocked if loss.kind == ResourceKind.OBJECT]
    gone = "Namespace search would be deleted, with every job, volume and secret in it"
    assert objects == ([gone] if edit == "team-taken-out" else [])


def test_nothing_of_a_teams_own_stack_is_guarded_and_a_failed_preview_says_why() -> None:
    steps = [{"op": "delete", "urn": "urn:pulumi:mine::berth::kubernetes:batch/v1:Job::trainer-job", "oldState": {}}]
    judged = check_preview(read_preview({"steps": steps}), TEAM.plan())
    assert (judged.losses, judged.errors) == ((), ())
    assert [(each.kind, each.name) for each in judged.others] == [("Job", "trainer-job")]
    by_hand = 'resource "urn:pulumi:mine::berth::kubernetes:batch/v1:Job::trainer-job" cannot be deleted'
    report = check_preview(
        read_preview({"steps": steps, "diagnostics": [{"severity": "error", "message": by_hand}]}), TEAM.plan()
    )
    assert (report.losses, report.errors) == ((), (by_hand,))


@pytest.mark.parametrize("form", ["topology-changed-3.190", "topology-changed-3.190-events"])
def test_previews_of_older_engines_are_read_in_both_forms(form: str) -> None:
    """Recorded with Pulumi 3.190 (August 2025), of slices that are protected: an object, and a stream of events."""
    text = (RECORDED / f"{form}.json").read_text(encoding="utf-8")
    report = check_preview(parse_preview(text), plan(fleet_values("dev"), "dev"))
    (loss,) = report.blocked
    assert (loss.kind, loss.name, sorted(loss.parts)) == ("pool", "v5e", ["v5e-2x4-1", "v5e-2x4-2", "v5e-2x4-3"])
