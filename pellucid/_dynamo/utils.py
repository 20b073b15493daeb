"""What libraries ask of PyTorch's compiler beforehand (`torch._dynamo.utils`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

# What PyTorch counts while it compiles, by subject; nothing is counted here.
counters: defaultdict[str, Counter[str]] = defaultdict(Counter)


def is_compile_supported(device_type: Any) -> bool:
    """Whether `torch.compile` compiles for a kind of device: the CPU."""
    return str(getattr(device_type, "type", device_type)).partition(":")[0] == "cpu"
