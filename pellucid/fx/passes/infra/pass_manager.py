"""Passes run one after another (`torch.fx.passes.infra.pass_manager`)."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from ....nn import Module
from ..._compatibility import compatibility
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

logger = logging.getLogger(__name__)


@compatibility(is_backward_compatible=False)
def pass_result_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that changes a module in place return a `PassResult`."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped(gm: GraphModule) -> PassResult:
        result = fn(gm)
        if isinstance(result, PassResult):
            return result
        return PassResult(gm if result is None else result, True)

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


@compatibility(is_backward_compatible=False)
def this_before_that_pass_constraint(
    this: Callable[..., Any], that: Callable[..., Any]
) -> Callable[..., bool]:
    """A constraint: of two passes, the first must not stand after the second."""
    return lambda a, b: not (a == that and b == this)


@compatibility(is_backward_compatible=False)
class PassManager:
    """Runs passes on a graph module, in an order that fits all constraints.

    Args:
        passes: functions of a graph module that return a `PassResult`.
        constraints: functions of two passes: whether the first may stand before the second.
        steps: how often to run all of them, at most.
        run_checks_after_each_pass: run the checks after each pass, not only at the end.
        suppress_check_failures: accepted.
    """

    def __init__(
        self,
        passes: list[Callable[..., Any]] | None = None,
        constraints: list[Callable[..., bool]] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes: list[Callable[..., Any]] = passes or []
        self.constraints: list[Callable[..., bool]] = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """Append a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        """Append a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Check that the order of passes fits all constraints.

        Raises:
            RuntimeError: it does not.
        """
        for constraint in self.constraints:
            for at, first in enumerate(self.passes):
                for offset, second in enumerate(self.passes[at + 1 :]):
                    if not constraint(first, second):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {first} before {second} but found {first} at index {at} "
                            f"and {second} at index{at + 1 + offset} in pass list."
                        )
        self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes into an order that fits all constraints.

        Raises:
            RuntimeError: there is none.
        """
        left = list(self.passes)
        ordered: list[Callable[..., Any]] = []
        while left:
            free = next(
                (
                    one
                    for one in left
                    if all(
                        c(one, other)
                        for c in self.constraints
                        for other in left
                        if other is not one
                    )
                ),
                None,
            )
            if free is None:
                raise RuntimeError(
                    f"Circular dependency detected within the following passes: {[p.__name__ for p in left]}"
                )
            left.remove(free)
            ordered.append(free)
        self.passes = ordered
        self._validated = True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Have a function of the module run as a check.

        Raises:
            TypeError: it does not take exactly the argument `module`.
        """
        names = list(inspect.signature(check).parameters)
        if len(names) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Module) -> None:
        """The check; nothing, unless there is one."""

    def __call__(self, module: Module) -> PassResult:
        """Run the passes.

        Raises:
            TypeError: a pass returns something else than a `PassResult`.
            Exception: a pass failed; its error is the cause.
        """
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed_at_all = False
        for _ in range(self.steps):
            changed = False
            for number, one in enumerate(self.passes):
                name = one.__name__ if inspect.isfunction(one) else type(one).__name__
                logger.debug("Running pass '%s'", name)
                try:
                    result = one(module)
                    if not isinstance(result, PassResult):
                        raise TypeError(
                            f"The result of the pass {name} should be type PassResult.Please wrap it with pass_result_wrapper()"
                        )
                except Exception as error:
                    before = [
                        p.__name__ if inspect.isfunction(p) else type(p).__name__
                        for p in self.passes[:number]
                    ]
                    raise Exception(
                        f"An error occurred when running the '{name}' pass after the following passes: {before}"
                    ) from error
                module = result.graph_module
                changed = changed or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            changed_at_all = changed_at_all or changed
            if not changed:
                break
        return PassResult(module, changed_at_all)  # type: ignore[arg-type]
