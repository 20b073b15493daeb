"""Functions that take float32 under autocast, whatever they are given."""

import pytest

import pellucid as torch

F = torch.nn.functional
MATRIX = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.bfloat16)
IMAGE = torch.arange(16.0).reshape(1, 1, 4, 4).bfloat16() / 16
VOLUME = torch.arange(64.0).reshape(1, 1, 4, 4, 4).bfloat16() / 64
CALLS = {
    "grid_sample": lambda: F.grid_sample(IMAGE, torch.zeros(1, 2, 2, 2), align_corners=True),
    "avg_pool3d": lambda: F.avg_pool3d(VOLUME, 2),
    "max_pool3d": lambda: F.max_pool3d(VOLUME, 2),
    "adaptive_avg_pool3d": lambda: F.adaptive_avg_pool3d(VOLUME, 2),
    "adaptive_max_pool3d": lambda: F.adaptive_max_pool3d(VOLUME, 2),
    "fractional_max_pool2d": lambda: F.fractional_max_pool2d(IMAGE, 2, 2),
    "binary_cross_entropy": lambda: F.binary_cross_entropy(IMAGE, IMAGE),
    "reflect": lambda: F.pad(IMAGE, (1, 1, 1, 1), mode="reflect"),
    "replicate": lambda: F.pad(VOLUME, (1,) * 6, mode="replicate"),
    "trace": lambda: MATRIX.trace(),
    "cholesky": lambda: torch.linalg.cholesky(MATRIX),
    "inv": lambda: torch.linalg.inv(MATRIX),
    "solve": lambda: torch.linalg.solve(MATRIX, MATRIX),
    "svd": lambda: torch.linalg.svd(MATRIX).S,
    "svdvals": lambda: torch.linalg.svdvals(MATRIX),
    "eigh": lambda: torch.linalg.eigh(MATRIX).eigenvalues,
    "qr": lambda: torch.linalg.qr(MATRIX).R,
    "lstsq": lambda: torch.linalg.lstsq(MATRIX, MATRIX).solution,
    "fft": lambda: torch.fft.rfft(MATRIX).real,
    "polar": lambda: torch.polar(MATRIX, MATRIX).real,
}


@pytest.mark.parametrize("name", CALLS)
def test_takes_float32_under_autocast(name):
    with torch.autocast("cpu", torch.bfloat16):
        assert CALLS[name]().dtype == torch.float32


def test_others_keep_their_precision():
    with torch.autocast("cpu", torch.bfloat16):
        assert F.pad(VOLUME, (1,) * 6, mode="reflect").dtype == torch.bfloat16
        assert F.avg_pool2d(IMAGE, 2).dtype == torch.bfloat16
