"""Results of one call that are made of each other, or of the same values: backward goes the way it
goes in eager execution.
"""

import pytest

import pellucid as torch


def chain(x):
    y = x.sin()
    return y, y.exp()


def shared(x):
    h = x.sin()
    return h.exp(), h.cos()


def apart(x):
    return x.sin(), x.cos()


def poles(x):
    h = x * 0
    return 1 / h, h * 2


def of_views(x):
    y = x.sin()
    z = y[:1]
    return y, z, z.exp()


def deep(x):
    a = x.sin()
    b = a * 2
    p, q = (a + b).unbind()
    return b, p * q, a, (p.exp(), q)


def both(function):
    """The function eagerly, and compiled with the first calls made."""
    compiled = torch.compile(function)
    for _ in range(2):
        compiled(numbers())
    return function, compiled


def numbers():
    return torch.tensor([0.5, -1.25], requires_grad=True)


def told(step):
    try:
        return step()
    except RuntimeError as error:
        return str(error)


def same(function, step):
    """`step` says the same of the results of both."""
    (x, e), (z, c) = [(x, f(x)) for f in both(function) for x in [numbers()]]
    assert "Compiled" in type((c[0] if type(c[0]) is torch.Tensor else c[0][0]).grad_fn).__name__
    expected, got = step(x, e), step(z, c)
    assert str(got) == str(expected)


def test_the_gradient_of_a_result_in_another():
    same(chain, lambda x, r: torch.autograd.grad(r[1].sum(), r[0]))
    same(of_views, lambda x, r: torch.autograd.grad(r[2].sum(), r[:2]))
    same(deep, lambda x, r: torch.autograd.grad(r[1].sum(), [r[2], r[0]]))


def test_hooks_of_a_result_see_all_of_its_gradient():
    def hooked(x, r):
        seen = []
        r[0].register_hook(lambda g: seen.append(g.tolist()) or g * 3)
        (r[1].sum() + r[0].sum()).backward()
        return seen, x.grad

    same(chain, hooked)
    same(deep, hooked)


def test_retained_gradients_are_whole():
    def retained(x, r):
        flat = [r[0], r[1], r[2], *r[3]]
        for t in flat:
            t.retain_grad()
        sum(t.sum() * (k + 1) for k, t in enumerate(flat)).backward()
        return [t.grad for t in (x, *flat)]

    same(deep, retained)


@pytest.mark.parametrize("function", [chain, shared, apart], ids=lambda f: f.__name__)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_backward_after_the_other(function, order):
    def steps(x, r):
        return [(told(lambda k=k: r[k].sum().backward()), x.grad.tolist()) for k in order]

    same(function, steps)


def test_what_nobody_asked_for_adds_nothing():
    """Not even 0 times infinity."""

    def second(x, r):
        r[1].sum().backward()
        return x.grad

    same(poles, second)


def with_a_view(x):
    y = x.sin()
    return y, y[0]


def views(x):
    y = x.sin()
    return y[1:], y[:1], y.detach()


def parts(x):
    return (x * 2).unbind()


def one_part(x):
    return (x.exp().chunk(2)[0],)


def unseen(x):
    with torch.no_grad():
        y = x.sin()
        return y, y[0], y[:1].detach()


def made_by_a_write(x):
    y = torch.zeros(2)
    z = y[:1]
    y[0] = x[0]
    return y, z


@pytest.mark.parametrize("written", [0, 1])
@pytest.mark.parametrize(
    "function",
    [with_a_view, views, parts, one_part, unseen, made_by_a_write],
    ids=lambda f: f.__name__,
)
def test_writes_to_results_that_share_memory(function, written):
    """A write to one changes the others, their gradients, and what was saved of them."""

    def steps(requires_grad):
        said = []
        for f in both(function):
            x = torch.zeros(2, requires_grad=requires_grad)
            p = torch.ones(1, requires_grad=True)
            results = f(x)
            before = sum((p * t).sum() for t in results)
            t = results[min(written, len(results) - 1)]
            said.append(
                [
                    told(lambda t=t: t.mul_(3).tolist()),
                    told(before.backward),
                    told(lambda r=results: sum((t * t).sum() for t in r).backward()),
                    [t.tolist() for t in results],
                    x.grad,
                ]
            )
        expected, got = said
        assert str(got) == str(expected)

    steps(True)
    steps(False)


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
@pytest.mark.parametrize("view", [lambda y: y.T, lambda y: y[:], lambda y: y.detach()])
def test_a_view_that_got_other_memory_is_returned_beside_its_base(view):
    def step(x):
        y = x * 3
        z = view(y)
        z.data = x + 1
        return z, y

    run = torch.compile(step)
    for _ in range(4):
        x = torch.randn(2, 2)
        z, y = run(x)
        torch.testing.assert_close(z, x + 1)
        torch.testing.assert_close(y, x * 3)


def test_the_same_bytes_leave_as_numbers_of_both_types():
    @torch.compile
    def both(x):
        made = x + 0
        return made.view(torch.int32), made

    x = torch.randn(2, 2)
    for _ in range(4):
        whole, real = both(x)
        assert whole.dtype is torch.int32 and real.dtype is torch.float32
        assert torch.equal(whole, x.view(torch.int32)) and torch.equal(real, x)
