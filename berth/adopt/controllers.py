"""Kueue and JobSet: taken over where Helm installed them, else somebody else's to look after."""

from __future__ import annotations

from collections.abc import Mapping

from berth.adopt.inventory import Answer, Entry, Found, Left, labels_of, name_of, namespace_of

_DEPLOYMENTS = {
    "kueue": ("kueue-system", "kueue-controller-manager"),
    "jobset": ("jobset-system", "jobset-controller"),
}
"""Section of the stack file → namespace and name of the controller's Deployment, as the project's own chart has it."""


def controllers(found: Found, left: list[Left]) -> dict[str, Entry]:
    """The sections `kueue` and `jobset`."""
    deployed = {(namespace_of(one), name_of(one)): one for one in found.of_kind("Deployment")}
    return {section: _section(section, place, deployed, left) for section, place in _DEPLOYMENTS.items()}


def _section(
    section: str, place: tuple[str, str], deployed: Mapping[tuple[str, str], Answer], left: list[Left]
) -> Entry:
    one = deployed.get(place)
    if one is None:
        left.append(Left(section, f"no Deployment {'/'.join(place)} was given: taken for somebody else's (existing)"))
        return {"existing": True}
    labels = labels_of(one)
    version = labels.get("app.kubernetes.io/version", "").removeprefix("v")
    if labels.get("app.kubernetes.io/managed-by") != "Helm" or not version:
        left.append(Left(section, "no Helm release: taken for somebody else's (existing)"))
        return {"existing": True}
    return {"version": version}
