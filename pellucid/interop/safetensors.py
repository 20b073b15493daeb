"""Tensors in safetensors files, with the functions of `safetensors.torch`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import dtypes
from .._files import replacing
from ..core.tensor import Tensor, make_tensor

_NAMES = {
    dtypes.float64: "float64",
    dtypes.float32: "float32",
    dtypes.float16: "float16",
    dtypes.bfloat16: "bfloat16",
    dtypes.int64: "int64",
    dtypes.int32: "int32",
    dtypes.int16: "int16",
    dtypes.int8: "int8",
    dtypes.uint8: "uint8",
    dtypes.bool_: "bool",
    dtypes.uint16: "uint16",
    dtypes.uint32: "uint32",
    dtypes.uint64: "uint64",
    dtypes.float8_e4m3fn: "float8_e4m3fn",
    dtypes.float8_e5m2: "float8_e5m2",
    dtypes.float8_e8m0fnu: "float8_e8m0fnu",
    dtypes.complex64: "complex64",
}
_KINDS = {
    "F64": dtypes.float64,
    "F32": dtypes.float32,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "I64": dtypes.int64,
    "I32": dtypes.int32,
    "I16": dtypes.int16,
    "I8": dtypes.int8,
    "U8": dtypes.uint8,
    "BOOL": dtypes.bool_,
    "U16": dtypes.uint16,
    "U32": dtypes.uint32,
    "U64": dtypes.uint64,
    "F8_E4M3": dtypes.float8_e4m3fn,
    "F8_E5M2": dtypes.float8_e5m2,
    "F8_E8M0": dtypes.float8_e8m0fnu,
    "C64": dtypes.complex64,
}


def _entries(tensors: dict[str, Tensor]) -> dict[str, Any]:
    """What the package is given: pointers from its version 0.8 on, bytes before. The tensors must
    outlive it.
    """
    import safetensors

    specification = getattr(safetensors, "TensorSpec", None)
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    owners: dict[int, list[str]] = {}
    entries: dict[str, Any] = {}
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}"
            )
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
            owners.setdefault(t.untyped_storage().data_ptr(), []).append(name)
        kind, shape, a = _NAMES[t.dtype], list(t._array.shape), t._array
        if specification is not None:
            entries[name] = specification(
                dtype=kind,
                shape=shape,
                data_ptr=a.__array_interface__["data"][0],
                data_len=a.nbytes,
            )
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
        ValueError: a value is not a contiguous tensor. RuntimeError: tensors that share memory.
    """
    import safetensors

    return bytes(safetensors.serialize(_entries(tensors), metadata=metadata))


def save_file(
    tensors: dict[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
) -> None:
    """Write a safetensors file; another file of that name is replaced only when the new one is
    complete.
    """
    import safetensors

    with replacing(filename) as file:
        safetensors.serialize_file(_entries(tensors), file.name, metadata=metadata)


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
            raise ValueError(
                f"`{name}` has the element type {entry['dtype']}, which has no counterpart"
            )
        array = np.frombuffer(bytearray(entry["data"]), kind.numpy).reshape(entry["shape"])
        found[name] = make_tensor(array)
    return found


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors in a safetensors file.

    Raises:
        safetensors.SafetensorError: the file is damaged or cut short.
    """
    import safetensors

    with open(filename, "rb") as file:
        data = file.read()
    try:
        found = load(data)
    except safetensors.SafetensorError as error:
        raise safetensors.SafetensorError(
            f"{os.fspath(filename)} is damaged or cut short: {error}"
        ) from error
    return {name: t.to(device) for name, t in found.items()} if str(device) != "cpu" else found


def _kept_names(state: dict[str, Tensor], preferred: Any = ()) -> dict[str, str]:
    """For each name that is left out, the name that is kept of the tensors with the same memory.

    Raises:
        RuntimeError: tensors share memory and none of them covers all of it.
    """
    groups: dict[int, list[str]] = {}
    for name, t in state.items():
        if t._array.size:
            groups.setdefault(t.untyped_storage().data_ptr(), []).append(name)
    removed: dict[str, str] = {}
    for names in groups.values():
        if len(names) == 1:
            continue
        spans = {name: np.lib.array_utils.byte_bounds(state[name]._array) for name in names}
        if _apart(list(spans.values())):
            continue  # parts of one memory without overlap, each stored for itself
        low, high = min(a for a, _ in spans.values()), max(b for _, b in spans.values())
        whole = sorted(
            name
            for name in names
            if spans[name] == (low, high)
            and state[name].numel() * state[name].element_size() == high - low
        )
        if not whole:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to keep for saving amongst: "
                f"{set(names)}. None is covering the entire storage. Refusing to save/load the model since you could be storing much more "
                "memory than needed. Please refer to https://huggingface.co/docs/safetensors/torch_shared_tensors for more information. "
                "Or open an issue."
            )
        kept = next((name for name in whole if name in preferred), whole[0])
        removed.update({name: kept for name in sorted(names) if name != kept})
    return removed


def _apart(spans: list[tuple[int, int]]) -> bool:
    ordered = sorted(spans)
    return all(first[1] <= second[0] for first, second in zip(ordered, ordered[1:], strict=False))


def save_model(
    model: Any,
    filename: str | os.PathLike[str],
    metadata: dict[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Write a module's state_dict; of tensors that share memory one is written, and the others'
    names are noted in the metadata.

    Raises:
        RuntimeError: tensors share memory and none of them covers all of it.
    """
    state = dict(model.state_dict())
    notes = dict(metadata or {})
    for name, kept in _kept_names(state).items():
        notes.setdefault(name, kept)
        del state[name]
    if force_contiguous:
        # Parts of one memory become tensors of their own.
        state = {name: make_tensor(np.array(t._array, order="C")) for name, t in state.items()}
    save_file(state, filename, notes)


def load_model(
    model: Any, filename: str | os.PathLike[str], strict: bool = True, device: Any = "cpu"
) -> tuple[list[str], list[str]]:
    """Load a file into a module: (missing names, unexpected names), without those that share memory
    with a name in the file.

    Raises:
        RuntimeError: under `strict`, a name is missing or unexpected; a shape differs.
    """
    state = load_file(filename, device)
    removed = _kept_names(dict(model.state_dict()), preferred=state.keys())
    left, unexpected = model.load_state_dict(state, strict=False)
    missing = set(left)
    more = list(unexpected)
    for name in removed:
        if name in missing:
            missing.remove(name)
        else:
            more.append(name)
    if strict and (missing or more):
        text = f"Error(s) in loading state_dict for {type(model).__name__}:"
        for label, names in (("Missing", sorted(missing)), ("Unexpected", sorted(more))):
            if names:
                text += f"\n    {label} key(s) in state_dict: " + ", ".join(
                    f'"{name}"' for name in names
                )
        raise RuntimeError(text)
    return sorted(missing), more
