"""What changes between calls must change the result: a compiled function never answers for a call
that it was not traced for.
"""

import cProfile
import datetime
import gc
import math
import random
import types
import warnings
import weakref

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F

nn = torch.nn
X = torch.arange(6.0).reshape(2, 3)
RNG = np.random.default_rng(0)


def same(f, *calls):
    """`f` compiled gives for each call what `f` gives; `calls` are argument tuples or functions
    that change something.
    """
    compiled = torch.compile(f)
    for call in calls:
        if callable(call):
            call()
        else:
            for _ in range(2):
                torch.testing.assert_close(compiled(*call), f(*call))
    return compiled


def test_shapes_dtypes_and_layouts():
    c = same(
        lambda x: (x * 2).sum(0),
        (X,),
        (X.T,),
        (X.double(),),
        (X[:, 1:],),
        (X[0],),
        (X.int(),),
        (X.flip(0),),
    )
    assert len(c.versions) > 3


def test_numbers_and_flags_as_arguments():
    same(lambda x, k=1, up=True: x * k if up else x / k, (X, 2), (X, 3), (X, 3.0), (X, 3, False))


def test_fills_with_a_number_compile():
    """The number is an array of its own, which belongs to the step; one that is read from a tensor
    does not.
    """
    value = 2.0
    index = torch.tensor([1, 2])

    def f(x, y):
        made = x.masked_fill(y > 1, value) + x.index_fill(1, index, value)
        made.masked_fill_(y == 0, 7)
        return made

    def change():
        nonlocal value
        value = -1e10

    compiled = same(f, (X, X), (X, -X), (X, X + 1), change, (X, X))
    assert sum(v.hits for v in compiled.versions) >= 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(
            lambda x, k: x.masked_fill(x > 1, k.item()),
            (X, torch.tensor(3.0)),
            (X, torch.tensor(4.0)),
        )


@pytest.mark.parametrize("settles", [True, False])
def test_what_a_traced_call_computed_is_freed_at_once(settles):
    """Not only when the collector comes by: an exception's traceback, or the tracer, kept all
    values of a step.
    """
    kept = []
    seen = []

    @torch.compile
    def f(x):
        y = torch.exp(x)
        seen.append(weakref.ref(y._array)) if not seen else None
        z = (y * 2).sum()
        if not settles:
            # changes what the step reads, which a program would not do: the trace ends with a
            # refusal
            kept.append(0)
        return z + len(kept)

    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(X)
        assert seen[0]() is None
    finally:
        gc.enable()


def test_closures_globals_and_attributes():
    scale = 2.0
    holder = types.SimpleNamespace(shift=1.0, deep=types.SimpleNamespace(k=[1.0, 2.0]))

    def f(x):
        return x * scale + holder.shift + holder.deep.k[1]

    def change_cell():
        nonlocal scale
        scale = 3.0

    same(
        f,
        (X,),
        change_cell,
        (X,),
        lambda: setattr(holder, "shift", 5.0),
        (X,),
        lambda: holder.deep.k.__setitem__(1, 7.0),
        (X,),
        lambda: setattr(holder, "deep", types.SimpleNamespace(k=[0.0, 9.0])),
        (X,),
    )


def test_attributes_by_made_up_names_and_numpy_arrays():
    holder = types.SimpleNamespace(scale0=1.0, scale1=2.0)
    table = np.array([1.0, 2.0])

    def f(x):
        return x * getattr(holder, f"scale{1}") + float(table[1])

    same(
        f,
        (X,),
        lambda: setattr(holder, "scale1", 5.0),
        (X,),
        lambda: table.__setitem__(1, 9.0),
        (X,),
    )

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.k0, self.k1 = 2.0, 3.0

        def forward(self, x):
            for i in range(2):
                x = x * getattr(self, "k" + str(i))
            return x

    net = Net()
    same(net, (X,), lambda: setattr(net, "k1", 7.0), (X,))


FACTOR = 2.0


