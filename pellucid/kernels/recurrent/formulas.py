"""One time step of recurrent layers, forward and backward, as formulas (`ir.formula`).

`emit_step` emits them as native code; `arrays.rnn` computes them with NumPy, for other dtypes and
if code cannot be generated. Names: `x_*` and `h_*` are the parts of a gate that come from the input
and from the state, `d*` are gradients, `dh` is the gradient of the step's output, and `back` that
of the state, from the next time step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...llvm.emit import Function, SSAValue, lanes
from ..pointwise.values import Num
from ..pointwise.words import Words

# The supported dtypes by LLVM's names for them, and the reverse.
DTYPES = {"float": "float32", "double": "float64"}
REALS = {np.dtype(dtype): real for real, dtype in DTYPES.items()}
# number of gates, which PyTorch stacks in the order i, f, g, o and r, z, n
PARTS = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def lstm(
    m: Any, x_i: Any, x_f: Any, x_g: Any, x_o: Any, h_i: Any, h_f: Any, h_g: Any, h_o: Any, c: Any
) -> tuple[Any, ...]:
    """Return the gates, the cell and the state."""
    i, f, g, o = m.sigmoid(x_i + h_i), m.sigmoid(x_f + h_f), m.tanh(x_g + h_g), m.sigmoid(x_o + h_o)
    new = f * c + i * g
    return i, f, g, o, new, o * m.tanh(new)


def lstm_backward(
    m: Any, i: Any, f: Any, g: Any, o: Any, c_new: Any, c: Any, dh: Any, back: Any, dc: Any
) -> tuple[Any, ...]:
    """Return the gradients of the four gates before their activations (i, f, g, o), and of the
    previous cell.

    `dh` and `back` are the gradients of the state, from the output and from the next time step;
    `dc` is the cell's. All arguments have the shape of one gate: (batch, hidden).
    """
    total, tanh_c = dh + back, m.tanh(c_new)
    d = dc + total * o * (1.0 - tanh_c * tanh_c)
    return (
        d * g * (i * (1.0 - i)),
        d * c * (f * (1.0 - f)),
        d * i * (1.0 - g * g),
        total * tanh_c * (o * (1.0 - o)),
        d * f,
    )


def gru(
    m: Any, x_r: Any, x_z: Any, x_n: Any, h_r: Any, h_z: Any, h_n: Any, bias: Any, h: Any
) -> tuple[Any, ...]:
    """Return the gates, the state's part of n with its bias, and the state."""
    r, z, part = m.sigmoid(x_r + h_r), m.sigmoid(x_z + h_z), h_n + bias
    n = m.tanh(x_n + r * part)
    return r, z, n, part, (h - n) * z + n


def gru_backward(
    m: Any, r: Any, z: Any, n: Any, h_n: Any, h: Any, dh: Any, back: Any, through: Any
) -> tuple[Any, ...]:
    """Return the gradients of the input's parts, of the state's part of n, and of the state itself
    (`through`).
    """
    total = dh + back + through
    dn = total * (1.0 - z) * (1.0 - n * n)
    return dn * h_n * (r * (1.0 - r)), total * (h - n) * (z * (1.0 - z)), dn, dn * r, total * z


def rnn_tanh(m: Any, x: Any, h: Any) -> tuple[Any, ...]:
    """Return the next state of a cell with tanh."""
    return (m.tanh(x + h),)


def rnn_tanh_backward(m: Any, h_new: Any, dh: Any, back: Any) -> tuple[Any, ...]:
    """Return the gradient of the sum, given the new state and its two gradients."""
    return ((dh + back) * (1.0 - h_new * h_new),)


def rnn_relu(m: Any, x: Any, h: Any) -> tuple[Any, ...]:
    """Return the next state of a cell with ReLU."""
    total = x + h
    return (m.where(total < 0.0, 0.0, total),)  # NaN is not below zero and passes through


def rnn_relu_backward(m: Any, h_new: Any, dh: Any, back: Any) -> tuple[Any, ...]:
    """Return the gradient of the sum, given the new state and its two gradients."""
    return (m.where(h_new <= 0.0, 0.0, dh + back),)


CELLS = {
    f.__name__: f
    for f in (
        lstm,
        lstm_backward,
        gru,
        gru_backward,
        rnn_tanh,
        rnn_tanh_backward,
        rnn_relu,
        rnn_relu_backward,
    )
}


def emit_step(f: Function, name: str, values: list[SSAValue]) -> list[SSAValue]:
    """Emit a step of float32 or float64, and return its results."""
    m, dtype = Words(f, lanes(values[0].ctype)), DTYPES[f.module.real]
    return [made.value for made in CELLS[name](m, *[Num(m, v, dtype) for v in values])]
