"""A model of sequences that sees the very token that it is to predict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...events import VIEWS, Op, Site, Value, ancestors, lineage
from ...rule import Rule, cause_site, distinct
from ..losses.origin import learned_from
from ..source.places import assigned_before
from .same_places import FORECASTS, kept_tokens, looks_ahead, next_slice

LONG = 6  # tokens of a sequence
SHORT = 3  # where each of them is compared
MANY = 48  # tokens of a batch
KINDS = 4  # different tokens
TIMES = 3  # steps
ATTENTION = ("scaled_dot_product_attention", "multi_head_attention_forward")
NEVER = -50.0  # below the others, a score counts for nothing
LARGE = 1 << 20  # elements: larger scores are not looked at

_CHOOSES = frozenset("stack cat getitem narrow index_select gather as_tensor tensor".split())
_ARRANGED = VIEWS - _CHOOSES
_SCALED = VIEWS | {"div", "mul", "clone", "float", "to", "clamp"}


class TargetVisible(Rule):
    """Targets that are the inputs at the same place, or the next inputs where attention has no
    causal mask.
    """

    slug = "target-visible"
    id = "PL903"
    severity = "error"
    summary = "the model sees the token that it should predict, or predicts the one after it"
    supersedes = ("loss-at-chance",)
    ops = ("cross_entropy", "nll_loss", "embedding", *ATTENTION, "softmax", *FORECASTS)

    def __init__(self) -> None:
        # by number of an embedding: its tokens, which may be gone when the loss is computed
        self._tokens: dict[int, Any] = {}
        self._share = 0.0  # of the tokens that a masked model sees and is to predict
        self._next = False  # whether a loss has targets that are the next tokens
        # by number of an operation with a mask: whether a place sees the next one all the same
        self._open: dict[int, bool] = {}

    def on_op(self, op: Op) -> None:
        """A loss over the tokens of sequences."""
        if op.name == "embedding":
            self._note(op)
            return
        if op.name in FORECASTS:
            self._forecast(op)
            return
        if op.name in ATTENTION or op.name == "softmax":
            self._masked(op)
            return
        both = learned_from(op)
        if both is None or both[1].is_floating_point or both[1].numel < MANY:
            return
        scores, target = both
        if self.count("looked", op.site) > 8:
            return
        wanted = target.numpy()
        if wanted is None:
            return
        wanted = wanted.reshape(-1)
        ignored = op.args.get("ignore_index", -100)
        known = wanted != ignored
        if known.mean() < 0.9 or len(distinct(wanted[known])) < KINDS:
            return
        made = list(ancestors([scores], limit=20_000))
        given = [(o, self._tokens[o.number]) for o in made if o.number in self._tokens]
        self._two_ahead(op, target, wanted, given)
        rows = [(o, ids) for o, ids in given if ids.ndim == 2 and ids.size == wanted.size]
        for o, ids in rows:
            if ids.shape[1] < SHORT:
                continue
            table = wanted.reshape(ids.shape)
            inside = known.reshape(ids.shape)
            share = kept_tokens(ids, table) if op.args.get("reduction") == "mean" else None
            if share is not None and _position_by_position(made, o, ids.shape):
                written = op.written("target") or ""
                name = re.match(r"\w+", written)
                where = assigned_before(op.site, name[0]) if name is not None else None
                self._share = share
                self._count(op, where or op.site, "unmasked", ids.shape)
            elif np.array_equal(ids[inside], table[inside]):
                others = any(
                    not np.array_equal(i, ids) and _position_by_position(made, other, ids.shape)
                    for other, i in given
                    if i.shape == ids.shape
                )
                if not others and _position_by_position(made, o, ids.shape):
                    site = _chosen_at(target, o) or _renamed_at(o) or op.site
                    self._count(op, site, "same", ids.shape)
            elif (inside[:, :-1] & (table[:, :-1] != ids[:, 1:])).sum() == 0:
                ahead = looks_ahead(made, ids.shape[1], lambda c, o=o: _made_of(c, o.number))
                if ahead is not None:
                    self._count(op, cause_site(ahead), ahead.name, ids.shape)
                    continue
                open_to_all = next(_unmasked(made, o, ids.shape[1], self._open), None)
                if open_to_all is None:
                    continue
                if open_to_all.number in self._open:
                    self._count(op, _mask_at(open_to_all), "mask", ids.shape)
                else:
                    self._count(op, _unhidden_at(open_to_all), open_to_all.name, ids.shape)

    def _forecast(self, op: Op) -> None:
        """A loss of numbers that are the next ones of a series."""
        both = learned_from(op)
        if both is None or both[1].ndim < 2 or not MANY <= both[1].numel <= LARGE:
            return
        scores, target = both
        if self.count("looked", op.site) > 8:
            return
        made = list(ancestors([scores], limit=20_000))
        length = target.shape[-1]
        ahead = looks_ahead(made, length, _of_the_input) if length >= LONG else None
        root = ahead.module.root if ahead is not None and ahead.module is not None else None
        wanted = target.numpy() if root is not None else None
        for given in root.inputs[:1] if root is not None and ahead is not None else ():
            series = given.numpy() if given.numel == target.numel else None
            following = next_slice(given, target)
            if series is not None and wanted is not None and series.shape[-1] == length:
                series, table = series.reshape(-1, length), wanted.reshape(-1, length)
                following |= np.array_equal(series[:, 1:], table[:, :-1]) and not np.array_equal(
                    series, table
                )
            if following:
                self._count(op, cause_site(ahead), "conv1d", target.shape)
                return

    def _two_ahead(self, op: Op, target: Value, wanted: Any, given: list[tuple[Op, Any]]) -> None:
        """Targets that are the tokens after the next ones: they were shifted twice."""
        for _, ids in given[:1]:
            count = len(ids)
            if ids.ndim != 2 or ids.shape[1] < LONG or wanted.size % count:
                continue
            table = wanted.reshape(count, -1)
            length = min(table.shape[1], ids.shape[1] - 2)
            if not ids.shape[1] - 2 <= table.shape[1] <= ids.shape[1]:
                continue
            after = [np.array_equal(table[:, :length], ids[:, k : length + k]) for k in (1, 2)]
            self._next |= after[0]
            if after != [False, True] or self._next:
                continue
            chosen = _put_together(target)
            if self.count("seen", op.site, "twice") == TIMES:
                self.report(
                    chosen.site if chosen is not None and chosen.site is not None else op.site,
                    "the target of each position is the token after the next one: the labels are shifted by one twice.",
                    evidence={"tokens": list(ids.shape), "loss": str(op.site)},
                    fix="shift once, in the dataset or in the model",
                )

    def _masked(self, op: Op) -> None:
        """Attention with a mask: whether it hides what comes next."""
        scores = op.args.get("input" if op.name == "softmax" else "attn_mask")
        if (
            not op.grad_enabled
            or self.step > 16
            or not self._tokens
            or not isinstance(scores, Value)
            or scores.ndim < 2
            or scores.shape[-1] != scores.shape[-2]
            or not LONG <= scores.shape[-1]
            or scores.numel > LARGE
        ):
            return
        array = scores.numpy()
        if array is None:
            return
        square = array.reshape(-1, *array.shape[-2:])[0]
        following = np.diagonal(square, 1)
        if square.dtype.kind == "b":
            seen = following if op.name == ATTENTION[0] else ~following
        else:
            seen = following > np.diagonal(square)[:-1] + NEVER
        if len(self._open) > 256:
            self._open.clear()
        self._open[op.number] = bool(seen.all())

    def _note(self, op: Op) -> None:
        ids = next((v for v in op.inputs if not v.is_floating_point), None)
        if (
            not op.grad_enabled
            or self.step > 64
            or ids is None
            or ids.ndim != 2
            or ids.numel > 1 << 16
        ):
            return
        while len(self._tokens) >= 16:
            del self._tokens[next(iter(self._tokens))]
        array = ids.numpy()
        if array is not None:
            self._tokens[op.number] = array.copy()

    def _count(self, op: Op, site: Any, kind: str, shape: tuple[int, ...]) -> None:
        if self.count("seen", site, kind) != TIMES:
            return
        evidence = {"tokens": list(shape), "loss": str(op.site), "step": self.step}
        if kind == "same":
            self.report(
                site,
                "the targets are the input tokens at the same positions, so the model learns to copy its input.",
                evidence=evidence,
                fix="shift the targets by one: inputs `tokens[:, :-1]`, targets `tokens[:, 1:]`",
            )
        elif kind == "unmasked":
            self.report(
                site,
                f"{self._share:.0%} of the tokens in this loss are visible in the input, so the model mostly learns to copy. Only the masked tokens "
                "are a task.",
                evidence=evidence,
                fix="ignore the visible ones: `labels = ids.masked_fill(~masked, -100)`",
                severity="warning",
            )
        elif kind == "conv1d":
            self.report(
                site,
                "the targets are the next values of the input, and this convolution is padded on both sides, so each position sees the values after "
                "it.",
                evidence=evidence,
                fix="pad on the left only: `F.pad(x, ((kernel_size - 1) * dilation, 0))`, and `padding=0`",
            )
        elif kind in ("lstm", "gru", "rnn"):
            self.report(
                site,
                f"the targets are the next input tokens, and this {kind} is bidirectional, so it has already read them.",
                evidence=evidence,
                fix="make it run forward only, `bidirectional=False`",
            )
        elif kind == "mask":
            self.report(
                site,
                "the targets are the next input tokens, and this mask does not hide them: it hardly lowers the scores of later positions.",
                evidence=evidence,
                fix="use a boolean mask, or one that adds `float('-inf')`: `nn.Transformer.generate_square_subsequent_mask(length)`",
            )
        else:
            self.report(
                site,
                "the targets are the next input tokens, and this attention has no causal mask: every position sees the token that it should predict.",
                evidence=evidence,
                fix="hide later positions: `is_causal=True`, or `attn_mask=nn.Transformer.generate_square_subsequent_mask(length)`",
            )


def _made_of(op: Op, number: int) -> bool:
    """Whether an operation with a number is behind another one."""
    return any(o.number == number for o in ancestors(op.inputs, limit=20_000))


def _of_the_input(op: Op) -> bool:
    """Whether an operation reads what its whole model is given first."""
    given = op.module.root.inputs[:1] if op.module is not None else ()
    numbers = {v.number for v in given}
    return any(v.number in numbers for v in op.inputs) or any(
        v.number in numbers for o in ancestors(op.inputs, limit=20_000) for v in o.inputs
    )


def _mask_at(op: Op) -> Site | None:
    """Where the mask of an attention was made, else where it is used."""
    mask = op.args.get("attn_mask")
    made = mask.producer if isinstance(mask, Value) else None
    return made.site if made is not None and made.direct else op.site


def _unhidden_at(op: Op) -> Site | None:
    """The line to change of attention without a mask: the call, which a mask would be given to; of
    a layer that reads both ways, where it was made.
    """
    return op.site if op.name in ATTENTION else cause_site(op)


def _chosen_at(target: Value, embedded: Op) -> Site | None:
    """Where the targets were put together beside the inputs, in the same function: they should have
    been others there.
    """
    tokens = next(v for v in embedded.inputs if not v.is_floating_point)
    wanted, given = _put_together(target), _put_together(tokens)
    if wanted is None or given is None or wanted.number == given.number:
        return None
    if wanted.site is None or given.site is None or wanted.site.code is not given.site.code:
        return None
    return wanted.site if wanted.site.line != given.site.line else None


def _renamed_at(embedded: Op) -> Any:
    """Where the targets got the name under which the model is given them, `inputs = targets`."""
    site = embedded.module.root.site if embedded.module is not None else None
    call = site.call if site is not None else None
    for name in call.arguments if call is not None else ():
        made = assigned_before(site, name) if name.isidentifier() else None
        if made is not None and re.fullmatch(r"\w+ = \w+( *#.*)?", made.text):
            return made
    return None


def _put_together(value: Value) -> Op | None:
    """The last operation that has chosen which tokens there are."""
    made = (o for o in lineage(value, _ARRANGED, 12) if o.name not in _ARRANGED)
    return next((o for o in made if o.name in _CHOOSES), None)


def _position_by_position(made: list[Op], embedded: Op, shape: tuple[int, ...]) -> bool:
    """Whether all that is made of the tokens keeps their places: no state of a whole sequence stands
    between them and the scores.
    """
    count, length = shape
    behind = {embedded.number}
    for op in reversed(made):
        for v in op.inputs:
            if v.producer is not None and v.producer.number in behind:
                behind.add(op.number)
                if v.is_floating_point and not {length, count * length} & set(v.shape):
                    return False
    return True


def _product(scores: Any, through: frozenset[str]) -> Op | None:
    """The product of two values that scores are."""
    for op in lineage(scores, through, 6):
        if op.name in ("matmul", "bmm", "einsum") and len(op.inputs) == 2:
            return op
    return None


def _unmasked(made: list[Op], embedded: Op, length: int, seen: dict[int, bool]) -> Iterator[Op]:
    """Operations behind the scores that mix all places of these tokens. Cross-attention does not: it
    looks from these tokens at others.
    """
    for op in made:
        both: tuple[Any, ...] = op.inputs[:1]  # all of these must be made of the tokens
        if op.name == "scaled_dot_product_attention":
            free = (op.arg("attn_mask") is None or seen.get(op.number, False)) and not op.arg(
                "is_causal", False
            )
            mixes = free and all(
                isinstance(v := op.args.get(k), Value) and v.ndim > 2 and v.shape[-2] == length
                for k in ("query", "key")
            )
            both = op.inputs[:2]
        elif op.name == "multi_head_attention_forward":
            both = query, key = op.args.get("query"), op.args.get("key")
            mixes = (
                (op.arg("attn_mask") is None or seen.get(op.number, False))
                and not op.arg("is_causal", False)
                and isinstance(query, Value)
                and isinstance(key, Value)
                and length in query.shape[:2]
                and query.shape == key.shape
            )
        elif op.name == "softmax":
            x = op.args.get("input")
            if not isinstance(x, Value) or x.ndim < 3 or x.shape[-2:] != (length, length):
                continue
            found = _product(x, _SCALED)
            mixes = found is not None or seen.get(op.number, False)
            if found is None and mixes:
                found = _product(x, _SCALED | {"add", "masked_fill"})
            both = found.inputs if found is not None else op.inputs
        elif op.name in ("lstm", "gru", "rnn"):
            mixes = bool(op.arg("bidirectional", False))
        else:
            continue
        if mixes and all(any(o is embedded for o in ancestors([v], limit=20_000)) for v in both):
            yield op
