"""Run the program of a project directory as the language host would: its directory first on the path."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import runpy
import sys
from collections.abc import Collection, Generator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final, cast

from berth.engine import source_locations
from berth.engine.answers import Answers, plausible_outputs
from berth.engine.host import Preview, record_program
from berth.engine.recorder import ProviderFunctions
from berth.engine.records import SECRET, ProgramError, References
from berth.yaml_loader import load_yaml

_BERTH_ROOT: Final = Path(__file__).resolve().parents[2]
"""The directory of this engine, if it is not installed."""


def run_program(
    root: Path,
    stack: str,
    config_value: object,
    config: Mapping[str, object] | None = None,
    *,
    preview: bool = True,
    secrets: Collection[str] = (),
    answers: Answers = plausible_outputs,
    config_key: str = "berth:fleet",
    references: References | None = None,
    invoke: ProviderFunctions | None = None,
) -> Preview:
    """Run `root/__main__.py` with `berth:fleet` set to `fleet`; return what it registers, or raise `ProgramError`.

    `kind` is another key to set instead; `references` are the outputs of stacks that the program refers to,
    `invoke` answers functions of providers.

    `config` holds the stack file's other keys (`gcp:project`, `pulumi:disable-default-providers`, ...), as in the file;
    encrypted values stay secret and unknown.
    """
    project_folder = root.absolute()
    project = read_project_name(project_folder)
    main = project_folder / "__main__.py"
    if not main.is_file():
        raise ProgramError(
            f"{main}: no such file; run the command in the folder with Berth's Pulumi.yaml and __main__.py"
        )
    config_values = {key if ":" in key else f"{project}:{key}": value for key, value in (config or {}).items()}
    encoded = {key: encode_config_value(value) for key, value in {**config_values, config_key: config_value}.items()}
    with _language_host(project_folder):
        return record_program(
            lambda: runpy.run_path(str(main), run_name="__main__") and None,
            project=project,
            stack=stack,
            config=encoded,
            preview=preview,
            # A ciphertext makes the whole value secret.
            secrets=[*secrets, *(key for key, value in config_values.items() if _mask_ciphertexts(value) != value)],
            answers=answers,
            references=references,
            invoke=invoke,
            base=project_folder,
        )


def read_project_name(root: Path) -> str:
    """Return the project's name in `Pulumi.yaml`."""
    file = root / "Pulumi.yaml"
    if not file.is_file():
        raise ProgramError(f"{file}: no such file; run the command in the project's folder")
    project = cast(object, load_yaml(file.read_text(encoding="utf-8")))
    name = cast(Mapping[str, object], project).get("name") if isinstance(project, Mapping) else None
    if not isinstance(name, str):
        raise ProgramError(f"{file}: 'name' is missing")
    return name


def encode_config_value(value: object) -> str:
    """Return a value of the stack file as the engine passes it: strings unchanged, others as JSON with sorted keys."""
    if isinstance(value, str):
        return value
    return (
        json.dumps(_mask_ciphertexts(value), sort_keys=True, separators=(",", ":"))
        if not _is_ciphertext(value)
        else SECRET
    )


def _is_ciphertext(value: object) -> bool:
    """Return whether a value of the stack file is a ciphertext (`{secure: ...}`)."""
    return isinstance(value, Mapping) and set(cast(Mapping[str, object], value)) == {"secure"}


def _mask_ciphertexts(value: object) -> object:
    """Return the value with every ciphertext in it replaced by a marker."""
    if _is_ciphertext(value):
        return SECRET
    if isinstance(value, Mapping):
        return {key: _mask_ciphertexts(item) for key, item in cast(Mapping[str, object], value).items()}
    return [_mask_ciphertexts(item) for item in cast(list[object], value)] if isinstance(value, list) else value


@contextlib.contextmanager
def _language_host(root: Path) -> Generator[None]:
    """Make the program's directory the current one and first on the path, and hide loaded modules of the same names."""
    path, arguments, folder, own_modules = list(sys.path), sys.argv, Path.cwd(), _own_modules(root)
    for name in own_modules:
        del sys.modules[name]
    importlib.invalidate_caches()
    sys.path[:0], sys.argv = [str(root)], [str(root)]
    os.chdir(root)
    try:
        yield
    finally:
        os.chdir(folder)
        sys.path[:], sys.argv = path, arguments
        for name in _own_modules(root):
            del sys.modules[name]
        sys.modules.update(own_modules)


def _own_modules(root: Path) -> dict[str, ModuleType]:
    """Return loaded modules that the program would import from its own directory, except the standard library.

    None for the project that this engine is part of: its modules are already loaded, and reloading them takes longer
    than the program needs until its first resource.
    """
    if root.resolve() == _BERTH_ROOT:
        return {}
    names = {entry.stem for entry in root.iterdir() if entry.is_dir() or entry.suffix == ".py"} - {"__main__"}
    own = {name: module for name, module in list(sys.modules.items()) if name.split(".")[0] in names}
    files = {
        name: getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
        for name, module in own.items()
    }
    return {name: own[name] for name, file in files.items() if file and not source_locations.is_installed(file)}
