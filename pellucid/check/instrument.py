"""The user's source with a few calls made through us: those that convert numbers where no function mode can see it.

`labels.astype("uint8")` is NumPy's, and `torch.LongTensor(labels)` and `Bernoulli(logits=x)` are types that are
called: none is a call of PyTorch's interface. In the code that a check runs they become `__pellucid_call__(labels.astype, "uint8")`, at the
same place of the same file.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import CodeType
from typing import Any

LEGACY = frozenset("ByteTensor CharTensor ShortTensor IntTensor LongTensor HalfTensor FloatTensor DoubleTensor".split())
"""PyTorch's old names for tensors of one type."""

DISTRIBUTIONS = frozenset(
    "Bernoulli Binomial Categorical ContinuousBernoulli Geometric LogitRelaxedBernoulli Multinomial NegativeBinomial OneHotCategorical "
    "OneHotCategoricalStraightThrough RelaxedBernoulli RelaxedOneHotCategorical".split()
)
"""Distributions over probabilities or logits."""

MAKERS = frozenset({"sample", "Parameter"})
"""What draws from a distribution, and what makes a leaf of a tensor."""

WATCHED = frozenset("hash default_rng RandomState Random".split())
"""Functions that are told when they are called: what they give differs from run to run."""

_ARRAYS = frozenset("array asarray fromiter full full_like".split())
_NAME = "__pellucid_call__"

listener: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None
"""What makes the calls while a program is watched; else they are made as they are written."""


def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make a call, in the sight of who listens."""
    if listener is None:
        return function(*args, **kwargs)
    return listener(function, args, kwargs)


class _Calls(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.Call:  # noqa: N802 (the name that NodeTransformer looks for)
        self.generic_visit(node)
        function = node.func
        keywords = {k.arg for k in node.keywords}
        name = function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
        distribution = name in DISTRIBUTIONS or name in MAKERS or bool(keywords & {"logits", "probs"}) and name != "super"
        written = isinstance(function, ast.Attribute) and (
            name in ("astype", "reshape") or name in LEGACY or name in _ARRAYS and "dtype" in keywords
        )
        if not distribution and not written and name not in WATCHED:
            return node
        return self._through(node)

    def _through(self, node: ast.Call) -> ast.Call:
        return ast.copy_location(
            ast.Call(ast.copy_location(ast.Name(_NAME, ast.Load()), node), [node.func, *node.args], node.keywords), node
        )


def compiled(source: Any, filename: str) -> CodeType:
    """The code of a module, as `compile` gives it, with these calls in it."""
    tree = ast.parse(source, filename)
    setattr(builtins, _NAME, call)
    return compile(_Calls().visit(tree), filename, "exec", dont_inherit=True)


def loading(is_library: Callable[[str], bool]) -> Callable[[Any], Any]:
    """Makes the `get_code` that loaders of source files have while a program is watched: the user's modules are compiled as above."""

    def make(old: Any) -> Any:
        def get_code(self: Any, fullname: str) -> CodeType | None:
            path = self.get_filename(fullname)
            if is_library(path):
                return old(self, fullname)
            return compiled(self.get_data(path), path)

        return get_code

    return make
