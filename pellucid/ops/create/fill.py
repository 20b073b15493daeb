"""Filling tensors in place: `fill_`, `zero_`, `fill_diagonal_`, and Python functions applied to
each element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import numpy_fast
from ...arrays.numpy_cpu import apart, overlaps_itself
from ...core.bind import NUMBERS
from ...core.inplace import bump, check_writable, is_written_directly, overwrite, write
from ...core.modes import local
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, method, public
from ...core.tape import Node, named_type, titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...dtypes import BY_NUMPY
from ...errors import ArgumentTypeError, GraphError, OperationError, type_name
from ...ir import Value
from .._numbers import fitting, number_array
from .._rules import require_tensor
from .._samples import REAL, Sample, draw


def _fill_array(xp: Any, x: Any, value: Any) -> Any:
    return xp.full_like(x, value)


def _fill_into(xp: Any, out: Any, value: Any) -> None:
    xp.fill(out, value)


def _fill_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((3, 4), (), (0, 2)):
        yield Sample((draw(rng, shape, REAL), draw(rng, (), REAL)))


def _expand_fill(e: Any, x: Any) -> bool:
    """A number that lies in memory, read at each place."""
    value = e.i.inputs[1]
    if not isinstance(value, Value) or value.shape or value.dtype != x.dtype:
        return False
    e.give("clone", replace(value, shape=x.shape, strides=(0,) * len(x.shape)))
    return True


fill_op = defop(
    "fill",
    "input value?",
    variant=lambda n: (
        "FillBackward0" if len(n.inputs) < 2 or n.inputs[1] is None else "FillBackward1",
        (0, 1)
        if type(n).__name__ == "FillBackward3"
        else tuple(k for k, e in enumerate(n.inputs) if k == 0 or e is not None),
    ),
    forward=_fill_array,
    inplace=_fill_into,
    expand=_expand_fill,
    aval=lambda x, value: x,
    vjp={
        "input": lambda F, input_shape, input_dtype: F.full(
            shape=input_shape, value=0, dtype=input_dtype
        ),
        "value": lambda F, g: F.sum_to(g, shape=()),
    },
    batch=lambda b: b.call(*b.values) if b.first_only else None,
    traits="masks overwrites",
    onnx=lambda c: c.emit("Expand", c[1], c.emit("Shape", c[0])),
    samples=_fill_samples,
)


def _fill_value(input: Tensor, value: Any) -> Tensor:
    require_tensor(input, "fill")
    if isinstance(value, Tensor):
        if value.ndim:
            raise OperationError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return (
            F.cast(value, dtype=input._array.dtype)
            if value._array.dtype != input._array.dtype
            else value
        )
    if not isinstance(value, NUMBERS):
        raise ArgumentTypeError(
            f"fill_(): argument 'value' (position 1) must be Number, not {type_name(value)}"
        )
    return make_tensor(number_array(value, input._array.dtype))


@public()
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor like `input` with all elements equal to `value` (a number or 0-d tensor).

    >>> import pellucid as torch
    >>> torch.fill(torch.zeros(2), 3)
    tensor([3., 3.])
    """
    return fill_op.call(input, _fill_value(input, value))


@method()
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set all elements to `value`, a number or a 0-d tensor; returns the tensor.

    >>> import pellucid as torch
    >>> torch.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    a = self._array
    if type(value) in (float, int, bool) and is_written_directly(self):
        numpy_fast.fill(a, fitting(value, BY_NUMPY[a.dtype]))
        bump(self, "fill_")
        return self
    # Of an expanded tensor, write each element in memory once.
    if (
        type(a) is np.ndarray
        and not (self._rg and local.grad or isinstance(value, Tensor))
        and overlaps_itself(a)
    ):
        part = self[tuple(slice(0, 1) if step == 0 else slice(None) for step in a.strides)]
        write(part, "fill_", fill_op, (_fill_value(part, value),), {})
        return self
    made = write(self, "fill_", fill_op, (_fill_value(self, value),), {})
    if self._view is None and isinstance(made._node, Node) and made._node.op is fill_op:
        made._node.__class__ = named_type(f"FillBackward{3 if isinstance(value, Tensor) else 2}")
    return made


