"""Element-wise minima and maxima, clamping, and the Heaviside step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays.formulas import with_few
from ...core.bind import NUMBERS, common_dtype
from ...core.display.refusals import Asked
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...dtypes import can_cast
from ...errors import ArgumentTypeError, DtypeError, OperationError, UnsupportedError, type_name
from ...ir.formula import Formula
from ...shapes import broadcast_shapes
from .._numbers import fitting
from .._rules import before_writing, require_tensor
from .._samples import REAL, Sample, draw, elementwise
from ._unary import binary
from .basic import refused_derivative


def _refuse_complex(name: str) -> Any:
    def check(*arrays: Any, **params: Any) -> None:
        if any(
            a.dtype.kind in "cW" if hasattr(a, "dtype") else isinstance(a, complex) for a in arrays
        ):
            raise OperationError(f"{name} not implemented for complex tensors.")

    return check


def _larger(a: Any, b: Any) -> Any:
    return a > b


def _smaller(a: Any, b: Any) -> Any:
    return a < b


def _share(mine: str, wins: Any) -> Any:
    """Return the gradient rule of a maximum (`wins` is `>`) or minimum for the argument `mine`.
    Equal arguments get half each.
    """
    if mine == "input":
        return lambda F, g, input, other: F.where(
            wins(other, input), 0, F.where(input == other, g / 2, g)
        )
    return lambda F, g, input, other: F.where(
        wins(input, other), 0, F.where(input == other, g / 2, g)
    )


def _extremum(name: str, wins: Any, doc: str, shows: str, onnx: Any) -> None:
    binary(
        name,
        name,
        {"input": _share("input", wins), "other": _share("other", wins)},
        inplace=False,
        doc=f"The {doc} of two elements, or NaN if one of them is NaN.",
        example=f"torch.{name}(torch.tensor([1.0, 5.0]), torch.tensor([3.0, 2.0]))",
        shows=shows,
        check=_refuse_complex(name),
        traits="chooses",
        onnx=onnx,
    )


def _onnx_number_extremum(c: Any, op: str) -> Any:
    if c.dtype.kind != "f":
        return c.emit(op, *c.names)
    chosen = c.emit(op, *c.names)
    return c.emit(
        "Where", c.emit("IsNaN", c[0]), c[1], c.emit("Where", c.emit("IsNaN", c[1]), c[0], chosen)
    )


def _number_extremum(name: str, wins: Any, doc: str, shows: str) -> None:
    def first(input: Any, other: Any, F: Any) -> Any:
        """Where the first argument is the result: it wins ties."""
        return wins(input, other) | (input == other) | F.isnan(other)

    binary(
        name,
        name,
        {
            "input": lambda F, g, input, other: F.where(first(input, other, F), g, 0),
            "other": lambda F, g, input, other: F.where(first(input, other, F), 0, g),
        },
        inplace=False,
        doc=f"The {doc} of two elements; a number wins over NaN.",
        example=f"torch.{name}(torch.tensor([1.0, float('nan')]), torch.tensor([3.0, 2.0]))",
        shows=shows,
        check=_refuse_complex(name),
        traits="chooses",
        onnx=lambda c: _onnx_number_extremum(c, "Max" if name == "fmax" else "Min"),
    )


_extremum("maximum", _larger, "larger", "tensor([3., 5.])", onnx="Max")
_extremum("minimum", _smaller, "smaller", "tensor([1., 2.])", onnx="Min")
_number_extremum("fmax", _larger, "larger", "tensor([3., 2.])")
_number_extremum("fmin", _smaller, "smaller", "tensor([1., 2.])")


# ---- clamp ------------------------------------------------------------------------------------
def _clamp(xp: Any, x: Any, *, min: Any, max: Any) -> Any:
    if x.dtype.kind in "cW":
        raise UnsupportedError("clamp is not supported for complex types")
    return xp.clip_numbers(x, min, max)


def _limited(m: Any, x: Any, low: Any, high: Any) -> Any:
    if low is not None:
        x = m.maximum(low, x)  # returns the second of equals, so that -0.0 stays
    return x if high is None else m.minimum(high, x)


def _inside(input: Any, min: Any, max: Any) -> Any:
    if min is None:
        return input <= max
    return input >= min if max is None else (input >= min) & (input <= max)


clamp_op = defop(
    "clamp",
    "input",
    forward=with_few("between", _clamp),
    formula=Formula(lambda m, x, *, min, max: _limited(m, x, min, max), "fhi"),
    vjp={"input": lambda F, g, input, min, max: F.where(_inside(input, min, max), g, 0)},
    jvp="elementwise",
    elementwise=True,
    grad_name="ClampBackward1",
    traits="saturates",
    onnx=lambda c: c.clipped(c.p["min"], c.p["max"]),
    samples=elementwise(
        REAL,
        params=({"min": -0.5, "max": 0.7}, {"min": None, "max": 0.5}, {"min": 0.0, "max": None}),
    ),
)


def _low_gradient(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    return F.where(input < min if max is None else (input < min) & (min < max), g, 0)


def _high_gradient(F: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    return F.where(input > max if min is None else (input > max) | (max < min), g, 0)


def _clamp_aval(input: Any, min: Any, max: Any) -> Any:
    return broadcast_shapes(*[a[0] for a in (input, min, max) if a is not None]), input[1]


def _clamp_samples(rng: np.random.Generator) -> Iterator[Sample]:
    x, low, high = (draw(rng, shape, REAL) for shape in ((3, 4), (4,), (3, 1)))
    for args in ((x, low, high), (x, None, high), (x, low, None), (draw(rng, (), REAL), low, None)):
        yield Sample(args)


def _onnx_clamp_tensor(c: Any) -> Any:
    out = c.emit("Max", c[0], c[1]) if c.has(1) else c[0]
    return c.emit("Min", out, c[2]) if c.has(2) else out


def _clamp_face(node: Any) -> Any:
    """Return PyTorch's name and edges: `clamp_min` and `clamp_max` have no edge for the bound that
    they do not take.
    """
    name = type(node).__name__
    return "ClampBackward0", (0, 1) if name.startswith("ClampMin") else (0, 2) if name.startswith(
        "ClampMax"
    ) else (0, 1, 2)


clamp_tensor_op = defop(
    "clamp_tensor",
    "input min? max?",
    forward=_limited,
    overload="clamp.Tensor",
    formula=Formula(_limited, "fhib"),
    aval=_clamp_aval,
    vjp={
        "input": lambda F, g, input, min, max: F.where(_inside(input, min, max), g, 0),
        "min": _low_gradient,
        "max": _high_gradient,
    },
    promote="common",
    elementwise=True,
    grad_name="Clamp",
    variant=_clamp_face,
    check=_refuse_complex("clamp"),
    traits="saturates",
    title="clamp",
    onnx=_onnx_clamp_tensor,
    samples=_clamp_samples,
)


_REALS = frozenset([int, float])


def _clamp_any(name: str, input: Tensor, min: Any, max: Any) -> Tensor:
    low = type(min) in _REALS and -3e38 < min < 3e38
    high = type(max) in _REALS and -3e38 < max < 3e38
    if require_tensor(input, name)._array.dtype.char in "fd" and (
        low and (high or max is None) or high and min is None
    ):
        return clamp_op.call(
            input, min=float(min) if low else None, max=float(max) if high else None
        )
    if min is None and max is None:
        raise OperationError("torch.clamp: At least one of 'min' or 'max' must not be None")
    low, high = isinstance(min, Tensor), isinstance(max, Tensor)
    if input.dtype.is_complex and (name == "clamp" or not low and not high):
        raise UnsupportedError("clamp is not supported for complex types")
    if low or high:
        kind = common_dtype([x for x in (input, min, max) if isinstance(x, Tensor)])
        if kind.is_complex or low and high and kind is dtypes.bool_:
            kernel = "clamp_cpu" if low and high else "maximum_cpu" if low else "minimum_cpu"
            raise UnsupportedError(f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'")
    else:
        for word, value in (("min", min), ("max", max)):
            if value is not None and not isinstance(value, NUMBERS):
                raise ArgumentTypeError(
                    f"{name}(): argument '{word}' must be Number, not {type_name(value)}"
                )
        min, max = dtypes.as_python_number(min), dtypes.as_python_number(max)
        if isinstance(min, complex) or isinstance(max, complex):
            if name != "clamp" or not input.dtype.is_floating_point:
                raise UnsupportedError("clamp is not supported for complex types")
            raise OperationError("value cannot be converted to type double without overflow")
        if not input.dtype.is_floating_point:
            wide = common_dtype([x for x in (input, min, max) if x is not None]).numpy
            input = F.cast(input, dtype=wide) if wide != input._array.dtype else input
            if wide == np.bool_:
                one = "" if min is not None is not max else "min_" if max is None else "max_"
                raise UnsupportedError(f"\"clamp_{one}scalar_cpu\" not implemented for 'Bool'")
        min, max = (None if v is None else fitting(v, input.dtype) for v in (min, max))
        return clamp_op.call(input, min=min, max=max)
    return clamp_tensor_op.call(input, min, max)


@public(names="clamp clip", methods="=", inplace="=", out="numbers: found")
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit the elements to a range: those below `min` become `min`, and those above `max` become
    `max`.

    Args:
        input: any shape, a real dtype.
        min, max: numbers, or tensors that broadcast with `input`. You may leave one of them out.

    Raises:
        RuntimeError: neither `min` nor `max` is given.

    >>> import pellucid as torch
    >>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), min=0, max=1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _clamp_any("clamp", input, min, max)


@public(methods="=", inplace="=", out="numbers: found")
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Elements below `min` become `min`.

    >>> import pellucid as torch
    >>> torch.clamp_min(torch.tensor([-1.0, 2.0]), 0)
    tensor([0., 2.])
    """
    return titled(
        _clamp_any("clamp_min", input, min, None), f"ClampMinBackward{int(isinstance(min, Tensor))}"
    )


