"""Memory of compiled steps: the plan of the arena, what is computed again, and what a traced call
holds.
"""

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pellucid as torch
import pellucid.nn.functional as F
from pellucid.compiler.capture import earlier
from pellucid.compiler.function import CompiledFunction
from pellucid.compiler.passes import memory
from pellucid.compiler.passes.fuse import Item
from pellucid.compiler.run import execute
from pellucid.compiler.trace.tracer import Tracer
from pellucid.ir import Buffer, Program
from pellucid.llvm import jit, target

nn = torch.nn
native = pytest.mark.skipif(
    not target.available() or not jit.fastcall_works(), reason="no compiler"
)


# ---- the plan ---------------------------------------------------------------------------------------
@given(
    st.lists(
        st.tuples(st.integers(0, 500), st.integers(0, 12), st.integers(0, 6)),
        min_size=1,
        max_size=30,
    )
)
def test_a_plan_needs_at_least_what_is_alive_together(entries):
    lives = {
        Buffer("temp", size, k): (first, first + length)
        for k, (size, first, length) in enumerate(entries)
    }
    by_hand = max(
        sum(memory.room_of(b.size) for b, (f, l) in lives.items() if f <= k <= l) for k in range(20)
    )
    offsets, total = memory.plan(lives)
    assert memory.least(lives) == by_hand <= total <= sum(memory.room_of(b.size) for b in lives)


@st.composite
def programs(draw):
    """Items that each read some earlier results and make one of their own; some also overwrite one."""
    p, buffers, items = Program(), [], []
    start = p.buffer("input", 4)
    for k in range(draw(st.integers(2, 14))):
        known = [start, *buffers]
        inputs = tuple(
            p.value(b, "uint8", (b.size,))
            for b in draw(st.lists(st.sampled_from(known), min_size=1, max_size=3))
        )
        made = p.buffer("temp", draw(st.integers(1, 900)))
        writes = ()
        if buffers and draw(st.integers(0, 5)) == 0:
            b = draw(st.sampled_from(buffers))
            writes = (p.value(b, "uint8", (b.size,)),)
        kind = "call" if draw(st.integers(0, 6)) == 0 else "op"
        items.append(
            Item(
                "native",
                [
                    p.add(
                        f"op{k}",
                        inputs,
                        (p.value(made, "uint8", (made.size,)),),
                        kind,
                        writes=writes,
                    )
                ],
            )
        )
        buffers.append(made)
    return items, set(draw(st.lists(st.sampled_from(buffers), max_size=2)))


def outcome(items):
    """What each item reads, as the history of writes to it: equal for orders that compute the same."""
    history, seen = {}, {}
    for item in items:
        (i,) = item.instructions
        seen[i.op] = [history.get(v.buffer.number) for v in i.inputs] + [
            history.get(v.buffer.number) for v in i.writes
        ]
        for v in i.made():
            history[v.buffer.number] = (i.op, tuple(map(str, seen[i.op])))
    return seen, history


@given(programs())
def test_another_order_computes_the_same_with_no_more_memory(given_items):
    items, leaving = given_items
    stored = {v.buffer for item in items for i in item.instructions for v in i.made()}
    made = memory.ordered(items, stored, leaving)
    assert sorted(map(id, made)) == sorted(map(id, items)) and outcome(made) == outcome(items)
    calls = [item.instructions[0].op for item in items if item.instructions[0].kind == "call"]
    assert [
        item.instructions[0].op for item in made if item.instructions[0].kind == "call"
    ] == calls

    def peak(order):
        lives = memory.lifetimes([item.instructions for item in order], stored)
        return memory.least({b: life for b, life in lives.items() if b not in leaving})

    assert peak(made) <= peak(items)


def step_of(model, optimizer, loss_of=F.cross_entropy):
    @torch.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def transformer():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(64, 256), nn.Linear(256, 64)
            self.norm = nn.LayerNorm(64)

        def forward(self, x):
            return x + self.b(F.gelu(self.a(self.norm(x))))

    return (
        nn.Sequential(*[Block() for _ in range(4)], nn.Linear(64, 10)),
        torch.randn(96, 64),
        torch.randint(0, 10, (96,)),
    )


