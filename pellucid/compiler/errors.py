"""What the compiler says when it cannot."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """Why a function cannot be compiled: one sentence, and the user's line."""

    def __init__(self, reason: str, site: Any = None) -> None:
        self.reason = reason
        self.site = site
        super().__init__(f"{reason} ({site})" if site is not None else reason)
