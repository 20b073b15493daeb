"""L-BFGS with the strong Wolfe line search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import tracing
from ..core.modes import enable_grad, no_grad
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentValueError, OperationError
from ._arrays import counted
from .optimizer import Optimizer, check_lr, to_number

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """L-BFGS: quasi-Newton steps from the last gradients.

    `step(closure)` runs up to `max_iter` iterations, each calling the closure. The closure clears
    the gradients, computes the loss, calls `backward` and returns the loss. Suits full batches and
    small models; the memory is that of `history_size` copies of the parameters, twice.

    Args:
        params: an iterable of parameters; groups are not supported.
        lr: length of a step, or the first one that the line search tries. Default: 1.
        max_iter: iterations in one `step`. Default: 20.
        max_eval: calls of the closure in one `step`. Default: 1.25 * max_iter.
        tolerance_grad: stop when no element of the gradient is larger. Default: 1e-7.
        tolerance_change: stop when parameters or loss change less. Default: 1e-9.
        history_size: how many gradient differences are kept. Default: 100.
        line_search_fn: None, or "strong_wolfe", which is more robust. Default: None.

    Raises:
        ValueError: a negative `lr`; several groups.

    Source: Nocedal, Wright, "Numerical optimization", 2006, algorithms 7.4 and 3.5.

    Example:
        >>> import pellucid as torch
        >>> p = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
        >>> optimizer = torch.optim.LBFGS([p], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((p - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> _ = optimizer.step(closure)
        >>> [round(x, 3) for x in p.tolist()]
        [1.0, 1.0]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ArgumentValueError(
                "LBFGS doesn't support per-parameter options (parameter groups)"
            )

    @property
    def _params(self) -> list[Tensor]:
        return self.param_groups[0]["params"]

    # ---- all parameters as one vector ------------------------------------------------------------
    def _gradient(self) -> Any:
        parts = []
        tracing.gradients(self._params)
        for p in self._params:
            g = p._grad
            a = p._array if g is None else (g.to_dense() if g.is_sparse else g)._array
            flat = np.ascontiguousarray(a).reshape(-1)
            flat = np.zeros_like(flat) if p._grad is None else flat
            parts.append(flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat)
        return np.concatenate(parts)

    def _move(self, step: Any, direction: Any) -> None:
        offset = 0
        for p in self._params:
            a = p._array
            size = a.size * (2 if a.dtype.kind == "c" else 1)
            part = direction[offset : offset + size] * step
            counted(p)
            a += (part.view(a.dtype) if a.dtype.kind == "c" else part).reshape(a.shape)
            offset += size

    def _try(
        self, closure: Callable[[], Any], start: list[Any], step: Any, direction: Any
    ) -> tuple[float, Any]:
        """Loss and gradient after a step, which is taken back."""
        self._move(step, direction)
        loss = float(closure())
        gradient = self._gradient()
        for p, a in zip(self._params, start):
            counted(p)
            tracing.seen(p._array)[...] = a
        return loss, gradient

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:
        """Run iterations; returns the loss before the first."""
        group = self.param_groups[0]
        lr = to_number(group["lr"])
        search = group["line_search_fn"]
        evaluate = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if np.abs(gradient).max() <= group["tolerance_grad"]:
            return first_loss
        memory = _Memory(state, group["history_size"])
        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            if state["n_iter"] > 1:
                state.setdefault("al", [None] * memory.size)
            direction = memory.direction(gradient, state["n_iter"] == 1)
            previous_loss = loss
            step = min(1.0, 1.0 / np.abs(gradient).sum()) * lr if state["n_iter"] == 1 else lr
            memory.taken(gradient, direction, step)
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            used = 0
            done = False
            if search is not None:
                if search != "strong_wolfe":
                    raise OperationError("only 'strong_wolfe' is supported")
                start = [p._array.copy() for p in self._params]

                def probe(
                    t: Any, start: Any = start, direction: Any = direction
                ) -> tuple[float, Any]:
                    return self._try(evaluate, start, t, direction)

                loss, gradient, step, used = strong_wolfe(
                    probe,
                    step,
                    direction,
                    loss,
                    gradient,
                    slope,
                    max_ls=group["max_eval"] - evaluations,
                )
                self._move(step, direction)
                memory.taken(None, direction, step)
                done = bool(np.abs(gradient).max() <= group["tolerance_grad"])
            else:
                self._move(step, direction)
                if iteration != group["max_iter"]:
                    loss = float(evaluate())
                    gradient = self._gradient()
                    done = bool(np.abs(gradient).max() <= group["tolerance_grad"])
                    used = 1
            evaluations += used
            state["func_evals"] += used
            if iteration == group["max_iter"] or evaluations >= group["max_eval"] or done:
                break
            if np.abs(direction * step).max() <= group["tolerance_change"]:
                break
            if abs(loss - previous_loss) < group["tolerance_change"]:
                break
        memory.save(state, previous_loss)
        return first_loss


def _array(x: Any) -> Any:
    return x._array if isinstance(x, Tensor) else x


def _tensor(x: Any) -> Any:
    return make_tensor(np.asarray(x)) if isinstance(x, (np.ndarray, np.generic)) else x


class _Memory:
    """The last gradient differences and steps, from which the direction is computed."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.size = size
        self.differences = [_array(x) for x in state.get("old_dirs") or ()]
        self.steps = [_array(x) for x in state.get("old_stps") or ()]
        self.ro = [_array(x) for x in state.get("ro") or ()]
        self.scale = _array(state.get("H_diag"))
        self.last_gradient = _array(state.get("prev_flat_grad"))
        self.last_direction = _array(state.get("d"))
        self.last_step = _array(state.get("t"))
        self.alphas: list[Any] = []  # of the last direction, only to be saved

    def direction(self, gradient: Any, first: bool) -> Any:
        """The quasi-Newton direction (two-loop recursion); the negative gradient at first."""
        if first:
            self.differences, self.steps, self.ro, self.scale = [], [], [], 1
            return -gradient
        y = gradient - self.last_gradient
        s = self.last_direction * self.last_step
        ys = y.dot(s)
        if ys > 1e-10:
            if len(self.differences) == self.size:
                for kept in (self.differences, self.steps, self.ro):
                    kept.pop(0)
            self.differences.append(y)
            self.steps.append(s)
            self.ro.append(1.0 / ys)
            self.scale = ys / y.dot(y)
        q = -gradient
        alphas: list[Any] = [None] * len(self.ro)
        for i in reversed(range(len(self.ro))):
            alphas[i] = self.steps[i].dot(q) * self.ro[i]
            q = q + self.differences[i] * -alphas[i]
        self.alphas = alphas
        r = q * self.scale
        for i in range(len(self.ro)):
            beta = self.differences[i].dot(r) * self.ro[i]
            r = r + self.steps[i] * (alphas[i] - beta)
        return r

    def taken(self, gradient: Any, direction: Any, step: Any) -> None:
        """Remember what the next difference is formed with."""
        if gradient is not None:
            self.last_gradient = gradient.copy()
        self.last_direction, self.last_step = direction, step

    def save(self, state: dict[str, Any], previous_loss: float) -> None:
        """Put everything into the optimizer's state."""
        state["d"] = _tensor(self.last_direction)
        state["t"] = _tensor(self.last_step)
        state["old_dirs"] = [_tensor(x) for x in self.differences]
        state["old_stps"] = [_tensor(x) for x in self.steps]
        state["ro"] = [_tensor(x) for x in self.ro]
        state["H_diag"] = _tensor(self.scale)
        state["prev_flat_grad"] = _tensor(self.last_gradient)
        state["prev_loss"] = previous_loss
        for i, alpha in enumerate(self.alphas):
            state["al"][i] = _tensor(alpha)


def cubic_minimum(x1: Any, f1: Any, g1: Any, x2: Any, f2: Any, g2: Any, bounds: Any = None) -> Any:
    """Where the cubic through two values and slopes is least, inside the bounds (default: between
    the points).
    """
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square**0.5
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


def strong_wolfe(
    probe: Callable[[Any], tuple[float, Any]],
    t: Any,
    d: Any,
    f: float,
    g: Any,
    slope: Any,
    max_ls: int,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
) -> tuple[float, Any, Any, int]:
    """A step length with enough decrease and a flat enough slope: (loss, gradient, step,
    evaluations).

    `probe(t)` gives loss and gradient after a step of length t along d. A point is (t, loss,
    gradient, slope).
    """

    def look(t: Any) -> tuple[Any, float, Any, Any]:
        loss, gradient = probe(t)
        return t, loss, gradient, gradient.dot(d)

    extent = np.abs(d).max()
    previous = (0, f, g, slope)
    current = look(t)
    evaluations, iteration = 1, 0
    bracket = None
    done = False
    while iteration < max_ls:
        if current[1] > f + c1 * current[0] * slope or (
            iteration > 1 and current[1] >= previous[1]
        ):
            bracket = [previous, current]
            break
        if abs(current[3]) <= -c2 * slope:
            bracket, done = [current], True
            break
        if current[3] >= 0:
            bracket = [previous, current]
            break
        bounds = (current[0] + 0.01 * (current[0] - previous[0]), current[0] * 10)
        t = cubic_minimum(
            previous[0], previous[1], previous[3], current[0], current[1], current[3], bounds
        )
        previous, current = current, look(t)
        evaluations += 1
        iteration += 1
    if bracket is None:
        bracket = [(0, f, g, slope), current]
    low, high = (0, 1) if bracket[0][1] <= bracket[-1][1] else (1, 0)
    stuck = False
    while not done and iteration < max_ls:
        ends = (bracket[0][0], bracket[1][0])
        if abs(ends[1] - ends[0]) * extent < tolerance_change:
            break
        (a, b) = bracket
        t = cubic_minimum(a[0], a[1], a[3], b[0], b[1], b[3])
        margin = 0.1 * (max(ends) - min(ends))
        if min(max(ends) - t, t - min(ends)) < margin:
            # Too near an end: the second time, or outside, go a tenth of the way in.
            if stuck or t >= max(ends) or t <= min(ends):
                t = (
                    max(ends) - margin
                    if abs(t - max(ends)) < abs(t - min(ends))
                    else min(ends) + margin
                )
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        current = look(t)
        evaluations += 1
        iteration += 1
        if current[1] > f + c1 * current[0] * slope or current[1] >= bracket[low][1]:
            bracket[high] = current
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(current[3]) <= -c2 * slope:
                done = True
            elif current[3] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = current
    best = bracket[low]
    return best[1], best[2], best[0], evaluations
