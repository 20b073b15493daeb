"""What losses want: logits, probabilities or log-probabilities."""

from __future__ import annotations

from ..events import VIEWS, Op, Value
from ..rule import Rule, cause_site
from .losses_origin import origin


def made_by(value: Value, names: frozenset[str], through: frozenset[str] = VIEWS, depth: int = 40) -> Op | None:
    """The operation among `names` whose result a value is: possibly viewed, scaled or shifted by a number, joined or averaged with others
    that are such results, too. None when something else has been mixed in.

    A product with another tensor (attention, gates of experts) is something else; so is a sum with anything but another such result.
    """
    op = value.producer
    if op is None or depth == 0:
        return None
    if op.name in names:
        return op
    if op.name in through or op.name in ("clamp", "dropout", "nan_to_num"):
        return made_by(op.inputs[0], names, through, depth - 1) if op.inputs else None
    if op.name in ("add", "sub", "mul", "div"):
        large = [v for v in op.inputs if v.numel > 1]
        if len(large) == 1:
            return made_by(large[0], names, through, depth - 1)
        found = [made_by(v, names, through, depth - 1) for v in large] if op.name == "add" else []
        return found[0] if found and all(found) else None
    if op.name in ("cat", "stack", "where"):
        parts = [v for v in op.inputs if v.dtype != "bool"]
        found = [made_by(v, names, through, depth - 1) for v in parts]
        return found[0] if found and all(found) else None
    if op.name == "mean" and op.inputs and op.output is not None:  # of an ensemble: the last axis stays
        whole = op.inputs[0]
        if op.arg("dim") is not None and whole.ndim > 2 and op.output.shape[-1:] == whole.shape[-1:]:
            return made_by(whole, names, through, depth - 1)
    return None


class SoftmaxBeforeCrossEntropy(Rule):
    """`cross_entropy` takes logits and applies log-softmax itself; after a softmax the gradients are small and wrong."""

    slug = "softmax-before-ce"
    id = "PL201"
    severity = "error"
    summary = "the output of a softmax is given to cross entropy"
    covered = ("softmax-wrong-dim",)
    ops = ("cross_entropy",)

    def on_op(self, op: Op) -> None:
        """The input comes from a softmax over the class axis."""
        scores = op.args.get("input")
        if not isinstance(scores, Value):
            return
        made = made_by(scores, SOFTMAX)
        if made is None:
            found = origin(scores)  # written out: exp(x) / exp(x).sum()
            if found is None or found.kind != "softmax" or found.op.name not in ("div", "exp"):
                return
            made = found.op
        self.report(
            cause_site(made),
            f"cross_entropy gets probabilities: its input comes out of {_called(made)}. It applies log-softmax itself, "
            "so here softmax is applied twice.",
            evidence={"softmax": str(made.site), "loss": str(op.site), "shape": list(scores.shape)},
            fix="give cross_entropy the logits: leave the softmax out of the training path, and apply it only where probabilities are "
            "shown",
            covers=[made.site],
        )


SOFTMAX = frozenset({"softmax", "softmin", "gumbel_softmax"})


def _called(made: Op) -> str:
    """What made the probabilities, in words."""
    return {"div": "a softmax by hand", "exp": "the exponential of log-probabilities"}.get(made.name, made.name)
