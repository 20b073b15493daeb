"""Summaries for `FileWriter.add_summary` (`torch.utils.tensorboard.summary`), as the bytes of their
protocol buffers.

Loggers of other libraries write hyperparameters with them:

    for part in hparams({"lr": 0.1}, {"loss": 0.0}):
        writer.file_writer.add_summary(part)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _summary
from ._images import pixels_of
from ._summary import audio as audio
from ._summary import custom_scalars as custom_scalars
from ._summary import histogram_raw as histogram_raw
from ._summary import scalar as scalar
from ._summary import text as text

__all__ = [
    "audio",
    "custom_scalars",
    "histogram",
    "histogram_raw",
    "hparams",
    "image",
    "pr_curve",
    "scalar",
    "tensor_proto",
    "text",
]


def hparams(
    hparam_dict: Mapping[str, Any],
    metric_dict: Mapping[str, Any],
    hparam_domain_discrete: Mapping[str, list[Any]] | None = None,
) -> tuple[bytes, ...]:
    """Three summaries: the experiment, the beginning and the end of a session.

    Raises:
        TypeError: an argument is not a dictionary.
    """
    for argument, name in ((hparam_dict, "hparam_dict"), (metric_dict, "metric_dict")):
        if not isinstance(argument, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    return _summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)


def histogram(name: str, values: Any, bins: Any, max_bins: int | None = None) -> bytes:
    """A histogram of values."""
    return _summary.histogram(name, values, bins, max_bins)


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> bytes:
    """A picture, or a batch of pictures as one."""
    pixels = pixels_of(_summary.as_array(tensor), dataformats)
    return _summary.image(
        tag, pixels if rescale == 1 else (pixels * rescale).clip(0, 255).astype("uint8")
    )


def tensor_proto(tag: str, tensor: Any) -> bytes:
    """The numbers of a tensor."""
    return _summary.tensor(tag, tensor)


def pr_curve(
    tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None
) -> bytes:
    """Precision and recall for thresholds between 0 and 1."""
    return _summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
