"""Every Kueue object that is rendered is one the API server accepts, as far as the published CRDs can say.

A CRD's schema lets unknown fields pass, because the server drops them in silence; here they are refused, or a misspelt
field would only show by not working. Out of reach: CEL rules (`x-kubernetes-validations`), such as no limits without a
cohort, and the checks of Kueue's webhooks: those are rules of plans, in `berth.rules.kueue` and `kueue_invariants`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from berth.manifests import fleet as manifests
from berth.manifests import kueue
from berth.plan.admission_checks import MultiKueueClusterPlan, MultiKueueConfigPlan, ProvisioningConfigPlan
from berth.plan.kueue import ClusterQueuePlan, CohortPlan
from berth.yaml_loader import LOADER
from tests.components.kueue import plans
from tests.stack_files import ROOT, clusters

CRDS = ROOT / "tests" / "vendored" / "crds"

AMOUNTS = st.integers(0, 10**6)
QUEUES = st.builds(
    lambda chips, borrow, lend, cohort, namespaces, whenever, stop, share: replace(
        plans.queue(
            cohort=cohort,
            namespaces=namespaces,
            flavors=(plans.quotas("v5e", chips, borrow=borrow, lend=lend),),
            when_can_borrow=whenever,
            when_can_preempt=whenever,
        ),
        stop_policy=stop,
        fair_share_weight=share,
    ),
    AMOUNTS,
    st.none() | AMOUNTS,
    st.none() | AMOUNTS,
    st.sampled_from([None, "research"]),
    st.sampled_from([None, (), ("vision",), ("vision", "speech")]),
    st.sampled_from([None, "MayStopSearch", "TryNextFlavor"]),
    st.sampled_from([None, "None", "Hold", "HoldAndDrain"]),
    st.none() | st.decimals(0, 1000, places=9).map(float),
)


@cache
def validator(api_version: str, kind: str) -> Draft202012Validator:
    """The strict schema of one kind at one version."""
    group, _, version = api_version.rpartition("/")
    for path in sorted(CRDS.glob(f"{group}_{kind.lower()[:-1]}*.yaml")):  # topolog-y, topolog-ies
        crd = yaml.load(path.read_text(), LOADER)["spec"]
        if crd["names"]["kind"] == kind:
            (served,) = (each for each in crd["versions"] if each["name"] == version and each["served"])
            return Draft202012Validator(strict(served["schema"]["openAPIV3Schema"]))
    raise LookupError(f"no CRD of {api_version} {kind} in {CRDS}")


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema, which rejects unknown fields in every object with known ones; `metadata` stays open, as in CRDs."""
    made = {key: _strict_part(key, value) for key, value in schema.items()}
    if "properties" in made and "additionalProperties" not in made:
        made["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    return made


def _strict_part(key: str, value: Any) -> Any:
    if key == "pattern":
        return str(value).replace("^(?i)", "(?i)^")  # Go takes a flag behind the start, Python before it alone
    if key == "properties":
        return {name: strict(each) for name, each in value.items()}
    if key in {"items", "additionalProperties"} and isinstance(value, dict):
        return strict(value)
    return value


def faults(manifest: Mapping[str, Any]) -> list[str]:
    result = validator(str(manifest["apiVersion"]), str(manifest["kind"])).iter_errors(dict(manifest))
    return [f"{manifest['kind']}{fault.json_path[1:]}: {fault.message}" for fault in result]


def kueue_objects() -> Iterator[dict[str, object]]:
    """All kinds, each with all fields and with the fewest."""
    for fleet in (plans.fleet(), plans.full_fleet()):
        for manifest in manifests.all_manifests(fleet):
            if str(manifest["apiVersion"]).startswith("kueue.x-k8s.io/"):
                yield manifest
    yield kueue.provisioning_request_config(ProvisioningConfigPlan(name="all", managed_resources=()))
    yield kueue.multikueue_config(MultiKueueConfigPlan(name="far", clusters=("a",)))
    yield kueue.multikueue_cluster(MultiKueueClusterPlan(name="a", kubeconfig="a"))
    yield kueue.multikueue_cluster(MultiKueueClusterPlan(name="b", profile="b"))
    yield kueue.resource_flavor(plans.flavor(labels={}, tolerated=False))
    yield kueue.cohort(CohortPlan(name="root", parent=None))
    yield kueue.cluster_queue(plans.queue(cohort=None, preemption=plans.NO_PREEMPTION, namespaces=()))


def test_every_rendered_object_fits_its_schema() -> None:
    assert [fault for manifest in kueue_objects() for fault in faults(manifest)] == []


@pytest.mark.parametrize("stack", ["quota-tree", "multikueue"])
def test_every_object_of_every_cluster_of_an_example_fits_its_schema(stack: str) -> None:
    of_kueue = [
        manifest
        for _, cluster in clusters(stack)
        for manifest in manifests.all_manifests(cluster)
        if str(manifest["apiVersion"]).startswith("kueue.x-k8s.io/")
    ]
    assert of_kueue
    assert [fault for manifest in of_kueue for fault in faults(manifest)] == []


def test_every_rendered_kind_has_a_schema() -> None:
    kinds = {str(manifest["kind"]) for manifest in kueue_objects()}
    assert kinds == {
        "AdmissionCheck",
        "ClusterQueue",
        "Cohort",
        "LocalQueue",
        "MultiKueueCluster",
        "MultiKueueConfig",
        "ProvisioningRequestConfig",
        "ResourceFlavor",
        "Topology",
        "WorkloadPriorityClass",
    }


@given(plan=QUEUES)
def test_every_cluster_queue_fits_its_schema(plan: ClusterQueuePlan) -> None:
    assert faults(kueue.cluster_queue(plan)) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("cohort", "research"), ("admissionChecks", ["dws"]), ("queueingStrategy", "FIFO"), ("cohortName", "Research")],
)
def test_a_field_of_an_older_version_or_a_wrong_value_is_caught(field: str, value: object) -> None:
    """The schema test must be able to fail: v1beta1's `cohort` is what the server would drop in silence."""
    manifest = kueue.cluster_queue(plans.queue())
    spec = manifest["spec"]
    assert isinstance(spec, dict)
    assert faults({**manifest, "spec": {**spec, field: value}})


def test_a_misspelt_field_deep_inside_is_caught() -> None:
    manifest = kueue.cluster_queue(plans.queue())
    manifest["spec"] = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "a", "resource": []}]}]}
    assert any("'resource' was unexpected" in fault for fault in faults(manifest))
