"""ctc_loss and its gradient beside PyTorch's, and what both refuse."""

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
SIZES = [(12, 3, 5, 4), (40, 2, 30, 17), (1, 2, 3, 1), (9, 4, 3, 5), (6, 2, 4, 0)]


def outcome(library, x, targets, used, lengths, *options):
    leaf = library.from_numpy(x.copy()).requires_grad_()
    given = [library.from_numpy(a) for a in (targets, used, lengths)]
    loss = library.nn.functional.ctc_loss(leaf.log_softmax(-1), *given, *options)
    weight = library.from_numpy(
        np.cos(np.arange(loss.numel())).reshape(tuple(loss.shape)).astype(x.dtype)
    )
    return loss.detach().numpy(), library.autograd.grad((loss * weight).sum(), leaf)[0].numpy()


@pytest.mark.parametrize("kind", [np.int64, np.int32])
@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_and_gradients(reduction, zero_infinity, padded, kind):
    for steps, batch, classes, most in SIZES:
        for dtype, tolerance in ((np.float32, 1e-4), (np.float64, 1e-10)):
            lengths, used = (
                RNG.integers(0, most + 1, batch),
                RNG.integers(max(1, steps // 2), steps + 1, batch),
            )
            targets = RNG.integers(0, classes - 1, (batch, most))
            if not padded:
                targets = np.concatenate([row[:n] for row, n in zip(targets, lengths, strict=True)])
            elif not most:
                continue
            x = RNG.standard_normal((steps, batch, classes)).astype(dtype)
            args = (
                x,
                targets.astype(kind),
                used.astype(kind),
                lengths.astype(kind),
                classes - 1,
                reduction,
                zero_infinity,
            )
            for ours, theirs in zip(outcome(pellucid, *args), outcome(torch, *args), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "targets, used, lengths",
    [
        ([[1, 2], [1, 2]], [11, 10], [2, 2]),
        ([[1, 2], [1, 2]], [10, 10], [3, 2]),
        ([[1, 2], [1, 2]], [-1, 10], [2, 2]),
        ([[1, 2], [1, 2]], [5, 10], [-1, 2]),
        ([1, 2, 3], [10, 10], [2, 2]),
        ([1, 2, 3, 1, 1], [10, 10], [2, 2]),
        ([[1, 2], [1, 2]], [10], [2, 2]),
    ],
)
def test_what_is_refused(targets, used, lengths):
    errors = []
    for library in (torch, pellucid):
        lp = library.zeros(10, 2, 5)
        with pytest.raises(RuntimeError) as error:
            library.nn.functional.ctc_loss(
                lp, *(library.tensor(a) for a in (targets, used, lengths))
            )
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_no_batch():
    x, t = RNG.standard_normal((8, 4)).astype(np.float32), np.array([1, 2, 1])
    for options in ((0, "none"), (0, "mean"), (3, "sum")):
        args = (x, t, np.array([7]), np.array([3]), *options)
        for ours, theirs in zip(outcome(pellucid, *args), outcome(torch, *args), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
