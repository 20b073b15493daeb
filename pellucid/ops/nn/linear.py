"""Affine maps."""

from __future__ import annotations

from math import prod
from typing import Any

from numpy import dtype, ndarray

from ... import shapes
from ...core.display.packing import only_saves
from ...core.explain import located, operand
from ...core.interpret import playing, thread
from ...core.modes import state
from ...core.primitive import PRIMITIVES, BackwardPlan, defop
from ...core.primitive import TENSORS as F
from ...core.public import public
from ...core.tape import named_type, reads_later, titled
from ...core.tensor import Tensor
from ...core.transforms.arranging import become, moved_before, node_before
from ...core.transforms.batching import Batched
from ...core.transforms.whole import one_node
from ...errors import DtypeError, OperationError, ShapeError, UnsupportedError, facts_of
from .._rules import require_tensor
from .._samples import cases
from ..linalg._by_aten import matmul_by_aten
from ..linalg.matmul import batched_matmul
from ..shape.view import viewable

_BOOL = dtype(bool)


def _linear_vjp(
    F: Any,
    g: Any,
    input_for_weight: Any,
    weight_for_input: Any,
    weight_shape: Any,
    weight_dtype: Any,
    needs: Any,
) -> tuple[Any, ...]:
    real = F.raw and weight_dtype.kind not in "cW"
    input, weight = input_for_weight, weight_for_input
    gx = F.matmul(g, weight if real else F.conj(weight)) if needs[0] else None
    gw = gb = None
    rows, columns = weight_shape
    if needs[1] or needs[2]:
        flat = (
            g
            if g.ndim == 2
            else F.reshape(g, shape=(prod(g.shape[:-1]), rows))
            if _size(g)
            else None
        )
        if needs[1]:
            if flat is None:
                gw = F.full(shape=tuple(weight_shape), value=0, dtype=_numpy_dtype(g))
            else:
                x = (
                    input
                    if input.ndim == 2
                    else F.reshape(input, shape=(prod(input.shape[:-1]), columns))
                )
                gw = F.matmul(F.transpose(flat, dim0=0, dim1=1), x if real else F.conj(x))
        if needs[2]:
            gb = g if g.ndim == 1 else F.sum(g, dim=tuple(range(g.ndim - 1)), keepdim=False)
    return gx, gw, gb


def _size(g: Any) -> int:
    return g._array.size if isinstance(g, Tensor) else g.size


def _numpy_dtype(g: Any) -> Any:
    return g._array.dtype if isinstance(g, Tensor) else g.dtype


def _batch_linear(b: Any) -> Any:
    x, w, bias = b.values
    if b.first_only:
        return b.call(x, w, bias)
    bx, bw, _ = b.flags
    rank = w._array.ndim
    if rank - bw != 2:
        return None
    matrix = F.transpose(w, dim0=rank - 2, dim1=rank - 1)
    r = batched_matmul(x, matrix, bx, bw) if bx or bw else F.matmul(x, matrix)
    return r if bias is None else F.add(*b.aligned([r, bias], [bx or bw, b.flags[2]]))


def _onnx_linear(c: Any) -> Any:
    if len(c.shape()) == 2 and len(c.shape(1)) == 2:
        return c.emit("Gemm", *[name for name in c.names if name], transB=1)
    weight = c.emit("Transpose", c[1], perm=[1, 0]) if len(c.shape(1)) == 2 else c[1]
    out = c.emit("MatMul", c[0], weight)
    return c.emit("Add", out, c[2]) if c.has(2) else out


def linear_by_aten(A: Any, input: Any, weight: Any, bias: Any) -> Any:
    """A linear layer by operators of aten; NotImplemented for what is to be refused."""
    wide = input._array.ndim
    if weight._array.ndim != 2 or not wide or bias is not None and bias._array.ndim != 1:
        return NotImplemented
    if bias is None:
        return matmul_by_aten(A, input, A.t(weight))
    if wide == 2:
        return A.addmm(bias, input, A.t(weight))
    if wide == 1:
        return A.squeeze.dim(A.addmm(bias, A.unsqueeze(input, 0), A.t(weight)), 0)
    shape = list(input._array.shape)
    if not viewable(input, (prod(shape[:-1]), shape[-1])):
        return A.add.Tensor(matmul_by_aten(A, input, A.t(weight)), bias)
    flat = A.view(input, [prod(shape[:-1]), shape[-1]])
    return A.view(A.addmm(bias, flat, A.t(weight)), [*shape[:-1], weight._array.shape[0]])


