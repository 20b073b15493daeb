"""`.data = ` in a compiled function: tensors lie in other memory after each call, and whatever looks
into the old memory stays with it.
"""

import copy

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F


def compared(make, calls=6, compiled=True):
    """Run what `make` gives, eagerly and compiled: (function, tensors to look at, argument of call
    k). Results, values, memory, versions and what looks into the old memory are to be equal.
    """
    found, run = [], None
    for compiling in (False, True):
        torch.manual_seed(0)
        function, tensors, argument = make()
        run = torch.compile(function) if compiling else function
        rows = []
        for k in range(calls):
            before, versions = [t.data for t in tensors], [t._version for t in tensors]
            result = run(argument(k))
            results = result if isinstance(result, tuple) else (result,)
            rows.append(
                (
                    [r.detach().clone() if isinstance(r, torch.Tensor) else r for r in results],
                    [t.detach().clone() for t in tensors],
                    [b.clone() for b in before],
                    [None if t.grad is None else t.grad.clone() for t in tensors],
                    [t._version - v for t, v in zip(tensors, versions, strict=True)],
                    [b.data_ptr() == t.data_ptr() for b, t in zip(before, tensors, strict=True)],
                    [
                        torch.Tensor.data_ptr(r) == torch.Tensor.data_ptr(t)
                        for r in results
                        if isinstance(r, torch.Tensor)
                        for t in (*tensors, *before)
                    ],
                )
            )
        found.append(rows)
    for want, got in zip(*found, strict=True):
        for a, b in zip(want[:4], got[:4], strict=True):
            torch.testing.assert_close(b, a, rtol=1e-5, atol=1e-6)
        assert got[4:] == want[4:]
    if compiled:
        assert sum(v.hits for v in run.versions) >= calls - 2, run.history
    return run


def teacher_and_student():
    student = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    teacher = copy.deepcopy(student).requires_grad_(False)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)

    def step(x):
        with torch.no_grad():
            for p, q in zip(student.parameters(), teacher.parameters(), strict=True):
                q.data = q.data * 0.9 + p.data * 0.1
        loss = F.mse_loss(student(x), teacher(x)) + student(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [*student.parameters(), *teacher.parameters()], lambda k: torch.randn(5, 4)


def sharpness_aware():
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        model(x).square().mean().backward()
        old = {p: p.data.clone() for p in model.parameters()}
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=0.05)
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        for p in model.parameters():
            p.data = old[p]
        optimizer.step()
        return loss.item()

    return step, list(model.parameters()), lambda k: torch.randn(5, 4)


def forward_alone():
    w, c = torch.randn(4, requires_grad=True), torch.randn(4)

    def step(x):
        y = (w * x * c).sum()
        c.data = c.data * 0.5 + x
        w.data = w.data * 0.99
        return y + (w.exp() * c).sum()

    return step, [w, c], lambda k: torch.randn(4)


def never_read():
    c = torch.zeros(4)

    def step(x):
        c.data = x * 2
        return x.sum()

    return step, [c], lambda k: torch.randn(4)


def constants():
    c, d = torch.ones(3), torch.ones(3)

    def step(x):
        c.data = torch.zeros(3)
        c.add_(x)
        d.data = torch.full((3,), 2.0)
        return d * x

    return step, [c, d], lambda k: torch.randn(3)


def arguments():
    kept = [torch.ones(3) for _ in range(6)]

    def step(x):
        old = x.sum()
        x.data = x.data * 2
        return x.sum() + old

    return step, kept, lambda k: kept[k]


def twice():
    c = torch.ones(3)

    def step(x):
        c.data = c + x
        first = c.sum()
        c.data = c.data * 2
        c.mul_(3)
        return first + c.sum()

    return step, [c], lambda k: torch.randn(3)


def exchanged():
    a, b = torch.randn(3), torch.randn(3)

    def step(x):
        a.data, b.data = b.data.clone(), a.data.clone()
        a.add_(x)
        return a - b

    return step, [a, b], lambda k: torch.randn(3)


def a_part_of_more():
    c = torch.ones(3)

    def step(x):
        c.data = (x * 2)[3:]
        return c.sum()

    return step, [c], lambda k: torch.randn(6)


