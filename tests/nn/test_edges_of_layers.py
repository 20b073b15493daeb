"""Layers at the edges of what they take: types, sizes of zero and one, negative slopes, and what
old files hold.
"""

from __future__ import annotations

import copy
import pickle

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F
from pellucid.nn.utils import prune


def images(n: int, dtype: torch.dtype = torch.float32, size: int = 4) -> torch.Tensor:
    return torch.arange(2 * size**n).reshape(1, 2, *[size] * n).to(dtype)


# ---- pools -------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 3])
def test_pools_of_types_without_a_kernel(n):
    name = f"{max(n, 2)}d" + ("_cpu" if n == 3 else "")
    for dtype, title in (
        (torch.int16, "Short"),
        (torch.bool, "Bool"),
        (torch.complex64, "ComplexFloat"),
    ):
        x = images(n, dtype)
        for kind in ("avg", "max"):
            with pytest.raises(
                NotImplementedError,
                match=f"^\"adaptive_{kind}_pool{name}\" not implemented for '{title}'",
            ):
                getattr(F, f"adaptive_{kind}_pool{n}d")(x, 2)
        with pytest.raises(
            NotImplementedError, match=f"^\"avg_pool.*\" not implemented for '{title}'"
        ):
            getattr(F, f"avg_pool{n}d")(x, 2)
    assert getattr(F, f"avg_pool{n}d")(images(n, torch.int64), 2).dtype is torch.int64
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        getattr(F, f"max_pool{n}d")(images(n, torch.bool), 2, return_indices=True)
    assert (
        getattr(F, f"max_pool{n}d")(images(n, torch.uint8), 2, return_indices=True)[0].dtype
        is torch.uint8
    )
    if n == 1:
        with pytest.raises(NotImplementedError, match="max_pool1d_impl"):
            F.max_pool1d(images(1, torch.int64), 2)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_adaptive_pool_of_no_windows_has_no_backward(kind, n):
    x = images(n).requires_grad_()
    y = getattr(F, f"adaptive_{kind}_pool{n}d")(x, 0)
    assert y.shape == (1, 2, *[0] * n)
    with pytest.raises(
        RuntimeError, match="Expected grad_output to have non-zero size for non-batch dimensions"
    ):
        y.sum().backward()


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize(
    "name", ["max_pool1d", "max_pool2d", "max_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d"]
)
def test_backward_notices_overwritten_positions(name, batched):
    x = images(int(name[-2])).requires_grad_()
    y, where = getattr(F, name)(x if batched else x[0], 2, return_indices=True)
    y.sum().backward(retain_graph=True)
    where.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_max_pool1d_with_positions_is_refused_as_a_plane():
    with pytest.raises(RuntimeError, match="Output size is too small"):
        F.max_pool1d(torch.ones(1, 1, 2), 3, return_indices=True)
    with pytest.raises(RuntimeError, match="padW = 2, padH = 0, kW = 2, kH = 1"):
        F.max_pool1d(torch.ones(1, 1, 8), 2, padding=2, dilation=4, return_indices=True)


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pools_refuse_empty_images(n):
    pool = getattr(F, f"fractional_max_pool{n}d")
    assert pool(torch.ones(0, 2, *[6] * n), 2, output_size=2).shape == (0, 2, *[2] * n)
    with pytest.raises(RuntimeError, match=r"but got\[2, 0, .*\] with dimension 1 being empty"):
        pool(torch.ones(2, 0, *[6] * n), 2, output_size=2)
    with pytest.raises(RuntimeError, match="too large relative to input (time|height) 6"):
        pool(torch.ones(1, 1, *[6] * n), 2, output_size=7)
    for sizes in ((), (1,), (1,) * (n + 1)):
        with pytest.raises(
            RuntimeError, match="kernel_size must either be a single Int or tuple of"
        ):
            pool(torch.ones(1, 1, *[6] * n), sizes, output_size=2)
        with pytest.raises(
            RuntimeError, match="output_size must either be a single Int or tuple of"
        ):
            pool(torch.ones(1, 1, *[6] * n), 2, output_size=sizes)
    samples = torch.ones(1, 1, n, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="same dtype as input"):
        pool(torch.ones(1, 1, *[6] * n), 2, output_size=2, _random_samples=samples)


