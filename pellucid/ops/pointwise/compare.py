"""Comparisons, logic, predicates, and `where`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial, wraps
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.halves import imag
from ...core import tracing
from ...core.bind import OPERANDS, common_dtype, make_operators, wrap
from ...core.display import refusals
from ...core.inplace import bump, check_out, into
from ...core.modes import no_grad
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, METHODS, public
from ...core.tensor import Tensor, make_tensor
from ...core.transforms.batching import Batched
from ...errors import DtypeError, OperationError, UnsupportedError, warn_once
from ...ir.formula import Formula, word
from ...shapes import broadcast_shapes
from .._numbers import scalar_array
from .._rules import is_plain, mismatch, require_tensor
from .._samples import REAL, Sample, draw
from ._unary import binary, unary


# ---- order and equality -----------------------------------------------------------------------
def _no_order(*arrays: Any) -> None:
    """Refuse complex numbers, which have no order."""
    if any(a.dtype.kind in "cW" if hasattr(a, "dtype") else type(a) is complex for a in arrays):
        raise TypeError("ufunc not supported")


def _comparison(
    names: str, ufunc: str, doc: str, shows: str, onnx: Any, ordered: bool = True
) -> Any:
    return binary(
        names,
        ufunc,
        promote="compare",
        numbers="other",
        doc=f"True where {doc}; broadcast, dtype bool.",
        example=f"torch.{names.split()[0]}(torch.tensor([1, 2, 3]), 2)",
        shows=f"tensor([{shows}])",
        check=_no_order if ordered else None,
        overload=f"{names.split()[0]}.Tensor",
        onnx=onnx,
    )


eq = _comparison(
    "eq", "equal", "the elements are equal", "False,  True, False", ordered=False, onnx="Equal"
)
ne = _comparison(
    "ne not_equal",
    "not_equal",
    "the elements differ",
    " True, False,  True",
    ordered=False,
    onnx=lambda c: c.emit("Not", c.emit("Equal", *c.names)),
)
lt = _comparison("lt less", "less", "`input < other`", " True, False, False", onnx="Less")
le = _comparison(
    "le less_equal", "less_equal", "`input <= other`", " True,  True, False", onnx="LessOrEqual"
)
gt = _comparison("gt greater", "greater", "`input > other`", "False, False,  True", onnx="Greater")
ge = _comparison(
    "ge greater_equal",
    "greater_equal",
    "`input >= other`",
    "False,  True,  True",
    onnx="GreaterOrEqual",
)
for _op in (eq, ne, lt, le, gt, ge):
    METHODS[f"__{_op.name}__"] = make_operators(_op)[0]
METHODS["__hash__"] = Tensor.__hash__


@public(methods="=")
def equal(input: Tensor, other: Tensor) -> bool:
    """Test whether two tensors have the same shape and the same elements.

    Args:
        input, other: any shape and dtype.

    >>> import pellucid as torch
    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    if is_plain(input) and is_plain(other):
        return _alike(input._array, other._array)
    a = require_tensor(input, "equal")._array
    b = require_tensor(other, "equal", "other", 2)._array
    if input.is_meta or other.is_meta:
        raise UnsupportedError(
            "aten::equal: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. You "
            "may have run into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in order "
            "to use this operator with those APIs you'll need to add a fake impl. Please see the following for next steps:  "
            "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
        )
    if type(input) is Batched or type(other) is Batched:
        raise OperationError(
            "Batching rule not implemented for aten::equal. We could not generate a fallback."
        )
    if tracing.tracer():  # a decision of the program
        return a.shape == b.shape and bool(eq.call(input, other).all())
    return _alike(a, b) if type(a) is np.ndarray is type(b) else bool(np.array_equal(a, b))


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind == "W":
        kernel = "equal_notnan_cpu" if a is b else "equal_cpu"
        raise UnsupportedError(f"\"{kernel}\" not implemented for 'ComplexHalf'")
    same = np.equal(a, b)
    return 0 not in same.tobytes() if same.size < 4096 else bool(same.all())