@pytest.mark.parametrize(
    "make",
    [
        teacher_and_student,
        sharpness_aware,
        forward_alone,
        never_read,
        constants,
        arguments,
        twice,
        exchanged,
        a_part_of_more,
    ],
)
def test_compiled(make):
    compared(make)


# ---- what others look into stays with Python -----------------------------------------------------------
def one_in_the_memory_of_another():
    a, b = torch.randn(3), torch.randn(3)

    def step(x):
        a.data = b.data
        a.add_(x)
        return b.sum()

    return step, [a, b], lambda k: torch.randn(3)


def two_in_the_same():
    a, b = torch.randn(3), torch.randn(3)

    def step(x):
        new = x * 2
        a.data = new
        b.data = new
        return a + b

    return step, [a, b], lambda k: torch.randn(3)


def exchanged_memory():
    a, b = torch.randn(3), torch.randn(3)

    def step(x):
        a.data, b.data = b.data, a.data
        a.add_(x)
        return a - b

    return step, [a, b], lambda k: torch.randn(3)


def returned():
    a = torch.randn(3)

    def step(x):
        new = x * 2
        a.data = new
        return new

    return step, [a], lambda k: torch.randn(3)


def old_returned():
    a = torch.randn(3)

    def step(x):
        old = a.data
        a.data = x * 2
        return old

    return step, [a], lambda k: torch.randn(3)


def view_of_old():
    a = torch.randn(3)

    def step(x):
        old = a[1:]
        a.data = x * 2
        return old

    return step, [a], lambda k: torch.randn(3)


def view_of_new():
    a = torch.randn(3)

    def step(x):
        a.data = x * 2
        return a[1:]

    return step, [a], lambda k: torch.randn(3)


def view_of_before():
    a = torch.randn(3)
    b = a[1:]

    def step(x):
        a.mul_(2)
        a.data = a + x
        return b.sum() + a.sum()

    return step, [a, b], lambda k: torch.randn(3)


def alias_of_before():
    a = torch.randn(3)
    b = a.detach()

    def step(x):
        b.add_(x)
        a.data = a + 1
        return b + a

    return step, [a, b], lambda k: torch.randn(3)


def other_shape():
    a = torch.randn(1)

    def step(x):
        a.data = torch.cat([a.data, x])
        return a.sum()

    return step, [a], lambda k: torch.randn(1)


def other_dtype():
    a = torch.randn(2)

    def step(x):
        a.data = a.data.double() + x
        return a.sum()

    return step, [a], lambda k: torch.randn(2)


def other_layout():
    a = torch.randn(2, 2)

    def step(x):
        a.data = (a.data + x).t()
        return a.sum(0)

    return step, [a], lambda k: torch.randn(2, 2)


def kept_in_a_list():
    a, kept = torch.randn(2), [torch.zeros(2)]

    def step(x):
        a.data = a.data + x
        kept[0] = a.data
        return a.sum() + kept[0].sum()

    return step, [a], lambda k: torch.randn(2)


def its_gradient():
    a = torch.randn(2, requires_grad=True)

    def step(x):
        new = a.detach() + x
        a.grad = new
        a.data = new
        return a.detach().sum()

    return step, [a], lambda k: torch.randn(2)


def an_argument_in_its_memory():
    a = torch.randn(3)

    def step(x):
        y = a * 2
        a.add_(1)
        a.data = y + x
        return a.sum() + x.sum()

    return step, [a], lambda k: a.detach() if k % 2 else torch.randn(3)


def the_same_memory_between_calls():
    a, b = torch.randn(3), torch.randn(3)

    def step(x):
        y = a * b
        a.add_(1)
        b.add_(2)
        a.data, b.data = y + x, y - a
        return y

    def argument(k):
        if k == 3:
            b.data = a.data
        return torch.randn(3)

    return step, [a, b], argument