def test_windows_that_do_not_fit():
    with pytest.raises(RuntimeError, match=r"sliding blocks as \(-4, -3\), which is too small"):
        F.fold(torch.ones(1, 12, 12), (4, 5), (2, 2), dilation=8)
    with pytest.raises(RuntimeError, match="expected grid to have size 1 in last dimension"):
        F.grid_sample(torch.ones(1, 1, 2), torch.ones(1, 1, 1, 2), align_corners=False)
    with pytest.raises(RuntimeError, match="with dimension 3 being empty"):
        F.grid_sample(torch.ones(1, 1, 2, 0), torch.ones(1, 1, 1, 2), align_corners=False)
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        F.grid_sample(
            torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 2, dtype=torch.float64), align_corners=False
        )


# ---- normalisation -----------------------------------------------------------------------------
def test_one_value_in_each_group():
    with pytest.raises(
        ValueError,
        match=r"Expected more than 1 value per channel when training, got input size \[1, 4, 1\]",
    ):
        F.group_norm(torch.ones(1, 4, 1), 4)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        nn.GroupNorm(4, 4)(torch.ones(1, 4))
    assert nn.GroupNorm(4, 4)(torch.ones(2, 4)).shape == (2, 4)
    assert torch.group_norm(torch.ones(1, 4, 1), 4).shape == (1, 4, 1)


def test_instance_norm_can_be_derived_from():
    class Flat(nn.InstanceNorm1d):
        def _get_no_batch_dim(self):
            return 3  # samples of (C, H, W)

    assert [getattr(nn, f"InstanceNorm{n}d")(2)._get_no_batch_dim() for n in (1, 2, 3)] == [2, 3, 4]
    assert Flat(2)(torch.ones(2, 3, 4)).shape == (2, 3, 4)


# ---- recurrent layers --------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_sizes_of_zero_in_recurrent_layers(kind):
    for layer, x in (
        (getattr(nn, kind)(3, 4), torch.ones(0, 2, 3)),
        (getattr(nn, kind)(3, 4, batch_first=True), torch.ones(2, 0, 3)),
        (getattr(nn, kind)(3, 4), torch.ones(0, 3)),
    ):
        with pytest.raises(
            RuntimeError, match="Expected sequence length to be larger than 0 in RNN"
        ):
            layer(x)
    assert getattr(nn, kind)(3, 4)(torch.ones(2, 0, 3))[0].shape == (2, 0, 4)
    state = getattr(nn, f"{kind}Cell")(3, 0)(torch.ones(2, 3))
    assert (state[0] if kind == "LSTM" else state).shape == (2, 0)


def test_lstm_cell_wants_a_pair():
    with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
        nn.LSTMCell(3, 4)(torch.ones(2, 3), torch.ones(2, 4))


# ---- activations -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.elu_(x, -2.0),
        lambda x: F.elu(x, -2.0, inplace=True),
        lambda x: F.celu_(x, -2.0),
        lambda x: F.leaky_relu_(x, -2.0),
        lambda x: F.rrelu_(x, -2.0, -1.0),
    ],
)
def test_in_place_with_a_negative_slope_has_no_backward(call):
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    y = call(x * 1)
    with pytest.raises(
        RuntimeError, match="In-place .* backward calculation is triggered with a negative slope"
    ):
        y.sum().backward()
    assert call(torch.tensor([-1.0, 1.0])).shape == (2,)


def test_in_place_with_a_slope_of_zero_has_one():
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    F.leaky_relu_(x * 1, 0.0).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0]
    F.elu(x, -2.0).sum().backward()


# ---- losses ------------------------------------------------------------------------------------
def test_shapes_and_types_of_pairs():
    row = torch.ones(3)
    assert F.multi_margin_loss(row, torch.tensor(1), reduction="none").shape == ()
    assert F.multi_margin_loss(row, torch.tensor([1]), reduction="none").shape == (1,)
    whole = torch.ones(2, 3, dtype=torch.int8)
    assert torch.allclose(F.cosine_similarity(whole, torch.ones(2, 3)), torch.ones(2))
    with pytest.raises(RuntimeError, match="yet common dtype is Char"):
        F.cosine_similarity(whole, whole)


# ---- pruning -----------------------------------------------------------------------------------
def test_parts_that_pruning_methods_are_made_of():
    prune._validate_pruning_amount_init(3)
    with pytest.raises(TypeError, match="Invalid type for amount"):
        prune._validate_pruning_amount_init("half")
    with pytest.raises(ValueError, match="number of parameters to prune=4"):
        prune._validate_pruning_amount(5, 4)
    assert prune._compute_nparams_toprune(2, 10) == 2
    assert prune._compute_nparams_toprune(0.25, 10) == 2
    with pytest.raises(IndexError, match="Invalid index 2"):
        prune._validate_pruning_dim(torch.ones(2, 2), 2)
    assert prune._compute_norm(torch.ones(2, 4), 2, 0).tolist() == [2.0, 2.0]


