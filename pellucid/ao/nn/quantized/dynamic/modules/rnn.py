"""Dynamically quantized recurrent networks: the products of a step are of bytes, everything else is
in floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ......core.public import FUNCTIONS
from ......core.tensor import make_tensor
from ......dtypes import NAMED_ONLY
from ......errors import UnsupportedError
from ......nn.modules.container import ModuleList
from ......nn.modules.module import Module
from ......nn.utils.rnn import PackedSequence
from ......quantized import quantize_per_tensor
from ......quantized.operators import CellParams, step
from ......quantized.operators import layer as run_layer
from ...modules.utils import observed, operators, quantize_weight


def _drawn(rows: int, sizes: tuple[int, int], bias: bool) -> list[Any]:
    """New weights, of the input and the state, drawn as PyTorch draws them, so that the numbers
    that follow are the same.
    """
    draw = FUNCTIONS["torch"]["randn"]
    weights = [draw(rows, columns) for columns in sizes]
    biases = [draw(rows) for _ in sizes] if bias else [None, None]
    kind = NAMED_ONLY["qint8"]
    return [
        operators.linear_prepack(quantize_per_tensor(w, 1, 0, kind), b)
        for w, b in zip(weights, biases, strict=True)
    ]


class PackedParameter(Module):
    """The packed weights of one layer and direction."""

    def __init__(self, param: Any) -> None:
        super().__init__()
        self.param = param

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "param"] = self.param

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        self.param = state_dict.pop(prefix + "param")
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )


class RNNBase(Module):
    """What LSTM and GRU share."""

    _version = 2
    _GATES = {"LSTM": 4, "GRU": 3}

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
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers, self.bias = (
            mode,
            input_size,
            hidden_size,
            num_layers,
            bias,
        )
        self.batch_first, self.dropout, self.bidirectional, self.training = (
            batch_first,
            float(dropout),
            bidirectional,
            False,
        )
        self.dtype = dtype
        self.version = 2
        rows, directions = self._GATES[mode] * hidden_size, 2 if bidirectional else 1
        values = []
        for layer in range(num_layers):
            for _ in range(directions):
                sizes = (input_size if layer == 0 else hidden_size * directions, hidden_size)
                packed = _drawn(rows, sizes, True)
                values.append(PackedParameter(CellParams(packed[0], packed[1], True)))
        self._all_weight_values = ModuleList(values)

    def _get_name(self) -> str:
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            value = getattr(self, name)
            if value != usual:
                text += f", {name}={value}"
        return text

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def _run(self, x: Any, hx: Any) -> tuple[Any, list[Any], list[Any]]:
        """All layers of an array `(steps, batch, features)`: the results, and the last states by
        layer and direction.
        """
        directions, mode = 2 if self.bidirectional else 1, self.mode.lower()
        states: list[Any] = []
        cells: list[Any] = []
        for first in range(0, self.num_layers * directions, directions):
            results = []
            for d in range(directions):
                k = first + d
                c = hx[1][k] if mode == "lstm" else None
                made, h, c = run_layer(
                    mode, x, hx[0][k], c, self._all_weight_values[k].param, d == 1
                )
                results.append(made)
                states.append(h)
                cells.append(c)
            x = results[0] if directions == 1 else np.concatenate(results, 2)
        return x, states, cells

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            raise UnsupportedError(
                "dynamically quantized recurrent networks of a PackedSequence are not supported: pad the sequences"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        if input.ndim != 3:
            raise UnsupportedError(
                "dynamically quantized recurrent networks of sequences that are no batch are not supported: unsqueeze them"
            )
        x = input._array.swapaxes(0, 1) if self.batch_first else input._array
        count = self.num_layers * (2 if self.bidirectional else 1)
        if hx is None:
            zeros = np.zeros((count, x.shape[1], self.hidden_size), np.float32)
            given: Any = (zeros, zeros)
        else:
            given = (hx[0]._array, hx[1]._array) if self.mode == "LSTM" else (hx._array,)
        y, states, cells = self._run(x, given)
        result, last = (
            make_tensor(np.ascontiguousarray(y.swapaxes(0, 1)) if self.batch_first else y),
            make_tensor(np.stack(states)),
        )
        return (
            (result, (last, make_tensor(np.stack(cells))))
            if self.mode == "LSTM"
            else (result, last)
        )

    def _weight_bias(self) -> dict[str, dict[str, Any]]:
        """Weights and biases by their names in the float module."""
        found: dict[str, dict[str, Any]] = {"weight": {}, "bias": {}}
        directions = 2 if self.bidirectional else 1
        for k, value in enumerate(self._all_weight_values):
            suffix = f"_l{k // directions}" + ("_reverse" if k % directions else "")
            for name, packed in (("ih", value.param.w_ih), ("hh", value.param.w_hh)):
                found["weight"][f"weight_{name}{suffix}"], found["bias"][f"bias_{name}{suffix}"] = (
                    packed.unpack()
                )
        return found

    def get_weight(self) -> dict[str, Any]:
        """The quantized weights by name."""
        return self._weight_bias()["weight"]

    def get_bias(self) -> dict[str, Any]:
        """The biases by name."""
        return self._weight_bias()["bias"]

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of an `nn.LSTM` or `nn.GRU` with a qconfig."""
        if getattr(mod, "proj_size", 0):
            raise UnsupportedError("quantized LSTMs with proj_size are not supported")
        if not mod.bias:
            raise AssertionError("mod.bias must be True")
        made: Any = cls(
            mod.input_size,
            mod.hidden_size,
            mod.num_layers,
            mod.bias,
            mod.batch_first,
            mod.dropout,
            mod.bidirectional,
            dtype=mod.qconfig.weight().dtype,
        )
        values = []
        for layer in range(mod.num_layers):
            for suffix in ("", "_reverse") if mod.bidirectional else ("",):
                packed = []
                for name in ("ih", "hh"):
                    weight = getattr(mod, f"weight_{name}_l{layer}{suffix}")
                    bias = getattr(mod, f"bias_{name}_l{layer}{suffix}") if mod.bias else None
                    packed.append(
                        operators.linear_prepack(
                            quantize_weight(weight.float(), observed(weight, mod.qconfig)), bias
                        )
                    )
                values.append(PackedParameter(CellParams(packed[0], packed[1], True)))
        made._all_weight_values = ModuleList(values)
        return made


