"""Names of nodes of functions that are made of several operations: PyTorch's, since tensors print
them.
"""

import pytest

import pellucid as torch
from pellucid.nn import functional as F

X, ROW, IMAGE = (
    torch.randn(4, 6, requires_grad=True),
    torch.rand(6, requires_grad=True),
    torch.randn(2, 4, 6, 6, requires_grad=True),
)
SIDES = (1, 1, 1, 1)


@pytest.mark.parametrize(
    "name, call",
    {
        "PreluKernelBackward0": lambda: F.prelu(X, ROW),
        "RreluWithNoiseBackward0": lambda: F.rrelu(X),
        "CeluBackward0": lambda: F.celu(X),
        "GluBackward0": lambda: F.glu(X),
        "NormBackward1": lambda: F.pairwise_distance(X, 2 * X),
        "NativeBatchNormBackward0": lambda: F.batch_norm(
            X, torch.zeros(6), torch.ones(6), training=False
        ),
        "ReflectionPad2DBackward0": lambda: F.pad(IMAGE, SIDES, "reflect"),
        "ReplicationPad2DBackward0": lambda: F.pad(IMAGE, SIDES, "replicate"),
        "PixelShuffleBackward0": lambda: F.pixel_shuffle(IMAGE, 2),
        "EmbeddingBagBackward0": lambda: F.embedding_bag(torch.tensor([[0, 1]]), X),
        "DistBackward0": lambda: torch.dist(X, 2 * X),
        "LinalgCrossBackward0": lambda: torch.cross(X[:, :3], X[:, 3:], dim=1),
        "TraceBackward0": lambda: torch.trace(X),
        "AddmmBackward0": lambda: torch.addmm(X, torch.randn(4, 3), torch.randn(3, 6)),
        "RollBackward0": lambda: torch.roll(X, 1),
        "TakeBackward0": lambda: torch.take(X, torch.tensor([0])),
    }.items(),
)
def test_name(name, call):
    assert call().grad_fn.name() == name
