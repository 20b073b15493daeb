"""Calls with mistakes, several of them in some: the class and the text of the error are PyTorch's, or
both compute the same shape, strides and dtype.
"""

import warnings

import pytest

import pellucid

torch = pytest.importorskip("torch")

# `o(3, 4)`: ones of that shape; F, I, C, B: dtypes; nf: nn.functional
CALLS = {
    "order": """
        o(2, 3).addmm_(o(3, 3), o(3, 3))
        o(1, 3).addmm_(o(3, 3), o(3, 3))
        o(4, 3).addmm_(o(3, 2), o(3, 3))
        o(2, 3, 4).addmm_(o(3, 3), o(3, 3))
        o(2).addmv_(o(3, 3), o(3))
        t.ormqr(o(3, 3), o(0, 0), o(3, 3))
        t.ormqr(o(3, 3), o(3, 3), o(3, 3))
        t.quantile(o(3, dt=I), -100)
        t.quantile(o(3, dt=I), o(2))
        t.quantile(o(3), True)
        t.triangular_solve(o(2, 2, dt=I), o(2, 3))
        t.rnn_relu_cell(o(3, 3), o(3, 3), o(2, 2), o(3, 3))
        t.rnn_tanh_cell(o(3, 3), o(3, 3), o(3, 2), o(3, 3))
        t.lstm_cell(o(3, 3), (o(3, 3), o(3, 3)), o(2, 2), o(3, 3))
        o(2, 3).masked_fill_(o(2, 3), o(2))
        o(2, 3).masked_fill(o(4, dt=B), o(2))
        o(2, 3).masked_fill(o(2, 3), o(2))
        t.binary_cross_entropy_with_logits(o(2, 3), o(3, 3))
        t.binary_cross_entropy_with_logits(o(2, 3), o(1, 3))
        t.binary_cross_entropy_with_logits(o(1, 3), o(2, 3))
        o(3 * t.special.chebyshev_polynomial_t(o(3) * float("nan"), 0).equal(o(3)))
        o(3 * t.special.legendre_polynomial_p(o(3) * float("nan"), 0).equal(o(3)))
    """,
    "products": """
        t.mm(o(3, 3), o(6, 3, dt=I))
        t.matmul(o(3, 3), o(6, 3, dt=I))
        t.matmul(o(3, 3), o(6, dt=I))
        t.matmul(o(6, dt=I), o(3, 3))
        t.matmul(o(3), o(6, dt=I))
        t.bmm(o(2, 3, 3), o(2, 6, 3, dt=I))
        t.matmul(o(2, 3, 3), o(6, 3, dt=I))
        t.mm(o(3, 3, dt=B), o(6, 3, dt=B))
        t.matmul(o(3, dt=B), o(6, dt=B))
        t.addmm(o(3, 3), o(3, 3), o(6, 3, dt=I))
        o(2, 3, 3).baddbmm_(o(2, 3, 3), o(2, 3, 3, dt=I))
    """,
    "numbers as out": """
        t.add(o(2), o(2), out=1)
        t.mul(o(2), o(2), out=1.5)
        t.div(o(2), o(2), out=1)
        t.add(t.tensor(1.0), 2.0, out=True)
        t.sub(t.tensor(1.0), 2.0, out=1j)
        t.atan2(o(2), o(2), out=1)
    """,
    "dtype of out": """
        t.max(o(2), out=o(dt=I))
        t.min(o(2, dt=I), out=o(dt=F))
        t.mean(o(2), out=o(dt=I))
        t.mean(o(2), 0, out=o(dt=I))
        t.mean(o(2, dt=I), out=o(dt=F))
        t.mean(o(2), dtype=D, out=o(dt=F))
        t.mean(o(2), out=o(dt=D))
        t.nansum(o(2), out=o(dt=I))
        t.nansum(o(2, dt=I), out=o(dt=F))
        t.nansum(o(2), dtype=C)
        t.nanmean(o(2), out=o(dt=B))
        t.ldexp(o(2), o(2), out=o(2, dt=I))
        t.ldexp(o(2), o(2, dt=C), out=o(2))
        t.lerp(o(2), o(2), 0.5, out=o(2, dt=D))
        t.lerp(o(2), o(2), o(2), out=o(2, dt=D))
        t.lerp(o(2), o(2), 0.5, out=o(2, dt=I))
        t.bernoulli(o(3), out=o(3, dt=I))
        t.bernoulli(o(3), out=o(3, dt=C))
        t.normal(o(3), o(3), out=o(3, dt=I))
        t.normal(o(3), 1.0, out=o(3, dt=C))
        t.normal(0.0, 1.0, (3,), dtype=F, out=o(3, dt=D))
        t.normal(o(3), o(3), out=o(4))
        t.normal(o(3), 1.0, out=o(4))
        t.normal(o(3), 1.0, out=o(0))
    """,
    "in place": """
        o(2, dt=B).clamp_(min=2)
        o(2, dt=I).clamp_(min=2.5)
        o(2, dt=I).clamp_(t.tensor(2.5))
        o(2, dt=t.uint8).clamp_max_(2.5)
        o(2).clamp_min_(1j)
        o(2).clamp(min=1j)
        o(2, dt=I).ldexp_(o(3))
        o(2).ldexp_(o(2, dt=C))
        o(3, 3).cumsum_(-100, dtype=D)
    """,
    "checks": """
        t.split(o(), [1, 2])
        t.tensor_split(o(3, 3), o(2, 2))
        o(3).bernoulli_(o(3, 1))
        o(3).bernoulli_(o(4))
        t.randint_like(o(2), t.tensor([5]))
        t.linalg.pinv(o(3), atol=0.5)
        t.linalg.pinv(o(), atol=0.5)
        t.linalg.lstsq(o(3, 3, 1), o(dt=D))
        t.bincount(t.zeros(0, dtype=I), weights=o(3, dt=I), minlength=2)
        t.histogram(o(3), 3, weight=o(3, dt=I))
        nf.bilinear(o(1, 3), o(1, 3), o(1, 5, 3, 3))
        nf.bilinear(o(1, 3), o(1, 3), o(5, 3))
        nf.bilinear(o(1, 3), o(1, 3), o(1, 3, 3, 3))
        o(3, 3).index_add(0, k, o(2, 7))
        t.linalg.svd(o(3, 3, dt=I), driver="gelsd")
        o().addmv_(o(3, 4), o(4))
        o(1, 1).addmm_(o(3, 4), o(4, 2))
        o(1, 1, 1).baddbmm_(o(2, 3, 4), o(2, 4, 5))
        t.gradient(o(), spacing=2, dim=[0])
        t.cdist(o(3, 3), o(1), compute_mode=1)
        t.linalg.cond(o(3, 3, dt=B), "text")
        t.linalg.cond(o(3), "text")
        t.linalg.cond(o(3, 2), "text")
        t.linalg.cond(o(3, 3, dt=I), "nuc")
        t.linalg.cond(o(3, 3, dt=I), 7)
        nf.prelu(o(1, 3, 2, 2), o(2, 2, dt=I))
        t.frobenius_norm(o(3, 3), [0, 0, 0])
        t.linalg.lu_solve(o(3, 1), k.int(), o(3, 3))
        nf.ctc_loss(o(5, 4, 4), o(2, 2, dt=I), [5, 4], [2, 1])
        nf.ctc_loss(o(5, 2, 4), o(2, 2, 2, dt=I), [5, 4], [2, 1])
        t.conv_tbc(o(5, 2, 3), o(2, 3, 4), o(4), -100)
        t.conv_tbc(o(5, 2, 3), o(2, 3, 4), o(4), -2)
        t.conv_tbc(o(5, 2, 3), o(2, 3, 4), o(4), -1)
        nf.hardtanh_(o(3), 2.0, 1.0)
    """,
    "strides of reductions": """
        o(2, 3).t().sum(0, keepdim=True)
        o(2, 3).t().sum(1, keepdim=True)
        o(2, 3, 4).permute(1, 2, 0).all((0, 2), keepdim=True)
        o(2, 3, 4).transpose(0, 2).amax((1, 2), keepdim=True)
        o(2, 3, 2, 4).to(memory_format=t.channels_last).mean(1, keepdim=True)
        o(2, 3).t().prod(1, keepdim=True)
        o(2, 3, 4).mode(0, keepdim=True)[1]
    """,
    "shapes and dtypes": """
        o(1).copy_(o(3))
        o(2, 3).copy_(o(1, 2, 3))
        o(1, 3).copy_(o(5, 2, 4))
        o(1, 1).hypot_(o(2, 3, dt=C))
        o(1, 1).bitwise_and_(o(2, 3))
        o(3).bitwise_and_(o(2))
        o(3, 3).addmm(o(dt=I), o(3, 3))
        o(3, 3).addmm_(o(2, 3, 4), o(3, 3))
        o(3, 3).addmm_(o(3, 3), o(4, dt=D))
        o(1, 3).addmm_(o(3, 3), o(3, 3))
        o(dt=I).baddbmm_(o(2, 3, 3), o(2, 3, 3))
        nf.prelu(o(1, 3, 2), o(0, 3))
        nf.prelu(o(1, 3, 2), o(1, 3))
        nf.prelu(o(1, 3, 2), o(1, 1))
        t.quantile(o(3, dt=B), o(0, 3))
        t.unsafe_chunk(o(), 1)
        t.unique(o(5, 0, 0), dim=1)
        t.unique_consecutive(o(0, 0), dim=0)
        t.unique(o(5, 0), dim=1)
        t.unsafe_split(o(), 1)
        t.special.chebyshev_polynomial_t(o(2, dt=C), o(2))
        t.special.hermite_polynomial_h(o(2), 1j)
        t.special.laguerre_polynomial_l(o(2, dt=t.float16), 1)
        o(3, dt=I).masked_scatter_(o(3, 3, dt=B), "text")
        o().masked_scatter_(o(3, 3, dt=B), o(4, dt=D))
        t.float32.foo
        t.strided.foo
        t.device("cpu").foo
        t.preserve_format.foo
        t.tensor(t.float32)
        t.tensor(t.device("cpu"))
        t.tensor(t.Generator())
    """,
    "arguments": """
        o(2).contiguous(t.contiguous_format)
        o(2).is_contiguous(t.contiguous_format)
        o(2).cpu(1)
        t.norm(o(3), 2, dtype=B)
        t.norm(o(3), 2, dtype=5)
        t.norm(o(3), 2, dtype=t.float16)
        t.norm(o(3), o(2))
        t.norm(o(3), 1j)
        nf.softmax(o(3), 0, dtype=t.contiguous_format)
        t.zeros(2, dtype=t.strided)
        o(2, 3).tile([-1, -2, -3])
        t.Tensor.__getitem__("a", 0)
        t.split("a b", t.Size([1]))
        t.gather(t.tensor([5, 6, 7]), 0, k[1:], out=k[:1])
    """,
}


def outcome(library, call):
    def o(*shape, dt=library.float32):
        return library.ones(shape, dtype=dt)

    names = {
        "t": library,
        "o": o,
        "k": library.tensor([1, 2, 0]),
        "nf": library.nn.functional,
        **dict(zip("FDICB", (library.float32, library.float64, library.int64, library.complex64, library.bool), strict=True)),
    }  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(call, names)
    except Exception as error:
        return type(error).__name__, str(error)
    if isinstance(found, library.Tensor):
        return tuple(found.shape), found.stride(), str(found.dtype)
    return type(found).__name__


@pytest.mark.parametrize("group", CALLS)
def test_errors_of_calls_with_mistakes_are_equal(group):
    calls = [line.strip() for line in CALLS[group].strip().splitlines()]
    differing = [
        (call, theirs, ours)
        for call in calls
        if (theirs := outcome(torch, call)) != (ours := outcome(pellucid, call))
    ]
    assert differing == []
