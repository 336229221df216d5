"""Stack files that extend a base: the values are those of one file, and every place is in the file to edit."""

from __future__ import annotations

import json
import pathlib
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from berth.cli.comparison import StackRevision, evaluate_revision
from berth.evaluate import evaluate_config, evaluate_stack
from berth.loader import read_config
from berth.rotate.yaml_editor import ManualEditRequired, YamlEditor
from berth.yaml_loader import LOADER
from tests.berth.loader.conftest import Read, Write
from tests.stack_files import ALL_STACKS, FLEET_STACKS, ROOT

SHARED = """\
fleet:
  region: us-central1
  pools:
    v5e: {topology: 2x4, slices: 3, zone: us-central1-a}
    l4:
      nodes: 4
  teams:
    vision:
      queues:
        train:
          flavors:
            - {pool: v5e, guaranteed: 1 slice}
            - {pool: l4, guaranteed: 2}
"""
OWN = """\
base: shared.yaml
project: acme
pools:
  v5e: {slices: 2}
teams:
  vision:
    groups: [a]
    queues:
      train:
        flavors: {l4: {guaranteed: 4}}
"""


def with_base(fleet: Read, write: Write, own: str, shared: str = SHARED) -> Any:
    write(shared, "shared.yaml")
    found, faults = fleet(own)
    assert faults == []
    assert found is not None
    return found


def test_the_stack_file_overrides_its_base(fleet: Read, write: Write) -> None:
    found = with_base(fleet, write, OWN)
    values = dict(found.fleet)
    assert values.pop("base") == "shared.yaml"
    train = {"flavors": [{"pool": "v5e", "guaranteed": "1 slice"}, {"pool": "l4", "guaranteed": 4}]}
    assert values == {
        "region": "us-central1",
        "project": "acme",
        "pools": {"v5e": {"topology": "2x4", "slices": 2, "zone": "us-central1-a"}, "l4": {"nodes": 4}},
        "teams": {"vision": {"groups": ["a"], "queues": {"train": train}}},
    }


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), "Pulumi.dev.yaml:2"),
        (("region",), "shared.yaml:2"),
        (("pools", "v5e", "slices"), "Pulumi.dev.yaml:6"),
        (("pools", "v5e", "topology"), "shared.yaml:4"),
        (("pools", "v5e", "machineType"), "Pulumi.dev.yaml:6"),
        (("pools", "l4", "nodes"), "shared.yaml:6"),
        (("pools", "l4", "machineType"), "shared.yaml:5"),
        (("teams", "vision", "groups", 0), "Pulumi.dev.yaml:9"),
        (("teams", "vision", "queues", "train", "flavors", 0, "guaranteed"), "shared.yaml:12"),
        (("teams", "vision", "queues", "train", "flavors", 1, "pool"), "shared.yaml:13"),
        (("teams", "vision", "queues", "train", "flavors", 1, "guaranteed"), "Pulumi.dev.yaml:12"),
        (("cluster",), "Pulumi.dev.yaml:2"),
    ],
)
def test_a_place_is_in_the_file_that_has_the_value(fleet: Read, write: Write, path: Any, place: str) -> None:
    assert with_base(fleet, write, OWN).source_map.place_of(path) == place


@pytest.mark.parametrize(
    ("own", "pool"),
    [
        ("pools: {p: {zones: [b]}}", {"zones": ["b"], "nodes": 4, "capacity": {"reservation": "r"}}),
        ("pools: {p: {capacity: {queued: {}}}}", {"zone": "a", "nodes": 4, "capacity": {"queued": {}}}),
        ("pools: {p: {capacity: spot, slices: 1}}", {"zone": "a", "slices": 1, "capacity": "spot"}),
        ("without: [pools.p.zone]", {"nodes": 4, "capacity": {"reservation": "r"}}),
        ("without: [pools.p]\npools: {p: {slices: 1}}", {"slices": 1}),
        ("pools: {p: {}}", {"zone": "a", "nodes": 4, "capacity": {"reservation": "r"}}),
    ],
)  # fmt: skip
def test_one_of_two_keys_replaces_the_other(fleet: Read, write: Write, own: str, pool: Any) -> None:
    shared = "fleet: {pools: {p: {zone: a, nodes: 4, capacity: {reservation: r}}}}"
    assert with_base(fleet, write, f"base: shared.yaml\n{own}", shared).fleet["pools"] == {"p": pool}


def test_names_with_dots_can_be_left_out(fleet: Read, write: Write) -> None:
    shared = "fleet: {flavors: {a.b: {x: 1, y: 2}, a: {b: 1}}}"
    left = with_base(fleet, write, "base: shared.yaml\nwithout: [flavors.a.b]", shared).fleet["flavors"]
    assert left == {"a": {"b": 1}}
    left = with_base(fleet, write, "base: shared.yaml\nwithout: [flavors.a.b.x]", shared).fleet["flavors"]
    assert left == {"a.b": {"y": 2}, "a": {"b": 1}}


