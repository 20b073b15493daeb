"""Floats of eight bits: conversions, results of their own type, and what old names say of them."""

import io

import pytest

import pellucid as torch
from pellucid.nn.utils import rnn

LARGEST = {
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
}
KINDS = pytest.mark.parametrize("name", LARGEST)


@KINDS
def test_every_pattern_comes_back(name):
    kind = getattr(torch, name)
    bits = torch.arange(256, dtype=torch.uint8)
    values = bits.view(kind).float()
    number = values == values
    back = values[number].to(kind).view(torch.uint8)
    assert back.tolist() == bits[number].tolist()
    finite = values[number & ~values.isinf()]
    assert finite.max().item() == LARGEST[name]


@KINDS
def test_what_is_too_large(name):
    made = torch.tensor([1e6, -1e6, float("nan")]).to(getattr(torch, name)).float()
    assert made[2].isnan()
    if name == "float8_e4m3fn":
        assert made[:2].tolist() == [448, -448]
    else:
        assert not made[:2].isfinite().any()


@KINDS
def test_results_have_the_type_of_what_they_are_made_of(name):
    kind = getattr(torch, name)
    x, y = torch.tensor([1.0, 2.0, 0.5], dtype=kind), torch.tensor([2.0, 2.0, 4.0], dtype=kind)
    for made in x * y, abs(x), -x, x + y, x - y, x.floor(), x.round(), x.square():
        assert made.dtype is kind
    assert (x * y).tolist() == [2, 4, 2]
    assert (x == y).tolist() == [False, True, False]
    assert torch.cat([x, y])[::2].tolist() == [1, 0.5, 2]


@KINDS
def test_files_and_old_names(name):
    x = torch.tensor([1.0, 1.5], dtype=getattr(torch, name))
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert torch.load(file).tolist() == [1, 1.5]
    assert x.type() == f"torch.{name.capitalize()}Tensor"
    assert torch.ones(2).type(x.type()).dtype is x.dtype
    assert x.storage_type() is None and not hasattr(torch, f"{name.capitalize()}Tensor")
    assert x.storage().type() == "torch.storage.TypedStorage"
    assert f"dtype=torch.{name}" in repr(x)
    with pytest.raises(TypeError, match=f"Got unsupported ScalarType {name.capitalize()}"):
        x.numpy()


def test_sequences_of_other_types():
    packed = rnn.pack_sequence([torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0])])
    for name, kind in {"short": torch.int16, "char": torch.int8, "byte": torch.uint8}.items():
        made = getattr(packed, name)()
        assert made.data.dtype is kind and made.data.tolist() == [1, 4, 2, 3]
        assert made.batch_sizes.tolist() == [2, 1, 1]
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        packed.cuda()
