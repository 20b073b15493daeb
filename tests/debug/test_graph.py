"""The recorded graph as text, lists and pictures."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pellucid as torch
from pellucid import debug


def scalar(value):
    return torch.tensor(value, requires_grad=True)


def test_a_shared_node_is_shown_once():
    x = torch.ones(2, requires_grad=True)
    a = x * 2
    lines = debug.graph_lines((a + a).sum())
    assert [line.split("  at ")[0].rstrip() for line in lines] == [
        "- SumBackward0  ()  float32",
        "  - AddBackward0  (2,)  float32",
        "    - MulBackward0  (2,)  float32",
        "      - AccumulateGrad: leaf  shape=(2,), dtype=torch.float32, requires_grad=True",
        "      - None (constant)",
        "    - MulBackward0 (seen)",
    ]
    assert "test_graph.py:" in lines[2] and "a = x * 2" in lines[2]


def test_limits_are_marked():
    x = torch.ones(2, requires_grad=True)
    y = ((x * 2) * 3) * 4
    assert debug.graph_lines(y, max_depth=0, sources=False) == [
        "- MulBackward0  (2,)  float32 (max_depth reached)"
    ]
    assert debug.graph_lines(y, max_depth=1, sources=False)[1:] == [
        "  - MulBackward0  (2,)  float32 (max_depth reached)",
        "  - None (constant)",
    ]
    assert debug.graph_lines(y, max_nodes=2)[2:] == [
        "... (max_nodes=2 reached; the graph has more)"
    ]


def test_a_graph_from_its_last_node(capsys):
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert debug.graph_lines(y.grad_fn) == debug.graph_lines(y)
    assert "value=[1, 1]" in debug.graph_text(y.grad_fn, values=True)
    assert debug.print_autograd_graph(y.grad_fn) == debug.print_autograd_graph(y)
    assert repr(debug.draw(y.grad_fn)) == repr(debug.draw(y))


def test_what_has_no_graph():
    assert debug.graph_lines(3) == ["int (not a tensor)"]
    assert debug.graph_lines(torch.ones(2)) == [
        "No autograd graph: grad_fn is None (requires_grad=False, shape=(2,))."
    ]
    assert "requires_grad=True" in debug.graph_text(torch.ones(2, requires_grad=True))


def test_values_and_gradients():
    x, y = scalar(2.0), scalar(3.0)
    f = (x + y) * x
    debug.graph_text(f, values=True)
    assert x.grad is None, "looking changes nothing"
    lines = debug.graph_lines(f, values=True, names={"x": x, "y": y}, sources=False)
    assert lines[0].endswith("value=10  grad=1") and lines[1].endswith("value=5  grad=2")
    f.backward()
    assert x.grad.item() == 7.0, "the graph was not freed by looking"
    lines = debug.graph_lines(f, values=True, names={"x": x, "y": y}, sources=False)
    assert lines[2].endswith("value=2  grad=7") and lines[1].endswith("float32"), (
        "freed values are not invented"
    )


def test_constants_and_overwritten_values():
    x = scalar([1.0, 2.0])
    k = torch.tensor([5.0, 7.0])
    h = x * k
    assert "None (constant)  value=[5, 7]" in debug.graph_text(h.sum(), values=True)
    k.mul_(2)
    text = debug.graph_text(h.sum(), values=True)
    assert "value=[5, 7]" not in text and "value=[10, 14]" not in text


def test_hooks_are_not_run_by_looking():
    x = scalar(2.0)
    y = x * x
    calls = []
    y.register_hook(lambda g: calls.append(g))
    debug.graph_text(y * 3, values=True)
    debug.graph_svg(y * 3)
    assert calls == []


def test_several_results():
    x = torch.arange(4.0).requires_grad_()
    a, b = x.split(2)
    text = debug.graph_text((a * b).sum(), values=True, sources=False)
    assert "result 0" in text and "result 1 (seen)" in text and "(2,) and (2,)" in text


def test_orders_at_any_depth():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1
    order = debug.topological_order(y)
    assert len(order) == 100_001 and order[0].variable is x and order[-1] is y.grad_fn
    assert debug.topological_order(y.grad_fn, root_first=True)[0] is y.grad_fn
    assert len(debug.graph_lines(y, max_depth=3)) == 7
    assert debug.print_autograd_graph(y, max_nodes=3)[-1] == "... (99998 more nodes; max_nodes=3)"
    assert "99,801 more are not drawn" in debug.graph_svg(y)


def test_an_order_is_topological():
    x = torch.ones(3, requires_grad=True)
    a, b = torch.sin(x), torch.cos(x)
    order = debug.topological_order((a * b + a).sum())
    place = {node: k for k, node in enumerate(order)}
    assert len(place) == 6
    for node in order:
        assert all(place[f] < place[node] for f, _ in node.next_functions if f is not None)
    assert debug.topological_order(x)[0].variable is x
    assert debug.topological_order(torch.ones(1)) == []


def test_printing(capsys):
    x = torch.ones(2, requires_grad=True)
    lines = debug.visualize_autograd_graph(x * 2, max_depth=5)
    assert capsys.readouterr().out == "\n".join(lines) + "\n"
    lines = debug.print_autograd_graph((x * 2) + x, names={"x": x})
    assert lines[0].startswith("0: AddBackward0") and lines[0].endswith("<- 1, 2")
    assert lines[2].startswith("2: AccumulateGrad: leaf 'x'") and lines[1].endswith("<- 2, None")
    assert capsys.readouterr().out.count("\n") == 3


def test_module_names():
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    text = debug.graph_text(net(torch.ones(4, 3)), names=net)
    assert "'0.weight' Parameter" in text and "'2.bias' Parameter" in text


# ---- pictures --------------------------------------------------------------------------------
SVG = "{http://www.w3.org/2000/svg}"


def boxes_of(svg):
    tree = ET.fromstring(svg)
    found = []
    for g in tree.iter(SVG + "g"):
        rect = g.find(SVG + "rect")
        x, y, w, h = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
        found.append(([t.text for t in g.iter(SVG + "text")], (x, y, x + w, y + h), g.get("class")))
    return tree, found


def shapes_of(tree):
    """What stands on the arrows."""
    return [t.text for t in tree.iter(SVG + "text") if t.get("class") == "shape"]


def test_a_picture_has_a_box_for_every_node():
    x, y = scalar(2.0), scalar(3.0)
    tree, boxes = boxes_of(debug.graph_svg((x + y) * x, names={"x": x, "y": y}))
    assert sorted(texts[0] for texts, _, _ in boxes) == ["add", "mul", "x", "y"]
    by_name = {texts[0]: (texts, place, kind) for texts, place, kind in boxes}
    assert by_name["mul"][0][1] == "saves input, other" and by_name["mul"][2] == "result"
    assert (
        "value 10" in by_name["mul"][0]
        and "grad 2" in by_name["add"][0]
        and by_name["x"][2] == "leaf"
    )
    assert by_name["mul"][1][1] > by_name["add"][1][3] > by_name["x"][1][3], (
        "what is made lies below what it was computed from"
    )
    assert sum(p.get("class") == "edge" for p in tree.iter(SVG + "path")) == 4
    assert shapes_of(tree) == [], "arrows of scalars have no shape"
    a, b = scalar([1.0, 2.0]), scalar([[1.0], [2.0]])
    tree, _ = boxes_of(debug.graph_svg((a * b).sum() * 2, names={"a": a, "b": b}))
    assert sorted(shapes_of(tree)) == ["(2, 1)", "(2, 2)", "(2,)"], "one under each box with arrows"


def test_boxes_do_not_overlap():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(8, 8),
        torch.nn.Tanh(),
        torch.nn.Linear(8, 8),
        torch.nn.Sigmoid(),
        torch.nn.Linear(8, 3),
    )
    x = torch.randn(5, 8)
    loss = torch.nn.functional.cross_entropy(net(x) + net(x * 2), torch.tensor([0, 1, 2, 0, 1]))
    tree, boxes = boxes_of(debug.graph_svg(loss, names=net))
    assert len(boxes) > 15
    width, height = float(tree.get("width")), float(tree.get("height"))
    for frame in tree.iter(SVG + "rect"):
        if frame.get("class") == "frame":
            x, y, w, h = (float(frame.get(k)) for k in ("x", "y", "width", "height"))
            assert 0 <= x and x + w <= width and 0 <= y and y + h <= height
    for k, (_, a, _) in enumerate(boxes):
        assert 0 <= a[0] and a[2] <= width and 0 <= a[1] and a[3] <= height
        for _, b, _ in boxes[:k]:
            assert (
                a[2] <= b[0] + 0.2 or b[2] <= a[0] + 0.2 or a[3] <= b[1] + 0.2 or b[3] <= a[1] + 0.2
            )


def test_long_graphs_are_cut_with_a_note():
    x = torch.ones((), requires_grad=True)
    y = x
    for _ in range(500):
        y = y * 1.5
    svg = debug.graph_svg(y, max_nodes=40)
    _, boxes = boxes_of(svg)
    assert sum(texts[0] == "mul" for texts, _, _ in boxes) == 40
    assert "the 40 nodes nearest to the result; 461 more are not drawn" in svg
    assert any(kind == "cut" for _, _, kind in boxes)


def test_text_in_pictures_is_escaped():
    x = scalar(2.0)
    svg = debug.graph_svg(x * 2, names={"<b> & co": x})
    assert ["<b> & co", "value 2"] in [texts for texts, _, _ in boxes_of(svg)[1]]


def test_a_page_loads_nothing(tmp_path):
    x = scalar([1.0, 2.0])
    drawing = debug.draw((x * x).sum(), names={"x": x})
    drawing.save(tmp_path / "g.html")
    drawing.save(tmp_path / "g.svg")
    page = (tmp_path / "g.html").read_text(encoding="utf-8")
    # Addresses are the names of SVG and MathML, which nobody loads; the policy forbids everything
    # from elsewhere.
    assert set(re.findall(r"https?://[^\"'\s<>]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML",
    }
    assert "src=" not in page and "href" not in page and "default-src 'none'" in page
    assert ET.parse(tmp_path / "g.svg").getroot().tag == SVG + "svg"
    assert "<svg" in drawing._repr_html_() and "MulBackward0" in repr(drawing)
    assert "grad_fn is None" in debug.graph_svg(torch.ones(1))
    with pytest.raises(TypeError, match="must be Tensor"):
        debug.graph_svg(np.ones(1))
