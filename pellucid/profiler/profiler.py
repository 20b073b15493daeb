"""The module of PyTorch's that `torch.profiler` takes its names from."""

from __future__ import annotations

from ._profile import ProfilerAction as ProfilerAction
from ._profile import profile as profile
from ._profile import schedule as schedule
from ._profile import supported_activities as supported_activities
from ._profile import tensorboard_trace_handler as tensorboard_trace_handler

__all__ = [
    "ProfilerAction",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Record every step."""
    return ProfilerAction.RECORD
