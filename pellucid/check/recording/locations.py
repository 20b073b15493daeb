"""Keep warnings and tracebacks as the program would have them, without the recording's frames."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType, TracebackType
from typing import Any

from ...errors import warn_at
from .recorder import Recorder

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # all of `check`


class Locations:
    """Replaces `warnings.warn` and `warnings.showwarning` while a program is watched."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._warn: Any = None
        self._show: Any = None
        # Functions and no bound methods: modules that are loaded meanwhile may keep them, and copy
        # what they keep.
        self._our_warn = lambda *args, **kwargs: self.warn(*args, **kwargs)
        self._our_show = lambda *args, **kwargs: self.show(*args, **kwargs)

    def install(self) -> None:
        """Put both in place."""
        self._warn, self._show = warnings.warn, warnings.showwarning
        warnings.warn, warnings.showwarning = self._our_warn, self._our_show

    def remove(self) -> None:
        """Put the old ones back, unless somebody else has replaced them meanwhile."""
        if warnings.warn is self._our_warn:
            warnings.warn = self._warn
        if warnings.showwarning is self._our_show:
            warnings.showwarning = self._show

    def _between(self, frame: FrameType) -> bool:
        name = frame.f_code.co_filename
        return name.startswith(_HERE) or name in self.recorder.engine.machinery

    def clean(self, error: BaseException) -> None:
        """Take the frames of the recording out of the traceback of an exception, and of those that
        it came from.
        """
        waiting, seen = [error], set()
        while waiting:
            current = waiting.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            current.__traceback__ = self._without(current.__traceback__)
            waiting += [e for e in (current.__cause__, current.__context__) if e is not None]

    def _without(self, traceback: TracebackType | None) -> TracebackType | None:
        kept: list[TracebackType] = []
        crossed = False
        while traceback is not None:
            if self._between(traceback.tb_frame):
                crossed = True
            else:
                if crossed and kept and kept[-1].tb_frame.f_code is traceback.tb_frame.f_code:
                    kept.pop()  # the function that handed the call to the recording
                kept.append(traceback)
                crossed = False
            traceback = traceback.tb_next
        for entry, following in zip(kept, [*kept[1:], None]):
            entry.tb_next = following
        return kept[0] if kept else None

    def warn(
        self,
        message: Any,
        category: Any = None,
        stacklevel: int = 1,
        source: Any = None,
        **more: Any,
    ) -> None:
        """`warnings.warn` that does not count frames of the recording."""
        # past the function that stands for `warnings.warn`
        frame: FrameType | None = sys._getframe(2)
        level = max(stacklevel, 1)
        while frame is not None and (level > 1 or self._between(frame)):
            inner = frame
            frame = frame.f_back
            crossed = False
            while frame is not None and self._between(frame):
                frame, crossed = frame.f_back, True
            if crossed and frame is not None and frame.f_code is inner.f_code:
                # the function that handed the call to the recording, and was called again from
                # there
                frame = frame.f_back
            level -= 1
        if frame is None or more:
            self._warn(message, category, stacklevel + 2, source, **more)
            return
        if category is None:
            category = type(message) if isinstance(message, Warning) else UserWarning
        warn_at(frame, message, category, source)

    def show(
        self,
        message: Any,
        category: Any,
        filename: str,
        lineno: int,
        file: Any = None,
        line: Any = None,
    ) -> None:
        """`warnings.showwarning`: what compiled code warned of has the recording's place, and gets
        the user's.
        """
        if filename.startswith(_HERE):
            site = self.recorder.site(3)
            if site is not None:
                filename, lineno = site.key
        self._show(message, category, filename, lineno, file, line)
