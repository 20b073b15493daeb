"""The user's source with a few calls and writes made through us: those that change or convert
numbers where no function mode can see it.

`labels.astype("uint8")` is NumPy's, and `torch.LongTensor(labels)` and `Bernoulli(logits=x)` are
types that are called: none is a call of PyTorch's interface. In the code that a check runs they
become `__pellucid_call__(labels.astype, "uint8")`, at the same place of the same file;
`rows[i] = x` becomes `rows[i] = __pellucid_write__(rows, x, False)`, which tells of the write when
`rows` is an array.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from types import CodeType
from typing import Any

from numpy import ndarray

LEGACY = frozenset(
    "ByteTensor CharTensor ShortTensor IntTensor LongTensor HalfTensor FloatTensor DoubleTensor".split()
)
"""PyTorch's old names for tensors of one type."""

LISTED = "Tensor"
"""The old name for one of the default type: followed where it is given a list with tensors."""

DISTRIBUTIONS = frozenset(
    "Bernoulli Binomial Categorical ContinuousBernoulli Geometric LogitRelaxedBernoulli Multinomial NegativeBinomial OneHotCategorical "
    "OneHotCategoricalStraightThrough RelaxedBernoulli RelaxedOneHotCategorical".split()
)
"""Distributions over probabilities or logits."""

MAKERS = frozenset({"sample", "Parameter"})
"""What draws from a distribution, and what makes a leaf of a tensor."""

TOLD = frozenset("log_prob entropy kl_divergence".split())
"""What is computed of distributions: told as an operation besides those that it is made of."""

COMPOSITES = frozenset({"pad_sequence"})
"""Functions of the library's that are told as one operation."""

WATCHED = frozenset(
    "hash default_rng RandomState Random clip_grad_norm_ clip_grad_value_ unscale_ manual_seed unique factorize fit_transform".split()
)
"""Functions that are told when they are called: those that give something else in every run, those
whose order matters, and those that number categories or measure statistics.
"""

_ARRAYS = frozenset("array asarray fromiter full full_like".split())
_KINDS = frozenset(
    "uint8 int8 int16 int32 int64 uint16 uint32 uint64 intp int_ float16 half".split()
)
JOINED = frozenset("concatenate vstack hstack append repeat tile resize row_stack".split())
"""Functions of NumPy that put rows together or repeat them."""
CLIPS = frozenset({"clip"})
"""Functions of NumPy that limit numbers to a range."""
OVERWRITE = frozenset("sort fill shuffle put copyto partition".split())
"""Methods and functions that write into an array."""
_NUMPY = ("np", "numpy")
_NAME = "__pellucid_call__"
_WRITE = "__pellucid_write__"
_BINARY = "__pellucid_binary__"
_REACHED = "__pellucid_reached__"
_BLOCK = "__pellucid_block__"
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_WRITTEN: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}

listener: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None
"""What makes the calls while a program is watched; else they are made as they are written."""

writes: Callable[[Any, Any, bool], None] | None = None
"""What is told of writes into arrays while a program is watched."""

blocks: Callable[[], None] | None = None
"""What is told when a block of the program runs for the first time."""

reached: list[bool] = []
"""Of each block whether it has run."""

results: Callable[[str, Any, Any, Any], None] | None = None
"""What is told of sums, differences and products in short whole numbers of NumPy's."""


