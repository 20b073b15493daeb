"""Gradient clipping, in place."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...arrays import lists
from ...core import tracing
from ...core.modes import no_grad
from ...core.public import FUNCTIONS
from ...core.tensor import Tensor, count_write, make_tensor, version_of
from ...dtypes import from_numpy, promote_types
from ...errors import OperationError, UnsupportedError, warn

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]


def _list(tensors: Any) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _norm(array: Any, p: float) -> Any:
    # squares of half-precision numbers overflow long before their root does
    if array.dtype.itemsize == 2:
        return _norm(array.astype(np.float32), p).astype(array.dtype)
    if p == 2.0 and array.dtype.kind == "f":
        flat = array.reshape(-1)
        return np.sqrt(np.dot(flat, flat))
    flat = np.abs(array).reshape(-1)
    if p == float("inf"):
        return flat.max() if flat.size else flat.dtype.type(0)
    if p == 2.0:
        return np.sqrt(np.dot(flat, flat))
    if p == 0.0:
        return flat.dtype.type(np.count_nonzero(flat))
    return (flat**p).sum() ** (1.0 / p)


def _total_norm(arrays: list[Any], p: float) -> Any:
    """The norm of the norms."""
    norms = [_norm(a, p) for a in arrays]
    kind = functools.reduce(promote_types, [from_numpy(a.dtype) for a in norms]).numpy
    return np.asarray(_norm(np.asarray(norms, kind), p), kind)


def _scale(arrays: list[Any], total: Any, limit: float) -> None:
    """Multiply by limit / total where that is less than 1."""
    factor = np.minimum(
        np.asarray(limit / (total + np.asarray(1e-6, total.dtype)), total.dtype),
        total.dtype.type(1),
    )
    if factor != 1.0:
        lists.scale(arrays, factor)


def _limit(arrays: list[Any], limit: float) -> None:
    """Cut at -limit and limit."""
    lists.limit(arrays, limit)


@no_grad()
def get_total_norm(
    tensors: Any,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The p-norm of all elements of all tensors together: the norm of their norms.

    Args:
        tensors: a tensor, or several.
        norm_type: the order of the norm; `inf` for the largest absolute value. Default: 2.
        error_if_nonfinite: raise an error if the norm is NaN or infinite. Default: False.
        foreach: accepted; all tensors are handled together.

    Returns:
        a 0-d tensor.

    Raises:
        RuntimeError: with `error_if_nonfinite`, when it is infinite or NaN.

    >>> import pellucid as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    norm_type = float(norm_type)
    given = _list(tensors)
    if any(hasattr(t, "_local_tensor") for t in given):
        made = _distributed_norm(given, norm_type)
        if not error_if_nonfinite:
            return made
        total = _value(made)
    else:
        arrays = [t._array for t in given]
        if not arrays:
            return make_tensor(tracing.constant(np.zeros((), np.float32)))
        total = tracing.effect(_total_norm, arrays, norm_type)
        made = make_tensor(total)
    if error_if_nonfinite and not np.isfinite(tracing.seen(total)):
        raise OperationError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return made


def _distributed_norm(tensors: list[Tensor], p: float) -> Tensor:
    """The norm of distributed tensors, and of plain ones among them: distributed itself where one
    mesh has all of them.
    """
    norm, stack = FUNCTIONS["linalg"]["vector_norm"], FUNCTIONS["torch"]["stack"]
    by_mesh: dict[Any, list[Tensor]] = {}
    for t in tensors:
        by_mesh.setdefault(getattr(t, "device_mesh", None), []).append(norm(t, p))
    totals = [norm(stack(norms), p) for norms in by_mesh.values()]
    if len(totals) == 1:
        return totals[0]
    made: Tensor = norm(
        stack([t.full_tensor() if hasattr(t, "_local_tensor") else t for t in totals]), p
    )
    return made


def _value(t: Any) -> Any:
    """The array of a number that may be distributed."""
    return (t.full_tensor() if hasattr(t, "_local_tensor") else t)._array


def _part(t: Any) -> Any:
    """The array of a tensor, or of this rank's part of it."""
    return getattr(t, "_local_tensor", t)._array


