"""`explain` says what is wrong with a tensor, a parameter, a module or an error, from evidence
only.

There are three sources of evidence, in this order: the object itself; the graph, if it is alive
(nodes are found through the garbage collector, so nothing is kept for it); and the records of
`debug.watch()`. It does not guess beyond them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core import reverse, source
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError
from ..watching import Watch, current
from .alive import what_keeps_graphs, what_keeps_it
from .depends import what_it_depends_on, without_graph
from .errors import about_error
from .finite import is_finite
from .frozen import frozen_term
from .memory import what_it_holds
from .missing import cut, kind_of, no_gradient
from .naming import argument_text
from .result import Explanation
from .standing import about_compiled, compiled_of, stands_still
from .values import about_gradient, non_finite

__all__ = ["QUESTIONS", "Explanation", "explain"]


def _why_no_graph(root: Tensor) -> list[str]:
    """A line for the error of a backward that finds no graph, while somebody watches: where the
    graph was cut.
    """
    notes = current()
    number = notes.known(root) if notes is not None and notes.active else None
    step = notes.cut_before(number) if notes is not None and number is not None else None
    if step is None:
        return []
    found = cut(step, "the loss", [step], "what it was computed from")
    return [f"{found.text} (at {step.line})"]


reverse.explain_cut.append(_why_no_graph)

QUESTIONS = ("gradient", "depends", "alive", "memory", "compiled")


def explain(
    x: Any, question: str = "gradient", *, loss: Tensor | None = None, name: str | None = None
) -> Explanation:
    """Answer a question about a tensor, a parameter, a module, an optimizer, a compiled function or
    an exception.

    Args:
        x: a tensor, parameter, module, optimizer, compiled function, or an exception.
        question: "gradient": why the gradient is None, zero, huge or not finite, which parameters
            of a module are affected, or what an exception means. "depends": what the value was
            computed from, with the path to each leaf and its local derivatives. "alive": what keeps
            its graph in memory. "memory": how much memory it holds. "compiled": how often a
            compiled function was traced, and why.
        loss: the value whose backward you ask about. While its graph is not freed, `explain` can
            find more causes. No `.grad` changes.
        name: what to call the tensor in the text. Default: the argument as you wrote it in the
            call.

    Raises:
        TypeError: `x` is something else.
        ValueError: an unknown question.

    >>> import pellucid as torch
    >>> w = torch.tensor([2.0], requires_grad=True)
    >>> y = w * 3
    >>> torch.explain(y).cause
    'non-leaf'
    >>> len(torch.explain(y.sum(), "depends").details)  # one leaf
    1
    """
    if question not in QUESTIONS:
        raise ArgumentValueError(
            f"explain(): question must be one of {', '.join(map(repr, QUESTIONS))}, not {question!r}"
        )
    if isinstance(x, BaseException):
        return about_error(x, current())
    written = name or argument_text(source.user_frame(2), "explain")
    if question == "memory":
        return what_it_holds(x, written)
    function = compiled_of(x) if question in ("compiled", "gradient") else None
    if question == "compiled" or function is not None and function is x:
        options = getattr(x, "__dict__", {}).get("_options")
        if function is None and options == {}:  # of a module whose backend is "eager"
            return Explanation(
                "not-compiled",
                f"{written or 'the module'} runs eagerly, because its backend compiles nothing",
                'leave out backend="eager" or "aot_eager" of torch.compile',
            )
        if function is None:
            raise ArgumentTypeError(
                f"explain(): expected what torch.compile returned, got {type(x).__name__}",
                hint="ask about the function or module that torch.compile returned. "
                'With backend="eager" it returns a function unchanged, and nothing is compiled',
            )
        return about_compiled(function, written or "the function", current())
    if isinstance(x, Tensor):
        if question == "depends":
            return what_it_depends_on(x, written or kind_of(x), source.user_frame(2))
        if question == "alive":
            return what_keeps_it(x, written or kind_of(x), source.user_frame(2))
        return about_tensor(x, loss, written or kind_of(x))
    if question == "depends" and isinstance(x, (int, float, np.ndarray, np.generic)):
        found = without_graph(x, written or "it", source.user_frame(2))
        if found is not None:
            return found
    if question == "alive" and callable(getattr(x, "named_parameters", None)):
        return what_keeps_graphs(x, written or "the module", source.user_frame(2))
    if question == "gradient":
        if callable(getattr(x, "named_parameters", None)):
            return _about_parameters(x.named_parameters(), loss)
        if isinstance(getattr(x, "param_groups", None), list):
            found = _about_parameters(_of_optimizer(x), loss)
            still = stands_still(x, written or "the optimizer", current())
            return still if still is not None and found.cause == "none" else found
        if x is None:
            raise ArgumentTypeError(
                "explain(): None carries no history; pass the tensor whose gradient is None (model.weight, not model.weight.grad)"
            )
        notes = current()
        step = (
            notes.left_as(x) or (notes.left_for(written) if written else None)
            if notes is not None and isinstance(x, (int, float, np.ndarray))
            else None
        )
        if step is not None:
            kind = "a NumPy array" if isinstance(x, np.ndarray) else "a Python number"
            return cut(
                step,
                written or "it",
                [step],
                f"{written or 'it'} is {kind}; the tensor that it was",
            )
    wanted = (
        "a tensor, a module, an optimizer or an exception" if question == "gradient" else "a tensor"
    )
    raise ArgumentTypeError(f"explain(): expected {wanted}, got {type(x).__name__}")


def _of_optimizer(optimizer: Any) -> Iterable[tuple[str, Tensor]]:
    for g, group in enumerate(optimizer.param_groups):
        names = group.get("param_names")
        for k, p in enumerate(group["params"]):
            yield names[k] if names else f"param_groups[{g}]['params'][{k}]", p


def _about_parameters(named: Iterable[tuple[str, Tensor]], loss: Tensor | None) -> Explanation:
    """A module or an optimizer: the parameters with trouble, and the first cause."""
    found = [(name, about_tensor(p, loss, name)) for name, p in named]
    # A bias before a normalization has no gradient by right: that is no trouble of the whole.
    trouble = [(name, e) for name, e in found if e.cause not in ("none", "cancels")]
    if not found:
        return Explanation("none", "there are no parameters")
    if not trouble:
        return Explanation(
            "none", f"all {len(found)} parameters have finite gradients that are not zero"
        )
    first = trouble[0][1]
    causes = {e.cause for _, e in trouble}
    evidence = [
        f"{name}: {e.cause}" + (f" ({e.file}:{e.line})" if e.file else "") for name, e in trouble
    ]
    more = "" if len(causes) == 1 else f" The reasons differ. The first: {first.text}"
    text = f"{len(trouble)} of {len(found)} parameters have no usable gradient" + (
        f".{more}" if more else f": {first.text}"
    )
    details = [
        {"name": name, "cause": e.cause, "file": e.file, "line": e.line} for name, e in trouble
    ]
    return Explanation(first.cause, text, first.fix, first.where, evidence, details)


def about_tensor(t: Tensor, loss: Tensor | None, name: str) -> Explanation:
    """A tensor's gradient, or why there is none."""
    notes: Watch | None = current()
    if notes is not None and not notes.covers(t):
        notes = None  # they end before it was made
    if not is_finite(t):
        return non_finite(t, t, name, notes)
    if t._grad is not None:
        found = about_gradient(t, loss, name, notes)
        return frozen_term(t, name, notes) or found if found.cause == "none" else found
    return no_gradient(t, loss, name, notes)
