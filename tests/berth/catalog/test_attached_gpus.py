"""GPUs attached to n1 machines: what goes together, and what the refusal says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth import catalog as hw


@pytest.mark.parametrize(
    ("name", "vcpu", "memory_gb"),
    [
        ("n1-standard-1", 1, 3.75),
        ("n1-standard-96", 96, 360),
        ("n1-highmem-2", 2, 13),
        ("n1-highmem-96", 96, 624),
        ("n1-highcpu-2", 2, 1.8),
        ("n1-highcpu-96", 96, 86.4),
    ],
)
def test_an_n1_machine_with_gpus_is_an_ordinary_machine(name: str, vcpu: int, memory_gb: float) -> None:
    """The planner treats it as a row; memory per vCPU is 3.75, 6.5 and 0.9 GB."""
    node = hw.attach_gpus(name, "nvidia-tesla-t4", 4)
    assert (node.name, node.vcpu, node.memory_gb, node.accelerators) == (name, vcpu, memory_gb, 4)
    assert (node.kind, node.resource, node.noun) == ("gpu", "nvidia.com/gpu", "T4")
    assert (node.compact_max_nodes, node.supports_dws, node.default_boot_disk) == (0, True, "pd-balanced")


@pytest.mark.parametrize(
    ("name", "accelerator", "count", "message"),
    [
        (
            "n1-standard-64",
            "nvidia-tesla-t4",
            1,
            "more than the 48 that 1 nvidia-tesla-t4 can have; write one of n1-standard-1",
        ),
        (
            "n1-standard-16",
            "nvidia-tesla-v100",
            1,
            "'n1-standard-16' has 16 vCPUs, more than the 12 that 1 nvidia-tesla-v100 can have",
        ),
        (
            "n1-standard-4",
            "nvidia-tesla-t4",
            3,
            "3 nvidia-tesla-t4 cannot be attached to one machine; write one of 1, 2, 4",
        ),
        (
            "n1-standard-4",
            "nvidia-l4",
            1,
            "'nvidia-l4' cannot be attached to a machine; write one of nvidia-tesla-t4, nvidia",
        ),
        (
            "n1-standard-3",
            "nvidia-tesla-t4",
            1,
            "'n1-standard-3' does not support attached GPUs; write one of n1-standard-1, n1-stan",
        ),
        ("n1-highcpu-1", "nvidia-tesla-t4", 1, "'n1-highcpu-1' does not support attached GPUs"),
        ("g2-standard-4", "nvidia-tesla-t4", 1, "'g2-standard-4' does not support attached GPUs"),
    ],
)
def test_an_invalid_gpu_attachment_lists_the_valid_ones(name: str, accelerator: str, count: int, message: str) -> None:
    """The error is a ValueError of its own type: the spec makes a fault of it, word for word."""
    with pytest.raises(hw.GpuAttachmentError) as refused:
        hw.attach_gpus(name, accelerator, count)
    assert message in str(refused.value)


@settings(deadline=None)
@given(st.data())
def test_every_attachment_within_the_table_exists(data: st.DataObject) -> None:
    """Only attachments above the vCPU limit are rejected."""
    gpus = hw.attachable_gpus().gpus
    accelerator = data.draw(st.sampled_from(sorted(gpus)))
    count, limit = data.draw(st.sampled_from(sorted(gpus[accelerator].items())))
    name, (vcpu, _) = data.draw(st.sampled_from(sorted(hw.attachable_gpus().hosts.items())))
    if vcpu <= limit:
        assert hw.attach_gpus(name, accelerator, count).accelerators == count
    else:
        with pytest.raises(hw.GpuAttachmentError):
            hw.attach_gpus(name, accelerator, count)


def test_the_n1_machines_are_the_three_series_up_to_96_vcpus() -> None:
    """1 to 96 vCPUs for standard, 2 to 96 for the others."""
    assert len(hw.attachable_gpus().hosts) == 8 + 7 + 7
    assert not any(name.startswith("n1-") for name in hw.machines())
