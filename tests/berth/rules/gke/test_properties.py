"""Rules over any pool: they never raise, each violation has a key and a remedy, and valid pools have valid settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from berth import catalog
from berth.diagnostics import Severity
from berth.plan.node_settings import Bounds
from berth.rules.gke.capacity import capacity_notes, pool_violations
from berth.rules.gke.networks import network_needs
from berth.rules.gke.placement import placement
from berth.rules.gke.pool_request import ClusterFeatures, GkeViolation, PoolRequest, ReservationRequest
from berth.rules.gke.settings import node_pool_settings as settings_of
from berth.rules.gke.settings import upgrade_surge
from berth.rules.gke.versions import feature_needs, missing_features
from berth.spec.cluster import ClusterSpec
from berth.spec.machines.node_system import NodeSystemSpec, SurgeSpec
from berth.spec.machines.pools import GpuSharingSpec, LocalSsdSpec, NodeSettings, PoolSpec
from berth.spec.machines.reservations import ReservationSpec
from tests.berth.rules.gke.pool_requests import machine

MACHINES = [machine("n1"), *catalog.machines().values()]
words = st.sampled_from(["x", "held", "b1"])
bounds = st.builds(Bounds, min=st.integers(0, 200), max=st.integers(0, 2000))
reservations = st.builds(
    ReservationRequest,
    form=st.sampled_from(["own", "named", "any", "any-or-fail"]),
    name=st.none() | words,
    project=st.none() | words,
    block=st.none() | words,
    sub_block=st.none() | words,
)
clusters = st.builds(ClusterFeatures, autopilot=st.booleans(), dcgm=st.booleans())
maybe = st.none() | st.booleans()


@st.composite
def pools(draw: st.DrawFn) -> PoolRequest:
    """Any pool that the class can say, sensible or not; most fields are left at their defaults."""
    row = draw(st.sampled_from(MACHINES))
    output = draw(st.sampled_from(catalog.slice_topologies(row)[:6])) if catalog.slice_topologies(row) else None
    rest: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=_OPTIONAL))
    shape = catalog.slice_shape(row, output) if output else None
    reservation = draw(reservations) if rest.get("capacity") == "reservation" else None
    written = NodeSettings.model_construct(**draw(st.fixed_dictionaries({}, optional=_SETTINGS)))
    return PoolRequest(machine=row, shape=shape, nodes=draw(bounds), reservation=reservation, settings=written, **rest)


_OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "capacity": st.sampled_from(["on-demand", "spot", "reservation", "flex-start", "queued"]),
    "max_run_seconds": st.none() | st.integers(0, 700000),
    "autoscaled": st.booleans(),
    "zones": st.lists(st.sampled_from(["us-east5-a", "us-central1-a", "us-west4-a"]), unique=True).map(tuple),
    "auto_provisioned": st.booleans(),
    "compute_class": st.booleans(),
    "cluster": clusters,
}
_SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    "compact_placement": st.booleans(),
    "topology_aware": st.booleans(),
    "surge": st.none() | st.builds(SurgeSpec.model_construct, max_surge=st.integers(0, 2)),
    "local_ssd": st.none() | st.builds(LocalSsdSpec.model_construct, ephemeral=st.integers(0, 33)),
    "gpu_sharing": st.none()
    | st.builds(
        GpuSharingSpec.model_construct,
        strategy=st.sampled_from(["mps", "time-sharing"]),
        max_shared_clients=st.integers(0, 60),
    ),
    "gpu_partition": st.sampled_from([None, "1g.5gb", "1g.24gb", "x"]),
    "driver_version": st.sampled_from(["default", "latest", "disabled"]),
    "confidential_nodes": st.sampled_from([None, "SEV", "TDX"]),
    "networking": st.sampled_from([None, "gpudirect", "dranet"]),
    "max_pods_per_node": st.none() | st.integers(8, 256),
    "secure_boot": maybe,
    "node_system_config": st.none() | st.builds(NodeSystemSpec),
    "service_account": st.sampled_from([None, "nodes@acme.iam.gserviceaccount.com"]),
}
"""Keys of a pool that describe its nodes."""
KEYS = {
    *(field.alias for spec in (PoolSpec, ReservationSpec, ClusterSpec) for field in spec.model_fields.values()),
    *("reservation", "maxRunDuration", "placement"),
}
"""Keys of a pool, a reservation and a cluster, and three that are inside `capacity`, or have another name there."""

WITHOUT_VALUE = ("slice-zone", "compact-zones", "dws-static", "topology-from-zero")
"""Codes of messages that may name no value of the stack file."""

any_pool = settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])


def every_violation_blames_a_key_quotes_a_value_and_names_a_remedy(violations: Sequence[GkeViolation]) -> None:
    for violation in violations:
        assert violation.key in KEYS
        assert violation.severity in Severity
        assert "None" not in violation.message or "max" in violation.message
        assert ";" in violation.message or violation.severity == "warning"
        assert "'" in violation.message or violation.code in WITHOUT_VALUE


def a_valid_pool_has_one_size_and_at_most_one_reservation(request: PoolRequest) -> None:
    made = settings_of(request, request.nodes)
    assert [made.nodes_per_zone, made.per_zone, made.total].count(None) == 2
    taken = request.capacity == "reservation" and request.reservation is not None
    assert (made.affinity.type == "NO_RESERVATION") != taken
    assert made.spot + made.flex_start <= 1
    if request.uses_dws and not request.made_by_gke:  # no node pool is created from the settings of the others
        assert not (made.auto_repair or upgrade_surge(request) or made.nodes_per_zone is not None)
    assert placement(request).max_nodes is None or placement(request).one_zone


def a_valid_pool_has_its_requested_networks(request: PoolRequest) -> None:
    needed = network_needs(request)
    assert (needed.mode == "none") == (request.settings.networking is None)
    assert not (needed.profile and needed.additional_networks)


def every_pool_has_its_notes_and_requirements(request: PoolRequest) -> None:
    assert all(capacity_notes(request))
    result = missing_features(feature_needs(request), None, "rapid")
    assert {lack.severity for lack in result} <= {"note"}
    assert missing_features(feature_needs(request), "1.99") == []


@any_pool
@given(pools())
def test_every_pool_keeps_every_rule(request: PoolRequest) -> None:
    """Each pool is generated once for all of them."""
    violations = pool_violations(request)
    assert len(set(violations)) == len(violations)
    every_violation_blames_a_key_quotes_a_value_and_names_a_remedy(violations)
    every_pool_has_its_notes_and_requirements(request)
    if not any(violation.severity == "fault" for violation in violations):
        a_valid_pool_has_one_size_and_at_most_one_reservation(request)
        a_valid_pool_has_its_requested_networks(request)
