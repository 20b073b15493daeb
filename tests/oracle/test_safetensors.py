"""safetensors files written here are read by PyTorch's functions of the same names, and the other
way round.
"""

import pytest

torch = pytest.importorskip("torch")

from safetensors import safe_open  # noqa: E402
from safetensors import torch as theirs  # noqa: E402

import pellucid  # noqa: E402
from pellucid.interop import safetensors as ours  # noqa: E402

DTYPES = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "uint16",
    "uint32",
]
DTYPES += ["uint64", "float8_e4m3fn", "float8_e5m2", "complex64"]


@pytest.mark.parametrize("name", DTYPES)
def test_round_trip(name, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    tensors = {
        "x": torch.tensor([[1, 0, 2], [3, 1, 0]]).to(getattr(torch, name)),
        "one": torch.ones((), dtype=getattr(torch, name)),
    }
    theirs.save_file(tensors, first, metadata={"format": "pt"})
    read = ours.load_file(first)
    assert {key: str(t.dtype) for key, t in read.items()} == {
        key: str(t.dtype) for key, t in tensors.items()
    }
    ours.save_file(read, second, metadata={"format": "pt"})
    again = theirs.load_file(second)
    assert again.keys() == tensors.keys()
    assert all(
        again[key].dtype is t.dtype and again[key].tolist() == t.tolist()
        for key, t in tensors.items()
    )
    assert safe_open(second, "pt").metadata() == {"format": "pt"}


def tied(library):
    model = library.nn.Module()
    model.embedding = library.nn.Embedding(4, 3)
    model.head = library.nn.Linear(3, 4, bias=False)
    model.head.weight = model.embedding.weight
    model.norm = library.nn.BatchNorm1d(3)
    return model


def test_models(tmp_path):
    path, back = tmp_path / "model", tmp_path / "back"
    mine, other = tied(pellucid), tied(torch)
    ours.save_model(mine, str(path))
    assert theirs.load_model(other, str(path)) == (set(), [])
    assert other.head.weight.tolist() == mine.embedding.weight.tolist()
    theirs.save_model(other, str(back))
    assert safe_open(back, "pt").metadata() == safe_open(path, "pt").metadata()
    assert ours.load_model(tied(pellucid), back) == ([], [])


def test_errors_begin_alike(tmp_path):
    path = str(tmp_path / "model")
    theirs.save_model(tied(torch), path)
    texts = []
    for functions, library in ((ours, pellucid), (theirs, torch)):
        with pytest.raises(RuntimeError) as caught:
            functions.load_model(library.nn.Linear(1, 1), path)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
