"""One member of a module in the place of another (`torch.nn.utils._named_member_accessor`)."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ..modules.module import Module

_MISSING: Any = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of a parameter, buffer or attribute, and give back what was there.

    Raises:
        TypeError: the module is none, or what it names is not a tensor.
        KeyError: there is no such name, or it has dots.
        AttributeError: the module has no such member.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for table in (module._parameters, module._buffers):
        if name in table:
            before = table[name]
            if tensor is _MISSING:
                del table[name]
            else:
                table[name] = tensor
            return before
    before = vars(module).get(name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        object.__setattr__(module, name, tensor)
    elif before is not _MISSING:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module in the place of a child, and give back what was there.

    Raises:
        TypeError: one of them is not a module.
        KeyError: the name has dots, or is empty.
        AttributeError: there is no such child.
    """
    if not isinstance(module, Module) or not isinstance(submodule, Module):
        raise TypeError(
            f"{module if not isinstance(module, Module) else submodule} is not an instance of torch.nn.Module"
        )
    if "." in name:
        raise KeyError('submodule name can\'t contain "."')
    if name not in module._modules or module._modules[name] is None:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    before = module._modules[name]
    module._modules[name] = submodule
    assert before is not None
    return before
