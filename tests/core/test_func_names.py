"""Smaller names of torch.func: rearrange, debug_unwrap, replace_all_batch_norm_modules_."""

import pytest

import pellucid as torch
from pellucid.func import (
    functional_call,
    rearrange,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vmap,
)

X = torch.arange(48.0).reshape(2, 4, 6)


@pytest.mark.parametrize(
    ("pattern", "sizes", "expected"),
    [
        ("a b c -> c a b", {}, lambda x: x.permute(2, 0, 1)),
        ("a b c -> (a b) c", {}, lambda x: x.reshape(8, 6)),
        ("a (b d) c -> a d b c", {"d": 2}, lambda x: x.reshape(2, 2, 2, 6).transpose(1, 2)),
        (
            "a b (h w) -> a 1 w (b h)",
            {"h": 3},
            lambda x: x.reshape(2, 4, 3, 2).permute(0, 3, 1, 2).reshape(2, 1, 2, 12),
        ),
        ("... c -> c ...", {}, lambda x: x.permute(2, 0, 1)),
        ("a ... -> (...) a", {}, lambda x: x.permute(1, 2, 0).reshape(24, 2)),
        ("a b c -> a b c", {}, lambda x: x),
    ],
)
def test_rearrange(pattern, sizes, expected):
    assert torch.equal(rearrange(X, pattern, **sizes), expected(X))


def test_rearrange_of_several_and_of_ones():
    assert torch.equal(rearrange(list(X), "a b c -> b a c"), X.transpose(0, 1))
    assert rearrange(X[:, None], "a 1 b c -> a b c").shape == X.shape
    x = X.clone().requires_grad_()
    (rearrange(x, "a b c -> (c b) a") * torch.arange(48.0).reshape(24, 2)).sum().backward()
    assert x.grad[1, 2, 3].item() == (3 * 4 + 2) * 2 + 1


@pytest.mark.parametrize(
    ("pattern", "sizes"),
    [("a b -> b a", {}), ("a b c", {}), ("a b c -> a b", {}), ("a b c -> a b b", {}), ("a (b c d) e -> a b c d e", {"b": 2}),
     ("a (b d) c -> a b d c", {"d": 3}), ("a b c -> a (b c", {}), ("a b c -> a b c", {"z": 2}), ("a b; c -> a b c", {}), ("a b c -> a b ... c", {}), ("a (... b) -> a b ...", {})],
)  # fmt: skip
def test_rearrange_refuses(pattern, sizes):
    with pytest.raises(ValueError, match="rearrange"):
        rearrange(X, pattern, **sizes)


def test_batch_norm_without_statistics_can_be_mapped():
    models = [torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)) for _ in range(2)]
    for model in models:
        assert replace_all_batch_norm_modules_(model) is model
        assert model[1].running_mean is None and not model[1].track_running_stats
    parameters, buffers = stack_module_state(models)
    x = torch.randn(5, 3)
    out = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    for k, model in enumerate(models):
        torch.testing.assert_close(out[k], model(x))


def test_debug_unwrap():
    shapes = []

    def look(x, y):
        shapes.append(
            (torch.func.debug_unwrap(x).shape, torch.func.debug_unwrap(x, recurse=False).shape)
        )
        return x * y

    vmap(vmap(look, in_dims=(0, None)), in_dims=(0, 0))(torch.ones(3, 4, 2), torch.ones(3, 2))
    assert len(shapes) == 1 and shapes[0][0].numel() == 24 and shapes[0][1].numel() < 24
