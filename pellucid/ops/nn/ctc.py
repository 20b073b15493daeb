"""Connectionist temporal classification: `ctc_loss`.

Native kernels compute losses and gradients of float32 and float64. The composition of other
operations, step by step, is the definition; it also serves gradients of gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import config, dtypes
from ...arrays.native import kernels
from ...core import tracing
from ...core.bind import wrap
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, public
from ...core.tape import reads_later
from ...core.tensor import Tensor
from ...core.tracing import constant
from ...errors import OperationError
from .._rules import differentiated, full_precision, require_tensor
from .loss._checks import no_kernel
from .loss._reduction import REDUCTIONS, checked, numbered, reduce_loss


@public(namespace="nn.functional")
@full_precision
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification: negative log-likelihood of label sequences under all
    alignments.

    Args:
        log_probs: `(T, N, C)` or `(T, C)` log-probabilities.
        targets: `(N, S)` padded, or all targets in one row.
        input_lengths, target_lengths: `(N,)`, tensors or sequences of integers.
        blank: the class that separates labels.
        reduction: "mean" divides each loss by its target length first.
        zero_infinity: infinite losses (of targets that are too long for their input) count as 0,
            and so do their gradients.

    Raises:
        RuntimeError: lengths or labels that are not possible.

    >>> import pellucid as torch
    >>> even = torch.full((4, 1, 2), 0.5).log()
    >>> torch.nn.functional.ctc_loss(even, torch.tensor([[1]]), [4], [1])
    tensor(0.4700)

    Source: Graves et al., "Connectionist Temporal Classification", 2006.
    """
    number = REDUCTIONS.index(checked(reduction))
    return FUNCTIONS["torch"]["ctc_loss"](
        log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity
    )


