"""Matrix and vector products."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import config
from ...arrays import numpy_cpu
from ...arrays.halves import HALVES, in_float32
from ...arrays.native import kernels, ufuncs
from ...core.bind import make_operators, wrap
from ...core.display.packing import hooked, only_saves, pack
from ...core.interpret import playing, thread
from ...core.modes import local, state
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import METHODS, public
from ...core.tape import named_type, titled
from ...core.tensor import FAST_TYPES, Tensor, make_tensor
from ...core.tracing import constant
from ...core.transforms.batching import Batched
from ...core.transforms.whole import one_node, without_hooks
from ...dtypes import BY_NUMPY, complex32, float8_e8m0fnu, promote_types
from ...errors import DtypeError, OperationError, ShapeError, UnsupportedError
from ...ir import Value
from ...shapes import (
    bmm_shape,
    dot_shape,
    expand,
    matmul_shape,
    mm_shape,
    mv_shape,
    normalize_dim,
)
from .._overloads import former
from .._rules import before_writing, is_direct, low_precision, require_tensor
from .._samples import REAL, Sample, cases, draw
from ._by_aten import matmul_by_aten
from ._nodes import BMM, dot_of_permuted, last_name, nodes

Number = bool | int | float | complex


def check_dtypes(a: Any, b: Any) -> None:
    """Refuse products of two dtypes, and of bools, which have none; shapes that do not fit before
    that, unless both are vectors.
    """
    kind = (
        "dot"
        if a.ndim == b.ndim == 1
        else "addmv_impl_cpu"
        if 1 == b.ndim
        else "bmm"
        if b.ndim > 2
        else "addmm_impl_cpu_"
    )
    if a.dtype != b.dtype and not (kind == "bmm" and a.dtype.kind == "b"):
        x, y = BY_NUMPY[a.dtype], BY_NUMPY[b.dtype]
        sentence = {
            "dot": f"dot : expected both vectors to have same dtype, but found {x.scalar_type_name} and {y.scalar_type_name}",
            "addmv_impl_cpu": f"addmv input tensors must have the same dtype, but got {y.scalar_type_name}, {x.scalar_type_name}, "
            f"and {y.scalar_type_name}",
            "bmm": f"expected scalar type {x.scalar_type_name} but found {y.scalar_type_name}",
            "addmm_impl_cpu_": f"expected m1 and m2 to have the same dtype, but got: {x.c_name} != {y.c_name}",
        }[kind]
        if kind != "dot":
            matmul_shape(a.shape, b.shape)
        raise DtypeError(sentence, hint="convert one operand: x.to(w.dtype)")
    if a.dtype.kind == "b" and not (kind != "dot" and 0 in (*a.shape, *b.shape)):
        matmul_shape(a.shape, b.shape)
        raise UnsupportedError(f"\"{kind}\" not implemented for 'Bool'")
    held = BY_NUMPY[a.dtype]
    lacks = held.is_float8 and (kind != "addmm_impl_cpu_" or held is float8_e8m0fnu)
    if lacks or held is complex32:
        matmul_shape(a.shape, b.shape)
        raise UnsupportedError(f"\"{kind}\" not implemented for '{held.scalar_type_name}'")


def _check(a: Any, b: Any) -> None:
    check_dtypes(a, b)
    matmul_shape(a.shape, b.shape)


# For matrices, the gradients of a @ b are g @ b^H and a^H @ g. A stack of matrices times one matrix
# is folded into one product, vectors become rows or columns, and the gradients of broadcast stacks
# are summed.
def _left(F: Any, g: Any, other: Any, input_shape: Any) -> Any:
    other = F.conj(other)
    na, nb = len(input_shape), other.ndim
    if nb == 2 and na >= 2:
        return F.matmul(g, other.mT)
    if nb == 1:
        return g * other if na == 1 else F.mul(g.reshape((*input_shape[:-1], 1)), other)
    if na == 1:
        rows = g.reshape((*g.shape[:-1], 1, g.shape[-1]))
        made = F.matmul(rows, other.mT)
        return F.sum_to(made.reshape((*made.shape[:-2], made.shape[-1])), shape=input_shape)
    made = F.matmul(g, other.mT)
    return made if tuple(made.shape) == input_shape else F.sum_to(made, shape=input_shape)


def _right(F: Any, g: Any, input: Any, other_shape: Any) -> Any:
    input = F.conj(input)
    na, nb = input.ndim, len(other_shape)
    if nb == 2:
        if na == 2:
            return F.matmul(input.mT, g)
        if na == 1:
            return F.matmul(input.reshape((-1, 1)), g.reshape((1, other_shape[1])))
        n = prod(input.shape[:-1])
        return F.matmul(input.reshape((n, other_shape[0])).mT, g.reshape((n, other_shape[1])))
    if nb == 1:
        if na == 1:
            return g * input
        n = prod(input.shape[:-1])
        return F.matmul(input.reshape((n, other_shape[0])).mT, g.reshape((n,)))
    if na == 1:
        made = F.matmul(input.reshape((-1, 1)), g.reshape((*g.shape[:-1], 1, g.shape[-1])))
    else:
        made = F.matmul(input.mT, g)
    return made if tuple(made.shape) == other_shape else F.sum_to(made, shape=other_shape)


_PAIRS = (
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 2)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
)


def batched_matmul(x: Any, y: Any, bx: bool, by: bool) -> Any:
    """The product of each sample; `bx` and `by` say which operand has samples (in its first
    dimension).
    """
    nx, ny = x._array.ndim - bx, y._array.ndim - by
    if nx == 1:
        x = F.unsqueeze(x, dim=int(bx))
    if ny == 1:
        y = F.unsqueeze(y, dim=y._array.ndim)
    wide = max(x._array.ndim - bx, y._array.ndim - by)
    parts = []
    for v, f in ((x, bx), (y, by)):
        shape = v._array.shape
        missing = wide + 1 - len(shape)
        parts.append(
            F.reshape(v, shape=(shape[0], *(1,) * missing, *shape[1:])) if f and missing else v
        )
    r = F.matmul(*parts)
    drop = [r._array.ndim - 2] * (nx == 1) + [r._array.ndim - 1] * (ny == 1)
    return (
        F.reshape(r, shape=tuple(n for k, n in enumerate(r._array.shape) if k not in drop))
        if drop
        else r
    )


def _expand_matmul(e: Any, x: Any) -> bool:
    """Lower a product with a vector to one with a matrix of one row or column."""
    y, out = e.i.inputs[1], e.i.outputs[0]
    if not isinstance(y, Value) or x.dtype != y.dtype or not e.floats(x, halves=True):
        return False
    if min(len(x.shape), len(y.shape)) != 1:
        return bool(e.laid_out(x))
    a, b, shape = x, y, list(out.shape)
    if len(x.shape) == 1:
        a = e.with_one(x, 0)
        shape.insert(len(shape) - (len(y.shape) > 1), 1)
    if len(y.shape) == 1:
        b = e.with_one(y, 1)
        shape.append(1)
    e.give("matmul", a, b, out=e.reshaped(out, tuple(shape)))
    return True


matmul_op = defop(
    "matmul",
    "input other",
    expand=_expand_matmul,
    forward="matmul",
    aval=lambda a, b: (matmul_shape(a[0], b[0]), a[1]),
    vjp={"input": _left, "other": _right},
    variant=last_name,
    nodes=nodes,
    batch=lambda b: batched_matmul(*b.values, *b.flags),
    onnx="MatMul",
    autocast="lower",
    traits="multiplies",
    work=lambda size, a, b: size * int(a[-1]),
    check=_check,
    samples=lambda rng: (
        *cases(*((pair, {}) for pair in _PAIRS), complex=True)(rng),
        Sample((draw(rng, (2, 3), REAL), draw(rng, (2, 3), REAL)), error=RuntimeError),
        Sample((draw(rng, (), REAL), draw(rng, (3,), REAL)), error=RuntimeError),
    ),
    aten=lambda A, x, y: matmul_by_aten(A, x, y),
    shows={"mat2": "other", "vec": "other", "tensor": "other"},
)

METHODS["__matmul__"], METHODS["__rmatmul__"] = make_operators(matmul_op)


@public(methods="=", out="same", namespace="torch linalg")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product, `input @ other`, of vectors, matrices or batches of matrices.

    Args:
        input: `(..., n, k)` or `(k,)`.
        other: `(..., k, m)` or `(k,)`, of the same dtype. Leading dimensions broadcast.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> import pellucid as torch
    >>> torch.matmul(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    return matmul_op.call(input, other)


def _of_vectors(a: Any, b: Any) -> Tensor:
    """Return the product in the operands' own precision, which autocast would lower. Products
    mapped by `vmap` become products of matrices in PyTorch, so they keep autocast's precision.
    """
    if thread.stack.autocast is None or Batched in (type(a), type(b)):
        return matmul_op.call(a, b)
    with playing("autocast", None):
        return matmul_op.call(a, b)


_MATMUL = named_type(matmul_op.grad_name)


def _named_product(name: str, shape_rule: Any, names: tuple[str, str]) -> Any:
    vectors = name in ("mv", "dot")  # autocast has no rule for products with vectors
    stacks = name == "bmm"

    def product(a: Any, b: Any) -> Tensor:
        shape_rule(
            require_tensor(a, name, names[0], 1)._array.shape,
            require_tensor(b, name, names[1], 2)._array.shape,
        )
        if vectors:
            return _of_vectors(a, b)
        if stacks and state.slow and hooked() and thread.stack.tracer is None:
            with without_hooks():
                made = matmul_op.call(a, b)
            if type(made._node) is _MATMUL:
                made._node.__class__ = BMM  # hooks see the name
                pack(made._node, thread.stack.save[-1], (a, b), (made,))
            return made
        made = matmul_op.call(a, b)
        if stacks and type(made._node) is _MATMUL:  # else it is PyTorch's `matmul` of stacks
            made._node.__class__ = BMM
        return made

    return product


_mm, _bmm = (
    _named_product("mm", mm_shape, ("input", "mat2")),
    _named_product("bmm", bmm_shape, ("input", "mat2")),
)
_mv, _dot = (
    _named_product("mv", mv_shape, ("input", "vec")),
    _named_product("dot", dot_shape, ("input", "tensor")),
)


@public(methods="=", out="same")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices, without broadcasting.

    Args:
        input: `(n, k)`.
        mat2: `(k, m)`, of the same dtype.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> import pellucid as torch
    >>> torch.mm(torch.eye(2), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return _mm(input, mat2)


@public(methods="=", out="same")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of two batches of matrices, without broadcasting.

    Args:
        input: `(b, n, k)`.
        mat2: `(b, k, m)`, of the same dtype.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> import pellucid as torch
    >>> torch.bmm(torch.ones(5, 2, 3), torch.ones(5, 3, 4)).shape
    torch.Size([5, 2, 4])
    """
    return _bmm(input, mat2)


