"""Write facts of published releases into berth/versions: feature gates of Kueue, and what the CRDs of each project say.

`python scripts/release_facts.py FOLDER` reads git clones, with tags, in FOLDER/<owner>/<name>: kubernetes-sigs/kueue,
kubernetes-sigs/jobset, kubernetes-sigs/lws, kubeflow/trainer, ray-project/kuberay. Of each minor release it reads
every patch that the clone has a tag of, and the CRDs of the newest. A clone without the tags of a minor leaves its rows
out: they are then *unknown*, and kueue.yaml has what changelogs say. A project without a clone keeps its rows.

It prints the required actions of Kueue's changelogs that kueue.yaml has no row for, and exits 1 if there are any.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Version = tuple[int, ...]

TABLES = Path(__file__).parents[1] / "berth" / "versions"
OLDEST_KUEUE = (0, 15)
"""The first minor with the API of Berth's objects (v1beta2)."""
DEVELOPMENT: dict[Version, str] = {(0, 20): "main"}
"""Minors of Kueue without a tag in the clones: the branch that became them, read in part."""
PROJECTS = {
    "kueue": ("kubernetes-sigs/kueue", "config/components/crd/bases", OLDEST_KUEUE),
    "jobset": ("kubernetes-sigs/jobset", "config/components/crd/bases", (0, 8)),
    "leaderworkerset": ("kubernetes-sigs/lws", "config/crd/bases", (0, 6)),
    "trainer": ("kubeflow/trainer", "manifests/base/crds", (2, 0)),
    "kuberay": ("ray-project/kuberay", "ray-operator/config/crd/bases", (1, 4)),
}
"""Name → repository, folder of its CRDs, and the oldest minor to read."""
WIDTH = 116


class Clone:
    """A git clone that is read by tag or branch."""

    def __init__(self, folder: Path) -> None:
        inner = folder / "repo"
        self._folder = inner if inner.is_dir() else folder

    def run(self, *words: str) -> str:
        """Return what git prints; raises CalledProcessError."""
        return subprocess.run(["git", *words], cwd=self._folder, check=True, capture_output=True, text=True).stdout

    def versions(self, oldest: Version) -> dict[Version, list[Version]]:
        """Return the released patches of each minor, the oldest first."""
        found: dict[Version, list[Version]] = defaultdict(list)
        for tag in self.run("tag").split():
            if match := re.fullmatch(r"v(\d+)\.(\d+)\.(\d+)", tag):
                version = tuple(map(int, match.groups()))
                if version[:2] >= oldest:
                    found[version[:2]].append(version)
        return {minor: sorted(found[minor]) for minor in sorted(found)}

    def date(self, revision: str) -> str:
        """Return the day of a revision's commit."""
        return self.run("log", "-1", "--format=%cs", revision).strip()

    def commit(self, revision: str) -> str:
        """Return the short hash of a revision."""
        return self.run("rev-parse", "--short=10", f"{revision}^{{commit}}").strip()

    def show(self, revision: str, path: str) -> str:
        """Return a file at a revision."""
        return self.run("show", f"{revision}:{path}")

    def files(self, revision: str, folder: str) -> list[str]:
        """Return the YAML files of a folder at a revision."""
        paths = self.run("ls-tree", "--name-only", revision, f"{folder}/").split()
        return [path for path in paths if path.endswith(".yaml") and "kustomiz" not in path]


def dotted(version: Iterable[int]) -> str:
    """Return `0.19.2` of its numbers."""
    return ".".join(map(str, version))


# --- feature gates ----------------------------------------------------------------------------------------------------


def gates_at(clone: Clone, revision: str, minor: Version) -> dict[str, str]:
    """Return each gate with its state in a minor: stage, default, and whether it is locked (`beta on`)."""
    source = clone.show(revision, "pkg/features/kube_features.go")
    names = dict(re.findall(r"(\w+)\s+featuregate\.Feature\s*=\s*\"(\w+)\"", source))
    registry = source[source.index("defaultVersionedFeatureGates = map") :]
    states: dict[str, str] = {}
    for constant, body in re.findall(r"(?m)^\t(\w+): \{\n((?:\t\t.*\n)+)\t\},", registry):
        for spec in re.findall(r"\{Version: version\.MustParse\(\"([\d.]+)\"\),(.*?)\}", body):
            if tuple(map(int, spec[0].split("."))) <= minor:
                is_on = " Default: true" in spec[1]
                stage = re.search(r"PreRelease: featuregate\.(\w+)", spec[1])
                locked = " locked" if "LockToDefault: true" in spec[1] else ""
                states[names[constant]] = f"{stage[1].lower() if stage else 'ga'} {'on' if is_on else 'off'}{locked}"
    return states


