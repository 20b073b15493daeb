"""Fake tensors: shapes, dtypes and devices without data."""

import copy

import pytest

import pellucid as torch
from pellucid._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    unset_fake_temporarily,
)

F = torch.nn.functional


def test_factories_and_operators():
    with FakeTensorMode() as mode:
        x = torch.ones(2, 3)
        y = x @ torch.randn(3, 4)
    assert (
        repr(y) == "FakeTensor(..., size=(2, 4))" and type(x) is FakeTensor and x.fake_mode is mode
    )
    assert (x.device.type, x.is_meta, x.shape, x.stride()) == ("cpu", False, (2, 3), (3, 1))
    assert (x + x).shape == (2, 3) and repr(
        x > 0
    ) == "FakeTensor(..., size=(2, 3), dtype=torch.bool)"


def test_modules_and_gradients():
    with FakeTensorMode():
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3),
            torch.nn.BatchNorm2d(8),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(32, 5),
        )
        loss = F.cross_entropy(model(torch.randn(4, 3, 9, 9)), torch.tensor([0, 1, 2, 3]))
        loss.backward()
        assert all(
            type(p.grad) is FakeTensor and p.grad.shape == p.shape for p in model.parameters()
        )
        attention = torch.nn.MultiheadAttention(4, 2, batch_first=True)
        assert attention(*[torch.randn(2, 3, 4)] * 3)[0].shape == (2, 3, 4)
        assert torch.nn.LSTM(3, 5)(torch.randn(4, 2, 3))[0].shape == (4, 2, 5)
        assert torch.nn.Embedding(10, 4)(torch.tensor([[1, 2]])).shape == (1, 2, 4)


def test_operations_that_aten_does_not_have():
    with FakeTensorMode():
        x = torch.randn(1, 1, 4, 4)
        assert (
            F.interpolate(x, scale_factor=2).shape == (1, 1, 8, 8)
            and torch.linalg.inv(x).shape == x.shape
        )
        assert torch.fft.fft(x).dtype == torch.complex64


def test_values_are_refused():
    with FakeTensorMode():
        x = torch.ones(2, 3)
        for read in (
            lambda: x.sum().item(),
            lambda: bool(x.sum() > 0),
            x.tolist,
            lambda: torch.equal(x, x),
        ):
            with pytest.raises(DataDependentOutputException):
                read()
        for count in (x.nonzero, lambda: x[x > 0], x.unique):
            with pytest.raises((DynamicOutputShapeException, DataDependentOutputException)):
                count()
        with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
            x.numpy()
        assert torch.tensor(3).item() == 3


def test_fake_and_real():
    mode, real = FakeTensorMode(), torch.ones(2, 3)
    fake = mode.from_tensor(real)
    assert mode.from_tensor(real) is fake
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        fake + real
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert type(torch.ones(2, 3) + real) is FakeTensor
    with FakeTensorMode():
        other = torch.ones(2, 3)
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        other + fake
    parameter = mode.from_tensor(torch.nn.Parameter(torch.ones(2)))
    assert repr(parameter) == "Parameter(FakeTensor(..., size=(2,), requires_grad=True))"


def test_devices():
    with FakeTensorMode():
        x = torch.ones(2, device="cuda")
        assert (
            repr(x) == "FakeTensor(..., device='cuda:0', size=(2,))"
            and (x + torch.tensor(1.0)).device.type == "cuda"
        )
        with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cpu!"):
            x + torch.ones(2)


def test_writes_and_copies():
    with FakeTensorMode():
        x = torch.ones(2, 3)
        assert x.add_(1) is x and x.t().contiguous().stride() == (2, 1)
        assert repr(copy.deepcopy(x)) == repr(x)
        with unset_fake_temporarily():
            assert type(torch.ones(1)) is torch.Tensor
