"""Recurrent layers over a sequence. One direction of one layer is one operation; with
`create_graph`, backward differentiates the operations of the cells instead.

Packed sequences have operations of their own (`gru_packed`), whose input is (N, in) and whose
parameter `sizes` says how many sequences take part in each step. A single call of a cell is an
operation, too (`gru_step`).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ...arrays import rnn
from ...arrays.halves import HALVES
from ...core.interpret import playing, thread
from ...core.modes import state
from ...core.observe import observers
from ...core.primitive import TENSORS as F
from ...core.primitive import defop
from ...core.tape import Node
from ...core.tensor import Parameter, Tensor
from ...core.transforms.arranging import node_before
from ...core.transforms.unfolding import Unfolding
from .._rules import differentiated, on_host
from .._samples import Sample
from . import positional as cells

_CELLS = {"gru": cells.gru_cell, "rnn_tanh": cells.rnn_tanh_cell, "rnn_relu": cells.rnn_relu_cell}
_PLAIN = (Tensor, Parameter, type(None))
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
# PyTorch's node of the state of a cell; that of an LSTM's second state is an AddBackward0.
_LAST_NODES = {"lstm": "Mul", "gru": "Add", "rnn_tanh": "Tanh", "rnn_relu": "Relu"}
_F32 = np.dtype(np.float32)
_DTYPES = (_F32, np.dtype(np.float64))


def _cell(mode: str, x: Any, state: Any, weights: Any) -> Any:
    """Return the state after one step, as (h,) or (h, c)."""
    return (
        cells.lstm_cell(x, state, *weights)
        if mode == "lstm"
        else (_CELLS[mode](x, state[0], *weights),)
    )


def _composite(
    mode: str, x: Any, hx: Any, cx: Any, weights: Any, reverse: bool, sizes: Any = None
) -> tuple[Any, ...]:
    """Compute the layer from other operations, step by step."""
    state = (hx, cx) if mode == "lstm" else (hx,)
    if sizes is not None:
        return _packed_composite(mode, x, state, weights, reverse, sizes)
    outs = []
    for t in reversed(range(x.shape[0])) if reverse else range(x.shape[0]):
        state = _cell(mode, x[t], state, weights)
        outs.append(state[0])
    if reverse:
        outs.reverse()
    return (F.stack(*outs, dim=0), *state)


def _packed_composite(
    mode: str, x: Any, first: Any, weights: Any, reverse: bool, sizes: Any
) -> tuple[Any, ...]:
    steps = x.split(list(sizes))
    outs, ended = [], []
    state = tuple(s[: sizes[-1]] for s in first) if reverse else first
    for n, step in zip(reversed(sizes), reversed(steps)) if reverse else zip(sizes, steps):
        rows = state[0].shape[0]
        if n > rows:  # going backwards in time, shorter sequences join later
            state = tuple(F.cat(s, more[rows:n], dim=0) for s, more in zip(state, first))
        elif n < rows:
            ended.append(tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        state = _cell(mode, step, state, weights)
        outs.append(state[0])
    if reverse:
        outs.reverse()
    ended.append(state)
    return (F.cat(*outs, dim=0), *(F.cat(*parts, dim=0) for parts in zip(*reversed(ended))))


def composed(
    mode: str, gates: Any, first: Any, weights: Any, reverse: bool, sizes: Any = None
) -> tuple[Any, Any]:
    """`layer` by operations, as PyTorch has them.

    Args:
        gates: the input's part of the gates at all steps, biases included.
        weights: (w_hh, b_hh or None, w_hr or None).
    """
    state, outs, ended = tuple(first), [], []
    if sizes is None:
        steps = gates.unbind(0)
    else:
        ends = list(itertools.accumulate(sizes))
        steps = [gates.narrow(0, end - n, n) for n, end in zip(sizes, ends)]
    if sizes is not None and reverse:
        state = tuple(s[: sizes[-1]] for s in state)
    for step in reversed(steps) if reverse else steps:
        rows, n = state[0].shape[0], step.shape[0]
        if n > rows:  # going backwards in time, shorter sequences join later
            state = tuple(F.cat(s, more[rows:n], dim=0) for s, more in zip(state, first))
        elif n < rows:
            ended.append(tuple(s[n:] for s in state))
            state = tuple(s[:n] for s in state)
        state = step_of_gates(mode, step, state, weights)
        outs.append(state[0])
    if reverse:
        outs.reverse()
    if sizes is None:
        return F.stack(*outs, dim=0), state
    if not reverse:
        parts = zip(*reversed([*ended, state]))
        state = tuple(F.cat(*group, dim=0) for group in parts)
    return F.cat(*outs, dim=0), state


def step_of_gates(mode: str, gates: Any, state: Any, weights: Any) -> Any:
    """The state, (h,) or (h, c), after a step; arguments as those of `composed`."""
    w_hh, b_hh, w_hr = weights
    h = state[0]
    from_h = cells.nn_linear.linear(h, w_hh, b_hh)
    if mode == "LSTM":
        i, f, g, o = cells.gates_of(from_h + gates, 4)
        c = F.sigmoid(f) * state[1] + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        return (h if w_hr is None else cells.nn_linear.linear(h, w_hr)), c
    if mode == "GRU":
        r_x, z_x, n_x = cells.gates_of(gates, 3)
        r_h, z_h, n_h = cells.gates_of(from_h, 3)
        r, z = F.sigmoid(r_h + r_x), F.sigmoid(z_h + z_x)
        n = F.tanh(n_x + n_h * r)
        return ((h - n) * z + n,)
    both = from_h + gates
    return (F.tanh(both) if mode == "RNN_TANH" else both.relu(),)


def _unfolded(name: str, one: bool) -> Any:
    """Return a function that computes a layer, or a step of a cell, by PyTorch's operations."""

    def function(x: Any, *given: Any, reverse: bool = False, sizes: Any = None) -> tuple[Any, ...]:
        *states, w_ih, w_hh, b_ih, b_hh = given
        gates = cells.nn_linear.linear(x, w_ih, b_ih)
        if one:
            made = step_of_gates(name, gates, states, (w_hh, b_hh, None))
            return made if name == "LSTM" else made[0]
        out, last = composed(name, gates, states, (w_hh, b_hh, None), reverse, sizes)
        return (out, *last)

    return function


