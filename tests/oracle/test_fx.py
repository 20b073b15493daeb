"""`torch.fx`: graphs, code, tables, results and errors are PyTorch's."""

import copy
import io
import math
import operator
import pickle
import sys
import types
import typing
import warnings

import pytest

import pellucid
import pellucid.fx

torch = pytest.importorskip("torch")
pytest.importorskip("torch.fx")

BOTH = (torch, pellucid)


# ---- programs, written once for both ------------------------------------------------------------
def functions(m):
    f = m.nn.functional

    def annotated(x: m.Tensor, y: int = 3, *, z: typing.Optional[m.Tensor] = None) -> m.Tensor:  # noqa: UP045
        return m.ones(2) + x + y

    def typed(
        x: typing.Dict[str, m.Tensor],  # noqa: UP006
        y: typing.Tuple[int, ...] = (1, 2),  # noqa: UP006
        z: typing.Union[int, str] = "a",  # noqa: UP007
        u: int | None = None,
        v: list[int] = (1,),
    ) -> typing.List[m.Tensor]:  # noqa: UP006
        return [x["a"]]

    def stars(x, *args, **kw):
        return x.relu() + args[0] + kw["a"]

    def shapes(x):
        a, b = x.shape[0], x.size(1)
        joined = m.cat([x.view(a, b), x.reshape(-1)[None, :, 1:2, ...]])
        return joined.to(m.float32).to(m.device("cpu")), {"k": x.T, "l": [x, (x,)]}

    def of_nn_functional(x):
        return (
            f.relu(x)
            + f.gelu(x)
            + f.linear(x, x)
            + f.max_pool2d(x, 2)
            + f.dropout(x, 0.5, training=True)
            + f.softmax(x, -1)
            + f.layer_norm(x, (3,))
            + f.interpolate(x, scale_factor=2.0)
            + f.pad(x, (1, 1))
            + f.conv2d(x, x, padding=1)
            + f.cross_entropy(x, x)
            + f.mse_loss(x, x, reduction="sum")
            + f.batch_norm(x, None, None, training=True)
            + f.embedding(x, x)
            + f.silu(x)
            + f.logsigmoid(x)
            + f.scaled_dot_product_attention(x, x, x, is_causal=True)
            + f.adaptive_avg_pool2d(x, (2, 2))
            + f.one_hot(x, 3)
            + f.normalize(x, dim=1)
            + f.avg_pool2d(x, 2)
            + f.hardtanh(x)
            + f.tanh(x)
            + f.sigmoid(x)
            + f.l1_loss(x, x)
        )

    def numbers(x):
        return math.sqrt(x) + float("inf") * float("nan") + 2j + True

    def operators(x):
        compared = (x < 1, x <= 1, x == 1, x != 1, x > 1, x >= 1)
        return (
            compared,
            -x,
            +x,
            ~x,
            abs(x),
            1 - x,
            2 / x,
            2**x,
            3 // x,
            2 @ x,
            1 & x,
            1 << x,
            x is None,
            3 % x,
            1 | x,
            8 >> x,
            1 ^ x,
        )

    def mutating(x):
        x.add_(1)
        x = operator.iadd(x, 1)
        return x.foo.bar(2, k=x)

    def namespaces(x):
        return (
            m.einsum("ij,jk->ik", x, x),
            m.einsum("ij,jk->ik", [x, x]),
            m.linalg.norm(x),
            m.fft.rfft(x),
            m.special.expit(x),
            m.stack([x, x], dim=0),
            m.where(x > 0, x, 0.0),
            m.tensordot(x, x),
            m.norm(x),
            m.split(x, 2),
            m.chunk(x, 2),
            m.max(x),
            m.meshgrid(x, x, indexing="ij"),
            m.broadcast_tensors(x, x),
            m.zeros(x.size(0)),
            m.full((2,), x),
            m.topk(x, 2),
            m.cdist(x, x),
            m.unique(x),
            m.argmax(x, dim=1),
            m.addmm(x, x, x, beta=2),
            m.clamp(x, min=0),
            m.bmm(x, x),
            m.roll(x, 1),
        )

    def with_tensors(x):
        t = m.ones(2)
        return (
            t + x,
            t - x,
            t / x,
            t @ x,
            t == x,
            t.add(x),
            t[x],
            m.add(t, x),
            x + t,
            t.expand_as(x),
            t**x,
            t < x,
        )

    def unpacked(x):
        a, b = x.split(2)
        (c, d), e = x.chunk(2)
        return a + b + c + d + e

    def dead(x):
        x + 1
        m.rand(2)
        return x * 2

    def many_adds(x):
        add_1 = x + 1
        add = add_1 + 1
        return add + x.sum() + m.sum(x) + x.abs().pow(2)

    simple = {
        "square": lambda x: x * x,
        "nothing": lambda x: x,
        "constant": lambda x: 3,
        "containers": lambda x: {"a": [x, (x, x)], "b": None},
        "methods": lambda x: (
            x.view(-1, 2).transpose(0, 1).contiguous().unsqueeze(-1).mean(dim=(0, 1), keepdim=True)
        ),
        "dtypes": lambda x: x.to(dtype=m.float16, memory_format=m.contiguous_format).type(m.int64),
        "slices": lambda x: (
            x[0],
            x[..., None],
            x[:, 1:],
            x[x > 0],
            x[[0, 1]],
            x[x.shape[0] - 1 :],
        ),
        "attributes": lambda x: (x.shape, x.dtype, x.ndim, x.device, x.grad),
        "keyword": lambda x, *, scale=2: x * scale,
        "called": lambda x: x(1, k=2),
        "size": lambda x: x.foo(m.Size([1, 2]), range(3), ..., slice(x, None, 2)),
    }
    named = [
        annotated,
        typed,
        stars,
        shapes,
        of_nn_functional,
        numbers,
        operators,
        mutating,
        namespaces,
        with_tensors,
        unpacked,
        dead,
        many_adds,
    ]
    return simple | {function.__name__: function for function in named}


