"""Backward functions that are written by hand, compared with what their forward computes."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import random
from typing import Any

import numpy as np

from ...events import Applied
from ...rule import Rule
from ..source.places import Place, assignments, function_around

LARGEST = 1 << 18  # elements of all arguments together
DIRECTIONS = 3
NEAR = 1e-4  # how far the arguments are moved, in double precision
DIFFERENT = 0.05  # of the derivative
# Names of what rounds: its derivative says little, so a backward states what it shall count as.
ROUNDING = frozenset(
    "round floor ceil trunc fix frac sign sgn argmax argmin bucketize "
    "long short byte char uint8 int8 int16 int32 int64".split()
)


class BackwardByHand(Rule):
    """The backward of a `torch.autograd.Function` is not the derivative of its forward."""

    slug = "backward-by-hand"
    id = "PL313"
    severity = "error"
    summary = "the backward of an autograd.Function is not the derivative of its forward"

    def on_applied(self, event: Applied) -> None:
        """A function is applied for the first time: compare."""
        torch, engine = self.session.engine.torch, self.session.engine
        given = [
            k
            for k, a in enumerate(event.args)
            if isinstance(a, engine.Tensor) and a.is_floating_point() and engine.requires_grad(a)
        ]
        plain = (engine.Tensor, int, float, str, type(None))
        if rounds(event.function.forward):
            return
        if not all(isinstance(a, plain) for a in event.args):
            return  # a module that it is given would be run, and perhaps changed
        if not given or sum(event.args[k].numel() for k in given) > LARGEST:
            return
        name, recorder = event.function.__name__, self.session.recorder
        passed = dict(recorder.passed)
        states = torch.get_rng_state(), np.random.get_state(), random.getstate()
        unseen = (
            io.StringIO()
        )  # what the forward prints in the many calls that only this rule makes
        try:
            with contextlib.redirect_stdout(unseen), contextlib.redirect_stderr(unseen):
                found = compare(torch, engine, event.function, event.args, given)
        except Exception:  # what it cannot be asked, as in double precision, is not compared
            return
        finally:
            torch.set_rng_state(states[0])
            np.random.set_state(states[1])
            random.setstate(states[2])
            recorder.passed.clear()
            recorder.passed.update(passed)
        for k, factor, error in found:
            what = (
                f"{factor:.3g} times" if factor is not None else f"off by {100 * error:.0f} % from"
            )
            argument = argument_name(event.function, k)
            self.report(
                returned_at(event.function, k) or event.site,
                f"the gradient that `{name}.backward` returns for `{argument}` is {what} the "
                "derivative of its `forward`.",
                evidence={"function": name, "argument": argument, "applied_at": event.site},
                fix=(
                    "derive the gradient again, and test it with `torch.autograd.gradcheck` in "
                    "double precision"
                ),
            )


def compare(
    torch: Any, engine: Any, function: Any, args: tuple[Any, ...], given: list[int]
) -> list[tuple[int, float | None, float]]:
    """(argument, factor if there is one, relative error) where backward is another derivative than
    that of forward. Left out is what may be so on purpose: forwards that are random, jump or stay
    the same, and backwards that hand gradients on or limit them.
    """
    rng = np.random.default_rng(0)

    def double(a: Any) -> Any:
        if not isinstance(a, engine.Tensor):
            return a
        a = a.detach().clone()
        return a.double() if a.is_floating_point() else a

    base = [double(a) for a in args]

    def outputs(values: list[Any]) -> list[Any]:
        result = function.apply(*values)
        every = result if isinstance(result, (tuple, list)) else (result,)
        return [r for r in every if isinstance(r, engine.Tensor) and r.is_floating_point()]

    def forward(values: list[Any]) -> float:
        with torch.no_grad():
            results = outputs([v.clone() if isinstance(v, engine.Tensor) else v for v in values])
        return sum(float((r * s).sum()) for r, s in zip(results, seeds, strict=True))

    def backward(scale: float) -> list[Any]:
        with torch.enable_grad():
            leaves = [
                v.clone().requires_grad_(k in given) if isinstance(v, engine.Tensor) else v
                for k, v in enumerate(base)
            ]
            results = outputs(leaves)
            wanted = [leaves[k] for k in given]
            return list(
                torch.autograd.grad(results, wanted, [s * scale for s in seeds], allow_unused=True)
            )

    def drawn(like: Any) -> Any:
        return torch.tensor(rng.standard_normal(tuple(like.shape)), dtype=torch.float64)

    with torch.no_grad():
        seeds = [drawn(r) for r in outputs([double(a) for a in args])]
    gradients, scaled = backward(1.0), backward(-3.0)
    if not seeds or forward(base) != forward(base):
        return []
    found = []
    for k, gradient, other in zip(given, gradients, scaled, strict=True):
        if gradient is None or not torch.allclose(other, -3 * gradient, rtol=1e-4):
            continue
        if any(handed_on(gradient, s) for s in seeds):
            continue
        pairs = []
        for _ in range(DIRECTIONS):
            direction = drawn(base[k])
            numbers = []
            for h in (NEAR, NEAR / 2):
                ends = [
                    forward([base[i] + e * direction if i == k else b for i, b in enumerate(base)])
                    for e in (h, -h)
                ]
                numbers.append((ends[0] - ends[1]) / (2 * h))
            pairs.append((*numbers, float((gradient * direction).sum())))
        coarse, fine, told = np.array(pairs).T
        size = float(np.linalg.norm(fine))
        if not np.isfinite(size + np.linalg.norm(told)) or size < 1e-2 * np.linalg.norm(told):
            continue
        if np.linalg.norm(coarse - fine) > 0.01 * size or size < 1e-8:
            continue
        error = float(np.linalg.norm(told - fine)) / size
        if error > DIFFERENT:
            factor = float(told @ fine) / size**2
            exact = np.linalg.norm(told - factor * fine) < 0.01 * np.linalg.norm(told)
            found.append((k, factor if exact else None, error))
    return found


def rounds(function: Any, depth: int = 3) -> bool:
    """Whether a function's code, or that of functions in its module which it calls, rounds."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    names = getattr(getattr(function, "__code__", None), "co_names", ())
    if not ROUNDING.isdisjoint(n.strip("_") for n in names):
        return True
    called = [function.__globals__.get(n) for n in names] if depth else []
    return any(
        rounds(c, depth - 1) for c in called if getattr(c, "__module__", "") == function.__module__
    )


