"""Forms of the calls that PyTorch takes and refuses."""

import numpy as np
import pytest

import pellucid as torch

x = torch.tensor([[0.0, 1.0], [2.0, 0.0]])


def test_flip():
    both = [[0, 2], [1, 0]]
    assert (
        torch.flip(x, (0, 1)).tolist()
        == x.flip(0, 1).tolist()
        == x.flip([0, 1]).tolist()
        == x.flip(dims=(0, 1)).tolist()
        == both
    )
    assert torch.flip(x, dims=()).tolist() == x.flip(()).tolist() == x.tolist()
    assert x.flip(0).tolist() == torch.flip(x, [0]).tolist() == [[2, 0], [0, 1]]
    for call, text in (
        (
            lambda: torch.flip(x, 0),
            r"flip\(\): argument 'dims' \(position 2\) must be tuple of ints, not int",
        ),
        (
            lambda: torch.flip(x, dims=0),
            r"flip\(\): argument 'dims' must be tuple of ints, not int",
        ),
        (lambda: x.flip(), 'flip\\(\\) missing 1 required positional arguments: "dims"'),
    ):
        with pytest.raises(TypeError, match=text):
            call()


def test_nonzero_writes_whole_numbers_only():
    out = torch.empty(0, dtype=torch.int64)
    assert torch.nonzero(x, out=out) is out and out.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(
        RuntimeError,
        match="nonzero: Expected out tensor to have scalar type Long but got scalar typeFloat",
    ):
        torch.nonzero(x, out=torch.empty(0))
    with pytest.raises(TypeError, match=r"nonzero\(\): argument 'out' must be Tensor, not int"):
        torch.nonzero(x, out=3)


@pytest.mark.parametrize("dims", [(0, 2), (2, 0), (5, 5), (-3, -1)])
def test_rot90_looks_for_its_dimensions_before_it_compares_them(dims):
    with pytest.raises(
        IndexError,
        match=r"Dimension out of range \(expected to be in range of \[-2, 1\], but got (2|5|-3)\)",
    ):
        torch.rot90(x, 1, dims)
    for same in ((0, 0), (0, -2), (-1, 1)):
        with pytest.raises(RuntimeError, match="expected rotation dims to be different"):
            torch.rot90(x, 1, same)


def test_positions_of_many():
    rng = np.random.default_rng(6)
    for shape in ((5000,), (70, 80), (17, 3, 200), (4, 1, 5, 400)):
        for kind in (np.float32, np.int64, np.bool_, np.complex64, np.uint8):
            x = (rng.integers(0, 3, shape) * rng.integers(0, 2, shape)).astype(kind)
            for a in (x, x.T, x[..., ::2]):
                t = torch.tensor(a)
                np.testing.assert_array_equal(t.nonzero().numpy(), np.argwhere(a))
                for d, want in zip(t.nonzero(as_tuple=True), a.nonzero(), strict=True):
                    np.testing.assert_array_equal(d.numpy(), want)
                assert t.count_nonzero().item() == np.count_nonzero(a)
    x = torch.full((5000,), float("nan"))
    x[7] = -0.0
    assert x.count_nonzero().item() == 4999 and len(x.nonzero()) == 4999
