"""The older way to the profiler (PyTorch's `torch.autograd.profiler`); see `pellucid.profiler`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from ..profiler import profile as _profile
from ..profiler import record_function as record_function
from ..profiler._table import EventList as EventList
from ..profiler._table import FunctionEventAvg as FunctionEventAvg

__all__ = [
    "EventList",
    "FunctionEventAvg",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "profile",
    "record_function",
]


class profile(_profile):  # noqa: N801
    """Record what runs inside the block; with `enabled=False` it records nothing.

    >>> import pellucid as torch
    >>> with torch.autograd.profiler.profile() as prof:
    ...     _ = torch.ones(2) * 2
    >>> [row.key for row in prof.key_averages()]
    ['aten::mul']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            use_cuda=use_cuda or use_device == "cuda",
        )
        self.enabled = enabled

    def __enter__(self) -> Self:
        if self.enabled:
            self.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            self.stop()

    def table(self, *args: Any, **options: Any) -> str:
        """All events, not added up, as text."""
        return self.events().table(*args, **options)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in all events together."""
        return self.events().self_cpu_time_total

    @property
    def function_events(self) -> Any:
        """The events."""
        return self.events()


@contextmanager
def emit_nvtx(enabled: bool = True, record_shapes: bool = False) -> Iterator[None]:
    """Run the block; there are no marks for NVIDIA's tools to emit on a CPU."""
    yield


@contextmanager
def emit_itt(enabled: bool = True, record_shapes: bool = False) -> Iterator[None]:
    """Run the block; Intel's tools are given no marks."""
    yield


def load_nvprof(path: Any) -> Any:
    """Refuse: files of nvprof describe a device."""
    raise NotImplementedError(
        "torch.autograd.profiler.load_nvprof is not supported: there is no CUDA device to profile"
    )