def _vjp(
    F: Any,
    mode: str,
    g: Any,
    args: tuple[Any, ...],
    aux: Any,
    needs: Any,
    reverse: bool,
    sizes: Any = None,
) -> tuple[Any, ...]:
    """Return the gradients of (input, hx, cx, w_ih, w_hh, b_ih, b_hh)."""
    if F.raw:
        return on_host(
            F, rnn.backward, mode, g, args[0], args[3], args[4], aux, needs, reverse, sizes
        )
    return differentiated(
        lambda x, hx, cx, *weights: _composite(mode, x, hx, cx, weights, reverse, sizes),
        g,
        args,
        needs,
    )


def _step_vjp(
    F: Any, mode: str, g: Any, args: tuple[Any, ...], aux: Any, needs: Any
) -> tuple[Any, ...]:
    """Return the gradients of a single step."""
    if F.raw:
        return on_host(F, rnn.cell_backward, mode, g, args[0], args[3], args[4], aux, needs)
    results = g if mode == "lstm" else (g,)
    return differentiated(
        lambda x, hx, cx, *weights: _cell(mode, x, (hx, cx), weights), results, args, needs
    )


def _avals(x: Any, h: Any, *rest: Any, **params: Any) -> list[Any]:
    return [((*x[0][:-1], h[0][-1]), x[1]), h]


