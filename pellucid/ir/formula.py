"""Pointwise arithmetic, written once: an element of a result as a function of elements of the
operands.

A formula is a pure Python function `f(m, x, y, *, slope)`. `m` provides the functions beyond
operators, called words; positional arguments are values (an array, a vector register, a symbol);
keyword-only arguments are numbers. Each backend passes its own `m`: for NumPy it is the array
namespace, for native code it emits instructions (`kernels.pointwise`), and `Symbols` in this module
records the formula.

    >>> leaky = Formula(lambda m, x, *, slope: m.where(x > 0, x, x * slope))
    >>> print(leaky.text())
    %0 = greater x 0
    %1 = multiply x slope
    %2 = where %0 x %1
    return %2

Nothing in a formula names a dtype. Operands come in one dtype; a Python number takes the dtype of
what it meets. Formulas of two-byte floats are computed in float32 and rounded once, at the end.
Words mean what the function of the same name means in NumPy; of integers `isnan` is false and
rounding does nothing. The name of an operation that has a formula itself is a word, too, except for
NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["FORMULAS", "Formula", "Placeholder", "Symbols", "chosen", "decayed", "nearer", "word"]


class Formula(NamedTuple):
    """What an operation computes for each element.

    Attributes:
        function: `function(m, *values, **numbers)`; returns the result, or a tuple of results.
        kinds: the dtypes of the result that it supports, as letters: f (float32 and float64), h
            (two-byte floats), i (integers), b (bool).
        args: how arguments are converted: "same" (all to the result's dtype), "compare" (they are
            promoted with each other, the result is bool), "own" (not at all, the result is bool)
            or "power" (the second is an exponent, and may be a number).
        masks: positions of arguments that are bool.
        rounds_each: whether two-byte floats are rounded after each operation instead of at the end.
        wide_numbers: whether numbers beside two-byte floats are float32.
        names: the names of the values and of the numbers, if the function's signature does not have
            them.
    """

    function: Callable[..., Any]
    kinds: str = "fh"
    args: str = "same"
    masks: tuple[int, ...] = ()
    rounds_each: bool = False
    wide_numbers: bool = False
    names: tuple[tuple[str, ...], tuple[str, ...]] | None = None

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the values."""
        if self.names is not None:
            return self.names[0]
        code = self.function.__code__
        return code.co_varnames[1 : code.co_argcount]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the numbers."""
        if self.names is not None:
            return self.names[1]
        code = self.function.__code__
        return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]

    def text(self) -> str:
        """Return the formula as a list of assignments, which also identifies it."""
        m = Symbols()
        made = self.function(
            m, *map(m.named, self.values), **{name: m.named(name) for name in self.numbers}
        )
        results = made if isinstance(made, tuple) else (made,)
        return "\n".join([*m.lines, f"return {' '.join(map(str, results))}"])

    def words(self) -> frozenset[str]:
        """Return the words that it uses when each number is 1."""
        return _words(self)

    def decides(self) -> bool:
        """Return whether its Python code branches on its values or numbers, so that its text holds
        for some of them only.

        >>> Formula(lambda m, x, *, p: x * p if p != 1 else x).decides(), Formula(lambda m, x, *, p: x * p).decides()
        (True, False)
        """
        return _decides(self)


@functools.cache
def _words(formula: Formula) -> frozenset[str]:
    m = Symbols()
    formula.function(m, *map(m.named, formula.values), **dict.fromkeys(formula.numbers, 1))
    return frozenset(m.words)


@functools.cache
def _decides(formula: Formula) -> bool:
    m = Symbols(_Undecided)
    try:
        formula.function(
            m, *map(m.named, formula.values), **{name: m.named(name) for name in formula.numbers}
        )
    except _Decision:
        return True
    return False


# The formula of each operation that has one, by the operation's name; `core.primitive.defop` fills
# it. Native code and the compiler's passes look up here what an operation in a program computes.
FORMULAS: dict[str, Formula] = {}

# words that cost as much as about ten arithmetic operations or more
ELEMENTARY = frozenset(
    "exp exp2 expm1 log log2 log10 log1p erf erfc erfinv sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh arctan2 "
    "hypot lgamma digamma trigamma sigmoid pow logaddexp xlogy xlog1py fmod remainder floor_divide gelu gelu_slope".split()
)

# those of them that native code supports in double precision, too
DOUBLE = frozenset(
    "exp expm1 log log1p tanh sigmoid erf erfinv lgamma digamma trigamma sin cos tan hypot logaddexp xlogy xlog1py gelu_slope fmod remainder "
    "floor_divide".split()
)

# Words by their use: (kinds, args, number of arguments).
_WORDS = {
    ("fhib", "same", 2): "add multiply maximum minimum fmax fmin",
    ("fhi", "same", 2): "subtract trunc_divide heaviside",
    ("fh", "same", 2): "true_divide copysign hypot arctan2 xlogy xlog1py logaddexp",
    ("fi", "same", 2): "floor_divide remainder fmod",
    ("ib", "same", 2): "bitwise_and bitwise_or bitwise_xor",
    ("i", "same", 2): "left_shift right_shift",
    ("fhi", "power", 2): "pow",
    ("fhib", "compare", 2): "equal not_equal less less_equal greater greater_equal",
    ("fhib", "own", 2): "logical_and logical_or logical_xor",
    ("fhib", "own", 1): "logical_not isnan isinf isfinite signbit",
    ("fhib", "same", 1): "absolute real_sign complex_sign",
    ("fhi", "same", 1): "negative square floor ceil trunc round_half_even",
    ("fh", "same", 1): (
        "sqrt reciprocal frac exp exp2 expm1 log log2 log10 log1p erf erfc sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh "
        "arccosh arctanh erfinv lgamma digamma trigamma"
    ),
    ("ib", "same", 1): "invert",
    ("fhib", "same", 3): "where",
}
_OF_WORD = {name: about for about, names in _WORDS.items() for name in names.split()}
_LETTERS = ("x", "y", "z")


@functools.cache
def word(name: str) -> Formula | None:
    """Return the formula that consists of one word; None if there is no such word.

    >>> print(word("hypot").text())
    %0 = hypot x y
    return %0
    """
    if name not in _OF_WORD:
        return None
    kinds, args, count = _OF_WORD[name]

    def function(m: Any, *values: Any) -> Any:
        return getattr(m, name)(*values)

    masks = (0,) if name == "where" else ()
    return Formula(
        function, kinds, args, masks, name in ("pow", "trunc_divide"), names=(_LETTERS[:count], ())
    )


class Symbols:
    """The `m` that records a formula: each word becomes a line, and equal lines are recorded once."""

    def __init__(self, kind: type[Placeholder] | None = None) -> None:
        self.kind = kind or Placeholder
        self.lines: list[str] = []
        self.words: set[str] = set()
        self._known: dict[str, Placeholder] = {}

    def named(self, name: str) -> Placeholder:
        """Return the symbol of an argument."""
        return self.kind(self, name)

    def put(self, name: str, *operands: Any) -> Placeholder:
        """Record a word with its operands, and return the symbol of its result."""
        self.words.add(name)
        text = " ".join((name, *map(str, operands)))
        if text not in self._known:
            self._known[text] = self.kind(self, f"%{len(self.lines)}")
            self.lines.append(f"{self._known[text]} = {text}")
        return self._known[text]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        formula = FORMULAS.get(name)
        if formula is None or name in _OF_WORD or name in ELEMENTARY:
            return functools.partial(self.put, name)
        return functools.partial(formula.function, self)


class Placeholder:
    """A symbol that stands for a value while a formula is recorded."""

    __slots__ = ("m", "name")

    def __init__(self, m: Symbols, name: str) -> None:
        self.m, self.name = m, name

    def __str__(self) -> str:
        return self.name


class _Decision(TypeError):
    """A formula's Python code has asked for the value of a symbol."""