@pytest.mark.parametrize(
    "make",
    [
        one_in_the_memory_of_another,
        two_in_the_same,
        exchanged_memory,
        returned,
        old_returned,
        view_of_old,
        view_of_new,
        view_of_before,
        alias_of_before,
        other_shape,
        other_dtype,
        other_layout,
        kept_in_a_list,
        its_gradient,
        an_argument_in_its_memory,
        the_same_memory_between_calls,
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_as_eager(make):
    compared(make, compiled=False)


def test_an_argument_in_the_memory_of_a_global_says_why():
    kept = torch.zeros(3)

    def step(x):
        x.data = kept
        return x * 2

    with pytest.raises(torch.compiler.CompileError, match="replaces the memory of a tensor"):
        torch.compile(step, fullgraph=True)(torch.ones(3))


def test_a_step_that_writes_to_tensors_that_another_one_moves():
    """The optimizer's step is a program of its own; each finds the parameters elsewhere."""
    found = []
    for compiling in (False, True):
        torch.manual_seed(0)
        w, saved = torch.randn(3, requires_grad=True), []
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)

        def shrink(x):
            w.data = w.data * 0.9 + x

        def step(x):
            optimizer.zero_grad()
            loss = (w * x).square().sum()
            loss.backward()
            optimizer.step()
            return loss

        if compiling:
            shrink, step = torch.compile(shrink), torch.compile(step)
        for _ in range(8):
            x = torch.randn(3)
            shrink(x)
            saved += [step(x).item(), *w.tolist()]
        found.append(saved)
        if compiling:
            assert sum(v.hits for v in step.versions) >= 5, step.history
            assert sum(v.hits for v in shrink.versions) >= 5, shrink.history
    assert found[1] == pytest.approx(found[0], rel=1e-5, abs=1e-6)


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable:UserWarning")
def test_read_only_memory_is_refused_as_eagerly():
    a = torch.zeros(3)

    def step(x):
        a.add_(x)
        a.data = a * 2
        return a.sum()

    run = torch.compile(step)
    for _ in range(3):
        run(torch.ones(3))
    fixed = np.zeros(3, np.float32)
    fixed.flags.writeable = False
    a.data = torch.from_numpy(fixed)
    errors = []
    for f in (step, run):
        try:
            f(torch.ones(3))
            errors.append(None)
        except Exception as error:
            errors.append((type(error), str(error)))
            assert not fixed.any()
    assert errors[0] == errors[1]


def test_backward_after_another_call_reads_what_was_there():
    found = []
    for compiling in (False, True):
        w, c = torch.ones(3, requires_grad=True), torch.full((3,), 2.0)

        def step(x):
            c.data = c.data + x
            return (w * c).sum()

        run = torch.compile(step) if compiling else step
        for _ in range(3):
            run(torch.ones(3))
        first, _ = run(torch.ones(3)), run(torch.ones(3))
        first.backward()
        rows = [w.grad.tolist()]
        loss = run(torch.ones(3))
        c.add_(1)
        try:
            loss.backward()
            rows.append("ran")
        except RuntimeError as error:
            rows.append(str(error).split(";")[0])
        found.append(rows)
    assert found[0][0] == found[1][0]
    assert found[0][1][:60] == found[1][1][:60]


# ---- tensors of another inference mode ---------------------------------------------------------------
def inside(x):
    with torch.inference_mode():
        y = x * 2
        return y, y.detach(), y.view(3, 1), y.sum().item()


@torch.inference_mode()
def decorated(x):
    y = torch.zeros(3)
    y[1] = x[0]
    return {"y": y.add_(1), "best": x.argmax()}


def outside(x):
    with torch.inference_mode(False):
        y = x * 2
    return y, x * 3


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("function", [inside, decorated, outside])
def test_results_of_another_inference_mode(function, around):
    run = torch.compile(function)
    for k in range(4):
        with torch.inference_mode(around):
            want, got = function(torch.arange(3.0) + k), run(torch.arange(3.0) + k)
        if isinstance(want, dict):
            want, got = tuple(want.values()), tuple(got.values())
        for a, b in zip(want, got, strict=True):
            torch.testing.assert_close(b, a)
            if isinstance(a, torch.Tensor):
                assert b.is_inference() == a.is_inference()
    assert [v.hits for v in run.versions] == [3], run.history