@method()
def zero_(self: Tensor) -> Tensor:
    """Set all elements to zero; returns the tensor.

    >>> import pellucid as torch
    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    if is_written_directly(self):
        a = self._array
        if a.size >= numpy_fast.MANY or a.dtype.kind in "cW":
            numpy_fast.fill(a, 0)
        elif (size := a.dtype.itemsize) == 1 or size == 2 and a.size > 256:
            a.view(f"u{size}").fill(0)  # the number 0 is NaN in float8_e8m0fnu
        else:
            a.fill(0)
        bump(self, "zero_")
        return self
    made = fill_(self, 0)
    # without gradients, do not touch `grad_fn`: a view that the write made stale has none to ask
    if not local.grad:
        return made
    node = made.grad_fn
    return titled(made, "Zero") if node is not None and node.name() == "FillBackward2" else made


@method()
def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Set the diagonal to a number; returns the tensor.

    Args:
        fill_value: the number.
        wrap: in a tall matrix, begin the diagonal anew below each square block.

    Raises:
        RuntimeError: fewer than 2 dimensions, or more than 2 of unequal sizes.

    >>> import pellucid as torch
    >>> torch.zeros(2, 2).fill_diagonal_(1)
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape = self._array.shape
    if len(shape) < 2:
        raise OperationError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise OperationError("all dimensions of input must be of equal length")
    mask = np.zeros(shape, bool)
    if mask.size:
        step = sum(int(np.prod(shape[d + 1 :])) for d in range(len(shape)))
        last = mask.size if wrap or len(shape) > 2 else min(mask.size, shape[1] * shape[1])
        mask.reshape(-1)[:last:step] = True
    # PyTorch writes to a view of the diagonal, so its message speaks of a view
    check_writable(self[:0] if self._rg and local.grad else self, "fill_diagonal_")
    a = self._array
    if mask.size and not apart(a):
        # the whole cannot be written, but the diagonal may lie in memory once
        line, rows = self, min(shape)
        while line.ndim > 1:
            line = line.diagonal(0, 0, -1)
        line.fill_(fill_value)
        if last > rows * step:  # of the rows that follow, as far as such steps reach
            place = self.storage_offset() + self.stride(0) * (shape[1] + 1)
            rest = -(-last // step) - rows
            self.as_strided((rest,), line.stride(), place).fill_(fill_value)
        return self
    return overwrite(
        self,
        titled(
            F.where(make_tensor(constant(mask)), _fill_value(self, fill_value), self),
            "Where",
            of=(self,),
        ),
        "fill_diagonal_",
    )


# ---- Python functions on each element ---------------------------------------------------------
def _apply(
    self: Tensor, name: str, function: Callable[..., Any], others: tuple[Any, ...]
) -> Tensor:
    names = ("'other'",) if len(others) < 2 else ("argument 'x'", "argument 'y'")
    given = [
        require_tensor(other, name, "other", position)
        for position, other in enumerate(others, start=1)
    ]
    if self._rg or any(other._rg for other in given):
        raise GraphError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )
    for argument, other in zip(names, given, strict=False):
        if other.dtype is not self.dtype:
            raise ArgumentTypeError(
                f"{name}: expected {self.dtype.cpu_name} for {argument} (got {other.dtype.cpu_name})"
            )
    arrays = [other.expand(self._array.shape)._array.ravel().tolist() for other in given]
    made = [function(*values) for values in zip(self._array.ravel().tolist(), *arrays, strict=True)]
    if not self.dtype.is_floating_point:
        made = [
            fitting(value, self.dtype) if isinstance(value, (int, float, complex)) else value
            for value in made
        ]
    wrong = next((value for value in made if isinstance(value, (str, bytes))), None)
    if wrong is not None:  # NumPy would parse the string as a number
        kind = type(wrong).__name__
        raise ArgumentTypeError(
            f"must be real number, not {kind}"
            if self.dtype.is_floating_point
            else f"'{kind}' object cannot be interpreted as an integer"
        )
    return overwrite(
        self, make_tensor(np.array(made, self._array.dtype).reshape(self._array.shape)), name
    )


@method()
def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by `callable(element)`, a Python call for each: slow.

    >>> import pellucid as torch
    >>> torch.tensor([1.0, 2.0]).apply_(lambda v: v * v)
    tensor([1., 4.])
    """
    return _apply(self, "apply_", callable, ())


@method()
def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, element of tensor)`, a Python call for each: slow.

    >>> import pellucid as torch
    >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 5.0]), lambda a, b: a * b)
    tensor([ 3., 10.])
    """
    return _apply(self, "map_", callable, (tensor,))


@method()
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by `callable(element, element of x, element of y)`, a Python call for
    each: slow.

    >>> import pellucid as torch
    >>> x, y = torch.tensor([3.0, 5.0]), torch.tensor([10.0, 20.0])
    >>> torch.tensor([1.0, 2.0]).map2_(x, y, lambda a, b, c: a * b + c)
    tensor([13., 30.])
    """
    return _apply(self, "map2_", callable, (x, y))


FUNCTIONS["torch"]["fill_"], FUNCTIONS["torch"]["zero_"] = fill_, zero_
