"""Methods whose only argument is a list of integers take the integers one by one."""

import pytest

import pellucid as torch

x = torch.arange(6.0).view(2, 1, 3, 1)


def test_dimensions_one_by_one():
    assert x.squeeze(1, 3).shape == x.squeeze((1, 3)).shape == (2, 3)
    assert x.clone().squeeze_(1, 3).shape == (2, 3)
    assert x.squeeze().shape == (2, 3) and x.squeeze(dim=1).shape == (2, 3, 1)
    assert x.count_nonzero(0, 2).tolist() == [[5]] and x.count_nonzero(dim=(0, 2)).item() == 5
    assert x.flip(0, 2).flatten().tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("name", ["hsplit", "vsplit", "dsplit"])
def test_places_one_by_one(name):
    given = torch.zeros(4, 4, 4)
    parts = getattr(given, name)(1, 3)
    assert [p.shape for p in parts] == [p.shape for p in getattr(given, name)((1, 3))]
    assert len(parts) == 3 and len(getattr(given, name)(2)) == 2


def test_functions_take_them_as_one_argument():
    with pytest.raises(TypeError):
        torch.squeeze(x, 1, 3)
    with pytest.raises(TypeError):
        torch.count_nonzero(x, 0, 2)
