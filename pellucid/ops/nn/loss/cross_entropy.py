"""Classification losses: nll_loss, cross_entropy, and cross entropy after a linear layer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .... import config
from ....arrays import numpy_cpu
from ....arrays.halves import HALVES, in_float32, narrowed, widened
from ....arrays.meta import MetaArray
from ....arrays.native import kernels, native_code_runs
from ....arrays.numpy_fast import positions
from ....core import tracing
from ....core.bind import wrap
from ....core.display.packing import given
from ....core.interpret import thread
from ....core.modes import local, state
from ....core.primitive import PRIMITIVES, RAW, BackwardPlan, Primitive, defop
from ....core.primitive import TENSORS as F
from ....core.public import public
from ....core.tape import named_type, reads_later, saved_arrays, titled, value_at
from ....core.tensor import Tensor
from ....core.tracing import constant
from ....core.transforms.arranging import moved_before
from ....core.transforms.whole import in_one_node
from ....dtypes import BY_NUMPY
from ....errors import (
    DtypeError,
    OperationError,
    ShapeError,
    ShapeValueError,
    UnsupportedError,
)
from ....shapes import normalize_dim
from ..._rules import asked_for, full_precision, is_plain, library, require_tensor, values
from ..._rules import constant as as_constant
from ..._samples import Sample
from ...index._bounds import inside
from ..linear import linear
from ._reduction import REDUCTIONS, get_reduction

_F32, _INT64 = np.dtype(np.float32), np.dtype(np.int64)
_FEW = 4096  # largest number of labels of the fast path
_KERNELS = (_F32, np.dtype(np.float64))  # dtypes of the native kernels


def _check_classes(x: np.ndarray, t: np.ndarray, weight: Tensor | None, ignore_index: int) -> None:
    if x.ndim == 0:
        raise ShapeValueError("Expected 1 or more dimensions (got 0)")
    if x.ndim == 1:
        hint = "one row of logits wants one class number"
        if t.ndim > 1:
            raise OperationError(
                "0D or 1D target tensor expected, multi-target not supported",
                op="nll_loss",
                hint=hint,
            )
        if t.ndim == 1 and t.size != 1:
            _check_label_type(t)
            raise ShapeValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {t.size}",
                hint=hint,
            )
    elif x.ndim == 2:
        if t.ndim > 1 and x.shape[0] == t.shape[0]:
            raise OperationError(
                "0D or 1D target tensor expected, multi-target not supported", op="nll_loss"
            )
        if x.shape[0] != (t.shape[0] if t.ndim else 1) or t.ndim == 0:
            raise ShapeValueError(
                f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({t.shape[0] if t.ndim else 0})."
            )
    else:
        wanted = (x.shape[0], *x.shape[2:])
        if x.shape[0] != (t.shape[0] if t.ndim else -1):
            raise ShapeValueError(
                f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({t.shape[0] if t.ndim else 0})."
            )
        if t.ndim != x.ndim - 1:
            if x.ndim == 4:
                raise OperationError(
                    f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {t.ndim}"
                )
            raise ShapeError(f"Expected target size {list(wanted)}, got {list(t.shape)}")
        if t.shape != wanted:
            if x.ndim == 4:
                raise OperationError(
                    f"size mismatch (got input: {list(x.shape)} , target: {list(t.shape)}"
                )
            raise ShapeError(f"Expected target size {list(wanted)}, got {list(t.shape)}")
    classes = x.shape[1] if x.ndim > 1 else x.shape[0]
    if weight is not None and (weight.ndim != 1 or weight._array.shape[0] != classes):
        shown = list(weight._array.shape)
        raise OperationError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: {shown}"
        )
    if weight is not None and weight._array.dtype != x.dtype and x.dtype in BY_NUMPY:
        raise OperationError(
            f"expected scalar type {BY_NUMPY[x.dtype].scalar_type_name} but found {weight.dtype.scalar_type_name}",
            op="nll_loss",
            hint=f"the weights have the dtype of the input: use weight.to({BY_NUMPY[x.dtype]})",
        )
    _check_label_type(t)


def _check_label_type(t: np.ndarray) -> None:
    if t.dtype != np.int64 and t.dtype != np.uint8:
        name = BY_NUMPY[t.dtype].scalar_type_name
        hint = "class labels are int64: use target.long()"
        raise DtypeError(
            f"expected target dtype to be Long or Byte, but got {name}", op="nll_loss", hint=hint
        )


def _out_of_range(t: np.ndarray, classes: int, ignore_index: int) -> None:
    if inside(t, classes):
        return
    bad = (t != ignore_index) & ((t < 0) | (t >= classes))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise kernels.rows.softmax.class_out_of_range((row + 1, t.reshape(-1)[row]), classes)


def _nll_title(shape: tuple[int, ...]) -> str:
    return "NllLoss2D" if len(shape) > 2 else "NllLoss"


def _of_few(xp: Any, x: Any, target: Any, *, reduction: str) -> Any:
    if native_code_runs() and type(x) is np.ndarray is type(target) and target.dtype is _INT64:
        made = kernels.pointwise.few.minus_picked(x, target, reduction)
        if made is not None:
            return made
    losses = widened(x[positions(target.size, 1, 0), target])
    if reduction != "none":
        losses = np.asarray((xp.mean if reduction == "mean" else xp.sum)(losses))
    losses = np.negative(losses, losses)
    return losses if losses.dtype == x.dtype else narrowed(losses, x.dtype)


def _few_grad(F: Any, g: Any, target: Any, input_shape: Any, reduction: str) -> Any:
    count = input_shape[0]
    g = -(g / count if reduction == "mean" else g)
    column = F.reshape(g, shape=(count, 1) if reduction == "none" else (1, 1))
    return F.put_along(
        F.expand(column, shape=(count, 1)),
        target.reshape(count, 1),
        shape=input_shape,
        dim=1,
        unique=True,
    )


# `nll_loss` of some labels that all count, in one node; programs are written in other operations.
few_labels_op = defop(
    "nll_of_few_labels",
    "input target",
    forward=_of_few,
    vjp={"input": _few_grad},
    jvp="linear",
    aval=lambda x, target, reduction: (target[0] if reduction == "none" else (), x[1]),
    title="nll_loss",
    grad_name="NllLoss",
    linked="input",
    host=True,
    samples=lambda rng: [
        Sample((rng.random((3, 4)), np.array([2, 0, 2])), {"reduction": reduction})
        for reduction in ("none", "sum", "mean")
    ],
    shows={"reduction": lambda reduction: REDUCTIONS.index(reduction)},
)


@public(namespace="nn.functional")
@full_precision
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood of class labels under log-probabilities:
    `-weight[target] * input[target]`.

    Args:
        input: log-probabilities, `(N, C)`, `(C,)` or `(N, C, d1, ...)`.
        target: classes, int64, `(N,)`, `()` or `(N, d1, ...)`.
        weight: `(C,)`, weight of each class. Default: None.
        ignore_index: label that does not count. Default: -100.
        reduction: "mean" (the weighted mean), "sum" or "none". Default: "mean". Older forms:
            `size_average`, `reduce`.

    Returns:
        A scalar; with reduction="none" a loss for each label, in the shape of `target`.

    Raises:
        ValueError: batch sizes differ. IndexError: a label out of range. RuntimeError: wrong dtype
            or number of dimensions.

    >>> import pellucid as torch
    >>> logp = torch.tensor([[-0.5, -1.0], [-2.0, -0.1]])
    >>> torch.nn.functional.nll_loss(logp, torch.tensor([0, 1]))
    tensor(0.3000)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    if weight is None and is_plain(input) and is_plain(target):  # fast path
        x, t = input._array, target._array
        if (
            x.ndim == 2
            and t.shape == x.shape[:1]
            and 0 < t.size <= _FEW
            and t.dtype is _INT64
            and (x.dtype in _KERNELS or x.dtype in HALVES)
            and inside(t, x.shape[1])
            and (not 0 <= ignore_index < x.shape[1] or not (t == ignore_index).any())
        ):
            if input._rg and local.grad:
                return few_labels_op.call(input, wrap(t.copy()), reduction=reduction)
            return wrap(_of_few(numpy_cpu, x, t, reduction=reduction))
    x, t = (
        require_tensor(input, "nll_loss_nd")._array,
        require_tensor(target, "nll_loss_nd", "target", 2)._array,
    )
    if weight is not None and weight._rg and local.grad:
        kernel = "nll_loss_forward" if x.ndim < 3 else "nll_loss2d_forward"
        raise OperationError(
            f"The function '{kernel}' is not differentiable with respect to argument 'weight'. "
            "This input cannot have requires_grad True.",
            hint="weight.detach() is a constant; to learn weights, multiply the losses of reduction='none'",
        )
    _check_classes(x, t, weight, ignore_index)
    dim = 1 if x.ndim > 1 else 0
    classes = x.shape[dim]
    known = not state.slow and type(t) is np.ndarray and inside(t, classes)
    if not known:
        tracing.check(_out_of_range, t, classes, ignore_index)
    if not input.dtype.is_floating_point:
        kernel = "nll_loss_out_frame" if x.ndim < 3 else "nll_loss2d_forward_out_frame"
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{input.dtype.scalar_type_name}'",
            hint="convert first: x.float()",
        )
    rows = t.shape
    image = x.ndim < 5 and x.ndim != 3
    if not image:  # as images, for PyTorch's kernel
        plane = (1, math.prod(x.shape[2:])) if x.size else (0, 0)
        input = F.view(_in_order(input), shape=(*x.shape[:2], *plane))
        target = wrap(t.reshape(x.shape[:1] + plane))
        x, t = input._array, target._array
    if x.ndim == 1:
        t = t.reshape(())
    with given(total_weight=_total_weight(t, weight, ignore_index, x.dtype, reduction)):
        loss: Tensor = in_one_node(
            _nll_title(x.shape),
            "input",
            "input target weight total_weight",
            _nll,
            input=input,
            target=target,
            weight=weight,
            ignore_index=ignore_index,
            reduction=reduction,
        )
    return loss if image or reduction != "none" else F.view(loss, shape=rows)


def _in_order(x: Tensor) -> Tensor:
    return x if x._array.flags.c_contiguous else x.contiguous()


def _total_weight(t: Any, weight: Any, ignore_index: int, kind: Any, reduction: str) -> Any:
    """Return the total weight of the labels that count, for hooks of saved tensors. None if there
    are no such hooks.
    """
    if not thread.stack.save:
        return None
    if reduction == "none" and t.ndim:
        return np.zeros((), kind)
    _, _, _, count = _weights_of_rows(t, weight, ignore_index, kind)
    return np.asarray(count, kind)


def _nll(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """Compute `nll_loss` from other operations."""
    x, t = input._array, target._array
    dim = 1 if x.ndim > 1 else 0
    if x.ndim == 1:
        t = t.reshape(())
    valid, safe, factor, count = _weights_of_rows(t, weight, ignore_index, x.dtype)
    column = (*safe.shape[:dim], 1, *safe.shape[dim:])
    picked = F.take_along(input, F.reshape(wrap(safe), shape=column), dim=dim, unique=True)
    picked = F.squeeze(picked, dims=(dim,))
    loss = -picked
    differ = _may_differ(valid)
    if differ or weight is not None:  # otherwise all factors are 1
        loss = loss * wrap(factor)
    if differ:
        loss = F.where(wrap(valid), loss, 0.0)
    if reduction != "none":
        loss = loss.sum() if reduction == "sum" else loss.sum() / wrap(count)
    return titled(
        loss,
        _nll_title(x.shape),
        input,
        of=(input,),
        target=target,
        weight=weight,
        ignore_index=ignore_index,
        reduction=REDUCTIONS.index(reduction),
    )


def _may_differ(valid: Any) -> bool:
    """Return whether some row may not count. True if the data is not known: while tracing, and on
    the meta device.
    """
    return bool(tracing.tracer() or type(valid) is MetaArray or not valid.all())


def _weights_of_rows(
    t: np.ndarray, weight: Tensor | None, ignore_index: int, kind: Any
) -> tuple[np.ndarray, ...]:
    """Return which rows count, their labels (0 for the others), their weights, and the sum of the
    weights.
    """
    if tracing.tracer() or type(t) is not np.ndarray:
        return _recorded_weights(wrap(t), weight, ignore_index, kind)
    few = weight is None and 0 < t.size <= 32 and t.dtype is _INT64
    if few and ignore_index not in t.ravel().tolist():  # every row counts once
        ones = np.ones(t.shape, kind)
        return ones.astype(bool), t.copy(), ones, np.asarray(t.size, kind)
    valid = np.asarray(t != ignore_index)
    safe = np.where(valid, t, 0).astype(np.int64, copy=False)
    factor = valid.astype(kind)
    if weight is not None:
        factor = factor * weight._array.astype(kind, copy=False)[safe]
    return (
        valid,
        np.asarray(safe),
        np.asarray(factor),
        np.asarray(factor.sum(dtype=np.float64)).astype(kind),
    )


def _recorded_weights(
    t: Tensor, weight: Tensor | None, ignore_index: int, kind: Any
) -> tuple[np.ndarray, ...]:
    """Return the same as `_weights_of_rows`, computed by operations that a traced program repeats
    and that run on any device.
    """
    valid = F.ne(t, ignore_index)
    safe = F.where(valid, F.cast(t, dtype=np.dtype(np.int64)), 0)
    factor = F.cast(valid, dtype=kind)
    if weight is not None:
        picked = F.index_select(
            F.cast(weight.detach(), dtype=kind), F.reshape(safe, shape=(-1,)), dim=0
        )
        factor = factor * F.reshape(picked, shape=t.shape)
    return valid._array, safe._array, factor._array, factor.sum()._array


@public(namespace="nn.functional")
def nll_loss2d(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """`nll_loss` of images; kept for old code.

    >>> import pellucid as torch
    >>> log_probabilities = torch.log_softmax(torch.zeros(1, 2, 2, 2), dim=1)
    >>> torch.nn.functional.nll_loss2d(log_probabilities, torch.zeros(1, 2, 2, dtype=torch.int64))
    tensor(0.6931)
    """
    return nll_loss(input, target, weight, None, ignore_index, None, reduction)


def _ce_forward(xp: Any, x: Any, *, target: Any, ignore_index: int, reduction: str) -> Any:
    if xp is numpy_cpu and x.dtype in HALVES:
        return in_float32(
            _ce_forward, xp, x, target=target, ignore_index=ignore_index, reduction=reduction
        )
    if xp is numpy_cpu and x.dtype in _KERNELS and config.kernels:
        made = kernels.rows.softmax.cross_entropy(
            np.ascontiguousarray(x), target, None, ignore_index, 0.0, reduction
        )
        if made is not None:
            loss, saved = made
            return loss, ("kernel", saved)
    # compiled steps leave this check to the rule
    _out_of_range(target, x.shape[1], ignore_index)
    valid = target != ignore_index
    safe = xp.where(valid, target, 0)
    picked = xp.take_along_axis(xp.log_softmax(x, 1), safe[:, None], 1)[:, 0]
    rows = xp.where(valid, -picked, 0).astype(x.dtype)
    count = int(valid.sum())
    if reduction == "none":
        return rows, ("plain", 1.0)
    total = xp.sum(rows)
    if reduction == "sum":
        return total, ("plain", 1.0)
    return (total / count if count else total * np.nan), ("plain", float(count))


def _ce_vjp(
    F: Any, g: Any, input: Any, aux: Any, target: Any, ignore_index: int, reduction: str
) -> Any:
    kind, saved = aux
    if kind == "kernel" and F.raw:
        made = kernels.rows.softmax.cross_entropy_backward(
            np.asarray(g), np.ascontiguousarray(input), target, saved, None, ignore_index, 0.0
        )
        if made is not None:
            return made
    count = saved if kind == "plain" else 1.0 if saved[1] is None else float(saved[1].sum())
    array, target = values(F, input), library(F).to_host(target)
    valid = target != ignore_index
    onehot = np.zeros(array.shape, array.dtype)
    onehot[np.arange(len(target)), np.where(valid, target, 0)] = 1
    scale = (valid / count if count else valid * np.nan).astype(array.dtype)[:, None]
    rows = F.reshape(g, shape=(-1, 1)) if reduction == "none" else g
    return (F.softmax(input, dim=1) - as_constant(F, onehot)) * as_constant(F, scale) * rows


# the second of PyTorch's two nodes of a cross entropy, shown when somebody looks at the graph
_NLL = Primitive(
    name="nll_loss",
    args=("input", "target", "weight", "total_weight"),
    grad_name="NllLossBackward0",
    title="nll_loss",
    vjp={"input": None},
)


def _ce_nodes(node: Any) -> tuple[Any, ...]:
    """Return PyTorch's two nodes: the log-softmax, and the selection from it."""
    kept = dict(zip(node.plan.entries, saved_arrays(node), strict=True))
    if sum([v.count for v in node.versions]) != node.total:
        return (node,)  # unchanged: an input was modified in place, so that backward raises
    x, (kind, saved), how = kept["in", 0], kept["aux", 0], node.params
    count = saved if kind == "plain" else 1.0 if saved[1] is None else float(saved[1].sum())
    target, per_row = np.asarray(how["target"]), how["reduction"] == "none"
    valid = target != how["ignore_index"]
    taken = np.zeros(x.shape, x.dtype)
    taken[np.arange(len(target)), np.where(valid, target, 0)] = 1
    taken *= -(valid / count if count else valid * np.nan).astype(x.dtype)[:, None]

    def backward(F: Any, g: Any, s: Any, p: Any) -> tuple[Any, ...]:
        return (as_constant(F, taken) * (F.reshape(g, shape=(-1, 1)) if per_row else g),)

    logs = RAW.log_softmax(x, dim=1)
    first = moved_before(node)
    first.op, first.params = PRIMITIVES["log_softmax"], {"dim": 1}
    first.plan = first.op.plan((True,))
    first.saved = tuple(
        [
            logs if k in ("in", "out") else getattr(logs, k.removeprefix("out_"))
            for k, _ in first.plan.entries
        ]
    )
    first.guard, first.total, first.shape, first.dtype = (), 0, x.shape, x.dtype
    first.__class__ = named_type("LogSoftmaxBackward0")
    node.op, node.params, node.inputs = _NLL, {}, (first, None, None, None)
    node.plan = BackwardPlan([("in", 0), ("in", 1), ("in", 3)], backward, (True, None, None, None))
    node.saved = (logs, target, np.asarray(valid.sum(), x.dtype))
    node.guard, node.total = (), 0
    return first, node


