"""scripts/compose_comment.py: what matters most is in the comment, and what does not fit is counted."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys

import pytest

from berth.backends.interface import compare
from berth.diff.changes import Changes
from berth.diff.document import changes_document
from berth.document.markdown import render_markdown
from tests.comment_picture import GOLDEN, PICTURE, drawn
from tests.small_fleets import fleet_with, plan
from tests.stack_files import ROOT, assert_golden

sys.path.insert(0, str(ROOT / "scripts"))  # as Python does for a script
_SPEC = importlib.util.spec_from_file_location("compose_comment", ROOT / "scripts" / "compose_comment.py")
assert _SPEC is not None
assert _SPEC.loader is not None
composer = importlib.util.module_from_spec(_SPEC)
sys.modules["compose_comment"] = composer
_SPEC.loader.exec_module(composer)
poster = importlib.import_module("comment")

OWNER = "- team vision is granted roles/owner in project acme-ml (everything in it)"
BUCKETS = [f"- team vision is granted roles/storage.objectViewer on bucket acme-data-{n:04}" for n in range(600)]
OBJECTS = [f"created RoleBinding vision/bucket-{n}" for n in range(300)]


def markdown(headline: str, rights: list[str], objects: list[str]) -> str:
    """A stack's Markdown, as `berth diff --format markdown` writes it, its first right one of administration."""
    table = "| team | flavor |\n|---|---|\n| vision | v5e |"
    folded = f"<details><summary>Kubernetes objects ({len(objects)})</summary>\n\n<pre>\n"
    listed = "\n".join(objects)
    bullets = "\n".join(rights[1:])
    others = f"**Rights: data**\n\n{bullets}\n\n" if bullets else ""
    listing = f"**Rights: administration**\n\n{rights[0]}\n\n{others}"
    return f"### {headline}\n\n{listing}{table}\n\n{folded}{listed}\n</pre>\n\n</details>\n"


def composed(tmp_path: pathlib.Path, *stacks: tuple[str, str, str]) -> tuple[str, int]:
    """The comment of stacks (name, status, Markdown), and the exit status."""
    for number, (name, status, text) in enumerate(stacks, 1):
        for ending, content in (("name", name), ("status", status), ("md", text)):
            (tmp_path / f"{number}.{ending}").write_text(f"{content}\n", encoding="utf-8")
    code = composer.main(tmp_path, "abcdef012345", tmp_path / "comment.md", tmp_path / "diff.md")
    return (tmp_path / "comment.md").read_text(encoding="utf-8"), code


DEV = ("dev", "changes", markdown("dev: 601 rights of vision are added", [OWNER, *BUCKETS], OBJECTS))
VIEWER = "- team a is granted roles/viewer"
PROD = ("prod", "**blocked**", markdown("prod: pool v5e is DELETED; 1 blocked", [VIEWER], []))


def test_600_harmless_rights_hide_neither_an_owner_nor_the_next_stack(tmp_path: pathlib.Path) -> None:
    text, code = composed(tmp_path, DEV, PROD)
    lines = text.splitlines()
    assert lines[2] == "| dev | changes | dev: 601 rights of vision are added | abcdef012345 |"
    assert lines[3] == "| prod | **blocked** | prod: pool v5e is DELETED; 1 blocked | abcdef012345 |"
    assert OWNER in lines
    assert VIEWER in lines
    assert len(text) <= composer.LONGEST
    kept = sum(line in lines for line in [OWNER, *BUCKETS])
    told = re.search(r"(\d+) of “Rights: data”", text)
    assert kept + (int(told[1]) if told else 0) == 601
    assert code == (3 if told else 0)


@pytest.mark.parametrize("count", [10, 300, 700, 5_000, 100_000])
def test_what_does_not_fit_is_counted_and_a_right_fails_the_check(count: int, tmp_path: pathlib.Path) -> None:
    rights = [f"- team vision is granted roles/storage.objectViewer on bucket acme-data-{n:06}" for n in range(count)]
    text, code = composed(tmp_path, ("dev", "changes", markdown("dev: more", [OWNER, *rights], OBJECTS)), PROD)
    lines = text.splitlines()
    kept = sum(line.startswith("- team vision is granted") for line in lines)
    told = re.search(r"(\d+) of “Rights: data”", text)
    assert kept + (int(told[1]) if told else 0) == count + 1
    assert OWNER in lines
    assert VIEWER in lines
    assert (code == 3) == bool(told) == ("**A right does not fit in this comment" in text)
    assert len(text) <= composer.LONGEST
    assert text.count("<details>") == text.count("</details>")
    assert text.count("<pre>") == text.count("</pre>")
    whole = (tmp_path / "diff.md").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith("- team vision is granted") for line in whole) == count + 1


