"""What distributions over `probs` or `logits` of two outcomes share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..devices import Size
from .utils import lazy_property, logits_to_probs, only_one, probs_to_logits


class BinaryParameter:
    """`probs` and `logits`, one given and the other computed when asked for; `_param` is the one
    given.
    """

    _param: Tensor

    @staticmethod
    def _given(probs: Any, logits: Any) -> tuple[str, Any]:
        """The name of the parameter that was given, and its value; refuses both and none."""
        only_one("probs", "logits", probs, logits)
        return ("logits", logits) if probs is None else ("probs", probs)

    @lazy_property
    def logits(self) -> Tensor:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        return self._param.size()


class CategoricalParameter:
    """`probs` and `logits` of a `Categorical` inside, `_categorical`."""

    _categorical: Any
    _event_shape: Size
    _get_checked_instance: Callable[..., Any]
    _validate_args: bool

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape

    def _expand_categorical(self, cls: type, base: type, batch_shape: Any, _instance: Any) -> Any:
        new = self._get_checked_instance(cls, _instance)
        new._categorical = self._categorical.expand(batch_shape)
        base.__init__(new, batch_shape, self._event_shape, validate_args=False)  # type: ignore[misc]
        new._validate_args = self._validate_args
        return new
