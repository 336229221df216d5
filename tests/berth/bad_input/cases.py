"""Cases of bad input: edits of a small valid fleet, whole files that are not a fleet, and stacks that do not exist.

The edits are in `cases/*.txt`, by section; a table with a fleet of its own can have more files, in `cases/<table>/`. A
case has a title after `==`, the lines that the edit removes (`-`) and adds (`+`), and every line that is then
printed (`!`).
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

HERE = pathlib.Path(__file__).parent / "cases"
BASE = "base.yaml"
FILES = {"Pulumi.bad.yaml": HERE / BASE, "teams/speech.yaml": HERE / "teams" / "speech.yaml"}


@dataclass(frozen=True)
class Case:
    """A title, edits as (old, new), where each old text occurs once in the fleet's files, and the expected lines.

    The fleet is that of `base.yaml`, or of the table's own `<table>.yaml`, with the stacks in the folder `<table>`.
    """

    claim: str
    edits: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]
    base: str = BASE


def base_of(table: pathlib.Path) -> str:
    """Return the file of the fleet that the cases of a table edit."""
    own = f"{table.stem}.yaml"
    return own if (HERE / own).is_file() else BASE


def parsed(table: str, base: str = BASE) -> Iterator[Case]:
    """Yield the cases of one table."""
    for block in re.split(r"(?m)^== ", table)[1:]:
        claim, *body = block.rstrip().split("\n")
        edits: list[tuple[list[str], list[str]]] = []
        for line in body:
            if line.startswith("-") and (not edits or edits[-1][1]):
                edits.append(([], []))
            if line[:1] in ("-", "+"):
                edits[-1]["-+".index(line[0])].append(line[2:])
        lines = tuple(line[2:] for line in body if line.startswith("!"))
        yield Case(claim, tuple(("\n".join(old), "\n".join(new)) for old, new in edits), lines, base)


EDITS = {
    f"{table.stem}: {case.claim}": case
    for table in sorted(HERE.glob("*.txt"))
    for case in parsed(table.read_text(encoding="utf-8"), base_of(table))
}


def edited(case: Case) -> dict[str, str]:
    """Return the files of the fleet after the edits, by name."""
    stem = case.base.removesuffix(".yaml")
    more = {  # stacks are beside the fleet, other files in their folder
        file.name if file.name.startswith("Pulumi.") else f"{stem}/{file.name}": file
        for file in sorted((HERE / stem).glob("*.yaml"))
    }
    files = FILES if case.base == BASE else {"Pulumi.bad.yaml": HERE / case.base, **more}
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    for old, new in case.edits:
        assert sum(text.count(old) for text in texts.values()) == 1, f"not found once: {old}"
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    return texts


def write(folder: pathlib.Path, texts: dict[str, str]) -> None:
    """Write a project with these files, and without the stacks that another table has beside its fleet."""
    for name in {file.name for file in HERE.glob("*/Pulumi.*.yaml")} - texts.keys():
        (folder / name).unlink(missing_ok=True)
    (folder / "Pulumi.yaml").write_text("name: berth\nruntime: python\n")
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


# --- whole files ------------------------------------------------------------------------------------------------------

FLEET = """\
config:
  berth:fleet:
    project: acme-ml-dev
    region: us-central1
    cluster: {controlPlane: {publicEndpoint: false}}
