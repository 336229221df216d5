"""Search a learning rate with Ray: one trial on each GPU, as many at once as the cluster has."""

from __future__ import annotations

import ray
import torch


@ray.remote(num_gpus=1)
def trial(rate: float, steps: int = 200) -> tuple[float, float]:
    """Train with one learning rate; return it and the loss that it reaches."""
    torch.manual_seed(0)
    inputs = torch.randn(256, 16, device="cuda")
    targets = inputs.sum(dim=1, keepdim=True).sin()
    network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)).cuda()
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
    print(f"{int(ray.cluster_resources().get('GPU', 0))} GPUs", flush=True)
    results = ray.get([trial.remote(10**-exponent) for exponent in (0, 1, 2, 3)])
    best_rate, best_loss = min(results, key=lambda each: each[1])
    print(f"best learning rate {best_rate}: loss {best_loss:.4f}", flush=True)