def _rule(mode: str, packed: bool) -> Any:
    """Return the joint gradient rule. The names of its parameters say what it takes, so each set of
    arguments has its own function.
    """

    def without_cell(
        F: Any,
        g: Any,
        x: Any,
        h: Any,
        weights: Any,
        aux: Any,
        needs: Any,
        reverse: bool,
        sizes: Any = None,
    ) -> Any:
        made = _vjp(
            F, mode, g, (x, h, None, *weights), aux, (*needs[:2], False, *needs[2:]), reverse, sizes
        )
        return (*made[:2], *made[3:])

    def lstm(
        F: Any,
        g: Any,
        input: Any,
        hx: Any,
        cx: Any,
        w_ih: Any,
        w_hh: Any,
        b_ih: Any,
        b_hh: Any,
        aux: Any,
        needs: Any,
        reverse: bool,
    ) -> Any:
        return _vjp(F, mode, g, (input, hx, cx, w_ih, w_hh, b_ih, b_hh), aux, needs, reverse)

    def lstm_packed(
        F: Any,
        g: Any,
        input: Any,
        hx: Any,
        cx: Any,
        w_ih: Any,
        w_hh: Any,
        b_ih: Any,
        b_hh: Any,
        aux: Any,
        needs: Any,
        reverse: bool,
        sizes: Any,
    ) -> Any:
        return _vjp(F, mode, g, (input, hx, cx, w_ih, w_hh, b_ih, b_hh), aux, needs, reverse, sizes)

    def other(
        F: Any,
        g: Any,
        input: Any,
        hx: Any,
        w_ih: Any,
        w_hh: Any,
        b_ih: Any,
        b_hh: Any,
        aux: Any,
        needs: Any,
        reverse: bool,
    ) -> Any:
        return without_cell(F, g, input, hx, (w_ih, w_hh, b_ih, b_hh), aux, needs, reverse)

    def other_packed(
        F: Any,
        g: Any,
        input: Any,
        hx: Any,
        w_ih: Any,
        w_hh: Any,
        b_ih: Any,
        b_hh: Any,
        aux: Any,
        needs: Any,
        reverse: bool,
        sizes: Any,
    ) -> Any:
        return without_cell(F, g, input, hx, (w_ih, w_hh, b_ih, b_hh), aux, needs, reverse, sizes)

    if mode == "lstm":
        return lstm_packed if packed else lstm
    return other_packed if packed else other


_TITLES = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
# For each mode: the ONNX operator, the order of its gates, and its options.
_ONNX_LAYERS: dict[str, tuple[str, list[int], dict[str, Any]]] = {
    "lstm": ("LSTM", [0, 3, 1, 2], {}),
    "gru": ("GRU", [1, 0, 2], {"linear_before_reset": 1}),
    "rnn_tanh": ("RNN", [0], {"activations": ["Tanh"]}),
    "rnn_relu": ("RNN", [0], {"activations": ["Relu"]}),
}


def _onnx_layer(c: Any, op: str, order: list[int], options: dict[str, Any]) -> Any:
    """Translate one direction of one layer. ONNX has another order of gates, and an axis for
    directions everywhere.
    """
    states = 2 if op == "LSTM" else 1
    size = c.fixed(c.shape(2 + states))[1]
    rows = c.const(np.concatenate([np.arange(k * size, (k + 1) * size) for k in order]))

    def gates(k: int) -> str:
        return c[k] if len(order) == 1 else c.emit("Gather", c[k], rows, axis=0)

    def wide(name: str) -> str:
        return c.emit("Unsqueeze", name, c.ints([0]))

    first = 1 + states
    bias = (
        wide(c.emit("Concat", gates(first + 2), gates(first + 3), axis=0))
        if c.has(first + 2)
        else ""
    )
    given = [
        c[0],
        wide(gates(first)),
        wide(gates(first + 1)),
        bias,
        "",
        *[wide(c[1 + k]) for k in range(states)],
    ]
    made = c.emit(
        op,
        *given,
        count=1 + states,
        hidden_size=size,
        direction="reverse" if c.p["reverse"] else "forward",
        **options,
    )
    return [
        c.emit("Squeeze", made[0], c.ints([1])),
        *[c.emit("Squeeze", name, c.ints([0])) for name in made[1:]],
    ]


