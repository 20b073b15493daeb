"""Two tensors exchange what they are (`torch.utils.swap_tensors`)."""

from __future__ import annotations

import copyreg
import weakref

from ..core.public import METHODS, method
from ..core.tensor import Parameter, Tensor

_PARTS = ("_array", "_grad", "_node", "_rg", "_ver", "_view", "_x")


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange values, gradient, type and attributes of two tensors; everybody who holds one of
    them sees the other's.

    Raises:
        RuntimeError: something refers weakly to one of them, or their classes have different slots.

    >>> import pellucid as torch
    >>> a, b = torch.zeros(2), torch.ones(3)
    >>> torch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = [name for name in copyreg._slotnames(type(t1)) if name not in _PARTS]  # type: ignore[attr-defined]
    if set(slots) != {name for name in copyreg._slotnames(type(t2)) if name not in _PARTS}:  # type: ignore[attr-defined]
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for name in (*_PARTS, *slots):
        held = [(t, getattr(t, name)) for t in (t1, t2) if hasattr(t, name)]
        for tensor, _ in held:
            delattr(tensor, name)
        for tensor, value in held:
            setattr(t2 if tensor is t1 else t1, name, value)


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether `input.data = from_` can be: both are of one layout and on one device."""
    return input.layout == from_.layout and input.is_meta == from_.is_meta


@method()
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What takes this tensor's place when `load_state_dict` swaps: this one with the values of
    `other`, or with `assign=True` `other` itself, as a Parameter where this is one.

    >>> import pellucid as torch
    >>> torch.zeros(2).module_load(torch.ones(2))
    tensor([1., 1.])
    """
    if not assign:
        return METHODS["copy_"](self, other).detach()
    if isinstance(self, Parameter):
        return other if isinstance(other, Parameter) else Parameter(other, self.requires_grad)
    return other.detach()
