"""Arguments of losses and pools that are refused, with PyTorch's words, and what results call
themselves.
"""

import pytest

import pellucid as torch
from pellucid.nn import functional as F


@pytest.mark.parametrize("delta", [1j, "a", None])
def test_delta_of_the_huber_loss_is_a_number(delta):
    with pytest.raises(TypeError, match="delta must be a float or int, got: <class"):
        torch.nn.HuberLoss(delta=delta)
    with pytest.raises(
        TypeError, match=r"huber_loss\(\): argument 'delta' \(position 4\) must be float, not"
    ):
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
    """An image without a batch takes the first of the samples; PyTorch allows for more than are
    used.
    """
    x = torch.arange(2.0 * 7**3).reshape(2, 7, 7, 7)
    samples = torch.rand(3, 2, 3, generator=torch.manual_seed(0))
    pools = [
        F.fractional_max_pool3d(x, 2, output_size=3, _random_samples=samples[:n]) for n in (1, 2, 3)
    ]
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


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("mse_loss", "MseLoss"), ("smooth_l1_loss", "SmoothL1Loss"), ("huber_loss", "HuberLoss"), ("soft_margin_loss", "SoftMarginLoss"),
        ("binary_cross_entropy", "BinaryCrossEntropy"), ("binary_cross_entropy_with_logits", "BinaryCrossEntropyWithLogits"),
        ("nll_loss", "NllLoss"), ("cross_entropy", "NllLoss"), ("multi_margin_loss", "MultiMarginLoss"),
    ],
)  # fmt: skip
def test_results_name_the_loss(name, title, reduction):
    x = torch.rand(3, 4, requires_grad=True)
    labels = name in ("nll_loss", "cross_entropy", "multi_margin_loss")
    loss = getattr(F, name)(
        x, torch.tensor([0, 1, 2]) if labels else torch.ones(3, 4), reduction=reduction
    )
    assert loss.grad_fn.name() == type(loss.grad_fn).__name__ == f"{title}Backward0"
    assert f"grad_fn=<{title}Backward0>" in repr(loss)
    loss.sum().backward()
    assert x.grad is not None


def test_names_that_depend_on_arguments():
    x = torch.ones(3, 3, requires_grad=True)
    names = {
        "Mm": x @ x,
        "Bmm": torch.bmm(x[None], x[None]),
        "Mv": x @ torch.ones(3),
        "Dot": torch.dot(x[0], torch.ones(3)),
        "NllLoss2D": F.cross_entropy(
            torch.ones(1, 2, 3, 3, requires_grad=True), torch.zeros(1, 3, 3, dtype=torch.long)
        ),
    }
    for title, result in names.items():
        assert type(result.grad_fn).__name__ == f"{title}Backward0"
    assert [type(node).__name__ for node, _ in (x @ x).sum().grad_fn.next_functions] == [
        "MmBackward0"
    ]
    assert type(x.sum(1).grad_fn).__name__ == "SumBackward1"
    assert type(x.mean(1).grad_fn).__name__ == "MeanBackward1"
    assert type(x.max().grad_fn).__name__ == "MaxBackward1"


PAIRS = "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy kl_div soft_margin_loss hinge_embedding_loss".split()


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides the total loss:UserWarning")
@pytest.mark.parametrize("name", PAIRS)
def test_words_for_reductions_are_looked_at_before_numbers(name):
    loss, whole = getattr(F, name), torch.ones(2, 3, dtype=torch.int32)
    with pytest.raises(ValueError, match="^bad is not a valid value for reduction"):
        loss(whole, whole, reduction="bad")
    with pytest.warns(UserWarning, match="'elementwise_mean' is deprecated"):
        old = loss(torch.ones(2, 3), torch.ones(2, 3), reduction="elementwise_mean")
    assert torch.equal(old, loss(torch.ones(2, 3), torch.ones(2, 3)))


def test_binary_cross_entropy_takes_no_integers():
    whole = torch.ones(2, dtype=torch.int32)
    with pytest.raises(
        NotImplementedError, match="^\"binary_cross_entropy\" not implemented for 'Int'"
    ):
        F.binary_cross_entropy(whole, whole)


def test_ctc_takes_as_many_rows_of_labels_as_inputs():
    logp, lengths = torch.zeros(5, 2, 3), [5, 5]
    with pytest.raises(RuntimeError, match="size 2 at dimension 0, but got size 3 for argument #2"):
        F.ctc_loss(logp, torch.ones(3, 2, dtype=torch.int64), lengths, [1, 1])
    with pytest.raises(NotImplementedError, match="\"ctc_loss_cpu\" not implemented for 'Half'"):
        F.ctc_loss(logp.half(), torch.ones(2, 2, dtype=torch.int64), lengths, [1, 1])
