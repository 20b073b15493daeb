"""Window functions of signal processing: `torch.hann_window` and `torch.signal.windows`.

Harris, "On the use of windows for harmonic analysis with the discrete Fourier transform", Proc.
IEEE 66 (1978).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ... import dtypes
from ...core.public import public
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError, OperationError, type_name
from ._factory import build, check_memory
from .ranges import line_of


def _kind(dtype: Any, name: str) -> dtypes.dtype:
    kind = dtypes.check_dtype(dtype, name) or dtypes.get_default_dtype()
    if not kind.is_floating_point:
        raise OperationError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={kind.c_name}, "
            "device=cpu, layout=Strided (default), requires_grad=false (default), "
            "pinned_memory=false, memory_format=(nullopt))"
        )
    return kind


def _window(
    name: str,
    length: Any,
    periodic: bool,
    shape_of: Callable[[np.ndarray, int], np.ndarray],
    options: dict[str, Any],
) -> Tensor:
    """Build a window. `shape_of(n, N)` returns its values at n = 0 ... N-1, an array of the dtype
    that is asked for. A periodic window is computed one longer and cut.
    """
    check_memory(options["layout"], options["pin_memory"])
    kind = _kind(options["dtype"], name)
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise ArgumentTypeError(
            f"{name}(): argument 'window_length' (position 1) must be int, not {type_name(length)}"
        )
    if length < 0:
        raise OperationError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )

    def fill(shape: tuple[int, ...], k: Any) -> np.ndarray:
        if length < 2:
            return np.ones(length, k)
        total = length + 1 if periodic else length
        return shape_of(np.arange(total).astype(k), total)[:length].astype(k)

    return build((int(length),), kind, options["device"], options["requires_grad"], fill)


def _line(x: np.ndarray, factor: float, term: float = 0.0) -> np.ndarray:
    """Return `factor * x + term`, with both numbers and each step rounded to the dtype of `x`."""
    held = x.dtype.type
    return x * held(factor) + held(term) if term else x * held(factor)


def _cosine(x: np.ndarray) -> np.ndarray:
    return np.cos(x.astype(np.float64)).astype(x.dtype)


def _hamming(n: np.ndarray, total: int, alpha: float, beta: float) -> np.ndarray:
    return _line(_cosine(_line(n, math.pi * 2 / (total - 1))), -beta, alpha)


def _blackman(n: np.ndarray, total: int) -> np.ndarray:
    turn = _line(n, math.pi / (total - 1))
    twice, once = _line(_cosine(_line(turn, 4)), 0.08), _line(_cosine(_line(turn, 2)), 0.5)
    return _line(twice - once, 1, 0.42)


def _bartlett(n: np.ndarray, total: int) -> np.ndarray:
    rising = _line(n, 2 / (total - 1))
    return np.where(n > (total - 1) // 2, _line(rising, -1, 2), rising)


def _classic(name: str, shape_of: Callable[[np.ndarray, int], np.ndarray], doc: str) -> None:
    def make(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        options = {
            "dtype": dtype,
            "layout": layout,
            "pin_memory": pin_memory,
            "device": device,
            "requires_grad": requires_grad,
        }
        return _window(name, window_length, periodic, shape_of, options)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{doc} of `window_length` values; periodic for spectra, symmetric for filters.

    >>> import pellucid as torch
    >>> torch.{name}(4).shape
    torch.Size([4])
    """
    public()(make)


_classic("hann_window", lambda n, t: _hamming(n, t, 0.5, 0.5), "The Hann window, a raised cosine")
_classic("bartlett_window", _bartlett, "The Bartlett window, a triangle")
_classic("blackman_window", _blackman, "The Blackman window, three cosine terms")


@public()
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The Hamming window `alpha - beta cos(2 pi n / (N - 1))`; periodic for spectra, symmetric for
    filters.

    >>> import pellucid as torch
    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    options = {
        "dtype": dtype,
        "layout": layout,
        "pin_memory": pin_memory,
        "device": device,
        "requires_grad": requires_grad,
    }
    return _window(
        "hamming_window",
        window_length,
        periodic,
        lambda n, t: _hamming(n, t, alpha, beta),
        options,
    )


