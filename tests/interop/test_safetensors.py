"""safetensors files: what is written comes back, what they cannot hold is refused."""

import pytest

import pellucid as torch
from pellucid.errors import full_text
from pellucid.interop import safetensors


@pytest.mark.parametrize(
    "name", ["float32", "float64", "float16", "bfloat16", "int64", "int8", "uint8", "bool"]
)
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


class Tied(torch.nn.Module):
    """The head's weight is the embedding's."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(4, 3)
        self.head = torch.nn.Linear(3, 4, bias=False)
        self.head.weight = self.embedding.weight
        self.other = torch.nn.Linear(2, 2)


def test_models_with_shared_tensors(tmp_path):
    path = tmp_path / "model.safetensors"
    model, again = Tied(), Tied()
    safetensors.save_model(model, path, metadata={"format": "pt"})
    assert [p.name for p in tmp_path.iterdir()] == ["model.safetensors"]
    assert set(safetensors.load_file(path)) == {"embedding.weight", "other.weight", "other.bias"}
    assert safetensors.load_model(again, path) == ([], [])
    assert again.head.weight is again.embedding.weight
    assert torch.equal(again.head.weight, model.head.weight)


def test_models_that_do_not_fit(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.save_model(Tied(), path)
    with pytest.raises(RuntimeError) as caught:
        safetensors.load_model(torch.nn.Linear(2, 2), path)
    assert full_text(caught.value).splitlines() == [
        "Error(s) in loading state_dict for Linear:",
        '    Missing key(s) in state_dict: "bias", "weight"',
        '    Unexpected key(s) in state_dict: "embedding.weight", "other.bias", "other.weight"',
    ]
    missing, unexpected = safetensors.load_model(torch.nn.Linear(2, 2), path, strict=False)
    assert (missing, sorted(unexpected)) == (
        ["bias", "weight"],
        ["embedding.weight", "other.bias", "other.weight"],
    )


def test_parts_of_one_memory(tmp_path):
    """Parts that do not overlap are stored each; overlapping ones, none of which is the whole, are
    refused.
    """
    path = tmp_path / "model.safetensors"
    model = torch.nn.Module()
    memory = torch.arange(6.0)
    model.register_buffer("a", memory[:3])
    model.register_buffer("b", memory[3:])
    safetensors.save_model(model, path)
    assert {name: t.tolist() for name, t in safetensors.load_file(path).items()} == {
        "a": [0, 1, 2],
        "b": [3, 4, 5],
    }
    model.register_buffer("b", memory[2:])
    with pytest.raises(RuntimeError, match="found no suitable name to keep"):
        safetensors.save_model(model, path)


def test_damaged_and_interrupted_files(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"x": torch.ones(3)}, path)
    whole = path.read_bytes()
    with pytest.raises(ValueError, match="expected torch.Tensor"):
        safetensors.save_file({"x": torch.ones(3), "y": 1}, path)
    assert path.read_bytes() == whole
    assert [p.name for p in tmp_path.iterdir()] == ["x.safetensors"]
    for size in (0, 4, 20, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(Exception, match=r"x.safetensors is damaged or cut short: ") as caught:
            safetensors.load_file(path)
        assert type(caught.value).__name__ == "SafetensorError"
