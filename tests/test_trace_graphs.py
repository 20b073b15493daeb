"""`torch.jit._get_trace_graph`: what tools that count operations read of a graph."""

import pytest

import pellucid as torch
from pellucid import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.up, self.out = nn.Upsample(scale_factor=2, mode="bilinear"), nn.Linear(8, 5)

    def forward(self, x):
        x = self.up(torch.relu(self.norm(self.conv(x))))
        x += 1
        return self.out(x.mean((2, 3)))


def kinds(graph, space="aten"):
    return [n.kind().removeprefix("aten::") for n in graph.nodes() if n.kind().startswith(space)]


def test_operators_have_their_arguments_in_the_order_of_their_schemas():
    net = Net().eval()
    graph, out = torch.jit._get_trace_graph(net, torch.ones(1, 3, 4, 4))
    assert kinds(graph) == [
        "_convolution", "batch_norm", "relu", "upsample_bilinear2d", "add_", "mean", "linear",
    ]  # fmt: skip
    conv = graph.findNode("aten::_convolution")
    shapes = [v.type().sizes() for v in conv.inputs() if v.isCompleteTensor()]
    assert shapes == [[1, 3, 4, 4], [8, 3, 3, 3], [8]]
    assert conv.inputsSize() == 13 and conv.inputsAt(6).toIValue() is False
    assert [v.toIValue() for v in conv.inputsAt(4).node().inputs()] == [1, 1]
    assert (
        conv.output().type().scalarType() == "Float"
        and conv.output().type().annotation_str == "Tensor"
    )
    assert "strides=[128, 16, 4, 1]" in str(conv.output().type())
    assert graph.findNode("aten::batch_norm").inputsAt(5).toIValue() is False  # training
    assert [v.type().sizes() for v in graph.outputs()] == [list(out.shape)]
    assert len(list(graph.inputs())) == 1 + len(net.state_dict())
    read = [user.user.kind() for user in conv.output().uses()]
    assert read == ["aten::batch_norm"]


def test_scopes_are_those_that_hooks_push():
    net = Net().eval()
    for name, part in net.named_modules():
        part.register_forward_pre_hook(
            lambda *_, name=name: torch._C._get_tracing_state().push_scope(name)
        )
        part.register_forward_hook(lambda *_: torch._C._get_tracing_state().pop_scope())
    graph, _ = torch.jit._get_trace_graph(net, (torch.ones(1, 3, 4, 4),))
    scopes = {n.kind().removeprefix("aten::"): n.scopeName() for n in graph.nodes()}
    assert scopes["_convolution"] == "/conv" and scopes["linear"] == "/out"
    assert scopes["mean"] == ""
    assert torch._C._get_tracing_state() is None


def test_functions_without_an_operator_are_what_they_call():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    graph, _ = torch.jit._get_trace_graph(layer, torch.ones(2, 3, 8))
    assert kinds(graph).count("linear") == 4
    assert "scaled_dot_product_attention" in kinds(graph)


def test_lists_of_tensors_and_several_results():
    def function(x, y):
        return torch.einsum("ij,jk->ik", x, y), torch.cat([x, x]).chunk(2)

    graph, _ = torch.jit._get_trace_graph(function, (torch.ones(2, 2), torch.ones(2, 2)))
    assert kinds(graph) == ["einsum", "cat", "chunk"]
    einsum = graph.findNode("aten::einsum")
    assert einsum.inputsAt(0).toIValue() == "ij,jk->ik"
    assert [v.type().sizes() for v in einsum.inputsAt(1).node().inputs()] == [[2, 2], [2, 2]]
    assert str(graph.findNode("aten::chunk").output().type()) == "Tensor[]"
    assert graph.findNode("prim::ListUnpack").outputsSize() == 2
    assert isinstance(graph, torch._C.Graph) and "aten::einsum" in str(graph)


def test_the_mean_of_an_image_is_a_mean_in_the_graph_of_gradients():
    for rank in (1, 2, 3):
        pool = getattr(nn.functional, f"adaptive_avg_pool{rank}d")
        x = torch.ones(2, 3, *[4] * rank, requires_grad=True)
        node = pool(x, 1).grad_fn
        node = node.next_functions[0][0] if rank == 1 else node
        assert node.name() == "MeanBackward1"
        assert "Adaptive" in pool(x, 2).grad_fn.name() or rank == 1
    assert nn.functional.adaptive_avg_pool2d(x[0, 0], 1).grad_fn.name() == "MeanBackward1"


def test_the_mode_of_a_model_during_an_export():
    model = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    modes = torch.onnx.TrainingMode
    for mode, within in ((modes.EVAL, [False] * 3), (modes.TRAINING, [True] * 3)):
        with torch.onnx.utils.select_model_mode_for_export(model, mode):
            assert [m.training for m in model.modules()] == within
        assert [m.training for m in model.modules()] == [True, True, False]


