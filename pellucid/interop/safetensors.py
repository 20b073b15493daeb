"""Tensors in safetensors files, with the functions of `safetensors.torch`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import dtypes
from ..core.tensor import Tensor, make_tensor

_NAMES = {
    dtypes.float64: "float64", dtypes.float32: "float32", dtypes.float16: "float16", dtypes.bfloat16: "bfloat16",
    dtypes.int64: "int64", dtypes.int32: "int32", dtypes.int16: "int16", dtypes.int8: "int8", dtypes.uint8: "uint8",
    dtypes.bool_: "bool", dtypes.uint16: "uint16", dtypes.uint32: "uint32", dtypes.uint64: "uint64",
}  # fmt: skip
_KINDS = {
    "F64": dtypes.float64, "F32": dtypes.float32, "F16": dtypes.float16, "BF16": dtypes.bfloat16, "I64": dtypes.int64,
    "I32": dtypes.int32, "I16": dtypes.int16, "I8": dtypes.int8, "U8": dtypes.uint8, "BOOL": dtypes.bool_, "U16": dtypes.uint16,
    "U32": dtypes.uint32, "U64": dtypes.uint64,
}  # fmt: skip


def _entries(tensors: dict[str, Tensor]) -> dict[str, Any]:
    """What the package is given: pointers from its version 0.8 on, bytes before. The tensors must outlive it."""
    import safetensors

    specification = getattr(safetensors, "TensorSpec", None)
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    owners: dict[int, list[str]] = {}
    entries: dict[str, Any] = {}
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
        if t.dtype not in _NAMES:
            raise ValueError(f"Key `{name}`: safetensors files have no tensors of {t.dtype}")
        if t.is_meta:
            raise ValueError(f"Key `{name}` is a tensor without data")
        if not t._array.flags.c_contiguous:
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you are trying to save "
                "tensors which are reference of each other in which case it's recommended to save only the full tensors, and reslice at "
                "load time, or simply call `.contiguous()` on your tensor to pack it before saving."
            )
        if t._array.size:
            owners.setdefault(t.untyped_storage().data_ptr(), []).append(name)  # type: ignore[attr-defined]
        kind, shape, a = _NAMES[t.dtype], list(t._array.shape), t._array
        if specification is not None:
            entries[name] = specification(dtype=kind, shape=shape, data_ptr=a.__array_interface__["data"][0], data_len=a.nbytes)
        else:
            entries[name] = {"dtype": kind, "shape": shape, "data": a.tobytes()}
    shared = [set(names) for names in owners.values() if len(names) > 1]
    if shared:
        raise RuntimeError(
            f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: "
            f"{shared}.\nA potential way to correctly save your model is to use `save_model`."
        )
    return entries


def save(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file with these tensors.

    Raises:
        ValueError: something that is no contiguous tensor. RuntimeError: tensors that share memory.
    """
    import safetensors

    return bytes(safetensors.serialize(_entries(tensors), metadata=metadata))


def save_file(tensors: dict[str, Tensor], filename: str | os.PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file."""
    import safetensors

    safetensors.serialize_file(_entries(tensors), os.fspath(filename), metadata=metadata)


def load(data: bytes) -> dict[str, Tensor]:
    """The tensors in the bytes of a safetensors file.

    Raises:
        safetensors.SafetensorError: the bytes are damaged.
    """
    import safetensors

    found = {}
    for name, entry in safetensors.deserialize(data):
        kind = _KINDS.get(entry["dtype"])
        if kind is None:
            raise ValueError(f"`{name}` has the element type {entry['dtype']}, which has no counterpart")
        array = np.frombuffer(bytearray(entry["data"]), kind.numpy).reshape(entry["shape"])
        found[name] = make_tensor(array)
    return found


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors in a safetensors file."""
    with open(filename, "rb") as file:
        found = load(file.read())
    return {name: t.to(device) for name, t in found.items()} if str(device) != "cpu" else found  # type: ignore[attr-defined]