def models(m):
    nn = m.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)
            self.act = nn.functional.relu  # kept before the trace begins
            self.head = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
            self.scale = nn.Parameter(m.ones(1))
            self.register_buffer("shift", m.zeros(1))
            self.blocks = nn.ModuleList([nn.Identity(), nn.Dropout(0.1)])

        def forward(self, x, flag=True):
            x = self.act(self.conv(x)) * self.scale + self.shift
            for block in self.blocks:
                x = block(x)
            return self.head(x).softmax(-1)

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Linear(2, 2)
            self.two = self.one

        def forward(self, x):
            return self.two(self.one(x)) + self.one.weight

    class Inner(nn.Module):
        def forward(self, x, k=2):
            return x.neg() * k

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.again = nn.ModuleDict({"a": Inner()})

        def forward(self, x):
            return self.inner(x) + self.again["a"](x, k=3)

    return {
        "sequential": lambda: nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Sequential(nn.Tanh())),
        "net": Net,
        "shared": Shared,
        "outer": Outer,
        "linear": lambda: nn.Linear(2, 3),
        "conv": lambda: nn.Conv1d(2, 3, 1),
    }


def described(gm, m):
    """Graph, code and table of a module."""
    rows = []
    table = types.ModuleType("tabulate")
    table.tabulate = lambda nodes, headers: (
        rows.append((headers, [[_named(cell) for cell in row] for row in nodes])) or ""
    )
    before = sys.modules.get("tabulate")
    sys.modules["tabulate"] = table
    try:
        gm.graph.print_tabular()
    finally:
        sys.modules.pop("tabulate") if before is None else sys.modules.__setitem__(
            "tabulate", before
        )
    return str(gm.graph), gm.code, rows, gm.print_readable(print_output=False)


def _named(cell):
    return cell.__name__ if callable(cell) and hasattr(cell, "__name__") else repr(cell)


@pytest.mark.parametrize("name", list(functions(pellucid)))
def test_functions(name):
    theirs, ours = (described(m.fx.symbolic_trace(functions(m)[name]), m) for m in BOTH)
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert ours[3] == theirs[3]
    for (_, mine), (_, other) in zip(ours[2], theirs[2]):
        assert [row[:2] + row[3:] for row in mine] == [row[:2] + row[3:] for row in other]


