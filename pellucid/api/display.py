"""Print tensors."""

from __future__ import annotations

from ..arrays.meta import MetaArray
from ..core.display import formatting
from ..core.display.outdated import Outdated
from ..core.public import METHODS, public
from ..core.tensor import Parameter, Tensor

for _name in ("set_printoptions",):
    public()(getattr(formatting, _name))


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    if isinstance(self._array, MetaArray) and not self.is_meta:  # of others that it is made of
        return f"{type(self).__name__}(..., size={tuple(self.shape)}" + (
            ", requires_grad=True)" if self._rg else ")"
        )
    outdated = type(self._node) is Outdated
    node = None if outdated else self.grad_fn
    text = formatting.tensor_str(
        self._array,
        dtype=self.dtype,
        device=self.device,
        requires_grad=self._rg,
        grad_fn_name="Invalid" if outdated else None if node is None else node.name(),
        class_name=type(self).__name__,
        parameter=isinstance(self, Parameter),
        tangent=_tangent(self),
        contents=tensor_contents,
    )
    return text


def _tangent(self: Tensor) -> str | None:
    tangents = (self._x or {}).get("tangents")
    return str(tangents[max(tangents)]) if tangents else None


def _str(self: Tensor) -> str:
    return repr(self)  # a subclass that says how it is shown is shown so


def _format(self: Tensor, spec: str) -> str:
    if isinstance(self._array, MetaArray):
        return repr(self)
    return formatting.format_tensor(
        self._array, spec, lambda: repr(self), plain=type(self) is Tensor
    )


METHODS["__repr__"] = _repr
METHODS["__str__"] = _str
METHODS["__format__"] = _format
