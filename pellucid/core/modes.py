"""Per-thread modes of the engine, and the counter that takes operations off the fast path."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import warn
from .display.assigned import checked_mode


class _State:
    """Process-wide state of the engine.

    `slow` counts the reasons to leave the fast path: observers, inference mode, and the
    interpreters of all threads. It is only a hint; the general path looks at the thread's own
    stack. `structure` counts changes to modules (attributes, parameters, hooks) and settings, so
    that compiled code knows when to check its guards again. With `fill_unset`, new memory is filled
    with nan, for deterministic algorithms. While a function is differentiated by `torch.func`,
    `born` records when each new tensor is made (`core.transforms.capturing`).
    """

    __slots__ = ("born", "fill_unset", "slow", "structure")

    def __init__(self) -> None:
        self.slow = self.structure = 0
        self.born: Any = None
        self.fill_unset = False


class _ThreadModes(threading.local):
    grad = True
    inference = False
    device: Any = None  # set by `with torch.device(...)`
    function_modes: tuple[Any, ...] = ()
    role = "forward"  # "backward" while gradients are recorded (create_graph)
    inside: Any = None  # the innermost transform that differentiates
    run: Any = None  # the innermost running backward (`core.reverse.BackwardPass`)
    # `blocks`: this thread's share of `state.slow` due to inference mode; `function_off` and
    # `function_all_off`: the depth of blocks in which `__torch_function__` of types, or of types
    # and modes, is switched off; `transforms`: the number of active function transforms
    # (`func.grad`), which may differentiate any number of times, and whether inference mode is
    # around them, so that graphs are their own
    blocks = function_off = function_all_off = transforms = beyond_inference = 0

    def __init__(self) -> None:
        # PyTorch computes inf and nan without warnings, so NumPy's are off in each thread that
        # computes.
        np.seterr(all="ignore")
        # NumPy copies operands that are broadcast along rows into buffers of this many elements
        # (8192 by default). If rows are longer than the buffer, its loops need no copy.
        np.setbufsize(512)


state = _State()
local = _ThreadModes()


def is_grad_enabled() -> bool:
    """True when operations on tensors that require grad are recorded.

    >>> import pellucid as torch
    >>> with torch.no_grad():
    ...     print(torch.is_grad_enabled())
    False
    >>> torch.is_grad_enabled()
    True
    """
    return local.grad


def is_inference_mode_enabled() -> bool:
    """True inside `inference_mode`.

    >>> import pellucid as torch
    >>> with torch.inference_mode():
    ...     print(torch.is_inference_mode_enabled())
    True
    """
    return local.inference


class ContextDecorator:
    """A context manager that is a decorator too, for functions, generators and coroutines."""

    def clone(self) -> Any:
        return self.__class__()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(func):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods. To "
                "preserve the current behavior of class decoration, you can directly decorate the `__init__` method and nothing else.",
                FutureWarning,
            )
            func.__init__ = self(func.__init__)  # type: ignore[method-assign]
            return func
        if inspect.isgeneratorfunction(func):
            return self._wrap_generator(func)
        if inspect.iscoroutinefunction(func):

            @functools.wraps(func)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self.clone():
                    return await func(*args, **kwargs)

            return coroutine

        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return func(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, func: Callable[..., Any]) -> Callable[..., Any]:
        # The mode is on only while the generator's body runs, not while its consumer does.
        @functools.wraps(func)
        def generator(*args: Any, **kwargs: Any) -> Any:
            gen = func(*args, **kwargs)
            step, value = gen.send, None
            try:
                while True:
                    with self.clone():
                        item = step(value)
                    try:
                        step, value = gen.send, (yield item)
                    except GeneratorExit:
                        with self.clone():
                            gen.close()
                        raise
                    except BaseException as error:
                        step, value = gen.throw, error
            except StopIteration as stop:
                return stop.value

        return generator

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __enter__")

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no __exit__")


class _GradMode(ContextDecorator):
    """Sets grad mode to `mode` on entry and restores it on exit."""

    mode = True

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        self = super().__new__(cls)
        if orig_func is None:
            return self
        self.__init__()  # type: ignore[misc]
        return self(orig_func)

    def __init__(self, orig_func: Callable[..., Any] | None = None) -> None:
        self.previous: list[bool] = []

    def __enter__(self) -> None:
        self.previous.append(local.grad)
        local.grad = self.mode and not local.inference

    def __exit__(self, *exc: object) -> None:
        local.grad = self.previous.pop()


class no_grad(_GradMode):  # noqa: N801 (PyTorch's name)
    """Context manager and decorator that switches recording off: results of operations inside do not require a gradient.

    Use it for evaluation and for manual updates of parameters; it saves memory and time.

    >>> import pellucid as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    mode = False


class enable_grad(_GradMode):  # noqa: N801
    """Context manager and decorator: operations inside are recorded, also within `no_grad`.

    >>> import pellucid as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.no_grad():
    ...     with torch.enable_grad():
    ...         y = 2 * x
    >>> y.requires_grad
    True
    """

    mode = True


class set_grad_enabled(ContextDecorator):  # noqa: N801
    """Sets grad mode immediately; as a context manager, it restores the previous mode on exit.

    >>> import pellucid as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.set_grad_enabled(False):
    ...     y = 2 * x
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = checked_mode(mode)
        self.previous = local.grad
        local.grad = self.mode and not local.inference

    def clone(self) -> set_grad_enabled:
        return self.__class__(self.mode)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        local.grad = self.previous
        return super().__call__(func)

    def __enter__(self) -> None:
        local.grad = self.mode and not local.inference

    def __exit__(self, *exc: object) -> None:
        local.grad = self.previous


class inference_mode(ContextDecorator):  # noqa: N801
    """Like `no_grad`, but tensors created inside can never be used by autograd afterwards.

    >>> import pellucid as torch
    >>> x = torch.tensor(1.0, requires_grad=True)
    >>> with torch.inference_mode():
    ...     y = 2 * x
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if isinstance(mode, bool):
            return self
        self.__init__(True)  # type: ignore[misc]
        return self(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode if isinstance(mode, bool) else True
        self.previous: list[tuple[bool, bool]] = []

    def clone(self) -> inference_mode:
        return self.__class__(self.mode)

    def __enter__(self) -> None:
        self.previous.append((local.grad, local.inference))
        local.inference = self.mode
        local.grad = not self.mode
        state.slow += self.mode
        local.blocks += self.mode

    def __exit__(self, *exc: object) -> None:
        local.grad, local.inference = self.previous.pop()
        state.slow -= self.mode
        local.blocks -= self.mode
