"""`explain`: each cause from a small program that has it."""

import colorsys
import gc
import importlib
import json
import linecache
import sys
import weakref

import numpy as np
import pytest

import pellucid as torch
from pellucid import debug
from pellucid.core import observe
from pellucid.core.modes import state
from pellucid.debug import watching

pytestmark = pytest.mark.filterwarnings(
    "ignore:Converting a tensor with requires_grad=True to a scalar"
)


@pytest.fixture(autouse=True)
def no_notes():
    debug.watch(False)
    watching._current.clear()
    yield
    debug.watch(False)
    watching._current.clear()
    assert not observe.observers


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def check(x, cause, line=None, **options):
    found = torch.explain(x, **options)
    assert found.cause == cause, str(found)
    if line is not None:
        assert found.file == __file__
        assert line in linecache.getline(__file__, found.line), str(found)
    assert found.text
    assert found.fix or cause == "none"
    json.dumps(found.as_dict())
    return found


# ---- from the graph alone --------------------------------------------------------------------
def test_no_backward():
    w = leaf(1.0, 2.0)
    y = (w * w).sum()  # used
    check(w, "no-backward", "# used")
    assert y.grad_fn is not None


def test_non_leaf():
    w = leaf(1.0)
    y = w * 3  # made here
    (y * y).sum().backward()
    check(y, "non-leaf", "# made here")


def test_a_non_leaf_that_waits_for_backward():
    y = leaf(1.0) * 3
    y.retain_grad()
    check(y, "no-backward")


def test_not_requires_grad():
    check(torch.ones(2), "not-requires-grad")
    check(torch.arange(3), "not-requires-grad")
    p = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    assert "frozen" in check(p, "not-requires-grad").fix


def test_inference_mode():
    with torch.inference_mode():
        y = leaf(1.0) * 2
    check(y, "no-grad-block")


def test_a_view_made_under_no_grad():
    w = leaf(1.0, 2.0)
    with torch.no_grad():
        v = w[:1]
    check(v, "no-grad-block")


def test_detached_is_seen_in_the_shared_memory():
    w = leaf(1.0)
    y = w * 2
    assert "MulBackward0" not in check(y.detach(), "detached").text
    check(w.data, "detached")


def test_set_to_none():
    w = leaf(1.0, 2.0)
    loss = (w * w).sum()
    loss.backward()  # the call
    w.grad = None
    check(w, "set-to-none", "# the call")


def test_not_ancestor():
    w, b = leaf(1.0), leaf(2.0)
    kept = w * w
    loss = (b * b).sum()
    check(w, "not-ancestor", loss=loss)
    loss.backward()
    check(w, "not-ancestor")
    assert kept is not None


def test_what_cannot_be_known_is_not_guessed():
    w, b = leaf(1.0), leaf(2.0)
    (w.detach() * b).sum().backward()
    gc.collect()
    found = check(w, "unknown")
    assert "can no longer be determined" in found.text and "watch()" in found.fix
    (w * 0).sum().backward()
    assert "watch()" in check(w, "unknown").fix


def test_all_is_well():
    w = leaf(1.0)
    (w * 2).sum().backward()
    check(w, "none")


# ---- with the notes of watch() ---------------------------------------------------------------
def test_watched_detach():
    w, b = leaf(1.0), leaf(2.0)
    with debug.watch():
        h = (w * 2).detach()  # cut
        (h * b).sum().backward()
    found = check(w, "detached", "# cut")
    assert "detach()" in found.text and any("mul" in step for step in found.evidence)
    check(b, "none")
    check(h, "detached", "# cut")


def test_watched_data():
    w, b = leaf(1.0), leaf(2.0)
    with debug.watch():
        h = w * 2
        (h.data * b).sum().backward()  # cut
    check(w, "detached", "# cut")


def test_watched_no_grad():
    w, b = leaf(1.0), leaf(2.0)
    with debug.watch():
        with torch.no_grad():
            h = w * 2  # cut
        (h * b).sum().backward()
    check(w, "no-grad-block", "# cut")
    check(h, "no-grad-block", "# cut")


def test_watched_number():
    w, b = leaf(1.5), leaf(2.0)
    with debug.watch():
        k = (w * 2.25).sum().item()  # cut
        (b * k).sum().backward()
    assert "item()" in check(w, "through-number", "# cut").text


