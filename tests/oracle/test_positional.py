"""The operations of networks that `torch.name` takes in another argument order than
`nn.functional.name`, against PyTorch.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

X = (2, 4, 3, 3)
CALLS = {
    "batch_norm": lambda r, t: r.batch_norm(
        t(X), t((4,)), t((4,)), None, None, True, 0.1, 1e-5, False
    ),
    "batch_norm_eval": lambda r, t: r.batch_norm(
        t(X), t((4,)), None, t((4,)).detach(), t((4,)).detach(), False, 0.1, 1e-5, False
    ),
    "instance_norm": lambda r, t: r.instance_norm(
        t(X), t((4,)), t((4,)), None, None, True, 0.1, 1e-5, False
    ),
    "native_layer_norm": lambda r, t: r.native_layer_norm(t(X), [3, 3], t((3, 3)), None, 1e-5),
    "native_group_norm": lambda r, t: r.native_group_norm(t(X), t((4,)), None, 2, 4, 9, 2, 1e-5),
    "native_batch_norm": lambda r, t: r.native_batch_norm(
        t(X), t((4,)), None, None, None, True, 0.1, 1e-5
    ),
    "native_batch_norm_eval": lambda r, t: r.native_batch_norm(
        t(X), t((4,)), None, t((4,)).detach(), t((4,)).detach(), False, 0.1, 1e-5
    ),
    "native_dropout": lambda r, t: r.native_dropout(t(X), 0.3, False),
    "embedding": lambda r, t: r.embedding(t((5, 2)), r.tensor([1, 4]), 1),
    "bilinear": lambda r, t: r.bilinear(t((2, 3)), t((2, 4)), t((5, 3, 4)), t((5,))),
    "bce": lambda r, t: r.binary_cross_entropy_with_logits(
        t((3,)), t((3,)), None, r.tensor([1.0, 2.0, 3.0]), 2
    ),
    "poisson": lambda r, t: r.poisson_nll_loss(t((3,)), t((3,)), True, True, 1e-8, 0),
    "adaptive_max_pool1d": lambda r, t: r.adaptive_max_pool1d(t((2, 3, 7)), 3),
    "convolution": lambda r, t: r.convolution(
        t(X), t((2, 4, 2, 2)), t((2,)), [1, 1], [1, 0], [1, 1], False, [0, 0], 1
    ),
    "transposed": lambda r, t: r.convolution(
        t(X), t((4, 2, 2, 2)), None, [2, 2], [0, 0], [1, 1], True, [1, 1], 1
    ),
    "affine_grid": lambda r, t: r.affine_grid_generator(t((1, 2, 3)), [1, 1, 3, 4], False),
    "grid_sampler": lambda r, t: r.grid_sampler(t(X), t((2, 2, 2, 2)), 2, 1, False),
    "lstm_cell": lambda r, t: r.lstm_cell(
        t((2, 3)), (t((2, 4)), t((2, 4))), t((16, 3)), t((16, 4)), t((16,)), t((16,))
    ),
    "gru_cell": lambda r, t: r.gru_cell(
        t((2, 3)), t((2, 4)), t((12, 3)), t((12, 4)), t((12,)), t((12,))
    ),
    "rnn_tanh_cell": lambda r, t: r.rnn_tanh_cell(t((2, 3)), t((2, 4)), t((4, 3)), t((4, 4))),
    "rnn_relu_cell": lambda r, t: r.rnn_relu_cell(
        t((2, 3)), t((2, 4)), t((4, 3)), t((4, 4)), t((4,)), t((4,))
    ),
}


def run(root, call):
    rng = np.random.default_rng(0)
    made = []

    def tensor(shape):
        made.append(root.from_numpy(rng.uniform(0.1, 0.9, shape)).requires_grad_())
        return made[-1]

    found = call(root, tensor)
    found = found if isinstance(found, tuple) else (found,)
    sum(f.sum() for f in found if f.requires_grad).backward()
    grads = [x.grad if x.grad is not None else root.zeros_like(x) for x in made]
    return [x.detach().numpy() for x in (*found, *grads)]


@pytest.mark.parametrize("name", CALLS)
def test_results_and_gradients(name):
    theirs, ours = run(torch, CALLS[name]), run(pellucid, CALLS[name])
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout", "feature_dropout"])
def test_dropouts_out_of_training_and_in_place(name):
    for root in (torch, pellucid):
        x = root.ones(2, 3, 4)
        assert root.equal(getattr(root, name)(x, 0.5, False), x)
        assert getattr(root, name + "_")(x, 0.5, True) is x and not root.equal(
            x, root.ones(2, 3, 4)
        )


def test_the_mask_of_native_dropout_says_what_stayed():
    pellucid.manual_seed(0)
    out, mask = pellucid.native_dropout(pellucid.ones(100), 0.25, True)
    assert mask.dtype is pellucid.bool and 0 < mask.sum() < 100
    assert pellucid.allclose(out, mask.float() / 0.75)


def test_feature_dropout_refuses_one_dimension():
    for root in (torch, pellucid):
        with pytest.raises(
            RuntimeError, match="^Feature dropout requires at least 2 dimensions in the input"
        ):
            root.feature_dropout(root.ones(2), 0.5, True)
