"""Reverse mode behaves as PyTorch's: values, order of hooks, refusals with type and first line."""

import copy

import pytest

import pellucid

torch = pytest.importorskip("torch")
CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


def err(f):
    try:
        f()
    except Exception as e:
        return (type(e).__name__, str(e))
    return "no error"


@case
def hooks_order(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: log.append(("a", g.tolist())) or g * 2)
    y.retain_grad()
    y.register_hook(lambda g: log.append(("b", g.tolist())) or g * 3)
    h = x.register_hook(lambda g: log.append(("x", g.tolist())))
    y.grad_fn.register_prehook(lambda gs: log.append(("pre", [g.tolist() for g in gs])))
    y.grad_fn.register_hook(
        lambda gi, go: log.append(
            ("post", [None if g is None else g.tolist() for g in gi], [g.tolist() for g in go])
        )
    )
    y.sum().backward()
    log.append(y.grad.tolist())
    log.append(x.grad.tolist())
    h.remove()
    return log


@case
def hooks_of_nodes_where_some_gradients_are_asked_for(m):
    log = []
    layers = [
        (m.nn.Linear(3, 2), (4, 3)),
        (m.nn.Conv2d(2, 3, 3), (2, 2, 4, 4)),
        (m.nn.BatchNorm2d(2), (2, 2, 4, 4)),
        (m.nn.GroupNorm(1, 2), (2, 2, 4, 4)),
        (m.nn.LayerNorm(4), (2, 4)),
        (m.nn.PReLU(), (2, 2)),
    ]
    for layer, shape in layers:
        x = m.ones(shape, requires_grad=True)
        y = layer(x)
        y.grad_fn.register_hook(lambda inner, outer: log.append([g is None for g in inner]))
        for wanted in (x, *layer.parameters()):
            m.autograd.grad(y.sum(), wanted, retain_graph=True)
            y.sum().backward(inputs=[wanted], retain_graph=True)
    return log


@case
def post_acc(m):
    log = []
    x = m.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.tolist()))
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    return log


@case
def errs(m):
    x = m.ones(2, requires_grad=True)
    z = m.ones(2)

    def twice():
        y = (x * x).sum()
        y.backward()
        y.backward()

    def inplace():
        y = x.exp()
        y * 2
        y.add_(1)
        y.sum().backward()

    def leaf():
        x.add_(1)

    def leafview():
        x[0].add_(1)

    def unused():
        m.autograd.grad((x * 2).sum(), [x, m.ones(1, requires_grad=True)])

    def badhook():
        y = x * 2
        y.register_hook(lambda g: m.ones(5))
        y.sum().backward()

    def badhook2():
        y = x * 2
        y.register_hook(lambda g: 3)
        y.sum().backward()

    def multiview():
        a, b = (x * 2).unbind(0)
        a.add_(1)

    def nograd_view():
        y = x * 1
        with m.no_grad():
            v = y.view(2)
        v.add_(1)

    return [
        err(f)
        for f in (
            twice,
            inplace,
            leaf,
            leafview,
            unused,
            badhook,
            badhook2,
            multiview,
            nograd_view,
            lambda: (x * 2).backward(),
            lambda: z.sum().backward(),
            lambda: (x * 2).backward(m.ones(3)),
            lambda: m.autograd.grad((x * 2).sum(), z),
            lambda: m.autograd.grad(z.sum(), x),
            lambda: m.autograd.backward([x.sum(), x.sum()], [None]),
            lambda: x.sum().backward(inputs=[]),
            lambda: z.register_hook(print),
            lambda: z.retain_grad(),
            lambda: (x * 2).requires_grad_(False),
            lambda: setattr(x * 2, "requires_grad", False),
            lambda: m.tensor([1, 2], requires_grad=True),
            lambda: m.tensor([1, 2]).requires_grad_(),
            lambda: x.numpy(),
            lambda: setattr(x, "grad", m.ones(3)),
            lambda: setattr(x, "grad", 3),
            lambda: setattr(x, "grad", m.ones(2).double()),
            lambda: (x * 1j).sum().backward(),
            lambda: x.unbind(0)[0].detach_(),
            lambda: (x * 2).register_post_accumulate_grad_hook(print),
            lambda: m.autograd.grad(x.sum(), x, materialize_grads=True, allow_unused=False),
            lambda: m.add(x, x, out=m.ones(2)),
            lambda: copy.deepcopy(x * 2),
        )
    ]


