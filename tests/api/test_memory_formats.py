"""Memory formats asked for by conversions, factories and changes of size."""

import pytest

import pellucid as torch

X = torch.rand(2, 3, 4, 5)
LAST = X.contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("name", ["float", "double", "int", "bool", "half", "cpu"])
def test_conversions(name):
    def convert(x, form):
        return getattr(x, name)(memory_format=form).stride()

    assert convert(X, torch.channels_last) == (60, 1, 15, 3)
    assert convert(LAST, torch.contiguous_format) == (60, 20, 5, 1)
    assert convert(LAST, torch.preserve_format) == (60, 1, 15, 3)
    with pytest.raises(RuntimeError, match="required rank 5 tensor to use channels_last_3d"):
        convert(X, torch.channels_last_3d)


def test_sizes():
    flat = torch.rand(120)
    assert flat.resize_(X.shape, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    assert flat.resize_(X.shape).stride() == (60, 1, 15, 3)
    assert flat.resize_(X.shape, memory_format=torch.contiguous_format).stride() == (60, 20, 5, 1)
    deep = torch.rand(2, 3, 4, 5, 2).contiguous(memory_format=torch.channels_last_3d)
    like = torch.rand(240).resize_as_(deep, memory_format=torch.preserve_format)
    assert like.stride() == deep.stride()
    assert torch.rand(120).resize_as_(X, memory_format=torch.preserve_format).is_contiguous()
    with pytest.raises(RuntimeError, match="Unsupported memory formatPreserve"):
        flat.resize_(X.shape, memory_format=torch.preserve_format)
    with pytest.raises(RuntimeError, match="unsupported memory format Preserve"):
        torch.empty(2, memory_format=torch.preserve_format)


def test_preserved_is_contiguous():
    assert X.is_contiguous(memory_format=torch.preserve_format)
    assert X.contiguous(memory_format=torch.preserve_format) is X
    assert not LAST.is_contiguous(memory_format=torch.preserve_format)
    with pytest.raises(RuntimeError, match="preserve memory format is unsupported by the contig"):
        LAST.contiguous(memory_format=torch.preserve_format)
