"""The training code of stacks/jobs trains on a CPU, and continues after it was killed.

The extra `samples` has the libraries; this file imports nothing else, so that an environment with pytest and the extra
runs it.
"""

from __future__ import annotations

import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys

import pytest

JOBS = pathlib.Path(__file__).parents[2] / "stacks" / "jobs"
SECONDS = 300
"""How long one training may take."""


def environment_of(folder: pathlib.Path, length: int, **more: str) -> dict[str, str]:
    """The variables of one training: its folder of checkpoints, and its length in steps and epochs."""
    lengths = {"STEPS": str(length), "EPOCHS": str(length), "CHECKPOINT_EVERY": "10"}
    return {"CHECKPOINT_DIR": str(folder), "PATH": "", "OMP_NUM_THREADS": "1", **lengths, **more}


def train(command: list[str], environment: dict[str, str]) -> list[str]:
    """The lines that a training prints."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def preempt(command: list[str], environment: dict[str, str], after: str) -> list[str]:
    """Start a training, kill its process as soon as it prints a line that starts so, and return the lines."""
    lines: list[str] = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            if line.startswith(after):
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL, lines
    return lines


def results(lines: list[str]) -> dict[int, float]:
    """Step or epoch → loss."""
    words = [line.split() for line in lines if line.startswith(("step ", "epoch "))]
    return {int(each[1].rstrip(":")): float(each[3]) for each in words}


def started_at(lines: list[str]) -> int:
    """The step or epoch with which a training says that it starts."""
    (line,) = (each for each in lines if "starts at" in each)
    return int(line.split("starts at ")[1].split()[1])


def check_preemption(command: list[str], tmp_path: pathlib.Path, length: int, kill_after: str, **more: str) -> None:
    """Killed after a checkpoint and started again, a training ends as one that was never interrupted does."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    in_one = train(command, environment_of(whole, length, **more))
    first = preempt(command, environment_of(killed, length, **more), kill_after)
    second = train(command, environment_of(killed, length, **more))
    assert started_at(in_one) == started_at(first) == 0
    reached = int(kill_after.split()[1].rstrip(":"))
    # It may have written another checkpoint before the signal arrived, but never less than it printed.
    assert reached <= started_at(second) < length
    assert length not in results(first)
    assert results(second)[length] == results(in_one)[length]
    assert results(in_one)[length] < results(in_one)[min(results(in_one))]


# --- JAX --------------------------------------------------------------------------------------------------------------

JAX = JOBS / "jax-multislice" / "train.py"
EIGHT_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}


