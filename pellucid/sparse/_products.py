"""Products with sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.sparse import products as kernels
from ..arrays.sparse.array import BLOCKED, SparseArray
from ..core.interpret import thread
from ..core.modes import no_grad
from ..core.primitive import TENSORS as F
from ..core.tape import titled
from ..core.tensor import make_tensor
from ..dtypes import BY_NUMPY
from ..errors import DtypeError, OperationError, ShapeError, UnsupportedError
from ..ops.linalg.matmul import addmm as dense_addmm
from ..shapes import normalize_dim
from ._convert import NAMES, as_layout, build, dense, masked, values_of
from ._tensor import is_sparse, method, operation, recorded, refuse, wrapped


def _name(x: Any) -> str:
    return BY_NUMPY[x._array.dtype].scalar_type_name


def _layout(x: Any) -> str:
    return str(x._array.layout) if is_sparse(x) else "strided"


def _conj(x: Any) -> Any:
    return F.conj(x) if x._array.dtype.kind == "c" else x


def _adjoint(x: Any) -> Any:
    return _conj(x).transpose(0, 1)


def _lowered(*operands: Any) -> tuple[Any, ...]:
    """The operands of a product with a COO tensor in the precision of autocast around it."""
    policy = thread.stack.autocast
    if policy is None or not {*map(_layout, operands)} == {"coo", "strided"}:
        return operands
    return tuple(map(policy.narrow, operands))


def _check_matrices(a: Any, b: Any) -> None:
    for x in (a, b):
        if is_sparse(x) and x._array.layout == "coo" and x._array.dense_dim:
            raise OperationError(f"addmm: matrices expected, got {x._array.sparse_dim}D tensor")
    (n, k), (l, m) = a._array.shape, b._array.shape
    if k != l:
        if _layout(a) == "coo" and not is_sparse(b):
            raise ShapeError(f"addmm: Argument #3 (dense): Expected dim 0 size {k}, got {l}")
        raise ShapeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {l}x{m})")
    if a._array.dtype != b._array.dtype:
        first, second = (b, a) if _layout(a) != "coo" else (a, b)
        raise DtypeError(f"expected scalar type {_name(first)} but found {_name(second)}")
    kind = a._array.dtype
    compressed = next((x for x in (a, b) if is_sparse(x) and x._array.layout != "coo"), None)
    if kind.kind == "b":
        raise UnsupportedError("\"addmm_sparse_dense\" not implemented for 'Bool'")
    if compressed is not None and kind.char not in "fdFD":
        raise UnsupportedError(
            f"\"addmm_out_sparse_csr_impl_mkl\" not implemented for '{_name(a)}'"
        )


def _values_rule(a: Any, like: bool) -> Any:
    """The gradient of a sparse left operand: at its places alone (`like`), or dense."""
    pattern = a._array.coalesce() if _layout(a) == "coo" else a._array

    def rule(g: Any, b: Any) -> Any:
        if not like:
            return _dense_mm(g, _adjoint(dense(b)))
        if is_sparse(g) or is_sparse(b):
            return masked(to_dense_mm(g, b), pattern)
        return build(pattern, sampled(pattern, g, _conj(b)))

    return rule


def to_dense_mm(g: Any, b: Any) -> Any:
    """`g @ b^H`, of dense or sparse matrices, as a dense one."""
    return dense(mm(g, _adjoint(b)))


def _dense_mm(a: Any, b: Any) -> Any:
    return F.matmul(a, b)


def sampled(pattern: Any, left: Any, right: Any) -> Any:
    """The values of `left @ right.T` at the places of a sparse matrix."""

    def rule(g: Any, left: Any, right: Any) -> Any:
        s = build(pattern, g)
        return mm(s, _conj(right)), adjoint_mm(_conj(s), _conj(left))

    return recorded(
        "SparseSampled",
        kernels.at_places(pattern, left._array, right._array),
        (left, right),
        rule,
        (left, right),
    )


def mm(a: Any, b: Any, name: str = "Mm", like: bool = False) -> Any:
    """The product of two matrices, of which at least one is sparse."""
    la, lb = _layout(a), _layout(b)
    if la == lb == "strided":
        return F.matmul(a, b)
    a, b = _lowered(a, b)
    for x in (a, b):
        if x._array.ndim != 2:
            if x._array.ndim == 1:
                raise IndexError(
                    "Dimension out of range (expected to be in range of [-1, 0], but got 1)"
                )
            raise ShapeError(f"addmm: matrices expected, got {x._array.ndim}D tensor")
    if lb == "strided":
        _check_matrices(a, b)
        rule = _values_rule(a, like)

        def both(g: Any, a: Any, b: Any) -> Any:
            return (rule(g, b) if a._rg else None), (adjoint_mm(a, g) if b._rg else None)

        return recorded(name, kernels.times_dense(a._array, b._array), (a, b), both, (a, b))
    if la == "strided":
        if a._array.shape[1] != b._array.shape[0]:
            raise ShapeError(
                "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})".format(
                    *a._array.shape, *b._array.shape
                )
            )
        _check_matrices(a, b)
        made = np.ascontiguousarray(kernels.times_dense(b._array, a._array.T, True).T)
        pattern = b._array.coalesce() if lb == "coo" else b._array

        def rules(g: Any, a: Any, b: Any) -> Any:
            ga = mm(g, _adjoint(b)) if a._rg else None
            gb = (
                None
                if not b._rg
                else build(pattern, sampled(pattern, _adjoint(a), g.transpose(0, 1)))
                if like
                else F.matmul(_adjoint(a), g)
            )
            return ga, gb

        return recorded(name, made, (a, b), rules, (a, b))
    if la != lb and {la, lb} != {"csc", "csr"} or la in BLOCKED:
        raise OperationError(
            f"addmm: computation on CPU is not implemented for {NAMES[lb]} + {NAMES[la]} @ {NAMES[lb]}"
        )
    if la == "coo":
        if a._array.shape[1] != b._array.shape[0]:
            raise ShapeError(
                "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})".format(
                    *a._array.shape, *b._array.shape
                )
            )
        if a._array.dtype != b._array.dtype:
            raise DtypeError(f"mat1 dtype {_name(a)} does not match mat2 dtype {_name(b)}")
    else:
        _check_matrices(a, b)
    made = kernels.times_sparse(a._array, b._array).to(lb if la == lb else "csr")
    ca, cb = (x._array.coalesce() if la == "coo" else x._array for x in (a, b))

    def sparse_rules(g: Any, a: Any, b: Any) -> Any:
        ga = (
            masked(mm(g, _adjoint(b).coalesce() if la == "coo" else as_layout(_adjoint(b), lb)), ca)
            if a._rg
            else None
        )
        gb = (
            masked(mm(_adjoint(a).coalesce() if la == "coo" else as_layout(_adjoint(a), lb), g), cb)
            if b._rg
            else None
        )
        return ga, gb

    return recorded(
        "SparseSparseMatmul" if la == "coo" else name, made, (a, b), sparse_rules, (a, b)
    )


def adjoint_mm(a: Any, b: Any) -> Any:
    """`a^H @ b` of a sparse and a dense matrix or vector, without `a^H` being made."""
    if is_sparse(b):
        return mm(_adjoint(a), b)
    pattern = a._array.coalesce() if _layout(a) == "coo" else a._array

    def rule(g: Any, a: Any, b: Any) -> Any:
        columns = (b, g) if b._array.ndim == 2 else (b.reshape((-1, 1)), g.reshape((-1, 1)))
        ga = build(pattern, sampled(pattern, columns[0], _conj(columns[1]))) if a._rg else None
        return ga, ((mm(a, g) if g._array.ndim == 2 else mv(a, g)) if b._rg else None)

    return recorded("Mm", kernels.times_dense(a._array, b._array, True, True), (a, b), rule, (a, b))


def mv(a: Any, v: Any) -> Any:
    """A sparse matrix times a dense vector."""
    if is_sparse(v):
        raise refuse("as_strided", v)
    if a._array.ndim != 2:
        raise ShapeError("mv: two dim tensor 'self' expected")
    n, m = a._array.shape
    if m != v._array.shape[0]:
        if a._array.layout == "coo":
            raise ShapeError("mv: expected self.size(-1) == vec.size(-1)")
        raise ShapeError(
            f"size mismatch, got input ({n}), mat ({n}x{m}), vec ({v._array.shape[0]})"
        )
    a, v = _lowered(a, v)
    _check_matrices(a, v.reshape((-1, 1)))

    def rule(g: Any, a: Any, v: Any) -> Any:
        ga = g.reshape((-1, 1)) * _conj(v) if a._rg else None
        return ga, (adjoint_mm(a, g) if v._rg else None)

    return recorded("Mv", kernels.times_dense(a._array, v._array), (a, v), rule, (a, v))


@operation("matmul")
def matmul(a: Any, b: Any) -> Any:
    na, nb = a._array.ndim, b._array.ndim
    if na == nb == 1:
        raise refuse("dot", a, b)
    if na == 2 and nb == 1 and is_sparse(a):
        return mv(a, b)
    if na == 1 and nb == 2 and is_sparse(b) and not is_sparse(a):
        return mm(a.reshape((1, -1)), b).reshape((-1,))
    if na == nb == 2:
        return mm(a, b)
    if na == nb == 3:
        return bmm(a, b)
    sparse = a if is_sparse(a) else b
    if na == 1 or nb == 1:
        raise refuse("as_strided", sparse)
    if sparse._array.layout == "coo":
        raise OperationError("expand is unsupported for Sparse tensors")
    raise refuse("expand", sparse)


@operation("linear")
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    if x._array.ndim != 2 or weight._array.ndim != 2:
        raise OperationError("reshape is not implemented for sparse tensors")
    made = matmul(x, weight.t())
    return made if bias is None else dense(made) + bias


def bmm(a: Any, b: Any) -> Any:
    """A batch of sparse matrices in coordinates times a batch of dense ones."""
    if _layout(a) not in ("coo", "strided") or _layout(b) not in ("coo", "strided"):
        raise refuse("bmm.out", a if _layout(a) != "strided" else b)
    if is_sparse(b):
        raise OperationError("bmm_sparse: Tensor 'mat2' must be dense")
    s, d = a._array, b._array
    if s.dense_dim:
        raise OperationError(
            f"bmm_sparse: Tensor 'self' must have no dense dims, but has {s.dense_dim}"
        )
    if s.shape[0] != d.shape[0] or s.shape[2] != d.shape[1]:
        raise ShapeError(
            "bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match"
            if s.shape[0] != d.shape[0]
            else "bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match"
        )
    if s.dtype != d.dtype:
        raise DtypeError(f"expected scalar type {_name(a)} but found {_name(b)}")
    made = np.zeros((s.shape[0], s.shape[1], d.shape[2]), d.dtype)
    k, row, column = s.index()
    # One matrix of all of them on a diagonal.
    whole = SparseArray(
        "coo",
        (s.shape[0] * s.shape[1], s.shape[0] * s.shape[2]),
        s.values,
        np.stack([k * s.shape[1] + row, k * s.shape[2] + column]),
    )
    if made.size:
        made = kernels.times_dense(whole, d.reshape(-1, d.shape[2])).reshape(made.shape)

    def rule(g: Any, a: Any, b: Any) -> Any:
        ga = F.matmul(g, _conj(b).transpose(1, 2)) if a._rg else None
        return ga, (bmm(_conj(a).transpose(1, 2), g) if b._rg else None)

    return recorded("Bmm", made, (a, b), rule, (a, b))


def _scaled(x: Any, number: Any) -> Any:
    return x if number == 1 else x * number


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * mat1 @ mat2`, where one of the matrices is sparse."""
    return _addmm(input, mat1, mat2, beta, alpha, False)