def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make a call, in the sight of who listens."""
    if listener is None:
        return function(*args, **kwargs)
    return listener(function, args, kwargs)


def write(target: Any, value: Any, inplace: bool = False) -> Any:
    """The value that is about to be written into `target[...]`, or added to `target` in place, in
    the sight of who listens.
    """
    if writes is not None and type(target) is ndarray:
        writes(target, value, inplace)
    return value


def binary(sign: str, left: Any, right: Any) -> Any:
    """`left + right`, `-` or `*`, in the sight of who listens when short whole numbers of NumPy's
    come out.
    """
    result = _SIGNS[sign](left, right)
    if (
        type(result) is ndarray
        and result.itemsize <= 2
        and results is not None
        and result.dtype.kind in "iu"
    ):
        results(sign, left, right, result)
    return result


def block(number: int) -> None:
    """A block runs for the first time."""
    reached[number] = True
    if blocks is not None:
        blocks()


class _Calls(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        self.generic_visit(node)
        sign = _WRITTEN.get(type(node.op))
        if sign is None or any(
            isinstance(n, (ast.Constant, ast.JoinedStr)) and not _is_number(n)
            for n in (node.left, node.right)
        ):
            return node
        parts: list[ast.expr] = [
            ast.copy_location(n, node) for n in (ast.Name(_BINARY, ast.Load()), ast.Constant(sign))
        ]
        return ast.copy_location(ast.Call(parts[0], [parts[1], node.left, node.right], []), node)

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:  # noqa: N802
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _plain(target.value):
                node.value = _told(target.value, node.value, False)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:  # noqa: N802
        self.generic_visit(node)
        target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        if _plain(target):
            node.value = _told(target, node.value, True)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:  # noqa: N802 (the name that NodeTransformer looks for)
        self.generic_visit(node)
        function = node.func
        keywords = {k.arg for k in node.keywords}
        name = (
            function.attr
            if isinstance(function, ast.Attribute)
            else function.id
            if isinstance(function, ast.Name)
            else ""
        )
        distribution = (
            name in DISTRIBUTIONS
            or name in MAKERS
            or name in COMPOSITES
            or name in TOLD
            or bool(keywords & {"logits", "probs"})
            and name != "super"
        )
        owner = function.value if isinstance(function, ast.Attribute) else None
        of_numpy = isinstance(owner, ast.Name) and owner.id in _NUMPY
        written = owner is not None and (
            name in ("astype", "reshape", "shuffle")
            or name in LEGACY
            or name == LISTED
            and len(node.args) == 1
            or name in _ARRAYS
            and ("dtype" in keywords or len(node.args) > 1)
            or of_numpy
            and name in (_KINDS | JOINED | OVERWRITE | CLIPS)
            or name in CLIPS
            or name in OVERWRITE
            and _plain(owner)
            or "out" in keywords
            and of_numpy
        )
        if name == "int" and owner is None and len(node.args) == 1 and not keywords:
            written = not isinstance(node.args[0], ast.Constant)
        if not distribution and not written and name not in WATCHED:
            return node
        return self._through(node)

    def _through(self, node: ast.Call) -> ast.Call:
        return ast.copy_location(
            ast.Call(
                ast.copy_location(ast.Name(_NAME, ast.Load()), node),
                [node.func, *node.args],
                node.keywords,
            ),
            node,
        )


def _plain(node: ast.expr) -> bool:
    """Whether an expression is a name, or an attribute of one: it may be looked up twice."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _told(target: ast.expr, value: ast.expr, inplace: bool) -> ast.Call:
    """`write(target, value, inplace)`, at the place of the value."""
    looked_up: Any = ast.parse(ast.unparse(target), mode="eval").body
    parts = [
        ast.copy_location(n, value) for n in (ast.Name(_WRITE, ast.Load()), ast.Constant(inplace))
    ]
    for n in ast.walk(looked_up):
        ast.copy_location(n, value)
    return ast.copy_location(ast.Call(parts[0], [looked_up, value, parts[1]], []), value)


def compiled(source: Any, filename: str) -> CodeType:
    """The code of a module, as `compile` gives it, with these calls in it."""
    tree = ast.parse(source, filename)
    setattr(builtins, _NAME, call)
    setattr(builtins, _WRITE, write)
    setattr(builtins, _BINARY, binary)
    setattr(builtins, _REACHED, reached)
    setattr(builtins, _BLOCK, block)
    tree = _Calls().visit(tree)
    _mark_blocks(tree)
    return compile(tree, filename, "exec", dont_inherit=True)


def _mark_blocks(tree: ast.AST) -> None:
    """Put in front of each block that may not run, or not yet, what tells of its first run:
    `__pellucid_reached__[17] or __pellucid_block__(17)`.
    """
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While, ast.If)):
            _mark(node.body)
            if node.orelse and not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
                _mark(node.orelse)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _mark(node.body)
        elif isinstance(node, (ast.ExceptHandler, ast.match_case)):
            _mark(node.body)
        for part in ("body", "orelse", "finalbody"):
            held = getattr(node, part, None)
            if isinstance(held, list):
                after = [k for k, s in enumerate(held) if isinstance(s, (ast.For, ast.While))]
                for k in reversed(after):
                    if k + 1 < len(held):
                        held.insert(k + 1, _marker(held[k + 1]))


def _mark(body: list[ast.stmt]) -> None:
    first = body[0]
    documented = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    place = 1 if documented else 0
    if place < len(body):
        body.insert(place, _marker(body[place]))


def _marker(at: ast.stmt) -> ast.Expr:
    number = len(reached)
    reached.append(False)
    found: Any = ast.parse(f"{_REACHED}[{number}] or {_BLOCK}({number})").body[0]
    for node in ast.walk(found):
        ast.copy_location(node, at)
    return found


def loading(is_library: Callable[[str], bool]) -> Callable[[Any], Any]:
    """Makes the `get_code` that loaders of source files have while a program is watched: the user's
    modules are compiled as above.
    """

    def make(old: Any) -> Any:
        def get_code(self: Any, fullname: str) -> CodeType | None:
            path = self.get_filename(fullname)
            if is_library(path):
                return old(self, fullname)
            return compiled(self.get_data(path), path)

        return get_code

    return make
