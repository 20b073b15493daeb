"""Single calls at the edges of what PyTorch takes: types without a kernel, values out of range,
limits. The same result or the same refusal.
"""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

TYPES = ("int32", "bool", "float16", "bfloat16", "uint8")
SHAPES = ((2, 2), (2, 3), (0, 3), (3, 0), (2, 0, 0))
ONE = """
cholesky cholesky_inverse linalg.cholesky linalg.cholesky_ex linalg.eigh linalg.eigvalsh linalg.eig linalg.eigvals linalg.svd
linalg.svdvals svd geqrf linalg.qr qr linalg.inv linalg.inv_ex inverse linalg.cond linalg.matrix_rank linalg.det linalg.slogdet
logdet linalg.ldl_factor linalg.ldl_factor_ex linalg.matrix_exp matrix_exp
""".split()
TWO = (
    "linalg.solve linalg.solve_ex triangular_solve cholesky_solve linalg.lstsq linalg.cross".split()
)


def function(library, name):
    found = library
    for part in name.split("."):
        found = getattr(found, part)
    return found


def outcome(library, call):
    """The class and text of an error, or the results' types, shapes and values."""
    try:
        made = call(library)
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]
    if not isinstance(made, (tuple, list, library.Tensor)):
        return type(made).__name__, str(made)
    made = made if isinstance(made, (tuple, list)) else (made,)
    return [
        (str(m.dtype).rpartition(".")[2], tuple(m.shape), m.tolist()) for m in made if m is not None
    ]


def same(call):
    theirs, ours = outcome(torch, call), outcome(pellucid, call)
    if isinstance(theirs, tuple) or isinstance(ours, tuple):
        assert ours == theirs
        return
    assert [t[:2] for t in ours] == [t[:2] for t in theirs]
    for (kind, _, mine), (_, _, wanted) in zip(ours, theirs, strict=True):
        if kind in ("float16", "bfloat16", "float32", "float64", "complex64"):
            np.testing.assert_allclose(
                np.array(mine), np.array(wanted), rtol=2e-2 if "16" in kind else 2e-6, atol=1e-30
            )
        else:
            assert mine == wanted


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_element_types_of_linear_algebra(name):
    for shape, kind in itertools.product(SHAPES, TYPES):

        def call(library, shape=shape, kind=kind):
            x = library.ones(shape, dtype=getattr(library, kind))
            return function(library, name)(x, x) if name in TWO else function(library, name)(x)

        theirs, ours = outcome(torch, call), outcome(pellucid, call)
        if isinstance(theirs, tuple):
            assert ours == theirs, (shape, kind)
        else:  # PyTorch misses its kernel only where there is something to compute
            assert isinstance(ours, list) or "not implemented for" in ours[1], (shape, kind, ours)


LOSSES = "soft_margin_loss multilabel_soft_margin_loss kl_div smooth_l1_loss mse_loss huber_loss l1_loss hinge_embedding_loss".split()


@pytest.mark.parametrize("name", [*LOSSES, "binary_cross_entropy_with_logits"])
def test_element_types_of_losses(name):
    for own, other in itertools.product(
        ("bool", "int32", "uint8", "float16", "float32", "complex64"), ("bool", "int32", "float64")
    ):
        if (
            name == "hinge_embedding_loss"
            and own in ("bool", "complex64")
            or "logits" in name
            and own == "float16"
        ):
            continue
        same(
            lambda library, own=own, other=other: getattr(library.nn.functional, name)(
                library.ones(2, 2, dtype=getattr(library, own)),
                library.ones(2, 2, dtype=getattr(library, other)),
                reduction="sum",
            )
        )


@pytest.mark.parametrize("number", [True, 2.0])
@pytest.mark.parametrize(
    "name", [*LOSSES, "binary_cross_entropy", "binary_cross_entropy_with_logits", "nll_loss"]
)
def test_numbers_for_tensors_of_losses(name, number):
    same(lambda library: getattr(library.nn.functional, name)(library.ones(2, 2), number))
    same(lambda library: getattr(library.nn.functional, name)(number, library.ones(2, 2)))


