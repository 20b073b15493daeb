"""Functions that remember what computes few numbers: the same bits, layouts and refusals at every
call.
"""

from __future__ import annotations

import numpy as np
import pytest

import pellucid as torch
from pellucid.ops._few import Few

F = torch.nn.functional
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)

CALLS = {
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "avg_pool2d padded": lambda x: F.avg_pool2d(x, 3, 2, 1),
    "avg_pool2d apart": lambda x: F.avg_pool2d(x, 2, count_include_pad=False, padding=1),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "max_pool2d padded": lambda x: F.max_pool2d(x, 3, 1, 1),
    "avg_pool1d": lambda x: F.avg_pool1d(x.flatten(2), 3),
    "max_pool3d": lambda x: F.max_pool3d(x.contiguous(), 2),  # an image without a batch
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_avg_pool2d of 2": lambda x: F.adaptive_avg_pool2d(x, 2),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "nearest to a size": lambda x: F.interpolate(x, 7),
    "bilinear": lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear"),
    "bilinear corners": lambda x: F.interpolate(x, 5, mode="bilinear", align_corners=True),
    "unfold": lambda x: F.unfold(x, 3, padding=1),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1)),
    "pad reflect": lambda x: (
        F.pad(x, (1, 2), mode="reflect") if x.ndim < 4 else F.pad(x, (1, 2, 1, 0), mode="reflect")
    ),
    "pad circular": lambda x: F.pad(x, (1, 2, 1, 0), mode="circular"),
    "masked_fill": lambda x: x.masked_fill(x > 0, -float("inf")),
    "masked_fill whole": lambda x: torch.masked_fill(x, x > 0, 3),
    "instance_norm": lambda x: F.instance_norm(x),
    "instance_norm near": lambda x: F.instance_norm(x, eps=0.5),
    "trace": lambda x: x[0, 0].trace(),
    "flip": lambda x: x.flip((1, 2)),
    "flip all": lambda x: torch.flip(x, (0, 1, 2, 3)),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "fft": lambda x: torch.view_as_real(torch.fft.fft(x)),
    "ifft": lambda x: torch.view_as_real(torch.fft.ifft(x)),
}


def _image(kind, layout):
    torch.manual_seed(0)
    x = torch.randn(1, 8, 4, 6).to(kind)
    if layout == "last":
        return x.contiguous(memory_format=torch.channels_last)
    return x.transpose(2, 3) if layout == "turned" else x


@pytest.mark.parametrize("layout", ["rows", "last", "turned"])
@pytest.mark.parametrize("name", CALLS)
def test_the_same_at_every_call(name, layout):
    call = CALLS[name]
    F.gelu(torch.ones(4096))  # from here on code is loaded, where it can be compiled
    for kind in FLOATS:
        if kind.itemsize < 4 and "fft" in name:
            continue
        x = _image(kind, layout)
        # the whole way, which a call that is recorded goes
        wanted = call(x.detach().requires_grad_()).detach()
        for _ in range(3):
            made = call(x)
            assert made.dtype is wanted.dtype and made.shape == wanted.shape
            assert made.stride() == wanted.stride()
            a, b = (t.contiguous()._array.tobytes() for t in (made, wanted))
            assert a == b, kind
            assert not made.requires_grad and made.is_leaf


def _places(x):
    return torch.tensor([[3, 0, 1], [2, 2, 4]]), torch.arange(6.0).view(2, 3).to(x.dtype)


OF_PLACES = {
    "gather": lambda x: x.gather(1, _places(x)[0]),
    "gather rows": lambda x: x.gather(0, _places(x)[0] % 2),
    "scatter": lambda x: x[:, :3].contiguous().scatter(-1, _places(x)[0] % 3, _places(x)[1]),
    "scatter_add": lambda x: x[:, :3].contiguous().scatter_add(1, _places(x)[0] % 3, _places(x)[1]),
    "index_add": lambda x: x.index_add(0, torch.tensor([1, 1, 0]), x[[0, 1, 1]]),
    "index_add columns": lambda x: x.index_add(1, torch.tensor([4, 4]), x[:, :2]),
    "index_copy": lambda x: x.index_copy(1, torch.tensor([4, 0]), x[:, :2]),
    "nll_loss": lambda x: F.nll_loss(x, torch.tensor([1, 4])),
    "nll_loss summed": lambda x: F.nll_loss(x, torch.tensor([0, 4]), reduction="sum"),
    "nll_loss alone": lambda x: F.nll_loss(x, torch.tensor([0, 4]), reduction="none"),
    "nll_loss passed over": lambda x: F.nll_loss(x, torch.tensor([0, 4]), ignore_index=4),
}


