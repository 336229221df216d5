"""Where a composition registers its resources: at the root of a program, or below a component of one."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp
from msgspec import Struct
from msgspec.structs import replace

from components.kubernetes import cluster_provider

_PINNED_PREFIXES = ("gcp:compute/", "gcp:container/nodePool:")
"""Resources that components leave to the project of their provider. The rest name their project, or have none."""


class Scope(Struct, frozen=True):
    """The parent of a composition's resources, the start of their names, and the providers that the caller supplies.

    A program that composes at its root has the default scope: the URNs of its stacks contain no parent.
    `google` replaces the Google provider of every cluster; resources still go to the project of the plan.
    `kubernetes`, or else `kubeconfig`, reaches the existing cluster of a plan; a cluster that is created has a provider
    of its own.
    """

    parent: pulumi.Resource | None = None
    prefix: str = ""
    google: pulumi.ProviderResource | None = None
    kubernetes: pulumi.ProviderResource | None = None
    kubeconfig: pulumi.Input[str] | None = None

    def of_worker(self, worker: str) -> Scope:
        """Return the scope of a worker: its names start with the worker's, and it is another cluster."""
        return replace(self, prefix=f"{self.prefix}{worker}/", kubernetes=None, kubeconfig=None)

    def google_provider(self, project: str | None, region: str | None) -> pulumi.ProviderResource:
        """Return the Google provider of a project and region: the caller's, or a new one."""
        return self.google or gcp.Provider(
            f"{self.prefix}google",
            project=project,
            region=region,
            opts=pulumi.ResourceOptions(parent=self.parent),
        )

    def existing_cluster_provider(self, identifier: str, context: str | None = None) -> pulumi.ProviderResource:
        """Return the provider of an existing cluster: the caller's, or a new one of the kubeconfig."""
        return self.kubernetes or cluster_provider(
            f"{self.prefix}kubernetes",
            kubeconfig=self.kubeconfig,
            context=context,
            cluster_identifier=identifier,
            parent=self.parent,
        )

    def options(self, *providers: pulumi.ProviderResource | None, project: str | None = None) -> pulumi.ResourceOptions:
        """Return the options of a component whose children use these providers; None stands for no provider.

        `project` is where resources of a Google provider that the caller supplies are created.
        """
        opts = pulumi.ResourceOptions(parent=self.parent, providers=[each for each in providers if each is not None])
        if self.google is not None and self.google in providers and project is not None:
            opts.transformations = [_pin_project(project)]
        return opts


def _pin_project(project: str) -> pulumi.ResourceTransformation:
    """Return a transformation that writes the project into resources which would take it from their provider."""

    def pin(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        if not args.type_.startswith(_PINNED_PREFIXES) or args.props.get("project") is not None:
            return None
        return pulumi.ResourceTransformationResult({**args.props, "project": project}, args.opts)

    return pin
