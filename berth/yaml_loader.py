"""PyYAML's safe loader, in C if available, for what people write, and a faster reader of Berth's own YAML tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import ryaml
import yaml

LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Loader of plain values; the C implementation is about ten times faster."""
SLOW_LOADER: Final[Any] = yaml.SafeLoader
"""PyYAML's own loader, which reads ahead only as far as the key of a line."""


def load_yaml(text: str) -> Any:
    """Return the value of a YAML text. Raises yaml.YAMLError."""
    return yaml.load(text, LOADER)


def load_documents(text: str) -> list[object]:
    """Return the values of all documents of a YAML text. Raises yaml.YAMLError."""
    return list(yaml.load_all(text, LOADER))


def load_table(path: Path) -> Any:
    """Return the value of a YAML file that is part of Berth, whose days are text. The result is not cached.

    It is YAML 1.2 without merge keys, which ryaml reads about five times as fast as PyYAML: `berth check` reads 14.
    """
    text = path.read_text(encoding="utf-8")
    return ryaml.loads(text)  # pyright: ignore[reportPrivateImportUsage]: the package exports it without a stub