def test_watched_tensor_of_a_number():
    w = leaf(1.5)
    with debug.watch():
        k = float((w * 2.25).sum())  # cut
        loss = torch.tensor(k, requires_grad=True)
        loss.backward()
    assert "float()" in check(w, "through-number", "# cut").text


def test_watched_list():
    w, b = leaf(1.5, 2.5), leaf(2.0, 1.0)
    with debug.watch():
        k = torch.tensor((w * 3).tolist())  # cut
        (b * k).sum().backward()
    check(w, "through-number", "# cut")


def test_watched_numpy():
    w, b = leaf(1.5, 2.5), leaf(2.0, 1.0)
    with debug.watch():
        a = (w * 3).detach().numpy()  # cut
        (b * torch.from_numpy(a)).sum().backward()
    assert "numpy()" in check(w, "through-numpy", "# cut").text


def test_watched_copy_of_numpy():
    w, b = leaf(1.5, 2.5), leaf(2.0, 1.0)
    with debug.watch():
        a = (w * 3).detach().numpy()  # cut
        (b * torch.tensor(np.array(a))).sum().backward()
    check(w, "through-numpy", "# cut")


@pytest.mark.parametrize(
    "how", [lambda t: t.argmax(), lambda t: t > 0, lambda t: t.long(), lambda t: t.int()]
)
def test_watched_integer(how):
    w, b = leaf(1.5, 2.5), leaf(2.0)
    with debug.watch():
        k = how(w * 3)
        (b * k).sum().backward()
    found = check(w, "through-integer")
    assert found.file == __file__


def test_watched_not_ancestor():
    w, b = leaf(1.5), leaf(2.0)
    with debug.watch():
        print((w * 2).sum().item())  # only logged
        (b * 3).sum().backward()
    found = check(w, "not-ancestor")
    assert any("# only logged" in fact for fact in found.evidence)


def test_numbers_and_arrays_that_were_computed_with():
    w, b = leaf(1.5, 2.0), leaf(2.0)
    with debug.watch():
        k = (w * 2).sum().item()  # cut
        k = 3 * k + 1
        loss = (b * k).sum()
        loss.backward()
    assert "through k, loss" in check(w, "through-number", "# cut").evidence[-1]
    with debug.watch():
        a = (w * 2).detach().numpy()  # cut
        a = np.maximum(a, 0) * 5
        (b * torch.from_numpy(a)).sum().backward()
    check(w, "through-numpy", "# cut")


def test_a_name_that_is_used_again_carries_nothing():
    w, b = leaf(1.5, 2.0), leaf(2.0)
    with debug.watch():
        k = (w * 2).sum().item()
        print(k)
        k = 5
        loss = (b * k).sum()
        loss.backward()
    check(w, "not-ancestor")


def test_watched_copy_into_a_new_tensor():
    w, b = leaf(1.5, 2.5), leaf(2.0)
    with debug.watch():
        h = w * 3
        with pytest.warns(UserWarning, match="copy construct"):
            h = torch.tensor(h, requires_grad=True)  # the copy
        (h * b).sum().backward()
    assert "new tensor" in check(w, "through-number", "# the copy").text
    check(h, "none")


def test_parameters_that_begin_alike_are_not_copies_of_each_other():
    w, b = leaf(1.5, 2.5), leaf(1.5, 2.5)
    with debug.watch():
        (w * 2).sum()
        (b * 3).sum().backward()
    check(w, "not-ancestor")


def test_a_number_in_the_program_is_no_number_from_a_tensor():
    w, b = leaf(1.5), leaf(2.0)
    with debug.watch():
        (w * 2).sum().item()
        (b * 3.0).sum().backward()
    check(w, "not-ancestor")


def test_watched_no_backward():
    w = leaf(1.5)
    with debug.watch():
        (w * 2).sum()
    check(w, "no-backward")


def test_watched_zero_grad():
    layer = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    with debug.watch():
        layer(torch.ones(3, 2)).sum().backward()
        optimizer.zero_grad()  # cleared
    check(layer.weight, "set-to-none", "# cleared")


def test_logging_is_not_blamed():
    w, b = leaf(1.5), leaf(2.0)
    with debug.watch():
        h = w * 2
        h.detach().numpy()
        h.sum().item()
        (h.detach() * b).sum().backward()  # cut
    check(w, "detached", "# cut")


