"""The messages that TensorBoard's plugins read, as bytes. Field numbers are those of TensorBoard's
.proto files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from . import _wire as wire
from ._images import png, wav

# TensorFlow's numbers of element types, and the field of TensorProto that holds the values.
FLOAT, DOUBLE, INT32, UINT8, INT16, INT8, STRING, INT64, BOOL = 1, 2, 3, 4, 5, 6, 7, 9, 10
MOST_THRESHOLDS = 127


def as_array(value: Any) -> np.ndarray:
    """Numbers, arrays and tensors (also those that require grad) as an array."""
    if isinstance(value, Tensor):
        kind = value.detach()
        return np.asarray(
            (
                kind.float() if kind.dtype.itemsize == 2 and kind.dtype.is_floating_point else kind
            ).numpy()
        )
    return np.asarray(value)


# ---- parts -----------------------------------------------------------------------------------
def _metadata(plugin: str, content: bytes = b"") -> bytes:
    inner = wire.text(1, plugin) + (wire.data(2, content) if content else b"")
    return wire.data(1, inner)


def _shape(sizes: Sequence[int]) -> bytes:
    return b"".join(wire.data(2, wire.integer(1, size)) for size in sizes)


def _value(tag: str, *fields: bytes) -> bytes:
    """A Summary with one Value."""
    return wire.data(1, wire.text(1, tag) + b"".join(fields))


def _strings(*texts: bytes, sizes: Sequence[int] = (1,)) -> bytes:
    shape = wire.data(2, _shape(sizes)) if sizes else wire.data(2, b"")
    return wire.integer(1, STRING) + shape + b"".join(wire.data(8, t) for t in texts)


# ---- summaries -------------------------------------------------------------------------------
def scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> bytes:
    array = as_array(value).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            f"Tensor should contain one element (0 dimensions). Was given size: {array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not (new_style or double_precision):
        return _value(tag, wire.single(2, number))
    kind, values = (
        (DOUBLE, wire.doubles(6, [number]))
        if double_precision
        else (FLOAT, wire.floats(5, [number]))
    )
    return _value(
        tag, wire.data(8, wire.integer(1, kind) + values), wire.data(9, _metadata("scalars"))
    )


def tensor(tag: str, value: Any) -> bytes:
    array = as_array(value)
    kinds = {
        "float32": FLOAT,
        "float64": DOUBLE,
        "int32": INT32,
        "uint8": UINT8,
        "int16": INT16,
        "int8": INT8,
        "int64": INT64,
        "bool": BOOL,
    }
    if array.dtype.name not in kinds:
        raise ValueError(f"add_tensor writes {', '.join(kinds)}, not {array.dtype.name}")
    content = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
    body = (
        wire.integer(1, kinds[array.dtype.name])
        + wire.data(2, _shape(array.shape))
        + wire.data(4, content)
    )
    return _value(tag, wire.data(8, body), wire.data(9, _metadata("tensor")))


def histogram(tag: str, values: Any, bins: Any, max_bins: int | None = None) -> bytes:
    array = as_array(values).reshape(-1).astype(np.float64)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(
        array, bins=exponential_limits() if bins == "tensorflow" else bins
    )
    if max_bins is not None and counts.size > max_bins:
        step = -(-counts.size // max_bins)
        limits = np.append(limits[:-1:step], limits[-1])
        counts = np.add.reduceat(counts, np.arange(0, counts.size, step))
    held = np.flatnonzero(counts)
    if not held.size:
        raise ValueError("The histogram is empty: no value lies within the bins.")
    first, last = int(held[0]), int(held[-1])
    # A bucket is known by its right limit alone, so an empty one stands on the left to give the
    # first its left limit.
    return histogram_raw(
        tag,
        array.min(),
        array.max(),
        array.size,
        array.sum(),
        array.dot(array),
        limits[first : last + 2],
        np.concatenate([[0], counts[first : last + 1]]),
    )


def exponential_limits() -> list[float]:
    """TensorFlow's limits: from 1e-12 to 1e20 in steps of ten percent, both signs, and zero."""
    limits, value = [], 1e-12
    while value < 1e20:
        limits.append(value)
        value *= 1.1
    return [-v for v in reversed(limits)] + [0.0] + limits


def histogram_raw(
    tag: str,
    least: float,
    most: float,
    number: float,
    total: float,
    squares: float,
    limits: Any,
    counts: Any,
) -> bytes:
    numbers = (least, most, number, total, squares)
    fields = b"".join(wire.double(i, float(value)) for i, value in enumerate(numbers, start=1))
    return _value(tag, wire.data(5, fields + wire.doubles(6, limits) + wire.doubles(7, counts)))


def image(tag: str, pixels: np.ndarray) -> bytes:
    height, width, channels = pixels.shape
    fields = (
        wire.integer(1, height)
        + wire.integer(2, width)
        + wire.integer(3, channels)
        + wire.data(4, png(pixels))
    )
    return _value(tag, wire.data(4, fields))


