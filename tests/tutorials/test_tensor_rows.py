"""The features that five PyTorch tutorials name or show: tensors, indexing, shapes, maths,
broadcasting (rows 1 to 82).
"""

from __future__ import annotations

import numpy as np
import pytest

import pellucid as torch
from pellucid.errors import full_text


def first_line(error: pytest.ExceptionInfo) -> str:
    return str(error.value).splitlines()[0]


class TestCreation:
    def test_rows_1_to_3_tensor_infers_dtypes(self):
        assert torch.tensor([[1.0, 2.0]]).dtype == torch.float32
        assert torch.tensor([1, 2]).dtype == torch.int64
        zero_dim = torch.tensor(3.0, requires_grad=True)
        assert zero_dim.shape == ()
        (zero_dim * 2).backward()
        assert zero_dim.grad.item() == 2.0
        assert torch.tensor([0, 1], dtype=torch.long).dtype == torch.int64

    def test_rows_4_to_11_factories(self):
        assert torch.zeros((2, 3)).shape == torch.zeros(2, 3).shape == (2, 3)
        assert torch.zeros(2, dtype=torch.int32).dtype == torch.int32
        assert torch.ones((2,), dtype=torch.float64).sum().item() == 2.0
        assert torch.arange(3).tolist() == [0, 1, 2] and torch.arange(1, 3).dtype == torch.int64
        assert torch.linspace(0, 1, steps=5).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert torch.randn(2, 3).shape == torch.randn((2, 3)).shape == (2, 3)
        assert torch.randn(()).shape == () and torch.randn(2).dtype == torch.float32
        labels = torch.randint(0, 10, (4,))
        assert labels.shape == (4,) and labels.dtype == torch.int64
        assert torch.zeros_like(labels).tolist() == [0] * 4
        for made in (
            torch.zeros(2, requires_grad=True),
            torch.randn(2, requires_grad=True),
            torch.ones(1, requires_grad=True),
        ):
            assert made.requires_grad and made.is_leaf

    def test_rows_12_to_18_metadata(self):
        x = torch.ones(4, 3)
        assert repr(x.shape) == "torch.Size([4, 3])" and tuple(x.shape) == (4, 3)
        assert repr(x.dtype) == "torch.float32" and x.dtype == torch.float32
        assert torch.tensor(1.0, dtype=torch.double).dtype == torch.float64
        assert str(x.device) == "cpu"
        assert torch.cuda.is_available() is False
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        assert x.to(device) is x

    def test_rows_19_to_26_conversions(self):
        x = torch.arange(6)
        assert x.cpu() is x and x.numel() == 6
        assert float(torch.tensor(2.5)) == 2.5 and torch.tensor(2.5).item() == 2.5
        with pytest.raises(RuntimeError) as error:
            x.item()
        assert first_line(error) == "a Tensor with 6 elements cannot be converted to Scalar"
        assert x.float().dtype == torch.float32
        assert repr(torch.tensor([1.0, 2.0])) == "tensor([1., 2.])"
        assert (
            "shape" in torch.debug.shape_str(x) or "[6]" in torch.debug.shape_str(x)
            if hasattr(torch, "debug")
            else True
        )


class TestIndexing:
    x = torch.arange(12).reshape(3, 4)

    def test_rows_27_to_32_indexing(self):
        x = self.x
        assert (
            x[0, 0].item() == 0
            and x[2].tolist() == [8, 9, 10, 11]
            and x[:, 1].tolist() == [1, 5, 9]
        )
        assert x[1:, 2:].tolist() == [[6, 7], [10, 11]]
        assert x[..., -1].tolist() == [3, 7, 11]
        assert x[x > 8].tolist() == [9, 10, 11]
        rows, cols = torch.tensor([0, 2]), torch.tensor([1, 3])
        assert x[rows[:, None], cols[None, :]].tolist() == [[1, 3], [9, 11]]
        assert x[None].shape == (1, 3, 4)

    def test_rows_33_to_37_masks_and_writes(self):
        x = self.x
        assert (x % 2 == 0).sum().item() == 6
        assert x.masked_fill(x > 5, 0).sum().item() == 15
        assert torch.where(x > 5, x, 0).sum().item() == 51
        g = torch.tensor([-1.0, 2.0])
        g[g < 0] = 0
        assert g.tolist() == [0.0, 2.0]
        v = torch.zeros(2, 2)
        v.view(-1)[3] += 0.5
        assert v[1, 1].item() == 0.5


