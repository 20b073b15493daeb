"""What is said of a saved value that was overwritten, in PyTorch's words."""

import pytest

import pellucid as torch
from pellucid import nn


def told(loss):
    with pytest.raises(RuntimeError, match="modified (by an )?inplace") as error:
        loss.backward()
    return str(error.value).partition("operation: ")[2].partition(" Hint")[0] or str(error.value)


@pytest.mark.parametrize("shape", [(4, 8), (2, 3, 8), (8,)])
@pytest.mark.parametrize("bias", [True, False])
def test_weight_of_a_linear_layer_is_saved_transposed(shape, bias):
    layer = nn.Linear(8, 1, bias=bias)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    loss = layer(torch.ones(shape, requires_grad=True)).mean()
    loss.backward(retain_graph=True)
    optimizer.step()
    assert told(loss) == (
        "[torch.FloatTensor [8, 1]], which is output 0 of AsStrided, is at version 2; "
        "expected version 1 instead."
    )


@pytest.mark.parametrize(
    "view, shape",
    [
        (lambda x: x.t(), [4, 4]),
        (lambda x: x.view(2, 8), [2, 8]),
        (lambda x: x[1:3], [2, 4]),
        (lambda x: x.unsqueeze(0).expand(3, 4, 4), [3, 4, 4]),
        (lambda x: x.diagonal(), [4]),
    ],
)
@pytest.mark.parametrize("leaf", [True, False])
def test_views_of_what_was_written_to_are_made_anew(view, shape, leaf):
    w = torch.ones(4, 4, requires_grad=True)
    base = w if leaf else w * 1
    part = view(base)
    loss = (part * part).sum()
    with torch.set_grad_enabled(not leaf):
        base.add_(1)
    assert told(loss) == (
        f"[torch.FloatTensor {shape}], which is output 0 of AsStrided, is at version 1; "
        "expected version 0 instead."
    )


def test_one_of_several_views_is_refused():
    w = torch.ones(4, 4, requires_grad=True)
    part = w.unbind()[1]
    loss = (part * part).sum()
    with torch.no_grad():
        w.add_(1)
    assert told(loss) == (
        "Output 1 of Unbind is a view and its base or another view of its base has been modified "
        "inplace. This view is the output of a function that returns multiple views. Such functions "
        "do not allow the output views to be modified inplace. You should replace the inplace "
        "operation by an out-of-place one."
    )


@pytest.mark.parametrize(
    "write, name",
    [
        (lambda x: x.add_(1), "Add"),
        (lambda x: x.clamp_(0, 1), "Clamp1"),
        (lambda x: x.zero_(), "Zero"),
        (lambda x: x.copy_(torch.ones(4, 4)), "torch::autograd::CopyBackwards"),
        (lambda x: x[0].mul_(2), "torch::autograd::CopySlices"),
        (lambda x: x.add_(1).relu_(), "Relu"),
        (lambda x: (x.data.add_(1), x.add_(1)), "Add"),
    ],
)
def test_an_operand_has_the_node_of_its_last_recorded_write(write, name):
    x = torch.ones(4, 4, requires_grad=True) * 1
    loss = (x * x).sum()
    write(x)
    assert f"which is output 0 of {name}, is at version" in told(loss)


def test_unrecorded_writes_leave_the_operand_its_node():
    x = torch.ones(4, 4, requires_grad=True) * 1
    loss = (x * x).sum()
    with torch.no_grad():
        x.zero_()
    assert "which is output 0 of Mul, is" in told(loss)


def test_results_have_their_own_node_and_number():
    x = torch.rand(3, requires_grad=True)
    y = x.exp()
    loss = y.sum()
    y.mul_(2)
    assert "which is output 0 of Exp, is" in told(loss)
    second = torch.std_mean(x)[1]
    loss = (second * second).sum()
    with torch.no_grad():
        second.add_(1)
    assert "which is output 0 of StdMean, is" in told(loss)


def test_layers_by_steps_keep_matrices_transposed():
    for kind, gates in ((nn.GRU, 12), (nn.RNN, 4)):
        for word, size in (("weight_ih_l0", 3), ("weight_hh_l0", 4)):
            layer = kind(3, 4)
            x = torch.ones(5, 2, 3, requires_grad=True)
            out = layer(x)[0].sum()
            with torch.no_grad():
                getattr(layer, word).add_(1)
            assert told(out) == (
                f"[torch.FloatTensor [{size}, {gates}]], which is output 0 of AsStrided, is at version 2; "
                "expected version 1 instead."
            )


def test_a_layer_by_steps_takes_rows_and_parts_of_what_it_is_given():
    layer = nn.GRU(3, 4)
    x = torch.ones(5, 2, 3, requires_grad=True) * 1
    out = layer(x)[0].sum()
    x.add_(1)
    assert told(out).startswith("[torch.FloatTensor [10, 3]], which is output 0 of AsStrided,")
    h = torch.ones(1, 2, 4, requires_grad=True) * 1
    out = layer(torch.ones(5, 2, 3), h)[0].sum()
    h.add_(1)
    assert told(out).startswith("Output 0 of Unbind is a view and its base")


def test_the_weight_of_a_bilinear_layer_is_kept():
    layer = nn.Bilinear(3, 4, 5)
    out = layer(torch.ones(2, 3, requires_grad=True), torch.ones(2, 4)).sum()
    with torch.no_grad():
        layer.weight.add_(1)
    assert told(out) == (
        "[torch.FloatTensor [5, 3, 4]] is at version 2; expected version 1 instead."
    )


def test_a_tensor_turned_in_place_is_no_view():
    y = torch.ones(2, 3, requires_grad=True) * 1
    y.t_()
    out = (y * y).sum()
    y.add_(1)
    assert told(out) == (
        "[torch.FloatTensor [3, 2]], which is output 0 of Add, is at version 2; "
        "expected version 1 instead."
    )


def test_of_several_values_the_one_that_was_written_to_is_named():
    layer = nn.LSTM(3, 4)
    out = layer(torch.ones(5, 2, 3))[0].sum()
    with torch.no_grad():
        layer.bias_hh_l0.add_(1)
    assert told(out) == ("[torch.FloatTensor [16]] is at version 2; expected version 1 instead.")
