"""How tensors print."""

from __future__ import annotations

from ..core.display import formatting
from ..core.public import METHODS, public
from ..core.tensor import Parameter, Tensor

for _name in ("set_printoptions",):
    public()(getattr(formatting, _name))


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    node = self.grad_fn
    text = formatting.tensor_str(
        self._array,
        dtype=self.dtype,
        device=self.device,
        requires_grad=self._rg,
        grad_fn_name=None if node is None else node.name(),
        class_name=type(self).__name__,
        parameter=isinstance(self, Parameter),
        tangent=_tangent(self),
        contents=tensor_contents,
    )
    return text


def _tangent(self: Tensor) -> str | None:
    tangents = (self._x or {}).get("tangents")
    return str(tangents[max(tangents)]) if tangents else None


def _format(self: Tensor, spec: str) -> str:
    if type(self._array).__name__ == "MetaArray":
        return _repr(self)
    return formatting.format_tensor(self._array, spec, lambda: _repr(self), plain=type(self) is Tensor)


METHODS["__repr__"] = _repr
METHODS["__str__"] = _repr
METHODS["__format__"] = _format
