"""Layers of images keep the channels closest in memory where those of their input are."""

import pytest

import pellucid as torch
from pellucid.nn import functional as F

LAYERS = {
    "conv": lambda x: F.conv2d(x, torch.ones(5, 4, 3, 3)),
    "conv_transpose": lambda x: F.conv_transpose2d(x, torch.ones(4, 5, 3, 3)),
    "max_pool": lambda x: F.max_pool2d(x, 2),
    "indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool": lambda x: F.adaptive_avg_pool2d(x, 3),
    "one element": lambda x: F.adaptive_avg_pool2d(x, 1),
    "adaptive_max_pool": lambda x: F.adaptive_max_pool2d(x, 3),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "bicubic": lambda x: F.interpolate(x, scale_factor=0.5, mode="bicubic", antialias=True),
    "area": lambda x: F.interpolate(x, size=3, mode="area"),
    "pad": lambda x: F.pad(x, (1, 1, 1, 1)),
    "reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "group_norm": lambda x: F.group_norm(x, 2, torch.ones(4), torch.ones(4)),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_keep_the_format_and_the_values(name):
    x = torch.randn(2, 4, 6, 6)
    plain = LAYERS[name](x)
    x = x.contiguous(memory_format=torch.channels_last).requires_grad_()
    out = LAYERS[name](x)
    n, c, h, w = out.shape
    assert out.stride() == (c * h * w, 1, c * w, c)
    assert plain.is_contiguous() and torch.allclose(out, plain, atol=1e-6)
    if out.requires_grad:
        out.sum().backward()
        assert torch.isfinite(x.grad).all()


def test_the_weight_decides_too():
    weight = torch.ones(5, 4, 3, 3).contiguous(memory_format=torch.channels_last)
    assert F.conv2d(torch.ones(2, 4, 6, 6), weight).is_contiguous(memory_format=torch.channels_last)


def test_parts_of_such_an_image_count():
    x = torch.ones(2, 8, 12, 12).contiguous(memory_format=torch.channels_last)[:, ::2, :, ::2]
    assert F.adaptive_avg_pool2d(x, 3).is_contiguous(memory_format=torch.channels_last)


def test_volumes():
    x = torch.ones(2, 4, 4, 4, 4).contiguous(memory_format=torch.channels_last_3d)
    assert F.interpolate(x, scale_factor=2).is_contiguous(memory_format=torch.channels_last_3d)
    assert F.max_pool3d(x, 2).is_contiguous(memory_format=torch.channels_last_3d)
    assert F.avg_pool3d(x, 2).is_contiguous()


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("sides", [(0, 0, 0, 0), (0, 0, -1, -1)])
def test_padding_gives_memory_of_its_own(mode, sides):
    x = torch.zeros(1, 3, 4, 4)
    out = F.pad(x, sides, mode=mode)
    out.fill_(4)
    assert not x.any() and not out._is_view()


def test_gradients_of_leaves_lie_in_memory_as_the_leaves_do():
    x = torch.ones(2, 4, 6, 6).contiguous(memory_format=torch.channels_last).requires_grad_()
    (F.interpolate(x, scale_factor=2) * 3).sum().backward()
    assert x.grad.stride() == x.stride() and x.grad.eq(12).all()
    w = torch.ones(3, 2).t().requires_grad_()
    (torch.ones(4, 2) @ w).sum().backward()
    assert w.grad.stride() == w.stride() and w.grad.eq(4).all()
