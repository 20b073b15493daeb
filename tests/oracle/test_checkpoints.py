"""Files go both ways between PyTorch and here."""

import io

import pytest

import pellucid
from pellucid import serialization

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def objects(m, old):
    t = m.arange(24.0).reshape(4, 6)
    made = {
        "t": t,
        "part": t[1:3, ::2],
        "turned": t.t(),
        "p": m.nn.Parameter(m.ones(3)),
        "half": m.ones(2).bfloat16(),
        "plain": [1, 2.5, None, True, "x", b"yz", 1 + 2j],
        "empty": m.empty(0),
        "size": t.shape,
        "dtype": m.float32,
        "device": m.device("cpu"),
        "complex": m.ones(2, dtype=m.complex64),
        "grad": m.ones(2, requires_grad=True),
        "scalar": m.tensor(3),
        "bool": m.tensor([True, False]),
        "meta": m.empty(2, 3, device="meta"),
    }
    if not old:
        made["uint16"] = m.ones(2).to(m.uint16)
    return made


def compare(a, b):
    assert type(a).__name__ == type(b).__name__
    if not hasattr(a, "detach"):
        assert repr(a) == repr(b)
        return
    assert (tuple(a.shape), a.stride(), str(a.dtype), a.requires_grad) == (
        tuple(b.shape),
        b.stride(),
        str(b.dtype),
        b.requires_grad,
    )
    assert a.storage_offset() == b.storage_offset()
    if str(a.device) != "meta":
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("old", [False, True], ids=["zip", "old"])
@pytest.mark.parametrize("there", [False, True], ids=["from torch", "to torch"])
def test_round_trip(old, there):
    file = io.BytesIO()
    source, save, load = (
        (pellucid, serialization.save, torch.load)
        if there
        else (torch, torch.save, serialization.load)
    )
    save(objects(source, old), file, _use_new_zipfile_serialization=not old)
    file.seek(0)
    got = load(file)
    wanted = objects(torch if there else pellucid, old)
    assert list(got) == list(wanted)
    for key, value in wanted.items():
        compare(value, got[key])
    got["t"][1, 0] = 77
    assert got["part"][0, 0] == 77
    assert got["turned"][0, 1] == 77


def test_state_dict_of_a_model_and_an_optimizer(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(5, 3)).sum().backward()
    optimizer.step()
    path = tmp_path / "checkpoint.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    got = serialization.load(path)
    assert list(got["model"]) == list(model.state_dict())
    assert got["optimizer"]["param_groups"][0]["lr"] == 0.001
    again = tmp_path / "again.pt"
    serialization.save(got, again)
    back = torch.load(again)
    model.load_state_dict(back["model"])
    optimizer.load_state_dict(back["optimizer"])


def test_mapped_memory_in_torch(tmp_path):
    path = tmp_path / "x.pt"
    serialization.save({"x": pellucid.arange(5.0)}, path)
    assert torch.load(path, mmap=True)["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