def _samples(mode: str, form: str) -> Any:
    """Return samples with three inputs and two hidden units: sequences of four steps, packed ones
    of 3, 2 and 2 steps, or one step.
    """
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)

    def samples(rng: np.random.Generator) -> Any:
        for bias in (True, False):
            for reverse in (False,) if form == "step" else (False, True):
                batch = 3 if form == "packed" else 2
                rows = {"layer": (4, batch), "packed": (7,), "step": (batch,)}[form]
                states = [
                    rng.standard_normal((batch, 2)) for _ in range(2 if mode == "lstm" else 1)
                ]
                biases = [rng.standard_normal(gates * 2) if bias else None for _ in range(2)]
                weights = [rng.standard_normal((gates * 2, 3)), rng.standard_normal((gates * 2, 2))]
                how: dict[str, Any] = {} if form == "step" else {"reverse": reverse}
                how |= {"sizes": (3, 3, 1)} if form == "packed" else {}
                yield Sample((rng.standard_normal((*rows, 3)), *states, *weights, *biases), how)

    return samples


def _work(size: int, x: Any, *rest: Any) -> int:
    """Estimate the work: each row of the input is multiplied with both weight matrices."""
    *_, w_ih, w_hh, _b_ih, _b_hh = rest
    return math.prod(x[:-1]) * (math.prod(w_ih) + math.prod(w_hh))


def _whole(node: Any) -> bool:
    """Return whether PyTorch has one node for the whole layer, as for an LSTM in float32."""
    return node.op.name == "lstm_layer" and bool(node.shape[0][1]) and node.dtype[0] == _F32


def _shown(node: Any) -> Any:
    """Return the name of PyTorch's node, and for an LSTM's single node its edges."""
    if _whole(node):
        return "MkldnnRnnLayerBackward0", (0, 3, 4, 5, 6, 1, 2)
    return node.op.grad_name


def _in_order(node: Any) -> None:
    """Insert PyTorch's copy before its single node if the input is not contiguous (batch first)."""
    x: Any = dict(zip(node.plan.entries, node.saved or (), strict=False)).get(("in", 0))
    edge = node.inputs[0]
    if type(x) is np.ndarray and not x.flags.c_contiguous and edge is not None:
        if not (isinstance(edge, Node) and edge.op.name == "clone"):
            copy = node_before(node, "clone", edge, x.shape, 0.125)
            node.inputs = (copy, *node.inputs[1:])


def _behind(node: Any) -> tuple[str, ...]:
    """Return the names of the nodes of a layer's results: the outputs, and the last states."""
    if _whole(node):
        return ()
    mode, _, form = node.op.name.rpartition("_")
    joined = form == "packed" and not node.params["reverse"]
    states = ("Cat", "Cat") if joined else (_LAST_NODES[mode], "Add")
    last = [f"{name}Backward0" for name in states]
    return (node.op.grad_name, *last[: len(node.shape) - 1])


def _behind_step(node: Any) -> tuple[str, ...]:
    return ("MulBackward0", "AddBackward0")


def _traits(mode: str, step: bool) -> str:
    words = ["saturates"] if mode != "rnn_relu" else []
    return " ".join(words + (["steps_of_cells"] if step or mode != "lstm" else []))


def _layer(mode: str, packed: bool) -> Any:
    """Return the record of a layer, for whole batches at each step or for packed sequences."""

    def forward(xp: Any, x: Any, h: Any, *rest: Any, reverse: bool, sizes: Any = None) -> Any:
        c, w_ih, w_hh, b_ih, b_hh = rest if lstm else (None, *rest)
        return rnn.forward(mode, x, h, c, w_ih, w_hh, b_ih, b_hh, reverse, sizes)

    lstm = mode == "lstm"
    return defop(
        f"{mode}_{'packed' if packed else 'layer'}",
        f"input hx {'cx ' * lstm}w_ih w_hh b_ih? b_hh?",
        host=True,
        forward=forward,
        aux=True,
        outputs=3 if lstm else 2,
        order="input hx cx w_ih b_ih w_hh b_hh" if lstm else "b_hh w_hh b_ih w_ih input hx",
        grad_name="Cat" if packed else "Stack",
        variant=_shown,
        nodes=Unfolding(_unfolded(mode.upper(), False), _behind, _in_order),
        aval=(lambda x, h, c, *rest, **params: [*_avals(x, h), c]) if lstm else _avals,
        vjp=_rule(mode, packed),
        title=_TITLES[mode],
        work=_work,
        linked="input hx w_ih w_hh b_ih b_hh" if mode == "rnn_relu" else "",
        traits=_traits(mode, False),
        onnx=None if packed else lambda c: _onnx_layer(c, *_ONNX_LAYERS[mode]),
        samples=_samples(mode, "packed" if packed else "layer"),
    )


