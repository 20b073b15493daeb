"""Complex numbers: their parts, conjugates and angles, and views as pairs of real numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import dtypes
from ...arrays import halves as parts
from ...arrays.numpy_cpu import element_offset
from ...core.inplace import into
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.public import FUNCTIONS, public, tensor_property
from ...core.tape import titled, value_at
from ...core.tensor import Tensor
from ...core.transforms.arranging import become, node_before
from ...core.transforms.whole import one_node
from ...errors import DtypeError, ShapeError, UnsupportedError
from ...ir.formula import Formula
from .._rules import full_precision, require_tensor
from .._samples import REAL, Sample, draw, elementwise
from ._unary import unary


def _real_kind(kind: np.dtype[Any]) -> np.dtype[Any]:
    return kind if kind.kind not in "cW" else np.dtype(f"f{kind.itemsize // 2}")


def _complex_kind(kind: np.dtype[Any]) -> np.dtype[Any]:
    return dtypes.BY_NUMPY[kind].to_complex().numpy


# ---- parts ------------------------------------------------------------------------------------
def real(input: Tensor) -> Tensor:
    """The real part, a view of the tensor; a real tensor is returned as it is.

    >>> import pellucid as torch
    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return F.real(input) if require_tensor(input, "real").dtype.is_complex else input


def _complex_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((3, 4), (), (0, 2)):
        yield Sample((draw(rng, shape, REAL, "complex"),))


def part_nodes(index: int) -> Callable[[Any], tuple[Any, ...]]:
    """The `nodes` of a part: PyTorch selects it from the view as pairs."""

    def nodes(node: Any) -> tuple[Any, ...]:
        if value_at(node.inputs[0])[1].kind not in "cW":
            return (node,)
        shape = (*node.shape, 2)
        pairs = node_before(node, "view_as_real", node.inputs[0], shape, 0.125)
        pairs.dtype = node.dtype
        become(node, "select", (pairs,), node.shape, node.dtype, dim=len(node.shape), index=index)
        return (pairs,)

    return nodes


def _real(xp: Any, x: Any) -> Any:
    return parts.real(x) if x.dtype.kind in "cW" else x


real_op = defop(
    "real",
    "input",
    forward=_real,
    view=True,
    nodes=part_nodes(0),
    grad_name="Select",
    aval=lambda x: (x[0], _real_kind(x[1])),
    vjp={"input": lambda F, g, input_dtype: F.cast(g, dtype=input_dtype)},
    jvp="linear",
    batch="elementwise",
    samples=elementwise(REAL, complex=True),
)
imag_op = defop(
    "imag",
    "input",
    forward=lambda xp, x: parts.imag(x),
    view=True,
    nodes=part_nodes(1),
    grad_name="Select",
    aval=lambda x: (x[0], _real_kind(x[1])),
    vjp={"input": lambda g: g * 1j},
    jvp="linear",
    batch="elementwise",
    samples=_complex_samples,
)


def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view of the tensor.

    Raises:
        RuntimeError: a real tensor has none.

    >>> import pellucid as torch
    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not require_tensor(input, "imag").dtype.is_complex:
        raise DtypeError("imag is not implemented for tensors with non-complex dtypes.")
    return imag_op.call(input)


FUNCTIONS["torch"].update(real=real, imag=imag)
tensor_property(real)
tensor_property(imag)


def _put_real(self: Tensor, value: Any) -> None:
    _write(real(self), value)


def _put_imag(self: Tensor, value: Any) -> None:
    _write(imag(self), value)


def _write(part: Any, value: Any) -> None:
    """Write to a part through its view."""
    if isinstance(value, Tensor):
        part.copy_(value)
    else:
        part[...] = value


real.setter, imag.setter = _put_real, _put_imag  # type: ignore[attr-defined]


# ---- conjugates -------------------------------------------------------------------------------
@public(methods="=")
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is returned as it is.

    >>> import pellucid as torch
    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return F.conj(require_tensor(input, "conj"))