@public(methods="=", inplace="=", out="numbers: found")
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Elements above `max` become `max`.

    >>> import pellucid as torch
    >>> torch.clamp_max(torch.tensor([-1.0, 2.0]), 0)
    tensor([-1.,  0.])
    """
    return titled(
        _clamp_any("clamp_max", input, None, max), f"ClampMaxBackward{int(isinstance(max, Tensor))}"
    )


def _holds_limits(self: Tensor, *args: Any, **kwargs: Any) -> None:
    limits = [x for x in (*args, *kwargs.values()) if x is not None]
    numbers = all(isinstance(x, (int, float)) for x in limits)
    if limits and (numbers or all(isinstance(x, Tensor) for x in limits)):
        sizes = [x._array.shape for x in (self, *limits) if isinstance(x, Tensor)]
        if broadcast_shapes(*sizes) != self._array.shape:
            return  # shapes are refused elsewhere, before dtypes
        made, own = common_dtype([self, *limits]), self.dtype
        if not can_cast(made, own) and not own.is_complex:
            name = own.c_name if numbers else own.scalar_type_name
            raise DtypeError(
                f"result type {made.scalar_type_name} can't be cast to the desired output type {name}"
            )


for _name in ("clamp_", "clip_", "clamp_min_", "clamp_max_"):
    before_writing(_name, _holds_limits)


# ---- heaviside --------------------------------------------------------------------------------
heaviside_op = defop(
    "heaviside",
    "input values",
    forward="heaviside",
    vjp=dict.fromkeys(("input", "values"), lambda F: refused_derivative("aten::heaviside")),
    elementwise=True,
    traits="steps",
    samples=elementwise(REAL, REAL, constant=(0, 1)),
)


def _heaviside_written(out: Tensor, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    if out.dtype.is_complex:
        raise DtypeError(_NOT_COMPLEX)
    return {}


_NOT_COMPLEX = "heaviside is not yet implemented for complex tensors."
_MIXED = "heaviside is not yet implemented for tensors with different dtypes."


@public(methods="=", inplace="=", out=Asked(_MIXED, _heaviside_written))
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 for negative elements, 1 for positive ones, `values` at zero.

    >>> import pellucid as torch
    >>> torch.heaviside(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    require_tensor(input, "heaviside")
    require_tensor(values, "heaviside", "values", 2)
    if input.dtype.is_complex or values.dtype.is_complex:
        raise DtypeError(_NOT_COMPLEX)
    if input.dtype is not values.dtype:
        raise DtypeError(_MIXED)
    return heaviside_op.call(input, values)


# Limits given as numbers, used by rules of other operations.
clamp_min_number = defop(
    "clamp_min_number",
    "input",
    formula=Formula(lambda m, x, *, low: m.maximum(low, x), "fhib"),
    vjp={"input": lambda g, input, low: g * (input >= low)},
    elementwise=True,
    traits="saturates",
    title="clamp",
    onnx=lambda c: c.emit("Max", c[0], c.number(c.p["low"])),
    aten=lambda A, x, *, low: A.clamp_min(x, low),
    samples=elementwise(REAL, params=({"low": 0.5},)),
)

defop(
    "minimum_number",
    "input",
    formula=Formula(lambda m, x, *, high: m.minimum(high, x), "fhib"),
    vjp={"input": lambda g, input, high: g * (input < high)},
    elementwise=True,
    aval=lambda x, high: x,
    title="minimum",
    onnx=lambda c: c.emit("Min", c[0], c.number(c.p["high"])),
    aten=lambda A, x, *, high: A.clamp_max(x, high),
    samples=elementwise(REAL, params=({"high": 0.5},)),
)
