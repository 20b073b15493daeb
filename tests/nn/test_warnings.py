"""Warnings of modules and functions: PyTorch's classes and words, and none where it has none."""

import warnings

import pytest

import pellucid as torch
from pellucid import errors, nn
from pellucid.nn import functional as F


@pytest.mark.parametrize("shape", [(2, 3), (1, 1, 1, 1, 1)])
def test_dropout_of_planes_wants_planes(shape):
    with pytest.warns(
        UserWarning,
        match=rf"dropout2d: Received a {len(shape)}-D input to dropout2d, which is deprecated",
    ):
        F.dropout2d(torch.ones(shape))


def test_dropout_of_channels():
    with pytest.warns(
        UserWarning,
        match="dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout",
    ):
        y = F.dropout2d(torch.ones(4, 5, 6))
    assert set(y.sum(-1).flatten().tolist()) <= {0.0, 12.0}
    with pytest.warns(UserWarning, match="dropout3d: Received a 3-D input"):
        F.dropout3d(torch.ones(2, 3, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        F.dropout2d(torch.ones(2, 3, 4, 4))
        F.dropout3d(torch.ones(3, 4, 4, 4))
        F.dropout1d(torch.ones(3, 4))


def test_the_old_name_of_a_loss():
    with pytest.warns(
        FutureWarning, match="`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead"
    ):
        loss = torch.nn.NLLLoss2d()
    assert loss(torch.zeros(1, 2, 2, 2), torch.zeros(1, 2, 2, dtype=torch.long)).item() == 0


def test_encoder_layers_beside_a_tensor_type_of_ones_own():
    """A type with `__torch_function__` makes `F.relu` another object than the default argument that
    was bound before.
    """
    import pellucid.nn.attention.bias  # noqa: F401  (brings such a type)

    for options in ({}, {"activation": "relu"}, {"activation": "gelu"}, {"activation": F.gelu}):
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.nn.TransformerEncoder(layer, 1)
        assert layer.activation_relu_or_gelu == (2 if "gelu" in str(options) else 1)


def test_a_warning_in_a_hook_names_the_line_of_the_program():
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda *given: None)
    out = layer(torch.ones(1, 2)).sum()
    with pytest.warns(UserWarning, match="Full backward hook is firing") as caught:
        out.backward()
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.mse_loss(torch.ones(4, 1), torch.ones(4)),
        lambda: F.huber_loss(torch.ones(4, 1), torch.ones(4)),
        lambda: F.smooth_l1_loss(torch.ones(4, 1), torch.ones(4), beta=0),
        lambda: torch.nn.L1Loss()(torch.ones(4, 1), torch.ones(4)),
        lambda: F.l1_loss(torch.ones(2), torch.ones(2), size_average=True),
    ],
)
def test_losses_warn_once_at_the_users_line(call):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        call()
    assert [(w.filename, w.lineno) for w in given] == [(__file__, call.__code__.co_firstlineno)]


def test_projections_are_computed_without_onednn(monkeypatch):
    monkeypatch.setattr(errors, "WARNED", set())
    layer = torch.nn.LSTM(3, 4, proj_size=2)
    with pytest.warns(UserWarning) as caught:
        layer(torch.ones(5, 2, 3)), layer(torch.ones(5, 2, 3))
    assert [str(w.message) for w in caught] == [
        "LSTM with projections is not supported with oneDNN. Using default implementation."
    ]
    layer.double()(torch.ones(5, 2, 3, dtype=torch.float64))
