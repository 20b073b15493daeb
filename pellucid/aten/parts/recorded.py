"""`torch.ops.profiler`: the operators that begin and end a named part of the profile, called by
programs that predate `torch.profiler.record_function`.
"""

from __future__ import annotations

import itertools

from ... import dtypes
from ...core.tensor import Tensor
from ...errors import OperationError
from ...profiler import record_function
from ..computed import T
from ..overload import define

_RECORD = "__torch__.torch.classes.profiler._RecordFunction"
_count = itertools.count(1)
_open: dict[int, record_function] = {}  # keys: the numbers that handles (tensors) hold


def _enter_new(name: str, args: str | None = None) -> record_function:
    return record_function(name, args).__enter__()


def _enter(name: str, args: str | None = None) -> Tensor:
    number = next(_count)
    _open[number] = _enter_new(name, args)
    made: Tensor = T.tensor(list(number.to_bytes(8, "little")), dtype=dtypes.uint8)
    return made


def _exit(handle: Tensor) -> None:
    number = int.from_bytes(bytes(handle.tolist()), "little")
    if number not in _open:
        raise OperationError("the part of the profile that a handle stands for has ended")
    _open.pop(number).__exit__()


def _exit_record(record: record_function) -> None:
    if not isinstance(record, record_function):
        raise OperationError(f"what ends must be a {_RECORD}, not {type(record).__name__}")
    record.__exit__()


for _text, _kernel in (
    (f"_record_function_enter_new(str name, str? args=None) -> {_RECORD}", _enter_new),
    ("_record_function_enter(str name, str? args=None) -> Tensor", _enter),
    ("_record_function_exit(Tensor handle) -> ()", _exit),
    (f"_record_function_exit._RecordFunction({_RECORD} record) -> ()", _exit_record),
):
    define("profiler", _text).py_kernels["CompositeExplicitAutograd"] = _kernel
