"""Sample arguments that records carry for the table-driven tests: the `samples` field of `defop`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np


class Sample(NamedTuple):
    """Arguments of an operation: arrays (float64, complex128, integers or bool), numbers or None,
    in the record's order.

    With `error`, the operation must refuse them with that exception. `constant` lists the places of
    arguments that the operation has no derivative for.
    """

    args: tuple[Any, ...]
    params: dict[str, Any] = {}
    error: type[Exception] | None = None
    constant: tuple[int, ...] = ()


Samples = Callable[[np.random.Generator], Iterator[Sample]]
Domain = tuple[float, float] | str

REAL: Domain = (-2.0, 2.0)
POSITIVE: Domain = (0.2, 3.0)
UNIT: Domain = (-0.9, 0.9)

# For one argument: a matrix, a scalar and an empty matrix. For two: shapes that broadcast either
# way.
_SHAPES: dict[int, Sequence[tuple[tuple[int, ...], ...]]] = {
    1: (((3, 4),), ((),), ((0, 2),)),
    2: (((3, 4), (3, 4)), ((2, 1, 3), (4, 1)), ((), (2,)), ((0, 2), (2,))),
    3: (((3, 4), (3, 4), (3, 4)), ((2, 1, 3), (4, 1), ())),
}


def draw(
    rng: np.random.Generator, shape: tuple[int, ...], domain: Domain, kind: str = "real"
) -> np.ndarray[Any, Any]:
    """Random values of a domain: an interval, "int" (1 to 9), "signed" (-9 to 9) or "bool"."""
    if domain == "int":
        return rng.integers(1, 10, shape)
    if domain == "signed":
        return rng.integers(-9, 10, shape)
    if domain == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    assert not isinstance(domain, str)
    values = rng.uniform(*domain, shape)
    # Imaginary parts keep away from the branch cuts on the real axis.
    return (
        np.asarray(values + 1j * rng.uniform(0.3, 1.2, shape))
        if kind == "complex"
        else np.asarray(values)
    )


def elementwise(
    *domains: Domain,
    params: Sequence[dict[str, Any]] = ({},),
    complex: bool = False,
    constant: tuple[int, ...] = (),
) -> Samples:
    """Samples of an element-wise operation with one argument for each domain; with `complex`,
    complex numbers too.
    """

    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        for given in params:
            for shapes in _SHAPES[len(domains)]:
                yield Sample(
                    tuple(draw(rng, s, d) for s, d in zip(shapes, domains, strict=True)),
                    given,
                    constant=constant,
                )
            if complex:
                shapes = _SHAPES[len(domains)][0]
                yield Sample(
                    tuple(draw(rng, s, d, "complex") for s, d in zip(shapes, domains, strict=True)),
                    given,
                )

    return samples


def cases(
    *given: tuple[Sequence[tuple[int, ...]], dict[str, Any]],
    domain: Domain = REAL,
    complex: bool = False,
    make: Callable[..., Any] | None = None,
    extra: Sequence[Sample] = (),
) -> Samples:
    """Samples with the shapes and parameters given, in complex numbers too where asked; `make`
    turns the drawn arrays into others.
    """

    def samples(rng: np.random.Generator) -> Iterator[Sample]:
        for shapes, params in given:
            for kind in ("real", "complex") if complex else ("real",):
                drawn = tuple(draw(rng, shape, domain, kind) for shape in shapes)
                yield Sample(drawn if make is None else tuple(make(*drawn)), params)
        yield from extra

    return samples