@case
def inplace_dd(m):
    x = m.tensor([1.0, 2.0, 3.0], dtype=m.float64, requires_grad=True)
    y = x * 2
    y.mul_(x)
    y[0] = x[1] * x[2]
    y[1:].mul_(3)
    z = y.view(-1)
    z.add_(x)
    (g,) = m.autograd.grad((y**2).sum(), x, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), x)
    return g.tolist(), h.tolist()


@case
def saved_hooks(m):
    log = []
    x = m.ones(2, requires_grad=True)
    with m.autograd.graph.saved_tensors_hooks(
        lambda t: (log.append(("p", t.tolist())), t * 2)[1], lambda t: (log.append("u"), t)[1]
    ):
        y = x * x
    y.sum().backward()
    return log, x.grad.tolist()


@case
def func_old(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, n, flag=True):
            ctx.n = n
            ctx.save_for_backward(x)
            a = x * n
            b = x > 0
            ctx.mark_non_differentiable(b)
            ctx.set_materialize_grads(False)
            return a, b, x.exp()

        @staticmethod
        def backward(ctx, ga, gb, gc):
            log.append((ga is None, gb is None, gc is None, ctx.needs_input_grad))
            return ga * ctx.n if ga is not None else None, None, None

    log = []
    x = m.ones(2, requires_grad=True)
    a, b, c = F.apply(x, 3)
    a.sum().backward()
    return log, x.grad.tolist(), b.requires_grad, c.requires_grad, a.grad_fn.name()


