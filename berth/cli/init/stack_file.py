"""`berth init`: a stack file of one's own, from an example: its machines and its comments, other names and teams."""

from __future__ import annotations

import pathlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any, cast, get_args

import yaml
from msgspec import Struct

from berth.cli.init.first_teams import teams_text
from berth.diagnostics import shown
from berth.evaluate import Verdict, of_stack
from berth.loader.locate import EXAMPLES, locate
from berth.rotate.yaml_editor import NotEdited, Sheet
from berth.spec.ack import AlibabaRegion
from berth.spec.base import DnsLabel, ProjectId, Region, Text, Words, Zone
from berth.spec.cluster import ClusterName

Answers = Mapping[str, tuple[str, ...]]
"""What was said, by the flag that says it."""

BERTH = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = "docs/stack.schema.json"


class NoExample(Exception):
    """Nothing to start from, in one line a fault."""


class Setting(Struct, frozen=True, dict=True):
    """Something that may be said: its flag, its type in the stack file, and how a person is asked for it.

    `path` is where it is written, of what is one value alone. `most` is how often it may be said. Where it need not be
    said, the example's own value stays.
    """

    flag: str
    kind: object
    question: str
    path: tuple[str, ...] = ()
    needed: bool = False
    most: int = 1

    def refusals(self, values: Sequence[str]) -> list[str]:
        """Everything that is wrong with what was said, in the words in which the stack file's reader says it."""
        found = [f"said {len(values)} times, and there is room for {self.most}"] if len(values) > self.most else []
        found += [said for value in values if (said := _refusal(self.kind, value))]
        twice = {value for at, value in enumerate(values) if value in values[:at]}
        return [*found, *(f"'{shown(value)}' is named twice" for value in sorted(twice))]


class Example(Struct, frozen=True, dict=True):
    """A sound stack to start from: as a person would type it, as it is written, and what is said of it."""

    shown: str
    text: str
    verdict: Verdict

    def value(self, *path: str) -> Any:
        """What is written at a path; None where nothing is."""
        assert self.verdict.file is not None
        found: Any = self.verdict.file.fleet
        for key in path:
            found = cast("Mapping[str, Any]", found).get(key) if isinstance(found, Mapping) else None
        return found

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of its region that it names, in the order in which it does."""
        named = rf"(?<![\w-]){self.value('region')}-(?:[a-z]|ai[0-9]+[a-z])(?![\w-])"
        return tuple(dict.fromkeys(re.findall(named, self.text)))


def example(name: str, root: pathlib.Path) -> Example:
    """The example, stack or file that somebody means. Raises NoExample where there is none, or one with faults."""
    file = next((f for f in (folder / EXAMPLES / f"{name}.yaml" for folder in (root, BERTH)) if f.is_file()), None)
    verdict = of_stack(str(file or name), root)
    if verdict.file is None or verdict.file.file is None or verdict.faults:
        raise NoExample("\n".join(problem.line() for problem in verdict.faults))
    called = f"{EXAMPLES}/{name}.yaml" if file else locate(name, root).shown
    text = re.sub(_KEYS, "", verdict.file.file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if any(_encrypted(value) for value in verdict.file.config.values()):
        raise NoExample(f"{called}: values are encrypted there, for that stack alone; take another, or leave them out")
    return Example(called, text, verdict)


_KEYS = r"^(encryptionsalt|encryptedkey|secretsprovider):.*\n?"
"""What a stack file keeps of its own stack's encryption."""


def _encrypted(value: object) -> bool:
    return isinstance(value, Mapping) and "secure" in value


# --- what may be said -------------------------------------------------------------------------------------------------


def settings(start: Example, answers: Answers) -> tuple[Setting, ...]:
    """What may be said for an example, in the order of asking; a zone must be where the region is another one."""
    teams = Setting("team", DnsLabel, "Teams, by spaces (the example's)", most=100)
    if start.verdict.of_team:
        return (
            Setting("platform", Words, f"Stack of the platform ({start.value('platform')})", ("platform",)),
            Setting("team", DnsLabel, f"Team ({start.value('team')})", ("team",)),
        )
    if start.verdict.ack is not None:
        return (Setting("region", AlibabaRegion, "Region of Alibaba Cloud", ("ack", "region"), needed=True), teams)
    if start.value("cluster", "existing") is not None:
        path = ("cluster", "existing", "context")
        return (Setting("context", Words, f"Context ({start.value(*path) or 'the current one'})", path), teams)
    moved = answers.get("region") != (start.value("region"),)
    zones = start.zones
    question = f"Zones, by spaces, in place of {' '.join(zones)}" if moved else f"Zones, by spaces ({' '.join(zones)})"
    return (
        Setting("project", ProjectId, "Project of Google Cloud", ("project",), needed=True),
        Setting("region", Region, "Region", ("region",), needed=True),
        *([Setting("zone", Zone, question, needed=moved, most=len(zones))] if zones else []),
        teams,
    )


def left_out(start: Example, answers: Answers) -> list[str]:
    """The flags that must be there and are not."""
    return [f"--{each.flag}" for each in settings(start, answers) if each.needed and each.flag not in answers]


