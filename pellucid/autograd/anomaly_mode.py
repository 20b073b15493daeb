"""Anomaly mode traces the first NaN of a backward pass to the forward line that caused it."""

from __future__ import annotations

from ..core.modes import ContextDecorator
from ..core.transforms.anomaly import setting, switch
from ..errors import warn

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class detect_anomaly(ContextDecorator):  # noqa: N801 (PyTorch's name)
    """Context manager: backward raises at the first gradient that holds NaN, and names the forward
    operation and its line.

    Operations recorded inside the block keep their call stack. The first infinite gradient, which
    PyTorch ignores, causes a warning with its line.

    >>> import pellucid as torch, warnings
    >>> warnings.simplefilter("ignore")  # making the context manager warns that it costs time
    >>> x = torch.tensor([-1.0], requires_grad=True)
    >>> with torch.autograd.detect_anomaly():
    ...     x.sqrt().sum().backward()
    Traceback (most recent call last):
    ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(self, check_nan: bool = True) -> None:
        warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
        )
        self.check_nan = check_nan
        self.previous: list[tuple[bool, bool]] = []

    def clone(self) -> detect_anomaly:
        return self.__class__(self.check_nan)

    def __enter__(self) -> None:
        self.previous.append(setting())
        switch(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        switch(*self.previous.pop())


class set_detect_anomaly(ContextDecorator):  # noqa: N801
    """Switch anomaly mode on or off; as a context manager, it restores the previous mode on exit.

    >>> import pellucid as torch
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     print(torch.is_anomaly_enabled())
    True
    >>> torch.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        for at, (name, flag) in enumerate((("enabled", mode), ("check_nan", check_nan)), 1):
            if not isinstance(flag, bool):
                raise TypeError(
                    f"set_anomaly_enabled(): argument '{name}' (position {at}) must be bool, not {type(flag).__name__}"
                )
        self.previous = setting()
        self.mode, self.check_nan = mode, check_nan
        switch(self.mode, self.check_nan)

    def clone(self) -> set_detect_anomaly:
        return self.__class__(self.mode, self.check_nan)

    def __enter__(self) -> None:
        switch(self.mode, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        switch(*self.previous)


def is_anomaly_enabled() -> bool:
    """True while anomaly mode is on.

    >>> import pellucid as torch
    >>> torch.is_anomaly_enabled()
    False
    """
    return setting()[0]


def is_anomaly_check_nan_enabled() -> bool:
    """True if anomaly mode checks gradients for NaN.

    >>> import pellucid as torch
    >>> with torch.autograd.detect_anomaly(check_nan=False):
    ...     print(torch.is_anomaly_check_nan_enabled())
    False
    """
    return setting()[1]