class _Undecided(Placeholder):
    """A symbol that raises `_Decision` when Python asks for its truth or compares it."""

    __slots__ = ()

    def __bool__(self) -> bool:
        raise _Decision("a formula that asks for a value")

    def __eq__(self, other: object) -> bool:
        raise _Decision("a formula that compares in Python")

    __hash__ = object.__hash__


def _operator(name: str) -> tuple[Callable[..., Placeholder], Callable[..., Placeholder]]:
    return lambda self, *other: self.m.put(name, self, *other), lambda self, other: self.m.put(
        name, other, self
    )


for _dunder, _name in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("truediv", "true_divide"),
    ("and", "bitwise_and"),
    ("or", "bitwise_or"),
    ("xor", "bitwise_xor"),
):
    _ahead, _behind = _operator(_name)
    setattr(Placeholder, f"__{_dunder}__", _ahead)
    setattr(Placeholder, f"__r{_dunder}__", _behind)
for _dunder, _name in (
    ("neg", "negative"),
    ("abs", "absolute"),
    ("invert", "invert"),
    ("lt", "less"),
    ("le", "less_equal"),
    ("gt", "greater"),
    ("ge", "greater_equal"),
):
    setattr(Placeholder, f"__{_dunder}__", _operator(_name)[0])


# ---- shared by optimizers' updates of parameters ----
def chosen(m: Any, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """Return `yes()` or `no()` depending on `condition`; if the condition is a Python or NumPy
    bool, the other one is not computed.

    >>> chosen(None, 1 < 2, lambda: "yes", lambda: 1 / 0)
    'yes'
    """
    if isinstance(condition, (bool, np.bool_)):
        return yes() if condition else no()
    return m.where(condition, yes(), no())


def decayed(m: Any, param: Any, grad: Any, decay: Any) -> Any:
    """Return grad + decay * param. Without decay the result is `grad`, even if a parameter is
    infinite.
    """
    return chosen(m, m.differs(decay, 0.0), lambda: m.fma(param, decay, grad), lambda: grad)


def nearer(m: Any, start: Any, end: Any, weight: Any) -> Any:
    """Interpolate from start to end, computed from the nearer of the two, so that the weight 1
    gives exactly `end`.
    """
    way = end - start
    return chosen(
        m, weight < 0.5, lambda: m.fma(way, weight, start), lambda: m.fma(-way, 1.0 - weight, end)
    )
