"""Recurrent layers: RNN, LSTM, GRU. Their cells are in `_cells`."""

from __future__ import annotations

import math
import numbers
import sys
from typing import Any

from ... import dtypes
from ...api import overriding
from ...api.attach import LENT
from ...core.interpret import thread
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError, OperationError, warn, warn_once
from ...ops.nn import rnn as nn_rnn
from .. import functional as F
from .. import init
from .._functions import T
from .._packing import PackedSequence, checked_sizes
from ..parameter import Parameter
from ._cells import _GATES
from ._cells import GRUCell as GRUCell
from ._cells import LSTMCell as LSTMCell
from ._cells import RNNCell as RNNCell
from ._cells import RNNCellBase as RNNCellBase
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

# These stand in other files; PyTorch has them here, and pickles name this module.
for _kind in (
    GRUCell,
    LSTMCell,
    RNNCell,
    RNNCellBase,
):
    _kind.__module__ = __name__


def batch_in_front(out: Tensor, mode: str) -> Tensor:
    """`out` of shape (T, B, size) as (B, T, size), with the node that PyTorch has there."""
    made = out.transpose(0, 1)
    return made if mode == "LSTM" else titled(made, "TransposeBackward1")


class RNNBase(Module):
    """Layers and directions of recurrent cells over sequences; see RNN, LSTM and GRU.

    >>> import pellucid as torch
    >>> lstm = torch.nn.LSTM(3, 4, num_layers=2)  # a subclass, like GRU and RNN
    >>> [tuple(p.shape) for p in lstm.parameters()][:2]
    [(16, 3), (16, 4)]
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_arguments(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size
        )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        gates = _GATES[mode] * hidden_size
        state_size = proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                width = input_size if layer == 0 else state_size * (1 + bidirectional)
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gates, width),
                    "weight_hh": (gates, state_size),
                }
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = []
                for name, shape in shapes.items():
                    names.append(f"{name}_l{layer}{suffix}")
                    setattr(self, names[-1], Parameter(T.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: Any) -> None:
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if getattr(self, name, None) is not weight:
                setattr(self, name, weight)

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, layer by layer and direction by direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing: it would move the parameters into one block for a GPU library."""

    def reset_parameters(self) -> None:
        """Draw new initial values: uniform in +-1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text

    # ---- forward ---------------------------------------------------------------------------------
    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs of the last layer at each time step, and the last state of each layer and
        direction.

        Args:
            input: (T, B, input_size), with `batch_first` (B, T, input_size), (T, input_size)
                unbatched, or a PackedSequence.
            hx: the initial state, zeros when left out: (layers * directions, B, hidden); for LSTM a
                pair of them.
        """
        packed = input if isinstance(input, PackedSequence) else None
        title = type(self).__name__
        batched = True
        batch_dim = 0 if self.batch_first else 1
        if packed is not None:
            data, sizes = packed.data, checked_sizes(packed)
            while len(sizes) > 1 and not sizes[-1]:
                sizes.pop()  # steps that no sequence has
            batch = sizes[0]
        else:
            if input.ndim not in (2, 3):
                tail = "tensor instead" if title == "RNN" else "instead"
                raise ArgumentValueError(
                    f"{title}: Expected input to be 2D or 3D, got {input.ndim}D {tail}"
                )
            batched = input.ndim == 3
            data = input if batched else input.unsqueeze(batch_dim)
            sizes = None
            batch = data.shape[batch_dim]
        if self.proj_size and data.dtype is dtypes.float32:
            warn_once(
                "LSTM with projections is not supported with oneDNN. Using default implementation."
            )
        states = self._initial(data, hx, batch, batched, packed)
        self._check(data, states, sizes, batch)
        if thread.stack.autocast is not None and self.mode == "LSTM" and not self.proj_size:
            # as one product, like PyTorch's: its states, too
            states = [thread.stack.autocast.narrow(s) for s in states]
        # Somebody watches functions or operators, and sees the whole layer as one.
        level = overriding.below
        whole = overriding.concerns((data,)) or (
            level is not None and packed is None and level.takes((data,), {})
        )
        turned = packed is None and self.batch_first
        if not data.shape[int(turned)]:
            raise OperationError("Expected sequence length to be larger than 0 in RNN")
        if turned and not whole:
            data = data.transpose(0, 1)
        if whole:
            run = LENT["recurrent"](self.mode.lower())
            public = getattr(sys.modules[__name__.partition(".")[0]], self.mode.lower())
            hx = tuple(states) if self.mode == "LSTM" else states[0]
            flags = (self.num_layers, float(self.dropout), self.training, self.bidirectional)
            weights = (hx, self._flat_weights, bool(self.bias), *flags)
            given = (
                (data, *weights, bool(turned))
                if packed is None
                else (data, packed.batch_sizes, *weights)
            )
            out, *last = overriding.dispatch(public, run, given, {})
        else:
            out, last = self._layers(data, states, sizes)
        if packed is not None:
            back = packed.unsorted_indices
            last = [s if back is None else s.index_select(1, back) for s in last]
            result: Any = PackedSequence(out, packed.batch_sizes, packed.sorted_indices, back)
        else:
            result = batch_in_front(out, self.mode) if turned and not whole else out
            if not batched:
                result = result.squeeze(batch_dim)
                last = [s.squeeze(1) for s in last]
        return result, (tuple(last) if self.mode == "LSTM" else last[0])

    def _initial(self, data: Tensor, hx: Any, batch: int, batched: bool, packed: Any) -> list[Any]:
        rows = self.num_layers * (1 + self.bidirectional)
        if hx is None:
            sizes = [self.proj_size or self.hidden_size] + (
                [self.hidden_size] if self.mode == "LSTM" else []
            )
            return [
                T.zeros(rows, batch, size, dtype=data.dtype, device=data.device) for size in sizes
            ]
        # Two parts are read by their numbers: a tensor alone fails as it does in PyTorch.
        states = [hx[0], hx[1]] if self.mode == "LSTM" else [hx]
        if packed is None:
            want = 3 if batched else 2
            if any(s.ndim != want for s in states):
                kind = "batched 3-D" if batched else "unbatched 2-D"
                if self.mode == "LSTM":
                    got = f"({states[0].ndim}-D, {states[1].ndim}-D) tensors"
                    raise OperationError(
                        f"For {kind} input, hx and cx should also be {want}-D but got {got}"
                    )
                raise OperationError(
                    f"For {kind} input, hx should also be {want}-D but got {states[0].ndim}-D tensor"
                )
            return states if batched else [s.unsqueeze(1) for s in states]
        order = packed.sorted_indices
        return states if order is None else [s.index_select(1, order) for s in states]

    def _check(self, data: Tensor, states: list[Any], sizes: Any, batch: int) -> None:
        weight = getattr(self, self._all_weights[0][0])
        if data.dtype != weight.dtype and thread.stack.autocast is None:
            raise ArgumentValueError(
                f"RNN input dtype ({data.dtype}) does not match weight dtype ({weight.dtype}). Convert input: input.to({weight.dtype}), "
                f"or convert model: model.to({data.dtype})"
            )
        want = 3 if sizes is None else 2
        if data.ndim != want:
            raise OperationError(f"input must have {want} dimensions, got {data.ndim}")
        if data.shape[-1] != self.input_size:
            raise OperationError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {data.shape[-1]}"
            )
        rows = self.num_layers * (1 + self.bidirectional)
        for k, s in enumerate(states):
            expected = (
                rows,
                batch,
                (self.proj_size or self.hidden_size) if k == 0 else self.hidden_size,
            )
            if tuple(s.shape) != expected:
                which = f"hidden[{k}]" if self.mode == "LSTM" else "hidden"
                raise OperationError(f"Expected {which} size {expected}, got {list(s.shape)}")

    def _layers(self, data: Any, states: list[Any], sizes: Any) -> tuple[Any, list[Any]]:
        last: list[list[Any]] = [[] for _ in states]
        row = 0
        for layer in range(self.num_layers):
            outs = []
            for reverse in (False, True)[: 1 + self.bidirectional]:
                state = [s[row] for s in states]
                out, end = self._direction(data, state, self._all_weights[row], sizes, reverse)
                outs.append(out)
                for collected, s in zip(last, end):
                    collected.append(s)
                row += 1
            data = outs[0] if len(outs) == 1 else T.cat(outs, -1)
            if self.dropout and layer < self.num_layers - 1:
                data = F.dropout(data, self.dropout, self.training)
        return data, [T.stack(s) for s in last]

    def _direction(
        self, data: Any, state: list[Any], names: list[str], sizes: Any, reverse: bool
    ) -> tuple[Any, Any]:
        """One layer in one direction over all time steps."""
        own = dict(zip([n.split("_l")[0] for n in names], (getattr(self, n) for n in names)))
        if "weight_hr" not in own:
            bias = (own.get("bias_ih"), own.get("bias_hh"))
            made = nn_rnn.layer(
                self.mode, data, state, (own["weight_ih"], own["weight_hh"], *bias), reverse, sizes
            )
            if made is not None:
                return made
        weights = (own["weight_hh"], own.get("bias_hh"), own.get("weight_hr"))
        gates = F.linear(data, own["weight_ih"], own.get("bias_ih"))  # all time steps at once
        return nn_rnn.composed(self.mode, gates, state, weights, reverse, sizes)


