"""Queries of types and defaults: `result_type`, `typename`, the default device."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..core.bind import NUMBERS, common_dtype
from ..core.modes import local
from ..core.public import public
from ..core.tensor import Tensor
from ._rules import mismatch
from .create._factory import check_device


@public()
def result_type(tensor1: Any, tensor2: Any) -> dtypes.dtype:
    """The dtype of the result of arithmetic on two tensors or numbers.

    >>> import pellucid as torch
    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    for value in (tensor1, tensor2):
        if not isinstance(value, (Tensor, *NUMBERS)):
            raise mismatch("result_type", tensor1, tensor2)
    return common_dtype([dtypes.as_python_number(x) for x in (tensor1, tensor2)])


_TYPES = {
    "Float": "FloatTensor",
    "Double": "DoubleTensor",
    "Half": "HalfTensor",
    "BFloat16": "BFloat16Tensor",
    "Byte": "ByteTensor",
    "Char": "CharTensor",
    "Short": "ShortTensor",
    "Int": "IntTensor",
    "Long": "LongTensor",
    "Bool": "BoolTensor",
    "ComplexFloat": "ComplexFloatTensor",
    "ComplexDouble": "ComplexDoubleTensor",
}


@public()
def typename(obj: Any, /) -> str:
    """The name of an object's type; for a tensor the name that says its dtype, `torch.FloatTensor`.

    >>> import pellucid as torch
    >>> torch.typename(torch.ones(2))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        if obj.is_sparse:
            return str(obj.type())
        name = obj.dtype.scalar_type_name
        return f"torch.{_TYPES.get(name, name + 'Tensor')}"
    kind = (
        obj
        if isinstance(obj, type) or callable(obj) and hasattr(obj, "__qualname__")
        else type(obj)
    )
    module = getattr(kind, "__module__", None) or ""
    if module.partition(".")[0] == "pellucid":
        module = f"torch{module.removeprefix('pellucid')}"
    qualified = getattr(kind, "__qualname__", "")
    return qualified if module in ("", "builtins", "__builtin__") else f"{module}.{qualified}"


@public(methods="=")
def is_inference(input: Tensor) -> bool:
    """True for a tensor made in inference mode.

    >>> import pellucid as torch
    >>> with torch.inference_mode():
    ...     x = torch.ones(2)
    >>> torch.is_inference(x), torch.is_inference(torch.ones(2))
    (True, False)
    """
    return bool(input._x and input._x.get("inference"))


@public()
def is_storage(obj: Any, /) -> bool:
    """True for a storage object."""
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


@public()
def get_default_device() -> dtypes.device:
    """The device of new tensors: "cpu", unless `set_default_device` or a `with torch.device(...)`
    block says otherwise.

    >>> import pellucid as torch
    >>> torch.get_default_device()
    device(type='cpu')
    """
    return local.device if local.device is not None else dtypes.device("cpu")


@public()
def set_default_device(device: Any) -> None:
    """Make new tensors on this device from now on, in this thread; None: on the CPU again.

    >>> import pellucid as torch
    >>> torch.set_default_device("meta")
    >>> torch.ones(2).device
    device(type='meta')
    >>> torch.set_default_device(None)
    """
    local.device = None if device is None else check_device(device)
