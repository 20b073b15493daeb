"""Operators of aten for sparse and quantized tensors, and factories that write to `out`. They are
named as in `tensors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import dtypes
from ...api.attach import LENT
from ...arrays import affine
from ...core.inplace import into
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...errors import OperationError, resized, warn
from ..computed import T
from ..schema import SCALAR_TYPES
from .tensors import named


# ---- sparse tensors -----------------------------------------------------------------------------
def _coalesce(self: Tensor) -> Tensor:
    return self.coalesce()


def _to_dense(self: Tensor, dtype: Any = None, masked_grad: Any = None) -> Tensor:
    return self.to_dense(dtype)


def _sparse_addmm(
    self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    made: Tensor = LENT["sparse"]("addmm")(self, mat1, mat2, beta=beta, alpha=alpha)
    return made


def _sparse_sparse_matmul(self: Tensor, other: Tensor) -> Tensor:
    made: Tensor = LENT["sparse"]("mm")(self, other)
    return made


def _softmax(name: str) -> Callable[..., Tensor]:
    def function(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
        made: Tensor = LENT["sparse"](name)(self, dim)
        return made

    return function


named(globals(), _sparse_softmax=_softmax("softmax"), _sparse_log_softmax=_softmax("log_softmax"))


def _sparse_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, self: Tensor
) -> Tensor:
    g, out = grad_output.to_dense(), output.to_dense()
    return (out * (g - (g * out).sum(dim, keepdim=True))).sparse_mask(output)


def _sparse_log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, self: Tensor
) -> Tensor:
    g, out = grad_output.to_dense(), output.to_dense()
    return (g - out.exp() * g.sum(dim, keepdim=True)).sparse_mask(output)


def _sparse_mask_projection(self: Tensor, mask: Tensor, accumulate_matches: bool = False) -> Tensor:
    return self.to_dense().sparse_mask(mask)


def copy_sparse_to_sparse_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    return self.copy_(src)


def _gather_sparse_backward(self: Tensor, dim: int, index: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient at the gathered places, with one entry for each."""
    if not self.ndim or not index.ndim:
        places = T.zeros(self.ndim, index.numel(), dtype=dtypes.int64)
    else:
        axes = [T.arange(n) for n in index.shape]
        grid = list(T.meshgrid(*axes, indexing="ij"))
        grid[dim] = index
        places = T.stack([g.reshape(-1) for g in grid])
    made: Tensor = LENT["sparse"]("sparse_coo_tensor")(places, grad.reshape(-1), self.shape)
    return made


def _sparse_coo_tensor_with_dims(
    sparse_dim: int, dense_dim: int, size: Sequence[int], *, dtype: Any = None, **_: Any
) -> Tensor:
    values = T.zeros(0, *size[sparse_dim:], dtype=dtype or dtypes.get_default_dtype())
    places = T.zeros(sparse_dim, 0, dtype=dtypes.int64)
    made: Tensor = LENT["sparse"]("sparse_coo_tensor")(places, values, tuple(size))
    return made


def _sparse_coo_tensor_with_dims_and_tensors(
    sparse_dim: int,
    dense_dim: int,
    size: Sequence[int],
    indices: Tensor,
    values: Tensor,
    *,
    dtype: Any = None,
    is_coalesced: bool | None = None,
    **_: Any,
) -> Tensor:
    wanted = dtype or dtypes.get_default_dtype()
    if values.dtype is not wanted:
        raise OperationError(
            f"dtype of values ({values.dtype.scalar_type_name}) must match dtype of sparse tensor ({wanted.scalar_type_name})"
        )
    flag = {} if is_coalesced is None else {"is_coalesced": is_coalesced}
    made: Tensor = LENT["sparse"]("sparse_coo_tensor")(indices, values, tuple(size), **flag)
    return made


def _rows(name: str, empty: float) -> Callable[..., Tensor]:
    """Return a reduction of the stored elements of each row of a CSR matrix, with one entry for
    each row that has some.
    """

    def function(
        self: Tensor, dim: Sequence[int], keepdim: bool = False, *, dtype: Any = None
    ) -> Tensor:
        if not keepdim:
            raise OperationError(
                "reduction operations on CSR tensors with keepdim=False is unsupported"
            )
        places = T.ones_like(self.values(), dtype=dtypes.bool_)
        shape = (self.crow_indices(), self.col_indices(), places, self.shape)
        stored = LENT["sparse"]("sparse_csr_tensor")(*shape).to_dense()
        values = T.where(stored, self.to_dense(), empty)
        for d in dim:
            values = getattr(T, name)(values, d, keepdim=True, dtype=dtype)
            stored = stored.any(d, keepdim=True)
        ends = T.cat([T.zeros(1, dtype=dtypes.int64), stored.sum(1).cumsum(0)])
        made: Tensor = LENT["sparse"]("sparse_csr_tensor")(
            ends, stored.nonzero()[:, 1], values[stored], values.shape
        )
        return made

    return function