def test_globals():
    def f(x):
        return x * FACTOR

    def change():
        global FACTOR
        FACTOR += 1

    same(f, (X,), change, (X,))


def test_modules():
    m = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))
    m.eval()

    def f(x):
        return m(x)

    c = torch.compile(f)

    def check():
        for _ in range(2):
            torch.manual_seed(3)
            a = c(X)
            state = {k: v.clone() for k, v in m.state_dict().items()}
            torch.manual_seed(3)
            if m.training:
                return
            torch.testing.assert_close(a, f(X))
            assert all(torch.equal(state[k], v) for k, v in m.state_dict().items())

    check()
    with torch.no_grad():
        m[0].weight.mul_(2)
    check()
    m[0].weight = nn.Parameter(torch.ones(4, 3))
    check()
    m[2].eps = 0.5
    check()
    m[1].train()
    torch.manual_seed(0)
    a = c(X)
    torch.manual_seed(0)
    torch.testing.assert_close(a, f(X))
    m[1].eval()
    check()
    m[0] = nn.Linear(3, 4, bias=False)
    check()
    m[0].register_forward_hook(lambda module, args, out: out + 1)
    check()
    m.append(nn.ReLU())
    check()
    m[0].weight.data = torch.full((4, 3), 0.5)
    check()


def test_training_mode_of_batch_norm_moves_the_statistics():
    results = []
    for compiled in (False, True):
        m = nn.BatchNorm1d(3)
        f = (
            torch.compile(lambda x, m=m: m(x).detach())
            if compiled
            else (lambda x, m=m: m(x).detach())
        )
        for k in range(4):
            f(X + k)
            if k == 1:
                m.momentum = 0.5
        m.eval()
        f(X)
        results.append(m.state_dict())
    for key, value in results[0].items():
        torch.testing.assert_close(results[1][key], value)


def make_step(optimizer=None, lr=0.1):
    torch.manual_seed(0)
    m = nn.Linear(3, 2)
    o = torch.optim.SGD(m.parameters(), lr=lr) if optimizer is None else optimizer(m.parameters())

    def step(x):
        o.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        o.step()
        return loss

    return m, o, step


def both(change, optimizer=None, count=8):
    """Losses of an eager and a compiled training; `change(k, m, o)` may do something before step k."""
    results = []
    for compiled in (False, True):
        m, o, step = make_step(optimizer)
        run = torch.compile(step) if compiled else step
        losses = []
        for k in range(count):
            change(k, m, o)
            losses.append(run(X * 0.1).item())
        results.append(
            (
                losses,
                {n: p.detach().clone() for n, p in m.named_parameters()},
                {n: p.grad for n, p in m.named_parameters()},
            )
        )
    (a, pa, ga), (b, pb, gb) = results
    assert b == pytest.approx(a, rel=1e-5)
    for n in pa:
        torch.testing.assert_close(pb[n], pa[n])
        assert (ga[n] is None) == (gb[n] is None)
        if ga[n] is not None:
            torch.testing.assert_close(gb[n], ga[n])
    return run


def test_learning_rate_and_schedule():
    def change(k, m, o):
        if k == 3:
            o.param_groups[0]["lr"] = 0.01
        if k == 5:
            o.param_groups[0]["weight_decay"] = 0.1

    run = both(change)
    assert run.versions[0].hits >= 5  # options are read at each call, none of this traces again


@pytest.mark.parametrize(
    "optimizer",
    [lambda p: torch.optim.Adam(p, lr=0.01), lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)],
)
def test_optimizer_options_and_state(optimizer):
    saved = []

    def change(k, m, o):
        if k == 3:
            saved[:] = [o.state_dict()]
        if k == 4:
            o.param_groups[0]["lr"] = 0.02
        if k == 5:
            o.load_state_dict(saved[0])
        if k == 6:
            o.param_groups[0]["maximize"] = True

    both(change, optimizer)


