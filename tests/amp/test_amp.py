"""Mixed precision: what autocast casts, and when the scaler skips a step."""

from __future__ import annotations

import pytest

import pellucid as torch
import pellucid.nn.functional as F


def test_the_policy_of_the_cpu():
    x, w = torch.randn(4, 4), torch.randn(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = x @ w
        assert product.dtype is torch.bfloat16
        assert torch.bmm(x[None], w[None]).dtype is torch.bfloat16
        assert F.linear(x, w).dtype is torch.bfloat16
        assert (x + w).dtype is torch.float32
        assert (product + x).dtype is torch.float32
        assert torch.softmax(product, -1).dtype is torch.bfloat16
        assert F.cross_entropy(product, torch.arange(4)).dtype is torch.float32
        assert F.mse_loss(product, x).dtype is torch.float32
        assert product.prod().dtype is torch.float32
        assert torch.cat([x, product]).dtype is torch.float32
        with torch.autocast("cpu", enabled=False):
            assert (x @ w).dtype is torch.float32
        assert torch.is_autocast_enabled("cpu")
    assert not torch.is_autocast_enabled("cpu")
    assert (x @ w).dtype is torch.float32


def test_parameters_get_float32_gradients():
    layer = torch.nn.Linear(4, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = (
            layer(layer.weight.new_ones(3, 4)).float().pow(2).sum()
            + layer(torch.ones(1, 4)).float().sum()
        )
    loss.backward()
    assert layer.weight.grad.dtype is torch.float32 and layer.weight.grad.abs().sum().item() > 0


def test_autocast_decorates():
    @torch.autocast("cpu", dtype=torch.bfloat16)
    def product(x):
        return x @ x

    assert product(torch.ones(2, 2)).dtype is torch.bfloat16


def test_cuda_is_warned_about_and_ignored():
    with pytest.warns(
        UserWarning, match="CUDA is not available or torch_xla is imported. Disabling autocast."
    ):
        context = torch.autocast("cuda")
    with context:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32
    with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available"):
        scaler = torch.amp.GradScaler("cuda")
    assert not scaler.is_enabled() and scaler.get_scale() == 1.0


def test_the_scaler_skips_overflow_and_adapts():
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)
    scaler.scale((w * 2).sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad.item() == 2.0
    with pytest.raises(RuntimeError, match="unscale_.. has already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.item() == 0.0 and scaler.get_scale() == 8.0
    w.grad = torch.tensor([float("inf")])
    scaler.step(optimizer)
    scaler.update()
    assert w.item() == 0.0 and scaler.get_scale() == 4.0
    state = scaler.state_dict()
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(state)
    assert other.get_scale() == 4.0


def test_update_needs_a_step():
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        torch.amp.GradScaler("cpu").update()


def test_attention_of_several_precisions_is_lowered_as_a_whole():
    q, v, mask = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4).bfloat16(), torch.zeros(3, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for bias in (None, mask, mask == 0):
            for dropout in (0.0, 0.5):
                made = F.scaled_dot_product_attention(q, q, v, bias, dropout)
                assert made.dtype is torch.bfloat16
    with pytest.raises(RuntimeError, match="Expected query, key, and value to have the same dtype"):
        F.scaled_dot_product_attention(q, q, v)


def test_a_block_without_a_dtype_takes_that_of_the_block_around_it():
    x = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.float16):
        with torch.autocast("cpu"):
            assert (x @ x).dtype is torch.float16
        with torch.autocast("cpu", enabled=False):
            assert (x @ x).dtype is torch.float32
            assert torch.get_autocast_dtype("cpu") is torch.float16
    assert torch.get_autocast_dtype("cpu") is torch.bfloat16
