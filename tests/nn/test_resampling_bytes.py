"""Images of bytes: weights of 16 bits, rounded after each axis, so that they differ from float
images by one at most.
"""

import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_bytes_are_resampled_as_floats_are(mode, antialias, layout):
    torch.manual_seed(0)
    x = torch.randint(0, 256, (2, 3, 17, 19), dtype=torch.uint8).contiguous(memory_format=layout)
    for size in ((23, 9), (17, 30), (8, 19)):
        result = F.interpolate(x, size=size, mode=mode, antialias=antialias)
        expected = F.interpolate(x.float(), size=size, mode=mode, antialias=antialias).clamp(0, 255)
        assert result.dtype is torch.uint8
        apart = (result.float() - expected).abs()
        assert apart.mean() <= 0.6
        # a cubic overshoots, and what it overshoots by is cut off after each axis
        if mode == "bilinear":
            assert apart.max() <= 1.5
    assert F.interpolate(x, size=(5, 5), mode=mode, antialias=antialias).is_contiguous(
        memory_format=layout
    )


def test_padding_keeps_the_order_of_memory():
    x = torch.randn(1, 2, 3, 3).contiguous(memory_format=torch.channels_last)
    assert torch.constant_pad_nd(x, (1, 2, 3, 4)).is_contiguous(memory_format=torch.channels_last)


def test_a_parameter_dict_sorts_a_plain_dictionary():
    ones = torch.ones(1)
    d = torch.nn.ParameterDict({"z": ones, "y": ones})
    assert list(d) == ["y", "z"]
    d.update({"b": ones, "a": ones})
    assert list(d) == ["y", "z", "a", "b"]
    assert list(torch.nn.ParameterDict([("z", ones), ("y", ones)])) == ["z", "y"]
    with pytest.raises(TypeError, match="ParametersDict.update should be called with an iterable"):
        d.update(3)


def test_modules_change_gradients_in_place():
    m = torch.nn.Linear(2, 2)
    m.weight.grad = torch.ones(2, 2)
    grad = m.weight.grad
    m._apply(lambda t: t.add_(1.0))
    assert m.weight.grad is grad and grad._version == 1
    m.double()
    assert m.weight.grad is grad and grad.dtype is torch.float64


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "trilinear", "nearest"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_two_byte_floats_are_rounded_once(name, mode, compiled):
    torch.manual_seed(0)
    shape = (1, 2, 7, 6, 5) if mode == "trilinear" else (2, 3, 11, 13)
    x = torch.randn(shape).to(getattr(torch, name)).requires_grad_()
    exact = x.detach().double().requires_grad_()

    def f(x):
        return torch.nn.functional.interpolate(x, scale_factor=1.7, mode=mode)

    run = torch.compile(f) if compiled else f
    for _ in range(2):
        made, want = run(x), f(exact)
        x.grad = exact.grad = None
        weights = torch.rand(want.shape).to(x.dtype)
        (made * weights).sum().backward()
        (want * weights.double()).sum().backward()
        assert made.dtype is x.dtype is x.grad.dtype
        for ours, right in ((made, want), (x.grad, exact.grad)):
            assert (ours != right.to(x.dtype)).float().mean() < 0.02
