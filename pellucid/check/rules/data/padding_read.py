"""The last state of a recurrent layer, which is that after the padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import Op, Value
from ...rule import Rule, cause_site, distinct

_RECURRENT = ("lstm", "gru", "rnn")
_BETWEEN = frozenset("dropout transpose permute contiguous mul add".split())
_PADDED = 0.3  # of the rows end with padding
_TIMES = 3


class PaddingRead(Rule):
    """Shorter sequences of a batch are padded at their end, and the last state of the layer is read,
    which has gone over the padding.
    """

    slug = "padding-read"
    id = "PL917"
    severity = "warning"
    summary = "a model uses the output at the padding, or a direction's output before it has read the sequence"
    ops = (*_RECURRENT, "embedding", "getitem", "select", "linear", "mean")

    def __init__(self) -> None:
        self._layers: dict[int, tuple[Op, int, float]] = {}  # by number: op, time axis, padded
        # by number: what took a last state, and its layer. Told where a linear layer reads it: what
        # a decoder begins with is often the state after the padding, and learns to be.
        self._last: dict[int, tuple[Op, Op, float]] = {}
        # by number: what took the last place of a layer that reads both ways, and the layer
        self._one_token: dict[int, tuple[Op, Op]] = {}
        self._embedded: dict[int, Any] = {}  # by number of an embedding: where its input is padding
        self._ended: dict[int, Any] = {}  # the same where the tokens alone say so

    def on_op(self, op: Op) -> None:
        """A recurrent layer, or what is taken of its result."""
        if not op.grad_enabled:
            return
        if op.name == "embedding":
            self._tokens(op)
        elif op.name in _RECURRENT:
            self._layer(op)
        elif op.name == "linear":
            self._read(op)
            self._read_one(op)
        elif op.name == "mean":
            self._averaged(op)
        else:
            self._both_ways(op)
            if self._layers:
                self._taken(op)

    def _both_ways(self, op: Op) -> None:
        """`out[:, -1]` of a layer that reads both ways: there, its second half has read one token."""
        value = op.args.get("input")
        layer = value.producer if isinstance(value, Value) else None
        if (
            layer is None
            or layer.name not in _RECURRENT
            or not isinstance(value, Value)
            or value.index
            or value.ndim != 3
            or not layer.arg("bidirectional", False)
        ):
            return
        time = 1 if layer.arg("batch_first", False) else 0
        if value.shape[time] > 2 and _is_last(op, time, value.shape[time]):
            if len(self._one_token) > 32:
                self._one_token.clear()
            self._one_token[op.number] = op, layer

    def _layer(self, op: Op) -> None:
        x = op.args.get("input")
        if not isinstance(x, Value) or x.ndim != 3:
            return
        time = 1 if op.arg("batch_first", False) else 0
        found = self._padding(x)
        if found is None:
            return
        hidden, turned = found
        along = 1 - time if turned else time
        hidden = hidden if along == 1 else hidden.T
        last = hidden[:, -1] & ~hidden[:, 0]
        # what is padded is padded to the end
        if (np.diff(hidden.astype(np.int8), axis=1) < 0).any():
            return
        if hidden.shape[1] < 3 or last.mean() < _PADDED:
            return
        if len(self._layers) > 32:
            self._layers.clear()
        self._layers[op.number] = op, time, float(last.mean())

    def _tokens(self, op: Op) -> None:
        """Tokens are embedded: which of them are padding?"""
        padding = op.args.get("padding_idx")
        tokens = next((v for v in op.inputs if not v.is_floating_point), None)
        if tokens is None or tokens.ndim != 2:
            return
        array = tokens.numpy() if tokens.numel <= 1 << 20 else None
        if array is None:
            return
        given = isinstance(padding, int) and padding >= 0
        if given:
            self._other(op, array, padding)
        held = self._embedded if given else self._ended
        if len(held) > 8:
            held.clear()
        hidden = array == (padding if given else 0)
        if given or _is_padding(hidden):
            held[op.number] = hidden

    def _other(self, op: Op, array: Any, padding: int) -> None:
        """The sequences end with another token than the one that the embedding takes for padding."""
        last = int(np.bincount(np.maximum(array[:, -1], 0)).argmax())
        kept = array == padding
        if (
            last == padding
            and not _is_a_token(kept)
            or not kept.any()
            or not kept[:, :-1].any()
            or _is_padding(kept)
        ):
            return
        if _is_a_token(kept):
            self._real(op, padding, kept)
        if not _is_padding(array == last) or kept[:, -1].mean() >= _PADDED:
            return
        site = cause_site(op)
        if self.count("seen", site, "indexf") == _TIMES:
            self.report(
                site,
                f"padding_idx is {padding}, but the sequences end with token {last}. The vector of token {padding}, which occurs inside the "
                "sequences, is never trained, while that of the padding is.",
                evidence={"padding_idx": padding, "sequences_end_with": last},
                fix=f"padding_idx={last}",
            )

    def _real(self, op: Op, padding: int, kept: Any) -> None:
        """The token that is taken for padding is one of those in the sequences."""
        site = cause_site(op)
        if self.count("seen", site, "token") == _TIMES:
            self.report(
                site,
                f"padding_idx is {padding}, but nothing is padded: token {padding} occurs inside the sequences, between others, as often as at "
                "their ends. Its vector stays zero and is never trained.",
                evidence={"padding_idx": padding, "share_of_the_tokens": float(kept.mean())},
                fix="leave padding_idx out, or give padding a token of its own",
            )

    def _averaged(self, op: Op) -> None:
        """The mean over all places of a sequence: padding is in the sum, and in the number that it
        is divided by.
        """
        value, dim = op.args.get("input"), op.args.get("dim")
        dim = dim[0] if isinstance(dim, (tuple, list)) and len(dim) == 1 else dim
        if not isinstance(value, Value) or value.ndim != 3 or dim not in (0, 1, -2, -3):
            return
        turned, layer = False, value.producer
        while layer is not None and layer.name in _ALONG and layer.inputs:
            turned ^= layer.name in ("transpose", "permute")
            layer = next((v for v in layer.inputs if v.ndim == 3), layer.inputs[0]).producer
        hidden = None
        if layer is not None and layer.name == "embedding":
            hidden = self._embedded.get(layer.number, self._ended.get(layer.number))
        if hidden is None or dim % 3 != (0 if turned else 1) or not _is_padding(hidden):
            return
        padded = float(hidden[:, -1].mean())
        if self.count("seen", op.site) == _TIMES:
            self.report(
                op.site,
                f"{padded:.0%} of the sequences end with padding, and this mean includes it, in the sum and in the number that it is divided by. So "
                "the result depends on how long the other sequences of the batch are.",
                evidence={"embedding": str(layer.site), "padded": padded},
                fix="`(x * mask).sum(1) / mask.sum(1)` with a mask of the tokens, or nn.EmbeddingBag with `padding_idx`",
            )

    def _padding(self, value: Value) -> tuple[Any, bool] | None:
        """(where the tokens that a value embeds are padding, whether its axes were exchanged)."""
        turned = False
        for _ in range(8):
            made = value.producer
            if made is None or not made.inputs:
                return None
            if made.name == "embedding":
                hidden = self._embedded.get(made.number)
                return None if hidden is None else (hidden, turned)
            if made.name not in _BETWEEN:
                return None
            turned ^= made.name in ("transpose", "permute")
            value = next((v for v in made.inputs if v.ndim == 3), made.inputs[0])
        return None

    def _taken(self, op: Op) -> None:
        value = op.args.get("input")
        made = value.producer if isinstance(value, Value) else None
        if made is None or not isinstance(value, Value) or made.number not in self._layers:
            return
        layer, time, padded = self._layers[made.number]
        if value.index == 0 and value.ndim == 3:
            if not _is_last(op, time, value.shape[time]):
                return
        elif value.index != 1 or op.name == "getitem" and not _is_int(op.args.get("index")):
            return
        if len(self._last) > 32:
            self._last.clear()
        self._last[op.number] = op, layer, padded

    def _read_one(self, op: Op) -> None:
        """A linear layer reads all of the last place."""
        value = op.args.get("input")
        for _ in range(4 if self._one_token else 0):
            made = value.producer if isinstance(value, Value) else None
            if made is None or made.name not in _KEEPS and made.number not in self._one_token:
                return
            if made.number in self._one_token:
                taken, layer = self._one_token.pop(made.number)
                if self.count("seen", taken.site, "both") == _TIMES:
                    self.report(
                        taken.site,
                        f"this {layer.name.upper()} is bidirectional, and only its outputs at the last position are used. There, the backward "
                        "direction has read only one token.",
                        evidence={"layer": str(layer.site)},
                        fix="`torch.cat([h[-2], h[-1]], 1)` of the last states `_, (h, _) = lstm(x)`, or a mean over all positions",
                    )
                return
            value = made.inputs[0] if made.inputs else None

    def _read(self, op: Op) -> None:
        value = op.args.get("input")
        for _ in range(4):
            made = value.producer if self._last and isinstance(value, Value) else None
            if made is None:
                return
            if made.number in self._last:
                break
            value = made.inputs[0] if made.inputs else None
        else:
            return
        taken, layer, padded = self._last.pop(made.number)
        site = taken.site
        if self.count("seen", site) == _TIMES:
            self.report(
                site,
                f"the last state of {layer.name.upper()} is used, but {padded:.0%} of the sequences end with padding: for these it is the state "
                "after the padding, not the state after the last token.",
                evidence={"layer": str(layer.site), "padded": padded},
                fix="use the output at position length - 1 of each sequence, or give the layer pack_padded_sequence(..., lengths)",
            )


_ALONG = frozenset(
    "dropout transpose permute contiguous linear relu gelu tanh layer_norm lstm gru rnn".split()
)
"""What computes something of each place of a sequence."""
_KEEPS = frozenset("dropout relu gelu tanh layer_norm batch_norm contiguous".split())


def _is_padding(hidden: Any) -> bool:
    """Whether the rows of a batch end with it, each at another place, and have it nowhere else."""
    if hidden.shape[1] < 3 or hidden[:, 0].any() or hidden[:, -1].mean() < _PADDED:
        return False
    lengths = len(distinct(hidden.sum(1)))
    return lengths > 2 and not (np.diff(hidden.astype(np.int8), axis=1) < 0).any()


def _is_int(index: Any) -> bool:
    index = index[0] if isinstance(index, (tuple, list)) and len(index) else index
    return isinstance(index, int) and not isinstance(index, bool)


def _is_last(op: Op, time: int, length: int) -> bool:
    if op.name == "select":
        return op.args.get("dim") in (time, time - 3) and op.args.get("index") in (-1, length - 1)
    index = op.args.get("index")
    index = index if isinstance(index, (tuple, list)) else (index,)
    if len(index) <= time or not all(isinstance(i, (int, slice)) for i in index):
        return False
    return index[time] in (-1, length - 1) and all(
        i == slice(None) for k, i in enumerate(index) if k != time
    )


def _is_a_token(kept: Any) -> bool:
    """Whether a token stands in the middle of sequences, and not more often at their ends."""
    if kept.shape[1] < 4 or kept.sum() < 8:
        return False
    alone = kept[:, 1:-1] & ~kept[:, :-2] & ~kept[:, 2:]
    share = kept.mean()
    ends = max(kept[:, 0].mean(), kept[:, -1].mean())
    return bool(alone.sum() >= 0.4 * kept.sum() and ends <= 2 * share)
