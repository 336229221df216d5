"""The preview of a pull request: the stack file and team files of the change, and nothing of it that runs."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import time

import pytest
import yaml

from tests.targets import commit_all, run_make, write_script

KUBECONFIG = "users: [{name: a, user: {exec: {command: ./owned}}}]\n"


@pytest.fixture
def change(project: pathlib.Path, unchanged: str) -> pathlib.Path:
    """Return the checkout of a pull request inside the project: a copy that tests edit."""
    folder = project / "build" / "change"
    shutil.copytree(project, folder, ignore=shutil.ignore_patterns(".git", "build", unchanged))
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=folder, check=True)
    write_script(project / "bin" / "pulumi", f"cat {unchanged}")
    return folder


def preview(project: pathlib.Path, change: pathlib.Path, *, stack: str = "dev") -> subprocess.CompletedProcess[str]:
    """Commit the checkout as it is, and run the target of the workflow."""
    commit_all(change)
    return run_make(project, "preview-change", STACK=stack, CHANGE="build/change", SINCE="HEAD")


def config(folder: pathlib.Path) -> dict[str, object]:
    return yaml.safe_load((folder / "Pulumi.dev.yaml").read_text(encoding="utf-8"))["config"]


def edit(folder: pathlib.Path, **values: object) -> None:
    """Set values of the stack file: of its `config`, of its `fleet`, and other keys of the file."""
    file = folder / "Pulumi.dev.yaml"
    stack = yaml.safe_load(file.read_text(encoding="utf-8"))
    stack["config"] |= values.pop("config", {})
    stack["config"]["berth:fleet"] |= values.pop("fleet", {})
    file.write_text(yaml.safe_dump({**stack, **values}), encoding="utf-8")


def test_the_fleet_and_the_teams_of_the_change_are_previewed(project: pathlib.Path, change: pathlib.Path) -> None:
    edit(change, fleet={"labels": {"cost": "ml"}, "teamFiles": ["stacks/teams/new.yaml"]})
    team = change / "stacks" / "teams" / "new.yaml"
    team.write_text("teams: {new: {groups: [new@acme.example]}}\n", encoding="utf-8")
    (change / "stacks" / "teams" / "speech.yaml").unlink()
    done = preview(project, change)
    assert "it leaves out Namespace new; " in done.stdout, done.stdout + done.stderr
    assert config(project)["berth:fleet"]["labels"] == {"cost": "ml"}  # type: ignore[index]
    assert (project / "stacks" / "teams" / "new.yaml").is_file()
    assert not (project / "stacks" / "teams" / "speech.yaml").exists()


def test_the_base_of_the_change_is_previewed(project: pathlib.Path, change: pathlib.Path) -> None:
    for folder, cost in ((project, "old"), (change, "new")):
        file = folder / "stacks" / "bases" / "fleet.yaml"
        file.parent.mkdir()
        file.write_text(f"fleet: {{labels: {{cost: {cost}}}}}\n", encoding="utf-8")
    edit(change, fleet={"base": "stacks/bases/fleet.yaml"})
    done = preview(project, change)
    assert "stacks/bases" not in done.stdout
    assert "cost: new" in (project / "stacks" / "bases" / "fleet.yaml").read_text(encoding="utf-8")
    assert config(project)["berth:fleet"]["base"] == "stacks/bases/fleet.yaml"  # type: ignore[index]


def test_other_settings_and_every_other_file_are_those_of_the_default_branch(
    project: pathlib.Path, change: pathlib.Path
) -> None:
    """A kubeconfig in the config names a program; the Makefile, Pulumi.yaml and scripts are programs."""
    before = {name: (project / name).read_bytes() for name in ("Makefile", "Pulumi.yaml", "scripts/preview-guarded")}
    edit(
        change, config={"kubernetes:kubeconfig": KUBECONFIG, "berth:east": KUBECONFIG}, secretsprovider="gcpkms://mine"
    )
    for name in before:
        (change / name).write_text("touch owned\n", encoding="utf-8")
    (change / "stacks" / "templates").mkdir()
    (change / "stacks" / "templates" / "a.yaml").write_text("a: 1\n", encoding="utf-8")
    known = config(project).keys()
    done = preview(project, change)
    assert {name: (project / name).read_bytes() for name in before} == before
    assert config(project).keys() == known
    assert "gcpkms" not in (project / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    assert not change.exists()  # no path of the fleet can name a file in it
    settings, files = done.stdout.split("dev: no errors")[0].split("The preview runs the default branch's version of ")
    title, *told = settings.splitlines()
    assert title == "The preview keeps the default branch's settings beside the fleet, and leaves out:"
    assert {line.strip().partition(": ")[0]: line.strip().partition(" → ")[2] for line in told} == {
        "config.berth:east": KUBECONFIG.strip(),
        "config.kubernetes:kubeconfig": KUBECONFIG.strip(),
        "secretsprovider": "gcpkms://mine",
    }
    changed = [*sorted(before), "stacks/templates/a.yaml"]
    assert files.splitlines() == ["these files of the change:", *(f"  {path}" for path in changed)]


def write_team(change: pathlib.Path, text: str) -> pathlib.Path:
    file = change / "stacks" / "teams" / "bad.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def as_kubeconfig(change: pathlib.Path) -> None:
    write_team(change, "teams: {}\n" + KUBECONFIG)


def as_kubeconfig_in_a_base(change: pathlib.Path) -> None:
    (change / "stacks" / "bases").mkdir()
    (change / "stacks" / "bases" / "bad.yaml").write_text("fleet: {}\n" + KUBECONFIG, encoding="utf-8")


def as_link(change: pathlib.Path) -> None:
    (change / "stacks" / "teams" / "bad.yaml").symlink_to("/etc/passwd")


def as_linked_folder(change: pathlib.Path) -> None:
    """`stacks/teams` leads to a folder with YAML files outside of the checkout."""
    shutil.rmtree(change / "stacks" / "teams")
    outside = change.parent / "outside"
    outside.mkdir()
    (outside / "secret.yaml").write_text("teams: {leaked: {groups: [a@acme.example]}}\n", encoding="utf-8")
    (change / "stacks" / "teams").symlink_to(outside)


def as_linked_parent(change: pathlib.Path) -> None:
    shutil.move(change / "stacks", change.parent / "moved")
    (change / "stacks").symlink_to(change.parent / "moved")


def as_linked_stack(change: pathlib.Path) -> None:
    (change / "Pulumi.dev.yaml").unlink()
    (change / "Pulumi.dev.yaml").symlink_to("/etc/passwd")


def as_other_repository(change: pathlib.Path) -> None:
    folder = change / "stacks" / "teams" / "bad.yaml"
    folder.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / "a").touch()
    commit_all(folder)


def as_merge_bomb(change: pathlib.Path) -> None:
    """Each mapping merges the one before twenty times; PyYAML took 25 seconds and 735 MB for 520 bytes of this."""
    lines = ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9))]
    write_team(change, "\n".join(lines) + "\nteams: {}\n")


def as_alias_bomb(change: pathlib.Path) -> None:
    lines = ["x0: &x0 [a, a]", *(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 9))]
    write_team(change, "\n".join(lines) + "\nteams: {}\n")


def as_stack_bomb(change: pathlib.Path) -> None:
    file = change / "Pulumi.dev.yaml"
    lines = ["  b0: &b0 [a, a]", *(f"  b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]" for n in range(1, 9))]
    file.write_text(file.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")


def as_merge_in_fleet(change: pathlib.Path) -> None:
    file = change / "Pulumi.dev.yaml"
    at = "  berth:fleet:\n"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(at, f"  a:x: &x {{y: 1}}\n{at}    <<: *x\n"), encoding="utf-8")


def as_deep(change: pathlib.Path) -> None:
    write_team(change, "teams: " + "[" * 100_000)


def as_latin(change: pathlib.Path) -> None:
    (change / "stacks" / "teams" / "bad.yaml").write_bytes(b"teams: {a: \xff}\n")


def as_large(change: pathlib.Path) -> None:
    write_team(change, "teams: {}\n" + "#" * (1 << 20))


def as_many(change: pathlib.Path) -> None:
    for number in range(4_001):
        (change / "stacks" / "teams" / f"t{number}.yaml").write_text("teams: {}\n", encoding="utf-8")


def as_total(change: pathlib.Path) -> None:
    for number in range(9):
        (change / "stacks" / "teams" / f"t{number}.yaml").write_text("teams: {}\n" + "#" * 1_000_000, encoding="utf-8")


def as_pointer(change: pathlib.Path) -> None:
    """A file that is kept elsewhere (Git LFS): what git has of it is its address."""
    write_team(change, f"version: https://git-lfs.github.com/spec/v1\noid: sha256:{'0' * 64}\nsize: 12\n")


def as_text(change: pathlib.Path) -> None:
    write_team(change, "teams: {")


def without_stack(change: pathlib.Path) -> None:
    (change / "Pulumi.dev.yaml").unlink()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (as_kubeconfig, "stacks/teams/bad.yaml has other keys than teams; remove them"),
        (as_kubeconfig_in_a_base, "stacks/bases/bad.yaml has other keys than fleet; remove them"),
        (as_link, "stacks/teams/bad.yaml is missing, or is no regular file; commit it as a file"),
        (as_linked_folder, "stacks/teams is missing, or is no regular folder; commit it as a folder"),
        (as_linked_parent, "stacks is missing, or is no regular folder; commit it as a folder"),
        (as_linked_stack, "Pulumi.dev.yaml is missing, or is no regular file; commit it as a file"),
        (as_other_repository, "stacks/teams/bad.yaml is missing, or is no regular file; commit it as a file"),
        (as_large, "stacks/teams/bad.yaml is larger than 1 MiB; split it"),
        (as_many, "stacks/teams and stacks/bases have more than 4,000 files; write several teams in one"),
        (as_total, "the files in stacks/teams and stacks/bases are larger than 8 MiB; remove some"),
        (as_pointer, "stacks/teams/bad.yaml has other keys than teams; remove them"),
        (as_text, "stacks/teams/bad.yaml:1:8: error: '{' opens here and is not closed; write '}' at its end"),
        (as_merge_bomb, "stacks/teams/bad.yaml:2: error: a1: Pulumi drops the merge key"),
        (as_alias_bomb, "stacks/teams/bad.yaml:5: error: x4[3]: YAML aliases add more than 10,000 values"),
        (as_stack_bomb, "Pulumi.dev.yaml:"),
        (as_merge_in_fleet, "Pulumi.dev.yaml:"),
        (as_deep, "stacks/teams/bad.yaml:1:71: error: nested more than 64 levels deep"),
        (as_latin, "stacks/teams/bad.yaml:1:12: error: byte 0xff is not UTF-8"),
        (without_stack, "Pulumi.dev.yaml is missing, or is no regular file; commit it as a file"),
    ],
)
def test_a_file_of_another_kind_ends_the_workflow_before_the_preview(
    project: pathlib.Path, change: pathlib.Path, spoil: object, message: str
) -> None:
    spoil(change)  # type: ignore[operator]
    write_script(project / "bin" / "pulumi", "touch previewed")
    before = (project / "Pulumi.dev.yaml").read_bytes()
    started = time.monotonic()
    done = preview(project, change)
    assert time.monotonic() - started < 10
    assert done.stderr.startswith(message), done.stderr
    assert done.returncode != 0
    assert not (project / "previewed").exists()
    assert (project / "Pulumi.dev.yaml").read_bytes() == before


@pytest.mark.parametrize("value", ["", ".", "..", "/tmp"])
def test_only_a_folder_inside_the_project_is_taken_and_deleted(
    project: pathlib.Path, change: pathlib.Path, value: str
) -> None:
    done = run_make(project, "preview-change", STACK="dev", CHANGE=value, SINCE="HEAD")
    assert "which is no folder inside" in done.stderr
    assert change.exists()


def test_a_stack_that_the_default_branch_lacks_is_not_previewed(project: pathlib.Path, change: pathlib.Path) -> None:
    shutil.copy(change / "Pulumi.dev.yaml", change / "Pulumi.new.yaml")
    done = preview(project, change, stack="new")
    assert done.stderr.splitlines()[0].startswith("Pulumi.new.yaml is not on the default branch; merge it")


def test_a_folder_that_is_no_checkout_is_not_taken(project: pathlib.Path, change: pathlib.Path) -> None:
    shutil.rmtree(change / ".git")
    done = run_make(project, "preview-change", STACK="dev", CHANGE="build/change", SINCE="HEAD")
    assert "which is no git checkout" in done.stderr
    assert change.exists()


def test_what_is_only_in_the_work_tree_is_not_taken(project: pathlib.Path, change: pathlib.Path) -> None:
    """Objects of the commit are read; a file that a hook or a filter wrote beside them is not."""
    commit_all(change)
    write_team(change, "teams: {left: {groups: [a@acme.example]}}\n")
    edit(change, fleet={"labels": {"cost": "other"}})
    done = run_make(project, "preview-change", STACK="dev", CHANGE="build/change", SINCE="HEAD")
    assert "dev: safe: the preview loses nothing" in done.stdout, done.stdout + done.stderr
    assert not (project / "stacks" / "teams" / "bad.yaml").exists()
    assert "labels" not in config(project)["berth:fleet"]  # type: ignore[operator]


def test_an_alias_of_the_change_is_written_out(project: pathlib.Path, change: pathlib.Path) -> None:
    file = change / "Pulumi.dev.yaml"
    text = file.read_text(encoding="utf-8")
    at = "  berth:fleet:\n"
    file.write_text(text.replace(at, f"{at}    labels: &l {{cost: ml}}\n"), encoding="utf-8")
    done = preview(project, change)
    assert "it leaves out the change of Cluster cluster-cluster; " in done.stdout, done.stdout + done.stderr
    assert "&" not in (project / "Pulumi.dev.yaml").read_text(encoding="utf-8")