def test_objects_go_before_rights_do(tmp_path: pathlib.Path) -> None:
    text, code = composed(tmp_path, ("dev", "changes", markdown("dev: one", [OWNER], OBJECTS * 20)), PROD)
    shown = sum(line.startswith("created RoleBinding") for line in text.splitlines())
    told = re.search(r"(\d+) of “Kubernetes objects”", text)
    assert told is not None
    assert 0 < shown < 6_000
    assert shown + int(told[1]) == 6_000
    assert code == 0
    assert text.index("## Stack prod") < text.index("created RoleBinding")


def test_a_fault_of_a_stack_is_not_read_as_markdown(tmp_path: pathlib.Path) -> None:
    fence = "Refused:\n\n```\nPulumi.a|b.yaml:1: error: | safe | nothing changes |\n\n## Stack prod\n```\n"
    text, _ = composed(tmp_path, ("dev", "refused", fence), PROD)
    assert text.splitlines()[2] == "| dev | refused | Refused | abcdef012345 |"
    assert text.count("```") == 2


def test_many_stacks_and_long_headlines_leave_the_table_whole(tmp_path: pathlib.Path) -> None:
    stacks = [(f"stack-{n}", "changes", markdown("x" * 5_000, [OWNER], [])) for n in range(30)]
    text, _ = composed(tmp_path, *stacks)
    rows = [line for line in text.splitlines() if line.startswith("| stack-")]
    assert len(rows) == 30
    assert text.splitlines().count(OWNER) == 30
    assert len(text) <= composer.LONGEST


@pytest.mark.parametrize("active", ["@", "<", "://", "#1", "](", "www."])
@pytest.mark.parametrize("count", [200, 450, 900])
def test_what_the_poster_disables_counts_too(active: str, count: int, tmp_path: pathlib.Path) -> None:
    """Free text of many mentions became longer when it was posted, and pushed the rights of all stacks out, unsaid."""
    settings = [f"- `config.a{n}` – → {active * 40}" for n in range(count)]
    beside = f"### dev: beside\n\n**Beside the fleet** ({count})\n\n" + "\n".join(settings)
    text, code = composed(tmp_path, ("dev", "changes", f"{beside}\n\n**Rights: data**\n\n{OWNER}\n"), PROD)
    posted = poster.neutralize(text)
    assert "Truncated" not in posted
    assert posted == text
    assert (OWNER in posted.splitlines() and VIEWER in posted.splitlines()) or code == 3


def test_rights_that_give_less_go_before_those_that_give_more_in_any_stack(tmp_path: pathlib.Path) -> None:
    """700 rights of one stack do not fit with 400 of another that give more: all 400 stay."""
    data = [f"- team vision is granted roles/storage.objectViewer on bucket acme-data-{n:06}" for n in range(700)]
    project = [
        f"- team speech: role roles/custom.{n:04} is added (grants permissions in the project)" for n in range(400)
    ]
    prod = "### prod: more\n\n**Rights: project**\n\n" + "\n".join(project) + "\n"
    text, code = composed(
        tmp_path, ("dev", "changes", markdown("dev: more", [OWNER, *data], [])), ("prod", "changes", prod)
    )
    lines = text.splitlines()
    assert [line for line in project if line not in lines] == []
    shown = sum(line in lines for line in data)
    assert 0 < shown < len(data)
    assert f"{len(data) - shown} of “Rights: data”" in text
    assert code == 3


def of_600_rights_and_an_owner() -> Changes:
    """The changes of a team that is granted 600 buckets and, in the middle of them, roles/owner."""
    base = fleet_with({"projectNumber": "123456789012"})
    buckets = {f"acme-data-{n:03}": "roles/storage.objectViewer" for n in range(600)}
    identity = {
        "roles": ["roles/owner"],
        "buckets": buckets,
        "acceptRoles": {"roles/owner": "migration until May"},
    }
    return compare(plan(base), plan(fleet_with({"teams.vision.identity": identity}, base=base)))


def test_the_comment_of_600_rights_and_one_owner_begins_with_the_owner(tmp_path: pathlib.Path) -> None:
    """The comment as people see it: its first lines are the golden, and every right is in it or counted."""
    text, code = composed(
        tmp_path, ("test", "changes", render_markdown(changes_document(of_600_rights_and_an_owner())))
    )
    assert_golden("\n".join(text.splitlines()[:24]) + "\n", GOLDEN)
    shown = len(set(re.findall(r"acme\\?-data\\?-\d{3}", text.partition("**Rights: data**")[2].partition("\n**")[0])))
    told = re.search(r"(\d+) of “Rights: data”", text)
    assert shown + (int(told[1]) if told else 0) == 600
    assert code == (3 if told else 0)


def test_the_picture_of_the_comment_is_of_its_golden() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn(GOLDEN.read_text(encoding="utf-8")), (
        "draw it again: python -m tests.comment_picture"
    )
