"""Class numbers that were averaged with their neighbors: masks that are resized like images."""

from __future__ import annotations

from ...events import VIEWS, Op, Value, lineage

_CASTS = frozenset("long int to type short round floor".split())
_POOLS = frozenset("avg_pool2d avg_pool1d avg_pool3d adaptive_avg_pool2d grid_sample".split())
_MODES = ("bilinear", "bicubic", "trilinear", "linear", "area", "antialias")


def mixed_classes(target: Value) -> Op | None:
    """What computed numbers between those of the classes, before they became whole again."""
    whole = False
    for op in lineage(target, VIEWS | _CASTS | {"stack", "cat"}, 60):
        whole |= op.name in _CASTS
        if op.name == "interpolate" and op.args.get("mode") in _MODES:
            return op if whole else None
        if op.name in _POOLS and op.arg("mode", "bilinear") != "nearest":
            return op if whole else None
    return None
