"""Whatever eager execution gives, a compiled function gives at every call: what was found to
differ, and what is of its kind.
"""

import copy
import functools
import itertools
import mmap
import pickle
import threading
import types
import warnings

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F

from .eager_and_compiled import outcome, same

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")


def leaf(*shape, seed=0, dtype=torch.float32):
    data = np.random.default_rng(seed).standard_normal(shape) * (1 + seed / 4)
    return torch.from_numpy(np.asarray(data)).to(dtype).requires_grad_()


def agree(function, makers, calls=5, strides=True):
    """Compiled as eager, over calls with other values."""
    compiled = torch.compile(function)
    for k in range(calls):
        same(outcome(compiled, makers(k)), outcome(function, makers(k)), strides=strides)
    return compiled


# ---- numbers that leave a tensor and come back ----------------------------------------------------------------
OUT = {
    "item": lambda t: t.sum().item(),
    "float": lambda t: float(t.sum()),
    "int": lambda t: int(t.abs().sum()) + 1,
    "bool": lambda t: bool(t.sum() > 0) + 1,
    "tolist": lambda t: t.tolist()[0],
    "numpy": lambda t: float(t.detach().numpy()[1]),
    "numpy scalar": lambda t: t.detach().numpy()[1],
    "format": lambda t: float(f"{t.sum().item():.3f}"),
    "max": lambda t: max(t.tolist()),
    "min of tensors": lambda t: min(t[0], t[1], t[2]).item(),
    "math": lambda t: __import__("math").sqrt(t.abs().sum()),
    "round": lambda t: round(t.sum().item(), 2),
    "product": lambda t: 2 * t.sum().item() - 1,
    "index": lambda t: [5.0, 2.0, 3.0][t.argmax()],
    "len": lambda t: float(len(t[t > 0])) + 1,
    "power": lambda t: abs(t.sum().item()) ** 0.5,
    "comparison": lambda t: 2.0 if t.sum() > 0 else 3.0,
}
IN = {
    "factor": lambda x, s: x * s,
    "reflected": lambda x, s: s - x,
    "divisor": lambda x, s: x / (abs(s) + 1),
    "alpha": lambda x, s: torch.add(x, x * x, alpha=s),
    "exponent": lambda x, s: (x.abs() + 1) ** (s / 8),
    "clamp": lambda x, s: x.clamp(-abs(s) / 4, abs(s) / 4),
    "base": lambda x, s: (abs(s) + 0.5) ** x,
    "value": lambda x, s: torch.addcmul(x, x, x, value=s),
    "in place": lambda x, s: (x * 2).mul_(s).add_(s),
    "lerp": lambda x, s: x.lerp(x * x, s),
    "where": lambda x, s: torch.where(x > 0, x * s, s),
    "full": lambda x, s: x * torch.full((3,), s),
    "tensor": lambda x, s: x * torch.tensor(s),
    "eps": lambda x, s: F.layer_norm(x, (3,), eps=abs(s)),
    "elu": lambda x, s: F.elu(x, abs(s)),
    "weight": lambda x, s: F.mse_loss(x, x * 2) * s,
    "set": lambda x, s: (x * 3).index_fill(0, torch.tensor([1]), s),
    "beta": lambda x, s: F.softplus(x, abs(s) + 0.1),
    "grad": lambda x, s: x.exp() * s + s,
}


@pytest.mark.parametrize("out", OUT)
def test_gradients_through_numbers_are_those_of_the_call(out):
    """Forward, gradient and gradient of the gradient, where the number becomes part of an
    operation.
    """
    place = [*OUT].index(out)
    for into in [*IN][place % 5 :: 5]:

        def step(x, get=OUT[out], put=IN[into]):
            y = put(x, get(x.detach()))
            (g,) = torch.autograd.grad(y.sin().sum(), x, create_graph=True)
            return (
                y.detach(),
                g.detach(),
                torch.autograd.grad(g.square().sum(), x, allow_unused=True)[0],
            )

        def backward(x, get=OUT[out], put=IN[into]):
            put(x, get(x.detach())).cos().sum().backward()

        agree(step if place % 2 else backward, lambda k: [leaf(3, seed=k)], 4)


def scaled(x):
    s = x.detach().sum().item()
    y = x * s
    return torch.autograd.grad(y.sum(), x)[0]


def normed(x):
    y = x / float(x.detach().norm())
    return torch.autograd.grad(y.sin().sum(), x)[0]


