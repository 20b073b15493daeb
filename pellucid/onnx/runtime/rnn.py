"""RNN, GRU and LSTM.

Source: the equations at https://onnx.ai/onnx/operators/onnx__LSTM.html, onnx__GRU.html and
onnx__RNN.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.core.tensor import make_tensor
from pellucid.nn import functional as F

from ...ops.nn import rnn as nn_rnn
from .registry import NodeCall, T, ints, operator

_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def _activation(name: str, alpha: float | None, beta: float | None) -> Callable[[Any], Any]:
    """An activation by its name in the `activations` attribute."""

    def a(default: float) -> float:
        return default if alpha is None else alpha

    def b(default: float) -> float:
        return default if beta is None else beta

    table: dict[str, Callable[[Any], Any]] = {
        "relu": T.relu,
        "tanh": T.tanh,
        "sigmoid": T.sigmoid,
        "softsign": F.softsign,
        "softplus": F.softplus,
        "affine": lambda x: a(1.0) * x + b(0.0),
        "leakyrelu": lambda x: F.leaky_relu(x, a(0.01)),
        "thresholdedrelu": lambda x: F.threshold(x, a(1.0), 0.0),
        "scaledtanh": lambda x: a(1.0) * T.tanh(b(1.0) * x),
        "hardsigmoid": lambda x: T.clamp(a(0.2) * x + b(0.5), 0, 1),
        "elu": lambda x: F.elu(x, a(1.0)),
    }
    return table[name.lower()]


def _activations(c: NodeCall, directions: int) -> list[list[Callable[[Any], Any]]]:
    """The functions of each direction."""
    defaults = _DEFAULTS[c.op]
    names = c.get("activations") or defaults * directions
    alphas, betas = list(c.get("activation_alpha", [])), list(c.get("activation_beta", []))
    made = []
    for name in names:
        low = name.lower()
        takes_alpha = low in (
            "affine",
            "leakyrelu",
            "thresholdedrelu",
            "scaledtanh",
            "hardsigmoid",
            "elu",
        )
        takes_beta = low in ("affine", "scaledtanh", "hardsigmoid")
        made.append(
            _activation(
                name,
                alphas.pop(0) if takes_alpha and alphas else None,
                betas.pop(0) if takes_beta and betas else None,
            )
        )
    size = len(defaults)
    return [made[k * size : (k + 1) * size] for k in range(directions)]


def _rows(x: Any, order: list[int], size: int) -> Any:
    """The gates of a weight or bias in another order."""
    return T.cat([x[k * size : (k + 1) * size] for k in order])


def _whole(c: NodeCall, x: Any, w: Any, r: Any, b: Any, states: list[Any], back: bool) -> Any:
    """A direction as one operation of the engine, where the equations are the same; None elsewhere."""
    names = [n.lower() for n in c.get("activations") or []]
    standard = not names or names == [n.lower() for n in _DEFAULTS[c.op]] * (
        len(names) // len(_DEFAULTS[c.op])
    )
    if (
        not standard
        or c.get("clip")
        or c.get("input_forget")
        or (c.op == "GRU" and not c.get("linear_before_reset"))
    ):
        return None
    size = r.shape[-1]
    order = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}[c.op]
    w, r = _rows(w, order, size), _rows(r, order, size)
    half = len(order) * size
    biases = (
        (None, None) if b is None else (_rows(b[:half], order, size), _rows(b[half:], order, size))
    )
    mode = "RNN_TANH" if c.op == "RNN" else c.op
    return nn_rnn.layer(mode, x, tuple(states), (w, r, *biases), back)


def _step(
    c: NodeCall,
    acts: Any,
    gates: Any,
    parts: tuple[Any, ...],
    r: Any,
    rb: Any,
    p: Any,
    states: list[Any],
) -> list[Any]:
    """One step: the states after it."""
    h = states[0]
    size = r.shape[-1]
    clip = c.get("clip")

    def cut(x: Any) -> Any:
        return x if not clip else T.clamp(x, -clip, clip)

    if c.op == "RNN":
        return [acts[0](cut(gates + F.linear(h, r, rb)))]
    if c.op == "GRU":
        z, n, m = parts
        rz, rr, rh = (r[k * size : (k + 1) * size] for k in range(3))
        bz, br, bh = (None if rb is None else rb[k * size : (k + 1) * size] for k in range(3))
        update = acts[0](cut(z + F.linear(h, rz, bz)))
        reset = acts[0](cut(n + F.linear(h, rr, br)))
        inner = (
            reset * F.linear(h, rh, bh)
            if c.get("linear_before_reset")
            else F.linear(reset * h, rh, bh)
        )
        new = acts[1](cut(m + inner))
        return [(1 - update) * new + update * h]
    cell = states[1]
    i, o, f, g = T.split(gates + F.linear(h, r, rb), size, -1)
    if p is not None:
        i, f = i + p[:size] * cell, f + p[2 * size :] * cell
    i = acts[0](cut(i))
    f = 1 - i if c.get("input_forget") else acts[0](cut(f))
    cell = f * cell + i * acts[1](cut(g))
    o = o if p is None else o + p[size : 2 * size] * cell
    return [acts[0](cut(o)) * acts[2](cell), cell]


def _direction(
    c: NodeCall,
    acts: Any,
    x: Any,
    w: Any,
    r: Any,
    b: Any,
    p: Any,
    states: list[Any],
    lengths: list[int] | None,
    back: bool,
) -> tuple[Any, list[Any]]:
    """The output of each step and the last states."""
    if lengths is None and p is None:
        made = _whole(c, x, w, r, b, states, back)
        if made is not None:
            return made[0], list(made[1])
    half = w.shape[0]
    gates = F.linear(x, w, None if b is None else b[:half])
    rb = None if b is None else b[half:]
    outs: list[Any] = [None] * x.shape[0]
    for t in reversed(range(x.shape[0])) if back else range(x.shape[0]):
        parts = tuple(T.split(gates[t], r.shape[-1], -1)) if c.op == "GRU" else ()
        new = _step(c, acts, gates[t], parts, r, rb, p, states)
        if lengths is None:
            states = new
            outs[t] = new[0]
        else:
            running = make_tensor(np.array([[t < n] for n in lengths]))
            states = [T.where(running, a, s) for a, s in zip(new, states, strict=True)]
            outs[t] = T.where(running, new[0], T.zeros_like(new[0]))
    return (T.stack(outs) if outs else x.new_zeros([0, x.shape[1], r.shape[-1]])), states


@operator("RNN", "GRU", "LSTM", static=(4,))
def _recurrent(
    c: NodeCall,
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    lengths: Any = None,
    h0: Any = None,
    c0: Any = None,
    p: Any = None,
) -> Any:
    """Shapes: x (time, batch, in), the results (time, directions, batch, hidden) and (directions,
    batch, hidden).
    """
    batch_first = bool(c.get("layout", 0))
    x = T.transpose(x, 0, 1) if batch_first else x
    many, size = w.shape[0], r.shape[-1]
    known = (
        None if lengths is None or all(n == x.shape[0] for n in ints(lengths)) else ints(lengths)
    )
    acts = _activations(c, many)
    outs, lasts = [], []
    for d in range(many):
        states = []
        for s in (h0, c0) if c.op == "LSTM" else (h0,):
            s = s if s is None or not batch_first else T.transpose(s, 0, 1)
            states.append(x.new_zeros([x.shape[1], size]) if s is None else s[d])
        back = c.get("direction", "forward") == "reverse" or d == 1
        made, last = _direction(
            c,
            acts[d],
            x,
            w[d],
            r[d],
            None if b is None else b[d],
            None if p is None else p[d],
            states,
            known,
            back,
        )
        outs.append(made)
        lasts.append(last)
    y = T.stack(outs, 1)
    ends = [T.stack([last[k] for last in lasts]) for k in range(2 if c.op == "LSTM" else 1)]
    if batch_first:
        y, ends = T.permute(y, [2, 0, 1, 3]), [T.transpose(e, 0, 1) for e in ends]
    return (y, *ends)
