"""What a compiled function tells apart: zeros of two signs, attributes that functions get later, and
tensors that are keys.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest

import pellucid as torch

ZEROS = [0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 1.0, -0.0, 0.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x / n,
        lambda x, n: 1 / (x * n),
        lambda x, n: 1 / (x * -n),
        lambda x, n: 1 / torch.full((2,), n),
    ],
    ids=["divided", "multiplied", "negated", "filled"],
)
@pytest.mark.parametrize("first", [[], [3.0, 2.0, 1.0]], ids=["constant", "input"])
def test_zeros_of_two_signs(function: Callable[..., Any], first: list[float]) -> None:
    compiled, x = torch.compile(function), torch.ones(2)
    for n in [*first, *ZEROS]:
        assert compiled(x, n).tolist() == function(x, n).tolist(), n


def test_loops_that_differ_in_the_sign_of_a_zero_are_two() -> None:
    """One process keeps what it compiled: another function's loop may not serve."""
    below, above = torch.compile(lambda x: x / -0.0), torch.compile(lambda x: x / 0.0)
    x = torch.ones(5)
    for _ in range(4):
        assert below(x).tolist() == [-math.inf] * 5
        assert above(x).tolist() == [math.inf] * 5


def same_calls(make: Callable[[], tuple[Callable[..., Any], Callable[[int], None]]]) -> None:
    """Compare a function with its compiled copy, while things change around both."""
    (eager, change), (other, change_other) = make(), make()
    compiled = torch.compile(other)
    for k in range(9):
        x = torch.full((2,), float(k))
        assert compiled(x).tolist() == eager(x).tolist(), k
        change(k)
        change_other(k)


def test_an_attribute_that_a_function_gets_later() -> None:
    def make() -> Any:
        def helper() -> None: ...

        def change(k: int) -> None:
            if k == 3:
                helper.factor = 5  # type: ignore[attr-defined]
            if k == 6:
                del helper.factor  # type: ignore[attr-defined]

        return lambda x: x * getattr(helper, "factor", 1), change

    same_calls(make)


def test_an_attribute_that_a_function_gives_itself() -> None:
    def make() -> Any:
        def counts(x: Any) -> Any:
            counts.calls = getattr(counts, "calls", 0) + 1  # type: ignore[attr-defined]
            if not hasattr(counts, "weight"):
                counts.weight = torch.ones(2)  # type: ignore[attr-defined]
            counts.weight = counts.weight * 2  # type: ignore[attr-defined]
            return x * counts.calls + counts.weight  # type: ignore[attr-defined]

        return counts, lambda k: None

    same_calls(make)


def test_what_a_function_saw_last_is_kept_as_its_attribute() -> None:
    @torch.compile
    def keeps(x: Any) -> Any:
        keeps_plain.last = x  # type: ignore[attr-defined]
        return x + 1

    def keeps_plain() -> None: ...

    for k in range(5):
        keeps(torch.full((2,), float(k)))
        assert keeps_plain.last.tolist() == [k, k]  # type: ignore[attr-defined]


def test_defaults_by_keyword_that_come_later() -> None:
    def make() -> Any:
        def helper(x: Any, *, factor: int) -> Any:
            return x * factor

        helper.__kwdefaults__ = {"factor": 2}

        def change(k: int) -> None:
            helper.__kwdefaults__ = {"factor": 2 + k}

        return lambda x: helper(x), change

    same_calls(make)


def test_a_partial_that_is_given_another_function() -> None:
    def make() -> Any:
        part = functools.partial(lambda x, k: x * k, k=2)

        def change(k: int) -> None:
            if k == 4:
                part.__setstate__((lambda x, k: x - k, (), {"k": 3}, {}))

        return lambda x: part(x), change

    same_calls(make)


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_tensors_that_are_keys() -> None:
    a, b = torch.ones(2), torch.ones(2)
    numbers = {a: 2.0, b: 3.0}
    look_up = torch.compile(lambda t: t * numbers[t])
    for _ in range(4):
        assert (look_up(a).tolist(), look_up(b).tolist()) == ([2.0] * 2, [3.0] * 2)


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_identities_as_numbers() -> None:
    a, b = torch.ones(2), torch.ones(2)
    numbers = {id(a): 2.0, id(b): 3.0}
    by_id = torch.compile(lambda t: t * numbers[id(t)])
    by_hash = torch.compile(lambda t: t * (1 if hash(t) == id(a) else 2))
    for _ in range(4):
        assert (by_id(a).tolist(), by_id(b).tolist()) == ([2.0] * 2, [3.0] * 2)
        assert (by_hash(a).tolist(), by_hash(b).tolist()) == ([1.0] * 2, [2.0] * 2)