@case
def func_dirty(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = m.ones(2, requires_grad=True)
    y = x * 1
    y[0:1]
    w = F.apply(y)
    w.sum().backward()
    return w is y, x.grad.tolist(), y._version


@case
def func_out(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

    x = m.ones(2, dtype=m.float64, requires_grad=True)
    (g,) = m.autograd.grad(F.apply(x).sum(), x, create_graph=True)
    (h,) = m.autograd.grad(g.sum(), x)
    return g.tolist(), h.tolist()


@case
def func_errs(m):
    class W(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    class S(W):
        @staticmethod
        def backward(ctx, g):
            return m.ones(7), None

    class N(W):
        @staticmethod
        def backward(ctx, g):
            return 3, None

    class Once(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        @m.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

    class NF(m.autograd.Function):
        pass

    x = m.ones(2, requires_grad=True)
    return [
        err(lambda: W.apply(x, x).sum().backward()),
        err(lambda: S.apply(x, m.ones(2)).sum().backward()),
        err(lambda: N.apply(x, m.ones(2)).sum().backward()),
        err(
            lambda: m.autograd.grad(
                m.autograd.grad((Once.apply(x)).sum(), x, create_graph=True)[0].sum(), x
            )
        ),
        err(lambda: NF.apply(x)),
        err(lambda: W()),
        err(lambda: W.apply(x)),
    ]


@case
def func_new(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

        @staticmethod
        def jvp(ctx, t, _):
            return t * ctx.k

    x = m.ones(2, requires_grad=True)
    y = F.apply(x, 4)
    y.sum().backward()
    return x.grad.tolist()


@case
def identity_fn(m):
    class F(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = m.ones(2, requires_grad=True)
    y = F.apply(x)
    y.sum().backward()
    return y is x, x.grad.tolist()


@case
def inputs_kw(m):
    x = m.ones(2, requires_grad=True)
    w = m.ones(2, requires_grad=True)
    y = x * w
    (y * y).sum().backward(inputs=[x, y])
    return x.grad.tolist(), w.grad, y.grad.tolist()


@case
def unused_none(m):
    x = m.ones(2, requires_grad=True)
    z = m.ones(3, requires_grad=True)
    r = m.autograd.grad(x.sum(), [x, z], allow_unused=True)
    r2 = m.autograd.grad(x.sum(), [x, z], materialize_grads=True)
    return r[1], r2[1].tolist()


@case
def same_in_out(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    return m.autograd.grad(y, y, m.ones(2))[0].tolist(), m.autograd.grad(
        [y.sum(), y.sum()], [y, x]
    )[1].tolist()


@case
def accum(m):
    x = m.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    g = x.grad
    (x * 2).sum().backward()
    return g is x.grad, x.grad.tolist(), x.grad.requires_grad


@case
def accum_cg(m):
    x = m.ones(2, requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    r = x.grad.requires_grad
    x.grad.sum().backward()
    return r, x.grad.tolist()


@case
def anomaly(m):
    x = m.tensor([-1.0, 4.0], requires_grad=True)

    def f():
        with m.autograd.detect_anomaly():
            (x.sqrt()).sum().backward()

    return err(f)


@case
def next_fns(m):
    x = m.ones(2, requires_grad=True)
    y = (x * 2 + 1).sum()
    r = []
    n = y.grad_fn
    while n:
        r.append(n.name())
        n = n.next_functions[0][0] if n.next_functions else None
    return r


@case
def node_api(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    n = y.grad_fn
    n.metadata["a"] = 1
    return (
        type(n).__name__,
        n.next_functions[1],
        n.next_functions[0][0].variable is x,
        n.metadata,
        n is y.grad_fn,
    )


@case
def multi_hook(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = m.ones(2, requires_grad=True)
    a = x * 2
    b = y * 3
    m.autograd.graph.register_multi_grad_hook(
        (a, b), lambda gs: log.append([None if g is None else g.tolist() for g in gs])
    )
    (a + b).sum().backward()
    a.sum()
    return log


@case
def complexg(m):
    x = m.tensor([1 + 2j, 3 - 1j], dtype=m.complex128, requires_grad=True)
    y = (x * x.conj()).real.sum() + (x**2).abs().sum()
    y.backward()
    return [str(v) for v in x.grad.tolist()]


@case
def retain_inplace(m):
    x = m.ones(2, requires_grad=True)
    y = x * 1
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return y.grad.tolist(), x.grad.tolist()


@case
def hook_inplace(m):
    log = []
    x = m.ones(2, requires_grad=True)
    y = x * 1
    y.register_hook(lambda g: log.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: log.append(("after", g.tolist())))
    y.sum().backward()
    return log


@case
def leaf_order(m):
    log = []
    x = m.ones(2, requires_grad=True)
    w = m.ones(2, requires_grad=True)
    for n, t in (("x", x), ("w", w)):
        t.register_hook(lambda g, n=n: log.append(n))
    y = x * w
    (y * w).sum().backward()
    return sorted(log), w.grad.tolist()


@case
def inference(m):
    with m.inference_mode():
        x = m.ones(2)
    return (
        x.is_inference(),
        err(lambda: x.add_(1)),
        err(lambda: x.requires_grad_()),
        err(lambda: (x * m.ones(2, requires_grad=True)).sum()),
    )


@case
def detach_share(m):
    x = m.ones(2, requires_grad=True)
    y = x.exp()
    d = y.detach()
    d.zero_()
    return err(lambda: y.sum().backward()), y._version


@case
def non_tensor_grad(m):
    x = m.ones(2, requires_grad=True)
    y = x.argmax()
    return y.requires_grad, (x > 0).requires_grad, x.long().requires_grad


@case
def deep(m):
    x = m.ones(1, requires_grad=True)
    y = x
    for _ in range(20000):
        y = y + 1
    y.backward()
    return x.grad.tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_same_behaviour(name):
    theirs, ours = CASES[name](torch), CASES[name](pellucid)
    if isinstance(theirs, list):
        for a, b in zip(theirs, ours, strict=True):
            assert repr(b) == repr(a)
    assert repr(ours) == repr(theirs)
