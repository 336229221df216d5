"""New teams for an example with `teamDefaults`: they get its queues, with equal shares of what these guarantee."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec.structs import replace

from berth.cli.init.first_teams import TeamShare, cohort_lines, flavor_share, team_lines
from berth.diagnostics import FieldPath
from berth.evaluate import Evaluation
from berth.loader.team_defaults import KEY
from berth.rotate.yaml_editor import YamlEditor

COHORT = "all"
_QUEUES: FieldPath = (KEY, "queues")


def has_roles(evaluation: Evaluation) -> bool:
    """Return whether an example has queues in `teamDefaults`, and teams whose guarantees can be shared."""
    return evaluation.fleet_plan is not None and bool(evaluation.fleet_plan.teams) and bool(_entries(evaluation))


def with_team_roles(editor: YamlEditor, evaluation: Evaluation, teams: Sequence[str]) -> YamlEditor:
    """Return the example without its teams: its defaults guarantee what each of the new teams gets.

    Every new team is in one cohort, and shares every queue of `clusterQueues`.
    """
    shares = dict(_entry_shares(evaluation, len(teams)))
    for path, entry in _entries(evaluation).items():
        editor = _with_share(editor, path, entry, shares[path])
    editor = editor.set_value((KEY,), "cohort", COHORT)
    for name, queue in cast("Mapping[str, Any]", editor.value_at(("clusterQueues",)) or {}).items():
        editor = editor.set_value(("clusterQueues", name), "teams", f"[{', '.join(teams)}]")
        if queue.get("cohort") is not None:
            editor = editor.set_value(("clusterQueues", name), "cohort", COHORT)
    return editor


def roles_text(evaluation: Evaluation, teams: Sequence[str], kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the cohort and the teams as YAML text; `kept` are the teams' own keys."""
    lines = [*cohort_lines(role_shares(evaluation, len(teams))), *team_lines(teams, kept)]
    return "".join(f"{line}\n" for line in lines)


def role_shares(evaluation: Evaluation, teams: int) -> list[TeamShare]:
    """Return how the teams share each flavor of the defaults: the sum over the queues of a team."""
    shares: dict[str, TeamShare] = {}
    for _, share in _entry_shares(evaluation, teams):
        known = shares.get(share.flavor, replace(share, own=0, remainder=share.total))
        shares[share.flavor] = replace(known, own=known.own + share.own, remainder=known.remainder - share.own * teams)
    return list(shares.values())


def _with_share(editor: YamlEditor, path: FieldPath, entry: Mapping[str, Any], share: TeamShare) -> YamlEditor:
    is_shared = "borrow" in entry or share.own == 0 or share.remainder
    borrow = share.total - share.own if is_shared and entry.get("borrow") != "unlimited" else 0
    for key, units in (("guaranteed", share.own), ("borrow", borrow)):
        if units:
            editor = editor.set_value(path, key, share.amount(units))
        elif key in entry and entry[key] != "unlimited":
            editor = editor.remove((*path, key))
    return editor


def _entries(evaluation: Evaluation) -> dict[FieldPath, Mapping[str, Any]]:
    """Return the flavors of each queue of the defaults, by their path."""
    fleet = cast("Mapping[str, Any]", evaluation.loaded.written)
    defaults = cast("Mapping[str, Any]", fleet.get(KEY) or {})
    queues = cast("Mapping[str, Any]", defaults.get("queues") or {})
    return {
        (*_QUEUES, name, "flavors", index): entry
        for name, queue in queues.items()
        for index, entry in enumerate(queue.get("flavors") or ())
    }


def _entry_shares(evaluation: Evaluation, teams: int) -> Iterator[tuple[FieldPath, TeamShare]]:
    """Yield each entry with what one of the teams gets of it; `total` and `remainder` are those of the flavor."""
    plan = evaluation.fleet
    flavor_of_pool = {pool.name: pool.flavor for pool in plan.pools}
    names = {
        path: str(entry["flavor"]) if "flavor" in entry else flavor_of_pool[entry["pool"]]
        for path, entry in _entries(evaluation).items()
    }
    guaranteed = {path: _guaranteed(evaluation, path, flavor) for path, flavor in names.items()}
    for name in dict.fromkeys(names.values()):
        flavor = next(each for each in plan.flavors if each.name == name)
        whole = flavor_share(evaluation, flavor, teams)
        paths = [path for path, each in names.items() if each == name]
        owns = divided_units(whole.own, [guaranteed[path] for path in paths])
        yield from ((path, replace(whole, own=own)) for path, own in zip(paths, owns, strict=True))


def divided_units(units: int, weights: Sequence[int]) -> list[int]:
    """Return whole parts of a number of units in proportion to weights; what is left goes to the largest remainders."""
    total = sum(weights)
    if not total:
        return [0] * len(weights)
    parts = [units * weight // total for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda at: -(units * weights[at] % total))
    for at in by_remainder[: units - sum(parts)]:
        parts[at] += 1
    return parts


def _guaranteed(evaluation: Evaluation, path: FieldPath, flavor: str) -> int:
    """Return what the example's teams are guaranteed of a flavor by one queue of the defaults."""
    teams = cast("Mapping[str, Any]", cast("Mapping[str, Any]", evaluation.loaded.fleet)["teams"])
    names = {team["queues"][path[2]].get("name") or f"{name}-{path[2]}" for name, team in teams.items()}
    return sum(
        quota.counted.nominal
        for queue in evaluation.fleet.cluster_queues
        if queue.name in names
        for entry in queue.flavors
        if entry.flavor == flavor
        for quota in entry.quotas
        if quota.resource == next(each.resource for each in evaluation.fleet.flavors if each.name == flavor)
    )
