"""Security contexts and namespaces of the host that contradict each other, for which the API server refuses a pod.

Source: Kubernetes 1.36 `pkg/apis/core/validation/validation.go`, asked by dry run on 2026-11-28.
"""

from __future__ import annotations

from collections.abc import Iterator

from berth.diagnostics import FieldPath
from berth.jobs.values import get_nested
from berth.lint.validity.schema import Refusal, api_refusal
from berth.manifests.workloads.values import as_list

_IN_USER_NAMESPACE = ("hostNetwork", "hostPID", "hostIPC")
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def host_refusals(spec: object, path: FieldPath) -> Iterator[Refusal]:
    """Yield what a pod's spec asks of the host beside something that excludes it."""
    for key in _IN_USER_NAMESPACE if get_nested(spec, "hostUsers") is False else ():
        if get_nested(spec, key) is True:
            yield api_refusal((*path, key), f"{key} of pods with hostUsers: false; remove one of them")
    if get_nested(spec, "hostnameOverride") is not None:
        for key in ("hostNetwork", "setHostnameAsFQDN"):
            if get_nested(spec, key) is True:
                message = f"hostnameOverride of pods with {key}; remove one of them"
                yield api_refusal((*path, "hostnameOverride"), message)
    for index, each in enumerate(as_list(get_nested(spec, "securityContext", "sysctls"))):
        name, place = (
            str(get_nested(each, "name")).replace("/", "."),
            (*path, "securityContext", "sysctls", index, "name"),
        )
        if get_nested(spec, "hostNetwork") is True and name.startswith("net."):
            yield api_refusal(place, f"'{name}' of pods on the host's network; remove it")
        elif get_nested(spec, "hostIPC") is True and name.startswith(_IPC_SYSCTLS):
            yield api_refusal(place, f"'{name}' of pods with hostIPC; remove it")
    system = get_nested(spec, "os", "name")
    if system == "linux" and get_nested(spec, "securityContext", "windowsOptions") is not None:
        yield api_refusal((*path, "securityContext", "windowsOptions"), "windowsOptions of pods for Linux; remove it")


def context_refusals(context: object, path: FieldPath, *, in_user_namespace: bool) -> Iterator[Refusal]:
    """Yield the contradictions in a security context of a pod or a container."""
    for key in ("seccompProfile", "appArmorProfile"):
        profile, place = get_nested(context, key), (*path, key)
        written = get_nested(profile, "localhostProfile")
        text = written if isinstance(written, str) else ""
        if get_nested(profile, "type") == "Localhost" and not text:
            yield api_refusal(place, f"a {key} Localhost without localhostProfile; write localhostProfile")
        elif written is not None and get_nested(profile, "type") in ("RuntimeDefault", "Unconfined"):
            message = f"the localhostProfile of another {key} than Localhost; remove it"
            yield api_refusal((*place, "localhostProfile"), message)
        elif key == "seccompProfile" and (text.startswith("/") or ".." in text.split("/")):
            message = f"the localhostProfile '{text}'; write a path below the kubelet's profiles, without '..'"
            yield api_refusal((*place, "localhostProfile"), message)
        elif key == "appArmorProfile" and text != text.strip():
            yield api_refusal((*place, "localhostProfile"), f"the localhostProfile '{text}'; write it without spaces")
    escalates = get_nested(context, "allowPrivilegeEscalation")
    if escalates is False and get_nested(context, "privileged") is True:
        message = "a privileged container with allowPrivilegeEscalation: false; remove one of them"
        yield api_refusal((*path, "allowPrivilegeEscalation"), message)
    if escalates is False and "CAP_SYS_ADMIN" in as_list(get_nested(context, "capabilities", "add")):
        message = "the capability CAP_SYS_ADMIN with allowPrivilegeEscalation: false; remove one of them"
        yield api_refusal((*path, "allowPrivilegeEscalation"), message)
    if get_nested(context, "procMount") == "Unmasked" and not in_user_namespace:
        yield api_refusal(
            (*path, "procMount"), "procMount Unmasked of pods in the host's users; write hostUsers: false too"
        )
