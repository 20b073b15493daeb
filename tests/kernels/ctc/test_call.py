"""The kernels of CTC beside the definition in other operations, and finite differences."""

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid.kernels.ctc import call as ctc
from pellucid.llvm import target
from pellucid.ops.nn import ctc as nn_ctc

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no compiler")
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("padded", [True, False])
def test_losses_and_gradients(dtype, padded, thread_count):
    tolerance = 1e-4 if dtype is np.float32 else 1e-10
    for steps, batch, classes, most in ((12, 6, 5, 4), (30, 2, 40, 20), (3, 9, 3, 3), (0, 2, 3, 1)):
        x = RNG.standard_normal((steps, batch, classes))
        x = (x - np.log(np.exp(x).sum(-1, keepdims=True))).astype(dtype)
        lengths, used = RNG.integers(0, most + 1, batch), RNG.integers(0, steps + 1, batch)
        targets = RNG.integers(0, classes, (batch, most))
        if not padded:
            targets = np.concatenate([row[:n] for row, n in zip(targets, lengths, strict=True)])
        loss, alpha = ctc.losses(x, targets, used, lengths, 1)
        leaf = torch.from_numpy(x).requires_grad_()
        want = nn_ctc._aligned(leaf, targets, used, lengths, 1)
        np.testing.assert_allclose(loss, want.detach().numpy(), rtol=tolerance, atol=tolerance)
        g = np.where(np.isfinite(loss), RNG.standard_normal(batch), 0).astype(dtype)
        made = ctc.gradient(g, x, loss, alpha, targets, used, lengths, 1)
        (grad,) = torch.autograd.grad((want.nan_to_num(0, 0, 0) * torch.from_numpy(g)).sum(), leaf)
        fine = np.isfinite(loss)
        np.testing.assert_allclose(
            made[:, fine], grad.numpy()[:, fine], rtol=tolerance, atol=tolerance
        )
        assert not made[:, g == 0].any()


def test_against_finite_differences():
    t, used, n = torch.tensor([[1, 1, 2], [3, 2, 0]]), torch.tensor([6, 4]), torch.tensor([3, 2])
    x = torch.randn(6, 2, 4, dtype=torch.float64, requires_grad=True)
    loss = lambda x: F.ctc_loss(x.log_softmax(-1), t, used, n, reduction="sum")
    assert torch.autograd.gradcheck(loss, (x,))
    assert torch.autograd.gradgradcheck(loss, (x,))


def test_dtypes_without_a_kernel():
    assert ctc.native("losses", "float16") is None
    assert ctc.losses(np.zeros((1, 1, 2), np.float16), *np.zeros((3, 1), np.int64), 0) is None