def branched(x):
    s = (x // 2).sum().item()
    y = s * x
    z = y.unfold(0, 2, 1)
    return y.detach(), z.detach(), torch.autograd.grad(z.cos().sum() + y.sin().sum(), x)[0]


@pytest.mark.parametrize("step", [scaled, normed, branched])
def test_a_graph_that_begins_before_a_part_has_its_own_numbers(step):
    agree(step, lambda k: [leaf(6, seed=k)], 6)


def test_backward_through_the_callers_graph():
    """The graph of an argument may be another one at each call, with other numbers and other
    operations.
    """

    def step(y, x):
        return torch.autograd.grad(y.sum(), x, retain_graph=True)

    def twice(y, x):
        (g,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
        return g.detach(), torch.autograd.grad(g.sum(), x)

    for function in (step, twice, lambda y, x: y.sum().backward()):
        for k, make in enumerate(
            [
                lambda x, k: x * k,
                lambda x, k: x.sin() * k,
                lambda x, k: x[:2] ** k,
                lambda x, k: (x, 2 * x)[k % 2] * 1,
            ]
        ):
            compiled = torch.compile(function)
            for n in range(4):
                a, b = leaf(3, seed=n), leaf(3, seed=n)
                same(compiled(make(a, n + k), a), function(make(b, n + k), b))
                same([a.grad], [b.grad])


# ---- memory that is looked at in another way -------------------------------------------------------------------
STRIDED = {
    "clone": lambda x: x.mT.clone(),
    "abs": lambda x: x.mT.abs(),
    "tril": lambda x: x.mT.tril(),
    "where": lambda x: torch.where(x.mT > 0, x.mT, 0.0),
    "flip": lambda x: x.mT.flip(0),
    "cumsum": lambda x: x.mT.cumsum(0),
    "permuted": lambda x: x.permute(2, 0, 1).exp(),
    "channels_last": lambda x: x.unsqueeze(0).contiguous(memory_format=torch.channels_last) * 2,
    "dense": lambda x: x * 2,
}
WRITES = {
    "unsqueeze": lambda t: t.unsqueeze(0).add_(1),
    "inner unsqueeze": lambda t: t.unsqueeze(-1).mul_(2),
    "index": lambda t: t[None, 0].add_(1),
    "diagonal": lambda t: t.diagonal(0, -2, -1).fill_(7),
    "unfold": lambda t: t.unfold(-1, 1, 1).add_(1.5),
    "slice": lambda t: t[..., 1:].neg_(),
    "as_strided": lambda t: t.as_strided((2,), (1,)).zero_(),
    "view_as_complex": lambda t: t.movedim(0, 1).unsqueeze(2).mul_(3),
    "expand": lambda t: t.unsqueeze(1).squeeze(1).sub_(1),
    "chunk": lambda t: t.chunk(2, -1)[1].exp_(),
    "data": lambda t: t.unsqueeze(0).detach().add_(1),
}


@pytest.mark.parametrize("make", STRIDED)
def test_writes_through_views_of_any_layout(make):
    for write in WRITES.values():

        def step(x, make=STRIDED[make], write=write):
            t = make(x)
            seen = t.sum()
            write(t)
            return t, seen, t.mT * 2

        agree(step, lambda k: [leaf(2, 3, 4, seed=k).detach()], 3)
        compiled, eager = (
            torch.compile(write),
            [STRIDED[make](leaf(2, 3, 4).detach()) for _ in range(2)],
        )
        for _ in range(3):  # of an argument
            compiled(eager[0])
            write(eager[1])
            same(*eager)


def test_a_view_tells_its_storage():
    t = leaf(2, 3, 4).detach().mT.clone()
    u = t[1:].unsqueeze(0)
    assert u.storage_offset() == t[1:].storage_offset() > 0
    assert u.untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
    a, b = copy.deepcopy([t, u])
    b.zero_()
    assert a[1:].eq(0).all() and a[0].equal(t[0]) and a.stride() == t.stride()


def test_arrays_on_one_mapped_file_share_memory():
    """Nothing tells NumPy that they do."""
    shared = mmap.mmap(-1, 4096)
    a, b = (torch.from_numpy(np.frombuffer(shared, np.float32, 8)) for _ in range(2))

    @torch.compile
    def step(x):
        x.add_(1)
        return b * 2, x * 1

    for k in range(4):
        a.fill_(k)
        twice, one = step(a)
        assert twice.tolist() == [2.0 * (k + 1)] * 8 and one.tolist() == [k + 1.0] * 8
    other = torch.zeros(8)
    assert step(other)[0].tolist() == [8.0] * 8
    b.zero_()
    assert step(a)[0].tolist() == [2.0] * 8


def test_resize_of_an_argument():
    def step(x):
        x.resize_(2)
        x.fill_(3)
        return x.detach(), x * 2

    def grown(x):
        x.resize_(2, 8).zero_()
        return x.T

    for function, shape in itertools.product((step, grown), [(0, 4), (2,), (3, 3)]):
        agree(function, lambda k, shape=shape: [torch.zeros(shape)], 3)


# ---- sums over no dimensions --------------------------------------------------------------------------------------
NORMS = {
    "layer_norm": lambda x, w, b: F.layer_norm(x, x.shape, w, b),
    "rms_norm": lambda x, w, b: F.rms_norm(x, x.shape, w) + b,
    "group_norm": lambda x, w, b: F.group_norm(x[None], 1, w[:, 0], b[:, 0]),
    "instance_norm": lambda x, w, b: F.instance_norm(x[None], weight=w[:, 0], bias=b[:, 0]),
    "batch_norm": lambda x, w, b: F.batch_norm(x, None, None, w[0], b[0], training=True),
    "linear": lambda x, w, b: F.linear(x[0], w, b[:, 0]),
    "one row": lambda x, w, b: F.layer_norm(x[None], x.shape, w, b),
    "last": lambda x, w, b: F.layer_norm(x, x.shape[-1:], w[0], b[0]),
}
LAYOUTS = {
    "dense": lambda t: t,
    "transposed": lambda t: t.t().contiguous().t(),
    "strided": lambda t: t.repeat(1, 3)[:, ::3],
    "expanded": lambda t: t[:1].expand(t.shape),
}


@pytest.mark.parametrize("name", NORMS)
def test_gradients_of_norms_over_all_dimensions(name):
    for dtype, (one, other) in itertools.product(
        (torch.float32, torch.float64),
        [
            ("dense", "dense"),
            ("dense", "strided"),
            ("transposed", "dense"),
            ("strided", "expanded"),
        ],
    ):

        def step(x, w, b):
            return torch.autograd.grad(NORMS[name](x, w, b).sin().sum(), [x, w, b])

        def make(k, dtype=dtype, one=one, other=other):
            x, w, b = (leaf(5, 4, seed=k + j, dtype=dtype).detach() for j in range(3))
            return [
                LAYOUTS[one](x).requires_grad_(),
                *[LAYOUTS[other](t).requires_grad_() for t in (w, b)],
            ]

        agree(step, make, 3, strides=False)  # gradients may be laid out otherwise


@pytest.mark.parametrize(
    "name",
    ["sum", "mean", "amax", "prod", "var", "logsumexp", "all", "norm", "count_nonzero", "nansum"],
)
def test_reductions_over_no_dimensions(name):
    def step(x):
        return getattr(
            torch.linalg if name == "norm" else torch, "vector_norm" if name == "norm" else name
        )(x, dim=())

    agree(step, lambda k: [leaf(2, 3, seed=k).detach()], 3)


# ---- objects whose code cannot be read ----------------------------------------------------------------------------
class _Descriptor:
    """Like the functions of Cython: what the class tells for a module is no text."""

    def __call__(self, x):
        return x * 3


_Descriptor.__module__ = property(lambda self: "somewhere")


def odd():
    class Unreadable(type):
        @property
        def __module__(cls):
            raise RuntimeError("no module")

    class Odd(metaclass=Unreadable):
        def __getattr__(self, name):
            raise RuntimeError(name)

    return Odd()


def proxy():
    class Proxy:
        @property
        def __dict__(self):
            raise ZeroDivisionError

    return Proxy()


THINGS = [
    odd,
    lambda: type(odd()),
    proxy,
    _Descriptor,
    lambda: _Descriptor,
    lambda: functools.partial(torch.mul, other=2),
    lambda: len,
    lambda: "a".join,
    lambda: np.add,
    lambda: np.vectorize(abs),
    lambda: type.__dict__["__mro__"],
    lambda: functools.singledispatch(abs),
]


@pytest.mark.parametrize("number", range(len(THINGS)))
def test_objects_without_readable_code_can_be_reached(number):
    thing = THINGS[number]()

    class Holder:
        held = thing

    holder = Holder()
    holder.own = [thing]

    def step(x):
        return x * 2 if holder.own and holder.held is thing else x

    agree(step, lambda k: [leaf(3, seed=k).detach()], 3)
    compiled = torch.compile(lambda x, other=None: x * 2 if other is not None else x)
    for _ in range(3):
        assert compiled(torch.ones(2), thing).tolist() == [2.0, 2.0]


def test_a_function_of_another_language_is_compiled_like_any():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for f in (
            _Descriptor(),
            functools.partial(torch.mul, other=3),
            functools.partial(_Descriptor()),
        ):
            compiled = torch.compile(f)
            for k in range(3):
                assert compiled(torch.ones(2) * k).tolist() == [3.0 * k] * 2


# ---- what else a tensor has ------------------------------------------------------------------------------------------
def test_attributes_that_users_set_on_tensors():
    """Read, or set, of arguments, of tensors that are found, and of results."""
    kept = torch.ones(3)

    def reads(x):
        return x * getattr(x, "mark", 2.0) + getattr(kept, "mark", 1.0)

    def asks(x):
        return x * x.mark if hasattr(x, "mark") else x

    def sets(x):
        x.mark = 3.0
        return x * 2

    def gives(x):
        y = x * 2
        y.mark = x.sum().item()
        return y

    for function in (reads, asks, sets, gives):
        kept.__dict__.clear()
        compiled = torch.compile(function)
        for k in range(9):
            x, y = torch.ones(3) * k, torch.ones(3) * k
            if k % 3 == 2:
                x.mark = y.mark = float(k)
            if k == 4:
                kept.mark = 5.0
            a, b = function(x), compiled(y)
            assert torch.equal(a, b) and a.__dict__ == b.__dict__ and x.__dict__ == y.__dict__, (
                function,
                k,
            )


def test_a_write_to_data_does_not_count():
    w = torch.ones(3, requires_grad=True)

    @torch.compile
    def step(x):
        x.data.mul_(2)
        w.data.add_(1)
        return x * w.detach()

    x = torch.ones(3)
    for _ in range(4):
        step(x)
    assert x._version == w._version == 0
    compiled = torch.compile(lambda x: x.detach().add_(1))
    for k in range(4):
        compiled(x)
        assert x._version == k + 1


def test_an_argument_without_data():
    compiled = torch.compile(lambda x: x * 2)
    for device in ("cpu", "cpu", "meta", "cpu", "meta"):
        made = compiled(torch.empty(2, 3, device=device))
        assert made.device.type == device and made.shape == (2, 3)

    @torch.compile
    def filled(x):
        v = torch.zeros(4)
        v[1] = x.sum()
        return v

    with torch.device("meta"):
        assert filled(torch.ones(2)).device.type == "meta"


def test_a_transform_around_a_compiled_function_that_uses_parameters():
    """It differentiates with a graph, as somebody else may want the gradient of the gradient."""
    w = torch.ones(4, requires_grad=True)

    def loss(x):
        return (x * w).sin().sum()

    compiled = torch.compile(loss)
    for k in range(4):
        x = torch.ones(4) * k
        compiled(x)
        for transform in (
            torch.func.grad,
            torch.func.jacrev,
            torch.func.hessian,
            lambda f: lambda x: torch.func.vjp(f, x)[1](torch.tensor(1.0))[0],
        ):
            torch.testing.assert_close(transform(compiled)(x), transform(loss)(x))


def test_arguments_made_in_inference_mode():
    with torch.inference_mode():
        made = torch.ones(3)

    def asks(x):
        return x * 2 if x.is_inference() else x * 3

    for function in (asks, lambda x: x[1:], lambda x: x.add_(1), lambda x: x + 1):
        compiled = torch.compile(function)
        for x in (torch.ones(3), torch.ones(3), made, torch.ones(3), made):
            outcomes = []
            for f in (function, compiled):
                try:
                    result = f(x)
                    outcomes.append((result.tolist(), result.is_inference()))
                except RuntimeError as error:
                    outcomes.append(str(error).splitlines()[0])
                else:
                    x.data.fill_(1) if not x.is_inference() else None
            assert outcomes[0] == outcomes[1]


# ---- methods ------------------------------------------------------------------------------------------------------------
class Scaled:
    factor = 2.0

    def __init__(self, k):
        self.k = k

    @torch.compile
    def times(self, x):
        return x * self.k

    @classmethod
    @torch.compile
    def of_class(cls, x):
        return x * cls.factor

    @staticmethod
    @torch.compile
    def plus(x):
        return x + 1


class Shifted(Scaled):
    factor = 3.0

    @torch.compile
    def times(self, x):
        return super().times(x) + 1


class Small:
    __slots__ = ("k",)

    @torch.compile
    def times(self, x):
        return x * self.k


def test_compiled_methods_of_all_kinds():
    """Of classes, of objects without a dictionary, those that call the one they override, and those
    of copies.
    """
    small = [Small(), Small()]
    small[0].k, small[1].k = 5.0, 6.0
    first, second = Scaled(2.0), Shifted(4.0)
    for n in range(4):
        x = torch.full((2,), float(n))
        assert (
            first.times(x).tolist() == [2.0 * n] * 2
            and second.times(x).tolist() == [4.0 * n + 1] * 2
        )
        assert (
            Scaled.of_class(x).tolist() == [2.0 * n] * 2
            and second.of_class(x).tolist() == [3.0 * n] * 2
        )
        assert Scaled.plus(x).tolist() == second.plus(x).tolist() == [n + 1.0] * 2
        assert [s.times(x).tolist() for s in small] == [[5.0 * n] * 2, [6.0 * n] * 2]
    for copied in (copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))):
        one, other = copied(first), copied(second)
        one.k, other.k = 10.0, 20.0
        for n in range(3):
            x = torch.full((1,), float(n))
            assert [v.times(x).item() for v in (one, other, first, second)] == [
                10.0 * n,
                20.0 * n + 1,
                2.0 * n,
                4.0 * n + 1,
            ]


