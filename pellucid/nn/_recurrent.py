"""Recurrent networks as functions of their weights: `torch.lstm`, `torch.gru`, `torch.rnn_tanh`,
`torch.rnn_relu`.

They are `nn.LSTM`, `nn.GRU` and `nn.RNN` with the weights as arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._names import NUMPY_NAMES
from ..api.attach import LENT
from ..core.tensor import Tensor
from ..dtypes import int64
from ..errors import OperationError
from .modules.rnn import RNNBase, batch_in_front

_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


class _Network:
    """What `RNNBase` needs of itself to run."""

    _layers, _direction = RNNBase._layers, RNNBase._direction

    def __init__(
        self,
        mode: str,
        states: Sequence[Tensor],
        params: Sequence[Tensor],
        biases: bool,
        layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> None:
        rows = layers * (1 + bidirectional)
        each = len(params) // max(rows, 1)  # with a projection, one more
        self.mode, self.num_layers, self.bidirectional = mode, layers, bidirectional
        self.dropout, self.training = dropout, train
        names = _NAMES[: 4 if biases else 2] + (
            ("weight_hr",) if each == (5 if biases else 3) else ()
        )
        if len(params) % len(names):
            raise OperationError("got an incorrect number of RNN parameters")
        if any(len(state) != rows for state in states):
            raise OperationError("Expected more hidden states in stacked_rnn")
        if len(params) != rows * len(names):
            raise OperationError("Expected more weights in stacked_rnn")
        self._all_weights = [[f"{name}_l{row}" for name in names] for row in range(rows)]
        for name, param in zip(
            (name for row in self._all_weights for name in row), params, strict=True
        ):
            setattr(self, name, param)


_FLAGS = ("has_biases", "num_layers", "dropout", "train", "bidirectional")
_PLAIN = ("input", "hx", "params", *_FLAGS, "batch_first")
_PACKED = ("data", "batch_sizes", "hx", "params", *_FLAGS)


def _run(mode: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
    """The layers of a network on `_PLAIN` arguments, or on those of packed data."""
    packed = "data" in kwargs or (len(args) > 3 and isinstance(args[3], (list, tuple)))
    named = {NUMPY_NAMES.get(name, name): value for name, value in kwargs.items()}
    given = dict(zip(_PACKED if packed else _PLAIN, args, strict=False)) | named
    if packed and given["batch_sizes"].dtype is not int64:
        kind = given["batch_sizes"].dtype.scalar_type_name
        raise OperationError(f"expected scalar type Long but found {kind}")
    flags = [given[name] for name in _FLAGS]
    hx, turned = given["hx"], not packed and given["batch_first"]
    states = [hx] if isinstance(hx, Tensor) else list(hx)
    if mode == "LSTM" and len(states) != 2:
        raise OperationError("lstm expects two hidden states")
    network: Any = _Network(mode, states, given["params"], *flags)
    data = given["data"] if packed else given["input"]
    out, last = network._layers(
        data.transpose(0, 1) if turned else data,
        states,
        given["batch_sizes"].tolist() if packed else None,
    )
    return (batch_in_front(out, mode) if turned else out, *last)


def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
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
    out, h, c = _run("LSTM", args, kwargs)
    return out, h, c


def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
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
    out, h = _run("GRU", args, kwargs)
    return out, h


def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Run the layers of an RNN with tanh on an input; otherwise as `gru`.

    >>> import pellucid as torch
    >>> net = torch.nn.RNN(3, 2)
    >>> x, h = torch.randn(5, 1, 3), torch.zeros(1, 1, 2)
    >>> out, hn = torch.rnn_tanh(x, h, list(net.parameters()), True, 1, 0.0, False, False, False)
    >>> torch.equal(out, net(x)[0])
    True
    """
    out, h = _run("RNN_TANH", args, kwargs)
    return out, h


def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Run the layers of an RNN with ReLU on an input; otherwise as `gru`.

    >>> import pellucid as torch
    >>> net = torch.nn.RNN(3, 2, nonlinearity="relu")
    >>> x, h = torch.randn(5, 1, 3), torch.zeros(1, 1, 2)
    >>> out, hn = torch.rnn_relu(x, h, list(net.parameters()), True, 1, 0.0, False, False, False)
    >>> torch.equal(out, net(x)[0])
    True
    """
    out, h = _run("RNN_RELU", args, kwargs)
    return out, h


FUNCTIONS = {"lstm": lstm, "gru": gru, "rnn_tanh": rnn_tanh, "rnn_relu": rnn_relu}
LENT["recurrent"] = FUNCTIONS.get  # loaded: without the import that finds it
