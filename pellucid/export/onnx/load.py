"""ONNX files as callables: the operators that the export writes, run by the engine."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.core.primitive import TENSORS as F
from pellucid.core.tensor import Tensor, make_tensor
from pellucid.errors import ArgumentValueError

from . import wire
from .errors import UnsupportedOperatorError

LAST = 2**62

_UNARY = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh",
    "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp", "Floor": "floor", "Log": "log", "Neg": "neg",
    "Reciprocal": "reciprocal", "Relu": "relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin",
    "Sinh": "sinh", "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh", "IsNaN": "isnan", "IsInf": "isinf", "HardSwish": "hardswish",
    "Identity": "alias", "Not": "logical_not", "BitwiseNot": "bitwise_not", "Add": "add", "Sub": "sub", "Mul": "mul", "Pow": "pow",
    "Where": "where", "Greater": "gt", "GreaterOrEqual": "ge", "Less": "lt", "LessOrEqual": "le", "Equal": "eq", "Max": "maximum",
    "Min": "minimum", "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "MatMul": "matmul",
    "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
}  # fmt: skip
_REDUCE: dict[str, Callable[..., Any]] = {
    "ReduceSum": lambda x, dim, keep: F.sum(x, dim=dim, keepdim=keep),
    "ReduceMean": lambda x, dim, keep: F.mean(x, dim=dim, keepdim=keep),
    "ReduceProd": lambda x, dim, keep: F.prod(x, dim=dim, keepdim=keep),
    "ReduceMax": lambda x, dim, keep: F.amax(x, dim=dim, keepdim=keep),
    "ReduceMin": lambda x, dim, keep: F.amin(x, dim=dim, keepdim=keep),
    "ReduceL2": lambda x, dim, keep: F.sqrt(F.sum(F.square(x), dim=dim, keepdim=keep)),
    "ReduceLogSumExp": lambda x, dim, keep: F.logsumexp(x, dim=dim, keepdim=keep),
}


def _ints(t: Tensor) -> list[int]:
    return [int(n) for n in t._array.reshape(-1)]


def _pads(a: dict[str, Any], rank: int) -> tuple[tuple[int, int], ...]:
    pads = a.get("pads", [0] * (2 * rank))
    return tuple((pads[k], pads[rank + k]) for k in range(rank))


def _reshape(a: dict[str, Any], x: Any, shape: Any) -> Any:
    target = _ints(shape)
    if not a.get("allowzero"):
        target = [x.shape[k] if n == 0 else n for k, n in enumerate(target)]
    return x.reshape(target)


def _slice(a: dict[str, Any], x: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    for start, end, axis, step in zip(*[_ints(t) for t in (starts, ends, axes, steps)], strict=True):
        if step == -1 and start == -1 and end < -LAST:
            x = F.flip(x, dims=(axis % x.ndim,))
            continue
        if step < 1:
            raise UnsupportedOperatorError("onnx.load(): Slice with a negative step")
        index = [slice(None)] * x.ndim
        index[axis] = slice(start, None if end > LAST else end, step)
        x = x[tuple(index)]
    return x


def _squeeze(a: dict[str, Any], x: Any, axes: Any) -> Any:
    gone = {d % x.ndim for d in _ints(axes)}
    return x.reshape([n for k, n in enumerate(x.shape) if k not in gone])


def _unsqueeze(a: dict[str, Any], x: Any, axes: Any) -> Any:
    new = sorted(d % (x.ndim + len(_ints(axes))) for d in _ints(axes))
    for d in new:
        x = F.unsqueeze(x, dim=d)
    return x


def _gather(a: dict[str, Any], x: Any, index: Any) -> Any:
    axis = a.get("axis", 0) % x.ndim
    flat = index.reshape([-1])
    flat = F.where(F.lt(flat, 0), F.add(flat, x.shape[axis]), flat)
    out = F.index_select(x, flat, dim=axis)
    return out.reshape([*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]])


def _expand(a: dict[str, Any], x: Any, shape: Any) -> Any:
    return F.expand(x, shape=np.broadcast_shapes(tuple(x.shape), tuple(_ints(shape))))


def _div(a: dict[str, Any], x: Any, y: Any) -> Any:
    return F.trunc_divide(x, y) if x._array.dtype.kind in "iu" else F.div(x, y)


def _pool(a: dict[str, Any], x: Any, maximum: bool) -> Any:
    kernel = tuple(a["kernel_shape"])
    rank = len(kernel)
    stride, dilation, pads = tuple(a.get("strides", [1] * rank)), tuple(a.get("dilations", [1] * rank)), _pads(a, rank)
    if a.get("ceil_mode") or any(low != high for low, high in pads):
        if not maximum or a.get("ceil_mode"):
            raise UnsupportedOperatorError("onnx.load(): pooling with ceil_mode or uneven padding")
        flat = tuple(n for pair in reversed(pads) for n in pair)
        x, pads = F.constant_pad_nd(x, pad=flat, value=-np.inf), ((0, 0),) * rank
    padding = tuple(low for low, _ in pads)
    if maximum:
        return F.max_pool(x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=False)
    include = bool(a.get("count_include_pad", 0))
    return F.avg_pool(x, kernel=kernel, stride=stride, padding=padding, ceil_mode=False, include_pad=include, divisor=None)


def _conv(a: dict[str, Any], x: Any, w: Any, b: Any = None) -> Any:
    rank = w.ndim - 2
    return F.conv(
        x, w, b, stride=tuple(a.get("strides", [1] * rank)), padding=_pads(a, rank), dilation=tuple(a.get("dilations", [1] * rank)),
        groups=a.get("group", 1),
    )  # fmt: skip


def _conv_transpose(a: dict[str, Any], x: Any, w: Any, b: Any = None) -> Any:
    rank, groups = w.ndim - 2, a.get("group", 1)
    stride, dilation = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    pads, extra = _pads(a, rank), a.get("output_padding", [0] * rank)
    sizes = [
        (x.shape[2 + k] - 1) * stride[k] + dilation[k] * (w.shape[2 + k] - 1) + 1 - sum(pads[k]) + extra[k] for k in range(rank)
    ]
    padding = tuple((low, high - more) for (low, high), more in zip(pads, extra, strict=True))
    out = F.conv_input_grad(
        x, w, x_shape=(x.shape[0], w.shape[1] * groups, *sizes), stride=tuple(stride), padding=padding, dilation=tuple(dilation),
        groups=groups,
    )  # fmt: skip
    return out if b is None else F.add(out, b.reshape([1, -1] + [1] * rank))


def _gemm(a: dict[str, Any], x: Any, w: Any, b: Any = None) -> Any:
    if a.get("transA") or a.get("alpha", 1.0) != 1 or a.get("beta", 1.0) != 1:
        raise UnsupportedOperatorError("onnx.load(): Gemm with transA, alpha or beta")
    out = F.matmul(x, w.t() if a.get("transB") else w)
    return out if b is None else F.add(out, b)


def _topk(a: dict[str, Any], x: Any, k: Any) -> Any:
    return F.topk(x, k=_ints(k)[0], dim=a.get("axis", -1) % x.ndim, largest=bool(a.get("largest", 1)))


def _split(a: dict[str, Any], x: Any, sizes: Any) -> Any:
    return F.split(x, sizes=tuple(_ints(sizes)), dim=a.get("axis", 0) % x.ndim)


def _clip(a: dict[str, Any], x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else F.maximum(x, low)
    return x if high is None else F.minimum(x, high)


def _pad(a: dict[str, Any], x: Any, pads: Any, value: Any = None) -> Any:
    if a.get("mode", "constant") != "constant":
        raise UnsupportedOperatorError("onnx.load(): Pad with another mode than constant")
    n, rank = _ints(pads), x.ndim
    flat = tuple(n[k + at] for k in reversed(range(rank)) for at in (0, rank))
    return F.constant_pad_nd(x, pad=flat, value=0 if value is None else value._array.item())


def _layer_norm(a: dict[str, Any], x: Any, scale: Any, bias: Any = None) -> Any:
    return F.layer_norm(x, scale, bias, shape=tuple(x.shape[a.get("axis", -1) :]), eps=a.get("epsilon", 1e-5), centered=True)


def _gather_nd(a: dict[str, Any], x: Any, index: Any) -> Any:
    columns = [index[..., k] for k in range(index.shape[-1])]
    return x[tuple(columns)]


def _arg(op: str) -> Callable[..., Any]:
    return lambda a, x: getattr(F, op)(x, dim=a.get("axis", 0) % x.ndim, keepdim=bool(a.get("keepdims", 1)))


def _scatter(a: dict[str, Any], x: Any, index: Any, values: Any) -> Any:
    reduction = a.get("reduction", "none")
    if reduction not in ("none", "add"):
        raise UnsupportedOperatorError(f"onnx.load(): ScatterElements with the reduction {reduction}")
    how = x.scatter if reduction == "none" else x.scatter_add
    return how(a.get("axis", 0), index, values)


OPERATORS: dict[str, Callable[..., Any]] = {
    "Reshape": _reshape, "Slice": _slice, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Gather": _gather, "Expand": _expand,
    "Div": _div, "Conv": _conv, "ConvTranspose": _conv_transpose, "Gemm": _gemm, "TopK": _topk, "Split": _split, "Clip": _clip,
    "Pad": _pad, "LayerNormalization": _layer_norm, "GatherND": _gather_nd, "ArgMax": _arg("argmax"), "ArgMin": _arg("argmin"),
    "ScatterElements": _scatter,
    "MaxPool": lambda a, x: _pool(a, x, True),
    "AveragePool": lambda a, x: _pool(a, x, False),
    "GlobalAveragePool": lambda a, x: F.mean(x, dim=tuple(range(2, x.ndim)), keepdim=True),
    "GlobalMaxPool": lambda a, x: F.amax(x, dim=tuple(range(2, x.ndim)), keepdim=True),
    "Transpose": lambda a, x: F.permute(x, dims=tuple(a["perm"])),
    "Concat": lambda a, *xs: F.cat(*xs, dim=a["axis"] % xs[0].ndim),
    "Cast": lambda a, x: F.cast(x, dtype=wire.NUMPY_TYPES[a["to"]]),
    "Softmax": lambda a, x: F.softmax(x, dim=a.get("axis", -1) % x.ndim),
    "LogSoftmax": lambda a, x: F.log_softmax(x, dim=a.get("axis", -1) % x.ndim),
    "LeakyRelu": lambda a, x: F.leaky_relu(x, slope=a.get("alpha", 0.01)),
    "Elu": lambda a, x: F.elu(x, alpha=a.get("alpha", 1.0), scale=1.0, input_scale=1.0),
    "HardSigmoid": lambda a, x: F.clamp(F.add(F.mul(x, a.get("alpha", 0.2)), a.get("beta", 0.5)), min=0.0, max=1.0),
    "Softplus": lambda a, x: F.softplus_of(x),
    "Mod": lambda a, x, y: F.fmod(x, y) if a.get("fmod") else F.remainder(x, y),
    "CumSum": lambda a, x, axis: F.cumsum(x, dim=_ints(axis)[0] % x.ndim),
    "GatherElements": lambda a, x, index: F.gather(x, index, dim=a.get("axis", 0) % x.ndim),
    "Tile": lambda a, x, repeats: F.repeat(x, repeats=tuple(_ints(repeats))),
    "Trilu": lambda a, x, k=None: (F.triu if a.get("upper", 1) else F.tril)(x, diagonal=_ints(k)[0] if k is not None else 0),
    "Shape": lambda a, x: make_tensor(np.array(x.shape, np.int64)),
    "ConstantOfShape": lambda a, shape: make_tensor(np.full(_ints(shape), a["value"][0], a["value"].dtype)),
    "Range": lambda a, start, end, step: make_tensor(np.arange(start._array, end._array, step._array)),
}  # fmt: skip


# Attributes that the operators above take account of; a node with another one is refused.
ATTRIBUTES = {
    "allowzero", "alpha", "axes", "axis", "beta", "ceil_mode", "count_include_pad", "dilations", "epsilon", "fmod", "group",
    "keepdims", "kernel_shape", "largest", "mode", "output_padding", "pads", "perm", "reduction", "sorted", "strides", "to", "transA",
    "transB", "upper", "value",
}  # fmt: skip


def _reduction(op: str) -> Callable[..., Any]:
    def run(a: dict[str, Any], x: Any, axes: Any = None) -> Any:
        given = a.get("axes") if axes is None else _ints(axes)
        dims = tuple(range(x.ndim)) if given is None else tuple(d % x.ndim for d in given)
        return _REDUCE[op](x, dims, bool(a.get("keepdims", 1)))

    return run


def _direct(name: str) -> Callable[..., Any]:
    return lambda a, *xs: getattr(F, name)(*xs)


OPERATORS.update({op: _reduction(op) for op in _REDUCE})
OPERATORS.update({op: _direct(name) for op, name in _UNARY.items()})


class OnnxModule:
    """A loaded ONNX graph: call it with tensors in the order of its inputs."""

    def __init__(self, model: wire.ReadModel) -> None:
        self._model = model
        self.initializers = {name: make_tensor(array) for name, array in model.initializers.items()}
        self.input_names = [name for name in model.inputs if name not in model.initializers]
        self.output_names = list(model.outputs)

    def state_dict(self) -> dict[str, Tensor]:
        """The initializers by name."""
        return dict(self.initializers)

    def __call__(self, *args: Tensor) -> Any:
        """The result, or a tuple of them.

        Raises:
            ValueError: another number of inputs, or an input of another dtype or shape.
        """
        if len(args) != len(self.input_names):
            raise ArgumentValueError(f"the model has {len(self.input_names)} inputs ({self.input_names}), {len(args)} were given")
        values: dict[str, Any] = {"": None, **self.initializers}
        for name, t in zip(self.input_names, args, strict=True):
            dtype, dims = self._model.inputs[name]
            fits = all(isinstance(n, str) or n == m for n, m in zip(dims, t.shape, strict=False))
            if t._array.dtype != dtype or t._array.ndim != len(dims) or not fits:
                raise ArgumentValueError(
                    f"input {name!r} should be {dtype.name}{list(dims)}, not {t._array.dtype.name}{list(t.shape)}"
                )
            values[name] = t
        for node in self._model.nodes:
            out = OPERATORS[node.op](node.attributes, *[values[name] for name in node.inputs])
            values.update(zip(node.outputs, out if isinstance(out, tuple) else (out,), strict=True))
        made = tuple([values[name] for name in self.output_names])
        return made[0] if len(made) == 1 else made


def load(f: str | os.PathLike[str] | Any) -> OnnxModule:
    """Read an ONNX file as a callable.

    Raises:
        UnsupportedOperatorError: lists all operators that are not supported.
        RuntimeError: the file is damaged.

    >>> import io
    >>> import pellucid as torch
    >>> file = io.BytesIO()
    >>> torch.onnx.export(torch.nn.ReLU(), torch.ones(2), file)
    >>> torch.onnx.load(io.BytesIO(file.getvalue()))(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if hasattr(f, "read"):
        data = f.read()
    else:
        with open(f, "rb") as file:
            data = file.read()
    model = wire.read_model(data)
    if model.opset not in wire.IR_VERSIONS:
        raise UnsupportedOperatorError(f"onnx.load(): the file has the opset {model.opset}, read are {sorted(wire.IR_VERSIONS)}")
    missing = sorted(
        {node.op for node in model.nodes if node.op not in OPERATORS}
        | {f"{node.op} with {key}" for node in model.nodes for key in node.attributes if key not in ATTRIBUTES}
    )
    if missing:
        raise UnsupportedOperatorError(f"onnx.load(): no operators for: {', '.join(missing)}")
    return OnnxModule(model)
