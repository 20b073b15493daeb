"""Dropouts. As in PyTorch, the mask is one Bernoulli number for each element (or channel), which is
1 if the element is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.halves import HALVES
from ...arrays.native import fused
from ...arrays.numpy_cpu import namespace_of, overlaps_itself
from ...core import tracing
from ...core.bind import wrap
from ...core.display.packing import hooked
from ...core.inplace import check_writable, overwrite
from ...core.primitive import defop
from ...core.public import public
from ...core.streams import generator as random
from ...core.streams.distributions import bernoulli
from ...core.tensor import Tensor
from ...core.tracing import constant
from ...core.transforms import drawing
from ...errors import ArgumentValueError, DtypeError, OperationError, UnsupportedError, warn
from ...ir.formula import FORMULAS, Formula
from .._rules import require_tensor
from .._samples import Sample

FORMULAS["dropout"] = Formula(
    lambda m, x, keep, *, scale: m.where(keep, x * scale, x * 0.0), masks=(1,)
)


def _apply_mask(xp: Any, x: Any, *, keep: Any, scale: float) -> Any:
    run = fused("dropout", x) if keep.shape == x.shape else None
    if run is not None:
        return run(x, keep, scale)
    return x * (keep * xp.asarray(scale, x.dtype)).astype(x.dtype)


dropout_op = defop(
    "dropout",
    "input",
    forward=_apply_mask,
    vjp={"input": lambda F, g, keep, scale: F.dropout(g, keep=keep, scale=scale)},
    aval=lambda x, keep, scale: x,
    batch="elementwise",  # samples that share a mask
    jvp="linear",
    grad_name="Mul",
    variant=lambda n: ("MulBackward0", (0, 1)),
    traits="masks passes diagonal",
    samples=lambda rng: [
        Sample((rng.random((3, 4)),), {"keep": rng.random((3, 4)) > 0.5, "scale": 2.0})
    ],
    overload="bernoulli_.float",
    shows={
        "self": lambda: None,
        "other": lambda keep, scale, input_dtype: keep.astype(input_dtype) * scale,
    },
)


def check_probability(p: float) -> None:
    """Refuse what is no probability, as PyTorch's operators do."""
    if not 0 <= p <= 1:
        raise OperationError(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _check_p(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ArgumentValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _mask_of(a: Any, p: float, kind: Any, lead: int) -> Any:
    """A number for each element, drawn in the order in which the elements lie in memory: so PyTorch
    fills a tensor like the input.
    """
    # row by row, too, inside of `vmap` and where one element stands for several
    plain = lead or type(a) is not np.ndarray or a.flags.c_contiguous or overlaps_itself(a)
    like: Any = a.shape if plain else np.empty_like(a, kind)
    return bernoulli(random.default_generator, like, 1.0 - p, kind)


def check_kind(x: Tensor, kind: dtypes.dtype | None = None) -> None:
    """The mask has the type of `x`, or `kind`, and is multiplied by a number."""
    kind = kind or x.dtype
    if kind.is_complex:
        raise UnsupportedError(
            f"\"bernoulli_scalar_cpu_\" not implemented for '{kind.scalar_type_name}'"
        )
    if not kind.is_floating_point:
        raise DtypeError(
            f"result type Float can't be cast to the desired output type {kind.scalar_type_name}"
        )


def _drop(x: Tensor, p: float, training: bool, channels: bool = False, lead: int = 0) -> Tensor:
    """`x` with a share `p` of its elements (or of its channels) zeroed and the rest scaled by 1 /
    (1 - p). The first `lead` dimensions are those of `vmap`.
    """
    check_probability(p)
    if not training or p == 0.0 or x._array.size == 0:
        return x
    if p == 1.0:
        return x * wrap(constant(np.zeros((), x._array.dtype)))
    if channels:
        _check_channels(x)
    check_kind(x)
    if random.draw_guards and (level := drawing.running()) is not None:
        made = drawing.each_sample(
            level, lambda whole: _drop(whole, p, training, channels, lead + 1), x
        )
        if made is not None:
            return made
    if channels:
        keep = bernoulli(random.default_generator, _one_per_channel(x, lead), 1.0 - p, bool)
    else:
        keep = _mask_of(x._array, p, bool, lead)
    keep = namespace_of(x._array).from_host(keep)
    scale, kind = 1.0 / (1.0 - p), x._array.dtype
    # PyTorch's mask has the input's dtype, so the factor is rounded to it.
    if hooked():
        return x * wrap((keep * kind.type(scale)).astype(kind))
    return dropout_op.call(x, keep=keep, scale=float(kind.type(scale)) if kind in HALVES else scale)


def _one_per_channel(x: Tensor, lead: int) -> tuple[int, ...]:
    kept = lead + 2
    return (*x._array.shape[:kept], *(1,) * (x.ndim - kept))


def _check_channels(x: Tensor) -> None:
    if x.ndim < 2:
        raise OperationError("Feature dropout requires at least 2 dimensions in the input")


def _in_place(x: Tensor, result: Tensor, name: str) -> Tensor:
    return x if result is x else overwrite(x, result, name)


@public(namespace="nn.functional")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p` and scale the others by 1 / (1 - p); the input itself
    when not training.

    Args:
        input: floating point or complex, any shape.
        p: probability that an element becomes zero. Default: 0.5.
        training: whether to drop anything at all; a module passes `self.training`. Default: True.
        inplace: whether to change the input itself. Default: False.

    Raises:
        ValueError: p outside [0, 1].

    Source: Srivastava et al., "Dropout", 2014.

    >>> import pellucid as torch
    >>> torch.nn.functional.dropout(torch.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    _check_p(p)
    x = require_tensor(input, "dropout")
    if inplace:
        check_writable(x, "dropout_")
        return _in_place(x, _drop(x, p, training), "dropout_")
    return _drop(x, p, training)


@public(names="dropout")
def dropout_positional(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout(input, p, train)`.

    >>> import pellucid as torch
    >>> torch.dropout(torch.ones(3), 0.5, train=False)
    tensor([1., 1., 1.])
    """
    check_probability(p)
    return dropout(input, p, train)


@public()
def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place dropout.

    >>> import pellucid as torch
    >>> torch.dropout_(torch.ones(3), 1.0, train=True)
    tensor([0., 0., 0.])
    """
    check_probability(p)
    return dropout(input, p, train, True)


def _feature(name: str, x: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    _check_p(p)
    require_tensor(x, name)
    result = _drop(x, p, training, channels=True)
    return _in_place(x, result, name + "_") if inplace else result


def _warn_dims(name: str, ndim: int, wanted: str) -> None:
    warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an error in a future release. To retain the "
        f"behavior and silence this warning, please use dropout instead. Note that {name} exists to provide channel-wise dropout on inputs "
        f"with {wanted} inputs).",
    )


@public(namespace="nn.functional")
def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels with probability `p` and scale the others by 1 / (1 - p); the input
    itself when not training.

    Args:
        input: `(N, C, L)` or `(C, L)`.
        p: probability that a channel becomes zero. Default: 0.5.
        training: whether to drop anything at all; a module passes `self.training`. Default: True.
        inplace: whether to change the input itself. Default: False.

    Raises:
        ValueError: p outside [0, 1].

    >>> import pellucid as torch
    >>> generator = torch.manual_seed(0)
    >>> torch.nn.functional.dropout1d(torch.ones(1, 3, 2), 0.5)
    tensor([[[0., 0.],
             [0., 0.],
             [2., 2.]]])
    """
    _check_p(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to provide channel-wise "
            "dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    if input.ndim == 2:
        batched = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
        result = _feature("dropout1d", batched, p, training, inplace)
        return result.squeeze_(0) if inplace else result.squeeze(0)
    return _feature("dropout1d", input, p, training, inplace)


@public(namespace="nn.functional")
def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels with probability `p` and scale the others by 1 / (1 - p); the input
    itself when not training.

    Args:
        input: `(N, C, H, W)`. A 3-d input is taken as `(N, C, L)`, with a warning.
        p: probability that a channel becomes zero. Default: 0.5.
        training: whether to drop anything at all; a module passes `self.training`. Default: True.
        inplace: whether to change the input itself. Default: False.

    Raises:
        ValueError: p outside [0, 1].

    >>> import pellucid as torch
    >>> generator = torch.manual_seed(0)
    >>> torch.nn.functional.dropout2d(torch.ones(1, 3, 2, 2), 0.5).sum((2, 3))
    tensor([[0., 0., 8.]])
    """
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, please "
            "switch to using dropout1d instead.",
        )
    elif input.ndim != 4:
        _warn_dims(
            "dropout2d",
            input.ndim,
            "2 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 3D or 4D",
        )
    return _feature("dropout2d", input, p, training, inplace)


@public(namespace="nn.functional")
def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero whole channels with probability `p` and scale the others by 1 / (1 - p); the input
    itself when not training.

    Args:
        input: `(N, C, D, H, W)` or `(C, D, H, W)`.
        p: probability that a channel becomes zero. Default: 0.5.
        training: whether to drop anything at all; a module passes `self.training`. Default: True.
        inplace: whether to change the input itself. Default: False.

    Raises:
        ValueError: p outside [0, 1].

    >>> import pellucid as torch
    >>> generator = torch.manual_seed(0)
    >>> torch.nn.functional.dropout3d(torch.ones(1, 3, 2, 2, 2), 0.5).sum((2, 3, 4))
    tensor([[ 0.,  0., 16.]])
    """
    if input.ndim not in (4, 5):
        _warn_dims(
            "dropout3d",
            input.ndim,
            "3 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. 4D or 5D",
        )
    if input.ndim == 5:
        return _feature("dropout3d", input, p, training, inplace)
    # Without a batch, the first dimension holds the channels, also for the random numbers.
    return _feature("dropout3d", input.unsqueeze(0), p, training, inplace).squeeze(0)


def _alpha(x: Tensor, p: float, training: bool, channels: bool, lead: int = 0) -> Tensor:
    check_probability(p)
    if not training or p == 0.0 or x._array.size == 0:
        return x
    if p == 1.0:
        return x * wrap(constant(np.zeros((), x._array.dtype)))
    if channels:
        _check_channels(x)
    # the mask minus one
    check_kind(x, dtypes.int64 if x.dtype is dtypes.bool_ else None)
    if x.is_meta:
        return x.clone()
    if random.draw_guards and (level := drawing.running()) is not None:
        made = drawing.each_sample(
            level, lambda whole: _alpha(whole, p, training, channels, lead + 1), x
        )
        if made is not None:
            return made
    if channels:
        shape, kind = _one_per_channel(x, lead), x._array.dtype
        keep = bernoulli(random.default_generator, shape, 1.0 - p, kind)
    else:
        keep = _mask_of(x._array, p, x._array.dtype, lead)
    factor, shift = tracing.effect(_alpha_terms, keep, p, x._array.dtype)
    return x * wrap(factor) + wrap(shift)


def _alpha_terms(keep: np.ndarray, p: float, kind: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor and the summand for each element."""
    alpha = 1.7580993408473766
    a = 1.0 / np.sqrt((alpha * alpha * p + 1) * (1 - p))
    shift = (keep - 1) * (alpha * a) + alpha * a * p
    return np.asarray(keep * a, kind), np.asarray(shift, kind)


@public(namespace="nn.functional")
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance of self-normalizing activations. Source: Klambauer et
    al., 2017.

    >>> import pellucid as torch
    >>> generator = torch.manual_seed(0)
    >>> torch.nn.functional.alpha_dropout(torch.zeros(4), 0.5, training=True)
    tensor([-0.7792, -0.7792,  0.7792, -0.7792])
    """
    _check_p(p)
    p = float(p)  # may be a tensor
    x = require_tensor(input, "alpha_dropout")
    result = _alpha(x, p, training, False)
    return _in_place(x, result, "alpha_dropout_") if inplace else result


@public(namespace="nn.functional")
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels.

    >>> import pellucid as torch
    >>> generator = torch.manual_seed(0)
    >>> torch.nn.functional.feature_alpha_dropout(torch.zeros(1, 3, 2), 0.5, training=True)
    tensor([[[-0.7792, -0.7792],
             [-0.7792, -0.7792],
             [ 0.7792,  0.7792]]])
    """
    _check_p(p)
    p = float(p)
    x = require_tensor(input, "feature_alpha_dropout")
    result = _alpha(x, p, training, True)
    return _in_place(x, result, "feature_alpha_dropout_") if inplace else result
