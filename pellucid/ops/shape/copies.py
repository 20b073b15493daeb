"""Copies instead of views (`view_copy`, ...), and replacement of a part of a tensor
(`slice_scatter`, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import dtypes, shapes
from ...core.display import kept
from ...core.display.refusals import check_outs, out_rules
from ...core.inplace import into
from ...core.primitive import TENSORS as F
from ...core.public import FUNCTIONS, METHODS, public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...core.transforms.arranging import together
from ...errors import IndexOutOfRangeError, OperationError, ShapeError
from .._rules import require_tensor
from . import parts as view_parts
from . import storage as view_storage
from .broadcast import expand
from .squeeze import squeeze, unsqueeze
from .storage import contiguous_op
from .transpose import permute, t, transpose
from .view import alias_op, reshape, view


def _copy(x: Tensor) -> Tensor:
    return contiguous_op.call(x, order=None)


def _shown(node: Any) -> dict[str, Any]:
    return {w: k.value() for w, k in kept.words(node).items() if "sym" not in w}


def _copying(name: str, function: Callable[..., Any]) -> None:
    def copied(*args: Any, **named: Any) -> Any:
        made = function(*args, **named)
        of = next(x for x in (*args, *named.values()) if isinstance(x, Tensor))
        if isinstance(made, tuple):
            node = made[0].grad_fn if made else None
            copies = tuple(_copy(x) for x in made)
            if node is None:
                return copies
            given = [named["dim"]] if "dim" in named else args[1 + (name != "unbind_copy") :]
            shown = _shown(node) | {"dim": given[0] if given else 0}  # as the caller gave it
            return together(copies, f"{node.name()}_copy", of, **shown)
        node = made.grad_fn
        if node is None:
            return _copy(made)
        title = "NarrowCopy" if name == "narrow_copy" else f"{node.name()}_copy"
        return titled(_copy(made), title, of=(of,), **_shown(node))

    same = out_rules("same")

    def parts(*args: Any, out: Any = None, **named: Any) -> Any:
        made = copied(*args, **named)
        if out is None:
            return made
        if len(out) != len(made):
            raise OperationError(
                f"{_OUTS[name]} expected an out= argument of size {len(made)}, got size {len(out)}"
            )
        for target, part in zip(out, made, strict=True):
            if name == "split_copy":
                target.copy_(part)
            else:
                check_outs(name, same, target, part)
                into(target, part, name)
        return None  # PyTorch returns None, too

    several = name in ("split_copy", "split_with_sizes_copy", "unbind_copy")
    found = parts if several else copied
    found.__name__ = name
    found.__doc__ = (
        f"Like :func:`{name.removesuffix('_copy')}`, but returns a copy instead of a view.\n\n"
        f">>> import pellucid as torch\n>>> x = torch.arange(6.0).view(2, 3)\n{_EXAMPLES[name]}\n"
    )
    public(names=name, out=False if several else _OUT.get(name, "same"))(found)


_OUT = {
    "narrow_copy": "silent: Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be improved?  If so, "
    "please report an enhancement request to PyTorch.)"
}


# names in the refusals of `out=` for functions with several results
_OUTS = {
    "split_copy": "split_copy_Tensor_out()",
    "split_with_sizes_copy": "split_with_sizes_copy_out",
    "unbind_copy": "unbind_copy_int_out",
}


# examples of the docstrings, for x = [[0, 1, 2], [3, 4, 5]]
_EXAMPLES = {
    name: f">>> {call}\n{shown}"
    for name, call, shown in (
        ("view_copy", "torch.view_copy(x, (3, 2)).shape", "torch.Size([3, 2])"),
        ("permute_copy", "torch.permute_copy(x, (1, 0)).shape", "torch.Size([3, 2])"),
        ("transpose_copy", "torch.transpose_copy(x, 0, 1).is_contiguous()", "True"),
        ("t_copy", "torch.t_copy(x).is_contiguous()", "True"),
        ("squeeze_copy", "torch.squeeze_copy(x[:1]).shape", "torch.Size([3])"),
        ("unsqueeze_copy", "torch.unsqueeze_copy(x, 0).shape", "torch.Size([1, 2, 3])"),
        ("expand_copy", "torch.expand_copy(x[:1], (2, 3)).stride()", "(3, 1)"),
        ("alias_copy", "torch.alias_copy(x).data_ptr() == x.data_ptr()", "False"),
        ("detach_copy", "torch.detach_copy(x).data_ptr() == x.data_ptr()", "False"),
        ("select_copy", "torch.select_copy(x, 0, 1)", "tensor([3., 4., 5.])"),
        ("slice_copy", "torch.slice_copy(x, 0, 0, 1)", "tensor([[0., 1., 2.]])"),
        ("diagonal_copy", "torch.diagonal_copy(x)", "tensor([0., 4.])"),
        ("narrow_copy", "torch.narrow_copy(x, 0, 1, 1)", "tensor([[3., 4., 5.]])"),
        ("unfold_copy", "torch.unfold_copy(x, 1, 2, 1).shape", "torch.Size([2, 2, 2])"),
        ("as_strided_copy", "torch.as_strided_copy(x, (2,), (3,))", "tensor([0., 3.])"),
        (
            "split_copy",
            "[part.tolist() for part in torch.split_copy(x[0], 2)]",
            "[[0.0, 1.0], [2.0]]",
        ),
        (
            "split_with_sizes_copy",
            "[part.tolist() for part in torch.split_with_sizes_copy(x[0], [1, 2])]",
            "[[0.0], [1.0, 2.0]]",
        ),
        ("unbind_copy", "torch.unbind_copy(x)[1]", "tensor([3., 4., 5.])"),
        ("view_as_real_copy", "torch.view_as_real_copy(x[0] * 1j).shape", "torch.Size([3, 2])"),
        (
            "view_as_complex_copy",
            "torch.view_as_complex_copy(x.view(3, 2))[1]",
            "tensor(2.+3.j)",
        ),
    )
}


def _narrowed(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return `narrow`, with the errors of PyTorch's copying function."""
    shape = require_tensor(input, "narrow_copy")._array.shape
    if type(dim) is int and dim >= len(shape) > 0:
        raise OperationError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if type(length) is int and length < 0 and type(start) is int and -len(shape) <= dim:
        raise OperationError(
            f"start ({start}) + length ({length}) exceeds dimension size ({shape[dim]})."
        )
    return view_parts.narrow(input, dim, start, length)