def test_the_jax_training_continues_from_its_checkpoint_after_it_was_killed(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("jax", reason="the extra `samples` is not installed")
    command = [sys.executable, str(JAX)]
    check_preemption(command, tmp_path, 3000, "step 20:", **EIGHT_DEVICES)


def test_the_jax_training_counts_its_devices_first(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("jax", reason="the extra `samples` is not installed")
    lines = train([sys.executable, str(JAX)], environment_of(tmp_path, 10, **EIGHT_DEVICES))
    assert lines[0] == "8 devices in 1 processes"


def test_two_slices_train_as_one_job_with_jax(tmp_path: pathlib.Path) -> None:
    """Two processes of four devices each take the place of two slices; one of them writes the checkpoint."""
    pytest.importorskip("jax", reason="the extra `samples` is not installed")
    four = EIGHT_DEVICES | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    address = f"127.0.0.1:{free_port()}"
    join = "import jax, runpy, sys; jax.distributed.initialize({!r}, 2, {}); runpy.run_path({!r}, run_name='__main__')"
    commands = [[sys.executable, "-c", join.format(address, index, str(JAX))] for index in range(2)]
    environment = environment_of(tmp_path, 40, **four)
    processes = [
        subprocess.Popen(each, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for each in commands
    ]
    outputs = [each.communicate(timeout=SECONDS) for each in processes]
    assert [each.returncode for each in processes] == [0, 0], outputs
    first, second = ([line for line in text.splitlines() if line] for text, _ in outputs)
    assert "8 devices in 2 processes" in first
    assert results(first) == results(second)
    assert results(first)[40] < results(first)[10]
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.npz"]


# --- PyTorch ----------------------------------------------------------------------------------------------------------

PYTORCH = JOBS / "pytorch-ddp" / "train.py"
MNIST = JOBS / "mnist" / "train.py"


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def one_process() -> dict[str, str]:
    """What torchrun sets for the only process of a job."""
    ranks = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
    return {**ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}


def torchrun(file: pathlib.Path) -> list[str]:
    """The command of a job of one pod with two processes."""
    address = ["--master-addr=127.0.0.1", f"--master-port={free_port()}"]
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", *address, str(file)]


def test_the_pytorch_training_continues_from_its_checkpoint_after_it_was_killed(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch", reason="the extra `samples` is not installed")
    check_preemption([sys.executable, str(PYTORCH)], tmp_path, 3000, "step 20:", **one_process())


def test_two_gpus_train_as_one_job_with_pytorch(tmp_path: pathlib.Path) -> None:
    """Two processes on a CPU take the place of two GPUs."""
    pytest.importorskip("torch", reason="the extra `samples` is not installed")
    lines = train(torchrun(PYTORCH), environment_of(tmp_path, 200))
    assert lines[0] == "2 processes, starts at step 0 of 200"
    assert results(lines)[200] < results(lines)[10]


# --- MNIST ------------------------------------------------------------------------------------------------------------


def write_mnist(folder: pathlib.Path, count: int = 256) -> None:
    """Write images in MNIST's format: a bright row at the height of the digit, on noise. Nothing is downloaded."""
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    numbers = random.Random(0)
    digits = [index % 10 for index in range(count)]
    for part in ("train", "t10k"):
        pixels = bytearray()
        for digit in digits:
            for row in range(28):
                bright = 200 if row // 2 == digit + 2 else 0
                pixels += bytes(bright + numbers.randrange(50) for _ in range(28))
        (raw / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + bytes(pixels))
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + bytes(digits))


def test_the_mnist_training_continues_from_its_checkpoint_after_it_was_killed(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torchvision", reason="the extra `samples` is not installed")
    write_mnist(tmp_path / "data")
    settings = {"DATA_DIR": str(tmp_path / "data"), "JOB_NAME": "low-0"}
    check_preemption([sys.executable, str(MNIST)], tmp_path, 8, "epoch 2:", **settings, **one_process())
    assert (tmp_path / "killed" / "low-0" / "checkpoint.pt").is_file()


def test_two_gpus_train_mnist_as_one_job(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torchvision", reason="the extra `samples` is not installed")
    write_mnist(tmp_path / "data")
    lines = train(torchrun(MNIST), environment_of(tmp_path, 3, DATA_DIR=str(tmp_path / "data")))
    assert lines[0] == "2 processes, 256 images, starts at epoch 0 of 3"
    assert results(lines)[3] < results(lines)[1]


# --- Ray --------------------------------------------------------------------------------------------------------------

RAY = JOBS / "ray" / "search.py"


def test_the_ray_search_finds_a_learning_rate(tmp_path: pathlib.Path) -> None:
    """On CPUs; the largest rate ends without a finite loss, and is not the best."""
    pytest.importorskip("ray", reason="the extra `samples` is not installed")
    pytest.importorskip("torch", reason="the extra `samples` is not installed")
    settings = {"GPUS_PER_TRIAL": "0", "RAY_USAGE_STATS_ENABLED": "0", "HOME": str(tmp_path)}
    lines = train([sys.executable, str(RAY)], environment_of(tmp_path, 1, **settings))
    rate, loss = lines[-1].removeprefix("best learning rate ").split(": loss ")
    assert rate == "0.1"
    assert float(loss) < 1


def test_a_ray_search_without_gpus_ends(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("ray", reason="the extra `samples` is not installed")
    environment = environment_of(tmp_path, 1, RAY_USAGE_STATS_ENABLED="0", HOME=str(tmp_path))
    command = [sys.executable, str(RAY)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 1
    assert "a trial needs 1 GPUs" in done.stderr
