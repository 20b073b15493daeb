"""`torch.cuda.sparse`: classes of sparse tensors on a device, of which no tensor here is one."""

from __future__ import annotations

from typing import Any as _Any

from ..api.create.by_name import no_cuda_type as _no_cuda_type


class _OnDevice(type):
    """Classes by PyTorch's names: `isinstance` is false, calling one raises PyTorch's error."""

    is_cuda = True

    def __instancecheck__(cls, obj: object) -> bool:
        return False

    def __call__(cls, *args: _Any, **kwargs: _Any) -> _Any:
        raise _no_cuda_type(cls)


def on_device(name: str, module: str) -> type:
    """The class of tensors, or storages, by its name in a module."""
    made = _OnDevice(name, (), {"__module__": module})
    made.__doc__ = "On a device: there are none."
    return made


for _kind in "BFloat16 Byte Char Double Float Half Int Long Short".split():
    globals()[f"{_kind}Tensor"] = on_device(f"{_kind}Tensor", __name__)