def split(value: Any, take: bool = True) -> tuple[Any, Any]:
    """A base and what overrides it, which make `value`: keys take turns, and what is overridden is wrong there."""
    base: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for index, (key, inner) in enumerate(value.items()):
        if isinstance(inner, dict) and inner:
            base[key], own[key] = split(inner, index % 2 == 0)
        elif (index % 2 == 0) == take:
            base[key] = inner
        else:
            own[key] = inner
            if inner is not None and not isinstance(inner, dict):
                base[key] = "wrong"
    return base, own


@pytest.mark.parametrize("stack", sorted(FLEET_STACKS))
def test_a_stack_in_two_files_is_the_stack_in_one(tmp_path: pathlib.Path, stack: str) -> None:
    """Also as the engine hands it over, with sorted keys: offline verbs and the program read the same."""
    whole = yaml.load(ALL_STACKS[stack].read_text(encoding="utf-8"), LOADER)
    base, own = split(whole["config"]["berth:fleet"])
    whole["config"]["berth:fleet"] = {"base": "shared.yaml", **own}
    for name, text in {
        f"Pulumi.{stack}.yaml": yaml.dump(whole, Dumper=yaml.CSafeDumper, sort_keys=False),
        "shared.yaml": yaml.safe_dump({"fleet": base}, sort_keys=False),
        "Pulumi.yaml": "name: berth\nruntime: python\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "stacks", tmp_path / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
    expected = evaluate_stack(str(ALL_STACKS[stack]), ROOT, stack)
    assert expected.plan is not None
    found = evaluate_stack(stack, tmp_path)
    handed = json.loads(json.dumps(whole["config"]["berth:fleet"], sort_keys=True))
    engine = evaluate_config(stack, handed, tmp_path)
    assert found.plan == expected.plan
    assert engine.plan == found.plan
    assert [each.line() for each in engine.problems] == [each.line() for each in found.problems]


def test_the_engines_values_are_combined_without_an_equal_file(write: Write, tmp_path: pathlib.Path) -> None:
    """With `-c` there is no file that has them; what the base has keeps its places."""
    write(SHARED, "shared.yaml")
    found, problems = read_config("dev", {"base": "shared.yaml", "project": "other"}, tmp_path)
    assert found is not None
    assert problems == []
    assert (found.file, found.fleet["region"], found.fleet["project"]) == (None, "us-central1", "other")  # type: ignore[index]
    places = [found.source_map.place_of(path) for path in (("project",), ("pools", "l4", "nodes"))]
    assert places == ["", "shared.yaml:6"]


@pytest.mark.parametrize("linked", ["shared.yaml", "folder/shared.yaml"])
def test_a_link_is_no_base(fleet: Read, write: Write, tmp_path: pathlib.Path, linked: str) -> None:
    """Inside the folder or out of it: a checkout of a revision has no links."""
    target = write(SHARED, "real/shared.yaml")
    (tmp_path / linked.split("/")[0]).symlink_to(target if linked == "shared.yaml" else target.parent)
    found, faults = fleet(f"base: {linked}")
    assert found is None
    assert faults == [
        f"bad-base | Pulumi.dev.yaml:3: base: '{linked.split('/')[0]}' is a link, which another checkout may "
        "lack; write the path of the file itself"
    ]


def test_a_revision_has_the_base_of_its_time(fleet: Read, write: Write, tmp_path: pathlib.Path) -> None:
    with_base(fleet, write, OWN)
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    write(SHARED.replace("us-central1", "us-east1"), "shared.yaml")
    for side, region in ((StackRevision("dev", "HEAD"), "us-central1"), (StackRevision("dev"), "us-east1")):
        file = evaluate_revision(side, tmp_path).file
        assert file is not None
        assert file.fleet["region"] == region  # type: ignore[index]


def test_an_edit_of_the_base_is_for_people(write: Write) -> None:
    """A rotation of one place must not change another one."""
    own = "config:\n  berth:fleet:\n    base: shared.yaml\n    pools: {v5e: {slices: 2}}\n"
    editor = YamlEditor("dev", "Pulumi.dev.yaml", {"Pulumi.dev.yaml": own, "shared.yaml": SHARED})
    edited = editor.set_value(("pools", "v5e"), "slices", "1")
    assert edited.texts["shared.yaml"] == SHARED
    with pytest.raises(
        ManualEditRequired, match=r"shared.yaml:6: pools.l4.nodes is in the base, which other stacks extend"
    ):
        editor.set_value(("pools", "l4"), "nodes", "1")