@pytest.mark.parametrize("name", list(models(pellucid)))
@pytest.mark.parametrize("deep", [False, True])
def test_modules(name, deep):
    def traced(m):
        class Deep(m.fx.Tracer):
            def is_leaf_module(self, module, qualified_name):
                return not deep and super().is_leaf_module(module, qualified_name)

        model = models(m)[name]()
        graph = Deep().trace(model)
        gm = m.fx.GraphModule(model, graph, "Traced")
        stacks = [
            [(key, path) for key, (path, _) in node.meta.get("nn_module_stack", {}).items()]
            for node in graph.nodes
        ]
        return (*described(gm, m)[:2], str(gm), stacks, list(gm.state_dict()))

    assert traced(pellucid) == traced(torch)


def test_results_and_copies():
    def outcome(m):
        m.manual_seed(0)
        model = models(m)["net"]().eval()
        gm = m.fx.symbolic_trace(model)
        x = m.linspace(-1, 1, 2 * 3 * 36).reshape(2, 3, 6, 6)
        expected = model(x)
        file = io.BytesIO()
        m.save(gm, file)
        file.seek(0)
        copies = [
            gm,
            copy.deepcopy(gm),
            pickle.loads(pickle.dumps(gm)),
            m.load(file, weights_only=False),
            copy.copy(gm),
        ]
        same = [m.equal(made(x), expected) for made in copies]
        return (
            same,
            [made.code for made in copies],
            [type(made).__name__ for made in copies],
            expected.tolist(),
        )

    theirs, ours = outcome(torch), outcome(pellucid)
    assert ours[:3] == theirs[:3]
    assert ours[0] == [True] * 5
    for mine, other in zip(ours[3], theirs[3]):
        assert mine == pytest.approx(other, abs=1e-5)


# ---- what is refused --------------------------------------------------------------------------------
def refusals(m):
    fx = m.fx
    graph = fx.Graph()
    x = graph.placeholder("x", default_value=1)
    y = graph.call_function(operator.add, (x, [x]), {"k": {"a": [x]}})
    end = graph.output(y)
    other = fx.Graph()
    z = other.placeholder("z")

    def used_before():
        wrong = fx.Graph()
        a = wrong.placeholder("a")
        b = wrong.call_method("neg", (a,))
        c = wrong.call_method("relu", (a,))
        b.args = (c,)
        wrong.lint()

    class Model(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = m.nn.Parameter(m.ones(3, 2))

        def forward(self, x):
            return x if self.weight.shape[0] == 3 else -x

    def foreign(x):
        return x + Model().weight

    return {
        "if": lambda: fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x),
        "for": lambda: fx.symbolic_trace(lambda x: list(zip(x, x))),
        "len": lambda: fx.symbolic_trace(lambda x: len(x)),
        "bool": lambda: fx.symbolic_trace(lambda x: bool(x)),
        "int": lambda: fx.symbolic_trace(lambda x: int(x)),
        "range": lambda: fx.symbolic_trace(lambda x: range(x)),
        "keys": lambda: fx.symbolic_trace(lambda x: x.foo({x: 1})),
        "bytes": lambda: fx.symbolic_trace(lambda x: x.foo(b"")),
        "function": lambda: fx.symbolic_trace(lambda x: x.foo(lambda a: a)),
        "foreign": lambda: fx.symbolic_trace(foreign),
        "shape": lambda: fx.symbolic_trace(Model()),
        "item": lambda: fx.symbolic_trace(lambda x: x.__class__.__setitem__),
        "used": lambda: graph.erase_node(x),
        "wrong graph": lambda: other.erase_node(end),
        "op": lambda: graph.create_node("foo", "x"),
        "args": lambda: graph.create_node("call_method", "x", [1]),
        "kwargs": lambda: graph.create_node("call_method", "x", (), [1]),
        "list": lambda: y.args[1].append(1),
        "dict": lambda: y.kwargs["k"].clear(),
        "before": lambda: other.inserting_before(x),
        "after": lambda: other.inserting_after(x),
        "insert": lambda: y.insert_arg(9, 1),
        "update": lambda: y.update_arg(9, 1),
        "append": lambda: z.append(x),
        "find": lambda: graph.find_nodes(op="call_function"),
        "map": lambda: m.fx.node.map_arg(1, 2),
        "lint": used_before,
        "mixed": lambda: other.call_function(operator.add, (x, 1)) and other.lint(),
        "root": lambda: fx.GraphModule(3, graph),
        "missing": lambda: fx.GraphModule({}, fx.symbolic_trace(models(m)["sequential"]()).graph),
        "wrap": lambda: fx.wrap("name"),
        "wrapped": lambda: fx.wrap(3),
        "missing input": lambda: fx.Interpreter(fx.symbolic_trace(lambda x: x)).run(),
        "in a node": lambda: fx.Interpreter(fx.symbolic_trace(lambda x: x.foo())).run(1),
        "too many": lambda: fx.symbolic_trace(lambda x: x, (1, 2)),
        "graph": lambda: setattr(fx.symbolic_trace(lambda x: x), "graph", 3),
    }


