"""Numbers that ReduceLROnPlateau watches, and which way they should go."""

from __future__ import annotations

import math
import re
from collections import deque

from ...events import Read, SchedulerStep
from ..leaks.leaks import LOSSES

_LOSS = re.compile(r"(\b|_)(loss|losses|mse|rmse|mae|nll|perplexity)(\b|_)", re.IGNORECASE)
_SCORE = re.compile(r"(\b|_)(acc|accuracy|f1|auc|iou|dice|bleu|psnr)(\b|_)", re.IGNORECASE)


class LossesSeen:
    """Which numbers were losses."""

    def __init__(self) -> None:
        self._losses: deque[float] = deque(maxlen=64)  # that were read last

    def read(self, event: Read) -> None:
        """A loss became a number of Python's."""
        made = event.value.producer
        if made is not None and made.name in LOSSES and isinstance(event.result, float):
            self._losses.append(event.result)

    def backwards(self, event: SchedulerStep) -> tuple[str, str, str] | None:
        """(mode, the other mode, what it gets) of a schedule that takes better for worse."""
        scheduler = event.ref() if event.ref is not None else None
        mode = getattr(scheduler, "mode", None)
        if event.scheduler != "ReduceLROnPlateau" or mode not in ("min", "max"):
            return None
        call = event.site.call if event.site is not None else None
        written = [*call.arguments, *call.keywords.values()] if call is not None else []
        text = written[0] if written else ""
        if "-" in text or "(" in text:
            text = ""  # turned round, or of a function that may do so
        is_loss = bool(_LOSS.search(text)) and not _SCORE.search(text)
        if mode == "max" and (is_loss or self._is_loss(event)):
            return "max", "min", "a loss"
        if mode == "min" and _SCORE.search(text) and not _LOSS.search(text):
            return "min", "max", f"`{text}`"
        return None

    def _is_loss(self, event: SchedulerStep) -> bool:
        given = event.given
        return isinstance(given, float) and math.isfinite(given) and given in self._losses