def convolutions():
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3),
        nn.ReLU(),
        nn.Conv2d(8, 16, 3),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 10),
    )
    return model, torch.randn(16, 1, 14, 14), torch.randint(0, 10, (16,))


def perceptron():
    model = nn.Sequential(
        nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 200), nn.Tanh(), nn.Linear(200, 10)
    )
    return model, torch.randn(128, 100), torch.randint(0, 10, (128,))


@native
@pytest.mark.parametrize("make", [transformer, convolutions, perceptron])
def test_the_arena_of_real_steps_is_nearly_as_small_as_it_can_be(make):
    torch.manual_seed(0)
    model, x, y = make()
    step = step_of(model, torch.optim.Adam(model.parameters()))
    for _ in range(3):
        step(x, y)
    run = step.versions[0].code.run
    assert run.least_bytes <= run.arena_bytes <= 1.1 * run.least_bytes
    # Whoever shares memory is not alive together, unless one lies in the other's place on purpose.
    places = memory.replaced(run.items, run.loops, run.lives)
    _, roots = memory.joined(run.lives, places)
    lives = list(run.lives.items())
    for k, (a, (first, last)) in enumerate(lives):
        assert 0 <= run.memory.offsets[a] and run.memory.offsets[a] + a.size <= run.arena_bytes
        for b, (begin, end) in lives[:k]:
            apart = (
                run.memory.offsets[a] + a.size <= run.memory.offsets[b]
                or run.memory.offsets[b] + b.size <= run.memory.offsets[a]
            )
            assert (
                apart
                or last < begin
                or end < first
                or roots[a] is roots[b]
                and (last == begin or end == first)
            )
    text = str(step.explain())
    assert f"({run.least_bytes:,} are in use at once)" in text


@native
def test_working_memory_of_kernels_is_shared():
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(32, 2, batch_first=True)
    net = nn.ModuleList([nn.LayerNorm(32) for _ in range(4)])
    o = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.randn(2, 24, 32)

    @torch.compile
    def step(x):
        o.zero_grad()
        for norm in net:
            x = norm(x)
            x = (
                x
                + F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None])[:, 0]
                @ layer.out_proj.weight
            )
        x.sum().backward()
        o.step()
        return x.detach()

    for _ in range(3):
        step(x)
    run = step.versions[0].code.run
    rooms = [thing for thing in run.lives if not isinstance(thing, Buffer)]
    assert len(rooms) >= 8 and run.arena_bytes < sum(room.size for room in rooms) / 2


# ---- results in the place of operands ---------------------------------------------------------------
@native
@pytest.mark.parametrize(
    "name, f, shares",
    [
        ("the same element", lambda h: (h * 2 + 1).tanh() @ h.new_ones(64, 3), True),
        ("another element", lambda h: (h + h.T) @ h.new_ones(64, 3), False),
        ("a row for all", lambda h: (h + h[0]) @ h.new_ones(64, 3), False),
        ("read later", lambda h: (h * 2) @ h.new_ones(64, 3) + h[:, :3], False),
        ("of another size", lambda h: (h > 0).double() @ h.new_ones(64, 3).double(), False),
    ],
)
def test_a_result_takes_the_place_of_an_operand_that_dies(name, f, shares):
    torch.manual_seed(0)
    x, w = torch.randn(64, 64), torch.randn(64, 64)
    run = torch.compile(lambda x: f(x @ w))
    expected = f(x @ w)
    for _ in range(3):
        torch.testing.assert_close(run(x), expected, rtol=1e-4, atol=1e-3)
    made = run.versions[0].code.run
    assert bool(memory.replaced(made.items, made.loops, made.lives)) == shares


