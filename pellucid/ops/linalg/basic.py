"""Linear algebra made of products and factorizations: powers, exponentials, cross products,
Vandermonde matrices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays import numpy_cpu
from ...arrays.native import kernels
from ...core import tracing
from ...core.bind import wrap
from ...core.primitive import PRIMITIVES, defop
from ...core.primitive import TENSORS as F
from ...core.public import FUNCTIONS, METHODS, public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.whole import one_node
from ...errors import (
    ArgumentTypeError,
    DtypeError,
    OperationError,
    ShapeError,
    UnsupportedError,
    type_name,
    warn_once,
)
from ...shapes import broadcast_shapes, normalize_dim
from .. import return_types
from .._few import Few
from .._rules import (
    checked_tensors,
    constant,
    full_precision,
    is_direct,
    library,
    past_autocast,
    require_tensor,
    values,
)
from .._samples import cases
from ._linalg import linalg, mH, square
from .solve import det, inv, slogdet


# ---- powers and exponentials ------------------------------------------------------------------
@public(
    namespace="linalg torch",
    names="matrix_power",
    methods="=",
    out="matrix_power: Expected result to be safely castable from {wanted} dtype, but got result with dtype {given} // same",
)
def matrix_power(A: Tensor, n: int) -> Tensor:  # noqa: N803
    """Square matrices to an integer power; a negative one takes the power of the inverse.

    Args:
        A: `(..., n, n)`.
        n: the exponent.

    >>> import pellucid as torch
    >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    shape = require_tensor(A, "linalg_matrix_power", "A")._array.shape
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise ArgumentTypeError(
            f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type_name(n)}"
        )
    if len(shape) < 2:
        raise ShapeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if shape[-1] != shape[-2]:
        raise ShapeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    if n == 0:
        made = tracing.constant(np.zeros(shape, A._array.dtype))
        made[...] = np.eye(shape[-1], dtype=made.dtype)
        # The result is constant, but as in PyTorch it stays connected to A.
        return A.clone().copy_(make_tensor(made)) if A._rg else make_tensor(made)
    inverted = n < 0
    if inverted:
        A, n = inv(A), -n  # noqa: N806
    if n == 2:
        return F.matmul(A, A)
    if n == 3:
        return F.matmul(F.matmul(A, A), A)
    result: Any = None
    copied = n == 1 and not inverted
    while True:
        n, odd = divmod(n, 2)
        if odd:
            result = A if result is None else F.matmul(result, A)
        if not n:
            return result.clone() if copied else result
        A = F.matmul(A, A)  # noqa: N806


def _matrix_exp(xp: Any, x: Any) -> Any:
    if x.size == 0:
        return x.copy()
    from scipy.linalg import expm

    return np.asarray(kernels.matmul.blas.bounded(expm)(x), x.dtype)


def _ratio(xp: Any, of: Any, to: Any) -> Any:
    """Return `of / to`, and 1 where the ratio is not positive and finite."""
    scale = xp.where(of > 0, of / xp.where(to > 0, to, 1), 1)
    return xp.where(xp.isfinite(scale) & (scale > 0), scale, 1)


def _matrix_exp_grad(F: Any, g: Any, input: Any) -> Any:
    # exp of [[A^H, G], [0, A^H]] has the wanted derivative in its upper right block (Mathias 1996).
    # It is linear in G, which is scaled to the size of A first: a large G would make the blocks on
    # the diagonal inaccurate.
    ah = mH(F, input)
    n, last = input.shape[-1], input.ndim - 1
    if n == 0:
        return g
    size = [abs(values(F, x)).max((-2, -1), keepdims=True) for x in (g, input)]
    scale = _ratio(library(F), *size).astype(values(F, F.real(g)).dtype)
    scale = scale if F.raw else constant(F, scale)
    zero = ah * 0
    block = F.cat(F.cat(ah, g / scale, dim=last), F.cat(zero, ah, dim=last), dim=last - 1)
    return F.matrix_exp(block)[..., :n, n:] * scale