def test_results_made_in_inference_mode():
    def step(x):
        with torch.inference_mode():
            y = x * 2
        return y

    compiled = torch.compile(step)
    for k in range(4):
        x = torch.ones(2) * k
        assert compiled(x).is_inference() and compiled(x).tolist() == [2.0 * k] * 2
        with torch.inference_mode():
            assert compiled(x).is_inference()


SETTERS = {
    "grad mode": (
        lambda: torch.set_grad_enabled(False),
        torch.is_grad_enabled,
        lambda: torch.set_grad_enabled(True),
    ),
    "default dtype": (
        lambda: torch.set_default_dtype(torch.float64),
        torch.get_default_dtype,
        lambda: torch.set_default_dtype(torch.float32),
    ),
    "deterministic": (
        lambda: torch.use_deterministic_algorithms(True),
        torch.are_deterministic_algorithms_enabled,
        lambda: torch.use_deterministic_algorithms(False),
    ),
    "threads": (
        lambda: torch.set_num_threads(1),
        torch.get_num_threads,
        lambda: torch.set_num_threads(2),
    ),
    "anomaly": (
        lambda: torch.autograd.set_detect_anomaly(True),
        torch.is_anomaly_enabled,
        lambda: torch.autograd.set_detect_anomaly(False),
    ),
    "precision": (
        lambda: torch.set_float32_matmul_precision("high"),
        torch.get_float32_matmul_precision,
        lambda: torch.set_float32_matmul_precision("highest"),
    ),
    "autocast": (
        lambda: torch.set_autocast_enabled("cpu", True),
        lambda: torch.is_autocast_enabled("cpu"),
        lambda: torch.set_autocast_enabled("cpu", False),
    ),
    "device": (
        lambda: torch.set_default_device("meta"),
        torch.get_default_device,
        lambda: torch.set_default_device(None),
    ),
    "printing": (
        lambda: torch.set_printoptions(precision=2),
        lambda: str(torch.tensor(1.23456)),
        lambda: torch.set_printoptions(profile="default"),
    ),
    "warnings": (
        lambda: torch.set_warn_always(True),
        torch.is_warn_always_enabled,
        lambda: torch.set_warn_always(False),
    ),
}