@public(methods="=", inplace="=", out="found")
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate, computed at once (as `conj` is here, too).

    >>> import pellucid as torch
    >>> torch.conj_physical(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return F.conj(require_tensor(input, "conj_physical"))


@public(methods="=")
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugation is never left pending here.

    >>> import pellucid as torch
    >>> torch.resolve_conj(torch.tensor([1 + 2j]).conj())
    tensor([1.-2.j])
    """
    return require_tensor(input, "resolve_conj")


@public(methods="=")
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negation is never left pending here.

    >>> import pellucid as torch
    >>> torch.resolve_neg(torch.tensor([1 + 2j]).conj().imag)
    tensor([-2.])
    """
    return require_tensor(input, "resolve_neg")


# ---- making and taking apart ------------------------------------------------------------------
make_complex = defop(
    "complex",
    "real imag",
    forward="make_complex",
    aval=lambda re, im: (_broadcast(re[0], im[0]), _complex_kind(re[1])),
    vjp={"real": lambda F, g: F.real(g), "imag": lambda F, g: F.imag(g)},
    packs="imag real",
    elementwise=True,
    samples=elementwise(REAL, REAL),
)


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    from ...shapes import broadcast_shapes

    return broadcast_shapes(*shapes)


def _check_parts(a: Tensor, b: Tensor) -> None:
    allowed = (dtypes.float16, dtypes.float32, dtypes.float64)
    if a.dtype not in allowed or b.dtype not in allowed:
        raise DtypeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{a.dtype.scalar_type_name} and {b.dtype.scalar_type_name}"
        )
    if a.dtype is not b.dtype:
        raise DtypeError(
            f"Expected object of scalar type {a.dtype.scalar_type_name} but got scalar type {b.dtype.scalar_type_name} "
            "for second argument"
        )


def _deliver(result: Tensor, out: Tensor | None, name: str) -> Tensor:
    if out is not None and isinstance(out, Tensor) and out.dtype is not result.dtype:
        raise DtypeError(
            f"Expected object of scalar type {result.dtype.scalar_type_name} but got scalar type "
            f"{out.dtype.scalar_type_name} for argument 'out'"
        )
    return result if out is None else into(out, result, name)


@public()
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`real + i imag`.

    Args:
        real, imag: tensors of one floating-point dtype whose shapes broadcast.

    >>> import pellucid as torch
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([1.+2.j])
    """
    _check_parts(
        require_tensor(real, "complex", "real"), require_tensor(imag, "complex", "imag", 2)
    )
    return _deliver(make_complex.call(real, imag), out, "complex")


@public()
@full_precision
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`abs * exp(i angle)`.

    Args:
        abs, angle: tensors of one floating-point dtype whose shapes broadcast.

    >>> import pellucid as torch
    >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor([2.+0.j])
    """
    _check_parts(require_tensor(abs, "polar", "abs"), require_tensor(angle, "polar", "angle", 2))
    if abs.dtype is dtypes.float16:
        raise UnsupportedError("\"polar_cpu\" not implemented for 'Half'")
    return _deliver(_polar(abs, angle), out, "polar")


def _polar_gradients(g: Any, out: Any) -> tuple[Any, Any]:
    turned = F.conj(g)
    return F.real(turned * out.sgn()), F.real(turned * (out * 1j))


@one_node("Polar", "abs angle", "out", _polar_gradients)
def _polar(abs: Tensor, angle: Tensor) -> Tensor:
    made = make_complex.call(F.mul(abs, F.cos(angle)), F.mul(abs, F.sin(angle)))
    return titled(made, "Polar", of=(abs, angle))


def _view_as_real(xp: Any, x: Any) -> Any:
    part = parts.real(x)
    step = part.itemsize
    return xp.lib.stride_tricks.as_strided(part, (*x.shape, 2), (*x.strides, step))


