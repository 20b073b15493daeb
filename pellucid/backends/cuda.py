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