@pytest.mark.parametrize("name", SETTERS)
def test_modes_and_settings_that_a_step_leaves_behind(name):
    set_it, get_it, back = SETTERS[name]
    threads = torch.get_num_threads()

    def step(x):
        y = x * 2
        set_it()
        return y + 1

    compiled = torch.compile(step)
    try:
        step(torch.ones(2))
        expected = get_it()
        for k in range(4):
            if k != 1:  # once it is as the step leaves it
                back()
            compiled(torch.ones(2))
            assert get_it() == expected
    finally:
        back()
        torch.set_num_threads(threads)


def test_what_a_thread_keeps_is_its_own():
    held = threading.local()
    held.x = 2.0

    def step(x):
        held.count = getattr(held, "count", 0) + 1
        return x * held.x

    compiled = torch.compile(step)

    def work(value, out):
        if value is not None:
            held.x = value
        for _ in range(4):
            try:
                out.append((compiled(torch.ones(1)).item(), held.count))
            except AttributeError as error:
                out.append(str(error))

    for value in (None, 3.0, 5.0, None):
        out = []
        thread = threading.Thread(target=work, args=(value, out))
        compiled(torch.ones(1))
        thread.start()
        thread.join()
        missing = "'_thread._local' object has no attribute 'x'"
        assert out == ([missing] * 4 if value is None else [(value, k + 1) for k in range(4)])
    assert held.count == 4 and compiled(torch.ones(1)).item() == 2.0


