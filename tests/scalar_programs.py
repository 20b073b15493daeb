"""Random straight-line programs that run on Values and on tensors without dimensions alike: what
tests of `scalar` compare.
"""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

# Every operation of a Value; arguments are kept where derivatives exist and stay moderate.
OPERATIONS = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div": lambda a, b, c: a / (b * b + 0.5),
    "pow": lambda a, b, c: (abs(a) + 0.5) ** b.tanh(),
    "number on the right": lambda a, b, c: (a + c) * c - c / 3 - a / (abs(c) + 1),
    "number on the left": lambda a, b, c: c - (c + (c * a)),
    "number divided": lambda a, b, c: c / (a * a + 1),
    "number to a power": lambda a, b, c: (abs(c) + 0.5) ** a.sin(),
    "square": lambda a, b, c: a**2,
    "cube": lambda a, b, c: a**3,
    "inverse": lambda a, b, c: (abs(a) + 0.5) ** -1,
    "fractional power": lambda a, b, c: (abs(a) + 0.5) ** (c + 0.1),
    "power of nought": lambda a, b, c: a**0 + a**1,
    "exp": lambda a, b, c: (-abs(a)).exp(),
    "log": lambda a, b, c: (abs(a) + 0.5).log(),
    "sqrt": lambda a, b, c: (a * a + 0.5).sqrt(),
    "sin": lambda a, b, c: a.sin(),
    "cos": lambda a, b, c: a.cos(),
    "tanh": lambda a, b, c: a.tanh(),
    "sigmoid": lambda a, b, c: a.sigmoid(),
    "relu": lambda a, b, c: a.relu(),
    "neg": lambda a, b, c: -a,
    "choice by comparison": lambda a, b, c: a if a > b else b * 2 if b >= c else b,
}

NUMBERS = st.floats(-2, 2).map(lambda x: round(x, 3))
PROGRAMS = st.tuples(
    st.lists(NUMBERS, min_size=1, max_size=4),
    st.lists(
        st.tuples(
            st.sampled_from(sorted(OPERATIONS)), st.integers(0, 30), st.integers(0, 30), NUMBERS
        ),
        min_size=1,
        max_size=12,
    ),
)


def run(program, leaf, number):
    """Result and gradients of the leaves as numbers: `leaf` makes a leaf of a number, `number`
    reads one.
    """
    numbers, steps = program
    leaves = [leaf(x) for x in numbers]
    values = list(leaves)
    for name, i, j, c in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        if name == "choice by comparison":
            assume(abs(number(a) - number(b)) > 1e-9 and abs(number(b) - c) > 1e-9)
        # next to a kink rounding would decide
        if name in ("relu", "pow", "inverse", "fractional power", "exp", "log"):
            assume(number(a) == 0 or abs(number(a)) > 1e-9)
        values.append(OPERATIONS[name](a, b, c))
        assume(abs(number(values[-1])) < 1e4)
    total = sum(values[1:], values[0])
    total.backward()
    return number(total), [0.0 if x.grad is None else float(x.grad) for x in leaves]
