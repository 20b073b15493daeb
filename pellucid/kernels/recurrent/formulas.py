"""One time step of recurrent layers, forward and backward, as formulas.

    >>> x, h, out = np.zeros((2, 3)), np.ones((2, 3)), np.empty((2, 3))
    >>> plain("rnn_relu")(x, h, out)
    >>> out.tolist() == h.tolist()
    True

`recurrent_layer` makes native loops of them; `plain(name)` evaluates them with NumPy (arguments in the table's order, the results last),
for other dtypes and where code cannot be generated. Names: `x_*` and `h_*` are the parts of a gate that come from the input and from
the state, `d*` gradients, `dh` the gradient of the step's output and `back` that of the state, from the step after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..pointwise import ufunc as e

PARTS = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}  # gates, as PyTorch stacks them: i, f, g, o and r, z, n
_VARIABLES: dict[str, e.Expression] = {}


def _names(text: str) -> list[e.Expression]:
    return [_VARIABLES.setdefault(name, e.variable(name)) for name in text.split()]


x, h, h_new, dh, back = _names("x h h_new dh back")
total = dh + back

# LSTM: gates i, f, g, o, the cell c.
x_i, x_f, x_g, x_o, h_i, h_f, h_g, h_o = _names("x_i x_f x_g x_o h_i h_f h_g h_o")
i, f, g, o, c, c_new, dc = _names("i f g o c c_new dc")
_i, _f, _g, _o = e.sigmoid(x_i + h_i), e.sigmoid(x_f + h_f), e.tanh(x_g + h_g), e.sigmoid(x_o + h_o)
_c = _f * c + _i * _g
_tanh_c = e.tanh(c_new)
_dc = dc + total * o * (1.0 - _tanh_c * _tanh_c)

# GRU: gates r, z, n; h_n is the state's part of n with its bias.
x_r, x_z, x_n, h_r, h_z, h_n, bias, r, z, n, through = _names("x_r x_z x_n h_r h_z h_n bias r z n through")
_r, _z, _hn = e.sigmoid(x_r + h_r), e.sigmoid(x_z + h_z), h_n + bias
_n = e.tanh(x_n + _r * _hn)
_sum = total + through
_dn = _sum * (1.0 - z) * (1.0 - n * n)

EXPRESSIONS: dict[str, tuple[list[e.Expression], list[e.Expression]]] = {
    "lstm": ([x_i, x_f, x_g, x_o, h_i, h_f, h_g, h_o, c], [_i, _f, _g, _o, _c, _o * e.tanh(_c)]),
    "lstm_backward": (
        [i, f, g, o, c_new, c, dh, back, dc],
        [
            _dc * g * (i * (1.0 - i)),
            _dc * c * (f * (1.0 - f)),
            _dc * i * (1.0 - g * g),
            total * _tanh_c * (o * (1.0 - o)),
            _dc * f,
        ],
    ),
    "gru": ([x_r, x_z, x_n, h_r, h_z, h_n, bias, h], [_r, _z, _n, _hn, (h - _n) * _z + _n]),
    # The gradients of the input's parts, of the state's part of n, and of the state itself (`through`).
    "gru_backward": (
        [r, z, n, h_n, h, dh, back, through],
        [_dn * h_n * (r * (1.0 - r)), _sum * (h - n) * (z * (1.0 - z)), _dn, _dn * r, _sum * z],
    ),
    "rnn_tanh": ([x, h], [e.tanh(x + h)]),
    "rnn_tanh_backward": ([h_new, dh, back], [total * (1.0 - h_new * h_new)]),
    # NaN is not below zero and passes through.
    "rnn_relu": ([x, h], [e.where(x + h <= 0.0, 0.0, x + h)]),
    "rnn_relu_backward": ([h_new, dh, back], [e.where(h_new <= 0.0, 0.0, total)]),
}


_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "ole": np.less_equal,
    "where": np.where,
    "tanh": np.tanh,
    "sigmoid": lambda v: 1.0 / (1.0 + np.exp(-v)),
}


@functools.cache
def plain(name: str) -> Callable[..., None]:
    """The same function evaluated with NumPy, in the arrays' own dtype."""
    inputs, outputs = EXPRESSIONS[name]

    def run(*arrays: np.ndarray) -> None:
        done: dict[e.Expression, Any] = dict(zip(inputs, arrays))

        def value(node: Any) -> Any:
            if not isinstance(node, e.Expression):
                return node
            if node not in done:
                done[node] = _NUMPY[node.op](*map(value, node.operands))
            return done[node]

        made = [value(node) for node in outputs]  # all of them before any is written: an argument may be a result, too
        for target, result in zip(arrays[len(inputs) :], made):
            target[...] = result

    return run