@pytest.mark.parametrize("name", list(refusals(pellucid)))
def test_refusals(name):
    def outcome(m):
        call = refusals(m)[name]
        try:
            return "no error", type(call()).__name__
        except Exception as error:
            return [kind.__name__ for kind in type(error).__mro__], str(error)

    assert outcome(pellucid) == outcome(torch)


# ---- arguments that are values ----------------------------------------------------------------------
def test_concrete_arguments():
    def outcome(m):
        fx = m.fx
        made = [
            fx.symbolic_trace(lambda x, b: x * 2 if b else x, {"b": True}),
            fx.symbolic_trace(lambda x, n=1: x * n, {"n": 3}),
            fx.symbolic_trace(lambda x, n: x, {"n": None}),
            fx.symbolic_trace(lambda x, y: x["a"] + y, {"x": {"a": fx.PH}}),
            fx.symbolic_trace(
                lambda x, y: {"s": x[0][0] + x[1], "y": [y]}, {"x": [(fx.PH, 2), fx.PH]}
            ),
            fx.symbolic_trace(lambda x, y: x - y, (fx.PH, 4)),
        ]
        return [described(gm, m)[:2] for gm in made], [
            made[3]({"a": m.ones(1)}, 2).tolist(),
            made[4]([(m.ones(1), 2), m.ones(1)], 3)["s"].tolist(),
            made[5](7, 4),
        ]

    assert outcome(pellucid) == outcome(torch)


