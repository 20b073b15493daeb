"""Names of PyTorch's `torch._dynamo` that scripts use around `torch.compile`. Each says what it
does here.

>>> import pellucid as torch
>>> def f(x):
...     return torch.sin(x) + 1
>>> print(torch._dynamo.explain(f)(torch.ones(3)).summary())
Graph Count: 1
Graph Break Count: 0
Op Count: 2
Break Reasons:
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..compiler import (
    OptimizedModule,
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    is_compiling,
    list_backends,
    lookup_backend,
    register_backend,
    reset,
    set_stance,
    substitute_in_graph,
)
from ..compiler.function import CompiledFunction
from ..core import tracing
from . import backends, config, eval_frame, exc, utils

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "backends",
    "config",
    "disable",
    "disallow_in_graph",
    "eval_frame",
    "exc",
    "explain",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "reset_code_caches",
    "run",
    "set_stance",
    "substitute_in_graph",
    "utils",
]

disallow_in_graph = disable
reset_code_caches = reset
forbid_in_graph = disable


def optimize(
    backend: Any = "inductor",
    *,
    nopython: bool = False,
    dynamic: bool | None = None,
    disable: bool = False,
    **kept: Any,
) -> Any:
    """The older form of `torch.compile`: a decorator."""
    return compile(backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def optimize_assert(backend: Any = "inductor", **options: Any) -> Any:
    """`optimize` that refuses what cannot be compiled as a whole."""
    return optimize(backend, **{**options, "nopython": True})


def run(fn: Any = None) -> Any:
    """Return the function as it is: a compiled one runs what it traced."""
    return run if fn is None else fn


def graph_break(msg: str = "") -> None:
    """End the program here: the statement stays in Python, and what comes before and after it is
    compiled by itself.
    """
    if (tracer := tracing.tracer()) is not None:
        tracer.refuse(msg or "the step asks for a break of its graph")


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """Do nothing: each shape is a version of its own."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Do nothing: each shape is a version of its own."""


def mark_static(t: Any, index: Any = None) -> None:
    """Do nothing: all sizes are static."""


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Do nothing: parameters stay where they are in any case."""


@dataclass
class ExplainOutput:
    """What `explain(f)(*args)` gives: PyTorch's counts, and this library's explanation in `text`,
    `html` and `save(path)`.
    """

    graph_count: int
    graph_break_count: int
    op_count: int
    break_reasons: list[str]
    explanation: Any

    @property
    def text(self) -> str:
        """The explanation in words."""
        return self.explanation.text

    @property
    def html(self) -> str:
        """The explanation as a page."""
        return self.explanation.html

    def save(self, path: Any) -> None:
        """Write the page, or the text when the name does not end in .html."""
        self.explanation.save(path)

    def summary(self) -> str:
        """The counts in words."""
        counts = f"Graph Count: {self.graph_count}\nGraph Break Count: {self.graph_break_count}\nOp Count: {self.op_count}\nBreak Reasons:"
        return "\n".join([counts, *[f"  {reason}" for reason in self.break_reasons]])

    def __str__(self) -> str:
        return f"{self.summary()}\n\n{self.text}"


def explain(f: Callable[..., Any], *extra_args: Any, **extra_kwargs: Any) -> Any:
    """`explain(f)(*args)`: compile `f`, call it once, and tell how many programs it makes, of how
    many operations, and why it runs eagerly.

    A program that is split at decisions with values counts as one with so many breaks.
    """

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        plain: Any = (
            f._orig_mod
            if isinstance(f, OptimizedModule)
            else f.function
            if isinstance(f, CompiledFunction)
            else f
        )
        compiled = CompiledFunction(plain.__call__ if isinstance(f, OptimizedModule) else plain)
        compiled.silent = True
        compiled(*args, **kwargs)
        ops = [i for version in compiled.versions for i in version.code.run.program.instructions]
        reasons = list(compiled.refused.values()) + [
            f"a decision with a value ({i.site})" for i in ops if i.kind == "decide"
        ]
        graphs = (
            len(compiled.versions)
            if compiled.graph_breaks is None
            else len(compiled.graph_breaks.made)
        )
        return ExplainOutput(
            graphs, len(reasons), sum(i.kind != "decide" for i in ops), reasons, compiled.explain()
        )

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner
