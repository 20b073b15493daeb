"""`torch.cuda.amp` and `torch.cpu.amp`, which many projects import from."""

import pytest

import pellucid as torch
from pellucid.cpu import amp as cpu_amp
from pellucid.cuda.amp import GradScaler, autocast, custom_bwd, custom_fwd
from pellucid.cuda.amp.common import amp_definitely_not_available


def test_without_a_gpu_they_warn_and_do_nothing():
    with (
        pytest.warns(FutureWarning, match=r"`torch.cuda.amp.autocast\(args...\)` is deprecated"),
        pytest.warns(
            UserWarning, match="CUDA is not available or torch_xla is imported. Disabling autocast."
        ),
    ):
        block = autocast()
    with block:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    with (
        pytest.warns(FutureWarning, match="GradScaler"),
        pytest.warns(UserWarning, match="CUDA is not available.  Disabling"),
    ):
        scaler = GradScaler()
    assert (
        not scaler.is_enabled()
        and scaler.scale(torch.ones(1)).item() == 1
        and amp_definitely_not_available()
    )
    with pytest.warns(FutureWarning, match="is deprecated"):
        assert not GradScaler(enabled=False).is_enabled()


def test_on_the_processor():
    with pytest.warns(
        FutureWarning, match=r"Please use `torch.amp.autocast\('cpu', args...\)` instead"
    ):
        block = cpu_amp.autocast()
    with block:
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    with pytest.warns(FutureWarning, match="is deprecated"):
        assert cpu_amp.GradScaler().is_enabled()


def test_decorators_of_functions():
    with pytest.warns(FutureWarning, match="is deprecated"):

        class Double(torch.autograd.Function):
            @staticmethod
            @custom_fwd
            def forward(ctx, x):
                return x * 2

            @staticmethod
            @custom_bwd
            def backward(ctx, g):
                return g * 2

    x = torch.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]