def test_tracers_with_answers():
    def outcome(m):
        class Answers(m.fx.Tracer):
            def to_bool(self, obj):
                return True

            def iter(self, obj):
                return iter([obj[0], obj[1]])

            def call_module(self, module, forward, args, kwargs):
                return super().call_module(module, forward, args, kwargs) if args else None

            def create_arg(self, a):
                return [1, 2] if isinstance(a, bytes) else super().create_arg(a)

        def program(x):
            if x.sum() > 0:
                return [a for a, _ in zip(x, x)], x.foo(b"")
            return -x

        class Constant(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = m.nn.Parameter(m.ones(3, 2))

            def forward(self, x):
                return (
                    x @ self.weight if self.weight.shape[0] == 3 and self.weight.dim() == 2 else x
                )

        buffers = m.fx.Tracer()
        buffers.proxy_buffer_attributes = True
        return (
            str(Answers().trace(program)),
            str(m.fx.Tracer(param_shapes_constant=True).trace(Constant())),
            str(buffers.trace(models(m)["net"]())),
            str(
                m.fx.Tracer(autowrap_functions=(_recorded,)).trace(
                    lambda x: _recorded(x) + math.floor(x)
                )
            ),
        )

    assert outcome(pellucid) == outcome(torch)


def _recorded(x):
    return x + 100


# ---- graphs by hand -----------------------------------------------------------------------------------
def test_graphs_by_hand():
    def outcome(m):
        fx = m.fx
        graph = fx.Graph()
        tracer = fx.proxy.GraphAppendingTracer(graph)
        x = fx.Proxy(graph.placeholder("x"), tracer)
        w = fx.Proxy(graph.get_attr("w"), tracer)
        y = m.einsum("ab,bc->ac", x, w)
        y = y.foo.bar(1, k=x)[x:2] + m.nn.functional.conv2d(x, w, stride=2) + abs(x)
        graph.output((y.node, m.relu(y).node))
        graph.lint()
        said = [str(graph), repr(y), len(graph.nodes), [n.name for n in reversed(graph.nodes)]]
        first, second = graph.find_nodes(op="call_function", target=operator.add)
        with graph.inserting_before(second):
            made = graph.call_function(operator.mul, (first, 2), name="doubled")
        first.replace_all_uses_with(made, delete_user_cb=lambda user: user is second)
        said.append(str(graph))
        second.replace_input_with(made, first)
        said.append([graph.eliminate_dead_code(), str(graph)])
        said.append(str(copy.deepcopy(graph)))
        second.prepend(x.node)
        said.append([str(graph), first < second, second <= first, x.node > second])
        said.append(
            [
                (
                    n.name,
                    [str(u) for u in n.users],
                    [str(i) for i in n.all_input_nodes],
                    n.is_impure(),
                )
                for n in graph.nodes
            ]
        )
        return said

    assert outcome(pellucid) == outcome(torch)


def test_operators_and_writes():
    def outcome(m):
        graph = m.fx.Graph()
        x = graph.placeholder("x")
        for target in (m.ops.aten.relu_.default, m.ops.aten.add, m.ops.aten.add.Tensor):
            graph.call_function(target, (x, 1))
        graph.output(x)
        said = [
            str(graph),
            m.fx.GraphModule(m.nn.Module(), graph).code,
            [n.is_impure() for n in graph.nodes],
        ]
        for program in (
            lambda x: m.relu_(x),
            lambda x: m.add(x, 1, out=x),
            lambda x: m.exp(x, out=x),
            lambda x: x.add_(1),
            lambda x: m.clamp_(x, 1),
        ):
            tracer = m.fx.Tracer()
            tracer.check_mutable_operations = True
            try:
                said.append(str(tracer.trace(program)))
            except RuntimeError as error:
                said.append(str(error))
        return said

    assert outcome(pellucid) == outcome(torch)


def test_names():
    def outcome(m):
        from importlib import import_module

        names = import_module(f"{m.__name__}.fx.graph")._Namespace()
        wanted = [
            "add",
            "add",
            "add_1",
            "add",
            "x_5",
            "x_5",
            "x",
            "x",
            "1a",
            "a.b",
            "",
            "*args",
            "sum",
            "class",
            "inf",
            "add_2_3",
            "add_2_3",
        ]
        return [names.create_name(name, None) for name in wanted]

    assert outcome(pellucid) == outcome(torch)


def test_code_that_is_changed():
    def outcome(m):
        gm = m.fx.symbolic_trace(lambda x: m.relu(x) + 1)
        seen = []
        with gm.graph.on_generate_code(
            lambda before: lambda body: seen.append(body) or ["print()\n", *body]
        ):
            inside = gm.recompile().src
        return inside, gm.recompile().src, seen, sorted(gm.graph.python_code("self").globals)

    assert outcome(pellucid) == outcome(torch)


def test_readable_code():
    def outcome(m):
        gm = m.fx.symbolic_trace(lambda x: (x + 1).relu().exp() * 2)
        nodes = list(gm.graph.nodes)
        nodes[1].meta["stack_trace"] = nodes[2].meta["stack_trace"] = (
            'File "a.py", line 3, in f\n    y = x+1'
        )
        nodes[
            3
        ].stack_trace = '  File "a.py", line 3, in f\n    y = x+1\n  File "b.py", line 5, in <module>\n    z = y.relu()\n'
        for node in nodes:
            node.meta["val"] = m.ones(2, 3)
        return gm.print_readable(print_output=False), gm.print_readable(False, True, True)

    assert outcome(pellucid) == outcome(torch)


# ---- passes -----------------------------------------------------------------------------------------------
def rewritten(m):
    yes = [
        (
            lambda x, a, b: x + m.cat([a, b]).sum() + m.cat([b, a]).sum(),
            lambda a, b: m.cat([a, b]).sum(),
            lambda a, b: m.stack([a, b]),
        ),
        (lambda x: x.neg().neg().neg().neg(), lambda x: x.neg().neg(), lambda x: x.exp()),
        (lambda x: m.relu(x) + m.relu(x + 1), lambda x: m.relu(x), lambda x: m.sigmoid(x)),
        (lambda x: m.relu(x) + 1, lambda x, y: x + y, lambda x, y: m.sub(x, y)),
        (lambda x, y: (x + y, m.relu(x + y)), lambda x, y: m.relu(x + y), lambda x, y: m.neg(x)),
        (lambda x: m.relu(x), lambda x: m.relu(x), lambda x: x),
        (
            lambda x: (m.relu(x), m.neg(x)),
            lambda x: (m.relu(x), m.neg(x)),
            lambda x: (m.tanh(x), m.exp(x)),
        ),
        (
            lambda x: m.nn.functional.dropout(x, 0.5),
            lambda x: m.nn.functional.dropout(x, 0.4),
            lambda x: x,
        ),
    ]
    said = []
    for program, pattern, replacement in yes:
        gm = m.fx.symbolic_trace(program)
        places = m.fx.replace_pattern(gm, pattern, replacement)
        said.append(
            (
                [(str(p.anchor), {str(k): str(v) for k, v in p.nodes_map.items()}) for p in places],
                str(gm.graph),
                gm.code,
            )
        )
    return said


def test_patterns():
    assert rewritten(pellucid) == rewritten(torch)


def test_passes():
    def outcome(m):
        from importlib import import_module

        load = lambda name: import_module(f"{m.__name__}.fx.passes.{name}")
        m.manual_seed(0)
        gm = m.fx.symbolic_trace(models(m)["net"]())
        load("shape_prop").ShapeProp(gm).propagate(m.ones(2, 3, 6, 6))
        meta = [
            (n.name, tuple(map(str, n.meta.get("tensor_meta", ()))), n.meta["type"].__name__)
            for n in gm.graph.nodes
        ]
        count = iter(range(100))
        parts = load("split_module").split_module(gm, gm, lambda node: next(count) // 2)
        tools = load("tools_common")
        targets = [
            tools.get_node_target(dict(gm.named_modules()), n)
            for n in gm.graph.nodes
            if n.op.startswith("call")
        ]
        return (
            meta,
            str(parts),
            [part.code for part in parts.children() if hasattr(part, "code")],
            targets,
        )

    assert outcome(pellucid) == outcome(torch)


def test_transformers_and_fused_convolutions():
    def outcome(m):
        from importlib import import_module

        class Swap(m.fx.Transformer):
            def call_function(self, target, args, kwargs):
                return super().call_function(
                    operator.sub if target is operator.add else target, args, kwargs
                )

            def call_method(self, target, args, kwargs):
                return super().call_method(
                    "neg" if target == "softmax" else target, args[:1], kwargs
                )

        swapped = Swap(m.fx.symbolic_trace(models(m)["net"]())).transform()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's module imports what it deprecates
            optimization = import_module(f"{m.__name__}.fx.experimental.optimization")
        nn = m.nn
        model = nn.Sequential(
            nn.Conv2d(1, 2, 3),
            nn.BatchNorm2d(2),
            nn.Dropout(),
            nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)),
        ).eval()
        fused = optimization.fuse(model)
        x = m.ones(1, 1, 4, 4)
        return (
            described(swapped, m)[:2],
            fused.code,
            m.allclose(fused(x), model(x), atol=1e-5),
            optimization.remove_dropout(model).code,
        )

    assert outcome(pellucid) == outcome(torch)


def test_normalized_arguments():
    def outcome(m):
        graph = m.fx.symbolic_trace(models(m)["net"]()).graph
        model = models(m)["net"]()
        return [
            (
                n.name,
                tuple(
                    map(
                        repr,
                        n.normalized_arguments(model, normalize_to_only_use_kwargs=by_name) or (),
                    )
                ),
            )
            for n in graph.nodes
            for by_name in (False, True)
            if n.op == "call_module" or n.op == "call_function" and n.target is m.nn.functional.relu
        ]

    assert outcome(pellucid) == outcome(torch)
