"""Train a small model on every chip of a TPU multislice job, and continue from the last checkpoint after a preemption.

Every process runs this file. Processes find each other through JobSet and GKE; on one machine it runs as one process.
CHECKPOINT_DIR is a folder that all processes share (a bucket mounted with Cloud Storage FUSE). STEPS is the length of
the training, CHECKPOINT_EVERY the steps between two checkpoints.
"""

from __future__ import annotations

import os
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

FEATURES, HIDDEN, LOCAL_BATCH = 16, 32, 64
LEARNING_RATE = 0.05


def init(seed: int) -> dict[str, jax.Array]:
    """Draw the parameters of a network with one hidden layer."""
    first, second = jax.random.split(jax.random.key(seed))
    return {
        "hidden": jax.random.normal(first, (FEATURES, HIDDEN)) / FEATURES**0.5,
        "output": jax.random.normal(second, (HIDDEN, 1)) / HIDDEN**0.5,
    }


def loss(parameters: dict[str, jax.Array], inputs: jax.Array, targets: jax.Array) -> jax.Array:
    """Mean squared error over the whole batch, on all slices."""
    return jnp.mean((jnp.tanh(inputs @ parameters["hidden"]) @ parameters["output"] - targets) ** 2)


@jax.jit
def update(
    parameters: dict[str, jax.Array], inputs: jax.Array, targets: jax.Array
) -> tuple[dict[str, jax.Array], jax.Array]:
    """Take one step of gradient descent; return the new parameters, and the loss before it."""
    value, gradients = jax.value_and_grad(loss)(parameters, inputs, targets)
    return jax.tree.map(lambda each, slope: each - LEARNING_RATE * slope, parameters, gradients), value


def batch(step: int, sharding: NamedSharding) -> tuple[jax.Array, jax.Array]:
    """Draw the batch of a step, split over all devices; each process draws its own part of it."""
    random = np.random.default_rng((step, jax.process_index()))
    inputs = random.normal(size=(LOCAL_BATCH * jax.local_device_count(), FEATURES)).astype(np.float32)
    targets = np.sin(inputs.sum(axis=1, keepdims=True) / FEATURES**0.5).astype(np.float32)
    return tuple(jax.make_array_from_process_local_data(sharding, each) for each in (inputs, targets))


def save(folder: pathlib.Path, step: int, parameters: dict[str, jax.Array]) -> None:
    """Write a checkpoint from one process; the name changes only when the file is whole."""
    if jax.process_index() == 0:
        unfinished = folder / "unfinished.npz"
        np.savez(unfinished, step=step, **{name: np.asarray(value) for name, value in parameters.items()})
        unfinished.replace(folder / "checkpoint.npz")


def load(folder: pathlib.Path) -> tuple[int, dict[str, jax.Array]]:
    """Read the checkpoint; return the step to continue with, and the parameters. Without one: 0 and new parameters."""
    file = folder / "checkpoint.npz"
    if not file.exists():
        return 0, init(seed=0)
    with np.load(file) as saved:
        values = {name: jnp.asarray(saved[name]) for name in saved.files if name != "step"}
        return int(saved["step"]), values


def train_on_slices() -> None:
    """Train from the last checkpoint to the last step."""
    if "JOBSET_NAME" in os.environ:
        jax.distributed.initialize()
    print(f"{jax.device_count()} devices in {jax.process_count()} processes", flush=True)
    folder = pathlib.Path(os.environ.get("CHECKPOINT_DIR", "."))
    steps, every = int(os.environ.get("STEPS", "1000")), int(os.environ.get("CHECKPOINT_EVERY", "100"))
    mesh = Mesh(np.array(jax.devices()), ("data",))
    start, parameters = load(folder)
    parameters = jax.device_put(parameters, NamedSharding(mesh, PartitionSpec()))
    print(f"starts at step {start} of {steps}", flush=True)
    for step in range(start, steps):
        parameters, value = update(parameters, *batch(step, NamedSharding(mesh, PartitionSpec("data"))))
        if (step + 1) % every == 0 or step + 1 == steps:
            save(folder, step + 1, parameters)
            print(f"step {step + 1}: loss {float(value):.4f}", flush=True)


if __name__ == "__main__":
    train_on_slices()
