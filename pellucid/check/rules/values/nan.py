"""Find where NaN and Inf first appear, in forward or backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.primitive import PRIMITIVES
from ...events import (
    VIEWS,
    Backward,
    Cleared,
    Failure,
    Glimpse,
    Op,
    Read,
    Step,
    Update,
    Value,
    ancestors,
    lineage,
)
from ...rule import Rule
from ..losses.origin import origin
from ..source.memory import UNFILLED, unwritten
from ..source.origins import divided_at
from .unseen import born, parameters_bad

# elements; larger results are looked at in the first three steps and at powers of two
LOOKED_AT = 1 << 16
KEPT = 20_000

# Operations that put a number from the program into a tensor: an infinity made by them is a mask, a
# bound or a missing value.
PUT = frozenset(
    "masked_fill full full_like new_full fill tensor as_tensor from_numpy where setitem masked_scatter index_fill copy".split()
)
_ARRAYS = ("from_numpy", "tensor", "as_tensor")
_MASKS = VIEWS | {"bool", "to", "type", "clone", "triu", "tril"}
# Operations that leave the range of numbers only when what goes in is huge already.
GROWTH = frozenset(
    "linear matmul mm bmm addmm baddbmm mv dot einsum bilinear mul add sub square sum cumsum prod cumprod mse_loss l1_loss smooth_l1_loss "
    "huber_loss conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d rnn lstm gru batch_norm layer_norm norm".split()
)
# Operations whose derivative is infinite at a point where their value is finite: name -> (argument,
# test, words).
SINGULAR: dict[str, tuple[Any, str]] = {
    "sqrt": (lambda x: x == 0, "the derivative of sqrt is infinite at 0"),
    "acos": (lambda x: np.abs(x) == 1, "the derivative of acos is infinite at -1 and 1"),
    "asin": (lambda x: np.abs(x) == 1, "the derivative of asin is infinite at -1 and 1"),
    "acosh": (lambda x: x == 1, "the derivative of acosh is infinite at 1"),
    "atan2": (lambda x: x == 0, "atan2 has no derivative at (0, 0)"),
    "pow": (lambda x: x == 0, "the derivative of a power below 1 is infinite at 0"),
    "log": (lambda x: np.abs(x) < 1e-30, "its derivative 1 / x overflows this close to 0"),
    "reciprocal": (
        lambda x: np.abs(x) < 1e-15,
        "its derivative 1 / x**2 overflows this close to 0",
    ),
    "rsqrt": (lambda x: np.abs(x) < 1e-20, "its derivative overflows this close to 0"),
    "div": (lambda x: np.abs(x) < 1e-15, "its derivative 1 / x**2 overflows this close to 0"),
}
_MADE_OF = {
    "multi_head_attention_forward": "softmax",
    "nanmean": "mean",
    "nll_loss": "cross_entropy",
}
_GROW = ("exploding-gradient", "lr-absurd", "nll-without-log-softmax", "missing-zero-grad")
"""Rules whose findings are why numbers grow until they overflow."""
GENERAL = "keep the inputs on this line in the range where the result is finite"
CLEAN = "clean the data (torch.isfinite, torch.nan_to_num), and check how this tensor is filled"
UNSET = "initialize it: `torch.zeros`, `torch.randn`, or a function of `torch.nn.init` on it"
DIVERGED = "training diverges before this line: use a smaller learning rate, or clip gradients with nn.utils.clip_grad_norm_"


def advice(name: str) -> str:
    """What to do about a function whose result is not finite: its record says so, or that of the
    operation that it is made of.
    """
    op = PRIMITIVES.get(_MADE_OF.get(name, name))
    return (op.advice if op is not None else "") or GENERAL


class _Bad:
    """An operation with a result that is not finite."""

    __slots__ = ("bad_inputs", "count", "kind", "op", "ranges", "total")

    def __init__(self, op: Op, kind: str, count: int, total: int) -> None:
        self.op = op
        self.kind = kind
        self.count = count
        self.total = total
        self.bad_inputs: list[tuple[str, Value]] = []
        self.ranges: dict[str, list[float]] = {}


class _Cause:
    """Where it came from, to be told when a step uses it."""

    __slots__ = ("evidence", "fix", "growth", "message", "site")

    def __init__(
        self, site: Any, message: str, evidence: dict[str, Any], fix: str, growth: bool
    ) -> None:
        self.site = site
        self.message = message
        self.evidence = evidence
        self.fix = fix
        self.growth = growth


class _Waiting:
    """A backward call whose loss or gradients are no numbers, and the leaves that it reached:
    nobody has used them yet.
    """

    __slots__ = ("cause", "leaves", "loss")

    def __init__(self, cause: _Cause, loss: bool) -> None:
        self.cause = cause
        self.loss = (
            # the loss itself is none; its gradients may well be finite: the derivative of log is 1
            # / x below zero, too
            loss
        )
        self.leaves: set[int] = set()


class NanBorn(Rule):
    """The operation in which a NaN or an infinity appears first, when it gets into the parameters."""

    slug = "nan-born"
    id = "PL601"
    severity = "error"
    summary = "NaN or Inf appears"

    def __init__(self) -> None:
        self._bad: dict[int, _Bad] = {}  # by number of the operation
        self._kinds: dict[int, str] = {}  # by number of the Value: "nan" or "inf"
        self._singular: dict[int, tuple[Op, str, int]] = {}
        self._waiting: list[_Waiting] = []
        self._lost: _Waiting | None = None  # of the backward that runs now
        self._growth: _Cause | None = None  # told in the end when no other rule says why
        self._last: Value | None = None  # the last single number that is none
        self._done = False
        self._unseen: _Cause | None = None  # of a step that was not recorded
        self._backwards = 0

    # ---- forward -----------------------------------------------------------------------------------------------------
    def on_op(self, op: Op) -> None:
        """Look at results."""
        if self._done or op.name in UNFILLED:
            return
        for v in op.outputs:
            if v.producer is op and v.is_floating_point and self._looks(v.numel):
                array = v.numpy()
                if array is not None and not _finite(array):
                    self._note(op, v, array)
        if (
            op.name in SINGULAR
            and op.grad_enabled
            and op.number not in self._bad
            and not op.inplace
        ):
            self._point(op)

    def _looks(self, numel: int) -> bool:
        return numel <= LOOKED_AT or self.step < 3 or self.step & (self.step - 1) == 0

    def _note(self, op: Op, v: Value, array: Any) -> None:
        if len(self._kinds) >= KEPT:
            self._kinds.clear()
            self._bad.clear()
        nan = int(np.isnan(array).sum())
        kind = "nan" if nan else "inf"
        self._kinds[v.number] = kind
        bad = self._bad.setdefault(
            op.number, _Bad(op, kind, nan or int(np.isinf(array).sum()), array.size)
        )
        names = {id(x): k for k, x in op.args.items() if isinstance(x, Value)}
        for x in op.inputs:
            known = self._kinds.get(x.number)
            array = None
            if known is None and x.is_floating_point and x.alive and self._looks(x.numel):
                array = x.numpy()
                if array is not None and not _finite(array):
                    known = self._kinds[x.number] = "nan" if np.isnan(array).any() else "inf"
            if known is not None:
                bad.bad_inputs.append((known, x))
            elif array is not None and array.size:
                bad.ranges[names.get(id(x), "input")] = [float(array.min()), float(array.max())]
        if v.numel == 1 and kind == "nan":
            self._last = v

    def _point(self, op: Op) -> None:
        """A value at which the derivative is infinite."""
        x = op.arg("other" if op.name == "div" else "input")
        if op.name == "pow" and not (
            isinstance(op.arg("exponent"), float) and 0 < op.args["exponent"] < 1
        ):
            return
        if not isinstance(x, Value) or not x.requires_grad or not self._looks(x.numel):
            return
        array, (test, words) = x.numpy(), SINGULAR[op.name]
        if array is None:
            return
        there = test(array)
        if (
            op.name == "atan2"
            and isinstance(op.arg("other"), Value)
            and (other := op.args["other"].numpy()) is not None
        ):
            there = there & (other == 0)
        if there.any():
            if len(self._singular) >= KEPT:
                self._singular.clear()
            self._singular[op.number] = (op, words, int(there.sum()))

    # ---- where it came from ------------------------------------------------------------------------------------------
    def _cause(self, value: Value, what: str) -> _Cause | None:
        """Follow a value that is not finite back to where that began."""
        bad = self._bad.get(value.producer.number) if value.producer is not None else None
        while bad is not None:
            before = sorted(bad.bad_inputs, key=lambda k: k[0] != "nan")
            kind, x = before[0] if before else ("", None)
            made = x.producer if x is not None else None
            if x is None or (
                made is not None and made.name in PUT and kind == "inf" and bad.kind == "nan"
            ):
                return self._born(bad, what)
            if made is None or made.number not in self._bad:
                return self._came_in(bad, kind, x, what)
            bad = self._bad[made.number]
        return None

    def _born(self, bad: _Bad, what: str) -> _Cause:
        op, word = bad.op, "NaN" if bad.kind == "nan" else "Inf"
        if op.name in PUT:
            made = divided_at(op.site) if op.name in _ARRAYS else None
            if made is not None:
                return _Cause(
                    made,
                    f"{word} appears here, in {bad.count} of {bad.total} elements of the data that {op.name} "
                    f"converts to a tensor; {what}.",
                    {"operation": op.name, "kind": word, "elements": bad.count, "made_at": op.site},
                    advice("div"),
                    False,
                )
            return _Cause(
                op.site,
                f"{word} is already in the data here, in {bad.count} of {bad.total} elements; {what}.",
                {"operation": op.name, "kind": word, "elements": bad.count, "of": bad.total},
                CLEAN,
                False,
            )
        masked = any(kind == "inf" for kind, _ in bad.bad_inputs)
        told = ", ".join(
            f"{k} from {_short(low)} to {_short(high)}" for k, (low, high) in bad.ranges.items()
        )
        why = (
            "an entire row of its input is infinite"
            if masked
            else told and f"its arguments: {told}"
        )
        growth = (
            op.name in GROWTH
            and not masked
            and max((abs(x) for r in bad.ranges.values() for x in r), default=0.0) > 1e4
        )
        mask = next((v.producer for kind, v in bad.bad_inputs if kind == "inf"), None)
        return _Cause(
            (_of_the_diagonal(mask) or mask.site)
            if masked and mask is not None and mask.name == "masked_fill"
            else _of_parameters(op) or op.site,
            f"{word} appears in {op.name}, in {bad.count} of {bad.total} elements{': ' + why if why else ''}; {what}.",
            {
                "operation": op.name,
                "kind": word,
                "elements": bad.count,
                "of": bad.total,
                "ranges": bad.ranges,
                "step": op.step,
            },
            DIVERGED if growth else _fix(op),
            growth,
        )

    def _came_in(self, bad: _Bad, kind: str, x: Value, what: str) -> _Cause:
        word, name = "NaN" if kind == "nan" else "Inf", x.name
        made = x.producer
        taken = unwritten(self.session.recorder, x)
        if taken is not None:
            return _Cause(
                taken,
                f"{word} is in the uninitialized memory of {name or 'this tensor'}, "
                f"which {bad.op.name} uses before anything is written to it: {what}.",
                {"operation": bad.op.name, "kind": word, "tensor": name, "shape": list(x.shape)},
                UNSET,
                False,
            )
        data = self._in_data(x) if made is None and kind == "nan" else None
        if data is not None:
            return self._born(data, what)
        site = made.site if made is not None and made.name in PUT else bad.op.site
        return _Cause(
            site,
            f"{word} is already in {name or 'a tensor of shape ' + str(list(x.shape))}, which {bad.op.name} uses; {what}.",
            {
                "operation": bad.op.name,
                "kind": word,
                "tensor": name,
                "shape": list(x.shape),
                "step": bad.op.step,
            },
            CLEAN,
            False,
        )

    def _in_data(self, x: Value) -> _Bad | None:
        """Where the numbers of a tensor that nothing made, as a loader gives them, became NaN: in
        the data as they were read, or when the program scaled rows of that shape."""
        born = [b for b in self._bad.values() if b.kind == "nan" and not b.bad_inputs]
        data = next((b for b in born if b.op.name in PUT), None)
        return data or next(
            (
                b
                for b in born
                for v in b.op.outputs
                if not v.requires_grad and v.ndim == x.ndim and v.shape[1:] == x.shape[1:]
            ),
            None,
        )

    # ---- backward and step -------------------------------------------------------------------------------------------
    def on_backward_begin(self, event: Backward) -> None:
        """The loss."""
        if self._done:
            return
        self._backwards += 1
        self._lost = None
        for root in event.roots:
            if root.number in self._kinds:
                cause = self._cause(root, "the loss becomes NaN")
                self._lost = _Waiting(cause, True) if cause is not None else None

    def on_backward(self, event: Backward) -> None:
        """Gradients that are not finite although the loss is."""
        if self._done:
            return
        held = self._lost
        waiting = {leaf for w in self._waiting for leaf in w.leaves}
        if held is None:
            for a in event.accumulated:
                gradient = (
                    a.value.grad()
                    if self._looks(a.value.numel) and a.value.id not in waiting
                    else None
                )
                if gradient is not None and not _finite(gradient):
                    held = _Waiting(self._in_backward(event, a.value, gradient), False)
                    break
        if held is not None:
            held.leaves = {a.value.id for a in event.accumulated}
            self._waiting = [*self._waiting[-15:], held]
        self._lost = None

    def _in_backward(self, event: Backward, leaf: Value, gradient: Any) -> _Cause:
        word = "NaN" if np.isnan(gradient).any() else "Inf"
        made = sorted(ancestors(event.roots), key=lambda op: -op.number)
        name = leaf.name
        evidence = {"kind": word, "parameter": name, "step": event.step, "backward_at": event.site}
        point = next(
            (self._singular[op.number] for op in made if op.number in self._singular), None
        )
        hidden = next(
            (self._bad[op.number] for op in made if op.number in self._bad and op.name not in PUT),
            None,
        )
        if point is not None and (hidden is None or point[0].number > hidden.op.number):
            op, words, count = point
            return _Cause(
                op.site,
                f"{word} appears in the backward of {op.name}: {words}, and {count} elements of its input are there.",
                {**evidence, "operation": op.name, "elements": count},
                _fix(op),
                False,
            )
        while hidden is not None and hidden.bad_inputs:  # back to where it began
            made_by = [x.producer.number for _, x in hidden.bad_inputs if x.producer is not None]
            hidden = next((self._bad[n] for n in made_by if n in self._bad), None)
        if hidden is not None:
            what = (
                "a later operation hides that in the forward pass, but its derivative is "
                f"{word} in the backward"
            )
            cause = self._born(hidden, what)
            cause.evidence |= evidence
            cause.growth = False
            told = advice(hidden.op.name)
            if told is not GENERAL and hidden.op.name not in GROWTH:
                cause.fix = (
                    told
                    + " before it, not only its result after it (torch.where around the argument)"
                )
            return cause
        return _Cause(
            event.site,
            f"{word} appears in this backward, in the gradient of {name or 'a leaf'}, while the loss is finite.",
            evidence,
            "scale the loss down or clip; `torch.autograd.set_detect_anomaly(True)` names the operation",
            True,
        )

    def on_glimpse(self, event: Glimpse) -> None:
        """The loss of a step that was not recorded."""
        if self._done or self._unseen is not None or np.isfinite(event.loss):
            return
        word = "NaN" if event.loss != event.loss else "Inf"
        evidence: dict[str, Any] = {"kind": word, "step": event.step, "backward_at": event.site}
        if parameters_bad(event.tensor):
            self._unseen = _Cause(
                event.site,
                f"{word} has appeared in the gradients of this backward, while the loss was finite.",
                evidence,
                "scale the loss down or clip; `pellucid check --every-step` names the operation",
                True,
            )
            return
        found = born(event.tensor)
        if found is None:
            self._unseen = _Cause(
                event.site,
                f"the loss becomes {word} in step {event.step}, with finite parameters.",
                evidence,
                "look at the data of that step; `pellucid check --every-step` names the operation",
                True,
            )
            return
        told = ""
        if found.argument is not None:
            evidence["argument"] = list(found.argument)
            told = f": its argument goes from {_short(found.argument[0])} to {_short(found.argument[1])}"
        self._unseen = _Cause(
            found.site or event.site,
            f"{word} appears in {found.name}{told}; the loss becomes {word}.",
            {**evidence, "operation": found.name},
            advice(found.name),
            found.name in GROWTH or found.name == "exp",
        )

    def _after_rest(self, values: list[Value]) -> None:
        """Gradients of a step that was not recorded were used, if parameters are no numbers now."""
        cause = self._unseen
        if cause is not None and any(
            (array := v.numpy()) is not None and not _finite(array) for v in values
        ):
            self._unseen = None
            self._tell(cause)

    def on_clear(self, event: Cleared) -> None:
        """Nobody used them: a loop that skips bad batches."""
        if self._waiting:
            self._forget({v.id for v in event.values})

    def _forget(self, leaves: set[int]) -> None:
        for held in self._waiting:
            held.leaves -= leaves
        self._waiting = [held for held in self._waiting if held.leaves]

    def on_step(self, event: Step) -> None:
        """Gradients are used. A GradScaler leaves out steps with gradients that are not finite,
        which is as it should be.
        """
        if self._unseen is not None and not self._done:
            self._after_rest(event.optimizer.params())
        if self._waiting and not self._done:
            self._used(event.optimizer.params())

    def on_update(self, event: Update) -> None:
        """Gradients are used by hand."""
        if self._waiting:
            self._used([event.value])

    def _used(self, values: list[Value]) -> None:
        for held in self._waiting:
            used = [v for v in values if v.id in held.leaves]
            if used and (
                held.loss or any((g := v.grad()) is not None and not _finite(g) for v in used)
            ):
                self._tell(held.cause)
                break
        self._forget({v.id for v in values})

    def _tell(self, cause: _Cause) -> None:
        self._done = True
        if cause.growth or self._diverged():
            self._growth = cause
        else:
            self.report(cause.site, cause.message, evidence=cause.evidence, fix=cause.fix)

    # ---- programs that do not train ----------------------------------------------------------------------------------
    def on_read(self, event: Read) -> None:
        """A number that is none is looked at."""
        if (
            not self._done
            and not self._backwards
            and event.result is not None
            and event.result != event.result
        ):
            self._last = event.value

    def on_exception(self, event: Failure) -> None:
        """The program stopped itself (`assert not loss.isnan()`), or anomaly mode did."""
        if self._done:
            return
        last = self._last
        if self._waiting:
            self._tell(self._waiting[0].cause)
        elif last is not None and last.step == self.step:
            cause = self._cause(last, "and the program ended")
            if cause is not None:
                self._tell(cause)

    def finish(self) -> None:
        """Divergence, if nobody else has told why; and programs that never step."""
        if not self._done and self._unseen is not None:
            recorder = self.session.recorder
            leaves = [leaf for ref in recorder.leaves.values() if (leaf := ref()) is not None]
            self._after_rest([recorder.value(leaf) for leaf in leaves])
        if not self._done and self.step == 0:
            cause = self._waiting[0].cause if self._waiting else None
            if cause is None and not self._backwards and self._last is not None:
                cause = self._cause(self._last, "and the program reads it")
            if cause is not None:
                self._tell(cause)
        if self._growth is not None and not self._diverged():
            cause = self._growth
            self.report(cause.site, cause.message, evidence=cause.evidence, fix=cause.fix)

    def _diverged(self) -> bool:
        """Whether the numbers had grown beyond all measure before, which is told by the rule that
        saw it.
        """
        return any(finding.name in _GROW for finding, _ in self.session.found.values())


def _fix(op: Op) -> str:
    """What to do about an operation: of the logarithm of probabilities, one function for both."""
    if op.name in ("log", "log2", "log10"):
        made = origin(op.args.get("input"))
        if made is not None and made.probabilities:
            one, loss = (
                ("log_softmax", "cross_entropy")
                if made.kind == "softmax"
                else ("logsigmoid", "binary_cross_entropy_with_logits")
            )
            return f"compute the logarithm from the scores, `F.{one}(scores)` (or {loss}, which does): {made.op.name} rounds to 0 before the log"
    return advice(op.name)


def _of_parameters(op: Op) -> Any:
    """Where a module of the library's was made that computes a weight of nothing but parameters, as
    weight_norm does; None elsewhere.
    """
    call = op.module
    if op.direct or call is None or call.made is None:
        return None
    leaves = [
        v for o in (op, *ancestors(op.inputs, limit=50)) for v in o.inputs if v.producer is None
    ]
    return call.made if leaves and all(v.is_leaf and v.requires_grad for v in leaves) else None


def _finite(array: Any) -> bool:
    """Whether all elements are finite; the sum says it at the cost of one pass, unless it overflows
    itself.
    """
    with np.errstate(all="ignore"):
        total = array.sum(dtype=np.float64 if array.dtype.itemsize < 4 else None)
    return bool(np.isfinite(total)) or bool(np.isfinite(array).all())


def _short(x: float) -> str:
    return f"{x:.3g}"


def _of_the_diagonal(fill: Op) -> Any:
    """Where a triangular mask was made that hides the diagonal, too, and with it a whole row."""
    mask = next((v for v in fill.inputs if v.dtype == "bool"), None)
    for op in lineage(mask, _MASKS, 12) if mask is not None else ():
        if op.name in ("triu", "tril"):
            made = op.output
            array = made.numpy() if made is not None else None
            hidden = array is None or array.ndim >= 2 and array.astype(bool).diagonal().all()
            return op.site if hidden and op.arg("diagonal", 0) == 0 else None
    return None