@pytest.mark.parametrize("name", OF_PLACES)
def test_places_of_few_numbers(name):
    call = OF_PLACES[name]
    F.gelu(torch.ones(4096))
    for kind in FLOATS:
        x = (torch.arange(10.0).view(2, 5) * 0.7 - 3).to(kind)
        wanted, made = call(x.clone().requires_grad_()).detach(), call(x)
        assert made.dtype is kind and made.shape == wanted.shape
        assert made.tolist() == wanted.tolist()


def test_places_outside_are_refused():
    x, labels = torch.zeros(2, 5), torch.tensor([0, 5])
    outside = torch.full((2, 5), 5)
    for call in (
        lambda: x.gather(1, outside),
        lambda: x.scatter(1, outside, x),
        lambda: x.scatter_add(1, outside, x),
        lambda: x.index_add(1, labels, x[:, :2]),
        lambda: x.index_copy(1, labels, x[:, :2]),
        lambda: F.nll_loss(x, labels),
    ):
        with pytest.raises((RuntimeError, IndexError), match="out of (bounds|range)"):
            call()


def test_lists_of_numbers_of_a_dtype():
    for kind in (torch.float32, torch.float64, torch.bfloat16, torch.int64):
        whole = torch.tensor([1, -2, 2**53 + 1], dtype=kind)
        assert whole.dtype is kind
        assert whole.tolist() == torch.tensor([1, -2, 2**53 + 1]).to(kind).tolist()
    for kind in (torch.float32, torch.bfloat16, torch.float16):
        reals = torch.tensor([0.1, 1e300, float("nan")], dtype=kind)
        assert reals[0] == torch.tensor(0.1, dtype=torch.float64).to(kind)
        assert reals[1].isinf() and reals[2].isnan()
    with pytest.raises((RuntimeError, ValueError)):
        torch.tensor([2**70], dtype=torch.int64)


def test_distinct_values_are_the_first_of_their_groups():
    for kind in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        x = torch.tensor([2.0, 0.0, 1.0, 2.0, 2.0, 0.0, 1.0]).to(kind)
        for function in (torch.unique, torch.unique_consecutive):
            alone, (values, _) = function(x), function(x, return_inverse=True)
            assert alone.dtype is kind and alone.tolist() == values.tolist()
    zeros = torch.unique(torch.tensor([0.0, -0.0, float("nan"), float("nan")]))
    assert not zeros[0].signbit() and zeros.numel() == 3
    assert torch.unique(torch.zeros(0)).shape == (0,)


def test_hypot_of_many_and_of_few_is_the_same():
    x = torch.linspace(-3e38, 3e38, 8192)
    y = torch.linspace(1e-40, 7.0, 8192)
    x[0], y[1] = float("inf"), float("nan")
    parts = [torch.hypot(a, b) for a, b in zip(x.split(32), y.split(32), strict=True)]
    torch.testing.assert_close(torch.hypot(x, y), torch.cat(parts), rtol=0, atol=0, equal_nan=True)


def test_what_was_remembered_takes_no_numbers_of_other_types():
    x = torch.ones(1, 4, 4, 4)
    for _ in range(2):
        F.avg_pool2d(x, 2), F.pad(x, (1, 1)), F.unfold(x, 2), F.pixel_shuffle(x, 2)
    for call in (
        lambda: F.avg_pool2d(x, 2.0),
        lambda: F.pad(x, (1, 1.0)),
        lambda: F.unfold(x, 2.0),
        lambda: F.pixel_shuffle(x, 2.0),
        lambda: F.interpolate(x, 8.0 + 2j),
    ):
        with pytest.raises(TypeError):
            call()


def test_recorded_and_watched_calls_go_the_whole_way():
    x = torch.ones(1, 4, 4, 4)
    for _ in range(2):
        F.avg_pool2d(x, 2)
    y = F.avg_pool2d(x.requires_grad_(), 2)
    assert type(y.grad_fn).__name__ == "AvgPool2DBackward0"
    with torch.no_grad():
        assert F.avg_pool2d(x, 2).grad_fn is None
    with torch.inference_mode():
        assert F.avg_pool2d(x.detach(), 2).is_inference()


def test_no_more_is_remembered_than_fits():
    few = Few()
    for n in range(1, 1203):
        few.remember(torch.zeros(n), (), lambda a: np.negative, torch.zeros(n))
    assert 0 < len(few) < 1001
    assert few.made(torch.ones(1202)).sum() == -1202
    assert few.made(torch.ones(5)) is None


def test_what_lies_otherwise_is_not_remembered():
    x = torch.randn(1, 8, 4, 6).contiguous(memory_format=torch.channels_last)
    part = torch.stack([x, x])[1]  # of one image, whose own stride is short
    for call in (lambda: F.avg_pool2d(part, 2), lambda: F.max_pool2d(part, 2)):
        assert call().stride() == call().stride() == call().stride() == (48, 6, 3, 1)
