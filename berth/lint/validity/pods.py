"""Fields of a pod that contradict each other, for which the API server refuses it; also those of its security.

Source: Kubernetes 1.36 `pkg/apis/core/validation/validation.go`, read 2026-11-28, and asked by dry run on that day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from berth.diagnostics import FieldPath, join_or
from berth.jobs.quantities import parse_quantity
from berth.jobs.values import describe_value, get_nested, is_whole
from berth.lint.validity.schema import Refusal, api_refusal
from berth.lint.validity.volumes import mount_refusals, volume_refusals
from berth.manifests.workloads.values import as_list, as_mapping

_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def host_refusals(spec: object, path: FieldPath) -> Iterator[Refusal]:
    """Yield what a pod's spec asks of the host beside something that excludes it."""
    for key in ("hostNetwork", "hostPID", "hostIPC") if get_nested(spec, "hostUsers") is False else ():
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


_HUGE = "hugepages-"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_ONCE = ("livenessProbe", "startupProbe")
"""Probes that succeed by one success."""
_DEFAULT_GRACE = 30
_DIVISORS = {
    "cpu": ("1", "1m"),
    "": ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"),
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod_refusals(spec: object, path: FieldPath, more_volumes: frozenset[str] = frozenset()) -> Iterator[Refusal]:
    """Yield the contradictions in a pod's spec; `more_volumes` are those that a StatefulSet makes of its claims."""
    containers = [
        ((*path, key, index), key, as_mapping(each))
        for key in ("initContainers", "containers")
        for index, each in enumerate(as_list(get_nested(spec, key)))
    ]
    volumes = {str(get_nested(each, "name")): each for each in as_list(get_nested(spec, "volumes"))}
    in_user_namespace = get_nested(spec, "hostUsers") is False
    names: Counter[str] = Counter()
    for place, key, container in containers:
        name = str(container.get("name"))
        if key == "containers" and names[name]:
            yield api_refusal((*place, "name"), f"a container and an init container named '{name}'; write another name")
        names[name] += key == "initContainers"
        yield from mount_refusals(container, place, volumes, more_volumes)
        yield from _amounts(container, place, as_mapping(get_nested(spec, "resources", "limits")))
        yield from _own_fields(container, place, is_init=key == "initContainers")
        yield from _seconds(container, place, get_nested(spec, "terminationGracePeriodSeconds"))
        if get_nested(spec, "restartPolicy") == "Never":
            yield from _resizes(container, place)
        context = container.get("securityContext")
        yield from context_refusals(context, (*place, "securityContext"), in_user_namespace=in_user_namespace)
    yield from _ports(containers, on_host=get_nested(spec, "hostNetwork") is True)
    yield from _tolerations(spec, path)
    yield from _placement(spec, path)
    yield from _pod_fields(spec, path)
    yield from volume_refusals(spec, path)
    yield from host_refusals(spec, path)
    context = get_nested(spec, "securityContext")
    yield from context_refusals(context, (*path, "securityContext"), in_user_namespace=in_user_namespace)


def _amounts(container: dict[str, object], path: FieldPath, of_pod: dict[str, object]) -> Iterator[Refusal]:
    """Yield resources that no node has, parts of devices, and amounts above their limits, also those of the pod."""
    limits = as_mapping(get_nested(container, "resources", "limits"))
    named = {*limits, *as_mapping(get_nested(container, "resources", "requests"))}
    if any(name.startswith(_HUGE) for name in named) and named.isdisjoint(("cpu", "memory")):
        yield api_refusal((*path, "resources"), "huge pages without cpu or memory; write one of them too")
    for section in ("limits", "requests"):
        for name, written in as_mapping(get_nested(container, "resources", section)).items():
            place, number = (*path, "resources", section, name), parse_quantity(name, written)
            milli = parse_quantity("cpu", written)
            if "/" not in name and name not in ("cpu", "memory", "ephemeral-storage") and not name.startswith(_HUGE):
                message = f"the resource '{name}'; write its whole name, such as nvidia.com/gpu, or one of cpu, memory"
                yield api_refusal(place, f"{message} and ephemeral-storage")
            elif "/" in name and milli is not None and milli % 1000:
                yield api_refusal(place, f"a part of one {name}; write a whole number")
            whole = parse_quantity(name, of_pod.get(name)) if section == "limits" else None
            if number is not None and whole is not None and number > whole:
                message = f"a limit of {written} {name} above the pod's limit of {of_pod[name]}; write at most that"
                yield api_refusal(place, message)
            if name.startswith(_HUGE):
                yield from _huge_pages(name, written, limits.get(name), place)
                continue
            most = parse_quantity(name, limits[name]) if section == "requests" and name in limits else None
            if number is not None and most is not None and number > most and "/" not in name:
                message = f"a request of {written} {name} above its limit of {limits[name]}; write at most the limit"
                yield api_refusal(place, message)


def _huge_pages(name: str, written: object, limit: object, path: FieldPath) -> Iterator[Refusal]:
    """Yield an amount of huge pages that is not a multiple of their size, or that differs from its limit."""
    number, page = parse_quantity(name, written), parse_quantity(name, name.removeprefix(_HUGE))
    if number is not None and page and number % page:
        yield api_refusal(path, f"{written} of {name}; write a multiple of {name.removeprefix(_HUGE)}")
    elif number is not None and parse_quantity(name, limit) != number:
        yield api_refusal(path, f"a request of {name} without an equal limit; write limits: {{{name}: {written}}}")


def _seconds(container: dict[str, object], path: FieldPath, written: object) -> Iterator[Refusal]:
    """Yield hooks that sleep longer than the pod has to end."""
    grace = written if is_whole(written) else _DEFAULT_GRACE
    for hook in ("postStart", "preStop"):
        seconds = get_nested(container.get("lifecycle"), hook, "sleep", "seconds")
        if is_whole(seconds) and not 0 <= seconds <= grace:
            message = f"a sleep of {seconds} seconds in pods that end within {grace}; write at most {grace}, or more in"
            yield api_refusal(
                (*path, "lifecycle", hook, "sleep", "seconds"), f"{message} terminationGracePeriodSeconds"
            )


def _resizes(container: dict[str, object], path: FieldPath) -> Iterator[Refusal]:
    for index, each in enumerate(as_list(container.get("resizePolicy"))):
        if get_nested(each, "restartPolicy") == "RestartContainer":
            message = "RestartContainer in pods that never restart; write NotRequired"
            yield api_refusal((*path, "resizePolicy", index, "restartPolicy"), message)


def _own_fields(container: dict[str, object], path: FieldPath, *, is_init: bool) -> Iterator[Refusal]:
    for index, entry in enumerate(as_list(container.get("env"))):
        if get_nested(entry, "value") and get_nested(entry, "valueFrom") is not None:
            message = f"'{get_nested(entry, 'name')}' with a value and with valueFrom; write one of them"
            yield api_refusal((*path, "env", index, "valueFrom"), message)
        resource = get_nested(entry, "valueFrom", "resourceFieldRef")
        divisor, what = get_nested(resource, "divisor"), str(get_nested(resource, "resource")).rpartition(".")[2]
        allowed = _DIVISORS["cpu" if what == "cpu" else ""]
        if divisor is not None and str(divisor) not in (*allowed, "0"):
            message = f"the divisor {describe_value(divisor)} of {what}; write {join_or(allowed)}"
            yield api_refusal((*path, "env", index, "valueFrom", "resourceFieldRef", "divisor"), message)
    ends = is_init and container.get("restartPolicy") != "Always"
    for field in (*_PROBES, "lifecycle") if ends else ():
        if container.get(field) is not None:
            yield api_refusal((*path, field), f"{field} of an init container that ends; remove it")
    for field in () if ends else _ONCE:
        if get_nested(container.get(field), "successThreshold") not in (None, 0, 1):
            yield api_refusal((*path, field, "successThreshold"), f"a {field} with a successThreshold above 1; write 1")


def _ports(containers: list[tuple[FieldPath, str, dict[str, object]]], *, on_host: bool) -> Iterator[Refusal]:
    taken: set[tuple[object, ...]] = set()
    for path, key, container in containers:
        names: set[str] = set()
        for index, port in enumerate(as_list(container.get("ports"))):
            name = get_nested(port, "name")
            number, inside = (_whole(get_nested(port, each)) for each in ("hostPort", "containerPort"))
            place = (*path, "ports", index)
            if isinstance(name, str) and name in names:
                yield api_refusal((*place, "name"), f"two ports named '{name}' in a container; write another name")
            names.add(str(name))
            if on_host and number and inside and number != inside:
                message = f"the hostPort {number} of containerPort {inside} on the host's network; write {inside}"
                yield api_refusal((*place, "hostPort"), message)
            bound = (
                number or (inside if on_host else 0),
                str(get_nested(port, "protocol") or "TCP"),
                str(get_nested(port, "hostIP") or ""),
            )
            if key == "containers" and bound[0] and bound in taken:
                yield api_refusal(place, f"two containers with the port {bound[0]} of the host; write another")
            taken.add(bound)


def _whole(value: object) -> int:
    """Return a port as a number: 0 for none, and for other values, which the fields' types refuse."""
    return value if is_whole(value) else 0


def _tolerations(spec: object, path: FieldPath) -> Iterator[Refusal]:
    for index, each in enumerate(as_list(get_nested(spec, "tolerations"))):
        place, fields = (*path, "tolerations", index), as_mapping(each)
        operator = fields.get("operator") or "Equal"
        if operator == "Exists" and fields.get("value"):
            yield api_refusal((*place, "value"), "a toleration with Exists and a value; remove the value")
        if operator == "Equal" and not fields.get("key"):
            yield api_refusal(place, "a toleration without a key; write key, or operator: Exists for every taint")
        if fields.get("tolerationSeconds") is not None and fields.get("effect") != "NoExecute":
            message = "tolerationSeconds of a taint that evicts no pod; write effect: NoExecute, or remove it"
            yield api_refusal((*place, "tolerationSeconds"), message)


def _placement(spec: object, path: FieldPath) -> Iterator[Refusal]:
    for index, each in enumerate(as_list(get_nested(spec, "topologySpreadConstraints"))):
        place = (*path, "topologySpreadConstraints", index)
        if get_nested(each, "minDomains") is not None and get_nested(each, "whenUnsatisfiable") == "ScheduleAnyway":
            yield api_refusal(
                (*place, "minDomains"), "minDomains with ScheduleAnyway; write DoNotSchedule, or remove it"
            )
    required = get_nested(spec, "affinity", "nodeAffinity", _REQUIRED)
    if required is not None and get_nested(required, "nodeSelectorTerms") == []:
        place = (*path, "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")
        yield api_refusal(place, "a required node affinity without terms; write one, or remove it")
    for field in ("podAffinity", "podAntiAffinity"):
        for index, term in enumerate(as_list(get_nested(spec, "affinity", field, _REQUIRED))):
            same, other = (as_list(get_nested(term, f"{each}LabelKeys")) for each in ("match", "mismatch"))
            for key in same:
                if key in other:
                    place = (*path, "affinity", field, _REQUIRED, index, "mismatchLabelKeys")
                    yield api_refusal(place, f"'{key}' in matchLabelKeys and in mismatchLabelKeys; write one of them")


def _pod_fields(spec: object, path: FieldPath) -> Iterator[Refusal]:
    if get_nested(spec, "nodeName") and as_list(get_nested(spec, "schedulingGates")):
        yield api_refusal((*path, "nodeName"), "the node of pods with schedulingGates; remove one of them")
    if get_nested(spec, "dnsPolicy") == "None" and not as_list(get_nested(spec, "dnsConfig", "nameservers")):
        yield api_refusal((*path, "dnsPolicy"), "dnsPolicy None without dnsConfig.nameservers; write one")
    if get_nested(spec, "hostPID") is True and get_nested(spec, "shareProcessNamespace") is True:
        message = "shareProcessNamespace of pods with hostPID; remove one of them"
        yield api_refusal((*path, "shareProcessNamespace"), message)
    priority = get_nested(spec, "priority")
    if priority not in (None, 0) and get_nested(spec, "priorityClassName") is None:
        message = f"the priority {describe_value(priority)} of pods without a class; write priorityClassName instead"
        yield api_refusal((*path, "priority"), message)
