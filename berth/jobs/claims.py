"""Claims of devices by pods (dynamic resource allocation), counted as Kueue 0.19.2 counts them (`pkg/dra/claims.go`).

Kueue counts claims that come from a ResourceClaimTemplate of the job's namespace. It does not count a ResourceClaim
that pods share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from berth.jobs.files import ManifestDocument
from berth.jobs.job_manifests import JobManifest
from berth.jobs.pod_set import FieldSteps, PodSet
from berth.jobs.values import get_nested
from berth.manifests.workloads.values import as_list, as_mapping
from berth.plan.fleet import FleetPlan
from berth.plan.kueue import CHANNEL_CLASS

TEMPLATE_KIND = "ResourceClaimTemplate"
DOMAIN_TEMPLATE = ("spec", "channel", "resourceClaimTemplate", "name")
"""Where a ComputeDomain of NVIDIA's DRA driver names the template that the driver makes from it."""


class ClaimTemplate(Struct, frozen=True):
    """The devices of one claim, by DeviceClass; `refusal` is why Kueue never admits it, "" if it does.

    `domain_nodes` are those of the ComputeDomain that the template is made from (0: any number), None without one.
    """

    devices: Mapping[str, int] = field(default_factory=dict[str, int])
    refusal: str = ""
    domain_nodes: int | None = None


class Claims:
    """The claim templates that a fleet's teams have, and those of manifests; the resources that devices count as."""

    def __init__(self, plan: FleetPlan | None, documents: Iterable[ManifestDocument] = ()) -> None:
        self.is_known = plan is not None and plan.kueue is not None
        mappings = plan.kueue.device_mappings if plan is not None and plan.kueue is not None else ()
        self.resource_of = {name: mapping.name for mapping in mappings for name in mapping.device_classes}
        self.templates: dict[tuple[str, str], ClaimTemplate] = {
            (namespace.name, each.name): ClaimTemplate({each.device_class: each.count})
            for team in (plan.teams if plan is not None else ())
            for namespace in team.namespaces
            for each in team.claim_templates
        }
        self._read(documents)

    def with_documents(self, documents: Iterable[ManifestDocument]) -> Claims:
        """Return these claims, and the templates of manifests."""
        both = Claims(None)
        both.is_known, both.resource_of, both.templates = self.is_known, self.resource_of, dict(self.templates)
        both._read(documents)
        return both

    def _read(self, documents: Iterable[ManifestDocument]) -> None:
        for document in documents:
            items = as_list(get_nested(document.value, "items")) if _kind(document.value) == "List" else []
            for value in (document.value, *items):
                namespace = str(get_nested(value, "metadata", "namespace") or "default")
                if _kind(value) == TEMPLATE_KIND:
                    name = str(get_nested(value, "metadata", "name"))
                    self.templates[namespace, name] = read_claim_template(value)
                elif _kind(value) == "ComputeDomain":
                    name = str(get_nested(value, *DOMAIN_TEMPLATE))
                    nodes = get_nested(value, "spec", "numNodes")
                    number = nodes if isinstance(nodes, int) else 0
                    self.templates[namespace, name] = ClaimTemplate({CHANNEL_CLASS: 1}, domain_nodes=number)

    def with_devices(self, job: JobManifest) -> JobManifest:
        """Return the job with the devices that its pods claim among their requests."""
        if not self.templates or not job.pod_sets:
            return job
        counted = tuple(self._with_devices(each, job.namespace) for each in job.pod_sets)
        return replace(
            job, pod_sets=counted, group=tuple(self._with_devices(each, job.namespace) for each in job.group)
        )

    def _with_devices(self, pod_set: PodSet, namespace: str) -> PodSet:
        requests: Counter[str] = Counter()
        paths: dict[str, FieldSteps] = {}
        for claim in pod_set.claims:
            known = self.templates.get((namespace, claim.name)) if claim.kind == TEMPLATE_KIND else None
            for device_class, count in known.devices.items() if known is not None else ():
                if (resource := self.resource_of.get(device_class)) is not None:
                    requests[resource] += count
                    paths.setdefault(resource, claim.path)
        if not requests:
            return pod_set
        requested, located = {**pod_set.requests, **requests}, {**paths, **pod_set.request_paths}
        return replace(pod_set, requests=requested, request_paths=located)


NO_CLAIMS = Claims(None)
"""The claims of a fleet whose teams have no templates."""


def _kind(value: object) -> object:
    return get_nested(value, "kind")


def read_claim_template(value: object) -> ClaimTemplate:
    """Return what a ResourceClaimTemplate claims, of any version of its API."""
    devices: Counter[str] = Counter()
    for request in as_list(get_nested(value, "spec", "spec", "devices", "requests")):
        if as_mapping(request).get("firstAvailable") is not None:
            return ClaimTemplate(refusal="claims the first available of several devices; write exactly")
        exactly = as_mapping(as_mapping(request).get("exactly") or request)
        if exactly.get("adminAccess") is True:
            return ClaimTemplate(refusal="claims devices with adminAccess; remove it")
        if exactly.get("allocationMode") == "All":
            return ClaimTemplate(
                {str(exactly.get("deviceClassName")): 0},
                "claims all devices of a node; write allocationMode: ExactCount and a count",
            )
        count = exactly.get("count", 1)
        devices[str(exactly.get("deviceClassName"))] += count if isinstance(count, int) else 1
    return ClaimTemplate(devices)
