"""The arguments and options of `berth workload`."""

from __future__ import annotations

from typing import Annotated

import typer

from berth.workloads.options import KINDS, RESTART_STRATEGIES

Team = Annotated[str | None, typer.Argument(metavar="TEAM", help="The team that submits; needed without --acceptance.")]
Queue = Annotated[
    str | None, typer.Argument(metavar="QUEUE", help="One of its queues; a namespace where ACK has no quota tree.")
]
Acceptance = Annotated[
    bool,
    typer.Option(
        "--acceptance",
        help="Print a short job for each pool instead, which proves its accelerators and their network.",
        show_default=False,
    ),
]
Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND...]", help="Command of the container; the default sleeps for 60 s."),
]
Kind = Annotated[
    str | None, typer.Option("--kind", help=f"One of {', '.join(KINDS)}; the default is jobset for TPUs, job for GPUs.")
]
Name = Annotated[str | None, typer.Option("--name", help="The workload's name; the default is the queue's.")]
Image = Annotated[str | None, typer.Option("--image", help="The container's image.")]
Slices = Annotated[int | None, typer.Option("--slices", min=1, help="Number of TPU slices; the default is 1.")]
Topology = Annotated[
    str | None,
    typer.Option("--topology", help="Topology of each TPU slice, such as 4x4x8; the default is the pool's."),
]
Pods = Annotated[
    int | None, typer.Option("--pods", "--nodes", min=1, help="Number of pods with GPUs; the default is 1.")
]
Gpus = Annotated[int | None, typer.Option("--gpus", min=1, help="GPUs of each pod; the default is all of a node.")]
Cpu = Annotated[str | None, typer.Option("--cpu", help="CPU of each pod, such as 4 or 500m.")]
Memory = Annotated[str | None, typer.Option("--memory", help="Memory of each pod, such as 16Gi.")]
Priority = Annotated[str | None, typer.Option("--priority", help="A priority; the default is the queue's.")]
Flavor = Annotated[str | None, typer.Option("--flavor", help="Use only this flavor of the queue.")]
MaxRunDuration = Annotated[
    str | None, typer.Option("--max-run-duration", help="Maximum run time on queued machines: 3600s, 36h, 7d.")
]
MaxRestarts = Annotated[int, typer.Option("--max-restarts", min=0, help="Maximum number of restarts of a JobSet.")]
RestartStrategy = Annotated[
    str | None,
    typer.Option("--restart-strategy", help=f"Restart strategy of a JobSet: {' or '.join(RESTART_STRATEGIES)}."),
]
BackoffLimit = Annotated[
    int | None, typer.Option("--backoff-limit", min=0, help="Number of failed pods before a Job fails.")
]
Ports = Annotated[list[int] | None, typer.Option("--port", min=1, max=65535, help="A port of the container.")]
ServiceAccount = Annotated[
    str | None, typer.Option("--service-account", help="Service account of the pods; the default is the team's.")
]
PlacementGroup = Annotated[
    str | None,
    typer.Option("--placement-group", help="Name of the compact placement group for the nodes that GKE creates."),
]
Template = Annotated[
    str | None,
    typer.Option("--template", metavar="FILE", help="A pod template; Berth adds what the queue needs."),
]
Runtime = Annotated[str | None, typer.Option("--runtime", help="A trainjob's ClusterTrainingRuntime.")]
