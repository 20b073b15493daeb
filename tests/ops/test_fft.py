"""Fourier transforms against NumPy's, their gradients, and the short-time transform."""

import numpy as np
import pytest

import pellucid as torch

RNG = np.random.default_rng(11)
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")


def signal(name, *shape):
    x = RNG.standard_normal(shape)
    return x if name in ("rfft", "ihfft", "rfftn") else x + 1j * RNG.standard_normal(shape)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 3, 8])
@pytest.mark.parametrize("name", ONE)
def test_one_dimension(name, n, norm):
    x = signal(name, 2, 5, 3)
    got = getattr(torch.fft, name)(torch.tensor(x), n=n, dim=1, norm=norm)
    np.testing.assert_allclose(
        got.numpy(), getattr(np.fft, name)(x, n=n, axis=1, norm=norm), atol=1e-12
    )


@pytest.mark.parametrize("name", MANY)
def test_several_dimensions(name):
    x = signal(name, 3, 4, 5)
    got = getattr(torch.fft, name)(torch.tensor(x), s=(6, 4), dim=(0, 2))
    np.testing.assert_allclose(
        got.numpy(), getattr(np.fft, name)(x, s=(6, 4), axes=(0, 2)), atol=1e-12
    )
    two = name.replace("n", "2") if name != "ifftn" else "ifft2"
    np.testing.assert_allclose(
        getattr(torch.fft, two)(torch.tensor(x)).numpy(), getattr(np.fft, two)(x), atol=1e-12
    )


def test_hermitian_transforms_over_two_dimensions_undo_each_other():
    x = torch.tensor(RNG.standard_normal((4, 6)))
    np.testing.assert_allclose(
        torch.fft.hfftn(torch.fft.ihfftn(x), s=(4, 6)).numpy(), x.numpy(), atol=1e-12
    )


@pytest.mark.parametrize(
    ("given", "made"), [("float32", "complex64"), ("float64", "complex128"), ("int64", "complex64")]
)
def test_precision(given, made):
    x = torch.ones(4, dtype=getattr(torch, given))
    assert torch.fft.fft(x).dtype is getattr(torch, made)
    assert torch.fft.rfft(x).dtype is getattr(torch, made)
    assert torch.fft.irfft(torch.fft.rfft(x)).dtype is (
        torch.float64 if given == "float64" else torch.float32
    )


def test_gradients_of_energy():
    # Parseval: the energy of the spectrum is n times that of the signal, so its gradient is 2 n x.
    for transform in (torch.fft.fft, torch.fft.ihfft):
        x = torch.tensor(RNG.standard_normal(6), requires_grad=True)
        spectrum = transform(x, norm="ortho")
        energy = (spectrum.abs() ** 2).sum()
        if transform is torch.fft.ihfft:
            # the half that is not stored
            energy = 2 * energy - spectrum[0].abs() ** 2 - spectrum[-1].abs() ** 2
        energy.backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy(), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda x: torch.fft.fft(x, n=0),
            RuntimeError,
            r"Invalid number of data points \(0\) specified",
        ),
        (
            lambda x: torch.fft.fft(x, norm="loud"),
            RuntimeError,
            'Invalid normalization mode: "loud"',
        ),
        (lambda x: torch.fft.fft(x, dim=4), IndexError, "Dimension out of range"),
        (lambda x: torch.fft.rfft(x + 0j), RuntimeError, "rfft expects a real input tensor"),
        (lambda x: torch.fft.fftn(x, dim=(0, 0)), RuntimeError, "FFT dims must be unique"),
        (
            lambda x: torch.fft.fftn(x, s=(2, 2, 2)),
            RuntimeError,
            "Got shape with 3 values but input tensor only has 2 dimensions",
        ),
        (lambda x: torch.fft.rfftn(x, dim=()), RuntimeError, "must transform at least one axis"),
        (lambda x: torch.fft.fft(x.half()), RuntimeError, "Unsupported dtype Half"),
    ],
)
def test_refusals(call, kind, message):
    with pytest.raises(kind, match=message):
        call(torch.ones(2, 4))


def test_frequencies_and_shifts():
    for n in (4, 5):
        np.testing.assert_allclose(torch.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5))
        np.testing.assert_allclose(torch.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5))
        x = torch.arange(n * 3).reshape(n, 3)
        np.testing.assert_array_equal(torch.fft.fftshift(x).numpy(), np.fft.fftshift(x.numpy()))
        assert torch.fft.ifftshift(torch.fft.fftshift(x, 0), 0).equal(x)


@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_the_short_time_transform_and_back(normalized, onesided):
    x = torch.tensor(RNG.standard_normal((2, 50)), requires_grad=True)
    window = torch.tensor(np.hanning(16) + 0.1)
    spectrum = torch.stft(
        x,
        16,
        hop_length=5,
        window=window,
        normalized=normalized,
        onesided=onesided,
        return_complex=True,
    )
    assert spectrum.shape == (2, 9 if onesided else 16, 11)
    back = torch.istft(
        spectrum,
        16,
        hop_length=5,
        window=window,
        normalized=normalized,
        onesided=onesided,
        length=50,
    )
    np.testing.assert_allclose(back.detach().numpy(), x.detach().numpy(), atol=1e-10)
    # Going there and back is the identity, and so is its gradient.
    g = RNG.standard_normal((2, 50))
    back.backward(torch.tensor(g))
    np.testing.assert_allclose(x.grad.numpy(), g, atol=1e-10)


def test_the_short_time_transform_refuses():
    x = torch.ones(50)
    with pytest.raises(
        RuntimeError, match="stft requires the return_complex parameter be given for real inputs"
    ):
        torch.stft(x, 16, window=torch.ones(16))
    with pytest.raises(
        RuntimeError, match="expected 0 < win_length <= n_fft, but got win_length=30"
    ):
        torch.stft(x, 16, win_length=30, window=torch.ones(30), return_complex=True)
    spectrum = torch.stft(x, 16, window=torch.ones(16), return_complex=True)
    with pytest.raises(RuntimeError, match="window overlap add min: 1"):
        torch.istft(spectrum, 16, window=torch.zeros(16))
    with pytest.raises(RuntimeError, match="istft requires a complex-valued input tensor"):
        torch.istft(torch.ones(9, 3), 16, window=torch.ones(16))


@pytest.mark.parametrize(
    ("name", "dims", "strides"),
    [
        ("fft", 0, (1, 12, 3)),
        ("fft", 1, (8, 1, 2)),
        ("irfft", 0, (1, 16, 4)),
        ("fftn", (2, 0), (4, 12, 1)),
        ("irfftn", (1, 0), (1, 4, 8)),
        ("hfftn", (0, 1), (2, 1, 6)),
        ("rfftn", (1, 0), (1, 2, 4)),
        ("ihfftn", (0, 1), (1, 3, 6)),
        ("ihfftn", (2, 1, 0), (8, 4, 1)),
    ],
)
def test_transformed_dimensions_are_the_innermost_in_memory(name, dims, strides):
    x = torch.randn(3, 2, 4)
    x = x if name[0] == "r" or name[:2] == "ih" else torch.complex(x, x.flip(0))
    made = getattr(torch.fft, name)(x, dim=dims)
    assert made.stride() == strides
    found = getattr(np.fft, name, None)
    if found is not None:
        axes = {"axes" if isinstance(dims, tuple) else "axis": dims}
        assert np.allclose(made.numpy(), found(x.numpy(), **axes), atol=1e-4)