@public(
    methods="=",
    out="addmv input tensors must have the same dtype, but got {given}, {wanted}, and {wanted}",
)
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector.

    Args:
        input: `(n, k)`.
        vec: `(k,)`.

    Returns:
        A vector `(n,)`.

    >>> import pellucid as torch
    >>> torch.mv(torch.eye(2), torch.tensor([3.0, 4.0]))
    tensor([3., 4.])
    """
    if not require_tensor(input, "mv")._array.ndim:
        _size_of((), 0)
    return _mv(input, vec)


def _check_dot(a: Any, b: Any) -> None:
    x, y = require_tensor(a, "dot")._array, require_tensor(b, "dot", "tensor", 2)._array
    if x.dtype is not y.dtype and x.ndim == y.ndim == 1 and a.dtype is not b.dtype:
        raise DtypeError(
            f"dot : expected both vectors to have same dtype, but found {a.dtype.scalar_type_name} and {b.dtype.scalar_type_name}"
        )
    dot_shape(x.shape, y.shape)


@public(methods="=", out="result dtype {given} does not match input dtype {wanted}")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Dot product of two vectors.

    Args:
        input, tensor: vectors of the same length and dtype.

    >>> import pellucid as torch
    >>> torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    _check_dot(input, tensor)
    return _of_vectors(input, tensor)


@public(methods="=", out="result dtype {given} does not match input dtype {wanted}")
@one_node("Vdot", "input other", "other_for_input input_for_other")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """As `dot`, with the first vector conjugated.

    >>> import pellucid as torch
    >>> torch.vdot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    _check_dot(input, other)
    return titled(_of_vectors(F.conj(input), other), "Vdot", of=(input, other))


