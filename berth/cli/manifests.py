"""Manifests that `berth lint` and `berth admit` read: files, folders and stdin."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from berth.diagnostics import Problem, Severity
from berth.jobs.files import ManifestDocument, find_manifests, locate_manifests, read_kubectl_json, read_manifests
from berth.loader.locate import display_path
from berth.manifests.workloads.values import as_mapping


class ManifestFiles(Struct, frozen=True):
    """The documents of files and their faults.

    `sources` are the files and folders on the command line that could be read, each with the names of its files.
    """

    documents: tuple[ManifestDocument, ...]
    problems: tuple[Problem, ...]
    sources: tuple[tuple[str, tuple[str, ...]], ...]

    def without_jobs(self, files_with_jobs: Collection[str]) -> Iterator[Problem]:
        """Yield a fault for each file and each folder in which nothing was found to check."""
        for name, files in self.sources:
            if not any(file in files_with_jobs for file in files):
                message = "contains no job, no other object with pods and no ProvisioningRequest"
                yield Problem(Severity.FAULT, "no-jobs", (), message, name)


def read_kubectl_files(
    files: Iterable[pathlib.Path], root: pathlib.Path
) -> tuple[list[ManifestDocument], list[Problem]]:
    """Return the documents of files with the output of kubectl, and their problems."""
    documents: list[ManifestDocument] = []
    problems: list[Problem] = []
    for file in files:
        found, faults = read_kubectl_json(file, display_path(file, root))
        documents += found
        problems += faults
    return documents, problems


_OBJECT_KEYS = {"apiVersion", "kind", "steps", "items"}
"""Each object, scenario and list has at least one of them."""
_LEFT_OUT = Problem(
    Severity.WARNING, "no-kind", (), "is not a Kubernetes object, which has an apiVersion and a kind; it is left out"
)


def read_files(names: Iterable[str], root: pathlib.Path) -> ManifestFiles:
    """Read files and folders; a relative path is resolved from the current folder, then from the project's."""
    documents: list[ManifestDocument] = []
    problems: list[Problem] = []
    sources: list[tuple[str, tuple[str, ...]]] = []
    for name in names:
        source_problems: list[Problem] = []
        files: list[str] = []
        is_folder = os.path.isdir(locate_manifests(name, root))
        for file, shown in find_manifests([name], root, source_problems):
            file_documents, faults = read_manifests(file, shown)
            # A folder also has kustomizations and pod templates, which are no objects.
            others = [each for each in file_documents if is_folder and not _OBJECT_KEYS & as_mapping(each.value).keys()]
            problems += (each.locate_problems([_LEFT_OUT])[0] for each in others)
            documents += (each for each in file_documents if each not in others)
            source_problems += faults
            files.append(shown)
        if files and not source_problems:
            sources.append((files[0] if len(files) == 1 else name, tuple(files)))
        problems += source_problems
    return ManifestFiles(tuple(documents), tuple(problems), tuple(sources))
