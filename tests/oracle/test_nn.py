"""Modules, initial values and helpers compared with PyTorch: the same program run with both, from
one seed.
"""

from importlib import import_module

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def flat(x):
    """Nested results as a flat list; tensors as arrays, other objects as text."""
    if hasattr(x, "detach"):
        return [x.detach().numpy()]
    if isinstance(x, dict):
        return [y for k in x for y in [k, *flat(x[k])]]
    if isinstance(x, (list, tuple)) and not hasattr(x, "missing_keys"):
        return [y for e in x for y in flat(e)]
    return [x if isinstance(x, (str, bool, int, float, type(None))) else repr(x)]


def first_line(error):
    return str(error.args[0]).split("\n  hint")[0]


def inits(t):
    o = []
    i = t.nn.init
    for name, kw, shape in [
        ("uniform_", {}, (3, 4)),
        ("normal_", {}, (3, 5)),
        ("trunc_normal_", {}, (40,)),
        ("trunc_normal_", {"a": 1.0, "b": 2.0}, (40,)),
        ("trunc_normal_", {"std": 0.02}, (4, 5)),
        ("xavier_uniform_", {}, (3, 4)),
        ("xavier_normal_", {}, (3, 4)),
        ("kaiming_uniform_", {}, (3, 4, 2)),
        ("kaiming_normal_", {"nonlinearity": "relu", "mode": "fan_out"}, (3, 4)),
        ("orthogonal_", {}, (5, 3)),
        ("orthogonal_", {}, (3, 2, 4)),
        ("sparse_", {"sparsity": 0.3}, (6, 4)),
        ("eye_", {}, (3, 4)),
        ("dirac_", {}, (4, 2, 3)),
    ]:
        o.append(getattr(i, name)(t.empty(*shape), **kw))
    return o


def layers(t):
    nn = t.nn
    o = []
    for m in [
        nn.Linear(3, 4),
        nn.Conv2d(2, 4, 3),
        nn.ConvTranspose1d(2, 4, 3),
        nn.Bilinear(2, 3, 4),
        nn.Embedding(5, 3, padding_idx=1),
        nn.LSTM(3, 4, 2, bidirectional=True),
        nn.GRUCell(3, 4),
        nn.MultiheadAttention(8, 2),
        nn.MultiheadAttention(8, 2, kdim=4, vdim=4, add_bias_kv=True),
        nn.Transformer(8, 2, 1, 1, 16),
        nn.EmbeddingBag(4, 3),
        nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6]),
        nn.BatchNorm2d(3),
    ]:
        o.append(dict(m.state_dict()))
    return o


def clip(t):
    ps = [t.nn.Parameter(t.randn(3, 4)), t.nn.Parameter(t.randn(5))]
    o = []
    for nt in (2.0, 1.0, float("inf"), 3.0):
        for p in ps:
            p.grad = t.randn(*p.shape) * 3
        o.append(t.nn.utils.clip_grad_norm_(ps, 1.0, norm_type=nt))
        o += [p.grad.clone() for p in ps]
    t.nn.utils.clip_grad_value_(ps, 0.1)
    o += [p.grad for p in ps]
    v = t.nn.utils.parameters_to_vector(ps)
    t.nn.utils.vector_to_parameters(v * 2, ps)
    return o + [v] + [p.data for p in ps]


def wn(t):
    m = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(3, 4))
    x = t.randn(2, 3)
    y = m(x)
    y.sum().backward()
    o = [
        y,
        m.parametrizations.weight.original0.grad,
        m.parametrizations.weight.original1.grad,
        repr(m),
        list(m.state_dict()),
    ]
    t.nn.utils.parametrize.remove_parametrizations(m, "weight")
    return o + [m.weight, repr(m), list(m.state_dict())]


def wn_old(t):
    m = t.nn.utils.weight_norm(t.nn.Linear(3, 4))
    x = t.randn(2, 3)
    y = m(x)
    y.sum().backward()
    o = [y, m.weight_g.grad, list(m.state_dict())]
    t.nn.utils.remove_weight_norm(m)
    return o + [m(x), list(m.state_dict())]


def sn(t):
    m = t.nn.utils.parametrizations.spectral_norm(t.nn.Linear(3, 4))
    x = t.randn(2, 3)
    y = m(x)
    y.sum().backward()
    return [y, m.parametrizations.weight.original.grad, dict(m.state_dict())]


