"""Drawings of tensors, modules, scalar Values and of anything with nodes and edges: the formats,
the layout, the modules.
"""

import re
import xml.etree.ElementTree as ET

import pytest

import pellucid as torch
from pellucid import debug, nn
from pellucid.debug.pictures.adapters import TensorGraph, instances, short_name
from pellucid.debug.pictures.layout import Layout
from pellucid.debug.pictures.pages import part
from pellucid.scalar import Value


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.linear(self.norm(x)))


def net():
    return nn.Sequential(nn.Linear(4, 8), Block(), nn.Sequential(Block(), nn.Tanh()))


# ---- formats -----------------------------------------------------------------------------------
def test_dot_and_mermaid_have_every_node_and_edge():
    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    drawing = debug.draw((x * y).sum(), names={"x": x, "y": y})
    dot, mermaid = drawing.dot, drawing.mermaid
    assert dot.startswith("digraph {") and dot.count("{") == dot.count("}")
    assert len(re.findall(r"n\d+ -> n\d+", dot)) == 3 == len(re.findall(r"n\d+ -->", mermaid))
    assert 'label="(2, 3)"' in dot and '-->|"(3,)"|' in mermaid
    assert mermaid.splitlines()[0] == "flowchart TD" and '(["x"])' in mermaid


def test_names_cannot_break_out_of_any_format():
    bad = 'a"] --> <script>alert(1)</script> & \\ ü✓\n{x}'
    x = torch.ones((), requires_grad=True)
    drawing = debug.draw(x * 2, names={bad: x})
    assert '\\"] --> <script>' in drawing.dot and "\\\\ ü✓\\n{x}" in drawing.dot
    line = next(s for s in drawing.mermaid.splitlines() if "script" in s)
    assert line.count('"') == 2 and "<script" not in line and "#60;script#62;" in line
    assert "<script>alert" not in drawing.html and "<script>alert" not in drawing.svg
    ET.fromstring(drawing.svg)


def test_modules_become_clusters_subgraphs_and_frames():
    drawing = debug.draw(net(), torch.ones(2, 4))
    assert drawing.dot.count("subgraph cluster_") == 9 == drawing.mermaid.count("  subgraph ")
    assert "linear: Linear" in drawing.dot and drawing.mermaid.count(" end") == 9
    frames = [
        t.text
        for t in ET.fromstring(drawing.svg).iter("{http://www.w3.org/2000/svg}text")
        if t.get("class") == "frame"
    ]
    assert frames.count("norm: LayerNorm") == 2 and frames[0] == "0: Linear"


def test_format_and_save(tmp_path):
    x = torch.ones(2, requires_grad=True)
    drawing = debug.draw(x.sum(), format="mermaid")
    assert str(drawing) == drawing.mermaid and "SumBackward0" in repr(drawing)
    for name, start in (
        ("a.svg", "<svg"),
        ("a.html", "<!DOCTYPE html>"),
        ("a.dot", "digraph"),
        ("a.gv", "digraph"),
        ("a.mmd", "flowchart"),
        ("a", "flowchart"),
    ):
        assert drawing.save(tmp_path / name).read_text(encoding="utf-8").startswith(start)
    with pytest.raises(ValueError, match="png"):
        debug.draw(x.sum()).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match="format must be one of dot, mermaid, svg, html"):
        debug.draw(x.sum(), format="png")
    with pytest.raises(TypeError, match="must be Tensor, Module"):
        debug.draw(3)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "a",
        "a.dot",
        "a.gv",
        "a.html",
        "a.mmd",
        "a.svg",
    ]


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    target = tmp_path / "g.svg"
    target.write_text("old")
    drawing = debug.draw(torch.ones((), requires_grad=True) * 2)
    monkeypatch.setattr("os.replace", lambda a, b: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        drawing.save(target)
    assert target.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["g.svg"]


# ---- what is drawn -----------------------------------------------------------------------------
def test_a_run_of_a_module_shows_all_operations_and_changes_nothing():
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(), nn.ReLU())
    before = [b.clone() for b in model.buffers()]
    state = torch.get_rng_state()
    drawing = debug.draw(model, torch.ones(4, 3))
    nodes = {n.name: n for n in drawing.graph.nodes()}
    assert (
        nodes["relu"].group == ("3: ReLU",)
        and nodes["relu"].kind == "result"
        and nodes["input"].shape == "(4, 3)"
    )
    assert nodes["weight"].title.endswith("1.weight")
    assert (
        model.training
        and all(m.training for m in model)
        and torch.equal(state, torch.get_rng_state())
    )
    assert all(torch.equal(a, b) for a, b in zip(before, model.buffers(), strict=True))


def test_in_place_operations_continue_the_graph():
    class Net(nn.Module):
        def forward(self, x):
            h = x * 2
            h.add_(1)
            return h.exp()

    graph = debug.draw(Net(), torch.ones(2)).graph
    names = {n.key: n.name for n in graph.nodes()}
    assert [(names[e.source], names[e.target]) for e in graph.edges()] == [
        ("input", "mul"),
        ("mul", "add"),
        ("add", "exp"),
    ]


