"""The Google APIs that a fleet needs."""

from __future__ import annotations

from collections.abc import Iterable

import pulumi
import pulumi_gcp as gcp

from berth.google.services import enabled_service

from ..options import resource_options


class Services(pulumi.ComponentResource):
    """Enables APIs in the project, and never disables them, because others in the project may use them.

    `enabled` maps each API to its resource, so that other resources depend only on the APIs that they need.
    """

    def __init__(
        self,
        name: str,
        apis: Iterable[str],
        *,
        project: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("berth:gke:Services", name, None, opts)
        self.enabled: dict[str, pulumi.Resource] = {}
        for api in sorted(apis):
            made = enabled_service(api, project)
            self.enabled[api] = gcp.projects.Service(
                f"{name}-{api.removesuffix('.googleapis.com')}", **made.arguments, opts=resource_options(made, self)
            )
        self.register_outputs({"services": list(self.enabled)})
