"""Translations of layers: products, convolution, pooling, normalization, attention, embedding and resampling."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .graph import Context, rule
from .shape_rules import seen


@rule("linear")
def _linear(c: Context) -> Any:
    if len(c.shape()) == 2 and len(c.shape(1)) == 2:
        return c.emit("Gemm", *[name for name in c.names if name], transB=1)
    weight = c.emit("Transpose", c[1], perm=[1, 0]) if len(c.shape(1)) == 2 else c[1]
    out = c.emit("MatMul", c[0], weight)
    return c.emit("Add", out, c[2]) if c.has(2) else out


@rule("matmul")
def _matmul(c: Context) -> Any:
    return c.emit("MatMul", *c.names)


# ---- convolution and pooling -----------------------------------------------------------------
def _pairs(padding: Any) -> tuple[list[int], list[int]]:
    """Padding before and after each dimension."""
    both = [(p, p) if isinstance(p, int) else tuple(p) for p in padding]
    return [int(a) for a, _ in both], [int(b) for _, b in both]


@rule("conv")
def _conv(c: Context) -> Any:
    low, high = _pairs(c.p["padding"])
    return c.emit(
        "Conv", *[name for name in c.names if name], kernel_shape=list(c.fixed(c.shape(1))[2:]), strides=list(c.p["stride"]),
        pads=low + high, dilations=list(c.p["dilation"]), group=int(c.p["groups"]),
    )  # fmt: skip


@rule("conv_input_grad")
def _conv_transpose(c: Context) -> Any:
    low, high = _pairs(c.p["padding"])
    kernel = c.fixed(c.shape(1))[2:]
    stride, dilation = c.p["stride"], c.p["dilation"]
    sizes = c.fixed(c.shape()[2:])
    extra = []
    for k, wanted in enumerate(c.fixed(c.p["x_shape"][2:])):
        # What is cut off at the end less than at the beginning is the `output_padding`.
        made = (sizes[k] - 1) * stride[k] + dilation[k] * (kernel[k] - 1) + 1
        high[k] = max(made - low[k] - wanted, 0)
        extra.append(wanted - (made - low[k] - high[k]))
    return c.emit(
        "ConvTranspose", c[0], c[1], kernel_shape=list(kernel), strides=list(stride), pads=low + high, dilations=list(dilation),
        group=int(c.p["groups"]), output_padding=extra,
    )  # fmt: skip


def _ceil_changes(c: Context, low: list[int], high: list[int], dilation: Any) -> bool:
    """Whether rounding up gives another size than rounding down."""
    sizes, made = c.fixed(c.shape()[2:]), c.fixed(c.out_shape[2:])
    for k, (kernel, stride) in enumerate(zip(c.p["kernel"], c.p["stride"], strict=True)):
        if (sizes[k] + low[k] + high[k] - dilation[k] * (kernel - 1) - 1) // stride + 1 != made[k]:
            return True
    return False


@rule("max_pool")
def _max_pool(c: Context) -> Any:
    low, high = _pairs(c.p["padding"])
    dilation = c.p["dilation"]
    if c.p["ceil_mode"] and _ceil_changes(c, low, high, dilation):
        # More padding at the end until the last window fits: padding is never the maximum.
        sizes, made = c.fixed(c.shape()[2:]), c.fixed(c.out_shape[2:])
        for k, (kernel, stride) in enumerate(zip(c.p["kernel"], c.p["stride"], strict=True)):
            high[k] = max(high[k], (made[k] - 1) * stride + dilation[k] * (kernel - 1) + 1 - sizes[k] - low[k])
            if high[k] >= kernel:
                raise c.refuse("with ceil_mode and a window wholly in the padding")
    return c.emit(
        "MaxPool", c[0], kernel_shape=list(c.p["kernel"]), strides=list(c.p["stride"]), pads=low + high, dilations=list(dilation)
    )


@rule("avg_pool")
def _avg_pool(c: Context) -> Any:
    low, high = _pairs(c.p["padding"])
    kernel = list(c.p["kernel"])
    if c.p["ceil_mode"] and _ceil_changes(c, low, high, [1] * len(kernel)):
        raise c.refuse("with ceil_mode where it adds a window")
    out = c.emit(
        "AveragePool", c[0], kernel_shape=kernel, strides=list(c.p["stride"]), pads=low + high,
        count_include_pad=int(c.p["include_pad"] or c.p["divisor"] is not None),
    )  # fmt: skip
    return out if c.p["divisor"] is None else c.emit("Mul", out, c.number(math.prod(kernel) / c.p["divisor"]))


def _steps(c: Context) -> tuple[list[int], tuple[int, ...], bool]:
    """Output sizes, input sizes, and whether all windows of adaptive pooling have one size."""
    wanted = [int(n) for n in c.fixed(c.out_shape[2:])]
    sizes = c.fixed(c.shape()[2:])
    return wanted, sizes, all(n % m == 0 for n, m in zip(sizes, wanted, strict=True))


@rule("adaptive_avg_pool", "adaptive_max_pool")
def _adaptive_pool(c: Context) -> Any:
    word = "Average" if c.step.op == "adaptive_avg_pool" else "Max"
    if all(n == 1 for n in c.out_shape[2:]):
        return c.emit(f"Global{word}Pool", c[0])
    wanted, sizes, even = _steps(c)
    if even:
        kernel = [n // m for n, m in zip(sizes, wanted, strict=True)]
        return c.emit(f"{word}Pool", c[0], kernel_shape=kernel, strides=kernel)
    if word == "Max" or len(wanted) > 2:
        raise c.refuse(f"from {list(sizes)} to {wanted}, which is not a multiple")
    out = c[0]
    for k, (n, m) in enumerate(zip(sizes, wanted, strict=True)):
        matrix = np.zeros((m, n), c.dtype)
        for row in range(m):
            start, end = row * n // m, -((-(row + 1) * n) // m)
            matrix[row, start:end] = 1 / (end - start)
        last = k == len(wanted) - 1
        out = c.emit("MatMul", out, c.const(matrix.T.copy())) if last else c.emit("MatMul", c.const(matrix), out)
    return out


# ---- normalization, softmax, attention -------------------------------------------------------
@rule("layer_norm")
def _layer_norm(c: Context) -> Any:
    shape = c.fixed(c.p["shape"])
    axes = list(range(-len(shape), 0))
    if c.p["centered"] and c.graph.opset >= 17:
        scale = c[1] or c.const(np.ones(shape, c.dtype))
        names = [c[0], scale, c[2]] if c.has(2) else [c[0], scale]
        return c.emit("LayerNormalization", *names, axis=-len(shape), epsilon=float(c.p["eps"]))
    x = c.emit("Sub", c[0], c.reduce("ReduceMean", c[0], axes, True)) if c.p["centered"] else c[0]
    mean = c.reduce("ReduceMean", c.emit("Mul", x, x), axes, True)
    out = c.emit("Div", x, c.emit("Sqrt", c.emit("Add", mean, c.number(c.p["eps"]))))
    out = c.emit("Mul", out, c[1]) if c.has(1) else out
    return c.emit("Add", out, c[2]) if c.has(2) else out


@rule("batch_norm")
def _batch_norm(c: Context) -> Any:
    """With the batch's own statistics (training, or instance norm as a batch of one)."""
    rank = len(c.shape())
    axes = [k for k in range(rank) if k != 1]
    d = c.emit("Sub", c[0], c.reduce("ReduceMean", c[0], axes, True))
    variance = c.reduce("ReduceMean", c.emit("Mul", d, d), axes, True)
    out = c.emit("Div", d, c.emit("Sqrt", c.emit("Add", variance, c.number(c.p["eps"]))))
    for k, op in ((1, "Mul"), (2, "Add")):
        if c.has(k):
            out = c.emit(op, out, c.emit("Reshape", c[k], c.ints([1, -1] + [1] * (rank - 2))))
    return out