CALLS = """
F.gaussian_nll_loss(L.tensor([-0.0, 1.0, inf]), L.tensor([1.0, 1.0, 1.0]), L.tensor([inf, inf, inf]), reduction="none")
F.gaussian_nll_loss(L.ones(5), L.ones(5), L.ones(5), eps=nan)
F.gaussian_nll_loss(L.ones(5), L.ones(5), L.zeros(5))
F.gaussian_nll_loss(L.ones(5, dtype=L.uint8), L.ones(5, dtype=L.uint8), L.ones(5, dtype=L.uint8))
slope(lambda v: F.gaussian_nll_loss(L.ones(3), L.zeros(3), v, eps=0.5), L.tensor([0.1, 0.5, 2.0]))
slope(lambda v: F.huber_loss(v, L.zeros(3, dtype=L.bfloat16), delta=inf), L.tensor([0.1, 0.5, 2.0], dtype=L.bfloat16))
F.huber_loss(L.tensor([0.1, inf], dtype=L.bfloat16), L.zeros(2, dtype=L.bfloat16), delta=inf, reduction="none")
F.triplet_margin_loss(L.full((1, 3), 1e30, dtype=L.float64), L.ones(1, 3, dtype=L.float64), L.zeros(1, 3, dtype=L.float64))
F.soft_margin_loss(L.ones(5, 1, 5), L.ones(5, 5))
F.soft_margin_loss(L.ones(5, 5), L.ones(5))
F.soft_margin_loss(L.ones(5), L.ones(5, 5))
F.multilabel_soft_margin_loss(L.tensor(1.0), L.ones(5))
F.margin_ranking_loss(L.ones(2), 3.0, L.ones(2))
F.hinge_embedding_loss(L.tensor([1, 3]), L.tensor([-1, 1]), margin=2.5, reduction="none")
L.linalg.cond(L.ones(2, 0, 3, dtype=L.int32))
L.linalg.cond(L.ones(2, 0, 3), 1)
L.linalg.cond(L.ones(2, 0, 3), "fro")
L.cross(L.ones(2, 3, dtype=L.bool), L.ones(2, 3))
L.cov(L.zeros(1, 0), fweights=L.zeros(0, dtype=L.int32))
L.cov(L.zeros(2, 0), aweights=L.zeros(0))
L.histc(L.ones(3), bins=3, min=-1.5, max=1e300)
L.isin(L.ones(3), L.tensor(True))
L.isin(L.ones(3, dtype=L.complex64), L.ones(20))
L.isin(True, L.ones(3))
L.linspace(L.tensor(inf), -3, 1, dtype=L.int64)
L.linspace(3, 1e30, 4, dtype=L.int64)
L.linspace(3, 1e30, 4, dtype=L.float16)
L.linspace(3, 300, 4, dtype=L.uint8)
L.linspace(3, -1, 4, dtype=L.uint8)
L.linspace(3, 300, 4, dtype=L.bool)
L.logspace(1, 300, 2, 2.0, dtype=L.uint8)
L.logspace(1, L.tensor(2147483648), 2, 2.0, dtype=L.uint8)
L.logspace(1, 3e6, 2, 2.0, dtype=L.float16)
slope(lambda x: L.mvlgamma(x, 1), L.tensor([2.08, -0.0]))
L.ones(2).atan2_(L.ones(2))
F.multi_margin_loss(L.ones(5, 3, dtype=L.float16), L.full((5,), 7))
F.multi_margin_loss(L.ones(5, 3), L.zeros(5))
F.multilabel_margin_loss(L.ones(5, 3, dtype=L.int64), L.zeros(5, 3, dtype=L.int64))
F.multilabel_margin_loss(L.ones(5, 3), L.ones(5, 3, dtype=L.bool))
F.instance_norm(L.ones(2, 3, 4, dtype=L.int64), weight=L.ones(3))
F.instance_norm(L.ones(2, 3, 4, dtype=L.complex64))
F.cross_entropy(L.ones(2, 3, dtype=L.int64), L.zeros(2, dtype=L.int64))
F.cross_entropy(L.ones(2, 3, 4, dtype=L.bool), L.zeros(2, 4, dtype=L.int64))
F.cross_entropy(L.ones(2, 3, dtype=L.uint8), L.ones(2, 3))
F.cross_entropy(L.ones(5, 3), L.zeros(2, 4, dtype=L.int64))
F.max_unpool1d(L.ones(1, 2, 2), 2, 2)
L.tensor([3]).__rdiv__(L.ones(1, dtype=L.bfloat16))
F.grid_sample(L.arange(16.0).reshape(1, 1, 4, 4), L.full((1, 1, 1, 2), nan), "nearest", "border", True)
F.grid_sample(L.arange(64.0).reshape(1, 1, 4, 4, 4), L.full((1, 1, 1, 1, 3), inf), "bilinear", "reflection", True)
L.trapz(L.tensor([[-8, 6], [9, 1]], dtype=L.int64).to(L.uint8), dx=200)
L.trapz(L.tensor([[-8, 6], [9, 0]]), dx=-9223372036854775808)
L.cumulative_trapezoid(L.tensor([[-8, 6], [9, 0]]), dx=2)
F.nll_loss(L.ones(2, 3, dtype=L.int64), L.zeros(2, dtype=L.int64))
F.nll_loss(L.ones(2, 3, 4, dtype=L.int64), L.zeros(2, 4, dtype=L.int64))
L.signal.windows.gaussian(1, std=nan)
L.signal.windows.kaiser(1, beta=nan)
L.signal.windows.exponential(1, center=2.0, sym=False)
L.rad2deg(L.ones(2, dtype=L.complex64))
L.deg2rad(L.ones(2, dtype=L.complex64))
L.mvlgamma(L.tensor(True), 3)
L.ones(3, dtype=L.float16).cumsum_(0, dtype=L.float64)
L.ones(3, dtype=L.float64).cumprod_(0, dtype=L.float64)
L.ones(2, 3, dtype=L.bool).cumprod_(1)
L.ones(2, dtype=L.int32).cumsum_(0)
L.rot90(L.ones(5, 5), 1, (1, 2))
F.group_norm(L.ones(2, 6, 3), 0)
L.round(L.ones(2), decimals=True)
F.conv1d(L.ones(1, 2, 4, dtype=L.bool), L.ones(2, 2, 3))
F.conv2d(L.ones(1, 2, 4, 4, dtype=L.bool), L.ones(2, 2, 3, 3, dtype=L.bool))
F.conv3d(L.ones(1, 2, 4, 4, 4, dtype=L.bool), L.ones(2, 2, 3, 3, 3))
F.conv_transpose1d(L.ones(1, 2, 4, dtype=L.uint8), L.ones(2, 2, 3))
F.conv_transpose3d(L.ones(1, 2, 4, 4, 4, dtype=L.int32), L.ones(2, 2, 3, 3, 3))
F.conv_transpose2d(L.ones(1, 2, 4, 4), L.ones(2, 2, 3, 3), True)
L.trapz(L.zeros(2, 3), L.tensor(1.0))
L.trapz(L.zeros(2, 3), L.zeros(2, 1, 3))
L.trapz(L.tensor(2.0), L.zeros(6))
L.trapz(L.zeros(0, 3, requires_grad=True), dim=0).requires_grad
L.trapz(L.arange(6.0).reshape(2, 3), L.tensor([1.0, 2.0, 4.0]))
L.trapz(L.arange(6.0).reshape(2, 3), L.tensor([[1.0], [3.0]]), dim=0)
L.cumulative_trapezoid(L.zeros(2, 3), L.tensor(1.0))
L.logit(L.tensor([-0.0, 0.0, 1.0, 0.5, 2.0, nan]), -1.0)
L.logit(L.tensor([0.0, 1.0, 0.5, 0.8]), 0.7)
slope(lambda x: L.logit(x, -1.0), L.tensor([-0.0, 0.0, 1.0, 0.5, 2.0]))
slope(lambda x: L.logit(x), L.tensor([-0.0, 0.0, 1.0, 0.5, 2.0]))
slope(lambda x: L.logit(x, 0.7), L.tensor([-0.0, 0.6, 1.0, 0.5, 2.0]))
slope(lambda x: L.masked.normalize(x, 0, 1), L.tensor([[1.0, nan, 3.0], [1.0, 2.0, 3.0]]))
F.grid_sample(L.ones(2, 3, 5, 5, dtype=L.bfloat16), L.zeros(2, 5, 5, 2, dtype=L.bfloat16, requires_grad=True), mode="nearest").requires_grad
F.batch_norm(L.ones(2, 3, 4, dtype=L.uint8), None, None, L.ones(3), L.ones(3), True)
F.batch_norm(L.ones(2, 3, 0, dtype=L.uint8), None, None, L.ones(3), L.ones(3), True)
F.batch_norm(L.ones(2, 3, 0), L.ones(5), L.ones(5))
F.batch_norm(L.ones(2, 0), L.ones(0), L.ones(0), L.ones(0), L.ones(0))
F.instance_norm(L.ones(0, 3, 15), L.ones(3), L.ones(3))
L.nn.InstanceNorm1d(3, affine=True)(L.ones(0, 3, 15))
L.nn.InstanceNorm2d(3, affine=True)(L.ones(4, 3, 0, 0, dtype=L.float64))
F.dropout(L.ones(2), p=nan)
L.normal(L.ones(0, 4, dtype=L.bool), L.ones(0, 4))
L.normal(L.ones(3), L.ones(33))
L.ones(3, dtype=L.complex64).clamp(0)
L.ones(3, dtype=L.complex64).clamp_min(L.ones(3))
L.ones(3).clamp(L.ones(3), L.ones(3, dtype=L.complex64))
L.ones(3).clamp(None, L.ones(3, dtype=L.complex64))
L.zeros(3, 3).index_select(-1, L.tensor([2, 1, 4]))
L.zeros(3, 3).index_select(0, L.tensor([2, 1, 4]))
L.zeros(3, 3, 3).index_select(2, L.tensor([2, 1, 4]))
L.zeros(5, 5).index_add(0, L.tensor([9, -1]), L.ones(2, 5))
L.zeros(5).index_copy(0, L.tensor([9, -1]), L.ones(2))
L.zeros(3, 3).gather(1, L.tensor([[9, -7], [1, 8]]))
L.zeros(3, 3).scatter(0, L.tensor([[1, 1], [8, -7]]), 2.0)
L.zeros(3, 3)[L.tensor([[1, 1], [8, -7]])]
L.amax(L.zeros(3, 0), (0, -1))
L.amax(L.zeros(0, 17), (0, 0))
L.amin(L.zeros(0, 2, dtype=L.complex64), 0)
L.max(L.zeros(0, 3, dtype=L.complex64), 0)
L.nanmedian(L.zeros(0, 3), 0)
L.median(L.zeros(0, 3, dtype=L.bool), 0)
L.mode(L.zeros(0, dtype=L.complex64), 0)
L.aminmax(L.zeros(3, 0, dtype=L.complex64), dim=-1)
L.aminmax(L.tensor(1j), dim=0)
L.addmm(L.ones(()), L.ones(()), L.ones(5, 5))
L.addmm(L.ones(2, 0, dtype=L.bool), L.ones(2, 2, dtype=L.bool), L.ones(2, 3, dtype=L.bool))
L.addmv(L.ones(5, 10), L.ones(5, 5), L.ones(5))
L.mv(L.ones(()), L.ones(5))
L.addbmm(L.ones(()), L.ones(()), L.ones(5, 5, 10))
L.addbmm(L.ones(5, 10), L.ones(5, 5, 5), L.ones(5, 4, 10))
L.addbmm(L.ones(3), L.ones(5, 5, 5), L.ones(5, 5, 10))
L.addbmm(L.ones(3), L.ones(5, 5), L.ones(5, 5))
L.baddbmm(L.ones(1), L.ones(5, 5, 5), L.ones(()))
L.baddbmm(L.ones(3, dtype=L.bool), L.ones(5, 5, 5, dtype=L.bool), L.ones(5, 5, 10, dtype=L.bool))
""".strip().splitlines()