# ---- logic ------------------------------------------------------------------------------------
def _onnx_logical(c: Any, op: str) -> Any:
    return c.emit(op, c.as_bool(0), c.as_bool(1))


for _name, _onnx, _doc, _shows in (
    ("logical_and", "And", "both elements are non-zero", " True, False, False"),
    ("logical_or", "Or", "at least one of the elements is non-zero", " True,  True, False"),
    ("logical_xor", "Xor", "exactly one of the elements is non-zero", "False,  True, False"),
):
    binary(
        _name,
        _name,
        promote="compare",
        doc=f"True where {_doc}; broadcast, dtype bool.",
        example=f"torch.{_name}(torch.tensor([True, True, False]), torch.tensor([True, False, False]))",
        shows=f"tensor([{_shows}])",
        onnx=partial(_onnx_logical, op=_onnx),
    )

logical_not = unary(
    "logical_not",
    "logical_not",
    promote=None,
    aval=lambda x: (x[0], np.dtype(bool)),
    onnx=lambda c: c.emit("Not", c.as_bool(0)),
    overload="logical_not.out",
    doc="True where the element is zero.",
    example="torch.logical_not(torch.tensor([0, 1, 2]))",
    shows="tensor([ True, False, False])",
)


def _beside_the_graph(form: Any) -> Any:
    """Return an in-place method that PyTorch does not record: it may write to a leaf, and the
    tensor keeps its place in the graph and its tangent.
    """

    @wraps(form)
    def write(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        with no_grad():
            base = self if self._view is None else self._view.base
            if not any((t._x or {}).get("tangents") for t in (self, base)):
                return form(self, *args, **kwargs)
            form(make_tensor(self._array), *args, **kwargs)
            bump(self, form.__name__)
            return self

    return write


for _name in ("logical_and_", "logical_or_", "logical_xor_", "logical_not_"):
    METHODS[_name] = FUNCTIONS["torch"][_name] = _beside_the_graph(METHODS[_name])


# ---- predicates -------------------------------------------------------------------------------
def _predicate(
    name: str,
    forward: Any,
    doc: str,
    example: str,
    shows: str = "tensor([False,  True])",
    formula: Formula | None = None,
    onnx: Any = None,
    bool_out: bool = False,
    overload: str = "",
) -> Any:
    return unary(
        name,
        forward,
        takes_out=bool_out,
        bool_out=bool_out,
        formula=formula,
        promote=None,
        aval=lambda x: (x[0], np.dtype(bool)),
        doc=doc,
        example=example,
        shows=shows,
        inplace=False,
        onnx=onnx,
        overload=overload,
    )


def _isreal(xp: Any, x: Any) -> Any:
    return xp.equal(imag(x), 0) if x.dtype.kind in "cW" else xp.logical_or(x, True)


def _infinite(name: str, sign: int) -> Any:
    def forward(xp: Any, x: Any) -> Any:
        if x.dtype.kind in "cW":
            raise DtypeError(f"{name} does not support complex inputs.")
        return xp.equal(x, sign * math.inf) if x.dtype.kind in "fV" else xp.logical_and(x, False)

    return forward


def _test(function: Any) -> Formula:
    return Formula(function, "fhib", "own")


isnan = _predicate(
    "isnan",
    "isnan",
    "True where the element is not a number.",
    "torch.isnan(torch.tensor([1.0, float('nan')]))",
    onnx="IsNaN",
)
isinf = _predicate(
    "isinf",
    "isinf",
    "True where the element is infinite.",
    "torch.isinf(torch.tensor([1.0, float('inf')]))",
    onnx="IsInf",
)
isfinite = _predicate(
    "isfinite",
    "isfinite",
    "True where the element is neither infinite nor NaN.",
    "torch.isfinite(torch.tensor([1.0, float('inf')]))",
    "tensor([ True, False])",
    onnx=lambda c: c.emit("Not", c.emit("Or", c.emit("IsNaN", c[0]), c.emit("IsInf", c[0]))),
    overload="ne.Scalar",
)
isposinf = _predicate(
    "isposinf",
    _infinite("isposinf", 1),
    "True where the element is +inf.",
    "torch.isposinf(torch.tensor([1.0, float('inf')]))",
    formula=_test(lambda m, x: m.isinf(x) & (x > 0)),
    onnx=lambda c: c.emit("IsInf", c[0], detect_positive=1, detect_negative=0),
    bool_out=True,
)
isneginf = _predicate(
    "isneginf",
    _infinite("isneginf", -1),
    "True where the element is -inf.",
    "torch.isneginf(torch.tensor([1.0, float('-inf')]))",
    formula=_test(lambda m, x: m.isinf(x) & (x < 0)),
    onnx=lambda c: c.emit("IsInf", c[0], detect_positive=0, detect_negative=1),
    bool_out=True,
)
isreal = _predicate(
    "isreal",
    _isreal,
    "True where the imaginary part is 0.",
    "torch.isreal(torch.tensor([1.0]))",
    "tensor([True])",
    _test(lambda m, x: m.isfinite(x) | True),
)


def _signbit(xp: Any, x: Any) -> Any:
    if x.dtype.kind in "cW":
        raise UnsupportedError("signbit is not implemented for complex tensors.")
    if x.dtype.kind == "b":
        return xp.logical_and(x, False)
    return xp.signbit(x) if x.dtype.kind in "fV" else xp.less(x, 0)


signbit = _predicate(
    "signbit",
    _signbit,
    "True where the sign bit is set, so for -0.0 too.",
    "torch.signbit(torch.tensor([1.0, -0.0]))",
    formula=word("signbit"),
    onnx=lambda c: c.negative(c[0]),
    bool_out=True,
)


@public(methods="=")
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """True where `|input - other| <= atol + rtol * |other|`.

    Args:
        input, other: tensors of one dtype whose shapes broadcast.
        rtol, atol: relative and absolute tolerance.
        equal_nan: count NaN as equal to NaN.

    >>> import pellucid as torch
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-9, 2.1]))
    tensor([ True, False])
    """
    require_tensor(input, "isclose")
    require_tensor(other, "isclose", "other", 2)
    if input.dtype is not other.dtype:
        raise DtypeError(
            f"{input.dtype.scalar_type_name} did not match {other.dtype.scalar_type_name}"
        )
    broadcast_shapes(input._array.shape, other._array.shape)
    if not rtol >= 0:
        raise DtypeError(f"rtol must be greater than or equal to zero, but got {rtol:g}")
    if not atol >= 0:
        raise DtypeError(f"atol must be greater than or equal to zero, but got {atol:g}")
    return make_tensor(tracing.effect(_close, input._array, other._array, rtol, atol, equal_nan))


def _close(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = a == b
    if a.dtype.kind in "fcVW" and equal_nan:
        close = close | (np.isnan(a) & np.isnan(b))
    if rtol == 0 and atol == 0:
        return np.asarray(close)
    if a.dtype.kind in "fcVW":
        wide = np.float32 if a.dtype.itemsize < 4 else a.dtype
        a, b = a.astype(wide), b.astype(wide)
        kind = a.real.dtype.type
        allowed = kind(atol) + np.abs(kind(rtol) * b)
        error = np.abs(a - b)
        close = close | (np.isfinite(error) & (error <= allowed))
    elif a.dtype.kind != "b":
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        close = close | (np.abs(wide_a - wide_b) <= atol + np.abs(rtol * wide_b))
    return np.asarray(close)


@public(methods="=")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Test whether all elements are close: `|input - other| <= atol + rtol * |other|`.

    Args:
        input, other: shapes that broadcast, the same dtype.
        rtol: relative tolerance. Default: 1e-5.
        atol: absolute tolerance. Default: 1e-8.
        equal_nan: two NaNs count as equal. Default: False.

    >>> import pellucid as torch
    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-9]))
    True
    """
    if type(input) is Batched or type(other) is Batched:
        raise OperationError(
            "vmap over torch.allclose isn't supported yet. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues if you need this feature."
        )
    close = isclose(input, other, rtol, atol, equal_nan)
    if tracing.tracer():  # a decision of the program
        return bool(close.all())
    return bool(close._array.all())


@public(methods="=")
def is_nonzero(input: Tensor) -> bool:
    """The truth of a tensor with one element.

    Raises:
        RuntimeError: not exactly one element.

    >>> import pellucid as torch
    >>> torch.is_nonzero(torch.tensor([0.0])), torch.is_nonzero(torch.tensor(3))
    (False, True)
    """
    return bool(require_tensor(input, "is_nonzero"))


@public(methods="=")
def is_floating_point(input: Tensor) -> bool:
    """Test whether a tensor has a real floating-point dtype.

    >>> import pellucid as torch
    >>> torch.is_floating_point(torch.zeros(2)), torch.is_floating_point(torch.arange(2))
    (True, False)
    """
    return require_tensor(input, "is_floating_point").dtype.is_floating_point


@public(methods="=")
def is_complex(input: Tensor) -> bool:
    """True for a complex dtype.

    >>> import pellucid as torch
    >>> torch.is_complex(torch.tensor([1j])), torch.is_complex(torch.tensor([1.0]))
    (True, False)
    """
    return require_tensor(input, "is_complex").dtype.is_complex


@public(methods="=")
def is_signed(input: Tensor) -> bool:
    """True when the dtype holds negative numbers.

    >>> import pellucid as torch
    >>> torch.is_signed(torch.tensor([1])), torch.is_signed(torch.tensor([1], dtype=torch.uint8))
    (True, False)
    """
    return require_tensor(input, "is_signed").dtype.is_signed


@public(methods="=")
def is_conj(input: Tensor) -> bool:
    """False: conjugation is computed at once here, never deferred.

    >>> import pellucid as torch
    >>> torch.is_conj(torch.tensor([1j]).conj())
    False
    """
    require_tensor(input, "is_conj")
    return False


@public(methods="=")
def is_neg(input: Tensor) -> bool:
    """False: negation is computed at once here, never deferred.

    >>> import pellucid as torch
    >>> torch.is_neg(torch.tensor([-1.0]))
    False
    """
    require_tensor(input, "is_neg")
    return False


@public()
def is_tensor(obj: Any) -> bool:
    """Test whether an object is a Tensor.

    >>> import pellucid as torch
    >>> torch.is_tensor(torch.zeros(2)), torch.is_tensor([0.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


@public(methods="=")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """True when two tensors have the same shape.

    >>> import pellucid as torch
    >>> torch.is_same_size(torch.ones(2, 3), torch.zeros(2, 3))
    True
    """
    return (
        require_tensor(input, "is_same_size")._array.shape
        == require_tensor(other, "is_same_size", "other", 2)._array.shape
    )


# ---- where ------------------------------------------------------------------------------------
def _where_aval(condition: Any, input: Any, other: Any) -> Any:
    from ...shapes import broadcast_shapes

    return broadcast_shapes(condition[0], input[0], other[0]), input[1]


def _where_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shapes in (((3, 4),) * 3, ((2, 1, 3), (4, 1), ()), ((0, 2), (2,), (0, 1))):
        yield Sample(
            (draw(rng, shapes[0], "bool"), draw(rng, shapes[1], REAL), draw(rng, shapes[2], REAL))
        )


_PLAIN = (float, int)


def _where_call(plain: Any) -> Any:
    def call(condition: Any, input: Any, other: Any) -> Tensor:
        """Gradient rules give numbers as branches, and conditions of any shape."""
        if (
            isinstance(input, Tensor)
            and type(other) in _PLAIN
            and input._array.dtype.char in "fdeE"
        ):
            other = wrap(scalar_array(other, input._array.dtype))
        elif (
            isinstance(other, Tensor)
            and type(input) in _PLAIN
            and other._array.dtype.char in "fdeE"
        ):
            input = wrap(scalar_array(input, other._array.dtype))
        elif (
            not isinstance(input, Tensor)
            or not isinstance(other, Tensor)
            or input._array.dtype is not other._array.dtype
        ):
            kind = common_dtype([input, other]).numpy
            input = (
                F.cast(input, dtype=kind)
                if isinstance(input, Tensor)
                else wrap(scalar_array(input, kind))
            )
            other = (
                F.cast(other, dtype=kind)
                if isinstance(other, Tensor)
                else wrap(scalar_array(other, kind))
            )
        return plain(condition, input, other)

    return call


def _where_by_aten(A: Any, condition: Any, input: Any, other: Any) -> Any:
    kind = next((x.dtype for x in (input, other) if isinstance(x, Tensor)), None)
    return A.where.self(
        condition,
        *[x if isinstance(x, Tensor) else A.scalar_tensor(x, dtype=kind) for x in (input, other)],
    )


where_op = defop(
    "where",
    "condition input other",
    forward="where",
    aval=_where_aval,
    vjp={
        "input": lambda F, g, condition: F.where(condition, g, 0),
        "other": lambda F, g, condition: F.where(condition, 0, g),
    },
    elementwise=True,
    traits="masks",
    onnx="Where",
    samples=_where_samples,
    call=_where_call,
    aten=_where_by_aten,
    overload="where.self",
)


@public()
def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """Choose elements: those of `input` where the condition is true, otherwise those of `other`.

    Args:
        condition: a bool tensor. If it is the only argument, the result is its true positions, as
            `nonzero(as_tuple=True)` returns them.
        input, other: tensors or numbers that broadcast; they are promoted to a common dtype.
        out: the tensor to write the result to.

    >>> import pellucid as torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if out is not None:
        return _where_into(out, condition, input, other)
    if isinstance(condition, Tensor) and isinstance(input, Tensor) and isinstance(other, Tensor):
        # fast path
        if condition._array.dtype.kind == "b" and input._array.dtype is other._array.dtype:
            return where_op.plain(condition, input, other)
    if input is None and other is None:
        require_tensor(condition, "where", "condition")
        true = tracing.seen(condition._array, "the shapes of where(condition) depend on values")
        return tuple(wrap(i.astype(np.int64)) for i in np.nonzero(np.atleast_1d(true)))
    if not (
        isinstance(condition, Tensor)
        and isinstance(input, OPERANDS)
        and isinstance(other, OPERANDS)
    ):
        raise mismatch("where", *[v for v in (condition, input, other) if v is not None])
    kind = condition._array.dtype.kind
    if kind != "b":
        if condition.dtype is not dtypes.uint8:
            raise DtypeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype.scalar_type_name}",
                hint="compare first, as in condition > 0, or convert: condition.bool()",
            )
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of PyTorch. "
            "Use a boolean condition instead."
        )
        condition = condition != 0
    input, other = dtypes.as_python_number(input), dtypes.as_python_number(other)
    return where_op.call(condition, input, other)


def _where_into(out: Any, condition: Any, input: Any, other: Any) -> Tensor:
    given = (condition, input, other)
    for position, (name, value) in enumerate(
        zip(("condition", "input", "other"), given, strict=True), start=1
    ):
        require_tensor(value, "where", name, position)
    refusals.has_out("where", out, given)
    check_out(out, given)
    result = where(*given)
    if isinstance(out, Tensor) and out.dtype is not result.dtype:
        raise DtypeError(
            f"Expected out type to be {result.dtype.scalar_type_name} but got {out.dtype.scalar_type_name}"
        )
    return into(out, result, "where")


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Return `torch.where(condition, self, other)`."""
    return where(condition, self, other)


METHODS["where"] = _where_method
