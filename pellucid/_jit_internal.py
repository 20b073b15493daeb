"""Marks of TorchScript under the names of `torch._jit_internal`."""

from __future__ import annotations

import weakref
from typing import Any
from typing import Final as Final

from .futures import Future as Future
from .jit import _overload as _overload
from .jit import _overload_method as _overload_method
from .jit import export as export
from .jit import ignore as ignore
from .jit import is_scripting as is_scripting
from .jit import unused as unused
from .jit.annotations import BroadcastingList1 as BroadcastingList1
from .jit.annotations import BroadcastingList2 as BroadcastingList2
from .jit.annotations import BroadcastingList3 as BroadcastingList3


def _copy_to_script_wrapper(fn: Any) -> Any:
    """Return the method as it is: what is scripted runs as Python."""
    return fn


# functions that are one of two, by the value of an argument
boolean_dispatched: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Any,
    if_false: Any,
    module_name: str | None,
    func_name: str | None,
) -> Any:
    """A function that is one of two, by the value of an argument."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        chosen = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    if func_name is not None:
        fn.__name__ = func_name
    if module_name is not None:
        fn.__module__ = module_name
    boolean_dispatched[fn] = {
        "if_true": if_true,
        "if_false": if_false,
        "index": arg_index,
        "default": default,
        "arg_name": arg_name,
    }
    return fn
