"""Layers run on the meta device, in training and in evaluation: shapes without values."""

import pytest

import pellucid as torch
from pellucid import nn

LAYERS = {
    "batch_norm": (lambda: nn.BatchNorm2d(3), (2, 3, 4, 4), (2, 3, 4, 4)),
    "batch_norm_rows": (lambda: nn.BatchNorm1d(3), (2, 3), (2, 3)),
    "instance_norm": (
        lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
        (2, 3, 4, 4),
        (2, 3, 4, 4),
    ),
    "reflection": (lambda: nn.ReflectionPad2d(1), (2, 3, 4, 4), (2, 3, 6, 6)),
    "replication": (lambda: nn.ReplicationPad1d(2), (2, 3, 4), (2, 3, 8)),
    "alpha_dropout": (lambda: nn.AlphaDropout(), (2, 3), (2, 3)),
    "feature_alpha_dropout": (lambda: nn.FeatureAlphaDropout(), (2, 3, 4), (2, 3, 4)),
    "rrelu": (lambda: nn.RReLU(), (2, 3), (2, 3)),
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_on_meta(name, training):
    make, shape, result = LAYERS[name]
    layer = make().to("meta").train(training)
    out = layer(torch.empty(shape, device="meta"))
    assert out.is_meta and tuple(out.shape) == result
