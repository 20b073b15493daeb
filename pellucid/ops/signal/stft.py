"""The short-time Fourier transform and its inverse (Griffin and Lim 1984)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...arrays.halves import HALVES
from ...core import tracing
from ...core.primitive import TENSORS as F
from ...core.public import FUNCTIONS, public
from ...core.tape import titled
from ...core.tensor import Tensor, make_tensor
from ...core.tracing import constant
from ...errors import DimensionError, OperationError, ShapeError, warn, warn_once
from .._overloads import native
from .._rules import asked_for, require_tensor
from ..shape.view import view


def _described(x: Any, name: str, **rest: Any) -> str:
    """Return the call as PyTorch's messages show it."""
    parts = [
        f"{key}={int(value) if isinstance(value, bool) else value}" for key, value in rest.items()
    ]
    return f"{name}({x.dtype.cpu_name}{list(x._array.shape)}, {', '.join(parts)})"


def _window_text(window: Any) -> str:
    return "None" if window is None else f"{window.dtype.cpu_name}{{{list(window._array.shape)}}}"


def _centred(window: Any, win_length: int, n_fft: int, like: Any, padded: bool = False) -> Tensor:
    """Return the window (by default ones), centered in n_fft values with zeros around it. The zeros
    are padding if `padded`, else joined to it.
    """
    if window is None:
        window = make_tensor(constant(np.ones(win_length, like.real.dtype)))
    if win_length == n_fft:
        return window
    left = (n_fft - win_length) // 2
    if padded:
        return F.constant_pad_nd(window, pad=(left, n_fft - win_length - left), value=0.0)
    zeros = [
        make_tensor(constant(np.zeros(n, window._array.dtype)))
        for n in (left, n_fft - win_length - left)
    ]
    return F.cat(zeros[0], window, zeros[1], dim=0)


