"""Recurrent networks as functions of their weights: `torch.lstm`, `torch.gru`, `torch.rnn_tanh`,
`torch.rnn_relu`.

They are `nn.LSTM`, `nn.GRU` and `nn.RNN` with the weights as arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api.attach import LENT
from ..core.tensor import Tensor
from ..errors import ArgumentTypeError
from .modules.rnn import RNNBase

_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class _Network:
    """What `RNNBase` needs of itself to run."""

    _layers, _direction, _packed_direction = (
        RNNBase._layers,
        RNNBase._direction,
        RNNBase._packed_direction,
    )

    def __init__(
        self,
        mode: str,
        params: Sequence[Tensor],
        biases: bool,
        layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> None:
        rows = layers * (1 + bidirectional)
        each = len(params) // rows  # with a projection, one more
        self.mode, self.num_layers, self.bidirectional = mode, layers, bidirectional
        self.dropout, self.training = dropout, train
        names = _NAMES[: 4 if biases else 2] + (
            ("weight_hr",) if each == (5 if biases else 3) else ()
        )
        if len(params) != rows * len(names):
            raise RuntimeError(
                f"expected {rows * len(names)} weights for {rows} layers and directions, got {len(params)}"
            )
        self._all_weights = [[f"{name}_l{row}" for name in names] for row in range(rows)]
        for name, param in zip(
            (name for row in self._all_weights for name in row), params, strict=True
        ):
            setattr(self, name, param)


def _run(mode: str, name: str, args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """`(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first)`, or with `batch_sizes` after the data.
    """
    packed = (
        len(args) > 1
        and isinstance(args[1], Tensor)
        and isinstance(args[2], (Tensor, list, tuple))
        and isinstance(args[3], (list, tuple))
    )
    data, sizes, rest = (
        (args[0], args[1].tolist(), args[2:]) if packed else (args[0], None, args[1:])
    )
    if len(rest) != 8 - packed:
        raise ArgumentTypeError(f"{name}() takes 9 arguments but {len(args)} were given")
    hx, params, biases, layers, dropout, train, bidirectional, *batch_first = rest
    states = [hx] if isinstance(hx, Tensor) else list(hx)
    network: Any = _Network(mode, params, biases, layers, dropout, train, bidirectional)
    turned = bool(batch_first and batch_first[0])
    out, last = network._layers(data.transpose(0, 1) if turned else data, states, sizes)
    return (out.transpose(0, 1) if turned else out, *last)


def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The outputs of an LSTM's last layer, and the last hidden and cell states.

    Args (in this order): input (T, B, size), hx (hidden and cell states, each (layers * directions,
    B, hidden)), params (weights as `nn.LSTM` has them, layer by layer), has_biases, num_layers,
    dropout, train, bidirectional, batch_first. For packed data: data, batch_sizes, hx, params,
    has_biases, num_layers, dropout, train, bidirectional.

    Example:
        >>> import pellucid as torch
        >>> net = torch.nn.LSTM(3, 2)
        >>> x, h, c = torch.randn(5, 1, 3), torch.zeros(1, 1, 2), torch.zeros(1, 1, 2)
        >>> out, hn, cn = torch.lstm(x, (h, c), list(net.parameters()), True, 1, 0.0, False, False, False)
        >>> torch.equal(out, net(x)[0]), hn.shape
        (True, torch.Size([1, 1, 2]))
    """
    out, h, c = _run("LSTM", "lstm", args)
    return out, h, c


def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """Run the layers of a GRU on an input. `torch.nn.GRU` calls this.

    The arguments are those of `lstm` with a single state. A packed sequence has its data and batch sizes in place of the input.

    Returns:
        The outputs of the last layer, and the final states.

    >>> import pellucid as torch
    >>> net = torch.nn.GRU(3, 2)
    >>> x, h = torch.randn(5, 1, 3), torch.zeros(1, 1, 2)
    >>> out, hn = torch.gru(x, h, list(net.parameters()), True, 1, 0.0, False, False, False)
    >>> torch.equal(out, net(x)[0]), hn.shape
    (True, torch.Size([1, 1, 2]))
    """
    out, h = _run("GRU", "gru", args)
    return out, h


def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """Run the layers of an RNN with tanh on an input; otherwise as `gru`.

    >>> import pellucid as torch
    >>> net = torch.nn.RNN(3, 2)
    >>> x, h = torch.randn(5, 1, 3), torch.zeros(1, 1, 2)
    >>> out, hn = torch.rnn_tanh(x, h, list(net.parameters()), True, 1, 0.0, False, False, False)
    >>> torch.equal(out, net(x)[0])
    True
    """
    out, h = _run("RNN_TANH", "rnn_tanh", args)
    return out, h


def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """Run the layers of an RNN with ReLU on an input; otherwise as `gru`.

    >>> import pellucid as torch
    >>> net = torch.nn.RNN(3, 2, nonlinearity="relu")
    >>> x, h = torch.randn(5, 1, 3), torch.zeros(1, 1, 2)
    >>> out, hn = torch.rnn_relu(x, h, list(net.parameters()), True, 1, 0.0, False, False, False)
    >>> torch.equal(out, net(x)[0])
    True
    """
    out, h = _run("RNN_RELU", "rnn_relu", args)
    return out, h


FUNCTIONS = {"lstm": lstm, "gru": gru, "rnn_tanh": rnn_tanh, "rnn_relu": rnn_relu}
LENT["recurrent"] = FUNCTIONS.get  # loaded: without the import that finds it
