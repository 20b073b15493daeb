"""Masks of attention, of means and of losses that keep the padding and leave out the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...events import VIEWS, Op, Site, Value, ancestors, lineage
from ...rule import Rule, distinct

ATTENTION = ("multi_head_attention_forward", "scaled_dot_product_attention")
TIMES = 3  # steps
LOOKS = 8  # by place
NEVER = -1e3  # a score below it is left out of a softmax
LARGE = 1 << 20  # elements: larger scores are not looked at

_DECIDES = frozenset(
    "eq ne lt le gt ge bitwise_not logical_not logical_and logical_or isin".split()
)


class MaskInverted(Rule):
    """A mask with the wrong meaning of True: what is padding is attended to, and nothing else."""

    slug = "mask-inverted"
    id = "PL904"
    severity = "error"
    summary = "a mask keeps the padding and hides the tokens"
    supersedes = ("loss-at-chance",)
    ops = (*ATTENTION, "softmax", "embedding", "mul", "cross_entropy", "nll_loss")

    def __init__(self) -> None:
        # tokens by their shape, and the number of the operation that used them
        self._tokens: dict[tuple[int, ...], tuple[int, Any]] = {}
        self._fine: set[Any] = set()

    def on_op(self, op: Op) -> None:
        """Tokens are noted, masks are compared with them."""
        if not op.grad_enabled or self.step > 64:
            return
        if op.name in ("embedding", "cross_entropy", "nll_loss"):
            self._note(op)
        elif op.name == "mul":
            self._weighted(op)
        elif self._due(op):
            if op.name == "softmax":
                self._scores(op)
            else:
                self._attention(op)

    def _due(self, op: Op) -> bool:
        return self.count("looked", op.site) <= LOOKS

    def _note(self, op: Op) -> None:
        ids = (
            next((v for v in op.inputs if not v.is_floating_point), None)
            if op.name == "embedding"
            else op.args.get("target")
        )
        if isinstance(ids, Value) and ids.ndim == 2 and ids.numel <= LARGE:
            array = ids.numpy()
            if array is not None and array.dtype.kind in "iu":
                if len(self._tokens) >= 16:
                    self._tokens.clear()
                self._tokens[ids.shape] = op.number, array.copy()

    # ---- where masks are -------------------------------------------------------------------------
    def _attention(self, op: Op) -> None:
        padding, mask = op.args.get("key_padding_mask"), op.args.get("attn_mask")
        whole = op.name == ATTENTION[0]
        if whole and isinstance(padding, Value):
            array = padding.numpy()
            if array is not None and array.ndim == 2:
                self._judge(op, _ignored(array, True), padding)
        if isinstance(mask, Value) and mask.numel <= LARGE:
            array = mask.numpy()
            if array is None or array.ndim < 2:
                return
            ignored = _ignored(array, whole)
            self._order(op, ignored, mask)
            if not whole and array.ndim > 2:
                self._judge(
                    op, ignored.reshape(ignored.shape[0], -1, ignored.shape[-1])[:, -1], mask
                )

    def _scores(self, op: Op) -> None:
        """Scores of a softmax: what is far below the others is left out."""
        scores, dim = op.args.get("input"), op.args.get("dim")
        if (
            not isinstance(scores, Value)
            or not isinstance(dim, int)
            or scores.ndim < 2
            or scores.numel > LARGE
            or not any(o.name in _MASKS for o in lineage(scores, _THROUGH, 12))
        ):
            return
        array = scores.numpy()
        if array is None:
            return
        array = np.moveaxis(array, dim % scores.ndim, -1)
        ignored = array < NEVER
        made = next((o for o in lineage(scores, _THROUGH, 12) if o.name in _MASKS), None)
        mask = _mask_of(made) if made is not None else None
        self._order(op, ignored, mask, made)
        self._judge(op, ignored.reshape(ignored.shape[0], -1, ignored.shape[-1])[:, -1], mask, made)

    def _weighted(self, op: Op) -> None:
        """`hidden * mask`, or `losses * mask`, that a sum follows."""
        if len(op.inputs) != 2 or not self._tokens:
            return
        mask = next((v for v in op.inputs if not v.requires_grad), None)
        value = next((v for v in op.inputs if v.requires_grad), None)
        if mask is None or value is None:
            return
        shape = mask.shape[:-1] if mask.ndim == 3 and mask.shape[-1] == 1 else mask.shape
        if shape not in self._tokens or value.shape[:2] != shape or not self._due(op):
            return
        array = mask.numpy()
        if array is not None and np.isin(array, (0, 1)).all():
            self._judge(op, array.reshape(shape) == 0, mask)

    # ---- what they leave out ---------------------------------------------------------------------
    def _judge(self, op: Op, ignored: Any, mask: Value | None, made: Op | None = None) -> None:
        """Whether all that is kept is one and the same token, and what is left out is many."""
        held, ignored = self._of_tokens(ignored)
        tokens = held[1] if held is not None else _rows_of(op, ignored.shape)
        if tokens is None:
            return
        kept, left = tokens[~ignored], tokens[ignored]
        if kept.size < 4 or left.size < 4:
            return
        one = distinct(kept)
        several = distinct(left).size >= 3 if held is not None else True
        inverted = (
            one.size == 1 and several and not (left == one[0]).any() and _is_padding(~ignored)
        )
        if held is None:
            inverted = inverted and one[0] == 0
        place = self._place(op, mask, made)
        use = made.site if made is not None else op.site
        if not inverted:
            self._fine |= {place, use}
            return
        # elsewhere it has the right meaning: it is to be inverted where it is used
        place = use if place in self._fine and op.name in ATTENTION else place
        self._count(
            place,
            "this mask is inverted: it keeps the padding and hides everything else. It keeps "
            f"{kept.size} of {ignored.size} positions, and "
            f"{'all hold token ' + str(int(one[0])) if held is not None else 'all are zeros'}.",
            {"kept": int(kept.size), "left_out": int(left.size), "shape": list(ignored.shape)},
            _fix(op),
        )

    def _of_tokens(self, ignored: Any) -> tuple[tuple[int, Any] | None, Any]:
        """The tokens that a mask is about, and the mask without what stands for no token: a place
        before or after the others that is the same in all rows.
        """
        rows, length = ignored.shape
        held = self._tokens.get((rows, length))
        if held is not None:
            return held, ignored
        if (length, rows) in self._tokens:
            number, tokens = self._tokens[length, rows]
            return (number, tokens.T), ignored
        same = (ignored == ignored[:1]).all(0)
        for more in range(1, 3):
            held = self._tokens.get((rows, length - more))
            if held is not None and same[:more].all():
                return held, ignored[:, more:]
            if held is not None and same[-more:].all():
                return held, ignored[:, :-more]
        return None, ignored

    def _order(self, op: Op, ignored: Any, mask: Value | None, made: Op | None = None) -> None:
        """A causal mask turned around: the last place sees nothing, the others only what follows."""
        length = ignored.shape[-1]
        if ignored.ndim < 2 or ignored.shape[-2] != length or length < 4:
            return
        square = ignored.reshape(-1, length, length)[0]
        lower = np.tril(np.ones((length, length), bool))
        if square[lower].all() and not square[~lower].any():
            self._count(
                self._place(op, mask, made),
                "this causal mask is inverted: each position sees only later ones, and the last sees nothing.",
                {"length": length},
                _fix(op),
            )

    def _place(self, op: Op, mask: Value | None, made: Op | None) -> Site | None:
        decided = (
            next(
                (
                    o
                    for o in lineage(mask, VIEWS | {"triu", "tril", "cat", "masked_fill"}, 12)
                    if o.name in _DECIDES
                ),
                None,
            )
            if mask is not None
            else None
        )
        if decided is not None and decided.direct:
            return decided.site
        return made.site if made is not None else op.site

    def _count(self, place: Site | None, message: str, evidence: dict[str, Any], fix: str) -> None:
        if self.count("seen", place) == TIMES and place not in self._fine:
            self.report(place, message, evidence=evidence, fix=fix)


_MASKS = frozenset("masked_fill where add sub".split())
_THROUGH = VIEWS | {"div", "mul", "masked_fill", "add", "sub", "float"}


def _is_padding(kept: Any) -> bool:
    """Whether what is kept lies at the end of each row (or at the beginning), and not as much of
    every row.
    """
    lengths = kept.sum(1)
    if lengths.max() < 2 or distinct(lengths).size < 2:
        return False
    places = np.arange(kept.shape[1])
    return any(bool((kept == (side < lengths[:, None])).all()) for side in (places, places[::-1]))


def _ignored(array: Any, true_is_out: bool) -> Any:
    if array.dtype.kind == "b":
        return array if true_is_out else ~array
    return array < NEVER


def _mask_of(op: Op) -> Value | None:
    """The mask that an operation puts into scores."""
    if op.name == "masked_fill":
        return op.inputs[1] if len(op.inputs) > 1 else None
    if op.name == "where":
        return next((v for v in (op.args.get("condition"),) if isinstance(v, Value)), None)
    return next((v for v in op.inputs if not v.requires_grad), None)


def _rows_of(op: Op, shape: tuple[int, ...]) -> Any:
    """Of data of a shape (and one axis more) that an operation comes from: which rows are not all
    zeros, as whole numbers.
    """
    if len(shape) != 2:
        return None
    for made in ancestors(op.inputs, limit=200):
        for v in made.inputs:
            if v.requires_grad or v.ndim != 3 or v.shape[:2] != shape or not v.is_floating_point:
                continue
            array = v.numpy()
            if array is not None and array.size <= LARGE:
                return (array != 0).any(-1).astype(np.int64)
    return None


def _fix(op: Op) -> str:
    if op.name == ATTENTION[0]:
        return "in nn.MultiheadAttention and nn.Transformer, True means hidden: `key_padding_mask = tokens == pad`"
    if op.name == ATTENTION[1]:
        return "in scaled_dot_product_attention, True means visible: `attn_mask = tokens != pad`"
    return "invert the mask: `~mask`, or `!=` instead of `==`"
