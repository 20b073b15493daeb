"""Convolution and its gradients for float32, on generated kernels. See `conv_kernels` for how they work.

Layouts and conventions are those of the NumPy reference in `backends.conv_reference`: ``x`` is ``(N, C, *spatial)``, ``w``
is ``(O, C // groups, *kernel)``, any number of spatial dimensions, any stride, padding, dilation and groups. Each function
returns None where it does not apply (another dtype, an empty array, no compiler), and the caller uses the reference.
Results do not depend on the number of threads.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from pellucid.codegen import conv_kernels as kernels
from pellucid.codegen import conv_lanes, conv_plan, jit, target, threads
from pellucid.codegen.conv_geometry import ConvGeometry, IntOrSeq, conv_geometry, input_grad_geometry

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
    """Cross-correlate ``x`` with ``w``, add ``bias`` (O,), and with ``relu`` clip at zero (NaN stays).

    RuntimeError where the shapes do not fit.

    >>> out = conv(np.ones((1, 1, 1, 4), np.float32), np.ones((1, 1, 1, 2), np.float32))
    >>> out is None or out.ravel().tolist() == [2.0, 2.0, 2.0]
    True
    """
    geo = conv_geometry(x.shape, w.shape, stride, padding, dilation, groups)
    if not _applies(geo, x, w) or (bias is not None and bias.dtype != np.float32):
        return None
    key = _shape_key(geo)
    out = np.empty(geo.out_shape, np.float32)
    if not relu and (small := conv_lanes.forward_plan(key)) is not None and conv_lanes.available():
        return conv_lanes.run(small, np.ascontiguousarray(x), np.ascontiguousarray(w), out, bias, scratch)
    plan = conv_plan.forward_plan(key)
    if plan is None:
        return None
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
    """Gradient in the input of shape ``x_shape``; as transposed convolution it takes a ``bias`` of ``x_shape[1]`` values.

    >>> g, w = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 2), np.float32)
    >>> out = conv_input_grad(g, w, (1, 1, 5))
    >>> out is None or out.ravel().tolist() == [1.0, 2.0, 2.0, 2.0, 1.0]
    True
    """
    geo = input_grad_geometry(g.shape, w.shape, x_shape, stride, padding, dilation, groups)
    if not _applies(geo, g, w) or (bias is not None and bias.dtype != np.float32):
        return None
    key = _shape_key(geo)
    out = np.empty(geo.x_shape, np.float32)
    if (small := conv_lanes.input_grad_plan(key)) is not None and conv_lanes.available():
        return conv_lanes.run(small, np.ascontiguousarray(g), np.ascontiguousarray(w), out, bias, scratch)
    plan = conv_plan.input_grad_plan(key)
    if plan is None:
        return None
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
    """Gradient in the weight of shape ``w_shape``; images are added in order.

    >>> g, x = np.ones((1, 1, 4), np.float32), np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    >>> out = conv_weight_grad(g, x, (1, 1, 2))
    >>> out is None or out.ravel().tolist() == [6.0, 10.0]
    True
    """
    geo = conv_geometry(x.shape, w_shape, stride, padding, dilation, groups)
    _check_grad(g, geo)
    if not _applies(geo, g, x):
        return None
    plan = conv_plan.weight_grad_plan(_shape_key(geo))
    if plan is None:
        return None
    g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
    out = np.empty(geo.w_shape, np.float32)
    pixels, size = math.prod(geo.out), math.prod(geo.x)
    natives, packing = kernels.weight_driver(), kernels.packing()
    pack, turn = jit.address(packing["pack"]), jit.address(packing["transpose"])
    images = min(plan.block, geo.n)
    # The tail of a packed channel may be read, never used: the last one needs room behind it.
    packed_bytes = plan.packed_bytes * images + 128 if plan.packed_bytes else 0
    turned_bytes = plan.turned_bytes * images
    with scratch(packed_bytes + turned_bytes + plan.result_bytes + 256) as address:
        turned = -(-(address + packed_bytes) // 64) * 64
        result = turned + turned_bytes
        ctypes.memset(address, 0, packed_bytes)
        ctypes.memset(result, 0, plan.result_bytes)
        team, x_address, g_address = threads.team(), x.ctypes.data, g.ctypes.data
        for first in range(0, geo.n, images):
            count = min(images, geo.n - first)
            xs, gs = x_address + first * geo.c * size * 4, g_address + first * geo.o * pixels * 4
            if plan.packed_channels or plan.row_vectors:
                natives["prepare"](
                    team, pack, plan.pack, xs, address, turn, gs, turned, geo.c * size, plan.packed_channels, size,
                    plan.packed_channel, geo.o_group, pixels, plan.row_vectors, geo.groups, count, 1,
                )  # fmt: skip
            sources = (turned if plan.row_vectors else gs, address if plan.packed_channels else xs)
            natives["accumulate"](team, plan.tasks.ctypes.data, *sources, result, count, len(plan.tasks), 1)
        taps = geo.c_group * geo.taps
        if plan.row_vectors:
            where = out.ctypes.data
            for offset, channel, channels, row in plan.parts:
                packing["transpose"](result + offset, row, where + channel * taps * 4, taps, taps, channels)
        else:
            lanes = kernels.lanes()
            shape = (geo.o, plan.padded_taps, lanes)
            memory = (ctypes.c_float * (plan.result_bytes // 4)).from_address(result)
            sums = np.ctypeslib.as_array(memory).reshape(shape)
            out.reshape(geo.o, taps)[...] = sums[:, :taps].sum(-1)
    return out


def _check_grad(g: np.ndarray, geo: ConvGeometry) -> None:
    if g.shape != geo.out_shape:
        raise RuntimeError(f"Expected grad_output of shape {list(geo.out_shape)}, but got {list(g.shape)}")


def _applies(geo: ConvGeometry, *arrays: np.ndarray) -> bool:
    if any(a.dtype != np.float32 for a in arrays) or not target.available():
        return False
    if geo.n == 0 or geo.c_group == 0 or geo.o == 0:
        return False
    return kernels.driver() is not None and kernels.packing() is not None


def _shape_key(geo: ConvGeometry) -> ConvGeometry:
    """Plans hold for any number of images."""
    if geo.n == 1:
        return geo
    return ConvGeometry(1, geo.c, geo.o, geo.groups, geo.x, geo.k, geo.out, geo.stride, geo.pads, geo.dilation)


def _correlate(
    plan: conv_plan.Plan, x: np.ndarray, w: np.ndarray, out: np.ndarray, bias: np.ndarray | None, floor: float
) -> np.ndarray:
    x, w = np.ascontiguousarray(x), np.ascontiguousarray(w)
    bias = plan.zeros if bias is None else np.ascontiguousarray(bias)
    images = len(x)
    count = threads.get_num_threads()
    blocks, split = plan.tasks(images, count)
    tasks = blocks * split
    weight_bytes = -(-plan.weight_bytes // 128) * 128
    desc = plan.desc
    if split != 1:
        desc = desc.copy()
    desc[kernels.SPLIT] = split
    with scratch(weight_bytes + plan.scratch * count) as address:
        for gather, offset, tiles, tile_src, k, k_src, lane in plan.gathers:
            gather(address + offset, w, tiles, tile_src, k, k_src, lane)
        team = threads.team() if tasks > 1 else 0
        # Each chunk of tasks clears its scratch once; two per thread even out what the machine does besides.
        grain = -(-tasks // (2 * count)) if count > 1 else tasks
        run = kernels.driver()["correlate"]
        run(team, desc.ctypes.data, x, address, bias, out, address + weight_bytes, images, floor, tasks, grain)
    return out


# Scratch memory is kept between calls: fresh memory costs a page fault for every 4 KB.
_free: list[tuple[int, int, np.ndarray]] = []
_lock = threading.Lock()
_KEPT = 4


@contextmanager
def scratch(size: int) -> Iterator[int]:
    """The address of `size` bytes on a 128-byte boundary, with uninitialized (finite) content."""
    with _lock:
        found = next((i for i, entry in enumerate(_free) if entry[0] >= size), None)
        entry = _free.pop(found) if found is not None else None
    if entry is None:
        memory = np.zeros(size + 128, np.uint8)
        entry = (size, -(-memory.ctypes.data // 128) * 128, memory)
    try:
        yield entry[1]
    finally:
        with _lock:
            _free.append(entry)
            _free.sort(key=lambda kept: kept[0])
            # Keep the largest few, but nothing huge.
            while len(_free) > _KEPT or (_free and _free[-1][0] > 64 << 20):
                _free.pop(0 if len(_free) > _KEPT else -1)