@pytest.mark.parametrize("text", CALLS)
def test_call(text):
    def call(library):
        def slope(f, x):
            x.requires_grad_()
            return library.autograd.grad(f(x).sum(), x)

        names = {
            "L": library,
            "F": library.nn.functional,
            "nan": float("nan"),
            "inf": float("inf"),
            "slope": slope,
        }
        return eval(text, names)

    same(call)


OPERATORS = "dropout feature_dropout alpha_dropout feature_alpha_dropout".split()
LAYERS = "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()


@pytest.mark.parametrize("p", [0.5, 1.0, 0.0, 2.0, -0.25, float("nan")])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 3, 4), (2, 3, 1, 2), (1,) * 6])
def test_dropout_of_few_dimensions_and_of_what_is_no_probability(shape, p):
    names = [*OPERATORS, *(n + "_" for n in OPERATORS), *("nn.functional." + n for n in LAYERS)]
    for name, train, dtype in itertools.product(names, (True, False), ("float32", "int64")):

        def call(root, name=name, train=train, dtype=dtype):
            root.manual_seed(3)
            return function(root, name)(root.ones(shape, dtype=getattr(root, dtype)), p, train)

        same(call)


def inserted(kind, count, index):
    def call(root):
        made = getattr(root.nn, kind)(*_identities(root, kind, count))
        made.insert(index, root.nn.ReLU())
        return str(made)

    return call


def _identities(root, kind, count):
    made = [root.nn.Identity() for _ in range(count)]
    return [made] if kind == "ModuleList" else made


@pytest.mark.parametrize("kind", ["Sequential", "ModuleList"])
def test_layers_put_into_containers(kind):
    for count, index in itertools.product((0, 1, 3), range(-4, 6)):
        same(inserted(kind, count, index))


def test_groups_of_one_value_and_listed_labels_out_of_range():
    for shape, groups in itertools.product(
        [(1, 4), (1, 3), (1, 4, 1), (2, 2), (1, 0)], range(-1, 5)
    ):
        same(lambda r, s=shape, g=groups: r.nn.functional.group_norm(r.ones(s), g))
    for labels in [0, -1, 1], [1, 3, -1], [0, -2, 1], [0, 1, -5]:
        same(
            lambda r, t=labels: r.nn.functional.multilabel_margin_loss(r.ones(1, 3), r.tensor([t]))
        )