@no_grad()
def clip_grads_with_norm_(
    parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply all gradients by max_norm / total_norm when that is less than 1.

    Args:
        parameters: a parameter, or several. Their gradients are changed in place.
        max_norm: the largest norm that is allowed.
        total_norm: the norm of the gradients, as `get_total_norm` returns it.
        foreach: accepted; all gradients are handled together.

    >>> import pellucid as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grads_with_norm_(w, 1.0, torch.nn.utils.get_total_norm(w.grad))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    grads = tracing.gradients(_list(parameters))
    tracing.effect(
        _scale, [_part(g) for g in grads], _value(total_norm), float(max_norm), writes=(0,)
    )
    for grad in grads:
        count_write(version_of(grad))


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Clip gradients: scale them so that the norm of all of them together is at most `max_norm`.

    Args:
        parameters: a parameter, or several. Their gradients are changed in place.
        max_norm: the largest norm that is allowed.
        norm_type: the order of the norm; `inf` for the largest absolute value. Default: 2.
        error_if_nonfinite: raise an error if the norm is NaN or infinite. Default: False.
        foreach: accepted; all gradients are handled together.

    Returns:
        The norm before clipping.

    Raises:
        RuntimeError: the norm is not finite, with `error_if_nonfinite=True`.

    Example:
        >>> import pellucid as torch
        >>> w = torch.nn.Parameter(torch.zeros(2))
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> clip_grad_norm_([w], 1.0)
        tensor(5.)
        >>> w.grad
        tensor([0.6000, 0.8000])
    """
    if not isinstance(parameters, Tensor):
        generator = not isinstance(parameters, (list, tuple, set, dict)) and not hasattr(
            parameters, "__len__"
        )
        parameters = list(parameters)
        if not parameters and generator:
            warn(
                "`parameters` is an empty generator, no gradient clipping will occur.",
            )
    grads = tracing.gradients(_list(parameters))
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, **kwargs: Any
) -> Tensor:
    """The deprecated name of `clip_grad_norm_`: it warns, then does the same.

    >>> import pellucid as torch
    >>> import warnings
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     print(torch.nn.utils.clip_grad_norm([w], 1.0), caught[0].category.__name__)
    tensor(5.) FutureWarning
    """
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, **kwargs)


@no_grad()
def clip_grad_value_(
    parameters: Iterable[Tensor] | Tensor, clip_value: float, foreach: bool | None = None
) -> None:
    """Clip gradients: clamp every element to [-clip_value, clip_value], in place.

    Args:
        parameters: a parameter, or several.
        clip_value: the largest absolute value that is allowed.
        foreach: accepted; all gradients are handled together.

    Example:
        >>> import pellucid as torch
        >>> w = torch.nn.Parameter(torch.zeros(2))
        >>> w.grad = torch.tensor([3.0, -0.5])
        >>> torch.nn.utils.clip_grad_value_([w], 1.0)
        >>> w.grad
        tensor([ 1.0000, -0.5000])
    """
    grads = tracing.gradients(_list(parameters))
    if not grads:
        raise OperationError(
            "Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be improved?  "
            "If so, please report an enhancement request to PyTorch.)",
            hint="no parameter has a gradient; call backward() first",
        )
    if any(g.is_complex() for g in grads):
        raise UnsupportedError("clamp is not supported for complex types")
    for g in grads:
        if hasattr(g, "_local_tensor"):
            g.clamp_(-clip_value, clip_value)
    grads = [g for g in grads if not hasattr(g, "_local_tensor")]
    tracing.effect(_limit, [g._array for g in grads], float(clip_value), writes=(0,))
    for grad in grads:
        count_write(version_of(grad))