def refusals_of_name(name: str) -> list[str]:
    """What is wrong with a stack's name, which its cluster has too where nothing else is said."""
    return [f"NAME: {said}"] if (said := _refusal(ClusterName, name)) else []


def refusals(name: str, start: Example, answers: Answers) -> list[str]:
    """Everything that is wrong with what was said."""
    known = {each.flag: each for each in settings(start, answers)}
    found = refusals_of_name(name)
    for flag, values in answers.items():
        wrong = known[flag].refusals(values) if flag in known else [f"{start.shown} has no place for it"]
        found += [f"--{flag}: {said}" for said in wrong]
    return found


def _refusal(kind: object, value: str) -> str | None:
    rule = next((each for each in get_args(kind) if isinstance(each, Text)), None)
    if rule is None:
        return None if value.strip() else "is empty"
    return None if rule.pattern.fullmatch(value) else f"'{shown(value)}' is not {rule.what}"


# --- the file ---------------------------------------------------------------------------------------------------------


def written(name: str, start: Example, answers: Answers, root: pathlib.Path) -> str:
    """The text of the stack file. Raises NoExample where the example is written so that it cannot be edited."""
    try:
        return _written(name, start, answers, root)
    except NotEdited:
        message = "is not written so that one value can be edited at a time; copy it, and edit the copy"
        raise NoExample(f"{start.shown} {message}") from None


def _written(name: str, start: Example, answers: Answers, root: pathlib.Path) -> str:
    file = f"Pulumi.{name}.yaml"
    sheet = Sheet(name, file, {file: _moved(start, answers.get("zone", ()))})
    for each in settings(start, answers):
        if each.path and each.flag in answers:
            sheet = sheet.put(each.path[:-1], each.path[-1], _scalar(answers[each.flag][0]))
    if sheet.value(("cluster", "name")) is not None:
        sheet = sheet.put(("cluster",), "name", name)
    teams = () if start.verdict.of_team else answers.get("team", ())
    head, body = _halves((_without_teams(sheet) if teams else sheet).texts[file])
    if teams:
        head = f"# From {start.shown}, with teams of its own.\n"
        body = f"{body.rstrip()}\n\n{indent(teams_text(start.verdict, teams), _indentation(body))}"
        there = cast("Mapping[str, object]", Sheet(name, file, {file: body}).value(("teams",)) or {})
        if tuple(there) != tuple(teams):
            raise NoExample(f"{start.shown}: something stands after its fleet, where teams would; move it up")
    schema = f"# yaml-language-server: $schema={SCHEMA}\n" if (root / SCHEMA).is_file() else ""
    return schema + head + re.sub(r"\n{3,}", "\n\n", body)


def judged(text: str, name: str, root: pathlib.Path) -> Verdict:
    """What is to be said of a stack file that is not written yet."""
    with tempfile.TemporaryDirectory(prefix="berth-") as folder:
        file = pathlib.Path(folder) / f"Pulumi.{name}.yaml"
        file.write_text(text, encoding="utf-8")
        return of_stack(str(file), root, name)


def _moved(start: Example, zones: Sequence[str]) -> str:
    """The example's text with other zones, comments and all; the last one stands for all that are left."""
    if not zones:
        return start.text
    new = {old: zones[min(at, len(zones) - 1)] for at, old in enumerate(start.zones)}
    text = re.sub(rf"(?<![\w-])({'|'.join(new)})(?![\w-])", lambda found: new[found[1]], start.text)
    return re.sub(r"(zones: \[)([^\]]*)\]", lambda found: f"{found[1]}{_each_once(found[2])}]", text)


def _each_once(items: str) -> str:
    return ", ".join(dict.fromkeys(re.split(r",\s*", items)))


def _scalar(value: str) -> str:
    """A text as YAML that is read as that text."""
    return yaml.safe_dump(value, width=10_000).splitlines()[0]


def _halves(text: str) -> tuple[str, str]:
    """The comments that a file begins with, but for the editor's line, and the rest."""
    head, body = re.split(r"^(?=[^#])", text, maxsplit=1, flags=re.MULTILINE)
    return re.sub(r"# yaml-language-server:.*\n", "", head), body


def _indentation(body: str) -> str:
    """How far a fleet's keys are indented."""
    found = re.search(r"^ *berth:fleet:.*\n(?:\s*(?:#.*)?\n)*( +)", body, re.MULTILINE)
    return found[1] if found else " " * 4


def _without_teams(sheet: Sheet) -> Sheet:
    """The stack without its teams and what is said about them: their cohorts and queues, promises beyond the pools."""
    gone = ["teamFiles", "teams", "clusterQueues", "cohorts"]
    flavors = cast("Mapping[str, Mapping[str, object]]", sheet.value(("flavors",)) or {})
    if all(entry.keys() <= {"oversubscription", "reason"} for entry in flavors.values()):
        gone.append("flavors")
    for key in gone:
        if sheet.value((key,)) is not None:
            sheet = sheet.take((key,))
    return sheet
