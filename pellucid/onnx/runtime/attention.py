"""Attention, rotary positions, and the transforms of signals.

Source: https://onnx.ai/onnx/operators/onnx__Attention.html, onnx__RotaryEmbedding.html,
onnx__DFT.html, onnx__STFT.html
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid import dtypes
from pellucid.core.public import FUNCTIONS
from pellucid.core.tensor import make_tensor
from pellucid.nn import functional as F
from pellucid.onnx.writer.read import numpy_type

from .registry import NodeCall, T, ints, kind, operator


def _heads(x: Any, count: int) -> Any:
    """(batch, length, heads * size) as (batch, heads, length, size)."""
    return T.transpose(x.reshape([x.shape[0], x.shape[1], count, -1]), 1, 2) if x.ndim == 3 else x


@operator("Attention", static=(6,))
def _attention(
    c: NodeCall,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    past_k: Any = None,
    past_v: Any = None,
    lengths: Any = None,
) -> Any:
    flat = q.ndim == 3
    q, k, v = (
        _heads(q, c.get("q_num_heads", 1)),
        _heads(k, c.get("kv_num_heads", 1)),
        _heads(v, c.get("kv_num_heads", 1)),
    )
    if past_k is not None:
        k, v = T.cat([past_k, k], 2), T.cat([past_v, v], 2)
    present = (k, v)
    windows = c.get("left_window_size", -1) >= 0 or c.get("right_window_size", -1) >= 0
    cached = lengths is not None or (past_k is not None and c.get("is_causal", 0))
    other = (
        c.get("softcap", 0.0)
        or c.get("softmax_precision") is not None
        or c.wants(3)
        or windows
        or cached
    )
    if not other and (
        mask is None
        or not c.get("is_causal", 0)
        and mask.shape[-1] == k.shape[2]
        and kind(mask) == "f"
    ):
        causal = bool(c.get("is_causal", 0))
        grouped = q.shape[1] != k.shape[1]
        out = F.scaled_dot_product_attention(
            q, k, v, mask, 0.0, causal, scale=c.get("scale"), enable_gqa=grouped
        )
        return (
            T.transpose(out, 1, 2).reshape([out.shape[0], out.shape[2], -1]) if flat else out,
            *present,
            None,
        )
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = T.repeat_interleave(k, groups, 1), T.repeat_interleave(v, groups, 1)
    scale = c.get("scale") or 1 / math.sqrt(q.shape[-1])
    given = q.dtype
    if c.get("softmax_precision") is not None:
        wide = dtypes.BY_NUMPY[numpy_type(c.get("softmax_precision"), "the softmax of Attention")]
    else:
        wide = given
    root = math.sqrt(scale)
    scores = T.matmul(q * root, T.transpose(k * root, -1, -2))
    bias, total, length = None, k.shape[2], q.shape[2]
    plain = scores
    if mask is not None:
        bias = (
            T.where(mask, T.zeros([1], dtype=given), T.full([1], -math.inf, dtype=given))
            if kind(mask) == "b"
            else mask
        )
        if bias.shape[-1] < total:
            bias = F.pad(bias, [0, total - bias.shape[-1]], value=-math.inf)
    ends = np.full(q.shape[0], total) if lengths is None else np.array(ints(lengths))
    if lengths is not None:
        bias = _also(bias, np.arange(total)[None, None, None] < ends[:, None, None, None], given)
    left, right = (
        c.get("left_window_size", -1),
        0 if c.get("is_causal", 0) else c.get("right_window_size", -1),
    )
    if left >= 0 or right >= 0:
        # Each query sees what stands near it; queries stand at the end of what has been cached.
        if past_k is not None:
            start = np.full(q.shape[0], past_k.shape[2])
        else:
            start = ends - length if lengths is not None else np.zeros(q.shape[0], int)
        row, column = (
            start[:, None, None, None] + np.arange(length)[None, None, :, None],
            np.arange(total)[None, None, None],
        )
        allowed = (column <= row + right if right >= 0 else column >= 0) & (
            column >= row - left if left >= 0 else column >= 0
        )
        bias = _also(bias, allowed, given)
    cap = c.get("softcap", 0.0)
    mode = c.get("qk_matmul_output_mode", 0)
    capped = cap * T.tanh(scores / cap) if cap else scores
    masked = capped if bias is None else capped + bias
    weights = T.softmax(masked.to(wide), -1).to(given)
    if bias is not None:
        # a query that sees nothing
        weights = T.where(T.isnan(weights), T.zeros_like(weights), weights)
    out = T.matmul(weights, v)
    out = T.transpose(out, 1, 2).reshape([out.shape[0], out.shape[2], -1]) if flat else out
    seen = {0: plain, 1: capped, 2: masked, 3: weights}[mode]
    return out, *present, seen


def _also(bias: Any, allowed: Any, dtype: Any) -> Any:
    """A bias that hides what is not allowed too."""
    more = T.where(
        make_tensor(allowed), T.zeros([1], dtype=dtype), T.full([1], -math.inf, dtype=dtype)
    )
    return more if bias is None else bias + more


@operator("RotaryEmbedding")
def _rotary(c: NodeCall, x: Any, cos: Any, sin: Any, positions: Any = None) -> Any:
    shape = tuple(x.shape)
    x = _heads(x, c.get("num_heads", 0) or 1) if x.ndim == 3 else x
    size = c.get("rotary_embedding_dim", 0) or x.shape[-1]
    turned, rest = x[..., :size], x[..., size:]
    if positions is not None:
        where = positions.long()
        cos, sin = cos[where], sin[where]
    cos, sin = T.unsqueeze(cos[..., : size // 2], 1), T.unsqueeze(sin[..., : size // 2], 1)
    if c.get("interleaved", 0):
        a, b = turned[..., 0::2], turned[..., 1::2]
        out = T.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(tuple(turned.shape))
    else:
        a, b = turned[..., : size // 2], turned[..., size // 2 :]
        out = T.cat([a * cos - b * sin, b * cos + a * sin], -1)
    out = T.cat([out, rest], -1) if rest.shape[-1] else out
    return T.transpose(out, 1, 2).reshape(shape) if len(shape) == 3 else out


# ---- signals ---------------------------------------------------------------------------------
@operator("DFT", static=(1, 2))
def _dft(c: NodeCall, x: Any, length: Any = None, axis: Any = None) -> Any:
    dim = (
        ints(axis)[0] if axis is not None else c.get("axis", -2 if c.opset >= 20 else 1)
    ) % x.ndim
    inverse, half = c.get("inverse", 0), c.get("onesided", 0)
    count = None if length is None else ints(length)[0]
    number = (
        T.complex(x[..., 0], T.zeros_like(x[..., 0]))
        if x.shape[-1] == 1
        else T.view_as_complex(x.contiguous())
    )
    fft = FUNCTIONS["fft"]
    if half and inverse:
        return T.unsqueeze(fft["irfft"](number, count, dim), -1)
    if half:
        return T.view_as_real(fft["rfft"](x[..., 0], count, dim))
    return T.view_as_real(fft["ifft" if inverse else "fft"](number, count, dim))


@operator("STFT", static=(1, 3))
def _stft(c: NodeCall, x: Any, step: Any, window: Any = None, length: Any = None) -> Any:
    size = ints(length)[0] if length is not None else window.shape[0]
    if x.ndim == 3 and x.shape[-1] == 2:
        raise c.refuse("of complex signals")
    signal = x[..., 0] if x.ndim == 3 else x
    frames = signal.unfold(1, size, ints(step)[0])
    frames = frames if window is None else frames * window
    fft = FUNCTIONS["fft"]
    return T.view_as_real(fft["rfft" if c.get("onesided", 1) else "fft"](frames))


@operator("HannWindow", "HammingWindow", "BlackmanWindow", static=(0,))
def _window(c: NodeCall, size: Any) -> Any:
    n = ints(size)[0]
    at = 2 * np.pi * np.arange(n) / (n if c.get("periodic", 1) else n - 1)
    if c.op == "HannWindow":
        values = 0.5 - 0.5 * np.cos(at)
    elif c.op == "HammingWindow":
        values = 25 / 46 - 21 / 46 * np.cos(at)
    else:
        values = 0.42 - 0.5 * np.cos(at) + 0.08 * np.cos(2 * at)
    return make_tensor(
        values.astype(numpy_type(c.get("output_datatype", 1), f"the result of {c.op}"))
    )


@operator("MelWeightMatrix", static=(0, 1, 2, 3, 4))
def _mel(c: NodeCall, bins: Any, length: Any, rate: Any, low: Any, high: Any) -> Any:
    """Triangles over the frequencies whose corners are evenly spaced in mel."""
    count, spectrum = ints(bins)[0], ints(length)[0] // 2 + 1
    ends = [2595 * math.log10(1 + float(x) / 700) for x in (low, high)]
    mels = ends[0] + np.arange(count + 2) * ((ends[1] - ends[0]) / (count + 2))
    corners = ((ints(length)[0] + 1) * (700 * (10 ** (mels / 2595) - 1)) // ints(rate)[0]).astype(
        int
    )
    out = np.zeros((spectrum, count))
    for k in range(count):
        left, mid, right = corners[k : k + 3]
        if mid == left:
            out[mid, k] = 1
        else:
            for row in range(left, mid + 1):
                out[row, k] = (row - left) / (mid - left)
        if right > mid:
            for row in range(mid, right):
                out[row, k] = (right - row) / (right - mid)
    return make_tensor(
        out.astype(numpy_type(c.get("output_datatype", 1), "the result of MelWeightMatrix"))
    )
