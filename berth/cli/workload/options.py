"""What may be written after `berth workload`: typer's words for each option, in one place."""

from __future__ import annotations

from typing import Annotated

import typer

from berth.workloads.options import KINDS, RESTART_STRATEGIES

Team = Annotated[str, typer.Argument(metavar="TEAM", help="The team that submits.")]
Queue = Annotated[str, typer.Argument(metavar="QUEUE", help="One of its queues.")]
Command = Annotated[
    list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="What the container runs; a trial sleeps 60 s.")
]
Kind = Annotated[str | None, typer.Option("--kind", help=f"One of {', '.join(KINDS)}; TPU slices: jobset, GPUs: job.")]
Name = Annotated[str | None, typer.Option("--name", help="The workload's name; the queue's unless written.")]
Image = Annotated[str | None, typer.Option("--image", help="The container's image.")]
Slices = Annotated[int | None, typer.Option("--slices", min=1, help="TPU slices; 1 unless written.")]
Pods = Annotated[int | None, typer.Option("--pods", "--nodes", min=1, help="Pods with GPUs; 1 unless written.")]
Gpus = Annotated[int | None, typer.Option("--gpus", min=1, help="GPUs of each pod; the node's unless written.")]
Cpu = Annotated[str | None, typer.Option("--cpu", help="CPU of each pod, such as 4 or 500m.")]
Memory = Annotated[str | None, typer.Option("--memory", help="Memory of each pod, such as 16Gi.")]
Priority = Annotated[str | None, typer.Option("--priority", help="A priority; the queue's unless written.")]
Flavor = Annotated[str | None, typer.Option("--flavor", help="Only machines of this flavor of the queue.")]
MaxRunDuration = Annotated[
    str | None, typer.Option("--max-run-duration", help="How long queued machines are kept: 3600s, 36h, 7d.")
]
MaxRestarts = Annotated[int, typer.Option("--max-restarts", min=0, help="How often a JobSet starts again.")]
RestartStrategy = Annotated[
    str | None, typer.Option("--restart-strategy", help=f"Of a JobSet: {' or '.join(RESTART_STRATEGIES)}.")
]
BackoffLimit = Annotated[int | None, typer.Option("--backoff-limit", min=0, help="Pods of a Job that may fail.")]
Ports = Annotated[list[int] | None, typer.Option("--port", min=1, max=65535, help="A port of the container.")]
ServiceAccount = Annotated[
    str | None, typer.Option("--service-account", help="Who the pods are; the team's unless written.")
]
PlacementGroup = Annotated[
    str | None, typer.Option("--placement-group", help="Put the nodes that GKE makes for the pods near each other.")
]
Template = Annotated[
    str | None,
    typer.Option("--template", metavar="FILE", help="A pod template; Berth adds what the queue needs."),
]
Runtime = Annotated[str | None, typer.Option("--runtime", help="A trainjob's ClusterTrainingRuntime.")]
