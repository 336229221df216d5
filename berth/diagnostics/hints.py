"""What to write instead of values and keys that people know from other tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import cast

from msgspec import Struct

from berth.yaml_loader import load_table


class ForeignKey(Struct, frozen=True):
    """A key of another tool: the key here that replaces it, what to write as YAML, and a clause that says why.

    `write` is empty for what has no key here. `takes` is the part of it that the person's own text replaces, if that
    has the form `like`; `values` has what to write for single values of the person's.
    """

    own: str
    write: str = ""
    say: str = ""
    takes: str = ""
    like: str = r"[A-Za-z0-9][\w.@-]*"
    values: Mapping[str, str] = {}

    def remedy(self, value: object) -> str:
        """Return what to do, after a semicolon; with what `value` tells in place of the example's."""
        if not self.write:
            return f"; remove it: {self.say}"
        return f"; write {self._written(value)}" + (f" ({self.say})" if self.say else "")

    def _written(self, value: object) -> str:
        name = value.rpartition("/")[2] if isinstance(value, str) else ""
        if name in self.values:
            return self.values[name]
        range_ = _as_mapping(value)
        if self.takes and re.fullmatch(self.like, name):
            return self.write.replace(self.takes, name)
        example, written = r"\[[\w-]+\]" if isinstance(value, list) else r"\d+", self.write
        least = re.fullmatch(r"(\w+: \{min: )\d+(, max: )(\d+)\}", written)
        if least and range_ and range_.keys() <= {"min", "max"}:
            written = f"{least[1]}{range_.get('min', 0)}{least[2]}{range_.get('max', least[3])}}}"
        elif least and isinstance(value, int) and not isinstance(value, bool):
            written = f"{least[1]}{value}{least[2]}{max(value, int(least[3]))}}}"
        elif isinstance(value, list) or type(value) is int:
            found = re.fullmatch(rf"(\w+: (?:\{{\w+: )?){example}(\}}?)", written)
            written = f"{found[1]}{str(cast('object', value)).replace(chr(39), '')}{found[2]}" if found else written
        return written


_API = r"(?:https?:)?//[\w.-]+/(?:compute/)?(?:(?:v1|beta|alpha)/)?"
"""The start of a URL or full name of a resource of Google Cloud, before its path."""
_REPAIRS: tuple[Callable[[str], str], ...] = (
    lambda value: re.sub("[ _]+", "-", value.strip().lower()),
    lambda value: re.sub(r"(?<=\w)[ _.]+(?=\w)", "-", value.strip().lower()),
    lambda value: value.strip("“”\"'"),
    lambda value: value.rstrip(",;"),
    lambda value: re.sub(r"(?<=\d)\s*[*×xX]\s*(?=\d)", "x", value),
    lambda value: value.removeprefix("v"),
    lambda value: re.sub("^(?:projects/|gs://)([^/]+)/?$", r"\1", value),  # a longer path may name another project
    lambda value: re.sub(f"^{_API}/?", "", value),
    lambda value: re.sub("/cryptoKeyVersions/[0-9]+$", "", value),
    lambda value: re.sub("^(?:group|user|serviceAccount):", "", value),
    lambda value: f"roles/{value}",
    lambda value: re.sub(r"^([a-z]+-[a-z]+[0-9]+)-[a-z]$", r"\1", value),
    lambda value: re.sub(r"^([a-z]+-[a-z]+[0-9]+)([a-z])$", r"\1-\2", value),
    lambda value: f"{value}T00:00:00Z",
)
"""Changes that make a text valid which people often write for another one."""


def repaired(text: str, is_valid: Callable[[str], bool]) -> str:
    """Return the first repair of a text that is valid; "" if there is none."""
    return next((near for near in (repair(text) for repair in _REPAIRS) if near != text and is_valid(near)), "")


_RESOURCE_PATH = re.compile(rf"(?:{_API})?/?((?:[a-z]\w+/[\w.@-]+/|global/)*[a-z]\w+/[\w.@-]+)/?")


