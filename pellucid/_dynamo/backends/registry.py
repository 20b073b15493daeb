"""Backends by name (`torch._dynamo.backends.registry`)."""

from __future__ import annotations

from ...compiler import list_backends, lookup_backend, register_backend

__all__ = ["list_backends", "lookup_backend", "register_backend"]
