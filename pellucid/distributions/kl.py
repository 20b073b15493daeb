"""Kullback-Leibler divergences."""

from . import _kl_cross as _kl_cross
from . import _kl_same as _kl_same
from ._kl_registry import _rules, kl_divergence, register_kl

_KL_REGISTRY = _rules  # by the pair of types

__all__ = ["kl_divergence", "register_kl"]