def gate_needs(clone: Clone, revision: str) -> dict[str, list[str]]:
    """Return the gates that a gate needs, by Kueue's registry or by its validation of the configuration."""
    needs: dict[str, list[str]] = defaultdict(list)
    source = clone.show(revision, "pkg/features/kube_features.go")
    names = dict(re.findall(r"(\w+)\s+featuregate\.Feature\s*=\s*\"(\w+)\"", source))
    if declared := re.search(r"(?s)defaultFeatureGateDependencies = [^{]*\{\n(.*?)\n\}", source):
        for constant, wanted in re.findall(r"(\w+):\s*\{([\w, ]+)\}", declared[1]):
            needs[names[constant]] += [names[each.strip()] for each in wanted.split(",")]
        return dict(needs)
    code = clone.show(revision, "pkg/config/validation.go")
    for words in re.findall(r"validateFeatureGateDependency\(((?:features\.\w+(?:, )?)+)\)", code):
        gate, *wanted = (names[each.removeprefix("features.")] for each in words.split(", "))
        needs[gate] += wanted
    for condition in re.findall(r"if ([^\n]*features\.Enabled[^\n]*) \{", code):
        missing = re.findall(r"!features\.Enabled\(features\.(\w+)\)", condition)
        enabled = re.findall(r"(?<!!)features\.Enabled\(features\.(\w+)\)", condition)
        if len(missing) == 1 and len(enabled) == 1:
            needs[names[enabled[0]]].append(names[missing[0]])
    for gate, wanted in re.findall(r"\"(\w+) requires (\w+) to be enabled", code):
        if gate in names.values() and wanted in names.values():
            needs[gate].append(wanted)
    if "TASProfilesEnabled" in code and "TASProfileMixed" in names:
        needs["TASProfileMixed"].append("TopologyAwareScheduling")
    return {gate: list(dict.fromkeys(wanted)) for gate, wanted in needs.items()}


def gates_table(clone: Clone) -> str:
    """Return kueue_gates.yaml."""
    lines = [
        "# Feature gates of Kueue by minor release. Written by scripts/release_facts.py from kubernetes-sigs/kueue:",
        "# pkg/features/kube_features.go and pkg/config/validation.go of the newest tag named. Do not edit.",
        "#",
        "# `whole_to`: the newest patch whose list is whole; later ones have the gates that kueue.yaml names besides.",
        "# `since`: the patch that brought a gate, or its state, where that is not the first of the minor.",
        "# `requires`: the gates without which Kueue does not start while a gate is on.",
    ]
    tagged = clone.versions(OLDEST_KUEUE)
    for minor in sorted({*tagged, *DEVELOPMENT}):
        patches = tagged.get(minor, [])
        revision = f"v{dotted(patches[-1])}" if patches else DEVELOPMENT[minor]
        states = gates_at(clone, revision, minor)
        since = dict[str, str]()
        for patch in patches:
            before = gates_at(clone, f"v{dotted(patch)}", minor)
            since |= {g: dotted(patch) for g, s in states.items() if g not in since and before.get(g) == s}
        since = {gate: patch for gate, patch in since.items() if patch != dotted(patches[0])}
        lines += [
            f'"{dotted(minor)}":',
            f"  source: {revision} ({clone.commit(revision)})",
            f"  read: {clone.date(revision)}",
            f"  whole_to: {chr(34) + dotted(patches[-1]) + chr(34) if patches else 'null'}",
        ]
        groups: dict[str, list[str]] = defaultdict(list)
        for gate, state in sorted(states.items()):
            groups[state].append(gate)
        for state in sorted(groups):
            lines += [f"  {state}: >-", *folded(groups[state])]
        pairs = [f'{gate}: "{patch}"' for gate, patch in sorted(since.items())]
        lines += mapping("since", pairs)
        needs = gate_needs(clone, revision)
        lines += mapping(
            "requires", [f"{gate}: [{', '.join(needs[gate])}]" for gate in sorted(needs) if gate in states]
        )
    return "\n".join(lines) + "\n"


def folded(words: Iterable[str]) -> Iterator[str]:
    """Yield words in indented lines of at most `WIDTH` columns."""
    line = "   "
    for word in words:
        if len(line) + len(word) + 1 > WIDTH:
            yield line
            line = "   "
        line += f" {word}"
    yield line