@public(names="ctc_loss")
def _ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss`; `reduction` is a number.

    >>> import pellucid as torch
    >>> log_probs = torch.zeros(4, 1, 3).log_softmax(2)
    >>> torch.ctc_loss(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    tensor([1.6864])
    """
    lp = require_tensor(log_probs, "ctc_loss", "log_probs")
    t = require_tensor(targets, "ctc_loss", "targets", 2)
    single = lp.ndim == 2
    if lp.ndim not in (2, 3):
        raise OperationError(
            f"Expected 3-dimensional tensor, but got {lp.ndim + 1}-dimensional tensor for argument #1 'log_probs' (while checking arguments "
            "for ctc_loss_allocate_outputs)"
        )
    if single:
        lp = lp.unsqueeze(1)
    if lp.dtype not in (dtypes.float32, dtypes.float64):
        raise no_kernel("ctc_loss_cpu", lp.dtype)
    steps, batch, classes = lp._array.shape
    used = _lengths(input_lengths, batch, "input_lengths")
    lengths = _lengths(target_lengths, batch, "target_lengths")
    if t.ndim not in (1, 2) and not single:
        raise OperationError(
            f"Expected 1 to 2 dimensions, but got {t.ndim}-dimensional tensor for argument #2 'targets' (while checking arguments for "
            "ctc_loss_allocate_outputs)"
        )
    if t.ndim > 1 and t._array.shape[0] != batch:
        raise OperationError(
            f"Expected tensor to have size {batch} at dimension 0, but got size {t._array.shape[0]} for argument #2 'targets' (while "
            "checking arguments for ctc_loss_allocate_outputs)"
        )
    if not batch:
        raise OperationError("log_probs tensor must not be empty")
    if not 0 <= blank < classes:
        raise OperationError("blank must be in label range")
    if t._array.dtype != np.int64:
        t = F.cast(t, dtype=np.dtype(np.int64))
    if single or t.ndim > 1:
        t = t.reshape((batch, -1) if batch else (0, 0))
    given = {"targets": t._array, "used": used._array, "lengths": lengths._array, "blank": blank}
    if batch:
        tracing.check(_check_alignments, t._array, used._array, lengths._array, steps, classes)
        native = (
            config.kernels
            and type(lp._array) is np.ndarray
            and kernels.ctc.call.native("losses", lp._array.dtype.name) is not None
        )
        loss = (
            reads_later(ctc_op.call(lp, **given), t, used, lengths)
            if native
            else _aligned(lp, **given)
        )
    else:
        loss = lp.sum() * 0
    if zero_infinity:
        loss = F.where(loss == float("inf"), 0.0, loss)
    word = numbered(reduction)
    if word == "mean":
        return (loss / lengths.clamp(min=1)).mean()
    if word == "none" and single:
        return loss[0]
    return reduce_loss(loss, word)


def _lengths(value: Any, batch: int, name: str) -> Tensor:
    lengths: Any = value if isinstance(value, Tensor) else wrap(constant(np.array(value)))
    if lengths._array.dtype.kind not in "iu" and lengths._array.size:
        raise OperationError(f"{name} must be integral")
    if lengths._array.size != batch:
        raise OperationError(f"{name} must be of size batch_size")
    if lengths._array.dtype != np.int64:
        lengths = F.cast(lengths, dtype=np.dtype(np.int64))
    return lengths.reshape((-1,))


def _check_alignments(
    targets: np.ndarray, used: np.ndarray, lengths: np.ndarray, steps: int, classes: int
) -> None:
    """Refuse impossible lengths and labels."""
    where = "(while checking arguments for ctc_loss_allocate_outputs)"
    for name, given in (("input_lengths", used), ("target_lengths", lengths)):
        if given.min() < 0:
            raise OperationError(
                f"Expected {name} to have value at least 0, but got value {given[given < 0][0]} {where}"
            )
    if used.max() > steps:
        raise OperationError(
            f"Expected input_lengths to have value at most {steps}, but got value {used[used > steps][0]} {where}"
        )
    # Check each length first: wrong lengths might still add up to the right sum.
    if targets.ndim == 1 and (lengths.max() > targets.size or targets.size != lengths.sum()):
        raise OperationError(
            f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size {targets.size} for argument #2 'targets' {where}"
        )
    if targets.ndim == 2 and lengths.max() > targets.shape[1]:
        raise OperationError(
            f"Expected tensor to have size at least {lengths.max()} at dimension 1, but got size {targets.shape[1]} for argument #2 "
            f"'targets' {where}"
        )
    labels = (
        targets if targets.ndim == 1 else targets[np.arange(targets.shape[1]) < lengths[:, None]]
    )
    wrong = labels[(labels < 0) | (labels >= classes)]
    if wrong.size:
        raise OperationError(
            f"Expected targets to be classes from 0 to {classes - 1}, but got value {wrong[0]} {where}"
        )


# ---- by kernels ---------------------------------------------------------------------------------
def _ctc_vjp(
    F: Any,
    g: Any,
    log_probs: Any,
    out: Any,
    aux: Any,
    needs: Any,
    targets: Any,
    used: Any,
    lengths: Any,
    blank: int,
) -> Any:
    given = {"targets": targets, "used": used, "lengths": lengths, "blank": blank}
    if not F.raw:
        return differentiated(lambda lp: _aligned(lp, **given), g, (log_probs,), needs)
    return (F.ctc_grad(g, log_probs, out, aux, **given),)


def _ctc(xp: Any, x: Any, *, targets: Any, used: Any, lengths: Any, blank: int) -> Any:
    return kernels.ctc.call.losses(x, targets, used, lengths, blank)


ctc_op = defop(
    "ctc_loss",
    "log_probs",
    host=True,
    forward=_ctc,
    aux=True,
    aval=lambda x, **_: ((x[0][1],), x[1]),
    vjp=_ctc_vjp,
)
defop(
    "ctc_grad",
    "grad log_probs loss alpha",
    host=True,
    forward=lambda xp, g, x, loss, alpha, *, targets, used, lengths, blank: (
        kernels.ctc.call.gradient(g, x, loss, alpha, targets, used, lengths, blank)
    ),
    aval=lambda g, x, loss, alpha, **_: x,
)


# ---- by other operations ------------------------------------------------------------------------
def _aligned(
    lp: Any, targets: np.ndarray, used: np.ndarray, lengths: np.ndarray, blank: int
) -> Tensor:
    """Run the forward algorithm over the labels with blanks in between, in log space, for all
    sequences of the batch at once.
    """
    steps, batch, _ = lp._array.shape
    low = -float("inf")
    if targets.ndim == 1:
        rows = np.split(targets, np.cumsum(lengths)[:-1])
    else:
        rows = [targets[n, : lengths[n]] for n in range(batch)]
    lengths = used
    sizes = np.array([2 * len(row) + 1 for row in rows])
    width = int(sizes.max())
    extended = np.full((batch, width), blank, np.int64)
    for n, row in enumerate(rows):
        extended[n, 1 : 2 * len(row) : 2] = row
    skip = np.zeros((batch, width), bool)
    skip[:, 2:] = (extended[:, 2:] != blank) & (extended[:, 2:] != extended[:, :-2])
    places = np.arange(width)
    ends = (places >= sizes[:, None] - 2) & (places < sizes[:, None])
    # Before the first step only the empty alignment is possible, and it stays so for sequences
    # without steps.
    done: Any = wrap(
        np.where(
            np.arange(width) == sizes[:, None] - 1, np.where(sizes[:, None] == 1, 0.0, low), low
        ).astype(lp._array.dtype)
    )
    longest = int(lengths.max())
    if longest:
        emit = F.gather(
            lp[:longest], wrap(np.broadcast_to(extended, (longest, batch, width)).copy()), dim=2
        )
        alpha = F.where(wrap(np.broadcast_to(places < 2, (batch, width)).copy()), emit[0], low)
        for k in range(longest):
            if k:
                one = F.constant_pad_nd(alpha, pad=(1, 0), value=low)[:, :width]
                two = F.where(
                    wrap(skip), F.constant_pad_nd(alpha, pad=(2, 0), value=low)[:, :width], low
                )
                alpha = (
                    F.logsumexp(F.stack(alpha, one, two, dim=0), dim=(0,), keepdim=False) + emit[k]
                )
            if (lengths == k + 1).any():
                done = F.where(wrap((lengths == k + 1)[:, None]), alpha, done)
    loss = -F.logsumexp(F.where(wrap(ends), done, low), dim=(1,), keepdim=False)
    # PyTorch's gradient assumes that log_probs are normalized: it is exp(log_probs) minus the
    # posterior, not minus the posterior alone. After a log_softmax both agree.
    inside = wrap((np.arange(steps)[:, None] < lengths)[:, :, None])
    total = F.where(inside, lp.exp(), 0.0).sum((0, 2))
    return (total - total.detach()) + loss
