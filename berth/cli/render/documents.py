"""A Kubernetes object as a YAML document that parsers of YAML 1.1 and 1.2 read alike.

Most entries of a fleet's objects repeat, so the text of each entry is cached.
"""

from __future__ import annotations

import marshal
import re
from functools import lru_cache
from textwrap import indent
from typing import Any, cast

import ryaml
import yaml

_INDENT = "  "
_MARSHAL_VERSION = 2
"""A version of `marshal` without references between objects, so that equal values have equal bytes."""
_RETYPED = re.compile(
    r"(?:^| )(?!(?:0|-?[1-9][0-9]{0,17})$)(?:[yn]|yes|no|on|off|=|<<|[-+]?\.?[0-9][-+0-9_:.eETtZz ]*)(?::.*)?$",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches the end of a line with text that YAML 1.1, which kubectl reads, may parse as a boolean, number or date.
It may match too much, never too little. Whole numbers are excluded: text that looks like one is already quoted."""


def yaml_document(manifest: dict[str, object]) -> str:
    """Return the document, with its `---` line."""
    lines = ["---\n"]
    _write(manifest, 0, lines)
    return "".join(lines)


def _write(mapping: dict[str, object], depth: int, lines: list[str]) -> None:
    for key, value in mapping.items():
        kind = type(value)
        if kind is dict and value:
            lines.append(_header(key, depth))
            _write(cast("dict[str, object]", value), depth + 1, lines)
        elif kind is dict or kind is list:
            lines.append(_list(key, marshal.dumps(cast("Any", value), _MARSHAL_VERSION), depth))
        else:
            lines.append(_scalar(key, value, depth))


@lru_cache(maxsize=1 << 16, typed=True)
def _scalar(key: str, value: object, depth: int) -> str:
    return indent(_text({key: value}), depth * _INDENT)


@lru_cache(maxsize=1 << 12)
def _header(key: str, depth: int) -> str:
    return indent(_text({key: 0}).removesuffix(" 0\n") + "\n", depth * _INDENT)


@lru_cache(maxsize=1 << 14)
def _list(key: str, value: bytes, depth: int) -> str:
    return indent(_text({key: marshal.loads(value)}), depth * _INDENT)


def _text(mapping: dict[str, object]) -> str:
    """Return a mapping as YAML: from ryaml, or from PyYAML if ryaml's text reads differently in YAML 1.1."""
    text = ryaml.dumps(mapping)  # pyright: ignore[reportPrivateImportUsage]: the package exports it without a stub
    if _RETYPED.search(text):
        text = yaml.safe_dump(mapping, sort_keys=False, default_flow_style=False, width=120)
    return text
