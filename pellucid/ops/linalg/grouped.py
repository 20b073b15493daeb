"""Products of matrices in groups of rows or columns, and products of scaled matrices."""

from __future__ import annotations

from enum import Enum
from typing import Any

from ... import dtypes
from ...core import tracing
from ...core.primitive import TENSORS as F
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import DtypeError, OperationError
from .._rules import require_tensor

_KINDS = (dtypes.float32, dtypes.bfloat16, dtypes.float16)


@public(names="_grouped_mm")
def grouped_mm(
    input: Tensor,
    mat2: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Products of matrices group by group: of stacks, or of parts of matrices that `offs` cuts.

    Args:
        input: `(G, M, K)`, or a matrix that is cut: `(M, K)` along its rows beside a stack, along K
            beside a matrix.
        mat2: `(G, K, N)`, or a matrix: `(K, N)` cut along its columns beside a stack, along K
            beside a matrix.
        offs: `(G,)` of int32, where each group ends; what follows the last end gives 0 (in PyTorch:
            whatever the memory held). None for two stacks.
        bias: None.
        out_dtype: the dtype of `input`, or None.

    Returns:
        `(G, M, N)` of two stacks or of two matrices, `(M, N)` otherwise.

    >>> import pellucid as torch
    >>> x, experts = torch.ones(3, 4), torch.stack([torch.eye(4), 2 * torch.eye(4)])
    >>> torch.nn.functional.grouped_mm(x, experts, offs=torch.tensor([1, 3], dtype=torch.int32))[:, 0]
    tensor([1., 2., 2.])
    """
    a, b = _operand(input, "input", "mat_a", 1), _operand(mat2, "mat2", "mat_b", 2)
    if a.dtype not in _KINDS:
        raise OperationError(
            f"Expected mat_a to be Float32, BFloat16 or Float16 matrix, got {a.dtype.scalar_type_name}"
        )
    if a.ndim == 3 or b.ndim == 3:
        if a.shape[-1] != b.shape[-2]:
            raise OperationError("contraction dimension of mat_a and mat_b must match")
    for t in (a, b):
        row, column = t.stride()[-2:]
        if (row if column == 1 else column) * t.dtype.itemsize % 16:
            raise OperationError("strides should be multiple of 16 bytes")
    if (offs is None) != (a.ndim == b.ndim == 3):
        raise OperationError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is not None and offs.dtype is not dtypes.int32:
        raise OperationError("Offsets have to be int32")
    if bias is not None:
        raise OperationError("Bias not supported yet")
    if out_dtype not in (None, a.dtype):
        raise OperationError("Grouped gemm output dtype must match `mat_a` dtype")
    if a.dtype is not b.dtype:
        raise DtypeError(
            f"expected m1 and m2 to have the same dtype, but got: {a.dtype.c_name} != {b.dtype.c_name}"
        )
    if offs is None:
        if a.shape[0] != b.shape[0]:
            raise OperationError("matrix batch sizes have to match")
        return titled(F.matmul(a, b), "GroupedMm")
    groups = offs.shape[0]
    if a.ndim != b.ndim and groups != (a if a.ndim == 3 else b).shape[0]:
        raise OperationError("matrix batch sizes have to match")
    tracing.seen(offs._array)
    ends = [int(end) for end in offs._array]
    starts = [0, *ends[:-1]]
    if a.ndim == b.ndim == 2:
        parts = [
            F.matmul(a.narrow(1, s, e - s), b.narrow(0, s, e - s))
            for s, e in zip(starts, ends, strict=True)
        ]
        made = F.stack(*parts, dim=0)
    elif a.ndim == 2:
        parts = [
            F.matmul(a.narrow(0, s, e - s), b[k])
            for k, (s, e) in enumerate(zip(starts, ends, strict=True))
        ]
        made = F.cat(*parts, *_rest(a, (a.shape[0] - ends[-1], b.shape[-1])), dim=0)
    else:
        parts = [
            F.matmul(a[k], b.narrow(1, s, e - s))
            for k, (s, e) in enumerate(zip(starts, ends, strict=True))
        ]
        made = F.cat(*parts, *_rest(a, (a.shape[1], b.shape[1] - ends[-1])), dim=1)
    return titled(made, "GroupedMm")


def _rest(like: Tensor, shape: tuple[int, int]) -> list[Tensor]:
    """Return zeros for the rows or columns that are in no group."""
    return [like.new_zeros(shape)] if 0 not in shape else []


def _operand(value: Any, name: str, shown: str, place: int) -> Tensor:
    t = require_tensor(value, "_grouped_mm", name, place)
    if t.ndim not in (2, 3):
        raise OperationError(f"{shown} has to be 2 or 3d")
    return t


@public(namespace="nn.functional", names="grouped_mm")
def _grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Products of matrices group by group: see `torch._grouped_mm`.

    >>> import pellucid as torch
    >>> a, b = torch.randn(3, 4, 8).bfloat16(), torch.randn(3, 8, 16).bfloat16()
    >>> torch.nn.functional.grouped_mm(a, b).shape
    torch.Size([3, 4, 16])
    """
    return grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


@public(names="_scaled_mm")
def scaled_mm(
    input: Tensor,
    mat2: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: dtypes.dtype | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices of 8-bit floats, computed in float32, times their scales.

    Args:
        scale_a, scale_b: float32: one number for a matrix, or `(M, 1)` and `(1, N)`, one for each
            row and column.
        bias: `(N,)`, added to the product.
        scale_result: the result is divided by it where it is an 8-bit float.
        out_dtype: `input`'s by default.
        use_fast_accum: without a meaning here.
    """
    a, b = require_tensor(input, "_scaled_mm"), require_tensor(mat2, "_scaled_mm", "mat2", 2)
    for t, shown in ((a, "mat1"), (b, "mat2")):
        if t.ndim != 2:
            raise OperationError(f"{shown} must be a matrix")
    if a.shape[1] != b.shape[0]:
        raise OperationError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    made = F.matmul(a.to(dtypes.float32), b.to(dtypes.float32)) * scale_a * scale_b
    if bias is not None:
        made = made + bias.to(dtypes.float32)
    kind = a.dtype if out_dtype is None else out_dtype
    if scale_result is not None and kind.itemsize == 1:
        made = made * scale_result
    return made.to(kind)


class _ScalingType(Enum):
    """Which elements of a matrix share a scale; `torch.nn.functional.ScalingType`."""

    TensorWise, RowWise, BlockWise1x16, BlockWise1x32, BlockWise1x128, BlockWise128x128 = range(6)

    def __int__(self) -> int:
        return self.value


class _SwizzleType(Enum):
    """In which order scales lie in memory; `torch.nn.functional.SwizzleType`."""

    NO_SWIZZLE, SWIZZLE_32_4_4 = range(2)

    def __int__(self) -> int:
        return self.value


def _one(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value


@public(namespace="nn.functional", names="scaled_mm")
def _scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: Any,
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: Any,
    swizzle_a: Any = None,
    swizzle_b: Any = None,
    bias: Tensor | None = None,
    output_dtype: dtypes.dtype | None = dtypes.bfloat16,
    contraction_dim: list[int] | tuple[int, ...] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """The product of two matrices of 8-bit floats, each element times its scale.

    Args:
        scale_a, scale_b: float32: one number, or `(M, 1)` and `(1, N)`; or a list of one tensor.
        scale_recipe_a, scale_recipe_b: `ScalingType.TensorWise` or `RowWise`; a CPU has no others.
        bias: `(N,)`, added to the product.
        output_dtype: bfloat16 by default; None for the dtype of `mat_a`.

    Raises:
        ValueError: matrices of other dtypes, other recipes, or scales that do not fit them.

    >>> import pellucid as torch
    >>> from pellucid.nn import functional as F
    >>> a = torch.tensor([[1.0, 2.0]]).to(torch.float8_e4m3fn)
    >>> rows, one = F.ScalingType.RowWise, F.ScalingType.TensorWise
    >>> F.scaled_mm(a, a.t(), torch.tensor(2.0), one, torch.tensor(3.0), one)
    tensor([[30.]], dtype=torch.bfloat16)
    """
    a, b = require_tensor(mat_a, "scaled_mm"), require_tensor(mat_b, "scaled_mm", "mat_b", 2)
    recipes = _one(scale_recipe_a), _one(scale_recipe_b)
    scales: tuple[Any, Any] = _one(scale_a), _one(scale_b)
    wide = [isinstance(s, Tensor) and s.dtype == dtypes.float32 for s in scales]
    one = _ScalingType.TensorWise
    fit = (
        recipes == (one, one)
        and all(wide)
        and scales[0].numel() == scales[1].numel() == 1
        or recipes == (_ScalingType.RowWise, _ScalingType.RowWise)
        and all(wide)
    )
    if not fit or a.dtype.itemsize != 1 or b.dtype.itemsize != 1 or not a.dtype.is_floating_point:
        raise ValueError(
            "Invalid scaling configuration.\n"
            "- For TensorWise scaling, a and b should be float8, scales should be float and singletons.\n"
            "- For RowWise scaling, a and b should be float8, scales should be float, "
            f"scale_a should be ({a.shape[0]}, 1) and scale_b should be (1, {b.shape[1]}), and both should be contiguous.\n"
            "Got mat_a.dtype()"
        )
    made = F.matmul(a.to(dtypes.float32) * scales[0], b.to(dtypes.float32) * scales[1])
    if bias is not None:
        made = made + bias.to(dtypes.float32)
    return made.to(a.dtype if output_dtype is None else output_dtype)
