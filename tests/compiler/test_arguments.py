"""Arguments of compiled functions that share memory, that receive gradients, and results that only
some of them lead to.
"""

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F


def both(f, calls):
    """What `f` gives for each list of arguments that `calls()` makes, eager and compiled; the
    compiled function.
    """
    run = torch.compile(f)
    found = []
    for function in (f, run):
        torch.manual_seed(0)
        found.append(
            [
                [t.clone() for t in function(*args)] + [a.detach().clone() for a in args]
                for args in calls()
            ]
        )
    for want, got in zip(*found, strict=True):
        for a, b in zip(want, got, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
    return run


def slices():
    for k in range(4):
        data = torch.arange(24.0).reshape(4, 6) * (k + 1)
        yield data[:, :-1], data[:, 1:]


def test_inputs_and_targets_cut_from_one_tensor_are_compiled():
    run = both(lambda x, y: ((x - y).sum(), x * y), slices)
    assert [v.hits for v in run.versions] == [3] and not run.refused


def test_a_language_model_trains_on_slices_of_its_text():
    def trained(compiling):
        torch.manual_seed(0)
        embedding, head = torch.nn.Embedding(20, 8), torch.nn.Linear(8, 20)
        optimizer = torch.optim.Adam([*embedding.parameters(), *head.parameters()], lr=0.05)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(head(embedding(x)).flatten(0, 1), y.flatten())
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step) if compiling else step
        texts = [torch.randint(0, 20, (4, 9)) for _ in range(5)]
        return [run(text[:, :-1], text[:, 1:]).item() for text in texts], run

    want, _ = trained(False)
    got, run = trained(True)
    assert got == pytest.approx(want, rel=1e-5)
    assert [v.hits for v in run.versions] == [4]


def test_writes_to_memory_that_arguments_share_are_seen_through_both():
    def f(x, y):
        x.add_(y)
        y[0] = 7.0
        return x * 2, y * 2

    run = both(f, slices)
    assert [v.hits for v in run.versions] == [3]


def test_arguments_that_share_memory_in_another_way_or_not_at_all():
    def calls():
        data = torch.arange(40.0)
        yield from (
            (data[:8], data[4:12]),
            (data[:8], data[6:14]),
            (data[:8], data[20:28]),
            (data[4:12], data[:8]),
            (data[1:9], data[5:13]),
        )
        yield torch.ones(8), torch.ones(8) * 2

    def f(x, y):
        x.mul_(0.5)
        return x + y, y - x

    run = both(f, calls)
    assert len(run.versions) == 4  # apart by 4, by 2, not at all, by -4


def test_arguments_that_are_only_read_may_come_to_share_memory():
    def calls():
        data = torch.arange(40.0)
        yield torch.ones(8), torch.ones(8)
        yield data[:8], data[4:12]
        yield data[2:10], data[3:11]

    run = both(lambda x, y: (x * y, (x + y).sum()), calls)
    assert [v.hits for v in run.versions] == [2]


def test_three_arguments_of_which_two_share_memory():
    def calls():
        for k in range(3):
            data = torch.arange(12.0) + k
            yield data[:6], torch.ones(6) * k, data[3:9]

    def f(x, w, y):
        x.add_(w)
        return ((x * y).sum() + w,)

    assert [v.hits for v in both(f, calls).versions] == [2]


def test_each_write_counts_once_for_arguments_that_share_a_counter():
    f = torch.compile(lambda x, y: x.add_(y))
    for _ in range(3):
        data = torch.zeros(6)
        before = data._version
        f(data[:3], data[3:])
        assert data._version == before + 1


def test_backward_outside_of_what_shares_memory():
    def f(x, y):
        return (x * y).square().sum()

    run = torch.compile(f)
    for k in range(3):
        grads = []
        for function in (f, run):
            data = (torch.arange(6.0) + k).requires_grad_()
            function(data[:4], data[2:]).backward()
            grads.append(data.grad)
        assert torch.equal(*grads)
    assert [v.hits for v in run.versions] == [2]