def test_frozen_parameters_and_replaced_data():
    def change(k, m, o):
        if k == 3:
            m.bias.requires_grad_(False)
        if k == 5:
            m.bias.requires_grad_(True)
            m.weight.data = torch.ones(2, 3)
        if k == 6:
            m.weight = nn.Parameter(torch.full((2, 3), 0.1))
            o.param_groups[0]["params"][0] = m.weight

    both(change)


def test_a_parameter_group_is_added():
    extra = {}

    def change(k, m, o):
        if k == 0:
            extra["w"] = nn.Parameter(torch.ones(2))
        if k == 4:
            o.add_param_group({"params": [extra["w"]], "lr": 0.5})

    both(change)


def test_gradients_accumulate_where_nobody_clears_them():
    results = []
    for compiled in (False, True):
        w = nn.Parameter(torch.ones(3))

        def step(x, w=w):
            loss = (x * w).square().sum()
            loss.backward()
            return loss

        run = torch.compile(step) if compiled else step
        for k in range(5):
            run(X[0] + k)
            if k == 2:
                w.grad = None
        kept = w.grad
        run(X[0])
        assert w.grad is kept
        results.append(w.grad.clone())
    torch.testing.assert_close(*results)


def test_gradients_that_somebody_keeps_are_not_written_over():
    m, o, step = make_step()
    run = torch.compile(step)
    kept = []
    for _ in range(4):
        run(X)
        kept.append((m.weight.grad, m.weight.grad.clone()))
    held = m.weight.grad.detach()
    copy = held.clone()
    run(X * 2)
    assert all(torch.equal(a, b) for a, b in kept) and torch.equal(held, copy)


def test_results_are_not_written_over():
    run = torch.compile(lambda x: x * 2)
    made = [run(torch.full((4,), float(k))) for k in range(5)]
    assert [t[0].item() for t in made] == [0, 2, 4, 6, 8]


def test_in_place_on_arguments_and_views_of_them():
    def f(x):
        x.add_(1)
        y = x[0]
        y.mul_(2)
        return x.view(-1), x

    compiled = torch.compile(f)
    for _ in range(3):
        a, b = X.clone(), X.clone()
        (va, _), (vb, rb) = f(a), compiled(b)
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(va, vb)
        assert rb is b
        vb[0] = 100.0
        assert b[0, 0] == 100.0


def test_arguments_that_share_memory():
    def f(x, y):
        x.mul_(2)
        return x + y

    compiled = torch.compile(f)
    for _ in range(3):
        compiled(X.clone(), X.clone())
    a = X.clone()
    b = X.clone()
    torch.testing.assert_close(compiled(a, a), f(b, b))
    big = torch.arange(8.0)
    twin = big.clone()
    torch.testing.assert_close(compiled(big[:4], big[2:6]), f(twin[:4], twin[2:6]))
    torch.testing.assert_close(big, twin)


def test_a_parameter_as_argument():
    w = torch.ones(3)

    def f(x):
        w.add_(1)
        return x * w

    compiled = torch.compile(f)
    for _ in range(3):
        compiled(torch.ones(3))
    assert compiled(w).tolist() == [25.0, 25.0, 25.0]


def test_grad_mode_and_inference():
    w = torch.ones(3, requires_grad=True)
    f = torch.compile(lambda x: x * w)
    assert f(X).requires_grad and f(X).requires_grad
    with torch.no_grad():
        assert not f(X).requires_grad and not f(X).requires_grad
    assert f(X).requires_grad


