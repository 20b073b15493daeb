"""Backends made of compilers of forward and backward graphs (`torch._dynamo.backends.common`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compiler.ahead import aot_module_simplified

__all__ = ["aot_autograd"]


def aot_autograd(**options: Any) -> Callable[..., Any]:
    """A backend that computes forward and backward by compilers.

    Args:
        options: `fw_compiler`, `bw_compiler`, `partition_fn`, `decompositions` and
            `inference_compiler` of `aot_module_simplified`.

    Example:
        >>> import pellucid as torch
        >>> from pellucid._dynamo.backends.common import aot_autograd
        >>> from pellucid.compiler.ahead import nop
        >>> f = torch.compile(lambda x: x.sin().sum(), backend=aot_autograd(fw_compiler=nop))
        >>> x = torch.zeros(2, requires_grad=True)
        >>> f(x).backward()
        >>> x.grad
        tensor([1., 1.])
    """

    def backend(gm: Any, example_inputs: Any, **_: Any) -> Callable[..., Any]:
        return aot_module_simplified(gm, example_inputs, **options)

    return backend