def test_gradients_go_to_the_arguments_of_this_call():
    weight = torch.ones(3, requires_grad=True)

    @torch.compile
    def step(x):
        loss = (x * weight).square().sum()
        loss.backward()
        return loss.detach()

    given = [torch.full((3,), float(k), requires_grad=True) for k in range(1, 5)]
    for k, x in enumerate(given):
        x.grad = None
        weight.grad = None
        step(x)
        if k:
            given[k - 1].grad = None
    assert [None if x.grad is None else x.grad.tolist() for x in given] == [
        None,
        None,
        None,
        [8.0] * 3,
    ]
    assert [v.hits for v in step.versions] == [3]
    weight.grad = None
    step(given[-1])  # added to what is there
    assert given[-1].grad.tolist() == [16.0] * 3


def test_an_image_is_changed_by_its_own_gradient():
    """As in style transfer and adversarial examples: the argument is a leaf, and so is the next
    one.
    """

    def improved(compiling):
        torch.manual_seed(0)
        net = torch.nn.Linear(6, 3)

        def step(image):
            loss = net(image).square().sum()
            loss.backward()
            return loss.detach()

        run = torch.compile(step) if compiling else step
        image = torch.randn(2, 6)
        for _ in range(4):
            image = image.detach().requires_grad_()
            run(image)
            image = image - 0.1 * image.grad.sign()
        return image

    assert torch.allclose(improved(False), improved(True))


def test_what_leads_to_other_results_only_gets_no_gradient():
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)

    @torch.compile
    def f(x):
        return (a * x).sum(), (b * x).sum()

    for _ in range(3):
        a.grad = b.grad = None
        first, second = f(torch.ones(3))
        first.backward(retain_graph=True)
        assert a.grad.tolist() == [1.0] * 3 and b.grad is None
        second.backward(retain_graph=True)
        assert a.grad.tolist() == [1.0] * 3 and b.grad.tolist() == [1.0] * 3
        torch.autograd.backward([first, second])
        assert a.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize("fill", ["uniform_", "normal_", "bernoulli_", "exponential_", "random_"])
@pytest.mark.parametrize(
    "view",
    [lambda x: x.T, lambda x: x[:, 1:], lambda x: x[None].permute(2, 0, 1), lambda x: x.T[1:]],
    ids=["T", "columns", "3d", "part"],
)
def test_random_numbers_go_where_they_go_eagerly(fill, view):
    def f(x):
        getattr(view(x), fill)()
        return (x * 1,)

    run = both(f, lambda: [(torch.zeros(4, 5),), (torch.zeros(4, 5),), (torch.zeros(4, 5),)])
    assert [v.hits for v in run.versions] == [2]


def test_a_copy_that_a_reshape_makes():
    """NumPy copies the elements of some layouts as bytes without a type."""
    both(lambda x: (torch.kron(x[0], x.T),), lambda: [(torch.randn(4, 4),)] * 3)


def test_a_fault_of_the_compiler_leaves_the_step_eager(monkeypatch):
    from pellucid.compiler.run import tracing

    def broken(*args, **kwargs):
        raise KeyError("nowhere")

    monkeypatch.setattr(tracing, "executable", broken)
    f = torch.compile(lambda x: x * 2)
    with pytest.warns(
        torch.compiler.CompileWarning,
        match="the compiler failed .KeyError: 'nowhere'., which is a fault of its own",
    ):
        assert f(torch.ones(2)).tolist() == [2.0, 2.0]
    assert f(torch.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(torch.compiler.CompileError, match="the compiler failed"):
        torch.compile(lambda x: x * 2, fullgraph=True)(torch.ones(2))


def test_a_compiled_module_is_checked_by_generated_code(monkeypatch):
    """Each call of a model whose loss is outside; the slower comparison only finds what has
    changed.
    """
    from pellucid.compiler.run.admission import Admission

    model = torch.nn.Linear(3, 2)
    run = torch.compile(model)
    x = torch.ones(4, 3)
    run(x).sum().backward()
    asked = []
    real = Admission.why_not
    monkeypatch.setattr(Admission, "why_not", lambda *args: asked.append(1) or real(*args))
    for k in range(3):
        model.zero_grad()
        run(x * k).sum().backward()
        assert model.weight.grad.tolist() == [[4.0 * k] * 3] * 2
    assert not asked
    model.weight.requires_grad_(False)
    assert run(x).grad_fn is not None and asked
    run(torch.ones(2, 3))
    model.bias.requires_grad_(False)
    assert not run(x).requires_grad


# ---- results that are views of arguments with a graph ----------------------------------------------------
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[:2],
        lambda x: x.t(),
        lambda x: x.view(-1),
        lambda x: x.expand(2, *x.shape),
        lambda x: x.split(1)[0],
        lambda x: (x[1:].t(), x * 2)[0],
        lambda x: x[:, 1:].unsqueeze(0),
    ],
)
@pytest.mark.parametrize("of_a_view", [False, True])
def test_views_of_arguments_belong_to_their_graph(f, of_a_view):
    """What is written to the one counts in the gradient of the other, and what eager execution
    forbids is forbidden.
    """
    compiled = torch.compile(f)
    seen = {True: [], False: []}
    for run in (f, compiled):
        for k in range(3):
            for write_to_the_view in (True, False):
                leaf = (torch.arange(16.0).reshape(4, 4) + k).requires_grad_()
                whole = leaf * 1
                x = whole[1:] if of_a_view else whole
                y = run(x)
                try:
                    (y if write_to_the_view else x).mul_(3)
                    ((x * x).sum() + y.sin().sum()).backward()
                    result = leaf.grad
                except RuntimeError as error:
                    result = str(error).splitlines()[0]
                seen[run is f].append((y._base is whole, y._is_view(), y.detach().clone(), result))
    for expected, found in zip(seen[True], seen[False], strict=True):
        assert expected[:2] == found[:2] == (True, True)
        torch.testing.assert_close(found[2], expected[2])
        if isinstance(expected[3], str):
            assert found[3] == expected[3]
        else:
            torch.testing.assert_close(found[3], expected[3])
    assert sum(v.hits for v in compiled.versions) == 5


