"""`torch.futures`: results that are there later, and what is called when they are.

>>> import pellucid as torch
>>> future = torch.futures.Future()
>>> later = future.then(lambda done: done.value() + 1)
>>> future.set_result(3)
>>> later.wait()
4
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result that another thread, or a later line, sets.

    Args:
        devices: devices whose work the result waits for; there is the CPU alone, so it is kept and
            not used.
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._lock = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Any], Any]] = []
        self.devices = devices or []

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
            raise RuntimeError("isError() called before the future completed")
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future for what `callback(self)` returns, which is called when there is a result; at
        once where there is one.
        """
        following: Future[S] = Future(devices=self.devices)

        def go_on(done: Future[T]) -> None:
            try:
                following.set_result(callback(done))
            except BaseException as error:
                following.set_exception(error)

        self.add_done_callback(go_on)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback(self)` when there is a result; at once where there is one."""
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
                    "Future can only be marked as completed once: the future already holds a result; it cannot take another one"
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._lock.notify_all()
        for callback in callbacks:
            callback(self)


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future for the list of the futures, done when all of them are.

    >>> first, second = Future(), Future()
    >>> both = collect_all([first, second])
    >>> first.set_result(1), second.set_result(2)
    (None, None)
    >>> [future.wait() for future in both.wait()]
    [1, 2]
    """
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
        if last:
            together.set_result(futures)

    for future in futures:
        future.add_done_callback(count)
    return together


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all futures, after waiting for them."""
    return [future.wait() for future in collect_all(futures).wait()]
