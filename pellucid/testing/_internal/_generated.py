"""Tests made of templates: `parametrize` and what makes a class's tests of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ...core.tensor import Tensor
from ...devices import device
from ...dtypes import dtype


class subtest:  # noqa: N801
    """One row of values of `parametrize`, with a name or decorators of its own."""

    __slots__ = ("arg_values", "decorators", "name")

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Any = None) -> None:
        self.arg_values, self.name = arg_values, name
        self.decorators = decorators or []


class Made(NamedTuple):
    """One test of a template: what its name ends in, its arguments, decorators, and its dtype."""

    name: str
    given: dict[str, Any]
    decorators: tuple[Any, ...] = ()
    dtype: dtype | None = None


def dtype_name(dtype: Any) -> str:
    """The name of a dtype without its module: "float32"."""
    return str(dtype).partition(".")[2]


def _named(index: int, name: str, value: Any) -> str:
    if isinstance(value, dtype):
        return dtype_name(value)
    if isinstance(value, device):
        return str(value)
    if isinstance(value, (int, float, str)) and not isinstance(value, Tensor):
        return f"{name}_{str(value).replace('.', '_')}"
    return f"{name}{index}"


Template = Callable[..., Any]
Rows = Callable[[Any], Iterator[Made]]


def with_rows(function: Template, rows: Rows) -> Template:
    """The template, for each of these rows and each of those that it had already."""
    before = getattr(function, "_rows", None)
    if before is None:
        function._rows = rows  # type: ignore[attr-defined]
        return function

    def both(kind: Any) -> Iterator[Made]:
        for old, new in itertools.product(list(before(kind)), list(rows(kind))):
            twice = {*old.given} & {*new.given}
            if twice or old.dtype is not None and new.dtype is not None:
                what = f"arguments {sorted(twice)}" if twice else "the dtype"
                raise RuntimeError(f"{function.__name__}: {what} set by more than one decorator")
            name = "_".join(part for part in (new.name, old.name) if part)
            yield Made(
                name,
                old.given | new.given,
                old.decorators + new.decorators,
                old.dtype or new.dtype,
            )

    function._rows = both  # type: ignore[attr-defined]
    return function


class parametrize:  # noqa: N801
    """Decorator of a test that is to be run once for each of some values.

    Args:
        arg_str: names of arguments, comma-separated.
        arg_values: for each test a value, a tuple of values, or a `subtest`.
        name_fn: what a test's name ends in, from its values.
    """

    def __init__(
        self,
        arg_str: str,
        arg_values: Iterable[Any],
        name_fn: Callable[..., str] | None = None,
    ) -> None:
        self.arg_names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.arg_values, self.name_fn = list(arg_values), name_fn

    def __call__(self, fn: Template) -> Template:
        return with_rows(fn, self._rows)

    def _rows(self, kind: Any) -> Iterator[Made]:
        if not self.arg_names:
            yield Made("", {})
        for index, row in enumerate(self.arg_values if self.arg_names else ()):
            values, decorators, name = row, (), None
            if isinstance(row, subtest):
                values, decorators, name = row.arg_values, tuple(row.decorators), row.name
            single = len(self.arg_names) == 1
            values = [values] if single else list(values)
            if len(values) != len(self.arg_names):
                raise RuntimeError(
                    f"Expected # values == # arg names, but got: {len(values)} values and "
                    f"{len(self.arg_names)} names for test"
                )
            if name is None:
                name = (
                    self.name_fn(*values)
                    if self.name_fn is not None
                    else "_".join(
                        _named(index, n, v) for n, v in zip(self.arg_names, values, strict=True)
                    )
                )
            yield Made(name, dict(zip(self.arg_names, values, strict=True)), decorators)


def bound(function: Template, made: Made, given: dict[str, Any]) -> Template:
    """A test of a template: the function with some arguments given, and the row's decorators."""

    @functools.wraps(function)
    def test(self: Any) -> Any:
        return function(self, **given)

    del test.__wrapped__
    for decorator in made.decorators:
        test = decorator(test)
    return test


def instantiate_parametrized_tests(generic_cls: Any) -> Any:
    """Class decorator: a test for each row of values in the place of each template."""
    for name in [n for n in dir(generic_cls) if n.startswith("test")]:
        function = getattr(generic_cls, name)
        if not hasattr(function, "_rows"):
            continue
        for made in function._rows(generic_cls):
            full = f"{name}_{made.name}" if made.name else name
            if full != name and hasattr(generic_cls, full):
                raise AssertionError(f"Redefinition of test {full}")
            test = bound(function, made, made.given)
            test.__name__ = full
            setattr(generic_cls, full, test)
            if full != name and name in vars(generic_cls):
                delattr(generic_cls, name)
    return generic_cls
