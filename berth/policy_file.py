"""Files of policies: which of their names are rules, and what would keep a rule from running."""

from __future__ import annotations

import ast
import inspect
import os
import pathlib
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, MutableMapping
from contextlib import chdir, contextmanager, redirect_stdout
from types import ModuleType
from typing import NoReturn, cast, get_origin

from berth.diagnostics import Problem, Severity
from berth.plan.fleet import FleetPlan

PolicyRule = Callable[[FleetPlan], Iterable[Problem]]
_MODULE = "berth_policy"
_CACHE = "__pycache__"
_TWICE = "is defined twice, so the first never runs; rename one, or remove it"
_ENDS = [(module, name) for module in (os, sys.modules[os.name]) for name in ("_exit", "execv", "execve")]
"""Functions with which a process ends as if all was well."""


def policy_files(paths: Iterable[pathlib.Path]) -> tuple[list[pathlib.Path], list[Problem]]:
    """Return the policy files of these paths, each once, by whatever paths and links it is reached.

    Of a folder they are all Python files in it and below it. What could be one and is not read is a fault.
    """
    files: dict[str, pathlib.Path] = {}
    problems: list[Problem] = []
    for path in paths:
        found = [path]
        if os.path.isdir(path):
            found, more = _files_below(path)
            problems += more
            if not found and not more:
                problems.append(policy_fault(path, None, "folder has no policy; add a Python file, or check its path"))
        for file in found:
            files.setdefault(os.path.realpath(file), file)
    return list(files.values()), problems


def _files_below(top: pathlib.Path) -> tuple[list[pathlib.Path], list[Problem]]:
    """Return the Python files of a folder and of those below it, linked ones too, by name."""
    found: list[pathlib.Path] = []
    problems: list[Problem] = []

    def refuse(error: OSError) -> None:
        message = f"folder cannot be read: {error.strerror}; make it readable"
        problems.append(policy_fault(pathlib.Path(str(error.filename)), None, message))

    seen: set[str] = set()
    for folder, folders, names in os.walk(top, onerror=refuse, followlinks=True):
        place = pathlib.Path(folder)
        if (real := os.path.realpath(place)) in seen:  # a link to a folder above would never end
            folders.clear()
            continue
        seen.add(real)
        for name in sorted(folders):
            if name.startswith("."):
                message = "folder begins with '.', so no rule in it runs; move it, or rename it"
                problems.append(policy_fault(place / name, None, message))
        folders[:] = sorted(name for name in folders if name != _CACHE and not name.startswith("."))
        for name in sorted(names):
            if name.endswith(".py"):
                found.append(place / name)
            elif ".py" in name.lower():
                message = "no rule in it runs, because its name does not end in .py; rename it, or move it"
                problems.append(policy_fault(place / name, None, message))
    return sorted(found), problems


def load_rules(file: pathlib.Path) -> tuple[dict[str, PolicyRule], list[Problem]]:
    """Return the rules of one file by name, in order; a file that cannot be loaded, or without rules, is a fault.

    One whose name begins with `_`, such as `__init__.py`, may have none.

    Every public callable is a rule, imported, decorated and partial ones too, except for what Berth and the standard
    library define. One that cannot be called with the plan is a fault, and so is a class, or a name that is bound to
    another value later: the rule that it was would never run.
    """
    if not os.path.isfile(file):
        return {}, [policy_fault(file, None, "policy file not found; check its path")]
    try:
        names = _run_file(file)
        rebound = _rebound_by_functions(file)
    except BaseException as error:  # a file that ends the process would pass every fleet
        if isinstance(error, KeyboardInterrupt):
            raise
        # Rules are read file by file: a package of them would hide which rule is whose.
        remedy = "; write what the policy needs into its file, or install it as a package"
        message = f"{type(error).__name__}: {error}{remedy if isinstance(error, ImportError) else ''}"
        return {}, [policy_fault(file, error, message)]
    namespace = {name: value for name, value in names.module.items() if not name.startswith("_")}
    found = {name: value for name, value in namespace.items() if _is_meant_as_rule(value)}
    wrong = {name: reason for name, value in found.items() if (reason := _why_it_cannot_run(value))}
    for name, value in names.bound:
        if namespace.get(name) is not value and _is_meant_as_rule(value):
            wrong[name] = _TWICE if name in namespace else "is deleted, so it never runs; rename it, or remove it"
    wrong |= dict.fromkeys(rebound, _TWICE)
    problems = [policy_fault(file, None, f"'{name}' {reason}") for name, reason in wrong.items()]
    if not found and not problems and not file.name.startswith("_"):
        return {}, [policy_fault(file, None, "has no rule; write a public function of the plan that yields faults")]
    rules = {name: cast("PolicyRule", value) for name, value in found.items() if not _why_it_cannot_run(value)}
    return rules, problems


