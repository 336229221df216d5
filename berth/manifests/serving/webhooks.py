"""The scope of Kueue's webhooks for pods and services, as patches of the objects in its chart.

The chart has one namespace selector for the webhooks of all kinds (Kueue 0.19.2, `templates/webhook/manifests.yaml`),
and Kueue may gate every pod without a queue name that reaches its webhook. A match condition narrows single webhooks.
The chart has none, so an upgrade by Helm, which compares its own fields, keeps it.

The name of a patch and of its condition contains a hash of the namespaces. Pulumi's provider compares the webhooks of a
patch with those of the whole object by their positions, so it would report a change forever; the program ignores them
(`components.kubernetes`), and other namespaces are another patch. While both are there, both conditions apply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

Manifest = dict[str, object]

PATCH: Final = "Patch"
"""End of the kind of a manifest with which the program patches an object that something else creates."""
_KINDS: Final = ("deployment", "leaderworkerset", "pod", "statefulset")
_RELEASE: Final = "kueue"
"""Start of the names in the chart, which is installed as release `kueue`."""


def webhook_patches(namespaces: Sequence[str]) -> Iterator[tuple[str, Manifest]]:
    """Yield the name in the Pulumi program and the patch for each kind of webhook: they are called in `namespaces`."""
    for role, kind in (("mutating", "MutatingWebhookConfiguration"), ("validating", "ValidatingWebhookConfiguration")):
        name = f"{_RELEASE}-{role}-webhook-configuration"
        yield (
            f"{role}-serving-{_digits(namespaces)}",
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}{PATCH}",
                "metadata": {"name": name},
                "webhooks": [_webhook(f"{role[0]}{each}.kb.io", namespaces) for each in _KINDS],
            },
        )


def _webhook(name: str, namespaces: Sequence[str]) -> Manifest:
    condition = {
        "name": f"serving-{_digits(namespaces)}.berth.dev",
        "expression": f"request.namespace in [{_texts(namespaces)}]",
    }
    return {"name": name, "matchConditions": [condition]}


def _texts(namespaces: Sequence[str]) -> str:
    return ", ".join(f"'{each}'" for each in sorted(namespaces))


def _digits(namespaces: Sequence[str]) -> str:
    return sha256(_texts(namespaces).encode()).hexdigest()[:6]


def is_patch(manifest: Mapping[str, object]) -> bool:
    """Return whether a manifest sets fields of an object that something else creates."""
    return str(manifest["kind"]).endswith(PATCH)


def without_patch(manifest: Mapping[str, object]) -> Manifest:
    """Return a manifest with the kind of the object that it patches; any other manifest unchanged."""
    return {**manifest, "kind": str(manifest["kind"]).removesuffix(PATCH)}
