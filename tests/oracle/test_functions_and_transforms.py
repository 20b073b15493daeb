"""What custom functions, `torch.func` and backward say of arguments that are no tensors, and how
tensors with the nodes of writes through views are printed.
"""

import io

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def told(root, call):
    out = io.StringIO()
    try:
        made = call(root, lambda *words: print(*words, file=out))
    except Exception as error:
        made = type(error).__name__, str(error)
    return repr(made), out.getvalue()


def same(call):
    assert told(pellucid, call) == told(torch, call)


BESIDE = {
    "a number": lambda t: 3,
    "text": lambda t: "a",
    "nothing": lambda t: None,
    "a list with a number": lambda t: [t.ones(1), 2],
    "a dictionary": lambda t: {"x": t.ones(1)},
    "a tensor": lambda t: t.ones(2),
}
TRANSFORMS = {
    "grad": lambda t, f: t.func.grad(f, has_aux=True)(t.ones(())),
    "grad_and_value": lambda t, f: t.func.grad_and_value(f, has_aux=True)(t.ones(())),
    "vjp": lambda t, f: t.func.vjp(f, t.ones(2), has_aux=True)[2],
    "jvp": lambda t, f: t.func.jvp(f, (t.ones(2),), (t.ones(2),), has_aux=True),
    "jacrev": lambda t, f: t.func.jacrev(f, has_aux=True)(t.ones(2)),
    "jacfwd": lambda t, f: t.func.jacfwd(f, has_aux=True)(t.ones(2)),
    "grad of grad": lambda t, f: t.func.grad(t.func.grad(f, has_aux=True), has_aux=True)(
        t.ones(())
    ),
}


@pytest.mark.parametrize("aux", BESIDE)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_what_stands_beside_the_output(name, aux):
    same(lambda t, _: TRANSFORMS[name](t, lambda x: (x**3, BESIDE[aux](t))))


@pytest.mark.parametrize("given", [{"weight"}, {"weight", "bias", "x", "y"}, {"x", "y"}])
def test_a_strict_call_of_a_module(given):
    def call(t, _):
        shapes = {"weight": (1, 2), "bias": (1,), "x": (), "y": ()}
        values = {k: t.ones(shapes[k]) for k in sorted(given)}
        return t.func.functional_call(t.nn.Linear(2, 1), values, t.ones(2), strict=True)

    same(call)


SEEDS = {
    "a number": lambda t: 3,
    "a list": lambda t: [t.ones(())],
    "another shape": lambda t: [t.ones(1)],
    "two": lambda t: (t.ones(()), t.ones(())),
    "none": lambda t: [],
    "nothing": lambda t: None,
    "nothing in a list": lambda t: [None],
    "text": lambda t: "a",
    "a list of numbers": lambda t: [3],
    "a dictionary": lambda t: {0: t.ones(())},
}


@pytest.mark.parametrize("name", SEEDS)
def test_what_backward_starts_with(name):
    for start in (
        lambda t, x: x.backward(SEEDS[name](t)),
        lambda t, x: t.autograd.backward(x, SEEDS[name](t)),
        lambda t, x: t.autograd.backward([x], SEEDS[name](t)),
        lambda t, x: t.autograd.grad(x, x, SEEDS[name](t)),
    ):
        same(lambda t, _, start=start: start(t, t.ones(2, requires_grad=True).sum()))


def functions(t):
    class Keeps(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x, k)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g, None

    class Writes(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g

    return Keeps, Writes


def test_numbers_are_refused_where_they_would_be_kept():
    for needs in False, True:
        same(lambda t, _, needs=needs: functions(t)[0].apply(t.ones(1, requires_grad=needs), 3))


def written(write):
    def call(t, say):
        leaf = t.ones(2, requires_grad=True)
        value = write(t, leaf, functions(t)[1].apply)
        say(value, value.grad_fn and value.grad_fn.name(), type(value.grad_fn).__name__)

    return call


def test_writes_of_functions_and_through_views_are_printed():
    def one(t, leaf, write):
        value = leaf * 1
        write(value[:1])
        return value

    same(written(one))
    same(written(lambda t, leaf, write: write(leaf)))
    same(written(lambda t, leaf, write: write(leaf[0])))
    same(written(lambda t, leaf, write: write(leaf * 1)))
    same(written(lambda t, leaf, write: write(t.ones(2))))

    def plain(t, leaf, write):
        value = leaf * 1
        value[:1].add_(1)
        return value

    same(written(plain))

    def copied(t, leaf, write):
        value = t.zeros(2)
        value.copy_(leaf)
        return value

    same(written(copied))


def ruled(t, own, generated):
    """A function whose `vmap` rule, if it has one, leaves no graph."""

    class Sine(t.autograd.Function):
        generate_vmap_rule = generated

        @staticmethod
        def forward(x):
            return x.detach().sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

    if own:
        Sine.vmap = staticmethod(lambda info, dims, x: (x.detach().sin(), dims[0]))
    return Sine.apply


@pytest.mark.parametrize("generated", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_functions_under_vmap(own, generated):
    for call in (
        lambda t, f: t.func.vmap(f)(t.ones(2)),
        lambda t, f: t.func.vmap(f, 1)(t.arange(6.0).view(2, 3)),
        lambda t, f: t.func.vmap(t.func.grad(f))(t.arange(3.0)),
        lambda t, f: t.func.vmap(t.func.jacrev(f))(t.arange(6.0).view(2, 3)),
    ):
        same(lambda t, _, call=call: call(t, ruled(t, own, generated)))