class LSTM(RNNBase):
    """As `nn.LSTM`, with weights of bytes; see `nn.LSTM` for the arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """As `nn.GRU`, with weights of bytes; see `nn.GRU` for the arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the cells share."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        num_chunks: int = 4,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias, self.weight_dtype = (
            input_size,
            hidden_size,
            bias,
            dtype or NAMED_ONLY["qint8"],
        )
        rows = num_chunks * hidden_size
        packed = _drawn(rows, (input_size, hidden_size), bias)
        self._packed_weight_ih, self._packed_weight_hh = packed

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}" + (
            "" if self.bias else f", bias={self.bias}"
        )
        usual = getattr(self, "nonlinearity", "tanh") == "tanh"
        return text if usual else f"{text}, nonlinearity={self.__dict__['nonlinearity']}"

    def _state(self, input: Any, hx: Any) -> Any:
        if input.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[1]}, expected {self.input_size}"
            )
        return (
            make_tensor(np.zeros((input.shape[0], self.hidden_size), np.float32))
            if hx is None
            else hx
        )

    def get_weight(self) -> dict[str, Any]:
        """The quantized weights by name."""
        return {
            f"weight_{name}": getattr(self, f"_packed_weight_{name}").unpack()[0]
            for name in ("ih", "hh")
        }

    def get_bias(self) -> dict[str, Any]:
        """The biases by name."""
        return {
            f"bias_{name}": getattr(self, f"_packed_weight_{name}").unpack()[1]
            for name in ("ih", "hh")
        }

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_weight_ih"] = self._packed_weight_ih
        destination[prefix + "_packed_weight_hh"] = self._packed_weight_hh

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        self._packed_weight_ih = state_dict.pop(prefix + "_packed_weight_ih")
        self._packed_weight_hh = state_dict.pop(prefix + "_packed_weight_hh")
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The quantized form of a cell with a qconfig."""
        extra = (mod.nonlinearity,) if hasattr(mod, "nonlinearity") else ()
        made: Any = cls(mod.input_size, mod.hidden_size, mod.bias, *extra)
        for name in ("ih", "hh"):
            weight, bias = getattr(mod, f"weight_{name}"), getattr(mod, f"bias_{name}")
            packed = operators.linear_prepack(
                quantize_weight(weight.float(), observed(weight, mod.qconfig)), bias
            )
            setattr(made, f"_packed_weight_{name}", packed)
        return made


class LSTMCell(RNNCellBase):
    """As `nn.LSTMCell`, with weights of bytes."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        h, c = (self._state(input, None),) * 2 if hx is None else hx
        h, c = step(
            "lstm", input._array, h._array, c._array, self._packed_weight_ih, self._packed_weight_hh
        )
        return make_tensor(h), make_tensor(c)


class GRUCell(RNNCellBase):
    """As `nn.GRUCell`, with weights of bytes."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        h = self._state(input, hx)._array
        return make_tensor(
            step("gru", input._array, h, None, self._packed_weight_ih, self._packed_weight_hh)
        )


class RNNCell(RNNCellBase):
    """As `nn.RNNCell`, with weights of bytes."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        h = self._state(input, hx)._array
        return make_tensor(
            step(
                f"rnn_{self.nonlinearity}",
                input._array,
                h,
                None,
                self._packed_weight_ih,
                self._packed_weight_hh,
            )
        )