cross_entropy_op = defop(
    "cross_entropy",
    "input",
    forward=_ce_forward,
    aux=True,
    vjp={"input": _ce_vjp},
    grad_name="NllLoss",
    host=True,
    borrows="input",
    nodes=_ce_nodes,
    variant=lambda n: f"{_nll_title(value_at(n.inputs[0])[0])}Backward0",
    autocast="float32",
    traits="saturates",
    advice="skip batches in which every target is ignore_index",
    samples=lambda rng: [
        Sample(
            (rng.random((3, 4)),),
            {"target": np.array([0, 3, 1]), "ignore_index": ignored, "reduction": how},
        )
        for ignored in (-100, 3)
        for how in ("mean", "sum", "none")
    ],
)


@public(namespace="nn.functional")
@full_precision
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between logits and classes, or between logits and class probabilities.

    For a class t it is `-weight[t] * log_softmax(input)[t]`, for probabilities p
    `-sum(weight * p * log_softmax(input))`.

    Args:
        input: logits (raw scores, not probabilities), `(N, C)`, `(C,)` or `(N, C, d1, ...)`.
        target: classes (int64) `(N,)`, `()`, `(N, d1, ...)`, or probabilities of the shape of
            `input`.
        weight: `(C,)`, weight of each class. Default: None.
        ignore_index: label that does not count. Default: -100.
        reduction: "mean" (for classes the weighted mean), "sum" or "none". Default: "mean". Older
            forms: `size_average`, `reduce`.
        label_smoothing: share of the target spread evenly over the classes, in [0, 1]. Default: 0.

    Returns:
        A scalar; with reduction="none" one loss for each sample, `(N, d1, ...)`.

    Raises:
        ValueError: batch sizes differ. IndexError: a label out of range. RuntimeError: wrong dtype.

    >>> import pellucid as torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(2, 10), torch.tensor([3, 7]))
    tensor(2.3026)
    """
    reduction = get_reduction(size_average, reduce, reduction)
    x = require_tensor(input, "cross_entropy_loss", "input")._array
    t = require_tensor(target, "cross_entropy_loss", "target", 2)._array
    if weight is not None:
        require_tensor(weight, "cross_entropy_loss", "weight", 3)
    if not 0.0 <= label_smoothing <= 1.0:
        raise OperationError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}"
        )
    if (
        x.ndim == 2
        and weight is None
        and label_smoothing == 0.0
        and t.dtype is _INT64
        and t.shape == x.shape[:1]
        and reduction in ("mean", "sum", "none")
        and type(x) is np.ndarray
        and (x.dtype.kind == "f" or x.dtype in HALVES)
    ):
        if state.slow or type(t) is not np.ndarray or not inside(t, x.shape[1]):
            tracing.check(_out_of_range, t, x.shape[1], ignore_index, again=True)
        out = cross_entropy_op.call(input, target=t, ignore_index=ignore_index, reduction=reduction)
        return out if out._node is None else reads_later(out, target)
    if t.shape == x.shape and not target.dtype.is_floating_point:
        name = target.dtype.scalar_type_name
        raise DtypeError(
            f"Expected floating point type for target with class probabilities, got {name}",
            op="cross_entropy",
        )
    if not input.dtype.is_floating_point and x.size:
        kernel = "log_softmax_kernel_impl" if x.ndim > 2 else "log_softmax_lastdim_kernel_impl"
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{input.dtype.scalar_type_name}'",
            op="cross_entropy",
            hint="the arguments look swapped: pass the scores first, cross_entropy(input, target)"
            if target.dtype.is_floating_point and t.ndim > x.ndim
            else "convert first: x.float()",
        )
    if t.shape == x.shape:
        return _soft_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    if x.ndim:
        _check_classes(x, t, weight, ignore_index)
    elif t.ndim:
        normalize_dim(1, 0)  # the classes are in dimension 1
    dim = 1 if x.ndim > 1 else 0
    logp = F.log_softmax(input, dim=dim)
    plain = nll_loss(logp, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0.0:
        return plain
    classes = x.shape[dim]
    valid, _, _, count = _weights_of_rows(t, weight, ignore_index, x.dtype)
    spread = (
        -(logp * _class_weights(weight, x.ndim, dim)).sum(dim=dim)
        if weight is not None
        else -logp.sum(dim=dim)
    )
    counted = F.where(wrap(valid), spread, 0.0) if _may_differ(valid) else F.alias(spread)
    spread = titled(counted, "MaskedFill", of=(spread,))
    if reduction == "mean":
        spread = spread.sum() / wrap(count)
    elif reduction == "sum":
        spread = spread.sum()
    parts = ((plain, 1.0 - label_smoothing), (spread, label_smoothing / classes))
    first, second = (
        titled(part * share, "MulBackward1", of=(part,), other=share) for part, share in parts
    )
    return first + second


def _class_weights(weight: Tensor, ndim: int, dim: int) -> Tensor:
    shape = [1] * ndim
    shape[dim] = -1
    return weight.reshape(shape)


def _soft_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore: int,
    reduction: str,
    smoothing: float,
) -> Tensor:
    if ignore >= 0:
        raise OperationError("ignore_index is not supported for floating point target")
    dim = 1 if input.ndim > 1 else 0
    if input.ndim == 0:
        raise OperationError("cross_entropy of a 0-d tensor has no class dimension")
    classes = input._array.shape[dim]
    if weight is not None and (weight.ndim != 1 or weight._array.size != classes):
        raise OperationError(
            "cross_entropy: weight tensor should be defined either for all "
            f"{classes} classes or no classes but got weight tensor of shape: {list(weight._array.shape)}"
        )
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    logp = F.log_softmax(input, dim=dim)
    terms = logp * target
    if weight is not None:
        terms = terms * _class_weights(weight, input.ndim, dim)
    if reduction == "none":
        return -terms.sum(dim=dim)
    loss = -terms.sum()
    if reduction == "sum":
        return loss
    rows = terms._array.size // classes if classes else 0  # count rows by elements
    if rows:
        return titled(loss / rows, "DivBackward1", of=(loss,), other=rows)
    return loss / wrap(constant(np.zeros((), loss._array.dtype)))


@public(namespace="nn.functional")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target, ...)`; `options` about
    chunks are accepted and change nothing.

    >>> import pellucid as torch
    >>> hidden, weight = torch.ones(2, 3), torch.zeros(4, 3)
    >>> torch.nn.functional.linear_cross_entropy(hidden, weight, torch.tensor([0, 2]))
    tensor(1.3863)
    """
    _check_linear_loss(input, linear_weight, linear_bias)
    if ignore_index is not None and isinstance(target, Tensor) and target.is_floating_point():
        raise OperationError("ignore_index cannot be specified when target contains probabilities")
    classes = linear_weight._array.shape[:-1]
    if len(classes) > 1:  # positions besides the classes: a loss over several dimensions
        flat = linear_weight.reshape(-1, linear_weight._array.shape[-1])
        logits = linear(input, flat).reshape(*input._array.shape[:-1], *classes)
        if linear_bias is not None:
            logits = logits + linear_bias.reshape(
                -1, *linear_bias._array.shape[1:], *(1,) * (len(classes) - linear_bias.ndim)
            )
    else:
        logits = linear(input, linear_weight, linear_bias)
        logits = logits.view(logits._array.shape)
    return cross_entropy(
        logits,
        target,
        weight,
        None,
        -100 if ignore_index is None else ignore_index,
        None,
        reduction,
        label_smoothing,
    )


def _check_linear_loss(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Raise PyTorch's errors for shapes that do not fit together in `linear_cross_entropy`."""
    asked_for("dim", input, weight)
    x = tuple(require_tensor(input, "linear_cross_entropy")._array.shape)
    w = tuple(require_tensor(weight, "linear_cross_entropy", "linear_weight", 2)._array.shape)
    if not 1 <= len(x) <= 2:
        raise ShapeError(f"expected input with dimensionality 1 or 2, got {len(x)}")
    if len(w) < 2:
        raise ShapeError(f"expected linear_weight with dimensionality at least 2, got {len(w)}")
    if x[-1] != w[-1]:
        raise ShapeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {x[-1]} and {w[-1]}, respectively"
        )
    if bias is not None and tuple(bias._array.shape) != w[:-1]:
        raise ShapeError(f"expected linear_bias shape {w[:-1]}, got {tuple(bias._array.shape)}")
    if len(w) > 2 and len(x) == 1:
        raise ShapeError(
            f"K-dimensional loss defined by linear_weight shape {w} requires batched input, (N, {x[-1]}), got unbatched input with shape {x}"
        )
