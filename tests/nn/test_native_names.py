"""Functions under the names and argument orders of PyTorch's native ones, and modules that hold
only names.
"""

import pellucid as torch
from pellucid.nn import functional as F


def test_embedding_bag_with_the_weight_first():
    w = torch.arange(12.0).reshape(4, 3)
    index, offsets = torch.tensor([0, 3, 1, 1, 2]), torch.tensor([0, 2, 2])
    for number, mode in enumerate(("sum", "mean", "max")):
        out, bag, sizes, source = torch.embedding_bag(w, index, offsets, False, number)
        assert torch.equal(out, F.embedding_bag(index, w, offsets, mode=mode))
        if mode == "sum":  # PyTorch's sum needs none of these
            assert bag.tolist() == [] and sizes.tolist() == source.tolist() == [0, 0, 0]
            continue
        assert bag.tolist() == [0, 0, 2, 2, 2] and sizes.tolist() == [2, 0, 3]
        assert source.tolist() == (
            [[3, 3, 3], [0, 0, 0], [2, 2, 2]] if mode == "max" else [2, 0, 3]
        )
    weighted = torch.embedding_bag(
        w, index, torch.tensor([0, 2, 5]), False, 0, False, torch.ones(5) * 2, True, 1
    )
    assert torch.equal(weighted[0], 2 * torch.stack([w[0] + w[3], w[2]])) and weighted[
        2
    ].tolist() == [0, 0, 0]
    w.requires_grad_()
    torch.embedding_bag(w, index, offsets)[0].sum().backward()
    assert w.grad[:, 0].tolist() == [1, 2, 1, 1]


def test_names_for_annotations():
    from pellucid.autograd.grad_mode import no_grad, set_multithreading_enabled
    from pellucid.nn.common_types import _size_2_t

    def stride(size: _size_2_t) -> int:
        return size if isinstance(size, int) else size[0]

    assert stride((3, 4)) == 3
    with set_multithreading_enabled(False), no_grad():
        assert not torch.ones(1, requires_grad=True).sum().requires_grad


def test_gradient_of_the_cross_map_normalisation():
    layer = torch.nn.CrossMapLRN2d(3, alpha=0.7, beta=0.6, k=1.5)
    x = torch.randn(
        2, 6, 2, 2, dtype=torch.float64, generator=torch.manual_seed(0)
    ).requires_grad_()
    assert torch.autograd.gradcheck(layer, (x,))
