"""Boxes in another format than the one that they are computed with."""

from __future__ import annotations

import re
from typing import Any

from ...events import Op, Value, ancestors
from ...rule import Rule

_BOXES = re.compile(r"iou|area|nms|overlap|box|inter", re.I)
_NAMED = re.compile(r"iou|nms|overlap|box|anchor|\brois?\b|proposal|gt_|annotation", re.I)
_ROWS = 8
_SHARE = 0.1  # of the boxes that end before they begin
_MOST = 1 << 18


class BoxFormat(Rule):
    """Boxes that are stored as x, y, width, height (COCO) or around their center (YOLO), and whose
    sizes are taken as x2 - x1: some of them come out below zero.
    """

    slug = "box-format"
    id = "PL924"
    severity = "error"
    summary = "boxes of one format are given to a function of another"
    supersedes = ("loss-at-chance",)
    ops = ("sub",)

    def __init__(self) -> None:
        self._seen: dict[Any, list[int]] = {}  # by place: boxes, and how many have no size
        self._told: set[Any] = set()
        self._boxes: dict[Any, bool] = {}  # by place: whether boxes are spoken of

    def on_op(self, op: Op) -> None:
        """The difference of two sides."""
        if len(op.inputs) != 2 or op.site is None or op.inplace:
            return
        right, left = op.inputs
        base = _side(right, True)
        if base is None or base is not _side(left, False) or base.requires_grad:
            return
        if not self._named(op):
            return
        looked = self.count("looked", op.site)
        out = op.output
        if looked > 64 or out is None or out.numel > _MOST:
            return
        if any(v.requires_grad for o in ancestors([base], 500) for v in o.inputs):
            return  # predicted: they get better
        sizes = out.numpy()
        if sizes is None or not sizes.size:
            return
        sizes = sizes.reshape(-1)
        place = self._called(op)
        held = self._seen.setdefault(place.key, [0, 0])
        held[0] += sizes.size
        held[1] += int((sizes < 0).sum())
        if held[0] >= _ROWS and held[1] >= _SHARE * held[0] and place.key not in self._told:
            self._told.add(place.key)
            self.report(
                place,
                f"{held[1] / held[0]:.0%} of these boxes end before they start: they are stored as x, y, width, height (or by their center), and "
                "are read as x1, y1, x2, y2.",
                evidence={"boxes": held[0], "below_zero": held[1], "computed_at": op.site},
                fix="convert them first: `torch.cat([b[:, :2], b[:, :2] + b[:, 2:]], 1)`, or torchvision.ops.box_convert(b, 'xywh', 'xyxy')",
            )

    def _named(self, op: Op) -> bool:
        """Whether the program calls it boxes: four columns may be anything."""
        if op.site is None:
            return False
        known = self._boxes.get(op.site)
        if known is None:
            sites = self.session.recorder.callers()[:3]
            told = [op.site.text, *(s.text for s in sites), *(s.function for s in sites)]
            known = self._boxes[op.site] = any(_NAMED.search(t) for t in told)
        return known

    def _called(self, op: Op) -> Any:
        """Where the boxes were given to the function that computes with corners."""
        sites = self.session.recorder.callers()
        for site in sites:
            if not _BOXES.search(site.function.rpartition(".")[2]):
                return site
        return op.site


def _side(value: Value, far: bool) -> Value | None:
    """The boxes of which a value is the right or lower side (`far`), or the left or upper one; or
    both of either.
    """
    made = value.producer
    if made is None or not made.inputs:
        return None
    base = made.inputs[0]
    if (
        not base.ndim
        or base.shape[-1] != 4
        or not base.is_floating_point
        and "int" not in base.dtype
    ):
        return None
    if made.name == "unbind":
        return base if value.index in ((2, 3) if far else (0, 1)) else None
    if made.name != "getitem":
        return None
    index = made.args.get("index")
    index = index[-1] if isinstance(index, (tuple, list)) and len(index) > 1 else None
    if isinstance(index, slice):
        pair = (index.start, index.stop, index.step)
        wanted = ((2, None, None), (2, 4, None)) if far else ((None, 2, None), (0, 2, None))
        return base if pair in wanted else None
    return base if index in ((2, 3, -2, -1) if far else (0, 1, -4, -3)) else None