def test_writes_through_views_reach_the_base_and_other_views():
    class Net(nn.Module):
        def forward(self, x):
            h = x * 2
            first, rest = h[0], h[1:]
            first.copy_(torch.ones(2))
            rest.add_(1)
            return h.exp()

    graph = debug.draw(Net(), torch.ones(3, 2)).graph
    names = {n.key: n.name for n in graph.nodes()}
    made_of = {}
    for e in graph.edges():
        made_of.setdefault(e.target, []).append(e.source)
    exp = next(key for key, name in names.items() if name == "exp")
    (second,) = made_of[exp]
    first, add = made_of[second]
    assert [names[k] for k in (second, add, first)] == ["copy_slices", "add", "copy_slices"]
    before, copy = made_of[first]
    assert [names[k] for k in (before, copy)] == ["mul", "copy_"], (
        "both writes, in their order, and what was there before"
    )


def test_a_module_alone_is_drawn_as_a_tree():
    drawing = debug.draw(net())
    nodes = list(drawing.graph.nodes())
    assert [n.name for n in nodes][:3] == ["Sequential", "0: Linear", "1: Block"] and len(
        nodes
    ) == 10
    assert len(list(drawing.graph.edges())) == 9 and "40 parameters" in nodes[1].notes
    assert repr(drawing) == repr(drawing.graph.module)


def test_modules_by_the_names_of_parameters():
    model = net()
    graph = TensorGraph(model(torch.ones(2, 4)).sum(), model)
    groups = {n.name: n.group for n in graph.nodes() if n.kind != "leaf"}
    assert (
        groups["addmm"] == ("2", "0", "linear")
        and groups["relu"] == ("2", "0")
        and groups["sum"] == ()
    )
    leaves = {n.name for n in graph.nodes() if n.kind == "leaf"}
    assert leaves == {"weight", "bias"}, "inside its module a parameter has its short name"


scale = torch.ones(1, requires_grad=True)


def test_names_are_found_in_the_program():
    model = net()
    bias = torch.zeros(8, requires_grad=True)
    for p in model.parameters():
        p.grad = None
    drawing = debug.draw((model(torch.ones(2, 4)) * scale + bias).sum())
    nodes = {n.name: n for n in drawing.graph.nodes()}
    assert nodes["bias"].kind == "leaf" and nodes["scale"].shape == "(1,)" and "p" not in nodes
    assert nodes["relu"].group == ("model", "2", "0")
    assert "'model.0.weight' Parameter" in repr(drawing)
    played = debug.step_through((bias * scale).sum())
    assert {n.name for n in played.graph.nodes()} == {"bias", "scale", "mul", "sum"}


def test_looking_for_names_calls_nothing_of_the_program():
    class Touchy:
        def __getattr__(self, name):
            raise RuntimeError("touched")

    touchy, x = Touchy(), torch.ones(2, requires_grad=True)
    assert "x" in {n.name for n in debug.draw(x.sum()).graph.nodes()} and touchy is not None


def test_recorded_modules_are_preferred():
    model = net()
    with debug.watch():
        y = model(torch.ones(2, 4))
    groups = {n.name: n.group for n in debug.draw(y, names=model).graph.nodes()}
    assert groups["tanh"] == ("Sequential", "2", "1")


def test_a_scalar_value():
    x, y = Value(2.0, label="x"), Value(3.0, label="y")
    f = (x + y) * x
    f.backward()
    drawing = debug.draw(f)
    assert [n.name for n in drawing.graph.nodes()] == ["x", "y", "+", "*"] or len(
        list(drawing.graph.nodes())
    ) == 4
    assert "value=10" in repr(drawing) and "x  value=2  grad=7" in repr(drawing)
    assert drawing.svg.count('class="edge"') == 4


def test_anything_with_nodes_and_edges():
    class Plan:
        def nodes(self):
            yield debug.GraphNode("a", "load", "leaf")
            yield debug.GraphNode("b", "store", "result", group=("out",))

        def edges(self):
            yield debug.GraphEdge("a", "b", "4 KiB")

    drawing = debug.draw(Plan())
    assert (
        isinstance(Plan(), debug.Drawable)
        and "4 KiB" in drawing.svg
        and "subgraph cluster_0" in drawing.dot
    )
    assert repr(drawing) == "<drawing of 2 nodes>"


def test_nodes_of_a_graph_display_themselves():
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    calls = []
    x.register_hook(calls.append)
    assert "<svg" in y.grad_fn._repr_html_() and "sum" in y.grad_fn._repr_html_() and not calls
    assert (
        "<svg" in debug.draw(y)._repr_html_()
        and "srcdoc" in debug.draw(y, format="html")._repr_html_()
    )