defop(
    "matrix_exp",
    "input",
    host=True,
    forward=_matrix_exp,
    aval=lambda x: x,
    vjp={"input": _matrix_exp_grad},
    grad_name="LinalgMatrixExp",
    batch="leading",
    samples=cases((((2, 3, 3),), {}), complex=True),
)


@public(namespace="linalg torch", names="matrix_exp", methods="=")
def matrix_exp(A: Tensor) -> Tensor:  # noqa: N803
    """The matrix exponential of square matrices.

    >>> import pellucid as torch
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    kind = require_tensor(A, "linalg_matrix_exp", "A").dtype
    shape = A._array.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        square(A, "linalg.matrix_exp")
    if not (kind.is_floating_point or kind.is_complex):
        raise DtypeError(
            f"linalg.matrix_exp: Expected a floating point or complex tensor as input. Got {kind.scalar_type_name}"
        )
    if kind.itemsize < 4:
        return F.cast(F.matrix_exp(F.cast(A, dtype=np.dtype(np.float32))), dtype=kind.numpy)
    return F.matrix_exp(A)


# ---- products of several ----------------------------------------------------------------------
@linalg(out="multi_dot(): expected out tensor to have dtype {wants} but got {got}")
def multi_dot(tensors: Any) -> Tensor:
    """The product of two or more matrices in the order that needs fewest multiplications; the ends
    may be vectors.

    >>> import pellucid as torch
    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4)])
    tensor([12., 12.])
    """
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise ArgumentTypeError(
            f"linalg_multi_dot(): argument 'tensors' (position 1) must be tuple of Tensors, not {type_name(tensors)}"
        )
    n = len(tensors)
    if n < 2:
        raise OperationError("multi_dot(): expected at least 2 tensors but got " + str(n))
    for t in tensors:
        require_tensor(t, "linalg_multi_dot", "tensors")
    chain = list(tensors)
    kind = chain[0].dtype
    for k, t in enumerate(chain):
        ends = k in (0, n - 1)
        if t._array.ndim != 2 and not (ends and t._array.ndim == 1):
            which = {
                0: "the first tensor must be 1D or 2D",
                n - 1: "the last tensor must be 1D or 2D",
            }.get(k, f"tensor {k} must be 2D")
            raise ShapeError(f"multi_dot(): {which} but got {t._array.ndim}D")
        if t.dtype is not kind:
            raise DtypeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {kind.c_name} and tensor {k} "
                f"{t.dtype.c_name}"
            )
    front, back = chain[0]._array.ndim == 1, chain[-1]._array.ndim == 1
    if front:
        chain[0] = chain[0].unsqueeze(0)
    shown = [list(t._array.shape) for t in chain]
    if back:
        chain[-1] = chain[-1].unsqueeze(-1)
    for k in range(n - 1):
        a, b = chain[k]._array.shape, chain[k + 1]._array.shape
        if a[1] != b[0]:
            raise ShapeError(
                f"multi_dot(): tensors {k} and {k + 1} with shapes {shown[k]} and {shown[k + 1]} cannot be multiplied"
            )
    made = _multiply(
        chain, *_best_order([*(t._array.shape[0] for t in chain), chain[-1]._array.shape[1]])
    )
    shape = made._array.shape
    return made.view(shape[int(front) : len(shape) - int(back)])


def _best_order(sizes: list[int]) -> tuple[Any, int, int]:
    """Find the cheapest order to multiply a chain of matrices, where matrix i is `sizes[i]` by
    `sizes[i+1]`, by dynamic programming. Returns where to cut each part.
    """
    n = len(sizes) - 1
    if n == 3:
        a, b, c, d = sizes
        return [[0, 0, int(a * c * (b + d) <= b * d * (a + c))], [0, 1, 1], [0, 0, 2]], 0, 2
    cost = [[0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            choices = [
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i][j], cut[i][j] = min(choices)
    return cut, 0, n - 1


def _multiply(chain: list[Any], cut: Any, i: int, j: int) -> Any:
    if i == j:
        return chain[i]
    k = cut[i][j]
    return F.matmul(_multiply(chain, cut, i, k), _multiply(chain, cut, k + 1, j))


@public()
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """As `linalg.multi_dot`, with the matrices as separate arguments.

    >>> import pellucid as torch
    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, which "
        "accepts a list of two or more tensors rather than multiple parameters.",
        kind=f"torch.chain_matmul{'' if out is None else ' with out='}",
    )
    checked_tensors(matrices)
    if not matrices:
        raise OperationError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        return matrices[0]
    return FUNCTIONS["linalg"]["multi_dot"](list(matrices), out=out)


