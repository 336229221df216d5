"""What a pod template says of its pods beside their placement, as facts with positions, read once.

A fact is a value with its place in the manifest; None or nothing where the template does not have it. Values of a wrong
type are passed over: the API server's own rules (`berth/lint/validity`) report them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from berth.jobs.pod_set import FieldSteps, PodVolume
from berth.jobs.values import SourceValue, get_nested, inside, items
from berth.manifests.workloads.values import as_list, as_mapping

_HANDLERS = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)
_CONTAINERS = ("initContainers", "containers")


class ContainerSettings:
    """The facts of one container, of those that initialize too."""

    def __init__(self, source: SourceValue) -> None:
        self.source = source
        self.security = inside(source, "securityContext")
        self.added_capabilities = inside(self.security, "capabilities", "add")

    @cached_property
    def requests(self) -> SourceValue:
        """What it requests of each resource, with its place."""
        return inside(self.source, "resources", "requests")

    @cached_property
    def limits(self) -> SourceValue:
        """Its limits for each resource, with their place."""
        return inside(self.source, "resources", "limits")

    @property
    def resources(self) -> set[str]:
        """The resources that it requests or limits."""
        return {str(name) for each in (self.limits, self.requests) for name in as_mapping(each.value)}

    @property
    def claims(self) -> list[SourceValue]:
        """The resource claims that it uses."""
        return items(inside(self.source, "resources", "claims"))

    @property
    def image(self) -> SourceValue:
        """The name of its image."""
        return inside(self.source, "image")

    @property
    def privileged(self) -> SourceValue | None:
        """The setting that makes it privileged."""
        found = inside(self.security, "privileged")
        return found if found.value is True else None

    @property
    def mounts(self) -> Iterator[tuple[SourceValue, bool]]:
        """Yield the name of each volume that it mounts, and whether only for reading."""
        for each in items(inside(self.source, "volumeMounts")):
            yield inside(each, "name"), get_nested(each.value, "readOnly") is True

    @property
    def host_ports(self) -> Iterator[tuple[SourceValue, int]]:
        """Yield the ports of the node that its ports name, each with the place of the list."""
        ports = inside(self.source, "ports")
        for each in as_list(ports.value):
            number = get_nested(each, "hostPort")
            if isinstance(number, int) and number != 0:
                yield ports, number

    @property
    def probed_hosts(self) -> Iterator[tuple[SourceValue, str, object]]:
        """Yield probes and hooks that name a host: their place, their name and the host."""
        for path in _HANDLERS:
            for kind in ("httpGet", "tcpSocket"):
                if host := get_nested(self.source.value, *path, kind, "host"):
                    yield inside(self.source, path[0]), path[-1], host

    @property
    def grace_periods(self) -> Iterator[SourceValue]:
        """Yield the grace periods of its probes."""
        for probe in ("livenessProbe", "startupProbe"):
            yield inside(self.source, probe, "terminationGracePeriodSeconds")


class PodSettings:
    """The facts of one pod template."""

    def __init__(self, template: SourceValue) -> None:
        self._template = template
        self.path = template.path
        self.metadata = inside(template, "metadata")
        self.spec = inside(template, "spec")

    def is_like(self, other: PodSettings) -> bool:
        """Whether both templates say the same."""
        return self._template.value == other._template.value

    def at(self, path: FieldSteps) -> SourceValue:
        """Locate a field of the template, without its value."""
        return SourceValue(None, (*self.path, *path), self._template.problems)

    def field(self, *keys: str) -> SourceValue:
        """Return a field of the pod's spec; None as its value if it is not written."""
        return inside(self.spec, *keys)

    def has(self, key: str) -> bool:
        """Whether the pod's spec writes a field."""
        return key in as_mapping(self.spec.value)

    def is_true(self, key: str) -> bool:
        """Whether a field of the pod's spec is true."""
        return self.field(key).value is True

    @cached_property
    def labels(self) -> Mapping[str, object]:
        """The labels of the pods."""
        return as_mapping(inside(self.metadata, "labels").value)

    @cached_property
    def annotations(self) -> Mapping[str, object]:
        """The annotations of the pods."""
        return as_mapping(inside(self.metadata, "annotations").value)

    def annotation(self, key: str) -> SourceValue:
        """Return an annotation, and its place."""
        return inside(self.metadata, "annotations", key)

    @cached_property
    def containers(self) -> list[ContainerSettings]:
        """The containers: those that initialize, then the others."""
        return [ContainerSettings(each) for key in _CONTAINERS for each in items(self.field(key))]

    @cached_property
    def resources(self) -> set[str]:
        """The resources that any container requests or limits."""
        return {name for each in self.containers for name in each.resources}

    def requests_any(self, resources: Collection[str]) -> bool:
        """Whether a container requests one of the resources, or the pod has claims."""
        return self.has("resourceClaims") or not self.resources.isdisjoint(resources)

    @cached_property
    def volumes(self) -> list[SourceValue]:
        """The volumes."""
        return items(self.field("volumes"))

    def volume_fields(self, volume: PodVolume) -> Mapping[str, object]:
        """Return what the template says of a volume of its kind."""
        index = volume.path[2]
        return as_mapping(get_nested(self.volumes[index].value if isinstance(index, int) else None, volume.kind))

    @property
    def host_paths(self) -> Iterator[tuple[SourceValue, object, bool]]:
        """Yield volumes of the node's file system: their place, the path, and whether a container may write."""
        written = {str(name.value) for each in self.containers for name, is_read in each.mounts if not is_read}
        for volume in self.volumes:
            if get_nested(volume.value, "hostPath") is not None:
                name = str(get_nested(volume.value, "name"))
                yield volume, get_nested(volume.value, "hostPath", "path"), name in written

    @property
    def security_contexts(self) -> list[SourceValue]:
        """The security contexts of the containers and of the pod, as far as they are written."""
        return [*(each.security for each in self.containers if each.security.value is not None), self.security]

    @property
    def security(self) -> SourceValue:
        """The security context of the pod."""
        return self.field("securityContext")

    @property
    def tolerated(self) -> list[SourceValue]:
        """The tolerations that the template writes."""
        return items(self.field("tolerations"))

    @property
    def grace_periods(self) -> list[SourceValue]:
        """The grace periods of the pod and of its probes."""
        own = self.field("terminationGracePeriodSeconds")
        return [own, *(found for each in self.containers for found in each.grace_periods)]

    def pod_terms(self, field: str) -> Iterator[object]:
        """Yield the required and preferred terms of `podAffinity` or `podAntiAffinity`."""
        rules = self.field("affinity", field)
        yield from as_list(get_nested(rules.value, "requiredDuringSchedulingIgnoredDuringExecution"))
        for each in as_list(get_nested(rules.value, "preferredDuringSchedulingIgnoredDuringExecution")):
            yield get_nested(each, "podAffinityTerm")
