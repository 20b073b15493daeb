"""Forward-mode differentiation with dual tensors (`torch.autograd.forward_ad`).

>>> import pellucid as torch
>>> import pellucid.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
...     fwAD.unpack_dual(x ** 3).tangent
tensor(12.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.bind import wrap
from ..core.modes import enable_grad
from ..core.tensor import Tensor
from ..core.transforms import forward_mode

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class _Open(threading.local):
    level = -1  # the number of the open dual level, or -1


_open = _Open()


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # PyTorch's libraries look whether a level is open
        return _open.level
    raise AttributeError(f"module 'torch.autograd.forward_ad' has no attribute {name!r}", name=name)


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: the primal and its tangent (None when there is none)."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a dual level; only one can be open (`torch.func.jvp` nests).

    Raises:
        RuntimeError: one is open already.
    """
    if _open.level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _open.level = forward_mode.enter_level()
    return _open.level


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level; the tangents made in it are gone."""
    if level is None:
        level = _open.level
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    if _open.level < 0 or level != _open.level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    forward_mode.exit_level(level)
    _open.level = -1


class dual_level:  # noqa: N801 (PyTorch's name)
    """Context manager in which dual tensors live."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` that carries `tangent`, of the same shape and dtype, through the
    operations on it.

    Raises:
        RuntimeError: outside of a dual level, or shapes differ. ValueError: not floating point or
            complex.
    """
    where = _open.level if level is None else level
    if where < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value.dtype}"
            )
    if forward_mode.tangent(tensor, where) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 "
            "is not supported."
        )
    return forward_mode.make_dual(tensor, tangent, where)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal (a view without tangent) and the tangent of a tensor."""
    where = _open.level if level is None else level
    if where < 0:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*forward_mode.unpack(tensor, where))


def jacobian_forward(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    checked: list[tuple[int, Tensor]],
    n_outs: int,
) -> dict[tuple[int, int], np.ndarray]:
    """(output elements, input elements) of each pair of output and checked input, one forward pass
    per input element.
    """
    columns: dict[tuple[int, int], list[np.ndarray]] = {}
    for k, x in checked:
        for e in range(x._array.size):
            for direction in (1.0, 1j) if x._array.dtype.kind in "cW" else (1.0,):
                seed = np.zeros(x._array.shape, x._array.dtype)
                seed.reshape(-1)[e] = direction
                for i, column in enumerate(along(func, inputs, checked, n_outs, k, seed)):
                    columns.setdefault((i, k), []).append(column)
    return {key: np.stack(parts, 1) for key, parts in columns.items()}


def along(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    checked: list[tuple[int, Tensor]],
    n_outs: int,
    k: int,
    seed: np.ndarray,
) -> list[np.ndarray]:
    """The derivative of each output, as a real vector, when input `k` moves along `seed`."""
    found = []
    with dual_level(), enable_grad():
        arguments = list(inputs)
        for j, other in checked:
            arguments[j] = make_dual(other, wrap(seed if j == k else np.zeros_like(other._array)))
        result = func(*arguments)
        outs = (result,) if isinstance(result, Tensor) else tuple(result)
        outs = tuple(o for o in outs if isinstance(o, Tensor) and o.requires_grad)
        for out in outs[:n_outs]:
            t = unpack_dual(out).tangent
            a = np.zeros(out._array.shape, out._array.dtype) if t is None else t._array
            flat = np.ascontiguousarray(a).reshape(-1)
            if flat.dtype.kind in "cW":
                flat = np.stack([flat.real, flat.imag], 1).reshape(-1)
            found.append(flat.astype(np.float64))
    return found