# ---- cross products ---------------------------------------------------------------------------
@past_autocast
def _cross(a: Any, b: Any, dim: int) -> Any:
    x1, x2, x3 = (a.narrow(dim, k, 1) for k in range(3))
    y1, y2, y3 = (b.narrow(dim, k, 1) for k in range(3))
    return F.cat(x2 * y3 - x3 * y2, x3 * y1 - x1 * y3, x1 * y2 - x2 * y1, dim=dim)


@linalg(out="apart: same")
@one_node("LinalgCross", "input other", "other_for_input input_for_other")
def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross product of the 3-vectors along `dim`.

    Args:
        input, other: size 3 along `dim`; the other dimensions broadcast.
        dim: the dimension that holds the vectors. Default: -1.

    >>> import pellucid as torch
    >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    a, b = (
        require_tensor(input, "linalg_cross")._array.shape,
        require_tensor(other, "linalg_cross", "other", 2)._array.shape,
    )
    if len(a) != len(b):
        raise ShapeError("linalg.cross: inputs must have the same number of dimensions.")
    number = normalize_dim(dim, len(a))
    if not a or a[number] != 3 or b[number] != 3:
        got = f"{a[number]} and {b[number]}" if a else "1 and 1"
        raise ShapeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {got}")
    if input.dtype is dtypes.bool_:
        raise UnsupportedError(
            "\"cross\" not implemented for 'Bool'", hint="convert first: x.int()"
        )
    if input.dtype is not other.dtype:
        raise DtypeError(
            f"expected scalar type {input.dtype.scalar_type_name} but found "
            f"{other.dtype.scalar_type_name}"
        )
    shape = broadcast_shapes(a, b)
    return titled(
        _cross(F.expand(input, shape=shape), F.expand(other, shape=shape), number),
        "LinalgCross",
        of=(input, other),
        dim=dim,
    )


@public(names="cross", methods="=", out="same")
def torch_cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross product of the 3-vectors along `dim`; see `linalg.cross`.

    Args:
        input, other: the same shape.
        dim: a dimension of size 3. Default: the first one of size 3.

    >>> import pellucid as torch
    >>> torch.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    a = require_tensor(input, "cross")._array.shape
    require_tensor(other, "cross", "other", 2)
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\n"
            "Please either pass the dim explicitly or simply use torch.linalg.cross.\n"
            "The default value of dim will change to agree with that of linalg.cross in a future release."
        )
        found = [d for d, n in enumerate(a) if n == 3]
        if not found:
            raise ShapeError("no dimension of size 3 in input")
        dim = found[0]
    return cross(input, other, dim=dim)


torch_cross.__name__ = "cross"


