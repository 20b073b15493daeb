"""Operators of aten that are building blocks of PyTorch's functions for matrices, Fourier
transforms, convolutions, normalization and sparse tensors. They are named as in `tensors`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...api.attach import LENT
from ...core.display.packing import given
from ...core.primitive import TENSORS as F
from ...core.public import FUNCTIONS
from ...core.tape import titled
from ...core.tensor import Tensor
from ...core.transforms.whole import one_node
from ...errors import OperationError
from ...ops.nn.attention import safe_softmax_gradient
from ..computed import N, T, embedding_dense_backward, gradients
from .tensors import named, one, pair

L: Any = FUNCTIONS["linalg"]


# ---- matrices -----------------------------------------------------------------------------------
def _addmm_activation(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    use_gelu: bool = False,
) -> Tensor:
    made = T.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    return N.gelu(made) if use_gelu else T.relu(made)


def _int_mm(self: Tensor, mat2: Tensor) -> Tensor:
    return T.matmul(self.to(dtypes.int32), mat2.to(dtypes.int32))


def _foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> list[Tensor]:
    return [T.mm(a, b) for a, b in zip(self, mat2, strict=True)]


def linalg__powsum(
    self: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    x = T.abs(self if dtype is None else self.to(dtype)) ** ord
    return x.sum(dim, keepdim=keepdim) if dim else x.sum()


def _foreach_powsum__Scalar(self: Any, ord: Any = 2, dtype: Any = None) -> list[Tensor]:
    return [linalg__powsum(t, ord, dtype=dtype) for t in self]


def _compute_linear_combination(input: Tensor, coefficients: Tensor) -> Tensor:
    return T.tensordot(coefficients, input, 1)


def _cholesky_solve_helper(self: Tensor, A: Tensor, upper: bool) -> Tensor:  # noqa: N803
    return T.cholesky_solve(self, A, upper)


def _lu_with_info(self: Tensor, pivot: bool = True, check_errors: bool = True) -> Any:
    return T.lu(self, pivot=pivot, get_infos=True)


def _linalg_check_errors(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
    if bool(T.any(info != 0)):
        raise OperationError(f"{api_name}: the factorization of a matrix failed")


def _factors(A: Tensor) -> Any:  # noqa: N803
    return L["lu_factor_ex"](A)[:2]


def _linalg_det(A: Tensor) -> Any:  # noqa: N803
    return (L["det"](A), *_factors(A))


def _linalg_slogdet(A: Tensor) -> Any:  # noqa: N803
    return (*L["slogdet"](A), *_factors(A))


def _linalg_solve_ex(
    A: Tensor,  # noqa: N803
    B: Tensor,  # noqa: N803
    *,
    left: bool = True,
    check_errors: bool = False,
) -> Any:
    made, info = L["solve_ex"](A, B, left=left, check_errors=check_errors)
    return (made, *_factors(A if left else A.mT), info)


def _linalg_eigh(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> Any:  # noqa: N803
    if compute_v:
        return tuple(L["eigh"](A, UPLO))
    return L["eigvalsh"](A, UPLO), T.empty(0, dtype=A.dtype)


def _linalg_eigvals(self: Tensor) -> Tensor:
    return L["eigvals"](self)


def _linalg_svd(
    A: Tensor,  # noqa: N803
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: Any = None,
) -> Any:
    if compute_uv:
        return tuple(L["svd"](A, full_matrices, driver=driver))
    nothing = T.empty(0, dtype=A.dtype)
    return nothing, L["svdvals"](A), nothing


def _logcumsumexp(self: Tensor, dim: int) -> Tensor:
    return T.logcumsumexp(self, dim)


def _cumulated(self: Tensor, values: Tensor, indices: Tensor, dim: int, name: str) -> None:
    v, i = getattr(T, name)(self, dim)
    values.copy_(v)
    indices.copy_(i)


named(
    globals(),
    _cummax_helper=functools.partial(_cumulated, name="cummax"),
    _cummin_helper=functools.partial(_cumulated, name="cummin"),
)


def _aminmax(self: Tensor) -> Any:
    return tuple(T.aminmax(self))


def _aminmax__dim(self: Tensor, dim: int, keepdim: bool = False) -> Any:
    return tuple(T.aminmax(self, dim=dim, keepdim=keepdim))


@one_node("SafeSoftmax", "self", "out", safe_softmax_gradient)
def _safe_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Return the softmax, with zeros for a row that is entirely masked with -inf."""
    made = T.softmax(self, dim, dtype=dtype)
    closed = T.all(T.eq(self, -math.inf), dim, keepdim=True)
    return titled(T.where(closed, T.zeros((), dtype=made.dtype), made), "SafeSoftmax", of=(self,))