"""
_WRITE = "write 'config:', below it 'berth:fleet:', and below that the fleet's project, region, pools and teams"
_MOVE = "move teams to their own files and list these under 'teamFiles'"

WHOLE: dict[str, tuple[bytes, list[str]]] = {
    "an empty file": (b"", [f"Pulumi.bad.yaml: error: the file is empty; {_WRITE} [empty-file]"]),
    "a file of comments": (b"# later\n", [f"Pulumi.bad.yaml: error: the file is empty; {_WRITE} [empty-file]"]),
    "a file of Pulumi's own": (
        b"config:\n  gcp:project: acme\n",
        [f"Pulumi.bad.yaml:1: error: 'berth:fleet' is missing; {_WRITE} [no-fleet]"],
    ),
    "a fleet of nothing": (
        b"config:\n  berth:fleet:\n",
        [f"Pulumi.bad.yaml:2: error: 'berth:fleet' is empty; {_WRITE} [no-fleet]"],
    ),
    "a fleet that is a list": (
        b"config:\n  berth:fleet: [acme]\n",
        [f"Pulumi.bad.yaml:2: error: 'berth:fleet' is a list, not a mapping; {_WRITE} [no-fleet]"],
    ),
    "a platform's and a team's stack in one": (
        FLEET.encode() + b"  berth:team: {platform: dev, team: vision}\n",
        [
            "Pulumi.bad.yaml:6: error: 'berth:team' and 'berth:fleet' are in one file; move one to its own stack "
            "file [two-kinds]"
        ],
    ),
    "a team's stack of nothing": (
        b"config:\n  berth:team:\n",
        [
            "Pulumi.bad.yaml:2: error: 'berth:team' is empty; write the team's platform, the team and its workloads "
            "below "
            "it [no-fleet]"
        ],
    ),
    "an empty fleet": (
        b"config:\n  berth:fleet: {}\n",
        [
            "Pulumi.bad.yaml:2: warning: cluster.controlPlane: the control plane is open to every address; "
            "write authorizedNetworks, or publicEndpoint: false [open-control-plane]",
            "Pulumi.bad.yaml:2: error: project: is missing; write project: acme-ml-dev [missing-key]",
            "Pulumi.bad.yaml:2: error: region: is missing; write region: us-central1 [missing-key]",
        ],
    ),
    "no YAML": (
        b"config: [berth\n",
        ["Pulumi.bad.yaml:1:9: error: '[' opens here and is not closed; write ']' at its end [bad-yaml]"],
    ),
    "a tab": (
        b"config:\n\tberth:fleet: {}\n",
        ["Pulumi.bad.yaml:2:1: error: a tab cannot indent YAML; use spaces [bad-yaml]"],
    ),
    "a byte order mark": (
        b"\xef\xbb\xbfconfig: {}\n",
        ["Pulumi.bad.yaml:1:1: error: begins with a byte order mark (UTF-8); save it as UTF-8 without one [bad-text]"],
    ),
    "Latin-1": (
        b"config:\n  gr\xf6\xdfe: 1\n",
        ["Pulumi.bad.yaml:2:5: error: byte 0xf6 is not UTF-8; save the file as UTF-8 [bad-text]"],
    ),
    "a NUL": (
        b"config:\x00\n",
        ["Pulumi.bad.yaml:1:8: error: the character U+0000 is not allowed in YAML; remove it [bad-text]"],
    ),
    "half a character": (
        b'config: {berth:fleet: {project: "\\ud800"}}\n',
        [
            "Pulumi.bad.yaml:1:36: error: an escape that is not a valid Unicode character; write the character "
            "itself [bad-yaml]",
        ],
    ),
    "three thousand brackets": (
        b"config:\n  berth:fleet: " + b"[" * 3000,
        ["Pulumi.bad.yaml:2:78: error: nested more than 64 levels deep; remove brackets or levels [bad-yaml]"],
    ),
    "a billion laughs": (
        b"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        b"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
        ["Pulumi.bad.yaml:4: error: YAML aliases add more than 10,000 values; use fewer aliases [yaml-alias]"],
    ),
    "ten megabytes": (
        b"a" * 10_000_000,
        [
            f"Pulumi.bad.yaml: error: is 10,000,000 bytes, more than the maximum of 1,048,576; {_MOVE} [too-large]",
        ],
    ),
    "more config than the engine can hand over": (
        FLEET.encode() + b"    kueue: {chart: " + b"x" * 130_000 + b"}\n",
        [
            "Pulumi.bad.yaml:2: error: the config is 130,159 bytes as Pulumi passes it to the program, more than "
            f"120,000 (an environment variable holds 131,072); {_MOVE} [config-too-large]",
            "Pulumi.bad.yaml:6: error: kueue.chart: has 130000 characters; write at most 4096 [bad-size]",
        ],
    ),
    "a value and a key of a thousand letters": (
        FLEET.replace("acme-ml-dev", "a" * 1000).encode() + b"    " + b"k" * 1000 + b": 1\n",
        [
            f"Pulumi.bad.yaml:3: error: project: '{'a' * 77}...' is not a project ID: 6 to 30 lower-case letters, "
            "digits and '-' [bad-value]",
            f"""Pulumi.bad.yaml:6: error: "{"k" * 77}...": unknown key '{"k" * 77}...'; the nearest of 32 keys are """
            "kueue, workers, project, projectNumber, region; docs/stack-file.md lists all [unknown-key]",
        ],
    ),
    "a manifest of Kubernetes": (
        b"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: x}\n",
        [
            "Pulumi.bad.yaml:2: error: a manifest of Kubernetes (ClusterQueue), not a stack file; a job's manifest is "
            "for berth lint and berth admit, and for an existing cluster there is berth adopt [no-fleet]"
        ],
    ),
    "more labels than Google Cloud takes": (
        FLEET.encode() + b"    labels: {" + b", ".join(b"l%d: x" % n for n in range(63)) + b"}\n",
        [
            "Pulumi.bad.yaml:6: error: labels: 63 labels are more than the maximum of 62 besides Berth's own; write "
            "fewer [too-many-labels]",
        ],
    ),
    "more flavors than a cluster queue takes, and a novel for a description": (
        FLEET.encode()
        + b'    priorities: {low: {value: 1, description: "'
        + b"once upon a time " * 200
        + b'"}}\n'
        + b"    teams:\n      a: {queues: {a: {flavors: ["
        + b"{pool: p}, " * 65
        + b"]}}}\n",
        [
            "Pulumi.bad.yaml:6: error: priorities.low.description: has 3400 characters; write at most 2048 [bad-size]",
            "Pulumi.bad.yaml:8: error: teams.a.queues.a.flavors: has 65 entries; write at most 64 [bad-size]",
            "Pulumi.bad.yaml:8: error: teams.a.queues.a.flavors[0].pool: no pool 'p'; write it under pools "
            "[unknown-reference]",
        ],
    ),
}
"""What a file holds, and the lines that answer it."""

# --- stacks -----------------------------------------------------------------------------------------------------------

STACKS = {
    "dve": ["error: no stack 'dve' (Pulumi.dve.yaml); did you mean 'dev'? [no-file]"],
    "zzz": ["error: no stack 'zzz' (Pulumi.zzz.yaml); write one of My_Dev, dev, folder [no-file]"],
    "": ["error: no stack '' (Pulumi..yaml); write one of My_Dev, dev, folder [no-file]"],
    "./fleet.yaml": ["error: no file 'fleet.yaml' [no-file]"],
    "Pulumi.dve.yaml": ["error: no file 'Pulumi.dve.yaml'; did you mean 'Pulumi.dev.yaml'? [no-file]"],
    "folder": ["Pulumi.folder.yaml: error: is a directory, not a file; name a YAML file [unreadable]"],
    "/dev/null": ["/dev/null: error: is a device or pipe, not a file; name a YAML file [unreadable]"],
    "a\nb": [r"error: no stack 'a\nb' (Pulumi.a\nb.yaml); write one of My_Dev, dev, folder [no-file]"],
    "\x1b[31m": [r"error: no stack '\x1b[31m' (Pulumi.\x1b[31m.yaml); write one of My_Dev, dev, folder [no-file]"],
    "My_Dev": [
        "Pulumi.My_Dev.yaml:5: error: cluster.name: the stack's name 'My_Dev' is not a valid cluster name; "
        "write cluster.name [bad-stack-name]",
        "Pulumi.My_Dev.yaml:7: error: reservations.l4.name: the name 'My_Dev-l4', derived from the stack, is not "
        "valid; write a name for the reservation [bad-stack-name]",
    ],
}
"""What is asked for in a folder of `stacks`, and the lines that answer it."""


def stacks(folder: pathlib.Path) -> None:
    """A folder of stacks, one of which has a name that nothing else can have."""
    reserved = "    reservations:\n      l4: {machineType: g2-standard-24, zone: us-central1-a, count: 4}\n"
    write(folder, {"Pulumi.dev.yaml": FLEET, "Pulumi.My_Dev.yaml": FLEET + reserved})
    (folder / "Pulumi.folder.yaml").mkdir()
