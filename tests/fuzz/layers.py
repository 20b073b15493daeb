"""Modules of `nn` with random constructors and odd inputs, through what people do with a module.

A case is a module with options, inputs (empty batches, no batch, other layouts, dtypes, broadcast
memory), and steps: forward, backward, evaluation, copies, its state saved and loaded, other
dtypes. After each step what is left is compared with PyTorch.
"""

from __future__ import annotations

import copy
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import arguments
import harness
import operations

import pellucid

NEEDS_TORCH = True
KNOWN: dict[str, str] = {
    "accepted without a derivative in PyTorch": "what PyTorch refuses to differentiate is differentiated here",
    "accepted of another type": "numbers that are whole count as integers, and numbers as tensors of no dimensions",
    "accepted, EmbeddingBag, forward": "PyTorch has no kernel for complex numbers",
    "accepted, PixelUnshuffle, backward": "PyTorch mistakes the shape of an empty gradient",
    "accepted, PixelShuffle, backward": "PyTorch mistakes the shape of an empty gradient",
    "accepted, LPPool": "PyTorch multiplies by the size as it was given, and lists are none",
    "accepted, NLLLoss, backward": "PyTorch asks its own gradient to lie in order",
    "gradient value, BatchNorm2d of one row": "PyTorch reads a gradient in another order than the image's where both could be meant",
    "buffers value, InstanceNorm": "the statistics of no images, and of two-byte images before they are rounded",
    "value, MultiLabelMarginLoss of nothing": "PyTorch returns memory that it has not written",
    "refused, Conv": "dtypes are looked at where there is nothing to compute, too",
    "gradient value, GroupNorm of nothing": "the deviation of no numbers",
    "gradient value, Hardsigmoid": "PyTorch takes a number of four bytes for the slope",
    "value, LazyLinear of nothing": "PyTorch leaves memory as it finds it where there are no inputs",
    "value, MultiMarginLoss of nothing": "PyTorch returns memory that it has not written",
}

KINDS = ("float32", "float32", "float64", "float64", "bfloat16", "complex64", "float16", "int64")
LAYOUTS = ("plain", "plain", "turned", "strided", "expanded", "channels_last", "offset", "same")
STEPS = "backward eval copy state cast train zero again".split()
Made = tuple[list[Any], dict[str, Any], list[Any]]
MODULES: dict[str, Callable[[Any], Made]] = {}


# ---- drawing -----------------------------------------------------------------------------------
def module(*names: str) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """Register a generator of (arguments, options, shapes of the inputs) for modules."""

    def register(function: Callable[..., Made]) -> Callable[..., Made]:
        for name in names:
            MODULES[name] = lambda r, name=name: function(r, name)  # type: ignore[misc]
        return function

    return register


def dims(name: str) -> int:
    return int(next(c for c in name if c.isdigit()))


def picked(r: Any, options: dict[str, list[Any]], share: float = 0.4) -> dict[str, Any]:
    return {k: r.choice(v) for k, v in options.items() if r.random() < share}


def batch(r: Any, *rest: int) -> list[int]:
    """A shape with a batch in front, which may be empty or missing."""
    return [*r.choice([[2], [2], [3], [1], [0], []]), *rest]


@module("Linear", "LazyLinear")
def _linear(r: Any, name: str) -> Made:
    n, m = r.choice([0, 1, 3, 4]), r.choice([1, 5])
    shape = r.choice([[n], [2, n], [0, n], [2, 0, n], [2, 3, n]])
    return (
        ([m] if name[0] == "L" and name[1] == "a" else [n, m]),
        picked(r, {"bias": [False]}),
        [shape],
    )


@module("Bilinear")
def _bilinear(r: Any, name: str) -> Made:
    lead = r.choice([[2], [0], [2, 3], []])
    return [3, 2, 4], picked(r, {"bias": [False]}), [[*lead, 3], [*lead, 2]]


