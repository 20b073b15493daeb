"""Traced programs: they train, compile, travel and fail readably; functions ask whatever name they
are held by.
"""

import copy
import gc
import io
import linecache
import math
import operator
import pickle
import traceback
import warnings
from pathlib import Path

import pytest

import pellucid as torch
from pellucid import fx, nn
from pellucid.api import overriding
from pellucid.nn import functional as F
from pellucid.nn.functional import relu as imported_relu

linear = F.linear  # held since before anything asks


class Net(nn.Module):
    def __init__(self, act=F.relu):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.act = act
        self.head = nn.Sequential(nn.Linear(8, 2))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("shift", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.head(self.act(self.first(x))) * self.scale + self.shift


@fx.wrap
def recorded(x):
    return x + 1 if x.sum() > 0 else x - 1


# ---- what is asked ------------------------------------------------------------------------------
def test_functions_that_were_held_before_are_asked_and_stay_the_same_objects():
    def program(x):
        return imported_relu(x) + linear(x, x) + torch.sigmoid(x)

    graph = fx.symbolic_trace(program).graph
    targets = [node.target for node in graph.nodes if node.op == "call_function"]
    assert targets[0] is imported_relu is F.relu
    assert targets[1] is linear is F.linear
    assert targets[3] is torch.sigmoid
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            assert func is not imported_relu or F.relu is imported_relu
            return func(*args, **(kwargs or {}))

    x = torch.tensor([-1.0, 2.0])
    with Mode():
        result = imported_relu(x)
        assert pickle.loads(pickle.dumps(F.relu)) is F.relu
    assert result.tolist() == [0.0, 2.0]
    assert seen == [F.relu]


def test_nothing_asks_any_more_once_the_tracer_is_gone():
    gc.collect()
    before = dict(overriding._installed)
    code, add = F.relu.__code__, vars(torch.Tensor)["add"]
    graph = fx.Graph()
    proxy = fx.Proxy(graph.placeholder("x"))
    assert overriding._installed["modes"] == before["modes"] + 1
    result = F.relu(torch.ones(1) + proxy)
    assert result.node.target is F.relu
    del proxy, result
    gc.collect()
    assert overriding._installed == before
    assert (F.relu.__code__, vars(torch.Tensor)["add"]) == (code, add)


def test_signatures_stay_readable_while_functions_ask():
    import inspect

    plain = {
        name: inspect.signature(getattr(F, name)) for name in ("relu", "linear", "cross_entropy")
    }
    graph = fx.Graph()
    proxy = fx.Proxy(graph.placeholder("x"))
    assert {name: inspect.signature(getattr(F, name)) for name in plain} == plain
    assert proxy.node.name == "x"


def test_an_error_in_a_trace_leaves_nothing_behind():
    call, lookup = nn.Module.__call__, nn.Module.__getattr__
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: 1 if x else 2)
    assert (nn.Module.__call__, nn.Module.__getattr__) == (call, lookup)
    assert not fx._symbolic_trace.is_fx_tracing()