def _check_arguments(
    mode: str,
    input_size: Any,
    hidden_size: Any,
    num_layers: int,
    bias: Any,
    batch_first: Any,
    dropout: Any,
    proj_size: int,
) -> None:
    if (
        not isinstance(dropout, numbers.Number)
        or isinstance(dropout, bool)
        or not 0 <= dropout <= 1  # type: ignore[operator]
    ):
        raise ArgumentValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but "
            f"got dropout={dropout} and num_layers={num_layers}",
        )
    for name, value, kind in (
        ("bias", bias, bool),
        ("batch_first", batch_first, bool),
        ("input_size", input_size, int),
        ("hidden_size", hidden_size, int),
    ):
        if not isinstance(value, kind):
            raise ArgumentTypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )
        if kind is int and value <= 0:
            raise ArgumentValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ArgumentValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ArgumentValueError(
            "proj_size should be a positive integer or zero to disable projections"
        )
    if proj_size >= hidden_size:
        raise ArgumentValueError("proj_size has to be smaller than hidden_size")
    if mode not in _GATES:
        raise ArgumentValueError("Unrecognized RNN mode: " + mode)


class RNN(RNNBase):
    """A recurrent network: `h' = tanh(W_ih x + b_ih + W_hh h + b_hh)` at each time step of a
    sequence, in one or more layers.

    Args:
        input_size: size of the input at each time step.
        hidden_size: size of the hidden state.
        num_layers: number of layers, each of which reads the outputs of the one below. Default: 1.
        nonlinearity: "tanh" or "relu". The fourth positional argument. Default: "tanh".
        bias: whether to add the learned biases. Default: True.
        batch_first: whether input and output have the batch dimension in front, (B, T, size)
            instead of (T, B, size). It does not change the states. Default: False.
        dropout: probability of dropout on the outputs of each layer but the last, while training.
            Default: 0.
        bidirectional: whether a second set of cells reads the sequence backwards; the outputs of
            both are concatenated. Default: False.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `output, h_n = rnn(input, h_0)`; `h_0` is zeros when left out.

    Shape:
        input: `(T, B, input_size)`, with `batch_first` `(B, T, input_size)`, `(T, input_size)`
            without a batch, or a PackedSequence.
        h_0: `(D * num_layers, B, hidden_size)` with D = 2 if bidirectional, else 1; without a
            batch, no B.
        output: the states of the last layer at all time steps, `(T, B, D * hidden_size)` or in the
            layout of the input.
        h_n: the last state of each layer and direction, in the shape of `h_0`.

    Attributes:
        weight_ih_l0, weight_ih_l1, ...: `(hidden_size, input_size)` for the first layer, then
            `(hidden_size, D * hidden_size)`.
        weight_hh_l0, ...: `(hidden_size, hidden_size)`.
        bias_ih_l0, bias_hh_l0, ...: `(hidden_size,)`. All names end in `_reverse` for the backward
            direction. All parameters start uniform in +-1/sqrt(hidden_size).

    Raises:
        ValueError: a size that is not positive, dropout outside [0, 1], an unknown nonlinearity, an
            input of the wrong number of dimensions or dtype.
        RuntimeError: input or states of the wrong size; an empty sequence.

    Source: Elman, "Finding structure in time", 1990.

    Example:
        >>> import pellucid as torch
        >>> rnn = torch.nn.RNN(3, 4, num_layers=2)
        >>> output, h_n = rnn(torch.zeros(5, 2, 3))
        >>> output.shape, h_n.shape
        (torch.Size([5, 2, 4]), torch.Size([2, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ArgumentValueError(
                "proj_size argument is only supported for LSTM, not RNN or GRU"
            )
        if len(args) > 3:
            nonlinearity, args = args[3], (*args[:3], *args[4:])
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ArgumentValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory over sequences, in one or more layers; the state is a pair (h, c).

    At each time step, with sigmoid gates and `*` element by element

        i = sigmoid(W_ii x + b_ii + W_hi h + b_hi)      what of g enters the cell
        f = sigmoid(W_if x + b_if + W_hf h + b_hf)      what of the cell stays
        g = tanh(W_ig x + b_ig + W_hg h + b_hg)         the candidate
        o = sigmoid(W_io x + b_io + W_ho h + b_ho)      what of the cell is shown
        c' = f * c + i * g
        h' = o * tanh(c')                               with proj_size: W_hr times this

    Args:
        input_size: size of the input at each time step.
        hidden_size: size of the hidden state.
        num_layers: number of layers, each of which reads the outputs of the one below. Default: 1.
        bias: whether to add the learned biases. Default: True.
        batch_first: whether input and output have the batch dimension in front, (B, T, size)
            instead of (T, B, size). It does not change the states. Default: False.
        dropout: probability of dropout on the outputs of each layer but the last, while training.
            Default: 0.
        bidirectional: whether a second set of cells reads the sequence backwards; the outputs of
            both are concatenated. Default: False.
        proj_size: size to which h is projected by a learned matrix; 0: no projection. Smaller than
            `hidden_size`. Default: 0.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `output, (h_n, c_n) = lstm(input, (h_0, c_0))`; the states are zeros when left out.

    Shape:
        input: `(T, B, input_size)`, with `batch_first` `(B, T, input_size)`, `(T, input_size)`
            without a batch, or a PackedSequence.
        h_0, h_n: `(D * num_layers, B, H)` with D = 2 if bidirectional, else 1, and H = proj_size or
            hidden_size; without a batch, no B.
        c_0, c_n: `(D * num_layers, B, hidden_size)`.
        output: the h of the last layer at all time steps, `(T, B, D * H)` or in the layout of the
            input.

    Attributes:
        weight_ih_l0, weight_ih_l1, ...: `(4 * hidden_size, input_size)` for the first layer, then
            `(4 * hidden_size, D * H)`.
        weight_hh_l0, ...: `(4 * hidden_size, H)`.
        bias_ih_l0, bias_hh_l0, ...: `(4 * hidden_size,)`. All names end in `_reverse` for the
            backward direction. All parameters start uniform in +-1/sqrt(hidden_size). The rows are
            those of i, f, g and o.
        weight_hr_l0, ...: `(proj_size, hidden_size)`, with `proj_size` only.

    Raises:
        ValueError: a size that is not positive, dropout outside [0, 1], `proj_size` not below
            `hidden_size`, an input of the wrong number of dimensions or dtype.
        RuntimeError: input or states of the wrong size; an empty sequence.

    Source: Hochreiter, Schmidhuber, "Long short-term memory", 1997; Sak, Senior, Beaufays, 2014
    (projections).

    Example:
        >>> import pellucid as torch
        >>> out, (h, c) = torch.nn.LSTM(3, 4, batch_first=True)(torch.zeros(2, 5, 3))
        >>> out.shape, h.shape
        (torch.Size([2, 5, 4]), torch.Size([1, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units over sequences, in one or more layers.

    At each time step, with `*` element by element

        r = sigmoid(W_ir x + b_ir + W_hr h + b_hr)      reset gate
        z = sigmoid(W_iz x + b_iz + W_hz h + b_hz)      update gate
        n = tanh(W_in x + b_in + r * (W_hn h + b_hn))   the candidate
        h' = (1 - z) * n + z * h

    The paper applies r to h before the product with W_hn; here it is applied after it, which lets
    all products with h be one.

    Args:
        input_size: size of the input at each time step.
        hidden_size: size of the hidden state.
        num_layers: number of layers, each of which reads the outputs of the one below. Default: 1.
        bias: whether to add the learned biases. Default: True.
        batch_first: whether input and output have the batch dimension in front, (B, T, size)
            instead of (T, B, size). It does not change the states. Default: False.
        dropout: probability of dropout on the outputs of each layer but the last, while training.
            Default: 0.
        bidirectional: whether a second set of cells reads the sequence backwards; the outputs of
            both are concatenated. Default: False.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `output, h_n = gru(input, h_0)`; `h_0` is zeros when left out.

    Shape:
        input: `(T, B, input_size)`, with `batch_first` `(B, T, input_size)`, `(T, input_size)`
            without a batch, or a PackedSequence.
        h_0: `(D * num_layers, B, hidden_size)` with D = 2 if bidirectional, else 1; without a
            batch, no B.
        output: the states of the last layer at all time steps, `(T, B, D * hidden_size)` or in the
            layout of the input.
        h_n: the last state of each layer and direction, in the shape of `h_0`.

    Attributes:
        weight_ih_l0, weight_ih_l1, ...: `(3 * hidden_size, input_size)` for the first layer, then
            `(3 * hidden_size, D * hidden_size)`.
        weight_hh_l0, ...: `(3 * hidden_size, hidden_size)`.
        bias_ih_l0, bias_hh_l0, ...: `(3 * hidden_size,)`. All names end in `_reverse` for the
            backward direction. All parameters start uniform in +-1/sqrt(hidden_size). The rows are
            those of r, z and n.

    Raises:
        ValueError: a size that is not positive, dropout outside [0, 1], an input of the wrong
            number of dimensions or dtype.
        RuntimeError: input or states of the wrong size; an empty sequence.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014.

    Example:
        >>> import pellucid as torch
        >>> gru = torch.nn.GRU(3, 4, bidirectional=True)
        >>> output, h_n = gru(torch.zeros(5, 2, 3))
        >>> output.shape, h_n.shape
        (torch.Size([5, 2, 8]), torch.Size([2, 2, 4]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ArgumentValueError(
                "proj_size argument is only supported for LSTM, not RNN or GRU"
            )
        super().__init__("GRU", *args, **kwargs)
