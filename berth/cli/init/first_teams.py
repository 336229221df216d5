"""The teams of a new stack file as YAML text: equal shares of the fleet, and what they keep of an example's teams.

They keep people, identity, secrets and limits, and not queues.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import yaml
from msgspec import Struct

from berth.backends.interface import fleet_backend_of
from berth.cli.init.example import ExampleStack
from berth.evaluate import Evaluation
from berth.loader.locate import EXAMPLES
from berth.plan.kueue import FlavorPlan
from berth.plan.teams import QueueingPlan
from berth.text import pluralize

_OF_QUEUES = {"cohort", "queues", "formerly"}
"""Keys of a team that follow from the quota tree, which new teams share."""


_RIGHTS = {"groups", "identity"}
"""Keys that a new team takes over from the one in its place in an example."""


def is_example(source: ExampleStack) -> bool:
    """Return whether a source is one of Berth's examples, whose names stand for a reader's own."""
    return source.display_path.startswith(f"{EXAMPLES}/")


def kept_entries(example: ExampleStack, teams: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return what each new team keeps of the team with its name, and in an example of the one in the same position.

    Teams of an example stand for those of a reader; a team of a stack with another name has rights of its own.
    """
    written = example.evaluation.loaded.written
    fleet = cast("Mapping[str, Any]", example.value_at() if written is None else written)
    entries = cast("Mapping[str, Mapping[str, Any]]", fleet.get("teams") or {})
    kept: dict[str, dict[str, Any]] = {}
    for at, team in enumerate(teams):
        old = team if team in entries else list(entries)[at] if is_example(example) and at < len(entries) else None
        if old is not None:
            keys = entries[old].keys() - _OF_QUEUES if old == team else _RIGHTS
            own = {key: value for key, value in entries[old].items() if key in keys}
            kept[team] = cast("dict[str, Any]", _renamed(own, old, team))
    return kept