@public(out="linalg.vecdot: Expected out of dtype{wanted} but found {given}", namespace="linalg")
@low_precision
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Dot product of vectors along a dimension, `sum(conj(x) * y)`.

    Args:
        x, y: shapes that broadcast.
        dim: the dimension of the vectors. Default: -1.

    >>> import pellucid as torch
    >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([11.])
    """
    require_tensor(y, "linalg_vecdot", "y", 2)
    kind = require_tensor(x, "linalg_vecdot", "x").dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise DtypeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {kind.scalar_type_name}"
        )
    if kind is not y.dtype:
        raise DtypeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.scalar_type_name} and y of type {y.dtype.scalar_type_name} instead"
        )
    if x._array.ndim == 1 == y._array.ndim:
        return vdot(x, y)
    return (F.conj(x) * y).sum(dim)


@public(
    methods="=",
    out="tensordot: Expected the output tensor to have dtype {wanted}, but got an output tensor with dtype {given}",
)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Inner products over the last dimension: `out[i, j] = sum_k input[i, k] * other[j, k]`.

    Args:
        input, other: the same last size.

    >>> import pellucid as torch
    >>> torch.inner(torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0], [5.0, 6.0]]))
    tensor([11., 17.])
    """
    a = require_tensor(input, "inner")._array.shape
    b = require_tensor(other, "inner", "other", 2)._array.shape
    if not a or not b:
        return input * other
    if a[-1] != b[-1]:
        raise ShapeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(a)} and {list(b)}"
        )
    if input.dtype is not other.dtype:
        raise DtypeError("both inputs should have same dtype")
    if len(a) == len(b) == 1:
        return dot_of_permuted(_dot(input, other), input, other)
    x, y = input.permute(tuple(range(len(a)))), other.permute((len(b) - 1, *range(len(b) - 1)))
    x, y = x.reshape((prod(a[:-1]), a[-1])), y.reshape((a[-1], prod(b[:-1])))
    return matmul_op.call(x, y).view((*a[:-1], *b[:-1]))


