"""What README.md and docs/examples.md say of the examples and of the installation."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.stack_files import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted(file.stem for file in (ROOT / "stacks" / "examples").glob("*.yaml"))


def test_every_example_is_in_the_table_and_has_what_an_operator_sees() -> None:
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    seen = re.findall(r"^\*\*([\w-]+)\.\*\* \S", page.partition("## What an operator sees\n")[2], flags=re.MULTILINE)
    walks = "".join(each.read_text(encoding="utf-8") for each in (ROOT / "docs" / "walks").glob("*.md"))
    walked = [name for name in EXAMPLES if f"](../../stacks/examples/{name}.yaml)" in walks and name not in seen]
    table = re.findall(r"^\| \[([\w-]+)\.yaml\]", page, flags=re.MULTILINE)
    assert [name for name in table if name not in walked] == seen
    assert sorted([*seen, *walked]) == EXAMPLES == sorted(table)
    assert sorted(re.findall(r"\[([\w-]+)\]\(stacks/examples/\1\.yaml\)", README)) == EXAMPLES


def test_the_readme_can_be_read_in_some_minutes() -> None:
    assert len(README.split()) <= 1300


def test_no_page_installs_from_the_public_index() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"(?<!Do not run `)pip install '?berth", text) == [], page.name


def test_an_installation_prints_its_steps_and_size_first(tmp_path: Path) -> None:
    """With a Python that cannot make an environment, so that nothing is installed."""
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 0\nexit 1\n', encoding="utf-8")
    python.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        ["make", "preview", f"PYTHON={python}"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    pins = sum(
        "==" in line
        for name in ("requirements.txt", "requirements-dev.txt")
        for line in (tmp_path / name).read_text().splitlines()
    )
    assert done.returncode != 0
    first_line = done.stdout.splitlines()[0]
    assert first_line.startswith(f"Installing {pins} Python packages in .venv (about 800 MB, some minutes)")
