"""Values, gradients and gradients of gradients at the points where functions have kinks, poles and
ends, are those of PyTorch.
"""

import itertools
import math
import warnings

import pytest

import pellucid

torch = pytest.importorskip("torch")

INF, NAN = math.inf, math.nan
POINTS = [
    0.0,
    -0.0,
    1e-30,
    -1e-30,
    0.25,
    -0.25,
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -3.0,
    6.0,
    -6.0,
    1e4,
    -1e4,
    1e30,
    -1e30,
    INF,
    -INF,
    NAN,
]
FEW = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.0, 1e30, INF, -INF, NAN]


def functional(name, *args, **options):
    return lambda T, x: getattr(T.nn.functional, name)(x, *args, **options)


def tensor(name, *args, **options):
    return lambda T, x: getattr(T, name)(x, *args, **options)


UNARY = {
    **{
        name: tensor(name)
        for name in (
            "abs sign sgn sqrt rsqrt reciprocal exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf "
            "erfc erfinv sigmoid logit lgamma digamma sinc ceil floor round trunc frac square nan_to_num exp2 i0 deg2rad"
        ).split()
    },
    **{
        name: functional(name)
        for name in (
            "relu relu6 elu selu celu gelu silu mish softplus softsign softshrink hardshrink hardtanh hardswish hardsigmoid leaky_relu logsigmoid "
            "tanhshrink"
        ).split()
    },
    **{
        f"special.{name}": lambda T, x, name=name: getattr(T.special, name)(x)
        for name in "entr log_ndtr ndtr ndtri i0e i1 i1e erfcx".split()
    },
    "elu(alpha=2)": functional("elu", 2.0),
    "celu(alpha=2)": functional("celu", 2.0),
    "elu(alpha=-1)": functional("elu", -1.0),
    "leaky_relu(0)": functional("leaky_relu", 0.0),
    "leaky_relu(-1)": functional("leaky_relu", -1.0),
    "threshold": functional("threshold", 0.5, 3.0),
    "hardtanh(-2, 3)": functional("hardtanh", -2.0, 3.0),
    "hardshrink(0)": functional("hardshrink", 0.0),
    "softshrink(0)": functional("softshrink", 0.0),
    "softplus(2, 1)": functional("softplus", 2.0, 1.0),
    "gelu(tanh)": functional("gelu", approximate="tanh"),
    "clamp(-1, 1)": tensor("clamp", -1.0, 1.0),
    "clamp(min=0)": tensor("clamp", min=0.0),
    "clamp(1, -1)": tensor("clamp", 1.0, -1.0),
    "logit(eps)": tensor("logit", 0.25),
    "polygamma(1)": lambda T, x: T.polygamma(1, x),
    **{f"x ** {p}": lambda T, x, p=p: x**p for p in (0, 0.5, 1, 1.5, 2, 3, -1, -0.5, -2)},
    **{f"{b} ** x": lambda T, x, b=b: b**x for b in (0.0, 1.0, 2.0)},
    "fmod": tensor("fmod", 2.0),
    "remainder": tensor("remainder", 2.0),
}
BINARY = {
    **{
        name: lambda T, x, y, name=name: getattr(T, name)(x, y)
        for name in (
            "add mul div atan2 pow maximum minimum fmax fmin hypot logaddexp logaddexp2 xlogy copysign fmod remainder heaviside ldexp float_power"
        ).split()
    },
    "special.xlog1py": lambda T, x, y: T.special.xlog1py(x, y),
    "lerp": lambda T, x, y: T.lerp(x, y, 0.5),
    "lerp weight": lambda T, x, y: T.lerp(x, y * 2, y),
    "clamp": lambda T, x, y: T.clamp(x, y, y + 1),
    "clamp max": lambda T, x, y: T.clamp(x, max=y),
    "where": lambda T, x, y: T.where(x > y, x, y),
    **{
        name: lambda T, x, y, name=name: getattr(T.nn.functional, name)(x, y, reduction="none")
        for name in "l1_loss mse_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits poisson_nll_loss kl_div".split()
    },
    "soft_margin_loss": lambda T, x, y: T.nn.functional.soft_margin_loss(
        x, y.detach(), reduction="none"
    ),
    "smooth_l1(beta=0)": lambda T, x, y: T.nn.functional.smooth_l1_loss(
        x, y, reduction="none", beta=0.0
    ),
    "huber(delta=2)": lambda T, x, y: T.nn.functional.huber_loss(x, y, reduction="none", delta=2.0),
    "dist": lambda T, x, y: T.stack([T.dist(a, b) for a, b in zip(x, y)]),
    "cdist": lambda T, x, y: T.cdist(x[:, None], y[:1, None]).sum(1),
    "addcdiv": lambda T, x, y: T.addcdiv(x, x, y, value=0.5),
}
VECTORS = [
    [0.0, 0.0, 0.0],
    [0.0, 3.0, 4.0],
    [1.0, 1.0, 1.0],
    [-1.0, 2.0, 2.0],
    [1e-30, 0.0, -1e-30],
    [1e15, 1.0, 0.0],
    [-0.0, 0.0, 1.0],
    [5.0],
    [1.0, INF, 2.0],
    [1.0, NAN, 2.0],
    [-2.0, 0.0, 0.0],
]
REDUCED = {
    **{
        f"vector_norm({p})": lambda T, x, p=p: T.linalg.vector_norm(x, p)
        for p in (0, 0.5, 1, 1.5, 2, 3, INF, -INF, -1, -2)
    },
    **{f"norm({p})": lambda T, x, p=p: x.norm(p) for p in (0, 1, 2, 3, INF)},
    **{
        f"norm over a dimension({p})": lambda T, x, p=p: T.stack([x, x]).norm(p, dim=1)
        for p in (0, 1, 2, 3, INF)
    },
    **{
        name: lambda T, x, name=name: getattr(x, name)()
        for name in "sum mean prod std var amax amin max min median nansum nanmean nanmedian aminmax".split()
    },
    **{
        name: lambda T, x, name=name: getattr(x, name)(0)
        for name in "cumsum cumprod logsumexp logcumsumexp softmax log_softmax cummax cummin prod max min median mode sort amax amin".split()
    },
    "std(correction=0)": lambda T, x: x.std(correction=0),
    "normalize": lambda T, x: T.nn.functional.normalize(x, dim=0),
    "normalize(p=1)": lambda T, x: T.nn.functional.normalize(x, 1.0, dim=0),
    "cosine_similarity": lambda T, x: T.nn.functional.cosine_similarity(
        x, x.detach().flip(0), dim=0
    ),
    "cosine_similarity of itself": lambda T, x: T.nn.functional.cosine_similarity(x, 2 * x, dim=0),
    **{
        f"cdist({p})": lambda T, x, p=p: T.cdist(x[None], T.stack([x.detach(), 0 * x.detach()]), p)
        for p in (0.0, 0.5, 1.0, 2.0, 3.0, INF)
    },
    **{
        f"pdist({p})": lambda T, x, p=p: T.nn.functional.pdist(T.stack([x, x.detach(), 2 * x]), p)
        for p in (0.0, 1.0, 2.0, 3.0, INF)
    },
    "pairwise_distance": lambda T, x: T.nn.functional.pairwise_distance(x[None], x.detach()[None]),
    "pairwise_distance(eps=0)": lambda T, x: T.nn.functional.pairwise_distance(
        x[None], x.detach()[None], eps=0.0
    ),
    "renorm": lambda T, x: T.renorm(x[None], 2.0, 0, 1.0),
    "multi_margin_loss": lambda T, x: T.nn.functional.multi_margin_loss(
        T.cat([x, x + 1]), T.tensor(0)
    ),
    "multi_margin_loss(p=2)": lambda T, x: T.nn.functional.multi_margin_loss(
        T.cat([x, x + 1]), T.tensor(0), p=2
    ),
    "multilabel_margin_loss": lambda T, x: T.nn.functional.multilabel_margin_loss(
        T.cat([x, x + 1]), T.tensor([0] + [-1] * (2 * len(x) - 1))
    ),
    "margin_ranking_loss": lambda T, x: T.nn.functional.margin_ranking_loss(
        x, x.detach(), T.ones_like(x)
    ),
    "hinge_embedding_loss": lambda T, x: T.nn.functional.hinge_embedding_loss(x, -T.ones_like(x)),
    "triplet_margin_loss": lambda T, x: T.nn.functional.triplet_margin_loss(
        x[None], x.detach()[None], 1 + x.detach()[None]
    ),
    "cosine_embedding_loss": lambda T, x: T.nn.functional.cosine_embedding_loss(
        x[None], x.detach()[None], -T.ones(1)
    ),
    "rms_norm": lambda T, x: T.nn.functional.rms_norm(x, x.shape),
    "max_pool": lambda T, x: T.nn.functional.max_pool1d(x[None], 1),
    "trapezoid": lambda T, x: T.trapezoid(x),
    "quantile": lambda T, x: T.quantile(x, 0.5),
    "msort": lambda T, x: T.msort(x),
    "topk": lambda T, x: T.topk(x, 1),
    "kthvalue": lambda T, x: T.kthvalue(x, 1),
}


