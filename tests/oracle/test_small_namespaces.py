"""nn.grad, conv_tbc and copies of views against PyTorch."""

import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(2, 4, 7, 6)), RNG.normal(size=(6, 2, 3, 2))


def both(function, *arrays):
    results = []
    for root in (torch, pellucid):
        leaves = [root.from_numpy(a.copy()).requires_grad_() for a in arrays]
        out = function(root, *leaves)
        grads = root.autograd.grad((out * out).sum(), leaves, allow_unused=True)
        results.append([out.detach().numpy(), *(None if g is None else g.numpy() for g in grads)])
    for a, b in zip(*results, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)


OPTIONS = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": 2}


def test_gradient_of_a_convolution_by_its_input():
    g = RNG.normal(size=(2, 6, 4, 4))
    both(lambda r, w, g: r.nn.grad.conv2d_input(X.shape, w, g, **OPTIONS), W, g)


def test_gradient_of_a_convolution_by_its_weight():
    g = RNG.normal(size=(2, 6, 4, 4))
    both(lambda r, x, g: r.nn.grad.conv2d_weight(x, W.shape, g, **OPTIONS), X, g)


@pytest.mark.parametrize("n", [1, 3])
def test_other_dimensions(n):
    x, w = RNG.normal(size=(2, 2, *(5,) * n)), RNG.normal(size=(3, 2, *(2,) * n))
    g = RNG.normal(size=(2, 3, *(4,) * n))
    both(lambda r, w, g: getattr(r.nn.grad, f"conv{n}d_input")(x.shape, w, g), w, g)
    both(lambda r, x, g: getattr(r.nn.grad, f"conv{n}d_weight")(x, w.shape, g), x, g)


def test_without_grad_nothing_is_recorded():
    with pellucid.no_grad():
        w = pellucid.ones(1, 1, 2, requires_grad=True)
        assert not pellucid.nn.grad.conv1d_input((1, 1, 3), w, pellucid.ones(1, 1, 2)).requires_grad


def test_conv_tbc():
    x, w, b = RNG.normal(size=(5, 2, 3)), RNG.normal(size=(2, 3, 4)), RNG.normal(size=4)
    both(lambda r, x, w, b: r.conv_tbc(x, w, b, 1), x, w, b)
    for root in (torch, pellucid):
        with pytest.raises(RuntimeError, match="^Input must have 3 dims: time, batch, in_channel"):
            root.conv_tbc(root.ones(2, 2), root.ones(2, 2, 2), root.ones(2))


def test_copies_of_complex_views():
    for root in (torch, pellucid):
        z = root.tensor([1 + 2j, 3.0])
        real = root.view_as_real_copy(z)
        assert real.tolist() == [[1.0, 2.0], [3.0, 0.0]] and real.data_ptr() != z.data_ptr()
        assert root.view_as_complex_copy(real).tolist() == z.tolist()


def test_products_of_torch_sparse_on_dense_matrices():
    a, b = RNG.normal(size=(2, 3)), RNG.normal(size=(3, 2))
    both(lambda r, a, b: r.sparse.mm(a, b), a, b)
    both(lambda r, a, b: r.sparse.addmm(r.ones(2, 2, dtype=r.float64), a, b, beta=2.0), a, b)
    for root in (torch, pellucid):
        with pytest.raises(NotImplementedError):
            root.sparse.sampled_addmm(root.ones(2, 2), root.ones(2, 2), root.ones(2, 2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_modes_one_at_a_time():
    for root in (torch, pellucid):
        assert not root.is_autocast_cpu_enabled() and root.is_autocast_cache_enabled()
        with root.autocast("cpu", dtype=root.float16, cache_enabled=False):
            assert root.is_autocast_cpu_enabled() and not root.is_autocast_cache_enabled()
            assert root.get_autocast_cpu_dtype() is root.float16
        root.set_anomaly_enabled(True, False)
        assert root.is_anomaly_enabled() and not root.is_anomaly_check_nan_enabled()
        root.set_anomaly_enabled(False)
    assert pellucid.from_dlpack(pellucid.ones(2)).tolist() == [1.0, 1.0]
    assert torch.from_dlpack(pellucid.to_dlpack(pellucid.ones(2))).tolist() == [1.0, 1.0]
    assert pellucid.torch_version.TorchVersion("2.13.0") > (2, 9)


RETURN_TYPES = {
    "a tuple": lambda root: root.return_types.max((1, 2)),
    "a list": lambda root: root.return_types.max([1, 2]),
    "text": lambda root: root.return_types.topk("ab"),
    "one": lambda root: root.return_types.max((1,)),
    "three": lambda root: root.return_types.max((1, 2, 3)),
    "nothing": lambda root: root.return_types.max(),
    "with a dictionary": lambda root: root.return_types.max((1, 2), {}),
    "fields": lambda root: [
        getattr(root.return_types.max, name)
        for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    ],
    "pickled": lambda root: pickle.loads(pickle.dumps(root.max(root.ones(1, 2), 0))),
    "copied": lambda root: copy.deepcopy(root.max(root.ones(1, 2), 0)),
}


@pytest.mark.parametrize("name", RETURN_TYPES)
def test_return_types_are_made_as_in_pytorch(name):
    def told(root):
        try:
            return repr(RETURN_TYPES[name](root))
        except Exception as error:
            return type(error).__name__, str(error)

    assert told(pellucid) == told(torch)
