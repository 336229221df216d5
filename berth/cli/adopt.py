"""`berth adopt`: a stack file and import files for a cluster that stands."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Generator, Iterator, Sequence

from msgspec import Struct

from berth.adopt.first_update import told
from berth.adopt.imports import files, unknown
from berth.adopt.inventory import Unusable, found
from berth.adopt.pools import Left
from berth.adopt.stack_file import adopt, text
from berth.cli import drain, preview
from berth.diagnostics import Problem
from berth.text import many


class Result(Struct, frozen=True):
    """What is written (file name → text), what is told besides, and the faults of the stack file."""

    written: dict[str, str]
    left: tuple[Left, ...]
    faults: tuple[Problem, ...]


def run(stack: str, given: Sequence[pathlib.Path], root: pathlib.Path, context: str | None = None) -> Result:
    """Read the answers, write nothing yet. Raises Unusable.

    The import files are of what the real program registers for the stack file, so a fault in it leaves them out. With
    a `context` only what lies inside the cluster is adopted.
    """
    here = found(_texts(given), context)
    with _as_given():
        adopted = adopt(here, stack)
    stack_file = text(adopted)
    verdict = drain.verdict(stack_file, stack)
    written = {f"Pulumi.{stack}.yaml": stack_file}
    if verdict.faults or verdict.plan is None:
        return Result(written, adopted.left, verdict.faults)
    registered = preview.run(verdict, root, preview=False).resources  # names of one in another are known then
    imported = files(registered, here, verdict.plan)
    for provider, content in imported.items():
        written[f"{stack}.{provider}.import.json"] = json.dumps(content, indent=2) + "\n"
    with _as_given():
        changes = told(here, verdict.plan)
    return Result(written, (*adopted.left, *changes, *unknown(registered, imported)), ())


@contextlib.contextmanager
def _as_given() -> Generator[None]:
    """What is read was written by others: whatever shape it has, that is no fault of Berth's own. Raises Unusable."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        said = f"{type(error).__name__}: {error}"
        raise Unusable(f"the answers are not as the APIs give them ({said}); give them whole, as they are") from error


def _texts(given: Sequence[pathlib.Path]) -> dict[str, str]:
    texts: dict[str, str] = {}
    wrong: list[str] = []
    for file in given:
        try:
            texts[str(file)] = file.read_text(encoding="utf-8")
        except OSError as error:
            wrong.append(f"{file}: {(error.strerror or 'cannot be read').lower()}")
        except UnicodeDecodeError:
            wrong.append(f"{file}: no text in UTF-8; ask for it with --format json, or -o json of kubectl")
    if wrong:
        raise Unusable(*wrong)
    return texts


def write(result: Result, folder: pathlib.Path) -> None:
    """Write the files. Raises Unusable, and writes none, where one of them is there."""
    if there := [name for name in result.written if (folder / name).exists()]:
        raise Unusable(*(f"{name} is there, and is not overwritten: take another name, or remove it" for name in there))
    for name, content in result.written.items():
        (folder / name).write_text(content, encoding="utf-8")


def lines(result: Result) -> Iterator[str]:
    """What was written, and what it does not say."""
    for name, content in result.written.items():
        entries = json.loads(content)["resources"] if name.endswith(".json") else ()
        real = sum("id" in each for each in entries)
        what = f"{many(real, 'resource')} to import" if name.endswith(".json") else "written"
        yield f"{name}: {what}"
    if result.left:
        yield f"not said, taken for granted, or changed by the first `pulumi up` ({len(result.left)}):"
        yield from (f"  {each.line()}" for each in result.left)