@rule("softmax", "log_softmax")
def _softmax(c: Context) -> Any:
    return c.emit("Softmax" if c.step.op == "softmax" else "LogSoftmax", c[0], axis=int(c.p["dim"]))


@rule("scaled_dot_product_attention")
def _attention(c: Context) -> Any:
    rank = len(c.shape())
    perm = [*range(rank - 2), rank - 1, rank - 2]
    query = c.emit("Mul", c[0], c.number(float(c.p["scale"])))
    scores = c.emit("MatMul", query, c.emit("Transpose", c[1], perm=perm))
    if c.p["causal"]:
        mask = seen(c, c.shape()[-2], c.shape(1)[-2], 0)
        scores = c.emit("Where", mask, scores, c.number(-np.inf))
    if c.has(3):
        scores = c.emit("Add", scores, c[3])
    return c.emit("MatMul", c.emit("Softmax", scores, axis=-1), c[2])


# ---- recurrent layers ------------------------------------------------------------------------
_LAYERS: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    "lstm_layer": ("LSTM", [0, 3, 1, 2], {}),
    "gru_layer": ("GRU", [1, 0, 2], {"linear_before_reset": 1}),
    "rnn_tanh_layer": ("RNN", [0], {"activations": ["Tanh"]}),
    "rnn_relu_layer": ("RNN", [0], {"activations": ["Relu"]}),
}


