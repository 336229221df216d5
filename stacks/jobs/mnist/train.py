"""Train a convolutional network on MNIST with all GPUs of a job, and continue after a preemption.

torchrun starts one process for each GPU. DATA_DIR is a folder of the pod for the dataset, which the pod's first process
downloads. CHECKPOINT_DIR is a folder that all pods share; JOB_NAME names the folder of this job in it. EPOCHS is the
length of the training; each epoch ends with a checkpoint.
"""

from __future__ import annotations

import os
import pathlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms

GLOBAL_BATCH = 128
MEAN, DEVIATION = 0.1307, 0.3081
"""Of the pixels of MNIST's training images."""


def digit_network() -> nn.Module:
    """Two convolutions and two linear layers, for images of 28 by 28 pixels."""
    features = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*features, nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))


def load_images() -> datasets.MNIST:
    """Open the training images; one process of each pod downloads them, and the others wait."""
    folder = os.environ.get("DATA_DIR", "/tmp/mnist")
    if os.environ["LOCAL_RANK"] == "0":
        datasets.MNIST(folder, download=True)
    dist.barrier()
    to_tensor = transforms.Compose([transforms.ToTensor(), transforms.Normalize((MEAN,), (DEVIATION,))])
    return datasets.MNIST(folder, transform=to_tensor)


def train_epoch(model: nn.Module, batches: DataLoader, optimizer: torch.optim.Optimizer, device: torch.device) -> float:
    """Train on every image once; return the mean loss over all processes."""
    total = torch.zeros((), device=device)
    for images, digits in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images.to(device)), digits.to(device))
        loss.backward()
        optimizer.step()
        total += loss.detach() / len(batches)
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def train_on_digits() -> None:
    """Train from the last checkpoint to the last epoch."""
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else torch.device("cpu")
    folder = pathlib.Path(os.environ.get("CHECKPOINT_DIR", "."), os.environ.get("JOB_NAME", ""))
    folder.mkdir(parents=True, exist_ok=True)
    epochs, is_first = int(os.environ.get("EPOCHS", "8")), dist.get_rank() == 0
    torch.manual_seed(0)
    base = digit_network().to(device)
    optimizer = torch.optim.SGD(base.parameters(), lr=0.01, momentum=0.5)
    start = 0
    if (file := folder / "checkpoint.pt").exists():
        state = torch.load(file, map_location=device, weights_only=True)
        start = state["epoch"]
        base.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
    model = DistributedDataParallel(base)
    images = load_images()
    sampler = DistributedSampler(images)
    batches = DataLoader(images, batch_size=GLOBAL_BATCH // dist.get_world_size(), sampler=sampler)
    if is_first:
        print(
            f"{dist.get_world_size()} processes, {len(images)} images, starts at epoch {start} of {epochs}", flush=True
        )
    for epoch in range(start, epochs):
        torch.manual_seed(epoch)  # the same dropout whether the training was interrupted or not
        sampler.set_epoch(epoch)
        loss = train_epoch(model, batches, optimizer, device)
        if is_first:
            state = {"epoch": epoch + 1, "network": base.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, folder / "unfinished.pt")
            (folder / "unfinished.pt").replace(file)
            print(f"epoch {epoch + 1}: loss {loss:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    train_on_digits()