def audio(tag: str, samples: Any, sample_rate: int) -> bytes:
    array = as_array(samples).astype(np.float64).squeeze()
    if array.ndim != 1:
        raise AssertionError(f"input tensor should be 1 dimensional, got shape {array.shape}")
    fields = (
        wire.single(1, sample_rate) + wire.integer(2, 1) + wire.integer(3, array.size)
        + wire.data(4, wav(array, sample_rate)) + wire.text(5, "audio/wav")
    )  # fmt: skip
    return _value(tag, wire.data(6, fields))


def text(tag: str, words: str) -> bytes:
    return _value(
        f"{tag}/text_summary",
        wire.data(8, _strings(words.encode("utf-8"))),
        wire.data(9, _metadata("text")),
    )


def pr_curve(tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any) -> bytes:
    thresholds = min(thresholds, MOST_THRESHOLDS)
    truth, scores = as_array(labels).astype(np.float64), as_array(predictions)
    weight = 1.0 if weights is None else as_array(weights)
    buckets = np.floor(scores * (thresholds - 1)).astype(np.int64)
    limits = (0, thresholds - 1)
    hits, _ = np.histogram(buckets, bins=thresholds, range=limits, weights=truth * weight)
    misses, _ = np.histogram(buckets, bins=thresholds, range=limits, weights=(1.0 - truth) * weight)
    # At threshold k everything from bucket k on counts as positive.
    tp, fp = np.cumsum(hits[::-1])[::-1], np.cumsum(misses[::-1])[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    little = 1e-7
    return pr_curve_raw(
        tag,
        tp,
        fp,
        tn,
        fn,
        tp / np.maximum(little, tp + fp),
        tp / np.maximum(little, tp + fn),
        thresholds,
    )


def pr_curve_raw(
    tag: str, tp: Any, fp: Any, tn: Any, fn: Any, precision: Any, recall: Any, thresholds: int
) -> bytes:
    table = np.stack([as_array(row) for row in (tp, fp, tn, fn, precision, recall)])
    body = (
        wire.integer(1, FLOAT)
        + wire.data(2, _shape(table.shape))
        + wire.floats(5, table.reshape(-1))
    )
    content = wire.integer(2, min(thresholds, MOST_THRESHOLDS))
    return _value(tag, wire.data(8, body), wire.data(9, _metadata("pr_curves", content)))


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> bytes:
    """`{category: {title: ["Multiline", [tags]] or ["Margin", [value, lower, upper]]}}`."""
    categories = b""
    for category, charts in layout.items():
        body = wire.text(1, category)
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(
                        f"a margin chart has three tags (value, lower, upper), not {len(tags)}"
                    )
                series = b"".join(wire.text(i, tag) for i, tag in enumerate(tags, start=1))
                chart = wire.data(3, wire.data(1, series))
            else:
                chart = wire.data(2, b"".join(wire.text(1, tag) for tag in tags))
            body += wire.data(2, wire.text(1, title) + chart)
        categories += wire.data(2, body)
    fields = wire.data(8, _strings(categories, sizes=())), wire.data(9, _metadata("custom_scalars"))
    return _value("custom_scalars__config__", *fields)


# ---- hyperparameters -------------------------------------------------------------------------
def hparams(
    values: Mapping[str, Any], metrics: Mapping[str, Any], domains: Mapping[str, list[Any]] | None
) -> tuple[bytes, ...]:
    """The three summaries of a session: the experiment, the session's start with its values, its
    end.
    """
    domains = domains or {}
    if not isinstance(domains, dict):
        raise TypeError("parameter: hparam_domain_discrete should be a dictionary, nothing logged.")
    for name, domain in domains.items():
        if (
            name not in values
            or not isinstance(domain, list)
            or not all(isinstance(d, type(values[name])) for d in domain)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as hparam_dict[{name}]."
            )
    infos = start = b""
    for name, value in values.items():
        if value is None:
            continue
        if not isinstance(value, (bool, int, float, str, Tensor, np.generic)):
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        kind, encoded = _struct_value(value)
        start += wire.data(1, wire.text(1, name) + wire.data(2, encoded))
        info = wire.text(1, name) + wire.integer(4, kind)
        if name in domains:
            info += wire.data(5, b"".join(wire.data(1, _struct_value(d)[1]) for d in domains[name]))
        infos += wire.data(4, info)
    infos += b"".join(wire.data(5, wire.data(1, wire.text(2, name))) for name in metrics)
    contents = (
        ("experiment", 2, infos),
        ("session_start_info", 3, start),
        ("session_end_info", 4, wire.integer(1, 1)),
    )
    return tuple(
        _value(f"_hparams_/{name}", wire.data(9, _metadata("hparams", wire.data(number, body))))
        for name, number, body in contents
    )


def _struct_value(value: Any) -> tuple[int, bytes]:
    """(TensorBoard's DataType, a google.protobuf.Value)."""
    if isinstance(value, (bool, np.bool_)):
        return 2, wire.boolean(4, bool(value))
    if isinstance(value, str):
        return 1, wire.text(3, value)
    return 3, wire.double(2, float(as_array(value).item()))
