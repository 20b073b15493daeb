"""Normalization layers that take another axis for the features."""

from __future__ import annotations

from typing import Any

from ...events import Op, Value, made_by
from ...rule import Rule
from ..labels.class_axis import class_axis
from ..losses.origin import Repeated

_RECURRENT = ("gru", "lstm", "rnn")
_READERS = (*_RECURRENT, "multi_head_attention_forward")
_SAME = frozenset(
    "relu leaky_relu gelu silu elu tanh sigmoid dropout contiguous clone float to detach".split()
)


class NormWrongAxis(Rule):
    """`LayerNorm(C)` of images `(N, C, H, W)`, which normalizes their rows; `BatchNorm1d(T)` of
    sequences `(N, T, C)`, which normalizes each time step over the features.
    """

    slug = "norm-wrong-axis"
    id = "PL115"
    severity = "warning"
    summary = "a normalization layer normalizes over time or width instead of the features"
    ops = ("layer_norm", "batch_norm", *_READERS)

    def __init__(self) -> None:
        self._repeated = Repeated(looks=16, times=3)

    def on_op(self, op: Op) -> None:
        """A norm, or a layer that says which axis of its input the features are."""
        if not op.grad_enabled or not op.inputs:
            return
        if op.name == "layer_norm":
            self._layer(op)
        elif op.name == "batch_norm":
            value = op.inputs[0]
            made = _plain(value) if value.ndim == 3 else None
            if made is not None and made.name in ("embedding", *_RECURRENT):
                self._time(op, value)
        else:
            query = op.args.get("query", op.args.get("input"))
            value = query if isinstance(query, Value) else op.inputs[0]
            made = _plain(value) if value.ndim == 3 else None
            if made is not None and made.name == "batch_norm" and made.inputs[0].ndim == 3:
                self._time(made, value)

    def _layer(self, op: Op) -> None:
        value, shape = op.inputs[0], op.args.get("normalized_shape")
        if value.ndim < 3 or not isinstance(shape, (tuple, list)) or len(shape) != 1:
            return
        found = class_axis(value)
        if found is not None and found[0] == 1 and found[1].startswith("conv"):
            self._tell(
                op,
                f"this LayerNorm normalizes the last axis of {list(value.shape)}, but the {value.shape[1]} channels of the {found[1]} before it are "
                "axis 1.",
                {"shape": list(value.shape), "normalized_shape": list(shape)},
                "`norm(x.movedim(1, -1)).movedim(-1, 1)`, or `nn.GroupNorm(1, channels)`",
            )

    def _time(self, op: Op, value: Value) -> None:
        self._tell(
            op,
            f"this batch norm gets {list(value.shape)} and normalizes along axis 1, with one mean and scale for each of {value.shape[1]} time "
            "steps, but the features are the last axis.",
            {"shape": list(value.shape)},
            "`norm(x.transpose(1, 2)).transpose(1, 2)` with `nn.BatchNorm1d(features)`",
        )

    def _tell(self, op: Op, message: str, evidence: dict[str, Any], fix: str) -> None:
        site = op.site if op.direct or op.module is None else op.module.site
        if self._repeated.due(site) and self._repeated.again(site):
            self.report(site, message, evidence=evidence, fix=fix)


def _plain(value: Value) -> Op | None:
    """What made a value, but for what keeps its axes."""
    return made_by(value, _SAME)