def sn_old(t):
    m = t.nn.utils.spectral_norm(t.nn.Conv2d(3, 4, 2))
    x = t.randn(2, 3, 4, 4)
    y = m(x)
    y.sum().backward()
    m.eval()
    return [y, m(x), list(m.state_dict())]


def orth(t):
    m = t.nn.utils.parametrizations.orthogonal(t.nn.Linear(3, 5))
    return [m.weight.T @ m.weight]


def prune(t):
    pr = t.nn.utils.prune if t is pellucid else import_module("torch.nn.utils.prune")
    m = t.nn.Linear(4, 6)
    x = t.randn(2, 4)
    pr.l1_unstructured(m, "weight", 0.3)
    pr.random_unstructured(m, "weight", 3)
    pr.ln_structured(m, "weight", 1, 2, 0)
    pr.random_unstructured(m, "bias", 0.5)
    o = [m(x), dict(m.state_dict()), pr.is_pruned(m)]
    pr.remove(m, "weight")
    o += [m(x), list(m.state_dict())]
    a, b = (t.nn.Linear(3, 3), t.nn.Linear(3, 2))
    pr.global_unstructured([(a, "weight"), (b, "weight")], pr.L1Unstructured, amount=0.5)
    return o + [a.weight, b.weight]


def packed(t):
    r = t.nn.utils.rnn
    x = t.randn(3, 5, 2)
    p = r.pack_padded_sequence(x, [3, 5, 2], batch_first=True, enforce_sorted=False)
    o = [p.data, p.batch_sizes, p.sorted_indices]
    for cls in ("LSTM", "GRU", "RNN"):
        m = getattr(t.nn, cls)(2, 3, 2, bidirectional=True, batch_first=True)
        y, h = m(p)
        q, l = r.pad_packed_sequence(y, batch_first=True, padding_value=-1)
        o += [q, l, h if cls != "LSTM" else list(h)]
    o.append(r.pad_sequence([t.ones(2), t.ones(3)], padding_side="left"))
    o += r.unpack_sequence(r.pack_sequence([t.ones(1, 2), t.zeros(2, 2)], enforce_sorted=False))
    return o


def hooks(t):
    nn = t.nn
    m = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
    log = []
    m[0].register_forward_hook(lambda mod, a, o: log.append(("f", tuple(o.shape))))
    m.register_forward_pre_hook(lambda mod, a: (a[0] * 2,))
    m[0].register_full_backward_hook(
        lambda mod, gi, go: log.append(
            ("b", [None if g is None else g.clone() for g in gi], [g.clone() for g in go])
        )
    )
    m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 3,))
    m[1].register_full_backward_hook(lambda mod, gi, go: (gi[0] * 2,))
    x = t.randn(4, 2, requires_grad=True)
    m(x).sum().backward()
    log.append(x.grad)
    log.append(m[0].weight.grad)
    x = t.randn(4, 2)
    m(x).sum().backward()
    log.append(m[0].weight.grad)
    h = m.register_forward_hook(lambda mod, a, k, o: o + 1, with_kwargs=True)
    log.append(m(x))
    h.remove()
    log.append(m(x))
    return log


def errs(t):
    nn = t.nn
    o = []

    def e(f):
        try:
            o.append(f())
        except Exception as ex:
            o.append(first_line(ex))

    m = nn.Linear(2, 3)

    class N(nn.Module):
        def __init__(s):
            s.x = nn.Linear(2, 2)

    class N2(nn.Module):
        def __init__(s):
            s.x = nn.Parameter(t.ones(1))

    e(lambda: setattr(m, "weight", t.ones(2)))
    e(lambda: setattr(m, "weight", 3))
    e(N)
    e(N2)
    e(lambda: m.foo)
    e(lambda: m.register_buffer("weight", t.ones(1)))
    e(lambda: m.register_buffer("a.b", None))
    e(lambda: m.add_module("", nn.ReLU()))
    e(lambda: m.add_module("q", 3))
    e(lambda: m.load_state_dict({"weight": t.ones(3, 3), "foo": t.ones(1)}))
    e(lambda: m.load_state_dict({"weight": t.ones(3, 2)}, strict=False))
    e(lambda: m.load_state_dict(3))
    e(lambda: nn.Module()(1))
    e(lambda: m.get_submodule("a"))
    e(lambda: m.get_parameter("foo"))
    e(lambda: m.to(t.int32))
    e(lambda: m.train(3))
    e(lambda: nn.Dropout(2))
    e(lambda: nn.Sequential(m)[3])
    e(lambda: nn.Conv2d(3, 4, 3, groups=2))
    e(lambda: nn.Module(3))
    e(lambda: nn.Module(a=3))
    e(lambda: t.optim.SGD([], lr=0.1))
    e(lambda: t.optim.SGD(t.ones(1), lr=0.1))
    e(lambda: t.optim.SGD([3], lr=0.1))
    e(lambda: t.optim.SGD([m.weight], lr=-1))
    e(lambda: t.optim.SGD([m.weight * 2], lr=1))
    e(lambda: t.optim.SGD({m.weight}, lr=1))
    e(lambda: repr(t.optim.Adam([m.weight])))
    e(lambda: nn.MultiheadAttention(5, 2))
    e(lambda: nn.LSTM(3, 4)(t.ones(2, 3, 5)))
    e(lambda: nn.BatchNorm2d(3)(t.ones(2, 3)))
    return o


