"""`torch.autograd.variable`: the old way to make a tensor that records operations."""

from __future__ import annotations

from typing import Any

from ..api.gradients import as_subclass, engine
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentTypeError, warn
from ..ops.create._factory import want_gradient

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """Every tensor is an instance of `Variable`."""

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor, requires_grad)` is a detached tensor on the same data.

    Raises:
        TypeError: the data is not a tensor.

    >>> import pellucid as torch
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = engine

    def __new__(
        cls, data: Tensor | None = None, requires_grad: bool = False, volatile: Any = None
    ) -> Any:
        if volatile:
            warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
            )
        if data is None:
            data = make_tensor(Tensor()._array)
        elif not isinstance(data, Tensor):
            raise ArgumentTypeError(
                f"Variable data has to be a tensor, but got {type(data).__name__}"
            )
        result = as_subclass(data, Tensor).detach()
        return want_gradient(result) if requires_grad else result