@public(methods="=")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of windows of a signal: `(..., frequencies, windows)`.

    Args:
        input: a signal `(n,)` or a batch of them `(b, n)`, real or complex.
        n_fft: samples in a window.
        hop_length: distance of windows, n_fft // 4 by default.
        win_length: length of `window`, n_fft by default; it is put in the middle with zeros around
            it.
        window: factors for the samples of a window; ones by default.
        center: continue the signal on both sides (by `pad_mode`), so that window t is centered at t
            * hop_length.
        normalized: divide by sqrt(n_fft).
        onesided: only the n_fft // 2 + 1 non-negative frequencies (the default for real input).
        return_complex: must be given for real input; False returns real and imaginary parts in a
            last dimension.

    >>> import pellucid as torch
    >>> torch.stft(torch.ones(16), 8, window=torch.ones(8), return_complex=True).shape
    torch.Size([5, 9])
    """
    if center and align_to_window is not None:
        raise OperationError("stft align_to_window should only be set when center = false")
    x: Any = input
    if center:
        asked_for("dim", input)
        amount, shape = int(n_fft // 2), tuple(x.shape)
        x = x.view((1,) * (3 - len(shape)) + shape)
        x = FUNCTIONS["nn.functional"]["pad"](x, [amount, amount], pad_mode)
        x = x.view(x.shape[-len(shape) :])
    return _stft(
        x,
        n_fft,
        hop_length,
        win_length,
        window,
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


@native("_VF.stft")
def _stft(
    x: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Tensor | None,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Tensor:
    """Compute the transform of a signal that is already padded."""
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other windows "
            "such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress this warning and "
            "use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    complex_signal = x.dtype.is_complex or (window is not None and window.dtype.is_complex)
    asked = return_complex
    if return_complex is None:
        if not complex_signal:
            raise OperationError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    elif not return_complex:
        warn_once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all "
            "inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex output "
            "to recover the old return format."
        )
    call = _described(
        x,
        "stft",
        n_fft=n_fft,
        hop_length=hop,
        win_length=length,
        window=_window_text(window),
        normalized=normalized,
        onesided=onesided,
        return_complex=asked,
        align_to_window=align_to_window,
    )
    kind = x.dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise OperationError(f"{call} : expected a tensor of floating point or complex values")
    if not 1 <= x._array.ndim <= 2:
        raise ShapeError(f"{call} : expected a 1D or 2D tensor")
    n = x._array.shape[-1]
    if not 0 < n_fft <= n:
        raise OperationError(f"{call} : expected 0 < n_fft < {n}, but got n_fft={n_fft}")
    if hop <= 0:
        raise OperationError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise OperationError(
            f"{call} : expected 0 < win_length <= n_fft, but got win_length={length}"
        )
    if window is not None and window._array.shape != (length,):
        raise ShapeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window._array.shape)}"
        )
    onesided = not complex_signal if onesided is None else onesided
    if onesided and complex_signal:
        raise OperationError("Cannot have onesided output if window or input is complex")
    single = x._array.ndim == 1
    rows = x.unsqueeze(0) if single else x
    frames = titled(rows.unfold(-1, n_fft, hop), "AsStrided", of=(rows,))
    if window is not None or length < n_fft:
        frames = frames * _centred(window, length, n_fft, x._array)
    scale = 1 / math.sqrt(n_fft) if normalized else 1.0
    last = (frames._array.ndim - 1,)
    if frames._array.dtype in HALVES:
        kind = frames.dtype.scalar_type_name
        raise OperationError(f"MKL FFT doesn't support tensors of type: {kind}")
    if frames.dtype.is_complex:
        made = F.fft_c2c(frames, dim=last, forward=True, scale=scale)
    else:
        made = F.fft_r2c(frames, dim=last, forward=True, scale=scale, onesided=bool(onesided))
    # PyTorch transposes in place
    made = titled(made.transpose(-1, -2), "TransposeBackward1")
    if single:
        made = titled(made.squeeze(0), "SqueezeBackward4")
    return made if return_complex else F.view_as_real(made)


def _check_cover(cover: np.ndarray, call: str) -> None:
    if np.abs(cover).min() <= 1e-11:
        raise OperationError(f"{call} window overlap add min: 1\n[ CPUBoolType{{}} ]")


@public(methods="=")
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` comes closest to `input`: overlapping windows are added and divided
    by the windows' squares.

    Args:
        input: complex `(..., frequencies, windows)`; the other arguments as they were for `stft`.
        length: samples to return; what the windows cover by default.

    Raises:
        RuntimeError: the windows leave samples uncovered, or sizes do not fit.

    >>> import pellucid as torch
    >>> w = torch.ones(8)
    >>> torch.istft(torch.stft(torch.ones(16), 8, window=w, return_complex=True), 8, window=w).shape
    torch.Size([16])
    """
    require_tensor(input, "istft")
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to make the "
            "inversion lossless.To suppress this warning and use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`."
        )
    if not input.dtype.is_complex:
        raise OperationError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    call = _described(
        input,
        "istft",
        n_fft=n_fft,
        hop_length=hop,
        win_length=width,
        window=_window_text(window),
        center=center,
        normalized=normalized,
        onesided=onesided,
        length=length,
        return_complex=return_complex,
    )
    shape = input._array.shape
    if input._array.size == 0:
        raise ShapeError(f"{call} : input tensor cannot be empty.")
    if len(shape) not in (2, 3):
        if len(shape) < 2:
            raise DimensionError(
                f"Dimension out of range (expected to be in range of [-{len(shape) + 1}, {len(shape)}], but got -3)"
            )
        raise ShapeError(f"{call} : expected a tensor with 2 or 3 dimensions, but got {len(shape)}")
    complex_window = window is not None and window.dtype.is_complex
    if onesided is None:
        onesided = shape[-2] != n_fft
    if onesided and shape[-2] != n_fft // 2 + 1:
        raise ShapeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when "
            f"onesided=True, but got {shape[-2]}"
        )
    if not onesided and shape[-2] != n_fft:
        raise ShapeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when onesided=False, "
            f"but got {shape[-2]}"
        )
    if not 0 < hop <= width:
        raise OperationError(f"{call} : expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise OperationError(f"{call} : expected 0 < win_length <= n_fft")
    if window is not None and window._array.shape != (width,):
        raise ShapeError(
            f"{call} : Invalid window shape. window has to be 1D and length of `win_length`"
        )
    if complex_window and not return_complex:
        raise OperationError("Complex windows are incompatible with return_complex=False")
    if return_complex and onesided:
        raise OperationError("Cannot have onesided output if window or input is complex")
    factors = _centred(window, width, n_fft, input._array, True)
    parts = F.view_as_real(input)
    if len(shape) == 2:
        parts, shape = parts.unsqueeze(0), (1, *shape)
    frames = F.view_as_complex(parts.transpose(1, 2))
    last = (2,)
    scale = 1 / math.sqrt(n_fft) if normalized else 1 / n_fft
    if return_complex:
        pieces = F.fft_c2c(frames, dim=last, forward=False, scale=scale)
    else:
        half = frames if onesided else frames.narrow(-1, 0, n_fft // 2 + 1)
        pieces = F.fft_c2r(half, dim=last, forward=False, scale=scale, n=n_fft)
    pieces = pieces * view(factors, (1, 1, n_fft))
    count = shape[-1]
    total = n_fft + hop * (count - 1)
    whole = (shape[0], total)
    signal = F.unfold_grad(pieces, shape=whole, dim=1, size=n_fft, step=hop)
    squares = F.expand(factors.pow(2), shape=(1, count, n_fft))
    cover = F.unfold_grad(squares, shape=(1, total), dim=1, size=n_fft, step=hop)
    start = n_fft // 2 if center else 0
    end = total - n_fft // 2 if center else total
    if length is not None:
        end = min(start + length, total)
    signal, cover = signal.narrow(-1, start, end - start), cover.narrow(1, start, end - start)
    tracing.check(_check_cover, cover._array, call)
    made = signal / cover
    if input.ndim == 2:
        made = titled(made.squeeze(0), "SqueezeBackward1")
    if length is not None and made._array.shape[-1] < length:
        warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            UserWarning,
        )
        made = F.fit_sizes(made, shape=(*made._array.shape[:-1], length))
    return made