def test_tensors_without_data():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True))
    x = torch.ones(2, 3, device="meta")
    assert [n.name for n in debug.draw(model, x).graph.nodes()][-1] == "relu"
    drawing = debug.step_through(model(x).sum())
    assert "no values" in drawing.steps[-1]["note"] and drawing.steps[-1]["h"] == "addmm"
    lazy = nn.Sequential(nn.LazyLinear(2))
    assert "LazyLinear" in debug.draw(lazy).mermaid and "LazyLinear" in lazy._repr_html_()


def test_large_graphs_are_not_differentiated_for_the_picture():
    x = torch.ones(1024, 1024, requires_grad=True)
    calls = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g * 2

    assert "value" in debug.draw(Counted.apply(x.exp()).mean()).svg and not calls
    assert (
        "grad 4" in debug.draw(Counted.apply(torch.ones((), requires_grad=True).exp()) * 2).svg
        and calls
    )


def test_the_end_of_a_graph():
    x = torch.ones(2, requires_grad=True)
    assert [n.kind for n in debug.draw((x * 2).grad_fn.next_functions[0][0]).graph.nodes()] == [
        "leaf"
    ]


def test_names_of_operations():
    assert [
        short_name(s) for s in ("MulBackward0", "NllLossBackward0", "AddmmBackward0", "Double")
    ] == [
        "mul",
        "nll_loss",
        "addmm",
        "double",
    ]


# ---- layout ------------------------------------------------------------------------------------
def test_a_module_that_is_called_again_is_another_box():
    def node(key, *group):
        return debug.GraphNode(key, str(key), group=group)

    groups, member = instances(
        [node(0, "a"), node(1, "a", "b"), node(2), node(3, "a", "b"), node(4, "a", "b")]
    )
    assert groups == [("a", -1), ("b", 0), ("a", -1), ("b", 2)] and member == [0, 1, -1, 3, 3]


def test_layout_of_modules():
    #        0 -> [1 -> 2] -> 3, and 0 -> 3 past the module
    layout = Layout([(60, 30)] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)], [("m", -1)], [-1, 0, 0, -1])
    frame, boxes = layout.frames[0], layout.boxes
    left, right = frame.x - frame.width / 2, frame.x + frame.width / 2
    for box in boxes[1:3]:
        assert (
            left < box.x - 30
            and box.x + 30 < right
            and frame.y < box.y
            and box.y + 30 < frame.y + frame.height
        )
    assert boxes[0].y + 30 < frame.y and frame.y + frame.height < boxes[3].y
    past = next(link for link in layout.links if len(link.bends) == 1)
    assert not left < past.bends[0].x < right, "an arrow past a module does not run through it"
    assert 0 < min(b.x - 30 for b in boxes) and max(b.x + 30 for b in boxes) <= layout.width


def test_long_arrows_are_named_and_not_drawn():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(60):
        y = y * x
    svg = debug.graph_svg(y, names={"weight": x})
    assert svg.count("from weight") > 10


def test_the_number_of_places_stays_linear():
    """Each of 20,000 arrows from one box would otherwise be bent in every layer that it passes: 200
    million places.
    """
    count = 20_000
    layout = Layout(
        [(60, 30)] * count,
        [(k, k + 1) for k in range(count - 1)] + [(0, k) for k in range(2, count)],
    )
    assert sum(len(link.bends) for link in layout.links) < 2 * count
    assert layout.height > 70 * count - 100


def test_order_against_the_direction_is_drawn_all_the_same():
    layout = Layout([(60, 30)] * 2, [(1, 0), (0, 1)])
    assert len(layout.links) == 2 and layout.height > 60


# ---- colours -----------------------------------------------------------------------------------
def luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_text_can_be_read_on_its_ground():
    """Contrasts of 4.5 to 1 and more (WCAG 2.1, 1.4.3), in light and in dark."""
    light, dark = (
        dict(re.findall(r"--([\w-]+):(#[0-9a-f]{6})", text))
        for text in part("base.css").split("@media")
    )
    pairs = [
        (text, ground)
        for text in ("ink", "soft")
        for ground in ("paper", "panel", "op", "leaf", "out", "const", "mark")
    ]
    pairs += [
        (text, ground)
        for text in ("forward", "backward")
        for ground in ("panel", "op", "leaf", "out", "const", "mark")
    ]
    pairs += [
        ("frame", "paper"),
        ("frame", "op"),
        ("frame", "mark"),
        ("accent", "paper"),
        ("accent", "panel"),
    ]
    pairs += [("paper", badge) for badge in ("bad", "warn", "accent", "soft")]
    low = []
    for theme, colours in (("light", light), ("dark", light | dark)):
        for text, ground in pairs:
            a, b = sorted((luminance(colours[text]), luminance(colours[ground])))
            if (b + 0.05) / (a + 0.05) < 4.5:
                low.append((theme, text, ground))
    assert low == []