# ---- computed again ---------------------------------------------------------------------------------
@native
# The gradient of tanh follows from its result.
@pytest.mark.parametrize(
    "act, again", [(F.gelu, 2), (F.silu, 2), (F.hardswish, 2), (torch.tanh, 0)]
)
def test_activations_are_computed_again_in_the_backward(act, again):
    def make():
        torch.manual_seed(0)
        layers = nn.ModuleList(
            [nn.Linear(*sizes) for sizes in ((32, 256), (256, 32), (32, 256), (256, 10))]
        )

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = layers

            def forward(self, x):
                for k, layer in enumerate(self.layers):
                    x = act(layer(x)) if k % 2 == 0 else layer(x)
                return x

        return Net()

    x, y = torch.randn(128, 32), torch.randint(0, 10, (128,))
    nets = make(), make()
    steps = [step_of(net, torch.optim.SGD(net.parameters(), lr=0.1)) for net in nets]
    for _ in range(4):
        assert torch.allclose(steps[0](x, y), steps[1].function(x, y), rtol=1e-5)
    for a, b in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(a.grad, b.grad)
    run = steps[0].versions[0].code.run
    assert sum(i.again for i in run.planned.instructions) == again and (
        "are recomputed in backward" in str(steps[0].explain())
    ) == bool(again)


@native
def test_what_is_overwritten_is_not_computed_again():
    torch.manual_seed(0)
    a, b = nn.Linear(32, 256), nn.Linear(256, 10)
    x = torch.randn(128, 32)

    def step(x):
        a.zero_grad()
        b.zero_grad()
        h = a(x)
        out = b(F.gelu(h.clone()))
        h.detach().mul_(0)
        out.pow(2).mean().backward()
        return out.detach()

    run = torch.compile(step)
    for _ in range(3):
        run(x)
    made = [p.grad.clone() for p in (*a.parameters(), *b.parameters())]
    step(x)
    for p, g in zip((*a.parameters(), *b.parameters()), made, strict=True):
        torch.testing.assert_close(p.grad, g)


# ---- the traced call --------------------------------------------------------------------------------
def test_a_traced_call_holds_no_value_that_the_step_has_dropped():
    seen = []

    def f(x):
        h = x * 2
        h = h + 1
        seen.append(weakref.ref(h._array))
        h = h.exp()
        seen.append(weakref.ref(h._array))
        held = [ref() is None for ref in seen]
        return h.sum(), held[0]

    _, dropped = torch.compile(f)(torch.ones(100))
    assert dropped


class Nowhere:
    def name_of(self, array):
        return None

    holder_of = name_of


def test_another_array_at_the_same_place_is_not_taken_for_one_that_died():
    tracer = Tracer(Nowhere())
    reused = 0
    for _ in range(50):
        array = np.arange(300.0)
        tracer.define(array)
        assert tracer.lookup(array) is not None
        before = id(array)
        del array
        other = np.arange(300.0)
        reused += id(other) == before
        assert tracer.lookup(other) is None
        fresh = tracer.constant(np.zeros(300))
        before = id(fresh)
        del fresh
        another = np.arange(300.0)
        reused += id(another) == before
        with pytest.raises(Exception, match="neither an argument"):
            tracer.value(another)
    assert reused, "no identity came back, so nothing was tested"
    assert not tracer._values and not tracer._roots and not tracer._fresh and not tracer._watched


def test_a_constant_that_dies_and_is_written_to_keeps_its_values():
    def f(x):
        z = torch.zeros(4)
        y = z + x  # the constant is read, then its memory is written to through a view
        z[1:3] += x[1:3]
        return y, z * 1

    run = torch.compile(f)
    for k in range(3):
        x = torch.arange(4.0) + k
        y, z = run(x)
        assert torch.equal(y, x) and z.tolist() == [0, x[1], x[2], 0]


