"""How collectives and data-parallel training report to a tracer: the memory they use, and the calls
that each step repeats.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from .recording import Recording
from .refusal import refusal_of
from .watch import hidden, unseen

PHASE = "communication"  # the phase of such calls in a program


class Communication(Recording):
    """The part of a tracer that records collectives."""

    @unseen
    def communicate(
        self, function: Callable[..., Any], args: tuple[Any, ...], writes: tuple[ndarray, ...]
    ) -> Any:
        """Call a function that communicates with other processes. The program repeats the call at
        the same place.

        Arrays among the arguments are read; those in `writes` are written to. Other arguments are
        kept as they are.
        """
        if threading.get_ident() != self.thread:
            return function(*args)
        written: Any = ()
        params: Any = None
        if self.recording:
            try:
                places = [(self.value(a, function.__name__), a) for a in writes]
                written = tuple(
                    self.own(v, a) if v.buffer.kind == "constant" else v for v, a in places
                )
                params = {"args": self.tree(args, function.__name__, True), "kwargs": {}}
            except Exception as error:
                self.refused(refusal_of(error))
        with self.paused():
            result = function(*args)
        if self.recording and params is not None:
            self.program.add(
                function.__name__,
                (),
                (),
                kind="call",
                writes=written,
                params=params,
                record=(function, []),
                phase=PHASE,
                site=self.site(),
            )
        return result

    def aside(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Call a function of the library whose calls the tracer need not watch."""
        return hidden(function)(*args)

    @unseen
    def shared_memory(self, array: ndarray, name: str) -> None:
        """Declare memory that lives as long as the object that communicates through it."""
        if self.recording and self.lookup(array) is None:
            try:
                self.declare(array, "state", name)
            except Exception as error:
                self.refused(refusal_of(error))

    @unseen
    def moved(self, target: ndarray, array: ndarray) -> None:
        """Copy values between a tensor and shared memory, and record the copy."""
        np.copyto(target, array)
        if self.recording:
            try:
                self.copy(target, array)
            except Exception as error:
                self.refused(refusal_of(error))
