"""The files in `page/` from which pages are assembled, and their colors."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_PARTS = Path(__file__).parent / "page"


@cache
def part(name: str) -> str:
    """A file of `page/`."""
    return (_PARTS / name).read_text(encoding="utf-8")


@cache
def palette(place: str) -> str:
    """The colors of `base.css` for a part of a page, light and dark, as a style sheet."""
    light, dark = re.findall(r":root \{(.*?)\}", part("base.css"), re.DOTALL)
    return f"{place} {{{light} background: var(--paper); }}\n@media (prefers-color-scheme: dark) {{ {place} {{{dark} }} }}"
