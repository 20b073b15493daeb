"""Images of bytes are resampled with integer weights, as Pillow does it."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.nn import functional as F


def test_known_values():
    x = torch.tensor([[[[0, 50, 100, 200], [255, 10, 20, 30], [3, 4, 5, 6]]]], dtype=torch.uint8)
    assert F.interpolate(x, size=(2, 3), mode="bilinear", antialias=True).tolist() == [
        [[[78, 53, 116], [70, 9, 14]]]
    ]
    assert F.interpolate(x, size=(5, 2), mode="bilinear").tolist() == [
        [[[25, 150], [68, 100], [133, 25], [56, 14], [4, 6]]]
    ]
    assert F.interpolate(x, size=(2, 7), mode="bicubic").tolist()[0][0][0][:3] == [67, 55, 41]


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(5, 7), (20, 24), (11, 30)])
def test_near_what_floats_give(mode, size):
    x = torch.tensor(np.random.default_rng(0).integers(60, 190, (2, 3, 11, 13)), dtype=torch.uint8)
    for antialias in (False, True) if mode != "lanczos" else (True,):
        made = F.interpolate(x, size=size, mode=mode, antialias=antialias)
        wanted = F.interpolate(x.double(), size=size, mode=mode, antialias=antialias)
        assert made.dtype is torch.uint8
        assert (made.double() - wanted).abs().max() < 2.5


def test_refusals():
    x = torch.ones(1, 1, 4, 4)
    for kind in (torch.int8, torch.int64, torch.bool):
        for mode in ("nearest", "bilinear", "bicubic"):
            with pytest.raises(NotImplementedError, match="not implemented for"):
                F.interpolate(x.to(kind), size=3, mode=mode)
    with pytest.raises(
        NotImplementedError, match="\"compute_indices_weights_linear\" not implemented for 'Byte'"
    ):
        F.interpolate(torch.ones(1, 1, 4, dtype=torch.uint8), size=3, mode="linear")
    with pytest.raises(ValueError, match="Lanczos mode requires antialias=True"):
        F.interpolate(x, size=3, mode="lanczos")
    with pytest.raises(ValueError, match="Lanczos mode does not support align_corners=True"):
        F.interpolate(x, size=3, mode="lanczos", antialias=True, align_corners=True)