def _step(mode: str) -> Any:
    """Return the record of a single step of a cell."""

    def lstm_vjp(
        F: Any,
        g: Any,
        input: Any,
        hx: Any,
        cx: Any,
        w_ih: Any,
        w_hh: Any,
        b_ih: Any,
        b_hh: Any,
        aux: Any,
        needs: Any,
    ) -> Any:
        return _step_vjp(F, mode, g, (input, hx, cx, w_ih, w_hh, b_ih, b_hh), aux, needs)

    def other_vjp(
        F: Any,
        g: Any,
        input: Any,
        hx: Any,
        w_ih: Any,
        w_hh: Any,
        b_ih: Any,
        b_hh: Any,
        aux: Any,
        needs: Any,
    ) -> Any:
        made = _step_vjp(
            F,
            mode,
            g,
            (input, hx, None, w_ih, w_hh, b_ih, b_hh),
            aux,
            (*needs[:2], False, *needs[2:]),
        )
        return (*made[:2], *made[3:])

    def forward(xp: Any, x: Any, h: Any, *rest: Any) -> Any:
        c, w_ih, w_hh, b_ih, b_hh = rest if lstm else (None, *rest)
        return rnn.cell_forward(mode, x, h, c, w_ih, w_hh, b_ih, b_hh)

    lstm = mode == "lstm"
    return defop(
        f"{mode}_step",
        f"input hx {'cx ' * lstm}w_ih w_hh b_ih? b_hh?",
        host=True,
        forward=forward,
        aux=True,
        outputs=2 if lstm else 1,
        order="b_hh w_hh b_ih w_ih input hx"
        if mode == "gru"
        else f"b_ih w_ih b_hh w_hh input hx{' cx' * lstm}",
        grad_name=_LAST_NODES[mode],
        variant=lambda node: f"{_LAST_NODES[mode]}Backward0",
        nodes=Unfolding(_unfolded(mode.upper(), True), _behind_step),
        aval=(lambda x, h, c, *rest: [h, c]) if lstm else (lambda x, h, *rest: h),
        vjp=lstm_vjp if lstm else other_vjp,
        samples=_samples(mode, "step"),
        title=_TITLES[mode],
        work=_work,
        linked="input hx w_ih w_hh b_ih b_hh" if mode == "rnn_relu" else "",
        traits=_traits(mode, True),
    )


_MODES = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}
_OPS = {name: _layer(mode, False) for name, mode in _MODES.items()}
_PACKED = {name: _layer(mode, True) for name, mode in _MODES.items()}
_STEPS = {name: _step(mode) for name, mode in _MODES.items()}


def _watched_as_a_whole() -> bool:
    """Return whether all active interceptors are observers that want to see a layer as one
    operation, as exporters do.
    """
    return state.slow == len(observers) and all(
        getattr(o, "whole_layers", False) for o in observers
    )


def _fit(tensors: Any) -> bool:
    """Return whether all tensors (or None) are plain arrays of one dtype that these operations
    support.
    """
    dtype = tensors[0]._array.dtype
    for t in tensors:
        if (
            type(t) not in _PLAIN
            or t is not None
            and (type(t._array) is not np.ndarray or t._array.dtype is not dtype)
        ):
            return False
    return dtype in _DTYPES


