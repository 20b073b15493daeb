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
    assert conv.output().type().scalarType() == "Float" and str(conv.output().type()) == "Tensor"
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
    assert graph.findNode("aten::chunk").outputsSize() == 2
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


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRUCell])
def test_recurrent_layers_are_refused_by_name(kind):
    model = nn.ModuleDict({"cells": kind(3, 4)})
    with pytest.raises(NotImplementedError, match=rf"record nn\.{kind.__name__} \(cells\)"):
        torch.jit._get_trace_graph(model, torch.ones(2, 3))


def test_properties_have_the_names_of_their_operators():
    graph, _ = torch.jit._get_trace_graph(lambda x: (x.T, x.mT, x.H, x.real), torch.ones(2, 3))
    assert kinds(graph) == ["numpy_T", "mT", "matrix_H", "real"]