def test_autocast_and_default_dtype():
    lin = nn.Linear(3, 3)
    f = torch.compile(lambda x: lin(x))
    assert f(X).dtype is torch.float32 and f(X).dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert f(X).dtype is torch.bfloat16 and f(X).dtype is torch.bfloat16
    with torch.autocast("cpu", dtype=torch.float16):
        assert f(X).dtype is torch.float16 and f(X).dtype is torch.float16
    assert f(X).dtype is torch.float32
    assert len(f.versions) == 3


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x: x * x.sum().item(), "a tensor's value as a number"),
        (lambda x: (x, math.sqrt(x.sum().item())), "a tensor's value as a number"),
        (lambda x: x * float(x.sum()), "a tensor's value by float"),
        (lambda x: (f"{x.sum().item():.1f}", x), "a tensor's value as a number"),
        (lambda x: (torch.manual_seed(0), x)[1], "seeds a random stream"),
        (lambda x: torch.tensor(x.numpy() * 2), "as a NumPy array"),
        (lambda x: x[x > 1], "depends on values"),
        (lambda x: x * random.random(), "random numbers"),
        (lambda x: x * float(RNG.normal()), "random numbers"),
        (lambda x: x * datetime.datetime.now().year, "asks for the time"),
        (lambda x: x.nonzero() * 2, "depends on values"),
        (lambda x: x[torch.where(x > 1)], r"the shapes of where\(condition\) depend on values"),
    ],
)
def test_what_cannot_be_compiled_says_why_and_runs_eagerly(f, reason):
    with pytest.warns(torch.compiler.CompileWarning, match=reason) as caught:
        compiled = torch.compile(f)
        first = compiled(X)
    assert "test_soundness.py" in str(caught[0].message)
    again = compiled(X)
    assert (
        type(again) is type(first)
        and getattr(first, "shape", None) == getattr(again, "shape", None)
        and not compiled.versions
    )
    with pytest.raises(torch.compiler.CompileError, match=reason):
        torch.compile(f, fullgraph=True)(X)


def test_a_number_may_be_returned():
    compiled = torch.compile(lambda x: {"loss": (x * x).mean().item(), "x": x + 1})
    for k in range(3):
        made = compiled(X + k)
        assert type(made["loss"]) is float and made["loss"] == pytest.approx(
            ((X + k) ** 2).mean().item()
        )
    assert compiled.versions[0].hits == 2


def test_python_side_effects_are_refused():
    seen = []
    count = 0

    def f(x):
        nonlocal count
        count += 1
        seen.append(x.sum())
        return x + count

    compiled = torch.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [compiled(X) for _ in range(5)]
    assert count == 5 and len(seen) == 5 and results[4][0, 0] == 5


def test_errors_are_those_of_eager():
    def f(x, y):
        return F.cross_entropy(x, y)

    compiled = torch.compile(f)
    x = torch.zeros(2, 3)
    for _ in range(3):
        compiled(x, torch.tensor([0, 2]))
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        compiled(x, torch.tensor([0, 7]))
    assert compiled(x, torch.tensor([0, 2])).item() == pytest.approx(1.0986, abs=1e-3)
    with pytest.raises(RuntimeError, match="size"):
        torch.compile(lambda a, b: a + b)(torch.ones(2), torch.ones(3))


def test_random_numbers_are_those_of_eager():
    f = lambda x: (
        x
        + torch.rand(3)
        + torch.randint(0, 5, (3,))
        + torch.empty(3).normal_()
        + F.dropout(torch.ones(3))
    )
    compiled = torch.compile(f)
    torch.manual_seed(0)
    wanted = [f(X) for _ in range(4)]
    torch.manual_seed(0)
    for w in wanted:
        torch.testing.assert_close(compiled(X), w)
    assert compiled.versions[0].hits == 3


def test_a_freed_graph_is_freed():
    m, o, step = make_step()
    run = torch.compile(step)
    for _ in range(3):
        loss = run(X)
    assert loss.requires_grad and loss.grad_fn is not None
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


REPEATED = {
    "sub": lambda w: X - w,
    "sum": lambda w: w.sum(),
    "view of a sum": lambda w: (w + X).view(-1),
    "exp": lambda w: w.exp(),
    "mul": lambda w: w * X,
}


@pytest.mark.parametrize("f", REPEATED.values(), ids=REPEATED)
def test_a_second_backward_works_where_it_does_eagerly(f):
    w = torch.ones(X.shape, requires_grad=True)
    told = []
    for run in (f, torch.compile(f)):
        for _ in range(3):
            w.grad = None
            y = run(w).sum()
            y.backward()
            try:
                y.backward()
                told.append(w.grad.tolist())
            except RuntimeError as error:
                told.append(str(error)[:50])
    assert told[3:] == told[:3]