def mapping(key: str, pairs: list[str]) -> list[str]:
    """Return a block mapping; an empty one is `{}`."""
    return [f"  {key}:", *(f"    {pair}" for pair in pairs)] if pairs else [f"  {key}: {{}}"]


COMPANION_GATES = {
    "jobset": "pkg/features/features.go",
    "trainer": "pkg/features/features.go",
    "kuberay": "ray-operator/pkg/features/features.go",
}
"""Project → the file of its feature gates."""


def companion_gates_table(clones: Mapping[str, Clone]) -> str:
    """Return companion_gates.yaml."""
    lines = [
        "# Feature gates of what Kueue works with, by minor release: stage and default of each. Written by",
        "# scripts/release_facts.py from the newest tag of each minor; a minor without gates has none. Do not edit.",
    ]
    for project, path in COMPANION_GATES.items():
        if project not in clones:
            continue
        clone = clones[project]
        lines.append(f"{project}:")
        for minor, patches in clone.versions(PROJECTS[project][2]).items():
            tag = f"v{dotted(patches[-1])}"
            source = clone.show(tag, path) if path in clone.run("ls-tree", "-r", "--name-only", tag).split() else ""
            gates = re.findall(r"(?m)^\t(\w+):\s*\{Default: (\w+),\s*PreRelease: featuregate\.(\w*)", source)
            states = ", ".join(
                f"{gate}: {(stage or 'ga').lower()} {'on' if default == 'true' else 'off'}"
                for gate, default, stage in sorted(gates)
            )
            head = f'  "{dotted(minor)}": {{source: {tag} ({clone.commit(tag)}), read: {clone.date(tag)}, gates: '
            lines.append(f"{head}{{{states}}}}}")
    return "\n".join(lines) + "\n"


# --- CRDs -------------------------------------------------------------------------------------------------------------


