"""The base of rules that compare ranks. They receive no events during the run; they are asked once,
after all ranks have ended.
"""

from __future__ import annotations

from ..rule import Rule
from .job import Job


class RankRule(Rule):
    """Base class of the rules D001 to D020; a subclass reports from `compare`."""

    def compare(self, job: Job) -> None:
        """Look at what the ranks wrote.

        Args:
            job: all ranks.
        """
        raise NotImplementedError