def test_anomaly_mode_and_hooks_on_what_is_saved_around_the_first_call():
    """What was traced then would serve later calls without them."""

    def step(x):
        return x * 2 if torch.is_anomaly_enabled() else x * 3

    for argument in (
        lambda: torch.ones(2),
        lambda: torch.ones(2, requires_grad=True),
        lambda: torch.ones(2, requires_grad=True) * 1,
    ):
        compiled = torch.compile(step)
        for on in (True, False, False, True, False):
            with torch.autograd.set_detect_anomaly(on):
                assert compiled(argument()).tolist() == [2.0 if on else 3.0] * 2
    doubled = torch.compile(lambda x: x.square().sum())
    for on in (True, False, True, False):
        x = torch.ones(2, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2 if on else t, lambda t: t):
            y = doubled(x)
        y.backward()
        assert x.grad.tolist() == [4.0 if on else 2.0] * 2


def test_a_write_to_a_tensor_that_is_another_one_at_each_call():
    held = types.SimpleNamespace(buffer=torch.ones(4))

    def step(x):
        held.buffer.add_(1)
        return x * held.buffer

    compiled = torch.compile(step)
    for k in range(6):
        held.buffer = torch.full((4 if k % 3 == 0 else 1,), float(k))
        assert compiled(torch.ones(2, 4)).tolist() == [[k + 1.0] * 4] * 2
        assert held.buffer.tolist() == [k + 1.0] * len(held.buffer) and held.buffer._version == 1


