"""Helpers of the norms: the affine map, its gradient, and checks of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....arrays.halves import widened
from ....arrays.numpy_cpu import ordered
from ....core.tensor import Tensor
from ....errors import DtypeError, UnsupportedError
from ....shapes import is_channels_last
from ..._rules import require_tensor

F32 = np.dtype(np.float32)
KERNELS = (F32, np.dtype(np.float64))  # dtypes of the native kernels


def widen(x: Any) -> Any:
    """Two-byte floats are normalized in float32."""
    return widened(x)


def keeps(
    input: Any,
    weight: Any,
    bias: Any,
    aux: Any,
    running_mean: Any,
    running_var: Any,
    reserve: Any,
) -> list[Any]:
    """What PyTorch's node of a norm by channels keeps."""
    return [input, running_mean, running_var, weight, aux[1], aux[2], reserve]


def again(kept: list[Any], aux: Any) -> dict[str, Any]:
    """What the gradient rules here read, of that."""
    input, _, _, weight, mean, rstd, _ = kept
    return {"input": input, "weight": weight, "aux": (aux[0], mean, rstd)}


# Every norm here is (x - mean) * rstd over some axes, then an affine map, so all share these rules.
def normalize_over(
    xp: Any, x: Any, axes: tuple[int, ...], eps: float, centered: bool
) -> tuple[Any, Any, Any]:
    x = widen(x)
    if centered:
        mean = xp.mean(x, axis=axes, keepdims=True)
        d = x - mean
    else:
        mean, d = None, x
    var = xp.mean(d * d.conj() if d.dtype.kind in "cW" else d * d, axis=axes, keepdims=True)
    rstd = 1 / xp.sqrt(var + eps)
    return d * rstd, mean, rstd


def input_grad(
    F: Any, g: Any, xhat: Any, rstd: Any, axes: tuple[int, ...], count: int, centered: bool
) -> Any:
    """Gradient through (x - mean) * rstd."""
    inner = F.sum(g * xhat, dim=axes, keepdim=True) / count
    out = g - xhat * inner
    if centered:
        out = out - F.sum(g, dim=axes, keepdim=True) / count
    return out * rstd


def recompute(
    F: Any, x: Any, axes: tuple[int, ...], count: int, eps: float, centered: bool
) -> tuple[Any, Any]:
    """xhat and rstd from operations, so that they can be differentiated again."""
    d = x - F.sum(x, dim=axes, keepdim=True) / count if centered else x
    rstd = (F.sum(d * d, dim=axes, keepdim=True) / count + eps) ** -0.5
    return d * rstd, rstd


def check_floating(kernel: str, input: Tensor, complex: bool = False) -> None:
    """Refuse a dtype that PyTorch's kernel does not have: only floats are normalized, and complex
    numbers where `complex` says so.
    """
    kind = input.dtype
    if not (kind.is_floating_point or complex and kind.is_complex):
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'",
            hint="convert first: x.float()",
        )


def mixed_types(name: str, input: Tensor, *parameters: Tensor | None) -> bool:
    """Whether half-precision numbers meet parameters of float32.

    Raises:
        RuntimeError: the types are mixed in any other way.
    """
    kind = input._array.dtype
    given = [p for p in parameters if p is not None and p._array.dtype != kind]
    if not given:
        return False
    first = next(p for p in parameters if p is not None)
    if first._array.dtype == kind:
        found, wanted = given[0].dtype.scalar_type_name, input.dtype.scalar_type_name
        raise DtypeError(f"expected scalar type {wanted} but found {found}", op=name)
    single = all(p is None or p._array.dtype == F32 for p in parameters)
    if single and kind.itemsize == 2:
        return True
    wrong = (
        "all inputs must share same datatype."
        if single
        else "expect parameter to have scalar type of Float"
    )
    raise DtypeError(
        f"mixed dtype (CPU): {wrong}",
        op=name,
        hint=f"a parameter is {given[0].dtype}, the input {input.dtype}",
    )


def check_tensors(name: str, *parameters: Any) -> None:
    for t in parameters:
        if t is not None and not isinstance(t, Tensor):
            break
    else:
        return
    for position, (what, t) in enumerate(
        zip(("weight", "bias", "running_mean", "running_var"), parameters, strict=True), start=2
    ):
        if t is not None:
            require_tensor(t, name, what, position)


def channel_shape(ndim: int) -> tuple[int, ...]:
    return (1, -1) + (1,) * (ndim - 2)


def as_suggested(made: Any, x: Any) -> Any:
    """A result of batch norm in the memory that PyTorch gives it: with the channels side by side
    where those of `x` are, in order everywhere else. Random draws of its shape follow its memory.
    """
    if type(made) is not np.ndarray or x.flags.c_contiguous and made.flags.c_contiguous:
        return made
    if x.flags.c_contiguous or not is_channels_last(x.shape, [s // x.itemsize for s in x.strides]):
        return ordered(made)
    if made.strides == x.strides and made.base is None:
        return made
    # a copy with these strides, not a view, which would later be copied to C order
    kept = np.empty_like(x, dtype=made.dtype)
    np.copyto(kept, made)
    return kept