def _shapes_fit(mode: str, rows: int, input: Tensor, states: Any, weights: Any) -> bool:
    """Return whether states and weights have the sizes that the kernels rely on. They may not, as
    users can replace parameters.
    """
    w_ih, w_hh = (w._array.shape for w in weights[:2])
    biases = [None if b is None else b._array.shape for b in weights[2:]]
    if (
        len(w_hh) != 2
        or w_ih != (w_hh[0], input._array.shape[-1])
        or w_hh[0] != _GATES[mode] * w_hh[1]
    ):
        return False
    return all(b is None or b == w_hh[:1] for b in biases) and all(
        s._array.shape == (rows, w_hh[1]) for s in states
    )


def _narrow(mode: str, input: Tensor, states: Any, weights: Any) -> Any:
    """Return the dtype of the results of a layer that has to be computed in float32: for two-byte
    floats, and under autocast. None for other layers.
    """
    first = input._array.dtype
    autocast = thread.stack.autocast
    if autocast is None and first not in HALVES:
        return None
    for t in (input, *states, *weights):
        if t is None:
            continue
        kind = t._array.dtype
        if kind != first if autocast is None else kind != _F32 and kind not in HALVES:
            return None
    if autocast is None:
        return first
    # The state of a GRU is updated in its own precision; other states are results of products.
    return states[0]._array.dtype if mode == "GRU" else autocast.dtype.numpy


def _in_float32(
    kind: Any, mode: str, input: Tensor, states: Any, weights: Any, reverse: bool, sizes: Any
) -> tuple[Tensor, tuple[Tensor, ...]] | None:
    """Compute `layer` in float32, with results of the dtype `kind`."""
    with playing("autocast", None):
        if state.slow and (sizes is not None or not _watched_as_a_whole()):
            return None

        def wide(tensors: Any) -> list[Any]:
            return [
                t if t is None or t._array.dtype == _F32 else F.cast(t, dtype=_F32) for t in tensors
            ]

        (x,) = wide([input])
        made = layer(mode, x, wide(states), wide(weights), reverse, sizes)
        if made is None or kind == _F32:
            return made
        out, last = made
        return F.cast(out, dtype=kind), tuple(F.cast(s, dtype=kind) for s in last)


def layer(
    mode: str, input: Tensor, states: Any, weights: Any, reverse: bool, sizes: Any = None
) -> tuple[Tensor, tuple[Tensor, ...]] | None:
    """One direction of one layer: the output of each step and the last states; None where the cells
    must run one by one.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input: (T, B, in), or of packed sequences (N, in).
        states: (h,) or (h, c), (B, H) each.
        weights: (w_ih, w_hh, b_ih or None, b_hh or None).
        sizes: of packed sequences, how many of them have each step: never more than before, and as
            many in all as the input has rows.
    """
    narrow = _narrow(mode, input, states, weights)
    if narrow is not None:
        return _in_float32(narrow, mode, input, states, weights, reverse, sizes)
    # interceptors watch or change the single operations
    if state.slow and (sizes is not None or not _watched_as_a_whole()):
        return None
    if (
        not _fit((input, *states, *weights))
        or not input._array.size
        or (weights[2] is None) != (weights[3] is None)
    ):
        return None
    if not _shapes_fit(
        mode, input._array.shape[1] if sizes is None else sizes[0], input, states, weights
    ):
        return None
    if sizes is None:
        made = _OPS[mode].call(input, *states, *weights, reverse=reverse)
    else:
        made = _PACKED[mode].call(input, *states, *weights, reverse=reverse, sizes=tuple(sizes))
    return made[0], made[1:]


def step(mode: str, input: Tensor, states: Any, weights: Any) -> tuple[Tensor, ...] | None:
    """The state (h,) or (h, c) after one step of a cell; None where its operations must run one by
    one. Arguments as `layer`'s.
    """
    empty = not input._array.size or not states[0]._array.size
    if (
        state.slow
        or empty
        or not _fit((input, *states, *weights))
        or (weights[2] is None) != (weights[3] is None)
    ):
        return None
    if not _shapes_fit(mode, input._array.shape[0], input, states, weights):
        return None
    made = _STEPS[mode].call(input, *states, *weights)
    return made if mode == "LSTM" else (made,)