def test_the_graph_of_an_argument_is_that_of_the_call():
    def step(x):
        return x * len(x.grad_fn.name()) if x.grad_fn is not None else x * 2

    compiled = torch.compile(step)
    for make in (torch.sin, torch.clone, torch.relu, torch.sigmoid, lambda x: x) * 2:
        x = make(torch.ones(2, requires_grad=True))
        assert torch.equal(compiled(x), step(x))


def test_the_first_label_that_is_no_class_is_named_and_sources_of_nothing_have_a_gradient():
    loss = torch.nn.functional.cross_entropy
    compiled = torch.compile(lambda x, t: loss(x, t))
    x, good = torch.randn(31, 2, requires_grad=True), torch.zeros(31, dtype=torch.int64)
    bad = good.clone()
    bad[9], bad[12], bad[22] = 1048576, 1 << 62, 100
    compiled(x, good), compiled(x, good)
    for call in (loss, compiled):
        with pytest.raises(IndexError, match="^Target 1048576 is out of bounds"):
            call(x, bad)

    put = torch.compile(lambda a, mask, source: a.masked_scatter(mask, source))
    for _ in range(3):
        a, source = torch.ones(0, requires_grad=True), torch.ones(0, requires_grad=True)
        made = put(a, torch.ones(0, dtype=torch.bool), source)
        gradients = torch.autograd.grad(made.sum(), (a, source), allow_unused=True)
        assert [g is not None and g.shape == (0,) for g in gradients] == [True, True]
    a, source = torch.tensor([-0.0, 1.0], requires_grad=True), torch.ones(0, requires_grad=True)
    assert str(put(a, torch.zeros(2, dtype=torch.bool), source).tolist()) == "[-0.0, 1.0]"


def test_layouts_of_gradients_and_of_one_hot() -> None:
    def gradient(x):
        v = x.permute(1, 2, 0)
        return torch.autograd.grad(v.sin().sum(), [v])[0]

    def vectors(x):
        return torch.nn.functional.one_hot(x, 3)

    for function, x in (
        (gradient, torch.randn(2, 3, 4).requires_grad_()),
        (vectors, torch.tensor([[0, 1], [2, 0]]).t()),
    ):
        compiled = torch.compile(function)
        for _ in range(2):
            assert compiled(x).stride() == function(x).stride()