@public(methods="=", out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Outer product of two vectors: all products of an element of one with an element of the other.

    Args:
        input: `(n,)`.
        vec2: `(m,)`. The result is a matrix `(n, m)`.

    >>> import pellucid as torch
    >>> torch.outer(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    a = require_tensor(input, "outer")._array
    b = require_tensor(vec2, "outer", "vec2", 2)._array
    for name, v in (("self", a), ("vec2", b)):
        if v.ndim != 1:
            raise ShapeError(f"outer: Expected 1-D argument {name}, but got {v.ndim}-D")
    if a.dtype is b.dtype and a.dtype.kind in "fViu" and is_direct(input) and is_direct(vec2):
        if a.size * b.size >= numpy_cpu.LEAST_ROWS:  # elements of the result
            return wrap(numpy_cpu.by_rows(ufuncs.multiply)(a[:, None], b, 0))
        return wrap(ufuncs.multiply(a[:, None], b))
    return F.reshape(input, shape=(a.size, 1)) * vec2


# ---- beta * input + alpha * product -----------------------------------------------------------
def _check_added(input: Tensor, target: tuple[int, ...]) -> None:
    """Refuse an input that cannot be expanded to the shape of the product, before the product is
    computed.
    """
    shape = input._array.shape
    if shape != target:
        expand(shape, (0,) * len(shape), target)


def _batches(name: str, batch1: Any, batch2: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of both arguments."""
    first, second = (
        require_tensor(batch1, name, "batch1", 2),
        require_tensor(batch2, name, "batch2", 3),
    )
    return first._array.shape, second._array.shape


def _size_of(shape: tuple[int, ...], dim: int) -> int:
    """Return the size of a dimension; IndexError if there is none."""
    return shape[normalize_dim(dim, len(shape), scalar_is_vector=False)]


def _combined(name: str, input: Any, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """Return `beta * input + alpha * product`. With beta 0 the input is not read, so that its NaN
    does not matter.
    """
    kind = require_tensor(input, name).dtype
    if thread.stack.autocast is not None and Batched in (type(input), type(product)):
        product = F.cast(product, dtype=kind.numpy)  # autocast lowers only the product
    if kind is not product.dtype:
        raise DtypeError(
            f"self and mat2 must have the same dtype, but got {kind.scalar_type_name} and {product.dtype.scalar_type_name}"
        )
    if kind.is_integral:
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = F.mul(product, alpha)
    if beta == 0:
        # Even though the input is not read, it gets a gradient of zeros.
        wanted = input._rg and local.grad
        return (
            F.where(make_tensor(constant(np.ones((), bool))), product, input) if wanted else product
        )
    # Do not use operators: a program that patches Tensor's methods would take them for its own
    # calls.
    return F.add(input if beta == 1 else F.mul(input, beta), product)


def _is_half(kind: Any) -> bool:
    return bool(kind.itemsize == 2 and kind.is_floating_point)


def _added_forward(xp: Any, c: Any, a: Any, b: Any) -> Any:
    if xp is numpy_cpu and c.dtype in HALVES:
        made = kernels.matmul.pairs.added(c, a, b) if config.kernels else None
        return in_float32(_added_forward, xp, c, a, b) if made is None else made
    return xp.matmul(a, b) + c


# A matrix plus a product of two-byte floats, rounded once.
_added_once = defop(
    "addmm",
    "input mat1 mat2",
    forward=_added_forward,
    vjp={
        "input": lambda F, g, input_shape: F.sum_to(g, shape=input_shape),
        "mat1": lambda F, g, mat2: F.matmul(g, F.transpose(mat2, dim0=0, dim1=1)),
        "mat2": lambda F, g, mat1: F.matmul(F.transpose(mat1, dim0=0, dim1=1), g),
    },
    work=lambda size, added, a, b: size * int(a[-1]),
    samples=lambda rng: [
        Sample((rng.random(shape), rng.random((2, 3)), rng.random((3, 4))))
        for shape in ((2, 4), (4,), (2, 1))
    ],
)


def _added(
    name: str, product: Any, input: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any
) -> Tensor:
    """Return `beta * input + alpha * product(a, b)`, rounded once for floats of one and two bytes."""
    kind = input.dtype
    once = _is_half(kind) or kind.is_float8 and product is _mm
    if not a._array.shape[-1]:
        alpha = 1  # an empty sum is 0, even times infinity
    if not once or beta == 0 and alpha == 1 or not kind is a.dtype is b.dtype:
        return _combined(name, input, product(a, b), beta, alpha)
    plain = all(type(t) in FAST_TYPES and type(t._array) is np.ndarray for t in (input, a, b))
    plain = plain and not kind.is_float8
    if beta == alpha == 1 and product is _mm and plain and (not state.slow or only_saves()):
        mm_shape(a._array.shape, b._array.shape)
        return _added_once.call(input, a, b)
    with playing("autocast", None):
        x, y, z = (F.cast(t, dtype=np.dtype(np.float32)) for t in (a, b, input))
        return F.cast(_combined(name, z, product(x, y), beta, alpha), dtype=kind.numpy)


def _check_one_dtype(input: Tensor, mat1: Tensor, mat2: Tensor) -> None:
    for name, kind in (("self", input.dtype), ("mat1", mat1.dtype)):
        if kind is not mat2.dtype:
            raise DtypeError(
                f"{name} and mat2 must have the same dtype, but got {kind.scalar_type_name} and "
                f"{mat2.dtype.scalar_type_name}"
            )


@public(methods="=", inplace="=", out="same")
@low_precision
@one_node("Addmm", "input mat1 mat2", "mat1_for_mat2 mat2_for_mat1")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *rest: Any, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` with `input` broadcast to the product's shape.

    >>> import pellucid as torch
    >>> torch.addmm(torch.ones(2, 1), torch.eye(2), torch.ones(2, 1))
    tensor([[2.],
            [2.]])
    """
    if rest:
        return former(
            addmm, input, mat1, mat2, *rest, numbers=("beta", "alpha"), beta=beta, alpha=alpha
        )
    a, b = (
        require_tensor(mat1, "addmm", "mat1", 2)._array.shape,
        require_tensor(mat2, "addmm", "mat2", 3)._array.shape,
    )
    _check_one_dtype(require_tensor(input, "addmm"), mat1, mat2)
    for name, shape in (("mat1", a), ("mat2", b)):
        if len(shape) != 2:
            raise ShapeError(f"{name} must be a matrix, got {len(shape)}-D tensor")
    _check_added(input, mm_shape(a, b))
    if (
        input._array.shape == b[1:]
        and beta == alpha == 1
        and _is_half(input.dtype)
        and input.dtype is mat1.dtype is mat2.dtype
    ):
        made = F.linear(mat1, F.transpose(mat2, dim0=0, dim1=1), input)  # it rounds once, too
    else:
        made = _added("addmm", _mm, input, mat1, mat2, beta, alpha)
    return titled(made, "Addmm", of=(input, mat1, mat2), alpha=alpha, beta=beta)


@public(methods="=", inplace="=", out="same")
@one_node("Addmv", "input mat vec", "mat_for_vec vec_for_mat")
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *rest: Any, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`.

    >>> import pellucid as torch
    >>> torch.addmv(torch.ones(2), torch.eye(2), torch.tensor([3.0, 4.0]))
    tensor([4., 5.])
    """
    if rest:
        return former(
            addmv, input, mat, vec, *rest, numbers=("beta", "alpha"), beta=beta, alpha=alpha
        )
    a, b = (
        require_tensor(mat, "addmv", "mat", 2)._array.shape,
        require_tensor(vec, "addmv", "vec", 3)._array.shape,
    )
    own = require_tensor(input, "addmv")._array.shape
    _check_added(input, mv_shape(a, b, own))
    kinds = [t.dtype for t in (input, mat, vec)]
    if len(set(kinds)) > 1:
        first, second, third = (kind.scalar_type_name for kind in kinds)
        raise DtypeError(
            f"addmv input tensors must have the same dtype, but got {first}, {second}, and {third}"
        )
    made = _added("addmv", _mv, input, mat, vec, beta, alpha)
    return titled(made, "Addmv", of=(input, mat, vec), alpha=alpha, beta=beta)


@public(methods="=", inplace="=", out=True)
@one_node("Addr", "input vec1 vec2", "vec1_for_vec2 vec2_for_vec1")
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *rest: Any, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`.

    >>> import pellucid as torch
    >>> torch.addr(torch.ones(2, 1), torch.tensor([1.0, 2.0]), torch.tensor([3.0]))
    tensor([[4.],
            [7.]])
    """
    if rest:
        return former(
            addr, input, vec1, vec2, *rest, numbers=("beta", "alpha"), beta=beta, alpha=alpha
        )
    require_tensor(input, "addr")
    for place, v in enumerate((vec1, vec2), 1):
        dims = require_tensor(v, "addr", f"vec{place}", place + 1)._array.ndim
        if dims != 1:
            raise ShapeError(f"addr: Expected 1-D argument vec{place}, but got {dims}-D")
    product = outer(vec1, vec2)
    own, wanted = tuple(input._array.shape), tuple(product._array.shape)
    if own != wanted:
        expand(own, (1,) * len(own), wanted)
    kind = promote_types(input.dtype, product.dtype)
    if kind.category == 0:
        return _bool_addr(input, product, beta, alpha)
    if kind.is_integral and (isinstance(beta, float) or isinstance(alpha, float)):
        which = "beta" if isinstance(beta, float) else "alpha"
        raise OperationError(
            f"For integral input tensors, argument {which} must not be a floating point number."
        )
    casts = [t if t.dtype is kind else F.cast(t, dtype=kind.numpy) for t in (input, product)]
    made = _combined("addr", casts[0], casts[1], beta, alpha)
    return titled(made, "Addr", of=(input, vec1, vec2), alpha=alpha, beta=beta)


def _bool_addr(input: Any, product: Any, beta: Any, alpha: Any) -> Tensor:
    product = product if alpha else product & False
    return input | product if beta else product


@public(
    methods="=",
    inplace="=",
    out="silent: self and mat2 must have the same dtype, but got {given} and {wanted}",
)
@low_precision
@one_node("Addbmm", "input batch1 batch2", "batch1_for_batch2 batch2_for_batch1")
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *rest: Any, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * sum_i (batch1[i] @ batch2[i])`.

    >>> import pellucid as torch
    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    if rest:
        return former(
            addbmm, input, batch1, batch2, *rest, numbers=("beta", "alpha"), beta=beta, alpha=alpha
        )
    a, b = _batches("addbmm", batch1, batch2)
    _check_added(require_tensor(input, "addbmm"), (_size_of(a, 1), _size_of(b, 2)))
    for name, shape in (("batch1", a), ("batch2", b)):
        if len(shape) != 3:
            raise ShapeError(f"{name} must be a 3D tensor")
    if a[0] != b[0]:
        raise ShapeError(
            f"batch1 and batch2 must have same number of batches, got {a[0]} and {b[0]}"
        )
    if a[2] != b[1]:
        raise ShapeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    if a[0]:
        _check_one_dtype(input, batch1, batch2)
    if a[0] and (_is_half(input.dtype) or input.dtype.is_float8):  # rounded after each matrix
        for k in range(a[0]):
            input = _added("addbmm", _mm, input, batch1[k], batch2[k], 1 if k else beta, alpha)
        return titled(input, "Addbmm", of=(input, batch1, batch2), alpha=alpha, beta=beta)
    product = _bmm(batch1, batch2)
    summed = F.sum(product, dim=(0,), keepdim=False)
    summed = F.cast(summed, dtype=product._array.dtype)
    made = _combined("addbmm", input, summed, beta, alpha)
    return titled(made, "Addbmm", of=(input, batch1, batch2), alpha=alpha, beta=beta)


@public(methods="=", inplace="=", out="same")
@low_precision
@one_node("Baddbmm", "input batch1 batch2", "batch1_for_batch2 batch2_for_batch1")
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *rest: Any, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)` for stacks of matrices.

    >>> import pellucid as torch
    >>> torch.baddbmm(torch.ones(1, 1, 1), torch.ones(1, 1, 3), torch.ones(1, 3, 1))
    tensor([[[4.]]])
    """
    if rest:
        return former(
            baddbmm, input, batch1, batch2, *rest, numbers=("beta", "alpha"), beta=beta, alpha=alpha
        )
    a, b = _batches("baddbmm", batch1, batch2)
    _check_added(require_tensor(input, "baddbmm"), (_size_of(a, 0), _size_of(a, 1), _size_of(b, 2)))
    if input.dtype is not batch1.dtype:
        one, two, three = (t.dtype.c_name for t in (input, batch1, batch2))
        raise DtypeError(
            f"Input dtypes must be the same, got: input {one}, batch1: {two}, batch2: {three}"
        )
    made = _added("baddbmm", _bmm, input, batch1, batch2, beta, alpha)
    return titled(made, "Baddbmm", of=(input, batch1, batch2), alpha=alpha, beta=beta)


def _kept_dtype(self: Tensor, batch1: Any = None, batch2: Any = None, *rest: Any, **_: Any) -> None:
    if isinstance(batch1, Tensor) and isinstance(batch2, Tensor) and not rest:
        if self.dtype is batch1.dtype is not batch2.dtype:
            raise DtypeError(
                f"Bad in-place call: input tensor dtype {self.dtype.c_name} and output tensor dtype {batch2.dtype.c_name} should match"
            )


def _kept_size(self: Tensor, *factors: Any, **_: Any) -> None:
    """Refuse an in-place product into a tensor that would be broadcast with it."""
    if len(factors) == 2 and all(isinstance(x, Tensor) and x.dtype is self.dtype for x in factors):
        (a, b), own = (x._array.shape for x in factors), self._array.shape
        made = a[:-1] if len(b) == 1 else (*a[:-1], b[-1])
        matrices = len(a) == len(b) == 2 <= len(own) and a[1] == b[0]
        if len(a) == max(len(b), 2) and own != made and (matrices or len(own) <= len(made)):
            if matrices or all(n in (1, m) for n, m in zip(own[::-1], made[::-1], strict=False)):
                raise ShapeError(
                    f"Bad in-place call: input tensor size {list(own)} and output tensor size {list(made)} should match"
                )
            if len(own) == len(b) == 1 and a[1:] == b:
                sizes = f"input ({own[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})"
                raise ShapeError(f"size mismatch, got {sizes}")


def _of_outer(self: Tensor, vec1: Any = None, vec2: Any = None, *rest: Any, **_: Any) -> None:
    if isinstance(vec1, Tensor) and isinstance(vec2, Tensor) and not rest:
        own, one, two = self._array.shape, vec1._array.shape, vec2._array.shape
        if len(one) == len(two) == 1:
            if len(own) != 2:
                raise ShapeError(f"2D tensor expected, got {len(own)}D tensor for input")
            if own != (*one, *two):
                sizes = f"input: {list(own)}, v1: {list(one)}, v2: {list(two)}"
                raise ShapeError(f"size mismatch, {sizes}")


before_writing("addr_", _of_outer)
before_writing("baddbmm_", _kept_dtype)
for _name in ("addmv_", "addmm_", "baddbmm_"):
    before_writing(_name, _kept_size)
