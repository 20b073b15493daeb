"""Fused modules that quantize their input on the way."""

from __future__ import annotations

from .linear_relu import LinearReLU as LinearReLU
