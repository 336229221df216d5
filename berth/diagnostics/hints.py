"""What to write instead of values and keys that people know from other tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

_KEYS_OF_OTHER_TOOLS = {
    "acceleratorType": ("machineType", "write machineType, which determines the accelerator"),
    "borrowingLimit": ("borrow", "write borrow"),
    "gpu": ("machineType", "write machineType, which determines the GPU"),
    "gpuType": ("machineType", "write machineType, which determines the GPU"),
    "instanceType": ("machineType", "write machineType"),
    "lendingLimit": ("lend", "write lend"),
    "machineType": ("instanceType", "write instanceType"),
    "maxNodeCount": ("nodes", "write nodes: {max: 12}"),
    "maxNodes": ("nodes", "write nodes: {max: 12}"),
    "members": ("groups", "write groups, with a Google group of these people"),
    "minNodeCount": ("nodes", "write nodes: {min: 1, max: 12}"),
    "minNodes": ("nodes", "write nodes: {min: 1, max: 12}"),
    "nodeCount": ("nodes", "write nodes"),
    "nominalQuota": ("guaranteed", "write guaranteed"),
    "preemptible": ("capacity", "write capacity: spot"),
    "quota": ("guaranteed", "write guaranteed"),
    "replicas": ("nodes", "write nodes"),
    "spot": ("capacity", "write capacity: spot"),
    "users": ("groups", "write groups, with a Google group of these people"),
}
"""Keys of Kueue, Terraform and gcloud → the key here, and what to write."""

_REPAIRS: tuple[Callable[[str], str], ...] = (
    lambda value: re.sub("[ _]+", "-", value.strip().lower()),
    lambda value: re.sub(r"(?<=\w)[ _.]+(?=\w)", "-", value.strip().lower()),
    lambda value: value.strip("“”\"'"),
    lambda value: re.sub("[*×]", "x", value),
    lambda value: value.removeprefix("v"),
    lambda value: re.sub("^(?:projects/|gs://)([^/]+)/?$", r"\1", value),  # a longer path may name another project
    lambda value: f"roles/{value}",
    lambda value: re.sub(r"^([a-z]+-[a-z]+[0-9]+)-[a-z]$", r"\1", value),
    lambda value: re.sub(r"^([a-z]+-[a-z]+[0-9]+)([a-z])$", r"\1-\2", value),
    lambda value: f"{value}T00:00:00Z",
)
"""Changes that make a text valid which people often write for another one."""


def repaired(text: str, is_valid: Callable[[str], bool]) -> str:
    """Return the first repair of a text that is valid; "" if there is none."""
    return next((near for near in (repair(text) for repair in _REPAIRS) if near != text and is_valid(near)), "")


def foreign_key_hint(key: str, known: Collection[str]) -> str:
    """Return what to write for a key of another tool, if the key that replaces it is known here; "" otherwise."""
    own, remedy = _KEYS_OF_OTHER_TOOLS.get(key, ("", ""))
    return f"; {remedy}" if own in known else ""


def with_written(value: object, form: str) -> str:
    """Return a form with what the person wrote: a number as its one value, `a=x:NoSchedule` as a taint."""
    if isinstance(value, int) and not isinstance(value, bool):
        return re.sub(r"^\{(\w+): \d+\}$", rf"{{\g<1>: {value}}}", form)
    taint = re.fullmatch(r"([\w./-]+)=([\w.-]*):(NoSchedule|NoExecute|PreferNoSchedule)", str(value))
    if taint is None or not form.strip("[").startswith("{key: "):
        return form
    own = f'{{key: {taint[1]}, value: "{taint[2]}", effect: {taint[3]}}}'
    return f"[{own}]" if form.startswith("[") else own
