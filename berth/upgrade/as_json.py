"""An upgrade as JSON values (docs/upgrade.md)."""

from __future__ import annotations

from typing import Any

from berth.upgrade.document import upgrade_headline
from berth.upgrade.findings import Upgrade, UpgradeAction
from berth.upgrade.gate_turns import GateTurn
from berth.upgrade.restarts import Restart
from berth.upgrade.steps import steps_of
from berth.versions.fields import CrdChange
from berth.versions.standing import standing

VERSION = 1
"""Version of the JSON; increased when a key changes its meaning or is removed."""


def upgrade_as_json(upgrade: Upgrade) -> dict[str, Any]:
    """Return the upgrade as JSON values (docs/upgrade.md)."""
    return {
        "version": VERSION,
        "stack": upgrade.stack,
        "headline": upgrade_headline(upgrade),
        "breaks": upgrade.breaks,
        "moves": [
            {
                "component": move.key,
                "worker": move.worker or None,
                "before": move.before,
                "after": move.after,
                "downgrade": move.is_downgrade,
                "unknown": list(move.unknown),
                "standing": None if move.key == "gke" else standing(move.key, move.after),
            }
            for move in upgrade.moves
        ],
        "actions": [_finding_as_json(each) for each in upgrade.findings],
        "gates": [_turn_as_json(each) for each in upgrade.turns],
        "fields": [_field_as_json(each) for each in upgrade.fields],
        "holes": [
            {
                "name": each.name,
                "says": each.says,
                "becomes": each.becomes,
                "usable": each.usable,
                "why": each.why,
                "fixedIn": each.fixed_in or None,
            }
            for each in upgrade.holes
        ],
        "builtWith": [
            {
                "component": each.key,
                "before": each.before,
                "after": each.after,
                "gates": [_turn_as_json(turn) for turn in each.turns],
                "fields": [_field_as_json(change) for change in each.fields],
            }
            for each in upgrade.companions
        ],
        "restarts": [_restart_as_json(each) for each in upgrade.restarts],
        "faults": [each.as_json() for each in upgrade.faults],
        "earlierFaults": [each.as_json() for each in upgrade.earlier],
        "warnings": [each.as_json() for each in upgrade.warnings],
        "unknown": list(upgrade.unlisted),
        "steps": [{"says": step.says, "commands": list(step.commands)} for step in steps_of(upgrade)],
        "read": {"source": upgrade.source, "objects": upgrade.objects, "others": upgrade.others}
        if upgrade.source
        else None,
    }


def _restart_as_json(restart: Restart) -> dict[str, Any]:
    return {
        "pool": restart.pool,
        "when": restart.when,
        "how": restart.how,
        "nodes": restart.nodes,
        "away": restart.away,
        "total": restart.total,
        "guaranteed": restart.guaranteed,
    }


def _turn_as_json(turn: GateTurn) -> dict[str, Any]:
    return {"gate": turn.gate, "before": turn.before, "after": turn.after}


def _field_as_json(change: CrdChange) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "fact": change.fact,
        "path": change.path,
        "before": change.before,
        "after": change.after,
    }


def _finding_as_json(finding: UpgradeAction) -> dict[str, Any]:
    return {
        "component": finding.key,
        "name": finding.name,
        "source": finding.source,
        "says": finding.says,
        "required": finding.is_required,
        "verdict": finding.verdict,
        "why": finding.why,
        "do": finding.do or None,
        "when": finding.when,
        "breaks": finding.breaks,
        "objects": list(finding.objects),
        "clusters": list(finding.clusters),
    }
