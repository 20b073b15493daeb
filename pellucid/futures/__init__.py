"""`torch.futures`: results that are there later, and what is called when they are.

>>> import pellucid as torch
>>> future = torch.futures.Future()
>>> later = future.then(lambda done: done.value() + 1)
>>> future.set_result(3)
>>> later.wait()
4
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from ..devices import device

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
_TAKES = (
    "{}(): incompatible function arguments. The following argument types are supported:\n"
    "    1. ({}) -> {}\n\nInvoked with: {}"
)
S = TypeVar("S")


class Future(Generic[T]):
    """A result that another thread, or a later line, sets.

    Args:
        devices: devices whose work the result waits for; there is the CPU alone, so it is kept and
            not used.

    >>> import pellucid as torch
    >>> future = torch.futures.Future()
    >>> future.set_result(3)
    >>> future.then(lambda f: f.value() * 2).wait()
    6
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._lock = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []
        self.devices = devices or []
        for given in self.devices:
            if device(given).index is None:
                raise ValueError(f"Expected devices to have indices, got {device(given)}")

    def done(self) -> bool:
        """Whether there is a result, or an error in its place."""
        return self._done

    def wait(self) -> T:
        """The result, after waiting for it.

        Raises:
            what was given to `set_exception`, or what the function before this one in a chain
                raised.
        """
        with self._lock:
            self._lock.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> T:
        """The result, which must be there.

        Raises:
            RuntimeError: there is none yet.
        """
        if not self._done:
            raise RuntimeError(
                'completed() INTERNAL ASSERT FAILED at "/__w/pytorch/pytorch/aten/src/ATen/core/'
                'ivalue_inl.h":1016, please report a bug to PyTorch. '
            )
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future for what `callback(self)` returns, which is called when there is a result; at
        once where there is one.
        """
        self._check_callback(callback, "then", "torch._C.Future")
        following: Future[S] = Future(devices=self.devices)

        def go_on(done: Future[T]) -> None:
            try:
                following.set_result(callback(done))
            except BaseException as error:
                following.set_exception(RuntimeError(_told(error)).with_traceback(None))

        self._call_when_done(go_on)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback(self)` when there is a result; at once where there is one.

        An error of the callback is written to the standard error stream and goes no further.
        """
        self._check_callback(callback, "add_done_callback", "None")

        def go_on(done: Future[T]) -> None:
            try:
                callback(done)
            except Exception as error:
                sys.stderr.write(f"{_told(error)}\n")

        self._call_when_done(go_on)

    def _check_callback(self, callback: Any, name: str, gives: str) -> None:
        if not callable(callback):
            takes = "self: torch._C.Future, arg0: collections.abc.Callable"
            raise TypeError(_TAKES.format(name, takes, gives, f"{self!r}, {callback!r}"))

    def __reduce__(self) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")

    def _call_when_done(self, callback: Callable[[Future[T]], None]) -> None:
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: T) -> None:
        """Give the result, once.

        Raises:
            RuntimeError: there is one already.
        """
        self._finish(result, None)

    def set_exception(self, result: Any) -> None:
        """Give an error in place of a result: `wait` raises it."""
        assert isinstance(result, BaseException), (
            f"{result} is of type {type(result)}, not an Exception."
        )
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future "
                    "can only be marked completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._lock.notify_all()
        for callback in callbacks:
            callback(self)


def _told(error: BaseException) -> str:
    """The words for an error of a callback, with the lines that it passed, the innermost first."""
    text = f"Got the following error when running the callback: {type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)[1:]
    if not frames:
        return text
    lines = [f"  {frame.filename}({frame.lineno}): {frame.name}\n" for frame in reversed(frames)]
    return f"{text}\n\nAt:\n{''.join(lines)}"


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future for the list of the futures, done when all of them are.

    >>> first, second = Future(), Future()
    >>> both = collect_all([first, second])
    >>> first.set_result(1), second.set_result(2)
    (None, None)
    >>> [future.wait() for future in both.wait()]
    [1, 2]
    """
    if not isinstance(futures, Sequence) or not all(isinstance(f, Future) for f in futures):
        takes = "arg0: collections.abc.Sequence[torch._C.Future]"
        raise TypeError(_TAKES.format("_collect_all", takes, "torch._C.Future", repr(futures)))
    together: Future[list[Future[Any]]] = Future()
    left = len(futures)
    lock = threading.Lock()
    if not futures:
        together.set_result([])

    def count(done: Future[Any]) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if not together.done() and done._error is not None:
            together.set_exception(done._error)
        elif last and not together.done():
            together.set_result(futures)

    for future in futures:
        future._call_when_done(count)
    return together


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all futures, after waiting for them.

    >>> import pellucid as torch
    >>> a, b = torch.futures.Future(), torch.futures.Future()
    >>> a.set_result(1)
    >>> b.set_result(2)
    >>> torch.futures.wait_all([a, b])
    [1, 2]
    """
    return [future.wait() for future in collect_all(futures).wait()]
