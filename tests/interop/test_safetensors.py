"""safetensors files: what is written comes back, what they cannot hold is refused."""

import pytest

import pellucid as torch
from pellucid.interop import safetensors


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int64", "int8", "uint8", "bool"])
def test_round_trip(name, tmp_path):
    x = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, name))
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"x": x, "empty": torch.ones(0, 2)}, path, metadata={"format": "pt"})
    got = safetensors.load_file(path)
    assert got["x"].dtype is x.dtype
    assert got["x"].tolist() == x.tolist()
    assert got["empty"].shape == (0, 2)
    got["x"][0, 0] = 1
    assert safetensors.load(safetensors.save({"x": x}))["x"].tolist() == x.tolist()


def test_refusals():
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="non contiguous tensor"):
        safetensors.save({"x": x.t()})
    with pytest.raises(RuntimeError, match="Some tensors share memory"):
        safetensors.save({"x": x, "y": x[:1]})
    with pytest.raises(ValueError, match="expected torch.Tensor"):
        safetensors.save({"x": 3})
    with pytest.raises(Exception, match="(?i)header|deserializ"):
        safetensors.load(b"nothing")