def lists(t):
    nn = t.nn
    o = []
    l = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)] + [nn.ReLU()])
    o.append(repr(l))
    l.insert(1, nn.Tanh())
    l.append(nn.Identity())
    del l[0]
    o.append(repr(l))
    o.append(repr(l[1:3]))
    l.pop(0)
    o.append(len(l))
    d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Conv1d(1, 2, 3)})
    o.append(repr(d))
    d.update([("c", nn.Tanh())])
    o.append(list(d.keys()))
    p = nn.ParameterList([t.ones(2), t.zeros(2, 3)])
    o.append(repr(p))
    o.append([n for n, _ in p.named_parameters()])
    pd = nn.ParameterDict({"x": t.ones(1), "y": t.ones(2)})
    o.append(repr(pd))
    o.append(list(pd.state_dict()))
    s = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    s2 = s + nn.Sequential(nn.Tanh())
    o.append(repr(s2))
    s.extend(s2)
    o.append(repr(s))
    o.append(repr(s[1:2]))
    o.append(repr(nn.Sequential()))
    o.append(repr(nn.Transformer(8, 2, 1, 1, 16)))
    return o


def stateless(t):
    m = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    x = t.randn(3, 2)
    ps = {k: t.zeros_like(v) + 1 for k, v in m.named_parameters()}
    f = import_module(t.__name__ + ".nn.utils.stateless").functional_call
    return [f(m, ps, (x,)) if t is pellucid else t.func.functional_call(m, ps, (x,)), m[0].weight]


def fuse(t):
    c, b = (t.nn.Conv2d(2, 3, 3), t.nn.BatchNorm2d(3))
    b(t.randn(4, 3, 2, 2) * 3)
    c.eval()
    b.eval()
    x = t.randn(1, 2, 5, 5)
    f = t.nn.utils.fuse_conv_bn_eval(c, b)
    return [f(x), b(c(x))]


def swa(t):
    m = t.nn.Linear(2, 2)
    a = t.optim.swa_utils.AveragedModel(m)
    for _ in range(3):
        with t.no_grad():
            m.weight.add_(1)
        a.update_parameters(m)
    e = t.optim.swa_utils.AveragedModel(m, multi_avg_fn=t.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    e.update_parameters(m)
    with t.no_grad():
        m.weight.mul_(2)
    e.update_parameters(m)
    return [dict(a.state_dict()), dict(e.state_dict())]


def lazy(t):
    m = t.nn.Sequential(
        t.nn.LazyConv2d(4, 3), t.nn.LazyBatchNorm2d(), t.nn.Flatten(), t.nn.LazyLinear(2)
    )
    r = repr(m)
    x = t.randn(2, 3, 5, 5)
    t.manual_seed(1)
    y = m(x)
    return [y, repr(m), r]


PROGRAMS = [
    inits,
    layers,
    clip,
    wn,
    wn_old,
    sn,
    sn_old,
    orth,
    prune,
    packed,
    hooks,
    errs,
    lists,
    stateless,
    fuse,
    swa,
    lazy,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program(program):
    mine, theirs = [], []
    for package, out in ((pellucid, mine), (torch, theirs)):
        package.manual_seed(0)
        out += flat(program(package))
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs):
        if isinstance(b, np.ndarray):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=TOLERANCE.get(program.__name__, 1e-5))
        else:
            assert a == b


TOLERANCE = {"sn": 0.0001, "sn_old": 0.0001, "orth": 0.0001, "fuse": 0.0001, "lazy": 0.0001}
