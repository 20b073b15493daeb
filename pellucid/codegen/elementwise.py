"""Element-wise expressions as one fused loop.

    >>> x, y = variable("x"), variable("y")
    >>> fused = Kernel("swish_mul", [x, y], [x * sigmoid(x) * y])
    >>> out = fused(np.ones((2, 3), np.float32), np.ones(3, np.float32))
    >>> out is None or out.shape == (2, 3)
    True

A kernel takes C-contiguous arrays of float32 (or all float64, for expressions without elementary functions; or bool,
for variables made with `mask`) that broadcast against each other, and Python numbers for variables made with `scalar`.
It returns None where it cannot serve the arguments, and the caller computes with NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from pellucid.codegen import jit, target, threads
from pellucid.codegen import math as functions
from pellucid.codegen.emit import Function, Module, Value, vector

__all__ = ["Expression", "Kernel", "mask", "maximum", "minimum", "scalar", "sqrt", "variable", "where"]

GRAIN = 16384  # elements a chunk: 64 KiB of each array, some microseconds
_F32, _F64, _BOOL = np.dtype(np.float32), np.dtype(np.float64), np.dtype(bool)


class Expression:
    """A node of an expression: an operation's name and its operands, or a variable's kind and name."""

    __slots__ = ("op", "operands")

    def __init__(self, op: str, *operands) -> None:
        self.op = op
        self.operands = operands

    def __add__(self, other):
        return Expression("add", self, other)

    def __radd__(self, other):
        return Expression("add", other, self)

    def __sub__(self, other):
        return Expression("sub", self, other)

    def __rsub__(self, other):
        return Expression("sub", other, self)

    def __mul__(self, other):
        return Expression("mul", self, other)

    def __rmul__(self, other):
        return Expression("mul", other, self)

    def __truediv__(self, other):
        return Expression("div", self, other)

    def __rtruediv__(self, other):
        return Expression("div", other, self)

    def __neg__(self):
        return Expression("neg", self)

    def __abs__(self):
        return Expression("abs", self)

    def __lt__(self, other):
        return Expression("olt", self, other)

    def __le__(self, other):
        return Expression("ole", self, other)

    def __gt__(self, other):
        return Expression("ogt", self, other)

    def __ge__(self, other):
        return Expression("oge", self, other)

    def __and__(self, other):
        return Expression("and", self, other)

    def __or__(self, other):
        return Expression("or", self, other)


def variable(name: str) -> Expression:
    """An array of floats."""
    return Expression("variable", name)


def scalar(name: str) -> Expression:
    """A Python number given with each call."""
    return Expression("scalar", name)


def mask(name: str) -> Expression:
    """An array of booleans, for the condition of `where`."""
    return Expression("mask", name)


def where(condition, yes, no) -> Expression:
    return Expression("where", condition, yes, no)


def maximum(a, b) -> Expression:
    """The larger one; NaN if either is NaN."""
    return Expression("maximum", a, b)


def minimum(a, b) -> Expression:
    """The smaller one; NaN if either is NaN."""
    return Expression("minimum", a, b)


def sqrt(x) -> Expression:
    return Expression("sqrt", x)


def fma(a, b, c) -> Expression:
    """a * b + c, rounded once."""
    return Expression("fma", a, b, c)


def _function(name: str) -> Callable[[Expression], Expression]:
    return lambda x: Expression(name, x)


erf, exp, expm1, log, log1p, sigmoid, tanh = map(_function, ("erf", "exp", "expm1", "log", "log1p", "sigmoid", "tanh"))

_EMIT: dict[str, Callable[..., Value]] = {
    "add": lambda f, a, b: a + b,
    "sub": lambda f, a, b: a - b,
    "mul": lambda f, a, b: a * b,
    "div": lambda f, a, b: a / b,
    "and": lambda f, a, b: a & b,
    "or": lambda f, a, b: a | b,
    "neg": lambda f, a: -a,
    "abs": lambda f, a: f.fabs(a),
    "sqrt": lambda f, a: f.sqrt(a),
    "fma": lambda f, a, b, c: f.fma(a, b, c),
    "where": lambda f, c, a, b: f.select(c, a, b),
    "maximum": lambda f, a, b: f.select(a.compare("ogt", b) | a.compare("uno", a), a, b),
    "minimum": lambda f, a, b: f.select(a.compare("olt", b) | a.compare("uno", a), a, b),
    **{name: (lambda f, a, b, name=name: a.compare(name, b)) for name in ("olt", "ole", "ogt", "oge")},
    **functions.FUNCTIONS,
}


def evaluate(f: Function, ctype: str, roots: Sequence[Expression], given: dict[Expression, Value]) -> list[Value]:
    """Emit the expressions; what occurs twice is computed once. `given` holds the variables' values."""
    done = dict(given)

    def value(node: Expression | float) -> Value:
        if not isinstance(node, Expression):
            return f.const(node, ctype)
        if node not in done:
            done[node] = _EMIT[node.op](f, *map(value, node.operands))
        return done[node]

    return [value(root) for root in roots]