named(
    globals(),
    _sparse_csr_sum__dim_dtype=_rows("sum", 0.0),
    _sparse_csr_prod__dim_dtype=_rows("prod", 1.0),
)


# ---- results written into sparse and quantized tensors -------------------------------------------
def placed(out: Tensor, result: Tensor, name: str) -> Tensor:
    """Do what `into` does, also for sparse and quantized tensors."""
    if not out.is_quantized and out.layout is dtypes.strided:
        return into(out, result, name)
    if out.is_quantized and out.shape != result.shape and out.dtype is result.dtype:
        warn(resized(out.shape, result.shape))
        out._array = result._array
        return out
    with no_grad():
        return out.copy_(result.detach())


def _sparse_coo_tensor_with_dims__out(
    sparse_dim: int, dense_dim: int, size: Sequence[int], *, out: Tensor
) -> Tensor:
    return placed(
        out, _sparse_coo_tensor_with_dims(sparse_dim, dense_dim, size, dtype=out.dtype), ""
    )


def _sparse_coo_tensor_with_dims_and_tensors__out(
    sparse_dim: int,
    dense_dim: int,
    size: Sequence[int],
    indices: Tensor,
    values: Tensor,
    *,
    is_coalesced: bool | None = None,
    out: Tensor,
) -> Tensor:
    made = _sparse_coo_tensor_with_dims_and_tensors(
        sparse_dim,
        dense_dim,
        size,
        indices,
        values,
        dtype=out.dtype,
        is_coalesced=is_coalesced,
    )
    return placed(out, made, "")


def sparse_coo_tensor__size_out(size: Sequence[int], *, out: Tensor) -> Tensor:
    return placed(out, _sparse_coo_tensor_with_dims(len(size), 0, size, dtype=out.dtype), "")


# ---- quantized tensors ----------------------------------------------------------------------------
def _quantized(name: str) -> Callable[..., Any]:
    def function(*args: Any, **named: Any) -> Any:
        return getattr(affine.package(), name)(*args, **named)

    return function


named(
    globals(),
    quantize_per_tensor=_quantized("quantize_per_tensor"),
    quantize_per_channel=_quantized("quantize_per_channel"),
    quantize_per_tensor_dynamic=_quantized("quantize_per_tensor_dynamic"),
)


def quantize_per_tensor__tensor_qparams(
    self: Tensor, scale: Tensor, zero_point: Tensor, dtype: Any
) -> Any:
    return affine.package().quantize_per_tensor(self, scale, zero_point, dtype)


def quantize_per_tensor__tensors(
    tensors: Sequence[Tensor], scales: Tensor, zero_points: Tensor, dtype: Any
) -> Any:
    return affine.package().quantize_per_tensor(list(tensors), scales, zero_points, dtype)


def _empty_affine_quantized(
    size: Sequence[int], *, dtype: Any = None, scale: float = 1.0, zero_point: int = 0, **_: Any
) -> Any:
    return affine.package()._empty_affine_quantized(
        tuple(size), dtype=dtype, scale=scale, zero_point=zero_point
    )


def _empty_affine_quantized__out(
    size: Sequence[int], *, scale: float = 1.0, zero_point: int = 0, out: Tensor, **_: Any
) -> Any:
    made = _empty_affine_quantized(size, dtype=out.dtype, scale=scale, zero_point=zero_point)
    return placed(out, made, "")


def _empty_per_channel_affine_quantized(
    size: Sequence[int],
    *,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    dtype: Any = None,
    **_: Any,
) -> Any:
    return affine.package()._empty_per_channel_affine_quantized(
        tuple(size), scales=scales, zero_points=zero_points, axis=axis, dtype=dtype
    )


def _empty_per_channel_affine_quantized__out(
    size: Sequence[int],
    *,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    out: Tensor,
    **_: Any,
) -> Any:
    made = _empty_per_channel_affine_quantized(
        size, scales=scales, zero_points=zero_points, axis=axis, dtype=out.dtype
    )
    return placed(out, made, "")