# ---- zero gradients --------------------------------------------------------------------------
ZEROS = {
    "dead-relu": lambda w: torch.relu(w - 100),
    "saturation": lambda w: torch.sigmoid(w + 100),
    "masked": lambda w: w * torch.tensor([False, False]),
    "times-zero": lambda w: w * 0,
}
MORE_ZEROS = [
    ("saturation", lambda w: torch.tanh(w * 100)),
    ("saturation", lambda w: w.clamp(50.0, 60.0)),
    ("masked", lambda w: torch.where(torch.tensor([False, False]), w, torch.zeros(2))),
    ("masked", lambda w: w.masked_fill(torch.tensor([True, True]), 0.0)),
    ("masked", lambda w: (w * torch.tensor([1.0, 0.0]))[1:]),
    ("times-zero", lambda w: w * torch.zeros(2, requires_grad=True)),
    (
        "dead-relu",
        lambda w: torch.nn.functional.linear(
            torch.relu(torch.ones(3, 2).requires_grad_() - 5), w.unsqueeze(0)
        ),
    ),
]


@pytest.mark.parametrize(("cause", "f"), [*ZEROS.items(), *MORE_ZEROS])
def test_zero_gradients(cause, f):
    w = leaf(1.0, 2.0)
    loss = (f(w) * 3).sum()
    grads = torch.autograd.grad(loss, w, retain_graph=True)
    assert not grads[0].any()
    with debug.watch():
        (f(w) * 3).sum().backward()
    found = check(w, cause)
    assert found.file == __file__ and "became zero in" in found.evidence[0]


@pytest.mark.parametrize(
    ("cause", "f"),
    [*list(ZEROS.items())[:2], *list(ZEROS.items())[3:], MORE_ZEROS[2], MORE_ZEROS[4]],
)
def test_zero_gradients_without_watching(cause, f):
    w = leaf(1.0, 2.0)
    loss = (f(w) * 3).sum()
    loss.backward(retain_graph=True)
    before = w.grad.clone()
    check(w, cause, loss=loss)
    assert torch.equal(w.grad, before)
    loss.backward()


def test_a_gradient_that_is_not_zero_by_another_way():
    w = leaf(1.0, 2.0)
    with debug.watch():
        (w * 0 + w * 3).sum().backward()
    check(w, "none")


def test_exploded():
    w = leaf(1.0, 2.0)
    with debug.watch():
        h = w
        for _ in range(8):
            h = h * 30  # grows
        h.sum().backward()
    found = check(w, "exploded", "# grows")
    assert "8 operations enlarged it" in found.text
    x = leaf(1.0, 2.0)
    y = x * 1e8
    y.sum().backward()
    check(x, "unknown")
    with debug.watch():
        x.grad = None
        (x * 1e8).sum().backward()  # factor
    assert "one operation multiplies it by 1e+08" in check(x, "exploded", "# factor").text


def test_a_block_that_calls_a_function_is_no_mode_left_on():
    w, b = leaf(1.0, 2.0), leaf(1.0)

    def scaled():
        return w * 2

    with debug.watch():
        with torch.no_grad():
            h = scaled()  # in the block
        (h * b).sum().backward()
    assert "still in force" not in check(w, "no-grad-block", "# in the block").text


# ---- NaN and Inf -----------------------------------------------------------------------------
def test_nan_forward():
    w = leaf(-1.0, 2.0)
    y = torch.log(w) * 2  # born
    check(y, "nan-forward", "# born")


def test_watched_nan_forward():
    w = leaf(0.0, 2.0)
    with debug.watch():
        h = 1 / w  # born
        (h * 3 - h).sum().backward()
    check(w, "nan-forward", "# born")


def test_watched_nan_backward():
    w = leaf(0.0, 2.0)
    with debug.watch():
        h = torch.sqrt(w)  # infinite slope
        (h * 3).sum().backward()
    check(w, "nan-backward", "# infinite slope")


def test_nan_unknown():
    check(torch.tensor([float("nan")]), "unknown")


# ---- errors ----------------------------------------------------------------------------------
def caught(call):
    with pytest.raises(RuntimeError) as error:
        call()
    return error.value


