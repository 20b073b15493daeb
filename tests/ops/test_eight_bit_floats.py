"""Floats of eight bits: conversions, what is computed and what is refused, and what old names say of them."""

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
def test_what_is_computed_has_the_type(name):
    kind = getattr(torch, name)
    x, y = torch.tensor([1.0, 2.0, 0.5], dtype=kind), torch.tensor([2.0, 2.0, 4.0], dtype=kind)
    for made in x * y, abs(x), x.clone(), x[1:], torch.where(x == y, x, y):
        assert made.dtype is kind
    assert (x * y).tolist() == [2, 4, 2]
    assert (x == y).tolist() == [False, True, False]
    assert (x == 2).tolist() == [False, True, False]
    assert torch.cat([x, y])[::2].tolist() == [1, 0.5, 2]


@KINDS
@pytest.mark.parametrize(
    ("kernel", "call"),
    {
        "add_stub": lambda x: x + x,
        "mul_cpu_reduced_float": lambda x: x * 2,
        "div_cpu": lambda x: x / x,
        "div_cpu_reduced_float": lambda x: x / 2,
        "neg_cpu": lambda x: -x,
        "lt_cpu": lambda x: x < x,
        "exp_vml_cpu": lambda x: x.exp(),
        "sum_cpu": lambda x: x.sum(0),
        "max_all": lambda x: x.max(),
        "sorting_kernel_method_name": lambda x: x.sort(),
    }.items(),
)
def test_what_pytorch_has_no_kernel_for_is_refused(name, kernel, call):
    x = torch.tensor([1.0, 2.0, 0.5]).to(getattr(torch, name))
    with pytest.raises(NotImplementedError) as told:
        call(x)
    assert str(told.value) == f"\"{kernel}\" not implemented for '{name.capitalize()}'"
    wide = torch.ones(3) + 1  # the same callers go on
    assert wide.tolist() == [2, 2, 2]


def test_shapes_are_looked_at_before_kernels():
    x = torch.ones(3, dtype=torch.float8_e5m2)
    with pytest.raises(RuntimeError, match="The size of tensor a"):
        x + torch.ones(2, dtype=torch.float8_e5m2)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        x + torch.ones(3)


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