class TestShapes:
    def test_rows_39_to_49_views(self):
        x = torch.arange(6.0)
        assert x.reshape(2, -1).shape == (2, 3)
        view = x.view(2, 3)
        view[0, 0] = 9
        assert x[0].item() == 9
        assert x.view(2, 3).flatten().shape == (6,)
        assert x.unsqueeze(0).shape == (1, 6) and x.unsqueeze(0).squeeze().shape == (6,)
        t = view.transpose(0, 1)
        assert not t.is_contiguous() and t.contiguous().is_contiguous()
        assert torch.ones(2, 3, 4).permute(2, 0, 1).shape == (4, 2, 3)
        assert view.T.shape == view.t().shape == (3, 2)
        copied = x.clone()
        copied[0] = -1
        assert x[0].item() == 9
        assert view.data_ptr() == x.data_ptr()
        assert t.reshape(6).data_ptr() != x.data_ptr()

    def test_row_50_invalid_reshape(self):
        with pytest.raises(RuntimeError) as error:
            torch.ones(6).reshape(4, 2)
        assert first_line(error) == "shape '[4, 2]' is invalid for input of size 6"

    def test_rows_51_and_52_view_of_permuted(self):
        images = torch.ones(2, 3, 4, 4)
        with pytest.raises(RuntimeError) as error:
            images.permute(0, 2, 3, 1).view(2, -1)
        assert first_line(error).startswith(
            "view size is not compatible with input tensor's size and stride"
        )
        assert "permute" in full_text(error.value)
        assert "reshape" in full_text(error.value)

    def test_rows_53_to_55_exercises(self):
        images = torch.arange(2 * 3 * 2 * 2, dtype=torch.float32).reshape(2, 3, 2, 2)
        tokens = images.permute(0, 2, 3, 1).reshape(2, 4, 3)
        assert tokens[0, 0].tolist() == [0.0, 4.0, 8.0]
        assert images.mean(dim=(2, 3)).shape == (2, 3)


class TestMaths:
    def test_rows_56_to_67(self):
        x = torch.tensor([1.0, 4.0])
        assert (
            (2 + x).tolist() == [3.0, 6.0]
            and (1 - x).tolist() == [0.0, -3.0]
            and (8 / x).tolist() == [8.0, 2.0]
        )
        assert (1.0 / (x - x)).isinf().all()
        assert (x**2).tolist() == [1.0, 16.0]
        assert (x @ x).item() == 17.0 and (torch.eye(2) @ x).tolist() == [1.0, 4.0]
        assert torch.sum(x).item() == 5.0 and torch.mean(x).item() == 2.5
        assert torch.relu(torch.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]
        assert x.clamp(min=2).tolist() == torch.clamp(x, min=2).tolist() == [2.0, 4.0]
        special = torch.log(torch.tensor([0.0, -1.0]))
        assert special[0].item() == -np.inf and np.isnan(special[1].item())
        assert torch.sqrt(x).tolist() == [1.0, 2.0] and torch.exp(torch.zeros(1)).item() == 1.0
        assert torch.abs(-x).tolist() == [1.0, 4.0]
        assert torch.allclose(x, x + 1e-9, rtol=1e-5, atol=1e-8)
        assert torch.isclose(x, x).all()
        assert torch.isnan(special).any()
        assert (
            torch.sigmoid(torch.zeros(1)).item() == 0.5 and torch.tanh(torch.zeros(1)).item() == 0.0
        )

    def test_row_68_argmax_has_no_gradient(self):
        x = torch.randn(3, requires_grad=True)
        assert not x.argmax().requires_grad


class TestBroadcasting:
    def test_rows_69_to_72(self):
        assert (torch.ones(4, 3) + torch.ones(3)).shape == (4, 3)
        assert (torch.ones(3, 1) + torch.ones(3)).shape == (3, 3)

    def test_rows_73_to_75_mismatch(self):
        with pytest.raises(RuntimeError) as error:
            torch.ones(2, 3) + torch.ones(3, 2)
        assert (
            first_line(error)
            == "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1"
        )
        assert (
            "[2, 3]" in full_text(error.value)
            and "[3, 2]" in full_text(error.value)
            and "^" in full_text(error.value)
        )

    def test_row_77_loss_between_unequal_shapes_is_warned_about(self):
        with pytest.warns(
            UserWarning, match=r"Using a target size \(torch.Size\(\[4\]\)\) that is different"
        ):
            torch.nn.functional.mse_loss(torch.ones(4, 1), torch.ones(4))

    def test_rows_80_and_81_gradient_has_the_parameters_shape(self):
        x, w = torch.randn(32, 10), torch.randn(10, requires_grad=True)
        (x * w).sum().backward()
        assert w.grad.shape == w.shape
        assert torch.allclose(w.grad, x.sum(0), atol=1e-5)

    def test_defect_3_suggests_the_product(self):
        with pytest.raises(RuntimeError) as error:
            torch.ones(32, 10) * torch.ones(10, 1)
        assert "@" in full_text(error.value)