def test_errors():
    w = leaf(1.0, 2.0)
    check(caught(lambda: (w * 2).backward()), "nonscalar", "(w * 2).backward()")
    loss = (w * w).sum()
    loss.backward()
    found = check(caught(lambda: loss.backward()), "graph-freed", "caught(lambda: loss.backward())")
    assert "retain_graph" in found.fix and any(
        "values were freed by backward at" in e for e in found.evidence
    )
    h = torch.exp(w)
    total = h.sum()
    h.add_(1)  # written
    check(caught(lambda: total.backward()), "overwritten", "# written")
    check(caught(lambda: w.add_(1)), "leaf-inplace", "w.add_(1)")
    found = check(
        caught(lambda: torch.ones(2, 3) @ torch.ones(2, 3)), "shape-error", "torch.ones(2, 3) @"
    )
    assert len([fact for fact in found.evidence if "(2, 3)" in fact]) == 2
    check(ValueError("mine"), "unknown")


def test_backward_without_a_graph():
    w = leaf(1.0)
    assert (
        "requires_grad on the loss"
        in check(caught(lambda: w.detach().sum().backward()), "unknown").fix
    )
    with debug.watch():
        y = (w * 2).detach()  # cut
        error = caught(lambda: (y * 3).sum().backward())
    check(error, "detached", "# cut")
    with debug.watch():
        error = caught(lambda: torch.ones(2).sum().backward())
    check(error, "not-requires-grad")


# ---- modules, and what it costs --------------------------------------------------------------
def test_modules():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.used(x)

    net = Net()
    with debug.watch():
        net(torch.ones(3, 2)).sum().backward()
    found = check(net, "not-ancestor")
    assert "2 of 4 parameters" in found.text and [e.split(":")[0] for e in found.evidence] == [
        "unused.weight",
        "unused.bias",
    ]
    check(net.used, "none")
    with debug.watch():
        out = net(torch.ones(3, 2))
    assert "in used" in debug.graph_text(out.sum())


def test_what_cannot_be_explained():
    with pytest.raises(TypeError, match="None carries no history"):
        torch.explain(None)
    with pytest.raises(TypeError, match="got int"):
        torch.explain(3)


def test_nothing_is_paid_and_nothing_is_held():
    slow = state.slow
    notes = debug.watch(limit=50)
    assert state.slow == slow + 1
    w = leaf(1.0)
    for _ in range(40):
        big = (w * 2).detach() + 1
        big.sum().backward() if big.requires_grad else None
    assert len(notes.steps) == 50 and notes.dropped > 0
    assert sum(map(len, notes.users.values())) <= 100
    gone = weakref.ref(big)
    del big
    gc.collect()
    assert gone() is None
    debug.watch(False)
    assert state.slow == slow and not observe.observers


def test_the_line_is_the_users_also_when_pythons_own_modules_compute():
    w = leaf(1.0, 2.0)
    y = colorsys.rgb_to_yiq(w, w, w)[0]  # computed in Python's library
    assert y.grad_fn.line.file == __file__
    check(y, "non-leaf", "# computed in Python's library")


def test_an_update_that_makes_a_new_tensor_should_write_into_the_leaf():
    w = torch.ones(2, requires_grad=True)
    (w * w).sum().backward()
    w = w - 0.1 * w.grad
    found = torch.explain(w, name="w")
    assert found.cause == "non-leaf"
    assert found.fix == "update the leaf in place: with torch.no_grad(): w -= lr * w.grad"


def test_the_return_of_a_custom_function_that_ran_is_named():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            return x * scale

        @staticmethod
        def backward(ctx, g):
            if g.sum() > 0:
                return g, None  # this one
            return g, g

    x, scale = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    before = sys.gettrace()
    with debug.watch():
        Scaled.apply(x, scale).sum().backward()
        assert sys.gettrace() is before
    found = torch.explain(scale)
    line = linecache.getline(found.file, found.line)
    assert found.cause == "no-derivative" and (before is not None or "# this one" in line)


def test_switches_of_other_files_are_not_blamed_where_gradients_were_on(tmp_path, monkeypatch):
    (tmp_path / "switching.py").write_text(
        "import pellucid as torch\ndef off():\n    torch.set_grad_enabled(False)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("switching")
    w, b = leaf(1.0), leaf(2.0)
    with debug.watch():
        h = (w * 2).detach()  # cut
        (h * b).sum().backward()
    check(w, "detached", "# cut")
    sys.modules.pop("switching")
