"""CUDA's switches, as scripts set them before they look whether there is a device; on the CPU they
change nothing.

>>> import pellucid as torch
>>> torch.backends.cuda.matmul.allow_tf32 = True
>>> torch.backends.cuda.is_built()
False
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace
from typing import Any

from ..errors import warn

matmul = SimpleNamespace(
    allow_tf32=False,
    fp32_precision="none",
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def is_built() -> bool:
    """Whether this build can use CUDA: it cannot."""
    return False


# Which kernels attention may use on a CUDA device: settings that are kept, and change nothing on
# the CPU.
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


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> AbstractContextManager[None]:
    """The settings for attention inside a block; the older form of
    `torch.nn.attention.sdpa_kernel`, which a FutureWarning says.
    """
    warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
        "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
    )
    return _chosen(
        {
            "flash": enable_flash,
            "math": enable_math,
            "mem_efficient": enable_mem_efficient,
            "cudnn": enable_cudnn,
        }
    )


@contextmanager
def _chosen(kernels: dict[str, bool]) -> Iterator[None]:
    before = dict(_attention)
    _attention.update(kernels)
    try:
        yield
    finally:
        _attention.update(before)


class SDPAParams:
    """Arguments of attention, as the questions below take them."""

    def __init__(
        self,
        query: Any,
        key: Any,
        value: Any,
        attn_mask: Any = None,
        dropout: float = 0.0,
        is_causal: bool = False,
        enable_gqa: bool = False,
    ) -> None:
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: there is no device."""
    return False


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: there is no device."""
    return False


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: there is no device."""
    return False


def is_flash_attention_available() -> bool:
    """False: there is no device."""
    return False