def test_gradients_of_the_call_before_are_let_go_while_tracing():
    model = nn.Linear(300, 40)
    o = torch.optim.SGD(model.parameters(), lr=0.1)
    x, dead = torch.randn(8, 300), []

    def step(x):
        o.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        o.step()
        return loss

    step(x)
    old = [weakref.ref(p.grad._array) for p in model.parameters()]
    forget = earlier.Earlier._forget

    def watched(self, key):
        forget(self, key)
        dead.append(sum(ref() is None for ref in old))

    earlier.Earlier._forget = watched
    try:
        run = torch.compile(step)
        run(x)
    finally:
        earlier.Earlier._forget = forget
    assert dead[-1] == 2 and run.versions


@pytest.mark.parametrize("how", ["tensor", "detached", "array"])
def test_a_gradient_that_somebody_has_is_kept(how):
    """A step may read the gradient of the call before through somebody who has it, after it was
    cleared.
    """
    model = nn.Linear(3, 2)
    o = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 3)

    def step(x):
        g = model.weight.grad
        kept = {"tensor": g, "detached": g.detach(), "array": g.view(-1)}[how]
        o.zero_grad()
        model(x).pow(2).mean().backward()
        return kept * 1

    model(x).sum().backward()
    first = model.weight.grad.clone()
    run = torch.compile(step)
    assert torch.equal(run(x).view(-1), first.view(-1))
    second = model.weight.grad.clone()
    for _ in range(3):
        torch.testing.assert_close(run(x).view(-1), second.view(-1))


@native
def test_the_gradients_of_the_traced_call_are_filled_again():
    torch.manual_seed(0)
    model, x, y = perceptron()
    step = step_of(model, torch.optim.SGD(model.parameters(), lr=0.1))
    step(x, y)
    arrays = [p.grad._array.ctypes.data for p in model.parameters()]
    step(x, y)
    assert [p.grad._array.ctypes.data for p in model.parameters()] == arrays
    held = model[0].weight.grad
    before = held.clone()
    step(x, y)
    assert model[0].weight.grad is not held and torch.equal(held, before)


def test_what_a_compiled_module_leaves_has_memory_of_its_own():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))
    compiled, x = torch.compile(model), torch.randn(5, 6)
    for _ in range(3):
        model.zero_grad()
        out = compiled(x)
        (out * out).sum().backward()
    # a view would be copied once more when it becomes a gradient
    assert out._array.base is None
    assert all(p.grad._array.base is None for p in model.parameters())
    held = [p.grad._array for p in model.parameters()]
    want = [2 * g for g in held]
    out = compiled(x)
    (out * out).sum().backward()
    for p, before, w in zip(model.parameters(), held, want, strict=True):
        assert p.grad._array is before
        np.testing.assert_allclose(before, w, rtol=1e-5, atol=1e-5)


def test_leaves_with_the_same_gradient_do_not_share_it():
    a, b = (torch.randn(4, 3, requires_grad=True) for _ in range(2))
    c = torch.randn(12, requires_grad=True)
    f = torch.compile(lambda: (a + b + c.view(4, 3)).sin())
    for _ in range(3):
        a.grad = b.grad = c.grad = None
        f().sum().backward()
    want = (a + b + c.view(4, 3)).detach().cos()
    a.grad.mul_(0)
    torch.testing.assert_close(b.grad, want)
    b.grad.mul_(0)
    torch.testing.assert_close(c.grad, want.view(12))


@native
def test_a_dropped_step_leaves_nothing_behind():
    torch.manual_seed(0)
    model, x, y = perceptron()
    step = step_of(model, torch.optim.Adam(model.parameters()))
    for _ in range(3):
        step(x, y)
    run = weakref.ref(step.versions[0].code.run)
    CompiledFunction.living.discard(step)
    del step
    gc.collect()
    assert run() is None


def test_without_a_compiler_the_plan_is_the_same_kind(monkeypatch):
    monkeypatch.setattr(execute.target, "available", lambda: False)
    torch.manual_seed(0)
    model, x, y = perceptron()
    step = step_of(model, torch.optim.SGD(model.parameters(), lr=0.1))
    losses = [step(x, y).item() for _ in range(4)]
    assert (
        losses[-1] < losses[0]
        and step.versions[0].code.run.arena_bytes >= step.versions[0].code.run.least_bytes
    )
