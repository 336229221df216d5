"""Loads the documents of a YAML file and, when told to, writes them again with PyYAML's C dumper: the yardstick."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import Any

import yaml


class Dumper(yaml.CSafeDumper):
    """Without anchors, as a manifest has none."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


if __name__ == "__main__":
    with pathlib.Path(sys.argv[1]).open() as stream:
        documents = list(yaml.load_all(stream, yaml.CSafeLoader))
    if sys.argv[2] == "dump":
        with pathlib.Path(os.devnull).open("w") as sink:
            yaml.dump_all(documents, sink, Dumper=Dumper, sort_keys=False, explicit_start=True)
