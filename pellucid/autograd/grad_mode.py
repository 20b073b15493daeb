"""The gradient modes under the name of their module in PyTorch (`torch.autograd.grad_mode`)."""

from __future__ import annotations

from ..core.modes import ContextDecorator
from ..core.modes import enable_grad as enable_grad
from ..core.modes import inference_mode as inference_mode
from ..core.modes import no_grad as no_grad
from ..core.modes import set_grad_enabled as set_grad_enabled

__all__ = [
    "enable_grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


_threads = [True]


def is_multithreading_enabled() -> bool:
    """The value last given to `set_multithreading_enabled`."""
    return _threads[0]


class set_multithreading_enabled(ContextDecorator):  # noqa: N801 (PyTorch's name)
    """Accepted, without effect: backward runs in the thread that called it.

    >>> import pellucid as torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     (3 * w).sum().backward()
    >>> w.grad
    tensor([3.])
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.before, _threads[0] = _threads[0], mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _threads[0] = self.before
