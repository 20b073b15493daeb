"""Communication hooks of DistributedDataParallel: how a bucket of gradients is averaged.

Source: PyTorch's `torch.distributed.algorithms.ddp_comm_hooks.default_hooks`, whose functions these
are.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...errors import UnsupportedError
from ...futures import Future
from .. import collectives
from ..groups import group_of
from .powersgd import PowerSGDState, batched_powerSGD_hook, powerSGD_hook
from .reducer import GradBucket


def average(group: Any, tensor: Any) -> Future[Any]:
    """The mean over the ranks, later."""
    tensor.div_(group_of(group).size())
    work: Any = collectives.all_reduce(tensor, group=group, async_op=True)
    return work.get_future()


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The mean, as without a hook."""
    return average(process_group, bucket.buffer()).then(lambda future: future.value()[0])


def _compressed(process_group: Any, bucket: GradBucket, dtype: Any) -> Future[Any]:
    buffer: Any = bucket.buffer()
    work = average(process_group, buffer.to(dtype))

    def widened(future: Any) -> Any:
        buffer.copy_(future.value()[0])
        return buffer

    return work.then(widened)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The mean of the gradients rounded to float16: half the bytes."""
    return _compressed(process_group, bucket, dtypes.BY_NAME["float16"])


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The mean of the gradients rounded to bfloat16: half the bytes."""
    return _compressed(process_group, bucket, dtypes.BY_NAME["bfloat16"])


def _wrapper(dtype: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrap(hook: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(hook_state: Any, bucket: GradBucket) -> Future[Any]:
            buffer: Any = bucket.buffer()
            bucket.set_buffer(buffer.to(dtypes.BY_NAME[dtype]))

            def widened(future: Any) -> Any:
                value = future.value()
                buffer.copy_(value[0] if isinstance(value, (list, tuple)) else value)
                return buffer

            return hook(hook_state, bucket).then(widened)

        return wrapped

    return wrap


fp16_compress_wrapper = _wrapper("float16")
bf16_compress_wrapper = _wrapper("bfloat16")


def noop_hook(_: Any, bucket: GradBucket) -> Future[Any]:
    """No reduction at all: what communication costs is the difference to a run without this hook."""
    future: Future[Any] = Future()
    future.set_result(bucket.buffer())
    return future


_BUILT_IN = {
    "ALLREDUCE": allreduce_hook,
    "FP16_COMPRESS": fp16_compress_hook,
    "BF16_COMPRESS": bf16_compress_hook,
    "NOOP": noop_hook,
}


class DDPCommHookType(enum.Enum):
    """The hooks that `register_ddp_comm_hook` knows."""

    ALLREDUCE = enum.auto()
    FP16_COMPRESS = enum.auto()
    BF16_COMPRESS = enum.auto()
    QUANTIZE_PER_TENSOR = enum.auto()
    QUANTIZE_PER_CHANNEL = enum.auto()
    POWER_SGD = enum.auto()
    POWER_SGD_RANK2 = enum.auto()
    BATCHED_POWER_SGD = enum.auto()
    BATCHED_POWER_SGD_RANK2 = enum.auto()
    NOOP = enum.auto()


def register_ddp_comm_hook(comm_hook_type: Any, model: Any, state: Any = None) -> None:
    """Register the hook of a `DDPCommHookType` with a DistributedDataParallel model."""
    name = comm_hook_type.name
    if "POWER_SGD" in name:
        rank = 2 if name.endswith("RANK2") else 1
        chosen = batched_powerSGD_hook if name.startswith("BATCHED") else powerSGD_hook
        model.register_comm_hook(PowerSGDState(state, matrix_approximation_rank=rank), chosen)
        return
    hook = _BUILT_IN.get(name)
    if hook is None:
        raise UnsupportedError(
            f"torch.distributed: DDPCommHookType.{comm_hook_type.name} is not supported"
        )
    model.register_comm_hook(state, hook)


class BuiltinCommHookType(enum.Enum):
    """The hooks that `DistributedDataParallel._register_builtin_comm_hook` knows.

    >>> import pellucid as torch
    >>> [kind.name for kind in torch.distributed.BuiltinCommHookType]
    ['ALLREDUCE', 'FP16_COMPRESS']
    """

    ALLREDUCE = 0
    FP16_COMPRESS = 1


def built_in(kind: BuiltinCommHookType) -> Callable[[Any, GradBucket], Future[Any]]:
    """The hook of a `BuiltinCommHookType`."""
    return _BUILT_IN[kind.name]