def _kaiser(n: np.ndarray, total: int, beta: float) -> np.ndarray:
    ratio = 2 * n / (total - 1) - 1
    return np.i0(beta * np.sqrt(np.maximum(1 - ratio * ratio, 0))) / np.i0(beta)


@public()
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The Kaiser window of shape parameter `beta`; periodic for spectra, symmetric for filters.

    >>> import pellucid as torch
    >>> torch.kaiser_window(3, periodic=False, beta=0.0)
    tensor([1., 1., 1.])
    """
    options = {
        "dtype": dtype,
        "layout": layout,
        "pin_memory": pin_memory,
        "device": device,
        "requires_grad": requires_grad,
    }
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        lambda n, t: _kaiser(n.astype(np.float64), t, beta),
        options,
    )


# ---- torch.signal.windows ---------------------------------------------------------------------
# sums of cosines: PyTorch's errors name `general_cosine` for all of them
_COSINES = ("hamming", "hann", "general_hamming", "nuttall")


def _signal(
    name: str, M: int, sym: bool, options: dict[str, Any], shape_of: Any, alone: bool
) -> Tensor:  # noqa: N803
    if isinstance(M, bool) or not hasattr(M, "__index__"):
        M < 0  # noqa: B015  (fails for what has no order, as in PyTorch)
        raise ArgumentTypeError(
            f"{name}(): argument 'M' (position 1) must be int, not {type_name(M)}"
        )
    if name in _COSINES:
        name = "general_cosine"
    if M < 0:
        raise ArgumentValueError(f"{name} requires non-negative window length, got M={M}")
    if options["layout"] is not None and options["layout"] is not dtypes.strided:
        raise ArgumentValueError(
            f"{name} is implemented for strided tensors only, got: {options['layout']}"
        )
    kind = dtypes.check_dtype(options["dtype"], name) or dtypes.get_default_dtype()
    if kind not in (dtypes.float32, dtypes.float64):
        raise ArgumentValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")

    def fill(shape: tuple[int, ...], k: Any) -> np.ndarray:
        if not M or (M == 1 and not alone):
            return np.ones(M, k)

        def line(start: Any, step: Any = 1.0) -> np.ndarray:
            return line_of(start * step, (start + (M - 1)) * step, M, np.dtype(k))

        return shape_of(line, M - 1 if sym or M == 1 else M)

    return build((int(M),), kind, options["device"], options["requires_grad"], fill)


def _publish(
    name: str,
    doc: str,
    shape_of: Any,
    parameters: dict[str, Any],
    check: Any = None,
    alone: bool = False,
) -> None:
    """Define a function of `torch.signal.windows`, which takes M and then the window's own
    parameters as keywords. With `alone`, a window of one value is computed, too, where others are
    just 1.
    """

    def make(
        M: int,  # noqa: N803
        *,
        sym: bool = True,
        dtype: Any = None,
        layout: Any = dtypes.strided,
        device: Any = None,
        requires_grad: bool = False,
        **own: Any,
    ) -> Tensor:
        unknown = set(own) - set(parameters)
        if unknown:
            raise ArgumentTypeError(
                f"{name}() got an unexpected keyword argument '{unknown.pop()}'"
            )
        values = {**parameters, **own}
        if check is not None:
            check(values, sym)
        options = {
            "dtype": dtype,
            "layout": layout,
            "device": device,
            "requires_grad": requires_grad,
        }
        return _signal(
            name, M, sym, options, lambda line, steps: shape_of(line, steps, **values), alone
        )

    make.__name__ = make.__qualname__ = name
    listed = "".join(f"\n        {p}: default {v}." for p, v in parameters.items())
    make.__doc__ = f"""{doc}.

    Args:
        M: number of values.
        sym: symmetric (for filters) or periodic (for spectra).{listed}

    >>> import pellucid as torch
    >>> torch.signal.windows.{name}(3).shape
    torch.Size([3])
    """
    public(namespace="signal.windows")(make)


# The function that computes a window takes `line` and a number of steps. `line(start, step)`
# returns the places start * step ... (start + M - 1) * step in the dtype of the window; the number
# is that of the steps between the ends of the symmetric window.
Line = Callable[..., np.ndarray]


def _exponential(line: Line, steps: int, center: float | None, tau: float) -> np.ndarray:
    return np.exp(-np.abs(line(-(steps / 2 if center is None else center), 1 / tau)))


def _check_exponential(values: dict[str, Any], sym: bool) -> None:
    if values["tau"] <= 0:
        raise ArgumentValueError(f"Tau must be positive, got: {values['tau']} instead.")
    if sym and values["center"] is not None:
        raise ArgumentValueError("Center must be None for symmetric windows")


def _check_std(values: dict[str, Any], sym: bool) -> None:
    if values["std"] <= 0:
        raise ArgumentValueError(
            f"Standard deviation must be positive, got: {values['std']} instead."
        )


def _check_beta(values: dict[str, Any], sym: bool) -> None:
    if values["beta"] < 0:
        raise ArgumentValueError(f"beta must be non-negative, got: {values['beta']} instead.")


def _gaussian(line: Line, steps: int, std: float) -> np.ndarray:
    return np.exp(-(line(-steps / 2.0, 1 / (std * math.sqrt(2))) ** 2))


def _bell(line: Line, steps: int, beta: float) -> np.ndarray:
    held = line(0).dtype.type
    b = held(beta)
    step = held(2.0) * b / held(steps)
    k = line(-steps / 2, step)
    return np.i0(np.sqrt(np.maximum(b * b - k**2, 0))) / np.i0(b)


def _triangular(line: Line, steps: int) -> np.ndarray:
    return 1 - np.abs(line(-steps / 2, 2 / steps))


def _general_cosine(line: Line, steps: int, a: Iterable[float]) -> np.ndarray:
    k = line(0, 2 * math.pi / steps)
    held = k.dtype.type
    return sum((held((-1) ** i * w) * np.cos(held(i) * k) for i, w in enumerate(a)), held(0))


def _check_terms(values: dict[str, Any], sym: bool) -> None:
    if not isinstance(values["a"], Iterable):
        raise ArgumentTypeError("Coefficients must be a list/tuple")
    if not values["a"]:
        raise ArgumentValueError("Coefficients cannot be empty")


_publish(
    "hann", "The Hann window, a raised cosine", lambda k, n: _general_cosine(k, n, (0.5, 0.5)), {}
)
_publish("hamming", "The Hamming window", lambda k, n: _general_cosine(k, n, (0.54, 1 - 0.54)), {})
_publish(
    "blackman",
    "The Blackman window, three cosine terms",
    lambda k, n: _general_cosine(k, n, (0.42, 0.5, 0.08)),
    {},
)
_publish("bartlett", "The Bartlett window, a triangle", _triangular, {})
_publish(
    "nuttall",
    "Nuttall's window, four cosine terms",
    lambda k, n: _general_cosine(k, n, (0.3635819, 0.4891775, 0.1365995, 0.0106411)),
    {},
)
_publish(
    "cosine",
    "The cosine window, half a sine wave",
    lambda k, n: np.sin(k(0.5, math.pi / (n + 1))),
    {},
)
_publish("gaussian", "The Gaussian window", _gaussian, {"std": 1.0}, _check_std, alone=True)
_publish("kaiser", "The Kaiser window", _bell, {"beta": 12.0}, _check_beta)
_publish(
    "exponential",
    "The exponential window",
    _exponential,
    {"center": None, "tau": 1.0},
    _check_exponential,
    alone=True,
)
_publish(
    "general_hamming",
    "The Hamming window of weight `alpha`",
    lambda k, n, alpha: _general_cosine(k, n, (alpha, 1 - alpha)),
    {"alpha": 0.54},
)
_publish(
    "general_cosine",
    "A sum of cosines with the given coefficients",
    _general_cosine,
    {"a": (0.5, 0.5)},
    _check_terms,
)
