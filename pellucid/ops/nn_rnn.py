"""Recurrent layers over a sequence, one direction of one layer as one operation; under `create_graph` backward differentiates the cells'
operations instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backends import rnn
from ..core import reverse as engine
from ..core.modes import enable_grad, local, state
from ..core.observe import observers
from ..core.primitive import TENSORS as F
from ..core.primitive import defop
from ..core.tensor import Parameter, Tensor
from . import nn_positional as cells

_CELLS = {"gru": cells.gru_cell, "rnn_tanh": cells.rnn_tanh_cell, "rnn_relu": cells.rnn_relu_cell}
_PLAIN = (Tensor, Parameter, type(None))
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def _composite(mode: str, x: Any, hx: Any, cx: Any, weights: Any, reverse: bool) -> tuple[Any, ...]:
    """The same results from operations, step by step."""
    outs = []
    h, c = hx, cx
    for t in reversed(range(x.shape[0])) if reverse else range(x.shape[0]):
        if mode == "lstm":
            h, c = cells.lstm_cell(x[t], (h, c), *weights)
        else:
            h = _CELLS[mode](x[t], h, *weights)
        outs.append(h)
    if reverse:
        outs.reverse()
    out = F.stack(*outs, dim=0)
    return (out, h, c) if mode == "lstm" else (out, h)


def _vjp(F: Any, mode: str, g: Any, args: tuple[Any, ...], aux: Any, needs: Any, reverse: bool) -> tuple[Any, ...]:
    """Gradients of (input, hx, cx, w_ih, w_hh, b_ih, b_hh)."""
    if F.raw:
        return rnn.backward(mode, g, args[0], args[3], args[4], aux, needs, reverse)
    create, role = local.grad, local.role
    with enable_grad():
        # Aliases: the gradient must not go on through the history of one argument into another one.
        fresh: list[Any] = [None if t is None else F.alias(t) for t in args]
        wanted = [t for t, need in zip(fresh, needs, strict=True) if need]
        x, hx, cx, *weights = fresh
        results = _composite(mode, x, hx, cx, weights, reverse)
    made = iter(engine.grad(results, wanted, g, create_graph=create))
    local.role = role
    return tuple([next(made) if need else None for need in needs])


def _lstm_vjp(
    F: Any, g: Any, input: Any, hx: Any, cx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, aux: Any, needs: Any, reverse: bool
) -> tuple[Any, ...]:
    return _vjp(F, "lstm", g, (input, hx, cx, w_ih, w_hh, b_ih, b_hh), aux, needs, reverse)


def _avals(x: Any, h: Any, *rest: Any, **params: Any) -> list[Any]:
    return [((*x[0][:-1], h[0][-1]), x[1]), h]


lstm_op = defop(
    "lstm_layer",
    "input hx cx w_ih w_hh b_ih? b_hh?",
    forward=lambda xp, x, h, c, w_ih, w_hh, b_ih, b_hh, *, reverse: rnn.forward("lstm", x, h, c, w_ih, w_hh, b_ih, b_hh, reverse),
    aux=True,
    outputs=3,
    aval=lambda x, h, c, *rest, **params: [*_avals(x, h), c],
    vjp=_lstm_vjp,
)


def _without_cell(mode: str) -> Any:
    """The record of a layer whose state is h alone."""

    def vjp(
        F: Any, g: Any, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, aux: Any, needs: Any, reverse: bool
    ) -> tuple[Any, ...]:
        needs = (*needs[:2], False, *needs[2:])
        made = _vjp(F, mode, g, (input, hx, None, w_ih, w_hh, b_ih, b_hh), aux, needs, reverse)
        return (*made[:2], *made[3:])

    return defop(
        f"{mode}_layer",
        "input hx w_ih w_hh b_ih? b_hh?",
        forward=lambda xp, x, h, w_ih, w_hh, b_ih, b_hh, *, reverse: rnn.forward(mode, x, h, None, w_ih, w_hh, b_ih, b_hh, reverse),
        aux=True,
        outputs=2,
        aval=_avals,
        vjp=vjp,
    )


gru_op, rnn_tanh_op, rnn_relu_op = map(_without_cell, ("gru", "rnn_tanh", "rnn_relu"))
_OPS = {"LSTM": lstm_op, "GRU": gru_op, "RNN_TANH": rnn_tanh_op, "RNN_RELU": rnn_relu_op}


def _watched_as_a_whole() -> bool:
    """Whether those who watch, and nobody else is there, want a layer as one operation: the exporters do."""
    return state.slow == len(observers) and all(getattr(o, "whole_layers", False) for o in observers)


def layer(mode: str, input: Tensor, states: Any, weights: Any, reverse: bool) -> tuple[Tensor, tuple[Tensor, ...]] | None:
    """One direction of one layer: the output of each step and the last states; None where the cells must run one by one.

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input: (T, B, in).
        states: (h,) or (h, c), (B, H) each.
        weights: (w_ih, w_hh, b_ih or None, b_hh or None).
    """
    if state.slow and not _watched_as_a_whole():  # somebody watches the operations, or changes them
        return None
    given = (input, *states, *weights)
    dtype = input._array.dtype
    for t in given:
        if type(t) not in _PLAIN or t is not None and (type(t._array) is not np.ndarray or t._array.dtype is not dtype):
            return None
    if dtype not in _DTYPES or not input._array.size or (weights[2] is None) != (weights[3] is None):
        return None
    made = _OPS[mode].call(*given, reverse=reverse)
    return made[0], made[1:]
