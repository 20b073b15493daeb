"""`torch.nn.attention`: choose the kernel of scaled dot product attention. There is one kernel
here, so the choice changes nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ...errors import OperationError

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """The names of PyTorch's attention kernels."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __str__ = enum.Enum.__str__


@contextmanager
def sdpa_kernel(
    backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[None]:
    """Accept a choice of kernels for the block; the results are the same whatever is chosen.

    Raises:
        AssertionError: something that is not an `SDPBackend`.

    >>> import pellucid as torch
    >>> from pellucid.nn.attention import SDPBackend, sdpa_kernel
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(torch.ones(1, 1, 1), torch.ones(1, 2, 1), torch.ones(1, 2, 1))
    tensor([[[1.]]])
    """
    if not isinstance(backends, (list, tuple, SDPBackend)):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}"
        )
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if any(not isinstance(b, SDPBackend) for b in chosen):
        raise OperationError(f"sdpa_kernel: expected members of SDPBackend, got {chosen}")
    yield