def test_a_failed_pruning_leaves_the_module_as_it_was():
    class Fails(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            raise ValueError("no mask")

    layer = nn.Linear(2, 2)
    weight = layer.weight
    with pytest.raises(ValueError, match="no mask"):
        Fails.apply(layer, "weight")
    assert layer.weight is weight
    assert sorted(dict(layer.named_parameters())) == ["bias", "weight"]
    assert not dict(layer.named_buffers())


def test_a_pruned_module_is_pickled():
    layer = prune.l1_unstructured(nn.Linear(3, 3), "weight", 4)
    again = pickle.loads(pickle.dumps(layer))
    assert torch.equal(again.weight, layer.weight)
    made = pickle.loads(pickle.dumps(torch.ones(2, requires_grad=True) * 3))
    assert made.is_leaf
    assert made.requires_grad
    assert made.tolist() == [3.0, 3.0]


# ---- modules without a shape yet, and files of older forms -----------------------------------------
@pytest.mark.parametrize(
    ("lazy", "full"),
    [
        (lambda: nn.LazyLinear(3), lambda: nn.Linear(4, 3)),
        (lambda: nn.LazyConv2d(3, 1), lambda: nn.Conv2d(4, 3, 1)),
        (lambda: nn.LazyConvTranspose1d(3, 1), lambda: nn.ConvTranspose1d(4, 3, 1)),
        (lambda: nn.LazyBatchNorm1d(), lambda: nn.BatchNorm1d(4)),
    ],
)
def test_what_has_no_shape_is_not_loaded_into_what_has_one(lazy, full):
    with pytest.raises(RuntimeError, match="^Can't access the shape of an uninitialized parameter"):
        full().load_state_dict(lazy().state_dict())


def test_norms_of_weights_without_a_shape():
    with pytest.raises(ValueError, match="`SpectralNorm` can't have uninitialized parameters"):
        nn.utils.spectral_norm(nn.LazyLinear(3))
    with (
        pytest.warns(FutureWarning),
        pytest.raises(ValueError, match="`WeightNorm` can't have uninitialized parameters"),
    ):
        nn.utils.weight_norm(nn.LazyLinear(3))


def test_weight_norm_reads_its_older_form():
    with pytest.warns(FutureWarning):
        old = nn.utils.weight_norm(nn.Linear(4, 5))
    new = nn.utils.parametrizations.weight_norm(nn.Linear(4, 5))
    new.load_state_dict(old.state_dict())
    x = torch.randn(3, 4)
    assert torch.allclose(old(x), new(x))


def test_spectral_norm_reads_files_from_before_v_was_saved():
    torch.manual_seed(0)
    layer = nn.utils.spectral_norm(nn.Linear(3, 5))
    for _ in range(30):
        layer(torch.ones(1, 3))
    state = layer.state_dict()
    assert state._metadata[""]["spectral_norm"] == {"weight.version": 1}
    old = copy.deepcopy(state)
    del old._metadata[""]["spectral_norm"]
    old["weight"] = layer.weight.detach().clone()
    v = old.pop("weight_v")
    fresh = nn.utils.spectral_norm(nn.Linear(3, 5))
    fresh.load_state_dict(old)
    assert torch.allclose(fresh.weight_v, v, atol=1e-3)
    assert torch.allclose(fresh.eval()(torch.ones(1, 3)), layer.eval()(torch.ones(1, 3)), atol=1e-4)
    del old["weight_orig"]
    with pytest.raises(RuntimeError, match="Missing key"):
        fresh.load_state_dict(old)


def test_functions_stay_when_modules_of_their_name_are_imported():
    import importlib

    from pellucid import autograd, func
    from pellucid.nn import utils

    for package, name in (
        (autograd, "gradcheck"),
        (func, "vmap"),
        (utils, "weight_norm"),
        (utils, "spectral_norm"),
    ):
        module = importlib.import_module(f"{package.__name__}.{name}")
        setattr(package, name, module)  # what the import system does
        assert callable(getattr(package, name))


@pytest.mark.parametrize(
    "given",
    [
        ("cpu", True),
        (None, True),
        ("cpu", torch.device("cpu")),
        (torch.float64, torch.device("cpu")),
    ],
)
def test_arguments_that_no_form_of_to_takes(given):
    for convert in (torch.ones(2).to, nn.Linear(2, 2).to):
        with pytest.raises(
            TypeError, match="^to\\(\\) received an invalid combination of arguments"
        ):
            convert(*given)
    assert nn.Linear(2, 2).to("cpu", torch.float64, True).weight.dtype is torch.float64
    assert torch.ones(2).to(None, torch.float64, True).dtype is torch.float64


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: nn.EmbeddingBag(3, 2)(torch.tensor([0, 1]), torch.tensor([0.0])),
            RuntimeError,
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "  # noqa: ISC004
            "but got torch.FloatTensor instead (while checking arguments for embedding_bag)",
        ),
        (
            lambda: nn.EmbeddingBag(3, 2)(torch.tensor([0, 1]), torch.tensor([0, 5])),
            RuntimeError,
            "offsets[-1] can not be greater than input's length 2 but got offsets[-1] of 5",
        ),
        (
            lambda: nn.MaxUnpool1d(2)(torch.ones(1, 1, 1), torch.tensor([[[9]]])),
            RuntimeError,
            "Found an invalid max index: 9 (output volumes are of size 2x1)",
        ),
        (
            lambda: nn.MaxUnpool2d(2)(torch.ones(1, 1, 1, 1), torch.tensor([[[[-1]]]])),
            RuntimeError,
            "Found an invalid max index: -1 (output volumes are of size 2x2)",
        ),
        (
            lambda: nn.LSTM(3, 4)(torch.ones(5, 2, 3), torch.ones(1, 2, 4)),
            IndexError,
            "index 1 is out of bounds for dimension 0 with size 1",
        ),
    ],
)
def test_words_of_refusals(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("Conv2d", "Conv2d"),
        ("ConvTranspose1d", "ConvTranspose1d"),
        ("AvgPool2d", "AvgPool2d"),
        ("MaxUnpool3d", "MaxUnpool3d"),
        ("ConstantPad1d", "ConstantPad1d"),
        ("ZeroPad2d", "ZeroPad2d"),
        ("ReLU", "ReLU"),
        ("Softmax", "Softmax"),
        ("FractionalMaxPool2d", "FractionalMaxPool2d"),
        ("AdaptiveAvgPool2d", "_AdaptiveAvgPoolNd"),  # what PyTorch's derive from
        ("LazyBatchNorm1d", "_LazyNormBase"),
    ],
)
def test_errors_of_constructors_name_the_layer(name, owner):
    layer = getattr(nn, name)
    with pytest.raises(TypeError) as caught:
        layer(wrong=1)
    assert str(caught.value) == f"{owner}.__init__() got an unexpected keyword argument 'wrong'"


