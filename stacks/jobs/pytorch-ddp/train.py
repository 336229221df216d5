"""Train a small model on all GPUs of a job with DistributedDataParallel, and continue after a preemption.

torchrun starts one process for each GPU. CHECKPOINT_DIR is a folder that all pods share (a bucket mounted with Cloud
Storage FUSE). STEPS is the length of the training, CHECKPOINT_EVERY the steps between two checkpoints.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FEATURES, BATCH = 16, 64


def device() -> torch.device:
    """This process's GPU, or the CPU if there is none."""
    return torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")


def part_of_batch(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw this process's part of the batch of a step."""
    generator = torch.Generator().manual_seed(step * dist.get_world_size() + dist.get_rank())
    inputs = torch.randn(BATCH, FEATURES, generator=generator)
    targets = (inputs.sum(dim=1, keepdim=True) / FEATURES**0.5).sin()
    return inputs.to(device()), targets.to(device())


def save_from_first_process(folder: pathlib.Path, state: dict[str, Any]) -> None:
    """Write a checkpoint from one process; the name changes only when the file is whole."""
    if dist.get_rank() == 0:
        torch.save(state, folder / "unfinished.pt")
        (folder / "unfinished.pt").replace(folder / "checkpoint.pt")


def train_in_processes() -> None:
    """Train from the last checkpoint to the last step."""
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    folder = pathlib.Path(os.environ.get("CHECKPOINT_DIR", "."))
    folder.mkdir(parents=True, exist_ok=True)
    steps, every = int(os.environ.get("STEPS", "1000")), int(os.environ.get("CHECKPOINT_EVERY", "100"))
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(FEATURES, 32), nn.Tanh(), nn.Linear(32, 1)).to(device())
    model = DistributedDataParallel(network)
    optimizer = torch.optim.Adam(model.parameters())
    start = 0
    if (file := folder / "checkpoint.pt").exists():
        state = torch.load(file, map_location=device(), weights_only=True)
        start = state["step"]
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} processes, starts at step {start} of {steps}", flush=True)
    for step in range(start, steps):
        inputs, targets = part_of_batch(step)
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % every == 0 or step + 1 == steps:
            save_from_first_process(
                folder,
                {"step": step + 1, "network": network.state_dict(), "optimizer": optimizer.state_dict()},
            )
            if dist.get_rank() == 0:
                print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    train_in_processes()
