"""Schema of an existing cluster: of a kubeconfig, or a GKE cluster."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from typing import Annotated

from berth.diagnostics import format_value, join_words
from berth.spec.base import JsonSchema, Model, NonEmptyText, ProjectId, Text, validation_fault
from berth.spec.core import AfterValidator
from berth.spec.model import Field, check_model


def _check_cidr(value: str) -> str:
    try:
        network = IPv4Network(value, strict=False)
    except ValueError:
        raise validation_fault(
            "bad-range", f"'{format_value(value)}' is not an IPv4 range such as 10.40.0.0/22"
        ) from None
    if "/" not in value:
        raise validation_fault("bad-range", f"'{value}' has no prefix length; write a range such as {value}/28")
    if str(network) != value:
        raise validation_fault("bad-range", f"'{value}' has host bits set; write {network}")
    return value


Cidr = Annotated[str, AfterValidator(_check_cidr), JsonSchema({"type": "string", "format": "ipv4-cidr"})]


ClusterName = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?",
        "a cluster name: lower-case letters, digits and '-', starting with a letter, at most 40 characters",
    ),
]


Location = Annotated[
    str, Text(r"[a-z]+-[a-z]+[0-9]+(-([a-z]|ai[0-9]+[a-z]))?", "a region such as us-central1, or a zone of it")
]


_KUBECONFIG_CONTENT = re.compile(r"\n|^\s*\{|apiVersion|clusters:|YXBpVmVyc2lvb")  # the last is apiVersion in base64
_VARIABLE = re.compile(r"(\$\w+|\$\{[^}]*\}|%\w+%|~[^/]+)")


def _check_kubeconfig_path(value: str) -> str:
    if _KUBECONFIG_CONTENT.search(value):  # the value is not printed: it contains keys
        raise validation_fault(
            "secret",
            "contains a kubeconfig, which anyone who can read this file could use; write the path of a kubeconfig file",
        )
    if "://" in value:
        raise validation_fault(
            "bad-value",
            f"'{format_value(value)}' is an address, and a provider reads a file; write the path of a kubeconfig file",
        )
    first, colon, _ = value[2:].partition(":")  # a drive has one too
    if colon:
        raise validation_fault(
            "bad-value", f"'{format_value(value)}' is several files, and a provider reads one; write {value[:2]}{first}"
        )
    if found := _VARIABLE.match(value):
        own = found[1] in ("$HOME", "${HOME}", "%USERPROFILE%")
        path = f"~{value.removeprefix(found[1])}" if own else "the path itself"
        raise validation_fault("bad-value", f"'{format_value(value)}' begins with what a shell replaces; write {path}")
    return value


KubeconfigPath = Annotated[NonEmptyText, AfterValidator(_check_kubeconfig_path)]
ConfigKey = Annotated[
    str,
    Text(
        r"(?!fleet$)[A-Za-z][-A-Za-z0-9_.]*",
        "the name of a Pulumi config key, written without 'berth:', such as kubeconfig",
    ),
]


class ExistingClusterSpec(Model):
    """An existing cluster: any cluster by a kubeconfig, or a GKE cluster in which the fleet makes machines."""

    name: ClusterName | None = None
    """Name of an existing GKE cluster in which Berth makes machines, with `location` and `project`."""
    location: Location | None = None
    """Region of the GKE cluster, or the zone of a zonal cluster."""
    project: ProjectId | None = None
    """Project of the GKE cluster. The machines are made there too."""
    context: NonEmptyText | None = None
    """Context of the kubeconfig file, for any other cluster."""
    kubeconfig: KubeconfigPath | None = None
    """Path of the kubeconfig file. By default `$KUBECONFIG`, then `~/.kube/config`."""
    secret: ConfigKey | None = None
    """Key under `berth:` where the config holds a kubeconfig, instead of `context`."""
    service_cidr_block: Cidr = "10.96.0.0/12"
    """Address range of the cluster's services."""
    max_pods_per_node: int | None = Field(default=None, ge=8, le=256)
    """Pods of each node whose pool has no number of its own. With it queues count pods (docs/tenancy.md), which they do
    not otherwise."""

    @check_model
    def _check_one_connection(self) -> ExistingClusterSpec:
        if self.is_gke:
            self._check_gke()
        elif self.secret is not None and self.kubeconfig is not None:
            raise validation_fault(
                "contradiction",
                "secret and kubeconfig are both set; remove one of them",
            )
        elif self.secret is None and self.context is None:
            raise validation_fault(
                "missing-key",
                "context is missing, and the current context of the kubeconfig can change; write context: <name>, or "
                "name, location and project of a GKE cluster in which Berth creates node pools",
            )
        return self

    def _check_gke(self) -> None:
        """Raise a fault if a GKE cluster is named in part, or also by a kubeconfig."""
        named = {"name": self.name, "location": self.location, "project": self.project}
        if missing := [key for key, value in named.items() if value is None]:
            verb = "is" if len(missing) == 1 else "are"
            message = f"{join_words(missing)} of the GKE cluster {verb} missing; write name, location and project"
            raise validation_fault("missing-key", message)
        ways = {"context": self.context, "kubeconfig": self.kubeconfig, "secret": self.secret}
        if extra := [key for key, value in ways.items() if value is not None]:
            raise validation_fault(
                "contradiction",
                f"{join_words(extra)} cannot be combined with the GKE cluster '{self.name}', whose address Berth "
                f"gets from GKE; remove {join_words(extra)}, or remove name, location and project",
            )

    @property
    def is_gke(self) -> bool:
        """Whether it is a GKE cluster in which Berth creates machines."""
        return any(each is not None for each in (self.name, self.location, self.project))

    @property
    def region(self) -> str:
        """The region of the location; empty without one."""
        location = self.location or ""
        return location.rpartition("-")[0] if location.count("-") > 1 else location