def test_layers_of_programs_inherit_constructors_as_ever():
    class Mine(nn.Conv2d):
        pass

    assert Mine.__init__ is nn.Conv2d.__init__
    assert pickle.loads(pickle.dumps(nn.Conv2d(1, 2, 3))).kernel_size == (3, 3)  # noqa: S301


# ---- without data ------------------------------------------------------------------------------
def test_samplers_bags_and_classes_have_shapes_and_gradients_without_data():
    def meta(*shape, **options):
        return torch.zeros(*shape, device="meta", **options)

    for n, mode in ((2, "bilinear"), (2, "bicubic"), (3, "nearest")):
        image = meta(2, 3, *[4] * n, requires_grad=True)
        grid = F.affine_grid(meta(2, n, n + 1, requires_grad=True), (2, 3, *[5] * n), False)
        F.grid_sample(image, grid, mode, align_corners=False).sum().backward()
        assert image.grad.shape == image.shape and image.grad.is_meta
    counts = meta(6, dtype=torch.int64)
    for mode in ("sum", "mean", "max"):
        for last in (False, True):
            bag = nn.EmbeddingBag(5, 3, mode=mode, include_last_offset=last, device="meta")
            made = bag(counts, meta(4, dtype=torch.int64))
            made.sum().backward()
            assert made.shape == (4 - last, 3) and bag.weight.grad.shape == (5, 3)
        assert bag(counts.view(2, 3)).shape == (2, 3)
    assert F.one_hot(counts, 4).shape == (6, 4)
    with pytest.raises(RuntimeError, match=r"Tensor.item\(\) cannot be called on meta tensors"):
        F.one_hot(counts)