def test_saved_values_that_were_overwritten_are_noticed():
    w = torch.ones(3, requires_grad=True)
    f = torch.compile(lambda x: (x * w * w).sum())
    f(X).backward()
    y = f(X)
    with torch.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_nothing_is_kept_alive():
    m, o, step = make_step()
    run = torch.compile(step)
    big = torch.ones(2, 3)
    seen = weakref.ref(big)
    for _ in range(3):
        out = run(big)
    del big, out
    gc.collect()
    assert seen() is None


def test_tensors_in_containers_are_not_kept_alive():
    run = torch.compile(lambda held, named: held[0] * named["a"])
    first, second = torch.ones(3), torch.ones(3)
    seen = [weakref.ref(first), weakref.ref(second)]
    held, named = [first], {"a": second}
    for _ in range(3):
        run(held, named)
    held.append(torch.ones(2))  # what was passed once is no state
    del held, named, first, second
    gc.collect()
    assert [s() for s in seen] == [None, None]
    run([torch.ones(3)], {"a": torch.ones(3)})
    assert len(run.versions) == 1


def test_objects_as_arguments_are_told_apart():
    """Also when the one before is gone, and its identity is another's."""
    run = torch.compile(lambda x, function: function(x))
    for k in range(6):
        torch.testing.assert_close(run(X, lambda x, k=k: x * k), X * k)


def test_observers_see_operations():
    compiled = torch.compile(lambda x: (x * 2).sum())
    compiled(X)

    class Count:
        n = 0

        def operation(self, op, inputs, params, outputs):
            self.n += 1

    from pellucid.core.observe import observing

    with observing(Count()) as count:
        compiled(X)
    assert count.n == 2