def special(values):
    return any(not math.isfinite(x) or abs(x) > 1e20 for v in values for x in v)


def always(values):
    return True


# What stays different: where, and why.
KNOWN = {
    "sinc": (lambda v: abs(v[0][0]) == 1e-30, "the second derivative there is -pi^2 / 3, not 0"),
    "mish": (lambda v: v[0][0] >= 1e4, "PyTorch has NaN where the second derivative is 0"),
    "gelu": (special, "PyTorch has NaN at the infinities, where the slopes are 0 and 1"),
    "i0": (special, "PyTorch has 1 for the second derivative at NaN"),
    "special.i1": (special, "PyTorch has 1/2 for the slope at NaN"),
    "special.i1e": (special, "PyTorch has 1/2 for the slope at NaN"),
    "hardsigmoid": (always, "PyTorch's 1/6 is a float32 number for float64, too"),
    "special.log_ndtr": (
        lambda v: abs(v[0][0]) >= 1e4,
        "PyTorch's slope is off by 5e-9 at -1e4; ours of the slope has NaN far out",
    ),
    **dict.fromkeys(
        ("elu", "selu", "celu", "elu(alpha=2)", "celu(alpha=2)", "elu(alpha=-1)"),
        (special, "PyTorch has 0 for the second derivative at NaN"),
    ),
    "logit(eps)": (special, "PyTorch has 0 for the slope at NaN"),
    **dict.fromkeys(
        ("lgamma", "digamma", "polygamma(1)"), (always, "PyTorch's trigamma has 10 digits")
    ),
    **{f"x ** {p}": (special, "NumPy's roots of -inf") for p in (0.5, 1.5, -0.5)},
    "0.0 ** x": (always, "PyTorch has NaN for the second derivative, which is 0"),
    **dict.fromkeys(
        ("pow", "float_power"),
        (lambda v: v[0][0] == 0, "PyTorch has NaN for second derivatives at (0, y)"),
    ),
    "atan2": (
        lambda v: v[0][0] == v[1][0] == 0,
        "PyTorch has NaN for second derivatives at the origin",
    ),
    "soft_margin_loss": (special, "PyTorch has NaN where the slope is 0 or infinite"),
    **{
        name: (
            lambda v: special(v) or 0 < abs(v[0][0]) < 1e-20,
            "the slope at NaN, infinities, and where powers vanish",
        )
        for name in REDUCED
        if "norm(" in name or "dimension" in name or "dist(" in name
    },
    "pdist(inf)": (always, "several largest differences share the gradient, as in vector_norm"),
    "var": (lambda v: len(v[0]) == 1, "the variance of one element"),
    "logcumsumexp": (
        lambda v: v[0][0] == 1e15,
        "PyTorch's slopes there add up to 3.08 instead of 3",
    ),
    "cosine_similarity": (lambda v: v[0][0] == 1e-30, "rounding errors of numbers near 1e6"),
    "pairwise_distance": (always, "rounding errors of numbers near 1e6"),
    "renorm": (
        lambda v: special(v) or 0 < abs(v[0][0]) < 1e-20,
        "NaN stays NaN; squares that vanish",
    ),
    "special.erfcx": (lambda v: abs(v[0][0]) >= 1e4, "rounding errors of differences"),
    "multilabel_margin_loss": (lambda v: special(v) or v[0][0] == 1e15, "one is lost beside 1e15"),
    **dict.fromkeys(
        ("multi_margin_loss", "multi_margin_loss(p=2)"),
        (special, "PyTorch takes NaN for less than the margin"),
    ),
    "kthvalue": (lambda v: len(set(v[0])) < len(v[0]), "which one of equals has the index"),
}


