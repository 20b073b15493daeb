"""Arguments of losses and pools that are refused, with PyTorch's words."""

import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.mark.parametrize("delta", [1j, "a", None])
def test_delta_of_the_huber_loss_is_a_number(delta):
    with pytest.raises(TypeError, match="delta must be a float or int, got: <class"):
        torch.nn.HuberLoss(delta=delta)
    with pytest.raises(TypeError, match=r"huber_loss\(\): argument 'delta' \(position 4\) must be float, not"):
        F.huber_loss(torch.ones(2), torch.ones(2), delta=delta)


@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy])
def test_class_weights_have_the_dtype_of_the_input(loss):
    x, t = torch.zeros(3, 4), torch.tensor([0, 1, 2])
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Half"):
        loss(x, t, weight=torch.ones(4).half())
    with pytest.raises(RuntimeError, match="expected scalar type Double but found Float"):
        loss(x.double(), t, weight=torch.ones(4))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert loss(x.bfloat16(), t, weight=torch.ones(4)).dtype == torch.float32


def test_samples_of_a_fractional_pool():
    """An image without a batch takes the first of the samples; PyTorch allows for more than are used."""
    x = torch.arange(2.0 * 7**3).reshape(2, 7, 7, 7)
    samples = torch.rand(3, 2, 3, generator=torch.manual_seed(0))
    pools = [F.fractional_max_pool3d(x, 2, output_size=3, _random_samples=samples[:n]) for n in (1, 2, 3)]
    assert torch.equal(pools[0], pools[1]) and torch.equal(pools[0], pools[2])
    for wrong, message in (
        (samples[:, :1], "size.1. equals to input channel size"),
        (samples[:, :, :2], "size.2. equals to 3; got 2"),
    ):
        with pytest.raises(RuntimeError, match=message):
            F.fractional_max_pool3d(x, 2, output_size=3, _random_samples=wrong)
    with pytest.raises(RuntimeError, match="size.0. no less then input batch size"):
        F.fractional_max_pool3d(x.expand(4, 2, 7, 7, 7), 2, output_size=3, _random_samples=samples)


def test_targets_of_binary_cross_entropy_are_probabilities():
    for bad in (2.0, -0.1, float("nan")):
        with pytest.raises(RuntimeError, match="^all elements of target should be between 0 and 1"):
            F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([bad]))
    assert F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([0.9])).item() > 0
