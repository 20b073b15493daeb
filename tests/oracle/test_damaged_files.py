"""Damaged files, and files of other kinds: what `load` says of them, in PyTorch and here."""

import io
import pickle
import tarfile
import zipfile

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")


def _saved(**how):
    file = io.BytesIO()
    torch.save({"w": torch.arange(6.0).reshape(2, 3)}, file, **how)
    return file.getvalue()


def _archive(entries):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content in entries.items():
            made.writestr(name, content)
    return file.getvalue()


def _made(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _tar():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        for name in ("storages", "tensors", "pickle"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            made.addfile(entry, io.BytesIO(b"abc"))
    return file.getvalue()


GOOD, OLD = _saved(), _saved(_use_new_zipfile_serialization=False)
with zipfile.ZipFile(io.BytesIO(GOOD)) as _zip:
    RECORDS = {name: _zip.read(name) for name in _zip.namelist()}
ROOT = next(iter(RECORDS)).partition("/")[0]
MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, 2)


def _without(*names):
    return _archive({k: v for k, v in RECORDS.items() if k.partition("/")[2] not in names})


def _with(name, content):
    return _archive(RECORDS | {f"{ROOT}/{name}": content})


FILES = {
    "empty": b"",
    "one letter": b"a",
    "abc": b"abc",
    "text": b"hello world, this is text\n" * 10,
    "zeros": b"\0" * 100,
    "ones": b"\xff" * 50,
    "PK": b"PK",
    "the start of an archive": b"PK\x03\x04",
    "an archive's start, then junk": b"PK\x03\x04" + b"x" * 100,
    "half": GOOD[: len(GOOD) // 2],
    "a byte short": GOOD[:-1],
    "without its end": GOOD[:-100],
    "junk before": b"junk" + GOOD,
    "no pickle": _without("data.pkl"),
    "no storage": _without("data/0"),
    "no version": _without("version", ".format_version"),
    "no byte order": _without("byteorder"),
    "an unknown byte order": _with("byteorder", b"middle"),
    "a version in letters": _with("version", b"x"),
    "a version to come": _with("version", b"99"),
    "an empty pickle": _with("data.pkl", b""),
    "a broken pickle": _with("data.pkl", b"abc"),
    "half a pickle": _with("data.pkl", RECORDS[f"{ROOT}/data.pkl"][:20]),
    "a number": _with("data.pkl", pickle.dumps(5, 2)),
    "a newer pickle": _with("data.pkl", pickle.dumps({"a": 5}, 4)),
    "a short storage": _with("data/0", b"ab"),
    "a long storage": _with("data/0", b"a" * 100),
    "another archive": _archive({"a.txt": "hello"}),
    "an empty archive": _archive({}),
    "tar": _tar(),
    "old, half": OLD[: len(OLD) // 2],
    "old, its start": OLD[:20],
    "old, a byte short": OLD[:-1],
    "magic alone": MAGIC,
    "magic, protocol": MAGIC + pickle.dumps(1001, 2),
    "another protocol": MAGIC + pickle.dumps(5, 2),
    "another number": pickle.dumps(12345, 2),
    "a dict": pickle.dumps({"a": 1}, 2),
    "a dict, newer": pickle.dumps({"a": 1}, 4),
    "npy": _made(lambda file: np.save(file, np.arange(4))),
    "npz": _made(lambda file: np.savez(file, a=np.arange(4))),
    "gzip": b"\x1f\x8b" + b"x" * 40,
    "jpeg": b"\xff\xd8\xff\xe0" + b"x" * 40,
    "json": b'{"a": 1}',
    "html": b"<!DOCTYPE html><html></html>",
}


def _said(library, source, **how):
    try:
        return repr(library.load(source, **how))
    except Exception as error:
        return type(error).__name__, str(error).replace("pellucid.", "torch.")


@pytest.mark.parametrize("name", FILES)
def test_the_same_is_said(name, tmp_path):
    """From memory and from a path, of weights alone and of anything."""
    path = tmp_path / "file.pth"
    path.write_bytes(FILES[name])
    for how in {}, {"weights_only": False}:
        for source in (lambda: io.BytesIO(FILES[name]), lambda: str(path)):
            assert _said(pellucid, source(), **how) == _said(torch, source(), **how), how


@pytest.mark.parametrize("name", sorted(FILES.keys() - {"a short storage", "a long storage"}))
def test_the_same_is_said_of_mapped_files(name, tmp_path):
    """Of storages of another size PyTorch shows the bytes that follow in the file."""
    path = str(tmp_path / "file.pth")
    with open(path, "wb") as file:
        file.write(FILES[name])
    assert _said(pellucid, path, mmap=True) == _said(torch, path, mmap=True)