def _addmm(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, like: bool) -> Any:
    layouts = [_layout(x) for x in (input, mat1, mat2)]
    if "coo" in layouts:
        if layouts[0] != "strided":
            raise OperationError(
                f"addmm_sparse_dense: expected strided result tensor, got tensor with layout {NAMES[layouts[0]]}"
            )
        if layouts[1] != "coo" or layouts[2] != "strided":
            raise OperationError(
                "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, got 'mat1' with "
                f"layout {NAMES[layouts[1]]} and 'mat2' with layout {NAMES[layouts[2]]}"
            )
    input, mat1, mat2 = _lowered(input, mat1, mat2)
    product = mm(mat1, mat2, "SparseAddmm" if like else "Addmm", like)
    name = "SparseAddmm" if like else "Addmm"
    if is_sparse(product):
        return _scaled(input, beta) + _scaled(product, alpha)
    shape = product._array.shape
    if beta == 0:
        made = _scaled(product, alpha)
    else:
        made = _scaled(input, beta).expand(shape) + _scaled(product, alpha)
    return titled(made, name)


method()(addmm)


def sparse_addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """`beta * mat + alpha * mat1 @ mat2`; the gradient of a sparse `mat1` has its places."""
    if not is_sparse(mat1) and not is_sparse(mat2) and not is_sparse(mat):
        return dense_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return _addmm(mat, mat1, mat2, beta, alpha, True)


