"""`explain(x, question)`: what a value depends on, what keeps its graph alive, what memory it
holds.
"""

import gc
import json
import linecache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pellucid as torch
from pellucid import debug, nn
from pellucid.debug import watching
from pellucid.errors import full_text


@pytest.fixture(autouse=True)
def no_notes():
    yield
    debug.watch(False)
    watching._current.clear()


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


# ---- depends -------------------------------------------------------------------------------------
def test_scalars_have_numbers_along_the_way():
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    c = a * b  # line of c
    loss = (c + a).exp()
    found = torch.explain(loss, "depends")
    by_leaf = {d["leaf"]: d for d in found.details}
    assert set(by_leaf) == {"a", "b"} and found.cause == "depends"
    assert by_leaf["b"]["ways"] == 1 and by_leaf["a"]["ways"] == 2
    steps = by_leaf["b"]["steps"]
    assert [s["operation"] for s in steps] == ["mul", "add", "exp"]
    assert [s["derivative"] for s in steps] == [2.0, 1.0, pytest.approx(np.exp(8.0), rel=1e-5)]
    assert steps[0]["file"] == __file__ and "line of c" in steps[0]["source"]
    assert by_leaf["b"]["gradient"] == pytest.approx(2 * np.exp(8.0), rel=1e-5)
    assert a.grad is None
    loss.backward()
    assert "a (): 2 paths" not in found.text and any("2 paths" in line for line in found.evidence)
    json.dumps(found.as_dict())


def test_equal_derivatives_are_one_number():
    w = torch.ones(3, requires_grad=True)
    found = torch.explain((w * 2).sum(), "depends")
    assert "= 2 everywhere, shape (3,)" in found.evidence[0]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from(["exp", "sin", "tanh", "sigmoid", "square"]), min_size=1, max_size=6),
    st.floats(-1, 1),
)
def test_the_local_derivatives_of_a_chain_multiply_to_the_gradient(names, x):
    w = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    y = w
    for name in names:
        y = getattr(torch, name)(y)
    d = torch.explain(y, "depends").details[0]
    assert [s["operation"] for s in d["steps"]] == names
    assert np.prod([s["derivative"] for s in d["steps"]]) == pytest.approx(
        d["gradient"], rel=1e-9, abs=1e-300, nan_ok=True
    )  # five times exp overflows
    y.backward()
    # five times exp overflows
    assert w.grad.item() == pytest.approx(d["gradient"], rel=1e-9, abs=1e-300, nan_ok=True)


def test_tensors_have_norm_and_range():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    loss = model(torch.ones(5, 3)).pow(2).mean()
    found = torch.explain(loss, "depends")
    assert [d["leaf"] for d in found.details] == [
        "model[0].bias",
        "model[0].weight",
        "model[2].bias",
        "model[2].weight",
    ]
    first = found.details[1]
    assert [s["operation"] for s in first["steps"]] == [
        "linear",
        "tanh",
        "linear",
        "pow",
        "mean_all",
    ]
    assert set(first["steps"][1]["derivative"]) == {"shape", "norm", "min", "max"}
    loss.backward()
    assert first["gradient"]["norm"] == pytest.approx(model[0].weight.grad.norm().item(), rel=1e-5)
    assert first["gradient"]["shape"] == [4, 3]
    after = torch.explain(loss, "depends")
    assert "ask before backward()" in after.fix and after.details[1]["gradient"] is None


def test_a_graph_is_not_changed_by_asking():
    w = leaf(1.0, 2.0)
    h = w.exp()
    h.retain_grad()
    loss = (h * h).sum()
    torch.explain(loss, "depends")
    assert w.grad is None and h.grad is None
    loss.backward()
    assert w.grad is not None and h.grad is not None


def test_what_depends_on_nothing():
    assert "depends on nothing" in torch.explain(torch.ones(2), "depends").text
    w = leaf(1.0)
    with debug.watch():
        y = (w * 2).detach() * 3  # the cut
    found = torch.explain(y, "depends")
    assert found.cause == "detached"


def test_many_ways_are_counted_not_walked():
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(60):
        y = y + y
    d = torch.explain(y, "depends").details[0]
    assert d["ways"] == 2**60 and len(d["steps"]) == 60
    assert len(str(torch.explain(y, "depends"))) < 4000


# ---- alive ---------------------------------------------------------------------------------------
class Trainer:
    def __init__(self):
        self.losses, self.best, self.model = [], {}, nn.Linear(2, 1)

    def step(self):
        loss = self.model(torch.ones(3, 2)).mean()
        loss.backward()
        self.losses.append(loss)
        return loss


