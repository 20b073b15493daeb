"""CUDA's switches, as scripts set them before they look whether there is a device; on the CPU they change nothing.

>>> import pellucid as torch
>>> torch.backends.cuda.matmul.allow_tf32 = True
>>> torch.backends.cuda.is_built()
False
"""

from __future__ import annotations

from types import SimpleNamespace

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def is_built() -> bool:
    """Whether this build can use CUDA: it cannot."""
    return False


# Which kernels attention may use on a CUDA device: settings that are kept, and change nothing on the CPU.
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def enable_flash_sdp(enabled: bool) -> None:
    """Keep the setting.

    >>> enable_flash_sdp(False)
    >>> flash_sdp_enabled()
    False
    >>> enable_flash_sdp(True)
    """
    _attention["flash"] = enabled


def flash_sdp_enabled() -> bool:
    """The setting."""
    return _attention["flash"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep the setting."""
    _attention["mem_efficient"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """The setting."""
    return _attention["mem_efficient"]


def enable_math_sdp(enabled: bool) -> None:
    """Keep the setting."""
    _attention["math"] = enabled


def math_sdp_enabled() -> bool:
    """The setting."""
    return _attention["math"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keep the setting."""
    _attention["cudnn"] = enabled


def cudnn_sdp_enabled() -> bool:
    """The setting."""
    return _attention["cudnn"]
