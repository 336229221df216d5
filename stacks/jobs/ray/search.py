"""Search a learning rate with Ray: one trial on each GPU, as many at once as the cluster has.

GPUS_PER_TRIAL=0 trains on CPUs instead. Without a GPU for a trial Ray would wait forever, so the program ends.
"""

from __future__ import annotations

import math
import os
import sys

import ray
import torch

GPUS_PER_TRIAL = float(os.environ.get("GPUS_PER_TRIAL", "1"))
DEVICE = "cuda" if GPUS_PER_TRIAL else "cpu"


@ray.remote(num_gpus=GPUS_PER_TRIAL)
def trial(rate: float, steps: int = 200) -> tuple[float, float]:
    """Train with one learning rate; return it and the loss that it reaches."""
    torch.manual_seed(0)
    inputs = torch.randn(256, 16, device=DEVICE)
    targets = inputs.sum(dim=1, keepdim=True).sin()
    network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)).to(DEVICE)
    optimizer = torch.optim.SGD(network.parameters(), lr=rate)
    loss = torch.tensor(0.0)
    for _ in range(steps):
        loss = torch.nn.functional.mse_loss(network(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return rate, loss.item()


if __name__ == "__main__":
    ray.init()
    gpus = ray.cluster_resources().get("GPU", 0)
    print(f"{int(gpus)} GPUs", flush=True)
    if gpus < GPUS_PER_TRIAL:
        sys.exit(f"a trial needs {GPUS_PER_TRIAL:g} GPUs")
    results = ray.get([trial.remote(10**-exponent) for exponent in (0, 1, 2, 3)])
    best_rate, best_loss = min((each for each in results if math.isfinite(each[1])), key=lambda each: each[1])
    print(f"best learning rate {best_rate}: loss {best_loss:.4f}", flush=True)
