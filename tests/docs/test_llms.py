"""llms.txt: short enough for any assistant, with every verb, links that exist, and a stack file that is sound."""

from __future__ import annotations

import os
import pathlib
import re

from typer.testing import CliRunner

from berth.cli import VERBS, app
from tests.stack_files import ROOT

TEXT = (ROOT / "llms.txt").read_text(encoding="utf-8")


def test_it_has_at_most_4000_tokens() -> None:
    """Counted too high: a tokenizer makes one token of most words, and at most one of three characters."""
    pieces = re.findall(r"\w{1,3}|[^\w\s]", TEXT)
    assert len(pieces) <= 4000


def test_its_golden_list_has_every_verb_with_its_help() -> None:
    """Written with BERTH_GOLDEN=write (`make golden`)."""
    verbs = "".join(f"- `berth {verb}`: {text}\n" for verb, text in VERBS.items())
    head, _, rest = TEXT.partition("## Verbs\n\n")
    tail = rest.partition("## Tasks\n")[2]
    written = f"{head}## Verbs\n\n{verbs}\n## Tasks\n{tail}"
    if os.environ.get("BERTH_GOLDEN") == "write":
        (ROOT / "llms.txt").write_text(written, encoding="utf-8")
    assert (ROOT / "llms.txt").read_text(encoding="utf-8") == written


def test_its_links_exist() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert [link for link in links if not (ROOT / link).exists()] == []
    assert len(links) > 15


def test_its_stack_file_is_sound(tmp_path: pathlib.Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    (tmp_path / "Pulumi.a.yaml").write_text(block, encoding="utf-8")
    done = CliRunner().invoke(app, ["check", str(tmp_path / "Pulumi.a.yaml")])
    assert done.exit_code == 0, done.output
