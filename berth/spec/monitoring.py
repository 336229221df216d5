"""Schema of monitoring."""

from __future__ import annotations

from typing import Annotated, Literal

from berth.spec.amounts import Seconds
from berth.spec.base import (
    Entry,
    JsonSchema,
    Model,
    NonEmptyText,
    SemVer,
    Sequence,
    Text,
    default_field,
    short_form,
    unique_items,
    validation_fault,
)
from berth.spec.core import AfterValidator, BeforeValidator
from berth.spec.model import Field

ChannelName = Annotated[
    str,
    Text(
        r"projects/[^/]+/notificationChannels/[0-9]+",
        "a notification channel such as projects/acme-ml-dev/notificationChannels/1234567890",
    ),
]


class AlertSpec(Model):
    """Changes to an alert: its threshold, and how long it must hold."""

    limit: float | None = Field(default=None, ge=0, le=1_000_000_000)
    """Threshold, in the unit of the alert's metric."""
    lasts: Seconds | None = Field(default=None, alias="for")
    """How long the threshold must be exceeded before the alert fires, such as `30m`."""
    enabled: bool = True
    """Create the alert; `false` in the place of the mapping means `enabled: false`."""


AlertField = Annotated[AlertSpec, short_form(AlertSpec, "enabled", bool, "write {limit: <number>, for: 30m}, or false")]


class PrometheusSpec(Model):
    """The chart of kube-prometheus-stack: Prometheus and Grafana in the cluster."""

    version: SemVer | None = None
    """Version of the chart, in quotes. By default 88.4.0."""
    chart: NonEmptyText | None = None
    """Address of a mirror of the chart, or a path of it."""


Backend = Literal["managed", "in-cluster"]

_MAX_PRICE = 1_000_000


def _positive(value: float) -> float:
    """Return a price; raise a fault if it is negative or not finite."""
    if not 0 <= value <= _MAX_PRICE:
        raise validation_fault("bad-value", f"'{value:g}' is not a price; write a number from 0 to {_MAX_PRICE}")
    return value


class AcceleratorPricesSpec(Model):
    """Prices of accelerators."""

    currency: Annotated[str, Text(r"[A-Z]{3}", "a currency of three letters such as USD")] = "USD"
    """The currency, in three letters."""
    hourly: dict[str, Annotated[float, AfterValidator(_positive)]]
    """Price of one accelerator for an hour, by flavor."""


class MonitoringSpec(Model):
    """Dashboards and alerts."""

    backends: Annotated[Sequence[Backend], AfterValidator(unique_items)] = ("managed",)
    """`managed`: Managed Prometheus and Cloud Monitoring; `in-cluster`: Prometheus and Grafana in the cluster; both, or
    `[]` for neither."""
    backend: Literal["managed", "in-cluster", "none"] | None = None
    """Older form of `backends` with one entry, or `none`."""
    dashboards: bool = True
    """Create dashboards for queues and teams, capacity, GPUs and TPU slices, as far as the fleet has them."""
    alerts: Annotated[
        dict[str, AlertField] | None,
        BeforeValidator(lambda value: None if value is False else {} if value is True or value is None else value),
        JsonSchema({"type": ["object", "boolean", "null"]}),
    ] = Field(default_factory=dict)
    """`{<alert>: {limit, for}}` changes an alert, `{<alert>: false}` disables it, `false` disables all
    (docs/monitoring.md lists them; `false` means `enabled: false`). By default all."""
    notification_channels: Sequence[ChannelName] = ()
    """Notification channels of Cloud Monitoring, by their full names."""
    prometheus: Entry[PrometheusSpec] = default_field(PrometheusSpec)
    """The chart of kube-prometheus-stack, for `in-cluster`."""
    prices: AcceleratorPricesSpec | None = None
    """Prices of accelerators, for panels and recording rules of each team's cost."""
