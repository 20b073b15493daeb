"""What all collectives share: argument checks with PyTorch's messages, access to the tensors'
memory, and how a call starts and is repeated by compiled steps.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import source, tracing
from ..core.tensor import Tensor, count_write, make_tensor, version_of
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    OperationError,
    UnsupportedError,
    warn,
)
from .groups import ProcessGroup, default_group, get_global_rank, is_member, place_in
from .transport.engine import CollectiveCall, Staged, Steps
from .transport.work import Work


# ---- arguments -----------------------------------------------------------------------------------
def check_tensor(value: Any, name: str) -> None:
    """Raise PyTorch's error for what is not a tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(value)} instead."
        )


def check_tensors(value: Any, name: str) -> None:
    """Raise PyTorch's error for what is no list of tensors."""
    words = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n             but got {type(value)} "
    if not isinstance(value, list):
        raise ArgumentTypeError(words + "instead.")
    if not all(isinstance(t, Tensor) for t in value):
        raise ArgumentTypeError(words + f"with elements of type {[type(t) for t in value]}.")


def same_dtype(*tensors: Any) -> None:
    """Raise PyTorch's error for tensors of several dtypes."""
    flat = [t for each in tensors for t in (each if isinstance(each, list) else [each])]
    for t in flat[1:]:
        if t.dtype != flat[0].dtype:
            raise ArgumentValueError(
                f"Invalid usage of tensors with different dtypesFound {flat[0].dtype} and  {t.dtype}"
            )


def _not_member(name: str) -> Any:
    """Warn, and return None as all collectives do."""
    warn(
        f"Running {name} on global rank {default_group().rank()} which does not belong to the given group.",
    )


def rank_in(
    group: ProcessGroup,
    rank: int | None,
    group_rank: int | None,
    name: str = "",
    default: int | None = None,
) -> int:
    """The rank in the group that `src`/`dst` or `group_src`/`group_dst` mean; `name`: of the
    collective whose root it is.
    """
    if group_rank is not None and rank is not None:
        raise ArgumentValueError("Can't specify both group_rank and global_rank")
    found = rank if group_rank is None else group_rank
    if found is None:
        if default is None:
            raise ArgumentValueError("Must specify global_rank or group_rank")
        return default
    if name and group is default_group() and not 0 <= found < group.size():
        raise OperationError(f"ProcessGroupGloo::{name}: invalid root rank: {found}")
    if group_rank is not None:
        get_global_rank(group, group_rank)
        return group_rank
    return place_in(group, found)


# ---- memory --------------------------------------------------------------------------------------
def array_of(t: Tensor) -> np.ndarray:
    """The array of a tensor in this machine's memory."""
    array = t._array
    if type(array) is not np.ndarray:
        kind = f"on {t.device}" if t.device.type != "cpu" else f"of layout {t.layout}"
        raise UnsupportedError(f"torch.distributed: tensors {kind} are not supported here")
    return array


def flat(t: Tensor) -> np.ndarray:
    """A tensor's values in one dimension, in the memory of the tensor where they lie in order."""
    return np.ascontiguousarray(array_of(t)).reshape(-1)


def raw(array: np.ndarray) -> np.ndarray:
    """The bytes of values in one dimension."""
    return array.view(np.uint8)


class Target:
    """Where the result for a tensor is received: in its own memory, or beside it where it has gaps."""

    def __init__(self, t: Tensor) -> None:
        self.tensor = t
        array = array_of(t)
        self.direct = array.flags.c_contiguous and array.flags.writeable
        self.flat = array.reshape(-1) if self.direct else np.empty(array.size, array.dtype)

    def done(self) -> None:
        """The values are there: the tensor has been written to."""
        if not self.direct:
            self.tensor._array[...] = self.flat.reshape(self.tensor._array.shape)
        count_write(version_of(self.tensor))

    def put(self, values: np.ndarray) -> None:
        """Write values of another place, or another type."""
        if self.tensor._array.size:
            np.copyto(
                self.tensor._array, values.reshape(self.tensor._array.shape), casting="unsafe"
            )
        count_write(version_of(self.tensor))


def shape_of(t: Tensor) -> str:
    """Shape and dtype, as errors show them and ranks compare them."""
    return _shape_text(t.dtype, t.shape)


@functools.lru_cache(1024)
def _shape_text(dtype: Any, shape: tuple[int, ...]) -> str:
    return f"{dtype}{list(shape)}".replace("torch.", "")


def start(
    name: str,
    group: ProcessGroup,
    facts: tuple[Any, ...],
    steps: Callable[[], Steps | Staged],
    result: Any,
    async_op: bool,
    timeout: float | None = None,
    soon: bool = False,
) -> Work | None:
    """Begin with a collective; wait for it, unless it is asynchronous.

    `soon`: it will be waited for in a moment, so inside one machine no thread drives it on. Waking
    one takes the interpreter, and with a core for each rank a time slice, from the thread that
    computes.
    """
    tracing.setting("communicates with other processes")
    channel = group.channel
    engine = channel.engine
    seconds = group.timeout.total_seconds() if timeout is None else timeout
    task = engine.collective(
        channel, CollectiveCall(name, facts, source.capture(3)), steps(), seconds
    )
    if async_op or group.coalescing:
        if not task.done and not (soon and channel.board is not None):
            engine.in_background()
        work = Work(engine, task, result)
        if group.coalescing:
            group.coalescing[-1](name, work)
        return work if async_op else None
    engine.wait(task)
    return None


def repeated(*written: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a collective that compiled steps call again; the tensors of these names are what
    it changes.

    One that nobody waits for (`async_op`) is not compiled.
    """

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        bind = inspect.signature(function).bind

        def again(*values: Any) -> Any:
            return function(*[make_tensor(v) if type(v) is np.ndarray else v for v in values])

        again.__name__ = function.__name__

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not tracing.tracer():
                return function(*args, **kwargs)
            given = bind(*args, **kwargs)
            given.apply_defaults()
            found = given.arguments
            tensors = [found[name] for name in written]
            if (
                found["async_op"]
                or not all(isinstance(t, Tensor) for t in tensors)
                or not is_member(found["group"])
            ):
                return function(*args, **kwargs)
            arrays = tuple(array_of(t) for t in tensors)
            values = [array_of(v) if isinstance(v, Tensor) else v for v in found.values()]
            result = tracing.communication(again, *values, writes=arrays)
            for t in tensors:
                count_write(version_of(t))
            return result

        return call

    return wrap
