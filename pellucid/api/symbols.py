"""Names that compilers and libraries on top ask for: symbolic numbers, control flow as functions,
what this build has.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes, errors
from ..core.interpret import thread
from ..core.public import FUNCTIONS, public
from ..core.tensor import Tensor
from ..core.transforms.anomaly import switch
from ..errors import OperationError
from ..ops._rules import require_tensor


class _Symbol:
    """Sizes are Python numbers, also while compiling; only ragged dimensions have other sizes."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise errors.UnsupportedError(
            f"torch.{cls.__name__}: sizes are Python numbers here; there are no symbolic ones"
        )


class SymInt(_Symbol):
    """The type of symbolic integers. Here only the sizes of the ragged dimensions of nested tensors are symbolic.

    >>> import pellucid as torch
    >>> isinstance(torch.zeros(2, 3).shape[0], torch.SymInt)
    False
    """

    _symbolic_size = True


class SymFloat(_Symbol):
    """The type of symbolic real numbers. It exists for `isinstance` checks; nothing creates an instance.

    >>> import pellucid as torch
    >>> isinstance(1.5, torch.SymFloat)
    False
    """


class SymBool(_Symbol):
    """The type of symbolic truth values. It exists for `isinstance` checks; nothing creates an instance.

    >>> import pellucid as torch
    >>> isinstance(True, torch.SymBool)
    False
    """


FUNCTIONS["torch"].update(
    {
        "SymInt": SymInt,
        "SymFloat": SymFloat,
        "SymBool": SymBool,
        "OutOfMemoryError": errors.OutOfMemoryError,
        "AcceleratorError": errors.AcceleratorError,
        "has_lapack": True,
        "has_spectral": True,
        "has_mkl": False,
        "has_openmp": False,
        "legacy_contiguous_format": dtypes.contiguous_format,
    }
)


# ---- numbers ----------------------------------------------------------------------------------
@public()
def sym_int(a: Any) -> int:
    """`int(a)`.

    >>> import pellucid as torch
    >>> torch.sym_int(2.5)
    2
    """
    return int(a)


@public()
def sym_float(a: Any) -> float:
    """`float(a)`.

    >>> import pellucid as torch
    >>> torch.sym_float(3)
    3.0
    """
    return float(a)


@public()
def sym_not(a: Any) -> bool:
    """`not a`.

    >>> import pellucid as torch
    >>> torch.sym_not(True)
    False
    """
    return not a


@public()
def sym_sqrt(a: float) -> float:
    """The square root of a number.

    >>> import pellucid as torch
    >>> torch.sym_sqrt(9)
    3.0
    """
    return math.sqrt(a)


@public()
def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float when one of them is.

    >>> import pellucid as torch
    >>> torch.sym_max(2, 1.0)
    2.0
    """
    return _like(max(a, b), a, b)


@public()
def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float when one of them is.

    >>> import pellucid as torch
    >>> torch.sym_min(3, 2.5)
    2.5
    """
    return _like(min(a, b), a, b)


def _like(value: Any, a: Any, b: Any) -> Any:
    return float(value) if isinstance(a, float) or isinstance(b, float) else value


@public()
def sym_sum(args: Sequence[Any]) -> Any:
    """The sum of numbers.

    >>> import pellucid as torch
    >>> torch.sym_sum([1, 2, 3])
    6
    """
    return sum(args)


@public()
def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t if b else f`.

    >>> import pellucid as torch
    >>> torch.sym_ite(3 > 2, 10, 20)
    10
    """
    return t if b else f


# ---- control flow -----------------------------------------------------------------------------
def _true(pred: Any) -> bool:
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise OperationError(f"Expect pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise OperationError(f"Expect pred to be bool or single-element tensor, but got {pred}.")
    return bool(pred)


@public()
def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """Call one of two functions, depending on `pred`, and return its result.

    Args:
        pred: a bool or a tensor of one element.
        true_fn, false_fn: called with `operands` when `pred` is true, or false.

    Raises:
        RuntimeError: `pred` is not a condition, a branch is not callable, or `operands` is not a tuple or
            list.

    >>> import pellucid as torch
    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.tensor(2),))
    tensor(3)
    """
    if not callable(true_fn) or not callable(false_fn):
        raise OperationError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise OperationError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
            f"but got {operands}."
        )
    return (true_fn if _true(pred) else false_fn)(*operands)


@public()
def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]
) -> Any:
    """Call `body_fn` on `carried_inputs`, then again and again on its own results, as long as
    `cond_fn` returns true for them. Returns the last results.

    Raises:
        RuntimeError: an argument is not a function, or `carried_inputs` is not a tuple or list; the body returns
            another number of values.

    >>> import pellucid as torch
    >>> torch.while_loop(lambda i: i < 3, lambda i: (i + 1,), (torch.tensor(0),))
    (tensor(3),)
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise OperationError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise OperationError(
            f"Expect carried_inputs to be a tuple or list, but got {type(carried_inputs)}."
        )
    carried = tuple(carried_inputs)
    while _true(cond_fn(*carried)):
        made = body_fn(*carried)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(carried):
            raise OperationError(
                f"body_fn should return the same number of elements as carried_inputs: {len(made)} vs {len(carried)}"
            )
        carried = made
    return carried


@public(names="_assert")
def _assert(condition: Any, message: str) -> None:
    """`assert condition, message`, as a function, which a trace can hold.

    Raises:
        AssertionError: the condition is not true.
    """
    if not condition:
        raise AssertionError(message)


# ---- places -----------------------------------------------------------------------------------
@public()
def get_device(input: Tensor) -> int:
    """The number of the accelerator that holds a tensor; -1 for the CPU.

    >>> import pellucid as torch
    >>> torch.get_device(torch.tensor([1.0]))
    -1
    """
    return require_tensor(input, "get_device").get_device()


@public()
def get_file_path(*path_components: str) -> str:
    """Return a path below the folder in which the library is installed.

    >>> import pellucid as torch
    >>> import os
    >>> os.path.basename(torch.get_file_path("nn"))
    'nn'
    """
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(here, *path_components)


@public()
def to_dlpack(tensor: Tensor, /) -> Any:
    """A DLPack capsule that shares the tensor's memory.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0, 2.0])
    >>> torch.from_dlpack(torch.to_dlpack(x)).data_ptr() == x.data_ptr()
    True
    """
    return require_tensor(tensor, "_to_dlpack", "data").__dlpack__()


# ---- modes asked for and set one at a time ------------------------------------------------------
@public()
def clear_autocast_cache() -> None:
    """Forget the cast parameters of the surrounding `autocast` block. The next use of a parameter casts it again.

    >>> import pellucid as torch
    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu"):
    ...     before = w @ w
    ...     with torch.no_grad():
    ...         _ = w.zero_()
    ...     torch.clear_autocast_cache()
    ...     print((w @ w).sum().item())
    0.0
    """
    if thread.stack.autocast is not None:
        thread.stack.autocast.cache.clear()


@public()
def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off, with or without the check for NaN, until it is switched again.

    >>> import pellucid as torch
    >>> torch.set_anomaly_enabled(True)
    >>> torch.is_anomaly_enabled()
    True
    >>> torch.set_anomaly_enabled(False)
    """
    switch(bool(enabled), bool(check_nan))
