"""Multiply-adds and parameters of `debug.summary` against PyTorch's counter of operations."""

import pytest

import pellucid
from pellucid import debug

torch = pytest.importorskip("torch")
FlopCounterMode = pytest.importorskip("torch.utils.flop_counter").FlopCounterMode
pytestmark = pytest.mark.oracle

MODELS = {
    "mlp": (
        lambda nn: nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 5, bias=False)),
        (7, 20),
    ),
    "convolutions": (
        lambda nn: nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.Conv2d(8, 8, 3, groups=4, stride=2),
            nn.Conv2d(8, 4, 1),
            nn.Flatten(),
            nn.Linear(36, 2),
        ),
        (2, 3, 8, 8),
    ),
    "one dimension": (
        lambda nn: nn.Sequential(
            nn.Conv1d(2, 6, 5, dilation=2), nn.ConvTranspose1d(6, 3, 4, stride=2, padding=1)
        ),
        (3, 2, 20),
    ),
    "transposed": (
        lambda nn: nn.ConvTranspose2d(6, 4, 3, stride=2, groups=2, output_padding=1),
        (2, 6, 5, 7),
    ),
    "three dimensions": (lambda nn: nn.Conv3d(2, 3, 2), (1, 2, 4, 5, 6)),
    "embedding": (
        lambda nn: nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 6)),
        (2, 3, 4),
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_multiply_adds(name):
    make, shape = MODELS[name]
    model = make(torch.nn).eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(torch.zeros(shape))
    ours = debug.summary(make(pellucid.nn), shape, time=False)
    assert 2 * ours.mult_adds == counter.get_total_flops()
    assert ours.total_params == sum(p.numel() for p in model.parameters())
    assert ours.rows[0].output == "(" + ", ".join(map(str, model(torch.zeros(shape)).shape)) + ")"


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    shape = (2, 4, 9, 8)

    def model(lib):
        class Attention(lib.nn.Module):
            def forward(self, q):
                return lib.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=causal)

        return Attention()

    # The counter knows nothing of the fused kernel.
    plain = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with torch.no_grad(), plain, FlopCounterMode(display=False) as counter:
        model(torch)(torch.zeros(shape))
    assert (
        2 * debug.summary(model(pellucid), shape, time=False).mult_adds == counter.get_total_flops()
    )


def test_a_transformer_layer():
    def model(nn):
        return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)

    # in training mode PyTorch runs the layers one by one
    with FlopCounterMode(display=False) as counter:
        model(torch.nn).train()(torch.zeros(2, 5, 16))
    assert (
        2 * debug.summary(model(pellucid.nn), (2, 5, 16), time=False).mult_adds
        == counter.get_total_flops()
    )