def empty_quantized(size: Sequence[int], qtensor: Any, **_: Any) -> Any:
    """Return a tensor with the scales of another one."""
    return _empty_affine_quantized(
        size, dtype=qtensor.dtype, scale=qtensor.q_scale(), zero_point=qtensor.q_zero_point()
    )


def empty_quantized__out(size: Sequence[int], qtensor: Any, *, out: Tensor, **_: Any) -> Any:
    return placed(out, empty_quantized(size, qtensor), "")


def _scaled_mm_v2(
    self: Tensor,
    mat2: Tensor,
    scale_a: Sequence[Tensor],
    recipe_a: Sequence[int],
    swizzle_a: Sequence[int],
    scale_b: Sequence[Tensor],
    recipe_b: Sequence[int],
    swizzle_b: Sequence[int],
    bias: Tensor | None,
    out_dtype: Any,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """Return the product of two matrices of 8-bit floats, with one scale for each matrix or for
    each row and column.
    """
    if not {*recipe_a, *recipe_b} <= {0, 1} or len(scale_a) != 1 or len(scale_b) != 1:
        raise OperationError("Invalid scaling configuration")
    made: Tensor = T._scaled_mm(self, mat2, scale_a[0], scale_b[0], bias, None, out_dtype)
    return made


def _choose_qparams_per_tensor(self: Tensor, reduce_range: bool = False) -> tuple[float, int]:
    values = self.to(dtypes.float32)
    low, high = float(T.amin(values)), float(T.amax(values))
    scale, zero_point = affine.choose(low, high, "quint8", reduce_range)
    return float(scale), int(zero_point)


def _loss(x: Any, low: float, high: float, bits: int) -> float:
    """Return the norm of the error of storing x in `bits` bits between two values."""
    low = float(T.tensor(low).to(dtypes.float16))
    most = 2**bits - 1
    step = float(T.tensor((high - low) / most or 1.0).to(dtypes.float16))
    stored = T.round((x - low) * (1.0 / step)).clamp(0, most) * step + low
    return float((x - stored).square().sum().sqrt())


def choose_qparams_optimized(
    input: Tensor, numel: int, n_bins: int, ratio: float, bit_width: int
) -> tuple[Tensor, Tensor]:
    """Return the largest and the smallest value to store. The range shrinks from both ends, bin by
    bin, at the end that loses less, as long as a share of the bins is left.
    """
    x = input.reshape(-1)[:numel]
    low, high = float(x.min()), float(x.max())
    width = (high - low) / n_bins
    least = n_bins * (1.0 - ratio) * width
    best = now = _loss(x, low, high, bit_width)
    start, end = low, high
    while start + least < end:
        left = _loss(x, start + width, end, bit_width)
        right = _loss(x, start, end - width, bit_width)
        if now < left and now < right and now < best:  # a local minimum
            best, low, high = now, start, end
        if left < right:
            start, now = start + width, left
        else:
            end, now = end - width, right
    return T.tensor([high]), T.tensor([low])


def _saturate_weight_to_fp16(weight: Tensor) -> Tensor:
    most = 65504.0
    with no_grad():
        if bool((weight.abs() > most).any()):
            warn("FOUND weight out of range ")
            weight.clamp_(-most, most)
    return weight


# ---- factories ------------------------------------------------------------------------------------
def _efficientzerotensor(size: Sequence[int], *, dtype: Any = None, **_: Any) -> Tensor:
    made: Tensor = T.zeros(tuple(size), dtype=dtype)
    return made


def _efficientzerotensor__out(size: Sequence[int], *, out: Tensor) -> Tensor:
    return into(out, T.zeros(tuple(size), dtype=out.dtype), "_efficientzerotensor")


def promote_types(type1: Any, type2: Any) -> int:
    """Return the number of the dtype in which operations on both compute."""
    return SCALAR_TYPES.index(dtypes.promote_types(type1, type2).name)


def _to_copy__out(
    self: Tensor, *, non_blocking: bool = False, memory_format: Any = None, out: Tensor
) -> Tensor:
    return into(out, self, "_to_copy")


def new_empty_strided__out(
    self: Tensor, size: Sequence[int], stride: Sequence[int], *, out: Tensor
) -> Tensor:
    return out if out.shape == tuple(size) else into(out, T.empty(tuple(size)), "new_empty_strided")


def scalar_tensor__out(s: Any, *, out: Tensor) -> Tensor:
    return into(out, T.tensor(s, dtype=out.dtype), "scalar_tensor")