view_as_real_op = defop(
    "view_as_real",
    "input",
    forward=_view_as_real,
    view=True,
    aval=lambda x: ((*x[0], 2), _real_kind(x[1])),
    vjp={"input": lambda F, g: F.complex(g[..., 0], g[..., 1])},
    jvp="linear",
    batch="leading",
    samples=_complex_samples,
)


@public()
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor seen as real, with a last dimension of 2: real and imaginary part.

    Raises:
        RuntimeError: the tensor is not complex.

    >>> import pellucid as torch
    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    if not require_tensor(input, "view_as_real").dtype.is_complex:
        raise DtypeError("view_as_real is only supported for complex tensors")
    return view_as_real_op.call(input)


def _view_as_complex(xp: Any, x: Any) -> Any:
    kind = _complex_kind(x.dtype)
    return (x.view(kind) if x.size else x.astype(kind))[..., 0]


def _check_view_as_complex(x: Any) -> None:
    if x.ndim == 0:
        raise ShapeError("Input tensor must have one or more dimensions")
    if x.shape[-1] != 2:
        raise ShapeError("Tensor must have a last dimension of size 2")
    if x.size == 0:
        return
    steps = [s // x.itemsize for s in x.strides]
    if steps[-1] != 1:
        raise ShapeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in steps[:-1]):
        raise ShapeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if element_offset(x) % 2:
        raise ShapeError("Tensor must have a storage_offset divisible by 2")


def _pair_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((3, 2), (2,), (0, 2)):
        yield Sample((draw(rng, shape, REAL),))
    yield Sample((draw(rng, (), REAL),), error=RuntimeError)
    yield Sample((draw(rng, (4, 3), REAL),), error=RuntimeError)


view_as_complex_op = defop(
    "view_as_complex",
    "input",
    forward=_view_as_complex,
    view=True,
    aval=lambda x: (x[0][:-1], _complex_kind(x[1])),
    vjp={"input": lambda F, g: F.view_as_real(g)},
    jvp="linear",
    check=_check_view_as_complex,
    batch="leading",
    samples=_pair_samples,
)


@public()
@full_precision
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor whose last dimension is 2 seen as complex.

    Raises:
        RuntimeError: the last dimension is not 2, or its two elements are not side by side in
            memory.

    >>> import pellucid as torch
    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    require_tensor(input, "view_as_complex")
    if input.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
        raise DtypeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{input.dtype.scalar_type_name}"
        )
    _check_view_as_complex(input._array)
    return view_as_complex_op.call(input)


# ---- angle ------------------------------------------------------------------------------------
def _angle(xp: Any, x: Any) -> Any:
    if x.dtype.kind in "cW":
        return xp.arctan2(parts.imag(x), parts.real(x))
    zero = xp.zeros((), x.dtype)
    return xp.where(xp.isnan(x), x, xp.where(x < 0, xp.asarray(math.pi, x.dtype), zero))


def _angle_gradient(F: Any, g: Any, input: Any, input_shape: Any, input_dtype: Any) -> Any:
    if input_dtype.kind not in "cW":
        return F.full(shape=input_shape, value=0, dtype=input_dtype)
    size = F.real(input * F.conj(input))
    # avoid 0/0, which stays NaN if forward mode multiplies it by 0
    return g * F.where(size == 0, 0, input * 1j / size)


angle = unary(
    "angle",
    _angle,
    _angle_gradient,
    formula=Formula(lambda m, x: m.where(x < 0, math.pi, m.where(x >= 0, 0, x))),
    jvp=None,
    aval=lambda x: (x[0], _real_kind(x[1])),
    inplace=False,
    complex=True,
    doc="Angle of each complex number in radians; for real numbers 0, or pi below zero.",
    example="torch.angle(torch.tensor([1j, -1 + 0j]))",
    shows="tensor([1.5708, 3.1416])",
)