def surprising(name, wrong):
    here = KNOWN.get(name, (lambda v: False,))[0]
    return [case for case in wrong if not here(case[0])]


def outcome(T, function, values, kind):
    """Result, first and second derivatives, as lists; what is refused is left out ("refused")."""
    xs = [T.tensor(v, dtype=getattr(T, kind), requires_grad=True) for v in values]
    made = function(T, *xs)
    parts = [y for y in (made if isinstance(made, (tuple, list)) else (made,)) if y.requires_grad]
    found = [made[0] if isinstance(made, (tuple, list)) else made]
    if parts:
        first = [None] * len(xs)
        try:
            first = T.autograd.grad(
                sum(y.sum() for y in parts), xs, create_graph=True, allow_unused=True
            )
            found += first
        except (RuntimeError, NotImplementedError):
            found += ["refused"] * len(xs)
        for g in first:
            try:
                some = g is not None and g.requires_grad
                found += (
                    T.autograd.grad((g * 2).sum(), xs, allow_unused=True, retain_graph=True)
                    if some
                    else [None] * len(xs)
                )
            except (RuntimeError, NotImplementedError):
                found += ["refused"] * len(xs)
    # PyTorch has zeros without memory; adding gives them some.
    return [
        (y.detach().double() + T.zeros((), dtype=T.float64)).tolist() if hasattr(y, "detach") else y
        for y in found
    ]


