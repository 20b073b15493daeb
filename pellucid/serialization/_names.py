"""What both directions share: PyTorch's names of storages, of element types and of the functions
that rebuild tensors.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
DEFAULT_PROTOCOL = 2  # of pickle

STORAGES = {
    "FloatStorage": dtypes.float32,
    "DoubleStorage": dtypes.float64,
    "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16,
    "LongStorage": dtypes.int64,
    "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16,
    "CharStorage": dtypes.int8,
    "ByteStorage": dtypes.uint8,
    "BoolStorage": dtypes.bool_,
    "ComplexFloatStorage": dtypes.complex64,
    "ComplexDoubleStorage": dtypes.complex128,
    "QUInt8Storage": dtypes.NAMED_ONLY["quint8"],
    "QInt8Storage": dtypes.NAMED_ONLY["qint8"],
    "QInt32Storage": dtypes.NAMED_ONLY["qint32"],
}
STORAGE_NAMES = {kind: name for name, kind in STORAGES.items()}


class StorageType:
    """A storage class by name, as it stands in a file; `dtype` is None for bytes."""

    __slots__ = ("dtype", "name")

    def __init__(self, name: str, dtype: Any) -> None:
        self.name = name
        self.dtype = dtype


STORAGE_TYPES: dict[tuple[str, str], StorageType] = {
    **{("torch", name): StorageType(name, kind) for name, kind in STORAGES.items()},
    ("torch.storage", "UntypedStorage"): StorageType("UntypedStorage", None),
    ("torch", "UntypedStorage"): StorageType("UntypedStorage", None),
}


_HOME = __name__.partition(".")[0]
# classes that PyTorch has in another module
_PUBLIC = {(".nn._packing", "PackedSequence"): ".nn.utils.rnn"}


def torch_module(obj: Any) -> str | None:
    """PyTorch's module of a function or class of this library; None for others."""
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str) or not (module == _HOME or module.startswith(_HOME + ".")):
        return None
    return "torch" + _PUBLIC.get((module[len(_HOME) :], obj.__qualname__), module[len(_HOME) :])


class Global:
    """A name to be written into the pickle as it is."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args: Any) -> Any:
        raise TypeError(
            f"{self.module}.{self.name} stands for a function of the program that reads the file"
        )


REBUILD_TENSOR = Global("torch._utils", "_rebuild_tensor_v2")
REBUILD_UNTYPED = Global("torch._utils", "_rebuild_tensor_v3")
REBUILD_PARAMETER = Global("torch._utils", "_rebuild_parameter")
REBUILD_PARAMETER_WITH_STATE = Global("torch._utils", "_rebuild_parameter_with_state")
REBUILD_META = Global("torch._utils", "_rebuild_meta_tensor_no_storage")
REBUILD_WRAPPER = Global("torch._utils", "_rebuild_wrapper_subclass")
REBUILD_SPARSE = Global("torch._utils", "_rebuild_sparse_tensor")
REBUILD_QUANTIZED = Global("torch._utils", "_rebuild_qtensor")
GET_LAYOUT = Global("torch.serialization", "_get_layout")
REBUILD_FROM_TYPE = Global("torch._tensor", "_rebuild_from_type_v2")
REBUILD_NESTED = Global("torch._utils", "_rebuild_nested_tensor")
REBUILD_JAGGED = Global("torch.nested._internal.nested_tensor", "_rebuild_njt")
JAGGED = Global("torch.nested._internal.nested_tensor", "NestedTensor")
