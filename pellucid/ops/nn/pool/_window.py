"""Helpers of the pooling operations: their windows, their batches, and the dtypes that they accept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .... import dtypes, shapes
from ....arrays.native import HALVES, REAL, kernels
from ....core.primitive import TENSORS as F
from ....core.primitive import BackwardPlan
from ....core.tape import named_type, titled, value_at
from ....core.tensor import Tensor
from ....core.transforms.arranging import become, moved_before, node_before
from ....errors import UnsupportedError
from ..._few import Few, compiles
from ..._rules import per_dimension

Sizes = int | Sequence[int]


def batch_images(b: Any) -> Any:
    """The batch of samples joins the batch of images."""
    if b.ndim < 3:
        return None
    r = b.call(b.fold(b[0]))
    return tuple(map(b.unfold, r)) if isinstance(r, tuple) else b.unfold(r)


def ceil_changes(c: Any, low: list[int], high: list[int], dilation: Any) -> bool:
    """Whether rounding up gives another size than rounding down."""
    sizes, made = c.fixed(c.shape()[2:]), c.fixed(c.out_shape[2:])
    for k, (kernel, stride) in enumerate(zip(c.p["kernel"], c.p["stride"], strict=True)):
        if (sizes[k] + low[k] + high[k] - dilation[k] * (kernel - 1) - 1) // stride + 1 != made[k]:
            return True
    return False


def stride_of(stride: Any, kernel: tuple[int, ...], n: int) -> tuple[int, ...]:
    if stride is None or not shapes.dims.numbers(stride):
        return kernel
    return per_dimension(stride, n)


# The names that PyTorch's errors use for each pool, and the dtypes besides floats for which it has
# kernels.
_NOTHING: tuple[dtypes.dtype, ...] = ()
INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)


def check_dtype(x: Tensor, kernel: str, also: tuple[dtypes.dtype, ...] = _NOTHING) -> None:
    if x._array.dtype.kind == "f":
        return
    kind = x.dtype
    if not kind.is_floating_point and kind not in also:
        raise UnsupportedError(
            f"\"{kernel}\" not implemented for '{kind.scalar_type_name}'",
            hint="convert first: x.float()",
        )


def batched(x: Tensor, n: int) -> tuple[Tensor, int]:
    """The input with exactly two dimensions in front of the windows' ones, and how many it had."""
    lead = x._array.ndim - n
    if lead == 2:
        return x, 2
    if lead == 1:
        return F.unsqueeze(x, dim=0), 1
    raise AssertionError("checked by the shape rules")


def window(ones: str, **rest: int) -> dict[str, Any]:
    """What a pool's node shows of its window, as a record has it in `shows`: a window of lines as one
    of planes, by ones and the `rest`.
    """

    def rule(word: str, filler: int) -> Any:
        def of_planes(node: Any) -> tuple[int, ...]:
            sizes = tuple(node.params[word.removesuffix("_size")])
            return sizes if len(sizes) > 1 else (filler, *sizes)

        return of_planes

    return {w: rule(w, filler) for w, filler in (dict.fromkeys(ones.split(), 1) | rest).items()}


class Shown:
    """How PyTorch shows a pool: its node is named for the number of dimensions, that of one
    dimension is that of planes with two views around it, and the means of everything are plain
    ones. It is the `variant` of the record, and has its `nodes`.
    """

    def __init__(self, stem: str, rest: str = "", dim: int = 2) -> None:
        self.stem, self.rest, self.dim = stem, rest, dim

    def __call__(self, node: Any) -> str:
        return "SqueezeBackward1" if len(node.shape) == 3 else self.alone(node)

    def alone(self, node: Any) -> str:
        """The name without the views."""
        size = node.shape[2:]
        if self.stem == "AdaptiveAvgPool" and set(size) == {1}:
            return "MeanBackward1"
        return f"{self.stem}{max(len(size), 2)}D{self.rest}Backward0"

    def nodes(self, node: Any) -> Any:
        """The nodes of a pool of lines."""
        alone = named_type(self.alone(node))
        if len(node.shape) != 3 or type(node) is alone:
            return (node,)
        inner, plan, shape = moved_before(node), node.plan, value_at(node.inputs[0])[0]
        k = self.dim
        plane = (*shape[:k], 1, *shape[k:])
        x = node_before(node, "unsqueeze", node.inputs[0], plane, 0.25, dim=k)

        def backward(F: Any, g: Any, s: Any, p: Any) -> tuple[Any, ...]:
            (made,) = plan.backward(F, F.squeeze(g, dims=(k,)), s, p)
            return (F.unsqueeze(made, dim=k),)

        inner.inputs, inner.shape = (x,), (*node.shape[:k], 1, *node.shape[k:])
        inner.plan = BackwardPlan(plan.entries, backward, plan.needs)
        inner.__class__ = alone
        become(node, "squeeze", (inner,), node.shape, node.dtype, dims=(k,))
        node.__class__ = named_type("SqueezeBackward1")
        return (inner,)