@module("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
def _conv(r: Any, name: str) -> Made:
    n, groups = dims(name), r.choice([1, 1, 2])
    inner, outer = groups * r.choice([1, 2]), groups * r.choice([1, 3])
    kernel = r.choice([1, 2, 3, [r.choice([1, 2, 3]) for _ in range(n)]])
    options = picked(
        r, {"stride": [2, [1] * n], "padding": [1, 2], "dilation": [2], "bias": [False]}
    )
    if "Transpose" in name:
        options |= picked(r, {"output_padding": [0, 1]}, 0.2)
    else:
        options |= picked(
            r,
            {"padding": ["same", "valid", 1], "padding_mode": ["reflect", "circular", "replicate"]},
            0.25,
        )
    sizes = [r.choice([3, 4, 6]) for _ in range(n)]
    return [inner, outer, kernel], options | {"groups": groups}, [batch(r, inner, *sizes)]


@module(
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
)
def _batch_norm(r: Any, name: str) -> Made:
    options = picked(r, {"eps": [1e-3, 0.1], "momentum": [None, 0.3, 1.0, 0.0], "affine": [False, True],
                         "track_running_stats": [False, True]})  # fmt: skip
    c = r.choice([1, 3])
    shape = [r.choice([0, 1, 2, 3]), c, *[r.choice([1, 2, 3]) for _ in range(dims(name))]]
    if name[0] == "I" and r.random() < 0.3:
        shape = shape[1:]
    elif name == "BatchNorm1d" and r.random() < 0.5:
        shape = shape[:2]
    return [c], options, [shape]


@module("LayerNorm", "RMSNorm")
def _layer_norm(r: Any, name: str) -> Made:
    inner = r.choice([[4], [3, 4], [1], [0]])
    options = picked(r, {"eps": [1e-3, 0.1], "elementwise_affine": [False]})
    options |= picked(r, {"bias": [False]}) if name == "LayerNorm" else {}
    return [inner], options, [[*r.choice([[2], [0], [], [2, 3]]), *inner]]


@module("GroupNorm")
def _group_norm(r: Any, name: str) -> Made:
    groups = r.choice([1, 2, 3])
    c = groups * r.choice([1, 2])
    return [groups, c], picked(r, {"eps": [1e-3], "affine": [False]}), [
        [r.choice([0, 1, 2]), c, *r.choice([[], [3], [2, 3], [0]])]
    ]  # fmt: skip


@module("LocalResponseNorm")
def _response(r: Any, name: str) -> Made:
    return [r.choice([1, 2, 3])], picked(r, {"alpha": [0.1], "beta": [0.5], "k": [2.0]}), [
        [r.choice([0, 2]), 4, *r.choice([[3], [3, 3], [2, 3, 3]])]
    ]  # fmt: skip


@module(
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
)
def _pool(r: Any, name: str) -> Made:
    n = dims(name)
    options = picked(r, {"stride": [1, 2, 3], "ceil_mode": [True]})
    if name[0] == "M":
        options |= picked(r, {"padding": [1], "dilation": [2], "return_indices": [True]}, 0.3)
    elif name[0] == "A":
        options |= picked(r, {"padding": [1], "count_include_pad": [False]}, 0.3)
        options |= picked(r, {"divisor_override": [3]}, 0.2) if n > 1 else {}
    kernel = r.choice([2, 3, [2] * n])
    args = [r.choice([1.0, 2.0, 3.0]), kernel] if name[0] == "L" else [kernel]
    return args, options, [batch(r, r.choice([1, 2]), *[r.choice([3, 4, 7]) for _ in range(n)])]


@module("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d",
        "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d")  # fmt: skip
def _adaptive(r: Any, name: str) -> Made:
    n = dims(name)
    size = r.choice([1, 2, 3, 5, [r.choice([1, 2, None]) if n > 1 else 2 for _ in range(n)]])
    options = picked(r, {"return_indices": [True]}, 0.3) if "Max" in name else {}
    return [size], options, [batch(r, 2, *[r.choice([3, 4, 7]) for _ in range(n)])]


@module("FractionalMaxPool2d", "FractionalMaxPool3d")
def _fractional(r: Any, name: str) -> Made:
    n = dims(name)
    options = r.choice([{"output_size": 2}, {"output_ratio": 0.5}])
    return [2], options | picked(r, {"return_indices": [True]}, 0.3), [batch(r, 2, *[5] * n)]


@module("ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
        "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d", "CircularPad1d", "CircularPad2d",
        "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d")  # fmt: skip
def _pad(r: Any, name: str) -> Made:
    n = dims(name)
    by = r.choice([1, 2, [r.choice([0, 1, 2, -1]) for _ in range(2 * n)]])
    extra = [r.choice([0.0, 2.5, 1])] if name[:3] == "Con" else []
    return [by, *extra], {}, [batch(r, 2, *[r.choice([3, 4]) for _ in range(n)])]


@module("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
def _dropout(r: Any, name: str) -> Made:
    n = dims(name) if name[-1] == "d" else r.choice([0, 1, 2])
    return [], picked(r, {"p": [0.0, 0.2, 1.0, 0.9], "inplace": [True]}), [batch(r, 3, *[4] * n)]


@module("Embedding")
def _embedding(r: Any, name: str) -> Made:
    options = picked(r, {"padding_idx": [0, -1, 3], "max_norm": [0.5], "norm_type": [1.0],
                         "scale_grad_by_freq": [True], "sparse": [True]}, 0.3)  # fmt: skip
    return [7, r.choice([1, 3, 4])], options, [["index", 7, *r.choice([[2], [0], [], [2, 3]])]]


@module("EmbeddingBag")
def _bag(r: Any, name: str) -> Made:
    # without scale_grad_by_freq: PyTorch divides by how often another index comes
    options = picked(r, {"padding_idx": [0, 3], "max_norm": [0.5], "mode": ["sum", "mean", "max"],
                         "sparse": [True]}, 0.3)  # fmt: skip
    return [7, r.choice([1, 3])], options, [["index", 7, r.choice([0, 1, 3]), r.choice([1, 2, 3])]]


@module("RNN", "LSTM", "GRU")
def _recurrent(r: Any, name: str) -> Made:
    options = picked(
        r, {"num_layers": [2], "bias": [False], "batch_first": [True], "bidirectional": [True]}
    )
    options |= picked(r, {"nonlinearity": ["relu", "tanh"]}) if name == "RNN" else {}
    options |= picked(r, {"proj_size": [2]}, 0.3) if name == "LSTM" else {}
    return [3, 4], options, [r.choice([[5, 2, 3], [5, 3], [1, 1, 3], [2, 0, 3], [0, 2, 3]])]


@module("RNNCell", "LSTMCell", "GRUCell")
def _cell(r: Any, name: str) -> Made:
    return [3, 4], picked(r, {"bias": [False]}), [r.choice([[2, 3], [3], [0, 3]])]


@module("MultiheadAttention")
def _attention(r: Any, name: str) -> Made:
    options = picked(r, {"bias": [False], "add_bias_kv": [True], "add_zero_attn": [True],
                         "batch_first": [True]})  # fmt: skip
    shape = r.choice([[3, 2, 4], [3, 4], [1, 1, 4], [3, 0, 4]])
    return [4, r.choice([1, 2, 4])], options, [shape, shape, shape]


@module("TransformerEncoderLayer")
def _encoder(r: Any, name: str) -> Made:
    options = picked(r, {"batch_first": [True], "norm_first": [True], "activation": ["gelu", "relu"],
                         "bias": [False], "layer_norm_eps": [1e-3]})  # fmt: skip
    return [4, 2, 5, 0.0], options, [r.choice([[3, 2, 4], [3, 4], [1, 1, 4], [3, 0, 4]])]


@module("TransformerDecoderLayer")
def _decoder(r: Any, name: str) -> Made:
    options = picked(r, {"batch_first": [True], "norm_first": [True], "bias": [False]})
    shape = r.choice([[3, 2, 4], [3, 4], [1, 1, 4]])
    return [4, 2, 5, 0.0], options, [shape, shape]


ACTIVATIONS: dict[str, dict[str, list[Any]]] = {
    "CELU": {"alpha": [0.5, 2.0], "inplace": [True]}, "ELU": {"alpha": [0.5], "inplace": [True]},
    "GELU": {"approximate": ["tanh"]}, "Hardshrink": {"lambd": [0.1, 1]}, "Hardsigmoid": {},
    "Hardswish": {"inplace": [True]}, "Hardtanh": {"min_val": [-0.5], "max_val": [2.0], "inplace": [True]},
    "LeakyReLU": {"negative_slope": [0.3, -0.1], "inplace": [True]}, "LogSigmoid": {},
    "Mish": {"inplace": [True]}, "PReLU": {"num_parameters": [1, 3], "init": [0.1, 1.5]},
    "RReLU": {"lower": [0.1], "upper": [0.5]}, "ReLU": {"inplace": [True]}, "ReLU6": {}, "SELU": {},
    "SiLU": {"inplace": [True]}, "Sigmoid": {}, "Softplus": {"beta": [2, 0.5], "threshold": [1, 20]},
    "Softshrink": {"lambd": [0.1, 1]}, "Softsign": {}, "Tanh": {}, "Tanhshrink": {}, "Identity": {},
    "GLU": {"dim": [0, 1, -1]}, "Softmax": {"dim": [0, -1]}, "LogSoftmax": {"dim": [0, -1]},
    "Softmin": {"dim": [0, -1]}, "Softmax2d": {}, "Flatten": {"start_dim": [0, 1, 2], "end_dim": [-1, 1]},
    "CosineSimilarity": {"dim": [0, -1], "eps": [0.1]}, "PairwiseDistance": {"p": [1.0, 3.0], "keepdim": [True]},
    "PixelShuffle": {}, "PixelUnshuffle": {}, "ChannelShuffle": {}, "Unfold": {}, "Upsample": {},
    "UpsamplingNearest2d": {}, "UpsamplingBilinear2d": {},
}  # fmt: skip


@module(*ACTIVATIONS)
def _activation(r: Any, name: str) -> Made:
    options = picked(r, ACTIVATIONS[name])
    shape = r.choice([[2, 3], [2, 3, 4], [4], [], [0, 3], [2, 4, 2, 2], [3, 2, 2], [2, 3, 0]])
    args: list[Any] = []
    if name == "Threshold":
        args = [0.1, 2.0]
    elif name in ("PixelShuffle", "PixelUnshuffle", "ChannelShuffle"):
        args, shape = [2], r.choice([[2, 4, 2, 4], [4, 2, 2], [0, 4, 2, 2], [1, 8, 4, 4]])
    elif name == "Unfold":
        args, shape = [2], batch(r, 2, 4, 4)
        options = picked(r, {"padding": [1], "stride": [2], "dilation": [2]})
    elif name.startswith("Ups"):
        shape = [r.choice([0, 1, 2]), 2, *[r.choice([2, 3]) for _ in range(2)]]
        options = r.choice([{"scale_factor": 2}, {"size": [3, 5]}, {"scale_factor": 1.5}])
        if name == "Upsample":
            options |= picked(
                r, {"mode": ["bilinear", "bicubic", "nearest", "nearest-exact", "area"]}, 0.7
            )
            options |= picked(r, {"align_corners": [True]}, 0.2)
    return args, options, [shape] * (2 if name in ("CosineSimilarity", "PairwiseDistance") else 1)


LOSSES: dict[str, dict[str, list[Any]]] = {
    "L1Loss": {}, "MSELoss": {}, "SmoothL1Loss": {"beta": [0.5, 0.0]}, "HuberLoss": {"delta": [0.5]},
    "KLDivLoss": {"log_target": [True]}, "PoissonNLLLoss": {"log_input": [False], "full": [True]},
    "SoftMarginLoss": {}, "HingeEmbeddingLoss": {"margin": [0.5]}, "BCEWithLogitsLoss": {},
    "MultiLabelSoftMarginLoss": {}, "CrossEntropyLoss": {"label_smoothing": [0.1]},
    "GaussianNLLLoss": {"full": [True]}, "MarginRankingLoss": {"margin": [0.5]},
    "CosineEmbeddingLoss": {"margin": [0.2]}, "TripletMarginLoss": {"p": [1.0], "swap": [True]},
    "NLLLoss": {"ignore_index": [1]}, "MultiMarginLoss": {"p": [2], "margin": [0.5]},
    "MultiLabelMarginLoss": {},
}  # fmt: skip


@module(*LOSSES)
def _loss(r: Any, name: str) -> Made:
    options = picked(
        r,
        {
            **LOSSES[name],
            "reduction": ["sum", "none", "mean", "batchmean"][: 4 if name[0] == "K" else 3],
        },
    )
    shape = r.choice([[2, 3], [3], [0, 3], [2, 3, 4], [2, 3, 2, 2]])
    rest = shape[:1] + shape[2:] if len(shape) > 1 else []
    index = ["index", shape[1] if len(shape) > 1 else 3, *rest]
    inputs: dict[str, list[Any]] = {
        "NLLLoss": [shape, index], "MultiMarginLoss": [shape, index],
        "CrossEntropyLoss": [shape, r.choice([index, shape])],
        "GaussianNLLLoss": [shape, shape, ["positive", *shape]],
        "MarginRankingLoss": [shape, shape, shape], "TripletMarginLoss": [shape] * 3,
        "CosineEmbeddingLoss": [shape, shape, ["sign", *shape[:1]]],
        "MultiLabelMarginLoss": [shape, ["index", 3, *shape]],
    }  # fmt: skip
    return [], options, inputs.get(name, [shape, shape])


def draw(random: Any) -> dict[str, Any]:
    name = random.choice(sorted(MODULES))
    args, options, shapes = MODULES[name](random)
    if random.random() < 0.06 and options:  # something that does not fit
        options = {
            **options,
            random.choice(list(options)): random.choice([-1, 0, 2, "x", None, True, 7]),
        }
    kind = random.choice(KINDS)
    return {
        "module": name,
        "args": args,
        "options": options,
        "inputs": [
            {"shape": s, "layout": random.choice(LAYOUTS), "grad": random.random() < 0.8}
            for s in shapes
        ],
        "dtype": kind,
        "own": "float32" if random.random() < 0.15 else kind,  # the dtype of the parameters
        "steps": [random.choice(STEPS) for _ in range(random.randrange(1, 5))],
        "seed": random.randrange(100),
    }


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for k in range(len(case["steps"])):
        yield {**case, "steps": case["steps"][:k] + case["steps"][k + 1 :]}
    for key in case["options"]:
        yield {**case, "options": {k: v for k, v in case["options"].items() if k != key}}
    for k, x in enumerate(case["inputs"]):
        for key, plain in (("layout", "plain"), ("grad", False)):
            if x[key] != plain:
                inputs = [*case["inputs"]]
                inputs[k] = {**x, key: plain}
                yield {**case, "inputs": inputs}
    if case["own"] != case["dtype"]:
        yield {**case, "own": case["dtype"]}


# ---- running -----------------------------------------------------------------------------------
class Run:
    """One library's run of a case: a log of [what, value]."""

    def __init__(self, m: Any, case: dict[str, Any]) -> None:
        self.m, self.case, self.log = m, case, []
        (m.default_generator if m is not pellucid else m).manual_seed(case["seed"])
        self.doing = "made"
        try:
            self.start()
            for step in case["steps"]:
                self.doing = step
                getattr(self, f"on_{step}")()
                self.doing = "forward"
        except Exception as error:
            self.log.append([self.doing, error])

    def note(self, what: str, value: Any) -> None:
        self.log.append([what, value])

    def start(self) -> None:
        case, m = self.case, self.m
        self.layer = getattr(m.nn, case["module"])(*case["args"], **case["options"])
        if case["own"] not in ("float32", "int64"):
            self.layer.to(getattr(m, case["own"]))
        self.note("repr", repr(self.layer))
        self.doing = "forward"
        self.forward()

    def given(self, k: int, spec: dict[str, Any]) -> Any:
        m, shape = self.m, list(spec["shape"])
        rng = np.random.default_rng(1000 * self.case["seed"] + k)
        kind = getattr(m, self.case["dtype"])
        words = shape.pop(0) if shape and isinstance(shape[0], str) else ""
        if words == "index":
            x = m.from_numpy(rng.integers(0, shape.pop(0), shape))
            return x
        values = rng.standard_normal(shape) * (4 if self.case["dtype"] == "int64" else 1)
        if words == "positive":
            values = np.abs(values) + 0.5
        elif words == "sign":
            values = np.where(values > 0, 1.0, -1.0)
        x = m.from_numpy(np.asarray(values, np.float64)).to(kind)
        layout = spec["layout"]
        if layout == "turned" and x.ndim > 1:
            x = x.transpose(0, -1).contiguous().transpose(0, -1)
        elif layout == "strided":
            x = m.stack([x, x], -1)[..., 0]
        elif layout == "expanded" and x.ndim and x.shape[0]:
            x = x[:1].expand(x.shape)
        elif layout == "channels_last" and x.ndim == 4:
            x = x.to(memory_format=m.channels_last)
        elif layout == "offset" and x.ndim and x.shape[0]:
            x = m.cat([x[:1], x])[1:]
        leaf = x
        if spec["grad"] and (kind.is_floating_point or kind.is_complex):
            leaf.requires_grad_()
            x = leaf * 1 if self.case["options"].get("inplace") else leaf
        self.leaves.append(leaf)
        return x

    def forward(self) -> None:
        self.leaves: list[Any] = []
        inputs = [self.given(k, spec) for k, spec in enumerate(self.case["inputs"])]
        self.outs = arguments.tensors_in(self.layer(*inputs), self.m.Tensor)
        self.note("result", list(self.outs))
        self.note("buffers", [b.clone() for b in self.layer.buffers()])

    def on_backward(self) -> None:
        outs = [o for o in self.outs if o.requires_grad]
        if not outs:
            return
        heads = [
            self.m.from_numpy(arguments.weights(tuple(o.shape), np.dtype("float64"))).to(o.dtype)
            for o in outs
        ]
        self.m.autograd.backward(outs, heads)
        found = [t.grad for t in [*self.leaves, *self.layer.parameters()]]
        self.note("gradient", [g.to_dense() if g is not None and g.is_sparse else g for g in found])
        self.doing = "forward"
        self.forward()

    def on_eval(self) -> None:
        self.layer.eval()
        self.forward()

    def on_train(self) -> None:
        self.layer.train()
        self.forward()

    def on_again(self) -> None:
        self.forward()

    def on_zero(self) -> None:
        self.layer.zero_grad()
        self.forward()

    def on_copy(self) -> None:
        self.layer = copy.deepcopy(self.layer)
        self.forward()

    def on_state(self) -> None:
        m, case = self.m, self.case
        file = io.BytesIO()
        m.save(self.layer.state_dict(), file)
        file.seek(0)
        state = m.load(file)
        self.note("state", list(state.values()))
        self.note("keys", list(state))
        fresh = getattr(m.nn, case["module"])(*case["args"], **case["options"])
        fresh.to(next((t.dtype for t in state.values() if t.is_floating_point()), m.float32))
        self.note("loaded", str(fresh.load_state_dict(state)))
        fresh.train(self.layer.training)
        self.layer = fresh
        self.forward()

    def on_cast(self) -> None:
        self.layer.double()
        self.case = {**self.case, "dtype": "float64", "own": "float64"}
        self.forward()


def numbers(mine: Any, theirs: Any, tolerance: float) -> str | None:
    if (mine is None) != (theirs is None):
        return f"None: {mine is None}, PyTorch {theirs is None}"
    if mine is None:
        return None
    if tuple(mine.shape) != tuple(theirs.shape):
        return f"shape: {tuple(mine.shape)}, PyTorch {tuple(theirs.shape)}"
    if operations.type_of(mine) != operations.type_of(theirs):
        return f"dtype: {mine.dtype}, PyTorch {theirs.dtype}"
    if mine.requires_grad != theirs.requires_grad:
        return f"requires_grad: {mine.requires_grad}"
    a, b = operations.values_of(mine), operations.values_of(theirs)
    sound = np.isfinite(b)
    least = tolerance * max(1.0, float(np.max(np.abs(b[sound]), initial=0.0)))
    same = np.array_equal(np.isnan(a), np.isnan(b)) and np.array_equal(np.isinf(a), np.isinf(b))
    if same and np.allclose(a[sound], b[sound], tolerance, least):
        return None
    far = f"{np.max(np.abs(a[sound] - b[sound]), initial=0):.3g}" if same else "not finite alike"
    return f"value: {far} at most, {a.reshape(-1)[:4]}, PyTorch {b.reshape(-1)[:4]}"


def run(case: dict[str, Any]) -> str | None:
    import torch

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with harness.reference():
            theirs = Run(torch, case).log
        mine = Run(pellucid, case).log
    shown = f"nn.{case['module']}(*{case['args']}, **{case['options']}) {case['dtype']}/{case['own']} {case['inputs']} {case['steps']}"
    text = compared(case, mine, theirs)
    return None if text is None else f"{text}\n{shown}"


def compared(case: dict[str, Any], mine: list[Any], theirs: list[Any]) -> str | None:
    name = case["module"]
    kinds = (case["own"], case["dtype"])
    tolerance = (
        0.05 if any("16" in k for k in kinds) else 1e-9 if kinds == ("float64",) * 2 else 1e-4
    )
    nothing = " of nothing" * any(0 in x["shape"] for x in case["inputs"])
    if not nothing and len(case["inputs"][0]["shape"]) == 4 and 1 in case["inputs"][0]["shape"][2:]:
        nothing = " of one row"
    for (what, a), (other, b) in zip(mine, theirs, strict=False):
        wrong = [isinstance(v, Exception) for v in (a, b)]
        if all(wrong):
            if type(a).__name__ == type(b).__name__ or "differentiation for outputs" in str(b):
                return None
            return f"other error, {name}, {what}: {a!r:.200} | {b!r:.200}"
        if any(wrong):
            if wrong[1] and "not implemented for" in str(b) or "not implemented for" in str(a):
                return None  # which kernels there are, the operations' fuzzer knows
            said = f"{a if wrong[0] else b!r:.200}"
            parts = (
                "differentiation for outputs",
                "derivative for",
                "not differentiable with respect",
            )
            if wrong[1] and any(part in str(b) for part in parts):
                return f"accepted without a derivative in PyTorch, {name}: {said}"
            if wrong[1] and isinstance(b, TypeError) and "must be" in said:
                return f"accepted of another type, {name}: {said}"
            return f"{'refused' if wrong[0] else 'accepted'}, {name}, {what if wrong[0] else other}: {said}"
        if isinstance(a, list) and a and not isinstance(a[0], str):
            for k, (x, y) in enumerate(zip(a, b, strict=False)):
                text = numbers(x, y, tolerance)
                if text is not None:
                    part, _, rest = text.partition(":")
                    return f"{what} {part}, {name}{nothing}: {k} {rest}"
        elif isinstance(a, (str, list)) and a != b:
            return f"{what}, {name}: {a!r:.200} | {b!r:.200}"
    return None