def _uses(roots: Sequence[Expression], names: set[str]) -> bool:
    stack, seen = list(roots), set()
    while stack:
        node = stack.pop()
        if isinstance(node, Expression) and node not in seen:
            if node.op in names:
                return True
            seen.add(node)
            stack.extend(node.operands)
    return False


class Kernel:
    """`outputs` as functions of `inputs`, compiled once per pattern of broadcasting and dtype."""

    def __init__(self, name: str, inputs: Sequence[Expression], outputs: Sequence[Expression]) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.double = not _uses(self.outputs, set(functions.FUNCTIONS))
        self._arrays = tuple(i for i, v in enumerate(self.inputs) if v.op != "scalar")
        self._numbers = tuple(i for i, v in enumerate(self.inputs) if v.op == "scalar")
        self._first = next(k for k, i in enumerate(self._arrays) if self.inputs[i].op == "variable")
        self._flat: dict[np.dtype, Callable | None] = {}
        self._patterns: dict[tuple, Callable | None] = {}

    def __call__(self, *values, out: np.ndarray | None = None):
        """The output array, or a tuple of them; None when the arguments are not served.

        `out` (for one output) is C-contiguous, of the result's shape and dtype; it may be one of the inputs.
        """
        arrays = [values[i] for i in self._arrays]
        first = arrays[self._first]
        dtype, shape = first.dtype, first.shape
        if dtype is not _F32 and (dtype is not _F64 or not self.double):
            return None
        plain = True
        for i, array in zip(self._arrays, arrays):
            if array.dtype is not (_BOOL if self.inputs[i].op == "mask" else dtype) or not array.flags.c_contiguous:
                return None
            if array.shape != shape:
                plain = False
        if not plain:
            return self._broadcast(arrays, values, out)
        kernel = self._flat.get(dtype, self)
        if kernel is self:
            kernel = self._flat[dtype] = self._compile(dtype, None)
        if kernel is None:
            return None
        results = self._results(shape, dtype, out)
        if results is None:
            return None
        n = first.size
        kernel(threads.team(), *arrays, *results, *[values[i] for i in self._numbers], n, GRAIN)
        return results[0] if len(results) == 1 else results

    def _results(self, shape, dtype, out):
        if out is None:
            return tuple([np.empty(shape, dtype) for _ in self.outputs])
        if out.shape != shape or out.dtype is not dtype or not out.flags.c_contiguous or len(self.outputs) > 1:
            return None
        return (out,)

    def _broadcast(self, arrays: list[np.ndarray], values, out):
        dtype = arrays[self._first].dtype
        try:
            shape = np.broadcast_shapes(*[a.shape for a in arrays])
        except ValueError:
            return None  # the caller's error message is better
        layout = split(shape, [a.shape for a in arrays])
        if layout is None:
            return None
        rows, columns, kinds, periods = layout
        key = (dtype, kinds)
        if key not in self._patterns:
            self._patterns[key] = self._compile(dtype, kinds)
        kernel = self._patterns[key]
        results = self._results(shape, dtype, out)
        if kernel is None or results is None:
            return None
        grain = max(1, GRAIN // max(1, columns))
        numbers = [values[i] for i in self._numbers]
        kernel(threads.team(), *arrays, *results, *numbers, *periods, columns, rows if columns else 0, grain)
        return results[0] if len(results) == 1 else results

    def _compile(self, dtype: np.dtype, kinds: tuple[str, ...] | None) -> Callable | None:
        if not target.available():
            return None
        ctype = "float" if dtype is _F32 else "double"
        width = target.host().lanes(ctype)
        names = [f"a{i}" for i in range(len(self._arrays))]
        outs = [f"o{i}" for i in range(len(self.outputs))]
        numbers = [f"s{i}" for i in range(len(self._numbers))]
        params = dict.fromkeys((*names, *outs), "ptr") | dict.fromkeys(numbers, "double")
        if kinds is not None:
            params |= {f"p{i}": "i64" for i in range(len(names))} | {"columns": "i64"}
        module = Module()
        f = threads.parallel_export(module, "kernel", params)
        kind = vector(ctype, width)
        given = {}
        for name, i in zip(numbers, self._numbers):
            given[self.inputs[i]] = f.splat(f.trunc(getattr(f, name), ctype), kind)
        if kinds is None:
            bases = {
                name: (f.at(getattr(f, name), f.begin, self._ctype(k, ctype)), "full") for k, name in enumerate(names)
            }
            self._loop(
                f, kind, width, bases, [f.at(getattr(f, o), f.begin, ctype) for o in outs], given, f.end - f.begin
            )
        else:
            with f.loop(f.begin, f.end) as row:
                start = row * f.columns
                bases = {}
                for k, (name, how) in enumerate(zip(names, kinds)):
                    pointer, own = getattr(f, name), self._ctype(k, ctype)
                    if how == "full":
                        pointer = f.at(pointer, start, own)
                    elif how == "column":
                        pointer = f.at(pointer, row % getattr(f, f"p{k}"), own)
                    bases[name] = (pointer, how)
                self._loop(f, kind, width, bases, [f.at(getattr(f, o), start, ctype) for o in outs], given, f.columns)
        f.ret()
        letters = "p" + "a" * (len(names) + len(outs)) + "d" * len(numbers)
        letters += "ii" if kinds is None else "i" * (len(names) + 3)
        natives = jit.compile_ir(module.text(), {"kernel": letters}, self.name)
        return natives and natives["kernel"]

    def _ctype(self, position: int, ctype: str) -> str:
        return "i8" if self.inputs[self._arrays[position]].op == "mask" else ctype

    def _loop(
        self, f: Function, kind: str, width: int, bases: dict, outs: list[Value], given: dict, count: Value
    ) -> None:
        ctype = "float" if kind.endswith("float>") else "double"
        fixed = dict(given)
        moving = []
        for k, (pointer, how) in enumerate(bases.values()):
            node, own = self.inputs[self._arrays[k]], self._ctype(k, ctype)
            if how in ("column", "one"):
                value = f.splat(f.load(own, pointer), vector(own, width))
                fixed[node] = value.compare("ne", 0) if own == "i8" else value
            else:
                moving.append((node, pointer, vector(own, width)))

        def body(i: Value, tail: Value | None) -> None:
            current = dict(fixed)
            for node, pointer, own in moving:
                value = f.load(own, pointer, i, mask=tail)
                current[node] = value.compare("ne", 0) if node.op == "mask" else value
            for result, pointer in zip(evaluate(f, kind, self.outputs, current), outs):
                f.store(result, pointer, i, mask=tail)

        f.vector_loop(count, width, body, unroll=2)


def split(shape: tuple[int, ...], shapes: Sequence[tuple[int, ...]]):
    """How operands of `shapes` broadcast to `shape` as (rows, columns): each `full`, a `row`, a `column` or `one` element.

    Returns rows, columns, the kinds and, for columns, the period after which they repeat (a channel's value in NCHW
    arrays repeats with every image); None where a pattern is another one.

    >>> split((2, 3, 4), [(2, 3, 4), (4,), (3, 1), ()])
    (6, 4, ('full', 'row', 'column', 'one'), [1, 1, 3, 1])
    """
    ndim = len(shape)
    padded = [(1,) * (ndim - len(s)) + tuple(s) for s in shapes]
    for cut in range(ndim - 1, -1, -1):
        kinds, periods = [], []
        for own in padded:
            kind, period = _kind(own, shape, cut)
            if kind is None:
                break
            kinds.append(kind)
            periods.append(period)
        else:
            rows = int(np.prod(shape[:cut], dtype=np.int64))
            return rows, int(np.prod(shape[cut:], dtype=np.int64)), tuple(kinds), periods
    return None


def _kind(own: tuple[int, ...], shape: tuple[int, ...], cut: int) -> tuple[str | None, int]:
    if own == shape:
        return "full", 1
    outer, inner = own[:cut], own[cut:]
    if all(n == 1 for n in own):
        return "one", 1
    if all(n == 1 for n in outer) and inner == shape[cut:]:
        return "row", 1
    if all(n == 1 for n in inner):
        # Leading ones and then the full extents: the values repeat after their number.
        stripped = tuple(itertools.dropwhile(lambda n: n == 1, outer))
        if stripped == shape[cut - len(stripped) : cut]:
            return "column", int(np.prod(stripped, dtype=np.int64))
    return None, 1