def _expand_linear(e: Any, x: Any) -> bool:
    """Lowering: copy rows with gaps between them first, as the product treats all rows as one
    matrix.
    """
    if len(x.shape) < 3 or x.contiguous or not e.floats(x, halves=True):
        return bool(e.laid_out(x))
    e.give("linear", e.new("clone", x), *e.i.inputs[1:])
    return True


def _variant(n: Any) -> tuple[str, tuple[int, ...]]:
    """Return the name of the last of PyTorch's nodes, and the order of its arguments."""
    bias, wide = n.plan.needs[2] is not None, len(n.shape)
    if wide == 2:
        return ("AddmmBackward0", (2, 0, 1)) if bias else ("MmBackward0", (0, 1))
    if wide == 1:
        return "ViewBackward0" if bias else "SqueezeBackward4", (0,)
    if not bias:
        return "UnsafeViewBackward0", (0,)
    return "ViewBackward0" if _in_rows(n) else "AddBackward0", (0,)


def _in_rows(n: Any) -> bool:
    """Return whether the input can be viewed as a matrix without a copy. True if unknown."""
    kept = ("in", 0) in n.plan.entries and n.saved is not None
    x = n.saved[n.plan.entries.index(("in", 0))] if kept else None
    return not isinstance(x, ndarray) or x.flags.c_contiguous


def _nodes(node: Any) -> Any:
    """Return PyTorch's nodes: a product of matrices with the transposed weight, and views around
    it.
    """
    x, w, b = node.inputs
    kept = dict(zip(node.plan.entries, node.saved, strict=True))
    (rows, columns), kind, shape = kept["shape", 1], kept["dtype", 1], node.shape
    needs, wide, bias = node.plan.needs, len(shape), node.plan.needs[2] is not None
    row_wise, lead = _in_rows(node), prod(shape[:-1])
    w = node_before(node, "t", w, (columns, rows), 0.5, dim0=0, dim1=1)
    inner = node
    if wide != 2:
        inner = moved_before(node)
        inner.shape = (lead, rows)
        if wide == 1 and not bias:
            x = node_before(node, "unsqueeze", x, (1, columns), 0.25, dim=0)
            become(node, "squeeze", (inner,), shape, node.dtype, dims=(0,))
            node.__class__ = named_type("SqueezeBackward4")
        else:
            if not row_wise:
                x = node_before(node, "clone", x, (*shape[:-1], columns), 0.375)
            into = "view" if row_wise else "unsafe_view"
            x = node_before(node, into, x, (lead, columns), 0.25, shape=(lead, columns))
            if bias and row_wise:
                become(node, "view", (inner,), shape, node.dtype, shape=shape)
            elif not bias:
                become(node, "unsafe_view", (inner,), shape, node.dtype, shape=shape)
            else:
                middle = node_before(node, "unsafe_view", inner, shape, 0.0625, shape=shape)
                become(node, "add", (middle, b), shape, node.dtype)
    added = bias and inner.inputs[2:] and (wide < 3 or row_wise)
    names = [("in", 0), ("in", 1)] if added else [("in", 1), ("in", 0)]
    values = {k: kept[k] for k in names if k in kept}
    versions = dict(zip([k for k in kept if k in values], inner.versions, strict=False))
    entries = list(values)
    shift = int(added)

    def backward(F: Any, g: Any, s: Any, p: Any) -> tuple[Any, ...]:
        have = dict(zip(entries, s, strict=True))
        weight = have.get(("in", 1))
        weight = None if weight is None else F.transpose(weight, dim0=0, dim1=1)
        of = (needs[0], needs[1], needs[2] if added else None)
        gx, gw, gb = _linear_vjp(F, g, have.get(("in", 0)), weight, (rows, columns), kind, of)
        gw = None if gw is None else F.transpose(gw, dim0=0, dim1=1)
        return (gb, gx, gw) if added else (gx, gw)

    inner.op = PRIMITIVES["addmm" if added else "matmul"]
    inner.inputs = (b, x, w) if added else (x, w)
    inner.params = {}
    inner.plan = BackwardPlan(
        [("in", i + shift) for _, i in entries],
        backward,
        tuple([e is not None for e in inner.inputs]),
    )
    inner.saved = tuple(
        [
            v.reshape(lead, columns) if k == ("in", 0) else v.T if v.ndim == 2 else v
            for k, v in values.items()
        ]
    )
    if versions:
        inner.versions = tuple([versions[k] for k in entries])
    inner.__class__ = named_type("AddmmBackward0" if added else "MmBackward0")
    return (inner,)