def entry_lines(entry: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Yield the keys of an entry as YAML, one on a line."""
    for key, value in entry.items():
        text = yaml.safe_dump({key: value}, default_flow_style=None, sort_keys=False, width=10_000)
        yield from (f"{indent}{line}" for line in text.splitlines())


def _renamed(value: Any, old: str, new: str) -> Any:
    """Return a value with another team's name wherever the old one is a word of it."""
    if isinstance(value, str):
        return re.sub(rf"(?<![a-z0-9-]){re.escape(old)}(?![a-z0-9])|(?<=-){re.escape(old)}(?![a-z0-9])", new, value)
    if isinstance(value, Mapping):
        return {
            _renamed(key, old, new): _renamed(each, old, new) for key, each in cast("Mapping[str, Any]", value).items()
        }
    return [_renamed(each, old, new) for each in cast("list[Any]", value)] if isinstance(value, list) else value


class TeamShare(Struct, frozen=True):
    """How teams share a flavor, in units of `unit` accelerators: `own` each, `remainder` left.

    `word` is what the stack file calls a unit (slice, sub-block), None if it has the number of accelerators.
    """

    flavor: str
    entry: str
    own: int
    remainder: int
    total: int
    unit: int
    noun: str
    word: str | None
    takes_all: bool
    is_tpu: bool

    def amount(self, units: int) -> str:
        """Return a number of units as the stack file has it."""
        return pluralize(units, self.word) if self.word else str(units * self.unit)

    def amount_text(self, units: int) -> str:
        """Return a number of units for a sentence: `2 slices`, `8 L4`."""
        return self.amount(units) if self.word else f"{units * self.unit} {self.noun}"


def teams_text(evaluation: Evaluation, teams: Sequence[str], kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Return teams with equal shares of what a sound fleet guarantees now.

    Each team has a queue for TPUs and one for GPUs, where the fleet has them, and none without a quota tree. What
    cannot be shared equally is guaranteed to the cohort, and every team can borrow it (`remainder_notes`). `kept` are
    the other keys of teams.
    """
    return "".join(f"{line}\n" for line in _lines(evaluation, teams, kept))


def remainder_notes(
    evaluation: Evaluation, teams: Sequence[str], shares: Sequence[TeamShare] | None = None
) -> list[str]:
    """Return a sentence for each flavor that the teams cannot share equally in whole slices or nodes."""
    backend = fleet_backend_of(evaluation)
    if not teams or backend is None:
        return []
    all_shares = _shares(evaluation, len(teams)) if shares is None else shares
    return [_remainder_note(share, len(teams), backend.cohort_quota) for share in all_shares if share.remainder]


def _remainder_note(share: TeamShare, teams: int, cohort_quota: bool) -> str:
    head = f"{share.flavor}: {teams} teams cannot share {share.amount_text(share.total)} equally"
    if not cohort_quota:
        first = "the first team is" if share.remainder == 1 else f"the first {share.remainder} teams are"
        return f"{head}, so {first} guaranteed {share.amount_text(1)} more than the others"
    guaranteed = share.amount_text(share.own) if share.own else "nothing"
    rest = f"the {'remaining ' if share.own else ''}{share.amount_text(share.remainder).removeprefix('1 ')}"
    return f"{head}, so each is guaranteed {guaranteed}; every team can borrow {rest} from the cohort 'all'"


def _lines(evaluation: Evaluation, teams: Sequence[str], kept: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    backend = fleet_backend_of(evaluation)
    assert backend is not None
    if not cast("QueueingPlan", evaluation.plan).cluster_queues:
        yield from team_lines(teams, kept)  # no quotas to share
        return
    shares = _shares(evaluation, len(teams))
    kinds = {"tpu": [s for s in shares if s.is_tpu], "gpu": [s for s in shares if not s.is_tpu]}
    queues = {kind: kind_shares for kind, kind_shares in kinds.items() if kind_shares}
    if len(teams) > 1:
        yield from cohort_lines(shares if backend.cohort_quota else [])
    yield "teams:"
    for index, team in enumerate(teams):
        yield f"  {team}:"
        yield from entry_lines(kept.get(team, {}), "    ")
        if backend.team_groups and "groups" not in kept.get(team, {}):
            yield f"    # groups: [{team}@example.com]         # a Google Group of its people"
        if len(teams) > 1:
            yield "    cohort: all"
        yield "    queues:"
        for kind, kind_shares in queues.items():
            yield f"      {kind if len(queues) > 1 else 'train'}:"
            yield from _flavor_lines(
                [_entry(evaluation, share, index, len(teams)) for share in kind_shares], "        "
            )


def team_lines(teams: Sequence[str], kept: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield teams without queues of their own, with the keys that they keep."""
    yield "teams:"
    for team in teams:
        entry = kept.get(team) or {}
        yield f"  {team}:" if entry else f"  {team}: {{}}"
        yield from entry_lines(entry, "    ")


def cohort_lines(shares: Sequence[TeamShare]) -> Iterator[str]:
    """Yield the cohort of all teams, which is guaranteed what they cannot share equally."""
    rest = [share for share in shares if share.remainder]
    yield "cohorts:"
    if not rest:
        yield "  all: {}                              # teams borrow each other's idle quota"
    else:
        yield "  all:                                 # teams borrow each other's idle quota"
        yield "    # The teams cannot share this equally: what no team is guaranteed, every team can borrow."
        yield from _flavor_lines([f"{{{s.entry}, guaranteed: {s.amount(s.total)}}}" for s in rest], "    ")
    yield ""


def _flavor_lines(entries: Sequence[str], indent: str) -> Iterator[str]:
    if len(entries) == 1:
        yield f"{indent}flavors: [{entries[0]}]"
        return
    yield f"{indent}flavors:                       # a list: the order is the preference"
    yield from (f"{indent}  - {entry}" for entry in entries)


def _shares(evaluation: Evaluation, teams: int) -> list[TeamShare]:
    return [flavor_share(evaluation, flavor, teams) for flavor in _flavors_in_file_order(evaluation)]


def flavor_share(evaluation: Evaluation, flavor: FlavorPlan, teams: int) -> TeamShare:
    """Return how teams share what a flavor guarantees, in whole slices or nodes."""
    backend = fleet_backend_of(evaluation)
    assert backend is not None
    unit, word = backend.share_unit(evaluation.plan, flavor, _shareable(flavor))
    total = _shareable(flavor) // unit
    is_pool = evaluation.fleet_plan is not None and flavor.pools == (flavor.name,)
    return TeamShare(
        flavor=flavor.name,
        entry=f"{'pool' if is_pool else 'flavor'}: {flavor.name}",
        own=total // teams,
        remainder=total % teams,
        total=total,
        unit=unit,
        noun=flavor.noun,
        word=word,
        takes_all=_shareable(flavor) == flavor.shared,
        is_tpu=flavor.resource == "google.com/tpu",
    )


def _flavors_in_file_order(evaluation: Evaluation) -> list[FlavorPlan]:
    """Return the flavors with a guarantee, in the order of their pools in the file."""
    fleet = cast("Mapping[str, Any]", evaluation.loaded.fleet)
    sections = [fleet, *cast("Mapping[str, Any]", fleet.get("workers") or {}).values()]
    pools = [pool for part in sections for pool in cast("Mapping[str, object]", part.get("pools") or {})]
    order = {pool: index for index, pool in reversed([*enumerate(pools)])}

    def file_position(flavor: FlavorPlan) -> int:
        return min((order.get(pool.rpartition("/")[2], 0) for pool in flavor.pools), default=0)

    return sorted(
        (flavor for flavor in cast("QueueingPlan", evaluation.plan).flavors if _shareable(flavor)), key=file_position
    )


def _shareable(flavor: FlavorPlan) -> int:
    """Return the example's guarantees of a flavor, at most its capacity; more could exceed the example's own limits."""
    return min(flavor.promised, flavor.capacity.max)


def _entry(evaluation: Evaluation, share: TeamShare, index: int, teams: int) -> str:
    """Return a team's entry of a flavor: its guarantee, and the rest of the fleet as what it can borrow.

    Where no cohort can have a quota, the first teams get what is left over.
    """
    if teams == 1 and share.takes_all:
        return f"{{{share.entry}, guaranteed: all}}"
    backend = fleet_backend_of(evaluation)
    own = share.own + (backend is not None and not backend.cohort_quota and index < share.remainder)
    amounts = {"guaranteed": own, "borrow": share.total - own}
    return f"{{{', '.join([share.entry, *(f'{key}: {share.amount(n)}' for key, n in amounts.items() if n)])}}}"
