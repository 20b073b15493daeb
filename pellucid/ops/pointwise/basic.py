"""Operations that the engine itself and nearly every gradient rule call: casts, expansion, sums
back to a shape, constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.halves import converted, real
from ...core.modes import local
from ...core.primitive import defop
from ...core.tape import named_type
from ...errors import OperationError, UnsupportedError
from ...ir.formula import Formula
from .._samples import REAL, Sample, Samples, draw, elementwise


def _cast(xp: Any, x: Any, *, dtype: Any) -> Any:
    if x.dtype.kind in "cW" and dtype.kind not in "cWb":
        x = real(x)
    return converted(x, dtype)


cast = defop(
    "cast",
    "input",
    forward=_cast,
    formula=Formula(lambda m, x, *, dtype=None: x, "fhib"),
    aval=lambda x, dtype: (x[0], dtype),
    vjp={"input": lambda F, g, input_dtype: F.cast(g, dtype=input_dtype)},
    jvp="linear",
    batch="elementwise",
    lies="input",
    grad_name="ToCopy",
    traits="passes copies",
    title="to",
    onnx=lambda c: c.cast(c[0], c.p["dtype"]),
    samples=elementwise(
        REAL, params=({"dtype": np.dtype(np.float64)}, {"dtype": np.dtype(np.float32)})
    ),
    aten=lambda A, x, *, dtype: A._to_copy(x, dtype=dtypes.BY_NUMPY[np.dtype(dtype)]),
)


# ---- values without a gradient rule ------------------------------------------------------------
def refused_derivative(what: str) -> Any:
    """Raise PyTorch's error for a backward through `what`: a name of PyTorch's kernel where it
    begins with "aten::", or of a method that writes.
    """
    if what.startswith("aten::") or what.endswith("_"):
        raise OperationError(f"derivative for {what} is not implemented")
    raise UnsupportedError(f"the derivative for '{what}' is not implemented.")


# Marks values that depend on `source` without a gradient rule: backward raises an error here.
without_derivative = defop(
    "without_derivative",
    "value source",
    forward=lambda xp, value, source, *, what: value,
    aval=lambda value, source, *, what: value,
    vjp={"source": lambda F, what: refused_derivative(what)},
)


def underivable(value: Any, sources: Iterable[Any], what: str) -> Any:
    """The tensor `value`, which requires grad as the `sources` it was made of do; a backward
    through it is refused.
    """
    if local.grad:
        for source in sources:
            if getattr(source, "_rg", False):
                value = without_derivative.call(value, source, what=what)
                value._node.__class__ = named_type("NotImplemented")
    return value


def _shaped(pairs: dict[tuple[int, ...], tuple[int, ...]]) -> Samples:
    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        for shape, target in pairs.items():
            yield Sample((draw(rng, shape, REAL),), {"shape": target})

    return samples


def _sum_to(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    extra = x.ndim - len(shape)
    axes = (
        *range(extra),
        *(i + extra for i, s in enumerate(shape) if s == 1 and x.shape[i + extra] != 1),
    )
    return xp.sum(x, axis=axes, keepdims=True, dtype=x.dtype).reshape(shape)


def _batch_sum_to(b: Any) -> Any:
    x, shape = b[0], b.p["shape"]
    extra = b.ndim - len(shape)
    if extra:
        x = b.F.sum(x, dim=tuple(range(1, 1 + extra)), keepdim=False)
    return b.call(x, shape=(b.size, *shape))


def _sum_to_by_aten(A: Any, x: Any, shape: list[int]) -> Any:
    wide = x._array.ndim - len(shape)
    dims = [
        *range(wide),
        *[d + wide for d, size in enumerate(shape) if size == 1 and x._array.shape[d + wide] != 1],
    ]
    made = A.sum.dim_IntList(x, dims, True) if dims else x
    return A.view(made, shape) if wide else made


sum_to = defop(
    "sum_to",
    "input",
    reduces="sum",
    forward=_sum_to,
    aval=lambda x, shape: (shape, x[1]),
    vjp={"input": lambda F, g, input_shape: F.expand(g, shape=input_shape)},
    jvp="linear",
    grad_name="Sum",
    batch=_batch_sum_to,
    title="sum",
    samples=_shaped({(3, 4): (1, 4), (2, 3, 4): (3, 1), (): (), (0, 2): (1,)}),
    aten=lambda A, x, *, shape: _sum_to_by_aten(A, x, list(shape)),
)


def _expand(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    return xp.broadcast_to(x, shape)


def _batch_expand(b: Any) -> Any:
    x, shape = b[0], b.p["shape"]
    for _ in range(len(shape) - b.ndim):
        x = b.F.unsqueeze(x, dim=1)
    return b.call(x, shape=(b.size, *shape))


def _onnx_expand(c: Any) -> Any:
    target = list(c.p["shape"])
    before = [1] * (len(target) - len(c.shape())) + list(c.shape())
    return c.emit(
        "Expand", c[0], c.ints([1 if n == m else n for n, m in zip(target, before, strict=True)])
    )


expand = defop(
    "expand",
    "input",
    forward=_expand,
    view=True,
    aval=lambda x, shape: (shape, x[1]),
    vjp={"input": lambda F, g, input_shape: F.sum_to(g, shape=input_shape)},
    jvp="linear",
    batch=_batch_expand,
    traits="passes",
    onnx=_onnx_expand,
    samples=_shaped({(1, 4): (3, 4), (3, 1): (2, 3, 4), (): (2,), (1, 2): (0, 2)}),
    aten=lambda A, x, *, shape: A.expand(x, list(shape)),
)


def _onnx_full(c: Any) -> Any:
    value = np.asarray([c.p["value"]]).astype(c.p["dtype"])
    return c.emit("ConstantOfShape", c.ints(c.p["shape"]), value=value)


full = defop(
    "full",
    "",
    forward=lambda xp, *, shape, value, dtype: xp.full(shape, value, dtype),
    aval=lambda shape, value, dtype: (shape, np.dtype(dtype)),
    onnx=_onnx_full,
    aten=lambda A, *, shape, value, dtype: A.full(
        list(shape), value, dtype=dtypes.BY_NUMPY[np.dtype(dtype)], pin_memory=False
    ),
)


def _conj(xp: Any, x: Any) -> Any:
    try:
        return xp.conj(x) if x.dtype.kind in "cW" else x
    except AttributeError:  # a Python number
        return x.conjugate()


conj = defop(
    "conj",
    "input",
    forward=_conj,
    formula=Formula(lambda m, x: x, "fhib"),
    vjp={"input": lambda F, g: F.conj(g)},
    jvp="linear",
    elementwise=True,
    onnx="Identity",
    samples=elementwise(REAL, complex=True),
)
_record_conj = conj.call


def _conj_call(x: Any) -> Any:
    """Return the conjugate. Gradient rules call this for every factor, so numbers and real tensors
    are returned as they are, unrecorded.
    """
    if isinstance(x, (int, float, complex)):
        return x.conjugate()
    return _record_conj(x) if x._array.dtype.kind in "cW" else x


conj.call = _conj_call