@rule(*_LAYERS)
def _recurrent(c: Context) -> Any:
    """One direction of one layer: the gates come in another order, and everything has an axis for directions."""
    op, order, options = _LAYERS[c.step.op]
    states = 2 if op == "LSTM" else 1
    size = c.fixed(c.shape(2 + states))[1]
    rows = c.const(np.concatenate([np.arange(k * size, (k + 1) * size) for k in order]))

    def gates(k: int) -> str:
        return c[k] if len(order) == 1 else c.emit("Gather", c[k], rows, axis=0)

    def wide(name: str) -> str:
        return c.emit("Unsqueeze", name, c.ints([0]))

    first = 1 + states
    bias = wide(c.emit("Concat", gates(first + 2), gates(first + 3), axis=0)) if c.has(first + 2) else ""
    given = [c[0], wide(gates(first)), wide(gates(first + 1)), bias, "", *[wide(c[1 + k]) for k in range(states)]]
    made = c.emit(op, *given, count=1 + states, hidden_size=size, direction="reverse" if c.p["reverse"] else "forward", **options)
    return [c.emit("Squeeze", made[0], c.ints([1])), *[c.emit("Squeeze", name, c.ints([0])) for name in made[1:]]]


# ---- embedding and resampling ----------------------------------------------------------------
@rule("embedding")
def _embedding(c: Context) -> Any:
    index = c.name(c.p["index"])
    kind = c.graph.trace.dtypes[c.p["index"].value]
    return c.emit("Gather", c[0], index if kind in (np.int32, np.int64) else c.cast(index, np.int64), axis=0)


@rule("resample_axis")
def _resample_axis(c: Context) -> Any:
    """Every output reads a few places with fixed weights: a Gather for each, as the engine does."""
    index, axis = c.array(c.p["index"]), int(c.p["axis"])
    c.fixed([c.shape()[axis]])
    weight = None if c.p["weight"] is None else c.array(c.p["weight"])
    shape = [1] * len(c.shape())
    shape[axis] = len(index)
    out = ""
    for tap in range(index.shape[1]):
        part = c.emit("Gather", c[0], c.const(index[:, tap].astype(np.int64)), axis=axis)
        if weight is not None:
            part = c.emit("Mul", part, c.const(weight[:, tap].astype(c.dtype).reshape(shape)))
        out = c.emit("Add", out, part) if out else part
    return out