def test_recurrent_layers_are_one_operator():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = nn.LSTM(3, 4, bidirectional=True), nn.Linear(8, 2)

        def forward(self, x):
            return self.out(self.rnn(x)[0])

    graph, _ = torch.jit._get_trace_graph(Tagger(), torch.ones(5, 2, 3))
    assert kinds(graph) == ["zeros", "lstm", "linear"]
    node = graph.findNode("aten::lstm")
    assert [v.type().sizes() for v in node.outputs()] == [[5, 2, 8], [2, 2, 4], [2, 2, 4]]
    weights = [v.type().sizes() for v in node.inputsAt(2).node().inputs()]
    assert weights[:4] == [[16, 3], [16, 4], [16], [16]] and len(weights) == 8
    assert [node.inputsAt(k).toIValue() for k in range(3, 9)] == [True, 1, 0.0, True, True, False]
    graph, _ = torch.jit._get_trace_graph(nn.GRUCell(3, 4), (torch.ones(2, 3), torch.ones(2, 4)))
    assert kinds(graph) == ["gru_cell"]
    with pytest.raises(NotImplementedError, match="packed sequences"):
        packed = nn.utils.rnn.pack_sequence([torch.ones(2, 3)])
        torch.jit._get_trace_graph(nn.LSTM(3, 4), (packed,))


def test_properties_have_the_names_of_their_operators():
    graph, _ = torch.jit._get_trace_graph(lambda x: (x.T, x.mT, x.H, x.real), torch.ones(2, 3))
    assert kinds(graph) == ["numpy_T", "mT", "matrix_H", "real"]


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.BatchNorm1d(4)])

    def forward(self, x):
        h = x
        for layer in self.layers:
            h = layer(h)
        return x + torch.relu(h) * 2


def without_places(text):
    return [line.partition(" # ")[0] for line in str(text).strip().splitlines()]


def test_traced_modules_have_a_graph_of_calls_and_one_of_operators():
    net = Residual()
    before, drawn = net.layers[1].running_mean.clone(), torch.get_rng_state()
    traced = torch.jit.trace(net, torch.ones(3, 4), check_trace=False)
    mean = traced.layers[1].running_mean.clone()
    assert not torch.equal(before, mean)  # the one run that PyTorch has, too
    assert without_places(traced.graph) == [
        "graph(%self.1 : __torch__.test_trace_graphs.Residual,".replace(
            "test_trace_graphs", Residual.__module__
        ),
        "      %x : Float(3, 4, strides=[4, 1], requires_grad=0, device=cpu)):",
        '  %layers.1 : __torch__.torch.nn.modules.container.ModuleList = prim::GetAttr[name="layers"](%self.1)',
        '  %_1 : __torch__.torch.nn.modules.batchnorm.BatchNorm1d = prim::GetAttr[name="1"](%layers.1)',
        '  %layers : __torch__.torch.nn.modules.container.ModuleList = prim::GetAttr[name="layers"](%self.1)',
        '  %_0 : __torch__.torch.nn.modules.linear.Linear = prim::GetAttr[name="0"](%layers)',
        '  %6 : Tensor = prim::CallMethod[name="forward"](%_0, %x)',
        '  %7 : Tensor = prim::CallMethod[name="forward"](%_1, %6)',
        "  %8 : Float(3, 4, strides=[4, 1], requires_grad=1, device=cpu) = aten::relu(%7)",
        "  %9 : Long(requires_grad=0, device=cpu) = prim::Constant[value={2}]()",
        "  %10 : Float(3, 4, strides=[4, 1], requires_grad=1, device=cpu) = aten::mul(%8, %9)",
        "  %11 : int = prim::Constant[value=1]()",
        "  %12 : Float(3, 4, strides=[4, 1], requires_grad=1, device=cpu) = aten::add(%x, %10, %11)",
        "  return (%12)",
    ]
    graph = traced.inlined_graph
    assert kinds(graph) == ["linear", "add_", "batch_norm", "relu", "mul", "add"]
    linear = graph.findNode("aten::linear")
    assert linear.scopeName() == "__module.layers.0"
    read = [v.node() for v in linear.inputs()][1:]
    assert [(n.kind(), n.s("name"), n.attributeNames()) for n in read] == [
        ("prim::GetAttr", "weight", ["name"]),
        ("prim::GetAttr", "bias", ["name"]),
    ]
    assert [v.debugName() for v in graph.inputs()] == ["self.1", "x"]
    assert next(graph.inputs()).type().kind() == "ClassType"
    assert "test_trace_graphs.py:" in graph.findNode("aten::add").sourceRange()
    # A graph changes neither buffers nor the generator.
    assert torch.equal(traced.layers[1].running_mean, mean)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert kinds(traced.graph_for(torch.ones(2, 4))) == kinds(graph)


def test_traced_functions_have_a_graph_and_scripted_ones_have_none():
    def function(x, y):
        return torch.cat([x, y], 1).sum(1, keepdim=True) / 3.0, x.view(1, -1).chunk(2, 1)[0]

    traced = torch.jit.trace(function, (torch.ones(2, 2), torch.ones(2, 1)), check_trace=False)
    assert kinds(traced.graph) == ["cat", "sum", "div", "view", "chunk"]
    assert str(traced.inlined_graph) == str(traced.graph)
    total = traced.graph.findNode("aten::sum")
    assert [v.toIValue() for v in list(total.inputs())[2:]] == [True, None]
    assert [v.toIValue() for v in total.inputsAt(1).node().inputs()] == [1]
    assert [v.debugName() for v in traced.graph.inputs()] == ["x", "y"]
    with pytest.raises(NotImplementedError, match="TorchScript graphs"):
        _ = torch.jit.script(function).graph
    assert kinds(torch.jit.script(lambda x: x + 1).graph_for(torch.ones(1))) == ["add"]