def test_a_list_is_named():
    trainer = Trainer()
    for _ in range(20):
        trainer.step()
    found = torch.explain(trainer.losses[17], "alive")
    assert found.cause == "graph-kept"
    assert found.details[0] == {"name": "trainer.losses[17]", "itself": True, "nodes": 2}
    assert "trainer.losses[17]" in found.text and "2 operations" in found.text
    assert found.file == __file__ and "detach" in found.fix


@pytest.mark.parametrize("kind", ["attribute", "dict", "closure", "descendant"])
def test_other_holders_are_named(kind):
    trainer = Trainer()
    loss = trainer.model(torch.ones(3, 2)).mean()
    if kind == "attribute":
        trainer.last = loss
        name = "trainer.last"
    elif kind == "dict":
        trainer.best["loss"] = loss
        name = "trainer.best['loss']"
    elif kind == "closure":
        held = loss

        def show():
            return held

        trainer.show = show
        name = "held"
    else:
        trainer.losses.append(loss * 2)
        name = "trainer.losses[0]"
    found = torch.explain(loss, "alive")
    names = [d["name"] for d in found.details]
    assert name in names, names
    assert found.cause == "graph-kept"
    if kind == "closure":
        assert "show's closure variable held" in names
    if kind == "descendant":
        assert {d["name"]: d["itself"] for d in found.details}[name] is False


def test_a_variable_alone_is_no_trouble():
    w = leaf(1.0, 2.0)
    y = (w * w).exp()
    found = torch.explain(y, "alive")
    assert found.cause == "none" and [d["name"] for d in found.details] == ["y"]
    assert "2 operations" in found.text  # exp saves its result, which is y itself
    assert torch.explain(torch.ones(2), "alive").cause == "none"


# ---- memory --------------------------------------------------------------------------------------
def sizes(found):
    rows = {}
    for d in found.details:
        rows[d["what"]] = rows.get(d["what"], 0) + d["bytes"]
    return rows


def test_a_tensor_and_its_views():
    x = torch.zeros(100, 10)
    assert sizes(torch.explain(x, "memory")) == {"its values": 4000}
    row = x[3]
    found = torch.explain(row, "memory")
    assert sizes(found) == {"its values": 4000} and "clone()" in found.evidence[-1]
    both = torch.explain([x, row, x.t()], "memory")
    assert sizes(both) == {"values": 4000}


def test_a_module_and_an_optimizer():
    model = nn.Sequential(nn.Linear(10, 20), nn.BatchNorm1d(20), nn.Linear(20, 5))
    model[2].extra = model[0].weight  # shared: counted once
    parameters = sum(p.numel() for p in model.parameters()) * 4
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 10)).sum().backward()
    assert sizes(torch.explain(model, "memory")) == {
        "parameters": parameters,
        "gradients": parameters,
        "buffers": 2 * 20 * 4 + 8,
    }
    optimizer.step()
    found = sizes(torch.explain(optimizer, "memory"))
    assert (
        found["optimizer state exp_avg"]
        == found["optimizer state exp_avg_sq"]
        == found["parameters"]
        == parameters
    )


def test_what_a_graph_saves_by_line():
    w = torch.ones(1000, requires_grad=True)
    h = w.exp()  # saves its result
    loss = (h * h).sum()  # saves nothing new
    found = torch.explain(loss, "memory")
    saved = {
        d["what"]: (d["bytes"], d["line"]) for d in found.details if d["what"].startswith("saved")
    }
    assert saved["saved by exp"][0] == 4000 and "saved by mul" not in saved
    assert found.details[0]["what"] == "its values"
    assert "its graph has 3 operations" in found.evidence
    loss.backward()
    gc.collect()
    after = torch.explain(loss, "memory")
    assert not [d for d in after.details if d["what"].startswith("saved")]


def test_what_cannot_be_asked():
    with pytest.raises(ValueError, match="question must be one of"):
        torch.explain(torch.ones(1), "colour")
    with pytest.raises(TypeError, match="expected a tensor, got list"):
        torch.explain([nn.Linear(1, 1)], "alive")
    assert torch.explain(nn.Linear(1, 1), "alive").cause == "none"
    with pytest.raises(TypeError, match="got int"):
        torch.explain(3, "memory")


# ---- after watching has stopped ------------------------------------------------------------------
def test_notes_say_nothing_about_what_was_made_later():
    w, b = leaf(1.0), leaf(2.0)
    with debug.watch():
        (b * 2).sum().backward()
    later = leaf(1.0)
    loss = (later * 2).sum()
    assert torch.explain(later).cause == "no-backward"
    assert torch.explain(w).cause == "not-ancestor"  # it existed, and was not used
    use = (w * 3).sum()  # after the notes ended
    assert torch.explain(w).cause == "no-backward"
    assert loss is not None and use is not None


