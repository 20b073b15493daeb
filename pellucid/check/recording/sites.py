"""Where in the user's program something happens: the frames of the engine, of this package and of
libraries are left out.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from typing import Any

from ...core.source import PACKAGE
from ..events import Site

_OUTSIDE = tuple(
    os.path.join(folder, "")
    for folder in {
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        sysconfig.get_path("purelib"),
    }
    if folder
)

ignoring: list[tuple[str, ...]] = []
"""Names of rules of the `ignoring` blocks that are open."""


class Sites:
    """Finds the places of the user's. `root` is the folder of the engine."""

    def __init__(self, root: str) -> None:
        self._root = root
        # by place: rules that `ignoring` was said for when it was passed
        self.ignored: dict[tuple[str, int], set[str]] = {}
        self._library: dict[str, bool] = {}
        self._sites: dict[tuple[Any, int], Site] = {}

    def is_library(self, filename: str) -> bool:
        """True for files that are not the user's: the engine, this package, the standard library,
        installed packages.
        """
        known = self._library.get(filename)
        if known is None:
            # made by `exec`; a shell's, and a notebook's when its source is known, are the user's
            if filename.startswith("<"):
                known = (
                    filename != "<stdin>"
                    and sys.argv[:1] != ["-c"]
                    and not linecache.getlines(filename)
                )
            else:
                path = os.path.abspath(filename)
                known = path.startswith((self._root, PACKAGE, *_OUTSIDE))
                known = (
                    known
                    or f"{os.sep}site-packages{os.sep}" in path
                    or f"{os.sep}dist-packages{os.sep}" in path
                )
            self._library[filename] = known
        return known

    def files(self, *first: str) -> list[str]:
        """The user's files from which something has run, those named first at the beginning."""
        return [f for f in dict.fromkeys((*first, *self._library)) if f and not self.is_library(f)]

    def site(self, depth: int = 1) -> Site | None:
        """The innermost place of the user's."""
        frame: Any = sys._getframe(depth)
        library = self._library
        while frame is not None:
            name = frame.f_code.co_filename
            known = library.get(name)
            if known is None:
                known = self.is_library(name)
            if not known:
                key = (frame.f_code, frame.f_lasti)
                site = self._sites.get(key)
                if site is None:
                    site = self._sites[key] = Site(*key)
                if ignoring:
                    self.ignored.setdefault(site.key, set()).update(
                        word for words in ignoring for word in words
                    )
                return site
            frame = frame.f_back
        return None

    def site_and_caller(self, depth: int = 1) -> tuple[Site | None, Site | None]:
        """The innermost place of the user's, and the place that its function was called from."""
        site = self.site(depth + 1)
        frame: Any = sys._getframe(depth)
        while site is not None and frame is not None and frame.f_code is not site.code:
            frame = frame.f_back
        frame = frame.f_back if site is not None and frame is not None else None
        while frame is not None and self.is_library(frame.f_code.co_filename):
            frame = frame.f_back
        return site, Site(frame.f_code, frame.f_lasti) if frame is not None else None

    def callers(self) -> list[Site]:
        """The places of the user's that led to what happens now, the innermost first."""
        frame: Any = sys._getframe(1)
        found = []
        while frame is not None:
            if not self.is_library(frame.f_code.co_filename):
                found.append(Site(frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return found
