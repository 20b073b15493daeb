"""Integers at the ends of their range, numbers that are not finite, halves, ties: results are
PyTorch's, to the last digit and index.
"""

import math

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

INF, NAN = math.inf, math.nan
FLOATS = [NAN, INF, -INF, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 1e30, 3e9, -3e9, 300.0, -1.0, 7.0]
ONE = (
    "round floor ceil trunc frac sign sgn isfinite isnan argmax argmin max min sort median nanmedian mode nansum nanmean sum prod "
    "logical_not signbit isposinf isneginf nan_to_num msort argsort"
).split()
TWO = "floor_divide remainder fmod true_divide maximum fmax copysign isclose eq atan2 hypot".split()
WHOLE = "__add__ __mul__ __sub__ __lshift__ __rshift__ __floordiv__ __mod__ __pow__ bitwise_and bitwise_xor fmod maximum remainder".split()
DIVIDES = ("__floordiv__", "__mod__", "fmod", "remainder")


def outcome(T, function):
    try:
        made = function(T)
    except RuntimeError:
        return "refused"
    parts = made if isinstance(made, (tuple, list)) else (made,)
    return repr([(str(x.dtype).split(".")[-1], x.tolist()) for x in parts])


def same(function):
    assert outcome(pellucid, function) == outcome(torch, function)


def numbers(T, values, kind):
    return T.tensor(values, dtype=getattr(T, kind))


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ONE)
def test_floats(name, kind):
    same(lambda T: getattr(T, name)(numbers(T, FLOATS, kind)))


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", TWO)
def test_pairs_of_floats(name, kind):
    for other in (0.0, -0.0, 1.0, -2.0, INF, -INF, NAN):
        made = [
            getattr(T, name)(numbers(T, FLOATS, kind), numbers(T, [other], kind)).double().tolist()
            for T in (pellucid, torch)
        ]
        np.testing.assert_allclose(*made, rtol=1e-6)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("name", WHOLE)
def test_integers(name, kind):
    ends = np.iinfo(kind)
    values = [ends.min, 1 if ends.min == 0 else -1, 0, 1, 3, ends.max]
    for other in {*values, 2, 7, 8, 31, 63, 64}:
        # the quotient of the smallest number is none: PyTorch ends the process
        if other == -1 and name in DIVIDES:
            continue
        if ends.min <= other <= ends.max:
            same(
                lambda T, other=other: getattr(numbers(T, values, kind), name)(
                    numbers(T, [other], kind)
                )
            )