class _Names(MutableMapping[str, object]):
    """The names of a policy file while it runs, which are those of its `module`; `bound` has every value they had."""

    def __init__(self, module: dict[str, object]) -> None:
        self.module = module
        self.bound: list[tuple[str, object]] = []

    def __getitem__(self, name: str) -> object:
        return self.module[name]

    def __setitem__(self, name: str, value: object) -> None:
        self.module[name] = value
        if not name.startswith("_"):
            self.bound.append((name, value))

    def __delitem__(self, name: str) -> None:
        del self.module[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.module)

    def __len__(self) -> int:
        return len(self.module)


def _run_file(file: pathlib.Path) -> _Names:
    module = ModuleType(_MODULE)
    module.__file__, module.__package__ = str(file), ""
    names = _Names(vars(module))
    sys.modules[_MODULE] = module
    try:
        exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), names.module, names)
    finally:
        del sys.modules[_MODULE]
    return names


def _rebound_by_functions(file: pathlib.Path) -> set[str]:
    """Return names of functions that a function of the file may bind again: Python stores these unseen."""
    nodes = list(ast.walk(ast.parse(file.read_bytes())))
    globals_ = {name for node in nodes if isinstance(node, ast.Global) for name in node.names if name[0] != "_"}
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)} & globals_


@contextmanager
def policy_process(folder: pathlib.Path) -> Generator[None]:
    """Run code of a policy in `folder`: what it and its children print goes to standard error, and it cannot end the
    process.
    """

    def refuse(*_: object, **__: object) -> NoReturn:
        raise SystemExit("it ends the process")

    kept = [(module, name, getattr(module, name)) for module, name in (*_ENDS, (sys, "exit"))]
    sys.stdout.flush()
    output = os.dup(1)
    try:
        for module, name in _ENDS:
            setattr(module, name, refuse)
        os.dup2(2, 1)
        with chdir(folder), redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(output, 1)
        os.close(output)
        for module, name, function in kept:
            setattr(module, name, function)


def _is_meant_as_rule(value: object) -> bool:
    """Whether a public name of a policy file is meant to be a rule; imports for helpers of rules are not."""
    if not callable(value) or get_origin(value) is not None:
        return False
    module = str(getattr(value, "__module__", None) or "")
    package = module.partition(".")[0]
    if package != "berth" and package not in sys.stdlib_module_names:
        return True
    # A function that takes the name of one from a library, as functools.wraps makes it, is not the library's.
    library = vars(sys.modules[module]).values() if module in sys.modules else ()
    return not isinstance(value, type) and all(value is not each for each in library)


def _why_it_cannot_run(rule: object) -> str | None:
    if isinstance(rule, type):
        return "is a class, so it never runs; write def, or begin its name with _"
    if inspect.iscoroutinefunction(rule) or inspect.isasyncgenfunction(rule):
        return "is async, so it never runs; write def"
    if not callable(rule) or not _takes_a_plan(rule):
        return "must have one parameter, the plan; begin names of helpers with _"
    return None


def _takes_a_plan(rule: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):  # a callable of C code has no signature
        return False
    positional = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = [each for each in positional if each.default is each.empty]
    has_rest = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    needs_keyword = any(each.kind is each.KEYWORD_ONLY and each.default is each.empty for each in parameters)
    return not needs_keyword and (len(needed) == 1 or (not needed and (len(positional) == 1 or has_rest)))


def policy_fault(file: pathlib.Path, error: BaseException | None, message: str) -> Problem:
    """Return a fault of a policy file, at the line of an error if there is one."""
    lines = (
        [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        if error
        else []
    )
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    return Problem(Severity.FAULT, "policy-failed", (), message, f"{file}:{line}" if line else str(file))
