"""A cluster that Berth did not create: the stack file and every printed line, against goldens."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from berth.cli import app
from tests.stack_files import assert_golden

HERE = Path(__file__).parent / "foreign"
FILES = [str(HERE / "cluster.json"), str(HERE / "objects.json")]


def test_golden_of_a_cluster_that_somebody_else_made(folder: Path) -> None:
    result = CliRunner().invoke(app, ["adopt", "moved", *FILES])
    assert result.exit_code == 0, result.stderr
    assert_golden(result.stdout, HERE / "told.txt")
    for name in ("Pulumi.moved.yaml", "moved.google.import.json", "moved.kubernetes.import.json"):
        assert_golden((folder / name).read_text(encoding="utf-8"), HERE / name)


def test_golden_of_what_lies_inside_that_cluster(folder: Path) -> None:
    """Nothing of its machines is imported, and no default pool is in danger."""
    result = CliRunner().invoke(app, ["adopt", "inside", *FILES, "--inside", "gke_acme-research_europe-west4_ml"])
    assert result.exit_code == 0, result.stderr
    assert_golden(result.stdout, HERE / "told-inside.txt")
    assert sorted(each.name for each in folder.glob("*inside*")) == [
        "Pulumi.inside.yaml",
        "inside.kubernetes.import.json",
    ]
    for name in ("Pulumi.inside.yaml", "inside.kubernetes.import.json"):
        assert_golden((folder / name).read_text(encoding="utf-8"), HERE / name)


def test_nothing_is_ever_overwritten(folder: Path) -> None:
    (folder / "moved.google.import.json").write_text("mine")
    result = CliRunner().invoke(app, ["adopt", "moved", *FILES])
    assert result.exit_code == 1
    assert (
        result.stderr
        == "moved.google.import.json exists and is not overwritten; choose another name, or delete the file\n"
    )
    assert (folder / "moved.google.import.json").read_text() == "mine"
    assert not (folder / "Pulumi.moved.yaml").exists()


def test_an_incomplete_answer_is_reported(folder: Path) -> None:
    text = (HERE / "objects.json").read_text(encoding="utf-8")
    cut = text.replace('"spec": {"clusterQueue": "serving-queue"}', '"spec": {}')
    assert cut != text
    (folder / "cut.json").write_text(cut, encoding="utf-8")
    result = CliRunner().invoke(app, ["adopt", "moved", FILES[0], "cut.json"])
    assert result.exit_code == 1
    assert result.stderr == (
        "cut.json: LocalQueue 'default': spec.clusterQueue is not a text; give the answer of kubectl as it is\n"
    )


def test_a_missing_file_is_reported(folder: Path) -> None:
    result = CliRunner().invoke(app, ["adopt", "moved", "no.json", str(folder)])
    assert result.exit_code == 1
    remedy = "write it with --format json of gcloud, or -o json of kubectl"
    assert (
        result.stderr
        == f"error: no file 'no.json' [no-file]\n{folder}: error: is a directory, not a file; {remedy} [unreadable]\n"
    )


def test_an_unknown_stack_name_is_rejected(folder: Path) -> None:
    result = CliRunner().invoke(app, ["adopt", "../My stack", *FILES])
    assert result.exit_code == 2
    assert "NAME: '../My stack' is not a cluster name" in result.stderr
    assert list(folder.glob("*.import.json")) == []


def test_a_folder_without_the_program_is_reported(folder: Path) -> None:
    """Its Pulumi.yaml may be anybody's."""
    (folder / "__main__.py").unlink()
    result = CliRunner().invoke(app, ["adopt", "moved", *FILES])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{folder / '__main__.py'}: no such file; ")
    assert not (folder / "Pulumi.moved.yaml").exists()
