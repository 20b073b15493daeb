"""No argument makes a compiled function touch memory that is not its operands', or hides a write
from the graph.
"""

import warnings

import numpy as np
import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.mark.parametrize("batch", [(0, 3), (3, 0), (0,)])
def test_products_over_an_empty_batch(batch):
    shapes = [(*batch, 5, 16), (*batch, 7, 16), (*batch, 7, 16)]

    def step(q, k, v):
        out = F.scaled_dot_product_attention(q, k, v)
        return torch.autograd.grad(out.sin().sum(), [q, k, v])

    compiled = torch.compile(step)
    for _ in range(3):
        grads = compiled(*(torch.randn(s).requires_grad_() for s in shapes))
        assert [tuple(g.shape) for g in grads] == shapes
    titles = [t for s in compiled.versions[0].code.run.schedules for t in s.titles]
    assert all(" x 0 " in t for t in titles if t.startswith("product"))


def read_only(values):
    array = np.array(values, np.float32)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is
        return torch.from_numpy(array)


def test_memory_that_is_read_only_is_refused_as_eagerly():
    compiled = torch.compile(lambda z, y: z.add_(y))
    for _ in range(3):
        compiled(torch.zeros(4), torch.ones(4))
    x = read_only([1.0, 2.0, 3.0, 4.0])
    for _ in range(2):
        with pytest.raises(RuntimeError, match="read-only"):
            compiled(x, torch.ones(4))
    assert x.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert compiled(torch.zeros(4), x).tolist() == x.tolist()  # it may be read
    assert len(compiled.versions) == 1


def test_gradients_in_read_only_memory_are_not_scaled():
    p = torch.nn.Parameter(torch.ones(4))

    def clip():
        return torch.nn.utils.clip_grad_norm_([p], 0.1)

    compiled = torch.compile(clip)
    for _ in range(3):
        p.grad = torch.ones(4)
        compiled()
    p.grad = read_only([1.0] * 4)
    with pytest.raises((RuntimeError, ValueError), match="read-only"):
        compiled()
    assert p.grad.tolist() == [1.0] * 4


@pytest.mark.parametrize("name", ["mul_", "atan2_", "copy_", "pow_"])
def test_a_write_to_a_tensor_of_the_callers_graph_is_seen_by_its_gradient(name):
    def step(x, y):
        return getattr(x, name)(y)

    compiled = torch.compile(step)
    with pytest.warns(torch.compiler.CompileWarning, match="in place"):
        for _ in range(3):
            grads = []
            for function in (compiled, step):
                leaf, y = (
                    torch.tensor([1.0, 2.0]).requires_grad_(),
                    torch.tensor([2.0, 3.0]).requires_grad_(),
                )
                out = function(leaf.clone(), y)
                grads.append(torch.autograd.grad(out.sum(), [leaf, y], allow_unused=True))
            assert [g if g is None else g.tolist() for g in grads[0]] == [
                g if g is None else g.tolist() for g in grads[1]
            ]


@pytest.mark.parametrize("write", [lambda y: y.mul_(2), lambda y: y.detach().fill_(3.0)])
def test_results_that_the_gradient_reads_must_not_have_been_written_to(write):
    compiled = torch.compile(lambda x: x.exp())
    for _ in range(3):
        y = compiled(torch.ones(3).requires_grad_())
        write(y)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_labels_and_positions_must_not_have_been_written_to():
    compiled = torch.compile(lambda x, y: F.cross_entropy(x, y))
    for _ in range(3):
        y = torch.tensor([1, 2])
        loss = compiled(torch.randn(2, 5).requires_grad_(), y)
        y.fill_(1 << 40)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss, F.multi_margin_loss])
def test_a_bad_label_raises_what_it_raises_eagerly(loss):
    compiled = torch.compile(loss)
    good = torch.tensor([1, 2, 0])
    for _ in range(3):
        compiled(torch.randn(3, 4), good)
    bad = torch.tensor([1, 7, 0])
    with pytest.raises((IndexError, RuntimeError)) as eager:
        loss(torch.randn(3, 4), bad)
    with pytest.raises((IndexError, RuntimeError)) as found:
        compiled(torch.randn(3, 4), bad)
    assert type(found.value) is type(eager.value)
    assert str(found.value).splitlines()[0] == str(eager.value).splitlines()[0]


def test_running_statistics_in_a_read_only_view_of_writable_memory_are_moved_as_compiled():
    def step(x, mean, var):
        return torch.nn.functional.batch_norm(x, mean, var, training=True)

    x = torch.arange(12.0).reshape(4, 3).sin()
    moved = []
    for f in (step, torch.compile(step)):
        memory = np.ones((2, 4), np.float32)
        mean, var = memory[0, 1:], memory[1, 1:]
        mean.flags.writeable = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is read-only
            mean, var = torch.from_numpy(mean), torch.from_numpy(var)
        for _ in range(3):
            f(x, mean, var)
        moved.append(memory)
    assert np.allclose(*moved) and (moved[0][0, 1:] != 1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
@pytest.mark.parametrize("name", ["sinc_", "sin_", "zero_"])
def test_writes_to_a_read_only_view_of_writable_memory_go_through_as_compiled(name, dtype):
    compiled = torch.compile(lambda x: getattr(x, name)())
    for _ in range(3):
        compiled(torch.arange(3.0, 9.0).to(dtype))
    left = []
    for f in (lambda x: getattr(x, name)(), compiled):
        memory = np.arange(2.0, 9.0).astype(str(dtype).removeprefix("torch."))
        view = memory[1:]
        view.flags.writeable = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is read-only
            x = torch.from_numpy(view)
        f(x)
        left.append(memory)
    assert np.allclose(*left) and (left[0][1:] != np.arange(3, 9)).all() and left[0][0] == 2
