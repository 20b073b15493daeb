"""Rounding within floats: values, limits and gradients."""

import pytest

import pellucid as torch


def test_values_and_gradient_per_tensor():
    x = torch.tensor([-1.0, 0.26, 1.25, 99.0, float("nan")], requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)
    assert torch.allclose(y, torch.tensor([-0.3, 0.3, 1.2, 25.2, -0.3]))
    assert y.grad_fn.name() == "FakeQuantizePerTensorAffineCachemaskBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 0, 0]


def test_channels_and_tensors_as_parameters():
    x = torch.tensor([[0.26, 9.0], [0.26, 9.0]], requires_grad=True)
    zeros = torch.zeros(2, dtype=torch.int32)
    y = torch.fake_quantize_per_channel_affine(x, torch.tensor([0.1, 0.5]), zeros, 0, -4, 5)
    assert torch.allclose(y, torch.tensor([[0.3, 0.5], [0.5, 2.5]]))
    y.backward(torch.ones(2, 2))
    assert x.grad.tolist() == [[1, 0], [1, 0]]
    y = torch.fake_quantize_per_tensor_affine(
        x, torch.tensor(0.1), torch.tensor(0, dtype=torch.int32), 0, 255
    )
    assert y.grad_fn.name() == "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0"


def test_refusals():
    x = torch.ones(3)
    with pytest.raises(
        RuntimeError, match="^`zero_point` must be between `quant_min` and `quant_max`."
    ):
        torch.fake_quantize_per_tensor_affine(x, 0.1, 300, 0, 255)
    with pytest.raises(RuntimeError, match="^Zero-point must be Int32, Float or Half, found Long"):
        torch.fake_quantize_per_channel_affine(
            x, torch.ones(3), torch.zeros(3, dtype=torch.int64), 0, 0, 255
        )
    with pytest.raises(
        RuntimeError,
        match="^dimensions of scale and zero-point are not consistent with input tensor",
    ):
        torch.fake_quantize_per_channel_affine(
            x, torch.ones(2), torch.zeros(2, dtype=torch.int32), 0, 0, 255
        )


def test_the_gradient_has_a_gradient():
    x = torch.tensor([0.26, 99.0, -1.0], requires_grad=True)
    y = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255)
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0]