_VIEWS: dict[str, Callable[..., Any]] = {
    "view_copy": lambda input, *size, **named: (
        view(input, *size, **named)
        if isinstance(size[0] if size else named.get("dtype"), dtypes.dtype)
        else reshape(input, *size, **({"shape": named["size"]} if "size" in named else named))
    ),
    "permute_copy": lambda input, dims: permute(input, dims),
    "transpose_copy": transpose,
    "t_copy": t,
    "squeeze_copy": squeeze,
    "unsqueeze_copy": unsqueeze,
    "expand_copy": lambda input, size, implicit=False: expand(input, size),
    "alias_copy": lambda input: alias_op.call(input),
    "detach_copy": lambda input: FUNCTIONS["torch"]["detach"](input),
    "select_copy": view_parts.select,
    "slice_copy": view_parts.slice_dim,
    "diagonal_copy": view_parts.diagonal,
    "narrow_copy": _narrowed,
    "unfold_copy": view_parts.unfold,
    "as_strided_copy": view_storage.as_strided,
    "split_copy": view_parts.split,
    "split_with_sizes_copy": view_parts.split_with_sizes,
    "unbind_copy": view_parts.unbind,
    "view_as_real_copy": lambda input: FUNCTIONS["torch"]["view_as_real"](input),
    "view_as_complex_copy": lambda input: FUNCTIONS["torch"]["view_as_complex"](input),
}
for _name, _function in _VIEWS.items():
    _copying(_name, _function)