def unbatched(x: Tensor, lead: int, of: Tensor | None = None) -> Tensor:
    """The result for an image without a batch; its node is the pool's own, of the image `of`."""
    if lead != 1:
        return x
    made, node = F.squeeze(x, dims=(0,)), x._node
    shown = None if of is None or node is None else node.op.variant
    if not isinstance(shown, Shown):
        return made
    if x._array.ndim > 3:
        return titled(made, shown.alone(node), of=(of,))
    # In one dimension the views are PyTorch's, and the pool of planes is between them.
    node.__class__ = named_type(shown.alone(node))
    return titled(made, "SqueezeBackward1")


class FewWindows(Few):
    """Pools of few numbers with a window of whole numbers, all else being as it usually is."""

    def __init__(self, op: Any, prepare: Any) -> None:
        super().__init__(aux=op.aux)
        self.plans, self.prepare = op.forward.quick.plans, prepare

    def plan(self, a: np.ndarray, params: dict[str, Any]) -> Any:
        """What computes such an array, in order or with the channels side by side."""
        kind, values = a.dtype, params.values()
        if a.flags.carray:
            plans = self.plans.get(kind)
            return plans is not None and plans.of((a.shape, *values))
        half = kind in HALVES
        if not (half or kind in REAL):
            return False
        if not compiles() or not kernels.pooling.direct.side_by_side(a):
            return None
        run = self.prepare(a.shape, REAL[0] if half else kind, *values, across=True)
        return run is not None and (_rounded(run, kind) if half else run)


def _rounded(run: Any, kind: Any) -> Any:
    def in_float32(x: np.ndarray) -> Any:
        made = run(x.astype(np.float32))
        return made.astype(kind) if type(made) is np.ndarray else (made[0].astype(kind), made[1])

    return in_float32


def _within(steps: Any, sizes: Any, pads: Any, windows: Any = None) -> Any:
    """Limit steps to the size of the padded image, or to that of the window, which may be longer
    than the image with `ceil_mode`.
    """
    bounded = shapes.within(steps, sizes, [(p, p) for p in pads])
    return (
        bounded
        if windows is None
        else tuple(max(b, min(s, w)) for b, s, w in zip(bounded, steps, windows, strict=True))
    )


def plain_window(kernel_size: Any, stride: Any, padding: Any) -> bool:
    """Whether a window is given as whole numbers."""
    return type(kernel_size) is int is type(padding) and (stride is None or type(stride) is int)


class _Window(NamedTuple):
    """The parameters of a pooling, each with one number for each dimension."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]


def window_of(name: str, x: Tensor, *given: Any) -> _Window:
    """The window of a pooling with these arguments, once they are known to be good; of whole numbers
    and tuples of them it is remembered.
    """
    a = x._array
    for v in given[:4]:
        if type(v) is not int and v is not None:
            if type(v) is not tuple or any(type(e) is not int for e in v):
                return _new_window(name, a.shape, *given)
    return (_known_window if type(a) is np.ndarray else _new_window)(name, a.shape, *given)


def _new_window(
    name: str,
    shape: tuple[int, ...],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: bool,
) -> _Window:
    shapes.pool_shape(name, shape, kernel_size, stride, padding, dilation, ceil_mode, indices)
    n = int(name[-2])
    kernel, pads = per_dimension(kernel_size, n), per_dimension(padding, n)
    spread = _within(per_dimension(dilation, n), shape[-n:], pads)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, spread, strict=True)]
    step = _within(stride_of(stride, kernel, n), shape[-n:], pads, reach)
    return _Window(kernel, step, pads, spread)


_known_window = lru_cache(1024)(_new_window)