linear_op = defop(
    "linear",
    "input weight bias?",
    expand=_expand_linear,
    forward=lambda xp, x, w, b: xp.linear(x, w, b),
    aval=lambda x, w, b: ((*x[0][:-1], w[0][0]), x[1]),
    vjp=_linear_vjp,
    grad_name="Addmm",
    variant=_variant,
    nodes=_nodes,
    order="bias input weight",
    batch=_batch_linear,
    onnx=_onnx_linear,
    autocast="lower",
    traits="multiplies",
    work=lambda size, x, *_: size * int(x[-1]),
    aten=lambda A, x, w, b: linear_by_aten(A, x, w, b),
    samples=cases(
        (((2, 3, 4), (5, 4), (5,)), {}),
        (((4,), (5, 4), (5,)), {}),
        (((0, 4), (5, 4), (5,)), {}),
        complex=True,
    ),
)


@public(namespace="nn.functional", out="same")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`.

    Args:
        input: `(..., in)`.
        weight: `(out, in)`, or `(in,)` for a result without the last dimension.
        bias: `(out,)` or None.

    Returns:
        `(..., out)`.

    Raises:
        RuntimeError: the sizes `in` differ, or the dtypes do.

    >>> import pellucid as torch
    >>> torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3), torch.zeros(4))
    tensor([[3., 3., 3., 3.],
            [3., 3., 3., 3.]])
    """
    a, w = (
        require_tensor(input, "linear")._array,
        require_tensor(weight, "linear", "weight", 2)._array,
    )
    if (
        w.ndim != 2
        or a.ndim < 2
        or a.shape[-1] != w.shape[1]
        or (bias is not None and bias._array.shape != (w.shape[0],))
    ):
        return _unusual(input, weight, bias)
    if (
        bias is not None
        and thread.stack.autocast is not None
        and Batched in (type(input), type(weight), type(bias))
    ):  # autocast does not convert the bias
        return linear_op.call(*_of_one_dtype(input, weight, None)) + bias
    kind = w.dtype
    if (
        a.dtype is not kind
        and a.dtype != kind
        or bias is not None
        and bias._array.dtype is not kind
        and bias._array.dtype != kind
    ):
        input, weight, bias = _of_one_dtype(input, weight, bias)
    if kind is _BOOL and a.size and w.size:
        raise UnsupportedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    return linear_op.call(input, weight, bias)


def _of_one_dtype(
    input: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Convert the arguments to autocast's dtype, except doubles. Refuse them if they still differ."""
    policy = thread.stack.autocast
    if policy is not None:
        input, weight, bias = policy.narrow(input), policy.narrow(weight), policy.narrow(bias)
    x, w = input.dtype, weight.dtype
    if bias is not None and bias.dtype is not w:
        text = f"self and mat2 must have the same dtype, but got {bias.dtype.scalar_type_name} and {w.scalar_type_name}"
    elif x is w:
        return input, weight, bias
    elif bias is None:
        text = f"expected m1 and m2 to have the same dtype, but got: {x.c_name} != {w.c_name}"
    else:
        text = f"mat1 and mat2 must have the same dtype, but got {x.scalar_type_name} and {w.scalar_type_name}"
    raise DtypeError(text, op="linear")


def _unusual(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Handle vectors, and shapes that do not fit."""
    a, w = input._array, weight._array
    if w.ndim > 2:
        raise OperationError(
            f"t() expects a tensor with <= 2 dimensions, but self is {w.ndim}D", op="linear"
        )
    if (
        a.ndim == 1
        and w.ndim == 2
        and a.shape == w.shape[1:]
        and type(a) is type(w) is ndarray
        and (not state.slow or only_saves())
    ):
        if (
            a.dtype is w.dtype
            and a.dtype.kind == "f"
            and (bias is None or bias._array.shape == w.shape[:1])
        ):
            if bias is None or bias._array.dtype is w.dtype:
                return linear_op.call(input, weight, bias)
    added, bias_shape = bias, None if bias is None else bias._array.shape
    if bias is not None and w.ndim == 2:  # PyTorch compares dtypes before shapes
        input, weight, bias = _of_one_dtype(input, weight, bias)
    if bias is not None and w.ndim == 1 and _by_addmm(input, bias):
        raise ShapeError("mat2 must be a matrix, got 1-D tensor", op="linear")
    try:
        shapes.linear_shape(input._array.shape, weight._array.shape, bias_shape)
    except RuntimeError as error:
        known = facts_of(error)
        if known is None:
            raise
        known.hint = _hint(tuple(input._array.shape), tuple(weight._array.shape)) or known.hint
        operands = [
            operand(n, t)
            for n, t in (("input", input), ("weight", weight), ("bias", bias))
            if t is not None
        ]
        raise located(error, "linear", operands) from None
    if weight.ndim == 1:
        out = F.matmul(input, weight)
        return out if bias is None else out + bias.to(out.dtype)
    input, weight, bias = _of_one_dtype(input, weight, bias)
    out = F.matmul(input, F.transpose(weight, dim0=0, dim1=1))
    if bias is not None and Batched in (type(input), type(weight), type(bias)):
        return out + added  # autocast does not convert the bias
    return out if bias is None else out + bias


def _by_addmm(input: Tensor, bias: Tensor) -> bool:
    """Whether PyTorch adds the bias within a product of matrices."""
    row = bias.ndim == 1 or bias.ndim == 2 and bias.shape[0] == 1
    return input.ndim == 2 or row and (input.ndim == 1 or input.is_contiguous())


def _hint(x: tuple[int, ...], weight: tuple[int, ...]) -> str | None:
    """Return the likely reason for a wrong number of features, or None."""
    if len(weight) != 2 or not x:
        return None
    out, features = weight
    if prod(x[1:]) == features and len(x) > 2:
        return "the input still has several dimensions for each example: flatten(1) them first"
    if prod(x) == features:
        return (
            "the batch dimension is missing, or was flattened away: use flatten(1), not flatten()"
        )
    if x[-1] == out:
        return "the weight looks transposed: it is (out_features, in_features)"
    return (
        f"the input has {x[-1]} features in its last dimension and the layer expects {features}: make in_features {x[-1]}, or change the "
        "layer before"
    )


@public(namespace="nn.functional")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1^T weight[o] input2 + bias[o]` for each output o.

    Args:
        input1: `(..., in1)`. input2: `(..., in2)`. weight: `(out, in1, in2)`. bias: `(out,)` or
            None.

    Returns:
        `(..., out)`.

    >>> import pellucid as torch
    >>> torch.nn.functional.bilinear(torch.ones(2, 3), torch.ones(2, 4), torch.ones(5, 3, 4)).shape
    torch.Size([2, 5])
    """
    for k, (name, t) in enumerate(
        (("input1", input1), ("input2", input2), ("weight", weight)), start=1
    ):
        require_tensor(t, "bilinear", name, k)
    kinds = {"input1": input1.dtype, "input2": input2.dtype, "weight": weight.dtype}
    if bias is not None:
        kinds["bias"] = require_tensor(bias, "bilinear", "bias", 4).dtype
    if len({*kinds.values()}) > 1:
        found = ", ".join(f"{name}: {kind.c_name}" for name, kind in kinds.items())
        raise DtypeError(f"All tensors must have the same dtype, got {found}", op="bilinear")
    a, b, w = input1._array.shape, input2._array.shape, weight._array.shape
    if len(a) != len(b):
        raise ShapeError(f"bilinear(): input dimensions do not match: got {len(a)} and {len(b)}")
    for k in range(len(a) - 1):
        if a[k] != b[k]:
            raise ShapeError(
                f"bilinear(): input batch dimensions do not match at dim {k}: got {a[k]} and {b[k]}"
            )
    if a[-1] != w[shapes.normalize_dim(1, len(w))]:
        raise ShapeError(
            f"bilinear(): input1 size does not match weight size: got {a[-1]} but expected {w[1]}"
        )
    if b[-1] != w[shapes.normalize_dim(2, len(w))]:
        raise ShapeError(
            f"bilinear(): input2 size does not match weight size: got {b[-1]} but expected {w[2]}"
        )
    if bias is not None and tuple(bias._array.shape) != (w[0],):
        raise ShapeError(
            f"bilinear(): bias size does not match weight size: got {bias._array.shape[0]} but expected {w[0]}"
        )
    if len(w) != 3:
        raise OperationError("number of dimensions must match")
    if thread.stack.autocast is not None:  # autocast has no rule for it
        with playing("autocast", None):
            return _bilinear(input1, input2, weight, bias)
    return _bilinear(input1, input2, weight, bias)


def _bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    a, w = input1._array.shape, weight._array.shape
    x, y = input1.reshape(-1, w[1]), input2.reshape(-1, w[2])
    out = _trilinear(x, weight, y).reshape(*a[:-1], w[0])
    return out if bias is None else out + bias


@one_node("Trilinear", "x weight y", "x weight y")
def _trilinear(x: Tensor, weight: Tensor, y: Tensor) -> Tensor:
    w = weight._array.shape
    inner = F.matmul(x, weight.permute(1, 0, 2).reshape(w[1], -1)).reshape(-1, w[0], w[2])
    out = (inner * y.unsqueeze(1)).sum(dim=-1, dtype=inner.dtype)
    made = titled(
        out,
        "Trilinear",
        of=(x, weight, y),
        expand1=(1, 3),
        expand2=(0,),
        expand3=(1, 2),
        sumdim=(2, 3),
    )
    return reads_later(made, weight) if x._rg or y._rg else made
