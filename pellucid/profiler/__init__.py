"""Find where time goes: operations, backward nodes and named regions (`torch.profiler`)."""

from __future__ import annotations

from . import profiler as profiler
from ._profile import ProfilerAction as ProfilerAction
from ._profile import ProfilerActivity as ProfilerActivity
from ._profile import kineto_available as kineto_available
from ._profile import profile as profile
from ._profile import record_function as record_function
from ._profile import schedule as schedule
from ._profile import supported_activities as supported_activities
from ._profile import tensorboard_trace_handler as tensorboard_trace_handler

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