@public(methods="=")
def slice_inverse(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """The tensor that `input` is a slice of, given `src`, which has its size and strides.

    >>> import pellucid as torch
    >>> x = torch.arange(4.0)
    >>> torch.slice_inverse(x[0:2], x, 0, 0, 2)
    tensor([0., 1., 2., 3.])
    """
    array = require_tensor(src, "slice_inverse", "src", 2)._array
    strides = tuple(s // array.itemsize for s in array.strides)
    return view_storage.as_strided(input, array.shape, strides, src.storage_offset())


METHODS["narrow_copy"] = FUNCTIONS["torch"]["narrow_copy"]


def _replaced(
    input: Tensor, src: Tensor, op: Any, params: dict[str, Any], name: str, before: Any = ()
) -> Tensor:
    """Return `input` with a part replaced by `src`: the part that the view operation `op` shows of
    the view given by the chain `before`.
    """
    part = op.call(input, **params)._array
    if src._array.shape != part.shape:
        raise ShapeError(
            f"expected src to have a size equal to the {name} of self. src size = {shapes.text(src._array.shape)}, {name} size = "
            f"{shapes.text(part.shape)}"
        )
    if src._array.dtype != part.dtype:
        src = F.cast(src, dtype=part.dtype)
    return F.copy_slices(input, src, chain=(*before, (op, params, None)))


@public(methods="=", out="same")
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """A copy with `src` in place of `input[..., start:end:step]` of dimension `dim`.

    >>> import pellucid as torch
    >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    shape = require_tensor(input, "slice_scatter")._array.shape
    require_tensor(src, "slice_scatter", "src", 2)
    if not shape:
        raise IndexOutOfRangeError("slice() cannot be applied to a 0-dim tensor.")
    dim = shapes.normalize_dim(dim, len(shape))
    if step <= 0:
        raise OperationError("slice step must be positive")
    first, length, step = shapes.slice_range(slice(start, end, step), shape[dim])
    params = {
        "dim": dim,
        "start": first,
        "end": first + (length - 1) * step + 1 if length else first,
        "step": step,
    }
    return titled(
        _replaced(input, src, view_parts.slice_op, params, "slice"),
        "SliceScatter",
        of=(input, src),
        dim=dim,
        start=start,
        end=end,
        step=step,
    )


@public(methods="=", out=True)
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with `src` at position `index` of dimension `dim`.

    >>> import pellucid as torch
    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 0)
    tensor([[1., 1.],
            [0., 0.]])
    """
    dim, index = shapes.select_position(
        index, require_tensor(input, "select_scatter")._array.shape, dim
    )
    require_tensor(src, "select_scatter", "src", 2)
    return titled(
        _replaced(input, src, view_parts.select_op, {"dim": dim, "index": index}, "slice"),
        "SelectScatter",
        of=(input, src),
        dim=dim,
        index=index,
    )


@public(methods="=", out=True)
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy with `src` on a diagonal.

    >>> import pellucid as torch
    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    shape = require_tensor(input, "diagonal_scatter")._array.shape
    require_tensor(src, "diagonal_scatter", "src", 2)
    shapes.diagonal_shape(shape, offset, dim1, dim2)
    params = {
        "offset": offset,
        "dim1": shapes.normalize_dim(dim1, len(shape)),
        "dim2": shapes.normalize_dim(dim2, len(shape)),
    }
    return titled(
        _replaced(input, src, view_parts.diagonal_op, params, "slice"),
        "DiagonalScatter",
        of=(input, src),
        offset=offset,
        dim1=dim1,
        dim2=dim2,
    )


@public(methods="=", out=True)
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:
    """A copy with `src` in the places that `as_strided` would show.

    >>> import pellucid as torch
    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (3,))
    tensor([1., 0., 0., 1.])
    """
    require_tensor(src, "as_strided_scatter", "src", 2)
    require_tensor(input, "as_strided_scatter")
    params = view_storage.strided_params(input, size, stride, storage_offset)
    # start from an alias: what lies outside of `input` is not in the copy, and has no gradient
    before: Any = ((alias_op, {}, None),)
    made = _replaced(input, src, view_storage.as_strided_op, params, "slice", before)
    return titled(
        made,
        "AsStridedScatter",
        of=(input, src),
        size=size,
        stride=stride,
        storage_offset=storage_offset,
    )