# ---- other products --------------------------------------------------------------------------
def sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)` at the places of a sparse matrix in compressed rows."""
    if not is_sparse(input) or input._array.layout != "csr":
        raise refuse("sparse_sampled_addmm", input)
    for x in (mat1, mat2):
        if is_sparse(x):
            raise OperationError(
                f"Expected mat1 to have strided layout, but got {NAMES[_layout(x)]}"
            )
    a, b, c = input._array, mat1._array, mat2._array
    if b.shape[-1] != c.shape[-2]:
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({b.shape[-2]}x{b.shape[-1]} and {c.shape[-2]}x{c.shape[-1]})"
        )
    for what, mine, theirs in (("-2", a.shape[-2], b.shape[-2]), ("-1", a.shape[-1], c.shape[-1])):
        if mine != theirs:
            raise ShapeError(
                f"self.shape[{what}] must match {'mat1' if what == '-2' else 'mat2'}.shape[{what}]"
            )
    if not a.dtype == b.dtype == c.dtype:
        raise DtypeError(
            f"Expected mat1 and mat2 to have the same dtype, but got {mat1.dtype.c_name} and {mat2.dtype.c_name}"
        )
    v = _scaled(values_of(input), beta) + _scaled(sampled(a, mat1, mat2.transpose(0, 1)), alpha)
    return titled(build(a, v), "SparseSampledAddmm", of=(input, mat1, mat2))


def reduced_mm(a: Any, b: Any, how: str) -> Any:
    """The product of a matrix in compressed rows and a dense one, with another reduction than the
    sum of products.
    """
    if not is_sparse(a) or a._array.layout != "csr" or is_sparse(b):
        raise refuse("_sparse_mm_reduce_impl", a if is_sparse(a) else b)
    how = {"max": "amax", "min": "amin"}.get(how, how)
    if how not in ("sum", "prod", "mean", "amax", "amin"):
        raise OperationError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {how}"
        )
    if how == "prod":
        raise OperationError(f"sparse_mm_reduce: reduce type of {how} has not been enabled.")
    _check_matrices(a, b)
    if how == "sum":
        return titled(mm(a, b, "SparseMmReduceImpl", True), "SparseMmReduceImpl", of=(a, b))
    array, n = a._array, a._array.shape[0]
    count = np.diff(array.indices)
    if how == "mean":
        weight = make_tensor((1 / np.maximum(count, 1)).astype(array.dtype)[:, None])
        return titled(
            mm(a, b, "SparseMmReduceImpl", True) * weight, "SparseMmReduceImpl", of=(a, b)
        )
    row, column = array.index()
    terms = values_of(a).unsqueeze(1) * F.index_select(b, make_tensor(column), dim=0)
    t = terms._array
    place = np.zeros((n, b._array.shape[1]), np.int64)
    filled = np.flatnonzero(count)
    if len(filled) and t.shape[1]:
        starts = array.indices[:-1][filled].astype(np.int64)
        best = (np.maximum if how == "amax" else np.minimum).reduceat(t, starts, 0)
        # The first of equal ones has the gradient.
        hit = np.where(t == np.repeat(best, count[filled], 0), np.arange(len(t))[:, None], len(t))
        place[filled] = np.minimum(np.minimum.reduceat(hit, starts, 0), len(t) - 1)
    if not len(t):
        return titled(mm(a, b, "SparseMmReduceImpl", True), "SparseMmReduceImpl", of=(a, b))
    made = F.gather(terms, make_tensor(place), dim=0) * make_tensor(
        (count > 0).astype(t.dtype)[:, None]
    )
    return titled(made, "SparseMmReduceImpl", of=(a, b))


def hspmm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse and a dense matrix. Only rows in which the sparse matrix stores
    elements are stored.

    Returns:
        `(n, m)` as a COO tensor with one sparse dimension.

    >>> import pellucid as torch
    >>> torch.hspmm(torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse(), torch.eye(2)).values()
    tensor([[0., 2.]])
    """
    if _layout(mat1) != "coo" or is_sparse(mat2):
        raise refuse("hspmm", mat1, mat2)
    a = mat1._array.coalesce()
    _check_matrices(mat1, mat2)
    line = np.unique(a.sound().indices[0])
    v = F.index_select(mm(mat1, mat2), make_tensor(line), dim=0)
    return build(
        SparseArray("coo", (a.shape[0], mat2._array.shape[1]), v._array, line[None], None, True), v
    ).detach()


def smm(input: Any, mat: Any) -> Any:
    """The product of a sparse and a dense matrix, as a COO tensor.

    >>> import pellucid as torch
    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    if not is_sparse(input) and not is_sparse(mat):
        raise OperationError("tensor.sspaddmm(...) can only be called on sparse tensors")
    for t in (input, mat):
        if _layout(t) not in ("coo", "strided"):
            raise refuse("sspaddmm", t)
    _check_factors(input, mat)
    return sspaddmm(wrapped(as_zeros(input._array, mat._array)), input, mat, beta=0)


def _check_factors(mat1: Any, mat2: Any) -> None:
    if not is_sparse(mat1):
        raise OperationError(
            "sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided"
        )
    if is_sparse(mat2):
        raise OperationError(
            "sspaddmm: expected 'mat2' to have strided layout, got 'mat2' with layout Sparse"
        )
    a, b = mat1._array, mat2._array
    if a.sparse_dim != 2:
        raise OperationError(
            f"sspaddmm: Argument #2: matrices expected, got {a.sparse_dim}D tensor"
        )
    if a.dense_dim:
        raise OperationError(
            f"sspaddmm: Argument #2: scalar values expected, got {a.dense_dim}D values"
        )
    if b.ndim != 2:
        raise OperationError(f"sspaddmm: Argument #3: matrices expected, got {b.ndim}D tensor")
    if b.shape[0] != a.shape[1]:
        raise ShapeError(
            f"sspaddmm: Argument #3: Expected dim 0 size {a.shape[1]}, got {b.shape[0]}"
        )


def as_zeros(a: Any, b: Any) -> SparseArray:
    """Zeros of the shape of a product."""
    return SparseArray(
        "coo",
        (a.shape[0], b.shape[1]),
        np.zeros(0, a.dtype),
        np.zeros((2, 0), np.int64),
        None,
        True,
    )


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * input + alpha * mat1 @ mat2` for sparse `input` and `mat1` and a dense `mat2`, as a
    COO tensor. Not differentiable.

    >>> import pellucid as torch
    >>> s = torch.eye(2).to_sparse()
    >>> torch.sspaddmm(s, s, torch.ones(2, 2), alpha=3).to_dense()
    tensor([[4., 3.],
            [3., 4.]])
    """
    layouts = {_layout(t) for t in (input, mat1, mat2)}
    if layouts - {"coo", "strided"}:
        raise refuse("sspaddmm.out", *[t for t in (input, mat1, mat2) if _layout(t) != "coo"])
    if layouts == {"strided"}:
        raise OperationError("tensor.sspaddmm(...) can only be called on sparse tensors")
    _check_factors(mat1, mat2)
    if not is_sparse(input):
        raise OperationError("tensor.sspaddmm(...) can only be called on sparse tensors")
    for dim, (own, wanted) in enumerate(
        zip(input._array.shape, (mat1._array.shape[0], mat2._array.shape[1]), strict=False)
    ):
        if own != wanted:
            raise ShapeError(f"sspaddmm: Argument #1: Expected dim {dim} size {wanted}, got {own}")
    if input._array.ndim < 2:
        normalize_dim(1, input._array.ndim)
    with no_grad():
        _check_matrices(mat1, mat2)
        if input.dtype is not mat1.dtype:
            raise DtypeError(
                f"dtype of values ({mat1.dtype.scalar_type_name}) must match dtype of sparse tensor ({input.dtype.scalar_type_name})"
            )
        product = mm(mat1, mat2)._array
        a = input._array.sound()
        lines = np.unique(mat1._array.sound().indices[0])
        m = product.shape[1]
        places = np.stack([np.repeat(lines, m), np.tile(np.arange(m), len(lines))])
        values = product[lines].reshape(-1) * np.asarray(alpha, product.dtype)
        kept = a.values[:0] if beta == 0 else a.values * np.asarray(beta, a.dtype)
        indices = np.concatenate([a.indices[:, : len(kept)], places], 1)
        return wrapped(SparseArray("coo", product.shape, np.concatenate([kept, values]), indices))


def hsmm(mat1: Any, mat2: Any) -> Any:
    """Not supported on the CPU, as in PyTorch.

    >>> import pellucid as torch
    >>> torch.hsmm(torch.eye(2).to_sparse(), torch.eye(2))
    Traceback (most recent call last):
        ...
    NotImplementedError: Could not run 'aten::hspmm'...
    """
    raise refuse("hspmm", mat1, mat2)


def saddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`sspaddmm` by another name.

    >>> import pellucid as torch
    >>> s = torch.eye(2).to_sparse()
    >>> torch.saddmm(s, s, torch.ones(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    return sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)


for _f in (smm, sspaddmm):
    method()(_f)
