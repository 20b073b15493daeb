"""What libraries ask of PyTorch's compiler beforehand (`torch._dynamo.utils`)."""

from __future__ import annotations

from typing import Any


def is_compile_supported(device_type: Any) -> bool:
    """Whether `torch.compile` compiles for a kind of device: the CPU."""
    return str(getattr(device_type, "type", device_type)).partition(":")[0] == "cpu"
