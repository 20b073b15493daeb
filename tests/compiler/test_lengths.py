"""Versions for several sizes share native code, and compute what eager execution computes."""

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid.llvm import jit, target

needs_llvm = pytest.mark.skipif(not target.available(), reason="no vector unit, or no LLVM")


def block(width: int = 16):
    """A layer of attention over a growing sequence, with a mask and positions."""
    torch.manual_seed(0)
    qkv, out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
    norm = torch.nn.LayerNorm(width)

    def f(x):
        n = x.shape[1]
        x = x + torch.arange(n, dtype=x.dtype)[None, :, None] / n
        q, k, v = qkv(norm(x)).chunk(3, -1)
        late = torch.ones(n, n).triu(1).bool()
        weights = (q @ k.mT / 4).masked_fill(late, float("-inf")).softmax(-1)
        y = x + out(weights @ v)
        return F.gelu(y) if n > 12 else F.relu(y)

    return f, [*qkv.parameters(), *out.parameters(), *norm.parameters()]


@pytest.mark.parametrize("dynamic", [True, None])
def test_forward_at_many_lengths_is_eager(dynamic):
    f, _ = block()
    compiled = torch.compile(f, dynamic=dynamic)
    with torch.no_grad():
        for n in (5, 6, 7, 16, 1, 13, 6, 16, 7):
            x = torch.randn(2, n, 16)
            torch.testing.assert_close(compiled(x), f(x))


def test_training_at_many_lengths_is_eager():
    (f, own), (g, theirs) = block(), block()
    optimizer, other = torch.optim.SGD(own, lr=0.1), torch.optim.SGD(theirs, lr=0.1)

    def step(f, optimizer, x):
        optimizer.zero_grad()
        loss = f(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled = torch.compile(lambda x: step(f, optimizer, x))
    for n in (4, 5, 6, 9, 4, 6):
        x = torch.randn(2, n, 16)
        torch.testing.assert_close(compiled(x), step(g, other, x))
    for a, b in zip(own, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_halves_that_share_code_keep_their_numbers():
    """Two forwards of different lengths before their backwards: each backward has its own sizes."""
    f, own = block()
    compiled = torch.compile(f)
    x = {n: torch.randn(2, n, 16, requires_grad=True) for n in (4, 5, 6)}
    for n in x:
        compiled(x[n]).sum().backward()
    for t in (*x.values(), *own):
        t.grad = None
    results = {n: compiled(x[n]) for n in x}
    for n in (5, 4, 6):
        results[n].square().sum().backward()
    found = [t.grad.clone() for t in (*x.values(), *own)]
    for t in (*x.values(), *own):
        t.grad = None
    for n in (5, 4, 6):
        f(x[n]).square().sum().backward()
    for a, t in zip(found, (*x.values(), *own), strict=True):
        torch.testing.assert_close(a, t.grad, rtol=1e-4, atol=1e-5)


@needs_llvm
def test_a_third_length_needs_no_compiler():
    def f(x):
        return torch.softmax(x.tanh() * 2, -1)

    compiled = torch.compile(f)
    with torch.no_grad():
        # With other remainders and below some hundred rows the loops are written in another way.
        for n in (1024, 1280):
            x = torch.randn(n, 8)
            torch.testing.assert_close(compiled(x), f(x))  # eager kernels are compiled here, too
        before = dict(jit.statistics)
        for n in (1536, 1792, 2048, 4096):
            x = torch.randn(n, 8)
            torch.testing.assert_close(compiled(x), f(x))
        assert len(compiled.versions) == 6
        assert jit.statistics["compiled"] - before["compiled"] <= 1  # a number that differs later


@needs_llvm
def test_one_schedule_may_have_two_loops_that_differ_in_numbers_alone():
    """A cache grows while the new part keeps its length: both run the same loop."""

    def f(cache, new):
        return (cache * 2 + 1).sum(), (new * 2 + 1).sum()

    compiled = torch.compile(f)
    for n in (3, 4, 5, 6):
        cache, new = torch.randn(n, 4), torch.randn(7, 4)
        for a, b in zip(compiled(cache, new), f(cache, new), strict=True):
            torch.testing.assert_close(a, b)


@needs_llvm
def test_without_dynamic_each_size_has_code_of_its_own():
    compiled = torch.compile(lambda x: x.sin().sum(0) * 2, dynamic=False)
    for n in (5, 6, 7):
        compiled(torch.randn(n, 3))
    assert all(v.code.run.memory.storage.lengths is None for v in compiled.versions)
