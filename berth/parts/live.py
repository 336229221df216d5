"""Check the value of an argument that may be an output of another resource, once it is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from msgspec.structs import replace

from berth.catalog import region_of_zone
from berth.diagnostics import Problem, Severity, format_value
from berth.kubeconfig import KubeconfigError, cluster_of
from berth.names import is_compute_name, is_dns_label, is_gke_name
from berth.spec.base import ProjectId, text_rule
from berth.spec.machines.encryption import KmsKey

_CLUSTER_PATH: Final = re.compile(r"projects/([^/]+)/(?:locations|zones|regions)/([^/]+)/clusters/([^/]+)")
_LOCATION: Final = re.compile(r"[a-z]+(-[a-z]+)+[0-9]+(-[a-z0-9]+)?")
_ACCOUNT: Final = re.compile(r"default|[^@\s/]+@[^@\s/]+\.[^@\s/]+")
_RESERVATION_PATH: Final = re.compile(r"projects/[^/]+/(zones/[^/]+/)?reservations/")
ALSO_PLAIN: Final[Mapping[str, Any]] = {"bootDiskKmsKey": KmsKey, "project": ProjectId}
"""Live arguments that are keys of a stack file, with their types: one that is known is planned with, as a plain one."""


def _form_of(annotation: Any) -> tuple[Callable[[str], object], str]:
    rule = text_rule(annotation)
    assert rule is not None
    return rule.matches, rule.what


_FORMS: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    "cluster": (
        lambda text: is_gke_name(text) or _CLUSTER_PATH.fullmatch(text),
        "the name of a GKE cluster, such as the output `name` of a Cluster",
    ),
    "location": (_LOCATION.fullmatch, "a region such as us-central1, or a zone of it"),
    "nodeServiceAccount": (_ACCOUNT.fullmatch, "the e-mail address of a Google service account"),
    "reservation": (
        lambda text: is_compute_name(_RESERVATION_PATH.sub("", text)),
        "the name of a reservation, such as the output `name` of a Reservation",
    ),
    **{key: _form_of(each) for key, each in ALSO_PLAIN.items()},
    "notificationChannels": (
        re.compile(r"projects/[^/]+/notificationChannels/[0-9]+").fullmatch,
        "the full name of a notification channel, such as the output `name` of a NotificationChannel",
    ),
    "namespace": (is_dns_label, "the name of a namespace, such as the output `metadata.name` of a Namespace"),
}
"""Live argument → what its value must be, as a test and in words. Those that are not listed take any text."""
_LISTS: Final = {"notificationChannels"}
"""Live arguments that are lists, whose values may be outputs too."""
_PLACES: Final = {"project", "region", "zone", "zones"}
"""Plain arguments that say where a cluster is."""
_KUBECONFIG: Final = (
    "the text (not the path) of one with which kubectl get nodes works, such as the output `kubeconfig` of a Cluster"
)


def live_fault(key: str, value: object, plain: Mapping[str, Any], *, secret: bool = False) -> Problem | None:
    """Return what is wrong with the known value of a live argument, beside the `plain` ones; None if nothing is.

    Of a list it is the first fault; what is not known yet in it is None. The message of a `secret` value does not show
    it: the engine prints it as it is.
    """
    if key in _LISTS and isinstance(value, list | tuple):
        values = enumerate(cast("Sequence[object]", value))
        faults = ((index, _fault(key, each, plain, secret=secret)) for index, each in values if each is not None)
        return next((replace(each, path=(key, index)) for index, each in faults if each is not None), None)
    if key in _LISTS:
        return Problem(Severity.FAULT, "bad-type", (key,), f"{_shown(value)} is no list; write a list, or an output")
    return _fault(key, value, plain, secret=secret)


def _fault(key: str, value: object, plain: Mapping[str, Any], *, secret: bool) -> Problem | None:
    is_sound, wanted = _FORMS.get(key, (str.strip, "text, or an output that is text"))
    if key == "kubeconfig":
        return _kubeconfig_fault(value, plain, secret=secret)
    if key == "platform":
        is_right, wanted = isinstance(value, Mapping), "the output `platform` of a Fleet"
    else:
        is_right = isinstance(value, str) and is_sound(value)
    if not is_right:
        shown = "is empty" if value == "" else f"{'a secret' if secret else _shown(value)} is something else"
        return Problem(Severity.FAULT, "bad-type", (key,), f"{shown}; write {wanted}")
    message = _contradiction(key, str(value), plain)
    if message is None:
        return None
    shown = (
        f"a secret contradicts {', '.join(sorted(_PLACES & plain.keys()))}; write the same place" if secret else message
    )
    return Problem(Severity.FAULT, "contradiction", (key,), shown)


def _shown(value: object) -> str:
    return "'an object'" if isinstance(value, Mapping) else f"'{format_value(value)}'"


def _kubeconfig_fault(value: object, plain: Mapping[str, Any], *, secret: bool) -> Problem | None:
    """Return why a client would reach no cluster with it, or, with an empty one, that of its own kubeconfig."""
    if not isinstance(value, str):
        shown = f"{'a secret' if secret else _shown(value)} is something else"
    else:
        try:
            cluster_of(value, _context(plain))
        except KubeconfigError as error:
            shown = error.reason
        else:
            return None
    return Problem(Severity.FAULT, "bad-type", ("kubeconfig",), f"{shown}; write {_KUBECONFIG}")


def _context(plain: Mapping[str, Any]) -> str | None:
    """Return the context of an existing cluster in a fleet's arguments, which a provider uses for the current one."""
    for step in ("fleet", "cluster", "existing"):
        if step != "fleet" or step in plain:
            inner: object = plain.get(step)
            plain = cast("Mapping[str, Any]", inner) if isinstance(inner, Mapping) else {}
    context: object = plain.get("context")
    return context if isinstance(context, str) else None


def _contradiction(key: str, value: str, plain: Mapping[str, Any]) -> str | None:
    """Return how the place of a cluster contradicts the plain arguments."""
    path = _CLUSTER_PATH.fullmatch(value) if key == "cluster" else None
    if path is not None and plain.get("project") not in (None, path[1]):
        return f"the cluster is in project '{path[1]}', and project is '{plain['project']}'; write the same project"
    location = path[2] if path else value if key == "location" else None
    if location is None:
        return None
    region = region_of_zone(location) if location.count("-") > 1 else location
    zones: list[object] = [plain.get("zone"), *(cast("list[object]", plain.get("zones") or []))]
    others = [("region", plain.get("region"), plain.get("region"))]
    others += [("zone", each, region_of_zone(each)) for each in zones if isinstance(each, str)]
    for name, written, other in others:
        if isinstance(other, str) and other != region:
            return f"the cluster is in {location}, and {name} is '{written}'; write a {name} of {region}"
    return None
