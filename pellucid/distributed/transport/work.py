"""`Work`: the handle that an asynchronous collective returns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ...errors import OperationError
from ...futures import Future
from .engine import Engine, Task


class Work:
    """A collective or a message under way; its tensors may be read when it is over.

    Args:
        engine, task: what runs it; None for one that is over.
        result: what `result()` and the future give.
        finish: called once, when the data are there, by who waits first.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> work = dist.all_reduce(x, async_op=True)
    >>> work.wait(), work.is_completed()
    (True, True)
    >>> dist.destroy_process_group()
    """

    def __init__(self, engine: Engine | None, task: Task | None, result: Any) -> None:
        self._engine, self._task, self._result = engine, task, result
        self._future: Future[Any] | None = None

    def is_completed(self) -> bool:
        """Whether it is over, well or not."""
        if self._task is None or self._task.done:
            return True
        assert self._engine is not None
        self._engine.progress()
        return self._task.done

    def is_success(self) -> bool:
        """Whether it is over and went well."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """What it failed with."""
        return None if self._task is None else self._task.error

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for the end.

        Raises:
            torch.distributed.DistBackendError: a rank is gone, ranks do not agree, or the time is
                over.
        """
        if self._task is not None:
            assert self._engine is not None
            seconds = (
                timeout.total_seconds() if timeout is not None and timeout > timedelta(0) else None
            )
            self._engine.wait(self._task, seconds)
        return True

    synchronize = wait

    def result(self) -> list[Any]:
        """The tensors that it wrote."""
        self.wait()
        return self._result() if callable(self._result) else self._result

    def source_rank(self) -> int:
        """Of a received message: who sent it.

        Raises:
            RuntimeError: this is no message that was received.
        """
        self.wait()
        if self._task is None or self._task.result is None:
            raise OperationError(
                "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
            )
        return int(self._task.result)

    _source_rank = source_rank

    def get_future(self) -> Future[Any]:
        """The result as a future."""
        if self._future is None:
            future = self._future = _Awaited(self)
            if self._task is None or self._task.done:
                self._settle(future)
            else:
                self._task.finished.append(lambda: self._settle(future))
        return self._future

    def _settle(self, future: Future[Any]) -> None:
        if future.done():
            return
        error = self.exception()
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(self._result() if callable(self._result) else self._result)

    def __del__(self, _finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # Nobody will wait: data that has not arrived may still arrive, and the thread sees to it.
        if (
            self._task is not None
            and not self._task.done
            and self._engine is not None
            and not _finalizing()
        ):
            self._engine.in_background()


class _Awaited(Future[Any]):
    """A future whose wait drives its work on."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def wait(self) -> Any:
        if not self.done():
            self._work.wait()
            self._work._settle(self)
        return super().wait()
