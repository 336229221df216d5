"""One Kubernetes object as a YAML document that readers of YAML 1.1 and 1.2 understand alike.

A mapping is the texts of its entries one below the other, and most entries of a fleet's objects are alike: each is
written once, however many objects and clusters have it.
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
"""The version of `marshal` that says nothing of which values are one object: what is equal has equal bytes."""
_RETYPED = re.compile(
    r"(?:^| )(?!(?:0|-?[1-9][0-9]{0,17})$)(?:[yn]|yes|no|on|off|=|<<|[-+]?\.?[0-9][-+0-9_:.eETtZz ]*)(?::.*)?$",
    re.IGNORECASE | re.MULTILINE,
)
"""The end of a line that YAML 1.1, which kubectl reads, may take for a boolean, a number or a date though it is text.
It finds too much rather than too little. A plain whole number is one to both: text that looks like it is quoted."""


def yaml_document(manifest: dict[str, object]) -> str:
    """The whole document, with the line that begins it."""
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
    """The fast writer speaks YAML 1.2 and leaves a namespace called `no` unquoted; what has such a word in it goes
    through the slow one.
    """
    text = ryaml.dumps(mapping)  # pyright: ignore[reportPrivateImportUsage]: it is the package's one public face
    if _RETYPED.search(text):
        text = yaml.safe_dump(mapping, sort_keys=False, default_flow_style=False, width=120)
    return text