def test_an_optimizer_is_explained_by_its_parameters():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD([*model.parameters(), nn.Parameter(torch.ones(3))], lr=0.1)
    with debug.watch():
        model(torch.ones(1, 2)).sum().backward()
    found = torch.explain(optimizer)
    assert found.cause == "not-ancestor" and "1 of 3 parameters" in found.text
    assert found.details[0]["name"] == "param_groups[0]['params'][2]"


def test_the_error_of_a_backward_without_a_graph_says_where_it_was_cut():
    w = leaf(1.0, 2.0)
    with debug.watch(), pytest.raises(RuntimeError, match="does not require grad") as caught:
        hidden = (w * 2).detach()  # the place
        hidden.sum().backward()
    assert "what it was computed from was cut from the graph by detach()" in full_text(caught.value)
    assert "# the place" in full_text(caught.value)
    with pytest.raises(RuntimeError) as caught:
        hidden.sum().backward()
    assert "what it was computed from" not in full_text(caught.value)


class HalfGradient(torch.autograd.Function):
    """Gives its factor a gradient and its input none."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return None, (grad * x).sum()  # the line to change


def test_no_derivative_also_behind_other_operations():
    """What a custom function computes in its forward has no graph of its own: that is not where the
    gradient is lost.
    """
    w, factor = torch.ones(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    with debug.watch():
        HalfGradient.apply((w * 2).exp(), factor).sum().backward()
        found = torch.explain(w)
    assert found.cause == "no-derivative" and "the line to change" in linecache.getline(
        found.file, found.line
    )
    assert factor.grad is not None


# ---- compiled ------------------------------------------------------------------------------------
class Telling(nn.Module):
    """A model with a helper that a program could not repeat, or that changes what it holds."""

    def __init__(self, tells):
        super().__init__()
        self.layer, self.tells, self.peak = nn.Linear(2, 2), tells, 0.0

    def told(self, x):
        if self.tells:
            print("mean", x.mean())  # the line that stays
        self.peak = max(self.peak, x.detach().abs().max().item())
        return x

    def forward(self, x):
        return self.layer(self.told(x)).sin()


def line_with(text):
    lines = linecache.getlines(__file__)
    return next(n for n, line in enumerate(lines, 1) if text in line)


@pytest.mark.filterwarnings("ignore:.*stays in Python")
def test_a_module_compiled_in_parts_has_the_line_of_its_helper(capsys):
    model = torch.compile(Telling(True))
    for _ in range(3):
        model(torch.ones(2, 2))
    found = torch.explain(model, "compiled")
    assert found.cause == "graph-break" and found.file == __file__
    assert found.line == line_with("# the line that stays")
    compiled = next(f for f in vars(model).values() if hasattr(f, "graph_breaks"))
    compiled.graph_breaks.sites.clear()  # nothing says where it happened: the line of the call stays
    assert torch.explain(model, "compiled").line == line_with("self.layer(self.told(x))")


def test_what_the_first_call_changed_is_no_reason():
    model = torch.compile(Telling(False))
    for scale in (1.0, 2.0, 3.0):
        model(scale * torch.ones(2, 2))
    found = torch.explain(model, "compiled")
    assert found.cause == "none" and "Telling.peak" in str(found)


def test_a_module_is_called_by_the_name_that_is_asked_for():
    model = torch.compile(nn.Sequential(nn.Linear(2, 2)))
    for n in (1, 2, 3):
        model(torch.ones(n, 2).t().contiguous().t())
    found = torch.explain(model, "compiled")
    assert found.cause == "retraced" and "pellucid/nn" not in (found.file or "")


def test_backends_that_compile_nothing_are_named():
    model = torch.compile(nn.Linear(2, 2), backend="eager")
    model(torch.ones(1, 2))
    found = torch.explain(model, "compiled")
    assert found.cause == "not-compiled" and "its backend compiles nothing" in found.text
    for uncalled in (nn.Linear(2, 2), nn.ReLU()):  # of which nothing is known yet
        with pytest.raises(TypeError, match="expected what torch.compile returned"):
            torch.explain(torch.compile(uncalled), "compiled")
    with pytest.raises(TypeError, match="expected what torch.compile returned") as raised:
        torch.explain(torch.compile(lambda x: x, backend="aot_eager"), "compiled")
    assert 'backend="eager"' in raised.value.facts.hint


@pytest.mark.filterwarnings("ignore:.*stays in Python|.*runs eagerly")
def test_a_function_that_runs_eagerly_was_not_compiled(capsys):
    @torch.compile
    def shown(x):
        print("shown")
        return x

    shown(torch.ones(2))
    found = torch.explain(shown, "compiled")
    assert found.cause == "not-compiled" and "the step prints" in found.text
    assert found.file == __file__ and found.line == line_with("    def shown(x):") - 1