@linalg()
def vander(x: Tensor, *, N: int | None = None) -> Tensor:  # noqa: N803
    """Vandermonde matrix: the powers 0, 1, ..., N-1 of each element, in a new last dimension.

    Args:
        x: any shape.
        N: how many powers. Default: the size of the last dimension.

    >>> import pellucid as torch
    >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    kind = require_tensor(x, "linalg_vander", "x").dtype
    if kind is dtypes.bool_ or kind.is_floating_point and kind.itemsize == 2:
        raise DtypeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {kind.scalar_type_name}"
        )
    n = (x._array.shape[-1] if x._array.ndim else 1) if N is None else N
    if n <= 1:
        raise OperationError("N must be greater than 1.")
    if x._array.ndim == 0:
        x = x.unsqueeze(0)
    lines = F.expand(x.unsqueeze(-1), shape=(*x._array.shape, n - 1))
    ones = make_tensor(
        tracing.constant(
            np.ones((*x._array.shape, 1), np.int64 if kind.is_integral else x._array.dtype)
        )
    )
    return F.cat(ones, F.cumprod(lines, dim=x._array.ndim), dim=x._array.ndim)


@public(names="diagonal", namespace="linalg")
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:  # noqa: N803
    """The diagonal of a batch of matrices, as a view. Like `torch.diagonal`, for the last two
    dimensions.

    Args:
        A: at least two dimensions.
        offset: which diagonal; 0 is the main one, positive ones are above it. Default: 0.
        dim1, dim2: the dimensions of the matrices. Default: -2 and -1.

    >>> import pellucid as torch
    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return require_tensor(A, "linalg_diagonal", "A").diagonal(offset, dim1, dim2)


# ---- trace and logarithm of the determinant ---------------------------------------------------
@public(methods="=")
@full_precision
def trace(input: Tensor) -> Tensor:
    """The sum of the elements on the diagonal of a matrix.

    >>> import pellucid as torch
    >>> torch.trace(torch.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if (quick := _few.made(input)) is not None:
        return quick
    a = require_tensor(input, "trace")._array
    if a.ndim != 2:
        raise ShapeError("trace: expected a matrix, but got tensor with dim " + str(a.ndim))
    if a.dtype.kind == "b":
        raise UnsupportedError("\"trace\" not implemented for 'Bool'")
    if is_direct(input):
        total = wrap(np.asarray(numpy_cpu.sum(a.diagonal().copy())))
    else:
        total = titled(F.diagonal(input, offset=0, dim1=0, dim2=1).sum(), "Trace", of=(input,))
    return _few.remember(input, (), _diagonal_sum, total)


_few = Few()


def _diagonal_sum(a: np.ndarray) -> Any:
    """Return the function that sums the diagonal of a matrix like `a`."""
    plans = PRIMITIVES["sum"].forward.quick.plans.get(a.dtype)  # type: ignore[union-attr]
    few = None if plans is None or 0 in a.shape else plans.of(((min(a.shape),), None, False))
    run = few or (lambda diagonal: np.asarray(numpy_cpu.sum(diagonal)))
    return lambda x: run(x.diagonal().copy())


@public(methods="=")
def logdet(input: Tensor) -> Tensor:
    """The logarithm of determinants: -inf for 0 (of complex matrices with NaN for the angle), NaN
    for negative ones.

    >>> import pellucid as torch
    >>> torch.logdet(torch.eye(2))
    tensor(0.)
    """
    sign, logabs = F.slogdet(square(input, "logdet"))
    if input.dtype.is_complex:
        return logabs + F.log(sign).masked_fill(sign == 0, complex(0.0, math.nan))
    if sign.is_meta:
        return logabs
    return F.where(sign == -1, math.nan, logabs)


METHODS["det"] = det
FUNCTIONS["torch"]["det"] = det
_slogdet_result = return_types.make("slogdet", "sign logabsdet")


@public(names="slogdet", methods="=", out="same")
def _slogdet(input: Tensor) -> Any:
    """`linalg.slogdet`, under an older name.

    >>> import pellucid as torch
    >>> torch.slogdet(torch.eye(2)).logabsdet
    tensor(0.)
    """
    return _slogdet_result(*slogdet(input))