def test_many_shapes_are_bounded():
    f = torch.compile(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(1, 30):
            assert f(torch.ones(n)).sum() == 2 * n
    assert len(f.versions) <= 8


def test_the_last_short_batch_costs_no_compile_per_epoch():
    m, o, step = make_step()
    run = torch.compile(step)
    for _ in range(4):
        run(X)
        run(X[:1])
    assert (
        sum("traced, because" in h for h in run.history) == 2
        and sum(v.hits for v in run.versions) >= 5
    )


def test_stances():
    f = torch.compile(lambda x: x * 2)
    for _ in range(3):
        f(X)
    hits = f.versions[0].hits
    with torch.compiler.set_stance("force_eager"):
        f(X)
    assert f.versions[0].hits == hits
    with torch.compiler.set_stance("fail_on_recompile"):
        f(X)
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            f(X[0])
    with torch.compiler.set_stance("eager_on_recompile"):
        assert f(X[0]).shape == (3,) and len(f.versions) == 1
    f(X)
    assert f.versions[0].hits == hits + 2


def test_a_profiler_goes_on_after_tracing():
    profile = cProfile.Profile()
    f = torch.compile(lambda x: x.exp())
    profile.enable()
    f(X)
    math.sqrt(2.0)
    profile.disable()
    profile.create_stats()
    assert any("sqrt" in str(key) for key in profile.stats) and f.versions


def test_gradients_that_raise_are_asked_for_by_nobody():
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("never")

    f = torch.compile(lambda x: Odd.apply(x))
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(torch.compiler.CompileWarning, match="its gradient raises ValueError"):
        assert f(x).sum() == 4 == f(x).sum()


def test_empty_tensors():
    f = torch.compile(lambda a, b: torch.cat((a, b)).sum() + (a * 2).sum())
    for _ in range(3):
        assert f(torch.zeros(0), torch.zeros(0)) == 0
    g = torch.compile(lambda x: torch.view_as_real(x)[..., 1])
    for _ in range(3):
        assert g(torch.zeros(0, 2, dtype=torch.complex64)).shape == (0, 2)


def test_a_gradient_that_the_step_clears_is_no_condition():
    x = torch.ones(3, requires_grad=True)

    @torch.compile
    def step(x):
        x.grad = None
        loss = (x * x).sum()
        loss.backward()
        return loss.detach()

    for _ in range(5):
        step(x)
    assert [v.hits for v in step.versions] == [4] and x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("compiled", [False, True])
def test_writes_to_arguments_and_results_that_are_views_count(compiled):
    """Autograd notices by the count that a saved value was overwritten."""
    wrap = torch.compile if compiled else lambda f: f

    def twice(x):
        x.add_(1)
        x.mul_(2)
        return x.sum()

    run, x = wrap(twice), torch.zeros(3)
    for k in range(4):
        run(x)
        assert x._version == 2 * (k + 1)
    leaf = torch.ones(3, requires_grad=True)
    saved = leaf * 1
    loss = (saved * saved).sum()
    with torch.no_grad():
        run(saved.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()

    p = nn.Parameter(torch.ones(3))

    def update():
        with torch.no_grad():
            p.sub_(1)
            p.mul_(2)
        return p.sum()

    step = wrap(update)
    with torch.no_grad():
        for k in range(3):
            step()
            assert p._version == 2 * (k + 1)

    part, x = wrap(lambda x: x.view(-1)[1:]), torch.zeros(2, 3)
    for _ in range(3):
        view = part(x)
    view.add_(1)
    assert x._version == 1 and view._is_view() and view._base is x
    assert x.tolist() == [[0, 1, 1], [1, 1, 1]]
    assert part(X[:, 1:].T.contiguous()).tolist() == X[:, 1:].T.reshape(-1)[1:].tolist()


ASKED = {
    "how often a tensor was written": "x._version",
    "whether a tensor is a view": "x._is_view()",
    "of what it is a view": "x._base is None",
    "its offset": "x.storage_offset()",
    "its address": "x.data_ptr() % 64",
    "the size of its storage": "x.untyped_storage().nbytes()",
    "its typed storage": "len(x.storage())",
    "whether its memory is shared": "x.is_shared()",
    "what it shows": "x.is_set_to(SHOWN)",
}
SHOWN = torch.arange(12.0).reshape(3, 4)[1]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("asked", ASKED.values(), ids=list(ASKED))
def test_what_compiled_code_does_not_keep_of_a_tensor_is_asked_in_each_call(asked):
    """Two tensors may differ in nothing but that: no guard tells them apart, so the step runs
    eagerly.
    """
    scope = {"SHOWN": SHOWN}
    exec(f"def step(x):\n    return x.detach() * 2, {asked}", scope)
    step = scope["step"]
    step.__globals__["torch"] = torch
    written = torch.randn(4)
    written.add_(1).add_(1)
    shared = torch.randn(4)
    shared.share_memory_()
    inputs = [
        torch.randn(4),
        torch.randn(12)[:4],
        SHOWN,
        torch.randn(8).split(4)[1],
        written,
        shared,
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        run = torch.compile(step)
        for x in inputs + inputs[::-1]:
            got, expected = run(x), step(x)
            assert torch.equal(got[0], expected[0]) and got[1] == expected[1]
    with pytest.raises(torch.compiler.CompileError, match="which compiled code does not keep"):
        torch.compile(step, fullgraph=True)(inputs[0])


def test_no_part_of_a_step_that_asks_for_counts_of_writes_is_compiled():
    def step(x):
        v = x * 2
        v.unsqueeze(0).add_(1)
        return v, x * v._version

    run, x = torch.compile(step), torch.randn(3)
    with pytest.warns(
        torch.compiler.CompileWarning,
        match="runs eagerly: the step asks how often a tensor was written",
    ):
        run(x)
    for _ in range(3):
        assert all(torch.equal(a, b) for a, b in zip(run(x), step(x)))


def test_whether_an_argument_has_a_gradient_is_asked_in_each_call():
    def step(x):
        return x.detach() * (2 if x.grad is None else 3)

    run = torch.compile(step)
    without, other = (torch.randn(4, requires_grad=True) for _ in range(2))
    having = torch.randn(4, requires_grad=True)
    having.square().sum().backward()
    for x in (without, having, other, having, without):
        assert torch.equal(run(x), step(x))


def test_results_that_lie_in_constants_keep_their_strides_and_what_they_share():
    def f(x):
        z = torch.zeros(2, 3)
        w = torch.ones(2, 2)
        return x + 1, z, z.mT, w[0], w, torch.ones(1).expand(4), z[:, 1]

    compiled = torch.compile(f)
    x = torch.ones(3)
    for run in (f, compiled, compiled, compiled):
        made = run(x)
        assert [t.stride() for t in made] == [
            (1,), (3, 1), (1, 3), (1,), (2, 1), (0,), (3,),
        ]  # fmt: skip
        made[2][1, 1] = 5  # the others see it, the next call does not
        made[4].fill_(7)
        assert made[1].tolist() == [[0, 0, 0], [0, 5, 0]] and made[6].tolist() == [0, 5]
        assert made[3].tolist() == [7, 7]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_attention_of_one_query_to_one_key_has_no_gradient_for_the_scores(dtype):
    """Its weights have the shape of what the kernel keeps for the gradient."""

    def step(q, k, v):
        return F.scaled_dot_product_attention(q, k, v).square().sum()

    compiled = torch.compile(step)
    for _ in range(3):
        leaves = [torch.randn(2, 1, 8).to(dtype).requires_grad_() for _ in range(3)]
        dq, dk, dv = torch.autograd.grad(compiled(*leaves), leaves)
        expected = torch.autograd.grad(step(*leaves), leaves)
        assert dq.abs().max() == dk.abs().max() == 0 and torch.equal(dv, expected[2])


HOLDERS = {
    "alone": lambda p, x: p.grad,
    "in a list": lambda p, x: [p.grad, x * 2],
    "written to": lambda p, x: p.grad.mul_(2),
    "before backward": lambda p, x: (p.grad, (p * x).sum().backward())[0],
}


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("held", HOLDERS.values(), ids=HOLDERS)
def test_a_gradient_that_leaves_is_that_of_the_call(held, given):
    p = torch.ones(3, requires_grad=True)
    run = torch.compile((lambda p, x: held(p, x)) if given else (lambda x: held(p, x)))
    for k in range(4):
        p.grad = torch.full((3,), float(k))
        result = run(p, torch.ones(3)) if given else run(torch.ones(3))
        result = result[0] if isinstance(result, list) else result
        assert result is p.grad


@pytest.mark.parametrize("how", ["grad", "inputs"])
def test_a_graph_from_before_the_call_may_lead_to_what_is_asked_for(how):
    """A call whose argument has a graph that does not lead to the parameters tells nothing about one
    whose argument comes from them.
    """
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4))
    parameters = list(net.parameters())

    def step(h):
        loss = net(h).square().mean()
        if how == "grad":
            return torch.autograd.grad(loss, parameters)[0].norm()
        for p in parameters:
            p.grad = None
        loss.backward(inputs=parameters)
        return parameters[0].grad.norm()

    run = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        for make in (lambda x: x, lambda x: x.requires_grad_() * 2, net, net, lambda x: x):
            x = torch.randn(3, 4)
            torch.testing.assert_close(run(make(x)), step(make(x.detach())))


def test_a_gradient_for_what_the_call_makes_is_compiled_whatever_comes_in():
    torch.manual_seed(0)
    critic, maker = torch.nn.Linear(4, 1), torch.nn.Linear(4, 4)

    def penalty(fake):
        mixed = fake * 0.5 + 0.1
        return torch.autograd.grad(critic(mixed).tanh().sum(), mixed)[0].norm()

    run = torch.compile(penalty)
    for _ in range(4):
        fake = maker(torch.randn(3, 4))
        torch.testing.assert_close(run(fake), penalty(fake))
    assert [v.hits for v in run.versions] == [3]
