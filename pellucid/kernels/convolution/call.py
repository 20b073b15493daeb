"""Convolution and its gradients with generated kernels, for float32 and float64. `tiles` and
`winograd` explain how the kernels work.

Layouts and conventions are those of the NumPy implementation in `kernels.convolution.reference`:
``x`` is ``(N, C, *spatial)``, ``w`` is ``(O, C // groups, *kernel)``, with any number of spatial
dimensions and any stride, padding, dilation and groups. Each function returns None if it does not
support its arguments (integers, an empty array, no compiler), and the caller then uses the NumPy
implementation. float16 and bfloat16 are computed in float32 and rounded once. Results do not depend
on the number of threads. 3x3 float32 convolutions with enough channels use Winograd's method while
`config.winograd` is set. If the magnitudes of the numbers differ too much for it, or a result is
not finite, they are computed by the definition instead, so that infinities and NaN appear where
they should.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ... import config
from ...dtypes import name_of
from ...llvm import target, threads
from ...llvm.outputs import empty
from ..indexing.transpose import in_order
from . import lanes as conv_lanes
from . import memory as conv_memory
from . import plan as conv_plan
from . import products as conv_products
from . import tiles as kernels
from . import weight as conv_weight
from . import winograd as conv_winograd
from . import winograd_weight as conv_winograd_weight
from .geometry import ConvGeometry, IntOrSeq, conv_geometry, input_grad_geometry
from .reference import few_windows

Padding = int | Sequence[int | Sequence[int]]


def conv(
    x: np.ndarray,
    w: np.ndarray,
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
    bias: np.ndarray | None = None,
    relu: bool = False,
) -> np.ndarray | None:
    """Cross-correlate ``x`` with ``w``, add ``bias`` of shape (O,), and clip at zero if ``relu`` is
    set (NaN stays NaN).

    Raises RuntimeError if the shapes do not match.

    >>> out = conv(np.ones((1, 1, 1, 4), np.float32), np.ones((1, 1, 1, 2), np.float32))
    >>> out is None or out.ravel().tolist() == [2.0, 2.0, 2.0]
    True
    """
    real = REALS.get(x.dtype)
    if real is None or w.dtype != x.dtype or (bias is not None and bias.dtype != x.dtype):
        return in_float32(conv, (x, w, bias), stride, padding, dilation, groups, relu=relu)
    try:
        out_shape, plan, other = _forward(
            config.winograd, real, x.shape, w.shape, stride, padding, dilation, groups
        )
    except TypeError:  # lists are not hashable
        key = (_key(stride), _key(padding), _key(dilation), groups)
        out_shape, plan, other = _forward(config.winograd, real, x.shape, w.shape, *key)
    if plan is None:
        return None
    out = empty(out_shape, x.dtype)
    if other is not None and not relu:
        made = other.run(in_order(x), np.ascontiguousarray(w), out, bias)
        if made is not None:
            return made
    return _correlate(plan, x, w, out, bias, 0.0 if relu else -math.inf)


def conv_input_grad(
    g: np.ndarray,
    w: np.ndarray,
    x_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
    bias: np.ndarray | None = None,
) -> np.ndarray | None:
    """Compute the gradient of the input, whose shape is ``x_shape``. As a transposed convolution it
    takes a ``bias`` of ``x_shape[1]`` values.

    >>> g, w = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 2), np.float32)
    >>> out = conv_input_grad(g, w, (1, 1, 5))
    >>> out is None or out.ravel().tolist() == [1.0, 2.0, 2.0, 2.0, 1.0]
    True
    """
    real = REALS.get(g.dtype)
    if real is None or w.dtype != g.dtype or (bias is not None and bias.dtype != g.dtype):
        return in_float32(conv_input_grad, (g, w, bias), x_shape, stride, padding, dilation, groups)
    try:
        shape, plan, other = _input_grad(
            config.winograd, real, g.shape, w.shape, x_shape, stride, padding, dilation, groups
        )
    except TypeError:
        key = (_key(x_shape), _key(stride), _key(padding), _key(dilation), groups)
        shape, plan, other = _input_grad(config.winograd, real, g.shape, w.shape, *key)
    if plan is None:
        return None
    out = empty(shape, g.dtype)
    if other is not None:
        made = other.run(in_order(g), np.ascontiguousarray(w), out, bias)
        if made is not None:
            return made
    return _correlate(plan, g, w, out, bias, -math.inf)


def conv_weight_grad(
    g: np.ndarray,
    x: np.ndarray,
    w_shape: Sequence[int],
    stride: IntOrSeq = 1,
    padding: Padding = 0,
    dilation: IntOrSeq = 1,
    groups: int = 1,
) -> np.ndarray | None:
    """Compute the gradient of the weight, whose shape is ``w_shape``. The order in which images are
    added depends on shapes alone.

    >>> g, x = np.ones((1, 1, 4), np.float32), np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    >>> out = conv_weight_grad(g, x, (1, 1, 2))
    >>> out is None or out.ravel().tolist() == [6.0, 10.0]
    True
    """
    real = REALS.get(g.dtype)
    if real is None or x.dtype != g.dtype:
        return in_float32(conv_weight_grad, (g, x), w_shape, stride, padding, dilation, groups)
    try:
        geo, plan, other = _weight_grad(
            config.winograd, real, g.shape, x.shape, w_shape, stride, padding, dilation, groups
        )
    except TypeError:
        key = (_key(w_shape), _key(stride), _key(padding), _key(dilation), groups)
        geo, plan, other = _weight_grad(config.winograd, real, g.shape, x.shape, *key)
    if plan is None:
        return None
    g, x = in_order(g), in_order(x)
    made = None if other is None else other.run(g, x)
    return conv_weight.run(plan, geo, g, x) if made is None else made


Shape = tuple[int, ...]


def forward_plans(real: str, x_shape: Shape, w_shape: Shape, *args: Any) -> tuple[Any, Any]:
    """Return the plans of `conv` for contiguous arrays: the one with lanes over pixels (None if
    there are no kernels), and a faster one or None.
    """
    return _forward(config.winograd, real, x_shape, w_shape, *(_key(v) for v in args))[1:]


def input_grad_plans(real: str, g_shape: Shape, w_shape: Shape, *args: Any) -> tuple[Any, Any]:
    """Return the plans of `conv_input_grad`, like `forward_plans`."""
    return _input_grad(config.winograd, real, g_shape, w_shape, *(_key(v) for v in args))[1:]


def weight_grad_plans(
    real: str, g_shape: Shape, x_shape: Shape, *args: Any
) -> tuple[ConvGeometry, Any, Any]:
    """Return the geometry of `conv_weight_grad`, its plan (None if there are no kernels), and a
    faster plan or None.
    """
    return _weight_grad(config.winograd, real, g_shape, x_shape, *(_key(v) for v in args))


_FLOAT32 = np.dtype(np.float32)
# The LLVM types of the dtypes that the kernels support.
REALS = {_FLOAT32: "float", np.dtype(np.float64): "double"}


def in_float32(
    function: Callable[..., Any], arrays: tuple[np.ndarray | None, ...], *args: Any, **options: Any
) -> np.ndarray | None:
    """Call `function` with float16 or bfloat16 arrays converted to float32, and round its result
    once. Returns None for other dtypes.

    A third array is passed by name, as `bias`.
    """
    dtype = arrays[0].dtype if arrays[0] is not None else _FLOAT32
    if name_of(dtype) not in ("float16", "bfloat16") or any(
        a is not None and a.dtype != dtype for a in arrays
    ):
        return None
    wide = [None if a is None else a.astype(_FLOAT32) for a in arrays]
    if len(wide) == 3:
        options["bias"] = wide.pop()
    made = function(*wide, *args, **options)
    return None if made is None else made.astype(dtype)


def _key(value: Any) -> Any:
    """Convert sequences to tuples, which are hashable."""
    return value if isinstance(value, int) else tuple(_key(v) for v in value)


def _ready(real: str) -> bool:
    """Return whether the kernels that every function needs could be compiled."""
    if not target.available():
        return False
    return kernels.packing(real) is not None and kernels.driver(real) is not None


@lru_cache(maxsize=1024)
def _forward(
    winograd: bool, real: str, x_shape: Shape, w_shape: Shape, *args: Any
) -> tuple[Any, Any, Any]:
    """Return the output shape, the plan with lanes over pixels (None if the kernels cannot be
    used), and a faster plan or None. float64 has no faster plans.
    """
    geo = conv_geometry(x_shape, w_shape, *args)
    if not _worked(geo) or not _ready(real):
        return geo.out_shape, None, None
    key = _shape_key(geo, real)
    other: Any = None
    if real == "float":
        other = conv_winograd.forward_plan(geo) if winograd else None
        other = other or conv_products.forward_plan(geo) or conv_lanes.forward_plan(key)
    return geo.out_shape, _bands(key, False) or _whole(conv_plan.forward_plan(key)), other


@lru_cache(maxsize=1024)
def _input_grad(
    winograd: bool, real: str, g_shape: Shape, w_shape: Shape, x_shape: Any, *args: Any
) -> tuple[Any, Any, Any]:
    geo = input_grad_geometry(g_shape, w_shape, x_shape, *args)
    if not _worked(geo) or not _ready(real) or few_windows(geo):
        return geo.x_shape, None, None
    key = _shape_key(geo, real)
    other: Any = None
    if real == "float":
        other = conv_winograd.input_grad_plan(geo) if winograd else None
        other = other or conv_products.input_grad_plan(geo) or conv_lanes.input_grad_plan(key)
    return geo.x_shape, _bands(key, True) or _whole(conv_plan.input_grad_plan(key)), other


Plans = list[tuple[conv_plan.CorrelationPlan, int]]  # each with the first pixel of its band


def _bands(key: ConvGeometry, mirrored: bool) -> Plans | None:
    return conv_plan.band_plans(key, mirrored)


def _whole(plan: conv_plan.CorrelationPlan | None) -> Plans | None:
    return None if plan is None else [(plan, 0)]


@lru_cache(maxsize=1024)
def _weight_grad(
    winograd: bool, real: str, g_shape: Shape, x_shape: Shape, w_shape: Any, *args: Any
) -> tuple[ConvGeometry, Any, Any]:
    geo = conv_geometry(x_shape, w_shape, *args)
    if g_shape != geo.out_shape:
        raise RuntimeError(
            f"Expected grad_output of shape {list(geo.out_shape)}, but got {list(g_shape)}"
        )
    geo = replace(geo, real=real)
    if not _worked(geo) or not _ready(real):
        return geo, None, None
    other: Any = (
        conv_winograd_weight.weight_grad_plan(geo) if winograd and real == "float" else None
    )
    other = other or conv_products.weight_grad_plan(geo)
    return geo, conv_weight.weight_grad_plan(_shape_key(geo, real)), other


def _worked(geo: ConvGeometry) -> bool:
    """Return whether there is anything to compute."""
    return geo.n > 0 and geo.c_group > 0 and geo.o > 0


def _shape_key(geo: ConvGeometry, real: str) -> ConvGeometry:
    """Return the geometry as a cache key for plans, which hold for any number of images."""
    return replace(geo, n=1, real=real)


def _correlate(
    plans: Plans,
    x: np.ndarray,
    w: np.ndarray,
    out: np.ndarray,
    bias: np.ndarray | None,
    floor: float,
) -> np.ndarray:
    x, w = in_order(x), np.ascontiguousarray(w)
    plan = plans[0][0]
    bias = plan.zeros if bias is None else np.ascontiguousarray(bias)
    images = len(x)
    count = threads.get_num_threads()
    blocks, split = plan.tasks(images, count)
    tasks = blocks * split
    memory = conv_memory.take(plan.weight_bytes + plan.scratch * count)
    try:
        address = memory.address
        for gather, offset, tiles, tile_src, k, k_src, lane in plan.gathers:
            gather(address + offset, w, tiles, tile_src, k, k_src, lane)
        team = threads.team() if tasks > 1 else 0
        # Each chunk of tasks clears its scratch memory once. Two chunks per thread balance the load
        # when other programs use the processors, too.
        grain = -(-tasks // (2 * count)) if count > 1 else tasks
        own = address + plan.weight_bytes
        run = kernels.driver(REALS[x.dtype])["correlate"]
        for plan, first in plans:
            desc, source, result = plan.desc, x, out
            if split != 1:  # the plan is shared, so this call gets a descriptor of its own
                desc = desc.copy()
                desc[kernels.SPLIT] = split
            if first:
                source, result = x.reshape(-1)[first:], out.reshape(-1)[first:]
            run(team, desc, source, address, bias, result, own, images, floor, tasks, grain)
    finally:
        conv_memory.give(memory)
    return out