def flat(values):
    return (
        itertools.chain.from_iterable(flat(v) for v in values)
        if isinstance(values, list)
        else [values]
    )


def near(a, b, kind):
    """Equal up to rounding; None (no gradient) counts as zeros here."""
    relative, absolute = (1e-4, 4e-6) if kind == "float32" else (1e-11, 1e-14)
    for x, y in zip(a, b):
        if "refused" in (x, y):
            continue  # PyTorch has no such derivative, or Pellucid's is 0 without a graph
        x, y = (0.0,) if x is None else flat(x), (0.0,) if y is None else flat(y)
        x, y = list(x), list(y)
        if len(x) == 1 or len(y) == 1:
            x, y = x * max(1, len(y) // len(x)), y * max(1, len(x) // len(y))
        if len(x) != len(y):
            return False
        if not all(
            p == q or p != p and q != q or abs(p - q) <= relative * max(abs(p), abs(q)) + absolute
            for p, q in zip(x, y)
        ):
            return False
    return True


def differing(function, values, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (outcome(T, function, values, kind) for T in (pellucid, torch))
    return [] if near(ours, theirs, kind) else [(values, ours, theirs)]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, kind):
    if not differing(UNARY[name], [POINTS], kind):
        return
    wrong = [case for x in POINTS for case in differing(UNARY[name], [[x]], kind)]
    assert surprising(name, wrong) == []


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, kind):
    pairs = list(itertools.product(FEW, FEW))
    wrong = []
    if differing(BINARY[name], [[a for a, _ in pairs], [b for _, b in pairs]], kind):
        wrong = [case for a, b in pairs for case in differing(BINARY[name], [[a], [b]], kind)]
    assert surprising(name, wrong) == []


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", REDUCED)
def test_reduced(name, kind):
    assert (
        surprising(name, [case for x in VECTORS for case in differing(REDUCED[name], [x], kind)])
        == []
    )