def names_in_path(text: str) -> dict[str, str]:
    """Return the names in a resource path of Google Cloud, or its URL, by kind: `zones/us-east5-a` has a zone.

    So has an address of Cloud Storage a bucket. {} for any other text.
    """
    if (bucket := re.fullmatch(r"gs://([^/]+)(?:/.*)?", text)) is not None:
        return {"bucket": bucket[1]}
    path = _RESOURCE_PATH.fullmatch(text)
    parts = [part for part in path[1].split("/") if part != "global"] if path else []
    return {kind.removesuffix("s"): name for kind, name in zip(parts[::2], parts[1::2], strict=False)}


@cache
def foreign_keys() -> dict[str, tuple[ForeignKey, ...]]:
    """Return the rows of `foreign_keys.yaml` by the plain form of the foreign key (`plain_key`), in their order."""
    rows: dict[str, tuple[ForeignKey, ...]] = {}
    for row in load_table(Path(__file__).with_name("foreign_keys.yaml")):
        entry = ForeignKey(**{field: text for field, text in row.items() if field != "keys"})
        for key in row["keys"]:
            rows[plain_key(key)] = (*rows.get(plain_key(key), ()), entry)
    return rows


def plain_key(key: str) -> str:
    """Return a key without case, `_` and `-`: the same for a flag, a key of an API and one of Terraform."""
    return re.sub("[-_]", "", key).lower()


def foreign_key(key: str, known: Collection[str]) -> ForeignKey | None:
    """Return the row of a key of another tool, if the key that replaces it is known here."""
    return next((row for row in foreign_keys().get(plain_key(key), ()) if row.own in known), None)


def foreign_key_hint(key: str, known: Collection[str], value: object = None) -> str:
    """Return what to write for a key of another tool, if the key that replaces it is known here; "" otherwise."""
    row = foreign_key(key, known)
    return row.remedy(value) if row else ""


def _as_mapping(value: object) -> dict[object, object]:
    return cast("dict[object, object]", value) if isinstance(value, dict) else {}


def with_written(value: object, form: str) -> str:
    """Return a form with what the person wrote: a number or an amount as its one value, `a=x:NoSchedule` as a taint."""
    if isinstance(value, int) and not isinstance(value, bool):
        return re.sub(r"^\{(\w+): \d+\}$", rf"{{\g<1>: {value}}}", form)
    if isinstance(value, str) and re.fullmatch(r"\d+[KMGT]i", value):
        return re.sub(r"^\{(\w+): \d+[KMGT]i\}$", rf"{{\g<1>: {value}}}", form)
    if isinstance(value, str) and re.fullmatch(r"[\d.]+/\d{1,2}", value):
        return form.replace("203.0.113.0/24", value)
    if isinstance(value, str) and form.startswith("{existing: <name>,"):
        return form.replace("<name>", value.rpartition("/")[2])
    named = re.fullmatch(r"(\[?\{\w+: )<name>(, \w+: )\d+(\}\]?)", form)
    if named and isinstance(value, str) and re.fullmatch(r"[a-z][\w.-]*", value):
        return f"{named[1]}{value}{named[2]}all{named[3]}"
    pairs = _as_mapping(value).items()
    if named and named[1].startswith("[") and pairs and all(isinstance(amount, int | str) for _, amount in pairs):
        return f"[{', '.join(f'{named[1][1:]}{key}{named[2]}{amount}}}' for key, amount in pairs)}]"
    taint = re.fullmatch(r"([\w./-]+)=([\w.-]*):(NoSchedule|NoExecute|PreferNoSchedule)", str(value))
    if taint is None or not form.strip("[").startswith("{key: "):
        return form
    own = f'{{key: {taint[1]}, value: "{taint[2]}", effect: {taint[3]}}}'
    return f"[{own}]" if form.startswith("[") else own
