"""In-place view methods: `transpose_`, `unsqueeze_`, `squeeze_`, `as_strided_` and similar ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...core.inplace import bump, check_writable, refresh_views
from ...core.modes import enable_grad, inference_mode, local
from ...core.public import FUNCTIONS, METHODS
from ...core.tape import Node, named_type
from ...core.tensor import Tensor, make_tensor
from ...errors import ShapeError, UnsupportedError, forwarding
from . import storage as view_storage
from .squeeze import squeeze_of_tensor, unsqueeze
from .transpose import t, transpose


def _inplace(
    name: str,
    function: Callable[..., Tensor],
    example: tuple[str, str, str],
    inverse: Callable[..., Tensor] | None = None,
) -> None:
    """Define the method `name` of Tensor.

    Args:
        example: a shape, a call of the method for a tensor of this shape, and what it gives.
        inverse: restores the tensor as it was from the result. Its views, which were made from the tensor
            as it was, come from the restored one from then on.
    """
    shape, call, shows = example

    def method(self: Tensor, *args: Any, **named: Any) -> Tensor:
        check_writable(self, name)
        if self._node is None or local.grad:
            return apply(self, args, named)
        # The node knows the old sizes. Without another node, gradients with the new sizes would
        # reach it.
        with (
            inference_mode(False),
            enable_grad(),
        ):
            return apply(self, args, named)

    def apply(self: Tensor, args: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
        views = [] if self._ver is None or self._ver.views is None else list(self._ver.views)
        own = [
            v
            for ref in views
            if (v := ref()) is not None and v._view is not None and v._view.base is self
        ]
        before = self._array
        result = function(self, *args, **named)
        after = result._array
        if own and (after.shape, after.strides) != (before.shape, before.strides):
            if inverse is None:
                raise UnsupportedError(
                    f"{name}: views of this tensor are alive; their relation to it would be lost"
                )
            with inference_mode(False):  # so that views know their base
                back = inverse(make_tensor(after), before.shape, *args, **named)._view
            for view in (v._view for v in own):
                if view is not None and back is not None:
                    view.chain = (*back.chain, *view.chain)
        self._array = after
        become = getattr(self, "__become__", None)
        if become is not None:  # a type that keeps its values elsewhere
            become(result)
        if result._rg:
            kept = result._node is self._node  # nothing changes
            self._node, self._rg = result._node, True
            title = next((n for start, n in _TITLES if name.startswith(start)), "")
            if not kept and isinstance(self._node, Node):
                self._node.__class__ = named_type(title or _squeezed(args, named))
        if self._view is not None:
            self._view = result._view
        elif self._ver is not None:
            self._ver.views = views
        bump(self, name)
        if own and result._rg:
            refresh_views(self)
        return self

    method.__name__ = name
    forwarding.update((method.__code__, apply.__code__))
    method.__doc__ = f"""In-place version of :func:`{name.removesuffix("_")}`: changes the sizes and strides of this tensor,
    not its memory, and returns it.

    >>> import pellucid as torch
    >>> x = torch.zeros({shape})
    >>> x.{call}.shape, x.stride()
    {shows}
    """
    METHODS[name] = method
    if name == "as_strided_":
        FUNCTIONS["torch"][name] = method


_TITLES = (
    ("swap", "TransposeBackward1"),
    ("transpose_", "TransposeBackward1"),
    ("t_", "TBackward1"),
    ("unsqueeze_", "UnsqueezeBackward1"),
    ("as_strided_", "AsStridedBackward1"),
)


def _squeezed(args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Return the name of the node of `squeeze_`, of which there are three."""
    if not args and not named:
        return "SqueezeBackward3"
    dim = args[0] if args else next(iter(named.values()))
    return f"SqueezeBackward{5 if len(args) > 1 or isinstance(dim, (list, tuple)) else 4}"


def _again(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, shape, *args, **named: function(x, *args, **named)


@functools.wraps(t)
def _t_in_place(input: Tensor) -> Tensor:
    if input._array.ndim > 2:
        raise ShapeError(
            f"t_() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D"
        )
    return t(input)


for _name, _function in {
    "transpose_": transpose,
    "swapaxes_": METHODS["swapaxes"],
    "swapdims_": METHODS["swapdims"],
    "t_": _t_in_place,
}.items():
    _inplace(
        _name,
        _function,
        (
            "2, 3",
            f"{_name}()" if _name == "t_" else f"{_name}(0, 1)",
            "(torch.Size([3, 2]), (1, 3))",
        ),
        _again(_function),  # applying it twice restores the tensor
    )
_inplace(
    "squeeze_",
    squeeze_of_tensor,
    ("2, 1, 3", "squeeze_(1)", "(torch.Size([2, 3]), (3, 1))"),
    lambda x, shape, *args, **named: x.view(shape),
)
_inplace(
    "unsqueeze_",
    unsqueeze,
    ("2, 3", "unsqueeze_(0)", "(torch.Size([1, 2, 3]), (6, 3, 1))"),
    lambda x, shape, *args, **named: x.view(shape),
)
_inplace(
    "as_strided_",
    view_storage.as_strided,
    ("6", "as_strided_((2, 2), (3, 1))", "(torch.Size([2, 2]), (3, 1))"),
)
