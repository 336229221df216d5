"""Read Kueue and JobSet: adopted where Helm installed them, else `existing`."""

from __future__ import annotations

from collections.abc import Mapping

from berth.adopt.inventory import ApiObject, ClusterInventory, NotAdopted, StackEntry, labels_of, name_of, namespace_of

_DEPLOYMENTS = {
    "kueue": ("kueue-system", "kueue-controller-manager"),
    "jobset": ("jobset-system", "jobset-controller"),
}
"""Section of the stack file → namespace and name of the controller's Deployment, as in the project's own chart."""


def controller_sections(inventory: ClusterInventory, not_adopted: list[NotAdopted]) -> dict[str, StackEntry]:
    """Return the sections `kueue` and `jobset`."""
    deployed = {
        (namespace_of(deployment), name_of(deployment)): deployment
        for deployment in inventory.objects_of_kind("Deployment")
    }
    return {
        section: _controller_section(section, place, deployed, not_adopted) for section, place in _DEPLOYMENTS.items()
    }


def _controller_section(
    section: str,
    deployment_key: tuple[str, str],
    deployed: Mapping[tuple[str, str], ApiObject],
    not_adopted: list[NotAdopted],
) -> StackEntry:
    deployment = deployed.get(deployment_key)
    if deployment is None:
        not_adopted.append(
            NotAdopted(
                section,
                f"no Deployment {'/'.join(deployment_key)} in the answers: assumed to be existing",
            )
        )
        return {"existing": True}
    labels = labels_of(deployment)
    version = labels.get("app.kubernetes.io/version", "").removeprefix("v")
    if labels.get("app.kubernetes.io/managed-by") != "Helm" or not version:
        not_adopted.append(NotAdopted(section, "no Helm release: assumed to be existing"))
        return {"existing": True}
    return {"version": version}