def test_a_view_of_a_parameter_is_a_view_of_a_leaf():
    module = torch.nn.Linear(3, 3)
    compiled = torch.compile(lambda: module.weight.t())
    for _ in range(3):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            compiled().mul_(2)
        (compiled() * 2).sum().backward()
    assert module.weight.grad.tolist() == [[6, 6, 6]] * 3


# ---- named arguments -----------------------------------------------------------------------------
def test_calls_with_named_arguments_are_everyday_calls():
    @torch.compile(recompile_limit=64)
    def f(x, y=None, *, scale=1.0, **more):
        return (x if y is None else x - y) * scale + sum(v.sum() for v in more.values())

    def same(*args, **kwargs):
        got, wanted = f(*args, **kwargs), f.function(*args, **kwargs)
        assert torch.equal(got, wanted), (args, kwargs)

    x, y, z = torch.arange(3.0), torch.ones(3), torch.full((3,), 5.0)
    for _ in range(3):
        same(x=x, y=y)
    version = f.versions[0]
    hits = version.hits
    assert version.named and not version.fast
    same(x=y, y=x)
    assert version.hits == hits + 1
    for _ in range(2):  # names in another order, others, positions, numbers that change
        for n in range(4):
            same(y=y, x=x)
            same(x, y=z)
            same(x, y)
            same(x)
            same(x=x)
            same(x, scale=n + 0.5)
            same(x, y, scale=float(n), more=z, else_=y)
            same(x, y, scale=float(n), else_=y, more=z)
            same(x=torch.ones(2, 3) * n, y=y)
            same(x=x.double(), y=y)
            same(x=x, y=x)
    assert any(v.named for v in f.versions) and any(v.fast for v in f.versions)


def test_a_pair_of_a_tuple_and_a_dictionary_is_no_named_argument():
    @torch.compile
    def f(*args, **kwargs):
        return (args[0][0] if kwargs == {} else args[0] * 2) + len(args)

    x = torch.ones(2)
    for _ in range(4):
        assert f(x, y=x).tolist() == [3.0, 3.0]
        assert f((x,), {"y": x}).tolist() == [3.0, 3.0]
        assert f((x * 3,), {"y": x}).tolist() == [5.0, 5.0]


def test_named_arguments_of_modules_are_written_to_and_differentiated():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([2.0]))

        def forward(self, ids, mask=None, add=0):
            ids.mul_(1.0)
            return (ids * self.weight).masked_fill(mask, 0.0) + add

    model = Scaled()
    compiled = torch.compile(model)
    mask = torch.tensor([True, False])
    for n in range(6):
        batch = {"ids": torch.tensor([1.0, n]), "mask": mask}
        before = batch["ids"]._version
        out = compiled(**batch, add=n)
        assert out.tolist() == [n, 2.0 * n + n] and batch["ids"]._version == before + 1
        model.weight.grad = None
        out.sum().backward()
        assert model.weight.grad.tolist() == [n]
