"""Likelihood losses: Kullback-Leibler divergence, Gaussian and Poisson likelihoods."""

from __future__ import annotations

import math

import numpy as np

from .... import dtypes
from ....core import tracing
from ....core.primitive import TENSORS as F
from ....core.primitive import defop
from ....core.public import public
from ....core.tape import titled
from ....core.tensor import Tensor
from ....errors import ArgumentValueError, DtypeError, warn
from ....ir.formula import Formula
from ..._rules import asked_for, full_precision, require_tensor
from ..._samples import Sample
from ._checks import held_by
from ._reduction import added, checked, flagged, reduce_loss


@public(namespace="nn.functional")
@full_precision
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence: `target * (log(target) - input)`, where the input holds
    log-probabilities.

    Args:
        input: log-probabilities, any shape.
        target: probabilities in the same shape.
        reduction: "batchmean" divides the sum by the size of the first dimension, as the definition
            of the divergence does; "mean" divides it by the number of elements; also "sum" and
            "none". Default: "mean".
        log_target: the target is given as log-probabilities too.

    >>> import pellucid as torch
    >>> p = torch.tensor([[0.5, 0.5]])
    >>> torch.nn.functional.kl_div(p.log(), p, reduction="batchmean")
    tensor(0.)
    """
    old = size_average is not None or reduce is not None
    reduction = flagged(size_average, reduce, reduction, True)
    reduction = reduction if reduction == "batchmean" else checked(reduction)
    require_tensor(input, "kl_div"), require_tensor(target, "kl_div", "target", 2)
    for kind in (input.dtype, target.dtype):
        if kind.is_complex:
            raise DtypeError("kl_div: Complex inputs not supported.")
        if kind.is_integral:
            raise DtypeError(
                "kl_div: Integral inputs not supported.", hint="convert first: x.float()"
            )
    if reduction == "mean" and not old:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the "
            "batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the "
            "next major release.",
            UserWarning,
        )
    if log_target:
        loss = target.exp() * (target - input)
    else:
        weighted = target * input  # PyTorch computes this product first
        loss = F.xlogy(target, target) - weighted
    if reduction == "batchmean":
        return loss.sum() / input._array.shape[0] if input.ndim else loss.sum()
    return reduce_loss(loss, reduction)


@public(namespace="nn.functional")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood under normal distributions:
    `(log(var) + (input - target)^2 / var) / 2`.

    Args:
        input, target: means and observations, `(N, *)`.
        var: variances in the same shape, or with 1 as last dimension, or without it; or a number.
        full: whether to add the constant log(2 pi) / 2. Default: False.
        eps: lower bound of the variance. Default: 1e-6.
        reduction: "mean", "sum" or "none". Default: "mean".

    Raises:
        ValueError: a negative variance, or one of a shape that does not fit.

    >>> import pellucid as torch
    >>> mean, target, var = torch.zeros(2), torch.tensor([0.0, 1.0]), torch.ones(2)
    >>> torch.nn.functional.gaussian_nll_loss(mean, target, var)
    tensor(0.2500)
    """
    asked_for("size", input)
    if not isinstance(var, Tensor):
        if var < 0:
            raise ArgumentValueError("var has negative entry/entries")
        var = input * 0 + var
    shape, v = tuple(input._array.shape), tuple(var._array.shape)
    if v != shape:
        if shape[:-1] == v:
            var = var.unsqueeze(-1)
        elif len(v) != len(shape) or sum(b for a, b in zip(shape, v, strict=True) if a != b) != 1:
            raise ArgumentValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentValueError(reduction + " is not valid")
    tracing.check(_check_variance, var._array)
    if var.dtype.is_integral and isinstance(eps, float):
        held_by(var.dtype, dtypes.get_default_dtype(), var.dtype.c_name)
    safe = titled(floored_op.call(var, low=eps), "Clone")
    loss = 0.5 * (safe.log() + (input - target) ** 2 / safe)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


# PyTorch limits the variance outside of the graph: the gradient is that of the limited value.
floored_op = defop(
    "floored",
    "input",
    formula=Formula(lambda m, x, *, low: m.maximum(x, low)),
    vjp={"input": lambda g: g},
    jvp="elementwise",
    elementwise=True,
    samples=lambda rng: [Sample((rng.uniform(0.5, 2.0, (3, 4)),), {"low": 0.25})],
)


def _check_variance(a: np.ndarray) -> None:
    if bool((a < 0).any()):
        raise ArgumentValueError("var has negative entry/entries")


@public(namespace="nn.functional")
@full_precision
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of counts under Poisson distributions with (log) rate `input`.

    Args:
        full: add Stirling's approximation of log(target!).

    >>> import pellucid as torch
    >>> log_rate, counts = torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0])
    >>> torch.nn.functional.poisson_nll_loss(log_rate, counts)
    tensor(0.3591)
    """
    reduction = flagged(size_average, reduce, reduction)
    if reduction not in ("none", "mean", "sum"):
        raise ArgumentValueError(reduction + " is not a valid value for reduction")
    x, t = (
        require_tensor(input, "poisson_nll_loss"),
        require_tensor(target, "poisson_nll_loss", "target", 2),
    )
    # PyTorch computes the subtrahend first
    weighted = t * (x if log_input else added(x, eps).log())
    loss = (x.exp() if log_input else x) - weighted
    if full:
        double = titled(2 * math.pi * t, "MulBackward1", of=(t,), other=2 * math.pi)
        half = double.log()
        stirling = t * t.log() - t + titled(0.5 * half, "MulBackward1", of=(half,), other=0.5)
        kind = loss._array.dtype  # PyTorch adds the term in place, which keeps the dtype
        loss = loss + stirling.masked_fill(t <= 1, 0)
        loss = loss if loss._array.dtype is kind else F.cast(loss, dtype=kind)
    return reduce_loss(loss, reduction)