def handed_on(gradient: Any, seed: Any) -> bool:
    """Whether a gradient is what came in, up to a factor: straight through, or reversed."""
    if gradient.shape != seed.shape or not seed.numel():
        return False
    ratio = gradient / seed
    return bool(((ratio - ratio.reshape(-1)[0]).abs() <= 1e-4 * ratio.abs().max()).all())


def argument_name(function: Any, k: int) -> str:
    """What `forward` calls its argument."""
    names = list(inspect.signature(inspect.unwrap(function.forward)).parameters)
    context = "setup_context" not in {n for c in function.__mro__[:-1] for n in vars(c)} or (
        names[:1] == ["ctx"]
    )
    names = names[1:] if context else names
    return names[k] if k < len(names) else str(k)


def returned_at(function: Any, k: int) -> Place | None:
    """The line of `backward` that computes the gradient of an argument."""
    method = next((vars(c)["backward"] for c in function.__mro__ if "backward" in vars(c)), None)
    code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None)
    if code is None:
        return None
    file = code.co_filename
    tree = function_around(file, code.co_firstlineno, code.co_firstlineno)
    returns = [n for n in ast.walk(tree) if isinstance(n, ast.Return)] if tree is not None else []
    if not returns or tree is None:
        return None
    last = max(returns, key=lambda n: n.lineno)
    value = last.value
    if isinstance(value, ast.Tuple):
        value = value.elts[k] if k < len(value.elts) else None
    for _ in range(4):
        if not isinstance(value, ast.Name):
            break
        before = [
            n
            for n in assignments(file, value.id, tree.lineno, last.lineno)
            if not (isinstance(n.value, ast.Constant) and n.value.value is None)
        ]
        if not before:
            break
        last_one = max(before, key=lambda n: n.lineno)
        if not isinstance(last_one.value, ast.Name):
            return Place(file, last_one.lineno)
        value = last_one.value
    return Place(file, value.lineno if value is not None else last.lineno)
