"""The control plane of a new stack: it is not open to every address, even if that of its example is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from berth.evaluate import Evaluation
from berth.rotate.yaml_editor import YamlEditor

CLOSED_NOTE: Final = (
    "the control plane has a DNS endpoint that requires IAM, and no IP endpoint (dnsEndpoint, controlPlane); the "
    "example's is open to every address"
)

_CLOSED: Final = {"publicEndpoint": "false", "ipEndpoint": "false"}


def is_open_endpoint(evaluation: Evaluation) -> bool:
    """Return whether the control plane of the stack's own cluster accepts connections from every address."""
    return any(each.code == "open-control-plane" and each.path[:1] == ("cluster",) for each in evaluation.problems)


def with_dns_endpoint(editor: YamlEditor) -> YamlEditor:
    """Return the stack with a DNS endpoint and without an IP endpoint."""
    if not isinstance(editor.value_at(("cluster",)), Mapping):
        return editor.set_value((), "cluster", f"{{dnsEndpoint: true, controlPlane: {_flow(_CLOSED)}}}")
    if not isinstance(editor.value_at(("cluster", "controlPlane")), Mapping):
        editor = editor.set_value(("cluster",), "controlPlane", _flow(_CLOSED))
    for key, value in _CLOSED.items():
        editor = editor.set_value(("cluster", "controlPlane"), key, value)
    return editor.set_value(("cluster",), "dnsEndpoint", "true")


def _flow(values: Mapping[str, str]) -> str:
    """Return a YAML mapping on one line."""
    return f"{{{', '.join(f'{key}: {value}' for key, value in values.items())}}}"
