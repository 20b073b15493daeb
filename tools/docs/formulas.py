"""What an operation computes and what its gradient is, as formulas, read from its record: the rules
are called with symbols.
"""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

from pellucid.core.primitive import Primitive
from pellucid.core.primitive import parameters as words_of
from pellucid.debug.pictures import scalar_program
from pellucid.debug.pictures.stepping import rule_text

OPERATORS = {
    "add": ("+", 4),
    "subtract": ("-", 4),
    "multiply": ("*", 5),
    "true_divide": ("/", 5),
    "pow": ("**", 7),
    "less": ("<", 2),
    "less_equal": ("<=", 2),
    "greater": (">", 2),
    "greater_equal": (">=", 2),
    "equal": ("==", 2),
    "not_equal": ("!=", 2),
    "bitwise_and": ("&", 3),
    "bitwise_or": ("|", 3),
}
LONGEST = 130


def _infix(lines: list[str], result: str) -> str | None:
    """Assignments as one expression; None when it would be too long to be read."""
    made: dict[str, tuple[str, int]] = {}
    for line in lines:
        name, _, word, *operands = line.split(" ")
        parts = [made.get(o, (o, 9 if not o.startswith("-") else 6)) for o in operands]
        if word in OPERATORS and len(parts) == 2:
            sign, level = OPERATORS[word]
            left, right = (
                text if own > level or (own == level and k == 0 and sign != "**") else f"({text})"
                for k, (text, own) in enumerate(parts)
            )
            made[name] = f"{left} {sign} {right}", level
        elif word == "negative":
            made[name] = f"-{parts[0][0] if parts[0][1] > 6 else '(' + parts[0][0] + ')'}", 6
        elif word == "square":
            made[name] = f"{parts[0][0] if parts[0][1] > 7 else '(' + parts[0][0] + ')'} ** 2", 7
        elif word == "absolute":
            made[name] = f"|{parts[0][0]}|", 9
        else:
            made[name] = f"{word}({', '.join(text for text, _ in parts)})", 9
        if len(made[name][0]) > LONGEST:
            return None
    return re.sub(r"(?<![\w.])(\d+)\.0(?!\d)", r"\1", made.get(result, (result, 9))[0])


def forward(op: Primitive) -> str | None:
    """The result of an element-wise operation as an expression of its arguments."""
    if not op.elementwise:
        return None
    m: Any = scalar_program._Words()
    numbers = op.formula.numbers if op.formula is not None else ()
    try:
        made = scalar_program._forward(
            m, op, *map(m.named, op.args), **{n: m.named(n) for n in numbers}
        )
    except (TypeError, AttributeError, ValueError, NotImplementedError):
        return None
    return None if isinstance(made, tuple) else _infix(m.lines, str(made))


def gradients(op: Primitive) -> dict[str, str]:
    """What each argument is sent by backward, `g` being the gradient of the result; of rules that
    are one expression.
    """
    if not isinstance(op.vjp, dict):
        return {}
    found = {}
    for k, argument in enumerate(op.args):
        if argument not in op.vjp:
            continue
        text = rule_text(op, k)
        if text is None or "conj" in text:
            text = _called(op, op.vjp[argument]) or text
        if text and len(text) < LONGEST:
            found[argument] = re.sub(r"\bF\.(?!\w+\(\w*=)", "", text)
    return found


def _called(op: Primitive, rule: Any) -> str | None:
    """A rule as an expression, by calling it with symbols."""
    m: Any = scalar_program._Words()
    given = {word: m.named(word) for word in (*op.args, "g", "out")} | {"F": m}
    numbers = {n: m.named(n) for n in (op.formula.numbers if op.formula is not None else ())}
    try:
        made = rule(
            **{word: (given | numbers | {"params": numbers})[word] for word in words_of(rule)}
        )
    except (TypeError, AttributeError, ValueError, KeyError, NotImplementedError):
        return None
    return _infix(m.lines, str(made)) if not isinstance(made, tuple) else None


# ---- modules ---------------------------------------------------------------------------------
SIZES = (7, 11, 13, 17, 19)  # sizes that tell themselves apart in a product


def parameters(cls: type) -> list[tuple[str, str]]:
    """Names and shapes of a module's parameters and buffers, in the words of its arguments:
    `weight`, `(out_features, in_features)`.

    One is made with sizes that are different primes, so that each number in a shape says where it
    comes from.
    """
    try:
        wanted = [
            p
            for p in inspect.signature(cls).parameters.values()
            if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        ]
    except (TypeError, ValueError):
        return []
    if len(wanted) > len(SIZES) or any("int" not in str(p.annotation) for p in wanted):
        return []
    given = {p.name: size for p, size in zip(wanted, SIZES, strict=False)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = cls(**given)
            tensors = [*made.named_parameters(), *made.named_buffers()]
            return [(name, _shape(tuple(t.shape), given)) for name, t in tensors if "." not in name]
    except Exception:  # what cannot be made of sizes alone has no list
        return []


def _shape(shape: tuple[int, ...], given: dict[str, int]) -> str:
    words = []
    for n in shape:
        name = next((name for name, size in given.items() if n == size), None)
        times = next(
            ((n // size, name) for name, size in given.items() if n and n % size == 0), None
        )
        words.append(name or (f"{times[0]} * {times[1]}" if times else str(n)))
    return f"({', '.join(words)}{',' * (len(words) == 1)})"