def crd_facts(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield (kind, `served` or `immutable` or `maxItems`, path, value) of a CRD; of its newest served version."""
    for document in yaml.safe_load_all(text):
        if not document or document.get("kind") != "CustomResourceDefinition":
            continue
        kind, versions = document["spec"]["names"]["kind"], document["spec"]["versions"]
        yield kind, "served", "", " ".join(sorted(each["name"] for each in versions if each.get("served")))
        newest = [each for each in versions if each.get("served")][-1:]
        for version in newest:
            schema = version.get("schema", {}).get("openAPIV3Schema", {}).get("properties", {}).get("spec")
            for fact, path, value in schema_facts(schema or {}, "spec"):
                yield kind, fact, path, value


def schema_facts(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the immutable fields and the maximum lengths of lists below a schema, without those of pod templates."""
    if path.count(".") > 7 or "template.spec" in path:
        return
    for rule in schema.get("x-kubernetes-validations", ()):
        text = " ".join(rule["rule"].split())
        if text == "self == oldSelf":
            yield "immutable", path, "always"
        elif match := re.fullmatch(r"!has\(oldSelf\.(\w+)\) \|\| self == oldSelf", text):
            yield "immutable", path, f"with {match[1]}"
        elif match := re.match(r"!has\(oldSelf\.(\w+)\) \|\| \(has\(self\.(\w+)\) [=&]", text):
            yield "immutable", f"{path}.{match[2]}", "once set" if match[1] == match[2] else f"with {match[1]}"
        elif match := re.match(r"self == oldSelf \|\| \(self\[size\(self\) - 1\]\.\w+ == '([^']+)'", text):
            yield "immutable", path, f"unless {match[1]} stays last"
    if "maxItems" in schema:
        yield "maxItems", path, str(schema["maxItems"])
    for name, inner in schema.get("properties", {}).items():
        yield from schema_facts(inner, f"{path}.{name}")
    if isinstance(items := schema.get("items"), dict):
        yield from schema_facts(items, f"{path}[]")


def crds_table(clones: Mapping[str, Clone]) -> str:
    """Return crds.yaml: a fact with the minors in which it holds."""
    lines = [
        "# What the CRDs of each release say: API versions served, immutable fields, limits of lists.",
        "# Written by scripts/release_facts.py from the newest tag of each minor. Do not edit.",
        "#",
        "# A fact has one value, or one for each minor from which it is another; `-` where the minor does not have it.",
    ]
    for project, clone in clones.items():
        _, folder, oldest = PROJECTS[project]
        revisions = {minor: f"v{dotted(patches[-1])}" for minor, patches in clone.versions(oldest).items()}
        if project == "kueue":
            revisions |= {minor: branch for minor, branch in DEVELOPMENT.items() if minor not in revisions}
        table: dict[tuple[str, str, str], dict[Version, str]] = defaultdict(dict)
        for minor, revision in revisions.items():
            for file in clone.files(revision, folder):
                for kind, fact, path, value in crd_facts(clone.show(revision, file)):
                    table[kind, fact, path][minor] = value
        lines += [f"{project}:", "  read:"]
        lines += [f'    "{dotted(m)}": {r} ({clone.commit(r)}, {clone.date(r)})' for m, r in sorted(revisions.items())]
        for kind in sorted({key[0] for key in table}):
            lines.append(f"  {kind}:")
            for fact in ("served", "immutable", "maxItems"):
                rows = {key[2]: values for key, values in table.items() if key[:2] == (kind, fact)}
                if fact == "served":
                    lines += [f"    served: {changes(rows[''], revisions)}"] if rows else []
                elif rows:
                    lines += [f"    {fact}:"]
                    lines += [f"      {path}: {changes(values, revisions)}" for path, values in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def changes(values: Mapping[Version, str], revisions: Iterable[Version]) -> str:
    """Return one value, or `{"0.15": a, "0.17": b}` with the first minor of each."""
    told: dict[str, str] = {}
    before = None
    for minor in sorted(revisions):
        value = values.get(minor, "-")
        if value != before:
            told[dotted(minor)] = before = value
    if len(told) == 1:
        return next(iter(told.values()))
    return (
        "{"
        + ", ".join(f'"{minor}": {value if value != "-" else chr(34) + "-" + chr(34)}' for minor, value in told.items())
        + "}"
    )


def rewrite(name: str, text: str, projects: Iterable[str]) -> None:
    """Write a table, with the old rows of the projects that the new text does not have."""
    head, new = sections(text)
    old = sections((TABLES / name).read_text(encoding="utf-8"))[1] if (TABLES / name).is_file() else {}
    rows = old | new
    (TABLES / name).write_text(head + "".join(rows[each] for each in projects if each in rows), encoding="utf-8")


def sections(text: str) -> tuple[str, dict[str, str]]:
    """Return the head of a table, and its text by project."""
    head, *parts = re.split(r"(?m)^(?=\w+:$)", text)
    return head, {part.partition(":")[0]: part for part in parts}


# --- required actions -------------------------------------------------------------------------------------------------


def required_actions(clone: Clone) -> dict[str, list[str]]:
    """Return the pull requests that each release's changelog lists under actions required, by release."""
    found: dict[str, list[str]] = {}
    for minor, patches in clone.versions(OLDEST_KUEUE).items():
        if minor < (0, 18):
            continue
        text = clone.show(f"v{dotted(patches[-1])}", f"CHANGELOG/CHANGELOG-{dotted(minor)}.md")
        for release, body in re.findall(r"(?ms)^## v([\d.]+)\n(.*?)(?=^## v|\Z)", text):
            section = re.search(r"(?s)MUST read this before you upgrade\)\n(.*?)(?=\n## |\Z)", body)
            pulls = re.findall(r"\(#(\d+)(?:,|\))[^)]*\)?\s*$", section[1], re.MULTILINE) if section else []
            found[release] = pulls
    return found


def main(folder: Path) -> int:
    """Write both tables; return 1 if a required action has no row."""
    clones = {}
    for project, (repository, _, _) in PROJECTS.items():
        owner, name = repository.split("/")
        places = (folder / owner / name, folder / f"{owner}+{name}")
        if place := next((each for each in places if each.is_dir()), None):
            clones[project] = Clone(place)
        else:
            print(f"no clone of {repository} in {folder}: its rows stay as they are")
    rewrite("crds.yaml", crds_table(clones), PROJECTS)
    rewrite("companion_gates.yaml", companion_gates_table(clones), COMPANION_GATES)
    if "kueue" not in clones:
        return 1
    (TABLES / "kueue_gates.yaml").write_text(gates_table(clones["kueue"]), encoding="utf-8")
    rows = yaml.safe_load((TABLES / "kueue.yaml").read_text(encoding="utf-8"))["actions"]
    known = {(release, str(pull)) for row in rows.values() for release, pull in row["in"].items()}
    missing = [
        (r, pull) for r, pulls in required_actions(clones["kueue"]).items() for pull in pulls if (r, pull) not in known
    ]
    for release, pull in missing:
        print(f"kueue.yaml has no action for #{pull} of {release}")
    return 1 if missing else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} FOLDER, with clones in FOLDER/<owner>/<name>")
    sys.exit(main(Path(sys.argv[1])))
