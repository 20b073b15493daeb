"""Functions with which models reason about sizes (`torch.fx.experimental.symbolic_shapes`).
Sizes are always known here, so each has a definite answer.

>>> guard_or_false(2 == 3), statically_known_true(1 < 2), sym_eq((1, 2), (1, 2))
(False, True, True)
"""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor

__all__ = [
    "ConstraintViolationError",
    "DimDynamic",
    "GuardOnDataDependentSymNode",
    "PendingUnbackedSymbolNotFound",
    "definitely_false",
    "definitely_true",
    "free_symbols",
    "free_unbacked_symbols",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_scalar",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_free_unbacked_symbols",
    "has_symbolic_sizes_strides",
    "hint_int",
    "is_accessor_node",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_symbolic",
    "size_hint",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]


class GuardOnDataDependentSymNode(RuntimeError):  # noqa: N818 (PyTorch's name)
    """A program that is exported decides by a value that depends on its inputs."""


class ConstraintViolationError(RuntimeError):
    """A size is outside of the bounds of its `Dim`."""


class PendingUnbackedSymbolNotFound(RuntimeError):  # noqa: N818 (PyTorch's name)
    """What an unknown size without an origin raises in PyTorch: never raised here."""


class DimDynamic:
    """How a dimension varies: names without meaning here, where each shape is a program of its own."""

    DYNAMIC, DUCK, STATIC, SIZE_LIKE_UNBACKED, INFER_STRIDE, OBLIVIOUS_SIZE = range(6)


def guard_or_false(a: Any) -> bool:
    """The truth of `a`."""
    return bool(a)


def guard_or_true(a: Any) -> bool:
    """The truth of `a`."""
    return bool(a)


guard_size_oblivious = guard_or_false
statically_known_true = guard_or_false
definitely_true = guard_or_false


def statically_known_false(x: Any) -> bool:
    """Whether `x` is false."""
    return not bool(x)


definitely_false = statically_known_false


def guard_int(a: Any) -> int:
    """The number itself."""
    if type(a) is not int:
        raise AssertionError(f"{a}, {type(a)}")
    return a


def guard_bool(a: Any) -> bool:
    """The truth value itself."""
    if type(a) is not bool:
        raise AssertionError(f"{a}, {type(a)}")
    return a


def guard_float(a: Any) -> float:
    """The number itself."""
    if not isinstance(a, float):
        raise AssertionError(f"{a}, {type(a)}")
    return a


def guard_scalar(a: Any) -> Any:
    """The number itself.

    Raises:
        AssertionError: it is not a number.
    """
    if isinstance(a, (bool, int, float)):
        return a
    raise AssertionError(f"unrecognized scalar {a}")


def hint_int(a: Any, fallback: int | None = None) -> int:
    """The number itself."""
    return guard_int(a)


def size_hint(a: Any, *, fallback: Any = None) -> Any:
    """The number itself."""
    return a


def is_concrete_int(a: Any) -> bool:
    """Whether it is an integer."""
    if not isinstance(a, int):
        raise AssertionError(f"Expected SymInt or int, got {type(a)}")
    return True


def is_concrete_float(a: Any) -> bool:
    """Whether it is a float."""
    if not isinstance(a, float):
        raise AssertionError(f"Expected SymFloat or float, got {type(a)}")
    return True


def is_concrete_bool(a: Any) -> bool:
    """Whether it is a truth value."""
    if not isinstance(a, bool):
        raise AssertionError(f"Expected SymBool or bool, got {type(a)}")
    return True


def is_symbolic(val: Any) -> bool:
    """False: all numbers are known."""
    return False


def has_symbolic_sizes_strides(elem: Tensor) -> bool:
    """False: all sizes are known."""
    return False


def is_accessor_node(node: Any) -> bool:
    """Whether a node of a graph asks for sizes, strides or an offset."""
    name = (
        node.target
        if node.op == "call_method"
        else getattr(node.target, "__name__", "")
        if node.op == "call_function"
        else ""
    )
    return name in ("size", "stride", "storage_offset", "item") or str(name).startswith(
        ("sym_size", "sym_stride", "sym_storage_offset")
    )


def free_symbols(val: Any) -> set[Any]:
    """No symbols."""
    return set()


def free_unbacked_symbols(x: Any) -> set[Any]:
    """No symbols."""
    return set()


def has_free_symbols(val: Any) -> bool:
    """False."""
    return False


def has_free_unbacked_symbols(x: Any) -> bool:
    """False."""
    return False


def sym_eq(x: Any, y: Any) -> bool:
    """Whether two numbers, or two tuples or lists of numbers, are equal.

    Raises:
        AssertionError: they are of different kinds.
    """
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and all(sym_eq(a, b) for a, b in zip(x, y, strict=True))
    if isinstance(x, (bool, int)) and isinstance(y, (bool, int)):
        return x == y
    raise AssertionError(f"unexpected sym_eq between {type(x)} {type(y)}")


def sym_and(x: Any, *others: Any) -> Any:
    """Whether all are true."""
    for other in others:
        x = x and other
    return x


def sym_or(x: Any, *others: Any) -> Any:
    """Whether one is true."""
    for other in others:
        x = x or other
    return x