# ---- traced modules -----------------------------------------------------------------------------
def test_traced_modules_train_as_the_others_do():
    torch.manual_seed(0)
    model = Net()
    traced = fx.symbolic_trace(copy.deepcopy(model))
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))

    def train(module):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.cross_entropy(module(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    losses = train(model)
    assert train(traced) == losses
    assert losses[-1] < losses[0]
    assert set(traced.state_dict()) == set(model.state_dict())


def test_traced_modules_compile():
    gm = fx.symbolic_trace(Net())
    x = torch.randn(3, 4)
    compiled = torch.compile(gm)
    assert torch.allclose(compiled(x), gm(x), atol=1e-6)
    assert torch.allclose(compiled(x), gm(x), atol=1e-6)


def test_the_graph_of_a_graph_module_is_the_same_again():
    gm = fx.symbolic_trace(Net())
    assert fx.symbolic_trace(gm).code == gm.code
    again = pickle.loads(pickle.dumps(gm.graph))
    assert str(again) == str(gm.graph)


def test_modules_with_containers_travel():
    gm = fx.symbolic_trace(
        lambda x, y: {"s": x["a"] + y, "t": (x["b"],)}, {"x": {"a": fx.PH, "b": fx.PH}}
    )
    given = {"a": torch.ones(1), "b": 2}, torch.ones(1)
    expected = {"s": torch.tensor([2.0]), "t": (2,)}
    assert gm(*given) == expected
    assert copy.deepcopy(gm)(*given) == expected
    assert fx.Interpreter(gm).run(*given) == expected
    made = pickle.loads(pickle.dumps(gm))
    assert made(*given) == expected


def test_modules_are_saved_with_their_functions():
    gm = fx.symbolic_trace(lambda x: recorded(x * 2) + math.pi)
    file = io.BytesIO()
    torch.save(gm, file)
    file.seek(0)
    made = torch.load(file, weights_only=False)
    assert made.code == gm.code
    assert made(torch.tensor(4.0)).item() == pytest.approx(9 + math.pi)


def test_a_folder(tmp_path):
    gm = fx.symbolic_trace(Net())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gm.to_folder(tmp_path / "made", "Made")
    text = (Path(tmp_path) / "made" / "module.py").read_text()
    assert "class Made(torch.nn.Module):" in text
    scope = {}
    exec(
        text.replace("import torch\n", "import pellucid as torch\n")
        .replace("from torch", "from pellucid")
        .replace("import torch.", "import pellucid."),
        scope,
    )
    x = torch.ones(2, 4)
    assert torch.equal(scope["Made"]()(x), gm(x))


def test_tracebacks_show_the_line_of_the_code():
    gm = fx.symbolic_trace(Net())
    with pytest.raises(RuntimeError, match="mat1 and mat2") as info:
        gm(torch.ones(2, 3))
    assert "first = self.first(x);  x = None" in "".join(traceback.format_tb(info.tb))


def test_an_error_in_the_code_itself_is_shown_with_its_lines(capsys):
    gm = fx.symbolic_trace(lambda x: x.foo + 1)
    with pytest.raises(AttributeError):
        gm(3)
    assert (
        "Call using an FX-traced Module, line 5 of the traced Module's generated forward function"
        in capsys.readouterr().err
    )


def test_where_nodes_come_from():
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    gm = fx.GraphModule(nn.Module(), tracer.trace(lambda x: torch.relu(x)))
    node = next(iter(gm.graph.find_nodes(op="call_function", target=torch.relu)))
    assert Path(__file__).name in node.stack_trace
    assert (
        "code: gm = fx.GraphModule(nn.Module(), tracer.trace(lambda x: torch.relu(x)))"
        in gm.print_readable(False)
    )


# ---- graphs that are changed -------------------------------------------------------------------
def test_use_lists_stay_true():
    graph = fx.Graph()
    a, b = graph.placeholder("a"), graph.placeholder("b")
    c = graph.call_function(operator.add, (a, [b, {"k": a}]), {"s": slice(a, b)})
    assert (list(a.users), list(b.users), c.all_input_nodes) == ([c], [c], [a, b])
    c.args = (b,)
    assert (list(a.users), list(b.users)) == ([c], [c])
    c.kwargs = {}
    assert (list(a.users), list(b.users)) == ([], [c])
    d = graph.call_method("neg", (c,))
    assert c.replace_all_uses_with(a) == [d]
    assert (list(a.users), list(c.users), d.args) == ([d], [], (a,))
    graph.erase_node(c)
    assert [node.name for node in graph.nodes] == ["a", "b", "neg"]
    assert list(b.users) == []
    with pytest.warns(UserWarning, match="already erased"):
        graph.erase_node(c)


def test_a_graph_may_change_while_it_is_gone_through():
    gm = fx.symbolic_trace(lambda x: ((x + 1) + 2) + 3)
    for node in gm.graph.nodes:
        if node.target is operator.add:
            with gm.graph.inserting_after(node):
                made = gm.graph.call_function(operator.mul, (node, 2))
            node.replace_all_uses_with(made)
            made.args = (node, 2)
    gm.recompile()
    assert gm(1) == ((1 + 1) * 2 + 2) * 2 * 2 + 3 * 2


def test_a_new_graph_for_a_module():
    gm = fx.symbolic_trace(Net())
    graph = fx.Graph()
    values = {}
    out = graph.graph_copy(gm.graph, values)
    graph.output(graph.call_method("sum", (out,)))
    gm.graph = graph
    x = torch.ones(2, 4)
    assert gm(x).ndim == 0
    assert graph.owning_module is gm


def test_submodules_that_nobody_uses():
    gm = fx.symbolic_trace(Net())
    assert gm.add_submodule("extra.inner", nn.ReLU())
    assert not gm.add_submodule("scale.inner", nn.ReLU())
    gm.delete_all_unused_submodules()
    assert [name for name, _ in gm.named_modules()] == ["", "first", "head", "head.0"]
    assert gm.delete_submodule("first")
    assert not gm.delete_submodule("first")


def test_hooks_see_what_happens_to_nodes():
    gm = fx.symbolic_trace(lambda x: x + 1)
    seen = []
    gm._register_create_node_hook(lambda node: seen.append(("create", node.name)))
    gm._register_erase_node_hook(lambda node: seen.append(("erase", node.name)))
    node = next(iter(gm.graph.find_nodes(op="call_function", target=operator.add)))
    with (
        gm._set_replace_hook(lambda old, new, user: seen.append((old.name, new, user.name))),
        gm.graph.inserting_after(node),
    ):
        made = gm.graph.call_method("neg", (node.args[0],))
        node.replace_all_uses_with(made)
    gm.graph.erase_node(node)
    assert seen == [("create", "neg"), ("add", "neg", "output"), ("erase", "add")]


def test_classes_that_are_made_from_proxies():
    class Pair(metaclass=fx.ProxyableClassMeta):
        def __init__(self, a, b):
            self.a, self.b = a, b

    gm = fx.symbolic_trace(lambda x: Pair(x, x + 1))
    pair = gm(1)
    assert (pair.a, pair.b) == (1, 2)


def test_wrapped_functions_run_as_they_are():
    gm = fx.symbolic_trace(lambda x: recorded(x) * 2)
    assert "recorded" in gm.code
    assert [gm(torch.tensor([value])).item() for value in (1.0, -1.0)] == [4.0, -4.0]
    assert recorded(torch.tensor([1.0])).item() == 2.0


def test_asserts_are_recorded_where_that_is_asked_for():
    scope = {}  # pytest rewrites the asserts of this file
    exec("def program(x):\n    assert x.sum() > 0, 'not positive'\n    return x", scope)
    tracer = fx.Tracer()
    tracer.trace_asserts = True
    gm = fx.GraphModule(nn.Module(), tracer.trace(scope["program"]))
    gm(torch.ones(1))
    with pytest.raises(AssertionError):
        gm(-torch.ones(1))


def test_pictures_need_pydot():
    gm = fx.symbolic_trace(Net())
    try:
        import pydot  # noqa: F401
    except ImportError:
        with pytest.raises(RuntimeError, match="FXGraphDrawer requires the pydot package"):
            fx.passes.graph_drawer.FxGraphDrawer(gm, "net")
    else:
        dot = fx.passes.graph_drawer.FxGraphDrawer(gm, "net").get_dot_graph().to_string()
        assert "name=%first" in dot


def test_code_that_names_torch_c_runs():
    gm = fx.symbolic_trace(
        lambda x: (
            F.gelu(x)
            + torch.fft.fft(x).real
            + torch.linalg.norm(x)
            + torch.special.expit(x)
            + F.linear(x, x)
        )
    )
    assert "torch._C._nn.gelu(x)" in gm.code
    assert "torch._C._fft.fft_fft(x)" in gm.code
    x = torch.ones(2, 2)
    expected = (
        F.gelu(x)
        + torch.fft.fft(x).real
        + torch.linalg.norm(x)
        + torch.special.expit(x)
        + F.linear(x, x)
    )
    assert torch.equal(gm(x), expected)


def test_passes_in_a_row():
    from pellucid.fx.passes.infra.pass_base import PassResult
    from pellucid.fx.passes.infra.pass_manager import (
        PassManager,
        pass_result_wrapper,
        this_before_that_pass_constraint,
    )

    ran = []

    def one(gm):
        ran.append("one")
        return PassResult(gm, False)

    @pass_result_wrapper
    def two(gm):
        ran.append("two")

    manager = PassManager([two, one], [this_before_that_pass_constraint(one, two)])
    assert manager(fx.symbolic_trace(lambda x: x)).modified
    assert ran == ["one", "two"]


def test_the_text_of_a_collected_function_leaves_the_cache_of_lines_later():
    """Collection may happen while `linecache` goes through its entries, which must not vanish then."""
    traced = fx.symbolic_trace(lambda x: x + 1)
    name = type(traced).forward.__code__.co_filename
    before = set(linecache.cache)
    assert name in before
    del traced
    gc.collect()
    assert set(linecache.cache) == before
    fx.symbolic_trace(lambda x: x + 2)
    assert name not in linecache.cache