# ---- Fourier transforms --------------------------------------------------------------------------
def _factor(self: Tensor, dim: Sequence[int], normalization: int, last: int = 0) -> float:
    """Return the factor of the sums: 1, 1 / sqrt(n) or 1 / n."""
    sizes = [self.shape[d] for d in dim]
    if last:
        sizes[-1] = last
    n = math.prod(sizes)
    return (1.0, 1 / math.sqrt(n), 1 / n)[normalization]


def _positive(self: Tensor, dim: Sequence[int]) -> tuple[int, ...]:
    return tuple([d % self.ndim for d in dim])


def _fft_c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Tensor:
    scale = _factor(self, dim, normalization)
    return F.fft_c2c(self, dim=_positive(self, dim), forward=forward, scale=scale)


def _fft_r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Tensor:
    scale, dims = _factor(self, dim, normalization), _positive(self, dim)
    made = F.fft_r2c(self, dim=dims, forward=True, scale=scale, onesided=onesided)
    return titled(made, "FftR2CBackward0")


def _fft_c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    scale = _factor(self, dim, normalization, last_dim_size)
    dims = _positive(self, dim)
    return F.fft_c2r(self, dim=dims, forward=False, scale=scale, n=last_dim_size)


# ---- convolutions -------------------------------------------------------------------------------
def _slow(n: int, transposed: bool = False) -> Callable[..., Tensor]:
    conv = getattr(N, f"conv_transpose{n}d" if transposed else f"conv{n}d")

    def function(
        self: Tensor,
        weight: Tensor,
        kernel_size: Sequence[int],
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        *rest: Any,
        **named: Any,
    ) -> Tensor:
        if not transposed:
            return conv(self, weight, bias, stride, padding, *rest, **named)
        words = dict(zip(("output_padding", "dilation"), rest, strict=False)) | named
        return conv(self, weight, bias, stride, padding, **words)

    return function


named(
    globals(),
    slow_conv3d=_slow(3),
    slow_conv3d_forward=_slow(3),
    slow_conv_dilated2d=_slow(2),
    slow_conv_dilated3d=_slow(3),
    slow_conv_transpose2d=_slow(2, True),
    slow_conv_transpose3d=_slow(3, True),
    thnn_conv2d=_slow(2),
    _slow_conv2d_forward=_slow(2),
)


def conv_depthwise3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
) -> Tensor:
    return N.conv3d(self, weight, bias, stride, padding, dilation, self.shape[1])


