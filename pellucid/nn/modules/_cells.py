"""One step of a recurrent network: the cells, and the step of the layers."""

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError, OperationError
from ...ops.nn import rnn as nn_rnn
from .. import functional as F
from .. import init
from .._functions import T
from ..parameter import Parameter
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNCellBase(Module):
    """One time step; see RNNCell, LSTMCell and GRUCell.

    >>> import pellucid as torch
    >>> isinstance(torch.nn.GRUCell(2, 3), torch.nn.RNNCellBase)
    True
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_ih = Parameter(
            T.empty((num_chunks * hidden_size, input_size), device=device, dtype=dtype)
        )
        self.weight_hh = Parameter(
            T.empty((num_chunks * hidden_size, hidden_size), device=device, dtype=dtype)
        )
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name,
                Parameter(T.empty(num_chunks * hidden_size, device=device, dtype=dtype))
                if bias
                else None,
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values: uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _run(self, mode: str, input: Tensor, states: list[Any]) -> Any:
        title = type(self).__name__
        if input.ndim not in (1, 2):
            raise ArgumentValueError(
                f"{title}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        for k, s in enumerate(states):
            if s is not None and s.ndim not in (1, 2):
                name = "hx" if mode == "LSTM" else "hidden"
                which = f"{name}[{k}]" if mode == "LSTM" else name
                raise ArgumentValueError(
                    f"{title}: Expected {which} to be 1D or 2D, got {s.ndim}D instead"
                )
        batched = input.ndim == 2
        x = input if batched else input.unsqueeze(0)
        given = []
        for s in states:
            if s is None:
                s = T.zeros(x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device)
            elif not batched:
                s = s.unsqueeze(0)
            given.append(s)
        if x.shape[1] != self.input_size:
            raise OperationError(
                f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}"
            )
        for s in given:
            if x.shape[0] != s.shape[0]:
                raise OperationError(
                    f"Input batch size {x.shape[0]} doesn't match hidden0 batch size {s.shape[0]}"
                )
            if s.shape[1] != self.hidden_size:
                raise OperationError(
                    f"hidden0 has inconsistent hidden_size: got {s.shape[1]}, expected {self.hidden_size}"
                )
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        made = nn_rnn.step(mode, x, given, weights)
        if made is None:
            gates = F.linear(x, self.weight_ih, self.bias_ih)
            made = nn_rnn.step_of_gates(
                mode, gates, tuple(given), (self.weight_hh, self.bias_hh, None)
            )
        return made if batched else tuple(s.squeeze(0) for s in made)


class RNNCell(RNNCellBase):
    """One time step of an RNN: `h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`.

    Args:
        input_size: size of the input.
        hidden_size: size of the hidden state.
        bias: whether to add the learned biases. Default: True.
        nonlinearity: "tanh" or "relu". Default: "tanh".
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(B, input_size)` or `(input_size,)`.
        hx: the state, `(B, hidden_size)` or `(hidden_size,)`; zeros when left out.
        result: the next state, in the shape of `hx`.

    Attributes:
        weight_ih, weight_hh: `(hidden_size, input_size)` and `(hidden_size, hidden_size)`,
            initially uniform in +-1/sqrt(hidden_size).
        bias_ih, bias_hh: `(hidden_size,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: input or state of the wrong number of dimensions.
        RuntimeError: input or state of the wrong size; an unknown nonlinearity.

    Example:
        >>> import pellucid as torch
        >>> cell = torch.nn.RNNCell(3, 4)
        >>> h = torch.zeros(2, 4)
        >>> for x in torch.ones(5, 2, 3):
        ...     h = cell(x, h)
        >>> h.shape
        torch.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise OperationError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._run(f"RNN_{self.nonlinearity.upper()}", input, [hx])[0]


class LSTMCell(RNNCellBase):
    """One time step of an LSTM: maps the input and the state (h, c) to the next (h, c).

    With the sigmoid gates i, f, o and the candidate g, `c' = f * c + i * g` and
    `h' = o * tanh(c')`; see LSTM for their formulas.

    Args:
        input_size: size of the input.
        hidden_size: size of h and c.
        bias: whether to add the learned biases. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(B, input_size)` or `(input_size,)`.
        hx: a pair (h, c), each `(B, hidden_size)` or `(hidden_size,)`; zeros when left out.
        result: the next pair (h, c).

    Attributes:
        weight_ih, weight_hh: `(4 * hidden_size, input_size)` and `(4 * hidden_size, hidden_size)`,
            with the rows of i, f, g and o; initially uniform in +-1/sqrt(hidden_size).
        bias_ih, bias_hh: `(4 * hidden_size,)`, initialized in the same way; None with bias=False.

    Raises:
        TypeError: `hx` is not a pair.
        ValueError: input or states of the wrong number of dimensions.
        RuntimeError: input or states of the wrong size.

    Example:
        >>> import pellucid as torch
        >>> h, c = torch.nn.LSTMCell(3, 4)(torch.ones(2, 3))
        >>> h.shape, c.shape
        (torch.Size([2, 4]), torch.Size([2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        if hx is not None and not isinstance(hx, (tuple, list)):
            raise ArgumentTypeError(
                f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}"
            )
        return self._run("LSTM", input, [None, None] if hx is None else list(hx))


class GRUCell(RNNCellBase):
    """One time step of a GRU: maps the input and the state to the next state.

    With the gates r and z and the candidate n, `h' = (1 - z) * n + z * h`; see GRU for their
    formulas.

    Args:
        input_size: size of the input.
        hidden_size: size of the hidden state.
        bias: whether to add the learned biases. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Shape:
        input: `(B, input_size)` or `(input_size,)`.
        hx: the state, `(B, hidden_size)` or `(hidden_size,)`; zeros when left out.
        result: the next state, in the shape of `hx`.

    Attributes:
        weight_ih, weight_hh: `(3 * hidden_size, input_size)` and `(3 * hidden_size, hidden_size)`,
            with the rows of r, z and n; initially uniform in +-1/sqrt(hidden_size).
        bias_ih, bias_hh: `(3 * hidden_size,)`, initialized in the same way; None with bias=False.

    Raises:
        ValueError: input or state of the wrong number of dimensions.
        RuntimeError: input or state of the wrong size.

    Example:
        >>> import pellucid as torch
        >>> torch.nn.GRUCell(3, 4)(torch.ones(2, 3)).shape
        torch.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._run("GRU", input, [hx])[0]