def _slow_conv2d_backward__output_mask(
    grad_output: Tensor,
    self: Tensor,
    weight: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    bias = T.zeros(weight.shape[0], dtype=weight.dtype)
    made = gradients(
        lambda x, w, b: N.conv2d(x, w, b, stride, padding), [self, weight, bias], grad_output
    )
    return tuple([g if on else None for g, on in zip(made, output_mask, strict=True)])


def conv_tbc_backward(self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Any:
    return tuple(gradients(lambda x, w, b: T.conv_tbc(x, w, b, pad), [input, weight, bias], self))


def convolution_overrideable(*args: Any) -> Tensor:
    return T.convolution(*args)


def embedding_backward(
    grad: Tensor,
    indices: Tensor,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
    sparse: bool,
) -> Tensor:
    rest = (indices, num_weights, padding_idx, scale_grad_by_freq)
    return (
        embedding_sparse_backward(grad, *rest) if sparse else embedding_dense_backward(grad, *rest)
    )


def embedding_sparse_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    weight = T.zeros(num_weights, grad.shape[-1], dtype=grad.dtype)
    padding = None if padding_idx < 0 else padding_idx
    return one(
        lambda w: N.embedding(
            indices, w, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=True
        ),
        weight,
        grad,
    )


# ---- normalization ------------------------------------------------------------------------------
def _native_batch_norm_legit_no_training(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
) -> Any:
    return T.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)


def _batch_norm_with_update(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
) -> Any:
    with given(reserve=np.empty(0, np.uint8)):
        made = T.native_batch_norm(
            input, weight, bias, running_mean, running_var, True, momentum, eps
        )
    titled(made[0], "BatchNormWithUpdate")
    return (*made, T.empty(0, dtype=dtypes.uint8))


def _batch_norm_no_update(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
) -> Any:
    made = T.native_batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return (*made, T.empty(0, dtype=dtypes.uint8))


def _native_batch_norm_legit_functional(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    mean, var = T.clone(running_mean), T.clone(running_var)
    made = T.native_batch_norm(input, weight, bias, mean, var, training, momentum, eps)
    return (*made, mean, var)


def _batch_norm_with_update_functional(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    momentum: float,
    eps: float,
) -> Any:
    mean, var = T.clone(running_mean), T.clone(running_var)
    made = _batch_norm_with_update(input, weight, bias, mean, var, momentum, eps)
    return (*made, mean, var)


def _batch_norm_impl_index(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    made = T.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    return (*made, T.empty(0, dtype=dtypes.uint8), 0)


def batch_norm_update_stats(
    input: Tensor, running_mean: Any, running_var: Any, momentum: float
) -> tuple[Tensor, Tensor]:
    dims = [d for d in range(input.ndim) if d != 1]
    mean, var = input.mean(dims), input.var(dims, correction=0)
    n = input.numel() // input.shape[1]
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_(var * (n / (n - 1)), alpha=momentum)
    return mean, var


def _weight_norm_interface(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    norms = v.norm(2, [d for d in range(v.ndim) if d != dim % v.ndim], keepdim=True)
    return v * (g / norms), norms.detach()


def _weight_norm_interface_backward(
    grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
) -> tuple[Any, Any]:
    return pair(lambda v, g: _weight_norm_interface(v, g, dim)[0], saved_v, saved_g, grad_w)


named(
    globals(),
    _weight_norm_differentiable_backward=lambda *args: _weight_norm_interface_backward(*args),
)


# ---- checks that leave a value for others to depend on ------------------------------------------
def _assert_async(self: Tensor) -> None:
    _assert_async__msg(self, "Expected Tensor with single nonzero value, but got zero")


def _assert_async__msg(self: Tensor, assert_msg: str) -> None:
    if self.numel() != 1:
        raise OperationError("Boolean value of Tensor with more than one value is ambiguous")
    if not bool(self):
        raise OperationError(assert_msg)


def _functional_assert_async__msg(self: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
    _assert_async__msg(self, assert_msg)
    return T.clone(dep_token)


def _functional_assert_scalar(self: Any, assert_msg: str, dep_token: Tensor) -> Tensor:
    if not self:
        raise OperationError(assert_msg)
    return T.clone(dep_token)


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    low, high = -(2**63) if min is None else min, 2**63 - 1 if max is None else max
    if not low <= size <= high:
        raise OperationError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(
    size: Any, *, min: int | None = None, max: int | None = None
) -> None:
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def _functional_sym_constrain_range(size: Any, min: Any, max: Any, dep_token: Tensor) -> Tensor:
    sym_constrain_range(size, min=min, max=max)
    return T.clone(dep_token)


def _functional_sym_constrain_range_for_size(
    size: Any, min: Any, max: Any, dep_token: Tensor
) -> Tensor:
    sym_constrain_range_for_size(size, min=min, max=max)
    return T.clone(dep_token)


def _make_dep_token(**_: Any) -> Tensor:
    return T.empty(0)


# ---- compressed indices ---------------------------------------------------------------------------
def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    edges = T.arange(size + 1, dtype=self.dtype)
    return T.searchsorted(self.contiguous(), edges, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor,
    col_indices: Tensor,
    *,
    out_int32: bool = False,
    transpose: bool = False,
) -> Tensor:
    kind = dtypes.int32 if out_int32 else dtypes.int64
    rows = T.repeat_interleave(T.arange(crow_indices.shape[-1] - 1), crow_indices.diff())
    pair = [col_indices, rows] if transpose else [rows, col_indices]
    return T.stack([t.to(kind) for t in pair])


# ---- histograms of several dimensions -------------------------------------------------------------
def _histogramdd_bin_edges(self: Tensor, bins: Sequence[int], **named: Any) -> list[Tensor]:
    return list(T.histogramdd(self, list(bins), **named)[1])


def _histogramdd_from_bin_cts(self: Tensor, bins: Sequence[int], **named: Any) -> Tensor:
    return T.histogramdd(self, list(bins), **named)[0]


def _histogramdd_from_bin_tensors(self: Tensor, bins: Sequence[Tensor], **named: Any) -> Tensor:
    return T.histogramdd(self, list(bins), **named)[0]


# ---- sparse tensors --------------------------------------------------------------------------------
def _coalesced(self: Tensor, coalesced: bool) -> Tensor:
    return self


def _sparse_softmax__int(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    return LENT["sparse"]("softmax")(self, dim, dtype=dtype)


def _sparse_log_softmax__int(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    return LENT["sparse"]("log_softmax")(self, dim, dtype=dtype)


def _sparse_sum(self: Tensor) -> Tensor:
    return LENT["sparse"]("sum")(self)


def _sparse_sum__dtype(self: Tensor, *, dtype: Any) -> Tensor:
    return LENT["sparse"]("sum")(self, dtype=dtype)


def _sparse_sum__dim(self: Tensor, dim: Any) -> Tensor:
    return LENT["sparse"]("sum")(self, dim)


def _sparse_sum__dim_dtype(self: Tensor, dim: Any, *, dtype: Any) -> Tensor:
    return LENT["sparse"]("sum")(self, dim, dtype=dtype)


def _sparse_mm(sparse: Tensor, dense: Tensor) -> Tensor:
    return LENT["sparse"]("mm")(sparse, dense)


def _sparse_mm__reduce(sparse: Tensor, dense: Tensor, reduce: str) -> Tensor:
    return LENT["sparse"]("mm")(sparse, dense, reduce)


def _unsafe(name: str) -> Callable[..., Tensor]:
    def function(*args: Any, dtype: Any = None, is_coalesced: Any = None, **_: Any) -> Tensor:
        named = {} if is_coalesced is None else {"is_coalesced": is_coalesced}
        return LENT["sparse"](name)(*args, dtype=dtype, **named)

    return function


named(
    globals(),
    **{
        f"_sparse_{kind}_tensor_unsafe": _unsafe(f"sparse_{kind}_tensor")
        for kind in ("coo", "csr", "csc", "bsr", "bsc", "compressed")
    },
    **{
        f"sparse_{kind}_tensor": _unsafe(f"sparse_{kind}_tensor")
        for kind in ("coo", "csr", "csc", "bsr", "bsc", "compressed")
    },
)


def _to_sparse(
    self: Tensor, *, layout: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Tensor:
    return self.to_sparse(layout=layout, blocksize=blocksize, dense_dim=dense_dim)


def _to_sparse__sparse_dim(self: Tensor, sparse_dim: int) -> Tensor:
    return self.to_sparse(sparse_dim)


named(
    globals(),
    **{
        f"_to_sparse_{kind}": lambda self, *args, kind=kind, **named: getattr(
            self, f"to_sparse_{kind}"
        )(*args, **named)
        for kind in ("csr", "csc", "bsr", "bsc")
    },
)


def to_dense_backward(grad: Tensor, input: Tensor, masked_grad: Any = None) -> Tensor:
    if input.layout is dtypes.strided:
        return grad.to_dense()
    return grad.sparse_mask(input)
